//! The judgement on one result: is it within the bound of the right answer?

use std::sync::OnceLock;

use crate::bound::{Rounding, error_bound};
use crate::element::{Element, Type, Value};
use crate::layout::{Layout, Matrix};
use crate::op::Op;
use crate::reference::exponentials::{self, Right, Row, judge};
use crate::reference::norms::{self, Norm};
use crate::reference::{Reference, reference_of};
use crate::targets::Targets;

/// Verdict on a result.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Within the bound; a NaN is right only where the inputs make the sum a NaN.
    pub right: bool,
    /// |result − expected|; for an expected infinity or NaN 0 where the class agrees, else infinite.
    pub abs_error: f64,
    /// The largest error that the kernel's own order of additions explains.
    pub error_bound: f64,
}

/// Judges `result`, which came by additions that round like this.
pub fn verify(result: Value, reference: &Reference, rounding: impl Into<Rounding>, ty: Type) -> Verdict {
    if let (Value::I32(got), Value::I32(want)) = (result, reference.expected) {
        let abs_error = (i64::from(got) - i64::from(want)).abs() as f64;
        return Verdict { right: got == want, abs_error, error_bound: 0.0 };
    }
    match (result, reference.expected) {
        (Value::At { .. }, _) | (Value::U32(_), _) | (Value::I64(_), _) => return exactly(result, reference.expected),
        (Value::Two(..), Value::Two(..)) => return both(result, reference, rounding.into(), ty),
        _ => {}
    }
    let (got, want) = (result.to_f64(), reference.expected.to_f64());
    if !want.is_finite() {
        let right = (got.is_nan() && want.is_nan()) || got == want;
        return Verdict { right, abs_error: if right { 0.0 } else { f64::INFINITY }, error_bound: 0.0 };
    }
    let error_bound = error_bound(ty, rounding.into(), reference.magnitude);
    let abs_error = ((got - want) - reference.low).abs();
    // Written so that a NaN fails.
    Verdict { right: abs_error <= error_bound, abs_error, error_bound }
}

/// The worst of many results: the first that is wrong, or else the one that is off by most of its bound.
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
    let mut worst: Option<Worst> = None;
    for row in 0..layout.values() {
        let reference = reference_of(op, &T::array(layout.elements(all, row)));
        let result = results.get(row as usize).copied();
        let missing = Verdict { right: false, abs_error: f64::INFINITY, error_bound: 0.0 };
        let verdict = result.map_or(missing, |result| verify(result, &reference, rounding, T::TYPE));
        let result = result.unwrap_or(op.identity(T::TYPE));
        let judged = Worst { row, col: None, result, expected: reference.expected, verdict };
        if !verdict.right {
            return Some(judged);
        }
        if worst.is_none_or(|worst| verdict.share() > worst.verdict.share()) {
            worst = Some(judged);
        }
    }
    worst
}

impl Verdict {
    /// Error as a share of the bound.
    fn share(&self) -> f64 {
        if self.abs_error > 0.0 { self.abs_error / self.error_bound } else { 0.0 }
    }
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
    /// Expected sums of the columns, computed when the first is needed.
    columns: OnceLock<[Vec<Right>; 2]>,
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
        let of_part = |rows: &[u64]| {
            let mut worst: Option<Worst> = None;
            for &row in rows {
                let Some(of_row) = self.worst_of_row(row, results) else { continue };
                if !of_row.verdict.right {
                    return Some(of_row);
                }
                if worst.is_none_or(|worst| of_row.verdict.share() > worst.verdict.share()) {
                    worst = Some(of_row);
                }
            }
            worst
        };
        let parts: Vec<Option<Worst>> = std::thread::scope(|scope| {
            let running: Vec<_> = rows.chunks(part).map(|rows| scope.spawn(|| of_part(rows))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
        });
        let all = || parts.iter().copied().flatten();
        let wrong = all().find(|worst| !worst.verdict.right);
        wrong.or_else(|| all().reduce(|a, b| if b.verdict.share() > a.verdict.share() { b } else { a }))
    }

    /// Expected results of a row, element by element.
    fn right_of_norm(&self, row: u64) -> Vec<Right> {
        let Matrix { rows, .. } = self.matrix;
        let norm = Norm { op: self.op, targets: self.targets, additions: self.additions };
        let of = |row| norms::Row { first: self.part(self.first, row), other: self.part(self.other, row) };
        match row.checked_sub(rows) {
            None => norm.of_row(of(row)),
            Some(behind) if self.op.adds() => norm.of_sums(of(behind)),
            Some(kind) => {
                let columns = self.columns.get_or_init(|| norm.of_columns((0..rows).map(of), self.matrix.cols));
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
        let worst = |col: Option<u64>, right: Right, result: Option<Value>| {
            let (is_right, abs_error) = result.map_or((false, f64::INFINITY), |result| judge(result.to_f64(), right));
            let result = result.unwrap_or(self.op.identity(T::TYPE));
            let verdict = Verdict { right: is_right, abs_error, error_bound: right.bound };
            // The nearest float, so that no record depends on a machine's library of functions.
            Worst { row, col, result, expected: Value::F32(right.expected as f32), verdict }
        };
        let results = match results {
            Results::Rows(values) => {
                let right = exponentials::of_row(self.op, of_row, self.additions);
                return Some(worst(None, right, values.get(row as usize).copied()));
            }
            Results::Elements(elements) => part(elements),
        };
        let right: Vec<Right> = if self.op.is_norm() {
            self.right_of_norm(row)
        } else {
            exponentials::of_elements(self.op, of_row, self.additions).collect()
        };
        let judged = right
            .into_iter()
            .enumerate()
            .map(|(col, right)| worst(Some(col as u64), right, results.get(col).map(|x| x.value())));
        let mut of_all: Option<Worst> = None;
        for one in judged {
            if !one.verdict.right {
                return Some(one);
            }
            if of_all.is_none_or(|of_all| one.verdict.share() > of_all.verdict.share()) {
                of_all = Some(one);
            }
        }
        of_all
    }
}

/// Numbers without rounding, and places.
fn exactly(result: Value, expected: Value) -> Verdict {
    let (right, apart) = match (result, expected) {
        (Value::U32(got), Value::U32(want)) => (got == want, f64::from(got.abs_diff(want))),
        (Value::I64(got), Value::I64(want)) => (got == want, got.abs_diff(want) as f64),
        (Value::At { index, value }, Value::At { index: wanted, value: best }) => {
            // An empty input has no element either.
            let same = index == Value::NOWHERE || value == best || (value.is_nan() && best.is_nan());
            (index == wanted && same, index.abs_diff(wanted) as f64)
        }
        _ => (false, f64::INFINITY),
    };
    Verdict { right, abs_error: apart, error_bound: 0.0 }
}

/// Rounded operations of one merge of two means and variances on the path of either.
const OF_MERGE: f64 = 8.0;

/// Two numbers: what does not round is exact, a mean and a variance may be off by what merging explains. A variance by merging
/// is off by a share of itself that grows with the mean over the deviation (Chan, Golub, LeVeque, Algorithms for computing the
/// sample variance, 1983).
fn both(result: Value, reference: &Reference, rounding: Rounding, ty: Type) -> Verdict {
    let (Value::Two(a, b), Value::Two(x, y)) = (result, reference.expected) else {
        return Verdict { right: false, abs_error: f64::INFINITY, error_bound: 0.0 };
    };
    let first = error_bound(ty, rounding, reference.magnitude) * OF_MERGE;
    let second = error_bound(ty, rounding, reference.spread) * OF_MERGE;
    let off = |got: f64, want: f64| match () {
        () if want.is_finite() => (got - want).abs(),
        () if got == want || (got.is_nan() && want.is_nan()) => 0.0,
        () => f64::INFINITY,
    };
    let (of_first, of_second) = (off(a, x), off(b, y));
    let right = of_first <= first && of_second <= second;
    let worse = of_second > second || (of_first <= first && of_second * first > of_first * second);
    if worse {
        Verdict { right, abs_error: of_second, error_bound: second }
    } else {
        Verdict { right, abs_error: of_first, error_bound: first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Array;
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
    fn overflow_on_the_way_is_no_error_of_the_kernel() {
        assert!(judge(vec![3e38, 3e38, -3e38], f32::INFINITY).right);
        assert!(judge(vec![3e38, 3e38, -3e38], 3e38).right);
    }

    #[test]
    fn zeros_sum_to_zero_exactly() {
        assert!(judge(vec![0.0; 5], 0.0).right);
        assert!(!judge(vec![0.0; 5], 1e-30).right);
    }
}
