//! NaN and infinite elements; rows that are constant, and rows far from 0, where a variance by squares is lost.

use ch12_norms::CHAPTER;
use device::Checks;
use lab::record::OPTIONS;
use lab::trial::{array, describe, kinds, run_with, simulator};
use lab::{Array, LaunchOptions, Matrix, Op, Result, Type, input};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
const FLOATS: [Type; 3] = [Type::F16, Type::BF16, Type::F32];

/// Rows that are not like others, in one of the types at least.
const ROWS: [[f32; 5]; 9] = [
    [1.0, NAN, 3.0, NAN, INF],
    [-INF, -INF, -INF, -INF, -INF],
    [INF, -INF, INF, 2.0, 0.5],
    [1.0, 2.0, INF, 2.0, 0.5],
    [0.0, -0.0, 0.0, 0.0, 0.0],
    [1e-30, -1e-30, 2e-30, 0.0, 1e-38],
    [1e15, -1e15, 3e15, 2e15, 0.0],
    [65504.0, -65504.0, 65504.0, 300.0, 0.0],
    [6e-8, -6e-8, 6.1e-5, 0.0, 3e-5],
];

/// Every variant and operation over these rows of these types.
fn all_are_right(types: &[Type], rows: u64, cols: u64, first: &[f32], other: &[f32]) -> Result<()> {
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::ALL)?;
    for variant in CHAPTER.variants {
        for (ty, op) in kinds(variant).into_iter().filter(|(ty, _)| types.contains(ty)) {
            let mut all = first.to_vec();
            if op.arrays() == 2 {
                all.extend(other);
            }
            let options = LaunchOptions::over(op, Matrix::dense(rows, cols));
            let run = run_with(&session, variant, options, &array(ty, &all), 0)?;
            assert!(run.ok(), "{}", describe(&run, op.name()));
        }
    }
    Ok(())
}

#[test]
fn rows_that_are_not_like_others_have_their_class() -> Result<()> {
    let others: Vec<f32> = input::elements(45, 3);
    // One at a time: backward the columns' sums are of all rows.
    for row in ROWS {
        all_are_right(&FLOATS, 1, 5, &row, &others[..5])?;
    }
    all_are_right(&FLOATS, 9, 5, &ROWS.concat(), &others)
}

/// As in torch. The elements of such a row are no numbers, or 0.
#[test]
fn a_sum_of_two_inputs_that_no_f16_holds_is_infinite() -> Result<()> {
    let first = [40_000.0, 1.0, -2.0, 40_000.0, 0.5];
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::ALL)?;
    for (variant, op) in
        CHAPTER.variants.iter().flat_map(|variant| [Op::AddLayerNorm, Op::AddRmsNorm].map(|op| (variant, op)))
    {
        let input = array(Type::F16, &[first, first].concat());
        let run = run_with(&session, variant, LaunchOptions::over(op, Matrix::dense(1, 5)), &input, 0)?;
        assert!(run.ok(), "{}", describe(&run, op.name()));
    }
    Ok(())
}

#[test]
fn rows_far_from_zero_keep_their_variance() -> Result<()> {
    for (far, cols) in [(100.0, 300), (1000.0, 1500), (1000.0, 20_000), (-5000.0, 64)] {
        let near: Vec<f32> = input::elements(2 * cols, 9);
        let first: Vec<f32> = near.iter().map(|x| x + far).collect();
        all_are_right(&[Type::F32], 2, cols as u64, &first, &near)?;
    }
    Ok(())
}

#[test]
fn constant_rows_are_their_biases() -> Result<()> {
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::ALL)?;
    for variant in CHAPTER.variants {
        for cols in [7, 700, 5000] {
            let options = LaunchOptions::over(Op::LayerNorm, Matrix::dense(2, cols));
            let run = run_with(&session, variant, options, &Array::F32(vec![3.0; 2 * cols as usize]), 0)?;
            assert!(run.ok() && run.verdict.abs_error < 1e-6, "{}", describe(&run, "constant"));
        }
    }
    Ok(())
}

/// With equal numbers far from 0, the variance is nothing but the rounding of the mean. A result that this explains is not wrong.
#[test]
fn constant_rows_far_from_zero_are_not_called_wrong() -> Result<()> {
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::ALL)?;
    let gradients: Vec<f32> = input::elements(14, 3);
    for constant in [1449.57f32, 1e6] {
        for variant in CHAPTER.variants {
            for &op in variant.ops {
                let mut all = vec![constant; 14];
                if op.arrays() == 2 {
                    all.extend(&gradients);
                }
                let options = LaunchOptions::over(op, Matrix::dense(2, 7));
                let run = run_with(&session, variant, options, &Array::F32(all), 0)?;
                let is_near = constant < 1e5 || !op.is_centred();
                assert!(run.faults.is_empty() && !run.verdict.is_wrong(), "{}", describe(&run, op.name()));
                assert!(run.verdict.right || !is_near, "{}", describe(&run, op.name()));
            }
        }
    }
    Ok(())
}
