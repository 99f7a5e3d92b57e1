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

/// How `single_pass` is launched for an input of some size.
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
    /// Of its first loads, how many a thread asks for before it waits for the launch
    /// before.
    pub ahead: u32,
}

/// The shape for `vectors` vectors of 16 bytes on a card with `m` multiprocessors, found by measuring on an H200
/// (`examples/tune.rs`).
///
/// Small inputs take one block, because a message between blocks costs as much as reading some 32 KiB more. Then a block
/// has one tile, so that many multiprocessors start to read at once, and tiles grow before the messages get too many.
/// Large inputs take as many blocks as fill the card with eight loads a thread, and each takes many tiles.
fn shape(ty: Type, vectors: u64, m: u32) -> Shape {
    let tiles = |block: u32, unroll: u32| vectors.div_ceil(u64::from(block * unroll)) as u32;
    let one = |block, unroll| Shape { block, unroll, grid: 1, spread: true, ahead: unroll };
    let many = |block, unroll, grid, spread| Shape { block, unroll, grid, spread, ahead: unroll };
    // Every lane that receives has as many messages as the others, and a few multiprocessors are left: the next launch's
    // blocks find room while block 0 still receives.
    let even = |blocks: u32| blocks.saturating_sub(1) / 32 * 32 + 1;
    let (half, all) = (even(m / 2), even(m));
    let is_integer = ty == Type::I32;
    match vectors {
        0..=512 => one(256, 2),
        513..=1024 => one(512, 2),
        1025..=2048 => one(1024, 2),
        // Integers meet by one atomic, which is quicker than the messages of floats: more blocks, sooner.
        _ if is_integer && tiles(256, 1) <= m => many(256, 2, tiles(256, 2).max(16), true),
        _ if is_integer && tiles(256, 2) <= m => many(256, 2, m.min(3 * tiles(256, 2) / 2), true),
        _ if is_integer && tiles(512, 2) <= m => many(512, 2, tiles(512, 2), false),
        _ if is_integer && tiles(256, 2) <= 4 * m => many(256, 2, tiles(256, 2), false),
        _ if is_integer && tiles(256, 2) <= 8 * m => Shape { ahead: 1, ..many(256, 2, 4 * m, true) },
        _ if is_integer && tiles(512, 2) <= 8 * m => Shape { ahead: 4, ..many(512, 8, m, false) },
        _ if is_integer && vectors <= 1 << 21 => Shape { ahead: 2, ..many(1024, 4, m, false) },
        _ if is_integer && vectors <= 1 << 23 => Shape { ahead: 1, ..many(1024, 4, 2 * m, vectors > 1 << 22) },
        2049..=4096 => one(512, 8),
        _ if tiles(1024, 8) == 1 => one(1024, 8),
        _ if tiles(256, 2) <= m / 4 => many(256, 2, 3 * tiles(256, 2) / 2, true),
        _ if tiles(512, 2) <= m / 4 => many(512, 2, 3 * tiles(512, 2) / 2, true),
        _ if tiles(512, 2) <= half => many(512, 2, half, true),
        _ if tiles(1024, 2) <= half => many(1024, 2, half, false),
        _ if tiles(1024, 8) <= m / 4 => many(1024, 8, 3 * tiles(1024, 8) / 2, false),
        _ if tiles(1024, 8) <= half => Shape { ahead: 4, ..many(1024, 8, tiles(1024, 8), false) },
        _ if vectors <= 1 << 21 => Shape { ahead: 4, ..many(1024, 8, half, false) },
        _ if vectors < 1 << 23 => Shape { ahead: 2, ..many(1024, 8, all, false) },
        _ if vectors < 1 << 25 => Shape { ahead: 0, ..many(512, 8, 4 * m, false) },
        _ => Shape { ahead: 0, ..many(1024, 8, 2 * m, false) },
    }
}

/// One launch, which may begin while the one before it ends; none where both block and factor are asked for and there is
/// no instance of the two.
pub fn single_pass(ask: &Ask) -> Plan {
    let per_vector = 16 / ask.ty.bytes();
    let mut shape = shape(ask.ty, ask.n.div_ceil(per_vector), ask.multiprocessors);
    shape.block = ask.wish.block.unwrap_or(shape.block);
    shape.unroll = ask.wish.factor.unwrap_or(shape.unroll);
    if !INSTANCES.contains(&(shape.block, shape.unroll)) {
        // The nearest that there is, by the loads of a block.
        let loads = |(block, unroll): (u32, u32)| (block * unroll).abs_diff(shape.block * shape.unroll);
        let kept = |&(block, unroll): &(u32, u32)| {
            ask.wish.block.is_none_or(|b| b == block) && ask.wish.factor.is_none_or(|u| u == unroll)
        };
        let nearest = INSTANCES.into_iter().filter(kept).min_by_key(|&instance| loads(instance));
        let Some(nearest) = nearest else { return Plan::default() };
        (shape.block, shape.unroll) = nearest;
    }
    shape.grid = ask.wish.grid.unwrap_or(shape.grid).clamp(1, BLOCKS_MAX);
    shape.ahead = shape.ahead.min(shape.unroll);
    launch(ask, shape)
}

/// Blocks that the packed word can count.
const BLOCKS_MAX: u32 = 65_535;

/// Threads a block and loads on their way, as the kernels are compiled.
pub const INSTANCES: [(u32, u32); 6] = [(256, 2), (512, 2), (512, 8), (1024, 2), (1024, 4), (1024, 8)];

/// The launch of one shape.
pub fn launch(ask: &Ask, shape: Shape) -> Plan {
    let Shape { block, unroll, grid, spread, ahead } = shape;
    let per_vector = 16 / ask.ty.bytes();
    let tiles = ask.n.div_ceil(per_vector).div_ceil(u64::from(grid) * u64::from(block * unroll));
    // A vector's own additions, the thread's, the one of an odd element, then warp and block, messages, warp and block, both.
    let of_thread = tiles * u64::from(unroll) + per_vector.ilog2() as u64 + 1;
    let messages = u64::from(grid.div_ceil(32)) + 1;
    let depth = of_thread + 10 + messages + 11;
    let args =
        vec![Slot::Input, Slot::Sums(0), Slot::Elements, Slot::State, Slot::Number(spread.into()), Slot::Number(ahead)];
    let kernel = ask.entry("single_pass", &format!("t{block}u{unroll}"));
    // Integers do not: their last block finds the others' sum in the word.
    let waits = ask.ty != Type::I32 && grid > 1;
    let pass = Pass { overlaps: ask.wish.overlap, waits, ..Pass::new(kernel, grid, block, ask.n, depth, args) };
    Plan { passes: vec![pass], sums: vec![1], state_words: 2 * u64::from(grid) + 2 }
}
