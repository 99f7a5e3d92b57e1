//! Chapter 3, sequential addressing: halving from the top, so that neighbouring threads add neighbouring words.

use lab::{Arg, BlockRule, Chapter, Mistake, Note, Pass, Plan, Problem, Simulator, Type, Variant};

/// The far half added to the near half, in shared memory.
const SEQUENTIAL: Variant = Variant {
    name: "sequential",
    idea: "the far half is added to the near half, so that neighbouring threads read and write neighbouring words",
    limit: "half of the threads add nothing, from the first round on",
    blocks: BlockRule { min: 32, max: 1024, default: 256 },
    elements_per_block: |block| u64::from(block),
    launches,
    ..Variant::BASE
};

/// `kernel<<<grid, block>>>(in, sums, n)` with an element a thread, and again over the blocks' sums until one is left.
fn launches(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let (grid, args) = (n.div_ceil(block), vec![input, sums, Arg::U32(n as u32)]);
        // A tree over the block's threads.
        Pass::new(problem.kernel(), grid, block, args).with_additions(block.ilog2().into())
    })
}

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch03-sequential",
    title: "Sequential addressing",
    before: Some(("ch02-divergence", "strided_index")),
    variants: &[SEQUENTIAL],
    mistakes: &[
        Mistake {
            variant: Variant {
                name: "step_never_changes",
                types: &[Type::I32],
                announced: Some(lab::Code::StepBudget),
                ..SEQUENTIAL
            },
            mistake: "the step of the loop computes s >> 1 and drops it",
        },
        Mistake {
            variant: Variant {
                name: "barrier_in_if",
                types: &[Type::I32],
                announced: Some(lab::Code::BarrierDivergence),
                ..SEQUENTIAL
            },
            mistake: "the barrier is inside the if, where whole warps of the block never come by",
        },
    ],
    notes: Some(additions),
    ..Chapter::BASE
};

/// Share of lanes that the additions alone keep busy, for 256 elements in one full block.
fn additions(session: &dyn Simulator) -> lab::Result<Vec<Note>> {
    let line = "sums[tid] += sums[tid + s];";
    let Some(of) = lab::addition::one_block(session, &SEQUENTIAL, Type::I32, line)? else { return Ok(Vec::new()) };
    let text = format!(
        "{n} elements in one block of {block} threads: the {threads} additions take {warps} warp-instructions, so that \
         they keep {share} of the lanes busy.",
        n = of.n,
        block = of.block,
        threads = of.thread_additions,
        warps = of.warp_additions,
        share = of.lane_efficiency(),
    );
    let facts = of.facts("sequential-i32-one_block");
    Ok(vec![Note { variant: SEQUENTIAL.name, text, facts }])
}
