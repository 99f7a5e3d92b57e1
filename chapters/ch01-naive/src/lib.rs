//! Chapter 1, the naive sums: a tree over threads that are spread thinly over the warps.

use lab::{BlockRule, Chapter, Type, Variant};

const TYPES: &[Type] = &[Type::I32, Type::F32];

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch01-naive",
    title: "The naive sums",
    before: None,
    variants: &[
        Variant {
            name: "interleaved_modulo",
            idea: "one element a thread in shared memory; in round s every thread that is a multiple of 2s adds its neighbour",
            limit: "the threads with work are spread over all warps, and % is a long division",
            types: TYPES,
            announced: None,
            blocks: BlockRule { min: 32, max: 1024, default: 256 },
            elements_per_block: |block| u64::from(block),
            depth: |block| u64::from(block.ilog2()),
            in_place: false,
        },
        Variant {
            name: "simple_global",
            idea: "two elements a thread, summed in place in global memory",
            limit: "every round reads and writes global memory, with the same thin spread of work",
            types: TYPES,
            announced: None,
            blocks: BlockRule { min: 32, max: 1024, default: 128 },
            elements_per_block: |block| 2 * u64::from(block),
            depth: |block| 1 + u64::from(block.ilog2()),
            in_place: true,
        },
    ],
};
