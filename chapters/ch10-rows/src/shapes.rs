//! How rows and columns are launched: plain data, with the reason in words.

use lab::{Matrix, Problem};

/// How rows of one length are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lanes of a warp share a row.
    Groups {
        /// Lanes of a row, a power of two up to a warp.
        lanes: u32,
        /// Rows of a group on their way at once.
        rows: u32,
        /// Vectors of a row that a lane has on their way at once.
        loads: u32,
        /// Blocks.
        grid: u32,
    },
    /// A block takes a row, then another.
    Block {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
        /// Blocks.
        grid: u32,
    },
    /// Many blocks take a row.
    Parts {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
        /// Blocks of a row.
        parts: u32,
        /// Elements of a part, whole vectors.
        length: u32,
    },
}

/// How columns are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Lanes side by side.
    pub lanes: u32,
    /// Columns of a lane: a vector's, or one.
    pub width: u32,
    /// Rows that a lane has on their way at once.
    pub loads: u32,
    /// Blocks that share the rows of a tile of columns.
    pub parts: u32,
}

/// Threads of a block of lane groups.
const BLOCK: u64 = 256;
/// Blocks of such a size that a multiprocessor holds at once.
const RESIDENT: u64 = 8;
/// A row of more vectors than this is a block's: a warp would need many trips to memory for it.
const OF_WARP: u64 = 256;
/// Bytes of a row from which on it is worth more than one block, if there are multiprocessors without any.
const OF_BLOCK_BYTES: u64 = 16 << 10;

fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn vectors(problem: &Problem, matrix: Matrix) -> u64 {
    (matrix.cols * problem.ty.bytes()).div_ceil(16)
}

/// Lane groups for rows of this length: lanes that each have a vector or a few, rows enough on their way to hide the trip.
pub fn groups(problem: &Problem, matrix: Matrix) -> Shape {
    let per = 16 / problem.ty.bytes();
    let is_whole = matrix.cols.is_multiple_of(per) && matrix.pitch.is_multiple_of(per);
    let (lanes, rows, loads) = match vectors(problem, matrix) {
        0..=16 if !problem.compiles => (8, 1, 2),
        _ if !problem.compiles => (32, 1, 2),
        // Elements before the first vector and behind the last are a lane's each.
        0..=8 if !is_whole => (8, 2, 1),
        0..=1 => (1, 4, 1),
        2 => (2, 4, 1),
        3..=4 => (4, 2, 1),
        5..=8 => (8, 4, 1),
        9..=16 => (8, 2, 2),
        17..=64 => (16, 2, 2),
        65..=128 => (32, 1, 4),
        _ => (32, 1, 8),
    };
    let rows_of_block = BLOCK / u64::from(lanes) * u64::from(rows);
    let tiles = matrix.rows.div_ceil(rows_of_block).max(1);
    Shape::Groups { lanes, rows, loads, grid: problem.options.grid.unwrap_or(capped(tiles)) }
}

/// The shape for this problem.
///
/// Rows that a warp reads in a trip or two are lane groups'. Longer ones get a block each, as long as there are rows enough for
/// every multiprocessor; fewer are cut into parts, so that each multiprocessor has something to read.
pub fn of_problem(problem: &Problem, matrix: Matrix) -> Shape {
    let vectors = vectors(problem, matrix);
    let multiprocessors = u64::from(problem.multiprocessors);
    let is_crowded = matrix.rows >= multiprocessors * RESIDENT;
    if vectors <= OF_WARP && (is_crowded || vectors <= 64) {
        return groups(problem, matrix);
    }
    let (block, loads) = match vectors {
        _ if !problem.compiles => (256, 4),
        0..=512 => (128, 4),
        513..=2048 => (256, 4),
        _ => (512, 4),
    };
    // No more blocks than are resident at once: one block more is a second round for all. Where nearly every multiprocessor has
    // a row of its own, parts cost more than they bring.
    let resident = multiprocessors * 2048 / u64::from(block);
    let wanted = if 4 * matrix.rows < 3 * multiprocessors { resident / matrix.rows.max(1) } else { 1 };
    let worth = (matrix.cols * problem.ty.bytes()).div_ceil(OF_BLOCK_BYTES);
    let parts = wanted.min(worth);
    if parts < 2 || problem.options.grid.is_some_and(|grid| u64::from(grid) <= matrix.rows) {
        let grid = capped(matrix.rows.min(multiprocessors * 2 * 2048 / u64::from(block)).max(1));
        return Shape::Block { block, loads, grid: problem.options.grid.unwrap_or(grid) };
    }
    let of_line = 128 / problem.ty.bytes();
    let length = matrix.cols.div_ceil(parts).next_multiple_of(of_line);
    Shape::Parts { block, loads, parts: capped(matrix.cols.div_ceil(length)), length: capped(length) }
}

/// The shape for columns: as many lanes side by side as the row has vectors, up to a warp; rows shared out to blocks as long as
/// there are multiprocessors without any.
pub fn of_columns(problem: &Problem, matrix: Matrix) -> Columns {
    let per = 16 / problem.ty.bytes();
    let is_whole = matrix.cols.is_multiple_of(per) && matrix.pitch.is_multiple_of(per);
    let width = if is_whole { per } else { 1 };
    let side = matrix.cols.div_ceil(width).max(1).next_power_of_two();
    let lanes = if problem.compiles { side.clamp(4, 32) } else { 32 };
    let loads = match (is_whole, problem.compiles) {
        (true, false) => 2,
        (true, true) => 4,
        (false, _) => 4,
    };
    let tiles = matrix.cols.div_ceil(lanes * width).max(1);
    let beside = BLOCK / lanes;
    let wanted = (u64::from(problem.multiprocessors) * RESIDENT / 2).div_ceil(tiles);
    // A block that has fewer rows than it takes at once is not worth the meeting.
    let worth = matrix.rows.div_ceil(beside * loads);
    let parts = wanted.min(worth).max(1);
    Columns { lanes: lanes as u32, width: width as u32, loads: loads as u32, parts: capped(parts) }
}

impl Shape {
    /// Why this shape, a sentence or two.
    pub fn why(&self, problem: &Problem, cols: u64) -> String {
        let vectors = (cols * problem.ty.bytes()).div_ceil(16);
        match self {
            Shape::Groups { lanes, rows, loads, .. } => format!(
                "a row is {vectors} vectors of 16 bytes: {lanes} lanes, {loads} on their way each, of {rows} rows at once"
            ),
            Shape::Block { block, .. } => {
                format!(
                    "a row is {vectors} vectors of 16 bytes, more than a warp reads in a trip or two: {block} threads a row"
                )
            }
            Shape::Parts { parts, length, .. } => format!(
                "a row is {vectors} vectors of 16 bytes, and there are fewer rows than the card has room for blocks: {parts} \
                 blocks a row, {length} elements each"
            ),
        }
    }
}
