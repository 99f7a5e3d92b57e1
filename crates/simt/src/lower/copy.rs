//! Instructions that start with `cp`: copies that a thread starts and does not wait for, and how it waits for them later.

use ptx::{Immediate, Instruction, Operand, Type};

use super::Lower;
use crate::code::{
    AtomOp, AtomicOp, BulkCopy, BulkStore, CopyCode, Guard, Inst, MachineOp, MbarrierAct, MbarrierOp, NONE, Op, Order,
    Scope, Target,
};
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn copy(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let words: Vec<&str> = inst.modifiers.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["async", "ca" | "cg", "shared" | "shared::cta", "global", hints @ ..]
                if hints.iter().all(|hint| hint.starts_with("L2::")) =>
            {
                self.copy_async(inst)
            }
            ["async", "commit_group"] => self.emit(inst, &[Inst { op: Op::CopyCommit, ..Inst::NOP }]),
            ["async", "wait_all"] => self.emit(inst, &[Inst { op: Op::CopyWait, imm: -1, ..Inst::NOP }]),
            ["async", "wait_group"] => self.wait_group(inst, Inst { op: Op::CopyWait, ..Inst::NOP }),
            ["async", "mbarrier", "arrive", rest @ ..] => {
                let counted = rest.first() == Some(&"noinc");
                match &rest[usize::from(counted)..] {
                    ["b64"] | ["shared" | "shared::cta", "b64"] => self.copy_arrive(inst, counted),
                    _ => self.refuse_opcode(inst),
                }
            }
            [
                "async",
                "bulk",
                "shared::cta" | "shared::cluster",
                "global",
                "mbarrier::complete_tx::bytes",
                hints @ ..,
            ] if matches!(hints, [] | ["L2::cache_hint"]) && inst.operands.len() == 4 + hints.len() => {
                self.copy_bulk(inst)
            }
            ["async", "bulk", "global", "shared::cta", "bulk_group", hints @ ..]
                if matches!(hints, [] | ["L2::cache_hint"]) =>
            {
                self.store_bulk(inst, None, hints.len())
            }
            ["reduce", "async", "bulk", "global", "shared::cta", "bulk_group", rest @ ..] => {
                let hints = usize::from(rest.first() == Some(&"L2::cache_hint"));
                let reduction = reduction(inst, &rest[hints..]);
                if reduction.is_none() {
                    return self.refuse_opcode(inst);
                }
                self.code.blocks_communicate = true;
                self.store_bulk(inst, reduction, hints)
            }
            ["async", "bulk", "commit_group"] => self.emit(inst, &[Inst { op: Op::BulkCommit, ..Inst::NOP }]),
            ["async", "bulk", "wait_group", read @ ..] if matches!(read, [] | ["read"]) => {
                self.wait_group(inst, Inst { op: Op::BulkWait, e: u16::from(!read.is_empty()), ..Inst::NOP })
            }
            ["async", "bulk", "prefetch", "L2", "global", hints @ ..]
                if matches!(hints, [] | ["L2::cache_hint"]) && inst.operands.len() == 2 + hints.len() =>
            {
                self.cache_policies(inst, &inst.operands[2..])?;
                self.prefetch_bulk(inst)
            }
            _ => self.refuse_opcode(inst),
        }
    }

    /// A wait for all groups but so many, the only operand.
    fn wait_group(&mut self, inst: &Instruction, wait: Inst) -> Result<(), LoadError> {
        match inst.operands.as_slice() {
            [Operand::Immediate(Immediate::Int(groups))] if (0..=i128::from(u32::MAX)).contains(groups) => {
                self.emit(inst, &[Inst { imm: *groups as i64, ..wait }])
            }
            _ => self.refuse(inst, "a number of groups is expected here"),
        }
    }

    /// Checks the cache policies of a copy, which the simulator has no use for.
    fn cache_policies(&mut self, inst: &Instruction, policies: &[Operand]) -> Result<(), LoadError> {
        policies.iter().try_for_each(|policy| self.row64(inst, policy).map(drop))
    }

    /// `cp.async` to shared memory: where to, where from, how many bytes; then how many of them are read or a predicate under
    /// which none is; then a cache policy.
    fn copy_async(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let [to, from, size, rest @ ..] = inst.operands.as_slice() else { return self.refuse_opcode(inst) };
        let bytes = match size {
            Operand::Immediate(Immediate::Int(bytes @ (4 | 8 | 16))) if *bytes == 16 || inst.has("ca") => *bytes as u32,
            _ => return self.refuse(inst, "a copy has 4, 8 or 16 bytes, and of .cg 16"),
        };
        let (to, from) = (self.address(inst, to)?, self.address(inst, from)?);
        let rest = match rest {
            [rest @ .., policy] if inst.has("L2::cache_hint") => {
                self.row64(inst, policy)?;
                rest
            }
            rest => rest,
        };
        let everywhere = Guard { predicate: NONE, negated: false };
        let (taken, ignored) = match rest {
            [] => (NONE, everywhere),
            // A number is one of bytes.
            [one @ Operand::Immediate(_)] => (self.row32(inst, one)?, everywhere),
            [one] => match self.predicate(inst, one) {
                Ok((predicate, negated)) => (NONE, Guard { predicate, negated }),
                Err(_) => (self.row32(inst, one)?, everywhere),
            },
            _ => return self.refuse_opcode(inst),
        };
        let imm = self.code.copies.len() as i64;
        self.code.copies.push(CopyCode { to, from, bytes, taken, ignored });
        self.emit(inst, &[Inst { op: Op::CopyAsync, imm, ..Inst::NOP }])
    }

    /// `cp.async.bulk` to shared memory: where to, where from, how many bytes, the barrier object; then a cache policy.
    fn copy_bulk(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let [to, from, bytes, object, policy @ ..] = inst.operands.as_slice() else { return self.refuse_opcode(inst) };
        let (to, from, object) = (self.address(inst, to)?, self.address(inst, from)?, self.address(inst, object)?);
        let bytes = self.row32(inst, bytes)?;
        self.cache_policies(inst, policy)?;
        self.code.may_spin = true;
        let imm = self.code.bulk_copies.len() as i64;
        self.code.bulk_copies.push(BulkCopy { to, from, bytes, object });
        self.emit(inst, &[Inst { op: Op::CopyBulk, imm, ..Inst::NOP }])
    }

    /// A bulk copy or reduction to global memory: where to, where from, how many bytes; then a cache policy.
    fn store_bulk(&mut self, inst: &Instruction, reduction: Option<AtomOp>, hints: usize) -> Result<(), LoadError> {
        let [to, from, bytes, policy @ ..] = inst.operands.as_slice() else { return self.refuse_opcode(inst) };
        if policy.len() != hints {
            return self.refuse_opcode(inst);
        }
        let (to, from) = (self.address(inst, to)?, self.address(inst, from)?);
        let bytes = self.row32(inst, bytes)?;
        self.cache_policies(inst, policy)?;
        self.code.may_spin = true;
        let imm = self.code.bulk_stores.len() as i64;
        self.code.bulk_stores.push(BulkStore { to, from, bytes, reduction });
        self.emit(inst, &[Inst { op: Op::StoreBulk, imm, ..Inst::NOP }])
    }

    fn copy_arrive(&mut self, inst: &Instruction, counted: bool) -> Result<(), LoadError> {
        let generic = super::space_of(inst).is_none();
        let act = MbarrierAct::CopyArrive { counted };
        let op = Op::Mbarrier(MbarrierOp { act, generic, is_remote: false, ordered: true });
        let at = self.at(inst, &inst.operands[0])?;
        self.code.may_spin = true;
        self.emit(inst, &[Inst { op, ..at }])
    }

    fn prefetch_bulk(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let at = self.at(inst, &inst.operands[0])?;
        let b = self.row32(inst, &inst.operands[1])?;
        self.emit(inst, &[Inst { op: Op::PrefetchBulk, b, ..at }])
    }
}

/// Operation and type of `cp.reduce.async.bulk` on each element of global memory; halves take `.noftz` where they are
/// added. Floats are added as an atomic on global memory adds them, subnormal numbers as zero.
fn reduction(inst: &Instruction, words: &[&str]) -> Option<AtomOp> {
    let (name, ty) = match words {
        [name, "noftz", ty @ ("f16" | "bf16")] if *name == "add" => (name, ty),
        [name @ ("min" | "max"), ty @ ("f16" | "bf16")] => (name, ty),
        [_, "f16" | "bf16"] => return None,
        [name, ty] => (name, ty),
        _ => return None,
    };
    if matches!(*name, "cas" | "exch") || (*name, *ty) == ("add", "s64") {
        return None;
    }
    let ty = Type::from_name(ty).filter(|ty| !matches!(ty, Type::F16x2 | Type::Bf16x2))?;
    let op = match super::atomic::operation(inst, ty)? {
        AtomicOp::AddF32 => AtomicOp::AddF32Ftz,
        op => op,
    };
    let (order, scope, bytes) = (Order::Relaxed, Scope::Gpu, ty.size_bytes() as u8);
    Some(AtomOp { target: Target::Global, op, bytes, vector: 1, machine: MachineOp::Red, order, scope })
}
