//! Kernels against the reference on the simulator: ragged sizes, every block, type and operation, many schedules,
//! unaligned input, and inputs of one sign, which random numbers of both never are.

use ch06_templates::CHAPTER;
use device::{Checks, Schedule};
use lab::trial;
use lab::{Array, Op, Result, Type, Wish, input::random};
use proptest::prelude::*;

const EXTREMES: [Op; 2] = [Op::Min, Op::Max];

#[test]
fn ragged_sizes_blocks_types_and_operations() -> Result<()> {
    trial::ragged(&CHAPTER)?.assert_clean();
    Ok(())
}

#[test]
fn any_schedule_gives_the_same_right_sum() -> Result<()> {
    trial::schedules(&CHAPTER, 5)?.assert_clean();
    Ok(())
}

#[test]
fn no_schedule_finds_a_fault_in_any_block_size() -> Result<()> {
    for seed in 0..100 {
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: Some(seed) }, Checks::ALL)?;
        let block = 32 << (seed % 6);
        for variant in CHAPTER.variants {
            let op = variant.ops[seed as usize / 6 % variant.ops.len()];
            let wish = Wish { op, ..Wish::block(block) };
            let numbers = random(Type::I32, 2 * block as usize + 7, seed);
            let run = trial::run_wish(&session, variant, wish, &numbers, 0)?;
            assert!(run.ok(), "{}", trial::describe(&run, &format!("seed {seed} {op}")));
        }
    }
    Ok(())
}

#[test]
fn sums_of_extremes_wrap() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
    for value in [i32::MAX, i32::MIN, -1] {
        for variant in CHAPTER.variants {
            let run = trial::run(&session, variant, variant.blocks.default, &Array::I32(vec![value; 1027]), 0)?;
            assert!(run.ok(), "{}", trial::describe(&run, ""));
        }
    }
    Ok(())
}

/// Arrays in which the value that a kernel starts from, or brings for a missing element, could win.
fn of_one_sign() -> Vec<Array> {
    let n = 100;
    let ints = |from: i32| Array::I32((0..n).map(|i| from + i % 7).collect());
    let floats = |from: f32| Array::F32((0..n).map(|i| from + (i % 7) as f32).collect());
    let doubles = |from: f64| Array::F64((0..n).map(|i| from + f64::from(i % 7)).collect());
    vec![
        ints(-2000),
        ints(1000),
        Array::I32(vec![i32::MIN; 3]),
        Array::I32(vec![i32::MAX; 3]),
        floats(-2000.0),
        floats(1000.0),
        Array::F32(vec![f32::NEG_INFINITY; 33]),
        Array::F32(vec![f32::INFINITY; 33]),
        Array::F32(vec![f32::NAN; 5]),
        Array::F32(vec![f32::NAN, -3.0, f32::NAN]),
        doubles(-2000.0),
        doubles(1000.0),
        Array::F64(vec![f64::NAN; 5]),
        Array::F64(vec![f64::NAN, 3.0, f64::NAN]),
        Array::F64(vec![f64::MIN; 2]),
        Array::F64(vec![f64::MAX; 2]),
    ]
}

#[test]
fn what_changes_no_value_never_wins() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
    for numbers in of_one_sign() {
        for variant in CHAPTER.variants {
            for op in EXTREMES {
                for block in [32, 64, 256, 1024] {
                    let wish = Wish { op, ..Wish::block(block) };
                    let run = trial::run_wish(&session, variant, wish, &numbers, 1)?;
                    assert!(run.ok(), "{}", trial::describe(&run, op.name()));
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_size_block_operation_and_alignment(
        n in 0usize..20_000, log_block in 5u32..=10, which in 0usize..2, ty in 0usize..3, op in 0usize..3, offset in 0usize..5
    ) {
        let variant = &CHAPTER.variants[which];
        let ty = variant.types[ty];
        let wish = Wish { op: variant.ops[op], ..Wish::block(1 << log_block) };
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
        let run = trial::run_wish(&session, variant, wish, &random(ty, n, n as u64), offset)?;
        prop_assert!(run.ok(), "{}", trial::describe(&run, &format!("{wish:?} offset {offset}")));
    }

    #[test]
    fn a_grid_is_taken_if_it_fits(n in 1u64..1 << 31, log_block in 5u32..=10, off in 0u32..3) {
        let block = 1 << log_block;
        let grid = n.div_ceil(2 * block) as u32;
        let wish = Wish { grid: Some(grid + off), ..Wish::block(block as u32) };
        let ask = lab::Ask { ty: Type::F64, n, wish, multiprocessors: lab::plan::MULTIPROCESSORS };
        match lab::Plan::new(&CHAPTER.variants[0], &ask) {
            Ok(plan) => {
                let instance = format!("template_unrolled_b{block}_f64");
                prop_assert_eq!((off, plan.grid(), &plan.passes[0].kernel), (0, grid, &instance));
            }
            Err(error) => prop_assert!(off > 0 && error.to_string().contains("needs exactly"), "{}", error),
        }
    }
}
