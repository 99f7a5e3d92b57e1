//! What becomes of a loaded value. Compilers copy structures whole, holes and all, and keep registers that nobody asks
//! for; a check that looks at what was never written asks here whether the value is more than carried along.

use std::collections::HashSet;

use super::live::{reads, writes};
use crate::code::{Code, Inst, Op, Reg, Target};
use crate::ops::Row;

/// Whether nothing is done with what the load at `pc` reads, but that it may be stored to shared or local memory, or
/// passed to a function as a byte.
pub(crate) fn is_only_copied(code: &Code, pc: u32) -> bool {
    let Some(inst) = code.insts.get(pc as usize).filter(|inst| matches!(inst.op, Op::Load(_))) else { return false };
    let mut seen = HashSet::new();
    let mut left: Vec<(u32, (Row, Reg))> = Vec::new();
    left.extend(writes(code, inst).into_iter().filter(is_register).map(|register| (pc + 1, register)));
    while let Some((pc, register)) = left.pop() {
        let Some(inst) = code.insts.get(pc as usize).filter(|_| seen.insert((pc, register))) else { continue };
        let unguarded = inst.guard.predicate == crate::code::NONE;
        if reads(code, inst).contains(&register) {
            match inst.op {
                Op::Mov32 | Op::Mov64 => {
                    left.extend(writes(code, inst).into_iter().map(|copy| (pc + 1, copy)));
                }
                _ if carries(inst, register) => {}
                _ => return false,
            }
        }
        if unguarded && writes(code, inst).contains(&register) {
            continue;
        }
        left.extend(next(code, pc, inst, unguarded).into_iter().map(|pc| (pc, register)));
    }
    true
}

/// Whether what the store at `pc` writes was made of something that was read from memory.
pub(crate) fn comes_from_memory(code: &Code, pc: u32) -> bool {
    let Some(store) = code.insts.get(pc as usize) else { return false };
    let address = (if store.e == 1 { Row::W } else { Row::D }, store.a);
    let mut sources: HashSet<(Row, Reg)> = reads(code, store).into_iter().filter(is_register).collect();
    sources.remove(&address);
    // Back through whatever writes a source anywhere, until there is nothing new.
    let mut count = 0;
    while count != sources.len() {
        count = sources.len();
        for inst in &code.insts {
            if !writes(code, inst).iter().any(|register| sources.contains(register)) {
                continue;
            }
            if matches!(inst.op, Op::Load(_) | Op::Atomic(_) | Op::LoadFrame(_)) {
                return true;
            }
            sources.extend(reads(code, inst).into_iter().filter(is_register));
        }
    }
    false
}

fn is_register(&(_, register): &(Row, Reg)) -> bool {
    register != crate::code::NONE
}

/// Whether an instruction that reads the register does no more with it than to store it where only threads of the block look.
fn carries(inst: &Inst, (row, register): (Row, Reg)) -> bool {
    match inst.op {
        Op::Store(op) => {
            let address = (if inst.e == 1 { Row::W } else { Row::D }, inst.a);
            let near = matches!(op.target, Target::Shared | Target::Cluster | Target::Local);
            near && address != (row, register) && (Row::P, inst.guard.predicate) != (row, register)
        }
        // A class without members is a byte that nobody writes.
        Op::StoreFrame(op) if op.width.bytes == 1 => (Row::P, inst.guard.predicate) != (row, register),
        _ => false,
    }
}

/// Where the lanes may be after an instruction.
pub(super) fn next(code: &Code, pc: u32, inst: &Inst, unguarded: bool) -> Vec<u32> {
    let mut all = match inst.op {
        Op::Branch => vec![inst.imm as u32],
        Op::BranchIndexed => code.tables.get(inst.imm as usize).cloned().unwrap_or_default(),
        Op::Exit | Op::Return | Op::Trap => Vec::new(),
        _ => return vec![pc + 1],
    };
    if !unguarded {
        all.push(pc + 1);
    }
    all
}
