//! Call graph: the functions that a kernel needs, and the calls that may lead back to their own function.

use std::collections::{HashMap, HashSet};

use ptx::{Function, Initializer, Item, Module, Operand};

use super::live;
use crate::code::{Callee, Code, Op, Reg};
use crate::ops::Row;

/// Names to definitions: those with a body before those without.
pub(super) fn function_named(module: &Module, name: &str) -> Option<usize> {
    let name = module.aliases.iter().find(|alias| alias.name == name).map_or(name, |alias| &alias.function);
    let mut same = (0..module.functions.len()).filter(|&at| module.functions[at].name == name);
    let first = same.clone().next();
    same.find(|&at| module.functions[at].body.is_some()).or(first)
}

/// The device functions, by index in the module and in the order they are found, that `entry` may call: those whose
/// names it mentions, in its code or in the variables it uses, and so on from there. With an indirect call also every
/// function whose address is taken anywhere, since the pointer may come from the host or from another kernel. Those of `more`
/// come along in any case.
pub(super) fn reachable(module: &Module, entry: &Function, more: &[usize]) -> Vec<usize> {
    let mut search = Search::new(module);
    search.function(entry);
    more.iter().for_each(|&index| search.mention(&module.functions[index].name));
    search.run();
    if search.is_indirect {
        for function in &module.functions {
            // The names that instructions other than calls mention.
            let operands =
                function.instructions().filter(|inst| inst.spec.mnemonic != "call").flat_map(|i| &i.operands);
            operands.for_each(|operand| names(operand, &mut |name| search.mention(name)));
        }
        for variable in &module.variables {
            search.initializers(&variable.init);
        }
        search.run();
    }
    search.found
}

/// A search through names.
struct Search<'m> {
    module: &'m Module,
    functions: HashMap<&'m str, usize>,
    variables: HashMap<&'m str, usize>,
    seen: HashSet<&'m str>,
    found: Vec<usize>,
    /// Number of functions in `found` that have been visited.
    done: usize,
    is_indirect: bool,
}

impl<'m> Search<'m> {
    fn new(module: &'m Module) -> Search<'m> {
        let mut functions: HashMap<&str, usize> = HashMap::new();
        for (at, function) in module.functions.iter().enumerate() {
            if !function.is_entry && function.body.is_some() {
                functions.entry(&function.name).or_insert(at);
            }
        }
        for alias in &module.aliases {
            if let Some(&at) = functions.get(alias.function.as_str()) {
                functions.entry(&alias.name).or_insert(at);
            }
        }
        let variables = module.variables.iter().enumerate().map(|(at, v)| (v.name.as_str(), at)).collect();
        let (seen, found) = (HashSet::new(), Vec::new());
        Search { module, functions, variables, seen, found, done: 0, is_indirect: false }
    }

    fn run(&mut self) {
        while let Some(&index) = self.found.get(self.done) {
            self.done += 1;
            self.function(&self.module.functions[index]);
        }
    }

    fn function(&mut self, function: &'m Function) {
        for item in function.items() {
            match item {
                Item::Variable(variable) => self.initializers(&variable.init),
                Item::Instruction(inst) => {
                    if inst.spec.mnemonic == "call" {
                        let callee = inst.operands.iter().find_map(|operand| match operand {
                            Operand::Name(name) => Some(name.as_str()),
                            _ => None,
                        });
                        let named = |name| self.module.functions.iter().any(|f| f.name == name);
                        let is_alias = |name| self.functions.contains_key(name);
                        self.is_indirect |= callee.is_some_and(|name| !named(name) && !is_alias(name));
                    }
                    inst.operands.iter().for_each(|operand| names(operand, &mut |name| self.mention(name)));
                }
                _ => {}
            }
        }
    }

    fn initializers(&mut self, init: &'m [Initializer]) {
        for value in init {
            if let Initializer::Address { symbol, .. } = value {
                self.mention(symbol);
            }
        }
    }

    fn mention(&mut self, name: &'m str) {
        let (function, variable) = (self.functions.get(name).copied(), self.variables.get(name).copied());
        if (function.is_none() && variable.is_none()) || !self.seen.insert(name) {
            return;
        }
        if let Some(index) = function
            && !self.found.contains(&index)
        {
            self.found.push(index);
        }
        if let Some(index) = variable {
            self.initializers(&self.module.variables[index].init);
        }
    }
}

/// The names in an operand.
fn names<'m>(operand: &'m Operand, mention: &mut impl FnMut(&'m str)) {
    match operand {
        Operand::Name(name) | Operand::Offset(name, _) | Operand::Index(name, _) => mention(name),
        Operand::Address { base: Some(name), .. } => mention(name),
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| names(part, mention)),
        _ => {}
    }
}

/// Finds the calls that may lead back to their caller: what registers they must save, and where in the frame.
pub(super) fn save_around_recursion(code: &mut Code) {
    let leads_to = closure(code);
    let may_return = |site: &crate::code::CallSite| match site.callee {
        Callee::Function(callee) => leads_to[callee as usize][site.caller as usize],
        Callee::Indirect => leads_to.iter().skip(1).any(|reached| reached[site.caller as usize]),
        Callee::Print | Callee::AssertFail | Callee::Allocate | Callee::Free => false,
    };
    let calls = (0..code.insts.len()).filter(|&pc| code.insts[pc].op == Op::Call);
    let again: Vec<usize> = calls.filter(|&pc| may_return(&code.calls[code.insts[pc].imm as usize])).collect();
    code.has_unbounded_stack |= !again.is_empty() || code.calls.iter().any(|site| site.callee == Callee::Indirect);
    let returns: Vec<usize> = again.iter().map(|pc| pc + 1).collect();
    for (pc, needed) in again.into_iter().zip(live::live_before(code, &returns)) {
        let at = code.insts[pc].imm as usize;
        code.calls[at].saved = needed;
    }
    // Registers are kept behind the parameters, and callees' frames start behind both.
    let sizes: Vec<u32> = code.functions.iter().map(|f| f.frame_rows).collect();
    for site in &mut code.calls {
        site.save_at = sizes[site.caller as usize];
        let kept = &mut code.functions[site.caller as usize].frame_rows;
        *kept = (*kept).max(site.save_at + saved_rows(&site.saved));
    }
}

/// Rows of 32 bits a lane that keep these registers.
fn saved_rows(saved: &[(Row, Reg)]) -> u32 {
    saved.iter().map(|(row, _)| if *row == Row::D { 2 } else { 1 }).sum()
}

/// `[f][g]`: a call of `f` may lead to `g`, itself included.
fn closure(code: &Code) -> Vec<Vec<bool>> {
    let count = code.functions.len();
    let mut next = vec![Vec::new(); count];
    for site in &code.calls {
        match site.callee {
            Callee::Function(callee) => next[site.caller as usize].push(callee as usize),
            // Any function's address may be in the register.
            Callee::Indirect => next[site.caller as usize].extend(1..count),
            Callee::Print | Callee::AssertFail | Callee::Allocate | Callee::Free => {}
        }
    }
    let from = |start: usize| {
        let (mut seen, mut stack) = (vec![false; count], vec![start]);
        while let Some(function) = stack.pop() {
            if !std::mem::replace(&mut seen[function], true) {
                stack.extend(&next[function]);
            }
        }
        seen
    };
    (0..count).map(from).collect()
}
