//! Every block size is an instance of its own: many schedules for each, and grids.

use ch06_templates::CHAPTER;
use device::{Checks, Schedule};
use lab::{LaunchOptions, Planned, Problem, Result, Type, input::random, trial};
use proptest::prelude::*;

#[test]
fn no_schedule_finds_a_fault_in_any_block_size() -> Result<()> {
    for seed in 0..100 {
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: Some(seed) }, Checks::ALL)?;
        let block = 32 << (seed % 6);
        for variant in CHAPTER.variants {
            let op = variant.ops[seed as usize / 6 % variant.ops.len()];
            let options = LaunchOptions { op, ..LaunchOptions::block(block) };
            let numbers = random(Type::I32, 2 * block as usize + 7, seed);
            trial::right(&session, variant, options, &numbers, 0)?;
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_grid_is_taken_if_it_fits(n in 1u64..1 << 31, log_block in 5u32..=10, off in 0u32..3) {
        let block = 1 << log_block;
        let grid = n.div_ceil(2 * block) as u32;
        let options = LaunchOptions { grid: Some(grid + off), ..LaunchOptions::block(block as u32) };
        match Planned::new(&Problem::new(&CHAPTER.variants[0], Type::F64, n, options)) {
            Ok(plan) => {
                let instance = format!("template_unrolled_b{block}_f64");
                prop_assert_eq!((off, plan.grid(), &plan.passes[0].kernel), (0, grid, &instance));
            }
            Err(error) => prop_assert!(off > 0 && error.to_string().contains("needs exactly"), "{}", error),
        }
    }
}
