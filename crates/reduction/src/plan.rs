//! The launches that take elements to their results, as plain data that tests can inspect.

use std::fmt;

use crate::bound::Rounding;
use crate::card::Card;
use crate::element::Type;
use crate::geometry::{Geometry, capped};
use crate::layout::{Axis, Layout, Matrix};
use crate::memory::Role;
use crate::op::Op;
use crate::setters::setters;

/// A reduction to be planned.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Problem<'c> {
    /// Operation.
    pub op: Op,
    /// Type of the elements.
    pub ty: Type,
    /// Elements of one input, from the first to the last.
    pub n: u64,
    /// Their layout.
    pub layout: Layout,
    /// The card.
    pub card: &'c Card,
    /// True if kernels are compiled on demand, which the committed PTX has not: [`Pass::line`].
    pub on_demand: bool,
    /// True if the launch may begin while the one before it ends; launches wait for each other's end if not.
    pub overlap: bool,
    /// Choices that are the caller's.
    pub asked: Asked,
    /// The least that may be promised of the results' bits.
    pub determinism: Determinism,
    /// Labels and gradients, for operations that have them.
    pub targets: Targets,
}

/// Choices that a plan makes by itself where they are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// Threads a block.
    pub block: Option<u32>,
    /// Blocks of the widest launch.
    pub grid: Option<u32>,
    /// The number that a kernel is tuned by.
    pub factor: Option<u32>,
}

/// Promise about the bits of results, from the weakest to the strongest. The first three are those of NVIDIA's CCCL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Determinism {
    /// None: floats are added in the order in which blocks come by.
    #[default]
    NotGuaranteed,
    /// The same bits on one card, for one plan and data that lies alike modulo 16 bytes.
    RunToRun,
    /// The same bits on every card. No plan here stops at that: what gives it is exact.
    GpuToGpu,
    /// The exact result, rounded once: the same bits for any order of the elements, grid, block, alignment, card or number of cards.
    Exact,
}

impl fmt::Display for Determinism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Determinism::NotGuaranteed => "not guaranteed",
            Determinism::RunToRun => "run to run",
            Determinism::GpuToGpu => "GPU to GPU",
            Determinism::Exact => "exact",
        })
    }
}

/// Form of labels and gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Targets {
    /// Bits of a label, 32 or 64.
    pub label_bits: u32,
    /// True if one gradient is that of every row's loss.
    pub one_gradient: bool,
}

/// Labels of 64 bits, and one gradient for all rows.
impl Default for Targets {
    fn default() -> Targets {
        Targets { label_bits: 64, one_gradient: true }
    }
}

impl Asked {
    /// Threads a block, blocks, and the number that a kernel is tuned by, as far as the caller chooses them.
    pub fn new(block: Option<u32>, grid: Option<u32>, factor: Option<u32>) -> Asked {
        Asked { block, grid, factor }
    }
}

impl Targets {
    /// Labels of so many bits, with one gradient for all rows or one for each.
    pub fn new(label_bits: u32, one_gradient: bool) -> Targets {
        Targets { label_bits, one_gradient }
    }
}

setters! {
    Asked:
    with_grid(grid: Option<u32>) grid = grid, "With so many blocks of the widest launch.";
}

setters! {
    Problem<'_>:
    with_on_demand(on_demand: bool) on_demand = on_demand, "With kernels that are compiled on demand, or without.";
    with_overlap(overlap: bool) overlap = overlap, "With launches that may begin while the one before them ends, or without.";
    with_asked(asked: Asked) asked = asked, "With choices of the caller's.";
    with_determinism(determinism: Determinism) determinism = determinism, "With results whose bits are promised at least this.";
    with_targets(targets: Targets) targets = targets, "With labels and gradients of this form.";
}

impl<'c> Problem<'c> {
    /// An operation on `n` elements, with kernels of the committed PTX.
    pub fn new(op: Op, ty: Type, n: u64, layout: Layout, card: &'c Card) -> Problem<'c> {
        let (asked, targets, determinism) = Default::default();
        Problem { op, ty, n, layout, card, on_demand: false, overlap: false, asked, determinism, targets }
    }

    /// The same on another card.
    pub fn with_card(self, card: &'c Card) -> Problem<'c> {
        Problem { card, ..self }
    }

    /// Its rows, of an axis those of one outer index; `n` elements as rows where it has none of one length.
    pub fn matrix(&self) -> Matrix {
        match self.layout {
            Layout::Rows(matrix) | Layout::Columns(matrix) => matrix,
            Layout::Axis(Axis { reduced, inner, .. }) => Matrix::dense(reduced, inner),
            Layout::Array | Layout::Ragged(_) => Matrix::of(self.n),
        }
    }

    /// Elements of a vector of 16 bytes.
    pub fn per_vector(&self) -> u64 {
        16 / self.ty.bytes()
    }

    /// The instance `instance` of the kernel `kernel` for this operation and type: `reduce_argmax_tiles_t256u4_f32`.
    pub fn entry(&self, kernel: &str, instance: &str) -> String {
        entry_name(kernel, self.op, instance, self.ty)
    }
}

/// `<name>[_min|_max][_<instance>]_<type>`: how kernels name the instances of a template.
pub fn entry_name(name: &str, op: Op, instance: &str, ty: Type) -> String {
    let op = if op == Op::Sum { String::new() } else { format!("_{op}") };
    let instance = if instance.is_empty() { String::new() } else { format!("_{instance}") };
    format!("{name}{op}{instance}_{ty}")
}

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The address of an operand of any other role.
    Operand(Role),
    /// The address so many bytes behind the begin of an operand.
    Behind(Role, u64),
    /// The address of the plan's array of this number.
    Sums(usize),
    /// The address so many bytes behind the begin of the plan's array of this number.
    BehindSums(usize, u64),
    /// The address of the plan's state: 64-bit words that are zero before the first run and zero again after each run.
    State,
    /// A number of 32 bits.
    U32(u32),
    /// A number of 64 bits.
    U64(u64),
}

impl Arg {
    /// The address of an operand, or 0 where it is not taken.
    pub fn optional(role: Role, is_taken: bool) -> Arg {
        if is_taken { Arg::Operand(role) } else { Arg::U64(0) }
    }
}

/// One launch of a plan: `kernel<<<grid, block>>>(args)`, and what it does to a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Additions on the longest path from what it reads to what it writes: what the error bound counts. 0 in all launches of a plan
    /// whose sum is exact.
    pub additions: u64,
    /// Atomic additions by which it brings its blocks' sums together in global memory.
    pub atomics: u64,
    /// True if blocks wait for each other: how often they look is a matter of time, and so is what is counted of it.
    pub waits: bool,
}

setters! {
    Pass:
    with_elements(elements: u64) elements = elements, "With so many elements that it reads.";
    with_additions(additions: u64) additions = additions, "With so many additions on the longest path.";
    with_atomics(atomics: u64) atomics = atomics, "With so many atomic additions.";
    with_args(args: Vec<Arg>) args = args, "With other arguments.";
}

impl Pass {
    /// With the line of CUDA that makes its kernel.
    pub fn with_line(self, line: impl Into<Option<String>>) -> Pass {
        Pass { line: line.into(), ..self }
    }

    /// A plain launch without dynamic shared memory.
    pub fn new(kernel: String, grid: u64, block: u64, args: Vec<Arg>) -> Pass {
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

/// Way in which blocks of a launch meet by its state. Words that one protocol is done with may be left in a form that another one
/// would misread, so that each has a state of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// Tickets: the last block to take one finds what the others left.
    #[default]
    Tickets,
    /// Sums of 32-bit integers and their count in one word.
    Packed,
    /// Floats of so many bytes, with a flag each.
    Slots(u8),
    /// Values of so many words, with a flag each.
    Messages(u8),
    /// Parts of exact sums, with a count of blocks above each.
    Limbs,
}

/// Part of a plan that is made of several.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Its launches.
    pub(crate) plan: Plan,
    /// Bytes from the begin of the inputs to that of what it reads.
    pub(crate) input: u64,
    /// Bytes from the begin of the results to that of its own.
    pub(crate) out: u64,
}

/// Every launch that takes n elements to one value. Empty for n = 0: the result is the identity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// In order.
    pub passes: Vec<Pass>,
    /// Elements of each array that the passes write. The last one begins with the result, or holds one for each row.
    pub sums: Vec<u64>,
    /// 64-bit words of state.
    pub state_words: u64,
    /// Meaning of the state.
    pub protocol: Protocol,
    /// Why these launches, where there was a choice; else empty.
    pub why: String,
}

impl Plan {
    /// These launches, without a state, and the elements of each array that they write.
    pub fn new(passes: Vec<Pass>, sums: Vec<u64>) -> Plan {
        Plan { passes, sums, ..Plan::default() }
    }

    /// With so many 64-bit words of state for tickets.
    pub fn with_state_words(self, state_words: u64) -> Plan {
        Plan { state_words, ..self }
    }

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

    /// The launches of parts, one behind the other, which share what they leave each other. The last of `sums` is the first part's.
    ///
    /// An element goes through one part, so that only the longest path has additions.
    pub(crate) fn in_turn(parts: Vec<Part>) -> Plan {
        let mut all = Plan::default();
        let longest = parts.iter().map(|part| part.plan.additions()).max();
        let longest = parts.iter().position(|part| Some(part.plan.additions()) == longest);
        let scratch = |plan: &Plan| plan.sums.len().saturating_sub(1);
        let out = parts.iter().map(|part| scratch(&part.plan)).max().unwrap_or(0);
        all.sums = vec![0; out];
        all.sums.extend(parts.first().and_then(|part| part.plan.sums.last()));
        for (at, part) in parts.into_iter().enumerate() {
            let last = scratch(&part.plan);
            for (most, sums) in all.sums[..out].iter_mut().zip(&part.plan.sums[..last]) {
                *most = (*most).max(*sums);
            }
            all.state_words = all.state_words.max(part.plan.state_words);
            all.protocol = part.plan.protocol;
            if all.why.is_empty() {
                all.why.clone_from(&part.plan.why);
            }
            let moved = |arg: Arg| match arg {
                Arg::Input => Arg::Behind(Role::Input, part.input),
                Arg::Other => Arg::Behind(Role::Other, part.input),
                Arg::Behind(role @ (Role::Input | Role::Other), bytes) => Arg::Behind(role, bytes + part.input),
                Arg::Sums(at) if at == last => Arg::BehindSums(out, part.out),
                Arg::BehindSums(at, bytes) if at == last => Arg::BehindSums(out, bytes + part.out),
                arg => arg,
            };
            for mut pass in part.plan.passes {
                pass.args.iter_mut().for_each(|arg| *arg = moved(*arg));
                if longest != Some(at) {
                    pass.additions = 0;
                }
                all.passes.push(pass);
            }
        }
        all
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

    /// Values that the passes write, all of them together.
    pub fn partial_sums(&self) -> u64 {
        self.sums.iter().sum()
    }
}
