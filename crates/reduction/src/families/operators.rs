//! One array by any operator, chapter 9's `reduce`: shapes for inputs of some size, found by measuring, and the launch.

use super::champion::{Shape, floats, in_one_block, many_tiles, spread, tiles};
use crate::element::Type;
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem, Protocol};

/// The kernels' file.
pub(crate) const LESSON: &str = "ch09-operators";

/// Threads a block, and loads on their way, of the shape that is committed: it takes any input.
pub const COMMITTED: (u32, u32) = (256, 4);

/// The shape for this problem.
///
/// Small inputs take one block, because a message between blocks costs as much as reading some 64 KiB. Then each block has one
/// tile, and tiles grow before the messages get too many. Large inputs take as many blocks as fill the card.
pub fn shape_for(problem: &Problem<'_>) -> Shape {
    let vectors = problem.n.div_ceil(16 / problem.ty.bytes());
    let m = problem.card.multiprocessors;
    if !problem.on_demand || problem.asked.grid.is_some() {
        let (block, unroll) = COMMITTED;
        let grid = match tiles(vectors, block, unroll) {
            0..=1 => 1,
            tiles if tiles <= m => m.min(vectors.div_ceil(u64::from(block)) as u32),
            tiles => tiles.min(4 * m),
        };
        let grid = problem.asked.grid.map_or(grid, |asked| asked.min(BLOCKS_MAX as u32)).max(1);
        return Shape { spread: tiles(vectors, block, unroll) <= m, ..many_tiles(block, unroll, grid, 0) };
    }
    tuned(problem, is_heavy(problem.op))
}

/// The shape of kernels that are compiled on demand.
pub(crate) fn tuned(problem: &Problem<'_>, is_heavy: bool) -> Shape {
    let vectors = problem.n.div_ceil(16 / problem.ty.bytes());
    let m = problem.card.multiprocessors;
    // Values of a word or two meet as chapter 8's floats do.
    let by_tiles = || if is_heavy { heavy(vectors, m) } else { floats(Type::F32, vectors, m) };
    in_one_block(vectors).unwrap_or_else(by_tiles)
}

/// Operators whose values take more than a few instructions to combine, or two words and more.
fn is_heavy(op: Op) -> bool {
    matches!(op, Op::Meanvar | Op::Minmax | Op::Dot)
}

fn heavy(vectors: u64, m: u32) -> Shape {
    let count = |block, unroll| tiles(vectors, block, unroll);
    match vectors {
        _ if count(128, 2) <= m => spread(vectors, (128, 2), count(128, 2).max(48)),
        _ if count(128, 4) <= 2 * m => spread(vectors, (128, 4), count(128, 4)),
        _ if count(256, 4) <= 4 * m => spread(vectors, (256, 4), count(256, 4)),
        _ => many_tiles(256, 4, 4 * m, 0),
    }
}

/// The most blocks of 256 that a reader's grid may have: far more than any card holds at once, and few enough that a stride over
/// all of them and an index before it come to less than 2^32, which is how the kernels count.
pub const BLOCKS_MAX: u64 = 1 << 18;

/// Operations that have kernels here, in the order of the page.
pub const OPS: &[Op] = &[
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
    Op::L2Norm,
    Op::Dot,
    Op::Count,
    Op::Any,
    Op::All,
    Op::Argmin,
    Op::Argmax,
    Op::Nanargmin,
    Op::Nanargmax,
    Op::Minmax,
    Op::Meanvar,
];

/// Returns whether an operator is compiled for this type; most are for all types that they take.
pub fn is_compiled(op: Op, ty: Type) -> bool {
    use Type::{BF16, F32, F64, I8, I32, I64, U8};
    match op {
        Op::Count => matches!(ty, I8 | I32 | BF16 | F32),
        Op::Any | Op::All => matches!(ty, U8 | I32 | BF16 | F32),
        Op::Argmin | Op::Argmax => matches!(ty, I32 | I64 | BF16 | F32 | F64),
        Op::Nanargmin | Op::Nanargmax => matches!(ty, F32 | F64),
        Op::Minmax => matches!(ty, I32 | BF16 | F32 | F64),
        _ => true,
    }
}

/// Arguments for the macros of the kernels' file: the operator, and the names of it and of the type in kernels' names.
pub fn instance(problem: &Problem<'_>) -> String {
    let operator = match problem.op {
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
        Op::L2Norm => "L2Norm",
        Op::Dot => "Dot",
        Op::Count => "Count",
        Op::Any => "Any",
        Op::All => "All",
        Op::Argmin => "ArgMin",
        Op::Argmax => "ArgMax",
        Op::Nanargmin => "NanArgMin",
        Op::Nanargmax => "NanArgMax",
        Op::Minmax => "MinMax",
        Op::Meanvar => "MeanVariance",
        // Exponentials are chapter 11's, which this one's variants do not have.
        _ => "None",
    };
    let name = if problem.op == Op::Sum { String::new() } else { format!("_{}", problem.op) };
    format!("{operator}<{}>, {name}, {}", problem.ty.cuda(), problem.ty)
}

/// Combinations on the longest path from a thread to the result: through its block, and through messages to the first.
pub(super) fn meeting_additions(grid: u64, block: u64) -> u64 {
    let receivers = (grid - 1).div_ceil(64).clamp(1, block / 32) * 32;
    (grid - 1).div_ceil(receivers) + 2 * block_additions(block) + 1
}

/// Combinations on the longest path through a block: a column of each warp's, then a warp.
pub fn block_additions(block: u64) -> u64 {
    block / 32 - 1 + 5
}

/// `reduce_argmax_tiles_t256u4_f32<<<grid, block>>>(in, other, out, n, state, spread)`, for instance.
pub fn reduce(problem: &Problem<'_>) -> Plan {
    plan_for(problem, shape_for(problem))
}

/// One launch in this shape.
pub fn plan_for(problem: &Problem<'_>, shape: Shape) -> Plan {
    let Shape { share, block, unroll, grid, spread, .. } = shape;
    let (n, ty, op) = (problem.n, problem.ty, problem.op);
    let (name, of_file) = share.names();
    let kernel = problem.entry("reduce", &format!("{name}_t{block}u{unroll}"));
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
    let mut pass = Pass::new(kernel, grid, block, args);
    pass.line = Some(line);
    pass.elements = n;
    // A product rounds before it is added, and a root at the end.
    let others = u64::from(matches!(op, Op::Sumsq | Op::Dot)) + 2 * u64::from(op == Op::L2Norm);
    pass.additions = of_thread + meeting_additions(grid, block) + others;
    if op == Op::Prod {
        // Every multiplication leaves its share in a product, and not only those on one path.
        pass.additions = n;
    }
    pass.waits = grid > 1;
    let (state_words, protocol) = messages(shape.grid, op.value_bytes(ty));
    Plan { passes: vec![pass], sums: vec![ty.holding(op.result_bytes(ty))], state_words, protocol, ..Plan::default() }
}

/// Words of state for the messages of so many blocks, and what they mean.
pub(crate) fn messages(grid: u32, value_bytes: u64) -> (u64, Protocol) {
    let words = value_bytes / 4;
    (u64::from(grid) * words.next_multiple_of(4), Protocol::Messages(words as u8))
}
