//! Chapter 10, rows: a value for each row of a matrix, for each column, or for each of many rows of any length.

mod mistakes;
mod shapes;

use lab::team::{matrix, per_vector};
use lab::{Arg, BlockRule, Chapter, Layout, Matrix, Offsets, Op, Pass, Per, Plan, Problem, Type, Variant};

use crate::shapes::columns_for;
pub use crate::shapes::{Columns, Shape, shape_for};

/// The form that anyone would write first.
const THREAD_A_ROW: Variant = Variant {
    name: "thread_a_row",
    idea: "a thread takes a row, element by element",
    limit: "the lanes of a warp read different rows: each load touches as many sectors as there are lanes",
    types: &[Type::I32, Type::BF16, Type::F32],
    ops: &[Op::Sum, Op::Max, Op::Maximum, Op::Argmax, Op::Meanvar],
    takes: |op, ty| op == Op::Sum || ty != Type::I32,
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 2048,
    per: Per::Row,
    launches: thread_a_row,
    chooses_grid: true,
    n_max: 1 << 40,
    ..Variant::BASE
};

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch10-rows",
    title: "Many sums at once",
    before: None,
    variants: &[
        THREAD_A_ROW,
        Variant {
            name: "block_a_row",
            idea: "a block takes a row, as the chapters before took an array",
            limit: "of a short row most threads have nothing, and all of them wait for each other",
            launches: block_a_row,
            ..THREAD_A_ROW
        },
        Variant {
            name: "groups",
            idea: "a row gets as many lanes as it can feed with 16 bytes each: a warp takes several rows, without a barrier",
            limit: "a warp is the most that a row gets: few long rows leave most of the card idle",
            launches: groups,
            ..THREAD_A_ROW
        },
        Variant {
            name: "rows",
            idea: "one plan chooses by the shape: lane groups, a block a row, or many blocks a row",
            limit: "bandwidth; for small matrices the launch",
            launches: rows,
            ..THREAD_A_ROW
        },
        Variant {
            name: "columns",
            idea: "a value a column: lanes lie along the row, so that they read beside each other and no lane needs another one's value",
            limit: "bandwidth; what many blocks have of a column is brought together by the last of them",
            per: Per::Column,
            launches: columns,
            ..THREAD_A_ROW
        },
        Variant {
            name: "ragged",
            idea: "rows of any length: elements and ends of rows are one list, of which every thread takes as much as any other",
            limit: "each element goes through shared memory once; rows that lie over several blocks need a second launch",
            per: Per::RaggedRow,
            launches: ragged,
            ..THREAD_A_ROW
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// Elements of the array that holds so many results.
fn results(problem: &Problem, count: u64) -> u64 {
    problem.ty.holding(count * problem.options.op.row_bytes(problem.ty))
}

/// Elements of an array of so many values that blocks leave each other.
fn values(problem: &Problem, count: u64) -> u64 {
    problem.ty.holding(count * problem.options.op.value_bytes(problem.ty))
}

/// Combinations on the longest path through a block: a column of each warp's, then a warp.
fn block_additions(block: u64) -> u64 {
    block / 32 - 1 + 5
}

/// Combinations of a lane's vectors of a row, one after the other, with those in a vector and the odd elements.
fn lane_additions(problem: &Problem, cols: u64, lanes: u64) -> u64 {
    let per = per_vector(problem);
    cols.div_ceil(per).div_ceil(lanes) + per + (2 * per - 2).div_ceil(lanes)
}

/// Arguments for the macros of the kernels' file: the operator, and the names of it and of the type in kernels' names.
fn instance(problem: &Problem) -> String {
    let element = match problem.ty {
        Type::I32 => "int",
        Type::BF16 => "bf16",
        _ => "float",
    };
    let (operator, name) = match problem.options.op {
        Op::Max => ("Max", "_max"),
        Op::Maximum => ("Maximum", "_maximum"),
        Op::Argmax => ("ArgMax", "_argmax"),
        Op::Meanvar => ("MeanVariance", "_meanvar"),
        _ => ("Sum", ""),
    };
    format!("{operator}<{element}>, {name}, {}", problem.ty)
}

/// A kernel of this chapter that is not named like its variant: `parts_argmax_t256u4_f32`.
fn kernel(problem: &Problem, name: &str, shape: &str) -> String {
    let instance = if shape.is_empty() { problem.kernel() } else { problem.instance(shape) };
    instance.replacen(problem.variant.name, name, 1)
}

/// `thread_a_row<<<⌈rows / 256⌉, 256>>>(in, out, rows, cols, pitch)`
fn thread_a_row(problem: &Problem) -> Plan {
    let Matrix { rows, cols, pitch } = matrix(problem);
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U64(rows), Arg::U32(cols as u32), Arg::U64(pitch)];
    let pass = Pass {
        line: Some(format!("LESSON({})", instance(problem))),
        elements: rows * cols,
        additions: cols,
        ..Pass::new(problem.kernel(), rows.div_ceil(256), 256, args)
    };
    Plan { passes: vec![pass], sums: vec![results(problem, rows)], ..Plan::default() }
}

/// `block_a_row<<<rows, 256>>>(in, out, cols, pitch)`
fn block_a_row(problem: &Problem) -> Plan {
    let Matrix { rows, cols, pitch } = matrix(problem);
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(cols as u32), Arg::U64(pitch)];
    let pass = Pass {
        line: Some(format!("LESSON({})", instance(problem))),
        elements: rows * cols,
        additions: cols.div_ceil(256) + block_additions(256),
        ..Pass::new(problem.kernel(), rows, 256, args)
    };
    Plan { passes: vec![pass], sums: vec![results(problem, rows)], ..Plan::default() }
}

/// `groups_l8r1u2<<<grid, 256>>>(in, out, rows, cols, pitch)`
fn groups(problem: &Problem) -> Plan {
    plan_for(problem, shapes::groups(problem, matrix(problem)))
}

/// One of the three, by the plan of `shapes.rs`.
fn rows(problem: &Problem) -> Plan {
    plan_for(problem, shape_for(problem, matrix(problem)))
}

/// One launch in this shape.
pub fn plan_for(problem: &Problem, shape: Shape) -> Plan {
    let Matrix { rows, cols, pitch } = matrix(problem);
    let pass = |name: &str, shape: &str, macro_args: String, grid: u64, block: u64, args: Vec<Arg>| Pass {
        line: Some(format!("{}({}, {macro_args})", name.to_uppercase(), instance(problem))),
        elements: rows * cols,
        ..Pass::new(kernel(problem, name, shape), grid, block, args)
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
fn columns(problem: &Problem) -> Plan {
    columns_of(problem, columns_for(problem, matrix(problem)))
}

/// One launch for columns in this shape.
pub fn columns_of(problem: &Problem, Columns { lanes, width, loads, parts }: Columns) -> Plan {
    let Matrix { rows, cols, pitch } = matrix(problem);
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
        ..Pass::new(kernel(problem, "columns", &format!("x{lanes}w{width}u{loads}")), grid, 256, args)
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

/// `ragged_o32_s7<<<tiles, 256>>>(in, offsets, out, rows, carries, heads, cuts)`, then
/// `sew_o32_s7<<<⌈tiles / 8⌉, 256>>>(offsets, out, carries, heads, cuts, tiles)` if there is more than one tile.
fn ragged(problem: &Problem) -> Plan {
    ragged_of(problem, if problem.on_demand { 31 } else { 7 })
}

/// Ragged rows with so many steps a thread, an odd number.
pub fn ragged_of(problem: &Problem, steps: u64) -> Plan {
    let offsets = match problem.layout() {
        Layout::Ragged(offsets) => offsets,
        _ => Offsets::even(1, problem.n),
    };
    let tile = 256 * steps;
    let rows = offsets.rows();
    let n = offsets.at(rows) - offsets.at(0);
    let tiles = (n + rows).div_ceil(tile);
    let (carries, heads, cuts, out) = (Arg::Sums(0), Arg::Sums(1), Arg::Sums(2), Arg::Sums(3));
    let (offset, bits) = if offsets.bits == 64 { ("unsigned long long", "o64") } else { ("unsigned int", "o32") };
    let line = Some(format!("RAGGED({}, {offset}, {bits}, {steps})", instance(problem)));
    let shape = format!("{bits}_s{steps}");
    let first = Pass {
        line: line.clone(),
        elements: n,
        // A thread's own, the scan of a warp, the warps before it, and what comes in.
        additions: steps + 5 + 8 + 2,
        ..Pass::new(
            kernel(problem, "ragged", &shape),
            tiles,
            256,
            vec![Arg::Input, Arg::Offsets, out, Arg::U64(rows), carries, heads, cuts],
        )
    };
    let of_tiles = offsets.longest() / tile + 2;
    let second = Pass {
        line,
        elements: tiles,
        additions: of_tiles.div_ceil(32) + block_additions(256) + 1,
        ..Pass::new(
            kernel(problem, "sew", &shape),
            tiles.div_ceil(8),
            256,
            vec![Arg::Offsets, out, carries, heads, cuts, Arg::U32(tiles as u32)],
        )
    };
    let passes = if tiles > 1 { vec![first, second] } else { vec![first] };
    let sums =
        vec![values(problem, tiles), values(problem, tiles), problem.ty.holding(8 * tiles), results(problem, rows)];
    Plan {
        passes,
        sums,
        why: format!(
            "{tile} steps a block and {steps} a thread, where an element and the end of a row are a step each"
        ),
        ..Plan::default()
    }
}
