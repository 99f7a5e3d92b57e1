//! Layout of a reduction's elements in memory, and the part that gets a value of its own: an array, rows, columns, or
//! rows of any length.

pub use reduction::layout::{COUNT_MAX, Matrix, Segments};

use crate::input::split_mix;
use crate::text::grouped;

/// Part of the input that gets a value of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// The whole array.
    Array,
    /// Each row of a matrix.
    Row,
    /// Each column of a matrix.
    Column,
    /// Each row, of which every one has a length of its own.
    RaggedRow,
}

/// Rows that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// All of one length.
    Matrix(Matrix),
    /// Each of its own.
    Ragged(Offsets),
}

/// Bounds of rows: row `r` is the elements from offset `r` to offset `r + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    lengths: Lengths,
    /// Bits of an offset in memory, 32 or 64.
    pub bits: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Even {
        rows: u64,
        cols: u64,
    },
    /// Kept as long as the program runs, so that options are plain values.
    At(&'static [u64]),
}

/// Layout of a variant's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// One array to one value.
    #[default]
    Array,
    /// A value a row.
    Rows(Matrix),
    /// A value a column.
    Columns(Matrix),
    /// A value a row.
    Ragged(Offsets),
}

impl std::fmt::Display for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rows::Matrix(Matrix { rows, cols, pitch }) => {
                write!(f, "{} rows of {}", grouped(*rows), grouped(*cols))?;
                if pitch == cols { Ok(()) } else { write!(f, ", {} from one to the next", grouped(*pitch)) }
            }
            Rows::Ragged(offsets) => {
                write!(f, "{} rows of up to {}", grouped(offsets.rows()), grouped(offsets.longest()))
            }
        }
    }
}

impl Offsets {
    /// These offsets.
    ///
    /// # Errors
    /// The end of a sentence: none at all, one below the one before it, or one past the end of `n` elements.
    pub fn new(at: Vec<u64>, bits: u32, n: u64) -> Result<Offsets, String> {
        let Some(last) = at.last() else {
            return Err("there are none: even no row has one, where the first would begin".to_owned());
        };
        if let Some(row) = at.windows(2).position(|pair| pair[1] < pair[0]) {
            let (begin, end) = (grouped(at[row]), grouped(at[row + 1]));
            return Err(format!("they fall: row {row} would begin at {begin} and end at {end}"));
        }
        if *last > n {
            let (last, n) = (grouped(*last), grouped(n));
            return Err(format!("the last row ends at {last}, past the end of the {n} elements"));
        }
        if let Some(row) = at.windows(2).position(|pair| pair[1] - pair[0] > COUNT_MAX) {
            return Err(format!("row {row} is longer than {} elements", grouped(COUNT_MAX)));
        }
        Ok(Offsets { lengths: Lengths::At(Vec::leak(at)), bits })
    }

    /// Rows of one length.
    pub const fn even(rows: u64, cols: u64) -> Offsets {
        Offsets { lengths: Lengths::Even { rows, cols }, bits: 32 }
    }

    /// Rows.
    pub const fn rows(&self) -> u64 {
        match self.lengths {
            Lengths::Even { rows, .. } => rows,
            Lengths::At(at) => at.len() as u64 - 1,
        }
    }

    /// Offset `i`, of which there is one more than rows.
    pub const fn at(&self, i: u64) -> u64 {
        match self.lengths {
            Lengths::Even { cols, .. } => i * cols,
            Lengths::At(at) => at[i as usize],
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = u64> {
        (0..=self.rows()).map(|i| self.at(i))
    }

    /// Elements of the longest row.
    pub fn longest(&self) -> u64 {
        match self.lengths {
            Lengths::Even { rows, cols } => cols * rows.min(1),
            Lengths::At(at) => at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
        }
    }
}

/// Kinds of ragged rows that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Ragged {
    /// Any length from none to twice the mean.
    Uniform,
    /// Many short rows and few long ones: a power law.
    Power,
    /// One row with half of all elements, the others of one or two.
    Giant,
    /// Three of four rows without any element.
    Empty,
}

impl Ragged {
    /// Offsets of `rows` rows with `cols` elements in the mean, or nearly so.
    pub fn offsets(self, rows: u64, cols: u64, seed: u64) -> Vec<u64> {
        let all = rows.saturating_mul(cols);
        let length = |row: u64| {
            let bits = split_mix(seed, row);
            match self {
                Ragged::Uniform => bits % (2 * cols + 1),
                Ragged::Power => {
                    // Of a Pareto law with exponent 3/2 the mean is three times the shortest.
                    let share = ((bits >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
                    ((cols as f64 / 3.0 * share.powf(-2.0 / 3.0)) as u64).min(all / 4)
                }
                Ragged::Giant if row == rows / 2 => all / 2,
                Ragged::Giant => 1 + bits % 2,
                Ragged::Empty if !row.is_multiple_of(4) => 0,
                Ragged::Empty => bits % (8 * cols + 1),
            }
        };
        let mut end = 0;
        std::iter::once(0)
            .chain((0..rows).map(|row| {
                end += length(row);
                end
            }))
            .collect()
    }
}

impl Layout {
    /// The layout of a variant with a value for each of these, over `n` elements.
    pub fn new(per: Per, rows: Option<Rows>, n: u64) -> Layout {
        let matrix = match rows {
            None => Matrix::of(n),
            Some(Rows::Matrix(matrix)) => matrix,
            Some(Rows::Ragged(offsets)) if per == Per::RaggedRow => return Layout::Ragged(offsets),
            Some(Rows::Ragged(_)) => Matrix::of(n),
        };
        match per {
            Per::Array => Layout::Array,
            Per::Row => Layout::Rows(matrix),
            Per::Column => Layout::Columns(matrix),
            Per::RaggedRow => Layout::Ragged(Offsets::even(matrix.rows, matrix.cols)),
        }
    }

    /// This layout, as far as a plan may know it: offsets are on the device.
    pub fn planned(&self) -> reduction::Layout {
        match *self {
            Layout::Array => reduction::Layout::Array,
            Layout::Rows(matrix) => reduction::Layout::Rows(matrix),
            Layout::Columns(matrix) => reduction::Layout::Columns(matrix),
            Layout::Ragged(offsets) => {
                let segments = Segments::new(offsets.rows(), self.read(0), offsets.bits);
                reduction::Layout::Ragged(segments.with_longest(offsets.longest()))
            }
        }
    }

    /// Results.
    pub const fn values(&self) -> u64 {
        match self {
            Layout::Array => 1,
            Layout::Rows(matrix) => matrix.rows,
            Layout::Columns(matrix) => matrix.cols,
            Layout::Ragged(offsets) => offsets.rows(),
        }
    }

    /// Names of the parts with results, one and many: `row`, `rows`; nothing for an array.
    pub const fn of(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Layout::Array => None,
            Layout::Rows(_) | Layout::Ragged(_) => Some(("row", "rows")),
            Layout::Columns(_) => Some(("column", "columns")),
        }
    }

    /// Rows and columns; of ragged rows the mean, rounded down. Nothing for an array.
    pub fn size(&self) -> Option<(u64, u64)> {
        match self {
            Layout::Array => None,
            Layout::Rows(matrix) | Layout::Columns(matrix) => Some((matrix.rows, matrix.cols)),
            Layout::Ragged(offsets) => Some((offsets.rows(), self.read(0).checked_div(offsets.rows()).unwrap_or(0))),
        }
    }

    /// Elements that are read, of an array of `n`.
    pub const fn read(&self, n: u64) -> u64 {
        match self {
            Layout::Array => n,
            Layout::Rows(matrix) | Layout::Columns(matrix) => matrix.rows * matrix.cols,
            Layout::Ragged(offsets) => offsets.at(offsets.rows()) - offsets.at(0),
        }
    }

    /// The elements of which `value` is made, in order.
    pub fn elements<T: Copy>(&self, all: &[T], value: u64) -> Vec<T> {
        let part = |begin: u64, count: u64| all[begin as usize..(begin + count) as usize].to_vec();
        match self {
            Layout::Array => all.to_vec(),
            Layout::Rows(matrix) => part(value * matrix.pitch, matrix.cols),
            Layout::Columns(matrix) => (0..matrix.rows).map(|row| all[(row * matrix.pitch + value) as usize]).collect(),
            Layout::Ragged(offsets) => part(offsets.at(value), offsets.at(value + 1) - offsets.at(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_are_none_say_why() {
        let why = |at: &[u64], n| Offsets::new(at.to_vec(), 32, n).unwrap_err();
        assert!(why(&[], 3).contains("there are none"));
        assert!(why(&[0, 5, 4], 9).contains("row 1 would begin at 5 and end at 4"));
        assert!(why(&[0, 5, 10], 9).contains("ends at 10, past the end of the 9 elements"));
        assert!(why(&[0, 1 << 31], 1 << 32).contains("row 0 is longer"));
        assert_eq!(Offsets::new(vec![3, 3, 7], 64, 7).unwrap().longest(), 4);
    }

    #[test]
    fn named_rows_are_what_they_are_called() {
        let lengths =
            |kind: Ragged| -> Vec<u64> { kind.offsets(4000, 50, 1).windows(2).map(|pair| pair[1] - pair[0]).collect() };
        let mean = |kind| lengths(kind).iter().sum::<u64>() as f64 / 4000.0;
        for kind in [Ragged::Uniform, Ragged::Power, Ragged::Empty] {
            assert!((mean(kind) - 50.0).abs() < 10.0, "{kind:?} {}", mean(kind));
        }
        assert_eq!(lengths(Ragged::Giant)[2000], 100_000);
        assert!(lengths(Ragged::Giant).iter().filter(|&&length| length <= 2).count() == 3999);
        assert!(lengths(Ragged::Empty).iter().filter(|&&length| length == 0).count() >= 3000);
        let longest = *lengths(Ragged::Power).iter().max().unwrap();
        assert!(longest > 1000, "{longest}");
    }

    #[test]
    fn every_element_is_found_where_it_lies() {
        let all: Vec<u64> = (0..20).collect();
        let matrix = Matrix { rows: 3, cols: 2, pitch: 7 };
        assert_eq!(matrix.span(), Some(16));
        assert_eq!(Layout::Rows(matrix).elements(&all, 1), [7, 8]);
        assert_eq!(Layout::Columns(matrix).elements(&all, 1), [1, 8, 15]);
        let ragged = Layout::Ragged(Offsets::new(vec![2, 2, 5], 32, 20).unwrap());
        assert_eq!((ragged.elements(&all, 0), ragged.elements(&all, 1)), (vec![], vec![2, 3, 4]));
        assert_eq!((ragged.values(), ragged.read(20), ragged.size()), (2, 3, Some((2, 1))));
        assert_eq!(Layout::new(Per::RaggedRow, None, 128).values(), 2);
        assert_eq!(Layout::new(Per::Row, None, 100).size(), Some((1, 100)));
    }
}
