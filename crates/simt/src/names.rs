//! Names of the source for what registers hold.
//!
//! PTX with line information says of each instruction which line it was made for, and which calls were inlined there; it has no
//! names of variables. They are found by proof, not by position: a register has a variable's name after an instruction if what the
//! instruction computes and what the source assigns to the variable are worth the same at sample points at which threads, blocks,
//! parameters, memory and other lanes have made-up values. A variable that is assigned once from things that never change may be in
//! any register that is worth that; any other one only in what is computed on the lines that assign to it, and only if every one of
//! those lines is accounted for. What cannot be shown so has no name: no name is a guess.
//!
//! A name may be off in time, because the compiler computes an assignment earlier or later than the source has it. So each name
//! has the line of its assignment, and holds for the value that the instruction left, until the next assignment runs.

mod expression;
mod source;
mod values;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use expression::{Expr, Sample, Samples, Scope, evaluate};
use source::{Function, Variable};
use values::{Registers, Value, written};

use crate::program::{LoadError, Program};

/// After the instruction of a line of the PTX, a register holds a variable of the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Name {
    /// The variable.
    pub name: String,
    /// The function that it is of.
    pub function: String,
    /// Lines of the calls that brought that function here by inlining, from the innermost outwards.
    pub calls: Vec<u32>,
    /// Lines of the source in which the name means this variable.
    pub lines: [u32; 2],
    /// Line of the assignment.
    pub line: u32,
    /// Line of the PTX of the instruction.
    pub ptx_line: u32,
    /// The register.
    pub register: String,
}

impl Program {
    /// Names for the registers of the entry `kernel`. `source` gives the text of a source file by the name that line information
    /// has for it; of a file that it does not give, there are no names.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn names(&self, kernel: &str, source: impl Fn(&str) -> Option<String>) -> Result<Vec<Name>, LoadError> {
        let (module, texts) = self.parts();
        let entry = self.entry(kernel)?;
        let mut found = Vec::new();
        for file in &module.sources {
            if let Some(text) = source(&file.path) {
                found.extend(of(entry, file.index, &text));
            }
        }
        for name in &mut found {
            name.ptx_line = texts.locate(name.ptx_line).1;
        }
        Ok(found)
    }
}

/// Names for what the registers of an entry hold, from one file.
fn of(entry: &ptx::Function, file: u32, source: &str) -> BTreeSet<Name> {
    let functions = source::functions(source);
    let registers = &Registers::new(entry);
    let mut found = BTreeSet::new();
    // A template's values have 4 bytes or 8; the wrong one proves nothing.
    for bytes in [4, 8] {
        let mut kernel =
            Kernel { functions: &functions, registers, entry: &entry.name, file, bytes, known: HashMap::new() };
        // A variable that is found helps to find others.
        for _ in 0..2 {
            let before = kernel.known.len();
            for (place, instance) in kernel.instances() {
                kernel.instance(place, &instance);
            }
            if kernel.known.len() == before {
                break;
            }
        }
        found.extend(kernel.known.values().flatten().cloned());
    }
    found
}

/// One function, inlined at one place: the calls that brought it there as line and column, innermost first.
type Instance = Vec<(u32, u32)>;

/// A variable of one instance: instance, function, place among its variables.
type Key = (Instance, usize, usize);

struct Kernel<'k> {
    functions: &'k [Function],
    registers: &'k Registers<'k>,
    entry: &'k str,
    /// The number of the file that the functions are of.
    file: u32,
    /// Bytes of a template's values.
    bytes: u8,
    known: HashMap<Key, Vec<Name>>,
}

/// Place of an expression in the source.
struct Here<'h, 'k> {
    kernel: &'h Kernel<'k>,
    instance: &'h Instance,
    function: usize,
    at: usize,
    /// Variables that are taken for something: the one that is assigned to, and those that change.
    instead: &'h [(Key, Sample)],
    depth: u32,
}

/// Deepest nesting of calls, and of variables made of variables.
const DEPTH_MAX: u32 = 12;

impl<'k> Kernel<'k> {
    /// The function of a line, whatever it is inlined into.
    fn function(&self, line: u32) -> Option<usize> {
        self.functions.iter().position(|one| one.first_line <= line && line <= one.last_line)
    }

    /// Returns every function with each place where it is inlined, callers first.
    fn instances(&self) -> Vec<(usize, Instance)> {
        let mut found = BTreeSet::new();
        for instruction in &self.registers.instructions {
            let Some(loc) = instruction.loc else { continue };
            let chain = std::iter::once(loc).chain(instruction.callers.iter().copied());
            // Code of a header has no names here, nor has code that is called from it.
            let chain: Vec<_> = chain.skip_while(|loc| loc.file != self.file).collect();
            if chain.iter().any(|loc| loc.file != self.file) {
                continue;
            }
            let chain: Vec<(u32, u32)> = chain.into_iter().map(|loc| (loc.line, loc.column)).collect();
            for from in 0..chain.len() {
                if let Some(function) = self.function(chain[from].0) {
                    found.insert((chain.len() - from, chain[from + 1..].to_vec(), function));
                }
            }
        }
        found.into_iter().map(|(_, instance, function)| (function, instance)).collect()
    }

    /// Looks for every variable of one instance.
    fn instance(&mut self, function: usize, instance: &Instance) {
        for place in 0..self.functions[function].variables.len() {
            let key = (instance.clone(), function, place);
            if self.known.contains_key(&key) {
                continue;
            }
            let variable = &self.functions[function].variables[place];
            let names = if variable.is_hidden {
                Vec::new()
            } else if self.is_constant(&key, 0) {
                self.anywhere(&key, variable)
            } else {
                self.on_its_lines(&key, variable)
            };
            if !names.is_empty() {
                self.known.insert(key, names);
            }
        }
    }

    fn variable(&self, key: &Key) -> &'k Variable {
        &self.functions[key.1].variables[key.2]
    }

    /// Returns whether a variable is assigned once, from values that never change while it lives.
    fn is_constant(&self, key: &Key, depth: u32) -> bool {
        let variable = self.variable(key);
        if variable.is_hidden || depth > DEPTH_MAX {
            return false;
        }
        if variable.ty.is_shared {
            return true;
        }
        let here = |at| Here { kernel: self, instance: &key.0, function: key.1, at, instead: &[], depth };
        if key.2 < self.functions[key.1].parameters {
            return variable.assignments.is_empty() && !here(0).parameter(key, variable).is_empty();
        }
        let [assignment] = &variable.assignments[..] else { return false };
        let is_declaration = assignment.at == variable.from;
        let Some(value) = assignment.value.as_ref().filter(|_| is_declaration) else { return false };
        let mut is_constant = true;
        value.mentions(&mut |name| {
            let of = self.meant(key.1, name, assignment.at);
            is_constant &= of.is_some_and(|place| self.is_constant(&(key.0.clone(), key.1, place), depth + 1));
        });
        is_constant && !has_effect(value) && evaluate(value, &here(assignment.at)).len() == 1
    }

    /// The variable of a function that a name means at a place.
    fn meant(&self, function: usize, name: &str, at: usize) -> Option<usize> {
        let variables = self.functions[function].variables.iter().enumerate();
        let reaches = |(_, one): &(usize, &Variable)| one.name == name && one.from <= at && at <= one.to;
        variables.filter(reaches).max_by_key(|(_, one)| one.from).map(|(place, _)| place)
    }

    fn name(&self, key: &Key, line: u32, instruction: usize, register: &str) -> Name {
        let variable = self.variable(key);
        Name {
            name: variable.name.clone(),
            function: self.functions[key.1].name.clone(),
            calls: key.0.iter().map(|(line, _)| *line).collect(),
            lines: [variable.first_line, variable.last_line],
            line,
            ptx_line: self.registers.instructions[instruction].span.line,
            register: register.to_owned(),
        }
    }

    /// Returns every register that equals a constant variable.
    fn anywhere(&self, key: &Key, variable: &Variable) -> Vec<Name> {
        let here = Here { kernel: self, instance: &key.0, function: key.1, at: variable.from, instead: &[], depth: 0 };
        let [sample] = here.name(&variable.name)[..] else { return Vec::new() };
        let line = variable.assignments.first().map_or(variable.first_line, |one| one.line);
        let mut names = Vec::new();
        for (register, writers) in &self.registers.writers {
            let [writer] = writers[..] else { continue };
            if !sample.value.is_number() && self.registers.written(writer, register, &[]) == sample.value {
                names.push(self.name(key, line, writer, register));
            }
        }
        names
    }

    /// Instructions of one instance that write a register, by the line that they were made for.
    fn writers(&self, key: &Key) -> BTreeMap<u32, Vec<(usize, &'k str)>> {
        let mut found: BTreeMap<u32, Vec<(usize, &str)>> = BTreeMap::new();
        for (at, instruction) in self.registers.instructions.iter().enumerate() {
            let Some(loc) = instruction.loc else { continue };
            let is_here = loc.file == self.file
                && instruction.callers.len() == key.0.len()
                && instruction
                    .callers
                    .iter()
                    .zip(&key.0)
                    .all(|(loc, at)| (loc.file, loc.line, loc.column) == (self.file, at.0, at.1));
            if is_here && self.function(loc.line) == Some(key.1) {
                let written = written(instruction).into_iter().filter(|name| !name.starts_with("%p"));
                found.entry(loc.line).or_default().extend(written.map(|name| (at, name)));
            }
        }
        found
    }

    /// Returns the registers written on the lines that assign to a variable and equal to the assigned value.
    fn on_its_lines(&self, key: &Key, variable: &Variable) -> Vec<Name> {
        let by_line = self.writers(key);
        let lines: BTreeSet<u32> = variable.assignments.iter().map(|one| one.line).collect();
        let mut candidates: Vec<(usize, &str, u32)> = Vec::new();
        for line in &lines {
            candidates.extend(by_line.get(line).into_iter().flatten().map(|(at, name)| (*at, *name, *line)));
        }
        if lines.is_empty() || candidates.is_empty() || variable.assignments.iter().any(|one| one.value.is_none()) {
            return Vec::new();
        }
        let home = self.home(key, variable, &candidates);
        if !home.is_empty() {
            return home;
        }
        self.chain(key, variable, candidates)
    }

    /// A register that the variable lives in: whatever is written to it is what one of the lines assigns, with this register for the
    /// variable. Where that is made of a register that is written at several places, each of them is gone through.
    fn home(&self, key: &Key, variable: &Variable, candidates: &[(usize, &'k str, u32)]) -> Vec<Name> {
        let registers: BTreeSet<&str> = candidates.iter().map(|one| one.1).collect();
        for register in registers {
            let atom = Value::named("the variable itself")
                .masked(if register.starts_with("%rd") || register.starts_with("%fd") { 8 } else { 4 });
            let mut covered = BTreeSet::new();
            let mut names = Vec::new();
            let is_home = self.registers.writers[register].iter().all(|&at| {
                // An instruction that the compiler moved out of a loop has no line.
                let has_line = self.registers.instructions[at].loc.is_some();
                let own = candidates.iter().find(|one| one.0 == at && one.1 == register).map(|one| one.2);
                let may = |line: u32| own == Some(line) || (own.is_none() && !has_line);
                let mut line = None;
                let is_covered = self.expansions(at, register, atom).into_iter().all(|value| {
                    let mut is_one = false;
                    for (place, one) in variable.assignments.iter().enumerate().filter(|(_, one)| may(one.line)) {
                        if self.worth(key, one, Some(atom)).contains(&value) {
                            covered.insert(place);
                            line = Some(one.line);
                            is_one = true;
                        }
                    }
                    is_one
                });
                names.extend(line.map(|line| self.name(key, line, at, register)));
                is_covered
            });
            if is_home && covered.len() == variable.assignments.len() && variable.assignments.len() > 1 {
                return names;
            }
        }
        Vec::new()
    }

    /// Returns the values that an instruction writes: one for each value of a source register that is written at several places.
    fn expansions(&self, at: usize, register: &'k str, atom: Value) -> Vec<Value> {
        let own = (register, atom);
        let plain = self.registers.written(at, register, &[own]);
        let mut others: Vec<&str> = Vec::new();
        for (other, writers) in &self.registers.writers {
            let probe = [own, (other, Value::named("a probe").masked(4))];
            if writers.len() > 1 && *other != register && self.registers.written(at, register, &probe) != plain {
                others.push(other);
            }
        }
        match others[..] {
            [other] => {
                let values =
                    self.registers.writers[other].iter().map(|&writer| self.registers.written(writer, other, &[own]));
                values.map(|value| self.registers.written(at, register, &[own, (other, value)])).collect()
            }
            _ => vec![plain],
        }
    }

    /// Register to register: each instruction writes what its line assigns, with a register that held the variable before.
    fn chain(&self, key: &Key, variable: &Variable, candidates: Vec<(usize, &'k str, u32)>) -> Vec<Name> {
        let mut held: BTreeSet<&str> = candidates.iter().map(|one| one.1).collect();
        let mut proven: Vec<(usize, &str, u32, usize)>;
        loop {
            let worth: Vec<(usize, u32, Vec<Value>)> = variable
                .assignments
                .iter()
                .enumerate()
                .flat_map(|(place, one)| {
                    let before = held.iter().flat_map(|name| self.registers.held(name)).map(Some);
                    let values =
                        std::iter::once(None).chain(before).flat_map(|before| self.worth(key, one, before)).collect();
                    std::iter::once((place, one.line, values))
                })
                .collect();
            proven = Vec::new();
            for &(at, register, line) in &candidates {
                let value = self.registers.written(at, register, &[]);
                let by = worth.iter().find(|(_, of, values)| *of == line && values.contains(&value));
                let copy = matches!(&self.registers.instructions[at].operands[..], [_, ptx::Operand::Name(from)]
                    if self.registers.instructions[at].opcode.starts_with("mov") && held.contains(from.as_str()));
                if let Some((place, ..)) = by {
                    proven.push((at, register, line, *place));
                } else if copy {
                    proven.push((at, register, line, usize::MAX));
                }
            }
            let is_proven = |at: usize, register: &str| proven.iter().any(|one| one.0 == at && one.1 == register);
            let still: BTreeSet<&str> = held
                .iter()
                .copied()
                .filter(|register| {
                    let writers = &self.registers.writers[register];
                    // A number alone says little: it must be where other values of the variable come to.
                    let is_number = |at: usize| self.registers.written(at, register, &[]).is_number();
                    writers.iter().all(|&at| is_proven(at, register)) && !writers.iter().all(|&at| is_number(at))
                })
                .collect();
            if still == held {
                break;
            }
            held = still;
        }
        let proven: Vec<_> = proven.into_iter().filter(|one| held.contains(one.1)).collect();
        let is_whole = (0..variable.assignments.len()).all(|place| proven.iter().any(|one| one.3 == place));
        if !is_whole {
            return Vec::new();
        }
        proven.into_iter().map(|(at, register, line, _)| self.name(key, line, at, register)).collect()
    }

    /// Returns the values that an assignment may have, if the variable itself held `before`.
    fn worth(&self, key: &Key, assignment: &source::Assignment, before: Option<Value>) -> Vec<Value> {
        let Some(expr) = &assignment.value else { return Vec::new() };
        let variable = self.variable(key);
        let mut choices: Vec<Vec<(Key, Sample)>> = vec![Vec::new()];
        if let Some(value) = before {
            choices[0].push((key.clone(), self.sample(variable, value)));
        }
        let mut names = BTreeSet::new();
        expr.mentions(&mut |name| {
            names.insert(name.to_owned());
        });
        for name in names {
            let Some(place) = self.meant(key.1, &name, assignment.at) else { continue };
            let other = (key.0.clone(), key.1, place);
            if other == *key || self.is_constant(&other, 0) {
                continue;
            }
            let values = self.other(&other, assignment.line, key);
            let mut more = Vec::new();
            for (chosen, value) in choices.iter().flat_map(|chosen| values.iter().map(move |value| (chosen, *value))) {
                more.push([&chosen[..], &[(other.clone(), value)]].concat());
            }
            more.truncate(CHOICES_MAX);
            choices = more;
        }
        let mut found = Vec::new();
        for instead in &choices {
            let here = Here { kernel: self, instance: &key.0, function: key.1, at: assignment.at, instead, depth: 0 };
            found.extend(evaluate(expr, &here).into_iter().map(|sample| sample.value));
        }
        found
    }

    /// Returns the values that another changing variable may hold: those of its registers, or, in an unrolled loop, a number on the line.
    fn other(&self, other: &Key, line: u32, key: &Key) -> Vec<Sample> {
        let variable = self.variable(other);
        let registers: BTreeSet<&str> =
            self.known.get(other).into_iter().flatten().map(|name| name.register.as_str()).collect();
        if !registers.is_empty() {
            let values = registers.iter().filter_map(|name| self.registers.writers.get_key_value(*name));
            return values
                .flat_map(|(name, _)| self.registers.held(name))
                .map(|value| self.sample(variable, value))
                .collect();
        }
        let mut numbers = BTreeSet::new();
        for (at, _) in self.writers(key).get(&line).into_iter().flatten() {
            for operand in &self.registers.instructions[*at].operands {
                if let ptx::Operand::Immediate(ptx::Immediate::Int(value)) = operand {
                    numbers.insert(*value as u64);
                }
            }
        }
        numbers.into_iter().map(|value| self.sample(variable, Value::constant(value))).collect()
    }

    fn sample(&self, variable: &Variable, value: Value) -> Sample {
        let of = if variable.ty.bytes == 0 { self.bytes } else { variable.ty.bytes };
        let (bytes, stride) = if variable.ty.is_pointer { (8, of) } else { (of, 0) };
        Sample { value: value.masked(bytes), bytes, is_signed: variable.ty.is_signed, stride }
    }
}

/// Most ways to fill in other variables.
const CHOICES_MAX: usize = 64;

/// Returns whether an expression may have another value the next time, because it loads or reads other lanes.
fn has_effect(expr: &Expr) -> bool {
    match expr {
        Expr::Index(..) => true,
        Expr::Number(..) | Expr::Name(_) | Expr::Member(..) => false,
        Expr::Unary(_, of) => has_effect(of),
        Expr::Binary(_, a, b) => has_effect(a) || has_effect(b),
        Expr::Choice(..) => true,
        Expr::Call(name, of) => !matches!(name.as_str(), "wide" | "min" | "max") || of.iter().any(has_effect),
    }
}

impl Here<'_, '_> {
    /// Returns the value of a parameter: the host's for a kernel, the call's for an inlined function.
    fn parameter(&self, key: &Key, variable: &Variable) -> Samples {
        let function = &self.kernel.functions[key.1];
        let Some(&(line, _)) = key.0.first() else {
            let is_entry = function.name == self.kernel.entry;
            let value = Value::named(&format!("parameter {}", key.2));
            return if is_entry { vec![self.kernel.sample(variable, value)] } else { Vec::new() };
        };
        let caller = self.kernel.function(line);
        let Some(caller) = caller.filter(|_| self.depth < DEPTH_MAX) else { return Vec::new() };
        let calls = self.kernel.functions[caller].calls.iter();
        let mut here = calls.filter(|call| call.line == line && call.name == function.name);
        // Two calls of one function on one line look the same.
        let (Some(call), None) = (here.next(), here.next()) else { return Vec::new() };
        let Some(Some(argument)) = call.arguments.get(key.2) else { return Vec::new() };
        let outer: Instance = key.0[1..].to_vec();
        let mut is_constant = !has_effect(argument);
        argument.mentions(&mut |name| {
            let place = self.kernel.meant(caller, name, call.at);
            is_constant &=
                place.is_some_and(|place| self.kernel.is_constant(&(outer.clone(), caller, place), self.depth + 1));
        });
        if !is_constant {
            return Vec::new();
        }
        let there =
            Here { instance: &outer, function: caller, at: call.at, instead: &[], depth: self.depth + 1, ..*self };
        evaluate(argument, &there)
    }
}

impl Scope for Here<'_, '_> {
    fn name(&self, name: &str) -> Samples {
        let Some(place) = self.kernel.meant(self.function, name, self.at) else { return Vec::new() };
        let key = (self.instance.clone(), self.function, place);
        if let Some((_, sample)) = self.instead.iter().find(|(of, _)| *of == key) {
            return vec![*sample];
        }
        if self.depth > DEPTH_MAX || !self.kernel.is_constant(&key, self.depth) {
            return Vec::new();
        }
        let variable = self.kernel.variable(&key);
        if variable.ty.is_shared {
            return vec![self.kernel.sample(variable, Value::named(name))];
        }
        if place < self.kernel.functions[self.function].parameters {
            let samples = self.parameter(&key, variable).into_iter();
            return samples.map(|sample| self.kernel.sample(variable, sample.value)).collect();
        }
        let value = variable.assignments.first().and_then(|one| Some((one.value.as_ref()?, one.at)));
        let Some((value, at)) = value else { return Vec::new() };
        let samples = evaluate(value, &Here { at, depth: self.depth + 1, ..*self }).into_iter();
        samples.map(|sample| self.kernel.sample(variable, sample.value)).collect()
    }

    fn call(&self, name: &str, arguments: &[Samples]) -> Samples {
        let mut found = Vec::new();
        for function in self.kernel.functions.iter().filter(|one| one.name == name) {
            let Some(result) =
                function.result.as_ref().filter(|_| function.parameters >= arguments.len() && self.depth < DEPTH_MAX)
            else {
                // One that does more may be the one that is meant.
                return Vec::new();
            };
            let given: HashMap<&str, &Samples> =
                function.variables.iter().map(|one| one.name.as_str()).zip(arguments).collect();
            found.extend(evaluate(result, &Given { given, outer: self }));
        }
        found
    }
}

/// Inside of a function that only gives back an expression.
struct Given<'g, 'k> {
    given: HashMap<&'g str, &'g Samples>,
    outer: &'g Here<'g, 'k>,
}

impl Scope for Given<'_, '_> {
    fn name(&self, name: &str) -> Samples {
        self.given.get(name).map_or_else(Vec::new, |samples| (*samples).clone())
    }

    fn call(&self, name: &str, arguments: &[Samples]) -> Samples {
        // Deep enough for the operators of reductions; a function that calls itself ends here.
        if self.outer.depth >= DEPTH_MAX {
            return Vec::new();
        }
        Here { depth: self.outer.depth + 4, ..*self.outer }.call(name, arguments)
    }
}
