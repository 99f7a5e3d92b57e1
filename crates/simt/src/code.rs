//! Register code: what a kernel is lowered to. One fixed-size instruction per PTX instruction; immediates, parameters and
//! special registers are rows of the register file that a launch fills, so that every operand is a row index.

mod access;
mod copy;
mod debug;
mod effect;
mod op;

use std::collections::HashMap;
use std::sync::Arc;

use ptx::Loc;

pub use access::{AtomOp, AtomicOp, MachineOp, MemOp, Order, Scope, Target, Width};
pub use copy::{AsyncStore, BulkCopy, BulkStore, CopyCode, MbarrierAct, MbarrierOp, Place};
pub(crate) use effect::{Decider, Effect, moves};
pub use op::{Combine, FloatMode, Op, Reduction, ReduxOp, ShuffleMode, StackAct, VoteMode};
pub(crate) use op::{Counted, Operand, Role, operands, reads, writes};

use crate::exact::Exact;
use crate::ops::Row;

/// Index of a register row (or predicate). [`NONE`] where an operand is absent.
pub type Reg = u16;

/// No operand.
pub const NONE: Reg = Reg::MAX;

/// Most elements of a vector operand.
pub const VECTOR_MAX: usize = 8;

/// `@p` / `@!p`: the lanes that take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Predicate index, [`NONE`] when unguarded.
    pub predicate: Reg,
    /// Written with `!`.
    pub negated: bool,
}

/// Barriers of a block.
pub const BARRIERS: u32 = 16;

/// One instruction.
#[derive(Debug, Clone, Copy)]
pub struct Inst {
    /// Operation.
    pub op: Op,
    /// Guard that says which lanes execute it.
    pub guard: Guard,
    /// Operand rows; `operands` of `code/op.rs` says for each [`Op`] what they are to it.
    pub d: Reg,
    #[allow(missing_docs)]
    pub a: Reg,
    #[allow(missing_docs)]
    pub b: Reg,
    #[allow(missing_docs)]
    pub c: Reg,
    #[allow(missing_docs)]
    pub e: Reg,
    #[allow(missing_docs)]
    pub f: Reg,
    /// Branch target, byte offset or flags.
    pub imm: i64,
    /// For a branch: the place where its paths meet again (the immediate post-dominator); [`NO_PC`] if only at the exit.
    pub reconverge: u32,
}

/// Arithmetic of one lane at a time, with its operands.
#[derive(Debug, Clone)]
pub struct ExactCode {
    /// The instruction.
    pub exact: Exact,
    /// Its sources in order; of a predicate also whether it is negated.
    pub sources: Vec<(Row, Reg, bool)>,
    /// The row of its result.
    pub to: Row,
    /// Its result, [`NONE`] to discard it.
    pub d: Reg,
    /// A predicate that it also writes: a carry, a second answer; or [`NONE`].
    pub second: Reg,
}

/// No program counter.
pub const NO_PC: u32 = u32::MAX;

/// The part of an instruction that only reports and counters need, kept apart from the hot array.
#[derive(Debug, Clone)]
pub struct Debug {
    /// CUDA source line, if known. For inlined code, the innermost line in the file of the function that it became
    /// part of: a line inside a library says little to its caller.
    pub loc: Option<Loc>,
    /// Line of inlined code, its caller's, and so on outwards; empty for other code.
    pub frames: Arc<[Loc]>,
    /// Line in the PTX file.
    pub ptx_line: u32,
    /// Opcode as written.
    pub opcode: String,
    /// False for the second and later parts of a PTX instruction that lowered to several.
    pub counted: bool,
}

/// A row that a launch fills before the first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A literal.
    Literal(u64),
    /// Bytes of the parameter block.
    Param {
        /// Byte offset.
        offset: u32,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Sign-extend.
        signed: bool,
    },
    /// A special register.
    Special(Special),
    /// Address of a module variable, by index in `Code::variables`, plus an offset.
    Variable(u32, i64),
    /// Offset in shared memory where the dynamic part starts, plus an offset.
    Dynamic(i64),
}

/// Special registers that are constant for a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named after PTX
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    ClusterId(u8),
    NclusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSharedBytes,
    TotalSharedBytes,
    AllSharedBytes,
    WarpSize,
    Envreg(u8),
    /// One that has the same value in every launch.
    Known(u32),
}

/// Shared memory that a driver keeps for itself at the start of a block's, from sm_90 on. Only kernels that ask where it
/// is have it here: libraries keep the barriers of large groups there.
pub const RESERVED_SHARED_BYTES: u32 = 1024;

/// A variable in shared memory, for reports.
#[derive(Debug, Clone)]
pub struct SharedVariable {
    /// Name, demangled to its last part.
    pub name: String,
    /// Byte offset.
    pub offset: u32,
    /// Size in bytes; for the dynamic part 0 until launch.
    pub bytes: u32,
    /// Element size in bytes as the PTX declares it: 1 for what may be an array of anything.
    pub element_bytes: u32,
}

/// A `.global` or `.const` variable that the kernel uses.
#[derive(Debug, Clone, Default)]
pub struct ModuleVariable {
    /// Name for reports.
    pub name: String,
    /// Name as in the PTX, which identifies it within the module.
    pub symbol: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Initial bytes; those after the last of them are zero.
    pub init: Vec<u8>,
    /// Set for constant memory, which no kernel may change.
    pub is_const: bool,
    /// Addresses of other variables, to be written over `init`.
    pub relocations: Vec<Relocation>,
    /// Element size in bytes for reports.
    pub element_bytes: u32,
}

/// An element of an initialiser that holds the address of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Byte offset of the element.
    pub at: u64,
    /// Size of the element in bytes.
    pub bytes: u8,
    /// The variable, by its name in the PTX; one of `Code::variables`.
    pub symbol: String,
    /// Bytes added to its address.
    pub offset: i64,
    /// Mask of the address bits that are stored, moved down to bit 0.
    pub mask: u64,
}

/// Target of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// A function of `Code::functions`.
    Function(u32),
    /// Whichever function has the address in a register.
    Indirect,
    /// `vprintf`
    Print,
    /// `__assertfail`
    AssertFail,
    /// `malloc`
    Allocate,
    /// `free`
    Free,
}

/// Rows of parameters copied between the frames of caller and callee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// First row in the caller's frame.
    pub caller: u32,
    /// First row in the callee's frame.
    pub callee: u32,
    /// Rows of 4 bytes a lane.
    pub rows: u32,
}

/// One `call`.
#[derive(Debug, Clone)]
pub struct CallSite {
    /// Target.
    pub callee: Callee,
    /// Function that it stands in, by index in `Code::functions`.
    pub caller: u32,
    /// Sizes of the parameters and return values.
    pub signature: Signature,
    /// Parameters, caller to callee.
    pub arguments: Vec<Slot>,
    /// Return parameters, callee to caller.
    pub returns: Vec<Slot>,
    /// Registers that are needed after the call and that the callee may call this function again with.
    pub saved: Vec<(Row, Reg)>,
    /// Row of the caller's frame where they are kept.
    pub save_at: u32,
}

/// Sizes in bytes of what a function returns and takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// Return parameters.
    pub returns: Vec<u32>,
    /// Parameters.
    pub params: Vec<u32>,
}

/// A function of the kernel's code: the entry, or a device function that it may call.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// Name as in the PTX.
    pub name: String,
    /// First instruction.
    pub start: u32,
    /// Sizes of its return values and parameters.
    pub signature: Signature,
    /// Rows of an activation's frame: parameters in and out, and registers saved around calls.
    pub frame_rows: u32,
    /// Local variables of an activation in bytes, a multiple of the largest alignment that any of the code needs.
    pub local_bytes: u32,
    /// Registers whose use may come before any write, where the use is one that matters: see `lower/unset.rs`.
    pub unset: Vec<(Row, Reg)>,
}

/// Registers that are no longer needed, by the instruction where that begins.
#[derive(Debug, Clone, Default)]
pub struct Outlived {
    /// Index in `lists` and one more, by instruction; 0 where there are none. Empty if there are none at all.
    pub(crate) places: Vec<u32>,
    #[allow(missing_docs)]
    pub(crate) lists: Vec<Vec<(Row, Reg)>>,
}

impl Outlived {
    /// The registers that are no longer needed from instruction `pc` on.
    #[inline]
    pub fn at(&self, pc: u32) -> &[(Row, Reg)] {
        match self.places.get(pc as usize) {
            None | Some(0) => &[],
            Some(&place) => &self.lists[place as usize - 1],
        }
    }
}

/// Address of the function with this index in the module: no memory has it, and it stays the same for all kernels of
/// the module, which may hand function pointers to each other.
pub fn function_address(module_index: usize) -> u64 {
    FUNCTION_BASE + FUNCTION_STEP_BYTES * (module_index as u64 + 1)
}

const FUNCTION_BASE: u64 = 1 << 59;
const FUNCTION_STEP_BYTES: u64 = 128;

/// A lowered kernel.
#[derive(Debug, Clone, Default)]
pub struct Code {
    /// Instructions.
    pub insts: Vec<Inst>,
    /// Same indices as `insts`.
    pub debug: Vec<Debug>,
    /// Operations that [`Op::Exact`] refers to.
    pub exact: Vec<ExactCode>,
    /// Vector operands: `Inst::c` indexes here for vector loads and stores.
    pub vectors: Vec<[Reg; VECTOR_MAX]>,
    /// 32-bit rows: first the registers, then the constant rows in `constants32`.
    pub rows32: u16,
    /// 64-bit rows, likewise.
    pub rows64: u16,
    /// Predicates.
    pub predicates: u16,
    /// (row, source) of the 32-bit constant rows.
    pub constants32: Vec<(Reg, Source)>,
    /// (row, source) of the 64-bit constant rows.
    pub constants64: Vec<(Reg, Source)>,
    /// Rows that may be read before they are written, zeroed at block start so that runs repeat bit for bit.
    pub unset32: Vec<Reg>,
    #[allow(missing_docs)]
    pub unset64: Vec<Reg>,
    /// Registers of [`Function::unset`] that nothing uses any more before they are written.
    pub outlived: Outlived,
    /// Static shared variables.
    pub shared: Vec<SharedVariable>,
    /// Static shared memory in bytes, with the reserved part.
    pub shared_bytes: u32,
    /// Bytes reserved at its start: 0 or [`RESERVED_SHARED_BYTES`].
    pub reserved_bytes: u32,
    /// Largest alignment of a local variable in bytes.
    pub local_align_bytes: u32,
    /// Alignment that the dynamic part starts at.
    pub dynamic_align_bytes: u32,
    /// The entry, then the device functions that it may call.
    pub functions: Vec<Function>,
    /// Index in `functions` by address.
    pub addresses: HashMap<u64, u32>,
    /// The calls.
    pub calls: Vec<CallSite>,
    /// The asynchronous copies.
    pub copies: Vec<CopyCode>,
    #[allow(missing_docs)]
    pub bulk_copies: Vec<BulkCopy>,
    #[allow(missing_docs)]
    pub bulk_stores: Vec<BulkStore>,
    #[allow(missing_docs)]
    pub async_stores: Vec<AsyncStore>,
    /// Targets of indexed branches.
    pub tables: Vec<Vec<u32>>,
    /// Set if the depth of calls is unknown before they run, because of recursion or an indirect call.
    pub has_unbounded_stack: bool,
    /// Module variables used.
    pub variables: Vec<ModuleVariable>,
    /// Blocks may talk to each other (global atomics, volatile or ordered global loads): they then run in one fixed
    /// interleaving instead of side by side.
    pub blocks_communicate: bool,
    /// It makes addresses of the shared memory of other blocks.
    pub maps_shared: bool,
    /// Roles of relaxed, volatile and constant loads and of atomics, by instruction; any other access is `Other`.
    pub roles: HashMap<u32, crate::race::Role>,
    /// It has fences, or accesses that acquire or release: threads may order each other by flags.
    pub orders_by_hand: bool,
    /// It has atomics, or loads that are ordered or volatile: lanes may spin until another lane writes.
    pub may_spin: bool,
}

impl Code {
    /// Returns whether instruction `pc` is an atomic.
    pub fn is_atomic(&self, pc: u32) -> bool {
        self.insts.get(pc as usize).is_some_and(|inst| matches!(inst.op, Op::Atomic(_)))
    }

    /// Returns whether it allocates memory, or gives it back.
    pub fn allocates(&self) -> bool {
        self.calls.iter().any(|site| matches!(site.callee, Callee::Allocate | Callee::Free))
    }

    /// Returns whether it reads the workspace of a cooperative launch.
    pub fn uses_grid_barrier(&self) -> bool {
        let is_workspace = |source: Source| matches!(source, Source::Special(Special::Envreg(1 | 2)));
        self.constants32.iter().chain(&self.constants64).any(|&(_, source)| is_workspace(source))
    }
}

impl Code {
    /// The function that instruction `pc` belongs to.
    pub fn function_at(&self, pc: u32) -> &Function {
        let index = self.functions.partition_point(|function| function.start <= pc);
        &self.functions[index.saturating_sub(1)]
    }
}
