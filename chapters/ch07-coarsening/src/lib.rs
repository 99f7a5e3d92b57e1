//! Chapter 7, coarsening: threads that sum many elements before they join a tree, and a grid that is chosen.

use lab::{Ask, BlockRule, Chapter, Code, Factors, Mistake, Type, Variant};

mod plans;
mod sweep;

const TYPES: &[Type] = &[Type::I32, Type::F32, Type::F64];
/// A loop to the end.
const TREE_BLOCKS: BlockRule = BlockRule { min: 32, max: 1024, default: 256 };
/// The last warp starts from 64 sums.
const UNROLLED_BLOCKS: BlockRule = BlockRule { min: 64, max: 1024, default: 256 };

/// PMPP 10.6.
const SEGMENTED_ATOMIC: Variant = Variant {
    name: "segmented_atomic",
    idea: "a segment of two elements a thread for each block, one atomic addition a block onto a cleared sum",
    limit: "as many trees and as many atomics as segments; the order of float additions is not defined",
    types: TYPES,
    blocks: TREE_BLOCKS,
    elements_per_block: |block| 2 * u64::from(block),
    plan: Some(|ask| plans::atomic(ask, ask.entry("segmented_atomic", ""), 2)),
    unordered: true,
    ..Variant::BASE
};

/// PMPP 10.7.
const COARSENED: Variant = Variant {
    name: "coarsened",
    idea: "the same with 2 * COARSE_FACTOR elements a thread, so that a tree and an atomic serve a longer segment",
    limit: "the right factor depends on n: too small leaves many trees, too large leaves multiprocessors without a block",
    elements_per_block: |block| 2 * u64::from(COARSE_FACTORS.default) * u64::from(block),
    factors: Some(COARSE_FACTORS),
    plan: Some(|ask| {
        let factor = factor(ask, COARSE_FACTORS);
        plans::atomic(ask, ask.entry("coarsened", &format!("c{factor}")), 2 * u64::from(factor))
    }),
    ..SEGMENTED_ATOMIC
};
const COARSE_FACTORS: Factors =
    Factors { what: "COARSE_FACTOR, half of the elements of a thread", values: &[1, 2, 4, 8, 16, 32], default: 4 };

/// V7.
const MULTI_ADD: Variant = Variant {
    name: "multi_add",
    idea: "NUM_PER_BLOCK consecutive elements a block, then a launch over the blocks' sums",
    limit: "a number fixed at compile time fits one n: for a smaller one few blocks are left",
    types: TYPES,
    blocks: UNROLLED_BLOCKS,
    elements_per_block: |_| NUMS_PER_BLOCK.default as u64,
    factors: Some(NUMS_PER_BLOCK),
    plan: Some(|ask| {
        let factor = factor(ask, NUMS_PER_BLOCK);
        plans::relaunched(ask, &ask.entry("multi_add", &format!("n{factor}")), u64::from(factor))
    }),
    ..Variant::BASE
};
const NUMS_PER_BLOCK: Factors = Factors {
    what: "NUM_PER_BLOCK, elements of a block",
    values: &[1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16],
    default: 1 << 15,
};

/// Reduce 5, or 7 in other counts.
const GRID_STRIDE: Variant = Variant {
    name: "grid_stride",
    idea: "as many blocks as the card holds, each taking two elements a thread in every step of the whole grid",
    limit: "two tests a step, and the second load waits for the second test",
    types: TYPES,
    blocks: UNROLLED_BLOCKS,
    elements_per_block: |block| 2 * u64::from(block),
    plan: Some(|ask| plans::grid_stride(ask, ask.entry("grid_stride", ""), 1)),
    ..Variant::BASE
};

/// K6.
const GRID_STRIDE_SHUFFLE: Variant = Variant {
    name: "grid_stride_shuffle",
    idea: "one test a step for both loads, and the last warp from register to register",
    limit: "four bytes a load: many loads must be on their way to fill the memory's pipe",
    ops: &[lab::Op::Sum, lab::Op::Min, lab::Op::Max],
    plan: Some(|ask| plans::grid_stride(ask, ask.entry("grid_stride_shuffle", ""), 1)),
    ..GRID_STRIDE
};

/// Like `grid_stride`, with loads of many bytes.
const VECTORISED: Variant = Variant {
    name: "vectorised",
    idea: "16 bytes a load, with the ends that do not fit added one by one",
    limit: "a second launch for the blocks' sums, which nobody may start before the last block has ended",
    // Two packs of four a thread.
    elements_per_block: |block| 8 * u64::from(block),
    factors: Some(BYTES_PER_LOAD),
    plan: Some(|ask| {
        let bytes = factor(ask, BYTES_PER_LOAD);
        plans::grid_stride(ask, ask.entry("vectorised", &format!("v{bytes}")), u64::from(bytes) / ask.ty.bytes())
    }),
    ..GRID_STRIDE
};
const BYTES_PER_LOAD: Factors = Factors { what: "bytes a load", values: &[8, 16], default: 16 };

/// What the reader wishes, else the variant's own.
fn factor(ask: &Ask, factors: Factors) -> u32 {
    ask.wish.factor.unwrap_or(factors.default)
}

/// One block of a wrong kernel.
const MISTAKE: Variant = Variant { types: &[Type::I32], blocks: UNROLLED_BLOCKS, ..Variant::BASE };

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch07-coarsening",
    title: "Coarsening",
    before: Some(("ch06-templates", "template_shuffle")),
    variants: &[SEGMENTED_ATOMIC, COARSENED, MULTI_ADD, GRID_STRIDE, GRID_STRIDE_SHUFFLE, VECTORISED],
    mistakes: &[
        Mistake {
            variant: Variant {
                name: "no_clear",
                announced: Some(Code::UninitialisedRead),
                elements_per_block: |block| 2 * u64::from(block),
                ..MISTAKE
            },
            mistake: "the sum that the atomics add to is never cleared",
        },
        Mistake {
            variant: Variant {
                name: "unguarded_second",
                announced: Some(Code::OutOfBounds),
                elements_per_block: |block| 2 * u64::from(block) - 100,
                ..MISTAKE
            },
            mistake: "the loop's test holds for its first load, and the second reads past the end",
        },
        Mistake {
            variant: Variant { name: "remainder_dropped", elements_per_block: |_| 1000, ..MISTAKE },
            mistake: "a loop of NUM_PER_BLOCK / threads steps leaves out what the division leaves",
        },
        Mistake {
            variant: Variant {
                name: "misaligned_packs",
                announced: Some(Code::Misaligned),
                elements_per_block: |block| 8 * u64::from(block),
                offset: 1,
                ..MISTAKE
            },
            mistake: "16 bytes are loaded from an address that need not be a multiple of 16",
        },
        Mistake {
            variant: Variant { name: "tail_dropped", elements_per_block: |block| 8 * u64::from(block) - 1, ..MISTAKE },
            mistake: "n / 4 packs are summed, and the last n % 4 elements are not",
        },
    ],
    sweep: Some(sweep::SWEEP),
    ..Chapter::BASE
};
