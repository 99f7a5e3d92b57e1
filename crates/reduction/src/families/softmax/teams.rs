//! Teams that hold rows of softmax's family, in the order in which they are tried, by what was measured on H100s and H200s.
//!
//! In words: where a row has a multiprocessor to itself, it gets a thread for each vector or two, and where it has several, a cluster of
//! eight blocks or sixteen that give each thread one to four; where rows are many, a thread holds as much as leaves enough warps, 32
//! elements or 64, in blocks that a row fills. Rows from some 8,000 elements on wait in shared memory, of which two or three blocks share a
//! multiprocessor's.

use super::{are_few, has_eight_each};
use crate::layout::Matrix;
use crate::op::Op;
use crate::plan::Problem;
use crate::team::{Team, is_of_few_waves, is_short};

/// Blocks and clusters that hold a row in shared memory, with how many elements a thread has of it: where rows are many, as few blocks as
/// leave a multiprocessor room for two or three; where they are few, as many as there are multiprocessors for.
pub(super) fn staged(problem: &Problem<'_>, matrix: Matrix) -> &'static [Team] {
    let is_narrow = problem.per_vector() > 4;
    if are_few(problem, matrix) {
        return few_staged(problem, matrix);
    }
    let (is_short, backward) = (is_short(problem, matrix), problem.op.arrays() > 1);
    let shortest = match (is_short, backward) {
        (true, false) => 32_768,
        (true, true) => 12_288,
        (false, false) => 8192,
        (false, true) if is_narrow => 5120,
        (false, true) => 8192,
    };
    match (is_narrow, backward, is_short) {
        _ if matrix.cols <= shortest => &[],
        (true, false, true) if problem.op.has_labels() => &[(2, 512, 64), (16, 256, 48), (8, 512, 64)],
        (true, false, true) => &[(16, 256, 48), (8, 512, 64)],
        (false, false, true) => &[(8, 256, 32), (8, 512, 48), (16, 256, 64)],
        (true, true, true) => &[(2, 512, 64), (8, 512, 48), (16, 256, 64)],
        (false, true, true) => &[(8, 256, 16), (16, 256, 48)],
        (true, false, _) if problem.op.has_labels() => {
            &[(1, 512, 40), (1, 1024, 40), (2, 256, 104), (2, 512, 64), (4, 512, 64), (8, 512, 64)]
        }
        (true, false, _) => {
            &[(1, 512, 40), (1, 1024, 24), (1, 512, 56), (1, 1024, 48), (2, 512, 64), (4, 512, 64), (8, 512, 64)]
        }
        (false, false, _) if problem.op.has_labels() => &[(1, 512, 32), (4, 256, 40), (8, 256, 64), (16, 256, 64)],
        (false, false, _) => &[
            (1, 512, 32),
            (1, 1024, 24),
            (2, 512, 32),
            (8, 256, 24),
            (4, 512, 32),
            (8, 512, 32),
            (16, 512, 28),
            (16, 256, 64),
        ],
        (true, true, _) => &[
            (1, 512, 16),
            (2, 256, 24),
            (1, 256, 64),
            (1, 512, 48),
            (2, 256, 56),
            (2, 512, 48),
            (4, 256, 64),
            (8, 256, 64),
            (8, 512, 40),
            (16, 128, 104),
            (16, 256, 64),
        ],
        (false, true, _) => {
            let all: &[Team] = &[
                (1, 512, 28),
                (1, 512, 24),
                (2, 512, 24),
                (4, 256, 28),
                (4, 512, 24),
                (8, 256, 28),
                (8, 512, 16),
                (16, 256, 40),
            ];
            if is_of_few_waves(problem, matrix) { all } else { &all[1..] }
        }
    }
}

/// The same where there are four multiprocessors or more for each row, or eight.
fn few_staged(problem: &Problem<'_>, matrix: Matrix) -> &'static [Team] {
    let (has_eight, is_narrow, backward) =
        (has_eight_each(problem, matrix), problem.per_vector() > 4, problem.op.arrays() > 1);
    let shortest = match (has_eight, is_narrow, backward) {
        (true, true, false) => 16_384,
        (true, ..) | (_, true, true) => 12_288,
        _ => 8192,
    };
    match (is_narrow, backward) {
        _ if matrix.cols <= shortest => &[],
        // Longer ones are held in registers.
        (true, false) if has_eight && matrix.cols > 131_072 => &[],
        (true, false) if has_eight => &[(16, 128, 16), (16, 256, 32)],
        (true, false) if problem.op.has_labels() => &[(16, 128, 16), (16, 256, 64)],
        (true, false) => &[(8, 128, 16), (8, 256, 16), (16, 256, 64)],
        (false, false) if has_eight => &[(16, 256, 28), (16, 512, 20)],
        (false, false) => &[(8, 128, 16), (16, 256, 40), (16, 512, 32)],
        (true, true) if has_eight && (114_689..=131_072).contains(&matrix.cols) => &[(16, 512, 16)],
        (true, true) if has_eight => &[(8, 128, 16), (16, 128, 16), (16, 256, 64)],
        (true, true) => &[(8, 128, 16), (8, 256, 16), (16, 256, 64)],
        (false, true) if has_eight && (32_769..=65_536).contains(&matrix.cols) => &[],
        (false, true) if has_eight => &[(16, 128, 8), (16, 256, 8), (16, 256, 40)],
        (false, true) => &[(8, 128, 16), (16, 256, 8), (8, 256, 28), (16, 256, 32), (16, 512, 20)],
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

/// Clusters that hold such a row in shared memory, where there are so many multiprocessors for each.
pub(super) fn staged_with_one_result(is_narrow: bool, of_each: u64, cols: u64) -> &'static [Team] {
    match (is_narrow, of_each, cols) {
        (true, 8.., 12_289..=49_152) => &[(8, 128, 16), (16, 128, 24)],
        (true, 8.., 114_689..=163_840) => &[(16, 256, 40)],
        (true, 4..8, 14_337..=32_768) => &[(8, 128, 32)],
        (false, 8.., 8193..=49_152) => &[(8, 128, 12), (16, 128, 8), (16, 256, 12)],
        (false, 8.., 131_073..=163_840) => &[(16, 512, 20)],
        _ => &[],
    }
}

/// Teams that hold a longer row, where there are so many multiprocessors for each.
pub(super) fn with_one_result(is_narrow: bool, of_each: u64) -> &'static [Team] {
    match (is_narrow, of_each) {
        (true, 14..) => &[(1, 768, 16), (1, 896, 16), (8, 128, 16), (8, 256, 16), (16, 256, 64)],
        (true, 8..) => &[(1, 768, 16), (1, 896, 16), (8, 128, 16), (8, 256, 16), (8, 256, 32), (16, 256, 40)],
        (true, 4..) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 16), (8, 128, 64), (16, 256, 40)],
        (true, 2..) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 32), (2, 512, 64)],
        (true, _) => &[(1, 768, 16), (1, 896, 16), (1, 1024, 32)],
        (false, 16..) => &[(8, 128, 16), (8, 256, 16), (16, 256, 16), (16, 512, 32)],
        (false, 7..) => &[(8, 128, 16), (8, 256, 16), (8, 512, 16), (8, 256, 52), (16, 512, 16)],
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
const FEW_OF_TWO_WIDE: &[Team] =
    &[(1, 64, 8), (1, 128, 8), (1, 256, 8), (1, 384, 8), (1, 512, 8), (1, 512, 16), (1, 384, 32)];
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
        _ if are_few && (has_eight_each(problem, matrix) || matrix.cols > 7168) => &FEW_OF_TWO_WIDE[..5],
        _ if are_few => &FEW_OF_TWO_WIDE[..6],
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
        (false, _) if are_few => &[(8, 256, 4), (8, 128, 16), (8, 256, 16), (16, 256, 16), (8, 512, 32), (16, 512, 32)],
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
