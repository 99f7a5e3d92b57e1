//! Chapter 9, operators: a reduction of anything by anything, in three forms. The last of them is put forward.

mod mistakes;

use lab::{Arg, BlockRule, Chapter, Op, Pass, Plan, Problem, Type, Variant};

use reduction::families::operators::{self, BLOCKS_MAX, block_additions, instance};

/// Operators that the first two forms are compiled for: sums of everything, and one operator of each kind.
const LESSON: &[Op] = &[Op::Sum, Op::Max, Op::Argmax, Op::Meanvar];

/// The form that anyone would write.
const FOLD: Variant = Variant {
    name: "fold",
    idea: "an operator that says what it holds, what changes nothing, and how two become one; an element at a time",
    limit: "a load for each element, of as few bytes as it has, and a second launch",
    types: Type::ALL,
    ops: LESSON,
    takes: |op, ty| op == Op::Sum || ty == Type::F32,
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 2048,
    launches: fold,
    chooses_grid: true,
    n_max: u32::MAX as u64,
    ..Variant::BASE
};

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch09-operators",
    title: "Any operator, any type",
    before: Some(("ch08-cooperative", "single_pass")),
    variants: &[
        FOLD,
        Variant {
            name: "vectors",
            idea: "16 bytes a load, however many elements that is; bytes are added four at a time by dp4a",
            limit: "two launches: the second begins when the last block of the first has ended",
            launches: vectors,
            ..FOLD
        },
        Variant {
            name: "reduce",
            idea: "one launch: the blocks' values meet as messages of as many words as a value has",
            limit: "the launch, one trip to memory for the first data and one for the last message; then bandwidth",
            ops: operators::OPS,
            takes: operators::is_compiled,
            launches: |problem| operators::reduce(problem),
            ..FOLD
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// Blocks of the first two forms for each multiprocessor: as many as are resident together.
const RESIDENT: u64 = 4;
/// Elements a thread takes, at least, before there is a second block.
const ELEMENTS_PER_THREAD: u64 = 8;

/// `fold<<<grid, block>>>(in, values, n)`, then one block over the blocks' values.
fn fold(problem: &Problem) -> Plan {
    two_launches(problem, 1)
}

/// The same in tiles of four vectors.
fn vectors(problem: &Problem) -> Plan {
    two_launches(problem, 16 / problem.ty.bytes())
}

fn two_launches(problem: &Problem, together: u64) -> Plan {
    let (block, n, ty, op) = (problem.block(), problem.n, problem.ty, problem.op);
    let most = u64::from(problem.card.multiprocessors) * RESIDENT;
    let useful = n.div_ceil(block * ELEMENTS_PER_THREAD * together);
    let grid = problem.asked.grid.map_or(useful.clamp(1, most), |asked| u64::from(asked).min(BLOCKS_MAX));
    let kernel = problem.kernel();
    let join = problem.entry("join", "");
    let (values, out) = (Arg::Sums(0), Arg::Sums(1));
    let number = Arg::U32(n as u32);
    let line = Some(format!("LESSON({})", instance(problem)));
    let first = Pass::new(kernel, grid, block, vec![Arg::Input, values, number])
        .with_line(line.clone())
        .with_elements(n)
        // A thread's own steps, a vector's, those before the first line and after the last vector; the block's.
        .with_additions(n.div_ceil(grid * block * together) + together.ilog2() as u64 + 2 + block_additions(block));
    let second = Pass::new(join, 1, block, vec![values, out, Arg::U32(grid as u32), number])
        .with_line(line)
        .with_elements(grid)
        .with_additions(grid.div_ceil(block) + block_additions(block));
    let sums = vec![grid * ty.holding(op.value_bytes(ty)), ty.holding(op.result_bytes(ty))];
    Plan::new(vec![first, second], sums)
}
