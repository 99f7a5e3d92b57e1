//! Chapter 5, unroll the last warp: three ways to sum the last 64 values of a block, one of them wrong since Volta.

use lab::{BlockRule, Chapter, Type, Variant};

/// Two elements a thread.
fn elements_per_block(block: u32) -> u64 {
    2 * u64::from(block)
}

/// One addition on the way in, then a tree over the block's threads.
fn depth(block: u32) -> u64 {
    1 + u64::from(block.ilog2())
}

const TYPES: &[Type] = &[Type::I32, Type::F32];
/// The last warp starts from 64 sums, so a block has at least 64 threads.
const BLOCKS: BlockRule = BlockRule { min: 64, max: 1024, default: 256 };

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
            types: TYPES,
            announced: Some(lab::Code::SharedRace),
            blocks: BLOCKS,
            elements_per_block,
            depth,
            ..Variant::BASE
        },
        Variant {
            name: "unroll_syncwarp",
            idea: "the same six rounds, each read and each write ordered by __syncwarp()",
            limit: "every round still goes through shared memory twice",
            types: TYPES,
            blocks: BLOCKS,
            elements_per_block,
            depth,
            ..Variant::BASE
        },
        Variant {
            name: "unroll_shuffle",
            idea: "the last five rounds from register to register, without memory",
            limit: "the rounds above 64 values still pay a loop, a branch and a barrier each",
            types: TYPES,
            blocks: BLOCKS,
            elements_per_block,
            depth,
            ..Variant::BASE
        },
    ],
    ..Chapter::BASE
};
