//! Norms, chapter 12's kernels: who holds a row, with the reason in words, and launches.

use crate::layout::Matrix;
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem};
use crate::team::{
    Endings, Kernels, Roundings, Shape, Team, committed, first_to_hold, first_to_stage, first_to_take_turns,
    held_by_block, is_few, is_large, is_of_few_waves, is_spare, is_whole, lanes_of_elements, parts, stream,
};
use teams::{few, staged, teams, teams_of_few_waves, turns, turns_of_few_waves};

mod teams;

/// Elements of a row that are a warp's; backward, where a barrier for each row would be one in every turn, twice as many.
const OF_WARP: u64 = 512;
/// Threads of persistent clusters that a multiprocessor has registers for.
pub const PERSISTENT_THREADS: u32 = 512;
/// Rows that a persistent cluster takes at least.
const ROWS_OF_CLUSTER: u64 = 4;
/// Elements of a row that a block holds, where rows are many.
const OF_BLOCK: u64 = 16 << 10;
/// Elements that a thread of a block of 256 holds. Backward it has two inputs, and sums of two kinds.
const FORWARD: u64 = 32;
const BACKWARD: u64 = 16;

fn is_backward(problem: &Problem<'_>) -> bool {
    problem.op.has_weight_gradients()
}

fn held_most(problem: &Problem<'_>) -> u64 {
    if is_backward(problem) { BACKWARD } else { FORWARD }
}

/// Blocks of so many threads that take rows in turns, where each thread holds so many elements: as many as the registers of the
/// card have room for. The kernels' launch bounds say the same.
pub fn resident(problem: &Problem<'_>, block: u32, elements: u32) -> u64 {
    clusters(problem, 1, block, elements)
}

/// Clusters of so many such blocks.
pub fn clusters(problem: &Problem<'_>, blocks: u32, block: u32, elements: u32) -> u64 {
    let threads = match elements {
        0..=8 => 768,
        9..=16 => 512,
        _ => 256,
    };
    u64::from(problem.card.clusters_of(blocks)) * (threads / u64::from(block)).max(1)
}

/// A block of 256 threads that holds its row; two passes for a longer one.
pub fn held_shape(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    held_by_block(problem, matrix, held_most(problem))
}

/// The shape for this problem: the smallest team that holds a row in its registers; a row that none holds is cut into parts, as
/// many as keep the card busy.
pub fn shape_for(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    if problem.on_demand {
        return gpu_shape(problem, matrix);
    }
    committed(
        problem,
        matrix,
        if is_backward(problem) { &[(256, 2)] } else { &[(64, 2), (256, 2), (512, 2), (1024, 2)] },
    )
}

/// Returns whether rows may begin within a vector.
fn begins_within(problem: &Problem<'_>, matrix: Matrix) -> bool {
    !matrix.pitch.is_multiple_of(problem.per_vector())
}

/// The matrix with room in its rows for the first piece's elements that are none, where a row may begin within a vector.
fn shifted(problem: &Problem<'_>, matrix: Matrix) -> Matrix {
    let most = if begins_within(problem, matrix) { problem.per_vector() - 1 } else { 0 };
    Matrix { cols: matrix.cols + most, ..matrix }
}

/// So many teams, or fewer, each of whose rows begin alike in their vectors: the columns that a thread sums up stay the same.
fn alike(problem: &Problem<'_>, teams: u64) -> u64 {
    let Matrix { pitch, .. } = problem.matrix();
    let per = problem.per_vector();
    let apart = (1..=per).find(|rows| (rows * (pitch % per)).is_multiple_of(per)).unwrap_or(1);
    if teams > apart { teams - teams % apart } else { teams }
}

fn gpu_shape(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let most = if problem.op == Op::AddLayerNorm && is_spare(problem, matrix) { 256 } else { 64 };
    if let Some(shape) = lanes_of_elements(problem, matrix, (1, 2, most)) {
        return shape;
    }
    let held = shifted(problem, matrix);
    if is_backward(problem) {
        return backward_shape(problem, held).unwrap_or_else(|| parts(problem, matrix, (512, 2), 512));
    }
    forward_shape(problem, held).unwrap_or_else(|| unheld(problem, matrix))
}

/// The team that holds a row forward, or the block that reads it twice, if there is one.
fn forward_shape(problem: &Problem<'_>, matrix: Matrix) -> Option<Shape> {
    let per = problem.per_vector();
    let (is_few, is_narrow, adds) = (is_few(problem, matrix), per > 4, problem.op.adds());
    let of_warp = match is_few {
        true if is_spare(problem, matrix) => OF_WARP / 2,
        false if is_narrow && !adds => 2 * OF_WARP,
        _ => OF_WARP,
    };
    if matrix.cols <= of_warp {
        return Some(lanes(problem, matrix));
    }
    let in_turns = |teams, rows| first_to_take_turns(problem, matrix, teams, (rows, PERSISTENT_THREADS));
    first_to_stage(problem, matrix, staged(problem, matrix).iter().copied())
        .or_else(|| read_twice(problem, matrix))
        .or_else(|| in_turns(turns_of_few_waves(problem, matrix), ROWS_OF_CLUSTER / 2))
        .or_else(|| in_turns(turns(problem, matrix), ROWS_OF_CLUSTER))
        .or_else(|| first_to_hold(problem, matrix, teams_of_few_waves(problem, matrix, is_few).iter().copied()))
        .or_else(|| first_to_hold(problem, matrix, few(problem, matrix).iter().copied().filter(|_| is_few)))
        .or_else(|| first_to_hold(problem, matrix, teams(problem, is_few).iter().copied()))
}

/// Blocks for a row that no team holds. If they share it, half of the threads that the card holds: what is on its way then leaves
/// more of the L2 to what is read again.
fn unheld(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    match parts(problem, matrix, (256, 2), 512) {
        Shape::Stream { .. } => Shape::Stream { block: 512, loads: 16 / problem.per_vector() as u32 },
        shared => shared,
    }
}

/// Lanes that hold a row.
fn lanes(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let per = problem.per_vector();
    let vectors = matrix.cols.div_ceil(per);
    let (is_narrow, adds, is_spare) = (per > 4, problem.op.adds(), is_spare(problem, matrix));
    // Two vectors of halves have the bytes of a row on their way that make the trip worth it; of two inputs, one of each has.
    let is_two_each = match problem.op {
        _ if is_spare => false,
        Op::LayerNorm if !is_narrow => (3..=4).contains(&vectors),
        op => is_narrow && vectors >= 8 && op != Op::AddRmsNorm,
    };
    let each = vectors.div_ceil(32).max(if is_two_each { 2 } else { 1 });
    let lanes = vectors.div_ceil(each).next_power_of_two();
    let rows = match (is_narrow, adds) {
        (false, false) if !is_spare && (5..=16).contains(&vectors) => 2,
        (true, false) if !is_spare && vectors <= 2 && problem.op == Op::LayerNorm => 4,
        (true, _) if !is_spare && vectors < if adds { 8 } else { 64 } => 2,
        _ => 1,
    };
    Shape::Groups { lanes: lanes as u32, rows, vectors: each as u32, width: per as u32 }
}

/// A block that reads its row twice, the second time from a cache, where registers for what it holds would leave too few warps: with two
/// inputs, or halves of which two vectors hold sixteen.
fn read_twice(problem: &Problem<'_>, matrix: Matrix) -> Option<Shape> {
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let (is_narrow, adds) = (problem.per_vector() > 4, problem.op.adds());
    let is_of_waves = is_of_few_waves(problem, matrix) && !is_few(problem, matrix);
    // About a row for each multiprocessor.
    let is_one_each = (9 * multiprocessors..20 * multiprocessors).contains(&(10 * matrix.rows));
    let (block, loads) = match matrix.cols {
        8193..=OF_BLOCK if is_narrow && is_of_waves && problem.op != Op::RmsNorm => (256, 4),
        7681..=8192 if is_narrow && is_of_waves && problem.op == Op::AddRmsNorm => (256, 4),
        5121..=8192 if !is_narrow && is_of_waves && adds => (256, 4),
        8193..=OF_BLOCK if !is_narrow && is_of_waves && problem.op == Op::AddRmsNorm => (512, 4),
        16_385..=32_768 if is_narrow && adds && is_one_each => (1024, 2),
        16_385..=32_768 if problem.op == Op::AddRmsNorm && is_one_each => (1024, 4),
        131_073.. if !is_narrow && adds && 10 * matrix.rows >= 9 * multiprocessors => (1024, 4),
        _ => return None,
    };
    Some(Shape::Stream { block, loads })
}

/// The team that holds a row backward, if there is one: a thread keeps sums of the columns it holds, over all rows that come to it.
fn backward_shape(problem: &Problem<'_>, matrix: Matrix) -> Option<Shape> {
    let per = problem.per_vector();
    let vectors = matrix.cols.div_ceil(per);
    // Groups of lanes read shifted rows by elements, blocks do not.
    let is_for_blocks = begins_within(problem, matrix) && matrix.cols > OF_WARP && !is_of_few_waves(problem, matrix);
    if matrix.cols <= 2 * OF_WARP && !is_for_blocks {
        let each = vectors.div_ceil(32).max(if vectors >= 4 { 2 } else { 1 });
        let lanes = vectors.div_ceil(each).next_power_of_two();
        return Some(Shape::Groups { lanes: lanes as u32, rows: 1, vectors: each as u32, width: per as u32 });
    }
    let are_few = 2 * matrix.rows < u64::from(problem.card.multiprocessors);
    let teams: &[Team] = match (per > 4, is_of_few_waves(problem, matrix)) {
        _ if are_few => &[(1, 256, 8), (1, 384, 8), (1, 512, 8), (1, 320, BACKWARD), (1, 512, BACKWARD)],
        (true, true) => &[(1, 128, BACKWARD), (1, 256, BACKWARD), (1, 320, BACKWARD), (1, 512, BACKWARD)],
        (true, false) => {
            &[(1, 128, BACKWARD), (1, 192, BACKWARD), (1, 256, BACKWARD), (1, 128, 40), (1, 512, BACKWARD)]
        }
        (false, true) => &[(1, 128, BACKWARD), (1, 256, BACKWARD), (1, 512, BACKWARD)],
        (false, false) => &[(1, 128, BACKWARD), (1, 256, BACKWARD), (1, 128, 40), (1, 512, BACKWARD)],
    };
    let clusters = [(2, 512, BACKWARD), (4, 512, BACKWARD), (8, 512, BACKWARD)];
    let is_narrow = per > 4;
    let first = if is_narrow { (2, 512, BACKWARD) } else { (4, 256, BACKWARD) };
    // With biases, rows of more than 65,536 halves are faster cut into parts.
    let longest = if is_narrow && problem.op.is_centred() { 8 } else { 16 };
    let turns = [first, (8, 256, BACKWARD), (8, 512, BACKWARD), (longest, 512, BACKWARD)].map(|team| (team, 2));
    let short = std::iter::once((1, 64, BACKWARD)).filter(|_| is_for_blocks);
    first_to_hold(problem, matrix, short.chain(teams.iter().copied()))
        .or_else(|| first_to_take_turns(problem, matrix, (0, &turns), (ROWS_OF_CLUSTER, PERSISTENT_THREADS)))
        .or_else(|| first_to_hold(problem, matrix, clusters))
}

/// Why this shape, a sentence.
pub fn why(shape: Shape, problem: &Problem<'_>, cols: u64) -> String {
    let held = if is_backward(problem) { "; each takes many rows, and sums up its columns" } else { "" };
    let endings = Endings { held, stream: ", and it is read twice", parts: ", and read it twice" };
    shape.why(cols * problem.ty.bytes(), endings)
}

/// Elements of the array that holds the results: rows that lie as the input's do.
pub fn results(problem: &Problem<'_>) -> u64 {
    let matrix = problem.matrix();
    let rows = problem.op.result_rows(matrix.rows);
    Matrix { rows, ..matrix }.span().unwrap_or(u64::MAX)
}

/// The operation as the kernels' file has it.
fn operation(problem: &Problem<'_>) -> &'static str {
    match problem.op {
        Op::RmsNorm => "RmsNorm",
        Op::AddLayerNorm => "AddLayerNorm",
        Op::AddRmsNorm => "AddRmsNorm",
        Op::LayerNormBackward => "LayerNormBackward",
        Op::RmsNormBackward => "RmsNormBackward",
        _ => "LayerNorm",
    }
}

/// Begin of the operation as the macros take it and in the names of kernels: for rows that may be plain, of whole vectors at multiples of
/// 16 bytes, and for those that are more than an L2 holds. Kernels for these are compiled on demand, which takes less time than more
/// sets of committed kernels take room.
fn kind(are_plain: bool, are_large: bool) -> (&'static str, &'static str) {
    match (are_plain, are_large) {
        (false, false) => ("", ""),
        (true, false) => ("Plain", "plain_"),
        (false, true) => ("Large", "large_"),
        (true, true) => ("LargePlain", "large_plain_"),
    }
}

/// Both as a type: `LayerNorm<float>`.
fn norm_of(problem: &Problem<'_>) -> String {
    format!("{}<{}>", operation(problem), problem.ty.cuda())
}

/// Arguments of every kernel here: the matrices, the rows, and the weights and biases of the columns.
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
        Arg::Weights,
        if op.is_centred() && !op.has_weight_gradients() { Arg::Biases } else { none },
    ]
}

/// Roundings of a thread's own elements, so many.
fn thread_roundings(elements: u64) -> u64 {
    elements.div_ceil(2) + 8
}

/// Roundings of moments.
pub const ROUNDINGS: Roundings = Roundings {
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

/// The kernels of this operation and type for such a shape: those for plain rows where rows are whole vectors, unless they would need
/// more registers than a thread may have.
fn kernels<'p>(problem: &'p Problem<'p>, shape: Shape) -> Kernels<'p> {
    let is_tight = match shape {
        Shape::Persistent(team) => problem.op == Op::LayerNorm && problem.per_vector() == 4 && team.vectors >= 8,
        Shape::Groups { vectors: 2, width: 8, .. } => problem.op == Op::LayerNormBackward,
        _ => false,
    };
    let are_plain = problem.on_demand && is_whole(problem, problem.matrix()) && !is_tight;
    // Short rows of halves cost `layer_norm` more instructions than memory leaves time for.
    let is_short = problem.op == Op::LayerNorm && problem.per_vector() > 4 && problem.matrix().cols <= 512;
    kernels_for(problem, are_plain, !is_short && is_large(problem, problem.matrix()))
}

/// The kernels of this operation and type, for rows that may be plain or for any, and for large ones.
pub fn kernels_for<'p>(problem: &'p Problem<'p>, are_plain: bool, are_large: bool) -> Kernels<'p> {
    let (prefix, kind) = kind(are_plain, are_large);
    Kernels {
        problem,
        instance: format!(
            "{prefix}{}, {}, {kind}{}, {}",
            operation(problem),
            problem.ty.cuda(),
            problem.op,
            problem.ty
        ),
        kind,
        args: task(problem),
        results: results(problem),
        parts_macro: "WHOLE",
        part_bytes: OF_MOMENTS,
        roundings: ROUNDINGS,
        in_turns: alike,
    }
}

/// `two_passes_layer_norm_t256u2_f32<<<rows, 256>>>(…)`
pub fn two_passes(problem: &Problem<'_>) -> Plan {
    plan_for(problem, stream(problem, 256))
}

/// `block_layer_norm_t256v2_f32<<<rows, 256>>>(…)`, for rows that a block holds.
pub fn held(problem: &Problem<'_>) -> Plan {
    plan_for(problem, held_shape(problem, problem.matrix()))
}

/// The launches of the shape that suits the rows.
pub fn norm(problem: &Problem<'_>) -> Plan {
    plan_for(problem, shape_for(problem, problem.matrix()))
}

/// The launches of this shape.
pub fn plan_for(problem: &Problem<'_>, shape: Shape) -> Plan {
    let why = why(shape, problem, problem.matrix().cols);
    let kernels = kernels(problem, shape);
    let plan = if problem.op.has_weight_gradients() { backward(&kernels, shape) } else { kernels.plan(shape) };
    Plan { why, ..plan }
}

/// Bytes of the sums of so many teams; a single one has the gradients themselves, and no sums.
fn sums_bytes(teams: u64, cols: u64) -> u64 {
    if teams > 1 { 8 * teams * cols } else { 0 }
}

/// A launch that finds the elements' gradients and leaves sums of columns, of so many blocks each; and one that adds those up.
fn backward(kernels: &Kernels, shape: Shape) -> Plan {
    let problem = kernels.problem;
    let Matrix { rows, cols, .. } = problem.matrix();
    let per = problem.per_vector() as u32;
    // Each of the teams that hold a row takes every `teams`-th row.
    let held = |pass: Pass, teams: u64, of_row: u64| {
        let mut pass = pass;
        pass.args[2] = Arg::Sums(1);
        pass.args.push(Arg::Sums(0));
        pass.additions = of_row + rows.div_ceil(teams.max(1)) + 16;
        let sums = vec![problem.ty.holding(sums_bytes(teams, cols)), results(problem)];
        let passes = std::iter::once(pass).chain(gradients(problem, teams, 0)).collect();
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
            // Each leaves as many bytes of sums as so many rows have: they are half of what is read at most, if every multiprocessor has
            // a team.
            let most = (rows * problem.ty.bytes() / 8).max(problem.card.multiprocessors.into());
            let most = if problem.on_demand { most } else { u64::MAX };
            let teams = alike(problem, resident(problem, block, vectors * per).min(rows).min(most).max(1));
            let line = kernels.line("BACK_BLOCK", &format!("{block}, {vectors}"));
            let pass = kernels.pass("block", &format!("t{block}v{vectors}"), line, teams, block.into());
            held(pass, teams, kernels.held(1, block, vectors))
        }
        Shape::Cluster { blocks, block, vectors } => {
            let teams = alike(problem, clusters(problem, blocks, block, vectors * per).min(rows).max(1));
            let line = kernels.line("BACK_CLUSTER", &format!("{blocks}, {block}, {vectors}"));
            let (name, grid) = (format!("c{blocks}t{block}v{vectors}"), teams * u64::from(blocks));
            let mut pass = kernels.pass("cluster", &name, line, grid, block.into());
            pass.geometry.cluster = blocks;
            held(pass, teams, kernels.held(blocks, block, vectors))
        }
        Shape::Persistent(team) => {
            let pass = kernels.persistent("BACK_PERSISTENT", team);
            let teams = u64::from(pass.grid() / team.blocks);
            held(pass, teams, kernels.held(team.blocks, team.block, team.vectors))
        }
        Shape::Staged { .. } => unreachable!("a shape of the way forward"),
        Shape::Stream { block, loads } => parts_plan(kernels, (block, loads), (1, cols as u32)),
        Shape::Parts { block, loads, parts, length } => parts_plan(kernels, (block, loads), (parts, length)),
    }
}

/// Moments of the parts of rows, what is known of the rows, then the gradients, by who holds the columns.
fn parts_plan(kernels: &Kernels, (block, loads): (u32, u32), (parts, length): (u32, u32)) -> Plan {
    let problem = kernels.problem;
    let Matrix { rows, cols, .. } = problem.matrix();
    let line = kernels.line("PARTS", &format!("{block}, {loads}"));
    let mut first = kernels.pass("parts", &format!("t{block}u{loads}"), line, rows * u64::from(parts), block.into());
    first.args[2] = Arg::Sums(3);
    first.args.extend([Arg::U32(parts), Arg::U32(length), Arg::Sums(0)]);
    first.additions = kernels.running(length.into(), block, loads) + (ROUNDINGS.block)(block.into());

    let mut knowing = kernels_for(problem, false, false).pass("knowing", "", String::new(), rows, 256);
    knowing.line = Some(format!(
        "KERNEL(256) {}(const Moments* moments, unsigned int cols, unsigned int count, Known* of_rows) {{ \
         knowing<{}, 256>(moments, cols, count, of_rows); }}",
        knowing.kernel,
        norm_of(problem)
    ));
    knowing.args = vec![Arg::Sums(0), Arg::U32(cols as u32), Arg::U32(parts), Arg::Sums(1)];
    knowing.additions = ROUNDINGS.merge * u64::from(parts.div_ceil(256)) + (ROUNDINGS.block)(256);
    knowing.elements = rows * u64::from(parts);

    let strips = shifted(problem, problem.matrix()).cols.div_ceil(256 * problem.per_vector()).max(1);
    let segments = alike(problem, (resident(problem, 256, 8) / strips).clamp(1, rows.div_ceil(8).max(1)));
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
        passes: [first, knowing, finish].into_iter().chain(gradients(problem, segments, 2)).collect(),
        sums,
        ..Plan::default()
    }
}

/// `gradients_layer_norm_backward_t256s8_f32<<<strips of 32 columns, 256>>>(…)`: adds up the sums of so many teams, which are in this
/// array; the results are the one behind it. None where there is one team.
fn gradients(problem: &Problem<'_>, teams: u64, at: usize) -> Option<Pass> {
    let kernels = kernels_for(problem, false, false);
    let cols = problem.matrix().cols;
    let kinds = if problem.op.is_centred() { 2 } else { 1 };
    if teams <= 1 {
        return None;
    }
    // Warps that share 32 columns: one where there are columns enough for all; 32 where blocks of so many are there at once, or have
    // many teams' sums to add.
    let blocks = kinds * cols.div_ceil(32);
    let at_once = 2 * u64::from(problem.card.multiprocessors);
    let are_worth_it = blocks <= at_once || teams >= 100 && blocks <= 2 * at_once || teams > 300;
    let (block, sharing) = if teams <= 32 && cols >= 16_384 {
        (256, 1)
    } else if problem.on_demand && are_worth_it {
        (1024, 32)
    } else {
        (256, 8)
    };
    let strips = blocks.div_ceil(block / 32 / sharing).max(1);
    let line = kernels.line("GRADIENTS", &format!("{block}, {sharing}"));
    let mut pass = kernels.pass("gradients", &format!("t{block}s{sharing}"), line, strips, block);
    pass.args[2] = Arg::Sums(at + 1);
    pass.args.extend([Arg::U32(teams as u32), Arg::Sums(at)]);
    pass.elements = kinds * teams * cols;
    pass.additions = teams.div_ceil(sharing) + sharing;
    Some(pass)
}
