//! The launches that take n elements to one value, as plain data that tests can inspect and `--plan` prints.

use device::card::H200;
use device::{Card, Geometry};

use crate::bound::Rounding;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::layout::{COUNT_MAX, Layout, Matrix, Per, Rows};
use crate::op::Op;
use crate::targets::Targets;
use crate::text::{grouped, listed};
use crate::variant::{BlockRule, Variant, entry_name};

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

/// A reduction to be planned.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'v> {
    /// The kernel.
    pub variant: &'v Variant,
    /// Type of the elements.
    pub ty: Type,
    /// Elements. A variant's own function is never asked for none.
    pub n: u64,
    /// A block size that the variant documents, a factor that it has.
    pub options: LaunchOptions,
    /// The card.
    pub card: &'v Card,
    /// True if kernels are compiled on demand, which the committed PTX has not: [`Pass::line`].
    pub on_demand: bool,
}

impl<'v> Problem<'v> {
    /// This reduction on the card that the records come from.
    pub fn new(variant: &'v Variant, ty: Type, n: u64, options: LaunchOptions) -> Problem<'v> {
        Problem { variant, ty, n, options, card: &H200, on_demand: false }
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
        self.variant.entry(self.options.op, self.ty, self.block() as u32)
    }

    /// An instance of the variant's kernel: `coarsened_c4_i32` for `c4`.
    pub fn instance(&self, instance: &str) -> String {
        entry_name(self.variant.name, self.options.op, instance, self.ty)
    }
}

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// The address of the input.
    Input,
    /// The address of the second input, of an operation that takes two.
    Other,
    /// The address of the offsets of ragged rows.
    Offsets,
    /// The address of the rows' labels.
    Labels,
    /// The address of the gradients of the rows' losses.
    Gradients,
    /// The address of the columns' weights.
    Weights,
    /// The address of the columns' biases.
    Biases,
    /// The address of the plan's array of this number.
    Sums(usize),
    /// The address of the plan's state: 64-bit words that are zero before the first run and zero again after each run.
    State,
    /// A number of 32 bits.
    U32(u32),
    /// A number of 64 bits.
    U64(u64),
}

/// One launch of a plan: `kernel<<<grid, block>>>(args)`, and what it does to a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The entry of the PTX.
    pub kernel: String,
    /// The line of CUDA that makes this kernel, where the committed PTX may not have it.
    pub line: Option<String>,
    /// Blocks, threads, dynamic shared memory, and how it is launched.
    pub geometry: Geometry,
    /// Its arguments, in order.
    pub args: Vec<Arg>,
    /// Elements it reads.
    pub elements: u64,
    /// Additions on the longest path from what it reads to what it writes: what the error bound counts.
    pub additions: u64,
    /// Atomic additions by which it brings its blocks' sums together in global memory.
    pub atomics: u64,
    /// True if blocks wait for each other: how often they look is a matter of time, and so is what is counted of it.
    pub waits: bool,
}

impl Pass {
    /// A plain launch without dynamic shared memory.
    pub fn new(kernel: String, grid: u64, block: u64, args: Vec<Arg>) -> Pass {
        // No device takes as many as are cut off here.
        let capped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let geometry = Geometry::linear(capped(grid), capped(block));
        Pass { kernel, line: None, geometry, args, elements: 0, additions: 0, atomics: 0, waits: false }
    }

    /// Blocks.
    pub fn grid(&self) -> u32 {
        self.geometry.grid[0]
    }

    /// Threads a block.
    pub fn block(&self) -> u32 {
        self.geometry.block[0]
    }
}

/// Every launch that takes n elements to one value. Empty for n = 0: the result is the identity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// In order.
    pub passes: Vec<Pass>,
    /// Elements of each array that the passes write. The last one begins with the result, or holds one for each row.
    pub sums: Vec<u64>,
    /// Name of those arrays in messages, with a number where there are several; `sums` and a number if empty.
    pub written: &'static str,
    /// 64-bit words of state.
    pub state_words: u64,
    /// Layout of its elements, and the part that gets a value.
    pub layout: Layout,
    /// Labels and gradients, for operations that have them.
    pub targets: Targets,
    /// Why these launches, where there was a choice; else empty.
    pub why: String,
}

impl Plan {
    /// Names of the kernels that it launches, each once, in the order of their first launches.
    pub fn kernels(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for pass in &self.passes {
            if !names.contains(&pass.kernel) {
                names.push(pass.kernel.clone());
            }
        }
        names
    }

    /// The launches that solve this problem.
    ///
    /// # Errors
    /// More elements than a run may have, a block size, factor or grid that the variant does not take, or two of them that
    /// it does not take together.
    pub fn new(problem: &Problem<'_>) -> Result<Plan> {
        let Problem { variant, n, options, .. } = *problem;
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
            return Ok(Plan { layout, ..Plan::default() });
        }
        let plan = Plan { layout, targets: options.targets, ..(variant.launches)(problem) };
        if plan.passes.is_empty() {
            return Err(Error::Usage(format!(
                "{} is not compiled for this block size and factor together: leave one of --block and --factor out",
                variant.name
            )));
        }
        if let Some(why) = plan.passes.iter().find_map(|pass| problem.card.refusal(pass.geometry)) {
            return Err(Error::Usage(format!("{} does not fit on {why}", variant.name)));
        }
        match options.grid.filter(|&asked| asked != plan.grid()) {
            Some(asked) => Err(Error::Usage(grid_refused(problem, &plan, asked))),
            None => Ok(plan),
        }
    }

    /// Launches until one value is left: first over the input's `n` elements, then over what the launch before it left, one
    /// value a block or a cluster. `pass` gets the place to read, the place to write, and the number of elements to read.
    pub fn until_one(n: u64, mut pass: impl FnMut(Arg, Arg, u64) -> Pass) -> Plan {
        let mut plan = Plan::default();
        let (mut input, mut n) = (Arg::Input, n);
        while plan.passes.is_empty() || n > 1 {
            let output = Arg::Sums(plan.sums.len());
            let pass = Pass { elements: n, ..pass(input, output, n) };
            (input, n) = (output, u64::from(pass.grid() / pass.geometry.cluster));
            plan.passes.push(pass);
            plan.sums.push(n);
        }
        plan
    }

    /// Blocks of its widest launch; 0 if there is none.
    pub fn grid(&self) -> u32 {
        self.widest().map_or(0, Pass::grid)
    }

    /// Threads a block of its widest launch.
    pub fn block(&self) -> Option<u32> {
        self.widest().map(Pass::block)
    }

    /// The first of the launches with the most blocks.
    fn widest(&self) -> Option<&Pass> {
        self.passes.iter().rev().max_by_key(|pass| (pass.grid(), pass.elements))
    }

    /// Additions on the longest path from an element to the result, over all passes.
    pub fn additions(&self) -> u64 {
        self.passes.iter().map(|pass| pass.additions).sum()
    }

    /// Rounding of a sum by all passes together.
    pub fn rounding(&self) -> Rounding {
        Rounding { additions: self.additions(), atomics: self.passes.iter().map(|pass| pass.atomics).sum() }
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

    /// Values that the passes write, all of them together.
    pub fn partial_sums(&self) -> u64 {
        self.sums.iter().sum()
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
        let own = Problem { options: LaunchOptions { grid: None, ..problem.options }, ..*problem };
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
                Pass { additions: 1 + u64::from(block.ilog2()), ..pass }
            })
        },
        ..Variant::BASE
    };

    fn planned(n: u64, options: LaunchOptions) -> Result<Plan> {
        Plan::new(&Problem::new(&TWO_A_THREAD, Type::I32, n, options))
    }

    fn plan(n: u64, block: u32) -> Plan {
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
        let err = planned(N_MAX + 1, LaunchOptions::block(1024)).expect_err("too many").to_string();
        assert!(err.contains("at most 2,147,483,647 elements"), "{err}");
        for block in [0, 1, 16, 33, 96, 2048] {
            let err = planned(10, LaunchOptions::block(block)).expect_err("wrong block").to_string();
            assert!(err.contains("a power of two from 32 to 1024"), "{err}");
        }
        let options = LaunchOptions { grid: Some(3), ..LaunchOptions::block(256) };
        assert!(planned(513, options).expect_err("two are needed").to_string().contains("needs exactly 2 blocks"));
        let options = LaunchOptions { grid: Some(0), ..LaunchOptions::default() };
        assert!(
            planned(513, options).expect_err("none").to_string().contains("--grid 0: a launch has one block at least")
        );
        let options = LaunchOptions { op: Op::Min, ..LaunchOptions::default() };
        assert!(planned(513, options).expect_err("a sum").to_string().contains("--op min"));
        let options = LaunchOptions { factor: Some(3), ..LaunchOptions::default() };
        assert!(planned(513, options).expect_err("no factor").to_string().contains("--factor 3"));
        let options = LaunchOptions { overlap: true, ..LaunchOptions::default() };
        assert!(planned(513, options).expect_err("it does not wait").to_string().contains("--overlap"));
    }

    /// Kernels count rows, and elements of a row, in 32 bits, and step past the last one.
    #[test]
    fn rows_that_kernels_cannot_count_are_refused() {
        const A_ROW: Variant = Variant { per: Per::Row, n_max: 1 << 40, ..TWO_A_THREAD };
        let planned = |rows: Option<Matrix>, n| {
            let options = LaunchOptions { rows: rows.map(Rows::Matrix), ..LaunchOptions::default() };
            Plan::new(&Problem::new(&A_ROW, Type::I32, n, options))
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
