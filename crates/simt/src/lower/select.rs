//! One PTX instruction to register code, but for loads, stores and atomics (`memory.rs`) and for arithmetic
//! (`arithmetic.rs`).

use ptx::table::{self, Shape};
use ptx::{Immediate, Instruction, Operand, Type};

use super::video::is_packed_video;
use super::{Fixup, Lower};
use crate::code::{Combine, Inst, NONE, Op, Source, Special, StackAct};
use crate::ops::{Alu, Row};
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn instruction(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let shapes = table::shapes(inst.spec.mnemonic);
        if !inst.modifiers.iter().all(|word| shapes.iter().any(|shape| shape.has(word))) || shapes.is_empty() {
            return self.refuse_opcode(inst);
        }
        self.check_target(inst)?;
        let (destination, sources) = inst.operands.split_at(usize::from(has_destination(inst, shapes)));
        if inst.spec.mnemonic != "call" && sources.iter().any(discards) {
            return self.refuse(inst, "`_` where a value is expected");
        }
        destination.iter().try_for_each(|operand| self.check_destination(inst, operand))?;
        match inst.spec.mnemonic {
            "ld" | "ldu" => self.load(inst),
            "st" => self.store(inst),
            "atom" | "red" => self.atomic(inst),
            "mov" => self.mov(inst),
            "cvta" => self.cvta(inst),
            "isspacep" => self.isspacep(inst),
            "and" | "or" | "xor" | "not" if inst.has("pred") => self.predicate_logic(inst),
            "bra" => self.branch(inst),
            "brx" => self.branch_indexed(inst),
            "call" => self.call(inst),
            "alloca" | "stacksave" | "stackrestore" => self.stack(inst),
            "ret" => self.ret(inst),
            "exit" => self.emit(inst, &[Inst { op: Op::Exit, ..Inst::NOP }]),
            "trap" | "brkpt" => self.emit(inst, &[Inst { op: Op::Trap, ..Inst::NOP }]),
            "bar" | "barrier" => self.barrier(inst),
            "shfl" => self.shuffle(inst),
            "vote" => self.vote(inst),
            "match" => self.match_lanes(inst),
            "redux" => self.redux(inst),
            "activemask" => {
                let d = self.row32(inst, &inst.operands[0])?;
                self.emit(inst, &[Inst { op: Op::ActiveMask, d, ..Inst::NOP }])
            }
            "membar" | "fence" => self.fence(inst),
            "elect" => self.elect(inst),
            "ldmatrix" | "stmatrix" => self.matrix(inst),
            "mapa" => self.map_shared(inst),
            "getctarank" => self.rank_of(inst),
            "griddepcontrol" => {
                let op = if inst.has("wait") { Op::WaitForLaunch } else { Op::LetNextLaunch };
                self.emit(inst, &[Inst { op, ..Inst::NOP }])
            }
            // Hints, and time.
            "nanosleep" | "pmevent" => self.emit(inst, &[Inst::NOP]),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => self.emit(inst, &[Inst::NOP]),
            "cp" => self.copy(inst),
            "mbarrier" => self.mbarrier(inst),
            "createpolicy" => self.cache_policy(inst),
            _ if is_packed_video(inst.spec.mnemonic) => self.video(inst),
            _ => self.arithmetic(inst),
        }
    }

    fn mov(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let (d, s) = (&inst.operands[0], &inst.operands[1]);
        let Some(ty) = inst.types().next() else { return self.refuse_opcode(inst) };
        if ty == Type::B128 {
            return self.mov_wide(inst, d, s);
        }
        if let Operand::Immediate(_) = s {
            self.check_literal(inst, s, ty.name())?;
        }
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
            (d, Operand::Name(name)) if name == "%is_explicit_cluster" => {
                let d = self.predicate_destination(inst, d)?;
                let a = self.constant32(Source::Special(Special::IsExplicitCluster));
                let b = self.constant32(Source::Literal(0));
                self.emit(inst, &[Inst { op: Op::Setp(Alu::NeB32, Combine::None, false), d, a, b, ..Inst::NOP }])
            }
            _ if ty == Type::Pred => {
                let d = self.predicate_destination(inst, d)?;
                let (a, negated) = self.predicate(inst, s)?;
                let op = if negated { Op::PredNot } else { Op::PredMov };
                self.emit(inst, &[Inst { op, d, a, ..Inst::NOP }])
            }
            (_, Operand::Name(name)) if let Some(part) = clock_part(name) => {
                let row = if part == 1 { Row::D } else { Row::W };
                let d = self.row(inst, d, row)?;
                self.emit(inst, &[Inst { op: Op::Clock, d, imm: part, ..Inst::NOP }])
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

    /// `mov.b128`: between registers, or one and its two halves.
    fn mov_wide(&mut self, inst: &Instruction, d: &Operand, s: &Operand) -> Result<(), LoadError> {
        let mut halves = |operand: &Operand| -> Result<[u16; 2], LoadError> {
            match operand {
                Operand::Vector(parts) if parts.len() == 2 => {
                    Ok([self.row64(inst, &parts[0])?, self.row64(inst, &parts[1])?])
                }
                operand => self.row128(inst, operand).map(|row| [row, row.saturating_add(1)]),
            }
        };
        let (d, s) = (halves(d)?, halves(s)?);
        let half = |at: usize| Inst { op: Op::Mov64, d: d[at], a: s[at], ..Inst::NOP };
        // `mov {a, b}, x` may not overwrite what it still reads; registers of both kinds are never the same.
        self.emit(inst, &[half(0), half(1)])
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
        self.fixups.push((Fixup::Branch(self.code.insts.len()), label.clone(), self.scope));
        self.emit(inst, &[Inst { op: Op::Branch, ..Inst::NOP }])
    }

    /// `alloca`, `stacksave`, `stackrestore`, with addresses of 64 bits.
    fn stack(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        if !inst.has("u64") {
            return self.refuse_opcode(inst);
        }
        let act = match (inst.spec.mnemonic, inst.operands.get(2)) {
            ("stacksave", _) => StackAct::Save,
            ("stackrestore", _) => StackAct::Restore,
            (_, None) => StackAct::Allocate { align_bytes: 8 },
            (_, Some(Operand::Immediate(Immediate::Int(align @ 1..=0x10_0000)))) if align.count_ones() == 1 => {
                StackAct::Allocate { align_bytes: *align as u32 }
            }
            _ => return self.refuse(inst, "an alignment that is no power of two"),
        };
        let row = |lower: &mut Self, at: usize| match inst.operands.get(at) {
            Some(operand) => lower.row64(inst, operand),
            None => Ok(NONE),
        };
        let (d, a) = match act {
            StackAct::Allocate { .. } => (row(self, 0)?, row(self, 1)?),
            StackAct::Save => (row(self, 0)?, NONE),
            StackAct::Restore => (NONE, row(self, 0)?),
        };
        // Its size is known at run time only, so the stack is as large as the launch asks.
        self.code.has_unbounded_stack = true;
        self.emit(inst, &[Inst { op: Op::Stack(act), d, a, ..Inst::NOP }])
    }

    /// `ldmatrix`, `stmatrix`, for which the whole warp comes together.
    fn matrix(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let stores = inst.spec.mnemonic == "stmatrix";
        let is_whole = table::shapes(inst.spec.mnemonic).iter().any(|shape| shape.canonical(&inst.opcode).is_some());
        let count = inst.choose(&[("x1", 1), ("x2", 2), ("x4", 4)]);
        let (Some(count), 2, true) = (count, inst.operands.len(), is_whole) else {
            return self.refuse_opcode(inst);
        };
        let (registers, address) = (&inst.operands[usize::from(stores)], &inst.operands[usize::from(!stores)]);
        let parts = match registers {
            Operand::Vector(parts) if parts.len() == usize::from(count) => parts,
            _ => return self.refuse(inst, format!("{count} registers in braces are expected here")),
        };
        if self.code.vectors.len() >= usize::from(NONE) {
            return self.refuse(inst, "more instructions on several registers than the simulator has room for");
        }
        let rows = parts.iter().map(|part| self.row32(inst, part)).collect::<Result<Vec<_>, _>>()?;
        let at = self.at(inst, address)?;
        let generic = super::space_of(inst).is_none();
        let op = Op::Matrix { stores, count, transposed: inst.has("trans"), generic };
        let (c, f) = (self.vector(&rows), self.constant32(Source::Literal(u32::MAX.into())));
        self.emit(inst, &[Inst { op, c, f, ..at }])
    }

    /// `brx.idx`: one of a list of labels, chosen by a register.
    fn branch_indexed(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let [index, Operand::Name(list)] = inst.operands.as_slice() else { return self.refuse_opcode(inst) };
        let Some(labels) = self.find(self.scope, |scope| scope.targets.get(list).cloned()) else {
            return self.refuse(inst, format!("no .branchtargets named {list} in this function"));
        };
        let a = self.row32(inst, index)?;
        let (pc, table) = (self.code.insts.len(), self.code.tables.len());
        for (place, label) in labels.iter().enumerate() {
            self.fixups.push((Fixup::Table { pc, table, place }, label.clone(), self.scope));
        }
        self.code.tables.push(vec![0; labels.len()]);
        self.emit(inst, &[Inst { op: Op::BranchIndexed, a, imm: table as i64, ..Inst::NOP }])
    }
}

/// Part of the instruction count that a clock register shows: see [`Op::Clock`].
fn clock_part(name: &str) -> Option<i64> {
    match name {
        "%clock" | "%globaltimer_lo" => Some(0),
        "%clock64" | "%globaltimer" => Some(1),
        "%clock_hi" | "%globaltimer_hi" => Some(2),
        _ => None,
    }
}

/// Returns whether the first operand is written: the shape says so that covers the opcode, if the mnemonic's differ.
fn has_destination(inst: &Instruction, shapes: &[&Shape]) -> bool {
    let (mut with, without) = shapes.iter().partition::<Vec<&Shape>, _>(|shape| shape.has_destination());
    with.retain(|shape| without.is_empty() || shape.canonical(&inst.opcode).is_some());
    !with.is_empty() && !inst.operands.is_empty()
}

/// Returns whether an operand is `_`, which takes a value and has none, or has one as a part.
fn discards(operand: &Operand) -> bool {
    match operand {
        Operand::Sink => true,
        Operand::Vector(parts) => parts.iter().any(discards),
        Operand::Pair(a, b) => discards(a) || discards(b),
        _ => false,
    }
}
