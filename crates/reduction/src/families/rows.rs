//! A value for each row, each column or each ragged row, chapter 10's kernels: shapes with the reason in words, and launches.

use crate::element::Type;
use crate::geometry::capped;
use crate::layout::{Axis, Layout, Matrix, Segments};
use crate::memory::Role;
use crate::op::Op;
use crate::plan::{Arg, Part, Pass, Plan, Problem};
use crate::team::{is_whole, whole_lines};
use crate::text::grouped;

/// Returns whether its kernels are compiled for this operation and type.
pub fn is_compiled(op: Op, ty: Type) -> bool {
    match op {
        Op::Sum => matches!(ty, Type::I32 | Type::F16 | Type::BF16 | Type::F32),
        Op::Max | Op::Maximum | Op::Argmax | Op::Meanvar => matches!(ty, Type::F16 | Type::BF16 | Type::F32),
        _ => false,
    }
}

/// Ways in which rows of one length are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lanes of a warp share a row.
    Groups {
        /// Lanes of a row, a power of two up to a warp.
        lanes: u32,
        /// Rows of a group on their way at once.
        rows: u32,
        /// Vectors of a row that a lane has on their way at once.
        loads: u32,
        /// Blocks.
        grid: u32,
    },
    /// A thread takes a row out of shared memory, which its block has filled.
    Short {
        /// Elements of a row at most.
        most: u32,
        /// Blocks.
        grid: u32,
    },
    /// A block takes a row, then another.
    Block {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
        /// Blocks.
        grid: u32,
    },
    /// Many blocks take a row.
    Parts {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
        /// Blocks of a row.
        parts: u32,
        /// Elements of a part, whole vectors.
        length: u32,
    },
}

/// Way in which columns are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Lanes side by side.
    pub lanes: u32,
    /// Columns of a lane: a vector's, or one.
    pub width: u32,
    /// Rows that a lane has on their way at once.
    pub loads: u32,
    /// Blocks that share the rows of a tile of columns.
    pub parts: u32,
}

/// Threads of a block of lane groups.
const BLOCK: u64 = 256;
/// A row of more vectors than this is a block's: a warp would need many trips to memory for it.
const OF_WARP: u64 = 256;
/// A row of up to so many elements that is not whole vectors is a thread's, out of shared memory.
const SHORT: u64 = 32;
/// Bytes of a row that are worth a block, if there are multiprocessors without any.
const OF_BLOCK_BYTES: u64 = 16 << 10;
/// Vectors of a row that keeps large blocks busy with merging.
const LONG_VECTORS: u64 = 1 << 17;

/// Blocks of such a size that a multiprocessor holds at once.
fn resident(problem: &Problem<'_>) -> u64 {
    problem.card.blocks_of(BLOCK as u32).into()
}

fn vectors(problem: &Problem<'_>, matrix: Matrix) -> u64 {
    (matrix.cols * problem.ty.bytes()).div_ceil(16)
}

/// Returns whether blocks of a few lanes a row fit in one round, at most one a multiprocessor.
fn is_one_round(problem: &Problem<'_>, matrix: Matrix) -> bool {
    problem.on_demand && matrix.rows <= u64::from(problem.card.multiprocessors) * (BLOCK / 4)
}

/// Lane groups for rows of this length: lanes that each have a vector or a few, rows enough on their way to hide the trip.
pub fn groups_shape(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let is_whole = is_whole(problem, matrix);
    let is_spread = problem.op == Op::Meanvar;
    let is_place = problem.op == Op::Argmax;
    let vectors = vectors(problem, matrix);
    let is_few = matrix.rows < u64::from(problem.card.multiprocessors) * 16 && (9..=256).contains(&vectors);
    let is_tiny = is_one_round(problem, matrix);
    let (lanes, rows, loads) = match vectors {
        0..=16 if !problem.on_demand => (8, 1, 2),
        _ if !problem.on_demand => (32, 1, 2),
        // Elements before the first vector and behind the last are a lane's each.
        // Too few rows to fill the card: a row in one trip to memory.
        vectors if is_few => (vectors.next_power_of_two().clamp(8, 32) as u32, 1, vectors.div_ceil(32) as u32),
        0..=4 if !is_whole && is_tiny => (4, 1, 1),
        0..=8 if !is_whole => (8, 2, 1),
        9..=16 if !is_whole => (4, 1, 1),
        0..=1 if is_tiny => (2, 2, 2),
        0..=1 => (1, 4, 1),
        2 if is_place => (1, 1, 4),
        2 => (2, 4, 1),
        3..=4 if is_spread => (2, 2, 2),
        3..=4 if is_place => (2, 4, 2),
        3..=4 => (4, 8, 1),
        5..=8 if is_spread => (4, 2, 2),
        5..=8 if is_place => (2, 1, 2),
        5..=8 => (8, 4, 1),
        // Fewer lanes have fewer values to bring together, each with a division.
        9..=16 if is_spread => (4, 2, 2),
        9..=16 if is_place => (8, 1, 2),
        9..=16 => (8, 2, 2),
        17..=64 if is_spread => (16, 1, 4),
        17..=64 => (16, 2, 2),
        65..=128 => (32, 1, 4),
        _ => (32, 1, 8),
    };
    let rows_of_block = BLOCK / u64::from(lanes) * u64::from(rows);
    let tiles = matrix.rows.div_ceil(rows_of_block).max(1);
    // Blocks that have much to do for a byte are better launched fewer, each with several tiles.
    let is_busy = is_place || (is_spread && !(3..=4).contains(&vectors)) || (!is_whole && vectors <= 16);
    let is_busy = problem.on_demand && is_busy;
    let most = if is_busy { u64::from(problem.card.multiprocessors) * 4 * resident(problem) } else { u64::MAX };
    Shape::Groups { lanes, rows, loads, grid: problem.asked.grid.unwrap_or(capped(tiles.min(most))) }
}

/// The shape for this problem.
///
/// Rows that a warp reads in a trip or two are lane groups'. Longer ones get a block each, as long as there are rows enough for
/// every multiprocessor; fewer are cut into parts, so that each multiprocessor has something to read.
pub fn shape_for(problem: &Problem<'_>, matrix: Matrix) -> Shape {
    let vectors = vectors(problem, matrix);
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let is_spread = problem.on_demand && problem.op == Op::Meanvar;
    let is_crowded = matrix.rows >= multiprocessors * if is_spread { resident(problem) / 2 } else { resident(problem) };
    let is_whole = is_whole(problem, matrix);
    if matrix.cols <= SHORT
        && !matrix.cols.is_multiple_of(problem.per_vector())
        && !is_one_round(problem, matrix)
        && matrix.pitch == matrix.cols
        && problem.asked.grid.is_none()
    {
        let most = if problem.on_demand { matrix.cols.next_power_of_two().max(4) } else { 16 };
        if matrix.cols <= most {
            return Shape::Short { most: most as u32, grid: capped(matrix.rows.div_ceil(BLOCK).max(1)) };
        }
    }
    if vectors <= OF_WARP && (is_crowded || vectors <= 64) {
        return groups_shape(problem, matrix);
    }
    // If nearly every multiprocessor has a row of its own, parts cost more than they bring.
    let is_few = 4 * matrix.rows < 3 * multiprocessors;
    let (block, loads) = match vectors {
        _ if !problem.on_demand => (256, 4),
        0..=512 => (128, 4),
        // Few warps of a block, whose merges come one after the other.
        _ if is_spread && problem.ty.bytes() < 4 => (128, 4),
        513..=2048 if is_spread && !is_few => (128, 4),
        513..=2048 => (256, 4),
        0..=LONG_VECTORS if is_spread && is_few => (128, 4),
        _ if is_spread => (256, 8),
        _ if problem.op == Op::Argmax || is_few || !is_whole => (512, 8),
        _ => (512, 4),
    };
    // Half as many blocks as are resident at once have enough on their way; one more than are resident would be a second round
    // for all.
    let half = multiprocessors * u64::from(problem.card.threads_per_multiprocessor / 2) / u64::from(block);
    let useful = if is_few { half / matrix.rows.max(1) } else { 1 };
    let of_block = if is_spread && vectors > 2048 { OF_BLOCK_BYTES / 4 } else { OF_BLOCK_BYTES };
    let worth = matrix.cols * problem.ty.bytes() / of_block;
    let parts = useful.min(worth);
    if parts < 2 || problem.asked.grid.is_some_and(|grid| u64::from(grid) <= matrix.rows) {
        let grid = capped(matrix.rows.max(1));
        return Shape::Block { block, loads, grid: problem.asked.grid.unwrap_or(grid) };
    }
    let (parts, length) = whole_lines(problem, matrix, parts);
    Shape::Parts { block, loads, parts, length }
}

/// The shape for columns.
///
/// 128 bytes of a row side by side, as long as there are rows enough for the rest of the block; with fewer rows wider. Rows are
/// shared out to blocks where the columns alone give the card too few.
pub fn columns_for(problem: &Problem<'_>, matrix: Matrix) -> Columns {
    let is_whole = is_whole(problem, matrix);
    let width = if is_whole { problem.per_vector() } else { 1 };
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let tiles = |lanes: u64| matrix.cols.div_ceil(lanes * width).max(1);
    let (lanes, loads) = if problem.on_demand {
        (lanes_of_columns(problem, matrix, matrix.cols.div_ceil(width), tiles), 8)
    } else {
        (32, if is_whole { 2 } else { 4 })
    };
    let useful = multiprocessors * resident(problem) / 2 / tiles(lanes);
    // Blocks that meet take about as long as two trips to memory or three.
    let worth = matrix.rows.div_ceil(BLOCK / lanes * loads * if problem.on_demand { 2 } else { 1 });
    let parts = useful.min(worth).max(1);
    Columns { lanes: lanes as u32, width: width as u32, loads: loads as u32, parts: capped(parts) }
}

/// Lanes side by side on a GPU, where `side` of them reach over the whole row.
fn lanes_of_columns(problem: &Problem<'_>, matrix: Matrix, side: u64, tiles: impl Fn(u64) -> u64) -> u64 {
    let multiprocessors = u64::from(problem.card.multiprocessors);
    let beside = (matrix.rows / 8).clamp(1, 32);
    let beside = if beside.is_power_of_two() { beside } else { beside.next_power_of_two() / 2 };
    let mut lanes = BLOCK / beside;
    while lanes > 16 && tiles(lanes) < 16 {
        lanes /= 2;
    }
    if lanes == 8 && tiles(lanes) > 2 * resident(problem) * multiprocessors {
        lanes = 16;
    }
    // So few elements that a block of the narrowest tile reads its columns in a trip or two.
    if (129..=1024).contains(&matrix.rows) && tiles(8) < multiprocessors {
        lanes = 4;
    }
    lanes.min(side.max(1).next_power_of_two())
}

impl Shape {
    /// Why this shape, a sentence or two.
    pub fn why(&self, problem: &Problem<'_>, cols: u64) -> String {
        let vectors = grouped((cols * problem.ty.bytes()).div_ceil(16));
        match self {
            Shape::Groups { lanes, rows, loads, .. } => {
                let together = if *rows == 1 { "one row".to_owned() } else { format!("{rows} rows") };
                format!(
                    "a row is {vectors} vectors of 16 bytes: {lanes} lanes, {loads} on their way each, of {together} at once"
                )
            }
            Shape::Short { .. } => format!(
                "a row is {cols} elements, which are no whole vectors of 16 bytes: a block reads 256 rows as one, and a thread takes \
                 a row out of shared memory"
            ),
            Shape::Block { block, .. } => {
                format!(
                    "a row is {vectors} vectors of 16 bytes, more than a warp reads in a trip or two: {block} threads a row"
                )
            }
            Shape::Parts { parts, length, .. } => format!(
                "a row is {vectors} vectors of 16 bytes, and there are too few rows to keep the card busy: {parts} blocks a \
                 row, up to {} elements each",
                grouped(u64::from(*length))
            ),
        }
    }
}

/// Elements of the array that holds so many results.
pub fn results(problem: &Problem<'_>, count: u64) -> u64 {
    problem.ty.holding(count * problem.op.row_bytes(problem.ty))
}

/// Elements of an array of so many values that blocks leave each other.
pub fn values(problem: &Problem<'_>, count: u64) -> u64 {
    problem.ty.holding(count * problem.op.value_bytes(problem.ty))
}

/// Combinations on the longest path through a block: a column of each warp's, then a warp.
pub fn block_additions(block: u64) -> u64 {
    block / 32 - 1 + 5
}

/// Combinations of a lane's vectors of a row, one after the other, with those in a vector and the odd elements.
fn lane_additions(problem: &Problem<'_>, cols: u64, lanes: u64) -> u64 {
    let per = problem.per_vector();
    cols.div_ceil(per).div_ceil(lanes) + per + (2 * per - 2).div_ceil(lanes)
}

/// Arguments for the macros of the kernels' file: the operator, and the names of it and of the type in kernels' names.
pub fn instance(problem: &Problem<'_>) -> String {
    let (operator, name) = match problem.op {
        Op::Max => ("Max", "_max"),
        Op::Maximum => ("Maximum", "_maximum"),
        Op::Argmax => ("ArgMax", "_argmax"),
        Op::Meanvar => ("MeanVariance", "_meanvar"),
        _ => ("Sum", ""),
    };
    format!("{operator}<{}>, {name}, {}", problem.ty.cuda(), problem.ty)
}

/// `groups_l8r1u2<<<grid, 256>>>(in, out, rows, cols, pitch)`
pub fn groups(problem: &Problem<'_>) -> Plan {
    plan_for(problem, groups_shape(problem, problem.matrix()))
}

/// One launch, in the shape that suits the rows.
pub fn rows(problem: &Problem<'_>) -> Plan {
    plan_for(problem, shape_for(problem, problem.matrix()))
}

/// One launch in this shape.
pub fn plan_for(problem: &Problem<'_>, shape: Shape) -> Plan {
    let Matrix { rows, cols, pitch } = problem.matrix();
    let pass = |name: &str, shape: &str, macro_args: String, grid: u64, block: u64, args: Vec<Arg>| Pass {
        line: Some(format!("{}({}, {macro_args})", name.to_uppercase(), instance(problem))),
        elements: rows * cols,
        ..Pass::new(problem.entry(name, shape), grid, block, args)
    };
    let whole_rows = vec![Arg::Input, Arg::Sums(0), Arg::U64(rows), Arg::U32(cols as u32), Arg::U64(pitch)];
    let out = results(problem, rows);
    let (pass, sums, state_words) = match shape {
        Shape::Groups { lanes, rows: together, loads, grid } => {
            let name = format!("l{lanes}r{together}u{loads}");
            let mut pass = pass("groups", &name, format!("{lanes}, {together}, {loads}"), grid.into(), 256, whole_rows);
            pass.additions = lane_additions(problem, cols, lanes.into()) + u64::from(lanes.ilog2());
            (pass, vec![out], 0)
        }
        Shape::Short { most, grid } => {
            let args = vec![Arg::Input, Arg::Sums(0), Arg::U64(rows), Arg::U32(cols as u32)];
            let mut pass = pass("short", &format!("m{most}"), most.to_string(), grid.into(), 256, args);
            pass.additions = cols;
            (pass, vec![out], 0)
        }
        Shape::Block { block, loads, grid } => {
            let name = format!("t{block}u{loads}");
            let mut pass = pass("block", &name, format!("{block}, {loads}"), grid.into(), block.into(), whole_rows);
            pass.additions = lane_additions(problem, cols, block.into()) + block_additions(block.into());
            (pass, vec![out], 0)
        }
        Shape::Parts { block, loads, parts, length } => {
            let name = format!("t{block}u{loads}");
            let args = vec![
                Arg::Input,
                Arg::Sums(1),
                Arg::U32(cols as u32),
                Arg::U64(pitch),
                Arg::U32(parts),
                Arg::U32(length),
                Arg::Sums(0),
                Arg::State,
            ];
            let grid = rows * u64::from(parts);
            let mut pass = pass("parts", &name, format!("{block}, {loads}"), grid, block.into(), args);
            let of_parts = u64::from(parts).div_ceil(block.into()) + block_additions(block.into());
            pass.additions =
                lane_additions(problem, length.into(), block.into()) + block_additions(block.into()) + of_parts;
            // A ticket of 32 bits a row.
            (pass, vec![values(problem, grid), out], rows.div_ceil(2))
        }
    };
    Plan { passes: vec![pass], sums, state_words, why: shape.why(problem, cols), ..Plan::default() }
}

/// `columns_x32w4u2<<<tiles * parts, 256>>>(in, out, rows, cols, pitch, parts, values, tickets)`
pub fn columns(problem: &Problem<'_>) -> Plan {
    columns_of(problem, columns_for(problem, problem.matrix()))
}

/// One launch for columns in this shape.
pub fn columns_of(problem: &Problem<'_>, Columns { lanes, width, loads, parts }: Columns) -> Plan {
    let Matrix { rows, cols, pitch } = problem.matrix();
    let tile = u64::from(lanes * width);
    let tiles = cols.div_ceil(tile);
    let args = vec![
        Arg::Input,
        Arg::Sums(1),
        Arg::U64(rows),
        Arg::U32(cols as u32),
        Arg::U64(pitch),
        Arg::U32(parts),
        Arg::Sums(0),
        Arg::State,
    ];
    let beside = u64::from(256 / lanes);
    let grid = tiles * u64::from(parts);
    let pass = Pass {
        line: Some(format!("COLUMNS({}, {lanes}, {width}, {loads})", instance(problem))),
        elements: rows * cols,
        additions: rows.div_ceil(parts.into()).div_ceil(beside) + beside + u64::from(parts),
        ..Pass::new(problem.entry("columns", &format!("x{lanes}w{width}u{loads}")), grid, 256, args)
    };
    let sums = vec![values(problem, grid * tile), results(problem, cols)];
    Plan {
        passes: vec![pass],
        sums,
        state_words: tiles.div_ceil(2),
        why: format!(
            "{lanes} lanes side by side take {tile} columns, {width} each; {} of each such tile",
            if parts == 1 { "one block takes all rows".to_owned() } else { format!("{parts} blocks share the rows") }
        ),
        ..Plan::default()
    }
}

/// Most columns of one launch, which counts them in 32 bits: a multiple of every vector.
pub const PANEL: u64 = 1 << 30;

/// [`columns`] of a matrix of any width, in panels of so many columns, a launch each.
pub fn panels(problem: &Problem<'_>, matrix: Matrix, most: u64) -> Plan {
    let (size, result) = (problem.ty.bytes(), problem.op.row_bytes(problem.ty));
    let of_panel = |first: u64| {
        let panel = Matrix { cols: (matrix.cols - first).min(most), ..matrix };
        columns(&Problem { layout: Layout::Columns(panel), ..*problem })
    };
    if matrix.cols <= most {
        return of_panel(0);
    }
    let part = |first| Part { plan: of_panel(first), input: first * size, out: first * result };
    let mut plan = Plan::in_turn((0..matrix.cols).step_by(most as usize).map(part).collect());
    plan.why += &format!("; a launch for each {} columns", grouped(most));
    plan.sums[1] = results(problem, matrix.cols);
    plan
}

/// Most slices of one launch: blocks of a grid in y.
const SLICES_MAX: u64 = 65_535;
/// Most slices of a tensor: a quarter of a million launches.
pub const OUTER_MAX: u64 = 1 << 34;

/// `axis_x32w4u2<<<(tiles * parts, slices), 256>>>(in, out, rows, cols, pitch, parts, values, tickets, slice, first)`: columns of every
/// slice of a tensor, as many in one launch as a grid has in y. A slice begins so many elements behind the one before it.
pub fn axis(problem: &Problem<'_>, axis: Axis, slice: u64, panel: u64) -> Plan {
    let Axis { outer, inner, .. } = axis;
    if inner > panel {
        return wide_slices(problem, axis, slice, panel);
    }
    // Slices keep the card busy together.
    let Columns { lanes, mut width, mut loads, parts } = columns_for(problem, problem.matrix());
    if !problem.on_demand {
        // The one shape that the PTX has.
        (width, loads) = (1, 2);
    }
    let parts = u64::from(parts).div_ceil(outer.max(1)).max(1) as u32;
    let one = columns_of(problem, Columns { lanes, width, loads, parts });
    let of_slice = one.passes[0].clone();
    let launch = |first: u64| {
        let slices = (outer - first).min(SLICES_MAX);
        let mut pass = of_slice.clone();
        pass.kernel = problem.entry("axis", &format!("x{lanes}w{width}u{loads}"));
        pass.line = pass.line.map(|line| line.replacen("COLUMNS", "AXIS", 1));
        pass.geometry.grid[1] = slices as u32;
        pass.elements *= slices;
        pass.args.extend([Arg::U64(slice), Arg::U64(first)]);
        pass
    };
    let passes = (0..outer).step_by(SLICES_MAX as usize).map(launch).collect();
    let grid = u64::from(of_slice.grid());
    // Blocks that do not meet leave nothing.
    let meeting = if parts > 1 { outer * grid } else { 0 };
    let sums = vec![values(problem, meeting * u64::from(lanes * width)), results(problem, outer * inner)];
    let why = format!("{}; a slice for each of {} indices before the axis", one.why, grouped(outer));
    Plan { passes, sums, state_words: (meeting / u64::from(parts)).div_ceil(2), why, ..Plan::default() }
}

/// Slices of more columns than a launch counts, each by itself.
fn wide_slices(problem: &Problem<'_>, Axis { outer, reduced, inner }: Axis, slice: u64, panel: u64) -> Plan {
    let (size, result) = (problem.ty.bytes(), problem.op.row_bytes(problem.ty));
    let part = |at: u64| Part {
        plan: panels(problem, Matrix::dense(reduced, inner), panel),
        input: at * slice * size,
        out: at * inner * result,
    };
    let mut plan = Plan::in_turn((0..outer).map(part).collect());
    plan.sums[1] = results(problem, outer * inner);
    plan
}

/// `ragged_o32_s7<<<tiles, 256>>>(in, offsets, out, rows, carries, heads, cuts)`, then
/// `sew_o32_s7<<<⌈tiles / 8⌉, 256>>>(offsets, out, carries, heads, cuts, tiles)` if there is more than one tile.
pub fn ragged(problem: &Problem<'_>) -> Plan {
    ragged_of(problem, if problem.on_demand { 31 } else { 7 })
}

/// Ragged rows with so many steps a thread, an odd number.
pub fn ragged_of(problem: &Problem<'_>, steps: u64) -> Plan {
    let segments = match problem.layout {
        Layout::Ragged(segments) => segments,
        _ => Segments::new(1, problem.n, 32),
    };
    let tile = 256 * steps;
    let Segments { rows, elements: n, longest, bits, checked } = segments;
    let tiles = (n + rows).div_ceil(tile);
    let (carries, heads, cuts) = (Arg::Sums(0), Arg::Sums(1), Arg::Sums(2));
    let (checks, offsets, out) = match checked {
        true => (checks(rows + 1, n, bits, 3), Arg::Sums(4), Arg::Sums(5)),
        false => (Vec::new(), Arg::Offsets, Arg::Sums(3)),
    };
    let (offset, bits) = if bits == 64 { ("unsigned long long", "o64") } else { ("unsigned int", "o32") };
    let line = Some(format!("RAGGED({}, {offset}, {bits}, {steps})", instance(problem)));
    let shape = format!("{bits}_s{steps}");
    let first = Pass {
        line: line.clone(),
        elements: n,
        // A thread's own, the scan of a warp, the warps before it, and what comes in.
        additions: steps + 5 + 8 + 2,
        ..Pass::new(
            problem.entry("ragged", &shape),
            tiles,
            256,
            vec![Arg::Input, offsets, out, Arg::U64(rows), carries, heads, cuts],
        )
    };
    let of_tiles = longest / tile + 2;
    let second = Pass {
        line,
        elements: tiles,
        additions: of_tiles.div_ceil(32) + block_additions(256) + 1,
        ..Pass::new(
            problem.entry("sew", &shape),
            tiles.div_ceil(8),
            256,
            vec![offsets, out, carries, heads, cuts, Arg::U32(tiles as u32)],
        )
    };
    let mut passes = checks;
    passes.push(first);
    passes.extend((tiles > 1).then_some(second));
    let mut sums = vec![values(problem, tiles), values(problem, tiles), problem.ty.holding(8 * tiles)];
    if checked {
        sums.extend([4 * CHECKERS, u64::from(segments.bits / 8) * (rows + 1)].map(|bytes| problem.ty.holding(bytes)));
    }
    sums.push(results(problem, rows));
    Plan {
        passes,
        sums,
        why: format!(
            "{tile} steps a block and {steps} a thread, where an element and the end of a row are a step each"
        ),
        ..Plan::default()
    }
}

/// Most blocks that check offsets: each of a block's threads hears of one.
pub(super) const CHECKERS: u64 = 256;

/// The launches that check so many offsets, and copy them or zeros, by the plan's arrays `at` and the one behind it.
pub(super) fn checks(count: u64, elements: u64, bits: u32, at: usize) -> Vec<Pass> {
    let grid = count.div_ceil(1024).min(CHECKERS);
    let (wrong, copy) = (Arg::Sums(at), Arg::Sums(at + 1));
    let pass = |name, args| Pass::new(format!("{name}_offsets_o{bits}"), grid, 256, args);
    vec![
        pass("check", vec![Arg::Offsets, Arg::U64(count), Arg::U64(elements), wrong]),
        pass("copy", vec![Arg::Offsets, Arg::U64(count), wrong, copy, Arg::Operand(Role::Flag)]),
    ]
}
