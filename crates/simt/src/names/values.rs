//! Values of a kernel's registers at some sample points: special registers and parameters have made-up values there, and a
//! value from memory or another lane is a hash of its inputs. Two expressions that agree at every point are taken for equal,
//! whatever the compiler turned one into; a chance agreement is too unlikely to matter.

use std::cell::RefCell;
use std::collections::HashMap;

use ptx::{Function, Immediate, Instruction, Item, Operand};

use crate::lower::variables::last_name;

/// Sample points.
pub const POINTS: usize = 6;

/// 64 bits at each point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value(pub [u64; POINTS]);

/// Well mixed bits of two numbers.
fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(b.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4, |hash, byte| mixed(hash, u64::from(byte)))
}

impl Value {
    pub fn constant(value: u64) -> Value {
        Value([value; POINTS])
    }

    /// Value of something known only by its name.
    pub fn named(name: &str) -> Value {
        let hash = hash_text(name);
        Value(std::array::from_fn(|at| mixed(hash, at as u64)))
    }

    /// A special register that has a name in the source, with values that it can have: compilers know how large they are.
    pub fn special(register: &str) -> Option<Value> {
        let (below, base) = match register.split_once('.')? {
            ("%tid", "x") => (1 << 10, 0),
            ("%tid", _) => (1 << 6, 0),
            ("%ntid", _) => (1 << 10, 1),
            ("%ctaid" | "%nctaid", _) => (1 << 15, 1),
            _ => return None,
        };
        Some(Value::named(register).map(|bits| base + bits % below))
    }

    /// Returns whether it is the same at every point.
    pub fn is_number(self) -> bool {
        self == Value::constant(self.0[0])
    }

    pub fn map(self, of: impl Fn(u64) -> u64) -> Value {
        Value(self.0.map(of))
    }

    pub fn with(self, other: Value, of: impl Fn(u64, u64) -> u64) -> Value {
        Value(std::array::from_fn(|at| of(self.0[at], other.0[at])))
    }

    /// Its lowest bytes.
    pub fn masked(self, bytes: u8) -> Value {
        if bytes >= 8 { self } else { self.map(|bits| bits & ((1 << (8 * u32::from(bytes))) - 1)) }
    }

    /// Value of a commutative operation.
    pub fn sorted(name: &str, a: Value, b: Value) -> Value {
        let ordered = |at: usize| if a.0[at] <= b.0[at] { (a.0[at], b.0[at]) } else { (b.0[at], a.0[at]) };
        let hash = hash_text(name);
        Value(std::array::from_fn(|at| mixed(mixed(hash, ordered(at).0), ordered(at).1)))
    }
}

/// A number made of what an operation takes: the same for the same, and for nothing else.
pub fn hashed(name: &str, of: &[Value]) -> Value {
    let hash = hash_text(name);
    Value(std::array::from_fn(|at| of.iter().fold(hash, |so_far, value| mixed(so_far, value.0[at]))))
}

/// A kernel's registers.
pub struct Registers<'f> {
    pub instructions: Vec<&'f Instruction>,
    /// Instructions that write each register.
    pub writers: HashMap<&'f str, Vec<usize>>,
    parameters: HashMap<&'f str, usize>,
    /// Branches as places: source and target. `None` if some targets are known only in a run.
    branches: Option<Vec<(usize, usize)>>,
    known: RefCell<Known<'f>>,
}

/// Values found so far, by instruction and register. Without them the steps back double at each register that is read twice.
type Known<'f> = HashMap<(usize, &'f str), Value>;

/// Registers that are taken for something else than they are worth, and what follows from that.
struct Assumed<'v, 'f> {
    instead: &'v [(&'v str, Value)],
    known: &'v RefCell<Known<'f>>,
}

/// Steps from a value back to what it is made of.
const DEPTH_MAX: u32 = 200;

impl<'f> Registers<'f> {
    pub fn new(function: &'f Function) -> Self {
        let (mut instructions, mut labels) = (Vec::new(), HashMap::new());
        for item in function.items() {
            match item {
                Item::Instruction(instruction) => instructions.push(&**instruction),
                Item::Label(name, _) => drop(labels.insert(name.as_str(), instructions.len())),
                _ => {}
            }
        }
        let mut writers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, instruction) in instructions.iter().enumerate() {
            for register in written(instruction) {
                writers.entry(register).or_default().push(at);
            }
        }
        let parameters = function.params.iter().enumerate().map(|(at, one)| (one.name.as_str(), at)).collect();
        let branches = branches(&instructions, &labels);
        Registers { instructions, writers, parameters, branches, known: RefCell::default() }
    }

    /// The one instruction whose value of a register is read at a place: the last before it, if nothing leads there around it.
    fn reaching(&self, name: &str, place: usize) -> Option<usize> {
        let writers = self.writers.get(name)?;
        let from = match writers[..] {
            [one] => one,
            _ => *writers.iter().filter(|&&at| at < place).max()?,
        };
        let crosses = |&(of, to): &(usize, usize)| from < to && to <= place && !(from < of && of < place);
        let is_alone = writers.len() == 1 || self.branches.as_ref().is_some_and(|all| !all.iter().any(crosses));
        (is_alone && self.instructions[from].guard.is_none()).then_some(from)
    }

    /// Returns the value of a register where an instruction reads it; if several may have written it, a value of its own.
    fn register(&self, name: &'f str, place: usize, assumed: &Assumed<'_, 'f>, depth: u32) -> Value {
        if let Some((_, value)) = assumed.instead.iter().find(|(one, _)| *one == name) {
            return *value;
        }
        if !self.writers.contains_key(name) {
            return Value::special(name).unwrap_or_else(|| Value::named(&last_name(name)));
        }
        match self.reaching(name, place).filter(|_| depth < DEPTH_MAX) {
            Some(at) => self.found(at, name, assumed, depth + 1),
            None => self.own(name),
        }
    }

    /// A number that stands for whatever a register holds.
    pub fn own(&self, name: &str) -> Value {
        Value::named(name).masked(width(name))
    }

    /// Returns the values that a register holds anywhere.
    pub fn held(&self, name: &'f str) -> Vec<Value> {
        let writers = self.writers.get(name).map(Vec::as_slice).unwrap_or_default();
        let own = (writers.len() > 1).then(|| self.own(name));
        let written = writers.iter().map(|&at| self.written(at, name, &[]));
        // With 0 for a sum, what is added to it would look like the sum.
        own.into_iter().chain(written.filter(|value| !value.is_number())).collect()
    }

    fn operand(&self, operand: &'f Operand, place: usize, assumed: &Assumed<'_, 'f>, depth: u32) -> Value {
        match operand {
            Operand::Name(name) => self.register(name, place, assumed, depth),
            Operand::Immediate(Immediate::Int(value)) => Value::constant(*value as u64),
            Operand::Immediate(Immediate::F32(bits)) => Value::constant(u64::from(*bits)),
            Operand::Immediate(Immediate::F64(bits)) => Value::constant(*bits),
            Operand::Offset(name, offset) => {
                self.register(name, place, assumed, depth).map(|at| at.wrapping_add_signed(*offset))
            }
            Operand::Address { base, offset } => {
                let base =
                    base.as_deref().map_or(Value::constant(0), |base| self.register(base, place, assumed, depth));
                base.map(|at| at.wrapping_add_signed(*offset))
            }
            _ => Value::named(&format!("{operand:?}")),
        }
    }

    /// Returns the value that instruction `at` leaves in the register `name`, with others in place of some registers' values.
    pub fn written(&self, at: usize, name: &'f str, instead: &[(&str, Value)]) -> Value {
        let apart = RefCell::default();
        let known = if instead.is_empty() { &self.known } else { &apart };
        self.found(at, name, &Assumed { instead, known }, 0)
    }

    fn found(&self, at: usize, name: &'f str, assumed: &Assumed<'_, 'f>, depth: u32) -> Value {
        let known = assumed.known.borrow().get(&(at, name)).copied();
        known.unwrap_or_else(|| {
            let value = self
                .result(at, name, assumed, depth)
                // Nothing is known of it, but that it is not anything else.
                .unwrap_or_else(|| Value::named(&format!("instruction {at} {name}")))
                .masked(width(name));
            assumed.known.borrow_mut().insert((at, name), value);
            value
        })
    }

    fn result(&self, place: usize, name: &str, assumed: &Assumed<'_, 'f>, depth: u32) -> Option<Value> {
        let instruction = self.instructions[place];
        let mnemonic = instruction.opcode.split('.').next()?;
        let of = |at: usize| instruction.operands.get(at).map(|one| self.operand(one, place, assumed, depth));
        let ty = instruction.types().next_back();
        let bytes = ty.map_or(8, |ty| ty.size_bytes() as u8);
        let is_signed = ty.is_some_and(|ty| ty.name().starts_with('s'));
        let wide =
            |value: Value| if is_signed { value.map(|bits| bits as u32 as i32 as i64 as u64) } else { value.masked(4) };
        let is_wide = instruction.has("wide");
        let product = |a: Value, b: Value| {
            let (a, b) = if is_wide { (wide(a), wide(b)) } else { (a, b) };
            a.with(b, u64::wrapping_mul)
        };
        let sum = |a: Value, b: Value| a.with(b, u64::wrapping_add);
        let is_plain = !instruction.has("hi") && !instruction.has("cc") && !instruction.has("sat");
        Some(match mnemonic {
            "mov" | "cvta" => of(1)?,
            "cvt" => {
                let source = instruction.types().next_back()?;
                let is_whole = instruction.types().all(|ty| matches!(ty.name().as_bytes()[0], b'u' | b's' | b'b'));
                (is_whole && source.size_bytes() >= 4).then(|| {
                    if source.name() == "s32" {
                        wide(of(1).unwrap_or(Value::constant(0)))
                    } else {
                        of(1).unwrap_or(Value::constant(0)).masked(source.size_bytes() as u8)
                    }
                })?
            }
            "add" if is_plain => sum(of(1)?, of(2)?),
            "sub" if is_plain => of(1)?.with(of(2)?, u64::wrapping_sub),
            "mul" if is_plain => product(of(1)?, of(2)?),
            "mad" | "fma" if is_plain => sum(product(of(1)?, of(2)?), of(3)?),
            "and" => of(1)?.with(of(2)?, |a, b| a & b),
            "or" => of(1)?.with(of(2)?, |a, b| a | b),
            "xor" => of(1)?.with(of(2)?, |a, b| a ^ b),
            "shl" => of(1)?.with(of(2)?, |a, by| if by < 64 { a << by } else { 0 }),
            "shr" if !is_signed => of(1)?.masked(bytes).with(of(2)?, |a, by| if by < 64 { a >> by } else { 0 }),
            "min" | "max" => Value::sorted(mnemonic, of(1)?.masked(bytes), of(2)?.masked(bytes)),
            // Not worked out: that a small number divided by a large one leaves the small one is chance.
            "div" | "rem" => hashed(mnemonic, &[of(1)?.masked(bytes), of(2)?.masked(bytes)]),
            "ld" if instruction.has("param") => {
                let Operand::Address { base: Some(base), offset: 0 } = instruction.operands.get(1)? else {
                    return None;
                };
                let place = self.parameters.get(base.as_str())?;
                Value::named(&format!("parameter {place}")).masked(bytes)
            }
            // A number that memory need not hold the next time: what is compared stands on one line.
            "ld" if matches!(instruction.operands.first()?, Operand::Name(_)) && bytes >= 4 => {
                hashed("load", &[of(1)?]).masked(bytes)
            }
            "shfl" => {
                let mode = ["down", "bfly"].into_iter().find(|mode| instruction.has(mode))?;
                let Operand::Name(to) = first(instruction)? else { return None };
                (to == name).then(|| {
                    hashed(
                        mode,
                        &[of(1).unwrap_or(Value::constant(0)).masked(4), of(2).unwrap_or(Value::constant(0)).masked(4)],
                    )
                })?
            }
            _ => return None,
        })
    }
}

fn first(instruction: &Instruction) -> Option<&Operand> {
    match instruction.operands.first()? {
        Operand::Pair(first, _) => Some(first),
        other => Some(other),
    }
}

fn branches(instructions: &[&Instruction], labels: &HashMap<&str, usize>) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for (at, instruction) in instructions.iter().enumerate() {
        match (instruction.opcode.split('.').next()?, instruction.operands.first()) {
            ("bra", Some(Operand::Name(label))) => found.push((at, *labels.get(label.as_str())?)),
            ("bra" | "brx", _) => return None,
            _ => {}
        }
    }
    Some(found)
}

/// Registers that an instruction writes.
pub fn written(instruction: &Instruction) -> Vec<&str> {
    const NONE: [&str; 14] = [
        "st",
        "red",
        "bar",
        "barrier",
        "bra",
        "ret",
        "exit",
        "membar",
        "fence",
        "prefetch",
        "prefetchu",
        "cp",
        "nanosleep",
        "trap",
    ];
    if NONE.contains(&instruction.opcode.split('.').next().unwrap_or("")) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(operand) = instruction.operands.first() {
        names(operand, &mut found);
    }
    found
}

fn names<'o>(operand: &'o Operand, into: &mut Vec<&'o str>) {
    match operand {
        Operand::Name(name) if name.starts_with('%') => into.push(name),
        Operand::Vector(all) | Operand::List(all) => all.iter().for_each(|one| names(one, into)),
        Operand::Pair(a, b) => {
            names(a, into);
            names(b, into);
        }
        _ => {}
    }
}

/// Bytes of a register, by the names that NVIDIA's compilers give: `%rd1` and `%fd1` have eight. Of any other name nothing is cut off.
fn width(register: &str) -> u8 {
    match register.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "%r" | "%f" => 4,
        "%rs" => 2,
        _ => 8,
    }
}
