//! Wrong operators. Each is a small kernel beside the tests: one block over random numbers.

use lab::{Arg, BlockRule, Mistake, Op, Pass, Plan, Problem, Type, Variant};

const WRONG: Variant = Variant {
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 4096,
    launches: one_block,
    ..Variant::BASE
};

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        // The first three numbers of every input are negative.
        variant: Variant {
            name: "max_from_zero",
            types: &[Type::I32],
            ops: &[Op::Max],
            elements_per_block: |_| 3,
            ..WRONG
        },
        mistake: "the largest element is looked for from 0 on, which is larger than every negative one",
    },
    Mistake {
        variant: Variant { name: "any_tie", types: &[Type::I8], ops: &[Op::Argmax], ..WRONG },
        mistake: "of equal elements the one is taken whose thread comes last",
    },
    Mistake {
        variant: Variant { name: "narrow_sum", types: &[Type::U8], ..WRONG },
        mistake: "bytes are added up in 16 bits, which 258 of the largest overflow",
    },
];

/// `kernel<<<1, 256>>>(in, out, n)`.
fn one_block(problem: &Problem) -> Plan {
    let (n, ty) = (problem.n, problem.ty);
    let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(n as u32)];
    let pass = Pass::new(problem.kernel(), 1, problem.block(), args).with_elements(n);
    let result = ty.holding(problem.op.result_bytes(ty));
    Plan::new(vec![pass], vec![result])
}
