//! One run that a kernel of an exercise is tried with.

use device::Schedule;
use lab::{Layout, Matrix, Type};

use super::fill::Fill;
use super::rows;

/// The schedule of today's GPUs, with lanes kept together where the program lets them.
pub(super) const TODAYS: Schedule = Schedule::Independent { seed: None };

/// Other schedules: lanes in lockstep, and so many random orders.
pub(super) fn schedules(seeds: u64) -> impl Iterator<Item = Schedule> {
    let seeded = (1..=seeds).map(|seed| Schedule::Independent { seed: Some(seed) });
    std::iter::once(Schedule::Lockstep).chain(seeded)
}

/// One thing that a kernel is asked. Not a [`lab::Case`]: it is in no record, and holds types, not their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Element type.
    pub ty: Type,
    /// Elements.
    pub n: u64,
    /// Their rows, where each gets a value of its own.
    pub matrix: Option<Matrix>,
    /// Ranks, each with so many elements, where a kernel runs on several at once.
    pub ranks: Option<u32>,
    /// Threads a block.
    pub block: u32,
    /// Elements by which the input is shifted from the start of its allocation.
    pub offset: usize,
    /// Schedule of the lanes.
    pub schedule: Schedule,
    /// Kind of numbers.
    pub fill: Fill,
    /// Most blocks, where that is fewer than the exercise's own.
    pub grid_max: Option<u32>,
    /// True if a second launch finds in `out` what the first one left.
    pub keeps_out: bool,
}

impl Case {
    /// Random numbers, aligned, in today's schedule.
    pub fn new(ty: Type, n: u64, block: u32) -> Case {
        Case {
            ty,
            n,
            matrix: None,
            ranks: None,
            block,
            offset: 0,
            schedule: TODAYS,
            fill: Fill::Random,
            grid_max: None,
            keeps_out: false,
        }
    }

    /// Layout of its elements.
    pub(super) fn layout(&self) -> Layout {
        self.matrix.map_or(Layout::Array, Layout::Rows)
    }

    /// The same for other rows.
    pub fn over(self, rows: u64, cols: u64) -> Case {
        Case { n: rows * cols, matrix: Some(Matrix::dense(rows, cols)), ..self }
    }

    /// The same for one element.
    pub fn with_one_element(self) -> Case {
        Case { n: 1, matrix: self.matrix.map(|_| Matrix::dense(1, 1)), ..self }
    }

    /// `n = 33`, `3 rows of 11`, `n = 33 on 4 ranks`
    pub fn size(&self) -> String {
        let on = self.ranks.map(|ranks| format!(" on {ranks} ranks")).unwrap_or_default();
        self.matrix.map_or_else(|| format!("n = {}{on}", lab::text::grouped(self.n)), rows::described)
    }
}
