//! Chapter 1, the naive sums: a tree over threads that are spread thinly over the warps.

use lab::{Arg, BlockRule, Chapter, Mistake, Note, Pass, Plan, Problem, Simulator, Type, Variant};

/// One element a thread, in shared memory.
const INTERLEAVED_MODULO: Variant = Variant {
    name: "interleaved_modulo",
    idea: "one element a thread in shared memory; in round s every thread that is a multiple of 2s adds its neighbour",
    limit: "the threads with work are spread over all warps, and % is a long division",
    blocks: BlockRule { min: 32, max: 1024, default: 256 },
    elements_per_block: |block| u64::from(block),
    launches: one_a_thread,
    ..Variant::BASE
};

/// Two elements a thread, in place.
const SIMPLE_GLOBAL: Variant = Variant {
    name: "simple_global",
    idea: "two elements a thread, summed in place in global memory",
    limit: "every round reads and writes global memory, with the same thin spread of work",
    blocks: BlockRule { min: 32, max: 1024, default: 128 },
    elements_per_block: |block| 2 * u64::from(block),
    launches: two_a_thread,
    in_place: true,
    ..Variant::BASE
};

/// `kernel<<<grid, block>>>(in, sums, n)` with an element a thread, and again over the blocks' sums until one is left.
fn one_a_thread(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let (grid, args) = (n.div_ceil(block), vec![input, sums, Arg::U32(n as u32)]);
        // A tree over the block's threads.
        Pass::new(problem.kernel(), grid, block, args).with_additions(block.ilog2().into())
    })
}

/// `kernel<<<grid, block>>>(in, sums, n)` with two elements a thread, and again over the blocks' sums until one is left.
fn two_a_thread(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let (grid, args) = (n.div_ceil(2 * block), vec![input, sums, Arg::U32(n as u32)]);
        // A thread adds its two, then a tree adds over the block's threads.
        Pass::new(problem.kernel(), grid, block, args).with_additions(1 + u64::from(block.ilog2()))
    })
}

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch01-naive",
    title: "The naive sums",
    before: None,
    variants: &[INTERLEAVED_MODULO, SIMPLE_GLOBAL],
    mistakes: &[
        Mistake {
            variant: Variant { name: "stride_too_short", types: &[Type::I32], ..SIMPLE_GLOBAL },
            mistake: "the loop ends one round early, and the two halves of a block never meet",
        },
        Mistake {
            variant: Variant {
                name: "barrier_in_if",
                types: &[Type::I32],
                announced: Some(lab::Code::BarrierDivergence),
                ..INTERLEAVED_MODULO
            },
            mistake: "the barrier is inside the if, where only some threads of the block come by",
        },
    ],
    notes: Some(additions),
    ..Chapter::BASE
};

/// Share of lanes that the additions alone keep busy, for one full block: the textbook figure for simple_global and 256
/// elements (Kirk, Hwu and El Hajj print 35 %; their own kernel has one round more than their sum).
fn additions(session: &dyn Simulator) -> lab::Result<Vec<Note>> {
    let of = |variant: &'static Variant, line: &str| lab::addition::one_block(session, variant, Type::I32, line);
    let mut notes = Vec::new();
    if let Some(simple) = of(&SIMPLE_GLOBAL, "data[i] += data[i + stride];")? {
        let text = format!(
            "simple_global, {n} elements in one block of {block} threads: its {threads} additions take {warps} \
             warp-instructions, so that they keep {share} of the lanes busy; over all its instructions it is {whole}.",
            n = simple.n,
            block = simple.block,
            threads = simple.thread_additions,
            warps = simple.warp_additions,
            share = simple.lane_efficiency(),
            whole = simple.whole_lane_efficiency(),
        );
        notes.push(Note { variant: "simple_global", text, facts: simple.facts("simple_global-i32-one_block") });
    }
    if let Some(modulo) = of(&INTERLEAVED_MODULO, "sums[tid] += sums[tid + s];")? {
        let facts = modulo.facts("interleaved_modulo-i32-one_block");
        notes.push(Note { variant: "interleaved_modulo", text: String::new(), facts });
    }
    Ok(notes)
}
