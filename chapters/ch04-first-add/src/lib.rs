//! Chapter 4, first add during load: every thread adds two elements on the way in, and half as many blocks do the work.

use lab::{
    Arg, BlockRule, Chapter, Job, LaunchOptions, Mistake, Note, Pass, Plan, Problem, Simulator, Type, Variant,
    addition, input,
};

/// Two loads, each with its own test, then the tree of chapter 3.
const FIRST_ADD: Variant = Variant {
    name: "first_add",
    idea: "every thread adds two elements on the way in, so that a block sums twice as many",
    limit: "the tree behind the load is as long as before: loop, tests, addresses and a barrier in every round",
    blocks: BlockRule { min: 32, max: 1024, default: 256 },
    elements_per_block: |block| 2 * u64::from(block),
    launches,
    ..Variant::BASE
};

/// The textbook's form of it.
const SHARED_MEM: Variant = Variant {
    name: "shared_mem",
    idea: "the same with the barrier at the start of each round, where it orders the load as well",
    limit: "the same tree as in first_add, with one barrier fewer",
    ..FIRST_ADD
};

/// Elements that leave the last 100 threads of a block without a second one. A mistake is shown over as many elements as
/// its block takes, and these show only in a block that is not full.
const fn hundred_short(block: u32) -> u64 {
    2 * block as u64 - 100
}

/// `kernel<<<grid, block>>>(in, sums, n)` with two elements a thread, and again over the blocks' sums until one is left.
fn launches(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let (grid, args) = (n.div_ceil(2 * block), vec![input, sums, Arg::U32(n as u32)]);
        // A thread adds its two, then a tree adds over the block's threads.
        Pass { additions: 1 + u64::from(block.ilog2()), ..Pass::new(problem.kernel(), grid, block, args) }
    })
}

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch04-first-add",
    title: "First add during load",
    before: Some(("ch03-sequential", "sequential")),
    variants: &[FIRST_ADD, SHARED_MEM],
    mistakes: &[
        Mistake {
            variant: Variant {
                name: "unguarded_loads",
                types: &[Type::I32],
                announced: Some(lab::Code::OutOfBounds),
                elements_per_block: |_| 1,
                ..FIRST_ADD
            },
            mistake: "neither load is tested, and a block that is not full reads past the end of the input",
        },
        Mistake {
            variant: Variant {
                name: "one_guard",
                types: &[Type::I32],
                announced: Some(lab::Code::OutOfBounds),
                elements_per_block: hundred_short,
                ..FIRST_ADD
            },
            mistake: "the test of the first load is taken for both, and the second reads past the end of the input",
        },
        Mistake {
            variant: Variant {
                name: "both_or_neither",
                types: &[Type::I32],
                elements_per_block: hundred_short,
                ..FIRST_ADD
            },
            mistake: "the test of the second load is taken for both, and elements without a partner are not summed",
        },
    ],
    notes: Some(second_element),
    ..Chapter::BASE
};

/// Cost of the second element of a thread: a block over one element a thread, which is the same kernel with its second
/// test never true, against the same block over two.
fn second_element(session: &dyn Simulator) -> lab::Result<Vec<Note>> {
    let block = FIRST_ADD.blocks.default;
    let (one, two) = (u64::from(block), (FIRST_ADD.elements_per_block)(block));
    let (Some(less), Some(more)) = (instructions(session, one)?, instructions(session, two)?) else {
        return Ok(Vec::new());
    };
    let per_element = |instructions: u64, n: u64| format!("{:.2}", instructions as f64 / n as f64);
    let (before, after) = (per_element(less, one), per_element(more, two));
    let text = format!(
        "first_add, one block of {block} threads: {one} elements take {less} warp-instructions and {two} take {more}, \
         which is {before} and {after} an element.",
    );
    let fact = |name: &str, value: String| (format!("first_add-i32-{name}"), value);
    let mut facts = vec![
        fact("one_a_thread-inst_executed", less.to_string()),
        fact("one_a_thread-inst_per_element", before),
        fact("two_a_thread-inst_per_element", after),
    ];
    if let Some(tree) = addition::one_block(session, &FIRST_ADD, Type::I32, "sums[tid] += sums[tid + s];")? {
        facts.extend(tree.facts("first_add-i32-one_block-tree"));
    }
    Ok(vec![Note { variant: FIRST_ADD.name, text, facts }])
}

/// Warp-instructions of `first_add` over `n` numbers, with as many blocks as that takes.
fn instructions(session: &dyn Simulator, n: u64) -> lab::Result<Option<u64>> {
    let numbers = input::random(Type::I32, n as usize, input::SEED);
    let job =
        Job { variant: &FIRST_ADD, options: LaunchOptions::default(), input: &numbers, reference: None, offset: 0 };
    Ok(session.run(job)?.counters.map(|counters| counters.inst_executed))
}
