//! Operands: every one becomes a row or a predicate.

use ptx::{Immediate, Instruction, Operand, Type};

use super::special::special;
use super::{Binding, Lower};
use crate::code::{Combine, Debug, Inst, NONE, Op, Place, Reg, Source, function_address};
use crate::memory::{LOCAL_BASE, SHARED_BASE};
use crate::ops::{Alu, Row};
use crate::program::LoadError;

impl Lower<'_> {
    /// Returns the binding of `name`, innermost scope first; module variables are bound on first use.
    pub(super) fn binding(&mut self, name: &str) -> Result<Option<Binding>, LoadError> {
        let split = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let found = self.find(self.scope, |scope| {
            if let Some(binding) = scope.names.get(name) {
                return Some(binding.clone());
            }
            let (count, first) = scope.ranges.get(&name[..split])?;
            let index: u32 = name[split..].parse().ok().filter(|i| i < count)?;
            let index = index as u16;
            Some(match first {
                Binding::Row32(row) => Binding::Row32(row + index),
                Binding::Row64(row) => Binding::Row64(row + index),
                Binding::Row128(row) => Binding::Row128(row + 2 * index),
                Binding::Predicate(row) => Binding::Predicate(row + index),
                other => other.clone(),
            })
        });
        match found {
            Some(binding) => Ok(Some(binding)),
            None => self.module_binding(name),
        }
    }

    /// Returns the binding of a name with a selector behind a dot: of the whole, or of the part before the dot.
    fn binding_of_part(&mut self, name: &str) -> Result<Option<Binding>, LoadError> {
        match (self.binding(name)?, name.split_once('.')) {
            (None, Some((before, _))) => self.binding(before),
            (found, _) => Ok(found),
        }
    }

    pub(super) fn predicate_named(&mut self, inst: &Instruction, name: &str) -> Result<Reg, LoadError> {
        match self.binding(name)? {
            Some(Binding::Predicate(index)) => Ok(index),
            _ => self.refuse(inst, format!("{name} is no predicate register")),
        }
    }

    /// A predicate operand and whether it is negated.
    pub(super) fn predicate(&mut self, inst: &Instruction, operand: &Operand) -> Result<(Reg, bool), LoadError> {
        match operand {
            Operand::Name(name) => Ok((self.predicate_named(inst, name)?, false)),
            Operand::Not(name) => Ok((self.predicate_named(inst, name)?, true)),
            Operand::Immediate(Immediate::Int(value)) => Ok((self.constant_predicate(inst, *value != 0)?, false)),
            _ => self.refuse(inst, "a predicate register is expected here"),
        }
    }

    /// Returns a predicate that is constant for this instruction alone: a comparison of a number with itself.
    fn constant_predicate(&mut self, inst: &Instruction, value: bool) -> Result<Reg, LoadError> {
        let d = *self.constant_predicates[usize::from(value)].get_or_insert_with(|| {
            self.code.predicates += 1;
            self.code.predicates - 1
        });
        let a = self.constant32(Source::Literal(0));
        let op = Op::Setp(if value { Alu::EqB32 } else { Alu::NeB32 }, Combine::None, false);
        self.push(Inst { op, d, a, b: a, ..Inst::NOP }, Debug::of(inst, false));
        Ok(d)
    }

    /// A destination predicate; `_` discards.
    pub(super) fn predicate_destination(&mut self, inst: &Instruction, operand: &Operand) -> Result<Reg, LoadError> {
        match operand {
            Operand::Sink => Ok(NONE),
            _ => Ok(self.predicate(inst, operand)?.0),
        }
    }

    /// Refuses what an instruction cannot write to: a number, a special register, a variable.
    pub(super) fn check_destination(&mut self, inst: &Instruction, operand: &Operand) -> Result<(), LoadError> {
        let what = match operand {
            Operand::Sink => return Ok(()),
            Operand::Vector(parts) => return parts.iter().try_for_each(|part| self.check_destination(inst, part)),
            Operand::Pair(a, b) => {
                self.check_destination(inst, a)?;
                return self.check_destination(inst, b);
            }
            // Behind a dot, a packed video instruction selects halves or bytes of the register; or it is a part of a vector.
            Operand::Name(name) => match self.binding_of_part(name)? {
                Some(Binding::Row32(_) | Binding::Row64(_) | Binding::Row128(_) | Binding::Predicate(_)) => {
                    return Ok(());
                }
                Some(_) => format!("{name} is no register"),
                None if special(name).is_some() => format!("{name} can only be read"),
                None => return self.undeclared(inst, name),
            },
            _ => "a number or an address".to_owned(),
        };
        self.refuse(inst, format!("{what}: a register is expected where the result goes"))
    }

    /// Refuses a literal that cannot stand where an operand of this kind (`ptx::table::Operands`, a type for most) does.
    pub(super) fn check_literal(&self, inst: &Instruction, operand: &Operand, kind: &str) -> Result<(), LoadError> {
        let value = match operand {
            Operand::Immediate(value) => *value,
            Operand::Vector(parts) => return parts.iter().try_for_each(|part| self.check_literal(inst, part, kind)),
            _ => return Ok(()),
        };
        let expected = match (kind, value) {
            ("f16" | "bf16" | "f16x2" | "bf16x2", _) => "a register: halves have no literals",
            ("f32" | "f64" | "angle", Immediate::Int(_)) => "a float literal, such as 1.0 or 0f3F800000",
            ("f32" | "f64" | "angle", _) | (_, Immediate::Int(_)) => return Ok(()),
            ("b32", Immediate::F32(_)) | ("b64" | "b128", Immediate::F64(_)) => return Ok(()),
            ("b32", _) => "an integer, or the bits of a float as 0f3F800000",
            _ => "an integer",
        };
        self.refuse(inst, format!("a literal of another kind than .{kind} takes: expected {expected}"))
    }

    /// A source or destination row of the given width.
    pub(super) fn row(&mut self, inst: &Instruction, operand: &Operand, row: Row) -> Result<Reg, LoadError> {
        match row {
            Row::P => Ok(self.predicate(inst, operand)?.0),
            Row::W => self.row32(inst, operand),
            Row::D => self.row64(inst, operand),
        }
    }

    /// A 32-bit row: a register, a literal, a special register, or the low half of an address.
    pub(super) fn row32(&mut self, inst: &Instruction, operand: &Operand) -> Result<Reg, LoadError> {
        match operand {
            Operand::Sink => Ok(NONE),
            Operand::Immediate(value) => Ok(self.constant32(Source::Literal(literal(*value, inst, 4)))),
            Operand::Name(name) => match self.binding(name)? {
                Some(Binding::Row32(row)) => Ok(row),
                Some(Binding::Row64(_)) => self.refuse(inst, format!("{name} has 64 bits where 32 are expected")),
                Some(Binding::Predicate(_)) => {
                    self.refuse(inst, format!("{name} is a predicate where a number is expected"))
                }
                Some(Binding::FrameLocal(_)) => self.refuse(inst, format!("the address of {name} has 64 bits")),
                Some(other) => self.address_constant(inst, name, &other, 0).map(|source| self.constant32(source)),
                None => match special(name) {
                    Some(special) => Ok(self.constant32(Source::Special(special))),
                    None => self.undeclared(inst, name),
                },
            },
            Operand::Offset(name, offset) => match self.binding(name)? {
                Some(binding) => {
                    self.address_constant(inst, name, &binding, *offset).map(|source| self.constant32(source))
                }
                None => self.undeclared(inst, name),
            },
            _ => self.refuse(inst, "a register or a number is expected here"),
        }
    }

    /// A 64-bit row: a register, a literal, or an address.
    pub(super) fn row64(&mut self, inst: &Instruction, operand: &Operand) -> Result<Reg, LoadError> {
        match operand {
            Operand::Sink => Ok(NONE),
            Operand::Immediate(value) => Ok(self.constant64(Source::Literal(literal(*value, inst, 8)))),
            Operand::Name(name) | Operand::Offset(name, _) => {
                let offset = if let Operand::Offset(_, offset) = operand { *offset } else { 0 };
                match self.binding(name)? {
                    Some(Binding::Row64(_)) if offset != 0 => {
                        self.refuse(inst, "a register plus a number is no operand")
                    }
                    Some(Binding::Row64(row)) => Ok(row),
                    Some(Binding::Row32(_)) => self.refuse(inst, format!("{name} has 32 bits where 64 are expected")),
                    Some(Binding::Predicate(_)) => {
                        self.refuse(inst, format!("{name} is a predicate where a number is expected"))
                    }
                    Some(Binding::FrameLocal(at)) => self.frame_address(inst, i64::from(at).wrapping_add(offset)),
                    Some(other) => {
                        self.address_constant(inst, name, &other, offset).map(|source| self.constant64(source))
                    }
                    None => match special(name) {
                        Some(special) => Ok(self.constant64(Source::Special(special))),
                        None => self.undeclared(inst, name),
                    },
                }
            }
            _ => self.refuse(inst, "a register or a number is expected here"),
        }
    }

    /// The lower half of a 128-bit register; `_` for none.
    pub(super) fn row128(&mut self, inst: &Instruction, operand: &Operand) -> Result<Reg, LoadError> {
        match operand {
            Operand::Sink => Ok(NONE),
            Operand::Name(name) => match self.binding(name)? {
                Some(Binding::Row128(row)) => Ok(row),
                _ => self.refuse(inst, format!("{name} is no register of 128 bits")),
            },
            _ => self.refuse(inst, "a register of 128 bits is expected here"),
        }
    }

    /// A register of either width: loads, stores and conversions take registers wider than their type.
    pub(super) fn any_row(
        &mut self,
        inst: &Instruction,
        operand: &Operand,
        bytes: u32,
    ) -> Result<(Reg, bool), LoadError> {
        if let Operand::Name(name) = operand {
            match self.binding(name)? {
                Some(Binding::Row32(row)) => return Ok((row, false)),
                Some(Binding::Row64(row)) => return Ok((row, true)),
                _ => {}
            }
        }
        if bytes == 8 { Ok((self.row64(inst, operand)?, true)) } else { Ok((self.row32(inst, operand)?, false)) }
    }

    /// The address of a local variable of a device function: it depends on the activation, so it is computed into a row
    /// that only the instruction at hand reads.
    fn frame_address(&mut self, inst: &Instruction, at: i64) -> Result<Reg, LoadError> {
        if std::mem::replace(&mut self.address_pending, true) {
            return self.refuse(inst, "two addresses of local variables in one instruction");
        }
        let d = self.body.address_row;
        let debug = Debug::of(inst, false);
        self.push(Inst { op: Op::LocalAddress, d, imm: at, ..Inst::NOP }, debug);
        Ok(d)
    }

    /// The address of a variable in its own window, as a constant.
    fn address_constant(
        &self,
        inst: &Instruction,
        name: &str,
        binding: &Binding,
        offset: i64,
    ) -> Result<Source, LoadError> {
        Ok(match binding {
            Binding::Shared(at) | Binding::Local(at) | Binding::Param { offset: at, .. } => {
                Source::Literal(i64::from(*at).wrapping_add(offset) as u64)
            }
            Binding::Dynamic => Source::Dynamic(offset),
            Binding::Variable(index) => Source::Variable(*index, offset),
            Binding::Function(index) if self.function_index.contains_key(index) => {
                Source::Literal(function_address(*index).wrapping_add_signed(offset))
            }
            Binding::Function(index) if self.module.functions[*index].is_entry => {
                let message = format!(
                    "unsupported launch from the GPU: {name} is a kernel, and another takes its address to \
                    launch it (dynamic parallelism): launch it from the host, or make it a `__device__` function and call it"
                );
                return self.refuse_limit(inst, message);
            }
            Binding::Function(_) => {
                let message = "is taken, and no PTX file given has its body: name the PTX file that defines it too";
                return self.refuse(inst, format!("the address of {name} {message}"));
            }
            _ => return self.refuse(inst, format!("the address of {name} cannot be taken here")),
        })
    }

    /// An instruction at `[base+offset]`, all but what it does and with what.
    pub(super) fn at(&mut self, inst: &Instruction, operand: &Operand) -> Result<Inst, LoadError> {
        let Place { row: a, narrow, offset: imm } = self.address(inst, operand)?;
        Ok(Inst { a, e: u16::from(narrow), imm, ..Inst::NOP })
    }

    /// `[base+offset]`.
    pub(super) fn address(&mut self, inst: &Instruction, operand: &Operand) -> Result<Place, LoadError> {
        let Operand::Address { base, offset } = operand else {
            return self.refuse(inst, "an address in brackets is expected here");
        };
        let Some(name) = base else {
            return Ok(Place { row: self.constant64(Source::Literal(0)), narrow: false, offset: *offset });
        };
        match self.binding(name)? {
            Some(Binding::Row64(row)) => Ok(Place { row, narrow: false, offset: *offset }),
            Some(Binding::Row32(row)) => Ok(Place { row, narrow: true, offset: *offset }),
            Some(Binding::FrameLocal(at)) => {
                let window = if super::space_of(inst).is_none() { LOCAL_BASE as i64 } else { 0 };
                let at = i64::from(at).wrapping_add(*offset).wrapping_add(window);
                Ok(Place { row: self.frame_address(inst, at)?, narrow: false, offset: 0 })
            }
            Some(binding) => {
                let source = self.address_constant(inst, name, &binding, 0)?;
                // Without a space in the opcode the address is generic: shift it into the variable's window.
                let window = match (super::space_of(inst), &binding) {
                    (None, Binding::Shared(_) | Binding::Dynamic) => SHARED_BASE,
                    (None, Binding::Local(_)) => LOCAL_BASE,
                    _ => 0,
                };
                Ok(Place { row: self.constant64(source), narrow: false, offset: offset.wrapping_add(window as i64) })
            }
            None => self.undeclared(inst, name),
        }
    }

    /// The 32-bit row that holds `source` for the whole launch.
    pub(super) fn constant32(&mut self, source: Source) -> Reg {
        let next = u32::from(self.code.rows32) + self.constants32.len() as u32;
        *self.constants32.entry(source).or_insert_with(|| {
            let row = next.min(u32::from(NONE) - 1) as Reg;
            self.code.constants32.push((row, source));
            row
        })
    }

    /// The 64-bit row that holds `source` for the whole launch.
    pub(super) fn constant64(&mut self, source: Source) -> Reg {
        let next = u32::from(self.code.rows64) + self.constants64.len() as u32;
        *self.constants64.entry(source).or_insert_with(|| {
            let row = next.min(u32::from(NONE) - 1) as Reg;
            self.code.constants64.push((row, source));
            row
        })
    }
}

/// A literal as the bits of a row. A double literal in an f32 instruction is that number as f32.
fn literal(value: Immediate, inst: &Instruction, bytes: u32) -> u64 {
    let is_f32 = inst.types().next_back() == Some(Type::F32);
    match value {
        Immediate::Int(v) => v as u64,
        Immediate::F32(bits) if bytes == 8 && inst.types().next_back() == Some(Type::F64) => {
            f64::from(f32::from_bits(bits)).to_bits()
        }
        Immediate::F32(bits) => u64::from(bits),
        Immediate::F64(bits) if bytes == 4 && is_f32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
        Immediate::F64(bits) => bits,
    }
}
