//! How each variant is launched: plain functions from a request to the launches, which tests inspect and `--plan` prints.

use lab::{Ask, Pass, Plan, Slot, Type};

/// Threads a block of the first three variants, if the reader asks for no other.
const BLOCK: u32 = 256;
/// Threads that a multiprocessor holds for a kernel of up to 64 registers, on every card since compute capability 8.0: as
/// many blocks as this allows are resident together.
const RESIDENT_THREADS: u32 = 1024;
/// Elements a thread takes before a further block is worth its message.
const ELEMENTS_PER_THREAD: u64 = 8;
/// Blocks of a cluster: the most that every card with clusters has.
const CLUSTER: u32 = 8;

/// Blocks of a grid-stride kernel: as many as are resident together, fewer where the input is small.
fn resident_blocks(ask: &Ask, block: u32) -> u32 {
    let most = ask.multiprocessors * (RESIDENT_THREADS / block).max(1);
    let wanted = ask.n.div_ceil(u64::from(block) * ELEMENTS_PER_THREAD);
    ask.wish.grid.unwrap_or(wanted.min(u64::from(most)) as u32).max(1)
}

/// Additions on the longest path through one block of a grid-stride kernel: a thread's own, the warp's, the block's.
fn depth(n: u64, grid: u32, block: u32) -> u64 {
    n.div_ceil(u64::from(grid) * u64::from(block)) + 5 + 5
}

/// Two launches: the blocks' values, and one block that reduces those.
pub fn redux(ask: &Ask) -> Plan {
    let block = ask.wish.block.unwrap_or(BLOCK);
    let grid = resident_blocks(ask, block);
    let pass = |grid, n, from, to| {
        let args = vec![from, Slot::Sums(to), Slot::Elements];
        Pass::new(ask.entry("redux", ""), grid, block, n, depth(n, grid, block), args)
    };
    let mut plan = Plan { passes: vec![pass(grid, ask.n, Slot::Input, 0)], sums: vec![grid.into()], state_words: 0 };
    if grid > 1 {
        plan.passes.push(pass(1, grid.into(), Slot::Sums(0), 1));
        plan.sums.push(1);
    }
    plan
}

/// One launch whose blocks leave their values in an array and meet.
pub fn one_launch(ask: &Ask, name: &str, state: &[Slot]) -> Plan {
    let block = ask.wish.block.unwrap_or(BLOCK);
    let grid = resident_blocks(ask, block);
    let mut args = vec![Slot::Input, Slot::Sums(1), Slot::Elements, Slot::Sums(0)];
    args.extend(state);
    let both = depth(ask.n, grid, block) + depth(grid.into(), 1, block);
    let pass = Pass::new(ask.entry(name, ""), grid, block, ask.n, both, args);
    Plan { passes: vec![pass], sums: vec![grid.into(), 1], state_words: state.len() as u64 }
}

/// One cooperative launch.
pub fn grid_sync(ask: &Ask) -> Plan {
    let mut plan = one_launch(ask, "grid_sync", &[]);
    plan.passes[0].cooperative = true;
    plan.passes[0].waits = true;
    plan
}

/// One launch with a counter of tickets.
pub fn last_block(ask: &Ask) -> Plan {
    one_launch(ask, "last_block", &[Slot::State])
}

/// One or two launches of clusters.
pub fn cluster(ask: &Ask) -> Plan {
    let block = ask.wish.block.unwrap_or(BLOCK);
    let most = (ask.multiprocessors / CLUSTER).max(1);
    let wanted = ask.n.div_ceil(u64::from(CLUSTER * block) * ELEMENTS_PER_THREAD);
    let grid = ask.wish.grid.unwrap_or(CLUSTER * wanted.min(most.into()) as u32).max(CLUSTER).next_multiple_of(CLUSTER);
    let mut plan = Plan::default();
    let (mut n, mut from) = (ask.n, Slot::Input);
    for grid in [grid, CLUSTER] {
        let to = plan.sums.len();
        let depth = depth(n, grid, block) + 5;
        let args = vec![from, Slot::Sums(to), Slot::Elements];
        plan.passes.push(Pass { cluster: CLUSTER, ..Pass::new(ask.entry("cluster", ""), grid, block, n, depth, args) });
        plan.sums.push(u64::from(grid / CLUSTER));
        if grid == CLUSTER {
            break;
        }
        (n, from) = (u64::from(grid / CLUSTER), Slot::Sums(to));
    }
    plan
}

/// How blocks share an input out among themselves; each has kernels of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// One block takes all, in one go.
    OneBlock,
    /// Each block takes one tile.
    OneTile,
    /// Blocks take tiles in turns.
    ManyTiles,
}

/// How `single_pass` is launched for an input of some size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How the input is shared out.
    pub share: Share,
    /// Threads a block.
    pub block: u32,
    /// 16-byte loads of a thread on their way at once.
    pub unroll: u32,
    /// Blocks.
    pub grid: u32,
    /// Whether a thread's loads lie as far apart as the grid is wide, and not in one tile of the block.
    pub spread: bool,
    /// Of its first loads, how many a thread asks for before it waits for the launch before. Only launches that overlap do.
    pub ahead: u32,
}

/// As the kernels are compiled: how the input is shared out, threads a block, loads on their way.
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

/// The shape for `vectors` vectors of 16 bytes on a card with `m` multiprocessors, found by measuring on an H200
/// (`examples/tune.rs`).
///
/// Small inputs take one block, because a message between blocks costs as much as reading some 64 KiB. Then each block has
/// one tile, and tiles grow before the messages get too many. Large inputs take as many blocks as fill the card, and each
/// takes many tiles.
fn shape(ty: Type, vectors: u64, m: u32, overlap: bool) -> Shape {
    match vectors {
        0..=256 => one_block(32, 8),
        257..=512 => one_block(128, 4),
        513..=2048 => one_block(256, 8),
        2049..=4096 => one_block(512, 8),
        _ => match (ty, overlap) {
            (Type::I32, false) => integers(vectors, m),
            (Type::I32, true) => integers_overlapping(vectors, m),
            (_, false) => floats(ty, vectors, m),
            (_, true) => floats_overlapping(ty, vectors, m),
        },
    }
}

fn one_block(block: u32, unroll: u32) -> Shape {
    Shape { share: Share::OneBlock, block, unroll, grid: 1, spread: false, ahead: unroll }
}

fn tiles(vectors: u64, block: u32, unroll: u32) -> u32 {
    vectors.div_ceil(u64::from(block * unroll)) as u32
}

/// A tile a block, spread over at least `grid` blocks so that each has the same to do.
fn spread(vectors: u64, (block, unroll): (u32, u32), grid: u32) -> Shape {
    let grid = grid.max(tiles(vectors, block, unroll));
    Shape { share: Share::OneTile, block, unroll, grid, spread: true, ahead: unroll }
}

/// A tile a block, one behind the other.
fn tile(vectors: u64, (block, unroll): (u32, u32)) -> Shape {
    Shape { spread: false, ..spread(vectors, (block, unroll), 1) }
}

fn many_tiles(block: u32, unroll: u32, grid: u32, ahead: u32) -> Shape {
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

/// Floats wait for a message from every block. One look by one warp is enough for 64 of them, so that blocks grow before
/// they get more.
fn floats(ty: Type, vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    // Block 0 and the messages of one look, or half of the card's multiprocessors.
    let half = if ty == Type::F64 { m / 2 } else { (m / 2).saturating_sub(1) / 32 * 32 + 1 };
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

/// One launch; none where block and factor are asked for and there is no instance of the two.
pub fn single_pass(ask: &Ask) -> Plan {
    let vectors = ask.n.div_ceil(16 / ask.ty.bytes());
    let wish = ask.wish;
    let mut shape = shape(ask.ty, vectors, ask.multiprocessors, wish.overlap);
    if wish.block.is_some() || wish.factor.is_some() || wish.grid.is_some_and(|grid| grid != shape.grid) {
        // Any of these takes any number of blocks.
        let loads = |block: u32, unroll: u32| (block * unroll).abs_diff(shape.block * shape.unroll);
        let kept = |&&(share, block, unroll): &&(Share, u32, u32)| {
            share == Share::ManyTiles
                && wish.block.is_none_or(|asked| asked == block)
                && wish.factor.is_none_or(|asked| asked == unroll)
        };
        let nearest = INSTANCES.iter().filter(kept).min_by_key(|(_, block, unroll)| loads(*block, *unroll));
        let Some(&(_, block, unroll)) = nearest else { return Plan::default() };
        let most = tiles(vectors, block, unroll).clamp(1, BLOCKS_MAX);
        shape = many_tiles(block, unroll, wish.grid.unwrap_or(shape.grid.min(most)), shape.ahead.min(unroll));
    }
    shape.grid = shape.grid.clamp(1, BLOCKS_MAX);
    launch(ask, shape)
}

/// Blocks that the packed word can count.
const BLOCKS_MAX: u32 = 65_535;

/// 64-bit words of a float's message, and of the integers' packed word.
const SLOT_WORDS: u64 = 4;

/// The launch of one shape.
pub fn launch(ask: &Ask, shape: Shape) -> Plan {
    let Shape { share, block, unroll, grid, spread, ahead } = shape;
    let per_vector = 16 / ask.ty.bytes();
    let tiles = ask.n.div_ceil(per_vector).div_ceil(u64::from(grid) * u64::from(block * unroll));
    // A vector's own additions, those of a tile in pairs, the tiles, an odd element; the block; messages; the block again.
    let of_thread = u64::from(per_vector.ilog2() + unroll.ilog2()) + tiles + 1;
    let of_block = u64::from(per_vector.ilog2()) + 10;
    let messages = u64::from(grid.div_ceil(32)) + 1;
    let depth = of_thread + of_block + messages + of_block;
    let args = vec![
        Slot::Input,
        Slot::Sums(0),
        Slot::Elements64,
        Slot::State,
        Slot::Number(spread.into()),
        Slot::Number(ahead),
    ];
    let overlap = if ask.wish.overlap { "overlap_" } else { "" };
    let share = match share {
        Share::OneBlock => "block",
        Share::OneTile => "tile",
        Share::ManyTiles => "tiles",
    };
    let kernel = ask.entry("single_pass", &format!("{overlap}{share}_t{block}u{unroll}"));
    // Integers do not: their last block finds the others' sum in the word.
    let waits = ask.ty != Type::I32 && grid > 1;
    let pass = Pass { overlaps: ask.wish.overlap, waits, ..Pass::new(kernel, grid, block, ask.n, depth, args) };
    Plan { passes: vec![pass], sums: vec![1], state_words: SLOT_WORDS * u64::from(grid) }
}
