//! Chapter 2, divergence: the additions of chapter 1 by neighbouring threads, and what that does to the banks.

use lab::{Arg, BlockRule, Chapter, Mistake, Note, Pass, Plan, Problem, Simulator, Type, Variant};

/// The threads of chapter 1, found without a division.
const BITMASK: Variant = Variant {
    name: "bitmask",
    idea: "tid & (2s - 1) in place of tid % (2s): no division",
    limit: "the threads with work are the same ones, spread over all warps",
    harm: Some("keeps the divergence: the same lanes of the same warps work as with %"),
    blocks: BlockRule { min: 32, max: 1024, default: 256 },
    elements_per_block: |block| u64::from(block),
    launches: one_a_thread,
    ..Variant::BASE
};

/// Neighbouring threads, words that are 2s apart.
const STRIDED_INDEX: Variant = Variant {
    name: "strided_index",
    idea: "thread tid makes the addition at 2 * s * tid, so that the threads with work stand side by side",
    limit: "the words of neighbouring lanes are 2s apart, and share fewer and fewer banks",
    harm: None,
    ..BITMASK
};

/// Neighbouring threads, neighbouring words, in place.
const CONVERGENT_GLOBAL: Variant = Variant {
    name: "convergent_global",
    idea: "two elements a thread in global memory, the far half added to the near half",
    limit: "every round still goes out to global memory",
    harm: None,
    blocks: BlockRule { min: 32, max: 1024, default: 128 },
    elements_per_block: |block| 2 * u64::from(block),
    launches: two_a_thread,
    in_place: true,
    ..BITMASK
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
    slug: "ch02-divergence",
    title: "Divergence",
    before: Some(("ch01-naive", "interleaved_modulo")),
    variants: &[BITMASK, STRIDED_INDEX, CONVERGENT_GLOBAL],
    mistakes: &[
        Mistake {
            variant: Variant {
                name: "mask_without_minus_one",
                types: &[Type::I32],
                announced: Some(lab::Code::SharedRace),
                harm: None,
                ..BITMASK
            },
            mistake: "the mask tests one bit of the index instead of all lower ones",
        },
        Mistake {
            variant: Variant {
                name: "one_full_block_only",
                types: &[Type::I32],
                announced: Some(lab::Code::OutOfBounds),
                // 200 of the 256 numbers that a block of 128 threads takes: a full block hides the missing guard.
                elements_per_block: |_| 200,
                ..CONVERGENT_GLOBAL
            },
            mistake: "no guard for n, and no start of the block's own slice",
        },
    ],
    notes: Some(additions),
    ..Chapter::BASE
};

/// Share of lanes that the additions alone keep busy, for 256 elements in one full block.
fn additions(session: &dyn Simulator) -> lab::Result<Vec<Note>> {
    let mut notes = Vec::new();
    for (variant, line) in [
        (&BITMASK, "sums[tid] += sums[tid + s];"),
        (&STRIDED_INDEX, "sums[index] += sums[index + s];"),
        (&CONVERGENT_GLOBAL, "data[i] += data[i + stride];"),
    ] {
        let Some(of) = lab::addition::one_block(session, variant, Type::I32, line)? else { continue };
        let text = format!(
            "{name}, {n} elements in one block of {block} threads: its {threads} additions take {warps} \
             warp-instructions, so that they keep {share} of the lanes busy.",
            name = variant.name,
            n = of.n,
            block = of.block,
            threads = of.thread_additions,
            warps = of.warp_additions,
            share = of.lane_efficiency(),
        );
        let facts = of.facts(&format!("{}-i32-one_block", variant.name));
        notes.push(Note { variant: variant.name, text, facts });
    }
    Ok(notes)
}
