//! Chapter 8, one launch: the sums of the blocks meet in the launch that made them. The last of five ways is the champion.

mod mistakes;
mod waiting;

use lab::{Arg, BlockRule, Chapter, Factors, Op, Pass, Plan, Problem, Type, Variant};
use reduction::families::champion;

const OPS: &[Op] = &[Op::Sum, Op::Min, Op::Max];

/// Two launches, and the warp's own instruction for integers.
const REDUX: Variant = Variant {
    name: "redux",
    idea: "a warp's 32 integers by one instruction, redux.sync; floats by shuffles, because their order matters",
    limit: "two launches: the second begins when the last block of the first has ended",
    ops: OPS,
    elements_per_block: |_| 4096,
    launches: redux,
    chooses_grid: true,
    ..Variant::BASE
};

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch08-cooperative",
    title: "One launch",
    before: Some(("ch07-coarsening", "vectorised")),
    variants: &[
        REDUX,
        Variant {
            name: "grid_sync",
            idea: "one cooperative launch: all blocks wait for each other, then block 0 reduces what they left",
            limit: "the grid must fit on the card at once, and the barrier is a trip to memory and back for every block",
            launches: grid_sync,
            ..REDUX
        },
        Variant {
            name: "last_block",
            idea: "one plain launch: a ticket tells the last block that all values are there",
            limit: "three trips to memory, one after the other: the value and its fence, the ticket, the values",
            launches: last_block,
            ..REDUX
        },
        Variant {
            name: "cluster",
            idea: "eight blocks of one cluster read each other's shared memory",
            limit: "eight blocks are few for a large array, and clusters do not meet in one launch",
            types: &[Type::I32, Type::F32, Type::F64],
            ops: &[Op::Sum],
            launches: cluster,
            kernels: Some("ch08-cluster"),
            compute_capability: 90,
            cluster: CLUSTER,
            ..REDUX
        },
        Variant {
            name: "single_pass",
            idea: "value and flag in one word, so that no fence is needed; tiles of 16-byte loads, many on their way at once",
            limit: "the launch, one trip to memory for the first data and one for the last message; then bandwidth",
            types: &[Type::I32, Type::F32, Type::F64],
            ops: &[Op::Sum],
            blocks: BlockRule { min: 256, max: 512, default: 256 },
            factors: Some(Factors {
                what: "16-byte loads of a thread on their way at once",
                values: &[2, 8],
                default: 8,
            }),
            launches: |problem| champion::single_pass(problem),
            kernels: Some("ch08-champion"),
            n_max: 1 << 40,
            overlaps: true,
            ..REDUX
        },
    ],
    mistakes: mistakes::MISTAKES,
    notes: Some(waiting::notes),
    ..Chapter::BASE
};

/// Threads that a multiprocessor holds for a kernel of up to 64 registers, on every card since compute capability 8.0: as
/// many blocks as this allows are resident together, but for blocks so small that the card has another limit.
const RESIDENT_THREADS: u64 = 1024;
/// Elements a thread takes before a further block is worth its message.
const ELEMENTS_PER_THREAD: u64 = 8;
/// Blocks of a cluster: the most that every card with clusters has.
const CLUSTER: u32 = 8;

/// Blocks of a grid-stride kernel: as many as are resident together, fewer where the input is small.
fn resident_blocks(problem: &Problem) -> u64 {
    let of_multiprocessor = (RESIDENT_THREADS / problem.block()).min(problem.card.blocks_per_multiprocessor.into());
    let most = u64::from(problem.card.multiprocessors) * of_multiprocessor.max(1);
    let useful = problem.n.div_ceil(problem.block() * ELEMENTS_PER_THREAD);
    problem.asked.grid.map_or(useful.min(most), u64::from).max(1)
}

/// Additions on the longest path through one block of a grid-stride kernel: a thread's own, the warp's, the block's.
fn additions(n: u64, grid: u64, block: u64) -> u64 {
    n.div_ceil(grid * block) + 5 + 5
}

/// `redux<<<grid, block>>>(in, sums, n)`, then one block over the blocks' values.
fn redux(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let grid = if input == Arg::Input { resident_blocks(problem) } else { 1 };
        let pass = Pass::new(problem.kernel(), grid, block, vec![input, sums, Arg::U32(n as u32)]);
        pass.with_additions(additions(n, grid, block))
    })
}

/// `kernel<<<grid, block>>>(in, out, n, partial)`, and `state` where it takes one: blocks leave their values in an array and
/// meet.
fn one_launch(problem: &Problem, state: &[Arg]) -> Plan {
    let (block, grid, n) = (problem.block(), resident_blocks(problem), problem.n);
    let (partial, out) = (Arg::Sums(0), Arg::Sums(1));
    let mut args = vec![Arg::Input, out, Arg::U32(n as u32), partial];
    args.extend(state);
    let pass = Pass::new(problem.kernel(), grid, block, args)
        .with_elements(n)
        .with_additions(additions(n, grid, block) + additions(grid, 1, block));
    Plan::new(vec![pass], vec![grid, 1]).with_state_words(state.len() as u64)
}

/// The launch is cooperative: all blocks are resident, so that they can wait for each other.
fn grid_sync(problem: &Problem) -> Plan {
    let mut plan = one_launch(problem, &[]);
    plan.passes[0].geometry.cooperative = true;
    plan.passes[0].waits = true;
    plan
}

/// The state is a counter of tickets.
fn last_block(problem: &Problem) -> Plan {
    one_launch(problem, &[Arg::State])
}

/// `cluster<<<grid, block>>>(in, sums, n)` in clusters of eight blocks, then one cluster over the clusters' values.
fn cluster(problem: &Problem) -> Plan {
    let (block, of_cluster) = (problem.block(), u64::from(CLUSTER));
    let most = u64::from(problem.card.multiprocessors / CLUSTER).max(1);
    let useful = problem.n.div_ceil(of_cluster * block * ELEMENTS_PER_THREAD);
    let widest = problem.asked.grid.map_or(of_cluster * useful.min(most), u64::from);
    Plan::until_one(problem.n, |input, sums, n| {
        let grid = if input == Arg::Input { widest.max(of_cluster).next_multiple_of(of_cluster) } else { of_cluster };
        let mut pass = Pass::new(problem.kernel(), grid, block, vec![input, sums, Arg::U32(n as u32)]);
        pass.geometry.cluster = CLUSTER;
        pass.with_additions(additions(n, grid, block) + 5)
    })
}
