//! The contest of the chapter on rows: a value for each row, column or ragged row, beside the libraries that have it too.

use std::collections::HashMap;

use anyhow::Result;
use device::{Device, Replayed};
use lab::bound::Rounding;
use lab::element::Element;
use lab::measurement::{Contest, ENTRANT, MeasuredCase};
use lab::reference::{Reference, reference_of, reference_of_slice};
use lab::verify::verify;
use lab::{LaunchOptions, Layout, Matrix, Offsets, Op, Ragged, Rows, Session, input};
use report::ROWS;

use super::bench::{Bench, Entrant, Input, Slices, set_times};
use super::libraries::Libraries;
use super::pool::{Pool, Slice};

/// Operators of rows. By the rule of the last but one a NaN is the answer, as in torch's amax; by that of `max` it is passed
/// over, where CUB compares.
pub const OPS: [Op; 5] = [Op::Sum, Op::Maximum, Op::Max, Op::Argmax, Op::Meanvar];
/// Ragged rows, each with the name that `--offsets` has for it.
pub const RAGGED: [(&str, Ragged); 4] =
    [("uniform", Ragged::Uniform), ("power", Ragged::Power), ("giant", Ragged::Giant), ("empty", Ragged::Empty)];
/// How many of them there are, and elements of each in the mean.
const RAGGED_SIZE: (u64, u64) = (1 << 20, 64);

/// What is reduced, and how.
#[derive(Clone, Copy)]
pub struct Task {
    /// Our kernel.
    pub variant: &'static str,
    /// What it computes.
    pub op: Op,
    /// How the elements lie.
    pub rows: Rows,
    /// The name of ragged rows.
    pub offsets: Option<&'static str>,
}

impl Task {
    /// A value for each row.
    pub fn rows(op: Op, (rows, cols): (u64, u64)) -> Task {
        Task { variant: "rows", op, rows: Rows::Matrix(Matrix::dense(rows, cols)), offsets: None }
    }

    /// The sum of each column.
    pub fn columns((rows, cols): (u64, u64)) -> Task {
        Task { variant: "columns", ..Task::rows(Op::Sum, (rows, cols)) }
    }

    /// The sums of ragged rows of each kind, `size` of them with so many elements in the mean.
    ///
    /// # Errors
    /// Offsets that are none.
    pub fn ragged(size: (u64, u64)) -> Result<Vec<Task>> {
        let task = |(name, kind): (&'static str, Ragged)| {
            let at = kind.offsets(size.0, size.1, input::SEED);
            let n = at.last().copied().unwrap_or(0);
            let offsets = Offsets::new(at, 32, n).map_err(|why| anyhow::anyhow!("--offsets {name}: {why}"))?;
            Ok(Task { variant: "ragged", op: Op::Sum, rows: Rows::Ragged(offsets), offsets: Some(name) })
        };
        RAGGED.into_iter().map(task).collect()
    }

    /// Those of the record.
    ///
    /// # Errors
    /// As [`Task::ragged`].
    pub fn all_ragged() -> Result<Vec<Task>> {
        Task::ragged(RAGGED_SIZE)
    }

    /// Elements that are read.
    pub fn n(&self) -> u64 {
        match self.rows {
            Rows::Matrix(matrix) => matrix.span().unwrap_or(0),
            Rows::Ragged(offsets) => offsets.at(offsets.rows()),
        }
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Task { variant, op, rows, offsets } = self;
        match (rows, offsets) {
            (Rows::Matrix(matrix), _) => write!(f, "{variant} {op} {}x{}", matrix.rows, matrix.cols),
            (Rows::Ragged(_), name) => write!(f, "{variant} {op} {}", name.unwrap_or_default()),
        }
    }
}

/// Of so many rows, or a few more, the right value is computed for each task.
const REFERENCES: u64 = 1 << 21;

/// All entrants of one task, replayed in turns. Every result of every replay is judged, but where copies of the input have
/// more than [`REFERENCES`] rows together, those of the first of them.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    libraries: &Libraries,
    pool: &Pool<T>,
    task: &Task,
) -> Result<Vec<MeasuredCase>> {
    let Some(variant) = session.chapter.variant(task.variant) else { return Ok(Vec::new()) };
    let n = task.n();
    let cold = pool.slices(&bench.device, n, 0);
    if cold.is_empty() {
        return Ok(Vec::new());
    }
    let options = LaunchOptions { op: task.op, rows: Some(task.rows), ..LaunchOptions::default() };
    let mut entrants = vec![Entrant::ours(session, variant, options, n)?.named(ENTRANT)];
    let layout = entrants[0].layout;
    entrants.extend(libraries.segments::<T>(&bench.device, ROWS, task.op, &layout));
    let flush = bench.flush.call();
    let slices = Slices { cold: &cold, to_destroy: &[], restore: None };
    let replayed = bench.replayed(&entrants, slices, &bench.replays(Some(&flush)))?;
    let mut judge = Judge::new(pool, task.op, layout);
    let mut cases = Vec::new();
    for (entrant, replayed) in entrants.iter().zip(&replayed) {
        let mut case = entrant.case(Contest::Alone, Input { n, offset: 0, references: &[] });
        case.offsets = task.offsets.map(str::to_owned);
        let rounding = entrant.rounding(n, bench.multiprocessors());
        judge.judge(&mut case, replayed, bench.of_graph(&cold), (entrant.words(), rounding));
        set_times(&mut case, replayed.timing.as_ref());
        cases.push(case);
    }
    Ok(cases)
}

/// What is right of each slice, and which results are known to be.
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
                let references = references.or_insert_with(|| references_of(op, &layout, &pool.all()[start..]));
                let (ok, off) = worth(op, results, references, rounding);
                (right, error) = (right && ok, error.max(off));
                known.insert(start, results);
            }
        }
        case.ok = right && case.judged > 0;
        case.error = (T::TYPE.is_float() && self.op.rounds() && case.ok).then_some(error);
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What is right of each row or column, by all cores.
fn references_of<T: Element>(op: Op, layout: &Layout, all: &[T]) -> Vec<Reference> {
    let values = layout.values();
    let of = |value: u64| match layout {
        // Few and long: all cores for each.
        Layout::Rows(matrix) if op == Op::Sum && values < threads() as u64 => {
            reference_of_slice(&all[(value * matrix.pitch) as usize..][..matrix.cols as usize])
        }
        _ => reference_of(op, &T::array(layout.elements(all, value))),
    };
    if values < 2 || matches!(layout, Layout::Rows(_) if op == Op::Sum && values < threads() as u64) {
        return (0..values).map(of).collect();
    }
    let part = values.div_ceil(4 * threads() as u64).max(1);
    let parts: Vec<(u64, u64)> = (0..values.div_ceil(part)).map(|i| (i * part, values.min((i + 1) * part))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut found: Vec<(usize, Vec<Reference>)> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(&(begin, end)) = parts.get(i) else { return done };
                done.push((i, (begin..end).map(of).collect()));
            }
        };
        let running: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        // A thread that died would be a mistake of this program; its rows are then missing, and nothing is right.
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    found.sort_by_key(|(i, _)| *i);
    found.into_iter().flat_map(|(_, references)| references).collect()
}

/// Whether all results are right, and how far the worst is from its reference as a share of the sum of the magnitudes.
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
    let part = references.len().div_ceil(threads()).max(1);
    std::thread::scope(|scope| {
        let parts = results.chunks(part * elements).zip(references.chunks(part));
        let running: Vec<_> = parts.map(|(a, b)| scope.spawn(move || of_part(a, b))).collect();
        let parts = running.into_iter().map(|thread| thread.join().unwrap_or((false, f64::INFINITY)));
        parts.fold((true, 0.0f64), |all, part| (all.0 && part.0, all.1.max(part.1)))
    })
}

/// Elements that are tried on: as many as the largest of the tasks takes.
pub fn pool<T: Element>(device: &Device, tasks: &[Task]) -> Result<Pool<T>> {
    Pool::new(device, tasks.iter().map(Task::n).max().unwrap_or(1))
}

/// Time of ours, and how many times as long the fastest library takes.
pub fn told(cases: &[MeasuredCase]) -> String {
    let of = |is_ours: bool| {
        let us = cases.iter().filter(|case| (case.entrant == ENTRANT) == is_ours).filter_map(|case| case.cold_us);
        us.min_by(f64::total_cmp)
    };
    let wrong = if cases.iter().all(|case| case.ok) { "" } else { " WRONG" };
    match (of(true), of(false)) {
        (Some(ours), Some(theirs)) => format!(" {ours:.2} ({:.2}x){wrong}", theirs / ours),
        (Some(ours), None) => format!(" {ours:.2}{wrong}"),
        _ => wrong.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_row_of_many_is_seen() {
        let values: Vec<f32> = (0..4000).map(|i| (i % 7) as f32).collect();
        let layout = Layout::Rows(Matrix::dense(1000, 4));
        let references = references_of(Op::Sum, &layout, &values);
        let mut sums: Vec<f32> = values.chunks(4).map(|row| row.iter().sum()).collect();
        let rounding = Rounding { additions: 4, atomics: 0 };
        assert_eq!(worth(Op::Sum, &sums, &references, rounding), (true, 0.0));
        sums[777] += 1.0;
        assert!(!worth(Op::Sum, &sums, &references, rounding).0);
        assert!(!worth(Op::Sum, &sums[..999], &references, rounding).0, "a row that is missing");
        let few = Layout::Rows(Matrix::dense(1, 4000));
        assert_eq!(references_of(Op::Sum, &few, &values)[0].expected.to_f64(), f64::from(values.iter().sum::<f32>()));
    }

    #[test]
    fn ragged_rows_are_of_one_size_and_hold_what_they_say() {
        for task in Task::ragged((1 << 10, 64)).unwrap() {
            assert!((1 << 14..1 << 18).contains(&task.n()), "{task}: {}", task.n());
        }
    }
}
