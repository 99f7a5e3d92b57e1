//! Machine instruction of an atomic, as far as counters show it.
//!
//! A GPU does not run PTX: `ptxas` makes a reduction (RED) of an atomic whose result is not used, combines the lanes of a warp
//! first where all go to one address, counts the lanes of a word that each add 1 (ATOMS.POPC.INC), and makes a loop of what shared
//! memory cannot do at once. The rules below are what release 13.0 does for sm_90, read in the machine code of small kernels, one
//! for each case. They change what is counted and
//! nothing else: every lane still does its own atomic here.

use std::collections::{HashMap, HashSet};

use super::live::{reads, writes};
use crate::code::{
    AtomOp, AtomicOp, Code, Inst, MachineOp, NONE, Op, Order, Reg, Role, Source, Special, Target, operands,
};
use crate::ops::Row;

type Register = (Row, Reg);

/// Sets the machine instruction of each atomic.
pub(super) fn select(code: &mut Code) {
    if !code.insts.iter().any(|inst| matches!(inst.op, Op::Atomic(_))) {
        return;
    }
    let facts = Facts::of(code);
    let chosen: Vec<_> = (0..code.insts.len()).map(|pc| facts.machine(code, pc)).collect();
    for (inst, machine) in code.insts.iter_mut().zip(chosen) {
        if let (Op::Atomic(op), Some(machine)) = (&mut inst.op, machine) {
            op.machine = machine;
        }
    }
}

/// Facts about the registers that hold on every path of the kernel.
struct Facts {
    /// Number of instructions that write a register, and the last of them.
    written: HashMap<Register, (u32, usize)>,
    constants: HashMap<Register, Source>,
    /// Something that leaves a trace depends on it.
    needed: HashSet<Register>,
    /// All lanes of a warp have the same in it.
    uniform: HashSet<Register>,
    /// Somewhere is a fence: then `ptxas` leaves an `atom` what it is.
    has_fence: bool,
}

impl Facts {
    fn of(code: &Code) -> Facts {
        let constants32 = code.constants32.iter().map(|&(reg, source)| ((Row::W, reg), source));
        let constants64 = code.constants64.iter().map(|&(reg, source)| ((Row::D, reg), source));
        let mut facts = Facts {
            written: HashMap::new(),
            constants: constants32.chain(constants64).collect(),
            needed: HashSet::new(),
            uniform: HashSet::new(),
            has_fence: code.insts.iter().any(|inst| matches!(inst.op, Op::Fence { .. })),
        };
        for (pc, inst) in code.insts.iter().enumerate() {
            for register in writes(code, inst) {
                let entry = facts.written.entry(register).or_default();
                *entry = (entry.0 + 1, pc);
            }
        }
        facts.find_needed(code);
        facts.find_uniform(code);
        facts
    }

    fn find_needed(&mut self, code: &Code) {
        let mut changed = true;
        while changed {
            changed = false;
            for inst in code.insts.iter().rev() {
                let matters = !inst.op.is_pure() || writes(code, inst).iter().any(|r| self.needed.contains(r));
                for register in reads(code, inst).into_iter().filter(|_| matters) {
                    changed |= self.needed.insert(register);
                }
            }
        }
    }

    /// A register that is written in two places may hold one value in some lanes and another in others: it is not uniform.
    fn find_uniform(&mut self, code: &Code) {
        let constants = self.constants.iter().filter(|&(_, &source)| is_uniform_source(source));
        self.uniform = constants.map(|(&register, _)| register).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for inst in code.insts.iter().filter(|inst| inst.op.spreads_uniformity()) {
                let all = reads(code, inst).iter().all(|register| self.uniform.contains(register));
                for register in writes(code, inst).into_iter().filter(|_| all) {
                    let once = self.written.get(&register).is_some_and(|&(times, _)| times == 1);
                    changed |= once && self.uniform.insert(register);
                }
            }
        }
    }

    /// The literal that a register always holds, if it is one.
    fn literal(&self, code: &Code, mut register: Register) -> Option<u64> {
        for _ in 0..code.insts.len() {
            if let Some(source) = self.constants.get(&register) {
                return if let Source::Literal(value) = *source { Some(value) } else { None };
            }
            let inst = match self.written.get(&register) {
                Some(&(1, pc)) => &code.insts[pc],
                _ => return None,
            };
            if !matches!(inst.op, Op::Mov32 | Op::Mov64) || inst.guard.predicate != NONE {
                return None;
            }
            register.1 = inst.a;
        }
        None
    }

    /// The machine instruction of the atomic at `pc`, if there is one.
    fn machine(&self, code: &Code, pc: usize) -> Option<MachineOp> {
        let inst = &code.insts[pc];
        let Op::Atomic(op) = inst.op else { return None };
        let unused = !writes(code, inst).iter().any(|register| self.needed.contains(register));
        if unused && op.target == Target::Shared && self.counts_lanes(code, pc, inst, op) {
            return Some(MachineOp::CountLanes);
        }
        if (op.target == Target::Shared && takes_rounds(op))
            || (op.target == Target::Generic && takes_rounds_if_shared(op))
        {
            return Some(MachineOp::Rounds);
        }
        // An address that may be in shared memory has no RED.
        let is_red = op.target == Target::Global
            && (op.machine.is_red()
                || (unused && !self.has_fence && matches!(op.order, Order::Relaxed | Order::Release) && has_red(op)));
        let mut addresses = operands(code, inst).into_iter().filter(|operand| operand.role == Role::Address);
        let joined = combines(op) && addresses.all(|address| self.uniform.contains(&(address.row, address.reg)));
        let by_one = joined && (unused || (op.op == AtomicOp::Add && self.uniform.contains(&(Row::W, inst.b))));
        Some(match (is_red, by_one) {
            (true, true) => MachineOp::RedOfOne,
            (true, false) => MachineOp::Red,
            (false, true) => MachineOp::AtomOfOne,
            // This form uses shuffles, which take a whole warp.
            (false, false) if joined && op.op == AtomicOp::Add => MachineOp::AtomOfOneInFullWarps,
            (false, false) => MachineOp::Atom,
        })
    }

    /// Returns whether each lane adds 1 to a word of 32 bits, and the old value is not used.
    fn counts_lanes(&self, code: &Code, pc: usize, inst: &Inst, op: AtomOp) -> bool {
        let value = || self.literal(code, (Row::W, inst.b)).map(|value| value as u32);
        match op.op {
            AtomicOp::Add => op.bytes == 4 && !code.debug[pc].opcode.ends_with(".s32") && value() == Some(1),
            AtomicOp::Inc => value() == Some(u32::MAX),
            _ => false,
        }
    }
}

/// Returns whether the machine has a reduction that does this to global memory.
fn has_red(op: AtomOp) -> bool {
    match op.op {
        AtomicOp::Exch | AtomicOp::Cas => false,
        // For single halves, `ptxas` writes loops of compare-and-swap.
        _ => op.bytes >= 4,
    }
}

/// Returns whether shared memory has no instruction that does this. (Of single halves `ptxas` makes loops of another kind.)
fn takes_rounds(op: AtomOp) -> bool {
    match op.op {
        AtomicOp::Exch | AtomicOp::Cas => false,
        AtomicOp::AddF32 | AtomicOp::AddF16 | AtomicOp::AddBf16 => op.bytes == 4,
        _ => op.bytes == 8,
    }
}

/// Returns whether it takes rounds by a generic address that leads to shared memory: additions of 64 bits are done at once there.
fn takes_rounds_if_shared(op: AtomOp) -> bool {
    use AtomicOp::{MaxS, MaxU, MinS, MinU};
    let floats = matches!(op.op, AtomicOp::AddF32 | AtomicOp::AddF16 | AtomicOp::AddBf16 | AtomicOp::AddF64);
    takes_rounds(op) && (floats || matches!(op.op, MinS | MinU | MaxS | MaxU))
}

/// Returns whether `ptxas` combines the lanes of a warp that do this to one address.
fn combines(op: AtomOp) -> bool {
    use AtomicOp::{Add, And, MaxS, MaxU, MinS, MinU, Or, Xor};
    op.bytes == 4 && op.vector == 1 && matches!(op.op, Add | And | MaxS | MaxU | MinS | MinU | Or | Xor)
}

fn is_uniform_source(source: Source) -> bool {
    use Special::{LaneId, LanemaskEq, LanemaskGe, LanemaskGt, LanemaskLe, LanemaskLt, Tid};
    !matches!(source, Source::Special(Tid(_) | LaneId | LanemaskEq | LanemaskGe | LanemaskGt | LanemaskLe | LanemaskLt))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine instructions of the atomics in `body`, which finds addresses in `%rd1`, one for each lane in `%rd2` and in
    /// shared memory `%r2`, and a value in `%r1`, which differs from lane to lane.
    fn selected(body: &str) -> Vec<MachineOp> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<3>; .reg .pred %p<3>; .shared .b32 s[32];\n\
             ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd1, %rd3;\n\
             cvt.u32.u64 %r3, %rd3; mov.u32 %r2, s; add.u32 %r2, %r2, %r3;\n{body}\nret;\n}}"
        );
        let kernel = crate::Program::load("a.ptx", &text).and_then(|program| program.kernel("k"));
        let code = kernel.unwrap_or_else(|error| panic!("{body}: {error}")).code;
        let of = |inst: &Inst| if let Op::Atomic(op) = inst.op { Some(op.machine) } else { None };
        code.insts.iter().filter_map(of).collect()
    }

    /// Each row is what ptxas 13.0 was seen to do for sm_90.
    #[test]
    fn atomics_become_what_ptxas_makes_of_them() {
        use MachineOp::{Atom, AtomOfOne, AtomOfOneInFullWarps, CountLanes, Red, RedOfOne, Rounds};
        for (body, expected) in [
            ("atom.global.add.u32 %r4, [%rd2], %r1;", Red),
            ("atom.global.add.u32 %r4, [%rd2], %r1; add.u32 %r5, %r4, 1;", Red),
            ("atom.global.add.u32 %r4, [%rd2], %r1; st.global.u32 [%rd2], %r4;", Atom),
            ("atom.global.add.u32 %r4, [%rd2], %r1; setp.eq.u32 %p1, %r4, 5; @%p1 trap;", Atom),
            ("atom.global.add.u32 %r4, [%rd2], %r1; membar.gl;", Atom),
            ("red.global.add.u32 [%rd2], %r1; membar.gl;", Red),
            ("atom.acquire.gpu.global.add.u32 %r4, [%rd2], %r1;", Atom),
            ("atom.release.gpu.global.add.u32 %r4, [%rd2], %r1;", Red),
            ("atom.global.exch.b32 %r4, [%rd2], %r1;", Atom),
            ("atom.global.cas.b32 %r4, [%rd2], %r1, %r2;", Atom),
            ("atom.global.add.f32 %f1, [%rd2], %f2;", Red),
            ("atom.add.u32 %r4, [%rd2], %r1;", Atom),
            ("red.add.u32 [%rd2], %r1;", Atom),
            ("atom.global.add.u32 %r4, [%rd1], %r1;", RedOfOne),
            ("atom.global.max.s32 %r4, [%rd1], %r1;", RedOfOne),
            ("atom.global.inc.u32 %r4, [%rd1], %r1;", Red),
            ("atom.global.add.u64 %rd4, [%rd1], %rd3;", Red),
            ("atom.global.add.f32 %f1, [%rd1], %f2;", Red),
            ("atom.global.add.u32 %r4, [%rd1], 1; st.global.u32 [%rd2], %r4;", AtomOfOne),
            ("atom.global.add.u32 %r4, [%rd1], %r1; st.global.u32 [%rd2], %r4;", AtomOfOneInFullWarps),
            ("atom.global.max.u32 %r4, [%rd1], %r1; st.global.u32 [%rd2], %r4;", Atom),
            ("ld.global.u64 %rd4, [%rd1]; red.global.add.u32 [%rd4], %r1;", RedOfOne),
            ("mov.u64 %rd4, %rd1; @%p1 add.s64 %rd4, %rd4, 4; red.global.add.u32 [%rd4], %r1;", Red),
            ("atom.add.u32 %r4, [%rd1], %r1;", AtomOfOne),
            ("atom.shared.add.u32 %r4, [s], %r1;", AtomOfOne),
            ("atom.shared.add.u32 %r4, [%r2], 1;", CountLanes),
            ("mov.u32 %r5, 1; red.shared.add.u32 [%r2], %r5;", CountLanes),
            ("atom.shared.inc.u32 %r4, [%r2], -1;", CountLanes),
            ("atom.shared.add.u32 %r4, [%r2], 2;", Atom),
            ("atom.shared.add.u64 %rd4, [%r2], %rd3;", Rounds),
            ("atom.shared.min.s64 %rd4, [%r2], %rd3;", Rounds),
            ("atom.shared.or.b64 %rd4, [%r2], %rd3;", Rounds),
            ("atom.shared.exch.b64 %rd4, [%r2], %rd3;", Atom),
            ("atom.shared.cas.b64 %rd4, [%r2], %rd3, %rd1;", Atom),
            ("atom.shared.add.f32 %f1, [%r2], %f2;", Rounds),
            ("atom.shared.add.noftz.f16x2 %r4, [%r2], %r1;", Rounds),
            ("atom.add.f32 %f1, [%rd2], %f2;", Rounds),
            ("atom.shared.add.s32 %r4, [%r2], 1;", Atom),
            ("atom.shared.add.u32 %r4, [%r2], 1; st.global.u32 [%rd2], %r4;", Atom),
        ] {
            assert_eq!(selected(body), [expected], "{body}");
        }
    }

    #[test]
    fn what_was_derived_of_addresses_holds_only_where_it_is_seen() {
        assert_eq!(MachineOp::RedOfOne.reaching(0xff00), 0x100);
        assert_eq!(MachineOp::AtomOfOneInFullWarps.reaching(0xff00), 0xff00);
        assert_eq!(MachineOp::AtomOfOneInFullWarps.reaching(u32::MAX), 1);
        assert_eq!(MachineOp::CountLanes.reaching(0xff00), 0xff00);
    }
}
