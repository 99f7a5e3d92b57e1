//! One PTX instruction to register code, but for loads, stores and atomics (`memory.rs`) and for arithmetic
//! (`arithmetic.rs`).

use ptx::{Immediate, Instruction, Operand, Type};

use super::Lower;
use crate::code::{Combine, Inst, NONE, Op, Source};
use crate::ops::Alu;
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn instruction(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        match inst.spec.mnemonic {
            "ld" | "ldu" => self.load(inst),
            "st" => self.store(inst),
            "atom" | "red" => self.atomic(inst),
            "mov" => self.mov(inst),
            "cvta" => self.cvta(inst),
            "isspacep" => self.isspacep(inst),
            "and" | "or" | "xor" | "not" if inst.has("pred") => self.predicate_logic(inst),
            "bra" => self.branch(inst),
            "ret" | "exit" => self.emit(inst, &[Inst { op: Op::Exit, ..Inst::NOP }]),
            "trap" => self.emit(inst, &[Inst { op: Op::Trap, ..Inst::NOP }]),
            "bar" | "barrier" => self.barrier(inst),
            "shfl" => self.shuffle(inst),
            "vote" => self.vote(inst),
            "match" => self.match_lanes(inst),
            "redux" => self.redux(inst),
            "activemask" => {
                let d = self.row32(inst, &inst.operands[0])?;
                self.emit(inst, &[Inst { op: Op::ActiveMask, d, ..Inst::NOP }])
            }
            // One interleaving of whole instructions: every access is visible at once, so ordering costs nothing.
            "membar" | "fence" => self.emit(inst, &[Inst::NOP]),
            // Hints, time, and what orders one grid after another: nothing to do inside one launch.
            "nanosleep" | "pmevent" | "griddepcontrol" => self.emit(inst, &[Inst::NOP]),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => self.emit(inst, &[Inst::NOP]),
            "createpolicy" => self.cache_policy(inst),
            _ => self.arithmetic(inst),
        }
    }

    fn mov(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let (d, s) = (&inst.operands[0], &inst.operands[1]);
        let Some(ty) = inst.types().next() else { return self.refuse_opcode(inst) };
        match (d, s) {
            (Operand::Vector(parts), _) => self.unpack(inst, parts, s, ty),
            (_, Operand::Vector(parts)) => self.pack(inst, d, parts, ty),
            (d, Operand::Immediate(Immediate::Int(value))) if ty == Type::Pred => {
                // All ones or all zeros: a comparison of a number with itself.
                let d = self.predicate_destination(inst, d)?;
                let a = self.constant32(Source::Literal(0));
                let same = if *value != 0 { Alu::EqB32 } else { Alu::NeB32 };
                let op = Op::Setp(same, Combine::None, false);
                self.emit(inst, &[Inst { op, d, a, b: a, ..Inst::NOP }])
            }
            _ if ty == Type::Pred => {
                let d = self.predicate_destination(inst, d)?;
                let (a, negated) = self.predicate(inst, s)?;
                let op = if negated { Op::PredNot } else { Op::PredMov };
                self.emit(inst, &[Inst { op, d, a, ..Inst::NOP }])
            }
            (_, Operand::Name(name))
                if matches!(name.as_str(), "%clock" | "%clock_hi" | "%clock64" | "%globaltimer") =>
            {
                let (d, wide) = self.any_row(inst, d, ty.size_bytes())?;
                self.emit(inst, &[Inst { op: Op::Clock, d, imm: i64::from(wide), ..Inst::NOP }])
            }
            _ if ty.size_bytes() == 8 => {
                let (d, a) = (self.row64(inst, d)?, self.row64(inst, s)?);
                self.emit(inst, &[Inst { op: Op::Mov64, d, a, ..Inst::NOP }])
            }
            _ if ty.size_bytes() <= 4 => {
                let (d, a) = (self.row32(inst, d)?, self.row32(inst, s)?);
                self.emit(inst, &[Inst { op: Op::Mov32, d, a, ..Inst::NOP }])
            }
            _ => self.refuse_opcode(inst),
        }
    }

    fn predicate_logic(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let d = self.predicate_destination(inst, &inst.operands[0])?;
        let (a, a_negated) = self.predicate(inst, &inst.operands[1])?;
        let (op, b) = match inst.spec.mnemonic {
            "not" => (Op::PredNot, NONE),
            name => {
                let (b, b_negated) = self.predicate(inst, &inst.operands[2])?;
                if b_negated {
                    return self.refuse_opcode(inst);
                }
                (
                    match name {
                        "and" => Op::PredAnd,
                        "or" => Op::PredOr,
                        _ => Op::PredXor,
                    },
                    b,
                )
            }
        };
        if a_negated {
            return self.refuse_opcode(inst);
        }
        self.emit(inst, &[Inst { op, d, a, b, ..Inst::NOP }])
    }

    fn branch(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Operand::Name(label) = &inst.operands[0] else { return self.refuse_opcode(inst) };
        self.fixups.push((self.code.insts.len(), label.clone(), self.scope));
        self.emit(inst, &[Inst { op: Op::Branch, ..Inst::NOP }])
    }
}
