//! Other spellings of what lowering knows one way: registers of vectors, indices of variables, sums as operands, warp
//! instructions without `.sync`, parameters of a function that have an address. What is added for them counts as no instruction.

use ptx::{Function, Instruction, Operand, RegisterDecl, Space, Span, Type};

use super::variables::size_of;
use super::{Binding, Lower, call};
use crate::code::{Debug, Inst, Op, Reg};
use crate::ops::Alu;
use crate::program::LoadError;

/// Registers of each width that what is added may use, in functions that need some.
const SPARE: u32 = 4;

/// The spare register number `at` of 64 bits or 32; no name of the PTX begins like that.
fn spare(wide: bool, at: usize) -> String {
    format!("%%{}{at}", if wide { 'd' } else { 'w' })
}

/// Returns the number of spare registers of each width that a function needs.
pub(super) fn spares(function: &Function) -> u32 {
    let needs = |inst: &Instruction| is_without_sync(inst) || inst.operands.iter().any(is_sum);
    let needed = function.instructions().any(needs)
        || (!function.is_entry && function.params.iter().any(|p| is_taken(function, &p.name)));
    if needed { SPARE } else { 0 }
}

/// Returns whether the function takes the address of its parameter `name`.
fn is_taken(function: &Function, name: &str) -> bool {
    let takes = |operand: &Operand| matches!(operand, Operand::Name(n) | Operand::Offset(n, _) if n == name);
    function.instructions().any(|inst| inst.spec.mnemonic != "call" && inst.operands.iter().any(takes))
}

/// `%r1+4` outside brackets, or what looks like it: of variables it is an address.
fn is_sum(operand: &Operand) -> bool {
    matches!(operand, Operand::Offset(name, _) if name.starts_with('%'))
}

/// `vote` and `shfl` as they are before Volta: the lanes that are there take part.
pub(super) fn is_without_sync(inst: &Instruction) -> bool {
    matches!(inst.spec.mnemonic, "vote" | "shfl") && !inst.has("sync")
}

/// `cvt.rn.ftz.f32.s32`: no integer becomes a subnormal number, so that nothing is flushed.
fn is_integer_flush(inst: &Instruction) -> bool {
    let is_integer = |ty: Type| matches!(ty.name().as_bytes().first(), Some(b'u' | b's'));
    inst.spec.mnemonic == "cvt" && inst.has("ftz") && inst.types().next_back().is_some_and(is_integer)
}

/// The instruction with these modifiers.
fn respelled(inst: &Instruction, modifiers: Vec<String>) -> Instruction {
    let opcode = std::iter::once(inst.spec.mnemonic).chain(modifiers.iter().map(String::as_str));
    Instruction { opcode: opcode.collect::<Vec<_>>().join("."), modifiers, ..inst.clone() }
}

impl<'m> Lower<'m> {
    /// Lowers an instruction in whatever spelling.
    pub(super) fn spelled(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let mut plain = None;
        if is_integer_flush(inst) {
            let modifiers = inst.modifiers.iter().filter(|modifier| *modifier != "ftz").cloned();
            plain = Some(respelled(inst, modifiers.collect()));
        } else if is_without_sync(inst) && self.is_before_volta() {
            plain = Some(self.with_sync(inst)?);
        } else if let [_, Operand::Address { base: Some(name), .. }] = inst.operands.as_slice()
            && super::space_of(inst) == Some(Space::Param)
            && let Some(Binding::FrameLocal(_)) = self.binding(name)?
        {
            let local =
                |modifier: &String| if modifier.starts_with("param") { "local".into() } else { modifier.clone() };
            plain = Some(respelled(inst, inst.modifiers.iter().map(local).collect()));
        }
        for place in 0..inst.operands.len() {
            if let Some(operand) = self.plain_operand(inst, place)? {
                plain.get_or_insert_with(|| inst.clone()).operands[place] = operand;
            }
        }
        self.instruction(plain.as_ref().unwrap_or(inst))
    }

    /// The plain spelling of an operand that has another one.
    fn plain_operand(&mut self, inst: &Instruction, place: usize) -> Result<Option<Operand>, LoadError> {
        match &inst.operands[place] {
            Operand::Index(name, index) => {
                let Some(bytes) = self.find(self.scope, |scope| scope.elements.get(name).copied()).or_else(|| {
                    let variable = self.module.variables.iter().find(|variable| variable.name == *name);
                    variable.map(|variable| variable.ty.size_bytes().max(1) * u32::from(variable.vector))
                }) else {
                    return self.refuse(inst, format!("{name} is no variable whose elements have addresses"));
                };
                Ok(Some(Operand::Offset(name.clone(), index.saturating_mul(i64::from(bytes)))))
            }
            Operand::Name(name) => Ok(self.find(self.scope, |scope| {
                scope.vectors.get(name).map(|parts| Operand::Vector(parts.iter().cloned().map(Operand::Name).collect()))
            })),
            Operand::Offset(name, more) => match self.binding(name)? {
                Some(Binding::Row32(row)) => self.sum(inst, (row, false), *more, place).map(Some),
                Some(Binding::Row64(row)) => self.sum(inst, (row, true), *more, place).map(Some),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// A register plus a number, in a spare register.
    fn sum(
        &mut self,
        inst: &Instruction,
        (row, wide): (Reg, bool),
        more: i64,
        place: usize,
    ) -> Result<Operand, LoadError> {
        let name = spare(wide, place.min(SPARE as usize - 1));
        let (opcode, b) = match wide {
            true => ("add.s64", self.constant64(crate::code::Source::Literal(more as u64))),
            false => ("add.s32", self.constant32(crate::code::Source::Literal(u64::from(more as u32)))),
        };
        let (Some(alu), Some(Binding::Row32(d) | Binding::Row64(d))) = (Alu::from_opcode(opcode), self.binding(&name)?)
        else {
            return self.refuse(inst, "a register plus a number is no operand here");
        };
        self.push(Inst { op: Op::Alu(alu), d, a: row, b, ..Inst::NOP }, Debug::of(inst, false));
        Ok(Operand::Name(name))
    }

    /// The instruction with `.sync` and a mask of the lanes that execute it.
    fn with_sync(&mut self, inst: &Instruction) -> Result<Instruction, LoadError> {
        let name = spare(false, SPARE as usize - 1);
        let Some(Binding::Row32(d)) = self.binding(&name)? else { return self.refuse_opcode(inst) };
        let guard = self.guard(inst)?;
        self.push(Inst { op: Op::ActiveMask, guard, d, ..Inst::NOP }, Debug::of(inst, false));
        let modifiers = std::iter::once("sync".to_owned()).chain(inst.modifiers.iter().cloned());
        let mut synced = respelled(inst, modifiers.collect());
        synced.operands.push(Operand::Name(name));
        Ok(synced)
    }

    /// Binds the spare registers that a function needs.
    pub(super) fn bind_spares(&mut self, function: &Function) -> Result<(), LoadError> {
        for at in 0..spares(function) {
            for (ty, wide) in [(Type::B32, false), (Type::B64, true)] {
                let name = spare(wide, at as usize);
                self.bind_register(&RegisterDecl { ty, vector: 1, name, count: None, span: Span::default() })?;
            }
        }
        Ok(())
    }

    /// Gives the parameters of a device function whose addresses it takes a place in local memory, and moves them there.
    pub(super) fn place_parameters(&mut self, function: &'m Function) -> Result<(), LoadError> {
        for parameter in function.params.iter().filter(|p| p.space == Space::Param && is_taken(function, &p.name)) {
            let (Some(Binding::Frame { offset, .. }), Some(Binding::Row32(reg))) =
                (self.binding(&parameter.name)?, self.binding(&spare(false, 0))?)
            else {
                continue;
            };
            let place = self.local_variable(parameter)?;
            let Binding::FrameLocal(local) = place else { continue };
            let debug = Debug::added(".func", function.span.line);
            let (size, mut at) = (size_of(parameter) as u32, 0);
            while at < size {
                let bytes = if size - at >= 4 { 4 } else { 1 };
                for inst in call::to_local(reg, offset + at, local + at, bytes, self.body.address_row) {
                    self.push(inst, debug.clone());
                }
                at += bytes;
            }
            self.scopes[self.scope].names.insert(parameter.name.clone(), place);
        }
        Ok(())
    }

    /// A register of a vector: its parts are registers of their own, `v.x` or `v.r` and so on.
    pub(super) fn bind_vector(&mut self, decl: &RegisterDecl) -> Result<(), LoadError> {
        let names = match decl.count {
            None => vec![decl.name.clone()],
            Some(count) => (0..count).map(|at| format!("{}{at}", decl.name)).collect(),
        };
        for name in names {
            let mut parts = Vec::new();
            for (part, other) in ["x", "y", "z", "w"].iter().zip(["r", "g", "b", "a"]).take(usize::from(decl.vector)) {
                let part = format!("{name}.{part}");
                self.bind_register(&RegisterDecl { vector: 1, count: None, name: part.clone(), ..decl.clone() })?;
                if let Some(binding) = self.scopes[self.scope].names.get(&part).cloned() {
                    self.scopes[self.scope].names.insert(format!("{name}.{other}"), binding);
                }
                parts.push(part);
            }
            self.scopes[self.scope].vectors.insert(name, parts);
        }
        Ok(())
    }
}
