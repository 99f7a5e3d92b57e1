//! Arithmetic to register code: the table of `ptx::table` says which opcodes there are and what operands they take;
//! the lane loops of `ops.rs` run what they can, `exact` the rest.

use ptx::table::{Operands, arithmetic};
use ptx::{Immediate, Instruction, Operand, Space, Type};

use super::variables::window;
use super::{Lower, space_of};
use crate::code::{Combine, ExactCode, Inst, NONE, Op, Reg, Source};
use crate::exact::{Exact, SOURCES};
use crate::memory::{BLOCK_WINDOW_BYTES, CONST_BASE};
use crate::ops::{Alu, Row};
use crate::program::LoadError;

/// The row that holds a value of this kind (`ptx::table::Operands`).
fn row_of(kind: &str) -> Row {
    match kind {
        "pred" => Row::P,
        "u64" | "s64" | "b64" | "f64" | "f32x2" => Row::D,
        _ => Row::W,
    }
}

impl Lower<'_> {
    /// An instruction of the table of arithmetic.
    pub(super) fn arithmetic(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some((shape, opcode)) = arithmetic(&inst.opcode, inst.operands.len()) else {
            return self.refuse_opcode(inst);
        };
        let operands = shape.operands_of(&opcode);
        for (operand, kind) in inst.operands[1..].iter().zip(&operands.sources) {
            self.check_literal(inst, operand, kind)?;
        }
        let fast = match inst.spec.mnemonic {
            "cvt" => self.fast_conversion(inst, &opcode)?,
            "setp" => self.fast_comparison(inst, &opcode)?,
            "selp" => Some(self.selection(inst)?),
            _ => self.fast(inst, &opcode)?,
        };
        match fast {
            Some(code) => self.emit(inst, &[code]),
            None => self.exact(inst, &opcode, &operands),
        }
    }

    /// The lane loop of an opcode, if there is one.
    fn fast(&mut self, inst: &Instruction, opcode: &str) -> Result<Option<Inst>, LoadError> {
        let Some(alu) = Alu::from_opcode(opcode) else { return Ok(None) };
        let signature = alu.signature();
        // `min.f32` of three is no lane loop's.
        if signature.sources.iter().flatten().count() + 1 != inst.operands.len() {
            return Ok(None);
        }
        let mut rows = [NONE; 4];
        for ((slot, row), operand) in rows.iter_mut().zip(signature.sources.iter().flatten()).zip(&inst.operands[1..]) {
            *slot = self.row(inst, operand, *row)?;
        }
        let d = self.row(inst, &inst.operands[0], signature.destination)?;
        let [a, b, c, e] = rows;
        Ok(Some(Inst { op: Op::Alu(alu), d, a, b, c, e, ..Inst::NOP }))
    }

    /// Conversions between integers are spelled in the table of lane loops by width; those with floats as in PTX. The
    /// rows follow the registers, which may be wider than the types.
    fn fast_conversion(&mut self, inst: &Instruction, opcode: &str) -> Result<Option<Inst>, LoadError> {
        let types: Vec<Type> = inst.types().collect();
        let ([to, from], [_, operand]) = (&types[..], &inst.operands[..]) else { return self.fast(inst, opcode) };
        let spelled = match (integer(*to), integer(*from)) {
            (Some(to), Some(from)) if inst.modifiers.len() == 2 => spelled_by_width(to, from),
            (Some(_), Some(_)) => return Ok(None),
            _ => opcode.to_owned(),
        };
        let Some(alu) = Alu::from_opcode(&spelled) else { return Ok(None) };
        let (a, wide) = self.any_row(inst, operand, from.size_bytes())?;
        let (d, d_wide) = self.any_row(inst, &inst.operands[0], to.size_bytes())?;
        let row = |wide| if wide { Row::D } else { Row::W };
        let signature = alu.signature();
        let fits = signature.sources[0] == Some(row(wide)) && signature.destination == row(d_wide);
        Ok(fits.then_some(Inst { op: Op::Alu(alu), d, a, ..Inst::NOP }))
    }

    fn fast_comparison(&mut self, inst: &Instruction, opcode: &str) -> Result<Option<Inst>, LoadError> {
        let combine = inst.choose(&[("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)]);
        let combine = combine.unwrap_or(Combine::None);
        let kept: Vec<&str> = opcode.split('.').filter(|word| !matches!(*word, "and" | "or" | "xor")).collect();
        let Some(alu) = Alu::from_opcode(&kept.join(".")) else { return Ok(None) };
        let row = alu.signature().sources[0].unwrap_or(Row::W);
        let (d, e) = self.destinations(inst, Row::P)?;
        let a = self.row(inst, &inst.operands[1], row)?;
        let b = self.row(inst, &inst.operands[2], row)?;
        let (c, negated) = match inst.operands.get(3) {
            Some(operand) => self.predicate(inst, operand)?,
            None => (NONE, false),
        };
        Ok(Some(Inst { op: Op::Setp(alu, combine, negated), d, a, b, c, e, ..Inst::NOP }))
    }

    fn selection(&mut self, inst: &Instruction) -> Result<Inst, LoadError> {
        let wide = inst.types().next().is_some_and(|ty| ty.size_bytes() == 8);
        let (op, row) = if wide { (Op::Selp64, Row::D) } else { (Op::Selp32, Row::W) };
        let d = self.row(inst, &inst.operands[0], row)?;
        let mut a = self.row(inst, &inst.operands[1], row)?;
        let mut b = self.row(inst, &inst.operands[2], row)?;
        let (c, negated) = self.predicate(inst, &inst.operands[3])?;
        if negated {
            (a, b) = (b, a);
        }
        Ok(Inst { op, d, a, b, c, ..Inst::NOP })
    }

    /// One destination of the given row, or two of which the second is a predicate.
    pub(super) fn destinations(&mut self, inst: &Instruction, row: Row) -> Result<(Reg, Reg), LoadError> {
        let first = |lower: &mut Self, operand: &Operand| match row {
            Row::P => lower.predicate_destination(inst, operand),
            _ => lower.row(inst, operand, row),
        };
        match &inst.operands[0] {
            Operand::Pair(d, p) => Ok((first(self, d)?, self.predicate_destination(inst, p)?)),
            d => Ok((first(self, d)?, NONE)),
        }
    }

    /// An instruction that runs one lane at a time.
    fn exact(&mut self, inst: &Instruction, opcode: &str, operands: &Operands) -> Result<(), LoadError> {
        let Some(exact) = Exact::from_opcode(inst.spec.mnemonic, opcode, operands.sources.len()) else {
            return self.refuse_opcode(inst);
        };
        let converts = inst.spec.mnemonic == "cvt";
        let mut sources = Vec::with_capacity(SOURCES);
        for (operand, kind) in inst.operands[1..].iter().zip(&operands.sources) {
            sources.push(self.exact_source(inst, operand, kind, converts)?);
        }
        let kind = &operands.destinations[0];
        let (d, second, to) = if converts {
            let bytes = if row_of(kind) == Row::D { 8 } else { 4 };
            let (d, wide) = self.any_row(inst, &inst.operands[0], bytes)?;
            (d, NONE, if wide { Row::D } else { Row::W })
        } else {
            let (d, second) = self.destinations(inst, row_of(kind))?;
            (d, second, row_of(kind))
        };
        if matches!(inst.spec.mnemonic, "addc" | "subc" | "madc") {
            sources.push((Row::P, self.carry(), false));
        }
        let second = if inst.has("cc") { self.carry() } else { second };
        self.emit_exact(inst, ExactCode { exact, sources, to, d, second })
    }

    /// A source as a row, and whether it is a negated predicate.
    fn exact_source(
        &mut self,
        inst: &Instruction,
        operand: &Operand,
        kind: &str,
        any_width: bool,
    ) -> Result<(Row, Reg, bool), LoadError> {
        match (operand, kind) {
            (Operand::Immediate(Immediate::F64(bits)), "f32" | "angle") => {
                let narrowed = (f64::from_bits(*bits) as f32).to_bits();
                return Ok((Row::W, self.constant32(Source::Literal(narrowed.into())), false));
            }
            (Operand::Immediate(Immediate::F32(bits)), "f64") => {
                let widened = f64::from(f32::from_bits(*bits)).to_bits();
                return Ok((Row::D, self.constant64(Source::Literal(widened)), false));
            }
            _ => {}
        }
        match row_of(kind) {
            Row::P => {
                let (p, negated) = self.predicate(inst, operand)?;
                Ok((Row::P, p, negated))
            }
            row if any_width => {
                let (reg, wide) = self.any_row(inst, operand, if row == Row::D { 8 } else { 4 })?;
                Ok((if wide { Row::D } else { Row::W }, reg, false))
            }
            row => Ok((row, self.row(inst, operand, row)?, false)),
        }
    }

    pub(super) fn emit_exact(&mut self, inst: &Instruction, code: ExactCode) -> Result<(), LoadError> {
        self.emit_exacts(inst, vec![code])
    }

    /// The parts of one PTX instruction.
    fn emit_exacts(&mut self, inst: &Instruction, codes: Vec<ExactCode>) -> Result<(), LoadError> {
        let mut insts = Vec::with_capacity(codes.len());
        for code in codes {
            let Ok(at) = u16::try_from(self.code.exact.len()) else {
                return self.refuse(inst, "more instructions of its kind than the simulator has room for");
            };
            insts.push(Inst { op: Op::Exact { at, to: code.to }, d: code.d, ..Inst::NOP });
            self.code.exact.push(code);
        }
        self.emit(inst, &insts)
    }

    /// The condition code register's carry: a predicate that no name stands for.
    fn carry(&mut self) -> Reg {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.code.predicates;
        self.code.predicates += 1;
        self.carry = Some(carry);
        carry
    }

    /// `mov` of one register into several, low part first, but for the pairs of halves that are quick.
    pub(super) fn unpack(
        &mut self,
        inst: &Instruction,
        parts: &[Operand],
        source: &Operand,
        ty: Type,
    ) -> Result<(), LoadError> {
        let Some((row, bits)) = part_of(ty, parts.len()) else { return self.refuse_opcode(inst) };
        let a = self.row(inst, source, row)?;
        if let Some(op) = halves(bits, parts.len(), Op::Unpack64, Op::Unpack32) {
            let (d, e) = (self.row32(inst, &parts[0])?, self.row32(inst, &parts[1])?);
            return self.emit(inst, &[Inst { op, d, e, a, ..Inst::NOP }]);
        }
        let mut codes = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            let shift = self.constant32(Source::Literal(at as u64 * u64::from(bits)));
            let sources = vec![(row, a, false), (Row::W, shift, false)];
            let d = self.row32(inst, part)?;
            codes.push(ExactCode { exact: Exact::unpack(bits), sources, to: Row::W, d, second: NONE });
        }
        self.emit_exacts(inst, codes)
    }

    /// `mov` of several registers into one, low part first.
    pub(super) fn pack(
        &mut self,
        inst: &Instruction,
        d: &Operand,
        parts: &[Operand],
        ty: Type,
    ) -> Result<(), LoadError> {
        let Some((to, bits)) = part_of(ty, parts.len()) else { return self.refuse_opcode(inst) };
        let d = self.row(inst, d, to)?;
        let mut sources = Vec::with_capacity(parts.len());
        for part in parts {
            sources.push((Row::W, self.row32(inst, part)?, false));
        }
        if let Some(op) = halves(bits, parts.len(), Op::Pack64, Op::Pack32) {
            let (a, b) = (sources[0].1, sources[1].1);
            return self.emit(inst, &[Inst { op, d, a, b, ..Inst::NOP }]);
        }
        self.emit_exacts(inst, vec![ExactCode { exact: Exact::pack(bits), sources, to, d, second: NONE }])
    }

    /// Between an address in a window and a generic address: the window's base is added or taken away.
    pub(super) fn cvta(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some(space) = space_of(inst) else { return self.refuse_opcode(inst) };
        if space == Space::Reg || !inst.has("u64") {
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

    /// Returns whether a generic address lies in a window.
    pub(super) fn isspacep(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let [shared, local, param] = [Space::Shared, Space::Local, Space::Param].map(window);
        let (start, end) = match space_of(inst) {
            Some(Space::Global) => (0, CONST_BASE),
            Some(Space::Const) => (CONST_BASE, shared),
            // Above what a block's own addresses are, those of the cluster's blocks begin.
            Some(Space::Shared) if inst.has("shared::cluster") => (shared, local),
            Some(Space::Shared) => (shared, shared + BLOCK_WINDOW_BYTES),
            Some(Space::Local) => (local, param),
            Some(Space::Param) => (param, u64::MAX),
            _ => return self.refuse_opcode(inst),
        };
        let a = (Row::D, self.row64(inst, &inst.operands[1])?, false);
        let limits = [start, end].map(|limit| (Row::D, self.constant64(Source::Literal(limit)), false));
        let d = self.predicate_destination(inst, &inst.operands[0])?;
        let sources = vec![a, limits[0], limits[1]];
        self.emit_exact(inst, ExactCode { exact: Exact::within(), sources, to: Row::P, d, second: NONE })
    }
}

/// The row of a packed value and the bits of each of its parts.
fn part_of(ty: Type, parts: usize) -> Option<(Row, u32)> {
    let row = match ty.size_bytes() {
        2 | 4 => Row::W,
        8 => Row::D,
        _ => return None,
    };
    let bits = ty.size_bytes() * 8 / parts as u32;
    (matches!(parts, 2 | 4) && bits >= 8).then_some((row, bits))
}

/// The quick operation for two parts of 32 or 16 bits.
fn halves(bits: u32, parts: usize, of64: Op, of32: Op) -> Option<Op> {
    match (bits, parts) {
        (32, 2) => Some(of64),
        (16, 2) => Some(of32),
        _ => None,
    }
}

/// A conversion between integers as the table of lane loops spells it.
fn spelled_by_width(to: (u32, bool), from: (u32, bool)) -> String {
    let to = match to {
        (8, true) => "s8".to_owned(),
        (8, false) => "u8".to_owned(),
        (bits, _) => format!("b{bits}"),
    };
    format!("cvt.{to}.{}{}", if from.1 { 's' } else { 'u' }, from.0)
}

/// Width in bits and signedness of an integer type.
fn integer(ty: Type) -> Option<(u32, bool)> {
    let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64);
    let unsigned = matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64);
    (signed || unsigned).then(|| (ty.size_bytes() * 8, signed))
}
