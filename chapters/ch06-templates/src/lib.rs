//! Chapter 6, templates: the block size is known to the compiler, and the operation is a parameter.

use lab::{Arg, BlockRule, Chapter, Mistake, Op, Pass, Plan, Problem, Type, Variant};

pub mod folded;

/// Chapter 5's tree, written out for each block size.
const TEMPLATE_UNROLLED: Variant = Variant {
    name: "template_unrolled",
    idea: "chapter 5's rounds written out for each block size: no loop, and every address a constant from one register",
    limit: "a barrier in every round above the last warp's, and two accesses of shared memory and more for each addition",
    types: &[Type::I32, Type::F32, Type::F64],
    ops: &[Op::Sum, Op::Min, Op::Max],
    per_block: true,
    blocks: BlockRule { min: 32, max: 1024, default: 256 },
    elements_per_block: |block| 2 * u64::from(block),
    launches,
    ..Variant::BASE
};

/// Every warp for itself, then one warp for all.
const TEMPLATE_SHUFFLE: Variant = Variant {
    name: "template_shuffle",
    idea: "each warp reduces its own values by shuffles, then warp 0 those of the warps: one barrier for any block size",
    limit: "two elements a thread: a block lives for one load, and most of its instructions come after it",
    ..TEMPLATE_UNROLLED
};

/// A sum of i32 by one instance.
const MISTAKE: Variant = Variant { types: &[Type::I32], ops: &[Op::Sum], per_block: false, ..TEMPLATE_UNROLLED };

/// `kernel<<<grid, block>>>(in, sums, n)`, the instance for this block, with two elements a thread, and again over the blocks' sums until one is left.
fn launches(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let (grid, args) = (n.div_ceil(2 * block), vec![input, sums, Arg::U32(n as u32)]);
        // A thread adds its two, then a tree adds over the block's threads.
        Pass::new(problem.kernel(), grid, block, args).with_additions(1 + u64::from(block.ilog2()))
    })
}

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch06-templates",
    title: "Templates",
    before: Some(("ch05-unroll", "unroll_shuffle")),
    variants: &[TEMPLATE_UNROLLED, TEMPLATE_SHUFFLE],
    mistakes: &[
        Mistake {
            variant: Variant {
                name: "no_1024_step",
                blocks: BlockRule { min: 512, max: 1024, default: 1024 },
                per_block: true,
                ..MISTAKE
            },
            mistake: "the chain begins with the step for 512 threads, and a block of 1,024 loses half of its values",
        },
        Mistake {
            variant: Variant {
                name: "block_of_32",
                announced: Some(lab::Code::OutOfBounds),
                blocks: BlockRule { min: 32, max: 32, default: 32 },
                ..MISTAKE
            },
            mistake: "all lanes of the last warp read 16 places further on, and a block of 32 has nothing there",
        },
        Mistake {
            variant: Variant { name: "barrier_in_if", announced: Some(lab::Code::BarrierDivergence), ..MISTAKE },
            mistake: "the barrier of each step is inside its if, where the warps that do not add never come by",
        },
        Mistake {
            variant: Variant { name: "max_from_zero", ops: &[Op::Max], elements_per_block: |_| 4, ..MISTAKE },
            mistake: "threads without an element bring a 0, which is the largest value where all elements are negative",
        },
        Mistake {
            variant: Variant {
                name: "macro_max",
                ops: &[Op::Max],
                announced: Some(lab::Code::MaskMismatch),
                ..MISTAKE
            },
            mistake: "the operation is a macro, which pastes a shuffle twice, the second time where not all lanes go",
        },
    ],
    notes: Some(folded::notes),
    sweep: None,
    ..Chapter::BASE
};
