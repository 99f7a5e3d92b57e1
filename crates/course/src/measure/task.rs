//! One thing that a chapter's contest measures: an operation over an array, a matrix or ragged rows.

use std::fmt;

use anyhow::Result;
use lab::measurement::{ENTRANT, MeasuredCase, SAVED};
use lab::{LaunchOptions, Matrix, Offsets, Op, Ragged, Rows, input};

use super::bench::SECOND_ALIGNMENT;

/// Ragged rows, each with the name that `--offsets` has for it.
const RAGGED: [(&str, Ragged); 4] =
    [("uniform", Ragged::Uniform), ("power", Ragged::Power), ("giant", Ragged::Giant), ("empty", Ragged::Empty)];
/// Their number in a record, and the mean of their lengths.
pub const RAGGED_SIZE: (u64, u64) = (1 << 20, 64);

/// An operation, and what it reduces.
#[derive(Debug, Clone)]
pub struct Task {
    /// Our kernel.
    pub variant: String,
    /// Operation that it computes.
    pub op: Op,
    /// Elements of one input.
    pub n: u64,
    /// Their rows; `None` for an array.
    pub rows: Option<Rows>,
    /// Name of the offsets of ragged rows.
    pub offsets: Option<&'static str>,
}

impl Task {
    /// One value for an array.
    pub fn array(variant: &str, op: Op, n: u64) -> Task {
        Task { variant: variant.to_owned(), op, n, rows: None, offsets: None }
    }

    /// A value for each row of a matrix, or of each element.
    pub fn matrix(variant: &str, op: Op, (rows, cols): (u64, u64)) -> Task {
        Task { rows: Some(Rows::Matrix(Matrix::dense(rows, cols))), ..Task::array(variant, op, rows * cols) }
    }

    /// The sum of each column.
    pub fn columns(shape: (u64, u64)) -> Task {
        Task::matrix("columns", Op::Sum, shape)
    }

    /// The sums of ragged rows of each kind: so many rows, with so many elements in the mean.
    ///
    /// # Errors
    /// Offsets that are none.
    pub fn ragged((rows, mean): (u64, u64)) -> Result<Vec<Task>> {
        let task = |(name, kind): (&'static str, Ragged)| {
            let at = kind.offsets(rows, mean, input::SEED);
            let n = at.last().copied().unwrap_or(0);
            let offsets = Offsets::new(at, 32, n).map_err(|why| anyhow::anyhow!("--offsets {name}: {why}"))?;
            let rows = Some(Rows::Ragged(offsets));
            Ok(Task { rows, offsets: Some(name), ..Task::array("ragged", Op::Sum, n) })
        };
        RAGGED.into_iter().map(task).collect()
    }

    /// The launch of our kernel.
    pub fn options(&self) -> LaunchOptions {
        LaunchOptions { op: self.op, rows: self.rows, ..LaunchOptions::default() }
    }

    /// Rows and columns of a matrix; one row of anything else.
    pub fn shape(&self) -> (u64, u64) {
        match self.rows {
            Some(Rows::Matrix(matrix)) => (matrix.rows, matrix.cols),
            _ => (1, self.n),
        }
    }

    /// Elements after which the second input begins.
    pub fn second(&self) -> u64 {
        self.n.next_multiple_of(SECOND_ALIGNMENT as u64)
    }

    /// Elements that a call reads.
    pub fn read(&self) -> u64 {
        if self.op.arrays() == 2 { self.second() + self.n } else { self.n }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { variant, op, n, rows, offsets } = self;
        match (rows, offsets) {
            (Some(Rows::Matrix(matrix)), _) => write!(f, "{variant} {op} {}x{}", matrix.rows, matrix.cols),
            (_, Some(name)) => write!(f, "{variant} {op} {name}"),
            _ => write!(f, "{variant} {op} n = {n}"),
        }
    }
}

/// Our time, and how many times as long the fastest of the others takes.
pub fn summary<'c>(cases: impl Iterator<Item = &'c MeasuredCase> + Clone) -> String {
    let us = |is_ours: bool| {
        let timed = cases
            .clone()
            .filter(|case| [ENTRANT, SAVED].contains(&case.entrant.as_str()) == is_ours)
            .filter_map(|case| case.cold_us);
        timed.min_by(f64::total_cmp)
    };
    let wrong = if cases.clone().all(|case| case.ok) { "" } else { " WRONG" };
    match (us(true), us(false)) {
        (Some(ours), Some(theirs)) => format!(" {ours:.2} ({:.2}x){wrong}", theirs / ours),
        (Some(ours), None) => format!(" {ours:.2}{wrong}"),
        _ => wrong.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ragged_rows_are_of_one_size_and_hold_what_they_say() {
        for task in Task::ragged((1 << 10, 64)).unwrap() {
            assert!((1 << 14..1 << 18).contains(&task.n), "{task}: {}", task.n);
        }
    }
}
