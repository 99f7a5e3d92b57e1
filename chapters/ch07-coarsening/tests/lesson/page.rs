//! Claims of the page and of the kernels' head comments, as assertions on what the simulator counts, on plans and on PTX.

use anyhow::{Context, Result, ensure};
use ch07_coarsening::CHAPTER;
use device::card::H200;
use device::{Checks, Code, Counters, KernelSource, Schedule};
use lab::trial::{integers, sum};
use lab::{Array, LaunchOptions, Planned, Problem, Type, Variant, input, mistake, session::built_root, sweep, trial};

fn counters(name: &str, options: LaunchOptions, n: usize) -> Result<Counters> {
    let (session, input) = (trial::checked(&CHAPTER)?, input::random(Type::I32, n, 1));
    let run = trial::right(&session, trial::variant(&CHAPTER, name), options, &input, 0)?;
    run.counters.context("the simulator counts")
}

fn factor(factor: u32) -> LaunchOptions {
    LaunchOptions { factor: Some(factor), ..LaunchOptions::default() }
}

fn plan(name: &str, n: u64, options: LaunchOptions) -> Result<Planned> {
    Ok(Planned::new(&Problem::new(trial::variant(&CHAPTER, name), Type::I32, n, options))?)
}

fn grids(name: &str, n: u64, options: LaunchOptions) -> Result<Vec<u32>> {
    Ok(plan(name, n, options)?.passes.iter().map(|pass| pass.grid()).collect())
}

#[test]
fn launches_of_the_page() -> Result<()> {
    let default = LaunchOptions::default();
    assert_eq!(grids("segmented_atomic", 1 << 22, default)?, [1, 8192], "a clear, then a segment a block");
    assert_eq!(grids("grid_stride", 1 << 22, default)?, [1056, 1]);
    assert_eq!(grids("multi_add", 1_000_000, default)?, [31, 1]);
    assert_eq!(grids("multi_add", 1_000_000, factor(1024))?, [977, 1]);
    assert_eq!(grids("multi_add", 1 << 22, factor(1024))?, [4096, 4, 1]);
    assert_eq!(grids("coarsened", 1 << 22, factor(32))?, [1, 256]);
    assert_eq!(grids("coarsened", 100_000, factor(8))?, [1, 25]);
    assert_eq!(grids("grid_stride", 100_000, default)?, [196, 1]);
    assert!(
        plan("grid_stride", 100_000, LaunchOptions { grid: Some(197), ..default }).is_err(),
        "one would have nothing to do"
    );
    Ok(())
}

#[test]
fn the_grid_is_the_cards() -> Result<()> {
    let grid = |block, multiprocessors| -> Result<u32> {
        let variant = trial::variant(&CHAPTER, "grid_stride_shuffle");
        let problem = Problem::new(variant, Type::F32, 1 << 24, LaunchOptions::block(block));
        let card = H200.clone().with_multiprocessors(multiprocessors);
        Ok(Planned::new(&problem.on(&card, false))?.grid())
    };
    assert_eq!(grid(512, 114)?, 456, "the H100 PCIe of the exercise");
    assert_eq!(grid(256, 132)?, 1056);
    Ok(())
}

/// The kernel's indices stay below 2^32 as long as no grid is larger than one step needs.
#[test]
fn the_largest_grids_fit_32_bits() -> Result<()> {
    let n = lab::plan::N_MAX;
    for block in [64, 256, 1024] {
        let most = n.div_ceil(2 * u64::from(block));
        let options = LaunchOptions { grid: Some(most as u32), ..LaunchOptions::block(block) };
        let stride = u64::from(plan("grid_stride", n, options)?.grid()) * 2 * u64::from(block);
        assert!(n - 1 + stride <= u64::from(u32::MAX), "block {block}");
        assert!(
            plan("grid_stride", n, LaunchOptions { grid: Some(most as u32 + 1), ..options }).is_err(),
            "block {block}"
        );
    }
    Ok(())
}

#[test]
fn factor_one_is_the_segmented_kernel() -> Result<()> {
    let n = 16 * 512;
    let (one, plain) =
        (counters("coarsened", factor(1), n)?, counters("segmented_atomic", LaunchOptions::default(), n)?);
    assert_eq!(one, plain, "count for count");
    assert_eq!(
        (one.global_red_sectors, one.global_atom_sectors),
        (16, 0),
        "one atomic a block, whose result no thread needs"
    );
    assert_eq!((one.shared_ld_wavefronts, one.shared_st_wavefronts), (16 * 25, 16 * 20));
    Ok(())
}

/// A block of `coarsened` costs 655 warp-instructions, and 5 for each load of a warp.
#[test]
fn what_a_coarsened_block_costs() -> Result<()> {
    // The clear is the same whatever the factor.
    let clear = counters("coarsened", factor(1), 2 * 512)?.inst_executed;
    let clear = 2 * counters("coarsened", factor(1), 512)?.inst_executed - clear;
    for c in [1, 2, 4, 8, 16, 32] {
        let one_block = counters("coarsened", factor(c), 512 * c as usize)?.inst_executed - clear;
        let by_hand = 655 + 5 * 8 * 2 * u64::from(c);
        assert!(one_block.abs_diff(by_hand) <= 1, "factor {c}: {one_block}, by hand {by_hand}");
    }
    Ok(())
}

/// Instructions of one step of the loop, for all eight warps of a block.
fn step(name: &str, options: LaunchOptions, elements: usize) -> Result<u64> {
    let options = LaunchOptions { grid: Some(1), ..options };
    let steps = |count: usize| counters(name, options, count * elements).map(|c| c.inst_executed);
    let (three, four) = (steps(3)?, steps(4)?);
    Ok(four - three)
}

#[test]
fn what_a_step_of_each_loop_costs() -> Result<()> {
    assert_eq!(step("grid_stride", LaunchOptions::default(), 512)?, 8 * 14, "two tests for 64 elements of a warp");
    assert_eq!(step("grid_stride_shuffle", LaunchOptions::default(), 512)?, 8 * 12, "one test");
    assert_eq!(step("vectorised", factor(16), 2048)?, 8 * 18, "256 elements of a warp");
    let multi_add = |n| counters("multi_add", LaunchOptions::default(), n).map(|c| c.inst_executed);
    assert_eq!(multi_add(1024)? - multi_add(768)?, 8 * 7, "32 elements of a warp");
    Ok(())
}

#[test]
fn barriers_and_loads_by_hand() -> Result<()> {
    let n = 1 << 20;
    let run = |name| counters(name, LaunchOptions::default(), n);
    assert_eq!(run("segmented_atomic")?.barriers, 2048 * 9 * 8);
    assert_eq!(counters("coarsened", factor(32), n)?.barriers, 64 * 72, "as many a block, in 32 times fewer blocks");
    for name in ["grid_stride", "grid_stride_shuffle"] {
        assert_eq!(run(name)?.barriers, (1056 + 1) * 3 * 8, "{name}");
    }
    assert_eq!(run("vectorised")?.barriers, (512 + 1) * 3 * 8, "a step of all threads takes 2,048 elements a block");
    for variant in CHAPTER.variants {
        let c = run(variant.name)?;
        let partial_sums = c.global_ld_sectors - n as u64 * 4 / 32;
        assert!(partial_sums <= 1056 / 8 + 1, "{}: {} sectors beside the input's", variant.name, partial_sums);
        assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0), "{}", variant.name);
        let loads = n as u64 / if variant.name == "vectorised" { 128 } else { 32 };
        assert!((loads..loads + 100).contains(&c.global_ld_requests), "{}: {}", variant.name, c.global_ld_requests);
    }
    Ok(())
}

/// `sums[tid] +=` in the source, one store after the loop in the PTX.
#[test]
fn the_sum_of_a_thread_stays_in_a_register() -> Result<()> {
    let stores = |name, options, n| counters(name, options, n).map(|c| c.shared_st_wavefronts);
    for n in [512, 4096, 32_768] {
        assert_eq!(stores("multi_add", LaunchOptions::default(), n)?, 8 + 8 + 6 + 6, "n = {n}");
        assert_eq!(
            stores("grid_stride", LaunchOptions { grid: Some(1), ..LaunchOptions::default() }, n)?,
            28,
            "n = {n}"
        );
    }
    Ok(())
}

/// The lines of an entry's loop: from its first load from global memory to its store of the thread's sum.
fn loop_of(entry: &str) -> Result<Vec<String>> {
    let listing = KernelSource::in_root(&built_root(), CHAPTER.slug).listing(entry).into_iter();
    let lines = listing.skip_while(|line| !line.starts_with("ld.global"));
    let lines: Vec<String> = lines.take_while(|line| !line.starts_with("st.shared")).collect();
    ensure!(!lines.is_empty(), "{entry} loads nothing");
    Ok(lines)
}

#[test]
fn where_the_second_load_waits() -> Result<()> {
    let between = |entry: &str| -> Result<Vec<String>> {
        let lines = loop_of(entry)?;
        let second = lines.iter().skip(1).position(|line| line.starts_with("ld.global")).context("two loads")?;
        Ok(lines[1..=second].to_vec())
    };
    let branches = |lines: &[String]| lines.iter().filter(|line| line.contains("bra")).count();
    let additions =
        |lines: &[String], ty: &str| lines.iter().filter(|line| line.starts_with(&format!("add.{ty}"))).count();
    let two_tests = between("grid_stride_f32")?;
    assert_eq!((branches(&two_tests), additions(&two_tests, "f32")), (1, 1), "{two_tests:?}");
    for entry in ["grid_stride_shuffle_f32", "grid_stride_shuffle_f64", "vectorised_v16_f32", "vectorised_v16_i32"] {
        let one_test = between(entry)?;
        let ty = entry.rsplit('_').next().context("a type")?;
        assert_eq!((branches(&one_test), additions(&one_test, ty)), (0, 0), "{entry}: {one_test:?}");
    }
    let coarsened = loop_of("coarsened_c32_f32")?;
    let loads: Vec<usize> = (0..coarsened.len()).filter(|&i| coarsened[i].starts_with("ld.global")).collect();
    let straight = loads.windows(2).filter(|pair| branches(&coarsened[pair[0]..pair[1]]) == 0).count();
    assert_eq!(straight, 63, "64 loads in a row without a branch");
    Ok(())
}

#[test]
fn loads_of_16_bytes_are_one_instruction() -> Result<()> {
    for (entry, wide) in
        [("vectorised_v16_i32", "v4.u32"), ("vectorised_v16_f64", "v2.f64"), ("vectorised_v8_f32", "v2.f32")]
    {
        let loads = loop_of(entry)?.iter().filter(|line| line.starts_with(&format!("ld.global.{wide}"))).count();
        assert_eq!(loads, 3, "{entry}: a pair in the loop, and one behind it");
    }
    Ok(())
}

#[test]
fn counts_fall_to_the_end_of_every_curve() -> Result<()> {
    let sweep = CHAPTER.sweep.context("the chapter has a sweep")?;
    let variants: Vec<&Variant> = CHAPTER.variants.iter().collect();
    let simulator = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::NONE)?;
    let points = sweep::run(&sweep, &simulator, &sweep::Numbers { ty: Type::I32, n: 1 << 18, seed: 1 }, &variants)?;
    assert!(points.iter().all(|point| point.right));
    let mut curves = 0;
    for curve in points.chunk_by(|a, b| a.curve == b.curve).filter(|curve| curve[0].drawn) {
        curves += 1;
        let mut curve: Vec<_> = curve.iter().collect();
        curve.sort_by(|a, b| a.elements_per_thread().total_cmp(&b.elements_per_thread()));
        let costs: Vec<f64> = curve.iter().filter_map(|point| point.instructions_per_element()).collect();
        assert!(costs.windows(2).all(|pair| pair[1] < pair[0]), "{}: {costs:?}", curve[0].curve);
    }
    assert_eq!(curves, 6);
    let conclusions = (sweep.conclusions)(&points);
    assert_eq!(conclusions.len(), 2, "one for each piece of advice");
    assert!(conclusions[0].facts.contains(&("brent-elements".to_owned(), "18.0".to_owned())), "{:?}", conclusions[0]);
    Ok(())
}

#[test]
fn bounds_count_the_blocks_that_add_in_any_order() -> Result<()> {
    let depth = |name| -> Result<u64> { Ok(plan(name, 1 << 22, LaunchOptions::default())?.additions()) };
    assert_eq!(depth("segmented_atomic")?, 2 + 8 + 8192);
    assert_eq!(depth("grid_stride")?, (8 + 1 + 8) + (3 + 1 + 8));
    assert!(depth("segmented_atomic")? > 200 * depth("grid_stride")?);
    assert!(CHAPTER.variants.iter().all(|v| v.unordered == matches!(v.name, "segmented_atomic" | "coarsened")));
    let big = 16_777_216.0f32;
    assert_eq!(((big + 1.0) + 1.0, big + (1.0 + 1.0)), (big, big + 2.0));
    Ok(())
}

#[test]
fn atomic_additions_of_float_lose_subnormal_numbers_and_the_bound_says_so() -> Result<()> {
    let input = Array::F32(vec![f32::MIN_POSITIVE / 4096.0; 2000]);
    let session = trial::checked(&CHAPTER)?;
    let atomic = trial::run(&session, trial::variant(&CHAPTER, "segmented_atomic"), 256, &input, 0)?;
    assert_eq!((atomic.result.to_f64(), atomic.ok()), (0.0, true), "four blocks, each with a subnormal sum");
    let grid_stride = trial::run(&session, trial::variant(&CHAPTER, "grid_stride"), 256, &input, 0)?;
    assert_eq!(grid_stride.verdict.abs_error, 0.0, "additions in registers keep them");
    Ok(())
}

/// Launches a mistake `times` times onto the same cleared word, over the first `n` numbers from `offset` on: what the
/// word holds, and the codes of what was found.
fn mistake(name: &str, n: usize, offset: usize, times: u32) -> Result<(i32, Vec<Code>)> {
    let (source, kernel) = (mistake::source(&CHAPTER, name, &built_root()), format!("{name}_i32"));
    let (result, faults) = trial::launched((&source, &kernel, 256), (&integers(offset + n), offset, n), times)?;
    Ok((result, faults.iter().map(|fault| fault.code).collect()))
}

#[test]
fn a_second_run_onto_an_uncleared_sum_doubles_it() -> Result<()> {
    let once = sum(&integers(512));
    assert_eq!(mistake("no_clear", 512, 0, 1)?, (once, vec![]), "onto a cleared word it is right");
    assert_eq!(mistake("no_clear", 512, 0, 2)?, (once.wrapping_mul(2), vec![]));
    Ok(())
}

#[test]
fn the_second_load_is_out_of_bounds_wherever_a_step_is_cut() -> Result<()> {
    for (n, found) in [(512, false), (1024, false), (412, true), (1, true), (1000, true)] {
        let (_, codes) = mistake("unguarded_second", n, 0, 1)?;
        assert_eq!(codes.contains(&Code::OutOfBounds), found, "n = {n}: {codes:?}");
    }
    Ok(())
}

#[test]
fn a_division_drops_232_of_1000_elements() -> Result<()> {
    let (result, codes) = mistake("remainder_dropped", 1000, 0, 1)?;
    assert_eq!((result, codes.len()), (sum(&integers(1000)[..768]), 0));
    Ok(())
}

#[test]
fn packs_are_right_on_aligned_input_only() -> Result<()> {
    for offset in 0..=4 {
        let (result, codes) = mistake("misaligned_packs", 2001, offset, 1)?;
        if offset % 4 == 0 {
            assert_eq!((result, codes.len()), (sum(&integers(offset + 2001)[offset..]), 0), "offset {offset}");
        } else {
            assert!(codes.iter().all(|&code| code == Code::Misaligned) && !codes.is_empty(), "{offset}: {codes:?}");
        }
    }
    Ok(())
}

#[test]
fn a_dropped_tail_is_at_most_three_elements() -> Result<()> {
    for n in [2045, 2046, 2047, 2048] {
        let (result, codes) = mistake("tail_dropped", n, 0, 1)?;
        assert_eq!((result, codes.len()), (sum(&integers(n)[..n / 4 * 4]), 0), "n = {n}");
    }
    Ok(())
}
