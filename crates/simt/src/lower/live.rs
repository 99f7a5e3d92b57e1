//! Liveness. Where functions begin: which rows may be read before they are written; a run zeroes these at block start,
//! and all others need no clearing, whatever the block before left in them. Behind a call that may lead back to its
//! caller: which rows the call must keep.

use crate::code::{Code, NONE, Reg};
pub(crate) use crate::code::{reads, writes};
use crate::ops::Row;

use super::cfg::{self, Block};

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

/// Returns the registers that are live before instruction `pc` of `block`.
fn before(code: &Code, block: &Block, pc: usize, live_in: &[Set], empty: &Set) -> Set {
    let mut live = empty.clone();
    for &next in &block.successors {
        live.0.iter_mut().zip(&live_in[next].0).for_each(|(a, b)| *a |= b);
    }
    for inst in code.insts[pc..block.end].iter().rev() {
        // A guarded write, or one that only some lanes reach, leaves the other lanes' old values; only the
        // guard can make a value be read that this path never wrote.
        if inst.guard.predicate == NONE {
            writes(code, inst).into_iter().for_each(|(row, reg)| live.remove(Set::bit(code, row, reg)));
        }
        reads(code, inst).into_iter().for_each(|(row, reg)| live.insert(Set::bit(code, row, reg)));
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
