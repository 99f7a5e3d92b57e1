//! Contests over rows: a value for each row, column or ragged row, beside the libraries that have it too.

use std::collections::HashMap;

use anyhow::Result;
use device::Replayed;
use lab::bound::Rounding;
use lab::element::Element;
use lab::measurement::{Contest, ENTRANT, MeasuredCase};
use lab::op::OnHost as _;
use lab::reference::{Reference, reference_of, reference_of_slice};
use lab::verify::verify;
use lab::{Layout, Op, Session};
use report::ContestTable;

use super::bench::{Bench, Entrant, Input, Slices, set_times};
use super::libraries::Libraries;
use super::pool::{Pool, Slice};
use super::task::Task;
use crate::cores;

/// Number of rows for which each task's right value is computed; it may be a few more.
const REFERENCES: u64 = 1 << 21;

/// All entrants of one task, replayed in turns. Every result of every replay is judged, but where copies of the input have
/// more than [`REFERENCES`] rows together, those of the first of them.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    libraries: &Libraries,
    pool: &Pool<T>,
    (table, task): (&ContestTable, &Task),
) -> Result<Vec<MeasuredCase>> {
    let Some(variant) = session.chapter.variant(&task.variant) else { return Ok(Vec::new()) };
    let n = task.n;
    let cold = pool.slices(&bench.device, n, 0);
    if cold.is_empty() {
        return Ok(Vec::new());
    }
    let mut entrants = vec![Entrant::ours(session, variant, task.options(), n)?.named(ENTRANT)];
    let layout = entrants[0].layout;
    entrants.extend(libraries.segments::<T>(&bench.device, &table.chapter, task.op, &layout));
    let flush = bench.flush.call();
    let replayed = bench.replayed(&entrants, Slices::kept(&cold), &bench.replays(Some(&flush)))?;
    let mut judge = Judge::new(pool, task.op, layout);
    let mut cases = Vec::new();
    for (entrant, replayed) in entrants.iter().zip(&replayed) {
        let mut case = entrant.case(Contest::Alone, Input::new(n, &[]));
        case.offsets = task.offsets.map(str::to_owned);
        let rounding = entrant.rounding(n, bench.multiprocessors());
        judge.judge(&mut case, replayed, bench.graph_slices(&cold), (entrant.words(), rounding));
        set_times(&mut case, replayed.timing.as_ref());
        cases.push(case);
    }
    Ok(cases)
}

/// Right results of each slice, and which results are known to be right.
struct Judge<'p, T: Element> {
    pool: &'p Pool<T>,
    op: Op,
    layout: Layout,
    references: HashMap<usize, Vec<Reference>>,
}

impl<'p, T: Element> Judge<'p, T> {
    fn new(pool: &'p Pool<T>, op: Op, layout: Layout) -> Self {
        Judge { pool, op, layout, references: HashMap::new() }
    }

    /// Judges the results of every replay, as [`contest`] says. Results that are, bit for bit, those of the same elements before are worth the
    /// same, and are counted without being looked at again.
    fn judge(
        &mut self,
        case: &mut MeasuredCase,
        replayed: &Replayed<T>,
        slices: &[Slice<'_, T>],
        (words, rounding): (usize, Rounding),
    ) {
        let values = self.layout.values();
        let used = T::TYPE.holding(values * self.op.row_bytes(T::TYPE)) as usize;
        let (mut known, mut right, mut error): (HashMap<usize, &[T]>, bool, f64) = (HashMap::new(), true, 0.0);
        for output in &replayed.outputs {
            for (results, &(_, start)) in output.chunks(words).zip(slices) {
                let is_known = self.references.contains_key(&start);
                if !is_known && self.references.len() as u64 * values >= REFERENCES {
                    continue;
                }
                let results = &results[..used.min(results.len())];
                case.judged += values;
                if known.get(&start).is_some_and(|known| *known == results) {
                    continue;
                }
                let (op, layout, pool) = (self.op, self.layout, self.pool);
                let references = self.references.entry(start);
                let references = references.or_insert_with(|| row_references(op, &layout, &pool.all()[start..]));
                let (ok, off) = worth(op, results, references, rounding);
                (right, error) = (right && ok, error.max(off));
                known.insert(start, results);
            }
        }
        case.ok = right && case.judged > 0;
        case.error = (T::TYPE.is_float() && self.op.rounds() && case.ok).then_some(error);
    }
}

/// Right result of each row or column, computed by all cores.
fn row_references<T: Element>(op: Op, layout: &Layout, all: &[T]) -> Vec<Reference> {
    let values = layout.values();
    let of = |value: u64| match layout {
        // Few and long: all cores for each.
        Layout::Rows(matrix) if op == Op::Sum && values < cores::count() as u64 => {
            reference_of_slice(&all[(value * matrix.pitch) as usize..][..matrix.cols as usize])
        }
        _ => reference_of(op, &T::array(layout.elements(all, value))),
    };
    if values < 2 || matches!(layout, Layout::Rows(_) if op == Op::Sum && values < cores::count() as u64) {
        return (0..values).map(of).collect();
    }
    let part = values.div_ceil(4 * cores::count() as u64).max(1);
    let parts: Vec<(u64, u64)> = (0..values.div_ceil(part)).map(|i| (i * part, values.min((i + 1) * part))).collect();
    cores::each(&parts, |&(begin, end)| (begin..end).map(of).collect::<Vec<_>>()).concat()
}

/// Returns whether all results are right, and the largest distance from a reference as a share of the sum of the magnitudes.
fn worth<T: Element>(op: Op, results: &[T], references: &[Reference], rounding: Rounding) -> (bool, f64) {
    let elements = op.row_bytes(T::TYPE) as usize / T::BYTES;
    if references.is_empty() || results.len() < references.len() * elements {
        return (false, f64::INFINITY);
    }
    let of_part = |results: &[T], references: &[Reference]| {
        let (mut right, mut error) = (true, 0.0f64);
        for (result, reference) in results.chunks(elements).zip(references) {
            let bytes: Vec<u8> = result.iter().flat_map(|&element| element.le()).collect();
            let Some(result) = op.row_result(T::TYPE, &bytes) else { return (false, f64::INFINITY) };
            let verdict = verify(result, reference, rounding, T::TYPE);
            right &= verdict.right;
            error = error.max(if reference.magnitude > 0.0 { verdict.abs_error / reference.magnitude } else { 0.0 });
        }
        (right, error)
    };
    let part = references.len().div_ceil(cores::count()).max(1);
    let parts: Vec<_> = results.chunks(part * elements).zip(references.chunks(part)).collect();
    let found = cores::each(&parts, |(results, references)| of_part(results, references));
    found.iter().fold((true, 0.0f64), |all, part| (all.0 && part.0, all.1.max(part.1)))
}

#[cfg(test)]
mod tests {
    use lab::Matrix;

    use super::*;

    #[test]
    fn one_wrong_row_of_many_is_seen() {
        let values: Vec<f32> = (0..4000).map(|i| (i % 7) as f32).collect();
        let layout = Layout::Rows(Matrix::dense(1000, 4));
        let references = row_references(Op::Sum, &layout, &values);
        let mut sums: Vec<f32> = values.chunks(4).map(|row| row.iter().sum()).collect();
        let rounding = Rounding::from(4);
        assert_eq!(worth(Op::Sum, &sums, &references, rounding), (true, 0.0));
        sums[777] += 1.0;
        assert!(!worth(Op::Sum, &sums, &references, rounding).0);
        assert!(!worth(Op::Sum, &sums[..999], &references, rounding).0, "a row that is missing");
        let few = Layout::Rows(Matrix::dense(1, 4000));
        assert_eq!(row_references(Op::Sum, &few, &values)[0].expected.to_f64(), f64::from(values.iter().sum::<f32>()));
    }
}
