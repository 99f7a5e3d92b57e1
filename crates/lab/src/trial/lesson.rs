//! The tests that every chapter has: [`crate::chapter_tests!`] writes them into a chapter's test program.

use std::collections::BTreeSet;

use super::{Trial, checked, describe, right_variants, run_with};
use crate::element::{Array, Element as _, Type};
use crate::error::{Error, Result};
use crate::input::random_for;
use crate::mistake;
use crate::op::Op;
use crate::run::Run;
use crate::session::{Session, built_root};
use crate::{Chapter, LaunchOptions, Variant, with_elements};

/// Writes the tests that every chapter has: its kernels against the reference on the simulator, its records, its mistakes,
/// and its program. `PROGRAM` is that program, for the tests that are the chapter's own.
///
/// ```text
/// lab::chapter_tests!(ch05_unroll::CHAPTER);
/// ```
#[macro_export]
macro_rules! chapter_tests {
    ($chapter:path) => {
        /// The chapter's program.
        #[allow(dead_code)] // not every chapter has tests of its own for it
        const PROGRAM: $crate::trial::Program =
            $crate::trial::Program { exe: env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME"))) };

        mod kernels {
            use $crate::{Result, trial};

            #[test]
            fn every_ragged_size_block_factor_type_and_operation_is_right() -> Result<()> {
                trial::ragged(&$chapter)?.assert_clean();
                Ok(())
            }

            #[test]
            fn every_schedule_is_right() -> Result<()> {
                trial::schedules(&$chapter, 20)?.assert_clean();
                Ok(())
            }

            #[test]
            fn extreme_numbers_are_right() -> Result<()> {
                trial::extremes(&$chapter)?.assert_clean();
                Ok(())
            }

            ::proptest::proptest! {
                #![proptest_config(::proptest::prelude::ProptestConfig { cases: 64, ..Default::default() })]
                #[test]
                fn anything_is_right(n in 0usize..40_000, choice in ::proptest::prelude::any::<u64>(), offset in 0usize..5) {
                    let run = trial::anything(&$chapter, n, choice, offset)?;
                    ::proptest::prop_assert!(run.ok(), "{}", trial::describe(&run, &format!("{:?}, offset {offset}", run.options)));
                }
            }
        }

        mod records {
            use $crate::{Result, trial};

            #[test]
            #[ignore = "the gate's `generated` compares it with the runs that the pages are made of"]
            fn the_simulators_is_what_it_computes_today() -> Result<()> {
                trial::simulators_record(&$chapter)
            }

            #[test]
            fn the_gpus_is_replayed() -> Result<()> {
                trial::gpus_record(&$chapter).map(drop)
            }

            #[test]
            #[ignore = "takes minutes: run it after a change to the simulator or a record, with --ignored"]
            fn the_whole_of_the_gpus_is_replayed() -> Result<()> {
                trial::gpus_whole_record(&$chapter).map(drop)
            }
        }

        #[test]
        fn every_mistake_goes_wrong_as_announced() -> $crate::Result<()> {
            $crate::trial::mistakes(&$chapter)
        }

        #[test]
        fn the_program_runs_every_variant_type_and_operation() {
            PROGRAM.runs_everything(&$chapter);
        }

        #[test]
        fn the_program_refuses_blocks_that_a_kernel_does_not_take() {
            PROGRAM.refuses_other_blocks(&$chapter);
        }
    };
}

/// Numbers at the ends of their types, and numbers of one sign, among which what a kernel starts from, or brings for a
/// missing element, would win. Sums of integers wrap.
///
/// # Errors
/// A run that fails.
pub fn extremes(chapter: &Chapter) -> Result<Trial> {
    let session = checked(chapter)?;
    let mut trial = Trial::default();
    for input in one_signed() {
        // The sum of a float's infinities, or of its largest numbers, has no bound.
        let is_small = with_elements!(&input, values => values.iter().all(|value| value.value().to_f64().abs() < 1e4));
        for variant in right_variants(chapter) {
            let is_one = |op: &Op| op.has_bounds() && op.arrays() == 1;
            let is_asked = |op: &&Op| is_one(op) || !op.rounds() || !input.ty().is_float() || is_small;
            let is_taken = |op: &&Op| variant.computes(**op, input.ty());
            for &op in variant.ops.iter().filter(is_asked).filter(is_taken) {
                for block in [variant.blocks.min, variant.blocks.default, variant.blocks.max] {
                    let run =
                        run_with(&session, variant, LaunchOptions { op, ..LaunchOptions::block(block) }, &input, 1)?;
                    trial.judge(&run, op.name());
                }
            }
        }
    }
    Ok(trial)
}

fn one_signed() -> Vec<Array> {
    let floats = |from: f32| Array::F32((0..100).map(|i| from + (i % 7) as f32).collect());
    let doubles = |from: f64| Array::F64((0..100).map(|i| from + f64::from(i % 7)).collect());
    let mut arrays = Vec::new();
    for n in [3, 1027, 5003] {
        arrays.extend([i32::MIN, i32::MAX, -1].map(|value| Array::I32(vec![value; n])));
        arrays.extend([-2000, 1000].map(|from| Array::I32((0..n as i32).map(|i| from + i % 7).collect())));
        arrays.extend([f32::NEG_INFINITY, f32::INFINITY, f32::NAN].map(|value| Array::F32(vec![value; n])));
        arrays.extend([f64::MIN, f64::MAX, f64::NAN].map(|value| Array::F64(vec![value; n])));
    }
    for n in [3, 1027, 5003] {
        arrays.extend([i8::MIN, i8::MAX, -1].map(|value| Array::I8(vec![value; n])));
        arrays.extend([u8::MIN, u8::MAX].map(|value| Array::U8(vec![value; n])));
        arrays.extend([i16::MIN, i16::MAX, -1].map(|value| Array::I16(vec![value; n])));
        arrays.extend([u32::MIN, u32::MAX].map(|value| Array::U32(vec![value; n])));
        arrays.extend([i64::MIN, i64::MAX, -1].map(|value| Array::I64(vec![value; n])));
        arrays.extend([-3.0, 3.0, f32::NAN].map(|value| Array::F16(vec![half::f16::from_f32(value); n])));
        arrays.extend([-3.0, 3.0, f32::NAN].map(|value| Array::BF16(vec![half::bf16::from_f32(value); n])));
    }
    arrays.extend([floats(-2000.0), floats(1000.0), doubles(-2000.0), doubles(1000.0)]);
    arrays.extend([Array::F32(vec![f32::NAN, -3.0, f32::NAN]), Array::F64(vec![f64::NAN, 3.0, f64::NAN])]);
    arrays
}

/// Runs a right variant that `choice` picks, of a type, an operation, a block, a factor and a grid that it picks too, over
/// `n` random numbers that begin `offset` elements into their allocation. What the variant does not take together is left
/// to the variant.
///
/// # Errors
/// A run that fails.
pub fn anything(chapter: &Chapter, n: usize, choice: u64, offset: usize) -> Result<Run> {
    let mut choice = choice;
    let mut pick = |count: usize| {
        let picked = choice % count as u64;
        choice /= count as u64;
        picked as usize
    };
    let variants: Vec<&'static Variant> = right_variants(chapter).collect();
    let variant = variants[pick(variants.len())];
    let ty = variant.types[pick(variant.types.len())];
    let ops: Vec<Op> = variant.ops.iter().copied().filter(|&op| variant.computes(op, ty)).collect();
    let op = ops[pick(ops.len())];
    let blocks: Vec<u32> = (5..=10).map(|log| 1 << log).filter(|&block| variant.blocks.allows(block)).collect();
    let block = Some(blocks[pick(blocks.len())]);
    let factor = variant.factors.map(|factors| factors.values[pick(factors.values.len())]);
    let grid = 1 + pick(12) as u32;
    let session = checked(chapter)?;
    let options = taken(
        &session,
        variant,
        ty,
        n as u64,
        LaunchOptions { op, block, grid: Some(grid), factor, ..LaunchOptions::default() },
    )?;
    run_with(&session, variant, options, &random_for(op, ty, n, n as u64), offset)
}

/// As much of `options` as the variant takes together: another grid, then none, then no block, then no factor.
fn taken(session: &Session<'_>, variant: &Variant, ty: Type, n: u64, options: LaunchOptions) -> Result<LaunchOptions> {
    let of_cluster = LaunchOptions { grid: options.grid.map(|grid| 8 * grid), ..options };
    let any_grid = LaunchOptions { grid: None, ..options };
    let any_block = LaunchOptions { block: None, ..any_grid };
    let options = [options, of_cluster, any_grid, any_block];
    let takes = |options: &LaunchOptions| !matches!(session.plan(variant, ty, n, *options), Err(Error::Usage(_)));
    Ok(options.into_iter().find(takes).unwrap_or(LaunchOptions { factor: None, ..any_block }))
}

/// Runs every mistake as its page shows it. One that announces a fault shows it; any other gives a wrong result, and
/// nothing is found. The folder of mistakes holds these and no other.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If one does not.
pub fn mistakes(chapter: &Chapter) -> Result<()> {
    let folder = mistake::folder(chapter, &built_root());
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let kernels = files.filter(|file| file.extension().is_some_and(|extension| extension == "cu"));
    let there: BTreeSet<String> =
        kernels.filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect();
    let named = chapter.mistakes.iter().map(|mistake| mistake.variant.name.to_owned());
    assert_eq!(there, named.collect::<BTreeSet<_>>(), "tests/mistakes of {}", chapter.slug);
    for wrong in chapter.mistakes {
        let run = mistake::run(chapter, wrong, &built_root())?;
        let (announced, shown) = (wrong.variant.announced, describe(&run, "as the page shows it"));
        let is_found = run.faults.iter().any(|fault| Some(fault.code) == announced);
        assert_eq!(is_found, announced.is_some(), "{shown}");
        assert!(announced.is_some() || !run.verdict.right && run.faults.is_empty(), "{shown}");
    }
    Ok(())
}
