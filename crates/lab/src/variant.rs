//! A kernel of a chapter as plain data: what it computes, which launches it takes, and its entries in the PTX.

use crate::element::Type;
use crate::layout::Per;
use crate::op::Op;
use crate::plan::{Arg, LaunchOptions, N_MAX, Pass, Plan, Problem};
use reduction::plan::entry_name;

/// One kernel of a chapter and how it is launched.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// `unroll_shuffle`; its entries are `unroll_shuffle_i32`, `unroll_shuffle_f32`.
    pub name: &'static str,
    /// Idea, one sentence.
    pub idea: &'static str,
    /// Limit, one sentence.
    pub limit: &'static str,
    /// Element types it is compiled for.
    pub types: &'static [Type],
    /// Operations that it is compiled for.
    pub ops: &'static [Op],
    /// Types of each operation, where it has not all that the operation takes.
    pub takes: fn(Op, Type) -> bool,
    /// Announced fault of a ✗ variant, by its code.
    pub announced: Option<device::Code>,
    /// Harm of a ✗ variant whose sum is right: one clause. None for a kernel that is taught as good.
    pub harm: Option<&'static str>,
    /// Block sizes it is right for.
    pub blocks: BlockRule,
    /// Elements that one full block of so many threads takes in one pass: the size of the small case that records and pages
    /// show beside the large one. A mistake may need fewer to show.
    pub elements_per_block: fn(block: u32) -> u64,
    /// Part of the input that gets a value of its own.
    pub per: Per,
    /// Its launches for a problem; a plan without any where it has no instance for the options together.
    pub launches: fn(&Problem<'_>) -> Plan,
    /// True if more than n and the block decides how many blocks there are: a record of a GPU then says how many there were.
    pub chooses_grid: bool,
    /// True if there is an instance for each block size, named `<name>_b256_i32`.
    pub per_block: bool,
    /// The number that it is tuned by, if it has one.
    pub factors: Option<Factors>,
    /// The file of `kernels/` that holds it, if that is not the chapter's own.
    pub kernels: Option<&'static str>,
    /// The compute capability that it needs, 90 for 9.0; 80 for what every lesson needs.
    pub compute_capability: u32,
    /// Blocks of the clusters that it cannot do without, up to 8; 1 for none.
    pub cluster: u32,
    /// Most elements of one run.
    pub n_max: u64,
    /// True if its launch may begin while the one before it ends: it waits for that one in its own code.
    pub overlaps: bool,
    /// True if it sums in place and destroys its input.
    pub in_place: bool,
    /// True if its blocks add to one value in the order in which they come by: sums of floats then differ from run to run in
    /// their last bits, on a GPU.
    pub unordered: bool,
    /// Elements by which the small case of a mistake is shifted from the start of its allocation; 0 but for mistakes that
    /// need unaligned input to show.
    pub offset: usize,
    /// Offset added to the numbers of that case; 0 but for mistakes that need numbers far from 0 to show.
    pub far: f32,
}

/// The number that a kernel is tuned by: elements a thread, for instance. There is an instance for each of its values.
#[derive(Debug, Clone, Copy)]
pub struct Factors {
    /// Meaning of the number: `elements a thread takes`.
    pub what: &'static str,
    /// Its values.
    pub values: &'static [u32],
    /// Taken when the reader gives none.
    pub default: u32,
}

/// Block sizes that a kernel documents: powers of two in a range.
#[derive(Debug, Clone, Copy)]
pub struct BlockRule {
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
    /// Taken when the reader gives none.
    pub default: u32,
}

impl Variant {
    /// Values that most variants share, for the rest of a literal: a sum of i32 and f32 by relaunching, right and good.
    pub const BASE: Variant = Variant {
        name: "",
        idea: "",
        limit: "",
        types: &[Type::I32, Type::F32],
        ops: &[Op::Sum],
        takes: |_, _| true,
        announced: None,
        harm: None,
        blocks: BlockRule { min: 32, max: 1024, default: 256 },
        elements_per_block: |block| block as u64,
        per: Per::Array,
        launches: one_a_thread,
        chooses_grid: false,
        per_block: false,
        factors: None,
        kernels: None,
        compute_capability: 80,
        cluster: 1,
        n_max: N_MAX,
        overlaps: false,
        in_place: false,
        unordered: false,
        offset: 0,
        far: 0.0,
    };

    /// Its default operation.
    pub fn op(&self) -> Op {
        self.ops.first().copied().unwrap_or_default()
    }

    /// Its launch if nothing is asked for.
    pub fn options(&self) -> LaunchOptions {
        LaunchOptions { op: self.op(), ..LaunchOptions::default() }
    }

    /// The entry of the PTX that computes `op` of this type with blocks of `block` threads.
    pub fn entry(&self, op: Op, ty: Type, block: u32) -> String {
        let instance = if self.per_block { format!("b{block}") } else { String::new() };
        entry_name(self.name, op, &instance, ty)
    }

    /// Returns whether it is compiled to compute `op` of elements of this type.
    pub fn computes(&self, op: Op, ty: Type) -> bool {
        self.types.contains(&ty) && self.ops.contains(&op) && op.refusal(ty).is_none() && (self.takes)(op, ty)
    }
}

/// `kernel<<<grid, block>>>(in, sums, n)` with an element a thread, and again over the blocks' sums until one is left.
fn one_a_thread(problem: &Problem<'_>) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sums, n| {
        let args = vec![input, sums, Arg::U32(n as u32)];
        Pass::new(problem.kernel(), n.div_ceil(block), block, args).with_additions(block.ilog2().into())
    })
}
