//! Chapter 11, softmax: results as large as the input, from two numbers of each row, its maximum and a sum of exponentials.

mod mistakes;
mod shapes;

use lab::team::{per_vector, stream};
use lab::{Arg, BlockRule, Chapter, Layout, Matrix, Op, Pass, Per, Plan, Problem, Type, Variant};

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

/// Rows of one length: these variants are asked for no others.
fn matrix(problem: &Problem) -> Matrix {
    match problem.layout() {
        Layout::Rows(matrix) | Layout::Columns(matrix) => matrix,
        Layout::Array | Layout::Ragged(_) => Matrix::of(problem.n),
    }
}

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

/// A kernel of this chapter: `block_softmax_t256v8_f32`.
fn kernel(problem: &Problem, name: &str, shape: &str) -> String {
    let shape = if shape.is_empty() { String::new() } else { format!("_{shape}") };
    format!("{name}_{}{shape}_{}", problem.options.op, problem.ty)
}

/// Arguments of every kernel here: the matrices, the rows, and labels and gradients where there are any.
fn task(problem: &Problem, out: Arg) -> Vec<Arg> {
    let (op, none) = (problem.options.op, Arg::U64(0));
    let Matrix { rows, cols, pitch } = matrix(problem);
    vec![
        Arg::Input,
        if op.arrays() == 2 { Arg::Other } else { none },
        out,
        Arg::U64(rows),
        Arg::U32(cols as u32),
        Arg::U64(pitch),
        if op.has_labels() { Arg::Labels } else { none },
        Arg::U32(problem.options.targets.label_bits()),
        if op.has_gradients() { Arg::Gradients } else { none },
        Arg::U32(u32::from(!problem.options.targets.has_one_gradient())),
    ]
}

/// Roundings on the longest path where threads have come to a value each: those of a warp, rescaled once, then the warps.
fn block_roundings(block: u64) -> u64 {
    2 * 5 + 2 * u64::from((block / 32).ilog2())
}

/// Roundings of a thread's own elements, so many, in four sums.
fn thread_roundings(elements: u64) -> u64 {
    elements.div_ceil(4) + 3
}

/// `three_passes_softmax_f32<<<rows, 256>>>(…)`
fn three_passes(problem: &Problem) -> Plan {
    let Matrix { rows, cols, .. } = matrix(problem);
    let pass = Pass {
        line: Some(format!("THREE({})", instance(problem))),
        elements: rows * cols,
        additions: cols.div_ceil(256) + block_roundings(256),
        ..Pass::new(kernel(problem, "three_passes", ""), rows, 256, task(problem, Arg::Sums(0)))
    };
    Plan { passes: vec![pass], sums: vec![results(problem)], ..Plan::default() }
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
    let Matrix { rows, cols, .. } = matrix(problem);
    let pass = |name: &str, shape: String, macro_args: String, grid: u64, block: u64| Pass {
        line: Some(format!("{}({}, {macro_args})", macro_of(name), instance(problem))),
        elements: rows * cols,
        ..Pass::new(kernel(problem, name, &shape), grid, block, task(problem, Arg::Sums(0)))
    };
    let per = per_vector(problem);
    let one = |pass: Pass| Plan {
        passes: vec![pass],
        sums: vec![results(problem)],
        why: shapes::why(shape, problem, cols),
        ..Plan::default()
    };
    match shape {
        Shape::Groups { lanes, rows: together, vectors, width } => {
            let rows_of_block = 256 / u64::from(lanes) * u64::from(together);
            let name = format!("l{lanes}r{together}v{vectors}w{width}");
            let macro_args = format!("{lanes}, {together}, {vectors}, {width}");
            let pass = pass("groups", name, macro_args, rows.div_ceil(rows_of_block), 256);
            let additions = thread_roundings(u64::from(vectors * width) + 1) + u64::from(lanes.ilog2());
            one(Pass { additions, ..pass })
        }
        Shape::Block { block, vectors } => {
            let pass = pass("block", format!("t{block}v{vectors}"), format!("{block}, {vectors}"), rows, block.into());
            one(Pass {
                additions: thread_roundings(u64::from(vectors) * per + 1) + block_roundings(block.into()),
                ..pass
            })
        }
        Shape::Cluster { blocks, block, vectors } => {
            let grid = rows * u64::from(blocks);
            let name = format!("c{blocks}t{block}v{vectors}");
            let mut pass = pass("cluster", name, format!("{blocks}, {block}, {vectors}"), grid, block.into());
            pass.geometry.cluster = blocks;
            pass.additions = thread_roundings(u64::from(vectors) * per + 1)
                + block_roundings(block.into())
                + 2 * u64::from(blocks.ilog2());
            one(pass)
        }
        Shape::Stream { block, loads } => {
            let pass = pass("two_passes", format!("t{block}u{loads}"), format!("{block}, {loads}"), rows, block.into());
            one(Pass { additions: running_roundings(cols, block, loads, per) + block_roundings(block.into()), ..pass })
        }
        Shape::Parts { block, loads, parts, length } => {
            let (name, macro_args) = (format!("t{block}u{loads}"), format!("{block}, {loads}"));
            let more = [Arg::U32(parts), Arg::U32(length), Arg::Sums(0)];
            let grid = rows * u64::from(parts);
            let mut first = pass("parts", name.clone(), macro_args.clone(), grid, block.into());
            first.args.extend(more);
            first.additions = running_roundings(length.into(), block, loads, per) + block_roundings(block.into());
            let second_grid = if problem.options.op.is_per_element() { grid } else { rows };
            let mut second = pass("whole", name, macro_args, second_grid, block.into());
            second.args.extend(more);
            second.additions = 2 * u64::from(parts.div_ceil(block)) + block_roundings(block.into());
            for pass in [&mut first, &mut second] {
                pass.args[2] = Arg::Sums(1);
            }
            Plan {
                passes: vec![first, second],
                sums: vec![problem.ty.holding(8 * grid), results(problem)],
                why: shapes::why(shape, problem, cols),
                ..Plan::default()
            }
        }
    }
}

/// Roundings of a thread that takes elements in rounds of `loads` vectors: each round is summed, and what was there rescaled.
fn running_roundings(elements: u64, block: u32, loads: u32, per: u64) -> u64 {
    let of_round = u64::from(loads) * per;
    let rounds = elements.div_ceil(u64::from(block) * of_round) + 1;
    thread_roundings(of_round) + 2 * rounds
}

/// The macro of the kernels' file that makes kernels of this name.
fn macro_of(name: &str) -> &str {
    match name {
        "two_passes" => "TWO",
        "groups" => "GROUPS",
        "block" => "BLOCK",
        "cluster" => "CLUSTER",
        _ => "PARTS",
    }
}
