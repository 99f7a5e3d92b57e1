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
    /// The blocks of a cluster hold a row, and the next one is on its way into shared memory; they take rows in turns.
    Ahead {
        /// Blocks.
        blocks: u32,
        /// Threads of each.
        block: u32,
        /// Vectors that a thread holds.
        vectors: u32,
        /// Blocks that a multiprocessor has registers for.
        resident: u32,
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

fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn is_backward(problem: &Problem) -> bool {
    problem.options.op.has_weight_gradients()
}

fn held_most(problem: &Problem) -> u64 {
    if is_backward(problem) { BACKWARD } else { FORWARD }
}

/// Blocks of so many threads that take rows in turns, where each thread holds so many elements: as many as the registers of a
/// multiprocessor have room for. The kernels' launch bounds say the same.
pub fn resident(block: u32, elements: u32) -> u32 {
    let threads = match elements {
        0..=8 => 768,
        9..=16 => 512,
        _ => 256,
    };
    (threads / block).max(1)
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
        513..=4096 if problem.has_clusters => {
            let elements = 2 * per_vector(problem) as u32;
            let resident = if is_backward(problem) { resident(256, elements) } else { 4 };
            if matrix.rows > problem.teams(resident, 8) {
                Shape::Ahead { blocks: 8, block: 256, vectors: 2, resident }
            } else {
                Shape::Cluster { blocks: 8, block: 256, vectors: 2 }
            }
        }
        _ => parts(problem, matrix, 256, 2),
    }
}

/// Blocks, threads of each, how many elements of a row each thread may hold; and of teams that read ahead, how many blocks a
/// multiprocessor has registers for, 0 of others.
type Team = (u64, u64, u64, u32);

/// Rows that leave most of the card idle: as many threads for each as there are, few vectors each.
const FEW: &[Team] = &[
    (1, 64, 8, 0),
    (1, 128, 8, 0),
    (1, 256, 8, 0),
    (1, 512, 8, 0),
    (1, 1024, 8, 0),
    (8, 256, 16, 0),
    (8, 512, 16, 0),
    (8, 512, 32, 0),
    (8, 1024, 32, 0),
];
/// About a row for each multiprocessor; and of two inputs.
const FOR_EACH: &[Team] =
    &[(1, 256, 16, 0), (1, 512, 32, 0), (1, 1024, 32, 0), (8, 256, 32, 0), (8, 512, 32, 0), (8, 1024, 32, 0)];
const TWO_FOR_EACH: &[Team] =
    &[(1, 256, 16, 0), (1, 512, 16, 0), (2, 512, 32, 0), (8, 256, 32, 0), (8, 512, 32, 0), (8, 1024, 32, 0)];
/// Many rows of floats: one input, and two, for which 1,024 threads have no registers for so many. From the lengths on that only a
/// cluster holds, weights come from shared memory.
const FLOATS: &[Team] = &[
    (1, 64, 16, 0),
    (1, 128, 16, 0),
    (1, 256, 16, 0),
    (1, 512, 32, 0),
    (1, 1024, 32, 0),
    (8, 256, 32, 2),
    (8, 512, 32, 1),
    (8, 1024, 32, 0),
];
const TWO_OF_FLOATS: &[Team] = &[
    (1, 128, 8, 0),
    (1, 128, 16, 0),
    (1, 256, 16, 0),
    (1, 1024, 16, 0),
    (8, 256, 32, 2),
    (8, 512, 32, 1),
    (8, 1024, 16, 0),
];
/// Of bf16.
const HALVES: &[Team] = &[
    (1, 64, 16, 0),
    (1, 128, 32, 0),
    (1, 256, 32, 0),
    (1, 512, 32, 0),
    (1, 1024, 32, 0),
    (8, 256, 32, 4),
    (8, 512, 32, 2),
    (8, 1024, 32, 1),
];
const TWO_OF_HALVES: &[Team] = &[
    (1, 64, 16, 0),
    (1, 128, 16, 0),
    (1, 256, 16, 0),
    (1, 512, 32, 0),
    (8, 256, 32, 4),
    (8, 512, 32, 2),
    (8, 1024, 32, 0),
];
/// Backward a thread keeps sums of the columns it holds, over all rows that come to it. Of floats no registers are left for a row that
/// comes ahead.
const BACK_OF_FLOATS: &[Team] =
    &[(1, 128, 16, 0), (1, 256, 16, 0), (1, 512, 16, 0), (4, 256, 16, 2), (8, 256, 16, 2), (8, 256, 32, 1)];
const BACK_OF_HALVES: &[Team] =
    &[(1, 128, 16, 0), (1, 256, 16, 0), (1, 512, 16, 0), (2, 512, 16, 0), (4, 512, 16, 0), (8, 512, 16, 0)];
const BACK_FOR_EACH: &[Team] = &[(1, 128, 16, 0), (1, 256, 16, 0), (1, 512, 16, 0), (8, 256, 16, 2), (8, 512, 16, 0)];

/// Bytes of shared memory that the blocks of a multiprocessor share on every card with clusters; and those of each block beside what
/// comes ahead, for its warps' moments and for the system.
const SHARED_MOST: u64 = 228 << 10;
const SHARED_MORE: u64 = 3 << 10;

fn of_gpu(problem: &Problem, matrix: Matrix) -> Shape {
    let per = per_vector(problem);
    let vectors = matrix.cols.div_ceil(per);
    let is_whole = matrix.cols.is_multiple_of(per) && matrix.pitch.is_multiple_of(per);
    if !is_whole && matrix.cols <= 64 {
        let lanes = (matrix.cols.next_power_of_two() / 2).clamp(1, 32);
        let each = matrix.cols.div_ceil(lanes).max(1);
        return Shape::Groups { lanes: lanes as u32, rows: 1, vectors: each as u32, width: 1 };
    }
    let op = problem.options.op;
    let multiprocessors = u64::from(problem.multiprocessors);
    // Where nothing comes after it to hide the trip to memory.
    let is_few = 2 * matrix.rows < multiprocessors || matrix.rows * matrix.cols <= multiprocessors * 2048 * OF_WAVE;
    let is_one_for_each = !is_few && matrix.rows <= 2 * multiprocessors;
    let is_long_of_warp = is_backward(problem) || per > 4 && !is_few && !op.adds() && op.is_centred();
    if matrix.cols <= if is_long_of_warp { 2 * OF_WARP } else { OF_WARP } {
        return of_lanes(problem, vectors);
    }
    let teams = match (is_backward(problem), is_few, is_one_for_each, op.adds(), per) {
        (true, _, true, ..) => BACK_FOR_EACH,
        (true, _, false, _, 4) => BACK_OF_FLOATS,
        (true, _, false, _, _) => BACK_OF_HALVES,
        (false, true, ..) => FEW,
        (false, false, true, false, _) => FOR_EACH,
        (false, false, true, true, _) => TWO_FOR_EACH,
        (false, false, false, false, 4) => FLOATS,
        (false, false, false, false, _) => HALVES,
        (false, false, false, true, 4) => TWO_OF_FLOATS,
        (false, false, false, true, _) => TWO_OF_HALVES,
    };
    // 16 elements of a thread on their way.
    let loads = if is_backward(problem) { 2 } else { 16 / per as u32 };
    held(problem, vectors, teams).unwrap_or_else(|| parts(problem, matrix, 512, loads))
}

/// Lanes of a warp for a row of so many vectors. Two vectors have the bytes of a row on their way that make the trip worth it, of bf16
/// four where there is only one input.
fn of_lanes(problem: &Problem, vectors: u64) -> Shape {
    let (op, per) = (problem.options.op, per_vector(problem));
    let least = match (is_backward(problem), op.adds(), per) {
        (true, ..) if vectors >= 4 => 2,
        (false, false, 8) if vectors >= 32 && op.is_centred() => 4,
        (false, false, 8) if vectors >= 8 => 2,
        _ => 1,
    };
    let each = vectors.div_ceil(32).max(least);
    let lanes = vectors.div_ceil(each).next_power_of_two();
    let is_two = !is_backward(problem) && if per == 4 { (5..=16).contains(&vectors) } else { vectors < 8 };
    let rows = if is_two { 2 } else { 1 };
    Shape::Groups { lanes: lanes as u32, rows, vectors: each as u32, width: per as u32 }
}

/// Bytes of shared memory in which a block has a row that comes ahead, and forward the weights of its columns.
pub fn shared_bytes(problem: &Problem, block: u32, vectors: u32) -> u64 {
    let op = problem.options.op;
    let weights = match (is_backward(problem), op.is_centred()) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => 1,
    };
    16 * u64::from(vectors * block) * (op.arrays() + weights)
}

/// The first of these teams that holds a row of so many vectors, and has room for it in shared memory where it reads ahead.
fn held(problem: &Problem, vectors: u64, teams: &[Team]) -> Option<Shape> {
    teams.iter().find_map(|&(blocks, block, elements, resident)| {
        let each = vectors.div_ceil(blocks * block);
        if each * per_vector(problem) > elements || blocks > 1 && !problem.has_clusters {
            return None;
        }
        let (blocks, block, vectors) = (blocks as u32, block as u32, each as u32);
        match (blocks, resident) {
            (1, 0) => Some(Shape::Block { block, vectors }),
            (_, 0) => Some(Shape::Cluster { blocks, block, vectors }),
            _ => {
                let have_room = SHARED_MOST / (shared_bytes(problem, block, vectors) + SHARED_MORE);
                let resident = resident.min(have_room as u32);
                (resident > 0).then_some(Shape::Ahead { blocks, block, vectors, resident })
            }
        }
    })
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
            Shape::Ahead { blocks, block, .. } => format!(
                "a row is {bytes} bytes, more than a warp holds well: {blocks} x {block} threads hold it and read it once, and the \
                 next row is on its way while they work{columns}"
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
