//! Calls and what passes through them.
//!
//! A frame is an activation's part of the parameter stack: rows of 4 bytes a lane that hold what the function returns
//! and takes, at places that follow from the sizes alone ([`layout`]), then the `.param` variables of its body, then the
//! registers that its calls save. A call copies rows from the caller's variables to the callee's frame, which starts
//! where the caller's ends, and a return copies the results back.

use ptx::{Function, Immediate, Instruction, Operand, Space, Type, Variable};

use super::graph::function_named;
use super::variables::size_of;
use super::{Binding, Body, Lower};
use crate::code::{CallSite, Callee, Debug, Guard, Inst, MemOp, NONE, Op, Order, Reg, Scope, Signature, Slot};
use crate::code::{Target, Width};
use crate::program::LoadError;

/// Places in a frame start at multiples of this.
const PLACE_BYTES: u32 = 16;
/// Parameters of one function in bytes: far beyond what compilers pass.
const FRAME_BYTES_MAX: u32 = 16 << 10;

/// Prefixes of names in CUDA's device runtime (`libcudadevrt`), which kernels that launch kernels call. It comes as machine code.
const DEVICE_RUNTIME: [&str; 2] = ["cuda", "__cuda"];

/// A register that stands for a parameter: where in the frame, which register, how many bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    at: u32,
    reg: Reg,
    wide: bool,
    bytes: u32,
}

/// Returns the sizes of a function's return values and parameters, in bytes.
pub(super) fn signature(function: &Function) -> Signature {
    match function.is_entry {
        true => Signature::default(),
        false => Signature { returns: sizes(&function.returns), params: sizes(&function.params) },
    }
}

fn sizes(variables: &[Variable]) -> Vec<u32> {
    variables.iter().map(|variable| size_of(variable).min(1 << 30) as u32).collect()
}

/// Returns the offsets of parameters of these sizes in the callee's frame, in bytes, and their end.
fn layout(signature: &Signature) -> (Vec<u32>, u32) {
    let mut end = 0u32;
    let all = signature.returns.iter().chain(&signature.params);
    let places = all.map(|&bytes| {
        let at = end;
        end = end.saturating_add(bytes).saturating_add(PLACE_BYTES - 1) & !(PLACE_BYTES - 1);
        at
    });
    (places.collect(), end)
}

/// The operands of a call.
struct Operands<'i> {
    returns: &'i [Operand],
    callee: &'i str,
    arguments: &'i [Operand],
    prototype: Option<&'i str>,
}

fn operands(inst: &Instruction) -> Option<Operands<'_>> {
    let (returns, rest) = match inst.operands.as_slice() {
        [Operand::List(returns), rest @ ..] => (returns.as_slice(), rest),
        rest => (&[][..], rest),
    };
    let (arguments, prototype) = match rest {
        [_] => (&[][..], None),
        [_, Operand::List(arguments)] => (arguments.as_slice(), None),
        [_, Operand::Name(prototype)] => (&[][..], Some(prototype.as_str())),
        [_, Operand::List(arguments), Operand::Name(prototype)] => (arguments.as_slice(), Some(prototype.as_str())),
        _ => return None,
    };
    let Operand::Name(callee) = &rest[0] else { return None };
    Some(Operands { returns, callee, arguments, prototype })
}

impl<'m> Lower<'m> {
    /// Binds what the function takes and returns.
    pub(super) fn begin(&mut self, function: &'m Function) -> Result<(), LoadError> {
        self.body = Body::new(function, self.code.functions.len() as u32);
        self.bind_spares(function)?;
        if function.is_entry {
            return self.bind_params(function);
        }
        self.body.address_row = self.next64 as Reg;
        self.next64 += 1;
        let signature = signature(function);
        let (places, end) = layout(&signature);
        self.take_frame(end, function.span.line)?;
        let line = function.span.line;
        let debug = Debug::added(".func", line);
        for (at, variable) in places.into_iter().zip(function.returns.iter().chain(&function.params)) {
            if variable.space != Space::Reg {
                let bytes = size_of(variable) as u32;
                let binding = Binding::Frame { offset: at, bytes };
                self.scopes[self.scope].names.insert(variable.name.clone(), binding);
                continue;
            }
            let passed = self.register_parameter(variable, at)?;
            if function.returns.contains(variable) {
                self.body.returned.push(passed);
            } else {
                self.push(move_inst(passed, true), debug.clone());
            }
        }
        self.place_parameters(function)
    }

    /// A `.reg` parameter: a register like any other, loaded on entry or stored on return.
    fn register_parameter(&mut self, variable: &Variable, at: u32) -> Result<Passed, LoadError> {
        let bytes = variable.ty.size_bytes();
        if !variable.dims.is_empty() || variable.vector > 1 || !matches!(bytes, 1..=8) {
            let message = format!("unsupported register parameter {}", variable.name);
            return Err(self.unsupported(variable.span.line, message));
        }
        let decl = ptx::RegisterDecl {
            ty: variable.ty,
            vector: 1,
            name: variable.name.clone(),
            count: None,
            span: variable.span,
        };
        self.bind_register(&decl)?;
        match self.scopes[self.scope].names.get(&variable.name) {
            Some(&Binding::Row64(reg)) => Ok(Passed { at, reg, wide: true, bytes }),
            Some(&Binding::Row32(reg)) => Ok(Passed { at, reg, wide: false, bytes }),
            _ => Err(self.unsupported(variable.span.line, format!("unsupported parameter {}", variable.name))),
        }
    }

    /// The next `bytes` of the frame.
    pub(super) fn take_frame(&mut self, bytes: u32, line: u32) -> Result<u32, LoadError> {
        let at = self.body.frame_bytes.next_multiple_of(PLACE_BYTES);
        match at.checked_add(bytes).filter(|&end| end <= FRAME_BYTES_MAX) {
            Some(end) => {
                self.body.frame_bytes = end;
                self.body.frame_bytes_max = self.body.frame_bytes_max.max(end);
                Ok(at)
            }
            None => {
                let message = format!("more than {FRAME_BYTES_MAX} bytes of parameters in a function");
                Err(self.unsupported(line, message))
            }
        }
    }

    /// `ret`
    pub(super) fn ret(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let guard = self.guard(inst)?;
        let debug = Debug::of(inst, true);
        self.push_return(guard, &debug);
        Ok(())
    }

    /// Ends the activation, or the kernel.
    pub(super) fn push_return(&mut self, guard: Guard, debug: &Debug) {
        for passed in self.body.returned.clone() {
            self.push(Inst { guard, ..move_inst(passed, false) }, Debug { counted: false, ..debug.clone() });
        }
        let op = if self.body.function.is_entry { Op::Exit } else { Op::Return };
        self.push(Inst { op, guard, ..Inst::NOP }, debug.clone());
    }

    pub(super) fn call(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some(operands) = operands(inst) else { return self.refuse_opcode(inst) };
        let (callee, row, signature) = self.callee(inst, &operands)?;
        let given = [operands.returns.len(), operands.arguments.len()];
        if let Some(expected) = &signature
            && given != [expected.returns.len(), expected.params.len()]
        {
            let (returns, params) = (expected.returns.len(), expected.params.len());
            return self.refuse(
                inst,
                format!(
                    "{} returns {returns} values and takes {params}, not {} and {}",
                    operands.callee, given[0], given[1]
                ),
            );
        }
        let frame_bytes = self.body.frame_bytes;
        let guard = self.guard(inst)?;
        let debug = Debug::of(inst, false);
        let size = |list: &[u32], place: usize| list.get(place).copied();
        let (mut found, mut places, mut after) = (Signature::default(), Vec::new(), Vec::new());
        for (place, operand) in operands.returns.iter().enumerate() {
            let bytes = signature.as_ref().and_then(|s| size(&s.returns, place));
            let (at, bytes, passed) = self.passed(inst, operand, bytes)?;
            after.extend(passed);
            found.returns.push(bytes);
            places.push((at, bytes));
        }
        for (place, operand) in operands.arguments.iter().enumerate() {
            let bytes = signature.as_ref().and_then(|s| size(&s.params, place));
            let (at, bytes, passed) = self.passed(inst, operand, bytes)?;
            if let Some(passed) = passed {
                self.push(Inst { guard, ..move_inst(passed, false) }, debug.clone());
            }
            found.params.push(bytes);
            places.push((at, bytes));
        }
        if let Some(expected) = signature
            && expected != found
        {
            return self.refuse(inst, format!("{} takes or returns values of other sizes", operands.callee));
        }
        let (starts, _) = layout(&found);
        let slot = |(&(at, bytes), &callee): (&(u32, u32), &u32)| Slot {
            caller: at / 4,
            callee: callee / 4,
            rows: bytes.div_ceil(4),
        };
        let mut slots: Vec<Slot> = places.iter().zip(&starts).map(slot).collect();
        let arguments = slots.split_off(found.returns.len());
        let imm = self.code.calls.len() as i64;
        self.code.calls.push(CallSite {
            callee,
            caller: self.body.index,
            signature: found,
            arguments,
            returns: slots,
            saved: Vec::new(),
            save_at: 0,
        });
        self.push(Inst { op: Op::Call, guard, a: row, imm, ..Inst::NOP }, Debug { counted: true, ..debug.clone() });
        for passed in after {
            self.push(Inst { guard, ..move_inst(passed, true) }, debug.clone());
        }
        self.body.frame_bytes = frame_bytes;
        Ok(())
    }

    /// Returns the callee, the row of its address, and its signature if known.
    fn callee(
        &mut self,
        inst: &Instruction,
        operands: &Operands<'_>,
    ) -> Result<(Callee, Reg, Option<Signature>), LoadError> {
        let name = operands.callee;
        match self.binding(name)? {
            Some(Binding::Row64(row)) => {
                // A `.calltargets` list says no more than the functions themselves do.
                let prototype = operands
                    .prototype
                    .and_then(|label| self.find(self.scope, |scope| scope.prototypes.get(label).cloned()));
                let signature = prototype.map(|p| Signature { returns: sizes(&p.returns), params: sizes(&p.params) });
                Ok((Callee::Indirect, row, signature))
            }
            Some(Binding::Function(index)) => {
                let function = &self.module.functions[index];
                let signature = signature(function);
                let callee = match self.function_index.get(&index) {
                    Some(&place) => Callee::Function(place),
                    None if function.is_entry => {
                        return self.refuse(inst, format!("{name} is a kernel, not a function"));
                    }
                    None => match name {
                        "vprintf" => Callee::Print,
                        "__assertfail" => Callee::AssertFail,
                        "malloc" => Callee::Allocate,
                        "free" => Callee::Free,
                        _ => return self.refuse_without_body(inst, name),
                    },
                };
                let built_in = match callee {
                    Callee::Print => Some(Signature { returns: vec![4], params: vec![8, 8] }),
                    Callee::AssertFail => Some(Signature { returns: vec![], params: vec![8, 8, 4, 8, 8] }),
                    Callee::Allocate => Some(Signature { returns: vec![8], params: vec![8] }),
                    Callee::Free => Some(Signature { returns: vec![], params: vec![8] }),
                    _ => None,
                };
                if built_in.is_some_and(|known| known != signature) {
                    return self
                        .refuse_limit(inst, format!("unsupported call: {name} is declared in a way of its own"));
                }
                // Allocations depend on the order in which blocks ask, so that blocks take turns.
                self.code.blocks_communicate |= matches!(callee, Callee::Allocate | Callee::Free);
                Ok((callee, NONE, Some(signature)))
            }
            Some(_) => self.refuse(inst, format!("{name} is no function")),
            None => self.refuse(inst, format!("{name} is not declared")),
        }
    }

    /// Refuses a call of what is declared and defined nowhere.
    fn refuse_without_body<T>(&self, inst: &Instruction, name: &str) -> Result<T, LoadError> {
        if DEVICE_RUNTIME.iter().any(|prefix| name.starts_with(prefix)) {
            let message = format!("unsupported call: {name} belongs to CUDA's device runtime, which has no PTX");
            return self.refuse_limit(inst, message);
        }
        let message = "is called, and no PTX file given has its body: name the PTX file that defines it too";
        self.refuse(inst, format!("{name} {message}"))
    }

    /// Returns the offset of an operand of a call in the frame, and its size. A register or a number is moved there, and
    /// `bytes` must then give its size.
    fn passed(
        &mut self,
        inst: &Instruction,
        operand: &Operand,
        bytes: Option<u32>,
    ) -> Result<(u32, u32, Option<Passed>), LoadError> {
        if let Operand::Name(name) = operand
            && let Some(Binding::Frame { offset, bytes }) = self.binding(name)?
        {
            return Ok((offset, bytes, None));
        }
        let Some(bytes) = bytes.filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8)) else {
            return self.refuse(inst, "a .param variable is expected here");
        };
        let at = self.take_frame(bytes, inst.span.line)?;
        if *operand == Operand::Sink {
            return Ok((at, bytes, None));
        }
        if matches!(operand, Operand::Immediate(Immediate::F64(_))) && bytes == 4 {
            return self.refuse(inst, "a double where 4 bytes are passed");
        }
        let (reg, wide) = self.any_row(inst, operand, bytes)?;
        if wide != (bytes == 8) {
            return self.refuse(inst, format!("a register of another width where {bytes} bytes are passed"));
        }
        Ok((at, bytes, Some(Passed { at, reg, wide, bytes })))
    }

    /// `ld.param` and `st.param` of what a device function is passed, returns, or passes on.
    pub(super) fn frame_access(
        &mut self,
        inst: &Instruction,
        place: (u32, u32),
        at: i64,
        data: &Operand,
    ) -> Result<(), LoadError> {
        let is_store = inst.spec.mnemonic == "st";
        let Some(ty) = inst.types().next_back() else { return self.refuse_opcode(inst) };
        let (regs, wide) = self.data(inst, data, ty)?;
        let (start, size) = place;
        let bytes = ty.size_bytes();
        if at < 0 || at.saturating_add(i64::from(bytes) * regs.len() as i64) > i64::from(size) {
            return self.refuse(inst, format!("an access past the {size} bytes of the parameter"));
        }
        if at % i64::from(bytes) != 0 {
            return self.refuse(inst, format!("an access of {bytes} bytes at byte {at} of a parameter"));
        }
        let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32);
        let op = frame_op(Width { bytes: bytes as u8, signed, wide }, regs.len() as u8);
        let op = if is_store { Op::StoreFrame(op) } else { Op::LoadFrame(op) };
        let imm = i64::from(start) + at;
        let inst_code = self.with_data(Inst { op, imm, ..Inst::NOP }, &regs);
        self.emit(inst, &[inst_code])
    }

    /// The binding of a function's name.
    pub(super) fn function_binding(&self, name: &str) -> Option<Binding> {
        function_named(self.module, name).map(Binding::Function)
    }
}

/// Between a register and its place in the frame.
fn move_inst(passed: Passed, is_load: bool) -> Inst {
    let Passed { at, reg, wide, bytes } = passed;
    let op = frame_op(Width { bytes: bytes as u8, signed: false, wide }, 1);
    let op = if is_load { Op::LoadFrame(op) } else { Op::StoreFrame(op) };
    Inst { op, d: reg, imm: i64::from(at), ..Inst::NOP }
}

/// Moves bytes of the frame to local memory, by way of the register `reg`.
pub(super) fn to_local(reg: Reg, frame: u32, local: u32, bytes: u32, address: Reg) -> [Inst; 3] {
    let store = Op::Store(frame_op(Width { bytes: bytes as u8, signed: false, wide: false }, 1));
    [
        move_inst(Passed { at: frame, reg, wide: false, bytes }, true),
        Inst { op: Op::LocalAddress, d: address, imm: i64::from(local), ..Inst::NOP },
        Inst { op: store, d: reg, a: address, e: 0, ..Inst::NOP },
    ]
}

/// Access to the frame, which only its own thread sees.
fn frame_op(width: Width, vector: u8) -> MemOp {
    MemOp { target: Target::Local, width, vector, order: Order::Weak, scope: Scope::Cta }
}
