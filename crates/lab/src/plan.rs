//! The launches that take n elements to one value, as plain data that tests can inspect.

use crate::error::{Error, Result};
use crate::{BlockRule, Variant};

/// The most elements a run may have: kernels count them in 32-bit integers and leave room for a block's stride.
pub const N_MAX: u64 = (1 << 31) - 1;

/// One launch of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Blocks.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// Elements it reads.
    pub elements: u64,
}

/// Every launch that takes `n` elements to one value. Empty for n = 0: the result is the identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// In order; each pass reads the one before's block sums.
    pub passes: Vec<Pass>,
}

impl Plan {
    /// The launches of `variant` over `n` elements with `block` threads a block, until one value is left.
    pub fn new(variant: &Variant, n: u64, block: u32) -> Result<Plan> {
        if n > N_MAX {
            return Err(Error::Usage(format!("--n {n}: a run has at most 2^31 - 1 = {N_MAX} elements")));
        }
        if !variant.blocks.allows(block) {
            return Err(Error::Usage(format!("--block {block}: {} takes {}", variant.name, variant.blocks)));
        }
        let mut passes = Vec::new();
        let mut elements = n;
        while elements > 0 && (passes.is_empty() || elements > 1) {
            let grid = elements.div_ceil((variant.elements_per_block)(block)) as u32;
            passes.push(Pass { grid, block, elements });
            elements = u64::from(grid);
        }
        Ok(Plan { passes })
    }

    /// Additions on the longest path from an element to the result, over all passes.
    pub fn depth(&self, variant: &Variant) -> u64 {
        self.passes.iter().map(|pass| (variant.depth)(pass.block)).sum()
    }

    /// Values that the passes write, all of them together: one a block.
    pub fn partial_sums(&self) -> u64 {
        self.passes.iter().map(|pass| u64::from(pass.grid)).sum()
    }
}

impl BlockRule {
    /// Whether a kernel with this rule is right for `block` threads.
    pub const fn allows(&self, block: u32) -> bool {
        block.is_power_of_two() && self.min <= block && block <= self.max
    }
}

impl std::fmt::Display for BlockRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a power of two from {} to {}", self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Type;
    use proptest::prelude::*;

    const TWO_A_THREAD: Variant = Variant {
        name: "two_a_thread",
        idea: "",
        limit: "",
        types: &[Type::I32],
        announced: None,
        harm: None,
        blocks: BlockRule { min: 32, max: 1024, default: 256 },
        elements_per_block: |block| 2 * u64::from(block),
        depth: |block| 1 + u64::from(block.ilog2()),
        in_place: false,
    };

    fn plan(n: u64, block: u32) -> Plan {
        Plan::new(&TWO_A_THREAD, n, block).expect("a plan")
    }

    #[test]
    fn nothing_needs_no_launch() {
        assert!(plan(0, 256).passes.is_empty());
    }

    #[test]
    fn one_element_needs_one() {
        assert_eq!(plan(1, 256).passes, [Pass { grid: 1, block: 256, elements: 1 }]);
        assert_eq!(plan(512, 256).passes.len(), 1);
    }

    #[test]
    fn one_element_too_many_for_a_block_needs_two() {
        let passes = plan(513, 256).passes;
        assert_eq!(passes[0], Pass { grid: 2, block: 256, elements: 513 });
        assert_eq!(passes[1], Pass { grid: 1, block: 256, elements: 2 });
        assert_eq!(passes.len(), 2);
        assert_eq!(plan(513, 256).depth(&TWO_A_THREAD), 18);
        assert_eq!(plan(513, 256).partial_sums(), 3);
    }

    #[test]
    fn too_many_elements_and_wrong_blocks_are_refused() {
        assert!(Plan::new(&TWO_A_THREAD, N_MAX, 1024).is_ok());
        let err = Plan::new(&TWO_A_THREAD, N_MAX + 1, 1024).expect_err("too many").to_string();
        assert!(err.contains("2^31 - 1"), "{err}");
        for block in [0, 1, 16, 33, 96, 2048] {
            let err = Plan::new(&TWO_A_THREAD, 10, block).expect_err("wrong block").to_string();
            assert!(err.contains("a power of two from 32 to 1024"), "{err}");
        }
    }

    proptest! {
        #[test]
        fn every_plan_covers_its_elements_and_ends_with_one_value(n in 1..=N_MAX, log_block in 5u32..=10) {
            let block = 1 << log_block;
            let plan = plan(n, block);
            prop_assert_eq!(plan.passes[0].elements, n);
            for pass in &plan.passes {
                let covered = u64::from(pass.grid) * 2 * u64::from(block);
                prop_assert!(covered >= pass.elements && covered - pass.elements < 2 * u64::from(block));
            }
            for pair in plan.passes.windows(2) {
                prop_assert_eq!(u64::from(pair[0].grid), pair[1].elements);
            }
            prop_assert_eq!(plan.passes.last().map(|pass| pass.grid), Some(1));
        }
    }
}
