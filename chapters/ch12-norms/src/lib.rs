//! Chapter 12, norms: rows that are divided by their size, forward and backward, where the gradients of weights are sums over all
//! rows.

mod mistakes;

use lab::{BlockRule, Chapter, Matrix, Op, Per, Plan, Problem, Type, Variant};

use reduction::families::norms::{self, ROUNDINGS, kernels_for};

const FORWARD: &[Op] = &[Op::LayerNorm, Op::RmsNorm, Op::AddLayerNorm, Op::AddRmsNorm];
const ALL: &[Op] =
    &[Op::LayerNorm, Op::RmsNorm, Op::AddLayerNorm, Op::AddRmsNorm, Op::LayerNormBackward, Op::RmsNormBackward];

/// The form that anyone would write first.
const THREE_PASSES: Variant = Variant {
    name: "three_passes",
    idea: "a block a row: once for the mean, once for the variance, once for the results",
    limit: "a row comes from memory up to three times",
    types: &[Type::F16, Type::BF16, Type::F32],
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
            launches: |problem| norms::two_passes(problem),
            ..THREE_PASSES
        },
        Variant {
            name: "held",
            idea: "the threads of a block hold their row in registers; backward a block takes many rows, and its threads sum up their columns",
            limit: "a short row leaves most of the block idle, and a long one does not fit: it is read twice",
            ops: ALL,
            launches: |problem| norms::held(problem),
            ..THREE_PASSES
        },
        Variant {
            name: "norm",
            idea: "one plan chooses who holds a row: a few lanes, a block, a cluster of blocks; longer rows are shared out and read twice",
            limit: "bandwidth; backward the sums over all rows",
            ops: ALL,
            launches: |problem| norms::norm(problem),
            ..THREE_PASSES
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    on_demand: true,
    ..Chapter::BASE
};

/// `three_passes_layer_norm_f32<<<rows, 256>>>(…)`
fn three_passes(problem: &Problem) -> Plan {
    let (Matrix { rows, cols, .. }, kernels) = (problem.matrix(), kernels_for(problem, false, false));
    let pass = kernels.pass("three_passes", "", kernels.line("THREE", ""), rows, 256);
    kernels.one(pass, cols.div_ceil(256) + (ROUNDINGS.block)(256))
}
