//! Chapter 9, operators: a reduction of anything by anything, in three forms. The last of them is put forward.

mod mistakes;
mod shapes;

use lab::{Arg, BlockRule, Chapter, Op, Pass, Plan, Problem, Type, Variant};

pub use crate::shapes::{Shape, Share};

/// All of them, in the order of the page.
const OPS: &[Op] = &[
    Op::Sum,
    Op::Min,
    Op::Max,
    Op::Prod,
    Op::Minimum,
    Op::Maximum,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Sumsq,
    Op::Dot,
    Op::Count,
    Op::Argmin,
    Op::Argmax,
    Op::Nanargmin,
    Op::Nanargmax,
    Op::Minmax,
    Op::Meanvar,
];

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
            ops: OPS,
            takes: compiled,
            launches: reduce,
            ..FOLD
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// Returns whether an operator is compiled for this type; most are for all types that they take.
fn compiled(op: Op, ty: Type) -> bool {
    use Type::{BF16, F32, F64, I8, I32, I64};
    match op {
        Op::Count => matches!(ty, I8 | I32 | BF16 | F32),
        Op::Argmin | Op::Argmax => matches!(ty, I32 | I64 | BF16 | F32 | F64),
        Op::Nanargmin | Op::Nanargmax => matches!(ty, F32 | F64),
        Op::Minmax => matches!(ty, I32 | BF16 | F32 | F64),
        _ => true,
    }
}

/// Blocks of the first two forms for each multiprocessor: as many as are resident together.
const RESIDENT: u64 = 4;
/// Elements a thread takes, at least, before there is a second block.
const ELEMENTS_PER_THREAD: u64 = 8;
/// The most blocks of 256 that a reader's grid may have: far more than any card holds at once, and few enough that a stride over
/// all of them and an index before it come to less than 2^32, which is how the kernels count.
pub(crate) const BLOCKS_MAX: u64 = 1 << 18;

/// `fold<<<grid, block>>>(in, values, n)`, then one block over the blocks' values.
fn fold(problem: &Problem) -> Plan {
    two_launches(problem, 1)
}

/// The same in tiles of four vectors.
fn vectors(problem: &Problem) -> Plan {
    two_launches(problem, 16 / problem.ty.bytes())
}

fn two_launches(problem: &Problem, together: u64) -> Plan {
    let (block, n, ty, op) = (problem.block(), problem.n, problem.ty, problem.options.op);
    let most = u64::from(problem.card.multiprocessors) * RESIDENT;
    let useful = n.div_ceil(block * ELEMENTS_PER_THREAD * together);
    let grid = problem.options.grid.map_or(useful.clamp(1, most), |asked| u64::from(asked).min(BLOCKS_MAX));
    let kernel = problem.kernel();
    let join = kernel.replacen(problem.variant.name, "join", 1);
    let (values, out) = (Arg::Sums(0), Arg::Sums(1));
    let number = Arg::U32(n as u32);
    let line = Some(format!("LESSON({})", instance(problem)));
    let first = Pass {
        line: line.clone(),
        elements: n,
        // A thread's own steps, a vector's, those before the first line and after the last vector; the block's.
        additions: n.div_ceil(grid * block * together) + together.ilog2() as u64 + 2 + block_additions(block),
        ..Pass::new(kernel, grid, block, vec![Arg::Input, values, number])
    };
    let second = Pass {
        line,
        elements: grid,
        additions: grid.div_ceil(block) + block_additions(block),
        ..Pass::new(join, 1, block, vec![values, out, Arg::U32(grid as u32), number])
    };
    let sums = vec![grid * ty.holding(op.value_bytes(ty)), ty.holding(op.result_bytes(ty))];
    Plan { passes: vec![first, second], sums, ..Plan::default() }
}

/// Arguments for the macros of the kernels' file: the operator, and the names of it and of the type in kernels' names.
fn instance(problem: &Problem) -> String {
    let element = match problem.ty {
        Type::I8 => "signed char",
        Type::U8 => "unsigned char",
        Type::I16 => "short",
        Type::I32 => "int",
        Type::U32 => "unsigned int",
        Type::I64 => "long long",
        Type::F16 => "f16",
        Type::BF16 => "bf16",
        Type::F32 => "float",
        Type::F64 => "double",
    };
    let operator = match problem.options.op {
        Op::Sum => "Sum",
        Op::Min => "Min",
        Op::Max => "Max",
        Op::Prod => "Product",
        Op::Minimum => "Minimum",
        Op::Maximum => "Maximum",
        Op::And => "And",
        Op::Or => "Or",
        Op::Xor => "Xor",
        Op::Sumsq => "SumOfSquares",
        Op::Dot => "Dot",
        Op::Count => "Count",
        Op::Argmin => "ArgMin",
        Op::Argmax => "ArgMax",
        Op::Nanargmin => "NanArgMin",
        Op::Nanargmax => "NanArgMax",
        Op::Minmax => "MinMax",
        Op::Meanvar => "MeanVariance",
        // Exponentials are chapter 11's, which this one's variants do not have.
        _ => "None",
    };
    let name = if problem.options.op == Op::Sum { String::new() } else { format!("_{}", problem.options.op) };
    format!("{operator}<{element}>, {name}, {}", problem.ty)
}

/// Combinations on the longest path through a block: a column of each warp's, then a warp.
fn block_additions(block: u64) -> u64 {
    block / 32 - 1 + 5
}

/// `reduce_argmax_tiles_t256u4_f32<<<grid, block>>>(in, other, out, n, state, spread)`, for instance.
fn reduce(problem: &Problem) -> Plan {
    plan_for(problem, shapes::shape_for(problem))
}

/// One launch in this shape.
pub fn plan_for(problem: &Problem, shape: Shape) -> Plan {
    let Shape { share, block, unroll, grid, spread } = shape;
    let (n, ty, op) = (problem.n, problem.ty, problem.options.op);
    let (name, of_file) = share.names();
    let kernel = problem.instance(&format!("{name}_t{block}u{unroll}"));
    let line = format!("REDUCE({}, {of_file}, {name}, {block}, {unroll})", instance(problem));
    let args = vec![
        Arg::Input,
        if op == Op::Dot { Arg::Other } else { Arg::U64(0) },
        Arg::Sums(0),
        Arg::U32(n as u32),
        Arg::State,
        Arg::U32(spread.into()),
    ];
    let (grid, block) = (u64::from(grid), u64::from(block));
    let per_vector = 16 / ty.bytes();
    // A thread's vectors one after the other, the elements of one of them, what is before the first line; and where two inputs
    // begin at different places, elements one after the other.
    let of_thread = match op {
        Op::Dot => n.div_ceil(grid * block) + per_vector + 2,
        _ => n.div_ceil(per_vector).div_ceil(grid * block) + u64::from(per_vector.ilog2()) + 3,
    };
    let receivers = (grid - 1).div_ceil(64).clamp(1, block / 32) * 32;
    let of_messages = (grid - 1).div_ceil(receivers) + block_additions(block) + 1;
    let mut pass = Pass::new(kernel, grid, block, args);
    pass.line = Some(line);
    pass.elements = n;
    // A product rounds before it is added.
    pass.additions = of_thread + block_additions(block) + of_messages + u64::from(matches!(op, Op::Sumsq | Op::Dot));
    if op == Op::Prod {
        // Every multiplication leaves its share in a product, and not only those on one path.
        pass.additions = n;
    }
    pass.waits = grid > 1;
    let state_words = grid * (op.value_bytes(ty) / 4).next_multiple_of(4);
    Plan { passes: vec![pass], sums: vec![ty.holding(op.result_bytes(ty))], state_words, ..Plan::default() }
}
