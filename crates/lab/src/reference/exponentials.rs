//! The right answer of every element of a softmax and of what is made like it, with how far a right kernel may be off.
//!
//! Expected values are doubles. The bounds follow from what the kernels do, in floats with the unit roundoff u:
//!
//! - e^x is taken by a polynomial that is off by 2.8 u at most, and by 0.05 u for each unit of x; what is below e^-87.7 is 0.
//! - x - max is rounded, which changes e^(x - max) by |x - max| u, relatively; where a lane has a maximum of its own and its sum
//!   is rescaled, the two distances add up to the same one. Over a row it is the mean of the distances, each by its share.
//! - Sums are off by γ(k), where k is the longest path, rescaling included (`bound.rs`); 16 more for exponentials, of which four are
//!   on a path: the element's, that of its lane's maximum, and the same two in the sum; and for the share and what is made of it.
//! - ln S is off by two roundings of its own and by what S is off, relatively.
//! - A result of bf16 is rounded once more, by half a step.
//!
//! Doubles add an error a million times smaller.

use crate::bound::error_bound;
use crate::element::{Element, Type};
use crate::op::Op;

/// A row as its reference sees it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a, T> {
    /// Input of the operation.
    pub first: &'a [T],
    /// The second matrix's row, for operations that take two.
    pub other: &'a [T],
    /// Index of the labelled element, for cross-entropies.
    pub label: i64,
    /// The gradient of the row's loss.
    pub gradient: f32,
}

/// Expected value of an element, or of a row.
#[derive(Debug, Clone, Copy)]
pub struct Right {
    /// The answer.
    pub expected: f64,
    /// The largest error that is explained.
    pub bound: f64,
}

const U: f64 = f32::EPSILON as f64 / 2.0;
/// The smallest normal float: what an exponential that is taken for 0 lacks at most, twice.
const FLUSHED: f64 = 2.0 * f32::MIN_POSITIVE as f64;
/// Roundings beside those of the sum.
const OTHERS: u64 = 16;
/// Relative error for each unit of x - max: its rounding, and the polynomial's.
const APART: f64 = 1.06 * U;

fn double<T: Element>(x: T) -> f64 {
    x.value().to_f64()
}

/// Pair of a row, and the relative error bound of its sum.
struct Pair {
    max: f64,
    sum: f64,
    relative: f64,
}

impl Pair {
    fn of<T: Element>(row: &[T], additions: u64) -> Pair {
        let larger = |max: f64, x: f64| if x.is_nan() || x > max { x } else { max };
        let max = row.iter().fold(f64::NEG_INFINITY, |max, &x| if max.is_nan() { max } else { larger(max, double(x)) });
        if !max.is_finite() {
            return Pair { max, sum: f64::NAN, relative: 0.0 };
        }
        let (mut sum, mut apart) = (0.0, 0.0);
        for &x in row {
            let distance = double(x) - max;
            let e = distance.exp();
            sum += e;
            if e > 0.0 {
                apart -= e * distance;
            }
        }
        let relative = error_bound(Type::F32, (additions + OTHERS).into(), 1.0) + APART * apart / sum;
        Pair { max, sum, relative }
    }

    /// Error bound of ln S.
    fn of_log(&self) -> f64 {
        self.relative + 2.0 * U * self.sum.ln().abs()
    }
}

/// The one result of a row, of `logsumexp` or `cross_entropy`, in floats.
pub fn of_row<T: Element>(op: Op, row: Row<'_, T>, additions: u64) -> Right {
    let pair = Pair::of(row.first, additions);
    let log = pair.sum.ln();
    let rounded = |expected: f64, bound: f64| Right { expected, bound: bound + 1.01 * U * expected.abs() };
    if op == Op::Logsumexp {
        if !pair.max.is_finite() {
            return Right { expected: pair.max, bound: 0.0 };
        }
        return rounded(pair.max + log, pair.of_log());
    }
    let at_label =
        usize::try_from(row.label).ok().and_then(|label| row.first.get(label)).map_or(f64::NAN, |&x| double(x));
    let apart = pair.max - at_label;
    rounded(apart + log, pair.of_log() + U * apart.abs())
}

/// The results of a row, in order, of an operation with a result for each element; `bound` is that of the type they are rounded
/// to.
pub fn of_elements<T: Element>(op: Op, row: Row<'_, T>, additions: u64) -> impl Iterator<Item = Right> {
    let answer = Answer::of(op, &row, additions);
    let (first, other, label, gradient) = (row.first, row.other, row.label, f64::from(row.gradient));
    (0..first.len()).map(move |i| {
        let x = double(first[i]);
        let y = other.get(i).map_or(0.0, |&y| double(y));
        let right = answer.at(x, y, usize::try_from(label) == Ok(i), gradient);
        let bound = right.bound + of_narrowing(T::TYPE, right.expected.abs() + right.bound);
        Right { bound, ..right }
    })
}

/// Half a step of the type at this size, where results are rounded to one that is narrower than a float.
pub(super) fn of_narrowing(ty: Type, size: f64) -> f64 {
    if ty != Type::BF16 || !size.is_finite() {
        return 0.0;
    }
    // Eight significant bits, from the smallest subnormal on.
    let exponent = size.log2().floor().max(-126.0);
    (exponent - 8.0).exp2()
}

/// Part of a row that its elements' answers are made of.
enum Answer {
    OfPair { op: Op, pair: Pair },
    OfSum { op: Op, sum: f64, error: f64, overflows: bool },
}

impl Answer {
    fn of<T: Element>(op: Op, row: &Row<'_, T>, additions: u64) -> Answer {
        if op.arrays() == 1 {
            return Answer::OfPair { op, pair: Pair::of(row.first, additions) };
        }
        let pairs = row.first.iter().zip(row.other).map(|(&y, &gradient)| (double(y), double(gradient)));
        let terms = pairs.map(|(y, gradient)| if op == Op::SoftmaxBackward { y * gradient } else { gradient });
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let error = error_bound(Type::F32, (additions + OTHERS).into(), size);
        Answer::OfSum { op, sum, error, overflows: error.is_infinite() && size.is_finite() }
    }

    fn at(&self, x: f64, y: f64, is_label: bool, gradient: f64) -> Right {
        match self {
            Answer::OfPair { op, pair } => of_pair(*op, pair, x, is_label, gradient),
            Answer::OfSum { overflows: true, .. } => Right { expected: 0.0, bound: f64::INFINITY },
            Answer::OfSum { op: Op::SoftmaxBackward, sum, error, .. } => {
                let expected = x * (y - sum);
                let bound = x.abs() * (error + U * (y - sum).abs()) + 2.0 * U * expected.abs() + FLUSHED;
                Right { expected, bound }
            }
            Answer::OfSum { sum, error, .. } => {
                let e = x.exp();
                let expected = y - e * sum;
                let bound = e * (error + (4.0 * U + x.abs() * APART) * sum.abs())
                    + 2.0 * U * expected.abs()
                    + FLUSHED * (1.0 + sum.abs());
                Right { expected, bound }
            }
        }
    }
}

fn of_pair(op: Op, pair: &Pair, x: f64, is_label: bool, gradient: f64) -> Right {
    if !pair.max.is_finite() {
        return Right { expected: f64::NAN, bound: 0.0 };
    }
    let distance = x - pair.max;
    if op == Op::LogSoftmax {
        let expected = distance - pair.sum.ln();
        let bound = pair.of_log() + 1.01 * U * (distance.abs() + expected.abs());
        return Right { expected, bound };
    }
    let share = distance.exp() / pair.sum;
    let apart = if share > 0.0 { distance.abs() } else { 0.0 };
    let of_share = share * (pair.relative + APART * apart) + FLUSHED;
    if op == Op::Softmax {
        return Right { expected: share, bound: of_share };
    }
    let less = share - f64::from(u8::from(is_label));
    let expected = less * gradient;
    Right { expected, bound: gradient.abs() * (of_share + U * less.abs()) + 2.0 * U * expected.abs() + FLUSHED }
}

/// Judges a result: whether it is within the bound, and its distance.
pub fn judge(result: f64, right: Right) -> (bool, f64) {
    let Right { expected, bound } = right;
    // What no float holds is infinite on the device.
    let is_past = expected.is_finite() && expected.abs() > f64::from(f32::MAX);
    if bound.is_infinite() || is_past && result.is_infinite() && result.signum() == expected.signum() {
        return (true, 0.0);
    }
    if !expected.is_finite() || !bound.is_finite() {
        let same = (result.is_nan() && expected.is_nan()) || result == expected;
        return (same, if same { 0.0 } else { f64::INFINITY });
    }
    let off = (result - expected).abs();
    // Written so that a NaN fails.
    (off <= bound, off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    fn row<T>(first: &[T]) -> Row<'_, T> {
        Row { first, other: &[], label: 1, gradient: 0.5 }
    }

    fn softmax_in_floats(x: &[f32]) -> Vec<f32> {
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let e: Vec<f32> = x.iter().map(|x| (x - max).exp()).collect();
        let sum: f32 = e.iter().sum();
        e.iter().map(|e| e / sum).collect()
    }

    fn judged(op: Op, x: &[f32], results: &[f32]) -> Vec<bool> {
        let right = of_elements(op, row(x), x.len() as u64);
        right.zip(results).map(|(right, &result)| judge(f64::from(result), right).0).collect()
    }

    #[test]
    fn right_ones_pass_and_the_smallest_mistakes_do_not() {
        let x: Vec<f32> = crate::input::elements(1000, 5);
        let mut results = softmax_in_floats(&x);
        assert!(judged(Op::Softmax, &x, &results).iter().all(|&right| right));
        // One term too few in the denominator.
        let without: Vec<f32> = results.iter().map(|p| p / (1.0 - results[3])).collect();
        assert!(judged(Op::Softmax, &x, &without).iter().all(|&right| !right));
        results[7] *= 1.001;
        let wrong = judged(Op::Softmax, &x, &results);
        assert_eq!(wrong.iter().filter(|&&right| !right).count(), 1);
        results[7] = f32::NAN;
        assert!(!judged(Op::Softmax, &x, &results)[7]);
    }

    #[test]
    fn rows_that_are_not_finite_have_their_class() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for x in [[-inf, -inf], [inf, 1.0], [nan, 1.0]] {
            assert!(judged(Op::Softmax, &x, &[nan, nan]).iter().all(|&right| right), "{x:?}");
            assert!(judged(Op::LogSoftmax, &x, &[0.5, 0.5]).iter().all(|&right| !right), "{x:?}");
        }
        let of = |x: &[f32]| of_row(Op::Logsumexp, row(x), 3).expected;
        assert_eq!((of(&[-inf, -inf]), of(&[inf, 1.0]), of(&[])), (-f64::INFINITY, f64::INFINITY, -f64::INFINITY));
        assert!(of(&[inf, nan]).is_nan() && of(&[nan, inf]).is_nan());
        let loss = |x: &[f32]| of_row(Op::CrossEntropy, row(x), 3).expected;
        assert_eq!(loss(&[1.0, -inf]), f64::INFINITY);
        assert!(loss(&[1.0, inf]).is_nan() && loss(&[-inf, -inf]).is_nan());
    }

    #[test]
    fn backward_is_what_differences_of_forward_are() {
        let x = [0.3f64, -1.2, 0.9, 2.0];
        let share = |x: &[f64], i: usize| x[i].exp() / x.iter().map(|x| x.exp()).sum::<f64>();
        let gradient = [0.7f64, -0.2, 0.4, 1.1];
        let loss = |x: &[f64]| (0..4).map(|i| gradient[i] * share(x, i)).sum::<f64>();
        let y: Vec<f32> = (0..4).map(|i| share(&x, i) as f32).collect();
        let g: Vec<f32> = gradient.iter().map(|&g| g as f32).collect();
        let row = Row { first: &y, other: &g, label: 0, gradient: 1.0 };
        for (i, right) in of_elements(Op::SoftmaxBackward, row, 5).enumerate() {
            let mut more = x;
            more[i] += 1e-6;
            let slope = (loss(&more) - loss(&x)) / 1e-6;
            assert!((right.expected - slope).abs() < 1e-5, "{} {slope}", right.expected);
        }
    }

    #[test]
    fn bf16_is_allowed_half_a_step() {
        let x: Vec<bf16> = crate::input::elements(100, 5);
        let wide: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
        let results = softmax_in_floats(&wide);
        for (right, result) in of_elements(Op::Softmax, row(&x), 30).zip(&results) {
            let rounded = bf16::from_f32(*result);
            assert!(judge(rounded.to_f64(), right).0);
            assert!(!judge(bf16::from_bits(rounded.to_bits() + 2).to_f64(), right).0);
        }
    }
}
