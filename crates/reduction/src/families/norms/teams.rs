//! Teams that hold rows of norms forward, in the order in which they are tried, by what was measured on an H200 and H100s.

use super::OF_BLOCK;
use crate::layout::Matrix;
use crate::op::Op;
use crate::plan::Problem;
use crate::team::{FEW, Team, is_of_few_waves, is_short, is_whole};

/// Blocks that are tried first where all rows are there in a few waves: with no idle threads, and few enough that a wave has them all.
pub(super) fn teams_of_few_waves(problem: &Problem<'_>, matrix: Matrix, is_few: bool) -> &'static [Team] {
    let is_one_wave = is_few && matrix.rows >= u64::from(problem.card.multiprocessors);
    let is_of_waves = !is_few && is_of_few_waves(problem, matrix) && matrix.cols > 4096;
    match (problem.per_vector() > 4, problem.op) {
        (true, Op::RmsNorm) if is_of_waves && matrix.cols <= 8192 => &[(1, 256, 32)],
        (true, Op::AddRmsNorm) if is_of_waves && matrix.cols <= 8192 => &[(1, 320, 16), (1, 384, 16), (1, 256, 32)],
        (true, Op::RmsNorm) if is_of_waves => &[(1, 256, 48), (1, 448, 32)],
        (true, _) if is_of_waves => &[(1, 256, 24)],
        (false, Op::RmsNorm | Op::LayerNorm) if is_of_waves => &[(1, 320, 16)],
        (false, _) if is_of_waves => &[(1, 256, 20)],
        // Blocks of 512 threads, four of them, have too few registers for what a centred norm holds.
        (false, op) if is_one_wave && op.is_centred() && matrix.cols > 2048 => &[(1, 256, 16)],
        _ => &[],
    }
}

/// Blocks and clusters that hold a row of few. Two vectors of a thread are on their way at once; more threads would wait for each other.
pub(super) fn few(problem: &Problem<'_>, matrix: Matrix) -> &'static [Team] {
    match (problem.per_vector() > 4, problem.op.adds()) {
        (true, adds) if matrix.cols > 2048 => {
            if adds && matrix.cols > 7168 {
                &[(8, 128, 8)]
            } else {
                &[(1, 192, 16), (1, 256, 16), (1, 320, 16), (1, 384, 16), (1, 448, 16), (1, 512, 16), (8, 128, 16)]
            }
        }
        (false, _) if matrix.cols > 5120 => &[(8, 128, 8)],
        _ => FEW,
    }
}

/// Clusters that hold a row of few which no block does.
const CLUSTERS_OF_FEW: &[Team] = &[(8, 256, 16), (16, 512, 8), (8, 512, 16), (8, 512, 32), (8, 1024, 32)];

/// Blocks and clusters that may hold a row, by what was measured on an H200 and H100s, the first that does first. The more blocks a cluster has,
/// the longer they wait for each other; the more elements a thread has, the fewer blocks are at home to hide it.
pub(super) fn teams(problem: &Problem<'_>, is_few: bool) -> &'static [Team] {
    match (problem.per_vector() > 4, problem.op) {
        _ if is_few => CLUSTERS_OF_FEW,
        (true, Op::LayerNorm) => &[
            (1, 64, 32),
            (1, 128, 40),
            (1, 256, 48),
            (1, 448, 32),
            (1, 512, 32),
            (1, 1024, 32),
            (4, 256, 64),
            (8, 256, 64),
            (16, 256, 64),
            (8, 1024, 32),
        ],
        (true, Op::RmsNorm) => &[
            (1, 128, 24),
            (1, 192, 24),
            (1, 128, 40),
            (1, 256, 32),
            (1, 384, 40),
            (1, 512, 32),
            (1, 1024, 32),
            (4, 256, 64),
            (8, 256, 64),
            (16, 256, 64),
            (8, 1024, 32),
        ],
        (true, _) => &[
            (1, 64, 16),
            (1, 128, 32),
            (1, 256, 32),
            (1, 384, 32),
            (1, 448, 32),
            (1, 512, 32),
            (1, 1024, 32),
            (8, 256, 32),
            (4, 1024, 32),
            (8, 1024, 32),
        ],
        (false, op) => teams_of_floats(op),
    }
}

fn teams_of_floats(op: Op) -> &'static [Team] {
    match op {
        // With two inputs of floats, 1,024 threads have too few registers for 32 elements.
        _ if op.adds() => &[
            (1, 64, 16),
            (1, 128, 16),
            (1, 256, 16),
            (1, 512, 16),
            (1, 1024, 16),
            (1, 960, 28),
            (8, 256, 16),
            (16, 256, 16),
            (8, 256, 32),
            (8, 1024, 16),
            (16, 1024, 16),
        ],
        Op::LayerNorm => &[
            (1, 64, 16),
            (1, 128, 16),
            (1, 256, 16),
            (1, 320, 24),
            (1, 512, 32),
            (1, 1024, 32),
            (2, 1024, 32),
            (4, 1024, 32),
            (8, 1024, 32),
        ],
        _ => &[
            (1, 64, 16),
            (1, 128, 16),
            (1, 256, 16),
            (1, 320, 16),
            (1, 512, 32),
            (1, 1024, 32),
            (2, 1024, 32),
            (4, 1024, 32),
            (8, 1024, 32),
        ],
    }
}

/// Blocks and clusters that hold a row in shared memory, with how many elements a thread has of it: where clusters in turns would have
/// too few rows or pay for rows that are not whole vectors, and `layer_norm` of halves, which would hold too few in registers.
pub(super) fn staged(problem: &Problem<'_>, matrix: Matrix) -> &'static [Team] {
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let (is_many, are_few) = (matrix.rows > multiprocessors, 8 * matrix.rows <= multiprocessors);
    let is_of_waves = is_many && is_of_few_waves(problem, matrix);
    match (problem.per_vector() > 4, problem.op, matrix.cols) {
        (true, Op::LayerNorm, 8193..=28_672) if is_many => &[(1, 512, 56)],
        (true, Op::LayerNorm, 98_305..) if is_many => &[(8, 256, 64), (16, 256, 64)],
        (true, Op::AddRmsNorm, 5121..=8192) if is_of_waves => &[(1, 512, 16)],
        (true, _, 16_385..=28_672) if is_many && !is_whole(problem, problem.matrix()) => &[(1, 512, 56)],
        (false, Op::AddRmsNorm, 8193..=12_288) if is_of_waves => &[(1, 512, 24)],
        (false, Op::AddRmsNorm, 7169..=8192) if 4 * matrix.rows <= multiprocessors => &[(8, 128, 8)],
        (false, Op::AddRmsNorm, 12_289..=16_384) if 4 * matrix.rows <= multiprocessors => &[(16, 128, 8)],
        (_, _, ..=49_152) => &[],
        _ if is_many || are_few => &[],
        (true, op, _) if op.adds() => &[(16, 256, 32), (8, 512, 48)],
        (true, ..) => &[(16, 256, 64)],
        (false, op, _) if op.adds() => &[(16, 256, 32), (16, 1024, 16)],
        (false, _, ..=65_536) => &[(16, 256, 16)],
        (false, _, 131_073..=196_608) => &[(8, 1024, 24)],
        _ => &[],
    }
}

/// The elements of rows that are too short for clusters that take them in turns, and these clusters with their stages, by what was
/// measured on an H200 and H100s.
pub(super) fn turns(problem: &Problem<'_>, matrix: Matrix) -> (u64, &'static [(Team, u32)]) {
    let teams: &[(Team, u32)] = match (problem.per_vector() > 4, problem.op) {
        (true, Op::RmsNorm) => &[((2, 256, 56), 2), ((8, 256, 32), 2), ((8, 512, 32), 3), ((16, 256, 64), 2)],
        (true, Op::LayerNorm) => {
            &[((2, 256, 56), 2), ((2, 512, 32), 2), ((8, 256, 32), 2), ((8, 512, 32), 2), ((16, 512, 32), 2)]
        }
        (true, _) => &[((8, 128, 32), 2), ((8, 256, 32), 2), ((8, 512, 32), 2), ((16, 512, 32), 2)],
        (false, Op::LayerNorm | Op::RmsNorm) => {
            &[((8, 128, 28), 2), ((8, 256, 16), 2), ((16, 128, 32), 2), ((8, 512, 32), 2), ((16, 512, 32), 2)]
        }
        (false, _) if is_short(problem, matrix) => {
            &[((8, 128, 28), 2), ((8, 256, 16), 2), ((8, 512, 16), 2), ((16, 512, 16), 2)]
        }
        (false, _) => &[((2, 512, 24), 2), ((4, 512, 24), 2), ((8, 512, 16), 2), ((16, 512, 16), 2)],
    };
    // A block of 1,024 threads holds such a row as it is, and one of 960 a sum that is not whole vectors.
    let shortest = match (problem.per_vector() > 4, problem.op) {
        (true, Op::RmsNorm) if matrix.cols > 28_672 => 2 * OF_BLOCK,
        (false, op) if op.adds() && !is_whole(problem, problem.matrix()) => 26_880,
        _ => OF_BLOCK,
    };
    (shortest, teams)
}

/// The same for floats whose rows are there in a few waves: clusters that take them in turns end together.
pub(super) fn turns_of_few_waves(problem: &Problem<'_>, matrix: Matrix) -> (u64, &'static [(Team, u32)]) {
    let is_one = problem.per_vector() == 4 && is_of_few_waves(problem, matrix) && matrix.cols <= OF_BLOCK;
    match (is_one, problem.op.adds()) {
        (true, true) => (OF_BLOCK / 2, &[((8, 128, 16), 2)]),
        (true, false) => (OF_BLOCK / 3, &[((4, 64, 28), 2), ((4, 128, 24), 3), ((2, 256, 32), 2)]),
        (false, _) => (OF_BLOCK, &[]),
    }
}
