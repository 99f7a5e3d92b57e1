//! Softmax and its family, chapter 11's kernels: who holds a row, with the reason in words, and launches.

use crate::layout::Matrix;
use crate::op::Op;
use crate::plan::{Arg, Plan, Problem};
use crate::team::{
    Endings, Kernels, Roundings, Shape, Team, committed, first_to_hold, first_to_stage, held_by_block, is_few,
    is_large, is_of_few_waves, is_spare, is_whole, lanes_of_elements, parts, stream, threads,
};
use teams::{
    OF_LONG, ONE_RESULT_OF_FEW, blocks_of_few, clusters, many, staged, staged_with_one_result, with_one_result,
};

mod teams;

/// Elements of a row that are a warp's.
const OF_WARP: u64 = 512;
/// Bytes of a row from which on it is only read, not held, where it has one result: of floats, and of halves.
const OF_STREAM: [u64; 2] = [28 << 10, 32 << 10];

/// Elements that a thread of a block holds of one matrix, where no team was measured to do better with more. Those of two bytes
/// bring more work for each byte, which more threads hide better.
fn held_most(problem: &Problem<'_>) -> u64 {
    let of_one = if problem.ty.bytes() < 4 { 32 } else { 64 };
    of_one / problem.op.arrays()
}

/// A block of 256 threads that holds its row; two passes for a longer one.
pub fn held_shape(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    held_by_block(problem, matrix, held_most(problem))
}

/// The shape for this problem: the smallest team that holds a row in its registers; a row that none holds is cut into parts, as
/// many as keep the card busy.
pub fn shape_for(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    if problem.on_demand {
        gpu_shape(problem, matrix)
    } else {
        committed(problem, matrix, &[(64, 2), (256, 2), (256, 4), (512, 4)])
    }
}

fn gpu_shape(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let is_few = is_few(problem, matrix);
    let of_elements = match problem.op {
        Op::CrossEntropy if is_few && problem.per_vector() == 4 => (1, 1, 32),
        Op::CrossEntropyBackward if matrix.cols <= 64 => (2, 2, 64),
        Op::Logsumexp if !is_few => (2, 8, 64),
        _ if is_few => (1, 2, 256),
        _ => (2, 2, 64),
    };
    if let Some(shape) = lanes_of_elements(problem, matrix, of_elements) {
        return shape;
    }
    let (is_each, is_narrow) = (problem.op.is_per_element(), problem.per_vector() > 4);
    let is_light = problem.op.arrays() == 1 && is_each;
    // If nothing comes after it to hide the trip to memory, a row has as many threads as there are, few vectors each.
    let of_warp = match is_few {
        true if is_spare(problem, matrix) && (is_each || !is_narrow) => OF_WARP / 2,
        true if is_each || !is_narrow => OF_WARP,
        false if is_each && !(is_narrow && is_light) => OF_WARP,
        _ => 2 * OF_WARP,
    };
    if matrix.cols <= of_warp {
        return lanes(problem, matrix);
    }
    if !is_each {
        return one_result(problem, matrix, is_few);
    }
    // Where registers for what it holds would leave too few warps, a block reads its row twice, the second time from a cache.
    let is_of_waves = has_a_row_each(problem, matrix) && is_of_few_waves(problem, matrix);
    if !is_narrow && is_light && is_of_waves && (7681..=8192).contains(&matrix.cols) {
        return Shape::Stream { block: 512, loads: 4 };
    }
    first_to_stage(problem, matrix, staged(problem, matrix).iter().copied())
        .unwrap_or_else(|| blocks(problem, matrix, is_few))
}

/// Returns whether there is a row for nearly every multiprocessor.
fn has_a_row_each(problem: &Problem<'_>, matrix: Matrix) -> bool {
    10 * matrix.rows >= 9 * u64::from(problem.card.multiprocessors)
}

/// Multiprocessors for each row.
fn multiprocessors_each(problem: &Problem<'_>, matrix: Matrix) -> u64 {
    u64::from(problem.card.multiprocessors) / matrix.rows.max(1)
}

/// Returns whether eight multiprocessors or more are there for each row.
fn has_eight_each(problem: &Problem<'_>, matrix: Matrix) -> bool {
    multiprocessors_each(problem, matrix) >= 8
}

/// Returns whether four multiprocessors or more are there for each row.
fn are_few(problem: &Problem<'_>, matrix: Matrix) -> bool {
    multiprocessors_each(problem, matrix) >= 4
}

/// Lanes that hold a row.
fn lanes(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let per = problem.per_vector();
    let vectors = matrix.cols.div_ceil(per);
    let (is_each, is_narrow, has_labels) = (problem.op.is_per_element(), per > 4, problem.op.has_labels());
    let is_light = problem.op.arrays() == 1 && is_each;
    // Fewer lanes have fewer pairs to bring together, where that is much of the work: of one result a row, and of labels, which
    // every lane asks for. Of two bytes, a lane needs two vectors on their way to make the trip worth it.
    let least = match (is_each, vectors) {
        _ if is_spare(problem, matrix) && has_labels && !is_each && !is_narrow => 2,
        _ if is_spare(problem, matrix) => 1,
        (false, 65..) if !is_narrow => 8,
        (false, 5..=16) if is_narrow => 2,
        (false, 9..=16) if !is_narrow => 2,
        (false, _) => vectors.clamp(1, 4),
        (true, 3..=4) if is_light && !is_narrow => 2,
        (true, 5..) if has_labels && !is_narrow => 4,
        (true, 33..) if is_light && is_narrow => 4,
        (true, 32) if has_labels && is_narrow => 4,
        (true, 9..) if is_light && is_narrow => 2,
        (true, 8) if is_light && is_narrow && !has_labels => 2,
        _ => 1,
    };
    let each = vectors.div_ceil(32).max(least);
    let lanes = vectors.div_ceil(each).next_power_of_two();
    let is_two = is_light
        && !has_labels
        && if is_narrow {
            vectors < 8 && (vectors > 2 || problem.op != Op::LogSoftmax)
        } else {
            (5..=16).contains(&vectors)
        };
    let rows = if is_two { 2 } else { 1 };
    Shape::Groups { lanes: lanes as u32, rows, vectors: each as u32, width: per as u32 }
}

/// For a row with one result: a team that holds it, or goes through it, or blocks that share one out.
fn one_result(problem: &Problem<'_>, matrix: Matrix, is_few: bool) -> Shape {
    let (is_narrow, are_fewer) = (problem.per_vector() > 4, !has_a_row_each(problem, matrix));
    let is_worth_holding = matrix.cols * problem.ty.bytes() <= OF_STREAM[usize::from(is_narrow)];
    let all: &[Team] = match () {
        _ if are_fewer || is_few && matrix.cols <= 8192 => ONE_RESULT_OF_FEW[usize::from(!is_narrow)],
        _ if is_few => OF_LONG,
        _ if is_narrow && !is_whole(problem, matrix) => &[(1, 64, 32), (1, 128, 32), (1, 256, 32), (1, 512, 56)],
        _ if is_worth_holding => many(problem, matrix),
        _ => &[],
    };
    if let Some(shape) = first_to_hold(problem, matrix, all.iter().copied()) {
        return shape;
    }
    if are_fewer {
        return one_result_of_few(problem, matrix);
    }
    // The smallest that fill nearly all of the card.
    let blocks = if is_narrow { &[256, 512][..] } else { &[512] };
    let fills = |block: &u64| 10 * matrix.rows * block >= 9 * threads(problem);
    let block = blocks.iter().copied().find(fills).unwrap_or(1024);
    Shape::Stream { block: block as u32, loads: if is_narrow { 2 } else { 4 } }
}

/// For a long row with one result, where multiprocessors are left over: a cluster that holds it, as large as there is room for, or a
/// block that goes through it; many blocks that share one out cost a second launch.
fn one_result_of_few(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let is_narrow = problem.per_vector() > 4;
    let of_each = multiprocessors_each(problem, matrix);
    let in_shared = staged_with_one_result(is_narrow, of_each, matrix.cols);
    if let Some(shape) = first_to_stage(problem, matrix, in_shared.iter().copied()) {
        return shape;
    }
    if let Some(shape) = first_to_hold(problem, matrix, with_one_result(is_narrow, of_each).iter().copied()) {
        return shape;
    }
    match (is_narrow, matrix.cols) {
        (true, ..=131_072) if of_each < 2 => Shape::Stream { block: 1024, loads: 2 },
        (false, ..=131_072) if of_each < 4 => Shape::Stream { block: 1024, loads: 4 },
        (_, ..=524_288) => parts(problem, matrix, (256, 2), 256),
        _ => parts(problem, matrix, (512, if is_narrow { 2 } else { 4 }), 512),
    }
}

/// A block that holds a row, or several; many that share one out.
fn blocks(problem: &Problem<'_>, matrix: Matrix, is_few: bool) -> Shape {
    let is_narrow = problem.per_vector() > 4;
    let of_block = if is_few { blocks_of_few(problem, matrix) } else { many(problem, matrix) };
    let all = of_block.iter().chain(clusters(problem, matrix, is_few));
    if let Some(shape) = first_to_hold(problem, matrix, all.copied()) {
        return shape;
    }
    let loads = match (is_narrow, problem.op.arrays()) {
        (true, 1) => 2,
        (false, 1) => 8,
        _ => 4,
    };
    parts(problem, matrix, (512, loads), 512)
}

/// Why this shape, a sentence.
pub fn why(shape: Shape, problem: &Problem<'_>, cols: u64) -> String {
    let twice = if problem.op.is_per_element() { ", and read it twice" } else { "" };
    shape.why(cols * problem.ty.bytes(), Endings { held: "", stream: twice, parts: twice })
}

/// Elements of the array that holds the results: a matrix that lies as the input does, or a number of 32 bits a row.
pub fn results(problem: &Problem<'_>) -> u64 {
    let matrix = problem.matrix();
    if problem.op.is_per_element() { matrix.span().unwrap_or(u64::MAX) } else { problem.ty.holding(4 * matrix.rows) }
}

/// The operation of a type as the kernels' file has it: `Softmax<float>`.
fn operation(problem: &Problem<'_>) -> String {
    let operation = match problem.op {
        Op::LogSoftmax => "LogSoftmax",
        Op::Logsumexp => "LogSumExp",
        Op::CrossEntropy => "CrossEntropy",
        Op::SoftmaxBackward => "SoftmaxBackward",
        Op::LogSoftmaxBackward => "LogSoftmaxBackward",
        Op::CrossEntropyBackward => "CrossEntropyBackward",
        _ => "Softmax",
    };
    format!("{operation}<{}>", problem.ty.cuda())
}

/// Arguments of every kernel here: the matrices, the rows, and labels and gradients where there are any.
fn task(problem: &Problem<'_>) -> Vec<Arg> {
    let (op, none) = (problem.op, Arg::U64(0));
    let Matrix { rows, cols, pitch } = problem.matrix();
    vec![
        Arg::Input,
        if op.arrays() == 2 { Arg::Other } else { none },
        Arg::Sums(0),
        Arg::U64(rows),
        Arg::U32(cols as u32),
        Arg::U64(pitch),
        if op.has_labels() { Arg::Labels } else { none },
        Arg::U32(problem.targets.label_bits),
        if op.has_gradients() { Arg::Gradients } else { none },
        Arg::U32(u32::from(!problem.targets.one_gradient)),
    ]
}

/// Roundings of a thread's own elements, so many, in four sums.
fn thread_roundings(elements: u64) -> u64 {
    elements.div_ceil(4) + 3
}

/// Roundings of pairs: each that is merged is rescaled.
pub const ROUNDINGS: Roundings = Roundings {
    round: thread_roundings,
    held: |elements| thread_roundings(elements + 1),
    lanes: |lanes| lanes.ilog2().into(),
    // Of a warp, rescaled once, then the warps.
    block: |block| 2 * 5 + 2 * u64::from((block / 32).next_power_of_two().ilog2()),
    cluster: |blocks| 2 * u64::from(blocks.ilog2()),
    merge: 2,
};

/// The kernels of this operation and type. A part leaves a pair.
pub fn kernels<'p>(problem: &'p Problem<'p>) -> Kernels<'p> {
    kernels_for(problem, is_large(problem, problem.matrix()))
}

/// The same, or those for rows that are more than an L2 holds.
pub fn kernels_for<'p>(problem: &'p Problem<'p>, are_large: bool) -> Kernels<'p> {
    let operation = operation(problem);
    let (operation, kind) = if are_large { (format!("Large<{operation}>"), "large_") } else { (operation, "") };
    Kernels {
        problem,
        instance: format!("{operation}, {kind}{}, {}", problem.op, problem.ty),
        kind,
        args: task(problem),
        results: results(problem),
        parts_macro: "PARTS",
        part_bytes: 8,
        roundings: ROUNDINGS,
        in_turns: |_, teams| teams,
    }
}

/// `two_passes_softmax_t256u2_f32<<<rows, 256>>>(…)`
pub fn two_passes(problem: &Problem<'_>) -> Plan {
    plan_for(problem, stream(problem, 256))
}

/// `block_softmax_t256v2_f32<<<rows, 256>>>(…)`, for rows that a block holds.
pub fn held(problem: &Problem<'_>) -> Plan {
    plan_for(problem, held_shape(problem, problem.matrix()))
}

/// The launches of the shape that suits the rows.
pub fn softmax(problem: &Problem<'_>) -> Plan {
    plan_for(problem, shape_for(problem, problem.matrix()))
}

/// The launches of this shape.
pub fn plan_for(problem: &Problem<'_>, shape: Shape) -> Plan {
    Plan { why: why(shape, problem, problem.matrix().cols), ..kernels(problem).plan(shape) }
}
