//! Syntax tree to register code: names become rows, opcodes become operations, labels become indices.
//!
//! ```text
//! Function -> lower (this module, operand, select) -> cfg (post-dominators) -> live (rows to zero) -> Code
//! ```

mod arithmetic;
mod atomic;
mod cfg;
mod live;
mod memory;
mod operand;
mod select;
mod sync;
mod variables;

use std::collections::HashMap;

use ptx::{Function, Instruction, Item, Module, Space};

use crate::code::{Code, Debug, Guard, Inst, NO_PC, NONE, Op, Reg, Source};
use crate::program::LoadError;

/// What a name stands for.
#[derive(Debug, Clone)]
enum Binding {
    /// A register of at most 32 bits.
    Row32(Reg),
    /// A 64-bit register.
    Row64(Reg),
    /// A predicate.
    Predicate(Reg),
    /// A kernel parameter: byte offset and size.
    Param { offset: u32, bytes: u32 },
    /// A shared variable: byte offset.
    Shared(u32),
    /// The dynamic shared array.
    Dynamic,
    /// A local variable: byte offset.
    Local(u32),
    /// A module variable: index in `Code::variables`.
    Variable(u32),
}

/// A scope: names and labels, and the scope around it.
#[derive(Debug, Default)]
struct Scope {
    parent: Option<usize>,
    names: HashMap<String, Binding>,
    /// `%r` -> (first row is bound as `%r0`): ranges are bound lazily by base name.
    ranges: HashMap<String, (u32, Binding)>,
    labels: HashMap<String, u32>,
}

/// The work in progress.
struct Lower<'m> {
    module: &'m Module,
    text: &'m str,
    code: Code,
    scopes: Vec<Scope>,
    scope: usize,
    /// Branches to patch: instruction, label, scope.
    fixups: Vec<(usize, String, usize)>,
    constants32: HashMap<Source, Reg>,
    constants64: HashMap<Source, Reg>,
    next32: u32,
    next64: u32,
    next_predicate: u32,
    /// The predicate that stands for the carry, once something uses it.
    carry: Option<Reg>,
}

/// Lowers the entry `function` of `module`; `text` is the PTX text, for messages.
pub fn lower(module: &Module, function: &Function, text: &str) -> Result<Code, LoadError> {
    let body = function.body.as_deref().unwrap_or_default();
    let mut lower = Lower {
        module,
        text,
        code: Code { dynamic_align_bytes: 16, ..Code::default() },
        scopes: vec![Scope::default()],
        scope: 0,
        fixups: Vec::new(),
        constants32: HashMap::new(),
        constants64: HashMap::new(),
        next32: 0,
        next64: 0,
        next_predicate: 0,
        carry: None,
    };
    let counts = variables::count_registers(body);
    if counts.iter().any(|&n| n > u32::from(Reg::MAX) / 2) {
        return Err(lower.unsupported(function.span.line, "more registers than the simulator has rows for".into()));
    }
    [lower.code.rows32, lower.code.rows64, lower.code.predicates] = counts.map(|n| n as u16);
    lower.bind_params(function);
    lower.items(body)?;
    lower.finish(function)
}

impl Lower<'_> {
    fn items(&mut self, items: &[Item]) -> Result<(), LoadError> {
        for item in items {
            match item {
                Item::Register(decl) => self.bind_register(decl)?,
                Item::Variable(variable) => self.bind_variable(variable)?,
                Item::Label(name, _) => {
                    let pc = self.code.insts.len() as u32;
                    self.scopes[self.scope].labels.insert(name.clone(), pc);
                }
                Item::Instruction(inst) => self.instruction(inst)?,
                Item::Block(inner) => {
                    let outer = self.scope;
                    self.scope = self.scopes.len();
                    self.scopes.push(Scope { parent: Some(outer), ..Scope::default() });
                    self.items(inner)?;
                    self.scope = outer;
                }
                Item::BranchTargets(..) | Item::CallPrototype(_) => {}
            }
        }
        Ok(())
    }

    /// Patches branches, appends the exit that falling off the end means, and derives what execution needs.
    fn finish(mut self, function: &Function) -> Result<Code, LoadError> {
        if !matches!(self.code.insts.last(), Some(Inst { op: Op::Exit, guard: Guard { predicate: NONE, .. }, .. })) {
            let debug = Debug { loc: None, ptx_line: function.span.line, opcode: "ret".into(), counted: false };
            self.push(Inst { op: Op::Exit, ..Inst::NOP }, debug);
        }
        for (pc, label, scope) in std::mem::take(&mut self.fixups) {
            let Some(target) = self.find(scope, |s| s.labels.get(&label).copied()) else {
                let line = self.code.debug[pc].ptx_line;
                return Err(self.unsupported(line, format!("no label named {label} in this function")));
            };
            // A label on the closing brace points past the last instruction: the exit appended above.
            self.code.insts[pc].imm = i64::from(target);
        }
        for (pc, meet) in cfg::reconvergence(&self.code.insts).into_iter().enumerate() {
            self.code.insts[pc].reconverge = meet;
        }
        self.code.rows32 = self.next_row(self.code.rows32, self.constants32.len(), function)?;
        self.code.rows64 = self.next_row(self.code.rows64, self.constants64.len(), function)?;
        live::find_unset(&mut self.code);
        Ok(self.code)
    }

    fn next_row(&self, registers: u16, constants: usize, function: &Function) -> Result<u16, LoadError> {
        match u16::try_from(usize::from(registers) + constants) {
            Ok(rows) if rows < NONE => Ok(rows),
            _ => Err(self.unsupported(function.span.line, "more constants than the simulator has rows for".into())),
        }
    }

    fn push(&mut self, inst: Inst, debug: Debug) {
        self.code.insts.push(inst);
        self.code.debug.push(debug);
    }

    /// Appends the code of one PTX instruction. Only its first counts as executed.
    fn emit(&mut self, source: &Instruction, insts: &[Inst]) -> Result<(), LoadError> {
        let guard = match &source.guard {
            None => Guard { predicate: NONE, negated: false },
            Some(guard) => {
                let predicate = self.predicate_named(source, &guard.register)?;
                Guard { predicate, negated: guard.negated }
            }
        };
        for (i, inst) in insts.iter().enumerate() {
            let debug =
                Debug { loc: source.loc, ptx_line: source.span.line, opcode: source.opcode.clone(), counted: i == 0 };
            self.push(Inst { guard, ..*inst }, debug);
        }
        Ok(())
    }

    /// The first answer of `look` from `scope` outwards.
    fn find<T>(&self, scope: usize, look: impl Fn(&Scope) -> Option<T>) -> Option<T> {
        let mut at = Some(scope);
        while let Some(i) = at {
            if let Some(found) = look(&self.scopes[i]) {
                return Some(found);
            }
            at = self.scopes[i].parent;
        }
        None
    }

    fn unsupported(&self, line: u32, message: String) -> LoadError {
        let text = self.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("").trim().to_owned();
        LoadError::Unsupported { file: self.module.file.clone(), line, message, text }
    }

    fn refuse<T>(&self, inst: &Instruction, message: impl Into<String>) -> Result<T, LoadError> {
        Err(self.unsupported(inst.span.line, message.into()))
    }

    fn refuse_opcode<T>(&self, inst: &Instruction) -> Result<T, LoadError> {
        self.refuse(inst, format!("unsupported instruction {}", inst.opcode))
    }
}

impl Inst {
    /// Nothing, unguarded: the base that lowering fills.
    pub const NOP: Inst = Inst {
        op: Op::Nop,
        guard: Guard { predicate: NONE, negated: false },
        d: NONE,
        a: NONE,
        b: NONE,
        c: NONE,
        e: NONE,
        f: NONE,
        imm: 0,
        reconverge: NO_PC,
    };
}

/// The space an opcode names, if any; `shared::cta` is shared.
fn space_of(inst: &Instruction) -> Option<Space> {
    inst.modifiers.iter().find_map(|m| {
        Some(match m.as_str() {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" | "shared::cta" => Space::Shared,
            "local" => Space::Local,
            "param" | "param::entry" => Space::Param,
            _ => return None,
        })
    })
}
