//! Who holds a row, and how it is launched: plain data, with the reason in words.

use lab::text::grouped;
use lab::{Matrix, Problem};

/// How rows are shared out.
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

/// Vectors of a row that are a warp's.
const OF_WARP: u64 = 128;
/// Bytes of a row that are worth a block of parts.
const OF_PART_BYTES: u64 = 16 << 10;

fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn per_vector(problem: &Problem) -> u64 {
    16 / problem.ty.bytes()
}

fn vectors(problem: &Problem, matrix: Matrix) -> u64 {
    matrix.cols.div_ceil(per_vector(problem))
}

/// Vectors that a thread holds of one matrix, at most, in shapes that are compiled when they are wanted: 64 elements of one, or
/// 32 of each of two.
fn held_most(problem: &Problem) -> u64 {
    64 / problem.options.op.arrays() / per_vector(problem)
}

/// Two passes by blocks of so many threads.
pub fn of_stream(problem: &Problem, block: u32) -> Shape {
    Shape::Stream { block, loads: if problem.compiles { 4 } else { 2 } }
}

/// A block of 256 threads that holds its row; two passes for a longer one.
pub fn of_held(problem: &Problem, matrix: Matrix) -> Shape {
    let each = vectors(problem, matrix).div_ceil(256).max(1);
    match each {
        _ if !problem.compiles && each <= 2 => Shape::Block { block: 256, vectors: 2 },
        each if problem.compiles && each <= held_most(problem) => Shape::Block { block: 256, vectors: each as u32 },
        _ => of_stream(problem, 256),
    }
}

/// The shape for this problem: the smallest team that holds a row in its registers; a row that none holds is cut into parts, as
/// many as keep the card busy.
pub fn of_problem(problem: &Problem, matrix: Matrix) -> Shape {
    if problem.compiles { of_gpu(problem, matrix) } else { of_committed(problem, matrix) }
}

/// Of the shapes whose kernels are committed.
fn of_committed(problem: &Problem, matrix: Matrix) -> Shape {
    let width = per_vector(problem) as u32;
    match vectors(problem, matrix) {
        0..=16 => Shape::Groups { lanes: 8, rows: 1, vectors: 2, width },
        17..=64 => Shape::Groups { lanes: 32, rows: 1, vectors: 2, width },
        65..=512 => Shape::Block { block: 256, vectors: 2 },
        513..=4096 if problem.has_clusters => Shape::Cluster { blocks: 8, block: 256, vectors: 2 },
        _ => parts(problem, matrix, 256, 2),
    }
}

fn of_gpu(problem: &Problem, matrix: Matrix) -> Shape {
    let vectors = vectors(problem, matrix);
    let (most, per) = (held_most(problem), per_vector(problem));
    let is_whole = matrix.cols.is_multiple_of(per) && matrix.pitch.is_multiple_of(per);
    if !is_whole && matrix.cols <= 64 {
        let lanes = (matrix.cols.next_power_of_two() / 2).clamp(1, 32);
        let each = matrix.cols.div_ceil(lanes).max(1);
        return Shape::Groups { lanes: lanes as u32, rows: 2, vectors: each as u32, width: 1 };
    }
    if vectors <= OF_WARP.min(8 * most) {
        let each = vectors.div_ceil(32);
        let lanes = vectors.div_ceil(each.max(1)).next_power_of_two();
        let rows = if vectors <= 16 { 2 } else { 1 };
        return Shape::Groups { lanes: lanes as u32, rows, vectors: each.max(1) as u32, width: per as u32 };
    }
    // With fewer rows than multiprocessors nothing hides the trip to memory: as many threads as there are, few vectors each.
    let is_few = 2 * matrix.rows < u64::from(problem.multiprocessors);
    let blocks = if is_few { [256, 512, 1024].as_slice() } else { &[128, 256] };
    for &block in blocks {
        let each = if is_few || block == 128 { 2 } else { most };
        if vectors <= block * each {
            return Shape::Block { block: block as u32, vectors: vectors.div_ceil(block) as u32 };
        }
    }
    if !problem.options.op.is_per_element() {
        return parts(problem, matrix, 512, 4);
    }
    let clusters =
        if is_few { [(8, 256), (8, 512), (8, 1024)].as_slice() } else { &[(2, 256), (4, 256), (8, 256), (8, 512)] };
    for &(blocks, block) in clusters {
        let each = if is_few && block < 1024 { 4 } else { most };
        if problem.has_clusters && vectors <= blocks * block * each.min(32768 / block / per) {
            let each = vectors.div_ceil(blocks * block);
            return Shape::Cluster { blocks: blocks as u32, block: block as u32, vectors: each as u32 };
        }
    }
    parts(problem, matrix, 512, 4)
}

/// Parts of the rows for as many blocks as are resident at once; one block a row where that gives each multiprocessor several.
fn parts(problem: &Problem, matrix: Matrix, block: u32, loads: u32) -> Shape {
    let resident = u64::from(problem.multiprocessors) * 2048 / u64::from(block);
    let worth = (matrix.cols * problem.ty.bytes()).div_ceil(OF_PART_BYTES).max(1);
    let wanted = (resident / matrix.rows.max(1)).clamp(1, worth);
    if wanted == 1 {
        return Shape::Stream { block, loads };
    }
    let of_line = 128 / problem.ty.bytes();
    let length = matrix.cols.div_ceil(wanted).next_multiple_of(of_line);
    Shape::Parts { block, loads, parts: capped(matrix.cols.div_ceil(length)), length: capped(length) }
}

impl Shape {
    /// Why this shape, a sentence.
    pub fn why(&self, problem: &Problem, cols: u64) -> String {
        let bytes = grouped(cols * problem.ty.bytes());
        let twice = if problem.options.op.is_per_element() { ", and read it twice" } else { "" };
        match self {
            Shape::Groups { lanes, vectors, width, .. } => format!(
                "a row is {bytes} bytes, which {lanes} lanes hold, {} elements each: read once, without a barrier",
                vectors * width
            ),
            Shape::Block { block, vectors } => format!(
                "a row is {bytes} bytes, more than a warp holds well: {block} threads hold it, {vectors} vectors of 16 bytes each, \
                 and read it once"
            ),
            Shape::Cluster { blocks, block, .. } => format!(
                "a row is {bytes} bytes, more than a block holds well: a cluster of {blocks} blocks of {block} threads holds it, and \
                 reads it once"
            ),
            Shape::Stream { block, .. } => format!("a row is {bytes} bytes: {block} threads go through it{twice}"),
            Shape::Parts { parts, length, .. } => format!(
                "a row is {bytes} bytes, and there are too few rows to keep the card busy otherwise: {parts} blocks share one out, \
                 up to {} elements each{twice}",
                grouped(u64::from(*length))
            ),
        }
    }
}
