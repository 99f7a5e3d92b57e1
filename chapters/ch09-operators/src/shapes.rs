//! How `reduce` is launched for an input of some size: plain data, found by measuring.

use lab::Problem;

/// How `reduce` is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads a block.
    pub block: u32,
    /// 16-byte loads of a thread on their way at once.
    pub unroll: u32,
    /// Blocks.
    pub grid: u32,
    /// Whether a thread's loads lie as far apart as the grid is wide, and not in one tile of the block.
    pub spread: bool,
}

/// Threads a block, and loads on their way: as the kernels are compiled.
pub const INSTANCE: (u32, u32) = (256, 4);

/// The shape for this problem.
pub fn of_problem(problem: &Problem) -> Shape {
    let (block, unroll) = INSTANCE;
    let vectors = problem.n.div_ceil(16 / problem.ty.bytes());
    let m = problem.multiprocessors;
    let tiles = vectors.div_ceil(u64::from(block * unroll)) as u32;
    let resident = 4 * m;
    let (grid, spread) = match tiles {
        0..=1 => (1, false),
        _ if tiles <= m => (m.min(vectors.div_ceil(u64::from(block)) as u32), true),
        _ if tiles <= resident => (tiles, false),
        _ => (resident, false),
    };
    Shape { block, unroll, grid: problem.options.grid.unwrap_or(grid).max(1), spread }
}
