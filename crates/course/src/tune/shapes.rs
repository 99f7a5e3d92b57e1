//! Teams that are worth a trial for the rows of a problem.

use lab::{Matrix, Problem};
use reduction::team::{PersistentTeam, Shape, has_room, is_spare, parts};

/// Elements of all inputs that a thread of a block may hold, and has to.
const HELD_MOST: u64 = 64;
const HELD_LEAST: u64 = 8;
/// As many of 1,024 threads, which have 64 registers each.
const HELD_OF_1024: u64 = 32;
/// Elements of a row of which lanes may hold single elements, if it is not whole vectors.
const ELEMENTS_MOST: u64 = 256;
/// Bytes of a row from which on clusters, and blocks that go through it, are tried.
const LONG_BYTES: u64 = 8 << 10;
/// Vectors of a thread in shared memory.
const STAGED_MOST: u64 = 24;
/// Numbers of vectors on their way at once.
const LOADS: [u32; 4] = [1, 2, 4, 8];

/// Teams for this problem: each that holds a row with few idle threads, and those that go through it. `resident` says how many
/// threads of a multiprocessor take turns, if there are kernels for that.
pub fn candidates(problem: &Problem<'_>, matrix: Matrix, resident: Option<u32>) -> Vec<Shape> {
    let per = problem.per_vector();
    let vectors = matrix.cols.div_ceil(per);
    let is_long = matrix.cols * problem.ty.bytes() >= LONG_BYTES;
    let mut found = if vectors <= 256 { groups(problem, matrix.cols, per) } else { Vec::new() };
    if matrix.cols <= ELEMENTS_MOST && !matrix.cols.is_multiple_of(per) {
        found.extend(groups(problem, matrix.cols, 1));
    }
    for blocks in [1, 2, 4, 8, 16] {
        // One result is worth a cluster only where its blocks fill no card.
        let is_worth_it = problem.op.is_per_element() || is_spare(problem, matrix);
        if blocks > 1 && (!is_long || !is_worth_it || problem.card.clusters_of(blocks) == 0) {
            continue;
        }
        for block in (1..=16).map(|warps| 64 * warps).filter(|block: &u32| blocks == 1 || block.is_power_of_two()) {
            let Some(each) = each_holds(problem, vectors, (blocks, block)) else { continue };
            let held = if blocks == 1 {
                Shape::Block { block, vectors: each }
            } else {
                Shape::Cluster { blocks, block, vectors: each }
            };
            found.push(held);
            if let Some(resident) = resident.filter(|_| blocks > 1 && block <= 512) {
                found.extend([2, 3].into_iter().filter_map(|stages| {
                    let team = PersistentTeam { blocks, block, vectors: each, stages, resident };
                    let clusters = team.clusters(problem);
                    (clusters > 0 && matrix.rows >= 2 * clusters).then_some(Shape::Persistent(team))
                }));
            }
        }
    }
    if is_long {
        found.extend(streams(problem, matrix));
        found.extend(staged(problem, vectors));
    }
    found
}

/// Blocks and clusters that hold a row of so many vectors in shared memory.
fn staged(problem: &Problem<'_>, vectors: u64) -> Vec<Shape> {
    let teams = [1, 2, 4, 8, 16].into_iter().flat_map(|blocks| [128, 256, 512, 1024].map(|block| (blocks, block)));
    let shape = |(blocks, block): (u32, u32)| {
        let threads = u64::from(blocks * block);
        let each = vectors.div_ceil(threads);
        let fits = each <= STAGED_MOST
            && 8 * vectors >= 7 * each * threads
            && has_room(problem, (blocks, block, each as u32))
            && (problem.op.is_per_element() || blocks > 1);
        fits.then_some(Shape::Staged { blocks, block, vectors: each as u32 })
    };
    teams.filter_map(shape).collect()
}

/// Lanes of a warp for rows of so many elements, in pieces of `width`.
fn groups(problem: &Problem<'_>, cols: u64, width: u64) -> Vec<Shape> {
    let pieces = cols.div_ceil(width);
    let shape = |lanes: u32, rows: u32| {
        let each = pieces.div_ceil(lanes.into());
        let held = each * width * problem.op.arrays();
        let fits = held * u64::from(rows) <= HELD_MOST && u64::from(lanes) < 2 * pieces;
        fits.then_some(Shape::Groups { lanes, rows, vectors: each as u32, width: width as u32 })
    };
    [1, 2, 4, 8, 16, 32].into_iter().flat_map(|lanes| [1, 2, 4].map(|rows| shape(lanes, rows))).flatten().collect()
}

/// Vectors that a thread of these blocks holds of a row; `None` if they are too many, or many threads would have none.
fn each_holds(problem: &Problem<'_>, vectors: u64, (blocks, block): (u32, u32)) -> Option<u32> {
    let threads = u64::from(blocks) * u64::from(block);
    let each = vectors.div_ceil(threads);
    let held = each * problem.per_vector() * problem.op.arrays();
    let most = if block == 1024 { HELD_OF_1024 } else { HELD_MOST };
    let is_full = 4 * vectors >= 3 * each * threads;
    ((HELD_LEAST..=most).contains(&held) && is_full).then_some(each as u32)
}

/// Blocks that go through a row, alone or with others.
fn streams(problem: &Problem<'_>, matrix: Matrix) -> Vec<Shape> {
    let vectors = matrix.cols.div_ceil(problem.per_vector());
    let mut found = Vec::new();
    for (block, loads) in [128, 256, 512, 1024].into_iter().flat_map(|block| LOADS.map(|loads| (block, loads))) {
        let on_the_way = u64::from(loads) * problem.per_vector() * problem.op.arrays();
        if on_the_way > HELD_MOST || u64::from(block * loads) > vectors {
            continue;
        }
        found.push(Shape::Stream { block, loads });
        for room in [block.max(256), 2 * block.max(256)] {
            let shape = parts(problem, matrix, (block, loads), room);
            if matches!(shape, Shape::Parts { .. }) && !found.contains(&shape) {
                found.push(shape);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use lab::{LaunchOptions, Op, Type};
    use reduction::card::H200;

    use super::*;

    fn found(op: Op, ty: Type, (rows, cols): (u64, u64)) -> Vec<Shape> {
        let variant = ch11_softmax::CHAPTER.variants.last().unwrap();
        let matrix = Matrix::dense(rows, cols);
        let problem = Problem::new(variant, ty, rows * cols, LaunchOptions::over(op, matrix)).on(&H200, true);
        candidates(&problem, matrix, None)
    }

    #[test]
    fn every_team_holds_its_row() {
        for cols in [16, 1000, 4096, 50_257, 262_144] {
            let all = found(Op::Softmax, Type::F32, (4096, cols));
            assert!(all.len() >= 3, "{cols}: {all:?}");
            for shape in all {
                let held = match shape {
                    Shape::Groups { lanes, vectors, width, .. } => lanes * vectors * width,
                    Shape::Block { block, vectors } => 4 * block * vectors,
                    Shape::Cluster { blocks, block, vectors } => 4 * blocks * block * vectors,
                    Shape::Staged { blocks, block, vectors } => 4 * blocks * block * vectors,
                    Shape::Persistent(team) => 4 * team.blocks * team.block * team.vectors,
                    Shape::Stream { .. } | Shape::Parts { .. } => continue,
                };
                assert!(u64::from(held) >= cols, "{shape:?} for {cols}");
            }
        }
    }

    #[test]
    fn what_a_plan_chooses_is_among_them() {
        let shapes = [(65_536, 1024), (16_384, 4096), (4096, 16_384), (1024, 65_536), (256, 262_144)];
        for (op, ty) in [(Op::Softmax, Type::BF16), (Op::SoftmaxBackward, Type::F32), (Op::Logsumexp, Type::F32)] {
            for (rows, cols) in shapes {
                let variant = ch11_softmax::CHAPTER.variants.last().unwrap();
                let matrix = Matrix::dense(rows, cols);
                let problem = Problem::new(variant, ty, rows * cols, LaunchOptions::over(op, matrix)).on(&H200, true);
                let chosen = reduction::families::softmax::shape_for(&problem, matrix);
                let all = candidates(&problem, matrix, None);
                assert!(all.contains(&chosen), "{op} {ty} {cols}: {chosen:?} is not among {all:?}");
            }
        }
    }
}
