//! Wrong ways to be exact. Each is a small kernel beside the tests.

use lab::{Arg, BlockRule, Mistake, Pass, Plan, Problem, Type, Variant};

const WRONG: Variant = Variant {
    types: &[Type::F32],
    blocks: BlockRule { min: 32, max: 32, default: 32 },
    elements_per_block: |_| 4096,
    launches: one_warp,
    ..Variant::BASE
};

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        variant: Variant { name: "simplified", elements_per_block: |_| 65_536, far: 1000.0, ..WRONG },
        mistake: "(total - sum) - y is taken for 0, which it would be if floats were numbers",
    },
    Mistake {
        variant: Variant { name: "lost_rest", elements_per_block: |_| 65_536, far: 1000.0, ..WRONG },
        mistake: "lanes keep what their additions round off, and the merge drops it",
    },
    Mistake {
        // Numbers from 1 to 2, half of these, are shifted by 31 bits, the most.
        variant: Variant { name: "no_carry", elements_per_block: |_| 65_536, far: 1.5, ..WRONG },
        mistake: "slots are never carried: 64 bits hold 511 additions of the largest kind",
    },
];

/// `kernel<<<1, 32>>>(in, out, n)`, whose result is rounded once or twice if it is right.
fn one_warp(problem: &Problem) -> Plan {
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(problem.n as u32)];
    let pass = Pass::new(problem.kernel(), 1, problem.block(), args).with_elements(problem.n).with_additions(2);
    Plan::new(vec![pass], vec![1])
}
