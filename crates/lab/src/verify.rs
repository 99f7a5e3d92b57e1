//! The judgement on the results of a run: is each within the bound of the right answer?

use std::sync::OnceLock;

use crate::bound::{Rounding, error_bound, largest, may_overflow, smallest};
use crate::element::{Array, Element, Type, Value};
use crate::layout::{Layout, Matrix};
use crate::op::{OnHost as _, Op};
use crate::reference::exact::rounded_once;
use crate::reference::exponentials::{self, Row};
use crate::reference::norms::{self, Norm};
use crate::reference::{Reach, Reference, reference_of};
use crate::targets::Targets;
use crate::verdict::{Expected, Unsure, Why};

pub use crate::verdict::Verdict;

/// Judges `result`, which came by additions that round like this. An exact result has to have the bits of the expected one, which is
/// that of [`crate::reference::exact::rounded_once`].
pub fn verify(result: Value, reference: &Reference, rounding: impl Into<Rounding>, ty: Type) -> Verdict {
    let rounding = rounding.into();
    match (result, reference.expected) {
        (Value::I32(_) | Value::U32(_) | Value::I64(_) | Value::At { .. }, expected) => exactly(result, expected),
        (Value::Two(first, second), Value::Two(..)) => {
            let [of_first, of_second] = both(reference, rounding, ty);
            let (first, second) = (of_first.judge(first), of_second.judge(second));
            if second.is_worse_than(&first) { second } else { first }
        }
        (_, expected) if rounding == Rounding::EXACT => bit_for_bit(result.to_f64(), expected.to_f64()),
        _ => number(reference, rounding, ty).judge(result.to_f64()),
    }
}

/// The reference for a result that came by additions like these: as it is, or rounded once where they are exact.
pub fn reference_for(reference: &Reference, rounding: Rounding, op: Op, array: &Array) -> Reference {
    let exact = (rounding == Rounding::EXACT).then(|| rounded_once(op, array)).flatten();
    exact.unwrap_or(*reference)
}

/// Floats as doubles, which keep their bits but for those of a NaN: any NaN is right for one, and each zero for itself alone.
fn bit_for_bit(result: f64, expected: f64) -> Verdict {
    let right = result.to_bits() == expected.to_bits() || (result.is_nan() && expected.is_nan());
    Verdict::exact(right, if right { 0.0 } else { (result - expected).abs() })
}

/// A sum or a product as a right kernel may leave it.
fn number(reference: &Reference, rounding: Rounding, ty: Type) -> Expected {
    let bound = error_bound(ty, rounding, reference.magnitude) + reference.underflows * smallest(ty);
    let unsure = overflows(reference, rounding, ty);
    let is_long = bound.is_infinite() && reference.magnitude.is_finite() && reference.expected.to_f64().is_finite();
    let unsure = if is_long { unsure.and(Unsure::finite(Why::LongPath)) } else { unsure };
    Expected { value: reference.expected.to_f64(), low: reference.low, bound, largest: largest(ty), unsure }
}

/// What partial sums that overflow leave: an infinity that stays, or a NaN where one of either sign meets the other.
fn overflows(reference: &Reference, rounding: Rounding, ty: Type) -> Unsure {
    let (expected, reach) = (reference.expected.to_f64(), reference.reach);
    if reach.above.is_infinite() && expected.is_finite() {
        return Unsure::all(Why::Overflow);
    }
    let (up, down) = (may_overflow(ty, rounding, reach.above), may_overflow(ty, rounding, reach.below));
    match expected {
        _ if expected.is_nan() => Unsure::NONE,
        f64::INFINITY => Unsure { nan: down, ..Unsure::NONE },
        f64::NEG_INFINITY => Unsure { nan: up, ..Unsure::NONE },
        _ => Unsure { up, down, nan: up && down, ..Unsure::NONE },
    }
}

/// The worst of many results: the first that is wrong, else one that is not judged, else the one that is off by most of its
/// bound.
#[derive(Debug, Clone, Copy)]
pub struct Worst {
    /// Its row, or column.
    pub row: u64,
    /// Its column, if it is not the row's only result.
    pub col: Option<u64>,
    /// Result of the device.
    pub result: Value,
    /// Expected result.
    pub expected: Value,
    /// Verdict.
    pub verdict: Verdict,
}

/// Judges the results of all rows or columns, each by a reference of its own. A result that is missing is wrong. `None` where
/// there is none to judge.
pub fn worst<T: Element>(layout: &Layout, op: Op, all: &[T], results: &[Value], rounding: Rounding) -> Option<Worst> {
    if op.has_bounds() {
        let Layout::Rows(matrix) = *layout else { return None };
        let arrays = all.split_at(all.len() / op.arrays() as usize);
        let bounded = Bounded::new(op, matrix, Targets::default(), arrays, rounding.additions);
        return bounded.worst(&bounded.rows(), Results::Rows(results));
    }
    worst_of((0..layout.values()).map(|row| {
        let elements = T::array(layout.elements(all, row));
        let reference = reference_for(&reference_of(op, &elements), rounding, op, &elements);
        let result = results.get(row as usize).copied();
        let verdict = result.map_or(Verdict::MISSING, |result| verify(result, &reference, rounding, T::TYPE));
        let result = result.unwrap_or_else(|| op.identity(T::TYPE));
        Worst { row, col: None, result, expected: reference.expected, verdict }
    }))
}

/// The first that is wrong, else the worst of all. Behind one that is wrong nothing is judged any more.
fn worst_of(judged: impl IntoIterator<Item = Worst>) -> Option<Worst> {
    let mut worst = None;
    for one in judged {
        if one.verdict.is_wrong() {
            return Some(one);
        }
        worst = worse(worst, one);
    }
    worst
}

/// The worse of two, the first where neither is.
fn worse(a: Option<Worst>, b: Worst) -> Option<Worst> {
    Some(a.filter(|a| !b.verdict.is_worse_than(&a.verdict)).unwrap_or(b))
}

/// Results of a device for a matrix.
#[derive(Debug, Clone, Copy)]
pub enum Results<'r, T> {
    /// An element for each of the input's, which lie as those do.
    Elements(&'r [T]),
    /// One for each row.
    Rows(&'r [Value]),
}

/// The numbers and the task of a matrix whose results have a bound each.
#[derive(Debug)]
pub struct Bounded<'i, T> {
    op: Op,
    matrix: Matrix,
    targets: Targets,
    first: &'i [T],
    other: &'i [T],
    additions: u64,
    /// What is right of the columns' sums, found when the first is asked for.
    columns: OnceLock<[Vec<Expected>; 2]>,
}

impl<'i, T: Element> Bounded<'i, T> {
    /// References of `op` for a matrix, and a second one where it takes two, by kernels with so many roundings on the longest
    /// path through a sum.
    pub fn new(op: Op, matrix: Matrix, targets: Targets, arrays: (&'i [T], &'i [T]), additions: u64) -> Bounded<'i, T> {
        let (first, other) = arrays;
        Bounded { op, matrix, targets, first, other, additions, columns: OnceLock::new() }
    }

    /// All rows of results.
    pub fn rows(&self) -> Vec<u64> {
        (0..self.op.result_rows(self.matrix.rows)).collect()
    }

    /// Judges the results of these rows by all cores, as [`worst`] does. A result that is missing is wrong.
    pub fn worst(&self, rows: &[u64], results: Results<'_, T>) -> Option<Worst> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let part = rows.len().div_ceil(threads).max(1);
        let of_part = |rows: &[u64]| worst_of(rows.iter().filter_map(|&row| self.worst_of_row(row, results)));
        let parts: Vec<Option<Worst>> = std::thread::scope(|scope| {
            let running: Vec<_> = rows.chunks(part).map(|rows| scope.spawn(|| of_part(rows))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
        });
        worst_of(parts.into_iter().flatten())
    }

    /// The right results of a row, element by element.
    fn right_of_norm(&self, row: u64) -> Vec<Expected> {
        let Matrix { rows, .. } = self.matrix;
        let norm = Norm { op: self.op, targets: self.targets, additions: self.additions };
        let of = |row| norms::Row { first: self.part(self.first, row), other: self.part(self.other, row) };
        match row.checked_sub(rows) {
            None => norm.row_results(of(row)),
            Some(behind) if self.op.adds() => norm.input_sums(of(behind)),
            Some(kind) => {
                let columns = self.columns.get_or_init(|| norm.column_gradients((0..rows).map(of), self.matrix.cols));
                columns.get(kind as usize).cloned().unwrap_or_default()
            }
        }
    }

    /// The elements of a row.
    fn part<'a>(&self, all: &'a [T], row: u64) -> &'a [T] {
        let begin = (row * self.matrix.pitch) as usize;
        all.get(begin..begin + self.matrix.cols as usize).unwrap_or(&[])
    }

    fn worst_of_row(&self, row: u64, results: Results<'_, T>) -> Option<Worst> {
        let cols = self.matrix.cols;
        let part = |all| self.part(all, row);
        let label = if self.op.has_labels() { self.targets.label(row, cols) } else { 0 };
        let gradient = self.targets.gradient(row);
        let of_row = Row { first: part(self.first), other: part(self.other), label, gradient };
        let worst = |col: Option<u64>, right: Expected, result: Option<Value>| {
            let missing = Verdict { error_bound: right.bound, ..Verdict::MISSING };
            let verdict = result.map_or(missing, |result| right.judge(result.to_f64()));
            let result = result.unwrap_or_else(|| self.op.identity(T::TYPE));
            // The nearest float, so that no record depends on a machine's library of functions.
            Worst { row, col, result, expected: Value::F32(right.value as f32), verdict }
        };
        let results = match results {
            Results::Rows(values) => {
                let right = exponentials::row_result(self.op, of_row, self.additions);
                return Some(worst(None, right, values.get(row as usize).copied()));
            }
            Results::Elements(elements) => part(elements),
        };
        let right: Vec<Expected> = if self.op.is_norm() {
            self.right_of_norm(row)
        } else {
            exponentials::element_results(self.op, of_row, self.additions).collect()
        };
        let judged = right
            .into_iter()
            .enumerate()
            .map(|(col, right)| worst(Some(col as u64), right, results.get(col).map(|x| x.value())));
        worst_of(judged)
    }
}

/// Numbers without rounding, and places. Zeros of either sign are the same value.
fn exactly(result: Value, expected: Value) -> Verdict {
    match (result, expected) {
        (Value::I32(got), Value::I32(want)) => Verdict::exact(got == want, f64::from(got.abs_diff(want))),
        (Value::U32(got), Value::U32(want)) => Verdict::exact(got == want, f64::from(got.abs_diff(want))),
        (Value::I64(got), Value::I64(want)) => Verdict::exact(got == want, got.abs_diff(want) as f64),
        (Value::At { index, value }, Value::At { index: right, value: best }) => {
            // Of nothing there is no element either.
            let same = right == Value::NOWHERE || value == best || (value.is_nan() && best.is_nan());
            let apart = if index == right && !same { (value - best).abs() } else { index.abs_diff(right) as f64 };
            Verdict::exact(index == right && same, apart)
        }
        _ => Verdict::MISSING,
    }
}

/// Rounded operations of one merge of two means and variances on the path of either.
const OF_MERGE: f64 = 8.0;

/// Two numbers: what does not round is exact, a mean and a variance may be off by what merging explains. A variance by merging
/// is off by a share of itself that grows with the mean over the deviation (Chan, Golub, LeVeque, Algorithms for computing the
/// sample variance, 1983), and by the square of what means are off by, which is all of it where numbers are nearly equal.
fn both(reference: &Reference, rounding: Rounding, ty: Type) -> [Expected; 2] {
    let Value::Two(first, second) = reference.expected else { return [Expected::exact(f64::NAN); 2] };
    if reference.magnitude == 0.0 {
        return [Expected::exact(first), Expected::exact(second)];
    }
    // Each merge may lose what is below the normal numbers, in its products and in its mean.
    let lost = 2.0 * OF_MERGE * (rounding.additions + 1) as f64 * smallest(ty);
    let of_mean = error_bound(ty, rounding, reference.magnitude) * OF_MERGE + lost;
    let of_variance = error_bound(ty, rounding, reference.spread) * OF_MERGE + 2.0 * of_mean * of_mean + lost;
    // Means are as far apart as their magnitudes together, and one that is infinite has no distance to another.
    let Reach { above, below, .. } = reference.reach;
    let apart = if above > 0.0 && below > 0.0 { above + below } else { 0.0 };
    let reach = Reach { above: above.max(apart), below: below.max(apart), ..reference.reach };
    let of_sum = overflows(&Reference { expected: Value::F64(first), reach, ..*reference }, rounding, ty);
    let of_sum = Unsure { nan: of_sum.nan || of_sum.up || of_sum.down, ..of_sum };
    let squares = 2.0 * (reference.reach.squares + reference.reach.count * of_mean * of_mean);
    let squares = may_overflow(ty, rounding, squares) || of_sum.up || of_sum.down;
    let of_squares = Unsure { up: squares, nan: squares, ..Unsure::NONE };
    let one = |value, bound, unsure| Expected { value, bound, largest: largest(ty), unsure, low: 0.0 };
    [one(first, of_mean, of_sum), one(second, of_variance, of_squares)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::reference;

    fn judge(values: Vec<f32>, result: f32) -> Verdict {
        verify(Value::F32(result), &reference(&Array::F32(values)), 4, Type::F32)
    }

    #[test]
    fn integers_agree_or_do_not() {
        let r = reference(&Array::I32(vec![1, 2, 3]));
        assert!(verify(Value::I32(6), &r, 2, Type::I32).right);
        let off = verify(Value::I32(7), &r, 2, Type::I32);
        assert!(!off.right);
        assert_eq!(off.abs_error, 1.0);
    }

    #[test]
    fn floats_may_be_off_by_the_bound_and_no_more() {
        let bound = judge(vec![1.0, 2.0, 3.0], 6.0).error_bound;
        assert!(judge(vec![1.0, 2.0, 3.0], 6.0 + bound as f32 * 0.9).right);
        assert!(!judge(vec![1.0, 2.0, 3.0], 6.0 + bound as f32 * 1.5).right);
    }

    #[test]
    fn nan_never_passes_for_a_finite_sum() {
        assert!(!judge(vec![1.0, 2.0], f32::NAN).right);
        assert!(!judge(vec![3e38, 3e38, -3e38], f32::NAN).right, "even where no bound holds");
    }

    #[test]
    fn classes_are_compared_as_classes() {
        assert!(judge(vec![1.0, f32::NAN], f32::NAN).right);
        assert!(!judge(vec![1.0, f32::NAN], 1.0).right);
        assert!(judge(vec![1.0, f32::INFINITY], f32::INFINITY).right);
        assert!(!judge(vec![1.0, f32::INFINITY], f32::NEG_INFINITY).right);
        assert!(!judge(vec![1.0, f32::INFINITY], f32::NAN).right);
    }

    #[test]
    fn overflow_on_the_way_is_neither_right_nor_wrong() {
        let numbers = vec![3e38, 3e38, -3e38];
        assert_eq!(judge(numbers.clone(), f32::INFINITY).not_judged, Some(Why::Overflow));
        assert!(judge(numbers.clone(), f32::NEG_INFINITY).is_wrong(), "what is below 0 holds in a float");
        assert!(judge(numbers.clone(), f32::NAN).is_wrong(), "no infinity of the other sign meets the first");
        assert!(judge(numbers.clone(), 3e38).right && judge(numbers, 1e38).is_wrong());
        let both_ways = vec![3e38, 3e38, -3e38, -3e38];
        assert_eq!(judge(both_ways, f32::NAN).not_judged, Some(Why::Overflow));
        assert!(judge(vec![3e38, 3e38], f32::INFINITY).right && judge(vec![-3e38, -3e38], f32::INFINITY).is_wrong());
        let beside_infinity = vec![f32::INFINITY, -3e38, -3e38];
        assert_eq!(judge(beside_infinity, f32::NAN).not_judged, Some(Why::Overflow));
    }

    #[test]
    fn squares_below_the_normal_numbers_are_lost() {
        let judged = |op, values: &[f32], result: f32| {
            verify(Value::F32(result), &reference_of(op, &Array::F32(values.to_vec())), 4, Type::F32)
        };
        assert!(judged(Op::Sumsq, &[1e-42; 5], 0.0).right && judged(Op::Dot, &[1e-30; 4], 0.0).right);
        assert!(judged(Op::Sumsq, &[1e-42; 5], 1e-43).is_wrong());
        assert!(judged(Op::Sumsq, &[1e20, 1.0], f32::INFINITY).right, "10^40 is no float");
        assert_eq!(judged(Op::Prod, &[1e30, 1e-30, 1e30, 1e-30], f32::INFINITY).not_judged, Some(Why::Overflow));
        assert_eq!(judged(Op::Prod, &[1e30, 1e-30, 1e30, 1e-30], 0.0).not_judged, Some(Why::Overflow));
        assert!(judged(Op::Prod, &[1e30, 1e-30, 1e30, 1e-30], 1.0).right);
        assert!(judged(Op::Prod, &[1e-30, 1e-30, 1e30], 0.0).right, "10^-60 is 0");
        assert!(judged(Op::Prod, &[1e-30, 2.0, 1e30], 0.0).is_wrong());
    }

    #[test]
    fn moments_of_what_is_infinite_are_what_follows() {
        let judged = |values: &[f32], mean: f64, variance: f64| {
            verify(Value::Two(mean, variance), &reference_of(Op::Meanvar, &Array::F32(values.to_vec())), 4, Type::F32)
        };
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert!(judged(&[1.0, f32::NAN], nan, nan).right && judged(&[1.0, f32::NAN], 1.0, nan).is_wrong());
        assert!(judged(&[1.0, f32::INFINITY, 2.0], inf, nan).right);
        assert!(judged(&[1.0, f32::INFINITY, 2.0], nan, nan).is_wrong());
        assert!(judged(&[1.0, f32::INFINITY, f32::NEG_INFINITY], nan, nan).right);
        assert!(judged(&[1e20; 5], 1e20f32.into(), 0.0).right && judged(&[1e20; 5], 1e20f32.into(), nan).is_wrong());
        assert_eq!(judged(&[1e20, -1e20], 0.0, nan).not_judged, Some(Why::Overflow));
        assert!(judged(&[1e20, -1e20], 0.0, inf).right, "10^40 is no float");
        assert!(judged(&[2e38; 3], 2e38f32.into(), 0.0).right);
        assert_eq!(judged(&[2e38; 3], inf, nan).not_judged, Some(Why::Overflow));
    }

    #[test]
    fn the_distance_of_another_element_at_the_right_place_is_its_own() {
        let reference = reference_of(Op::Argmax, &Array::F32(vec![1.0, 3.0]));
        let verdict = verify(Value::At { index: 1, value: 1.0 }, &reference, 4, Type::F32);
        assert!(verdict.is_wrong() && verdict.abs_error == 2.0);
        let zero = reference_of(Op::Argmax, &Array::F32(vec![-0.0, -1.0]));
        assert!(verify(Value::At { index: 0, value: 0.0 }, &zero, 4, Type::F32).right, "chapter 9 says so");
    }

    #[test]
    fn exact_sums_are_right_bit_for_bit() {
        let values = [1e8f32, 0.3, -1e8, 1e-3];
        let array = Array::F32(values.to_vec());
        let exact = reference_for(&reference(&array), Rounding::EXACT, Op::Sum, &array);
        let judged = |result: f32| verify(Value::F32(result), &exact, Rounding::EXACT, Type::F32);
        assert_eq!(judged(0.301), Verdict::EXACT);
        assert!(judged(0.301f32.next_up()).is_wrong() && judged(0.301f32.next_down()).is_wrong());
        assert!(judged(f32::NAN).is_wrong() && judged(f32::INFINITY).is_wrong());
        let zero = Reference::exact(Value::F32(-0.0));
        assert!(verify(Value::F32(0.0), &zero, Rounding::EXACT, Type::F32).is_wrong(), "the sign of a zero");
        let nan = Reference::exact(Value::F32(f32::NAN));
        assert!(verify(Value::F32(f32::from_bits(0xffc0_0001)), &nan, Rounding::EXACT, Type::F32).right);
        let same = reference_for(&reference(&array), 3.into(), Op::Sum, &array);
        assert_eq!(same.expected.bits(), reference(&array).expected.bits());
    }

    #[test]
    fn zeros_sum_to_zero_exactly() {
        assert!(judge(vec![0.0; 5], 0.0).right);
        assert!(!judge(vec![0.0; 5], 1e-30).right);
    }
}
