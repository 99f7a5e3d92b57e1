//! Operations of register code, and all that is known about one without running it: the role of each operand, its class in
//! counters and reports. Liveness, the choice of machine instructions, counters, traces and reports
//! read it here.

use super::{AtomOp, Code, Inst, MbarrierAct, MbarrierOp, MemOp, NONE, Order, Place, Reg, Scope, Target};
use crate::ops::{Alu, Row};

/// `shfl.sync` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// `vote.sync` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// `redux.sync` operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReduxOp {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    MinF32(FloatMode),
    MaxF32(FloatMode),
    And,
    Or,
    Xor,
}

/// Reduction of the predicates by `bar.red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Reduction {
    Count,
    And,
    Or,
}

/// `.abs` and `.NaN` of a reduction of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatMode {
    /// Compares magnitudes.
    pub abs: bool,
    /// One NaN makes the result NaN; without it NaNs lose.
    pub nan: bool,
}

/// Combination of `setp`'s comparison with its third source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// Operation of an instruction; [`operands`] has the roles of its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Arithmetic, logic, conversion: the table in `ops.rs`.
    Alu(Alu),
    /// Arithmetic of one lane at a time: `Code::exact` has the operands.
    Exact {
        /// Index in `Code::exact`.
        at: u16,
        /// The row of its result.
        to: Row,
    },
    /// `setp`: a comparison that yields a predicate, how another predicate is combined with it, and whether that is negated
    /// first. The second result is the complement.
    Setp(Alu, Combine, bool),
    /// Copy, 32 bits.
    Mov32,
    /// Copy, 64 bits.
    Mov64,
    /// Two 32-bit rows into a 64-bit row (`mov.b64 d, {a, b}`).
    Pack64,
    /// A 64-bit row into two 32-bit rows (`mov.b64 {d, e}, a`).
    Unpack64,
    /// Two 16-bit halves into a 32-bit row.
    Pack32,
    /// A 32-bit row into two 16-bit halves.
    Unpack32,
    /// `d = c ? a : b`, 32 bits.
    Selp32,
    /// `d = c ? a : b`, 64 bits.
    Selp64,
    /// Predicate logic: `d = a op b` over masks.
    PredAnd,
    #[allow(missing_docs)]
    PredOr,
    #[allow(missing_docs)]
    PredXor,
    #[allow(missing_docs)]
    PredNot,
    #[allow(missing_docs)]
    PredMov,
    /// Branch to `imm`; `@p` decides per lane.
    Branch,
    /// `brx.idx`: to the `a`-th of the targets in `Code::tables[imm]`.
    BranchIndexed,
    /// `call`, as `Code::calls[imm]` says; the function's address in the 64-bit row `a` if it is indirect.
    Call,
    /// `ret` of a device function.
    Return,
    /// `ret` of the entry, `exit`.
    Exit,
    /// `trap`, and `brkpt`, which no debugger is there to catch.
    Trap,
    /// `ld`: one register, or those of the side table; the address' byte offset is `imm`.
    Load(MemOp),
    /// `st`, likewise.
    Store(MemOp),
    /// `ld.param` of what is passed to a device function or returned from one: `imm` is the byte in the frame.
    LoadFrame(MemOp),
    /// `st.param`, likewise.
    StoreFrame(MemOp),
    /// `d` = where byte `imm` of a device function's local variables is in this activation.
    LocalAddress,
    /// `alloca`, `stacksave`, `stackrestore`.
    Stack(StackAct),
    /// `atom`, `red`: what was there, if anybody asks; address, value, and of `cas` the value that is put there.
    Atomic(AtomOp),
    /// `bar.sync`: number of the barrier, and of threads if given. `e` is 1 where all lanes of a warp must come to it together, as to the two that follow.
    Barrier,
    /// `bar.arrive`
    BarrierArrive,
    /// `bar.red`: its predicate is negated if `imm` is 1.
    BarrierReduce(Reduction),
    /// `barrier.cluster.arrive`
    ClusterArrive {
        /// Not `.relaxed`.
        releases: bool,
    },
    /// `barrier.cluster.wait`
    ClusterWait,
    /// `fence`, `membar`: for the race checks only, since whole instructions are executed one after the other.
    Fence {
        /// Whom it is for.
        scope: Scope,
        /// `fence.sc`, `membar`: such fences have an order among themselves.
        orders_fences: bool,
    },
    /// `mapa`: address and rank.
    MapShared {
        /// Addresses of 64 bits.
        wide: bool,
    },
    /// `getctarank`
    RankOf {
        /// An address of 64 bits.
        wide: bool,
    },
    /// `bar.warp.sync`: the mask.
    WarpBarrier,
    /// `shfl.sync`: value, lane, clamp and mask. The second result says whether the lane was in range.
    Shuffle(ShuffleMode),
    /// `vote.sync`: predicate, negated if `imm` is 1, and mask.
    Vote(VoteMode),
    /// `match.sync`: value and mask.
    Match {
        /// `.all`
        all: bool,
        /// 64-bit source.
        wide: bool,
    },
    /// `redux.sync`: value and mask.
    Redux(ReduxOp),
    /// `elect.sync`: the mask.
    Elect,
    /// `ldmatrix`, `stmatrix`: registers of the side table, the address of a row in each lane, mask.
    Matrix {
        /// `stmatrix`
        stores: bool,
        /// 1, 2 or 4 matrices of 8 by 8 elements of 16 bits.
        count: u8,
        /// `.trans`
        transposed: bool,
        /// The addresses are generic.
        generic: bool,
    },
    /// `activemask`
    ActiveMask,
    /// `cp.async`: as `Code::copies[imm]` says.
    CopyAsync,
    /// `cp.async.commit_group`
    CopyCommit,
    /// `cp.async.wait_group imm`; `cp.async.wait_all` where `imm` is negative.
    CopyWait,
    /// `cp.async.bulk` to shared memory: as `Code::bulk_copies[imm]` says.
    CopyBulk,
    /// `cp.async.bulk`, `cp.reduce.async.bulk` to global memory: as `Code::bulk_stores[imm]` says.
    StoreBulk,
    /// `st.async`: elements as the operation has them, the rest as `Code::async_stores[imm]` says.
    StoreAsync(MemOp),
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group imm`; `e` is 1 with `.read`.
    BulkWait,
    /// `mbarrier`, `cp.async.mbarrier.arrive`.
    Mbarrier(MbarrierOp),
    /// `cp.async.bulk.prefetch`: it moves nothing; address and size are checked.
    PrefetchBulk,
    /// `griddepcontrol.launch_dependents`: as far as this block goes the next launch of the stream may begin.
    LetNextLaunch,
    /// `griddepcontrol.wait`: for the end of the launch before, where the two overlap.
    WaitForLaunch,
    /// `nanosleep`, prefetches and other hints: nothing to do.
    Nop,
    /// `%clock`, `%clock64`, `%globaltimer`: instructions this warp has executed, the only time there is. `imm` 0: its
    /// low 32 bits; 1: all 64; 2: the high 32.
    Clock,
}

/// Operation on a thread's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackAct {
    /// Room for as many bytes as `a` says, at an address in local memory.
    Allocate {
        /// A power of two.
        align_bytes: u32,
    },
    /// End of the stack.
    Save,
    /// Release of all that was allocated since then.
    Restore,
}

/// Role of an operand in an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is written.
    Destination,
    /// Its value is read.
    Source,
    /// It is read for where memory is accessed.
    Address,
    /// It is the predicate that says which lanes take part.
    Guard,
}

/// A register in its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) role: Role,
    pub(crate) row: Row,
    pub(crate) reg: Reg,
}

impl Operand {
    /// Returns whether the instruction reads its value for more than which lanes take part.
    pub(crate) fn reads_value(&self) -> bool {
        matches!(self.role, Role::Source | Role::Address)
    }
}

/// The registers that `inst` reads.
pub(crate) fn reads(code: &Code, inst: &Inst) -> Vec<(Row, Reg)> {
    in_role(code, inst, |role| role != Role::Destination)
}

/// The registers that `inst` writes.
pub(crate) fn writes(code: &Code, inst: &Inst) -> Vec<(Row, Reg)> {
    in_role(code, inst, |role| role == Role::Destination)
}

fn in_role(code: &Code, inst: &Inst, is: impl Fn(Role) -> bool) -> Vec<(Row, Reg)> {
    let all = operands(code, inst).into_iter().filter(|operand| is(operand.role));
    all.map(|operand| (operand.row, operand.reg)).collect()
}

/// The operands of `inst`: what it writes, what it reads, its guard. Those that are absent are left out.
pub(crate) fn operands(code: &Code, inst: &Inst) -> Vec<Operand> {
    let none = Operands(Vec::new());
    let all = match inst.op {
        Op::Load(_) | Op::Store(_) | Op::LoadFrame(_) | Op::StoreFrame(_) | Op::Atomic(_) => {
            none.access_operands(code, inst)
        }
        Op::CopyAsync | Op::CopyBulk | Op::StoreBulk | Op::StoreAsync(_) => none.copy_operands(code, inst),
        _ => none.row_operands(code, inst),
    };
    all.add(Role::Guard, Row::P, inst.guard.predicate).0
}

/// Operands of an instruction, as they are found.
struct Operands(Vec<Operand>);

impl Operands {
    fn add(mut self, role: Role, row: Row, reg: Reg) -> Operands {
        if reg != NONE {
            self.0.push(Operand { role, row, reg });
        }
        self
    }

    /// A destination.
    fn to(self, row: Row, reg: Reg) -> Operands {
        self.add(Role::Destination, row, reg)
    }

    /// A source.
    fn of(self, row: Row, reg: Reg) -> Operands {
        self.add(Role::Source, row, reg)
    }

    /// Adds the address of an access to memory.
    fn at(self, narrow: bool, reg: Reg) -> Operands {
        self.add(Role::Address, wide(!narrow), reg)
    }

    /// Operands of every instruction that is neither a load, a store, an atomic nor a copy.
    fn row_operands(self, code: &Code, inst: &Inst) -> Operands {
        use Row::{D, P, W};
        let Inst { a, b, c, d, e, f, imm, .. } = *inst;
        match inst.op {
            Op::Alu(alu) => self.to(alu.signature().destination, d).alu_operands(alu, inst),
            Op::Exact { at, to } => {
                let exact = &code.exact[usize::from(at)];
                let results = self.to(to, d).to(P, exact.second);
                exact.sources.iter().fold(results, |all, &(row, reg, _)| all.of(row, reg))
            }
            Op::Setp(alu, ..) => self.to(P, d).to(P, e).alu_operands(alu, inst).of(P, c),
            Op::Mov32 => self.to(W, d).of(W, a),
            Op::Mov64 => self.to(D, d).of(D, a),
            Op::Pack32 => self.to(W, d).of(W, a).of(W, b),
            Op::Pack64 => self.to(D, d).of(W, a).of(W, b),
            Op::Unpack32 => self.to(W, d).to(W, e).of(W, a),
            Op::Unpack64 => self.to(W, d).to(W, e).of(D, a),
            Op::Selp32 => self.to(W, d).of(W, a).of(W, b).of(P, c),
            Op::Selp64 => self.to(D, d).of(D, a).of(D, b).of(P, c),
            Op::PredAnd | Op::PredOr | Op::PredXor | Op::PredNot | Op::PredMov => self.to(P, d).of(P, a).of(P, b),
            Op::ActiveMask => self.to(W, d),
            Op::Clock => self.to(wide(imm == 1), d),
            Op::MapShared { wide: is_wide } => self.to(wide(is_wide), d).of(wide(is_wide), a).of(W, b),
            Op::RankOf { wide: is_wide } => self.to(W, d).of(wide(is_wide), a),
            Op::LocalAddress => self.to(D, d),
            Op::Stack(_) => self.to(D, d).of(D, a),

            Op::Barrier | Op::BarrierArrive | Op::WarpBarrier => self.of(W, a).of(W, b),
            Op::BarrierReduce(Reduction::Count) => self.to(W, d).of(W, a).of(W, b).of(P, c),
            Op::BarrierReduce(_) => self.to(P, d).of(W, a).of(W, b).of(P, c),
            Op::Shuffle(_) => self.to(W, d).to(P, e).of(W, a).of(W, b).of(W, c).of(W, f),
            Op::Vote(VoteMode::Ballot) => self.to(W, d).of(P, a).of(W, f),
            Op::Vote(_) => self.to(P, d).of(P, a).of(W, f),
            Op::Match { wide: is_wide, .. } => self.to(W, d).to(P, e).of(wide(is_wide), a).of(W, f),
            Op::Redux(_) => self.to(W, d).of(W, a).of(W, f),
            Op::Elect => self.to(W, d).to(P, e).of(W, f),
            Op::Matrix { stores, .. } => {
                let role = if stores { Role::Source } else { Role::Destination };
                self.side(code, role, W, c).at(e == 1, a).of(W, f)
            }

            Op::Mbarrier(MbarrierOp { act: MbarrierAct::Test { .. }, .. }) => {
                self.to(P, d).at(e == 1, a).of(W, b).of(D, c)
            }
            Op::Mbarrier(_) => self.to(D, d).at(e == 1, a).of(W, b),
            Op::PrefetchBulk => self.at(e == 1, a).of(W, b),
            Op::BranchIndexed => self.of(W, a),
            Op::Call => self.of(D, a),
            _ => self,
        }
    }

    /// The sources of a lane loop.
    fn alu_operands(self, alu: Alu, inst: &Inst) -> Operands {
        let rows = alu.signature().sources.into_iter().flatten();
        rows.zip([inst.a, inst.b, inst.c, inst.e]).fold(self, |all, (row, reg)| all.of(row, reg))
    }

    /// Operands of a load, store or atomic.
    fn access_operands(self, code: &Code, inst: &Inst) -> Operands {
        use Role::{Destination, Source};
        let Inst { a, b, c, d, e, f, .. } = *inst;
        match inst.op {
            Op::Load(op) => self.data(code, Destination, op, d, c).at(e == 1, a),
            Op::Store(op) => self.data(code, Source, op, d, c).at(e == 1, a),
            Op::LoadFrame(op) => self.data(code, Destination, op, d, c),
            Op::StoreFrame(op) => self.data(code, Source, op, d, c),
            Op::Atomic(op) if op.vector > 1 => {
                let all = self.side(code, Destination, wide(op.bytes >= 8), f);
                all.side(code, Source, wide(op.bytes >= 8), c).at(e == 1, a)
            }
            Op::Atomic(op) => {
                let values = [(Destination, d), (Source, b), (Source, c)];
                let pair = |all: Operands, (role, first)| {
                    let row = wide(op.bytes >= 8);
                    let second = if op.bytes == 16 && first != NONE { first + 1 } else { NONE };
                    all.add(role, row, first).add(role, row, second)
                };
                values.into_iter().fold(self, pair).at(e == 1, a)
            }
            _ => self,
        }
    }

    /// Operands of an asynchronous copy.
    fn copy_operands(self, code: &Code, inst: &Inst) -> Operands {
        use Row::{P, W};
        let index = inst.imm as usize;
        let located = |all: Operands, places: &[Place]| places.iter().fold(all, |all, at| all.at(at.narrow, at.row));
        match inst.op {
            Op::CopyAsync => code
                .copies
                .get(index)
                .map(|copy| located(self, &[copy.to, copy.from]).of(W, copy.taken).of(P, copy.ignored.predicate)),
            Op::CopyBulk => {
                let copy = code.bulk_copies.get(index);
                copy.map(|copy| located(self, &[copy.to, copy.from, copy.object]).of(W, copy.bytes))
            }
            Op::StoreAsync(op) => code.async_stores.get(index).map(|store| {
                let values = store.values.into_iter();
                values.fold(located(self, &[store.to, store.object]), |all, reg| all.of(wide(op.width.wide), reg))
            }),
            _ => {
                let copy = code.bulk_stores.get(index);
                copy.map(|copy| located(self, &[copy.to, copy.from]).of(W, copy.bytes))
            }
        }
        .unwrap_or(Operands(Vec::new()))
    }

    /// The data of a load or store: `one`, or the registers of the side table.
    fn data(self, code: &Code, role: Role, op: MemOp, one: Reg, side: Reg) -> Operands {
        let row = wide(op.width.wide);
        if op.vector == 1 { self.add(role, row, one) } else { self.side(code, role, row, side) }
    }

    /// The registers of an entry of the side table.
    fn side(self, code: &Code, role: Role, row: Row, at: Reg) -> Operands {
        let registers = code.vectors.get(usize::from(at)).into_iter().flatten();
        registers.fold(self, |all, &reg| all.add(role, row, reg))
    }
}

fn wide(is_wide: bool) -> Row {
    if is_wide { Row::D } else { Row::W }
}

/// Class of an instruction in the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Branch,
    Barrier,
    Shuffle,
    Load,
    Store,
    Atomic,
    /// A reader of global memory that fills shared memory.
    Copy,
    /// Nothing but an instruction.
    Plain,
}

impl Op {
    /// Returns its class in the counters.
    pub(crate) fn counted(self) -> Counted {
        match self {
            Op::Branch | Op::BranchIndexed => Counted::Branch,
            Op::Barrier | Op::BarrierArrive | Op::BarrierReduce(_) => Counted::Barrier,
            Op::Shuffle(_) => Counted::Shuffle,
            Op::Load(_) | Op::Matrix { stores: false, .. } => Counted::Load,
            Op::Store(_) | Op::StoreAsync(_) | Op::Matrix { stores: true, .. } => Counted::Store,
            Op::Atomic(_) => Counted::Atomic,
            Op::CopyAsync => Counted::Copy,
            _ => Counted::Plain,
        }
    }

    /// Returns its effect on memory, as reports name it.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            // Only the call of `printf` reads memory itself.
            Op::Load(_) | Op::Call | Op::Matrix { stores: false, .. } => "reads",
            Op::Store(_) | Op::StoreAsync(_) | Op::Matrix { stores: true, .. } => "writes",
            Op::Atomic(_) | Op::Mbarrier(_) => "updates",
            Op::CopyAsync | Op::CopyBulk | Op::StoreBulk => "fills",
            Op::PrefetchBulk => "prefetches",
            _ => "executes",
        }
    }

    /// Returns whether it is arithmetic, a move or a selection.
    pub(crate) fn is_arithmetic(self) -> bool {
        use Op::{Mov32, Mov64, Pack32, Pack64, Selp32, Selp64, Unpack32, Unpack64};
        let moves = matches!(self, Mov32 | Mov64 | Pack64 | Unpack64 | Pack32 | Unpack32 | Selp32 | Selp64);
        let logic = matches!(self, Op::PredAnd | Op::PredOr | Op::PredXor | Op::PredNot | Op::PredMov);
        moves || logic || matches!(self, Op::Alu(_) | Op::Exact { .. } | Op::Setp(..))
    }

    /// Returns whether its results are its only effect.
    pub(crate) fn is_pure(self) -> bool {
        match self {
            Op::Load(load) => load.order == Order::Weak,
            Op::LoadFrame(_) | Op::MapShared { .. } | Op::RankOf { .. } => true,
            Op::ActiveMask | Op::Clock | Op::LocalAddress | Op::Matrix { stores: false, .. } => true,
            op => op.is_arithmetic(),
        }
    }

    /// Returns whether equal sources in all lanes of a warp give equal results.
    pub(crate) fn spreads_uniformity(self) -> bool {
        match self {
            Op::Load(load) => load.target != Target::Local,
            Op::Vote(_) | Op::Redux(_) | Op::MapShared { .. } | Op::RankOf { .. } => true,
            op => op.is_arithmetic(),
        }
    }

    /// Returns whether a trace has the values of its first operand, the result or what is stored.
    pub(crate) fn shows_values(self) -> bool {
        match self {
            Op::Unpack32 | Op::Unpack64 => false,
            Op::Shuffle(_) | Op::Redux(_) | Op::ActiveMask => true,
            Op::Load(op) | Op::Store(op) | Op::LoadFrame(op) | Op::StoreFrame(op) => op.vector == 1,
            Op::Atomic(op) => op.vector == 1,
            op => op.is_arithmetic(),
        }
    }
}
