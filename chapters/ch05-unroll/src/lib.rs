//! Chapter 5, unroll the last warp: three ways to sum the last 64 values of a block, one of them wrong since Volta.

use lab::{Arg, BlockRule, Chapter, Pass, Plan, Problem, Variant};

/// `kernel<<<grid, block>>>(in, sums, n)` with two elements a thread, and again over the blocks' sums until one is left.
fn launches(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let (grid, args) = (n.div_ceil(2 * block), vec![input, sums, Arg::U32(n as u32)]);
        // A thread adds its two, then a tree adds over the block's threads.
        Pass::new(problem.kernel(), grid, block, args).with_additions(1 + u64::from(block.ilog2()))
    })
}

/// Common parts of the three.
const UNROLLED: Variant = Variant {
    // The last warp starts from 64 sums, so a block has at least 64 threads.
    blocks: BlockRule { min: 64, max: 1024, default: 256 },
    elements_per_block: |block| 2 * u64::from(block),
    launches,
    ..Variant::BASE
};

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch05-unroll",
    title: "Unroll the last warp",
    before: Some(("ch04-first-add", "first_add")),
    variants: &[
        Variant {
            name: "unroll_volatile",
            idea: "the last six rounds without barriers, every access real because the array is volatile",
            limit: "orders nothing between lanes: undefined since Volta, where the lanes of a warp may run apart",
            announced: Some(lab::Code::SharedRace),
            ..UNROLLED
        },
        Variant {
            name: "unroll_syncwarp",
            idea: "the same six rounds, each read and each write ordered by __syncwarp()",
            limit: "every round still goes through shared memory twice",
            ..UNROLLED
        },
        Variant {
            name: "unroll_shuffle",
            idea: "the last five rounds from register to register, without memory",
            limit: "the rounds above 64 values still pay a loop, a branch and a barrier each",
            ..UNROLLED
        },
    ],
    ..Chapter::BASE
};
