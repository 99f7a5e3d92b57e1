//! Chapter 11, softmax: results as large as the input, from two numbers of each row, its maximum and a sum of exponentials.

mod mistakes;

use lab::{BlockRule, Chapter, Matrix, Op, Per, Plan, Problem, Type, Variant};

use reduction::families::softmax::{self, ROUNDINGS, kernels};

/// The form that anyone would write first.
const THREE_PASSES: Variant = Variant {
    name: "three_passes",
    idea: "a block a row: once for the maximum, once for the sum of the exponentials, once for the results",
    limit: "a row comes from memory up to three times",
    types: &[Type::F16, Type::BF16, Type::F32],
    ops: &[Op::Softmax, Op::LogSoftmax, Op::Logsumexp, Op::CrossEntropy, Op::CrossEntropyBackward],
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 4096,
    per: Per::Row,
    launches: three_passes,
    chooses_grid: true,
    n_max: 1 << 40,
    ..Variant::BASE
};

/// Operations of the other variants: three passes are for operations that need a maximum first.
const ALL: &[Op] = &[
    Op::Softmax,
    Op::LogSoftmax,
    Op::Logsumexp,
    Op::CrossEntropy,
    Op::SoftmaxBackward,
    Op::LogSoftmaxBackward,
    Op::CrossEntropyBackward,
];

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch11-softmax",
    title: "Softmax",
    variants: &[
        THREE_PASSES,
        Variant {
            name: "two_passes",
            idea: "maximum and sum are one value, a pair that merges: one pass finds both, the second writes",
            limit: "a row still comes twice, and where many rows are under way the second time from memory",
            ops: ALL,
            launches: |problem| softmax::two_passes(problem),
            ..THREE_PASSES
        },
        Variant {
            name: "held",
            idea: "the threads of a block hold their row in registers: it is read once",
            limit: "a short row leaves most of the block idle, and a long one does not fit: it is read twice",
            ops: ALL,
            launches: |problem| softmax::held(problem),
            ..THREE_PASSES
        },
        Variant {
            name: "softmax",
            idea: "one plan chooses who holds a row: a few lanes, a block, a cluster of blocks; longer rows are shared out and read twice",
            limit: "bandwidth",
            ops: ALL,
            launches: |problem| softmax::softmax(problem),
            ..THREE_PASSES
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// `three_passes_softmax_f32<<<rows, 256>>>(…)`
fn three_passes(problem: &Problem) -> Plan {
    let (Matrix { rows, cols, .. }, kernels) = (problem.matrix(), kernels(problem));
    let pass = kernels.pass("three_passes", "", kernels.line("THREE", ""), rows, 256);
    kernels.one(pass, cols.div_ceil(256) + (ROUNDINGS.block)(256))
}
