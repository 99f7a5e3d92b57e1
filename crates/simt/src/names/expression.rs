//! Expressions of CUDA C++, and what they are worth at some sample points.

use super::source::{Token, closing, is_name, split};
use super::values::{Value, hashed};

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A whole number and its bytes.
    Number(u64, u8),
    Name(String),
    /// `threadIdx.x` and the like.
    Member(String, String),
    Unary(char, Box<Expr>),
    Binary(String, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Call(String, Vec<Expr>),
}

const CASTS: [&str; 4] = ["static_cast", "reinterpret_cast", "const_cast", "volatile"];
const TYPES: [&str; 14] = [
    "T", "int", "unsigned", "float", "double", "long", "size_t", "const", "char", "uint64_t", "int64_t", "uint32_t",
    "short", "bool",
];
/// From the weakest to the strongest.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Expr {
    pub fn binary(operator: &str, left: Expr, right: Expr) -> Expr {
        Expr::Binary(operator.to_owned(), Box::new(left), Box::new(right))
    }

    /// Calls `visit` with each name in it.
    pub fn mentions(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Expr::Name(name) => visit(name),
            Expr::Number(..) | Expr::Member(..) => {}
            Expr::Unary(_, of) => of.mentions(visit),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                a.mentions(visit);
                b.mentions(visit);
            }
            Expr::Choice(a, b, c) => [a, b, c].into_iter().for_each(|one| one.mentions(visit)),
            Expr::Call(_, all) => all.iter().for_each(|one| one.mentions(visit)),
        }
    }
}

/// All of the words as one expression; `None` if it is not understood.
pub fn parse(tokens: &[Token]) -> Option<Expr> {
    let mut parser = Parser { tokens, at: 0 };
    let found = parser.choice(0)?;
    (parser.at == tokens.len()).then_some(found)
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
}

/// Deepest nesting of an expression.
const DEPTH_MAX: u32 = 40;

impl<'t> Parser<'t> {
    fn peek(&self) -> &'t str {
        self.tokens.get(self.at).map_or("", |token| &token.text)
    }

    fn takes(&mut self, text: &str) -> bool {
        let is = self.peek() == text;
        self.at += usize::from(is);
        is
    }

    fn choice(&mut self, depth: u32) -> Option<Expr> {
        if depth > DEPTH_MAX {
            return None;
        }
        let condition = self.level(0, depth + 1)?;
        if !self.takes("?") {
            return Some(condition);
        }
        let yes = self.choice(depth + 1)?;
        if !self.takes(":") {
            return None;
        }
        let no = self.choice(depth + 1)?;
        Some(Expr::Choice(Box::new(condition), Box::new(yes), Box::new(no)))
    }

    fn level(&mut self, level: usize, depth: u32) -> Option<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary(depth) };
        let mut left = self.level(level + 1, depth)?;
        while operators.contains(&self.peek()) {
            let operator = self.peek();
            self.at += 1;
            left = Expr::binary(operator, left, self.level(level + 1, depth)?);
        }
        Some(left)
    }

    fn unary(&mut self, depth: u32) -> Option<Expr> {
        if depth > DEPTH_MAX {
            return None;
        }
        for sign in ["-", "~", "!", "*"] {
            if self.takes(sign) {
                let of = self.unary(depth + 1)?;
                return Some(match sign {
                    "*" => Expr::Index(Box::new(of), Box::new(Expr::Number(0, 4))),
                    _ => Expr::Unary(sign.chars().next()?, Box::new(of)),
                });
            }
        }
        // A cast between brackets.
        if self.peek() == "(" {
            let close = closing(self.tokens, self.at)?;
            let words = &self.tokens[self.at + 1..close];
            if !words.is_empty() && words.iter().all(|token| TYPES.contains(&token.text.as_str())) {
                self.at = close + 1;
                let of = self.unary(depth + 1)?;
                return Some(cast(words, of));
            }
        }
        self.postfix(depth)
    }

    fn postfix(&mut self, depth: u32) -> Option<Expr> {
        let mut found = self.primary(depth)?;
        loop {
            if self.peek() == "[" {
                let close = closing(self.tokens, self.at)?;
                let index = parse(&self.tokens[self.at + 1..close])?;
                self.at = close + 1;
                found = Expr::Index(Box::new(found), Box::new(index));
            } else if self.takes(".") {
                let Expr::Name(of) = found else { return None };
                let member = self.peek();
                self.at += 1;
                found = Expr::Member(of, member.to_owned());
            } else {
                return Some(found);
            }
        }
    }

    fn primary(&mut self, depth: u32) -> Option<Expr> {
        if self.takes("(") {
            let inner = self.choice(depth + 1)?;
            return self.takes(")").then_some(inner);
        }
        let text = self.peek();
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            self.at += 1;
            return number(text);
        }
        if !is_name(text) {
            return None;
        }
        let mut name = text;
        self.at += 1;
        while self.takes("::") {
            self.takes("template");
            name = self.peek();
            self.at += 1;
        }
        // `name<...>(`: arguments of a template.
        let mut words: &[Token] = &[];
        if self.peek() == "<" {
            let close =
                self.tokens[self.at..].iter().take(24).position(|token| token.text == ">").map(|end| self.at + end);
            let is_call = close.is_some_and(|close| self.tokens.get(close + 1).is_some_and(|token| token.text == "("));
            if let Some(close) = close.filter(|_| is_call) {
                words = &self.tokens[self.at + 1..close];
                self.at = close + 1;
            }
        }
        if self.peek() != "(" {
            return Some(Expr::Name(name.to_owned()));
        }
        let close = closing(self.tokens, self.at)?;
        let arguments: Vec<Expr> =
            split(&self.tokens[self.at + 1..close]).into_iter().map(parse).collect::<Option<_>>()?;
        let of = &self.tokens[self.at - 1..self.at];
        self.at = close + 1;
        if CASTS.contains(&name) {
            return Some(cast(words, arguments.into_iter().next()?));
        }
        if TYPES.contains(&name) {
            return Some(cast(of, arguments.into_iter().next()?));
        }
        Some(Expr::Call(name.to_owned(), arguments))
    }
}

/// A cast matters where it widens.
fn cast(words: &[Token], of: Expr) -> Expr {
    let has = |word: &str| words.iter().any(|token| token.text == word);
    let is_wide = !has("*") && (has("size_t") || has("long") || has("uint64_t") || has("int64_t"));
    if is_wide { Expr::Call("wide".to_owned(), vec![of]) } else { of }
}

fn number(text: &str) -> Option<Expr> {
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.strip_prefix("0x") {
        Some(digits) => (16, digits),
        None => (10, lower.as_str()),
    };
    let digits = digits.trim_end_matches(['u', 'l']);
    let bytes = if lower.ends_with("ll") || lower.ends_with("ul") || lower.ends_with('l') { 8 } else { 4 };
    u64::from_str_radix(digits, radix).ok().map(|value| Expr::Number(value, bytes))
}

/// A value of the source at the sample points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub value: Value,
    /// 4 or 8.
    pub bytes: u8,
    pub is_signed: bool,
    /// Bytes of a pointer's target; 0 for other values.
    pub stride: u8,
}

/// Values that an expression may have: more than one where a condition or a template decides.
pub type Samples = Vec<Sample>;

/// Most of them that are looked at.
const ALTERNATIVES_MAX: usize = 12;

/// Names in scope of an expression.
pub trait Scope {
    /// Values of a name.
    fn name(&self, name: &str) -> Samples;
    /// Values of a call of a function of the source, where it does nothing but give back an expression.
    fn call(&self, name: &str, arguments: &[Samples]) -> Samples;
}

/// Values of an expression; none if that is not known.
pub fn evaluate(expr: &Expr, scope: &dyn Scope) -> Samples {
    let mut found = match expr {
        Expr::Number(value, bytes) => vec![plain(Value::constant(*value), *bytes, true)],
        Expr::Name(name) => scope.name(name),
        Expr::Member(of, axis) => special(of, axis).into_iter().collect(),
        Expr::Unary(sign, of) => evaluate(of, scope).iter().filter_map(|&of| unary(*sign, of)).collect(),
        Expr::Binary(operator, a, b) => pairs(&evaluate(a, scope), &evaluate(b, scope), |a, b| binary(operator, a, b)),
        Expr::Choice(_, yes, no) => {
            let (yes, no) = (evaluate(yes, scope), evaluate(no, scope));
            if yes.is_empty() || no.is_empty() { Vec::new() } else { [yes, no].concat() }
        }
        Expr::Index(of, at) => pairs(&evaluate(of, scope), &evaluate(at, scope), |of, at| {
            let address = binary("+", of, at)?;
            let loaded = hashed("load", &[address.value]);
            (of.stride > 0).then(|| plain(loaded.masked(of.stride), of.stride, false))
        }),
        Expr::Call(name, arguments) => {
            let arguments: Vec<Samples> = arguments.iter().map(|one| evaluate(one, scope)).collect();
            call(name, &arguments, scope)
        }
    };
    found.dedup();
    found.truncate(ALTERNATIVES_MAX);
    found
}

fn plain(value: Value, bytes: u8, is_signed: bool) -> Sample {
    Sample { value, bytes, is_signed, stride: 0 }
}

fn pairs(left: &[Sample], right: &[Sample], of: impl Fn(Sample, Sample) -> Option<Sample>) -> Samples {
    left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b))).filter_map(|(a, b)| of(a, b)).collect()
}

/// `threadIdx.x` as the register that PTX has for it.
fn special(of: &str, axis: &str) -> Option<Sample> {
    let register = match of {
        "threadIdx" => "%tid",
        "blockIdx" => "%ctaid",
        "blockDim" => "%ntid",
        "gridDim" => "%nctaid",
        _ => return None,
    };
    Some(plain(Value::special(&format!("{register}.{axis}"))?, 4, false))
}

fn call(name: &str, arguments: &[Samples], scope: &dyn Scope) -> Samples {
    let one = |at: usize| arguments.get(at).cloned().unwrap_or_default();
    match (name, arguments.len()) {
        ("wide", 1) => one(0).into_iter().map(|of| plain(of.extended(), 8, of.is_signed)).collect(),
        ("__shfl_down_sync", 3) => pairs(&one(1), &one(2), |v, by| {
            Some(plain(hashed("down", &[v.value, by.value]).masked(v.bytes), v.bytes, false))
        }),
        ("__shfl_xor_sync", 3) => pairs(&one(1), &one(2), |v, by| {
            Some(plain(hashed("bfly", &[v.value, by.value]).masked(v.bytes), v.bytes, false))
        }),
        ("min" | "max", 2) => pairs(&one(0), &one(1), |a, b| {
            Some(plain(Value::sorted(name, a.value, b.value).masked(a.bytes), a.bytes, false))
        }),
        _ => scope.call(name, arguments),
    }
}

impl Sample {
    /// Returns it extended to 64 bits.
    fn extended(self) -> Value {
        if self.bytes == 4 && self.is_signed {
            self.value.map(|bits| bits as u32 as i32 as i64 as u64)
        } else {
            self.value
        }
    }
}

fn unary(sign: char, of: Sample) -> Option<Sample> {
    let value = match sign {
        '-' => of.value.map(u64::wrapping_neg),
        '~' => of.value.map(|bits| !bits),
        _ => return None,
    };
    (of.stride == 0).then(|| plain(value.masked(of.bytes), of.bytes, of.is_signed))
}

fn binary(operator: &str, a: Sample, b: Sample) -> Option<Sample> {
    if a.stride > 0 || b.stride > 0 {
        let (pointer, index) = if a.stride > 0 { (a, b) } else { (b, a) };
        let value =
            pointer.value.with(index.extended(), |at, by| at.wrapping_add(by.wrapping_mul(u64::from(pointer.stride))));
        return (operator == "+" && index.stride == 0).then_some(Sample { value, ..pointer });
    }
    let bytes = a.bytes.max(b.bytes);
    let is_signed = [a, b].iter().filter(|one| one.bytes == bytes).all(|one| one.is_signed);
    let (left, right) = if bytes == 8 { (a.extended(), b.extended()) } else { (a.value, b.value) };
    let value = match operator {
        "+" => left.with(right, u64::wrapping_add),
        "-" => left.with(right, u64::wrapping_sub),
        "*" => left.with(right, u64::wrapping_mul),
        "&" => left.with(right, |a, b| a & b),
        "|" => left.with(right, |a, b| a | b),
        "^" => left.with(right, |a, b| a ^ b),
        "<<" => a.value.with(b.value, |a, by| if by < 64 { a << by } else { 0 }),
        ">>" if !a.is_signed => a.value.with(b.value, |a, by| if by < 64 { a >> by } else { 0 }),
        "/" | "%" if is_signed => return None,
        // Compilers divide by a power of two without dividing.
        "/" if power(b).is_some() => left.map(|bits| bits >> power(b).unwrap_or(0)),
        "%" if power(b).is_some() => left.with(right, |a, b| a & b.wrapping_sub(1)),
        "/" => hashed("div", &[left, right]),
        "%" => hashed("rem", &[left, right]),
        _ => return None,
    };
    Some(plain(value.masked(bytes), bytes, is_signed))
}

/// The power of two that a number is.
fn power(of: Sample) -> Option<u32> {
    let first = of.value.0[0];
    (first.is_power_of_two() && of.value == Value::constant(first)).then(|| first.trailing_zeros())
}
