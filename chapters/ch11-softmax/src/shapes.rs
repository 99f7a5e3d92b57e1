//! Teams of threads that hold a row, and their launches: plain data, with the reason in words.

use lab::team::{
    Endings, Shape, Team, committed, first_to_hold, held_by_block, lanes_of_elements, parts, per_vector, threads,
};
use lab::{Matrix, Problem};

/// Elements of a row that are a warp's.
const OF_WARP: u64 = 512;
/// Elements of each thread, where all threads of a problem are resident at once.
const OF_WAVE: u64 = 8;
/// Elements of a row from which on it is only read, not held, where it has one result.
const OF_STREAM: u64 = 4096;

/// Elements that a thread holds of one matrix, at most, in shapes that are compiled on demand. Those of bf16 bring
/// more work for each byte, which more threads hide better.
fn held_most(problem: &Problem) -> u64 {
    let of_one = if problem.ty.bytes() < 4 { 32 } else { 64 };
    of_one / problem.options.op.arrays()
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
    let (most, per) = (held_most(problem), per_vector(problem));
    let vectors = matrix.cols.div_ceil(per);
    if let Some(shape) = lanes_of_elements(problem, matrix, 2) {
        return shape;
    }
    let is_each = problem.options.op.is_per_element();
    // If nothing comes after it to hide the trip to memory, a row has as many threads as there are, few vectors each.
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let is_few = 2 * matrix.rows < multiprocessors || matrix.rows * matrix.cols <= threads(problem) * OF_WAVE;
    let is_light = problem.options.op.arrays() == 1 && is_each;
    let of_warp = if per > 4 && is_light && !is_few { 2 * OF_WARP } else { OF_WARP };
    if matrix.cols <= of_warp {
        // If nothing is held for a result, fewer lanes have fewer pairs to bring together; with bf16, a lane needs two vectors on
        // their way to make the trip worth it.
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
    let few: &[Team] = &[(1, 64, 8), (1, 128, 8), (1, 256, 8), (1, 512, 8), (1, 1024, 8)];
    let many: &[Team] = match (per, is_light) {
        (4, true) => &[(1, 64, 16), (1, 128, 32), (1, 512, 32), (1, 1024, 32)],
        (4, false) => &[(1, 64, 16), (1, 128, 16), (1, 256, 16), (1, 512, most)],
        (_, true) => &[(1, 64, 32), (1, 128, 32), (1, 256, 32), (1, 512, 32), (1, 1024, 32)],
        (_, false) => &[(1, 64, 16), (1, 128, most), (1, 256, most), (1, 512, most), (1, 1024, most)],
    };
    let of_cluster: &[Team] = match most {
        _ if !is_each => &[],
        _ if is_few => &[(8, 256, 16), (8, 512, 16), (8, 512, most), (8, 1024, 32)],
        64 => &[(2, 256, 64), (2, 512, 64), (8, 256, 64), (8, 512, 64)],
        _ if problem.options.op.arrays() == 2 => &[(2, 512, most), (4, 512, most), (8, 512, most)],
        _ => &[(4, 512, most), (8, 512, most), (8, 1024, most)],
    };
    let of_block = if is_few { few } else { many };
    let all = of_block.iter().filter(|_| is_each || matrix.cols <= OF_STREAM).chain(of_cluster);
    let all = all.copied().filter(|&(_, _, elements)| elements <= most);
    // More blocks that find exponentials at different times, where these are the limit.
    let block = if per > 4 && !is_each { 256 } else { 512 };
    first_to_hold(problem, matrix, all).unwrap_or_else(|| parts(problem, matrix, block, 4))
}

/// Why this shape, a sentence.
pub fn why(shape: Shape, problem: &Problem, cols: u64) -> String {
    let twice = if problem.options.op.is_per_element() { ", and read it twice" } else { "" };
    shape.why(cols * problem.ty.bytes(), Endings { held: "", stream: twice, parts: twice })
}
