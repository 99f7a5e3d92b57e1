//! NaN and infinite elements; rows that are constant, and rows far from 0, where a variance by squares is lost.

use ch12_norms::CHAPTER;
use lab::trial::over_numbers;
use lab::{Matrix, Op, Result, Run, Type, input};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

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

#[test]
fn rows_that_are_not_like_others_have_their_class() -> Result<()> {
    let others: Vec<f32> = input::elements(45, 3);
    // One at a time: backward the columns' sums are of all rows.
    for row in ROWS {
        over_numbers(&CHAPTER, Matrix::dense(1, 5), [&row, &others[..5]], |_, _| true, Run::ok)?;
    }
    over_numbers(&CHAPTER, Matrix::dense(9, 5), [&ROWS.concat(), &others], |_, _| true, Run::ok)
}

/// As in torch. The elements of such a row are no numbers, or 0.
#[test]
fn a_sum_of_two_inputs_that_no_f16_holds_is_infinite() -> Result<()> {
    let first = [40_000.0, 1.0, -2.0, 40_000.0, 0.5];
    let adds = |ty, op: Op| ty == Type::F16 && op.adds();
    over_numbers(&CHAPTER, Matrix::dense(1, 5), [&first; 2], adds, Run::ok)
}

#[test]
fn rows_far_from_zero_keep_their_variance() -> Result<()> {
    for (far, cols) in [(100.0, 300), (1000.0, 1500), (1000.0, 20_000), (-5000.0, 64)] {
        let near: Vec<f32> = input::elements(2 * cols, 9);
        let first: Vec<f32> = near.iter().map(|x| x + far).collect();
        over_numbers(&CHAPTER, Matrix::dense(2, cols as u64), [&first, &near], |ty, _| ty == Type::F32, Run::ok)?;
    }
    Ok(())
}

#[test]
fn constant_rows_are_their_biases() -> Result<()> {
    let is_asked = |ty, op| (ty, op) == (Type::F32, Op::LayerNorm);
    for cols in [7, 700, 5000] {
        let is_right = |run: &Run| run.ok() && run.verdict.abs_error < 1e-6;
        over_numbers(&CHAPTER, Matrix::dense(2, cols), [&vec![3.0; 2 * cols as usize], &[]], is_asked, is_right)?;
    }
    Ok(())
}

/// With equal numbers far from 0, the variance is nothing but the rounding of the mean. A result that this explains is not wrong.
#[test]
fn constant_rows_far_from_zero_are_not_called_wrong() -> Result<()> {
    let gradients: Vec<f32> = input::elements(14, 3);
    for constant in [1449.57f32, 1e6] {
        let is_right = |run: &Run| {
            let is_near = constant < 1e5 || !run.options.op.is_centred();
            run.faults.is_empty() && !run.verdict.is_wrong() && (run.verdict.right || !is_near)
        };
        let numbers = [&[constant; 14][..], &gradients];
        over_numbers(&CHAPTER, Matrix::dense(2, 7), numbers, |ty, _| ty == Type::F32, is_right)?;
    }
    Ok(())
}
