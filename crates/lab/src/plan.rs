//! Launches of a chapter's variant: what it takes, what it refuses, and the plan that `--plan` prints.

use std::ops::{Deref, DerefMut};

use reduction::card::H200;
use reduction::plan::Asked;
pub use reduction::plan::{Arg, Pass, Plan};

use crate::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::layout::{COUNT_MAX, Layout, Matrix, Per, Rows};
use crate::op::Op;
use crate::targets::Targets;
use crate::text::{grouped, listed};
use crate::variant::{BlockRule, Variant};

/// The most elements of a kernel that counts them in 32-bit integers, with room for a block's stride.
pub const N_MAX: u64 = (1 << 31) - 1;

/// The options that decide a launch. What is `None` is the variant's to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// Operation.
    pub op: Op,
    /// Threads a block.
    pub block: Option<u32>,
    /// Blocks of the widest launch.
    pub grid: Option<u32>,
    /// The number that the variant is tuned by.
    pub factor: Option<u32>,
    /// True if the launch may begin while the one before it ends; launches wait for each other's end if not.
    pub overlap: bool,
    /// Rows, for a variant with more than one value; else `n` elements are rows of a length that is well to look at.
    pub rows: Option<Rows>,
    /// Labels and gradients, for operations that have them.
    pub targets: Targets,
}

impl LaunchOptions {
    /// A sum by blocks of `block` threads.
    pub fn block(block: u32) -> LaunchOptions {
        LaunchOptions { block: Some(block), ..LaunchOptions::default() }
    }

    /// An operation on the rows of a matrix.
    pub fn over(op: Op, matrix: Matrix) -> LaunchOptions {
        LaunchOptions { op, rows: Some(Rows::Matrix(matrix)), ..LaunchOptions::default() }
    }
}

/// A reduction by a variant, to be planned.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'v> {
    /// The kernel.
    pub variant: &'v Variant,
    /// A block size that the variant documents, a factor that it has.
    pub options: LaunchOptions,
    /// The reduction. A variant's own function is never asked for one of nothing.
    pub reduction: reduction::Problem<'v>,
}

impl<'v> Deref for Problem<'v> {
    type Target = reduction::Problem<'v>;

    fn deref(&self) -> &reduction::Problem<'v> {
        &self.reduction
    }
}

impl<'v> Problem<'v> {
    /// This reduction on the card that the records come from.
    pub fn new(variant: &'v Variant, ty: Type, n: u64, options: LaunchOptions) -> Problem<'v> {
        let layout = Layout::new(variant.per, options.rows, n).planned();
        let LaunchOptions { op, block, grid, factor, overlap, targets, .. } = options;
        let targets = reduction::plan::Targets::new(targets.label_bits(), targets.has_one_gradient());
        let asked = Asked::new(block, grid, factor);
        let reduction = reduction::Problem::new(op, ty, n, layout, &H200)
            .with_overlap(overlap)
            .with_asked(asked)
            .with_targets(targets);
        Problem { variant, options, reduction }
    }

    /// The same on a card, with kernels that are compiled on demand or without.
    pub fn on(mut self, card: &'v Card, on_demand: bool) -> Problem<'v> {
        self.reduction = self.reduction.with_card(card).with_on_demand(on_demand);
        self
    }

    /// Layout of its elements.
    pub fn layout(&self) -> Layout {
        Layout::new(self.variant.per, self.options.rows, self.n)
    }

    /// Threads a block: the option's, or else the variant's default.
    pub fn block(&self) -> u64 {
        self.options.block.unwrap_or(self.variant.blocks.default).into()
    }

    /// The number that the variant is tuned by: the option's, or else its default; 1 if it has none.
    pub fn factor(&self) -> u64 {
        let default = self.variant.factors.map_or(1, |factors| factors.default);
        self.options.factor.unwrap_or(default).into()
    }

    /// The variant's kernel for this operation, type and block.
    pub fn kernel(&self) -> String {
        self.variant.entry(self.op, self.ty, self.block() as u32)
    }

    /// An instance of the variant's kernel: `coarsened_c4_i32` for `c4`.
    pub fn instance(&self, instance: &str) -> String {
        self.entry(self.variant.name, instance)
    }
}

/// The launches of a variant's problem, with what its run has to know beside them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Planned {
    /// The launches.
    pub plan: Plan,
    /// Layout of its elements, and the part that gets a value.
    pub layout: Layout,
    /// Labels and gradients, for operations that have them.
    pub targets: Targets,
    /// Name of the arrays that the launches write, in messages, with a number where there are several; `sums` and a number if empty.
    pub written: &'static str,
}

impl Deref for Planned {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl DerefMut for Planned {
    fn deref_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

/// An array's launches.
impl From<Plan> for Planned {
    fn from(plan: Plan) -> Planned {
        Planned { plan, ..Planned::default() }
    }
}

impl Planned {
    /// The launches that solve this problem.
    ///
    /// # Errors
    /// More elements than a run may have, a block size, factor or grid that the variant does not take, or two of them that
    /// it does not take together.
    pub fn new(problem: &Problem<'_>) -> Result<Planned> {
        let Problem { variant, options, reduction: reduction::Problem { n, .. } } = *problem;
        if n > variant.n_max {
            let (name, n_max) = (variant.name, grouped(variant.n_max));
            let asked = match options.rows {
                None => format!("--n {n}"),
                Some(Rows::Matrix(_)) => {
                    format!("--rows and --cols: {} elements from the first to the last", grouped(n))
                }
                Some(Rows::Ragged(_)) => format!("--offsets: the last row ends at {}", grouped(n)),
            };
            return Err(Error::Usage(format!("{asked}: {name} takes at most {n_max} elements")));
        }
        if let Some((option, why)) = refusal(variant, problem.ty, &options) {
            return Err(Error::Usage(format!("{option}: {why}")));
        }
        let layout = problem.layout();
        if let Some((rows, cols)) = layout.size().filter(|(rows, cols)| *rows.max(cols) > COUNT_MAX) {
            let (rows, cols, most) = (grouped(rows), grouped(cols), grouped(COUNT_MAX));
            return Err(Error::Usage(format!("{rows} rows of {cols}: kernels count up to {most} of either")));
        }
        if layout.values() == 0 || (n == 0 && layout == Layout::Array) {
            return Ok(Planned { layout, ..Planned::default() });
        }
        let plan = (variant.launches)(problem);
        if plan.passes.is_empty() {
            let why =
                "it is not compiled for this block size and factor together: leave one of --block and --factor out";
            let why = if plan.why.is_empty() { why } else { &plan.why };
            return Err(Error::Usage(format!("{}: {why}", variant.name)));
        }
        if let Some(why) = plan.passes.iter().find_map(|pass| problem.card.refusal(pass.geometry)) {
            return Err(Error::Usage(format!("{} does not fit on {why}", variant.name)));
        }
        match options.grid.filter(|&asked| asked != plan.grid()) {
            Some(asked) => Err(Error::Usage(grid_refused(problem, &plan, asked))),
            None => Ok(Planned { plan, layout, targets: options.targets, ..Planned::default() }),
        }
    }

    /// Bytes beside the input that its launches read or write: what the passes leave, a second input, labels, gradients.
    pub fn more_bytes(&self, ty: Type, n: u64) -> u64 {
        let uses = |arg: Arg| self.passes.iter().any(|pass| pass.args.contains(&arg));
        let (values, bits) = (self.layout.values(), u64::from(self.targets.label_bits()));
        let labels = if uses(Arg::Labels) { values * bits / 8 } else { 0 };
        let gradients = if uses(Arg::Gradients) { 4 * values } else { 0 };
        let other = if uses(Arg::Other) { n * ty.bytes() } else { 0 };
        self.partial_sums().saturating_mul(ty.bytes()) + labels + gradients + other
    }

    /// Returns whether what it has beside the input is so much that timing finds it in the L2, unless each call has its own.
    pub fn wants_own_arrays(&self, ty: Type, n: u64) -> bool {
        self.more_bytes(ty, n) >= n * ty.bytes() / 2
    }
}

/// The option that `variant` cannot honour, as it was typed, and why not; `None` where it can do what is asked.
pub(crate) fn refusal(variant: &Variant, ty: Type, options: &LaunchOptions) -> Option<(String, String)> {
    let name = variant.name;
    if !variant.types.contains(&ty) {
        let names: Vec<&str> = variant.types.iter().map(|ty| ty.name()).collect();
        return Some((format!("--type {ty}"), format!("{name} is compiled for {}", listed(&names))));
    }
    if let Some(why) = options.op.refusal(ty).filter(|_| variant.ops.contains(&options.op)) {
        return Some((format!("--op {} --type {ty}", options.op), why.to_owned()));
    }
    if !variant.ops.contains(&options.op) {
        let has: Vec<&str> = variant.ops.iter().map(|op| op.name()).collect();
        return Some((format!("--op {}", options.op), format!("{name} has no such operation, only {}", listed(&has))));
    }
    if !(variant.takes)(options.op, ty) {
        let is_taken = |ty: &&Type| variant.computes(options.op, **ty);
        let types: Vec<&str> = variant.types.iter().filter(is_taken).map(|ty| ty.name()).collect();
        let why = format!("{name} is compiled for {} of {}", options.op, listed(&types));
        return Some((format!("--op {} --type {ty}", options.op), why));
    }
    if let Some(refused) = options.rows.and_then(|rows| rows_refusal(variant, rows)) {
        return Some(refused);
    }
    if let Some(Rows::Matrix(Matrix { cols: 0, .. })) = options.rows.filter(|_| options.op.has_labels()) {
        return Some(("--cols 0".to_owned(), "a row without elements has none that a label could name".to_owned()));
    }
    let has_columns_alone = matches!(options.rows, Some(Rows::Matrix(Matrix { rows: 0, cols: 1.., .. })));
    if has_columns_alone && options.op.has_weight_gradients() {
        let why = "without rows the gradients of the weights are zeros, and no kernel here is launched to write them";
        return Some(("--rows 0".to_owned(), why.to_owned()));
    }
    if options.overlap && !variant.overlaps {
        return Some((
            "--overlap".to_owned(),
            format!("{name} does not wait in its own code for the launch before it"),
        ));
    }
    if let Some(block) = options.block.filter(|&block| !variant.blocks.allows(block)) {
        return Some((format!("--block {block}"), format!("{name} takes {}", variant.blocks)));
    }
    if options.grid == Some(0) {
        return Some(("--grid 0".to_owned(), "a launch has one block at least".to_owned()));
    }
    let factor = options.factor?;
    let Some(factors) = variant.factors else {
        return Some((format!("--factor {factor}"), format!("{name} has no number to be tuned by")));
    };
    let values: Vec<String> = factors.values.iter().map(u32::to_string).collect();
    (!factors.values.contains(&factor))
        .then(|| (format!("--factor {factor}"), format!("{name} has {} ({})", values.join(", "), factors.what)))
}

fn rows_refusal(variant: &Variant, rows: Rows) -> Option<(String, String)> {
    let name = variant.name;
    let (option, why) = match (variant.per, rows) {
        (Per::Array, _) => ("--rows".to_owned(), format!("{name} reduces one array to one value")),
        (Per::Row | Per::Column, Rows::Ragged(_)) => {
            ("--offsets".to_owned(), format!("{name} takes rows that all have the same length"))
        }
        (Per::RaggedRow, Rows::Matrix(matrix)) if matrix.pitch != matrix.cols => {
            (format!("--pitch {}", matrix.pitch), format!("{name} takes rows that lie one behind the other"))
        }
        _ => return None,
    };
    Some((option, why))
}

fn grid_refused(problem: &Problem<'_>, plan: &Plan, asked: u32) -> String {
    let variant = problem.variant;
    let (name, n, grid) = (variant.name, grouped(problem.n), grouped(u64::from(plan.grid())));
    if variant.chooses_grid {
        // The plan's own number fits where blocks wait for each other, the largest that a kernel can count may not.
        let wish = problem.asked.with_grid(None);
        let own = Problem { reduction: problem.reduction.with_asked(wish), ..*problem };
        let grid = grouped(u64::from((variant.launches)(&own).grid()));
        return format!("--grid {asked}: {name} takes another number of blocks for n = {n}, such as {grid}");
    }
    let block = plan.block().unwrap_or(variant.blocks.default);
    let elements = grouped((variant.elements_per_block)(block));
    format!(
        "--grid {asked}: {name} takes {elements} elements a block, so n = {n} needs exactly {grid} blocks of {block} threads"
    )
}

impl BlockRule {
    /// Returns whether a kernel with this rule is right for `block` threads.
    pub const fn allows(&self, block: u32) -> bool {
        block.is_power_of_two() && self.min <= block && block <= self.max
    }
}

impl std::fmt::Display for BlockRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(f, "{min} threads"),
            (min, max) => write!(f, "a power of two from {min} to {max}"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Type;
    use proptest::prelude::*;

    /// Like the kernels of chapters 4 to 6.
    pub(crate) const TWO_A_THREAD: Variant = Variant {
        name: "two_a_thread",
        elements_per_block: |block| 2 * u64::from(block),
        launches: |problem| {
            let block = problem.block();
            Plan::until_one(problem.n, |input, sums, n| {
                let args = vec![input, sums, Arg::U32(n as u32)];
                let pass = Pass::new(problem.kernel(), n.div_ceil(2 * block), block, args);
                pass.with_additions(1 + u64::from(block.ilog2()))
            })
        },
        ..Variant::BASE
    };

    fn planned(n: u64, options: LaunchOptions) -> Result<Planned> {
        Planned::new(&Problem::new(&TWO_A_THREAD, Type::I32, n, options))
    }

    fn plan(n: u64, block: u32) -> Planned {
        planned(n, LaunchOptions::block(block)).expect("a plan")
    }

    /// Grid, block and elements of each pass.
    fn sizes(plan: &Plan) -> Vec<(u32, u32, u64)> {
        plan.passes.iter().map(|pass| (pass.grid(), pass.block(), pass.elements)).collect()
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
        assert_eq!(plan.passes[1].args, [Arg::Sums(0), Arg::Sums(1), Arg::U32(2)]);
        assert_eq!((plan.additions(), plan.partial_sums(), plan.grid()), (18, 3, 2));
    }

    #[test]
    fn too_many_elements_and_wrong_blocks_are_refused() {
        assert!(planned(N_MAX, LaunchOptions::block(1024)).is_ok());
        let refused = |n: u64, options: LaunchOptions, said: &str| {
            let err = planned(n, options).expect_err(said).to_string();
            assert!(err.contains(said), "{err}");
        };
        refused(N_MAX + 1, LaunchOptions::block(1024), "at most 2,147,483,647 elements");
        for block in [0, 1, 16, 33, 96, 2048] {
            refused(10, LaunchOptions::block(block), "a power of two from 32 to 1024");
        }
        let any = LaunchOptions::default();
        refused(513, LaunchOptions { grid: Some(3), ..LaunchOptions::block(256) }, "needs exactly 2 blocks");
        refused(513, LaunchOptions { grid: Some(0), ..any }, "--grid 0: a launch has one block at least");
        refused(513, LaunchOptions { op: Op::Min, ..any }, "--op min");
        refused(513, LaunchOptions { factor: Some(3), ..any }, "--factor 3");
        refused(513, LaunchOptions { overlap: true, ..any }, "--overlap");
    }

    /// Kernels count rows, and elements of a row, in 32 bits, and step past the last one.
    #[test]
    fn rows_that_kernels_cannot_count_are_refused() {
        const A_ROW: Variant = Variant { per: Per::Row, n_max: 1 << 40, ..TWO_A_THREAD };
        let planned = |rows: Option<Matrix>, n| {
            let options = LaunchOptions { rows: rows.map(Rows::Matrix), ..LaunchOptions::default() };
            Planned::new(&Problem::new(&A_ROW, Type::I32, n, options))
        };
        let one = Matrix::dense(1, 1 << 31);
        let many = Matrix::dense(1 << 31, 1);
        // Without rows, one of all elements, or rows of 64.
        for (rows, n) in [(Some(one), 1 << 31), (Some(many), 1 << 31), (None, (1 << 32) + 1), (None, 1 << 38)] {
            let error = planned(rows, n).expect_err("too many").to_string();
            assert!(error.contains("kernels count up to 2,147,483,647 of either"), "{error}");
        }
        assert!(planned(Some(Matrix::dense(1, N_MAX)), N_MAX).is_ok());
    }

    proptest! {
        #[test]
        fn every_plan_covers_its_elements_and_ends_with_one_value(n in 1..=N_MAX, log_block in 5u32..=10) {
            let block = 1 << log_block;
            let plan = plan(n, block);
            prop_assert_eq!(plan.passes[0].elements, n);
            for pass in &plan.passes {
                let covered = u64::from(pass.grid()) * 2 * u64::from(block);
                prop_assert!(covered >= pass.elements && covered - pass.elements < 2 * u64::from(block));
            }
            for pair in plan.passes.windows(2) {
                prop_assert_eq!(u64::from(pair[0].grid()), pair[1].elements);
            }
            prop_assert_eq!(plan.passes.last().map(|pass| pass.grid()), Some(1));
        }
    }
}
