//! Chapter 10, rows: a value for each row of a matrix, for each column, or for each of many rows of any length.

mod mistakes;

use lab::{Arg, BlockRule, Chapter, Matrix, Op, Pass, Per, Plan, Problem, Type, Variant};

use reduction::families::rows::{self, block_additions, instance, results};

/// The form that anyone would write first.
const THREAD_A_ROW: Variant = Variant {
    name: "thread_a_row",
    idea: "a thread takes a row, element by element",
    limit: "the lanes of a warp read different rows: each load touches as many sectors as there are lanes",
    types: &[Type::I32, Type::F16, Type::BF16, Type::F32],
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
            launches: |problem| rows::groups(problem),
            ..THREAD_A_ROW
        },
        Variant {
            name: "rows",
            idea: "one plan chooses by the shape: lane groups, a block a row, or many blocks a row",
            limit: "bandwidth; for small matrices the launch",
            launches: |problem| rows::rows(problem),
            ..THREAD_A_ROW
        },
        Variant {
            name: "columns",
            idea: "a value a column: lanes lie along the row, so that they read beside each other and no lane needs another one's value",
            limit: "bandwidth; what many blocks have of a column is brought together by the last of them",
            per: Per::Column,
            launches: |problem| rows::columns(problem),
            ..THREAD_A_ROW
        },
        Variant {
            name: "ragged",
            idea: "rows of any length: elements and ends of rows are one list, of which every thread takes as much as any other",
            limit: "each element goes through shared memory once; rows that lie over several blocks need a second launch",
            per: Per::RaggedRow,
            launches: |problem| rows::ragged(problem),
            ..THREAD_A_ROW
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// `thread_a_row<<<⌈rows / 256⌉, 256>>>(in, out, rows, cols, pitch)`
fn thread_a_row(problem: &Problem) -> Plan {
    let Matrix { rows, cols, pitch } = problem.matrix();
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U64(rows), Arg::U32(cols as u32), Arg::U64(pitch)];
    let pass = Pass::new(problem.kernel(), rows.div_ceil(256), 256, args)
        .with_line(format!("LESSON({})", instance(problem)))
        .with_elements(rows * cols)
        .with_additions(cols);
    Plan::new(vec![pass], vec![results(problem, rows)])
}

/// `block_a_row<<<rows, 256>>>(in, out, cols, pitch)`
fn block_a_row(problem: &Problem) -> Plan {
    let Matrix { rows, cols, pitch } = problem.matrix();
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(cols as u32), Arg::U64(pitch)];
    let pass = Pass::new(problem.kernel(), rows, 256, args)
        .with_line(format!("LESSON({})", instance(problem)))
        .with_elements(rows * cols)
        .with_additions(cols.div_ceil(256) + block_additions(256));
    Plan::new(vec![pass], vec![results(problem, rows)])
}
