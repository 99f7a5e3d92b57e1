//! The right answer of every element of a softmax and of what is made like it, with how far a right kernel may be off.
//!
//! Expected values are doubles. The bounds follow from what the kernels do, in floats with the unit roundoff u:
//!
//! - e^x is 2 to the power of x / ln 2, off by 2.1 u at most, and by 1.2 u for each unit of x; what is below 2^-126 is 0.
//! - x - max is rounded, which changes e^(x - max) by |x - max| u, relatively; where a lane has a maximum of its own and its sum
//!   is rescaled, the two distances add up to the same one. Over a row it is the mean of the distances, each by its share.
//! - Sums are off by γ(k), where k is the longest path, rescaling included (`reduction::bound`); 16 more for exponentials, of which four are
//!   on a path: the element's, that of its lane's maximum, and the same two in the sum; and for the share and what is made of it.
//! - ln S is off by two roundings of its own and by what S is off, relatively.
//! - A result of f16 or bf16 is rounded once more, by half a step.
//!
//! Doubles add an error a million times smaller.

use crate::bound::{error_bound, may_overflow, smallest};
use crate::element::{Element, Type};
use crate::op::Op;
use crate::verdict::{Expected, Unsure, Why};

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

/// Unit roundoff of floats.
pub(super) const U: f64 = f32::EPSILON as f64 / 2.0;
/// The smallest normal float: what an exponential that is taken for 0 lacks at most, twice.
const FLUSHED: f64 = 2.0 * f32::MIN_POSITIVE as f64;
/// Roundings beside those of the sum.
const OTHERS: u64 = 16;
/// Relative error for each unit of x - max: its rounding, and that of x / ln 2.
const APART: f64 = 2.22 * U;

pub(super) fn double<T: Element>(x: T) -> f64 {
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
    fn log_error(&self) -> f64 {
        self.relative + 2.0 * U * self.sum.ln().abs()
    }
}

/// The one result of a row, of `logsumexp` or `cross_entropy`, in floats.
pub fn row_result<T: Element>(op: Op, row: Row<'_, T>, additions: u64) -> Expected {
    let pair = Pair::of(row.first, additions);
    let log = pair.sum.ln();
    let rounded = |value: f64, bound: f64| {
        let bound = bound + 1.01 * U * value.abs();
        Expected { bound, largest: largest(Type::F32), ..Expected::exact(value) }
    };
    if op == Op::Logsumexp {
        if !pair.max.is_finite() {
            return Expected::exact(pair.max);
        }
        return rounded(pair.max + log, pair.log_error());
    }
    let at_label =
        usize::try_from(row.label).ok().and_then(|label| row.first.get(label)).map_or(f64::NAN, |&x| double(x));
    let apart = pair.max - at_label;
    rounded(apart + log, pair.log_error() + U * apart.abs())
}

/// The results of a row, in order, of an operation with a result for each element; `bound` is that of the type they are rounded
/// to.
pub fn element_results<T: Element>(op: Op, row: Row<'_, T>, additions: u64) -> impl Iterator<Item = Expected> {
    let answer = Answer::of(op, &row, additions);
    let (first, other, label, gradient) = (row.first, row.other, row.label, f64::from(row.gradient));
    (0..first.len()).map(move |i| {
        let x = double(first[i]);
        let y = other.get(i).map_or(0.0, |&y| double(y));
        rounded::<T>(answer.at(x, y, usize::try_from(label) == Ok(i), gradient))
    })
}

/// With half a step of the type that results are rounded to.
pub(super) fn rounded<T: Element>(right: Expected) -> Expected {
    let bound = right.bound + narrowing_error(T::TYPE, right.value.abs() + right.bound);
    Expected { bound, largest: largest(T::TYPE), ..right }
}

/// The largest finite number of the type that results are stored as.
fn largest(ty: Type) -> f64 {
    match ty {
        Type::F16 => half::f16::MAX.to_f64(),
        Type::BF16 => half::bf16::MAX.to_f64(),
        _ => f64::from(f32::MAX),
    }
}

/// Half a step of the type at this size, where results are rounded to one that is narrower than a float.
fn narrowing_error(ty: Type, size: f64) -> f64 {
    // Significant bits, and the exponent below which all numbers are subnormal.
    let (bits, least) = match ty {
        Type::F16 => (11.0, -14.0),
        Type::BF16 => (8.0, -126.0),
        _ => return 0.0,
    };
    if size.is_finite() { (size.log2().floor().max(least) - bits).exp2() } else { 0.0 }
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
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| {
            (sum + term, if term.is_finite() { size + f64::abs(term) } else { size })
        });
        let rounding = (additions + OTHERS).into();
        let lost = row.first.len() as f64 * smallest(Type::F32);
        let error = error_bound(Type::F32, rounding, size) + lost;
        let overflows = may_overflow(Type::F32, rounding, size);
        Answer::OfSum { op, sum, error, overflows }
    }

    fn at(&self, x: f64, y: f64, is_label: bool, gradient: f64) -> Expected {
        match self {
            Answer::OfPair { op, pair } => pair_result(*op, pair, x, is_label, gradient),
            Answer::OfSum { op: Op::SoftmaxBackward, sum, error, overflows } => {
                let apart = y - sum;
                let value = x * apart;
                let bound = x.abs() * (error + U * apart.abs()) + 2.0 * U * value.abs() + FLUSHED;
                let is_past = apart.is_finite() && may_overflow(Type::F32, 1.into(), apart.abs() + error);
                let of_zero = x.is_infinite() && apart.abs() <= error + U * apart.abs();
                let unsure = Unsure::all_if(*overflows || is_past, Why::Overflow);
                let unsure = unsure.and(Unsure::infinite_if(of_zero, Why::ZeroTimesInfinity));
                Expected { bound, unsure, ..Expected::exact(value) }
            }
            Answer::OfSum { sum, error, overflows, .. } => {
                let e = x.exp();
                let value = y - e * sum;
                // Where no power is left, none is lost either.
                let of_power = if e > 0.0 { e * (error + (4.0 * U + x.abs() * APART) * sum.abs()) } else { 0.0 };
                let bound = of_power + 2.0 * U * value.abs() + FLUSHED * (1.0 + sum.abs());
                let is_past = x.is_finite() && may_overflow(Type::F32, 1.into(), e.max((e * sum).abs()));
                let of_zero = (sum.is_infinite() && e <= FLUSHED) || (x == f64::INFINITY && sum.abs() <= *error);
                let unsure = Unsure::all_if(*overflows || is_past, Why::Overflow);
                let unsure = unsure.and(Unsure::infinite_if(of_zero, Why::ZeroTimesInfinity));
                Expected { bound, unsure, ..Expected::exact(value) }
            }
        }
    }
}

fn pair_result(op: Op, pair: &Pair, x: f64, is_label: bool, gradient: f64) -> Expected {
    if !pair.max.is_finite() {
        return Expected::exact(f64::NAN);
    }
    let distance = x - pair.max;
    if op == Op::LogSoftmax {
        let value = distance - pair.sum.ln();
        let bound = pair.log_error() + 1.01 * U * (distance.abs() + value.abs());
        return Expected { bound, ..Expected::exact(value) };
    }
    let share = distance.exp() / pair.sum;
    let apart = if share > 0.0 { distance.abs() } else { 0.0 };
    let of_share = share * (pair.relative + APART * apart) + FLUSHED;
    if op == Op::Softmax {
        return Expected { bound: of_share, ..Expected::exact(share) };
    }
    let less = share - f64::from(u8::from(is_label));
    let value = less * gradient;
    let of_less = of_share + U * less.abs();
    let bound = gradient.abs() * of_less + 2.0 * U * value.abs() + FLUSHED;
    let may_be_zero = gradient.is_infinite() && less.abs() <= of_less;
    let unsure = Unsure::infinite_if(may_be_zero, Why::ZeroTimesInfinity);
    Expected { bound, unsure, ..Expected::exact(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

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
        let right = element_results(op, row(x), x.len() as u64);
        right.zip(results).map(|(right, &result)| right.judge(f64::from(result)).right).collect()
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
        let of = |x: &[f32]| row_result(Op::Logsumexp, row(x), 3).value;
        assert_eq!((of(&[-inf, -inf]), of(&[inf, 1.0]), of(&[])), (-f64::INFINITY, f64::INFINITY, -f64::INFINITY));
        assert!(of(&[inf, nan]).is_nan() && of(&[nan, inf]).is_nan());
        let loss = |x: &[f32]| row_result(Op::CrossEntropy, row(x), 3).value;
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
        for (i, right) in element_results(Op::SoftmaxBackward, row, 5).enumerate() {
            let mut more = x;
            more[i] += 1e-6;
            let slope = (loss(&more) - loss(&x)) / 1e-6;
            assert!((right.value - slope).abs() < 1e-5, "{} {slope}", right.value);
        }
    }

    #[test]
    fn halves_are_allowed_half_a_step() {
        macro_rules! of {
            ($half:ident) => {
                let mut x: Vec<$half> = crate::input::elements(100, 5);
                // With shares below the normal numbers of f16, down to its smallest.
                x.extend((5..18).map(|x| $half::from_f32(-(x as f32))));
                let wide: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
                let results = softmax_in_floats(&wide);
                for (right, result) in element_results(Op::Softmax, row(&x), 30).zip(&results) {
                    let rounded = $half::from_f32(*result);
                    assert!(right.judge(rounded.to_f64()).right);
                    assert!(!right.judge($half::from_bits(rounded.to_bits() + 2).to_f64()).right);
                }
            };
        }
        of!(bf16);
        of!(f16);
    }

    #[test]
    fn a_result_that_no_f16_holds_is_infinite() {
        let [y, gradient] = [[300.0, 300.0], [300.0, 200.0]].map(|row: [f32; 2]| row.map(f16::from_f32));
        let row = Row { first: &y, other: &gradient, label: 0, gradient: 1.0 };
        for right in element_results(Op::SoftmaxBackward, row, 5) {
            assert!(right.value < -4e7 && right.judge(f64::NEG_INFINITY).right, "{right:?}");
            for wrong in [-65504.0, f64::INFINITY, f64::NAN] {
                assert!(right.judge(wrong).is_wrong(), "{wrong}: {right:?}");
            }
        }
    }
}
