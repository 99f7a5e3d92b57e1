//! Who holds a row, and how it is launched: plain data, with the reason in words.

use lab::text::grouped;
use lab::{Matrix, Problem};

use crate::per_vector;

/// How rows are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lanes of a warp hold a row.
    Groups {
        /// Lanes of a row, a power of two up to a warp.
        lanes: u32,
        /// Rows of a group on their way at once; backward one.
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
    /// A block reads a row, and all of it once more.
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

/// Elements of a row that are a warp's; backward, where a barrier for each row would be one in every turn, twice as many.
const OF_WARP: u64 = 512;
/// Elements of each thread, where all threads of a problem are resident at once.
const OF_WAVE: u64 = 8;
/// Elements that a thread of a block holds. Backward it has two inputs, and sums of two kinds.
const FORWARD: u64 = 32;
const BACKWARD: u64 = 16;
/// Bytes of a row that are worth a block of parts.
const OF_PART_BYTES: u64 = 16 << 10;

/// Threads that the card holds at a time.
fn threads(problem: &Problem) -> u64 {
    u64::from(problem.card.multiprocessors) * u64::from(problem.card.threads_per_multiprocessor)
}

fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn is_backward(problem: &Problem) -> bool {
    problem.options.op.has_weight_gradients()
}

fn held_most(problem: &Problem) -> u64 {
    if is_backward(problem) { BACKWARD } else { FORWARD }
}

/// Blocks of so many threads that take rows in turns, where each thread holds so many elements: as many as the registers of the
/// card have room for. The kernels' launch bounds say the same.
pub fn resident(problem: &Problem, block: u32, elements: u32) -> u64 {
    clusters(problem, 1, block, elements)
}

/// Clusters of so many such blocks.
pub fn clusters(problem: &Problem, blocks: u32, block: u32, elements: u32) -> u64 {
    let threads = match elements {
        0..=8 => 768,
        9..=16 => 512,
        _ => 256,
    };
    u64::from(problem.card.clusters_of(blocks)) * (threads / u64::from(block)).max(1)
}

/// Two passes by blocks of so many threads.
pub fn of_stream(problem: &Problem, block: u32) -> Shape {
    Shape::Stream { block, loads: if problem.compiles { 4 } else { 2 } }
}

/// A block of 256 threads that holds its row; two passes for a longer one.
pub fn of_held(problem: &Problem, matrix: Matrix) -> Shape {
    let each = matrix.cols.div_ceil(per_vector(problem)).div_ceil(256).max(1);
    match each {
        1..=2 if !problem.compiles => Shape::Block { block: 256, vectors: 2 },
        each if problem.compiles && each * per_vector(problem) <= held_most(problem) => {
            Shape::Block { block: 256, vectors: each as u32 }
        }
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
    match matrix.cols.div_ceil(per_vector(problem)) {
        0..=16 => Shape::Groups { lanes: 8, rows: 1, vectors: 2, width },
        17..=64 => Shape::Groups { lanes: 32, rows: 1, vectors: 2, width },
        65..=512 => Shape::Block { block: 256, vectors: 2 },
        513..=4096 if problem.card.clusters_of(8) > 0 => Shape::Cluster { blocks: 8, block: 256, vectors: 2 },
        _ => parts(problem, matrix, 256, 2),
    }
}

fn of_gpu(problem: &Problem, matrix: Matrix) -> Shape {
    let per = per_vector(problem);
    let vectors = matrix.cols.div_ceil(per);
    let is_whole = matrix.cols.is_multiple_of(per) && matrix.pitch.is_multiple_of(per);
    if !is_whole && matrix.cols <= 64 {
        let lanes = (matrix.cols.next_power_of_two() / 2).clamp(1, 32);
        let each = matrix.cols.div_ceil(lanes).max(1);
        return Shape::Groups { lanes: lanes as u32, rows: 1, vectors: each as u32, width: 1 };
    }
    if is_backward(problem) {
        return of_backward(problem, matrix);
    }
    // Where nothing comes after it to hide the trip to memory, a row has as many threads as there are, few vectors each.
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let is_few = 2 * matrix.rows < multiprocessors || matrix.rows * matrix.cols <= threads(problem) * OF_WAVE;
    let of_warp = if per > 4 && !is_few { 2 * OF_WARP } else { OF_WARP };
    if matrix.cols <= of_warp {
        // Two vectors of bf16 have the bytes of a row on their way that make the trip worth it.
        let each = vectors.div_ceil(32).max(if per > 4 && vectors >= 8 { 2 } else { 1 });
        let lanes = vectors.div_ceil(each).next_power_of_two();
        let is_two = if per == 4 { (5..=16).contains(&vectors) } else { vectors < 8 };
        let rows = if is_two { 2 } else { 1 };
        return Shape::Groups { lanes: lanes as u32, rows, vectors: each as u32, width: per as u32 };
    }
    let teams: &[Team] = match is_few {
        true => &[
            (1, 64, 8),
            (1, 128, 8),
            (1, 256, 8),
            (1, 512, 8),
            (1, 1024, 8),
            (8, 256, 16),
            (8, 512, 16),
            (8, 512, 32),
            (8, 1024, 32),
        ],
        false if per > 4 => &[
            (1, 64, 32),
            (1, 128, 32),
            (1, 256, 32),
            (1, 512, 32),
            (1, 1024, 32),
            (8, 256, 32),
            (8, 512, 32),
            (8, 1024, 32),
        ],
        // Of two inputs of floats 1,024 threads have no registers for so many.
        false if problem.options.op.adds() => {
            &[(1, 64, 16), (1, 128, 16), (1, 256, 16), (1, 512, 32), (4, 256, 32), (8, 256, 32), (8, 512, 32)]
        }
        false => &[
            (1, 64, 16),
            (1, 128, 16),
            (1, 256, 16),
            (1, 512, 32),
            (1, 1024, 32),
            (8, 256, 32),
            (8, 512, 32),
            (8, 1024, 32),
        ],
    };
    // 16 elements of a thread on their way.
    held(problem, matrix, teams).unwrap_or_else(|| parts(problem, matrix, 512, 16 / per as u32))
}

/// Backward a thread keeps sums of the columns it holds, over all rows that come to it.
fn of_backward(problem: &Problem, matrix: Matrix) -> Shape {
    let per = per_vector(problem);
    let vectors = matrix.cols.div_ceil(per);
    if matrix.cols <= 2 * OF_WARP {
        let each = vectors.div_ceil(32).max(if vectors >= 4 { 2 } else { 1 });
        let lanes = vectors.div_ceil(each).next_power_of_two();
        return Shape::Groups { lanes: lanes as u32, rows: 1, vectors: each as u32, width: per as u32 };
    }
    let teams = [(1, 128, BACKWARD), (1, 256, BACKWARD), (1, 512, BACKWARD)];
    let clusters = [(2, 512, BACKWARD), (4, 512, BACKWARD), (8, 512, BACKWARD)];
    held(problem, matrix, &[teams, clusters].concat()).unwrap_or_else(|| parts(problem, matrix, 512, 2))
}

/// Blocks, threads of each, and how many elements of a row each thread may hold.
type Team = (u64, u64, u64);

/// The first of these teams that holds a row.
fn held(problem: &Problem, matrix: Matrix, teams: &[Team]) -> Option<Shape> {
    let per = per_vector(problem);
    teams.iter().find_map(|&(blocks, block, elements)| {
        let vectors = matrix.cols.div_ceil(per).div_ceil(blocks * block);
        if vectors * per > elements || problem.card.clusters_of(blocks as u32) == 0 {
            return None;
        }
        let (blocks, block, vectors) = (blocks as u32, block as u32, vectors as u32);
        Some(if blocks == 1 { Shape::Block { block, vectors } } else { Shape::Cluster { blocks, block, vectors } })
    })
}

/// Parts of the rows for as many blocks as are resident at once; one block a row where that gives each multiprocessor several.
fn parts(problem: &Problem, matrix: Matrix, block: u32, loads: u32) -> Shape {
    let resident = threads(problem) / u64::from(block);
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
        let columns = if is_backward(problem) { "; each takes many rows, and sums up its columns" } else { "" };
        match self {
            Shape::Groups { lanes, vectors, width, .. } => format!(
                "a row is {bytes} bytes, which {lanes} lanes hold, {} elements each: read once, without a barrier{columns}",
                vectors * width
            ),
            Shape::Block { block, vectors } => format!(
                "a row is {bytes} bytes, more than a warp holds well: {block} threads hold it, {vectors} vectors of 16 bytes each, \
                 and read it once{columns}"
            ),
            Shape::Cluster { blocks, block, .. } => format!(
                "a row is {bytes} bytes, more than a block holds well: a cluster of {blocks} blocks of {block} threads holds it, and \
                 reads it once{columns}"
            ),
            Shape::Stream { block, .. } => {
                format!("a row is {bytes} bytes: {block} threads go through it, and it is read twice")
            }
            Shape::Parts { parts, length, .. } => format!(
                "a row is {bytes} bytes, and there are too few rows to keep the card busy otherwise: {parts} blocks share one out, \
                 up to {} elements each, and read it twice",
                grouped(u64::from(*length))
            ),
        }
    }
}
