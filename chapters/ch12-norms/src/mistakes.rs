//! Wrong ways to norm a row. Each is a small kernel beside the tests, of floats.

use lab::{Arg, BlockRule, Code, Mistake, Op, Pass, Per, Plan, Problem, Type, Variant};

use reduction::families::norms::results;

const WRONG: Variant = Variant {
    types: &[Type::F32],
    ops: &[Op::LayerNorm],
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    per: Per::Row,
    launches: a_block_a_row,
    ..Variant::BASE
};

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        variant: Variant { name: "squares_less_square", elements_per_block: |_| 1031, far: 1000.0, ..WRONG },
        mistake: "the variance is the mean of the squares less the square of the mean, of numbers far from 0",
    },
    Mistake {
        variant: Variant { name: "means_of_means", elements_per_block: |_| 1031, ..WRONG },
        mistake: "the lanes' variances are added up, and each was taken around a mean of its own",
    },
    Mistake {
        variant: Variant {
            name: "same_buffer",
            ops: &[Op::RmsNorm],
            launches: one_block,
            announced: Some(Code::SharedRace),
            elements_per_block: |_| 1024,
            ..WRONG
        },
        mistake: "a block takes row after row, and writes the next one's sums where slower warps still read this one's",
    },
];

/// `kernel<<<rows, 256>>>(in, out, cols, pitch, weights, biases)`
fn a_block_a_row(problem: &Problem) -> Plan {
    let matrix = problem.matrix();
    let args =
        vec![Arg::Input, Arg::Sums(0), Arg::U32(matrix.cols as u32), Arg::U64(matrix.pitch), Arg::Weights, Arg::Biases];
    let pass = Pass::new(format!("{}_{}", problem.variant.name, problem.ty), matrix.rows, problem.block(), args)
        .with_elements(problem.n)
        .with_additions(matrix.cols.div_ceil(256) + 26);
    Plan::new(vec![pass], vec![results(problem)])
}

/// `kernel<<<1, 256>>>(in, out, rows, cols, pitch, weights)`
fn one_block(problem: &Problem) -> Plan {
    let matrix = problem.matrix();
    let mut plan = a_block_a_row(problem);
    for pass in &mut plan.passes {
        pass.geometry.grid = [1, 1, 1];
        pass.args.insert(2, Arg::U64(matrix.rows));
        pass.args.pop(); // the biases
    }
    plan
}
