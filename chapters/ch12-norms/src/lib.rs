//! Chapter 12, norms: rows that are divided by their size, forward and backward, where the gradients of weights are sums over all
//! rows.

mod mistakes;
mod shapes;

use lab::team::{Kernels, Roundings, matrix, per_vector, stream};
use lab::{Arg, BlockRule, Chapter, Matrix, Op, Pass, Per, Plan, Problem, Type, Variant};

use crate::shapes::{clusters, held_shape, resident, shape_for};
pub use lab::team::Shape;

const FORWARD: &[Op] = &[Op::LayerNorm, Op::RmsNorm, Op::AddLayerNorm, Op::AddRmsNorm];
const ALL: &[Op] =
    &[Op::LayerNorm, Op::RmsNorm, Op::AddLayerNorm, Op::AddRmsNorm, Op::LayerNormBackward, Op::RmsNormBackward];

/// The form that anyone would write first.
const THREE_PASSES: Variant = Variant {
    name: "three_passes",
    idea: "a block a row: once for the mean, once for the variance, once for the results",
    limit: "a row comes from memory up to three times",
    types: &[Type::BF16, Type::F32],
    ops: FORWARD,
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 4096,
    per: Per::Row,
    launches: three_passes,
    chooses_grid: true,
    n_max: 1 << 40,
    ..Variant::BASE
};

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch12-norms",
    title: "Norms",
    variants: &[
        THREE_PASSES,
        Variant {
            name: "two_passes",
            idea: "count, mean and squared distances merge: one pass finds them, the second writes",
            limit: "a row still comes twice",
            ops: ALL,
            launches: two_passes,
            ..THREE_PASSES
        },
        Variant {
            name: "held",
            idea: "the threads of a block hold their row in registers; backward a block takes many rows, and its threads sum up their columns",
            limit: "a short row leaves most of the block idle, and a long one does not fit: it is read twice",
            ops: ALL,
            launches: held,
            ..THREE_PASSES
        },
        Variant {
            name: "norm",
            idea: "one plan chooses who holds a row: a few lanes, a block, a cluster of blocks; longer rows are shared out and read twice",
            limit: "bandwidth; backward the sums over all rows",
            ops: ALL,
            launches: norm,
            ..THREE_PASSES
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// Elements of the array that holds the results: rows that lie as the input's do.
fn results(problem: &Problem) -> u64 {
    let matrix = matrix(problem);
    let rows = problem.options.op.result_rows(matrix.rows);
    Matrix { rows, ..matrix }.span().unwrap_or(u64::MAX)
}

/// The type of the elements as the kernels' file has it.
fn element(problem: &Problem) -> &'static str {
    if problem.ty == Type::BF16 { "bf16" } else { "float" }
}

/// The operation, likewise.
fn operation(problem: &Problem) -> &'static str {
    match problem.options.op {
        Op::RmsNorm => "RmsNorm",
        Op::AddLayerNorm => "AddLayerNorm",
        Op::AddRmsNorm => "AddRmsNorm",
        Op::LayerNormBackward => "LayerNormBackward",
        Op::RmsNormBackward => "RmsNormBackward",
        _ => "LayerNorm",
    }
}

/// Both as the macros take them.
fn instance(problem: &Problem) -> String {
    format!("{}, {}, {}, {}", operation(problem), element(problem), problem.options.op, problem.ty)
}

/// Both as a type: `LayerNorm<float>`.
fn norm_of(problem: &Problem) -> String {
    format!("{}<{}>", operation(problem), element(problem))
}

/// Arguments of every kernel here: the matrices, the rows, and the weights and biases of the columns.
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
        Arg::Weights,
        if op.is_centred() && !op.has_weight_gradients() { Arg::Biases } else { none },
    ]
}

/// Roundings of a thread's own elements, so many.
fn thread_roundings(elements: u64) -> u64 {
    elements.div_ceil(2) + 8
}

/// Roundings of moments.
const ROUNDINGS: Roundings = Roundings {
    round: thread_roundings,
    held: thread_roundings,
    lanes: |lanes| u64::from(lanes.ilog2()) + 8,
    // A merge of a warp's, and one of the warps'.
    block: |_| 2 * (5 + 8),
    cluster: |_| 5 + 8,
    merge: 8,
};

/// Bytes of the moments of a part, and of what is known of a row.
const OF_MOMENTS: u64 = 20;
const OF_KNOWN: u64 = 16;

/// The kernels of this operation and type.
fn kernels<'p>(problem: &'p Problem<'p>) -> Kernels<'p> {
    Kernels {
        problem,
        instance: instance(problem),
        args: task(problem),
        results: results(problem),
        parts_macro: "WHOLE",
        part_bytes: OF_MOMENTS,
        roundings: ROUNDINGS,
    }
}

/// `three_passes_layer_norm_f32<<<rows, 256>>>(…)`
fn three_passes(problem: &Problem) -> Plan {
    let (Matrix { rows, cols, .. }, kernels) = (matrix(problem), kernels(problem));
    let pass = kernels.pass("three_passes", "", kernels.line("THREE", ""), rows, 256);
    kernels.one(pass, cols.div_ceil(256) + (ROUNDINGS.block)(256))
}

/// `two_passes_layer_norm_t256u2_f32<<<rows, 256>>>(…)`
fn two_passes(problem: &Problem) -> Plan {
    plan_for(problem, stream(problem, 256))
}

/// `block_layer_norm_t256v2_f32<<<rows, 256>>>(…)`, for rows that a block holds.
fn held(problem: &Problem) -> Plan {
    plan_for(problem, held_shape(problem, matrix(problem)))
}

/// The plan of `shapes.rs`.
fn norm(problem: &Problem) -> Plan {
    plan_for(problem, shape_for(problem, matrix(problem)))
}

/// The launches of this shape.
pub fn plan_for(problem: &Problem, shape: Shape) -> Plan {
    let why = shapes::why(shape, problem, matrix(problem).cols);
    let kernels = kernels(problem);
    let plan = if problem.options.op.has_weight_gradients() { backward(&kernels, shape) } else { kernels.plan(shape) };
    Plan { why, ..plan }
}

/// Bytes of the sums of so many teams; a single one has the gradients themselves, and no sums.
fn sums_bytes(teams: u64, cols: u64) -> u64 {
    if teams > 1 { 8 * teams * cols } else { 0 }
}

/// A launch that finds the elements' gradients and leaves sums of columns, of so many blocks each; and one that adds those up.
fn backward(kernels: &Kernels, shape: Shape) -> Plan {
    let problem = kernels.problem;
    let Matrix { rows, cols, .. } = matrix(problem);
    let per = per_vector(problem) as u32;
    // Each of the teams that hold a row takes every `teams`-th row.
    let held = |pass: Pass, teams: u64, of_row: u64| {
        let mut pass = pass;
        pass.args[2] = Arg::Sums(1);
        pass.args.push(Arg::Sums(0));
        pass.additions = of_row + rows.div_ceil(teams.max(1)) + 16;
        let sums = vec![problem.ty.holding(sums_bytes(teams, cols)), results(problem)];
        let passes = std::iter::once(pass).chain(gradients(kernels, teams, 0)).collect();
        Plan { passes, sums, ..Plan::default() }
    };
    match shape {
        Shape::Groups { lanes, vectors, width, .. } => {
            let blocks = resident(problem, 256, vectors * width).min(rows.div_ceil(256 / u64::from(lanes))).max(1);
            let line = kernels.line("BACK_GROUPS", &format!("{lanes}, {vectors}, {width}"));
            let pass = kernels.pass("groups", &format!("l{lanes}v{vectors}w{width}"), line, blocks, 256);
            held(pass, blocks, kernels.grouped(lanes, vectors * width))
        }
        Shape::Block { block, vectors } => {
            let teams = resident(problem, block, vectors * per).min(rows).max(1);
            let line = kernels.line("BACK_BLOCK", &format!("{block}, {vectors}"));
            let pass = kernels.pass("block", &format!("t{block}v{vectors}"), line, teams, block.into());
            held(pass, teams, kernels.held(1, block, vectors))
        }
        Shape::Cluster { blocks, block, vectors } => {
            let teams = clusters(problem, blocks, block, vectors * per).min(rows).max(1);
            let line = kernels.line("BACK_CLUSTER", &format!("{blocks}, {block}, {vectors}"));
            let (name, grid) = (format!("c{blocks}t{block}v{vectors}"), teams * u64::from(blocks));
            let mut pass = kernels.pass("cluster", &name, line, grid, block.into());
            pass.geometry.cluster = blocks;
            held(pass, teams, kernels.held(blocks, block, vectors))
        }
        Shape::Stream { block, loads } => parts_plan(kernels, (block, loads), (1, cols as u32)),
        Shape::Parts { block, loads, parts, length } => parts_plan(kernels, (block, loads), (parts, length)),
    }
}

/// Moments of the parts of rows, what is known of the rows, then the gradients, by who holds the columns.
fn parts_plan(kernels: &Kernels, (block, loads): (u32, u32), (parts, length): (u32, u32)) -> Plan {
    let problem = kernels.problem;
    let Matrix { rows, cols, .. } = matrix(problem);
    let line = kernels.line("PARTS", &format!("{block}, {loads}"));
    let mut first = kernels.pass("parts", &format!("t{block}u{loads}"), line, rows * u64::from(parts), block.into());
    first.args[2] = Arg::Sums(3);
    first.args.extend([Arg::U32(parts), Arg::U32(length), Arg::Sums(0)]);
    first.additions = kernels.running(length.into(), block, loads) + (ROUNDINGS.block)(block.into());

    let mut knowing = kernels.pass("knowing", "", String::new(), rows, 256);
    knowing.line = Some(format!(
        "KERNEL(256) {}(const Moments* moments, unsigned int cols, unsigned int count, Known* of_rows) {{ \
         knowing<{}, 256>(moments, cols, count, of_rows); }}",
        knowing.kernel,
        norm_of(problem)
    ));
    knowing.args = vec![Arg::Sums(0), Arg::U32(cols as u32), Arg::U32(parts), Arg::Sums(1)];
    knowing.additions = ROUNDINGS.merge * u64::from(parts.div_ceil(256)) + (ROUNDINGS.block)(256);
    knowing.elements = rows * u64::from(parts);

    let strips = cols.div_ceil(256 * per_vector(problem)).max(1);
    let segments = (resident(problem, 256, 8) / strips).clamp(1, rows.div_ceil(8).max(1));
    let mut finish = kernels.pass("finish", "t256r2", kernels.line("FINISH", "256, 2"), strips * segments, 256);
    finish.args[2] = Arg::Sums(3);
    finish.args.extend([Arg::U32(segments as u32), Arg::Sums(1), Arg::Sums(2)]);
    finish.additions = rows.div_ceil(segments);

    let sums = vec![
        problem.ty.holding(OF_MOMENTS * rows * u64::from(parts)),
        problem.ty.holding(OF_KNOWN * rows),
        problem.ty.holding(sums_bytes(segments, cols)),
        results(problem),
    ];
    Plan {
        passes: [first, knowing, finish].into_iter().chain(gradients(kernels, segments, 2)).collect(),
        sums,
        ..Plan::default()
    }
}

/// `gradients_layer_norm_backward_t256s8_f32<<<strips of 32 columns, 256>>>(…)`: adds up the sums of so many teams, which are in this
/// array; the results are the one behind it. None where there is one team.
fn gradients(kernels: &Kernels, teams: u64, at: usize) -> Option<Pass> {
    let problem = kernels.problem;
    let cols = matrix(problem).cols;
    let kinds = if problem.options.op.is_centred() { 2 } else { 1 };
    if teams <= 1 {
        return None;
    }
    // Warps that share 32 columns: one where there are columns enough for all.
    let (block, sharing) = if teams <= 32 && cols >= 16_384 {
        (256, 1)
    } else if teams <= 300 || !problem.on_demand {
        (256, 8)
    } else {
        (1024, 32)
    };
    let strips = (kinds * cols.div_ceil(32)).div_ceil(block / 32 / sharing).max(1);
    let line = kernels.line("GRADIENTS", &format!("{block}, {sharing}"));
    let mut pass = kernels.pass("gradients", &format!("t{block}s{sharing}"), line, strips, block);
    pass.args[2] = Arg::Sums(at + 1);
    pass.args.extend([Arg::U32(teams as u32), Arg::Sums(at)]);
    pass.elements = kinds * teams * cols;
    pass.additions = teams.div_ceil(sharing) + sharing;
    Some(pass)
}
