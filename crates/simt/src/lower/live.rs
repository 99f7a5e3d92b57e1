//! Liveness. Where functions begin: which rows may be read before they are written; a run zeroes these at block start,
//! and all others need no clearing, whatever the block before left in them. Behind a call that may lead back to its
//! caller: which rows the call must keep.

use crate::code::{
    AtomOp, Code, Inst, MbarrierAct, MbarrierOp, MemOp, NONE, Op, Reduction, Reg, StackAct, VoteMode, Width,
};
use crate::ops::{Alu, Row};

use super::cfg::{self, Block};

/// The registers that `inst` reads, [`NONE`] among them where an operand is absent.
pub(crate) fn reads(code: &Code, inst: &Inst) -> Vec<(Row, Reg)> {
    let Inst { op, a, b, c, d, e, f, imm, .. } = *inst;
    let address = (if e == 1 { Row::W } else { Row::D }, a);
    let sources = |alu: Alu| alu.signature().sources.into_iter().flatten().zip([a, b, c, e]);
    let mut all = match op {
        Op::Alu(alu) => sources(alu).collect(),
        Op::Exact { at, .. } => code.exact[usize::from(at)].sources.iter().map(|&(row, reg, _)| (row, reg)).collect(),
        Op::Setp(alu, ..) => sources(alu).chain([(Row::P, c)]).collect(),
        Op::Mov32 | Op::Unpack32 => vec![(Row::W, a)],
        Op::Mov64 | Op::Unpack64 => vec![(Row::D, a)],
        Op::Pack64 | Op::Pack32 | Op::Barrier | Op::BarrierArrive | Op::WarpBarrier => vec![(Row::W, a), (Row::W, b)],
        Op::Selp32 => vec![(Row::W, a), (Row::W, b), (Row::P, c)],
        Op::Selp64 => vec![(Row::D, a), (Row::D, b), (Row::P, c)],
        Op::PredAnd | Op::PredOr | Op::PredXor | Op::PredNot | Op::PredMov => vec![(Row::P, a), (Row::P, b)],
        Op::Load(_) => vec![address],
        Op::Store(op) => data(code, d, c, op).into_iter().chain([address]).collect(),
        Op::Atomic(op) => {
            let elements = data(code, NONE, c, element(op)).into_iter().filter(|_| op.vector > 1);
            let (row, c) = (row_of(op), if op.vector > 1 { NONE } else { c });
            elements.chain(pair(op, row, b)).chain(pair(op, row, c)).chain([address]).collect()
        }
        Op::Shuffle(_) => vec![(Row::W, a), (Row::W, b), (Row::W, c), (Row::W, f)],
        Op::BarrierReduce(_) => vec![(Row::W, a), (Row::W, b), (Row::P, c)],
        Op::Elect => vec![(Row::W, f)],
        Op::MapShared { wide } => vec![(if wide { Row::D } else { Row::W }, a), (Row::W, b)],
        Op::RankOf { wide } => vec![(if wide { Row::D } else { Row::W }, a)],
        Op::PrefetchBulk => vec![address, (Row::W, b)],
        Op::Mbarrier(_) => vec![address, (Row::W, b), (Row::D, c)],
        Op::CopyAsync => code.copies.get(imm as usize).map_or(Vec::new(), |copy| {
            let places = [copy.to, copy.from].map(|at| (if at.narrow { Row::W } else { Row::D }, at.row));
            places.into_iter().chain([(Row::W, copy.taken), (Row::P, copy.ignored.predicate)]).collect()
        }),
        Op::CopyBulk => code.bulk_copies.get(imm as usize).map_or(Vec::new(), |copy| {
            let places = [copy.to, copy.from, copy.object];
            let rows = places.map(|at| (if at.narrow { Row::W } else { Row::D }, at.row));
            rows.into_iter().chain([(Row::W, copy.bytes)]).collect()
        }),
        Op::StoreBulk => code.bulk_stores.get(imm as usize).map_or(Vec::new(), |copy| {
            let rows = [copy.to, copy.from].map(|at| (if at.narrow { Row::W } else { Row::D }, at.row));
            rows.into_iter().chain([(Row::W, copy.bytes)]).collect()
        }),
        Op::CopyCommit | Op::CopyWait | Op::BulkCommit | Op::BulkWait => Vec::new(),
        Op::ClusterArrive { .. } | Op::ClusterWait | Op::Fence { .. } => Vec::new(),
        Op::Vote(_) => vec![(Row::P, a), (Row::W, f)],
        Op::Match { wide: true, .. } => vec![(Row::D, a), (Row::W, f)],
        Op::Match { .. } | Op::Redux(_) => vec![(Row::W, a), (Row::W, f)],
        Op::StoreFrame(op) => data(code, d, c, op),
        Op::BranchIndexed => vec![(Row::W, a)],
        Op::Call => vec![(Row::D, a)],
        Op::ActiveMask | Op::Clock | Op::Branch | Op::Exit | Op::Return | Op::Trap | Op::Nop => Vec::new(),
        Op::Stack(StackAct::Allocate { .. } | StackAct::Restore) => vec![(Row::D, a)],
        Op::LoadFrame(_) | Op::LocalAddress | Op::Stack(StackAct::Save) => Vec::new(),
    };
    all.push((Row::P, inst.guard.predicate));
    all
}

/// The registers that `inst` writes, likewise.
pub(crate) fn writes(code: &Code, inst: &Inst) -> Vec<(Row, Reg)> {
    let Inst { op, c, d, e, f, imm, .. } = *inst;
    match op {
        Op::Alu(alu) => vec![(alu.signature().destination, d)],
        Op::Exact { at, to } => vec![(to, d), (Row::P, code.exact[usize::from(at)].second)],
        Op::Setp(..) => vec![(Row::P, d), (Row::P, e)],
        Op::Mov32 | Op::Pack32 | Op::Selp32 | Op::Redux(_) | Op::ActiveMask => vec![(Row::W, d)],
        Op::Mov64 | Op::Pack64 | Op::Selp64 => vec![(Row::D, d)],
        Op::Unpack64 | Op::Unpack32 => vec![(Row::W, d), (Row::W, e)],
        Op::PredAnd | Op::PredOr | Op::PredXor | Op::PredNot | Op::PredMov => vec![(Row::P, d)],
        Op::Load(op) | Op::LoadFrame(op) => data(code, d, c, op),
        Op::LocalAddress | Op::Stack(_) => vec![(Row::D, d)],
        Op::Atomic(op) if op.vector > 1 && f != NONE => data(code, NONE, f, element(op)),
        Op::Atomic(op) => pair(op, row_of(op), d),
        Op::Shuffle(_) | Op::Match { .. } | Op::Elect => vec![(Row::W, d), (Row::P, e)],
        Op::BarrierReduce(Reduction::Count) | Op::RankOf { .. } => vec![(Row::W, d)],
        Op::BarrierReduce(_) => vec![(Row::P, d)],
        Op::MapShared { wide } => vec![(if wide { Row::D } else { Row::W }, d)],
        Op::ClusterArrive { .. } | Op::ClusterWait | Op::Fence { .. } => Vec::new(),
        Op::Vote(mode) => vec![(if mode == VoteMode::Ballot { Row::W } else { Row::P }, d)],
        Op::Clock => vec![(if imm == 1 { Row::D } else { Row::W }, d)],
        Op::Store(_) | Op::Barrier | Op::BarrierArrive | Op::WarpBarrier => Vec::new(),
        Op::StoreFrame(_) | Op::BranchIndexed | Op::Call | Op::Return => Vec::new(),
        Op::Mbarrier(MbarrierOp { act: MbarrierAct::Test { .. }, .. }) => vec![(Row::P, d)],
        Op::Mbarrier(_) => vec![(Row::D, d)],
        Op::CopyAsync | Op::CopyBulk | Op::CopyCommit | Op::CopyWait => Vec::new(),
        Op::StoreBulk | Op::BulkCommit | Op::BulkWait => Vec::new(),
        Op::PrefetchBulk | Op::Branch | Op::Exit | Op::Trap | Op::Nop => Vec::new(),
    }
}

/// The data registers of a load or store: `one`, or those of the side table.
fn data(code: &Code, one: Reg, side: Reg, op: MemOp) -> Vec<(Row, Reg)> {
    let row = if op.width.wide { Row::D } else { Row::W };
    let vector = code.vectors.get(usize::from(side)).copied().unwrap_or_default();
    let regs = if op.vector == 1 { vec![one] } else { vector.to_vec() };
    regs.into_iter().map(|reg| (row, reg)).collect()
}

/// The file of an atomic's operands.
fn row_of(op: AtomOp) -> Row {
    if op.bytes >= 8 { Row::D } else { Row::W }
}

/// The register, or both of a 16-byte operand.
fn pair(op: AtomOp, row: Row, first: Reg) -> Vec<(Row, Reg)> {
    let second = if op.bytes == 16 && first != NONE { first + 1 } else { NONE };
    vec![(row, first), (row, second)]
}

/// A vector atomic's operands as those of a load.
fn element(op: AtomOp) -> MemOp {
    let width = Width { bytes: op.bytes, signed: false, wide: op.bytes >= 8 };
    MemOp { target: op.target, width, vector: op.vector, order: op.order, scope: op.scope }
}

/// A set of registers of all three files.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn bit(code: &Code, row: Row, reg: Reg) -> usize {
        let base = match row {
            Row::W => 0,
            Row::D => usize::from(code.rows32),
            Row::P => usize::from(code.rows32) + usize::from(code.rows64),
        };
        base + usize::from(reg)
    }

    fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 != 0
    }
}

/// Those that are there.
fn known(registers: Vec<(Row, Reg)>) -> impl Iterator<Item = (Row, Reg)> {
    registers.into_iter().filter(|&(_, reg)| reg != NONE)
}

/// The registers that are live where each block begins, in the order of `blocks`, and at the exit.
fn live_at_starts(code: &Code, blocks: &[Block]) -> Vec<Set> {
    let bits = usize::from(code.rows32) + usize::from(code.rows64) + usize::from(code.predicates);
    let empty = Set(vec![0; bits.div_ceil(64)]);
    let mut live_in = vec![empty.clone(); blocks.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (i, block) in blocks.iter().enumerate().rev() {
            let live = before(code, block, block.start, &live_in, &empty);
            if live_in[i] != live {
                live_in[i] = live;
                changed = true;
            }
        }
    }
    live_in
}

/// What is live before instruction `pc` of `block`.
fn before(code: &Code, block: &Block, pc: usize, live_in: &[Set], empty: &Set) -> Set {
    let mut live = empty.clone();
    for &next in &block.successors {
        live.0.iter_mut().zip(&live_in[next].0).for_each(|(a, b)| *a |= b);
    }
    for inst in code.insts[pc..block.end].iter().rev() {
        // A guarded write, or one that only some lanes reach, leaves the other lanes' old values; only the
        // guard can make a value be read that this path never wrote.
        if inst.guard.predicate == NONE {
            known(writes(code, inst)).for_each(|(row, reg)| live.remove(Set::bit(code, row, reg)));
        }
        known(reads(code, inst)).for_each(|(row, reg)| live.insert(Set::bit(code, row, reg)));
    }
    live
}

/// The registers of a file that `live` holds and that no launch fills.
fn registers<'a>(code: &'a Code, live: &'a Set, row: Row) -> impl Iterator<Item = Reg> + 'a {
    let (rows, constants) = match row {
        Row::W => (code.rows32, code.constants32.as_slice()),
        Row::D => (code.rows64, code.constants64.as_slice()),
        Row::P => (code.predicates, &[][..]),
    };
    // Constants lie behind the registers.
    (0..rows - constants.len() as u16).filter(move |&reg| live.has(Set::bit(code, row, reg)))
}

/// Fills `unset32` and `unset64`. Predicates are few and always cleared.
pub(super) fn find_unset(code: &mut Code) {
    let blocks = cfg::blocks(code);
    let live_in = live_at_starts(code, &blocks);
    let Some(mut entry) = live_in.first().cloned() else { return };
    for function in &code.functions {
        let block = blocks.partition_point(|block| block.start < function.start as usize);
        entry.0.iter_mut().zip(&live_in[block].0).for_each(|(a, b)| *a |= b);
    }
    let (unset32, unset64) = (registers(code, &entry, Row::W).collect(), registers(code, &entry, Row::D).collect());
    (code.unset32, code.unset64) = (unset32, unset64);
}

/// The registers that are live before each of the instructions `pcs`.
pub(super) fn live_before(code: &Code, pcs: &[usize]) -> Vec<Vec<(Row, Reg)>> {
    if pcs.is_empty() {
        return Vec::new();
    }
    let blocks = cfg::blocks(code);
    let live_in = live_at_starts(code, &blocks);
    let empty = Set(vec![0; live_in[0].0.len()]);
    let at = |&pc: &usize| {
        let block = &blocks[blocks.partition_point(|block| block.start <= pc) - 1];
        let live = before(code, block, pc, &live_in, &empty);
        let of = |row| registers(code, &live, row).map(move |reg| (row, reg)).collect::<Vec<_>>();
        [of(Row::W), of(Row::D), of(Row::P)].concat()
    };
    pcs.iter().map(at).collect()
}
