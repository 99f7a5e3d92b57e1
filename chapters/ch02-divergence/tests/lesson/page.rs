//! Claims of the page and of the kernels' head comments, as assertions on what the simulator counts.

use anyhow::{Context, Result};
use ch02_divergence::CHAPTER;
use device::{Choice, Counters};
use lab::trial::{self, Round, each, one_block, rounds};
use lab::{Code, Run, Session, Type, input::random, mistake, record, session::built_root};

const MODULO: (&lab::Chapter, &str) = (&ch01_naive::CHAPTER, "interleaved_modulo");
const SIMPLE: (&lab::Chapter, &str) = (&ch01_naive::CHAPTER, "simple_global");

fn here(name: &str) -> (&'static lab::Chapter, &str) {
    (&CHAPTER, name)
}

#[test]
fn bitmask_works_with_the_lanes_of_the_modulo() -> Result<()> {
    for block in [32, 128, 256, 1024] {
        let masks = |of| rounds(of, block).map(|rounds| rounds.into_iter().map(|r| r.masks).collect::<Vec<_>>());
        assert_eq!(masks(here("bitmask"))?, masks(MODULO)?, "block {block}");
    }
    Ok(())
}

#[test]
fn warps_that_add_and_those_of_them_that_diverge() -> Result<()> {
    for (of, block, warps, partly_filled) in [
        (MODULO, 256, 47, 47),
        (here("bitmask"), 256, 47, 47),
        (here("strided_index"), 256, 12, 5),
        (here("convergent_global"), 128, 12, 5),
    ] {
        let rounds = rounds(of, block)?;
        let (adds, lanes): (u32, u32) = (rounds.iter().map(Round::warps).sum(), rounds.iter().map(Round::lanes).sum());
        assert_eq!((adds, lanes), (warps, 255), "{}", of.1);
        assert_eq!(rounds.iter().map(Round::partly_filled).sum::<u32>(), partly_filled, "{}", of.1);
        let branches = one_block(of, block)?.divergent_branches;
        assert_eq!(branches, u64::from(partly_filled) + 1, "{}: and the one that writes the result", of.1);
    }
    Ok(())
}

#[test]
fn warps_of_each_round() -> Result<()> {
    assert_eq!(each(&rounds(here("bitmask"), 256)?, Round::warps), [8, 8, 8, 8, 8, 4, 2, 1]);
    assert_eq!(each(&rounds(here("strided_index"), 256)?, Round::warps), [4, 2, 1, 1, 1, 1, 1, 1]);
    assert_eq!(each(&rounds(here("convergent_global"), 128)?, Round::warps), [4, 2, 1, 1, 1, 1, 1, 1]);
    Ok(())
}

#[test]
fn strided_index_conflicts_in_so_many_ways() -> Result<()> {
    for (block, ways) in [
        (32, &[1u32, 1, 1, 1, 1][..]),
        (64, &[2, 2, 2, 2, 2, 1]),
        (256, &[2, 4, 8, 8, 8, 4, 2, 1]),
        (512, &[2, 4, 8, 16, 16, 8, 4, 2, 1]),
        (1024, &[2, 4, 8, 16, 32, 16, 8, 4, 2, 1]),
    ] {
        let strided = rounds(here("strided_index"), block)?;
        assert_eq!(each(&strided, |r| r.ways), ways, "block {block}");
        assert!(strided.iter().all(|round| round.same_ways), "both loads and the store, in every warp");
        assert!(rounds(here("bitmask"), block)?.iter().all(|round| round.ways == 1), "block {block}");
    }
    Ok(())
}

#[test]
fn conflicts_give_back_the_passes_that_gathering_saved() -> Result<()> {
    for block in [32, 64, 128, 256, 512, 1024] {
        let (mask, strided) = (one_block(here("bitmask"), block)?, one_block(here("strided_index"), block)?);
        let passes = |c: &Counters| (c.shared_ld_wavefronts, c.shared_st_wavefronts);
        assert_eq!(passes(&mask), passes(&strided), "block {block}");
        assert_eq!((mask.shared_ld_conflicts, mask.shared_st_conflicts), (0, 0), "block {block}");
        assert_eq!(strided.shared_ld_conflicts > 0, block > 32, "a block of 32 has one word in each bank");
        assert_eq!(strided.inst_executed < mask.inst_executed, block > 32, "and one warp, full or not");
    }
    let c = one_block(here("strided_index"), 1024)?;
    assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (310, 155), "try it, 3");
    let c = one_block(here("strided_index"), 256)?;
    assert_eq!((c.shared_ld_requests, c.shared_st_requests), (2 * 12 + 1, 8 + 12));
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (2 * 47 + 1, 8 + 47));
    assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (2 * (47 - 12), 47 - 12));
    assert_eq!(each(&rounds(here("strided_index"), 256)?, |r| r.passes), [8, 8, 8, 8, 8, 4, 2, 1]);
    Ok(())
}

#[test]
fn the_mask_is_two_instructions_in_ptx_where_the_modulo_is_one() -> Result<()> {
    let (mask, modulo) = (one_block(here("bitmask"), 256)?, one_block(MODULO, 256)?);
    assert!(mask.inst_executed > modulo.inst_executed);
    let shared =
        |c: &Counters| (c.barriers, c.branches, c.divergent_branches, c.shared_ld_requests, c.global_ld_sectors);
    assert_eq!(shared(&mask), shared(&modulo));
    Ok(())
}

#[test]
fn convergent_global_over_256_elements() -> Result<()> {
    let c = one_block(here("convergent_global"), 128)?;
    assert_eq!(c.barriers, 8 * 4, "one a round, in each of four warps");
    assert_eq!((c.global_ld_requests, c.global_st_requests), (2 * 12 + 1, 12 + 1));
    let stores = [16, 8, 4, 2, 1, 1, 1, 1];
    assert_eq!(each(&rounds(here("convergent_global"), 128)?, |r| r.stored_sectors), stores);
    assert_eq!((c.global_ld_sectors, c.global_st_sectors), (2 * 34 + 1, 34 + 1));
    let simple = one_block(SIMPLE, 128)?;
    assert!(c.inst_executed < simple.inst_executed && c.barriers == simple.barriers);
    assert_eq!((simple.global_ld_sectors, simple.global_st_sectors), (255, 128));
    assert_eq!(each(&rounds(SIMPLE, 128)?, |r| r.stored_sectors), [32, 32, 32, 16, 8, 4, 2, 1]);
    Ok(())
}

#[test]
fn the_guard_saves_the_sectors_that_are_not_there() -> Result<()> {
    let variant = trial::variant(&CHAPTER, "convergent_global");
    let run = trial::run(&trial::checked(&CHAPTER)?, variant, 128, &random(Type::I32, 200, 1), 0)?;
    let c = run.counters.context("the simulator counts")?;
    assert_eq!((c.global_ld_sectors, c.global_st_sectors), (2 * (34 - 7) + 1, 27 + 1), "try it, 6");
    Ok(())
}

#[test]
fn the_textbook_figures() -> Result<()> {
    trial::assert_facts(
        &CHAPTER,
        &[
            ("bitmask-i32-one_block-add_lane_efficiency", "17.0 %"),
            ("strided_index-i32-one_block-add_lane_efficiency", "66.4 %"),
            ("convergent_global-i32-one_block-add_lane_efficiency", "66.4 %"),
            ("convergent_global-i32-one_block-add_inst_executed", "12"),
            ("convergent_global-i32-one_block-add_thread_inst_executed", "255"),
        ],
    )?;
    let of_1024 = rounds(here("convergent_global"), 512)?;
    let issued = 32 * of_1024.iter().map(Round::warps).sum::<u32>();
    assert_eq!((of_1024.iter().map(Round::lanes).sum::<u32>(), issued), (1023, 1152), "88.8 %");
    Ok(())
}

#[test]
fn who_adds_does_not_change_the_sum_but_what_is_added_to_what_does() -> Result<()> {
    for n in [1, 255, 1000, 65_537, 300_000] {
        let numbers = random(Type::F32, n, 7);
        let modulo = trial::bits(MODULO, 256, &numbers)?;
        for name in ["bitmask", "strided_index"] {
            assert_eq!(trial::bits(here(name), 256, &numbers)?, modulo, "{name}, n = {n}");
        }
    }
    // The page prints two different float sums side by side, those of the records.
    let record = record::load(&built_root(), CHAPTER.slug)?.context("data/sim.json")?;
    let recorded = |name| record.case(name, Type::F32, record::N).map(|case| case.result.clone());
    assert_ne!(recorded("strided_index"), recorded("convergent_global"));
    Ok(())
}

#[test]
fn the_index_stays_far_from_32_bits() {
    // The largest product that a block can form: its last round, its last thread.
    let (block, last_round) = (1024u64, 512u64);
    let largest = 2 * last_round * (block - 1);
    assert_eq!(largest, 1_047_552);
    assert!(largest < u64::from(i32::MAX.unsigned_abs()));
    // The exercise: 2^23 threads of a grid. The largest products of the rounds around the two limits.
    let product = |s: u64| 2 * s * ((1 << 23) - 1);
    assert!(product(128) < 1 << 31 && product(256) >= 1 << 31, "int ends in round 256");
    assert!(product(256) < 1 << 32 && product(512) >= 1 << 32, "unsigned int in round 512");
    assert_eq!((2 * 512u32).wrapping_mul(1 << 22), 0, "where thread 2^22 finds itself at element 0");
}

fn codes(run: &Run) -> Vec<Code> {
    run.faults.iter().map(|fault| fault.code).collect()
}

#[test]
fn a_mask_without_minus_one_races_and_reads_unwritten_memory() -> Result<()> {
    let run = trial::mistake(&CHAPTER, "mask_without_minus_one")?;
    assert!(!run.verdict.right);
    assert!(codes(&run).contains(&Code::SharedRace), "{:?}", run.faults);
    assert!(codes(&run).contains(&Code::UninitialisedRead), "{:?}", run.faults);
    Ok(())
}

/// The wrong kernel for one block, over `n` elements.
fn one_block_kernel(n: usize) -> Result<Run> {
    let source = mistake::source(&CHAPTER, "one_full_block_only", &built_root());
    let session = Session::open_source(&CHAPTER, source, Choice::Sim, record::OPTIONS)?;
    // The launch of the right kernel, 256 elements a block.
    static OF_FULL_BLOCKS: lab::Variant =
        lab::Variant { elements_per_block: |block| 2 * block as u64, ..CHAPTER.mistakes[1].variant };
    Ok(trial::run(&session, &OF_FULL_BLOCKS, 128, &random(Type::I32, n, 1), 0)?)
}

#[test]
fn the_kernel_for_one_full_block_is_right_for_that_alone() -> Result<()> {
    let run = one_block_kernel(256)?;
    assert!(run.ok(), "{}", trial::describe(&run, ""));
    let run = trial::mistake(&CHAPTER, "one_full_block_only")?;
    assert_eq!(codes(&run), [Code::OutOfBounds]);
    let run = one_block_kernel(512)?;
    assert!(!run.verdict.right, "both blocks sum the first 256, on top of each other");
    assert!(codes(&run).contains(&Code::UninitialisedRead), "no block wrote the second sum: {:?}", run.faults);
    Ok(())
}
