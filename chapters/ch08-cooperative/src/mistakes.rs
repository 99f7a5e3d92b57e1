//! Wrong ways for blocks to meet. Each is a small kernel beside the tests, launched over eight blocks of random numbers.

use lab::{Ask, Code, Mistake, Plan, Slot, Type, Variant};

use crate::plans;

const WRONG: Variant = Variant { types: &[Type::I32], elements_per_block: |_| 16_384, ..Variant::BASE };

/// In the order of the page.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        variant: Variant {
            name: "block_barrier",
            announced: Some(Code::GlobalRace),
            plan: Some(|ask| plans::one_launch(ask, "block_barrier", &[])),
            ..WRONG
        },
        mistake: "the barrier of a block is taken for one of the grid",
    },
    Mistake {
        variant: Variant {
            name: "no_fence",
            announced: Some(Code::GlobalRace),
            plan: Some(|ask| plans::one_launch(ask, "no_fence", &[Slot::State])),
            ..WRONG
        },
        mistake: "a ticket is taken, and nothing puts the value before it",
    },
    Mistake {
        variant: Variant { name: "no_reset", plan: Some(twice), ..WRONG },
        mistake: "the counter of tickets is not put back, so that the second launch has no last block",
    },
    Mistake {
        variant: Variant { name: "flag_apart", announced: Some(Code::GlobalRace), plan: Some(flags), ..WRONG },
        mistake: "value and flag are two words, and nothing orders them",
    },
];

/// Two launches over the same input, with the counter that the first has left. The result is the second's.
fn twice(ask: &Ask) -> Plan {
    let mut plan = plans::one_launch(ask, "no_reset", &[Slot::State]);
    let mut second = plan.passes[0].clone();
    second.args[1] = Slot::Sums(2);
    plan.passes.push(second);
    plan.sums.push(1);
    plan
}

/// One launch with half a word of state for each block.
fn flags(ask: &Ask) -> Plan {
    let mut plan = plans::one_launch(ask, "flag_apart", &[Slot::State]);
    plan.state_words = plan.sums[0].div_ceil(2);
    plan
}
