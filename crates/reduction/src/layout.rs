//! Layout of elements in memory, and the part that gets a value of its own.

use crate::element::Type;
use crate::error::{Error, Result};

/// Columns are counted in 32 bits, and indices in a row are handed on so.
pub const COUNT_MAX: u64 = (1 << 31) - 1;
/// Most rows, or columns, of which each gets a value: more than any card holds bytes for.
pub(crate) const VALUES_MAX: u64 = 1 << 38;
/// Columns of a matrix by default.
const COLS: u64 = 64;

/// Rows of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Number of rows.
    pub rows: u64,
    /// Elements of each.
    pub cols: u64,
    /// Elements from the beginning of a row to that of the next, at least as many as it has.
    pub pitch: u64,
}

/// Rows of any length, one behind the other, whose bounds are offsets on the device: row `r` is the elements from offset `r` to
/// offset `r + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Segments {
    /// Number of rows; there is one offset more.
    pub rows: u64,
    /// Elements of all rows together.
    pub elements: u64,
    /// Elements of the longest row; those of all rows where that is not known. It decides the error bound, and is less than 2³¹ where a
    /// result depends on how many they are: of all operations but `sum` and `maximum`.
    pub longest: u64,
    /// Bits of an offset, 32 or 64.
    pub bits: u32,
    /// True if two small launches check the offsets first, so that a safe call may name them. Where they do not rise, or end behind the
    /// elements, every row counts as empty, and `Flag` is set to 1.
    pub checked: bool,
}

/// An array of three dimensions, of which the one in the middle is reduced: any axis of any contiguous tensor, with all dimensions
/// before it taken together, and all behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Product of the dimensions before the axis.
    pub outer: u64,
    /// Elements along the axis.
    pub reduced: u64,
    /// Product of the dimensions behind it.
    pub inner: u64,
}

/// Layout of elements, and the part that gets a value of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Layout {
    /// One array to one value.
    #[default]
    Array,
    /// A value a row.
    Rows(Matrix),
    /// A value a column.
    Columns(Matrix),
    /// A value a row.
    Ragged(Segments),
    /// A value for each pair of an outer and an inner index.
    Axis(Axis),
}

impl Layout {
    /// The axis `axis` of a contiguous tensor with these dimensions; as rows where it is the last, and as columns where it is the first.
    /// `None` if there is no such axis, or more elements than 64 bits count.
    pub fn axis(dims: &[u64], axis: usize) -> Option<Layout> {
        let product = |dims: &[u64]| dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim));
        let (outer, reduced) = (product(dims.get(..axis)?)?, *dims.get(axis)?);
        let inner = product(&dims[axis + 1..])?;
        outer.checked_mul(reduced)?.checked_mul(inner)?;
        Some(match (outer, inner) {
            (_, 1) => Layout::Rows(Matrix::dense(outer, reduced)),
            (1, _) => Layout::Columns(Matrix::dense(reduced, inner)),
            _ => Layout::Axis(Axis { outer, reduced, inner }),
        })
    }
}

impl Segments {
    /// So many rows over so many elements, with offsets of 32 or 64 bits that are not checked.
    pub const fn new(rows: u64, elements: u64, bits: u32) -> Segments {
        Segments { rows, elements, longest: elements, bits, checked: false }
    }

    /// With the longest row known, which narrows the error bound.
    pub const fn with_longest(self, longest: u64) -> Segments {
        Segments { longest, ..self }
    }

    /// With offsets that are checked on the device.
    pub const fn with_checks(self) -> Segments {
        Segments { checked: true, ..self }
    }
}

impl Matrix {
    /// Rows that lie one behind the other.
    pub const fn dense(rows: u64, cols: u64) -> Matrix {
        Matrix { rows, cols, pitch: cols }
    }

    /// `n` elements as rows of 64, or as one row where that leaves some over.
    pub const fn of(n: u64) -> Matrix {
        match n {
            0 => Matrix::dense(0, 0),
            n if n.is_multiple_of(COLS) => Matrix::dense(n / COLS, COLS),
            n => Matrix::dense(1, n),
        }
    }

    /// Refuses rows that overlap, and more of them, of columns or of bytes than kernels count, where each row gets a value.
    pub(crate) fn check(&self, ty: Type) -> Result<()> {
        self.check_up_to(ty, VALUES_MAX, COUNT_MAX)
    }

    /// The same for at most so many rows and columns.
    pub(crate) fn check_up_to(&self, ty: Type, rows_max: u64, cols_max: u64) -> Result<()> {
        let Matrix { rows, cols, pitch } = *self;
        if pitch < cols {
            return Err(Error::Pitch { pitch, cols });
        }
        for (what, got, most) in [("rows", rows, rows_max), ("columns", cols, cols_max)] {
            if got > most {
                return Err(Error::TooMany { what, got, most });
            }
        }
        let bytes = self.span().and_then(|span| span.checked_mul(ty.bytes()));
        bytes.map(|_| ()).ok_or(Error::Size { rows, cols, pitch })
    }

    /// From the first element to the last; `None` if that is more than 64 bits can count.
    pub fn span(&self) -> Option<u64> {
        match self.rows {
            0 => Some(0),
            rows => (rows - 1).checked_mul(self.pitch)?.checked_add(self.cols),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_rows_columns_or_between() {
        let dims = [2, 3, 5];
        assert_eq!(Layout::axis(&dims, 2), Some(Layout::Rows(Matrix::dense(6, 5))));
        assert_eq!(Layout::axis(&dims, 0), Some(Layout::Columns(Matrix::dense(2, 15))));
        assert_eq!(Layout::axis(&dims, 1), Some(Layout::Axis(Axis { outer: 2, reduced: 3, inner: 5 })));
        assert_eq!((Layout::axis(&dims, 3), Layout::axis(&[1 << 40, 1 << 40], 0)), (None, None));
        assert_eq!(Layout::axis(&[7], 0), Some(Layout::Rows(Matrix::dense(1, 7))));
    }
}
