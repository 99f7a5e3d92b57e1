//! Loads, stores and atomics to register code.

use ptx::{Instruction, Operand, Space, Type};

use super::{Binding, Lower, space_of};
use crate::code::{AtomOp, AtomicOp, Inst, MemOp, NONE, Op, Source, Target, Width};
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn load(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if space_of(inst) == Some(Space::Param) {
            return self.load_param(inst);
        }
        let Some(target) = Target::of(space_of(inst)) else { return self.refuse_opcode(inst) };
        self.note_communication(inst, target);
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let address = self.address(inst, &inst.operands[1])?;
        let (regs, wide) = self.data(inst, &inst.operands[0], ty)?;
        let op = Op::Load(MemOp { target, width: width(ty, wide), vector: regs.len() as u8 });
        let inst_code = self.with_data(
            Inst { op, a: address.row, e: u16::from(address.narrow), imm: address.offset, ..Inst::NOP },
            &regs,
        );
        self.emit(inst, &[inst_code])
    }

    pub(super) fn store(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if space_of(inst) == Some(Space::Param) {
            return self.store_param(inst);
        }
        let Some(target) = Target::of(space_of(inst)) else { return self.refuse_opcode(inst) };
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let address = self.address(inst, &inst.operands[0])?;
        let (regs, wide) = self.data(inst, &inst.operands[1], ty)?;
        let op = Op::Store(MemOp { target, width: width(ty, wide), vector: regs.len() as u8 });
        let inst_code = self.with_data(
            Inst { op, a: address.row, e: u16::from(address.narrow), imm: address.offset, ..Inst::NOP },
            &regs,
        );
        self.emit(inst, &[inst_code])
    }

    /// One register goes into `d`; several go into the side table that `c` indexes.
    pub(super) fn with_data(&mut self, mut inst: Inst, regs: &[u16]) -> Inst {
        if let [one] = regs {
            inst.d = *one;
        } else {
            let mut row = [NONE; 4];
            row[..regs.len()].copy_from_slice(regs);
            inst.c = self.code.vectors.len() as u16;
            self.code.vectors.push(row);
        }
        inst
    }

    /// The data registers of a load or store, all in one file.
    pub(super) fn data(&mut self, inst: &Instruction, operand: &Operand, ty: Type) -> Result<(Vec<u16>, bool), LoadError> {
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let declared = match () {
            () if inst.has("v2") => 2,
            () if inst.has("v4") => 4,
            () if inst.has("v8") => return self.refuse_opcode(inst),
            () => 1,
        };
        if parts.len() != declared {
            return self.refuse(inst, format!("{} registers for a {declared}-element access", parts.len()));
        }
        let bytes = ty.size_bytes();
        if bytes > 8 || bytes as usize * declared > 16 || self.code.vectors.len() >= usize::from(NONE) {
            return self.refuse_opcode(inst);
        }
        let (mut regs, mut wide) = (Vec::with_capacity(declared), bytes == 8);
        for part in parts {
            if *part == Operand::Sink {
                regs.push(NONE);
                continue;
            }
            let (reg, part_wide) = self.any_row(inst, part, bytes)?;
            wide = part_wide;
            regs.push(reg);
        }
        if wide != (bytes == 8) && bytes == 8 {
            return self.refuse(inst, "a 64-bit access needs 64-bit registers");
        }
        Ok((regs, wide))
    }

    /// `st.param`: into what a device function returns or passes on.
    fn store_param(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Operand::Address { base: Some(name), offset } = &inst.operands[0] else {
            return self.refuse(inst, "a parameter in brackets is expected here");
        };
        match self.binding(name)? {
            Some(Binding::Frame { offset: start, bytes }) => {
                self.frame_access(inst, (start, bytes), *offset, &inst.operands[1])
            }
            _ => self.refuse(inst, format!("{name} is no parameter that can be written here")),
        }
    }

    /// A parameter at an address that is computed: of the kernel, since those of functions have none.
    fn load_param_at(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let address = self.address(inst, &inst.operands[1])?;
        let (regs, wide) = self.data(inst, &inst.operands[0], ty)?;
        let op = Op::Load(MemOp { target: Target::Param, width: width(ty, wide), vector: regs.len() as u8 });
        let inst_code = self.with_data(
            Inst { op, a: address.row, e: u16::from(address.narrow), imm: address.offset, ..Inst::NOP },
            &regs,
        );
        self.emit(inst, &[inst_code])
    }

    /// Kernel parameters are constant rows: the load is a copy.
    fn load_param(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Operand::Address { base: Some(name), offset } = &inst.operands[1] else {
            return self.refuse(inst, "a parameter in brackets is expected here");
        };
        let (start, bytes) = match self.binding(name)? {
            Some(Binding::Param { offset: start, bytes }) => (start, bytes),
            Some(Binding::Frame { offset: start, bytes }) => {
                return self.frame_access(inst, (start, bytes), *offset, &inst.operands[0]);
            }
            Some(Binding::Row32(_) | Binding::Row64(_)) => return self.load_param_at(inst),
            _ => return self.refuse(inst, format!("{name} is no parameter of this function")),
        };
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let (regs, wide) = self.data(inst, &inst.operands[0], ty)?;
        let width = ty.size_bytes();
        let mut out = Vec::new();
        for (i, &d) in regs.iter().enumerate() {
            let at = offset + (i as u32 * width) as i64;
            if at < 0 || at + i64::from(width) > i64::from(bytes) {
                return self.refuse(inst, format!("reads past the {bytes} bytes of parameter {name}"));
            }
            let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32);
            let source = Source::Param { offset: start + at as u32, bytes: width as u8, signed };
            out.push(if wide {
                Inst { op: Op::Mov64, d, a: self.constant64(source), ..Inst::NOP }
            } else {
                Inst { op: Op::Mov32, d, a: self.constant32(source), ..Inst::NOP }
            });
        }
        self.emit(inst, &out)
    }

    pub(super) fn atomic(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let is_red = inst.spec.mnemonic == "red";
        let target = Target::of(space_of(inst)).filter(|t| *t != Target::Local);
        let (Some(target), Some(ty)) = (target, inst.types().next_back()) else { return self.refuse_opcode(inst) };
        let bytes = ty.size_bytes();
        if inst.has("vec") || inst.has("v2") || inst.has("v4") || !matches!(bytes, 4 | 8) {
            return self.refuse_opcode(inst);
        }
        let Some(op) = atomic_op(inst, ty) else { return self.refuse_opcode(inst) };
        self.note_communication(inst, target);
        let row = if bytes == 8 { crate::ops::Row::D } else { crate::ops::Row::W };
        let mut operands = inst.operands.iter();
        let d = match operands.next() {
            Some(d) if !is_red => self.row(inst, d, row)?,
            _ => NONE,
        };
        let rest = &inst.operands[usize::from(!is_red)..];
        let wanted = if op == AtomicOp::Cas { 3 } else { 2 };
        if rest.len() != wanted {
            return self.refuse_opcode(inst);
        }
        let address = self.address(inst, &rest[0])?;
        let b = self.row(inst, &rest[1], row)?;
        let c = match rest.get(2) {
            Some(operand) => self.row(inst, operand, row)?,
            None => NONE,
        };
        let op = Op::Atomic(AtomOp { target, op, bytes: bytes as u8, is_red });
        self.emit(
            inst,
            &[Inst { op, d, a: address.row, e: u16::from(address.narrow), b, c, imm: address.offset, ..Inst::NOP }],
        )
    }

    /// Global atomics and ordered or volatile global loads are how blocks talk to each other within a launch.
    fn note_communication(&mut self, inst: &Instruction, target: Target) {
        let ordered = ["volatile", "acquire", "relaxed", "mmio", "cg", "cv"].iter().any(|m| inst.has(m));
        let atomic = matches!(inst.spec.mnemonic, "atom" | "red");
        if matches!(target, Target::Global | Target::Generic) && (ordered || atomic) {
            self.code.blocks_communicate = true;
        }
        self.code.may_spin |= ordered || atomic;
    }
}

fn width(ty: Type, wide: bool) -> Width {
    let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32);
    Width { bytes: ty.size_bytes() as u8, signed, wide }
}

fn atomic_op(inst: &Instruction, ty: Type) -> Option<AtomicOp> {
    let signed = matches!(ty, Type::S32 | Type::S64);
    let integer = matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64 | Type::B32 | Type::B64);
    let name = inst.modifiers.iter().find(|m| {
        matches!(m.as_str(), "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec")
    })?;
    Some(match (name.as_str(), ty) {
        ("add", Type::F32) => AtomicOp::AddF32,
        ("add", Type::F64) => AtomicOp::AddF64,
        ("exch", _) => AtomicOp::Exch,
        ("cas", _) => AtomicOp::Cas,
        (_, _) if !integer => return None,
        ("add", _) => AtomicOp::Add,
        ("min", _) if signed => AtomicOp::MinS,
        ("min", _) => AtomicOp::MinU,
        ("max", _) if signed => AtomicOp::MaxS,
        ("max", _) => AtomicOp::MaxU,
        ("and", _) => AtomicOp::And,
        ("or", _) => AtomicOp::Or,
        ("xor", _) => AtomicOp::Xor,
        ("inc", _) => AtomicOp::Inc,
        _ => AtomicOp::Dec,
    })
}
