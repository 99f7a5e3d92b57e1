//! Syntax tree to register code: names become rows, opcodes become operations, labels become indices.
//!
//! ```text
//! Function -> graph (functions it may call) -> lower (this module, operand, select, memory, call)
//!          -> cfg (post-dominators) -> live (rows to zero, rows to save around calls) -> Code
//! ```
//!
//! The entry and each device function that it may call are lowered once, one after the other, into one array of
//! instructions. Every function has registers of its own; only calls that may lead back to their caller save any.

mod arithmetic;
mod atomic;
mod call;
mod cfg;
mod contract;
mod copy;
mod graph;
mod initial;
pub(crate) mod live;
mod machine;
pub(crate) mod mbarrier;
mod memory;
mod operand;
mod select;
mod special;
mod spelling;
pub(crate) mod strong_loads;
mod sync;
mod target;
mod unset;
pub(crate) mod variables;
mod video;

use std::collections::HashMap;

use ptx::{Function, Instruction, Item, Module, Prototype, Space};

use crate::code::{Code, Debug, Guard, Inst, ModuleVariable, NO_PC, NONE, Op, Reg, Source};
use crate::link::Texts;
use crate::ops::Row;
use crate::program::LoadError;
pub(crate) use variables::function_name;

/// Binding of a name.
#[derive(Debug, Clone)]
enum Binding {
    /// A register of at most 32 bits.
    Row32(Reg),
    /// A 64-bit register.
    Row64(Reg),
    /// A 128-bit register: two 64-bit rows, the lower half first.
    Row128(Reg),
    /// A predicate.
    Predicate(Reg),
    /// A kernel parameter: byte offset and size.
    Param { offset: u32, bytes: u32 },
    /// Parameter or return value of a device function: byte offset in the frame, and size.
    Frame { offset: u32, bytes: u32 },
    /// A shared variable: byte offset.
    Shared(u32),
    /// The dynamic shared array.
    Dynamic,
    /// A local variable of the entry: byte offset.
    Local(u32),
    /// A local variable of a device function: byte offset in the activation's local memory.
    FrameLocal(u32),
    /// A module variable: index in `Code::variables`.
    Variable(u32),
    /// A function, by index in the module.
    Function(usize),
}

/// A scope: names and labels, and the scope around it.
#[derive(Debug, Default)]
struct Scope {
    parent: Option<usize>,
    names: HashMap<String, Binding>,
    /// `%r` -> (first row is bound as `%r0`): ranges are bound lazily by base name.
    ranges: HashMap<String, (u32, Binding)>,
    labels: HashMap<String, u32>,
    /// Labels of `.branchtargets` and the labels they list.
    targets: HashMap<String, Vec<String>>,
    prototypes: HashMap<String, Prototype>,
    /// Vector registers and the names of their parts.
    vectors: HashMap<String, Vec<String>>,
    /// Bytes of an element of each variable.
    elements: HashMap<String, u32>,
}

/// Places that wait for the addresses of labels.
enum Fixup {
    /// A branch: the instruction.
    Branch(usize),
    /// One target of an indexed branch: table and place.
    Table { pc: usize, table: usize, place: usize },
}

/// The function being lowered.
struct Body<'m> {
    function: &'m Function,
    /// Its index in `Code::functions`.
    index: u32,
    /// Bytes of the frame in use in the scope at hand, and the most in use in any.
    frame_bytes: u32,
    frame_bytes_max: u32,
    local_bytes: u32,
    /// A 64-bit row for an address that the next instruction uses.
    address_row: Reg,
    /// Registers that a return hands out (`.reg` return parameters): byte in the frame, register, size.
    returned: Vec<call::Passed>,
}

impl<'m> Body<'m> {
    fn new(function: &'m Function, index: u32) -> Body<'m> {
        let (address_row, returned) = (NONE, Vec::new());
        Body { function, index, frame_bytes: 0, frame_bytes_max: 0, local_bytes: 0, address_row, returned }
    }
}

/// The work in progress.
struct Lower<'m> {
    module: &'m Module,
    texts: &'m Texts,
    code: Code,
    /// The first is the module's.
    scopes: Vec<Scope>,
    scope: usize,
    /// Labels to look up: what for, which, and in which scope.
    fixups: Vec<(Fixup, String, usize)>,
    constants32: HashMap<Source, Reg>,
    constants64: HashMap<Source, Reg>,
    next32: u32,
    next64: u32,
    next_predicate: u32,
    body: Body<'m>,
    /// The address row of the body holds an address that no instruction has used yet.
    address_pending: bool,
    /// Largest alignment of a local variable in bytes.
    local_align_bytes: u32,
    /// Index in `Code::functions` by index in the module.
    function_index: HashMap<usize, u32>,
    /// The predicate that stands for the carry, once something uses it.
    carry: Option<Reg>,
    /// Problems so far, if all are collected and not the first only.
    problems: Option<Vec<LoadError>>,
    /// The predicates that hold false and true, once something uses them.
    constant_predicates: [Option<Reg>; 2],
}

/// Lowers the entry `function` of `module`, and the functions that it may call; `more` are others whose addresses the host
/// passes. `texts` is the PTX, for messages.
pub fn lower(module: &Module, function: &Function, more: &[usize], texts: &Texts) -> Result<Code, LoadError> {
    let mut lower = Lower::new(module, function, texts);
    lower.functions(function, more)?;
    lower.finish(function)
}

/// Everything that keeps the entry `function` from being lowered, in the order of its code; nothing if it runs.
pub fn problems(module: &Module, function: &Function, texts: &Texts) -> Vec<LoadError> {
    let mut lower = Lower::new(module, function, texts);
    lower.problems = Some(Vec::new());
    let ended = lower.functions(function, &[]).err();
    let mut found = lower.problems.take().unwrap_or_default();
    found.extend(ended);
    if found.is_empty() {
        found.extend(lower.finish(function).err());
    }
    found
}

/// The module variable `name` and those whose addresses it holds; itself is the first. `None` if there is no such variable.
pub fn variable(module: &Module, name: &str, texts: &Texts) -> Result<Option<Vec<ModuleVariable>>, LoadError> {
    let function = Function { is_entry: true, ..Function::default() };
    let mut lower = Lower::new(module, &function, texts);
    match lower.module_binding(name)? {
        Some(Binding::Variable(0)) => Ok(Some(lower.code.variables)),
        _ => Ok(None),
    }
}

/// The address of the device function `name` and its index in the module, if the module has its body.
pub fn function_address(module: &Module, name: &str) -> Option<(usize, u64)> {
    let index = graph::function_named(module, name)?;
    let function = &module.functions[index];
    let is_there = function.body.is_some() && !function.is_entry;
    is_there.then(|| (index, crate::code::function_address(index)))
}

impl<'m> Lower<'m> {
    fn new(module: &'m Module, function: &'m Function, texts: &'m Texts) -> Lower<'m> {
        Lower {
            module,
            texts,
            code: Code { dynamic_align_bytes: 16, ..Code::default() },
            scopes: vec![Scope::default()],
            scope: 0,
            fixups: Vec::new(),
            constants32: HashMap::new(),
            constants64: HashMap::new(),
            next32: 0,
            next64: 0,
            next_predicate: 0,
            body: Body::new(function, 0),
            address_pending: false,
            local_align_bytes: 16,
            function_index: HashMap::new(),
            carry: None,
            problems: None,
            constant_predicates: [None; 2],
        }
    }

    /// Lowers the entry and every function that it may call.
    fn functions(&mut self, function: &'m Function, more: &[usize]) -> Result<(), LoadError> {
        let module = self.module;
        let functions = graph::reachable(module, function, more);
        self.check_constants(module)?;
        if self.texts.text.contains("%reserved_smem_offset_") {
            self.reserve_shared();
        }
        let mut counts = [0u32; 3];
        for function in std::iter::once(function).chain(functions.iter().map(|&index| &module.functions[index])) {
            let own = variables::count_registers(function);
            counts.iter_mut().zip(own).for_each(|(sum, n)| *sum = sum.saturating_add(n));
        }
        // The rows above this number are for constants and addresses, which `next_row` looks after.
        const REGISTERS_MAX: u32 = 65_000;
        if let Some(many) = counts.iter().find(|&&n| n > REGISTERS_MAX) {
            let message = format!(
                "{many} registers of one width in the kernel and the functions that it may call; the simulator has room for \
                 {REGISTERS_MAX}: declare fewer, or part the kernel"
            );
            return Err(self.unsupported(function.span.line, message));
        }
        [self.code.rows32, self.code.rows64, self.code.predicates] = counts.map(|n| n as u16);
        for (place, &index) in functions.iter().enumerate() {
            self.function_index.insert(index, place as u32 + 1);
            self.code.addresses.insert(crate::code::function_address(index), place as u32 + 1);
        }
        self.function(function)?;
        functions.into_iter().try_for_each(|index| self.function(&module.functions[index]))
    }

    /// Appends the code of the entry or of a device function.
    fn function(&mut self, function: &'m Function) -> Result<(), LoadError> {
        self.scope = self.scopes.len();
        let outermost = self.scope;
        self.scopes.push(Scope { parent: Some(0), ..Scope::default() });
        let start = self.code.insts.len() as u32;
        self.check_directives(function)?;
        self.begin(function)?;
        self.items(function.body.as_deref().unwrap_or_default())?;
        self.close(outermost)?;
        self.patch()?;
        self.code.functions.push(crate::code::Function {
            name: function.name.clone(),
            start,
            signature: call::signature(function),
            frame_rows: self.body.frame_bytes_max.div_ceil(4),
            local_bytes: self.body.local_bytes,
            unset: Vec::new(),
        });
        Ok(())
    }

    fn items(&mut self, items: &[Item]) -> Result<(), LoadError> {
        // A call may name a prototype that stands after it.
        for item in items {
            match item {
                Item::CallPrototype(prototype) => {
                    let named = &mut self.scopes[self.scope].prototypes;
                    named.insert(prototype.name.clone(), (**prototype).clone());
                }
                Item::BranchTargets(name, targets) => {
                    self.scopes[self.scope].targets.insert(name.clone(), targets.clone());
                }
                _ => {}
            }
        }
        for item in items {
            match item {
                Item::Register(decl) => self.bind_register(decl)?,
                Item::Variable(variable) => self.bind_variable(variable)?,
                Item::Label(name, _) => {
                    let pc = self.code.insts.len() as u32;
                    self.scopes[self.scope].labels.insert(name.clone(), pc);
                }
                Item::Instruction(inst) => match (self.spelled(inst), &mut self.problems) {
                    (Err(problem), Some(problems)) => problems.push(problem),
                    (ended, _) => ended?,
                },
                Item::Block(inner) => {
                    let outer = (self.scope, self.body.frame_bytes);
                    self.scope = self.scopes.len();
                    self.scopes.push(Scope { parent: Some(outer.0), ..Scope::default() });
                    self.items(inner)?;
                    // The arguments of the scope's calls end with it: the next scope may use the same bytes.
                    (self.scope, self.body.frame_bytes) = outer;
                }
                Item::BranchTargets(..) | Item::CallTargets(..) | Item::CallPrototype(_) => {}
            }
        }
        Ok(())
    }

    /// Appends the return that falling off the end means, if control or a label gets there.
    fn close(&mut self, outermost: usize) -> Result<(), LoadError> {
        let end = self.code.insts.len() as u32;
        let labelled = self.scopes[outermost..].iter().any(|scope| scope.labels.values().any(|&pc| pc == end));
        let last = self.code.insts.last().filter(|inst| inst.guard.predicate == NONE);
        if labelled || !last.is_some_and(|inst| matches!(inst.op, Op::Exit | Op::Return)) {
            let line = self.body.function.span.line;
            let debug = Debug::added("ret", line);
            self.push_return(Guard { predicate: NONE, negated: false }, &debug);
        }
        Ok(())
    }

    /// Gives the function's branches their targets.
    fn patch(&mut self) -> Result<(), LoadError> {
        for (fixup, label, scope) in std::mem::take(&mut self.fixups) {
            let (Fixup::Branch(pc) | Fixup::Table { pc, .. }) = fixup;
            let Some(target) = self.find(scope, |s| s.labels.get(&label).copied()) else {
                let line = self.code.debug[pc].ptx_line;
                return Err(self.unsupported(line, format!("no label named {label} in this function")));
            };
            match fixup {
                Fixup::Branch(pc) => self.code.insts[pc].imm = i64::from(target),
                Fixup::Table { table, place, .. } => self.code.tables[table][place] = target,
            }
        }
        Ok(())
    }

    /// Derives what execution needs.
    fn finish(mut self, function: &Function) -> Result<Code, LoadError> {
        for (pc, meet) in cfg::reconvergence(&self.code).into_iter().enumerate() {
            self.code.insts[pc].reconverge = meet;
        }
        self.code.rows32 = self.next_row(self.code.rows32, self.constants32.len(), function)?;
        self.code.rows64 = self.next_row(self.code.rows64, self.constants64.len(), function)?;
        let align = self.local_align_bytes;
        self.code.local_align_bytes = align;
        self.code.functions.iter_mut().for_each(|f| f.local_bytes = f.local_bytes.next_multiple_of(align));
        if !self.module.debug {
            contract::contract(&mut self.code);
        }
        live::find_unset(&mut self.code);
        atomic::mark_expectations(&mut self.code);
        strong_loads::sort(&mut self.code);
        machine::select(&mut self.code);
        graph::save_around_recursion(&mut self.code);
        Ok(self.code)
    }

    fn next_row(&self, registers: u16, constants: usize, function: &Function) -> Result<u16, LoadError> {
        match u16::try_from(usize::from(registers) + constants) {
            Ok(rows) if rows < NONE => Ok(rows),
            _ => {
                let room = usize::from(NONE) - usize::from(registers);
                let message = format!(
                    "{constants} different numbers and addresses of one width in the kernel and the functions that it may \
                     call; beside its registers the simulator has room for {room}: part the kernel"
                );
                Err(self.unsupported(function.span.line, message))
            }
        }
    }

    fn push(&mut self, inst: Inst, debug: Debug) {
        self.code.insts.push(inst);
        self.code.debug.push(debug);
    }

    /// The guard of an instruction.
    fn guard(&mut self, source: &Instruction) -> Result<Guard, LoadError> {
        match &source.guard {
            None => Ok(Guard { predicate: NONE, negated: false }),
            Some(guard) => {
                let predicate = self.predicate_named(source, &guard.register)?;
                Ok(Guard { predicate, negated: guard.negated })
            }
        }
    }

    /// Appends the code of one PTX instruction. Only its first counts as executed.
    fn emit(&mut self, source: &Instruction, insts: &[Inst]) -> Result<(), LoadError> {
        let guard = self.guard(source)?;
        self.address_pending = false;
        for (i, inst) in insts.iter().enumerate() {
            self.push(Inst { guard, ..*inst }, Debug::of(source, i == 0));
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
        let text = self.texts.line(line).to_owned();
        let message = message + &self.age();
        let (file, line) = self.texts.locate(line);
        LoadError::Unsupported { file: file.to_owned(), line, message, text, fault: None }
    }

    /// Addition to messages about a file of an older version than those covered.
    fn age(&self) -> String {
        let (major, minor) = self.module.version;
        if (major, minor) < ptx::VERSION_FLOOR { ptx::floor(major, minor) } else { String::new() }
    }

    fn refuse<T>(&self, inst: &Instruction, message: impl Into<String>) -> Result<T, LoadError> {
        Err(self.unsupported(inst.span.line, message.into()))
    }

    fn refuse_opcode<T>(&self, inst: &Instruction) -> Result<T, LoadError> {
        self.refuse_limit(inst, format!("unsupported instruction {}", inst.opcode))
    }

    /// Refuses what is good PTX, and more than the simulator knows.
    fn refuse_limit<T>(&self, inst: &Instruction, message: String) -> Result<T, LoadError> {
        let mut error = self.unsupported(inst.span.line, message.clone());
        if let LoadError::Unsupported { file, line, text, fault, .. } = &mut error {
            let message = format!("{message}: `{text}`{}", self.age());
            let site = Debug::of(inst, true).site(&self.module.sources, file, *line);
            let code = crate::Code::UnsupportedInstruction;
            *fault = Some(Box::new(crate::Fault {
                code,
                message,
                site,
                other: None,
                why: code.explanation().why,
                remedy: code.explanation().remedy,
                variable: None,
                count: 1,
            }));
        }
        Err(error)
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

    /// The register that holds the address of a load, store or atomic.
    pub(crate) fn address(&self) -> (Row, Reg) {
        (if self.e == 1 { Row::W } else { Row::D }, self.a)
    }

    /// The row of the mask operand of a `.sync` instruction.
    #[inline(always)]
    pub(crate) fn mask_row(&self) -> Reg {
        if self.op == Op::WarpBarrier { self.a } else { self.f }
    }
}

/// The space an opcode names, if any; `shared::cta` is shared.
fn space_of(inst: &Instruction) -> Option<Space> {
    inst.modifiers.iter().find_map(|m| {
        Some(match m.as_str() {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
            "local" => Space::Local,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    })
}
