//! Claims of the page and of the kernel's head comment, as assertions on what the simulator counts.

use anyhow::{Context, Result};
use ch03_sequential::CHAPTER;
use device::Counters;
use lab::trial::{self, Round, each, one_block, rounds};
use lab::{Type, input::random};

type Of = (&'static lab::Chapter, &'static str);

const SEQUENTIAL: Of = (&CHAPTER, "sequential");
const STRIDED: Of = (&ch02_divergence::CHAPTER, "strided_index");
const CONVERGENT: Of = (&ch02_divergence::CHAPTER, "convergent_global");
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

#[test]
fn no_conflict_in_any_block_and_any_round() -> Result<()> {
    for block in BLOCKS {
        let c = one_block(SEQUENTIAL, block)?;
        assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0), "block {block}");
        assert_eq!(c.shared_ld_wavefronts, c.shared_ld_requests, "block {block}");
        assert_eq!(c.shared_st_wavefronts, c.shared_st_requests, "block {block}");
        let rounds = rounds(SEQUENTIAL, block)?;
        assert!(rounds.iter().all(|round| round.ways == 1 && round.same_ways), "block {block}");
    }
    Ok(())
}

#[test]
fn words_k_apart_take_gcd_of_k_and_32_wavefronts() -> Result<()> {
    let strided = rounds(STRIDED, 1024)?;
    let full: Vec<u32> = strided.iter().filter(|round| round.partly_filled() == 0).map(|round| round.ways).collect();
    assert_eq!(full, [2, 4, 8, 16, 32], "2 s apart, s = 1 to 16");
    let sequential = rounds(SEQUENTIAL, 1024)?;
    let full: Vec<u32> = sequential.iter().filter(|round| round.partly_filled() == 0).map(|round| round.ways).collect();
    assert_eq!(full, [1, 1, 1, 1, 1], "1 apart, s = 512 to 32");
    Ok(())
}

#[test]
fn the_threads_are_those_of_the_strided_index_and_the_words_are_not() -> Result<()> {
    for block in BLOCKS {
        let masks = |of| rounds(of, block).map(|rounds| rounds.into_iter().map(|r| r.masks).collect::<Vec<_>>());
        assert_eq!(masks(SEQUENTIAL)?, masks(STRIDED)?, "block {block}");
        let (new, old) = (one_block(SEQUENTIAL, block)?, one_block(STRIDED, block)?);
        let same = |c: &Counters| (c.barriers, c.divergent_branches, c.shared_ld_requests, c.shared_st_requests);
        assert_eq!(same(&new), same(&old), "block {block}");
        assert_eq!(new.shared_ld_wavefronts < old.shared_ld_wavefronts, block > 32, "block {block}");
        assert!(new.inst_executed < old.inst_executed, "block {block}: no index to compute");
    }
    Ok(())
}

#[test]
fn wavefronts_of_256_elements() -> Result<()> {
    let (new, old) = (one_block(SEQUENTIAL, 256)?, one_block(STRIDED, 256)?);
    assert_eq!((new.shared_ld_wavefronts, new.shared_st_wavefronts), (2 * 12 + 1, 8 + 12));
    assert_eq!((old.shared_ld_wavefronts, old.shared_st_wavefronts), (2 * 47 + 1, 8 + 47));
    assert_eq!(each(&rounds(SEQUENTIAL, 256)?, |r| r.passes), [4, 2, 1, 1, 1, 1, 1, 1]);
    assert_eq!(each(&rounds(STRIDED, 256)?, |r| r.passes), [8, 8, 8, 8, 8, 4, 2, 1]);
    assert_eq!(new.barriers, 9 * 8);
    let c = one_block(SEQUENTIAL, 1024)?;
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (2 * 36 + 1, 32 + 36), "try it, 2");
    let c = one_block(STRIDED, 1024)?;
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (2 * 191 + 1, 32 + 191), "try it, 2");
    Ok(())
}

#[test]
fn it_diverges_in_the_rounds_below_32_and_in_no_other() -> Result<()> {
    for block in BLOCKS {
        let rounds = rounds(SEQUENTIAL, block)?;
        let steps = (0..block.ilog2()).rev().map(|log| 1 << log);
        assert_eq!(each(&rounds, Round::lanes), steps.clone().collect::<Vec<u32>>(), "s lanes in the round s");
        let cut: Vec<u32> = steps.map(|s| u32::from(s < 32)).collect();
        assert_eq!(each(&rounds, Round::partly_filled), cut, "block {block}");
        assert_eq!(one_block(SEQUENTIAL, block)?.divergent_branches, 5 + 1, "and the one that writes the result");
    }
    let rounds = rounds(SEQUENTIAL, 256)?;
    assert_eq!(each(&rounds, Round::warps), [4, 2, 1, 1, 1, 1, 1, 1]);
    Ok(())
}

#[test]
fn half_of_the_threads_never_add() -> Result<()> {
    for block in BLOCKS {
        let rounds = rounds(SEQUENTIAL, block)?;
        let first = &rounds[0];
        assert_eq!(first.lanes(), block / 2, "block {block}");
        let covers = |(warp, mask): (&u32, &u32)| first.masks.get(warp).is_some_and(|first| mask & !first == 0);
        assert!(rounds.iter().all(|round| round.masks.iter().all(covers)), "no lane joins later");
    }
    Ok(())
}

#[test]
fn the_tree_is_the_convergent_one_bit_for_bit() -> Result<()> {
    let bits = |of: Of, block: u32, n: usize| trial::bits(of, block, &random(Type::F32, n, 1));
    for n in [256, 1000, 100_000] {
        assert_eq!(bits(SEQUENTIAL, 256, n)?, bits(CONVERGENT, 128, n)?, "n = {n}");
    }
    assert_ne!(bits(SEQUENTIAL, 256, 100_000)?, bits(STRIDED, 256, 100_000)?, "another tree, another rounding");
    Ok(())
}

#[test]
fn a_barrier_in_the_if_is_found_where_the_condition_cuts_a_warp() -> Result<()> {
    let run = trial::mistake(&CHAPTER, "barrier_in_if")?;
    let [fault] = run.faults.as_slice() else { anyhow::bail!("one finding: {:?}", run.faults) };
    let other = fault.other.as_ref().context("two sites")?;
    assert_eq!((fault.site.warp, fault.site.lanes), (0, 0xffff), "the round s = 16: those that wait");
    assert_eq!((other.warp, other.lanes), (0, 0xffff_0000), "and those that do not come");
    Ok(())
}
