//! Chapter 12, norms: rows that are divided by their size, forward and backward, where the gradients of weights are sums over all
//! rows.

mod mistakes;
mod shapes;

use lab::team::{per_vector, stream};
use lab::{Arg, BlockRule, Chapter, Layout, Matrix, Op, Pass, Per, Plan, Problem, Type, Variant};

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

/// Rows of one length: these variants are asked for no others.
fn matrix(problem: &Problem) -> Matrix {
    match problem.layout() {
        Layout::Rows(matrix) | Layout::Columns(matrix) => matrix,
        Layout::Array | Layout::Ragged(_) => Matrix::of(problem.n),
    }
}

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

/// A kernel of this chapter: `block_layer_norm_t256v2_f32`.
fn kernel(problem: &Problem, name: &str, shape: &str) -> String {
    let shape = if shape.is_empty() { String::new() } else { format!("_{shape}") };
    format!("{name}_{}{shape}_{}", problem.options.op, problem.ty)
}

/// Arguments of every kernel here: the matrices, the rows, and the weights and biases of the columns.
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
        Arg::Weights,
        if op.is_centred() && !op.has_weight_gradients() { Arg::Biases } else { none },
    ]
}

/// A launch over all elements, made by a macro of the kernels' file where the committed PTX may not have it.
fn pass(problem: &Problem, (name, shape): (&str, &str), macro_call: Option<String>, grid: u64, block: u64) -> Pass {
    let Matrix { rows, cols, .. } = matrix(problem);
    Pass {
        line: macro_call,
        elements: rows * cols,
        ..Pass::new(kernel(problem, name, shape), grid, block, task(problem, Arg::Sums(0)))
    }
}

/// Roundings where threads have come to moments each: a merge of a warp's, and one of the warps'.
const OF_BLOCK: u64 = 2 * (5 + 8);

/// Roundings of a thread's own elements, so many.
fn thread_roundings(elements: u64) -> u64 {
    elements.div_ceil(2) + 8
}

/// Roundings of a thread that takes elements in rounds of `loads` vectors: each round is merged with what was there.
fn running_roundings(elements: u64, block: u32, loads: u32, per: u64) -> u64 {
    let of_round = u64::from(loads) * per;
    thread_roundings(of_round) + 8 * (elements.div_ceil(u64::from(block) * of_round) + 1)
}

/// `three_passes_layer_norm_f32<<<rows, 256>>>(…)`
fn three_passes(problem: &Problem) -> Plan {
    let Matrix { rows, cols, .. } = matrix(problem);
    let pass = pass(problem, ("three_passes", ""), Some(format!("THREE({})", instance(problem))), rows, 256);
    let pass = Pass { additions: cols.div_ceil(256) + OF_BLOCK, ..pass };
    Plan { passes: vec![pass], sums: vec![results(problem)], ..Plan::default() }
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
    let plan =
        if problem.options.op.has_weight_gradients() { backward(problem, shape) } else { forward(problem, shape) };
    Plan { why, ..plan }
}

fn forward(problem: &Problem, shape: Shape) -> Plan {
    let Matrix { rows, cols, .. } = matrix(problem);
    let (per, of) = (per_vector(problem), instance(problem));
    let one = |pass: Pass, additions: u64| Plan {
        passes: vec![Pass { additions, ..pass }],
        sums: vec![results(problem)],
        ..Plan::default()
    };
    match shape {
        Shape::Groups { lanes, rows: together, vectors, width } => {
            let rows_of_block = 256 / u64::from(lanes) * u64::from(together);
            let name = format!("l{lanes}r{together}v{vectors}w{width}");
            let line = format!("GROUPS({of}, {lanes}, {together}, {vectors}, {width})");
            let pass = pass(problem, ("groups", &name), Some(line), rows.div_ceil(rows_of_block), 256);
            one(pass, thread_roundings(u64::from(vectors * width)) + u64::from(lanes.ilog2()) + 8)
        }
        Shape::Block { block, vectors } => {
            let line = format!("BLOCK({of}, {block}, {vectors})");
            let pass = pass(problem, ("block", &format!("t{block}v{vectors}")), Some(line), rows, block.into());
            one(pass, thread_roundings(u64::from(vectors) * per) + OF_BLOCK)
        }
        Shape::Cluster { blocks, block, vectors } => {
            let line = format!("CLUSTER({of}, {blocks}, {block}, {vectors})");
            let name = format!("c{blocks}t{block}v{vectors}");
            let mut pass = pass(problem, ("cluster", &name), Some(line), rows * u64::from(blocks), block.into());
            pass.geometry.cluster = blocks;
            one(pass, thread_roundings(u64::from(vectors) * per) + OF_BLOCK + OF_BLOCK / 2)
        }
        Shape::Stream { block, loads } => {
            let line = format!("TWO({of}, {block}, {loads})");
            let pass = pass(problem, ("two_passes", &format!("t{block}u{loads}")), Some(line), rows, block.into());
            one(pass, running_roundings(cols, block, loads, per) + OF_BLOCK)
        }
        Shape::Parts { block, loads, parts, length } => {
            let name = format!("t{block}u{loads}");
            let line = format!("WHOLE({of}, {block}, {loads})");
            let grid = rows * u64::from(parts);
            let launch = |kind: &str, additions: u64| {
                let mut pass = pass(problem, (kind, &name), Some(line.clone()), grid, block.into());
                pass.args[2] = Arg::Sums(1);
                pass.args.extend([Arg::U32(parts), Arg::U32(length), Arg::Sums(0)]);
                Pass { additions, ..pass }
            };
            let first = launch("parts", running_roundings(length.into(), block, loads, per) + OF_BLOCK);
            let second = launch("whole", 8 * u64::from(parts.div_ceil(block)) + OF_BLOCK);
            let sums = vec![problem.ty.holding(OF_MOMENTS * grid), results(problem)];
            Plan { passes: vec![first, second], sums, ..Plan::default() }
        }
    }
}

/// Bytes of the moments of a part, and of what is known of a row.
const OF_MOMENTS: u64 = 20;
const OF_KNOWN: u64 = 16;

/// Bytes of the sums of so many teams; a single one has the gradients themselves, and no sums.
fn sums_bytes(teams: u64, cols: u64) -> u64 {
    if teams > 1 { 8 * teams * cols } else { 0 }
}

/// A launch that finds the elements' gradients and leaves sums of columns, of so many blocks each; and one that adds those up.
fn backward(problem: &Problem, shape: Shape) -> Plan {
    let Matrix { rows, cols, .. } = matrix(problem);
    let (per, of) = (per_vector(problem), instance(problem));
    // Each of the teams that hold a row takes every `teams`-th row.
    let held = |(name, text): (&str, String), line: String, teams: u64, (blocks, block): (u32, u32), of_row: u64| {
        let each = rows.div_ceil(teams.max(1));
        let mut pass = pass(problem, (name, &text), Some(line), teams * u64::from(blocks), block.into());
        pass.geometry.cluster = blocks;
        pass.args[2] = Arg::Sums(1);
        pass.args.push(Arg::Sums(0));
        pass.additions = of_row + each + 16;
        let sums = vec![problem.ty.holding(sums_bytes(teams, cols)), results(problem)];
        let passes = std::iter::once(pass).chain(gradients(problem, teams, 0)).collect();
        Plan { passes, sums, ..Plan::default() }
    };
    match shape {
        Shape::Groups { lanes, vectors, width, .. } => {
            let blocks = resident(problem, 256, vectors * width).min(rows.div_ceil(256 / u64::from(lanes))).max(1);
            let name = ("groups", format!("l{lanes}v{vectors}w{width}"));
            let line = format!("BACK_GROUPS({of}, {lanes}, {vectors}, {width})");
            let of_row = thread_roundings(u64::from(vectors * width)) + u64::from(lanes.ilog2()) + 8;
            held(name, line, blocks, (1, 256), of_row)
        }
        Shape::Block { block, vectors } => {
            let name = ("block", format!("t{block}v{vectors}"));
            let line = format!("BACK_BLOCK({of}, {block}, {vectors})");
            let teams = resident(problem, block, vectors * per as u32).min(rows).max(1);
            held(name, line, teams, (1, block), thread_roundings(u64::from(vectors) * per) + OF_BLOCK)
        }
        Shape::Cluster { blocks, block, vectors } => {
            let name = ("cluster", format!("c{blocks}t{block}v{vectors}"));
            let line = format!("BACK_CLUSTER({of}, {blocks}, {block}, {vectors})");
            let teams = clusters(problem, blocks, block, vectors * per as u32).min(rows).max(1);
            held(
                name,
                line,
                teams,
                (blocks, block),
                thread_roundings(u64::from(vectors) * per) + OF_BLOCK + OF_BLOCK / 2,
            )
        }
        Shape::Stream { block, loads } => parts_plan(problem, (block, loads), (1, cols as u32)),
        Shape::Parts { block, loads, parts, length } => parts_plan(problem, (block, loads), (parts, length)),
    }
}

/// Moments of the parts of rows, what is known of the rows, then the gradients, by who holds the columns.
fn parts_plan(problem: &Problem, (block, loads): (u32, u32), (parts, length): (u32, u32)) -> Plan {
    let Matrix { rows, cols, .. } = matrix(problem);
    let (per, of) = (per_vector(problem), instance(problem));
    let mut first = pass(
        problem,
        ("parts", &format!("t{block}u{loads}")),
        Some(format!("PARTS({of}, {block}, {loads})")),
        rows * u64::from(parts),
        block.into(),
    );
    first.args[2] = Arg::Sums(3);
    first.args.extend([Arg::U32(parts), Arg::U32(length), Arg::Sums(0)]);
    first.additions = running_roundings(length.into(), block, loads, per) + OF_BLOCK;

    let name = kernel(problem, "knowing", "");
    let line = format!(
        "KERNEL(256) {name}(const Moments* moments, unsigned int cols, unsigned int count, Known* of_rows) {{ \
         knowing<{}, 256>(moments, cols, count, of_rows); }}",
        norm_of(problem)
    );
    let mut knowing = pass(problem, ("knowing", ""), Some(line), rows, 256);
    knowing.args = vec![Arg::Sums(0), Arg::U32(cols as u32), Arg::U32(parts), Arg::Sums(1)];
    knowing.additions = 8 * u64::from(parts.div_ceil(256)) + OF_BLOCK;
    knowing.elements = rows * u64::from(parts);

    let strips = cols.div_ceil(256 * per).max(1);
    let segments = (resident(problem, 256, 8) / strips).clamp(1, rows.div_ceil(8).max(1));
    let line = Some(format!("FINISH({of}, 256, 2)"));
    let mut finish = pass(problem, ("finish", "t256r2"), line, strips * segments, 256);
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
        passes: [first, knowing, finish].into_iter().chain(gradients(problem, segments, 2)).collect(),
        sums,
        ..Plan::default()
    }
}

/// `gradients_layer_norm_backward_t256s8_f32<<<strips of 32 columns, 256>>>(…)`: adds up the sums of so many teams, which are in this
/// array; the results are the one behind it. None where there is one team.
fn gradients(problem: &Problem, teams: u64, at: usize) -> Option<Pass> {
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
    let line = format!("GRADIENTS({}, {block}, {sharing})", instance(problem));
    let mut pass = pass(problem, ("gradients", &format!("t{block}s{sharing}")), Some(line), strips, block);
    pass.args[2] = Arg::Sums(at + 1);
    pass.args.extend([Arg::U32(teams as u32), Arg::Sums(at)]);
    pass.elements = kinds * teams * cols;
    pass.additions = teams.div_ceil(sharing) + sharing;
    Some(pass)
}
