//! Shapes in which `reduce` is launched for inputs of some size: plain data, found by measuring.

use crate::BLOCKS_MAX;
use lab::{Op, Problem};

/// Ways in which blocks share out an input; each has code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// One block takes all, in one go.
    OneBlock,
    /// Each block takes one tile.
    OneTile,
    /// Blocks take tiles in turns.
    ManyTiles,
}

/// Shape in which `reduce` is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Way in which the input is shared out.
    pub share: Share,
    /// Threads a block.
    pub block: u32,
    /// 16-byte loads of a thread on their way at once.
    pub unroll: u32,
    /// Blocks.
    pub grid: u32,
    /// True if a thread's loads lie as far apart as the grid is wide, and not in one tile of the block.
    pub spread: bool,
}

impl Share {
    /// In names of kernels, and in the kernels' file.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Share::OneBlock => ("block", "ONE_BLOCK"),
            Share::OneTile => ("tile", "ONE_TILE"),
            Share::ManyTiles => ("tiles", "MANY_TILES"),
        }
    }
}

/// Threads a block, and loads on their way, of the shape that is committed: it takes any input.
pub const COMMITTED: (u32, u32) = (256, 4);

fn tiles(vectors: u64, block: u32, unroll: u32) -> u32 {
    vectors.div_ceil(u64::from(block * unroll)) as u32
}

fn one_block(block: u32, unroll: u32) -> Shape {
    Shape { share: Share::OneBlock, block, unroll, grid: 1, spread: false }
}

/// A tile a block, spread over at least `grid` blocks so that each has the same to do.
fn spread(vectors: u64, (block, unroll): (u32, u32), grid: u32) -> Shape {
    let grid = grid.max(tiles(vectors, block, unroll));
    Shape { share: Share::OneTile, block, unroll, grid, spread: true }
}

fn tile(vectors: u64, instance: (u32, u32)) -> Shape {
    Shape { spread: false, ..spread(vectors, instance, 1) }
}

fn many(block: u32, unroll: u32, grid: u32) -> Shape {
    Shape { share: Share::ManyTiles, block, unroll, grid, spread: false }
}

/// The shape for this problem.
///
/// Small inputs take one block, because a message between blocks costs as much as reading some 64 KiB. Then each block has one
/// tile, and tiles grow before the messages get too many. Large inputs take as many blocks as fill the card.
pub fn shape_for(problem: &Problem) -> Shape {
    let vectors = problem.n.div_ceil(16 / problem.ty.bytes());
    let m = problem.card.multiprocessors;
    if !problem.on_demand || problem.options.grid.is_some() {
        let (block, unroll) = COMMITTED;
        let grid = match tiles(vectors, block, unroll) {
            0..=1 => 1,
            tiles if tiles <= m => m.min(vectors.div_ceil(u64::from(block)) as u32),
            tiles => tiles.min(4 * m),
        };
        let grid = problem.options.grid.map_or(grid, |asked| asked.min(BLOCKS_MAX as u32)).max(1);
        return Shape { spread: tiles(vectors, block, unroll) <= m, ..many(block, unroll, grid) };
    }
    match vectors {
        0..=256 => one_block(32, 8),
        257..=512 => one_block(128, 4),
        513..=2048 => one_block(256, 8),
        2049..=4096 => one_block(512, 8),
        _ if is_heavy(problem.options.op) => heavy(vectors, m),
        _ => light(vectors, m),
    }
}

/// Operators whose values take more than a few instructions to combine, or two words and more.
fn is_heavy(op: Op) -> bool {
    matches!(op, Op::Meanvar | Op::Minmax | Op::Dot)
}

/// Blocks up to which values are better spread than given more to do each: half of the card's multiprocessors, or block 0 and
/// the messages of whole looks of a warp that come to no more.
fn half_of(m: u32) -> u32 {
    let half = (m / 2).max(1);
    if half > 32 { (half - 1) / 32 * 32 + 1 } else { half }
}

/// Shapes like those of chapter 8's sums. One look by one warp is enough for 64 messages, so that blocks grow before they get more.
fn light(vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    let half = half_of(m);
    let few = |tiles: u32| if tiles <= 48 { 48.min(half) } else { half };
    for shape in [(128, 2), (128, 8), (256, 8), (512, 8)] {
        let tiles = count(shape.0, shape.1);
        if tiles <= half {
            return spread(vectors, shape, few(tiles));
        }
    }
    match vectors {
        _ if vectors < 15 << 16 => tile(vectors, (256, 8)),
        _ if vectors < 7 << 18 => tile(vectors, (512, 8)),
        _ if vectors <= 1 << 23 => spread(vectors, (512, 8), 3 * count(512, 8) / 2),
        _ => many(512, 8, 6 * m),
    }
}

fn heavy(vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    match vectors {
        _ if count(128, 2) <= m => spread(vectors, (128, 2), count(128, 2).max(48)),
        _ if count(128, 4) <= 2 * m => spread(vectors, (128, 4), count(128, 4)),
        _ if count(256, 4) <= 4 * m => spread(vectors, (256, 4), count(256, 4)),
        _ => many(256, 4, 4 * m),
    }
}
