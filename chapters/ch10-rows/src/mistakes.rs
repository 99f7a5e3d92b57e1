//! Wrong ways to share rows out. Each is a small kernel beside the tests, of sums of floats.

use lab::{Arg, BlockRule, Code, Mistake, Pass, Per, Plan, Problem, Type, Variant};

use reduction::families::rows::results;

const WRONG: Variant = Variant {
    types: &[Type::F32],
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    per: Per::Row,
    launches: one_block,
    ..Variant::BASE
};

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        variant: Variant {
            name: "early_exit",
            announced: Some(Code::InactiveShuffleLane),
            elements_per_block: |_| 20,
            ..WRONG
        },
        mistake: "lanes for which a row has no element leave, and the others of the row read from them",
    },
    Mistake {
        variant: Variant { name: "whole_warp", elements_per_block: |_| 4 * 64, ..WRONG },
        mistake: "the shuffles go over the whole warp, in which there are four rows",
    },
    Mistake {
        variant: Variant {
            name: "any_vectors",
            announced: Some(Code::Misaligned),
            elements_per_block: |_| 509,
            offset: 1,
            ..WRONG
        },
        mistake: "a row is read in vectors of 16 bytes, wherever it begins",
    },
];

/// `kernel<<<1, 256>>>(in, out, rows, cols)`.
fn one_block(problem: &Problem) -> Plan {
    let matrix = problem.matrix();
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(matrix.rows as u32), Arg::U32(matrix.cols as u32)];
    let pass = Pass::new(problem.kernel(), 1, problem.block(), args)
        .with_elements(problem.n)
        .with_additions(matrix.cols.div_ceil(8) + 5);
    Plan::new(vec![pass], vec![results(problem, matrix.rows)])
}
