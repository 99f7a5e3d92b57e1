//! Several PTX files as one program, as a linker makes one: what one file declares `.extern` another one defines.
//!
//! The files become one syntax tree. A name that a file keeps to itself and another file has too gets a suffix in the later one;
//! a `.weak` definition gives way to one that is not, and else the first is taken; two that are neither are refused. Lines are
//! counted on from file to file ([`Texts::locate`] takes them apart again), and so are the numbers of source files.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use ptx::{Function, Initializer, Instruction, Item, Linkage, Loc, Module, Operand, Variable};

use crate::program::LoadError;

/// The PTX files of a program one behind the other.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    /// Every line of every file.
    pub(crate) text: Arc<str>,
    /// The name of each file, and how many lines come before it.
    files: Arc<[(String, u32)]>,
    /// Where each line of the text begins, once one is asked for.
    starts: Arc<OnceLock<Vec<usize>>>,
}

impl Texts {
    /// The file that holds line `line` of the text, and the line's number there, from 1.
    pub(crate) fn locate(&self, line: u32) -> (&str, u32) {
        let file = self.files.iter().rev().find(|(_, before)| *before < line).or(self.files.first());
        file.map_or(("", line), |(name, before)| (name, line - before.min(&line)))
    }

    /// The line's own text, without the blanks around it.
    pub(crate) fn line(&self, line: u32) -> &str {
        let ends = || self.text.match_indices('\n').map(|(end, _)| end + 1);
        let starts = self.starts.get_or_init(|| std::iter::once(0).chain(ends()).collect());
        let rest = starts.get(line.saturating_sub(1) as usize).map_or("", |&start| &self.text[start..]);
        rest.lines().next().unwrap_or("").trim()
    }

    /// The names of the files, as messages name all of them.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }
}

/// The definition that a name of the whole program stands for.
struct Symbol {
    file: usize,
    line: u32,
    linkage: Linkage,
}

/// Parses `files` (names and texts) and makes one module of them.
pub(crate) fn link(files: &[(&str, &str)]) -> Result<(Module, Texts), LoadError> {
    let modules = files.iter().map(|(name, text)| ptx::parse(name, text)).collect::<Result<Vec<Module>, _>>()?;
    let mut before = 0;
    let starts: Vec<(String, u32)> = files
        .iter()
        .map(|(name, text)| {
            let start = before;
            before += text.lines().count() as u32;
            ((*name).to_owned(), start)
        })
        .collect();
    let text: Arc<str> = match files {
        [(_, text)] => (*text).into(),
        _ => files.iter().flat_map(|(_, text)| text.lines().flat_map(|line| [line, "\n"])).collect::<String>().into(),
    };
    let texts = Texts { text, files: starts.into(), starts: Arc::default() };
    let symbols = symbols(&modules)?;
    let moved = match modules.len() {
        1 => modules,
        _ => moved(modules, &symbols, &texts),
    };
    Ok((moved.into_iter().reduce(joined).ok_or(LoadError::NoFiles)?, texts))
}

fn joined(mut whole: Module, mut next: Module) -> Module {
    whole.debug |= next.debug;
    whole.sources.append(&mut next.sources);
    whole.variables.append(&mut next.variables);
    whole.functions.append(&mut next.functions);
    whole.aliases.append(&mut next.aliases);
    whole
}

/// Returns the definitions of a module: name, linkage and line.
fn definitions(module: &Module) -> impl Iterator<Item = (&str, Linkage, u32)> {
    let functions = module.functions.iter().filter(|function| function.body.is_some()).map(|function| {
        // Kernels are started by name, so that theirs is never their file's own.
        let is_own = function.linkage == Linkage::Local && !function.is_entry;
        let linkage = if is_own || function.linkage == Linkage::Weak { function.linkage } else { Linkage::Visible };
        (function.name.as_str(), linkage, function.span.line)
    });
    let variables = module.variables.iter().filter(|variable| variable.linkage != Linkage::Extern);
    functions.chain(variables.map(|variable| (variable.name.as_str(), variable.linkage, variable.span.line)))
}

/// Resolves each name of the program to one file's definition.
fn symbols(modules: &[Module]) -> Result<HashMap<String, Symbol>, LoadError> {
    let mut symbols: HashMap<String, Symbol> = HashMap::new();
    for (file, module) in modules.iter().enumerate() {
        if module.address_size_bits != modules[0].address_size_bits {
            return Err(LoadError::AddressSizes { first: modules[0].file.clone(), second: module.file.clone() });
        }
        for (name, linkage, line) in definitions(module).filter(|(_, linkage, _)| *linkage != Linkage::Local) {
            let new = Symbol { file, line, linkage };
            let gives_way = |linkage| matches!(linkage, Linkage::Weak | Linkage::Common);
            match symbols.get(name) {
                Some(_) if gives_way(linkage) => {}
                Some(old) if !gives_way(old.linkage) => {
                    let place = |symbol: &Symbol| (modules[symbol.file].file.clone(), symbol.line);
                    return Err(LoadError::Duplicate { name: name.to_owned(), first: place(old), second: place(&new) });
                }
                _ => drop(symbols.insert(name.to_owned(), new)),
            }
        }
    }
    Ok(symbols)
}

/// Names that a module uses and leaves to others to define.
fn undefined(module: &Module) -> impl Iterator<Item = &str> {
    let own: HashSet<&str> = definitions(module).map(|(name, ..)| name).collect();
    let functions = module.functions.iter().filter(|function| function.body.is_none()).map(|f| f.name.as_str());
    let variables = module.variables.iter().filter(|v| v.linkage == Linkage::Extern).map(|v| v.name.as_str());
    functions.chain(variables).filter(move |name| !own.contains(name))
}

/// The modules with names, lines and source files as they are in the whole, and without definitions that another file's replace.
fn moved(mut modules: Vec<Module>, symbols: &HashMap<String, Symbol>, texts: &Texts) -> Vec<Module> {
    let mut taken: HashSet<String> = symbols.keys().cloned().collect();
    taken.extend(modules.iter().flat_map(undefined).map(str::to_owned));
    let mut sources = 0;
    for (file, module) in modules.iter_mut().enumerate() {
        let mut own = HashMap::new();
        for (name, ..) in definitions(module).filter(|(_, linkage, _)| *linkage == Linkage::Local) {
            let mut names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}_$_{n}")));
            let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
            taken.insert(free.clone());
            own.insert(name.to_owned(), free);
        }
        let is_here = |name: &str| symbols.get(name).is_none_or(|symbol| symbol.file == file);
        module.functions.retain(|f| f.body.is_none() || own.contains_key(&f.name) || is_here(&f.name));
        module.variables.retain(|v| match v.linkage {
            Linkage::Extern => !symbols.contains_key(&v.name),
            Linkage::Local => true,
            _ => is_here(&v.name),
        });
        let next = sources + module.sources.iter().map(|source| source.index + 1).max().unwrap_or(0);
        own.retain(|old, new| old != new);
        Mover { own: &own, lines: texts.files[file].1, sources, hidden: Vec::new() }.module(module);
        sources = next;
    }
    modules
}

/// Gives the names, lines and source files of one module those of the whole.
struct Mover<'a> {
    /// New names of what the file keeps to itself.
    own: &'a HashMap<String, String>,
    lines: u32,
    sources: u32,
    /// Names that registers, parameters and variables of the scopes around hide.
    hidden: Vec<String>,
}

impl Mover<'_> {
    fn module(&mut self, module: &mut Module) {
        module.sources.iter_mut().for_each(|source| source.index += self.sources);
        module.variables.iter_mut().for_each(|variable| {
            self.name(&mut variable.name);
            self.variable(variable);
        });
        module.functions.iter_mut().for_each(|function| self.function(function));
        for alias in &mut module.aliases {
            self.name(&mut alias.name);
            self.name(&mut alias.function);
        }
    }

    fn name(&self, name: &mut String) {
        if let Some(new) = self.own.get(name)
            && !self.hidden.contains(name)
        {
            name.clone_from(new);
        }
    }

    fn variable(&self, variable: &mut Variable) {
        variable.span.line += self.lines;
        for value in &mut variable.init {
            if let Initializer::Address { symbol, .. } = value {
                self.name(symbol);
            }
        }
    }

    fn function(&mut self, function: &mut Function) {
        self.name(&mut function.name);
        function.span.line += self.lines;
        for parameter in function.returns.iter_mut().chain(&mut function.params) {
            parameter.span.line += self.lines;
            self.hidden.push(parameter.name.clone());
        }
        self.items(function.body.as_deref_mut().unwrap_or_default());
        self.hidden.clear();
    }

    fn items(&mut self, items: &mut [Item]) {
        let outer = self.hidden.len();
        for item in items.iter() {
            match item {
                Item::Register(decl) => self.hidden.push(decl.name.clone()),
                Item::Variable(variable) => self.hidden.push(variable.name.clone()),
                _ => {}
            }
        }
        for item in items {
            match item {
                Item::Register(decl) => decl.span.line += self.lines,
                Item::Variable(variable) => self.variable(variable),
                Item::Label(_, span) => span.line += self.lines,
                Item::Instruction(instruction) => self.instruction(instruction),
                Item::Block(inner) => self.items(inner),
                Item::CallTargets(_, names) => names.iter_mut().for_each(|name| self.name(name)),
                Item::CallPrototype(prototype) => {
                    let all = prototype.returns.iter_mut().chain(&mut prototype.params);
                    all.for_each(|variable| variable.span.line += self.lines);
                }
                Item::BranchTargets(..) => {}
            }
        }
        self.hidden.truncate(outer);
    }

    fn instruction(&self, instruction: &mut Instruction) {
        instruction.span.line += self.lines;
        let moved = |loc: &Loc| Loc { file: loc.file + self.sources, ..*loc };
        instruction.loc = instruction.loc.as_ref().map(moved);
        if !instruction.callers.is_empty() {
            instruction.callers = instruction.callers.iter().map(moved).collect();
        }
        instruction.operands.iter_mut().for_each(|operand| self.operand(operand));
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Name(name)
            | Operand::Offset(name, _)
            | Operand::Index(name, _)
            | Operand::Address { base: Some(name), .. } => self.name(name),
            Operand::Vector(parts) | Operand::List(parts) => parts.iter_mut().for_each(|part| self.operand(part)),
            Operand::Pair(a, b) => [a, b].into_iter().for_each(|part| self.operand(part)),
            Operand::Not(_) | Operand::Immediate(_) | Operand::Sink | Operand::Address { base: None, .. } => {}
        }
    }
}
