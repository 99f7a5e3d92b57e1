//! Kernels against the reference on the simulator: ragged sizes, every block and type, many schedules, unaligned input.

use ch03_sequential::CHAPTER;
use device::{Checks, Schedule};
use lab::trial;
use lab::{Array, Result, input::random};
use proptest::prelude::*;

#[test]
fn ragged_sizes_blocks_and_types() -> Result<()> {
    trial::ragged(&CHAPTER)?.assert_clean();
    Ok(())
}

#[test]
fn any_schedule_gives_the_same_right_sum() -> Result<()> {
    trial::schedules(&CHAPTER, 20)?.assert_clean();
    Ok(())
}

#[test]
fn sums_of_extremes_wrap() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
    for value in [i32::MAX, i32::MIN, -1] {
        for variant in trial::right_variants(&CHAPTER) {
            let run = trial::run(&session, variant, variant.blocks.default, &Array::I32(vec![value; 1027]), 0)?;
            assert!(run.ok(), "{}", trial::describe(&run, ""));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_size_block_and_alignment(n in 0usize..40_000, log_block in 5u32..=10, which in 0usize..64, offset in 0usize..5) {
        let variants: Vec<_> = trial::right_variants(&CHAPTER).collect();
        let variant = variants[which % variants.len()];
        let ty = variant.types[which / 8 % variant.types.len()];
        let block = (1 << log_block).max(variant.blocks.min);
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
        let run = trial::run(&session, variant, block, &random(ty, n, n as u64), offset)?;
        prop_assert!(run.ok(), "{}", trial::describe(&run, &format!("offset {offset}")));
    }
}
