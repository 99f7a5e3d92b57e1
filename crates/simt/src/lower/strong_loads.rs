//! Roles of relaxed and volatile loads, and of atomics. A load that a branch asks about is a look at a flag: it may come too early,
//! and the loop looks again. One whose value is added up or stored, and that no branch asks about, reads data: nothing in
//! the code would notice a value that is out of date. If it is put back where it came from, the two make an update in two steps.
//! Loads through the cache for constant data are marked too.

use std::collections::HashSet;

use super::live::{reads, writes};
use crate::code::{AtomicOp, Code, Inst, NONE, Op, Order, Reg, Target};
use crate::ops::Row;
use crate::race::Role;

/// Places that the value of one load is followed to; of more the load is taken for a look at a flag.
const STEPS_MAX: usize = 1 << 16;

/// Instructions that cut a flag out of a word, or put it into another register.
const CUTTING: [&str; 14] =
    ["mov", "cvt", "and", "or", "xor", "not", "shl", "shr", "shf", "bfe", "prmt", "cvta", "lop3", "popc"];

/// Uses of a loaded value.
#[derive(Default)]
struct Uses {
    /// A branch asks about it, or a compare-and-swap.
    tested: bool,
    /// A branch asks about it, or about what was made of it.
    decides: bool,
    /// It is stored, or added to something, as it is or worked on.
    kept: bool,
    /// It is stored where it was loaded from.
    put_back: bool,
}

/// Fills the roles of the code's loads and atomics; those that are not listed are [`Role::Other`].
pub(super) fn sort(code: &mut Code) {
    for pc in 0..code.insts.len() as u32 {
        let role = match code.insts[pc as usize].op {
            Op::Load(op) if matches!(op.order, Order::Volatile | Order::Relaxed) => match uses(code, pc) {
                Uses { kept: true, tested: false, put_back, .. } if put_back => Role::Update,
                Uses { kept: true, tested: false, .. } => Role::Data,
                _ => continue,
            },
            Op::Load(_) if code.debug.get(pc as usize).is_some_and(|debug| debug.opcode.contains(".nc")) => {
                Role::Constant
            }
            Op::Atomic(op) => match op.op {
                _ if uses(code, pc).decides => Role::Asked,
                AtomicOp::Exch => Role::Exchange,
                _ => Role::Atomic,
            },
            _ => continue,
        };
        code.roles.insert(pc, role);
    }
}

/// Follows the value of the load at `pc` wherever lanes may take it.
fn uses(code: &Code, start: u32) -> Uses {
    let mut uses = Uses::default();
    let mut seen = HashSet::new();
    // Registers to follow; the flag is set if one still holds the value itself, or a part of it.
    let mut left: Vec<(u32, (Row, Reg), bool)> = Vec::new();
    left.extend(writes(code, &code.insts[start as usize]).into_iter().map(|register| (start + 1, register, true)));
    while let Some((pc, register, itself)) = left.pop() {
        let Some(inst) = code.insts.get(pc as usize).filter(|_| seen.insert((pc, register, itself))) else { continue };
        if uses.tested || seen.len() > STEPS_MAX {
            (uses.tested, uses.decides) = (true, true);
            return uses;
        }
        if reads(code, inst).contains(&register) {
            let opcode = code.debug.get(pc as usize).map_or("", |debug| debug.opcode.as_str());
            match one_use(inst, register, opcode.split('.').next().unwrap_or_default()) {
                Use::Tests => (uses.tested, uses.decides) = (uses.tested | itself, true),
                Use::Loses => (uses.tested, uses.decides) = (true, true),
                Use::Keeps => {
                    uses.kept = true;
                    uses.put_back |= is_put_back(&code.insts[start as usize], inst);
                }
                Use::Nothing => {}
                Use::Cuts => left.extend(writes(code, inst).into_iter().map(|to| (pc + 1, to, itself))),
                Use::Works => left.extend(writes(code, inst).into_iter().map(|to| (pc + 1, to, false))),
            }
        }
        let unguarded = inst.guard.predicate == NONE;
        if !(unguarded && writes(code, inst).contains(&register)) {
            left.extend(next(code, pc, inst, unguarded).into_iter().map(|pc| (pc, register, itself)));
        }
    }
    uses
}

/// Returns whether a store goes where the load came from, by the operands of their addresses.
fn is_put_back(load: &Inst, store: &Inst) -> bool {
    matches!(store.op, Op::Store(_)) && (store.a, store.e, store.imm) == (load.a, load.e, load.imm)
}

/// Use of a register by one instruction.
enum Use {
    /// Lanes go one way or another by it.
    Tests,
    /// Passes it on as it is, or a part.
    Cuts,
    /// Makes something else of it.
    Works,
    Keeps,
    /// Puts it where it is not followed.
    Loses,
    Nothing,
}

fn one_use(inst: &Inst, register: (Row, Reg), mnemonic: &str) -> Use {
    if (Row::P, inst.guard.predicate) == register {
        return match inst.op {
            Op::Branch | Op::BranchIndexed | Op::Exit | Op::Return | Op::Trap | Op::Call => Use::Tests,
            _ => Use::Works,
        };
    }
    let address = inst.address();
    match inst.op {
        Op::BranchIndexed => Use::Tests,
        Op::Store(op) if address != register => match op.target {
            Target::Local => Use::Loses,
            _ => Use::Keeps,
        },
        Op::StoreFrame(_) => Use::Loses,
        Op::Atomic(op) if address != register => match op.op {
            AtomicOp::Cas if inst.b == register.1 => Use::Tests,
            _ => Use::Keeps,
        },
        Op::Load(_) | Op::Store(_) | Op::Atomic(_) => Use::Nothing,
        Op::Mov32 | Op::Mov64 | Op::Pack32 | Op::Pack64 | Op::Unpack32 | Op::Unpack64 => Use::Cuts,
        Op::Setp(..) | Op::Vote(_) | Op::Shuffle(_) | Op::BarrierReduce(_) | Op::Match { .. } => Use::Cuts,
        Op::Selp32 | Op::Selp64 if register.0 != Row::P => Use::Cuts,
        Op::PredAnd | Op::PredOr | Op::PredXor | Op::PredNot | Op::PredMov => Use::Cuts,
        Op::Alu(_) | Op::Exact { .. } if CUTTING.contains(&mnemonic) => Use::Cuts,
        _ => Use::Works,
    }
}

/// Returns the instructions where the lanes may be after this one.
fn next(code: &Code, pc: u32, inst: &Inst, unguarded: bool) -> Vec<u32> {
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

/// Returns whether what the store at `pc` writes was made of something that was read from memory.
pub(crate) fn comes_from_memory(code: &Code, pc: u32) -> bool {
    let Some(store) = code.insts.get(pc as usize) else { return false };
    let mut sources: HashSet<(Row, Reg)> = reads(code, store).into_iter().collect();
    sources.remove(&store.address());
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
            sources.extend(reads(code, inst));
        }
    }
    false
}
