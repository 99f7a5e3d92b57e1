//! Liveness. Where functions begin: which rows may be read before they are written; a run zeroes these at block start,
//! and all others need no clearing, whatever the block before left in them. Behind a call that may lead back to its
//! caller: which rows the call must keep.

use crate::code::{Code, NONE, Reg};
pub(crate) use crate::code::{reads, writes};
use crate::ops::Row;

use super::cfg::{self, Block};

/// A set of registers of all three files.
#[derive(Clone, PartialEq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    /// The set of none.
    pub(super) fn empty(code: &Code) -> Set {
        let bits = usize::from(code.rows32) + usize::from(code.rows64) + usize::from(code.predicates);
        Set(vec![0; bits.div_ceil(64)])
    }

    pub(super) fn bit(code: &Code, row: Row, reg: Reg) -> usize {
        let base = match row {
            Row::W => 0,
            Row::D => usize::from(code.rows32),
            Row::P => usize::from(code.rows32) + usize::from(code.rows64),
        };
        base + usize::from(reg)
    }

    pub(super) fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    pub(super) fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// Adds those of another set.
    pub(super) fn join(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }
}

/// The registers that `step` keeps where each block begins, in the order of `blocks`, and at the exit. It takes the set behind an
/// instruction to the one before it.
pub(super) fn at_starts(code: &Code, blocks: &[Block], step: &impl Fn(usize, &mut Set)) -> Vec<Set> {
    let mut at_start = vec![Set::empty(code); blocks.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (i, block) in blocks.iter().enumerate().rev() {
            let before = before(code, block, block.start, &at_start, step);
            if at_start[i] != before {
                at_start[i] = before;
                changed = true;
            }
        }
    }
    at_start
}

/// Returns the registers that `step` keeps before instruction `pc` of `block`.
fn before(code: &Code, block: &Block, pc: usize, at_start: &[Set], step: &impl Fn(usize, &mut Set)) -> Set {
    let mut kept = Set::empty(code);
    for &next in &block.successors {
        kept.join(&at_start[next]);
    }
    (pc..block.end).rev().for_each(|pc| step(pc, &mut kept));
    kept
}

/// Returns the step of liveness.
fn liveness(code: &Code) -> impl Fn(usize, &mut Set) {
    |pc, live| {
        let inst = &code.insts[pc];
        // A guarded write, or one that only some lanes reach, leaves the other lanes' old values; only the
        // guard can make a value be read that this path never wrote.
        if inst.guard.predicate == NONE {
            writes(code, inst).into_iter().for_each(|(row, reg)| live.remove(Set::bit(code, row, reg)));
        }
        reads(code, inst).into_iter().for_each(|(row, reg)| live.insert(Set::bit(code, row, reg)));
    }
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

/// Those of all files.
pub(super) fn all_registers(code: &Code, live: &Set) -> Vec<(Row, Reg)> {
    let of = |row| registers(code, live, row).map(move |reg| (row, reg));
    [Row::W, Row::D, Row::P].into_iter().flat_map(of).collect()
}

/// Fills `unset32` and `unset64`. Predicates are few and always cleared.
pub(super) fn find_unset(code: &mut Code) {
    let blocks = cfg::blocks(code);
    let live_in = at_starts(code, &blocks, &liveness(code));
    let mut entry = Set::empty(code);
    for function in &code.functions {
        entry.join(&live_in[block_of(&blocks, function.start as usize)]);
    }
    let (unset32, unset64) = (registers(code, &entry, Row::W).collect(), registers(code, &entry, Row::D).collect());
    let is_predicate_unset = registers(code, &entry, Row::P).next().is_some();
    (code.unset32, code.unset64) = (unset32, unset64);
    if is_predicate_unset || !code.unset32.is_empty() || !code.unset64.is_empty() {
        super::unset::find(code, &blocks);
    }
}

/// The block that instruction `pc` is in.
pub(super) fn block_of(blocks: &[Block], pc: usize) -> usize {
    blocks.partition_point(|block| block.start <= pc).saturating_sub(1)
}

/// The registers that are live before each of the instructions `pcs`.
pub(super) fn live_before(code: &Code, pcs: &[usize]) -> Vec<Vec<(Row, Reg)>> {
    if pcs.is_empty() {
        return Vec::new();
    }
    let blocks = cfg::blocks(code);
    let step = liveness(code);
    let live_in = at_starts(code, &blocks, &step);
    let at = |&pc: &usize| {
        let live = before(code, &blocks[block_of(&blocks, pc)], pc, &live_in, &step);
        all_registers(code, &live)
    };
    pcs.iter().map(at).collect()
}
