//! Kernels against the reference on the simulator, and plans as data: sizes, grids, types, operations, schedules, offsets.

use ch08_cooperative::{CHAPTER, plans};
use device::{Checks, KernelSource, Schedule};
use lab::plan::MULTIPROCESSORS;
use lab::{Array, Ask, Op, Plan, Result, Type, Wish, input::random, session::built_root, trial};
use proptest::prelude::*;

/// All but `cluster`, whose kernels are of a file of their own and need no plan of many blocks here.
const ONE_LAUNCH: [&str; 3] = ["grid_sync", "last_block", "single_pass"];

#[test]
fn sizes_around_every_change_of_shape() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::NONE)?;
    let variant = CHAPTER.variant("single_pass").expect("the lesson has it");
    for &ty in variant.types {
        for log in [8, 10, 11, 12, 13, 14, 15] {
            for n in [(1usize << log) - 1, 1 << log, (1 << log) + 1] {
                let run = trial::run_wish(&session, variant, Wish::default(), &random(ty, n, n as u64), 0)?;
                assert!(run.ok(), "{}", trial::describe(&run, ""));
            }
        }
    }
    Ok(())
}

#[test]
fn any_schedule_gives_a_right_sum_and_no_fault() -> Result<()> {
    let numbers = random(Type::I32, 20_011, 3);
    for seed in 0..20 {
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: Some(seed) }, Checks::ALL)?;
        for name in ["redux", "last_block", "single_pass"] {
            let variant = CHAPTER.variant(name).expect("the lesson has it");
            let run = trial::run_wish(&session, variant, Wish::default(), &numbers, 0)?;
            assert!(run.ok(), "{}", trial::describe(&run, &format!("seed {seed}")));
        }
    }
    Ok(())
}

#[test]
fn unaligned_input_and_ragged_ends() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
    let variant = CHAPTER.variant("single_pass").expect("the lesson has it");
    for &ty in variant.types {
        for offset in 0..4 {
            for n in (0..10).chain(4090..4102) {
                let run = trial::run_wish(&session, variant, Wish::default(), &random(ty, n, 5), offset)?;
                assert!(run.ok(), "{}", trial::describe(&run, &format!("offset {offset}")));
            }
        }
    }
    Ok(())
}

#[test]
fn nothing_but_nan_is_nan() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::NONE)?;
    for op in [Op::Min, Op::Max] {
        let variant = CHAPTER.variant("redux").expect("the lesson has it");
        let wish = Wish { op, ..Wish::default() };
        let run = trial::run_wish(&session, variant, wish, &Array::F32(vec![f32::NAN; 300]), 0)?;
        assert!(run.ok(), "{}", trial::describe(&run, ""));
    }
    Ok(())
}

/// The names of the kernels that there are.
fn kernels(slug: &str) -> String {
    std::fs::read_to_string(KernelSource::in_root(&built_root(), slug).ptx).expect("committed PTX")
}

proptest! {
    #[test]
    fn every_plan_names_a_kernel_that_there_is(n in 1u64..=(1 << 31) - 1, which in 0usize..5, ty in 0usize..3) {
        let variant = &CHAPTER.variants[which];
        let ty = variant.types[ty % variant.types.len()];
        let ask = Ask { ty, n, wish: Wish::default(), multiprocessors: MULTIPROCESSORS };
        let plan = Plan::new(variant, &ask)?;
        let ptx = kernels(variant.kernels.unwrap_or(CHAPTER.slug));
        for pass in &plan.passes {
            let entry = format!(".entry {}(", pass.kernel);
            prop_assert!(ptx.contains(&entry), "{}", entry);
            prop_assert!(pass.grid.is_multiple_of(pass.cluster) && pass.block <= 1024);
        }
        prop_assert_eq!(plan.sums.last().copied(), Some(1));
        if ONE_LAUNCH.contains(&variant.name) {
            prop_assert_eq!(plan.passes.len(), 1);
        }
        if variant.name == "single_pass" {
            let grid = u64::from(plan.passes[0].grid);
            prop_assert!(plan.state_words >= 2 * grid, "a slot for each block");
            let (block, unroll) = plans::INSTANCES.into_iter()
                .find(|(b, u)| plan.passes[0].kernel.contains(&format!("t{b}u{u}_"))).expect("an instance");
            prop_assert_eq!(block, plan.passes[0].block);
            prop_assert!(unroll <= 8);
        }
    }
}
