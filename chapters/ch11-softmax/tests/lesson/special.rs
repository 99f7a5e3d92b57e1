//! NaN and infinite elements: the results of torch for such rows, each written out.

use ch11_softmax::CHAPTER;
use lab::trial::over_numbers;
use lab::{Matrix, Op, Result, Run};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

/// Rows that are not like others, in one of the types at least.
const ROWS: [[f32; 5]; 10] = [
    [1.0, NAN, 3.0, NAN, INF],
    [-INF, -INF, -INF, -INF, -INF],
    [NAN, NAN, NAN, NAN, NAN],
    [-INF, 2.0, -INF, 2.0, -1.0],
    [INF, -INF, INF, 2.0, 0.5],
    [1e38, -1e38, 3e38, 3e38, 0.0],
    [-3e38, -3e38, -3e38, -3e38, -3e38],
    [0.0, -0.0, 0.0, -200.0, -80.0],
    [65504.0, 65504.0, -65504.0, 65472.0, 65488.0],
    [6e-8, -6e-8, 6.1e-5, -12.0, -17.0],
];

#[test]
fn rows_that_are_not_like_others_are_as_torch_has_them() -> Result<()> {
    let mut others = ROWS;
    others.reverse();
    // Five gradients of -3e38 have no sum in floats, here or in torch: what follows from it is not judged.
    let has_sum = |run: &Run| run.options.op.arrays() == 1;
    let is_right = |run: &Run| run.ok() || !has_sum(run) && run.verdict.not_judged.is_some();
    over_numbers(&CHAPTER, Matrix::dense(10, 5), [&ROWS.concat(), &others.concat()], |_, _| true, is_right)
}

#[test]
fn a_row_of_minus_infinities_longer_than_a_block_is_no_number() -> Result<()> {
    let is_pair = |_, op| matches!(op, Op::Softmax | Op::LogSoftmax | Op::Logsumexp);
    for cols in [1000, 5000, 20_000] {
        // The second row has one element that is finite, which has all of the sum.
        let mut all = vec![f32::NEG_INFINITY; 2 * cols];
        all[2 * cols - 3] = -7.0;
        over_numbers(&CHAPTER, Matrix::dense(2, cols as u64), [&all, &[]], is_pair, Run::ok)?;
    }
    Ok(())
}
