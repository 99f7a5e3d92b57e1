//! The launches that take n elements to one value, as plain data that tests can inspect and `--plan` prints.

use crate::bound::Rounding;
use crate::chapter::entry_name;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::text::{grouped, listed};
use crate::{BlockRule, Variant};

/// The most elements of a kernel that counts them in 32-bit integers, with room for a block's stride.
pub const N_MAX: u64 = (1 << 31) - 1;

/// Multiprocessors that plans assume on the simulator: those of the H200 that the records come from, so that a run here
/// adds in the same order as a run there.
pub const MULTIPROCESSORS: u32 = 132;

/// What the reader asked for; everything else is the variant's to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
    /// What to compute.
    pub op: Op,
    /// Threads a block.
    pub block: Option<u32>,
    /// Blocks of the widest launch.
    pub grid: Option<u32>,
    /// The number that the variant is tuned by.
    pub factor: Option<u32>,
    /// Whether the launch may begin while the one before it ends; launches wait for each other's end if not.
    pub overlap: bool,
}

impl Wish {
    /// A sum by blocks of `block` threads.
    pub fn block(block: u32) -> Wish {
        Wish { block: Some(block), ..Wish::default() }
    }
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Type of the elements.
    pub ty: Type,
    /// Elements, at least one.
    pub n: u64,
    /// What the reader wishes: a block size that the variant documents, a factor that it has.
    pub wish: Wish,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
}

impl Ask {
    /// The name of an instance, `<name>[_min|_max][_<instance>]_<type>`; `instance` may be empty.
    pub fn entry(&self, name: &str, instance: &str) -> String {
        entry_name(name, self.wish.op, instance, self.ty)
    }
}

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The address of the input.
    Input,
    /// The address of the plan's array of this number.
    Sums(usize),
    /// The address of the plan's state: 64-bit words that are zero before the first run and zero again after each run.
    State,
    /// How many elements the pass reads, 32 bits.
    Elements,
    /// The same in 64 bits.
    Elements64,
    /// A number, 32 bits.
    Number(u32),
}

/// One launch of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The entry of the PTX.
    pub kernel: String,
    /// Blocks.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// Elements it reads.
    pub elements: u64,
    /// Additions on the longest path from what it reads to what it writes.
    pub depth: u64,
    /// Atomic additions by which it brings its blocks' sums together in global memory.
    pub atomics: u64,
    /// Its arguments, in order.
    pub args: Vec<Slot>,
    /// Whether all its blocks must be resident together, so that they can wait for each other.
    pub cooperative: bool,
    /// Whether blocks wait for each other: how often they look is a matter of time, and so is what is counted of it.
    pub waits: bool,
    /// Blocks of one cluster; 1 where there are none.
    pub cluster: u32,
    /// Whether it may start while the launch before it ends: it waits for it in its own code (programmatic dependent
    /// launch).
    pub overlaps: bool,
}

impl Pass {
    /// A plain launch.
    pub fn new(kernel: String, grid: u32, block: u32, elements: u64, depth: u64, args: Vec<Slot>) -> Pass {
        Pass {
            kernel,
            grid,
            block,
            elements,
            depth,
            atomics: 0,
            args,
            cooperative: false,
            waits: false,
            cluster: 1,
            overlaps: false,
        }
    }
}

/// Every launch that takes `n` elements to one value. Empty for n = 0: the result is the identity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// In order.
    pub passes: Vec<Pass>,
    /// Elements of each array that the passes write. The first element of the last one is the result.
    pub sums: Vec<u64>,
    /// 64-bit words of state.
    pub state_words: u64,
}

impl Plan {
    /// The launches of `variant` for this request, until one value is left.
    ///
    /// # Errors
    /// More elements than a run may have, a block size, factor or grid that the variant does not take, or two of them that
    /// it does not take together.
    pub fn new(variant: &Variant, ask: &Ask) -> Result<Plan> {
        let n = ask.n;
        if n > variant.n_max {
            let (name, n_max) = (variant.name, grouped(variant.n_max));
            return Err(Error::Usage(format!("--n {n}: {name} takes at most {n_max} elements")));
        }
        if let Some((option, why)) = refusal(variant, ask.ty, &ask.wish) {
            return Err(Error::Usage(format!("{option}: {why}")));
        }
        if n == 0 {
            return Ok(Plan::default());
        }
        let plan = match variant.plan {
            Some(plan) => plan(ask),
            None => relaunches(variant, ask),
        };
        if plan.passes.is_empty() {
            return Err(Error::Usage(format!(
                "{} is not compiled for this block size and factor together: leave one of --block and --factor out",
                variant.name
            )));
        }
        match ask.wish.grid.filter(|&asked| asked != plan.grid()) {
            Some(asked) => Err(Error::Usage(grid_refused(variant, ask, &plan, asked))),
            None => Ok(plan),
        }
    }

    /// Blocks of its widest launch; 0 if there is none.
    pub fn grid(&self) -> u32 {
        self.widest().map_or(0, |pass| pass.grid)
    }

    /// Threads a block of its widest launch.
    pub fn block(&self) -> Option<u32> {
        self.widest().map(|pass| pass.block)
    }

    /// The first of the launches with the most blocks.
    fn widest(&self) -> Option<&Pass> {
        self.passes.iter().rev().max_by_key(|pass| (pass.grid, pass.elements))
    }

    /// Additions on the longest path from an element to the result, over all passes.
    pub fn depth(&self) -> u64 {
        self.passes.iter().map(|pass| pass.depth).sum()
    }

    /// What all passes together do to a sum.
    pub fn rounding(&self) -> Rounding {
        Rounding { additions: self.depth(), atomics: self.passes.iter().map(|pass| pass.atomics).sum() }
    }

    /// Values that the passes write, all of them together.
    pub fn partial_sums(&self) -> u64 {
        self.sums.iter().sum()
    }
}

/// Launches one kernel until one value is left; each pass reads the one before's block sums.
fn relaunches(variant: &Variant, ask: &Ask) -> Plan {
    let block = ask.wish.block.unwrap_or(variant.blocks.default);
    let mut plan = Plan::default();
    let mut elements = ask.n;
    while plan.passes.is_empty() || elements > 1 {
        let grid = elements.div_ceil((variant.elements_per_block)(block)) as u32;
        let kernel = variant.entry(ask.wish.op, ask.ty, block);
        let depth = (variant.depth)(block);
        let i = plan.passes.len();
        let from = if i == 0 { Slot::Input } else { Slot::Sums(i - 1) };
        plan.passes.push(Pass::new(kernel, grid, block, elements, depth, vec![from, Slot::Sums(i), Slot::Elements]));
        plan.sums.push(u64::from(grid));
        elements = u64::from(grid);
    }
    plan
}

/// The option that `variant` cannot honour, as it was typed, and why not; `None` where it can do what is asked.
pub(crate) fn refusal(variant: &Variant, ty: Type, wish: &Wish) -> Option<(String, String)> {
    let name = variant.name;
    if !variant.types.contains(&ty) {
        let names: Vec<&str> = variant.types.iter().map(|ty| ty.name()).collect();
        return Some((format!("--type {ty}"), format!("{name} is compiled for {}", listed(&names))));
    }
    if !variant.ops.contains(&wish.op) {
        return Some((format!("--op {}", wish.op), format!("{name} has no such operation")));
    }
    if wish.overlap && !variant.overlaps {
        return Some((
            "--overlap".to_owned(),
            format!("{name} does not wait in its own code for the launch before it"),
        ));
    }
    if let Some(block) = wish.block.filter(|&block| !variant.blocks.allows(block)) {
        return Some((format!("--block {block}"), format!("{name} takes {}", variant.blocks)));
    }
    let factor = wish.factor?;
    let Some(factors) = variant.factors else {
        return Some((format!("--factor {factor}"), format!("{name} has no number to be tuned by")));
    };
    let values: Vec<String> = factors.values.iter().map(u32::to_string).collect();
    (!factors.values.contains(&factor))
        .then(|| (format!("--factor {factor}"), format!("{name} has {} ({})", values.join(", "), factors.what)))
}

fn grid_refused(variant: &Variant, ask: &Ask, plan: &Plan, asked: u32) -> String {
    let (name, n, grid) = (variant.name, grouped(ask.n), grouped(u64::from(plan.grid())));
    let block = plan.block().unwrap_or(variant.blocks.default);
    if variant.plan.is_some() {
        return format!("--grid {asked}: {name} takes another number of blocks for n = {n}, such as {grid}");
    }
    let elements = grouped((variant.elements_per_block)(block));
    format!(
        "--grid {asked}: {name} takes {elements} elements a block, so n = {n} needs exactly {grid} blocks of {block} threads"
    )
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
        elements_per_block: |block| 2 * u64::from(block),
        depth: |block| 1 + u64::from(block.ilog2()),
        ..Variant::BASE
    };

    fn ask(n: u64, wish: Wish) -> Result<Plan> {
        Plan::new(&TWO_A_THREAD, &Ask { ty: Type::I32, n, wish, multiprocessors: MULTIPROCESSORS })
    }

    fn plan(n: u64, block: u32) -> Plan {
        ask(n, Wish::block(block)).expect("a plan")
    }

    /// Grid, block and elements of each pass.
    fn sizes(plan: &Plan) -> Vec<(u32, u32, u64)> {
        plan.passes.iter().map(|pass| (pass.grid, pass.block, pass.elements)).collect()
    }

    #[test]
    fn nothing_needs_no_launch() {
        assert!(plan(0, 256).passes.is_empty());
    }

    #[test]
    fn one_element_needs_one() {
        assert_eq!(sizes(&plan(1, 256)), [(1, 256, 1)]);
        assert_eq!(plan(1, 256).passes[0].kernel, "two_a_thread_i32");
        assert_eq!(plan(512, 256).passes.len(), 1);
    }

    #[test]
    fn one_element_too_many_for_a_block_needs_two() {
        let plan = plan(513, 256);
        assert_eq!(sizes(&plan), [(2, 256, 513), (1, 256, 2)]);
        assert_eq!(plan.passes[1].args, [Slot::Sums(0), Slot::Sums(1), Slot::Elements]);
        assert_eq!((plan.depth(), plan.partial_sums(), plan.grid()), (18, 3, 2));
    }

    #[test]
    fn too_many_elements_and_wrong_blocks_are_refused() {
        assert!(ask(N_MAX, Wish::block(1024)).is_ok());
        let err = ask(N_MAX + 1, Wish::block(1024)).expect_err("too many").to_string();
        assert!(err.contains("at most 2,147,483,647 elements"), "{err}");
        for block in [0, 1, 16, 33, 96, 2048] {
            let err = ask(10, Wish::block(block)).expect_err("wrong block").to_string();
            assert!(err.contains("a power of two from 32 to 1024"), "{err}");
        }
        let wish = Wish { grid: Some(3), ..Wish::block(256) };
        assert!(ask(513, wish).expect_err("two are needed").to_string().contains("needs exactly 2 blocks"));
        let wish = Wish { op: Op::Min, ..Wish::default() };
        assert!(ask(513, wish).expect_err("a sum").to_string().contains("--op min"));
        let wish = Wish { factor: Some(3), ..Wish::default() };
        assert!(ask(513, wish).expect_err("no factor").to_string().contains("--factor 3"));
        let wish = Wish { overlap: true, ..Wish::default() };
        assert!(ask(513, wish).expect_err("it does not wait").to_string().contains("--overlap"));
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
