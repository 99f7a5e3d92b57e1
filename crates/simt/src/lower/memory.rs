//! Loads, stores and cache hints to register code.

use ptx::{Instruction, Operand, Space, Type, table};

use super::{Binding, Lower, space_of};
use crate::code::{AsyncStore, Inst, MemOp, NONE, Op, Order, Scope, Source, Target, VECTOR_MAX, Width};
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn load(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if space_of(inst) == Some(Space::Param) {
            return self.load_param(inst);
        }
        let Some(target) = target(inst) else { return self.refuse_opcode(inst) };
        self.note_communication(inst, target);
        self.access(inst, target, false)
    }

    pub(super) fn store(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if inst.has("async") || inst.has("mbarrier::complete_tx::bytes") {
            return self.store_async(inst);
        }
        if space_of(inst) == Some(Space::Param) {
            return self.store_param(inst);
        }
        let Some(target) = target(inst) else { return self.refuse_opcode(inst) };
        self.access(inst, target, true)
    }

    /// A load or store.
    fn access(&mut self, inst: &Instruction, target: Target, stores: bool) -> Result<(), LoadError> {
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let (data, address) = (&inst.operands[usize::from(stores)], &inst.operands[usize::from(!stores)]);
        self.check_literal(inst, data, ty.name())?;
        let at = self.at(inst, address)?;
        let (regs, wide) = self.data(inst, data, ty)?;
        let (vector, order, scope) = (regs.len() as u8, order(inst), scope(inst));
        let op = MemOp { target, width: width(ty, wide), vector, order, scope };
        let out = self.with_data(Inst { op: if stores { Op::Store(op) } else { Op::Load(op) }, ..at }, &regs);
        self.emit(inst, &[out])
    }

    /// `st.async`: where to, what, the barrier object.
    fn store_async(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let is_whole = table::shapes("st").iter().any(|shape| shape.canonical(&inst.opcode).is_some());
        let ([to, data, object], Some(ty), true) = (inst.operands.as_slice(), inst.types().next_back(), is_whole)
        else {
            return self.refuse_opcode(inst);
        };
        self.check_literal(inst, data, ty.name())?;
        let (to, object) = (self.address(inst, to)?, self.address(inst, object)?);
        let (regs, wide) = self.data(inst, data, ty)?;
        let mut values = [NONE; 4];
        values[..regs.len()].copy_from_slice(&regs);
        let (vector, order, scope) = (regs.len() as u8, Order::Weak, Scope::Cluster);
        let op = MemOp { target: Target::Cluster, width: width(ty, wide), vector, order, scope };
        self.code.may_spin = true;
        let imm = self.code.async_stores.len() as i64;
        self.code.async_stores.push(AsyncStore { to, object, values });
        self.emit(inst, &[Inst { op: Op::StoreAsync(op), imm, ..Inst::NOP }])
    }

    /// One register goes into `d`; several go into the side table that `c` indexes.
    pub(super) fn with_data(&mut self, mut inst: Inst, regs: &[u16]) -> Inst {
        if let [one] = regs {
            inst.d = *one;
        } else {
            inst.c = self.vector(regs);
        }
        inst
    }

    /// The index of a new entry of the side table.
    pub(super) fn vector(&mut self, regs: &[u16]) -> u16 {
        let mut row = [NONE; VECTOR_MAX];
        row[..regs.len()].copy_from_slice(regs);
        self.code.vectors.push(row);
        (self.code.vectors.len() - 1) as u16
    }

    /// `createpolicy`: an opaque number for the cache hints that take one.
    pub(super) fn cache_policy(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let d = self.row64(inst, &inst.operands[0])?;
        let a = self.constant64(Source::Literal(0));
        self.emit(inst, &[Inst { op: Op::Mov64, d, a, ..Inst::NOP }])
    }

    /// The data registers of a load or store, all in one file.
    pub(super) fn data(
        &mut self,
        inst: &Instruction,
        operand: &Operand,
        ty: Type,
    ) -> Result<(Vec<u16>, bool), LoadError> {
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let declared = elements(inst) as usize;
        if parts.len() != declared {
            return self.refuse(inst, format!("{} registers for a {declared}-element access", parts.len()));
        }
        let bytes = ty.size_bytes();
        if bytes == 16 && declared == 1 && space_of(inst) != Some(Space::Param) {
            let row = self.row128(inst, operand)?;
            return Ok((vec![row, if row == NONE { NONE } else { row + 1 }], true));
        }
        let widest = if space_of(inst) == Some(Space::Global) { 32 } else { 16 };
        if !(1..=8).contains(&bytes)
            || bytes as usize * declared > widest
            || self.code.vectors.len() >= usize::from(NONE)
        {
            return self.refuse_opcode(inst);
        }
        let (mut regs, mut wide) = (Vec::with_capacity(declared), bytes == 8);
        for part in parts {
            if *part == Operand::Sink {
                regs.push(NONE);
                continue;
            }
            let (reg, part_wide) = self.any_row(inst, part, bytes)?;
            if regs.iter().any(|&reg| reg != NONE) && wide != part_wide {
                return self.refuse(inst, "registers of 32 and of 64 bits in one access");
            }
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
            // At an address that is computed: of the kernel, since those of functions have none.
            Some(Binding::Row32(_) | Binding::Row64(_)) => return self.access(inst, Target::Param, false),
            _ => return self.refuse(inst, format!("{name} is no parameter of this function")),
        };
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let (regs, wide) = self.data(inst, &inst.operands[0], ty)?;
        let width = ty.size_bytes();
        let mut out = Vec::new();
        for (i, &d) in regs.iter().enumerate() {
            let at = offset.saturating_add(i64::from(i as u32 * width));
            if at < 0 || at.saturating_add(i64::from(width)) > i64::from(bytes) {
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

    /// Global atomics and ordered or volatile global loads are how blocks talk to each other within a launch.
    pub(super) fn note_communication(&mut self, inst: &Instruction, target: Target) {
        let ordered = ["volatile", "acquire", "relaxed", "mmio", "cg", "cv"].iter().any(|m| inst.has(m));
        let atomic = matches!(inst.spec.mnemonic, "atom" | "red");
        if matches!(target, Target::Global | Target::Generic) && (ordered || atomic) {
            self.code.blocks_communicate = true;
        }
        self.code.may_spin |= ordered || atomic;
        self.code.orders_by_hand |= matches!(order(inst), Order::Acquire | Order::Release | Order::AcqRel);
    }
}

/// The memory that an opcode names.
pub(super) fn target(inst: &Instruction) -> Option<Target> {
    if inst.has("shared::cluster") { Some(Target::Cluster) } else { Target::of(space_of(inst)) }
}

/// Elements of an access for each lane: one unless the opcode names a vector.
pub(super) fn elements(inst: &Instruction) -> u32 {
    inst.choose(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
}

/// Returns the ordering of an access; `Weak` if it names none.
pub(super) fn order(inst: &Instruction) -> Order {
    let order = inst.choose(&[
        ("acq_rel", Order::AcqRel),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
        ("relaxed", Order::Relaxed),
        ("mmio", Order::Relaxed),
        ("volatile", Order::Volatile),
    ]);
    order.unwrap_or(Order::Weak)
}

/// Returns the scope of an access: the system for `.volatile`, the GPU if none is named.
pub(super) fn scope(inst: &Instruction) -> Scope {
    let sys = ["sys", "volatile", "mmio"].map(|word| (word, Scope::Sys));
    let narrow = inst.choose(&[("cta", Scope::Cta), ("cluster", Scope::Cluster)]);
    narrow.or_else(|| inst.choose(&sys)).unwrap_or(Scope::Gpu)
}

fn width(ty: Type, wide: bool) -> Width {
    let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32);
    // 16 bytes are two elements of 8.
    Width { bytes: ty.size_bytes().min(8) as u8, signed, wide }
}
