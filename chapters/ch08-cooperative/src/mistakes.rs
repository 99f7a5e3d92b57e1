//! Wrong ways for blocks to meet. Each is a small kernel beside the tests, launched over eight blocks of random numbers.

use lab::{Arg, Code, Mistake, Plan, Problem, Type, Variant};

use crate::{last_block, one_launch};

const WRONG: Variant = Variant { types: &[Type::I32], elements_per_block: |_| 16_384, ..Variant::BASE };

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        variant: Variant {
            name: "block_barrier",
            announced: Some(Code::GlobalRace),
            launches: |problem| one_launch(problem, &[]),
            ..WRONG
        },
        mistake: "the barrier of a block is taken for one of the grid",
    },
    Mistake {
        variant: Variant { name: "no_fence", announced: Some(Code::GlobalRace), launches: last_block, ..WRONG },
        mistake: "a ticket is taken, and nothing puts the value before it",
    },
    Mistake {
        variant: Variant { name: "no_reset", launches: twice, ..WRONG },
        mistake: "the counter of tickets is not put back, so that the second launch has no last block",
    },
    Mistake {
        variant: Variant { name: "flag_apart", announced: Some(Code::GlobalRace), launches: flags, ..WRONG },
        mistake: "value and flag are two words, and nothing orders them",
    },
];

/// Two launches over the same input, with the counter that the first has left. The result is the second's.
fn twice(problem: &Problem) -> Plan {
    let mut plan = last_block(problem);
    let mut second = plan.passes[0].clone();
    second.args[1] = Arg::Sums(2);
    plan.passes.push(second);
    plan.sums.push(1);
    plan
}

/// One launch with half a word of state for each block.
fn flags(problem: &Problem) -> Plan {
    let mut plan = last_block(problem);
    plan.state_words = plan.sums[0].div_ceil(2);
    plan
}
