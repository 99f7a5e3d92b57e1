//! Chapter 8, one launch: the sums of the blocks meet in the launch that made them. The last of five ways is the champion.

mod mistakes;
pub mod plans;
mod waiting;

use lab::{BlockRule, Chapter, Factors, Op, Type, Variant};

const OPS: &[Op] = &[Op::Sum, Op::Min, Op::Max];

/// Two launches, and the warp's own instruction for integers.
const REDUX: Variant = Variant {
    name: "redux",
    idea: "a warp's 32 integers by one instruction, redux.sync; floats by shuffles, because their order matters",
    limit: "two launches: the second begins when the last block of the first has ended",
    ops: OPS,
    elements_per_block: |_| 4096,
    plan: Some(plans::redux),
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
            plan: Some(plans::grid_sync),
            ..REDUX
        },
        Variant {
            name: "last_block",
            idea: "one plain launch: a ticket tells the last block that all values are there",
            limit: "three trips to memory, one after the other: the value and its fence, the ticket, the values",
            plan: Some(plans::last_block),
            ..REDUX
        },
        Variant {
            name: "cluster",
            idea: "eight blocks of one cluster read each other's shared memory",
            limit: "eight blocks are few for a large array, and clusters do not meet in one launch",
            types: &[Type::I32, Type::F32, Type::F64],
            ops: &[Op::Sum],
            plan: Some(plans::cluster),
            kernels: Some("ch08-cluster"),
            compute_capability: 90,
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
            plan: Some(plans::single_pass),
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
