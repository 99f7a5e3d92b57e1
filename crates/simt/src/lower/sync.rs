//! Lowering of the joint operations of lanes, warps and blocks.

use ptx::{Immediate, Instruction, Operand};

use super::Lower;
use crate::code::{BARRIERS, FloatMode, Inst, NONE, Op, Reduction, ReduxOp, Reg, Scope, ShuffleMode, VoteMode};
use crate::ops::Row;
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn barrier(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if inst.has("cluster") {
            return self.cluster_barrier(inst);
        }
        let (d, rest) = match inst.operands.as_slice() {
            [d, rest @ ..] if inst.has("red") => (Some(d), rest),
            all => (None, all),
        };
        let [barrier, ..] = rest else { return self.refuse_opcode(inst) };
        if inst.has("warp") {
            let a = self.row32(inst, barrier)?;
            return self.emit(inst, &[Inst { op: Op::WarpBarrier, a, ..Inst::NOP }]);
        }
        let op = inst.choose(&[
            ("popc", Op::BarrierReduce(Reduction::Count)),
            ("and", Op::BarrierReduce(Reduction::And)),
            ("or", Op::BarrierReduce(Reduction::Or)),
            ("arrive", Op::BarrierArrive),
        ]);
        let op = op.unwrap_or(Op::Barrier);
        if let Operand::Immediate(Immediate::Int(number)) = barrier
            && !(0..i128::from(BARRIERS)).contains(number)
        {
            return self.refuse(inst, format!("barrier {number}: a block has barriers 0 to {}", BARRIERS - 1));
        }
        let aligned = inst.spec.mnemonic == "bar" || inst.has("aligned");
        let mut out = Inst { op, a: self.row32(inst, barrier)?, e: u16::from(aligned), ..Inst::NOP };
        if let Some(d) = d {
            let (predicate, negated) = self.predicate(inst, &rest[rest.len() - 1])?;
            (out.c, out.imm) = (predicate, i64::from(negated));
            out.d = match inst.has("popc") {
                true => self.row32(inst, d)?,
                false => self.predicate_destination(inst, d)?,
            };
        }
        if rest.len() == if d.is_some() { 3 } else { 2 } {
            if let Operand::Immediate(Immediate::Int(threads)) = rest[1]
                && threads % 32 != 0
            {
                return self.refuse(inst, format!("a barrier of {threads} threads: it is whole warps of 32 that meet"));
            }
            out.b = self.row32(inst, &rest[1])?;
        }
        self.emit(inst, &[out])
    }

    fn cluster_barrier(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let arrive = Op::ClusterArrive { releases: !inst.has("relaxed") };
        match inst.choose(&[("arrive", arrive), ("wait", Op::ClusterWait)]) {
            Some(op) => self.emit(inst, &[Inst { op, ..Inst::NOP }]),
            None => self.refuse_opcode(inst),
        }
    }

    /// `membar`, `fence`. Fences between proxies and of barrier objects order nothing that is not in order here.
    pub(super) fn fence(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if inst.has("proxy") || inst.has("mbarrier_init") {
            return self.emit(inst, &[Inst::NOP]);
        }
        let (gpu, sys) = (Scope::Gpu, Scope::Sys);
        let scopes = [("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gl", gpu), ("gpu", gpu), ("sys", sys)];
        let Some(scope) = inst.choose(&scopes) else { return self.refuse_opcode(inst) };
        self.code.orders_by_hand = true;
        // A loop that waits for other blocks may have no more than a plain load and a fence.
        self.code.blocks_communicate |= scope >= Scope::Gpu;
        self.code.may_spin = true;
        // `membar` is another name for `fence.sc`.
        let orders_fences = inst.spec.mnemonic == "membar" || inst.has("sc");
        self.emit(inst, &[Inst { op: Op::Fence { scope, orders_fences }, ..Inst::NOP }])
    }

    /// `elect.sync`
    pub(super) fn elect(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if !matches!(inst.operands[0], Operand::Pair(..)) {
            return self.refuse(inst, "a register and a predicate are expected here");
        }
        let (d, e) = self.destinations(inst, Row::W)?;
        let f = self.row32(inst, &inst.operands[1])?;
        self.emit(inst, &[Inst { op: Op::Elect, d, e, f, ..Inst::NOP }])
    }

    /// `mapa`: the address that a variable of this block has in another block of the cluster.
    pub(super) fn map_shared(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let wide = inst.has("u64");
        let generic = !inst.has("shared::cluster");
        let d = self.row(inst, &inst.operands[0], if wide { Row::D } else { Row::W })?;
        let a = self.shared_address(inst, &inst.operands[1], wide, generic)?;
        let b = self.row32(inst, &inst.operands[2])?;
        self.code.maps_shared = true;
        self.emit(inst, &[Inst { op: Op::MapShared { wide }, d, a, b, ..Inst::NOP }])
    }

    /// `getctarank`: the block of the cluster that a shared address belongs to.
    pub(super) fn rank_of(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let wide = inst.has("u64");
        let generic = !inst.has("shared::cluster");
        let d = self.row32(inst, &inst.operands[0])?;
        let a = self.shared_address(inst, &inst.operands[1], wide, generic)?;
        self.emit(inst, &[Inst { op: Op::RankOf { wide }, d, a, ..Inst::NOP }])
    }

    /// A shared address: a register, or a variable, which without a space in the opcode means its generic address.
    fn shared_address(
        &mut self,
        inst: &Instruction,
        operand: &Operand,
        wide: bool,
        generic: bool,
    ) -> Result<Reg, LoadError> {
        let row = if wide { self.row64(inst, operand)? } else { self.row32(inst, operand)? };
        let is_variable = self.code.constants64.iter().any(|&(constant, _)| constant == row);
        if generic && wide && is_variable {
            return self.refuse(inst, "a register with a generic address is expected here");
        }
        Ok(row)
    }

    pub(super) fn shuffle(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let mode = match inst.modifiers.get(1).map(String::as_str) {
            Some("up") => ShuffleMode::Up,
            Some("down") => ShuffleMode::Down,
            Some("bfly") => ShuffleMode::Bfly,
            Some("idx") => ShuffleMode::Idx,
            _ => return self.refuse_opcode(inst),
        };
        if !inst.has("sync") || inst.operands.len() != 5 {
            return self.refuse_opcode(inst);
        }
        let (d, e) = self.destinations(inst, Row::W)?;
        inst.operands[1..5].iter().try_for_each(|operand| self.check_literal(inst, operand, "b32"))?;
        let [a, b, c, f] = self.rows32(inst, &inst.operands[1..5])?;
        self.emit(inst, &[Inst { op: Op::Shuffle(mode), d, e, a, b, c, f, ..Inst::NOP }])
    }

    fn rows32(&mut self, inst: &Instruction, operands: &[Operand]) -> Result<[Reg; 4], LoadError> {
        let mut rows = [NONE; 4];
        for (slot, operand) in rows.iter_mut().zip(operands) {
            *slot = self.row32(inst, operand)?;
        }
        Ok(rows)
    }

    pub(super) fn vote(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let modes =
            [("all", VoteMode::All), ("any", VoteMode::Any), ("uni", VoteMode::Uni), ("ballot", VoteMode::Ballot)];
        let (Some(mode), true, 3) = (inst.choose(&modes), inst.has("sync"), inst.operands.len()) else {
            return self.refuse_opcode(inst);
        };
        let d = match mode {
            VoteMode::Ballot => self.row32(inst, &inst.operands[0])?,
            _ => self.predicate_destination(inst, &inst.operands[0])?,
        };
        let (a, negated) = self.predicate(inst, &inst.operands[1])?;
        let f = self.row32(inst, &inst.operands[2])?;
        self.emit(inst, &[Inst { op: Op::Vote(mode), d, a, f, imm: i64::from(negated), ..Inst::NOP }])
    }

    pub(super) fn match_lanes(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let (d, e) = self.destinations(inst, Row::W)?;
        let wide = inst.has("b64");
        let a = self.row(inst, &inst.operands[1], if wide { Row::D } else { Row::W })?;
        let f = self.row32(inst, &inst.operands[2])?;
        self.emit(inst, &[Inst { op: Op::Match { all: inst.has("all"), wide }, d, e, a, f, ..Inst::NOP }])
    }

    pub(super) fn redux(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let [sync, name, .., ty] = inst.modifiers.as_slice() else { return self.refuse_opcode(inst) };
        let mode = FloatMode { abs: inst.has("abs"), nan: inst.has("NaN") };
        let op = match (name.as_str(), ty.as_str()) {
            ("add", "u32" | "s32") => ReduxOp::Add,
            ("min", "u32") => ReduxOp::MinU,
            ("min", "s32") => ReduxOp::MinS,
            ("min", "f32") => ReduxOp::MinF32(mode),
            ("max", "u32") => ReduxOp::MaxU,
            ("max", "s32") => ReduxOp::MaxS,
            ("max", "f32") => ReduxOp::MaxF32(mode),
            ("and", "b32") => ReduxOp::And,
            ("or", "b32") => ReduxOp::Or,
            ("xor", "b32") => ReduxOp::Xor,
            _ => return self.refuse_opcode(inst),
        };
        if sync != "sync" {
            return self.refuse_opcode(inst);
        }
        self.check_literal(inst, &inst.operands[1], ty)?;
        let d = self.row32(inst, &inst.operands[0])?;
        let a = self.row32(inst, &inst.operands[1])?;
        let f = self.row32(inst, &inst.operands[2])?;
        self.emit(inst, &[Inst { op: Op::Redux(op), d, a, f, ..Inst::NOP }])
    }
}
