//! Wrong ways to bring pairs together. Each is a small kernel beside the tests, of softmax of floats, a row a block.

use lab::{Arg, BlockRule, Code, Mistake, Op, Pass, Per, Plan, Problem, Type, Variant};

use reduction::families::softmax::results;

const WRONG: Variant = Variant {
    types: &[Type::F32],
    ops: &[Op::Softmax],
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    per: Per::Row,
    launches: a_block_a_row,
    ..Variant::BASE
};

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        variant: Variant { name: "unscaled", elements_per_block: |_| 1031, ..WRONG },
        mistake: "the lanes' sums are added up, and each was taken with a maximum of its own",
    },
    Mistake {
        variant: Variant { name: "empty_lanes", elements_per_block: |_| 20, ..WRONG },
        mistake: "a lane without an element subtracts -inf from -inf",
    },
    Mistake {
        variant: Variant {
            name: "one_buffer",
            announced: Some(Code::SharedRace),
            elements_per_block: |_| 1031,
            ..WRONG
        },
        mistake: "the sum goes through the words of shared memory that others still read the maximum from",
    },
];

/// `kernel<<<rows, 256>>>(in, out, cols, pitch)`
fn a_block_a_row(problem: &Problem) -> Plan {
    let matrix = problem.matrix();
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(matrix.cols as u32), Arg::U64(matrix.pitch)];
    // They have one operation, which their names leave out.
    let kernel = format!("{}_{}", problem.variant.name, problem.ty);
    let pass = Pass::new(kernel, matrix.rows, problem.block(), args)
        .with_elements(problem.n)
        .with_additions(matrix.cols.div_ceil(256) + 10);
    Plan::new(vec![pass], vec![results(problem)])
}
