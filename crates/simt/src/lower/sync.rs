//! What lanes, warps and blocks do together, to register code.

use ptx::{Instruction, Operand};

use super::Lower;
use crate::code::{FloatMode, Inst, NONE, Op, ReduxOp, Reg, ShuffleMode, VoteMode};
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn barrier(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if inst.has("warp") {
            let a = self.row32(inst, &inst.operands[0])?;
            return self.emit(inst, &[Inst { op: Op::WarpBarrier, a, ..Inst::NOP }]);
        }
        if inst.has("cluster") || inst.has("red") {
            return self.refuse_opcode(inst);
        }
        let op = if inst.has("arrive") { Op::BarrierArrive } else { Op::Barrier };
        let a = self.row32(inst, &inst.operands[0])?;
        let b = match inst.operands.get(1) {
            Some(count) => self.row32(inst, count)?,
            None => NONE,
        };
        self.emit(inst, &[Inst { op, a, b, ..Inst::NOP }])
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
        let (d, e) = match &inst.operands[0] {
            Operand::Pair(d, p) => (self.row32(inst, d)?, self.predicate_destination(inst, p)?),
            d => (self.row32(inst, d)?, NONE),
        };
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
        let mode = match () {
            () if inst.has("all") => VoteMode::All,
            () if inst.has("any") => VoteMode::Any,
            () if inst.has("uni") => VoteMode::Uni,
            () if inst.has("ballot") => VoteMode::Ballot,
            () => return self.refuse_opcode(inst),
        };
        if !inst.has("sync") || inst.operands.len() != 3 {
            return self.refuse_opcode(inst);
        }
        let d = match mode {
            VoteMode::Ballot => self.row32(inst, &inst.operands[0])?,
            _ => self.predicate_destination(inst, &inst.operands[0])?,
        };
        let (a, negated) = self.predicate(inst, &inst.operands[1])?;
        let f = self.row32(inst, &inst.operands[2])?;
        self.emit(inst, &[Inst { op: Op::Vote(mode), d, a, f, imm: i64::from(negated), ..Inst::NOP }])
    }

    pub(super) fn match_lanes(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let (d, e) = match &inst.operands[0] {
            Operand::Pair(d, p) => (self.row32(inst, d)?, self.predicate_destination(inst, p)?),
            d => (self.row32(inst, d)?, NONE),
        };
        let wide = inst.has("b64");
        let a = if wide { self.row64(inst, &inst.operands[1])? } else { self.row32(inst, &inst.operands[1])? };
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
        let d = self.row32(inst, &inst.operands[0])?;
        let a = self.row32(inst, &inst.operands[1])?;
        let f = self.row32(inst, &inst.operands[2])?;
        self.emit(inst, &[Inst { op: Op::Redux(op), d, a, f, ..Inst::NOP }])
    }
}
