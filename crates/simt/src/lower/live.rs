//! Liveness at the kernel's entry: which rows may be read before they are written. A run zeroes these at block start;
//! all others need no clearing, whatever the block before left in them.

use crate::code::{Code, Inst, NONE, Op, Reg};
use crate::ops::Row;

use super::cfg;

/// Calls `visit(row, register, is_write)` for each register that `inst` touches.
fn operands(code: &Code, inst: &Inst, visit: &mut dyn FnMut(Row, Reg, bool)) {
    let mut see = |row, reg, write| {
        if reg != NONE {
            visit(row, reg, write);
        }
    };
    see(Row::P, inst.guard.predicate, false);
    let address_row = if inst.e == 1 { Row::W } else { Row::D };
    match inst.op {
        Op::Alu(alu) => {
            let signature = alu.signature();
            for (row, reg) in signature.sources.iter().flatten().zip([inst.a, inst.b, inst.c, inst.e]) {
                see(*row, reg, false);
            }
            see(signature.destination, inst.d, true);
        }
        Op::Setp(alu, ..) => {
            for (row, reg) in alu.signature().sources.iter().flatten().zip([inst.a, inst.b]) {
                see(*row, reg, false);
            }
            see(Row::P, inst.c, false);
            see(Row::P, inst.d, true);
            see(Row::P, inst.e, true);
        }
        Op::Mov32 => {
            see(Row::W, inst.a, false);
            see(Row::W, inst.d, true);
        }
        Op::Mov64 => {
            see(Row::D, inst.a, false);
            see(Row::D, inst.d, true);
        }
        Op::Pack64 => {
            see(Row::W, inst.a, false);
            see(Row::W, inst.b, false);
            see(Row::D, inst.d, true);
        }
        Op::Pack32 => {
            see(Row::W, inst.a, false);
            see(Row::W, inst.b, false);
            see(Row::W, inst.d, true);
        }
        Op::Unpack64 => {
            see(Row::D, inst.a, false);
            see(Row::W, inst.d, true);
            see(Row::W, inst.e, true);
        }
        Op::Unpack32 => {
            see(Row::W, inst.a, false);
            see(Row::W, inst.d, true);
            see(Row::W, inst.e, true);
        }
        Op::Selp32 | Op::Selp64 => {
            let row = if inst.op == Op::Selp64 { Row::D } else { Row::W };
            see(row, inst.a, false);
            see(row, inst.b, false);
            see(Row::P, inst.c, false);
            see(row, inst.d, true);
        }
        Op::PredAnd | Op::PredOr | Op::PredXor | Op::PredNot | Op::PredMov => {
            see(Row::P, inst.a, false);
            see(Row::P, inst.b, false);
            see(Row::P, inst.d, true);
        }
        Op::Load(op) | Op::Store(op) => {
            see(address_row, inst.a, false);
            let row = if op.width.wide { Row::D } else { Row::W };
            let write = matches!(inst.op, Op::Load(_));
            let vector = code.vectors.get(usize::from(inst.c)).copied().unwrap_or_default();
            let data = if op.vector == 1 { [inst.d, NONE, NONE, NONE] } else { vector };
            data.iter().for_each(|&reg| see(row, reg, write));
        }
        Op::Atomic(op) => {
            see(address_row, inst.a, false);
            let row = if op.bytes == 8 { Row::D } else { Row::W };
            see(row, inst.b, false);
            see(row, inst.c, false);
            see(row, inst.d, true);
        }
        Op::Shuffle(_) => {
            [inst.a, inst.b, inst.c, inst.f].iter().for_each(|&reg| see(Row::W, reg, false));
            see(Row::W, inst.d, true);
            see(Row::P, inst.e, true);
        }
        Op::Vote(mode) => {
            see(Row::P, inst.a, false);
            see(Row::W, inst.f, false);
            let row = if mode == crate::code::VoteMode::Ballot { Row::W } else { Row::P };
            see(row, inst.d, true);
        }
        Op::Match { wide, .. } => {
            see(if wide { Row::D } else { Row::W }, inst.a, false);
            see(Row::W, inst.f, false);
            see(Row::W, inst.d, true);
            see(Row::P, inst.e, true);
        }
        Op::Redux(_) => {
            see(Row::W, inst.a, false);
            see(Row::W, inst.f, false);
            see(Row::W, inst.d, true);
        }
        Op::Barrier | Op::BarrierArrive | Op::WarpBarrier => {
            see(Row::W, inst.a, false);
            see(Row::W, inst.b, false);
        }
        Op::ActiveMask => see(Row::W, inst.d, true),
        Op::Clock => see(if inst.imm == 1 { Row::D } else { Row::W }, inst.d, true),
        Op::Branch | Op::Exit | Op::Trap | Op::Nop => {}
    }
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

/// Fills `unset32` and `unset64`. Predicates are few and always cleared.
pub(super) fn find_unset(code: &mut Code) {
    let blocks = cfg::blocks(&code.insts);
    let bits = usize::from(code.rows32) + usize::from(code.rows64) + usize::from(code.predicates);
    let empty = Set(vec![0; bits.div_ceil(64)]);
    let mut live_in = vec![empty.clone(); blocks.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (i, block) in blocks.iter().enumerate().rev() {
            let mut live = empty.clone();
            for &next in &block.successors {
                live.0.iter_mut().zip(&live_in[next].0).for_each(|(a, b)| *a |= b);
            }
            for inst in code.insts[block.start..block.end].iter().rev() {
                // A guarded write, or one that only some lanes reach, leaves the other lanes' old values; only the
                // guard can make a value be read that this path never wrote.
                if inst.guard.predicate == NONE {
                    operands(code, inst, &mut |row, reg, write| {
                        if write {
                            live.remove(Set::bit(code, row, reg))
                        }
                    });
                }
                operands(code, inst, &mut |row, reg, write| {
                    if !write {
                        live.insert(Set::bit(code, row, reg))
                    }
                });
            }
            if live_in[i] != live {
                live_in[i] = live;
                changed = true;
            }
        }
    }
    let Some(entry) = live_in.first() else { return };
    let is_constant = |constants: &[(Reg, crate::code::Source)], reg| constants.iter().any(|&(row, _)| row == reg);
    let unset = |row, rows: u16, constants: &[(Reg, crate::code::Source)]| {
        (0..rows).filter(|&reg| entry.has(Set::bit(code, row, reg)) && !is_constant(constants, reg)).collect()
    };
    let unset32 = unset(Row::W, code.rows32, &code.constants32);
    let unset64 = unset(Row::D, code.rows64, &code.constants64);
    (code.unset32, code.unset64) = (unset32, unset64);
}
