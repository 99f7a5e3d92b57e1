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

/// Elements of a row that are a warp's.
const OF_WARP: u64 = 512;
/// Elements of each thread, where all threads of a problem are resident at once.
const OF_WAVE: u64 = 8;
/// Elements of a row from which on it is only read, not held, where it has one result.
const OF_STREAM: u64 = 4096;
/// Bytes of a row that are worth a block of parts.
const OF_PART_BYTES: u64 = 16 << 10;

fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Threads that the card holds at a time.
fn threads(problem: &Problem) -> u64 {
    u64::from(problem.card.multiprocessors) * u64::from(problem.card.threads_per_multiprocessor)
}

fn per_vector(problem: &Problem) -> u64 {
    16 / problem.ty.bytes()
}

fn vectors(problem: &Problem, matrix: Matrix) -> u64 {
    matrix.cols.div_ceil(per_vector(problem))
}

/// Elements that a thread holds of one matrix, at most, in shapes that are compiled when they are wanted. Those of bf16 bring
/// more work for each byte, which more threads hide better.
fn held_most(problem: &Problem) -> u64 {
    let of_one = if problem.ty.bytes() < 4 { 32 } else { 64 };
    of_one / problem.options.op.arrays()
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
    match vectors(problem, matrix) {
        0..=16 => Shape::Groups { lanes: 8, rows: 1, vectors: 2, width },
        17..=64 => Shape::Groups { lanes: 32, rows: 1, vectors: 2, width },
        65..=512 => Shape::Block { block: 256, vectors: 2 },
        513..=4096 if problem.card.clusters_of(8) > 0 => Shape::Cluster { blocks: 8, block: 256, vectors: 2 },
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
    let is_each = problem.options.op.is_per_element();
    // Where nothing comes after it to hide the trip to memory, a row has as many threads as there are, few vectors each.
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let is_few = 2 * matrix.rows < multiprocessors || matrix.rows * matrix.cols <= threads(problem) * OF_WAVE;
    let is_light = problem.options.op.arrays() == 1 && is_each;
    let of_warp = if per > 4 && is_light && !is_few { 2 * OF_WARP } else { OF_WARP };
    if matrix.cols <= of_warp {
        // Where nothing is held for a result, fewer lanes have fewer pairs to bring together; of bf16 two vectors have the
        // bytes of a row on their way that make the trip worth it.
        let least = match is_each {
            true => {
                if per > 4 && is_light && vectors >= 8 {
                    2
                } else {
                    1
                }
            }
            false => vectors.clamp(1, 4),
        };
        let each = vectors.div_ceil(32).max(least);
        let lanes = vectors.div_ceil(each).next_power_of_two();
        let is_two = is_light && if per == 4 { (5..=16).contains(&vectors) } else { vectors < 8 };
        let rows = if is_two { 2 } else { 1 };
        return Shape::Groups { lanes: lanes as u32, rows, vectors: each as u32, width: per as u32 };
    }
    let held = |blocks: u64, block: u64, elements: u64| {
        let each = vectors.div_ceil(blocks * block);
        let fits = blocks == 1 || problem.card.clusters_of(blocks as u32) > 0;
        (fits && each * per <= elements).then_some((blocks as u32, block as u32, each as u32))
    };
    let few: &[(u64, u64, u64)] = &[(1, 64, 8), (1, 128, 8), (1, 256, 8), (1, 512, 8), (1, 1024, 8)];
    let many: &[(u64, u64, u64)] = match (per, is_light) {
        (4, true) => &[(1, 64, 16), (1, 128, 32), (1, 512, 32), (1, 1024, 32)],
        (4, false) => &[(1, 64, 16), (1, 128, 16), (1, 256, 16), (1, 512, most)],
        (_, true) => &[(1, 64, 32), (1, 128, 32), (1, 256, 32), (1, 512, 32), (1, 1024, 32)],
        (_, false) => &[(1, 64, 16), (1, 128, most), (1, 256, most), (1, 512, most), (1, 1024, most)],
    };
    let of_cluster: &[(u64, u64, u64)] = match most {
        _ if !is_each => &[],
        _ if is_few => &[(8, 256, 16), (8, 512, 16), (8, 512, most), (8, 1024, 32)],
        64 => &[(2, 256, 64), (2, 512, 64), (8, 256, 64), (8, 512, 64)],
        _ if problem.options.op.arrays() == 2 => &[(2, 512, most), (4, 512, most), (8, 512, most)],
        _ => &[(4, 512, most), (8, 512, most), (8, 1024, most)],
    };
    let of_block = if is_few { few } else { many };
    let all = of_block.iter().filter(|_| is_each || matrix.cols <= OF_STREAM).chain(of_cluster);
    match all.filter(|one| one.2 <= most).find_map(|&(blocks, block, elements)| held(blocks, block, elements)) {
        Some((1, block, vectors)) => Shape::Block { block, vectors },
        Some((blocks, block, vectors)) => Shape::Cluster { blocks, block, vectors },
        // More blocks that find exponentials at different times, where these are the limit.
        None => parts(problem, matrix, if per > 4 && !is_each { 256 } else { 512 }, 4),
    }
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
