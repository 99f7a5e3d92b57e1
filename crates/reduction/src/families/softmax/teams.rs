//! Teams that hold rows of softmax's family, in the order in which they are tried, by what was measured on H100s and H200s.
//!
//! In words: where a row has a multiprocessor to itself, it gets a thread for each vector or two, and where it has several, a cluster of
//! eight blocks or sixteen that give each thread one to four; where rows are many, a thread holds as much as leaves enough warps, 32
//! elements or 64, in blocks that a row fills. Rows that no block holds are taken in turns by clusters, two blocks of which fit a
//! multiprocessor; of two matrices of floats only one does, beside the rows on their way, so clusters end with their row.

use std::ops::RangeInclusive;

use super::{are_few, has_eight_each};
use crate::layout::Matrix;
use crate::op::Op;
use crate::plan::Problem;
use crate::team::{Team, is_of_few_waves, is_whole};

/// Elements of rows of halves of which a thread of the largest cluster would hold three vectors, and many none.
pub(super) const OF_THREE: RangeInclusive<u64> = 131_073..=196_608;

/// Returns whether there are fewer than two rows for each multiprocessor.
fn is_short(problem: &Problem<'_>, matrix: Matrix) -> bool {
    matrix.rows < 2 * u64::from(problem.card.multiprocessors)
}

/// The elements of rows that are too short for clusters that take them in turns, and these clusters with their stages, by what was
/// measured on H100s and an H200.
pub(super) fn turns(problem: &Problem<'_>, matrix: Matrix) -> (u64, &'static [(Team, u32)]) {
    let is_short = is_short(problem, matrix);
    let (are_few, is_of_few_waves) = (are_few(problem, matrix), is_of_few_waves(problem, matrix));
    match (problem.per_vector() > 4, problem.op) {
        (true, Op::Softmax | Op::LogSoftmax) if are_few => (163_840, &[((16, 256, 64), 2)]),
        (true, Op::Softmax | Op::LogSoftmax) if is_short => {
            (16_384, &[((2, 512, 32), 2), ((8, 256, 32), 2), ((16, 256, 32), 2), ((16, 256, 64), 2)])
        }
        (true, Op::Softmax | Op::LogSoftmax | Op::CrossEntropyBackward) => {
            (16_384, &[((2, 256, 64), 2), ((8, 128, 64), 2), ((8, 256, 64), 2), ((16, 256, 64), 2)])
        }
        (true, Op::SoftmaxBackward) if are_few => (65_536, &[((16, 512, 16), 2), ((16, 512, 32), 2)]),
        (true, Op::LogSoftmaxBackward) if are_few && matrix.cols <= 131_072 => (65_536, &[((16, 512, 16), 2)]),
        (true, Op::SoftmaxBackward) if is_of_few_waves => {
            (16_384, &[((8, 256, 16), 2), ((8, 256, 32), 3), ((8, 512, 32), 2), ((16, 512, 32), 2)])
        }
        (true, Op::SoftmaxBackward) => {
            (16_384, &[((2, 512, 32), 3), ((8, 256, 32), 3), ((8, 512, 32), 2), ((16, 512, 32), 2)])
        }
        (true, Op::LogSoftmaxBackward) if OF_THREE.contains(&matrix.cols) => (0, &[]),
        (true, Op::LogSoftmaxBackward) if is_of_few_waves => {
            (32_768, &[((8, 256, 32), 2), ((8, 512, 32), 2), ((16, 512, 32), 2)])
        }
        (true, Op::LogSoftmaxBackward) => {
            (16_384, &[((2, 512, 32), 3), ((8, 256, 32), 2), ((8, 512, 32), 2), ((16, 512, 32), 2)])
        }
        (false, Op::Softmax | Op::LogSoftmax) if is_of_few_waves && matrix.cols <= 16_384 => {
            (8192, &[((8, 128, 16), 2)])
        }
        // Blocks that hold a row each would all begin and end at once.
        (false, Op::Softmax | Op::LogSoftmax | Op::CrossEntropyBackward) if is_short => {
            (16_384, &[((8, 256, 32), 2), ((16, 512, 16), 2), ((16, 256, 40), 2), ((16, 512, 32), 2)])
        }
        (false, Op::Softmax | Op::LogSoftmax | Op::CrossEntropyBackward)
            if is_of_few_waves && matrix.cols <= 57_344 =>
        {
            (
                16_384,
                if is_whole(problem, matrix) { &[((8, 256, 28), 2)] } else { &[((8, 256, 16), 2), ((8, 128, 56), 2)] },
            )
        }
        (false, Op::Softmax | Op::LogSoftmax) => (131_072, &[((16, 256, 40), 2), ((16, 512, 32), 2)]),
        (false, Op::CrossEntropyBackward) => (32_768, &[((8, 256, 28), 2), ((8, 512, 32), 2), ((16, 512, 32), 2)]),
        (false, Op::SoftmaxBackward | Op::LogSoftmaxBackward) if are_few => {
            (65_536, &[((16, 512, 16), 2), ((16, 512, 20), 2)])
        }
        (false, Op::SoftmaxBackward | Op::LogSoftmaxBackward) => (131_072, &[((16, 512, 20), 2)]),
        _ => (0, &[]),
    }
}

/// Blocks that hold a row with one result where there are few rows, two vectors a thread: of halves, and of floats.
pub(super) const ONE_RESULT_OF_FEW: [&[Team]; 2] = [
    &[
        (1, 64, 16),
        (1, 192, 8),
        (1, 128, 16),
        (1, 192, 16),
        (1, 256, 16),
        (1, 320, 16),
        (1, 384, 16),
        (1, 448, 16),
        (1, 512, 16),
    ],
    &[
        (1, 64, 8),
        (1, 128, 8),
        (1, 128, 12),
        (1, 256, 8),
        (1, 384, 8),
        (1, 256, 16),
        (1, 320, 16),
        (1, 384, 16),
        (1, 448, 16),
        (1, 512, 16),
    ],
];
/// The same for longer rows, up to 16,384 elements.
pub(super) const OF_LONG: &[Team] = &[(1, 768, 16), (1, 896, 16), (1, 1024, 16)];

/// Teams that hold a longer row, where there are so many multiprocessors for each.
pub(super) fn with_one_result(is_narrow: bool, of_each: u64) -> &'static [Team] {
    match (is_narrow, of_each) {
        (true, 14..) => &[(1, 768, 16), (1, 896, 16), (8, 128, 16), (8, 256, 16), (16, 256, 64)],
        (true, 8..) => &[(1, 768, 16), (1, 896, 16), (8, 128, 16), (8, 256, 16), (8, 256, 32), (16, 256, 40)],
        (true, 4..) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 16), (8, 128, 64), (16, 256, 40)],
        (true, 2..) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 32), (2, 512, 64)],
        (true, _) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 32)],
        (false, 16..) => &[(8, 128, 16), (8, 256, 16), (16, 256, 16), (16, 512, 32)],
        (false, 7..) => &[(8, 128, 16), (8, 256, 16), (8, 512, 16), (16, 512, 16)],
        (false, 4..) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 16), (8, 256, 32)],
        (false, 2..) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 16), (8, 256, 16)],
        (false, _) => OF_LONG,
    }
}

/// Blocks that hold a row of few in two matrices: of halves, and of floats.
const FEW_OF_TWO: &[Team] = &[
    (1, 64, 8),
    (1, 128, 8),
    (1, 192, 8),
    (1, 256, 8),
    (1, 384, 8),
    (1, 320, 16),
    (1, 384, 16),
    (1, 448, 16),
    (1, 512, 16),
    (1, 512, 24),
    (1, 448, 32),
];
const FEW_OF_TWO_WIDE: &[Team] = &[(1, 64, 8), (1, 128, 8), (1, 256, 8), (1, 384, 8), (1, 512, 8), (1, 512, 16)];
/// The same of one matrix.
const FEW_OF_ONE: &[Team] = &[
    (1, 64, 8),
    (1, 128, 8),
    (1, 128, 12),
    (1, 192, 8),
    (1, 256, 8),
    (1, 384, 8),
    (1, 512, 8),
    (1, 640, 8),
    (1, 768, 8),
    (1, 896, 8),
    (1, 1024, 8),
];

/// Blocks that hold a row of few.
pub(super) fn blocks_of_few(problem: &Problem<'_>, matrix: Matrix) -> &'static [Team] {
    let (is_narrow, are_few) = (problem.per_vector() > 4, are_few(problem, matrix));
    // Without the largest blocks where a cluster is faster.
    match problem.op.arrays() {
        1 if !is_narrow && are_few && !problem.op.has_gradients() => &FEW_OF_ONE[..8],
        1 if is_narrow && has_eight_each(problem, matrix) => &FEW_OF_ONE[..10],
        1 => FEW_OF_ONE,
        _ if is_narrow && has_eight_each(problem, matrix) => &FEW_OF_TWO[..9],
        _ if is_narrow => FEW_OF_TWO,
        // Where there are multiprocessors enough, or a row is long, a cluster.
        _ if has_eight_each(problem, matrix) || matrix.cols > 7168 => &FEW_OF_TWO_WIDE[..5],
        _ => FEW_OF_TWO_WIDE,
    }
}

/// Blocks that hold a row of many.
pub(super) fn many(problem: &Problem<'_>, matrix: Matrix) -> &'static [Team] {
    match (problem.per_vector() > 4, problem.op.arrays()) {
        (false, 1) if problem.op.has_gradients() => &[(1, 64, 16), (1, 128, 32), (1, 256, 64), (1, 1024, 32)],
        (false, 1) if problem.op.is_per_element() && is_of_few_waves(problem, matrix) => {
            &[(1, 64, 16), (1, 128, 32), (1, 320, 16), (1, 384, 20), (1, 512, 32), (1, 1024, 32)]
        }
        (false, 1) if problem.op == Op::LogSoftmax => {
            &[(1, 64, 16), (1, 128, 32), (1, 512, 16), (1, 256, 64), (1, 1024, 32)]
        }
        (false, 1) if problem.op.is_per_element() => &[(1, 64, 16), (1, 128, 32), (1, 512, 32), (1, 1024, 32)],
        (false, 1) => &[(1, 64, 16), (1, 128, 16), (1, 256, 16), (1, 320, 16), (1, 448, 16)],
        (false, _) => &[(1, 64, 16), (1, 128, 16), (1, 256, 16), (1, 512, 32)],
        (true, 1) if problem.op.is_per_element() && is_of_few_waves(problem, matrix) => &[
            (1, 64, 32),
            (1, 128, 32),
            (1, 256, 24),
            (1, 320, 24),
            (1, 256, 32),
            (1, 384, 32),
            (1, 640, 24),
            (1, 1024, 32),
        ],
        (true, 1) if problem.op == Op::LogSoftmax => {
            &[(1, 64, 32), (1, 128, 32), (1, 256, 32), (1, 384, 40), (1, 512, 32), (1, 1024, 32)]
        }
        (true, 1) if problem.op.is_per_element() => {
            &[(1, 64, 32), (1, 128, 32), (1, 256, 32), (1, 384, 32), (1, 512, 32), (1, 1024, 32)]
        }
        (true, 1) if is_of_few_waves(problem, matrix) => {
            &[(1, 64, 32), (1, 128, 32), (1, 320, 16), (1, 384, 16), (1, 448, 16), (1, 256, 32), (1, 512, 32)]
        }
        (true, 1) => &[
            (1, 64, 48),
            (1, 128, 32),
            (1, 256, 24),
            (1, 192, 40),
            (1, 256, 32),
            (1, 384, 32),
            (1, 256, 56),
            (1, 512, 32),
        ],
        (true, _) => &[(1, 64, 16), (1, 128, 16), (1, 192, 16), (1, 256, 16), (1, 320, 16), (1, 384, 16), (1, 512, 32)],
    }
}

/// Clusters that hold a row. The more blocks one has, the longer they wait for each other; but two blocks of a multiprocessor, each with
/// 32 elements a thread, wait at different times.
pub(super) fn clusters(problem: &Problem<'_>, matrix: Matrix, is_few: bool) -> &'static [Team] {
    let (is_narrow, are_few) = (problem.per_vector() > 4, are_few(problem, matrix));
    match (is_narrow, problem.op.arrays()) {
        (true, 1) if are_few && problem.op.has_gradients() => {
            &[(8, 128, 16), (8, 256, 16), (8, 256, 32), (8, 512, 32), (16, 256, 40), (16, 512, 32)]
        }
        (true, 1) if are_few => {
            &[(8, 128, 16), (8, 256, 16), (8, 256, 32), (16, 128, 64), (16, 256, 40), (16, 512, 32)]
        }
        (true, _) if are_few => &[(8, 256, 16), (16, 128, 32), (8, 512, 32), (16, 512, 32)],
        (false, 1) if are_few => &[(8, 128, 12), (8, 256, 16), (8, 256, 32), (8, 512, 32), (16, 512, 32), (8, 512, 64)],
        (false, _) if are_few => &[(8, 256, 4), (8, 128, 16), (8, 256, 16), (16, 128, 32), (8, 512, 32), (16, 512, 32)],
        (true, 2) if is_few => &[(8, 256, 16), (8, 512, 16), (8, 512, 32), (16, 512, 32)],
        _ if is_few => &[(8, 256, 16), (8, 512, 16), (8, 512, 32), (16, 512, 32), (8, 1024, 32)],
        (true, 2) => &[(4, 512, 32), (8, 512, 32), (16, 512, 32)],
        (true, _) => &[(4, 512, 32), (8, 512, 32), (16, 512, 32), (8, 1024, 32)],
        (false, 1) => &[(2, 512, 64), (4, 512, 64), (8, 512, 64)],
        (false, _) if is_short(problem, matrix) => {
            &[(4, 512, 16), (4, 512, 32), (8, 512, 32), (16, 512, 32), (8, 1024, 32)]
        }
        (false, _) => &[(2, 512, 32), (4, 512, 32), (8, 512, 32), (16, 512, 32), (8, 1024, 32)],
    }
}
