//! Sums of one array in one launch, chapter 8's `single_pass`: shapes for inputs of some size, found by measuring, and the
//! instances that are compiled. Chapter 9's operators share an input out in the same ways.

use crate::element::Type;
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem, Protocol};

/// Most elements of a launch.
pub const N_MAX: u64 = 1 << 40;

/// Returns whether it has kernels for this operation and type.
pub fn takes(op: Op, ty: Type) -> bool {
    op == Op::Sum && matches!(ty, Type::I32 | Type::F32 | Type::F64)
}

/// Ways in which blocks share out an input; each has kernels of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// One block takes all, in one go.
    OneBlock,
    /// Each block takes one tile.
    OneTile,
    /// Blocks take tiles in turns.
    ManyTiles,
}

impl Share {
    /// In names of kernels, and in chapter 9's file.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Share::OneBlock => ("block", "ONE_BLOCK"),
            Share::OneTile => ("tile", "ONE_TILE"),
            Share::ManyTiles => ("tiles", "MANY_TILES"),
        }
    }
}

/// Shape in which an array of some size is shared out.
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
    /// Number of first loads that a thread issues before it waits for the launch before; 0 unless launches overlap.
    pub ahead: u32,
}

/// Compiled kernels: way in which the input is shared out, threads a block, loads on their way.
pub const INSTANCES: [(Share, u32, u32); 12] = [
    (Share::OneBlock, 32, 8),
    (Share::OneBlock, 128, 4),
    (Share::OneBlock, 256, 8),
    (Share::OneBlock, 512, 8),
    (Share::OneTile, 128, 2),
    (Share::OneTile, 128, 8),
    (Share::OneTile, 256, 2),
    (Share::OneTile, 256, 8),
    (Share::OneTile, 512, 8),
    (Share::ManyTiles, 256, 2),
    (Share::ManyTiles, 256, 8),
    (Share::ManyTiles, 512, 8),
];

/// The shape for `vectors` vectors of 16 bytes on a card with `m` multiprocessors, found by measuring on an H200.
///
/// Small inputs take one block, because a message between blocks costs as much as reading some 64 KiB. Then each block has
/// one tile, and tiles grow before the messages get too many. Large inputs take as many blocks as fill the card, and each
/// takes many tiles.
fn shape(ty: Type, vectors: u64, m: u32, overlap: bool) -> Shape {
    in_one_block(vectors).unwrap_or_else(|| match (ty, overlap) {
        (Type::I32, false) => integers(vectors, m),
        (Type::I32, true) => integers_overlapping(vectors, m),
        (_, false) => floats(ty, vectors, m),
        (_, true) => floats_overlapping(ty, vectors, m),
    })
}

/// The shape of one block that takes all, for inputs that are so small.
pub(super) fn in_one_block(vectors: u64) -> Option<Shape> {
    Some(match vectors {
        0..=256 => one_block(32, 8),
        257..=512 => one_block(128, 4),
        513..=2048 => one_block(256, 8),
        2049..=4096 => one_block(512, 8),
        _ => return None,
    })
}

fn one_block(block: u32, unroll: u32) -> Shape {
    Shape { share: Share::OneBlock, block, unroll, grid: 1, spread: false, ahead: unroll }
}

/// Tiles of such blocks.
pub(super) fn tiles(vectors: u64, block: u32, unroll: u32) -> u32 {
    vectors.div_ceil(u64::from(block * unroll)) as u32
}

/// A tile a block, spread over at least `grid` blocks so that each has the same to do.
pub(super) fn spread(vectors: u64, (block, unroll): (u32, u32), grid: u32) -> Shape {
    let grid = grid.max(tiles(vectors, block, unroll));
    Shape { share: Share::OneTile, block, unroll, grid, spread: true, ahead: unroll }
}

/// A tile a block, one behind the other.
fn tile(vectors: u64, (block, unroll): (u32, u32)) -> Shape {
    Shape { spread: false, ..spread(vectors, (block, unroll), 1) }
}

/// Blocks that take tiles in turns.
pub(super) fn many_tiles(block: u32, unroll: u32, grid: u32, ahead: u32) -> Shape {
    Shape { share: Share::ManyTiles, block, unroll, grid, spread: false, ahead }
}

/// The blocks over which so many tiles are spread: as many as there are, or whole rounds of the card's multiprocessors
/// where half a round would leave some without work.
fn whole_rounds(tiles: u32, m: u32) -> u32 {
    if tiles > m / 2 { tiles.next_multiple_of(m) } else { tiles }
}

/// Integers meet by one atomic a block, which costs little: many blocks, soon.
fn integers(vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    match vectors {
        _ if count(128, 2) <= m => spread(vectors, (128, 2), whole_rounds(count(128, 2), m / 2)),
        _ if count(256, 2) <= m => spread(vectors, (256, 2), m),
        _ if count(256, 8) <= 4 * m => spread(vectors, (256, 8), whole_rounds(count(256, 8), m)),
        _ if vectors < 5 << 19 => many_tiles(256, 8, 2 * m, 0),
        _ if vectors <= 1 << 23 => many_tiles(256, 8, 4 * m, 0),
        _ => many_tiles(512, 8, 6 * m, 0),
    }
}

fn integers_overlapping(vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    match vectors {
        _ if count(128, 2) <= m => spread(vectors, (128, 2), whole_rounds(count(128, 2), m / 2)),
        _ if count(256, 2) <= 2 * m => spread(vectors, (256, 2), count(256, 2).next_multiple_of(m)),
        _ if count(256, 8) <= m => Shape { ahead: 4, ..spread(vectors, (256, 8), m) },
        _ if count(512, 8) <= m => Shape { ahead: 2, ..spread(vectors, (512, 8), m) },
        _ if vectors < 7 << 18 => many_tiles(256, 8, 2 * m, 4),
        _ if vectors < 6 << 20 => many_tiles(512, 8, 2 * m, 2),
        _ => many_tiles(512, 8, 6 * m, 2),
    }
}

/// Blocks up to which floats are better spread than given more to do each: half of the card's multiprocessors, or block 0 and
/// the messages of whole looks of a warp that come to no more.
fn half_of(m: u32) -> u32 {
    let half = (m / 2).max(1);
    if half > 32 { (half - 1) / 32 * 32 + 1 } else { half }
}

/// Floats wait for a message from every block. One look by one warp is enough for 64 of them, so that blocks grow before
/// they get more.
pub(super) fn floats(ty: Type, vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    let half = if ty == Type::F64 { (m / 2).max(1) } else { half_of(m) };
    let few = |tiles: u32| if tiles <= 48 { 48.min(half) } else { half };
    for shape in [(128, 2), (128, 8), (256, 8), (512, 8)] {
        let tiles = count(shape.0, shape.1);
        if tiles <= half {
            return spread(vectors, shape, few(tiles));
        }
    }
    match vectors {
        _ if count(512, 8) <= m && ty == Type::F64 => spread(vectors, (512, 8), m),
        _ if vectors < 15 << 16 => tile(vectors, (256, 8)),
        _ if vectors < 7 << 18 => tile(vectors, (512, 8)),
        _ if vectors <= 1 << 23 => spread(vectors, (512, 8), 3 * count(512, 8) / 2),
        _ => many_tiles(512, 8, 6 * m, 0),
    }
}

fn floats_overlapping(ty: Type, vectors: u64, m: u32) -> Shape {
    let one_tile = floats(ty, vectors, m);
    match vectors {
        _ if one_tile.share == Share::OneTile && one_tile.grid <= m => {
            Shape { ahead: if one_tile.block == 512 { 4 } else { one_tile.ahead }, ..one_tile }
        }
        _ if tiles(vectors, 512, 8) <= m => Shape { ahead: 4, ..spread(vectors, (512, 8), m) },
        _ if vectors < 7 << 18 => many_tiles(512, 8, m, 4),
        _ if vectors < 5 << 20 => many_tiles(512, 8, 2 * m, 2),
        _ => many_tiles(512, 8, 6 * m, 2),
    }
}

/// The shape for this problem; none where block and factor are asked for and there is no instance of the two.
pub fn shape_for(problem: &Problem<'_>) -> Option<Shape> {
    let vectors = problem.n.div_ceil(16 / problem.ty.bytes());
    let asked = problem.asked;
    let mut shape = shape(problem.ty, vectors, problem.card.multiprocessors, problem.overlap);
    if asked.block.is_some() || asked.factor.is_some() || asked.grid.is_some_and(|grid| grid != shape.grid) {
        // Any of these takes any number of blocks.
        let loads = |block: u32, unroll: u32| (block * unroll).abs_diff(shape.block * shape.unroll);
        let kept = |&&(share, block, unroll): &&(Share, u32, u32)| {
            share == Share::ManyTiles
                && asked.block.is_none_or(|wish| wish == block)
                && asked.factor.is_none_or(|wish| wish == unroll)
        };
        let &(_, block, unroll) =
            INSTANCES.iter().filter(kept).min_by_key(|(_, block, unroll)| loads(*block, *unroll))?;
        let most = tiles(vectors, block, unroll).clamp(1, BLOCKS_MAX);
        shape = many_tiles(block, unroll, asked.grid.unwrap_or(shape.grid.min(most)), shape.ahead.min(unroll));
    }
    shape.grid = shape.grid.clamp(1, BLOCKS_MAX);
    Some(shape)
}

/// One launch, in the shape that suits the size; none where there is no such instance.
pub fn single_pass(problem: &Problem<'_>) -> Plan {
    shape_for(problem).map_or_else(Plan::default, |shape| plan_for(problem, shape))
}

/// 64-bit words of a float's message, and of the integers' packed word.
const SLOT_WORDS: u64 = 4;

/// `single_pass_tile_t256u8_i32<<<grid, block>>>(in, out, n, slots, spread, ahead)`, for instance.
pub fn plan_for(problem: &Problem<'_>, shape: Shape) -> Plan {
    let Shape { share, block, unroll, grid, spread, ahead } = shape;
    let (n, overlaps) = (problem.n, problem.overlap);
    let per_vector = 16 / problem.ty.bytes();
    let tiles = n.div_ceil(per_vector).div_ceil(u64::from(grid) * u64::from(block * unroll));
    // A vector's own additions, those of a tile in pairs, the tiles, an odd element; the block; messages; the block again.
    let of_thread = u64::from(per_vector.ilog2() + unroll.ilog2()) + tiles + 1;
    let of_block = u64::from(per_vector.ilog2()) + 10;
    let messages = u64::from(grid.div_ceil(32)) + 1;
    let (share, _) = share.names();
    let overlap = if overlaps { "overlap_" } else { "" };
    let kernel = problem.entry("single_pass", &format!("{overlap}{share}_t{block}u{unroll}"));
    let (out, slots, spread) = (Arg::Sums(0), Arg::State, Arg::U32(spread.into()));
    let args = vec![Arg::Input, out, Arg::U64(n), slots, spread, Arg::U32(ahead)];
    let mut pass = Pass::new(kernel, grid.into(), block.into(), args);
    pass.geometry.overlaps = overlaps;
    pass.elements = n;
    pass.additions = of_thread + of_block + messages + of_block;
    // Integers do not: their last block finds the others' sum in the word.
    pass.waits = problem.ty != Type::I32 && grid > 1;
    let protocol = if problem.ty == Type::I32 { Protocol::Packed } else { Protocol::Slots(problem.ty.bytes() as u8) };
    Plan { passes: vec![pass], sums: vec![1], state_words: SLOT_WORDS * u64::from(grid), protocol, ..Plan::default() }
}

/// Blocks that the packed word can count.
const BLOCKS_MAX: u32 = 65_535;
