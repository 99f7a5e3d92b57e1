//! Chapter 11, softmax: results as large as the input, from two numbers of each row, its maximum and a sum of exponentials.

mod mistakes;
mod shapes;

use lab::team::{Kernels, Roundings, matrix, stream};
use lab::{Arg, BlockRule, Chapter, Matrix, Op, Per, Plan, Problem, Type, Variant};

use crate::shapes::{held_shape, shape_for};
pub use lab::team::Shape;

/// The form that anyone would write first.
const THREE_PASSES: Variant = Variant {
    name: "three_passes",
    idea: "a block a row: once for the maximum, once for the sum of the exponentials, once for the results",
    limit: "a row comes from memory up to three times",
    types: &[Type::BF16, Type::F32],
    ops: &[Op::Softmax, Op::LogSoftmax, Op::Logsumexp, Op::CrossEntropy, Op::CrossEntropyBackward],
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 4096,
    per: Per::Row,
    launches: three_passes,
    chooses_grid: true,
    n_max: 1 << 40,
    ..Variant::BASE
};

/// Operations of the other variants: three passes are for operations that need a maximum first.
const ALL: &[Op] = &[
    Op::Softmax,
    Op::LogSoftmax,
    Op::Logsumexp,
    Op::CrossEntropy,
    Op::SoftmaxBackward,
    Op::LogSoftmaxBackward,
    Op::CrossEntropyBackward,
];

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch11-softmax",
    title: "Softmax",
    variants: &[
        THREE_PASSES,
        Variant {
            name: "two_passes",
            idea: "maximum and sum are one value, a pair that merges: one pass finds both, the second writes",
            limit: "a row still comes twice, and where many rows are under way the second time from memory",
            ops: ALL,
            launches: two_passes,
            ..THREE_PASSES
        },
        Variant {
            name: "held",
            idea: "the threads of a block hold their row in registers: it is read once",
            limit: "a short row leaves most of the block idle, and a long one does not fit: it is read twice",
            ops: ALL,
            launches: held,
            ..THREE_PASSES
        },
        Variant {
            name: "softmax",
            idea: "one plan chooses who holds a row: a few lanes, a block, a cluster of blocks; longer rows are shared out and read twice",
            limit: "bandwidth; without a row of results the exponentials",
            ops: ALL,
            launches: softmax,
            ..THREE_PASSES
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// Elements of the array that holds the results: a matrix that lies as the input does, or a number of 32 bits a row.
fn results(problem: &Problem) -> u64 {
    let matrix = matrix(problem);
    if problem.options.op.is_per_element() {
        matrix.span().unwrap_or(u64::MAX)
    } else {
        problem.ty.holding(4 * matrix.rows)
    }
}

/// The operation and the type as the macros of the kernels' file have them.
fn instance(problem: &Problem) -> String {
    let element = if problem.ty == Type::BF16 { "bf16" } else { "float" };
    let operation = match problem.options.op {
        Op::LogSoftmax => "LogSoftmax",
        Op::Logsumexp => "LogSumExp",
        Op::CrossEntropy => "CrossEntropy",
        Op::SoftmaxBackward => "SoftmaxBackward",
        Op::LogSoftmaxBackward => "LogSoftmaxBackward",
        Op::CrossEntropyBackward => "CrossEntropyBackward",
        _ => "Softmax",
    };
    format!("{operation}<{element}>, {}, {}", problem.options.op, problem.ty)
}

/// Arguments of every kernel here: the matrices, the rows, and labels and gradients where there are any.
fn task(problem: &Problem) -> Vec<Arg> {
    let (op, none) = (problem.options.op, Arg::U64(0));
    let Matrix { rows, cols, pitch } = matrix(problem);
    vec![
        Arg::Input,
        if op.arrays() == 2 { Arg::Other } else { none },
        Arg::Sums(0),
        Arg::U64(rows),
        Arg::U32(cols as u32),
        Arg::U64(pitch),
        if op.has_labels() { Arg::Labels } else { none },
        Arg::U32(problem.options.targets.label_bits()),
        if op.has_gradients() { Arg::Gradients } else { none },
        Arg::U32(u32::from(!problem.options.targets.has_one_gradient())),
    ]
}

/// Roundings of a thread's own elements, so many, in four sums.
fn thread_roundings(elements: u64) -> u64 {
    elements.div_ceil(4) + 3
}

/// Roundings of pairs: each that is merged is rescaled.
const ROUNDINGS: Roundings = Roundings {
    round: thread_roundings,
    held: |elements| thread_roundings(elements + 1),
    lanes: |lanes| lanes.ilog2().into(),
    // Of a warp, rescaled once, then the warps.
    block: |block| 2 * 5 + 2 * u64::from((block / 32).ilog2()),
    cluster: |blocks| 2 * u64::from(blocks.ilog2()),
    merge: 2,
};

/// The kernels of this operation and type. A part leaves a pair.
fn kernels<'p>(problem: &'p Problem<'p>) -> Kernels<'p> {
    Kernels {
        problem,
        instance: instance(problem),
        args: task(problem),
        results: results(problem),
        parts_macro: "PARTS",
        part_bytes: 8,
        roundings: ROUNDINGS,
    }
}

/// `three_passes_softmax_f32<<<rows, 256>>>(…)`
fn three_passes(problem: &Problem) -> Plan {
    let (Matrix { rows, cols, .. }, kernels) = (matrix(problem), kernels(problem));
    let pass = kernels.pass("three_passes", "", kernels.line("THREE", ""), rows, 256);
    kernels.one(pass, cols.div_ceil(256) + (ROUNDINGS.block)(256))
}

/// `two_passes_softmax_t256u2_f32<<<rows, 256>>>(…)`
fn two_passes(problem: &Problem) -> Plan {
    plan_for(problem, stream(problem, 256))
}

/// `block_softmax_t256v2_f32<<<rows, 256>>>(…)`, for rows that a block holds.
fn held(problem: &Problem) -> Plan {
    plan_for(problem, held_shape(problem, matrix(problem)))
}

/// The plan of `shapes.rs`.
fn softmax(problem: &Problem) -> Plan {
    plan_for(problem, shape_for(problem, matrix(problem)))
}

/// The launches of this shape.
pub fn plan_for(problem: &Problem, shape: Shape) -> Plan {
    Plan { why: shapes::why(shape, problem, matrix(problem).cols), ..kernels(problem).plan(shape) }
}
