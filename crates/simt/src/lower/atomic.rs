//! `atom` and `red` to register code.

use std::collections::HashSet;

use ptx::{Instruction, Operand, Type};

use super::Lower;
use super::memory::{elements, order, scope, target};
use crate::code::{AtomOp, AtomicOp, Code, Inst, MachineOp, NONE, Op, Order, Reg, Scope, Target};
use crate::ops::Row;
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn atomic(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let is_red = inst.spec.mnemonic == "red";
        let target = target(inst).filter(|t| !matches!(t, Target::Local | Target::Const | Target::Param));
        let (Some(target), Some(ty)) = (target, inst.types().next_back()) else { return self.refuse_opcode(inst) };
        let Some(op) = operation(inst, ty) else { return self.refuse_opcode(inst) };
        let vector = elements(inst);
        if vector > 1 && (ty.size_bytes() * vector > 16 || is_integer(ty) || ty == Type::F64) {
            return self.refuse_opcode(inst);
        }
        self.note_communication(inst, target);
        let rest = &inst.operands[usize::from(!is_red)..];
        let expected = if op == AtomicOp::Cas { 3 } else { 2 } + usize::from(inst.has("L2::cache_hint"));
        if rest.len() != expected {
            return self.refuse_opcode(inst);
        }
        let order = match order(inst) {
            // An atomic that does not say is relaxed.
            Order::Weak => Order::Relaxed,
            order => order,
        };
        let op = AtomOp {
            target,
            op,
            bytes: ty.size_bytes() as u8,
            vector: vector as u8,
            machine: if is_red { MachineOp::Red } else { MachineOp::Atom },
            order,
            scope: scope(inst),
        };
        rest[1..].iter().try_for_each(|operand| match inst.has("L2::cache_hint") {
            true => Ok(()),
            false => self.check_literal(inst, operand, ty.name()),
        })?;
        let mut out = Inst { op: Op::Atomic(op), ..self.at(inst, &rest[0])? };
        let result = inst.operands.first().filter(|_| !is_red);
        if vector > 1 {
            out.c = self.elements(inst, &rest[1], ty, vector)?;
            out.f = result.map_or(Ok(NONE), |result| self.elements(inst, result, ty, vector))?;
        } else {
            out.d = result.map_or(Ok(NONE), |result| self.atomic_operand(inst, result, ty))?;
            out.b = self.atomic_operand(inst, &rest[1], ty)?;
            if op.op == AtomicOp::Cas {
                out.c = self.atomic_operand(inst, &rest[2], ty)?;
            }
        }
        self.emit(inst, &[out])
    }

    fn atomic_operand(&mut self, inst: &Instruction, operand: &Operand, ty: Type) -> Result<Reg, LoadError> {
        match ty.size_bytes() {
            16 => self.row128(inst, operand),
            8 => self.row(inst, operand, Row::D),
            _ => self.row(inst, operand, Row::W),
        }
    }

    /// The side table's entry of a vector operand.
    fn elements(&mut self, inst: &Instruction, operand: &Operand, ty: Type, vector: u32) -> Result<Reg, LoadError> {
        if !matches!(operand, Operand::Vector(parts) if parts.len() == vector as usize) {
            return self.refuse(inst, format!("{vector} registers in braces are expected here"));
        }
        let (regs, _) = self.data(inst, operand, ty)?;
        Ok(self.vector(&regs))
    }
}

fn is_integer(ty: Type) -> bool {
    matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64 | Type::B32 | Type::B64 | Type::B16 | Type::B128)
}

pub(super) fn operation(inst: &Instruction, ty: Type) -> Option<AtomicOp> {
    const NAMES: [&str; 10] = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];
    let name = NAMES.into_iter().find(|name| inst.has(name))?;
    let bits = matches!(ty, Type::B32 | Type::B64);
    Some(match (name, ty) {
        ("add", Type::F32) => AtomicOp::AddF32,
        ("add", Type::F64) => AtomicOp::AddF64,
        ("add", Type::F16 | Type::F16x2) => AtomicOp::AddF16,
        ("add", Type::Bf16 | Type::Bf16x2) => AtomicOp::AddBf16,
        ("min", Type::F16 | Type::F16x2) => AtomicOp::MinF16,
        ("min", Type::Bf16 | Type::Bf16x2) => AtomicOp::MinBf16,
        ("max", Type::F16 | Type::F16x2) => AtomicOp::MaxF16,
        ("max", Type::Bf16 | Type::Bf16x2) => AtomicOp::MaxBf16,
        ("exch", Type::U32 | Type::S32 | Type::F32 | Type::U64 | Type::S64 | Type::F64) => AtomicOp::Exch,
        ("exch", Type::B128) => AtomicOp::Exch,
        ("exch", _) if bits => AtomicOp::Exch,
        ("cas", Type::B16 | Type::B128 | Type::U32 | Type::S32 | Type::U64 | Type::S64) => AtomicOp::Cas,
        ("cas", _) if bits => AtomicOp::Cas,
        ("add", Type::U32 | Type::S32 | Type::U64 | Type::S64) => AtomicOp::Add,
        ("min", Type::S32 | Type::S64) => AtomicOp::MinS,
        ("min", Type::U32 | Type::U64) => AtomicOp::MinU,
        ("max", Type::S32 | Type::S64) => AtomicOp::MaxS,
        ("max", Type::U32 | Type::U64) => AtomicOp::MaxU,
        ("and", _) if bits => AtomicOp::And,
        ("or", _) if bits => AtomicOp::Or,
        ("xor", _) if bits => AtomicOp::Xor,
        ("inc", Type::U32) => AtomicOp::Inc,
        ("dec", Type::U32) => AtomicOp::Dec,
        _ => return None,
    })
}

/// Marks the loads whose value is what a compare-and-swap expects. Such a read may be out of date, since the swap finds
/// out, so it counts as relaxed though it is written as a plain one: `old = *p; do … while (atomicCAS(p, old, …) != old)`
/// is no race.
pub(super) fn mark_expectations(code: &mut Code) {
    let mut expected: HashSet<(bool, Reg)> = HashSet::new();
    for inst in &code.insts {
        if let Op::Atomic(op) = inst.op
            && op.op == AtomicOp::Cas
        {
            expected.insert((op.bytes >= 8, inst.b));
        }
    }
    // Back through copies, until there is nothing new.
    let mut count = 0;
    while count != expected.len() {
        count = expected.len();
        for inst in &code.insts {
            let wide = inst.op == Op::Mov64;
            if (wide || inst.op == Op::Mov32) && expected.contains(&(wide, inst.d)) {
                expected.insert((wide, inst.a));
            }
        }
    }
    for inst in &mut code.insts {
        if let Op::Load(op) = &mut inst.op
            && op.vector == 1
            && matches!(op.order, Order::Weak | Order::Volatile)
            && expected.contains(&(op.width.wide, inst.d))
        {
            (op.order, op.scope) = (Order::Relaxed, Scope::Sys);
        }
    }
}
