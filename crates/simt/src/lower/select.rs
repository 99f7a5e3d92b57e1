//! One PTX instruction to register code, but for loads, stores and atomics (`memory.rs`).

use ptx::{Immediate, Instruction, Operand, Space, Type};

use super::variables::window;
use super::{Lower, space_of};
use crate::code::{Combine, Inst, NONE, Op, Source};
use crate::ops::{Alu, Row};
use crate::program::LoadError;

/// Modifiers that change nothing in this machine and are not spelled in the table of arithmetic.
const SILENT: [&str; 3] = ["uni", "sync", "aligned"];

impl Lower<'_> {
    pub(super) fn instruction(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        match inst.spec.mnemonic {
            "ld" | "ldu" => self.load(inst),
            "st" => self.store(inst),
            "atom" | "red" => self.atomic(inst),
            "mov" => self.mov(inst),
            "cvta" => self.cvta(inst),
            "cvt" => self.cvt(inst),
            "setp" => self.setp(inst),
            "selp" => self.selp(inst),
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
            _ => self.alu(inst),
        }
    }

    /// Everything in the table of `ops.rs`.
    fn alu(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let spelled = spell(inst.spec.mnemonic, inst.modifiers.iter().map(String::as_str));
        self.alu_as(inst, &spelled)
    }

    fn alu_as(&mut self, inst: &Instruction, spelled: &str) -> Result<(), LoadError> {
        let Some(alu) = Alu::from_opcode(spelled) else {
            return self.refuse_opcode(inst);
        };
        let signature = alu.signature();
        let sources = signature.sources.iter().flatten().count();
        if inst.operands.len() != sources + 1 {
            return self.refuse_opcode(inst);
        }
        let mut rows = [NONE; 4];
        for ((slot, row), operand) in rows.iter_mut().zip(signature.sources.iter().flatten()).zip(&inst.operands[1..]) {
            *slot = self.row(inst, operand, *row)?;
        }
        let d = self.row(inst, &inst.operands[0], signature.destination)?;
        let [a, b, c, e] = rows;
        self.emit(inst, &[Inst { op: Op::Alu(alu), d, a, b, c, e, ..Inst::NOP }])
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

    fn unpack(&mut self, inst: &Instruction, parts: &[Operand], source: &Operand, ty: Type) -> Result<(), LoadError> {
        let op = match (ty.size_bytes(), parts.len()) {
            (8, 2) => Op::Unpack64,
            (4, 2) => Op::Unpack32,
            _ => return self.refuse_opcode(inst),
        };
        let a = if ty.size_bytes() == 8 { self.row64(inst, source)? } else { self.row32(inst, source)? };
        let (d, e) = (self.row32(inst, &parts[0])?, self.row32(inst, &parts[1])?);
        self.emit(inst, &[Inst { op, d, e, a, ..Inst::NOP }])
    }

    fn pack(&mut self, inst: &Instruction, d: &Operand, parts: &[Operand], ty: Type) -> Result<(), LoadError> {
        let op = match (ty.size_bytes(), parts.len()) {
            (8, 2) => Op::Pack64,
            (4, 2) => Op::Pack32,
            _ => return self.refuse_opcode(inst),
        };
        let (a, b) = (self.row32(inst, &parts[0])?, self.row32(inst, &parts[1])?);
        let d = if ty.size_bytes() == 8 { self.row64(inst, d)? } else { self.row32(inst, d)? };
        self.emit(inst, &[Inst { op, d, a, b, ..Inst::NOP }])
    }

    /// Between an address in a window and a generic address: the window's base is added or taken away.
    fn cvta(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some(space) = space_of(inst) else { return self.refuse_opcode(inst) };
        if !matches!(space, Space::Global | Space::Const | Space::Shared | Space::Local) || !inst.has("u64") {
            return self.refuse_opcode(inst);
        }
        let d = self.row64(inst, &inst.operands[0])?;
        let a = self.row64(inst, &inst.operands[1])?;
        let base = window(space);
        let out = match base {
            0 => Inst { op: Op::Mov64, d, a, ..Inst::NOP },
            _ => {
                let b = self.constant64(Source::Literal(base));
                let alu = if inst.has("to") { Alu::SubB64 } else { Alu::AddB64 };
                Inst { op: Op::Alu(alu), d, a, b, ..Inst::NOP }
            }
        };
        self.emit(inst, &[out])
    }

    /// Conversions between integers are spelled in the table by width; those with floats as in PTX.
    fn cvt(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let types: Vec<Type> = inst.types().collect();
        let [to, from] = types[..] else { return self.refuse_opcode(inst) };
        let (Some(to_integer), Some(from_integer)) = (integer(to), integer(from)) else {
            return self.alu(inst);
        };
        if inst.modifiers.len() != 2 {
            return self.refuse_opcode(inst); // .sat
        }
        let to_name = match to_integer {
            (8, true) => "s8".to_owned(),
            (8, false) => "u8".to_owned(),
            (bits, _) => format!("b{bits}"),
        };
        let (from_bits, from_signed) = from_integer;
        let from_name = format!("{}{from_bits}", if from_signed { 's' } else { 'u' });
        // The rows follow the registers, which may be wider than the types.
        let source_bytes = from_bits / 8;
        let (source, source_wide) = self.any_row(inst, &inst.operands[1], source_bytes)?;
        let (d, d_wide) = self.any_row(inst, &inst.operands[0], to.size_bytes())?;
        let spelled = format!("cvt.{to_name}.{from_name}");
        let Some(alu) = Alu::from_opcode(&spelled) else { return self.refuse_opcode(inst) };
        let wanted = alu.signature();
        let fits = wanted.sources[0] == Some(if source_wide { Row::D } else { Row::W })
            && wanted.destination == if d_wide { Row::D } else { Row::W };
        if !fits {
            return self.refuse_opcode(inst);
        }
        self.emit(inst, &[Inst { op: Op::Alu(alu), d, a: source, ..Inst::NOP }])
    }

    fn setp(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let combine = match () {
            () if inst.has("and") => Combine::And,
            () if inst.has("or") => Combine::Or,
            () if inst.has("xor") => Combine::Xor,
            () => Combine::None,
        };
        let kept = inst.modifiers.iter().map(String::as_str).filter(|m| !matches!(*m, "and" | "or" | "xor"));
        let Some(alu) = Alu::from_opcode(&spell("setp", kept)) else { return self.refuse_opcode(inst) };
        let row = alu.signature().sources[0].unwrap_or(Row::W);
        let (d, e) = match &inst.operands[0] {
            Operand::Pair(p, q) => (self.predicate_destination(inst, p)?, self.predicate_destination(inst, q)?),
            p => (self.predicate_destination(inst, p)?, NONE),
        };
        let a = self.row(inst, &inst.operands[1], row)?;
        let b = self.row(inst, &inst.operands[2], row)?;
        let (c, negated) = match inst.operands.get(3) {
            Some(operand) if combine != Combine::None => self.predicate(inst, operand)?,
            None if combine == Combine::None => (NONE, false),
            _ => return self.refuse_opcode(inst),
        };
        self.emit(inst, &[Inst { op: Op::Setp(alu, combine, negated), d, a, b, c, e, ..Inst::NOP }])
    }

    fn selp(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some(ty) = inst.types().next() else { return self.refuse_opcode(inst) };
        let (op, row) = if ty.size_bytes() == 8 { (Op::Selp64, Row::D) } else { (Op::Selp32, Row::W) };
        let d = self.row(inst, &inst.operands[0], row)?;
        let mut a = self.row(inst, &inst.operands[1], row)?;
        let mut b = self.row(inst, &inst.operands[2], row)?;
        let (c, negated) = self.predicate(inst, &inst.operands[3])?;
        if negated {
            (a, b) = (b, a);
        }
        self.emit(inst, &[Inst { op, d, a, b, c, ..Inst::NOP }])
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

/// Mnemonic and modifiers as the table of arithmetic spells them.
fn spell<'a>(mnemonic: &str, modifiers: impl Iterator<Item = &'a str>) -> String {
    modifiers.filter(|m| !SILENT.contains(m)).fold(mnemonic.to_owned(), |text, m| text + "." + m)
}

/// Width in bits and signedness of an integer type.
fn integer(ty: Type) -> Option<(u32, bool)> {
    let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64);
    let unsigned = matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64);
    (signed || unsigned).then(|| (ty.size_bytes() * 8, signed))
}
