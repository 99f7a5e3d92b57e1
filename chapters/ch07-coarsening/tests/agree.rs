//! Kernels against the reference on the simulator: ragged sizes, every block, factor, type and operation, many schedules,
//! any grid, unaligned input.

use ch07_coarsening::CHAPTER;
use device::{Checks, Choice, KernelSource, Schedule, SimOptions};
use lab::{Array, Op, Result, Session, Type, Variant, Wish};
use lab::{input::random, session::built_root, trial};
use proptest::prelude::*;

fn simulator() -> Result<Session<'static>> {
    trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)
}

fn variant(name: &str) -> &'static Variant {
    CHAPTER.variant(name).expect("the lesson has it")
}

#[test]
fn ragged_sizes_blocks_factors_types_and_operations() -> Result<()> {
    trial::ragged(&CHAPTER)?.assert_clean();
    Ok(())
}

#[test]
fn any_schedule_gives_a_right_sum() -> Result<()> {
    trial::schedules(&CHAPTER, 100)?.assert_clean();
    Ok(())
}

#[test]
fn sums_of_extremes_wrap() -> Result<()> {
    let session = simulator()?;
    for value in [i32::MAX, i32::MIN, -1] {
        for variant in CHAPTER.variants {
            let run = trial::run(&session, variant, variant.blocks.default, &Array::I32(vec![value; 5003]), 0)?;
            assert!(run.ok(), "{}", trial::describe(&run, ""));
        }
    }
    Ok(())
}

/// Every place that a pack of 16 bytes has for an element, every number of elements around the first packs, and every
/// element on its own: an index that is off by one gives another sum.
#[test]
fn packs_begin_and_end_anywhere() -> Result<()> {
    let session = simulator()?;
    for ty in [Type::I32, Type::F64] {
        for factor in [8, 16] {
            let wish = Wish { factor: Some(factor), ..Wish::block(64) };
            for offset in 0..5 {
                for n in (1..=17).chain(500..=520) {
                    let run = trial::run_wish(&session, variant("vectorised"), wish, &random(ty, n, 7), offset)?;
                    assert!(run.ok(), "{}", trial::describe(&run, &format!("{factor} bytes, offset {offset}")));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn infinities_and_extremes_are_the_smallest_and_the_largest() -> Result<()> {
    let session = simulator()?;
    let mut numbers = vec![f32::INFINITY; 700];
    for op in [Op::Min, Op::Max] {
        let wish = Wish { op, ..Wish::default() };
        let ints = Array::I32(vec![if op == Op::Min { i32::MAX } else { i32::MIN }; 700]);
        assert!(trial::run_wish(&session, variant("grid_stride_shuffle"), wish, &ints, 0)?.ok());
        let run = trial::run_wish(&session, variant("grid_stride_shuffle"), wish, &Array::F32(numbers.clone()), 0)?;
        assert!(run.ok(), "{}", trial::describe(&run, &format!("{op}")));
        numbers.fill(f32::NEG_INFINITY);
    }
    Ok(())
}

/// The order of atomic additions is nobody's to choose on a GPU; here it is the same whatever the machine.
#[test]
fn the_simulators_order_of_atomics_does_not_depend_on_host_threads() -> Result<()> {
    let numbers = random(Type::F32, 100_003, 1);
    let bits = |threads| -> Result<String> {
        let options = SimOptions { threads, ..SimOptions::default() };
        let source = KernelSource::in_root(&built_root(), CHAPTER.slug);
        let session = Session::open_source(&CHAPTER, source, Choice::Sim, options)?;
        Ok(trial::run(&session, variant("segmented_atomic"), 256, &numbers, 0)?.result.bits())
    };
    let one = bits(1)?;
    for threads in [2, 3, 8] {
        assert_eq!(bits(threads)?, one, "{threads} host threads");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_size_block_grid_factor_operation_type_and_alignment(
        n in 1usize..40_000,
        log_block in 5u32..=10,
        which in any::<prop::sample::Index>(),
        choice in any::<prop::sample::Index>(),
        share in 0.0f64..=1.0,
        offset in 0usize..5,
    ) {
        let variant = &CHAPTER.variants[which.index(CHAPTER.variants.len())];
        let ty = variant.types[choice.index(variant.types.len())];
        let block = (1 << log_block).max(variant.blocks.min);
        let mut wish = Wish { op: variant.ops[choice.index(variant.ops.len())], ..Wish::block(block) };
        wish.factor = variant.factors.map(|factors| factors.values[choice.index(factors.values.len())]);
        if variant.name.starts_with("grid_stride") || variant.name == "vectorised" {
            let width = wish.factor.map_or(1, |bytes| bytes as usize / ty.bytes() as usize);
            let most = n.div_ceil(2 * width * block as usize);
            wish.grid = Some(1 + (share * (most - 1) as f64) as u32);
        }
        let run = trial::run_wish(&simulator()?, variant, wish, &random(ty, n, n as u64), offset)?;
        prop_assert!(run.ok(), "{}", trial::describe(&run, &format!("{wish:?}, offset {offset}")));
    }
}
