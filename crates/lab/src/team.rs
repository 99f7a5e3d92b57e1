//! Teams that rows of a matrix are given to: lanes, a block, a cluster, many blocks. Plain data, with the reason in words.

use crate::layout::Matrix;
use crate::plan::Problem;
use crate::text::grouped;

/// Team that holds or reads a row of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lanes of a warp hold a row.
    Groups {
        /// Lanes of a row, a power of two up to a warp.
        lanes: u32,
        /// Rows of a group on their way at once.
        rows: u32,
        /// Pieces of a row that a lane holds.
        vectors: u32,
        /// Elements of a piece: those of 16 bytes, or one.
        width: u32,
    },
    /// A block holds a row.
    Block {
        /// Threads.
        block: u32,
        /// Vectors that a thread holds.
        vectors: u32,
    },
    /// The blocks of a cluster hold a row.
    Cluster {
        /// Blocks.
        blocks: u32,
        /// Threads of each.
        block: u32,
        /// Vectors that a thread holds.
        vectors: u32,
    },
    /// A block reads a row, and where there are results for each element, reads it once more.
    Stream {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
    },
    /// Many blocks read a part of a row each, and in a second launch once more.
    Parts {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
        /// Blocks of a row.
        parts: u32,
        /// Elements of a part, whole lines of 128 bytes.
        length: u32,
    },
}

/// Bytes of a row that are worth a block of parts.
const OF_PART_BYTES: u64 = 16 << 10;

/// Ends of the sentences that say why, where chapters differ.
#[derive(Debug, Clone, Copy)]
pub struct Endings {
    /// Kernel of a team that holds its row.
    pub held: &'static str,
    /// Kernel of a block that goes through its row.
    pub stream: &'static str,
    /// Kernel of blocks that share a row.
    pub parts: &'static str,
}

impl Shape {
    /// Why a row of so many bytes has this team, a sentence.
    pub fn why(&self, bytes: u64, Endings { held, stream, parts: shared }: Endings) -> String {
        let bytes = grouped(bytes);
        match self {
            Shape::Groups { lanes, vectors, width, .. } => format!(
                "a row is {bytes} bytes, which {lanes} lanes hold, {} elements each: read once, without a barrier{held}",
                vectors * width
            ),
            Shape::Block { block, vectors } => format!(
                "a row is {bytes} bytes, more than a warp holds well: {block} threads hold it, {vectors} vectors of 16 bytes each, \
                 and read it once{held}"
            ),
            Shape::Cluster { blocks, block, .. } => format!(
                "a row is {bytes} bytes, more than a block holds well: a cluster of {blocks} blocks of {block} threads holds it, and \
                 reads it once{held}"
            ),
            Shape::Stream { block, .. } => format!("a row is {bytes} bytes: {block} threads go through it{stream}"),
            Shape::Parts { parts, length, .. } => format!(
                "a row is {bytes} bytes, and there are too few rows to keep the card busy otherwise: {parts} blocks share one out, \
                 up to {} elements each{shared}",
                grouped(u64::from(*length))
            ),
        }
    }
}

/// Elements of a vector of 16 bytes.
pub fn per_vector(problem: &Problem<'_>) -> u64 {
    16 / problem.ty.bytes()
}

/// Threads that the card holds at a time.
pub fn threads(problem: &Problem<'_>) -> u64 {
    u64::from(problem.card.multiprocessors) * u64::from(problem.card.threads_per_multiprocessor)
}

/// The team for this problem, of those whose kernels the committed PTX has.
pub fn committed(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let width = per_vector(problem) as u32;
    match matrix.cols.div_ceil(per_vector(problem)) {
        0..=16 => Shape::Groups { lanes: 8, rows: 1, vectors: 2, width },
        17..=64 => Shape::Groups { lanes: 32, rows: 1, vectors: 2, width },
        65..=512 => Shape::Block { block: 256, vectors: 2 },
        513..=4096 if problem.card.clusters_of(8) > 0 => Shape::Cluster { blocks: 8, block: 256, vectors: 2 },
        _ => parts(problem, matrix, 256, 2),
    }
}

/// Two passes by blocks of so many threads.
pub fn stream(problem: &Problem<'_>, block: u32) -> Shape {
    Shape::Stream { block, loads: if problem.on_demand { 4 } else { 2 } }
}

/// Parts of the rows for as many blocks as are resident at once; one block a row where that gives each multiprocessor several.
pub fn parts(problem: &Problem<'_>, matrix: Matrix, block: u32, loads: u32) -> Shape {
    let resident = threads(problem) / u64::from(block);
    let worth = (matrix.cols * problem.ty.bytes()).div_ceil(OF_PART_BYTES).max(1);
    let parts = (resident / matrix.rows.max(1)).clamp(1, worth);
    if parts == 1 {
        return Shape::Stream { block, loads };
    }
    let of_line = 128 / problem.ty.bytes();
    let length = matrix.cols.div_ceil(parts).next_multiple_of(of_line);
    Shape::Parts { block, loads, parts: capped(matrix.cols.div_ceil(length)), length: capped(length) }
}

/// A count of 32 bits; the largest where there are more.
fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
