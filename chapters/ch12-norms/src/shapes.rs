//! Teams of threads that hold a row, and their launches: plain data, with the reason in words.

use lab::team::{
    Endings, Shape, Team, committed, first_to_hold, held_by_block, lanes_of_elements, parts, per_vector, threads,
};
use lab::{Matrix, Problem};

/// Elements of a row that are a warp's; backward, where a barrier for each row would be one in every turn, twice as many.
const OF_WARP: u64 = 512;
/// Elements of each thread, where all threads of a problem are resident at once.
const OF_WAVE: u64 = 8;
/// Elements that a thread of a block holds. Backward it has two inputs, and sums of two kinds.
const FORWARD: u64 = 32;
const BACKWARD: u64 = 16;

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

/// A block of 256 threads that holds its row; two passes for a longer one.
pub fn held_shape(problem: &Problem, matrix: Matrix) -> Shape {
    held_by_block(problem, matrix, held_most(problem))
}

/// The shape for this problem: the smallest team that holds a row in its registers; a row that none holds is cut into parts, as
/// many as keep the card busy.
pub fn shape_for(problem: &Problem, matrix: Matrix) -> Shape {
    if problem.on_demand { gpu_shape(problem, matrix) } else { committed(problem, matrix) }
}

fn gpu_shape(problem: &Problem, matrix: Matrix) -> Shape {
    let per = per_vector(problem);
    let vectors = matrix.cols.div_ceil(per);
    if let Some(shape) = lanes_of_elements(problem, matrix, 1) {
        return shape;
    }
    if is_backward(problem) {
        return backward_shape(problem, matrix);
    }
    // If nothing comes after it to hide the trip to memory, a row has as many threads as there are, few vectors each.
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
        // With two inputs of floats, 1,024 threads have too few registers for so many.
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
    first_to_hold(problem, matrix, teams.iter().copied())
        .unwrap_or_else(|| parts(problem, matrix, 512, 16 / per as u32))
}

/// Backward a thread keeps sums of the columns it holds, over all rows that come to it.
fn backward_shape(problem: &Problem, matrix: Matrix) -> Shape {
    let per = per_vector(problem);
    let vectors = matrix.cols.div_ceil(per);
    if matrix.cols <= 2 * OF_WARP {
        let each = vectors.div_ceil(32).max(if vectors >= 4 { 2 } else { 1 });
        let lanes = vectors.div_ceil(each).next_power_of_two();
        return Shape::Groups { lanes: lanes as u32, rows: 1, vectors: each as u32, width: per as u32 };
    }
    let teams = [(1, 128, BACKWARD), (1, 256, BACKWARD), (1, 512, BACKWARD)];
    let clusters = [(2, 512, BACKWARD), (4, 512, BACKWARD), (8, 512, BACKWARD)];
    first_to_hold(problem, matrix, [teams, clusters].concat()).unwrap_or_else(|| parts(problem, matrix, 512, 2))
}

/// Why this shape, a sentence.
pub fn why(shape: Shape, problem: &Problem, cols: u64) -> String {
    let held = if is_backward(problem) { "; each takes many rows, and sums up its columns" } else { "" };
    let endings = Endings { held, stream: ", and it is read twice", parts: ", and read it twice" };
    shape.why(cols * problem.ty.bytes(), endings)
}
