//! Constant expressions: literals, signs, `~`, `!`, casts, parentheses and the operators that PTX allows between them.

use super::{Parser, Result};
use crate::ast::{Immediate, Span};
use crate::lex::{self, Kind, Token};

/// Range of a PTX constant: 64 bits, signed or unsigned.
const VALUE_MIN: i128 = i64::MIN as i128;
const VALUE_MAX: i128 = u64::MAX as i128;

/// Precedence of `+` and `-`, and of `<<`, above which no operator looks like the end of a register count.
const SUM: u8 = 10;
const SHIFT: u8 = 9;

/// A constant, and whether it counts as unsigned: two constants are compared, divided and shifted as unsigned numbers if
/// one of them is.
#[derive(Debug, Clone, Copy)]
struct Constant {
    value: Immediate,
    unsigned: bool,
}

impl Constant {
    fn signed(value: i128) -> Constant {
        Constant { value: Immediate::Int(value), unsigned: false }
    }
}

impl Parser<'_> {
    /// Returns whether a constant starts here.
    pub(super) fn at_constant(&self) -> bool {
        match self.token.kind {
            Kind::Number => true,
            Kind::Punct(b'-' | b'+' | b'~' | b'!' | b'(') => true,
            Kind::Word => self.peek() == "WARP_SZ",
            _ => false,
        }
    }

    /// A constant expression.
    pub(super) fn constant(&mut self) -> Result<Immediate> {
        Ok(self.choice()?.value)
    }

    /// A constant expression, perhaps with `?` and `:`.
    fn choice(&mut self) -> Result<Constant> {
        let first = self.constant_unary()?;
        self.choice_after(first)
    }

    /// A constant expression that began with `!`, the token `start`.
    pub(super) fn negation(&mut self, start: Token) -> Result<Immediate> {
        let operand = self.nested("the expression".to_string(), start.span, |p| p.constant_unary())?;
        let first = self.signed(start, b'!', operand)?;
        Ok(self.choice_after(first)?.value)
    }

    fn choice_after(&mut self, first: Constant) -> Result<Constant> {
        let condition = self.constant_rest(first, 0)?;
        let start = self.token.span;
        if !self.eat(b'?')? {
            return Ok(condition);
        }
        let Immediate::Int(truth) = condition.value else {
            return Err(self.fail(start, "a float before `?`: expected an integer"));
        };
        let yes = self.nested("the expression".to_string(), start, |p| p.choice())?;
        self.expect(b':', "between the two values of the expression")?;
        let no = self.nested("the expression".to_string(), start, |p| p.choice())?;
        Ok(if truth != 0 { yes } else { no })
    }

    /// The number of registers in `%r<20>`, where `>` ends it.
    pub(super) fn register_count(&mut self, limit: u64) -> Result<u64> {
        let start = self.token.span;
        let what = "a number of registers";
        if !self.at_constant() {
            return Err(self.expected(what));
        }
        let first = self.constant_unary()?;
        match self.constant_rest(first, SHIFT)?.value {
            Immediate::Int(value) => self.limited(value, what, limit, start),
            _ => Err(self.fail(self.since(start), format!("a float where {what} is expected"))),
        }
    }

    /// A constant expression that must be an integer.
    pub(super) fn integer(&mut self, what: &str) -> Result<i128> {
        let start = self.token.span;
        if !self.at_constant() {
            return Err(self.expected(what));
        }
        match self.constant()? {
            Immediate::Int(value) => Ok(value),
            _ => Err(self.fail(self.since(start), format!("a float where {what} is expected"))),
        }
    }

    /// A non-negative integer.
    pub(super) fn unsigned(&mut self, what: &str) -> Result<u64> {
        self.unsigned_up_to(what, u64::MAX)
    }

    /// A non-negative integer not above `limit`.
    pub(super) fn unsigned_up_to(&mut self, what: &str, limit: u64) -> Result<u64> {
        let start = self.token.span;
        let value = self.integer(what)?;
        self.limited(value, what, limit, start)
    }

    fn limited(&self, value: i128, what: &str, limit: u64, start: Span) -> Result<u64> {
        match u64::try_from(value) {
            Ok(value) if value <= limit => Ok(value),
            _ => Err(self
                .fail(self.since(start), format!("number out of range: {value} is not {what} between 0 and {limit}"))),
        }
    }

    /// `+4`, `-4`, `+-4` or nothing, after the name of an address.
    pub(super) fn offset(&mut self) -> Result<i64> {
        let start = self.token.span;
        match self.constant_rest(Constant::signed(0), SUM)?.value {
            Immediate::Int(value) => i64::try_from(value).map_err(|_| {
                self.fail(
                    self.since(start),
                    format!("number out of range: an offset of {value} bytes does not fit a signed 64-bit number"),
                )
            }),
            _ => Err(self.fail(self.since(start), "a float where an offset in bytes is expected")),
        }
    }

    fn constant_unary(&mut self) -> Result<Constant> {
        let token = self.token;
        match token.kind {
            Kind::Number => {
                self.advance()?;
                let text = self.text_of(token);
                let value = lex::number(text).map_err(|message| self.fail(token.span, message))?;
                let large = matches!(value, Immediate::Int(value) if value > i128::from(i64::MAX));
                Ok(Constant { value, unsigned: large || text.ends_with('U') })
            }
            Kind::Word if self.peek() == "WARP_SZ" => {
                self.advance()?;
                Ok(Constant::signed(32))
            }
            Kind::Punct(sign @ (b'-' | b'+' | b'~' | b'!')) => {
                self.advance()?;
                let operand = self.nested("the expression".to_string(), token.span, |p| p.constant_unary())?;
                self.signed(token, sign, operand)
            }
            Kind::Punct(b'(') => {
                self.advance()?;
                if self.at_dot(".s64") || self.at_dot(".u64") {
                    return self.cast();
                }
                let value = self.nested("the parenthesis".to_string(), token.span, |p| p.choice())?;
                self.expect(b')', "to close the expression")?;
                Ok(value)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// `.s64)` or `.u64)` of a cast, and what it is of.
    fn cast(&mut self) -> Result<Constant> {
        let token = self.token;
        let unsigned = self.at_dot(".u64");
        self.advance()?;
        self.expect(b')', "after the type")?;
        let operand = self.nested("the expression".to_string(), token.span, |p| p.constant_unary())?;
        let Immediate::Int(value) = operand.value else {
            return Err(self.fail(self.since(token.span), "a float where an integer is cast"));
        };
        let bits = value as u64;
        let value = if unsigned { i128::from(bits) } else { i128::from(bits as i64) };
        Ok(Constant { value: Immediate::Int(value), unsigned })
    }

    fn signed(&self, token: Token, sign: u8, operand: Constant) -> Result<Constant> {
        let with = |value| Constant { value, ..operand };
        match (sign, operand.value) {
            (b'+', _) => Ok(operand),
            (b'-', Immediate::F32(bits)) => Ok(with(Immediate::F32(bits ^ 1 << 31))),
            (b'-', Immediate::F64(bits)) => Ok(with(Immediate::F64(bits ^ 1 << 63))),
            (b'-', Immediate::Int(value)) => Ok(with(self.in_range(token, Some(-value))?)),
            (b'!', Immediate::Int(value)) => Ok(Constant::signed(i128::from(value == 0))),
            (_, Immediate::Int(value)) => Ok(Constant { value: self.in_range(token, Some(!value))?, unsigned: true }),
            _ => {
                Err(self
                    .fail(self.since(token.span), format!("`{}` of a float: expected an integer", char::from(sign))))
            }
        }
    }

    fn in_range(&self, start: Token, value: Option<i128>) -> Result<Immediate> {
        match value {
            Some(value) if (VALUE_MIN..=VALUE_MAX).contains(&value) => Ok(Immediate::Int(value)),
            _ => {
                let span = self.since(start.span);
                let text = super::shortened(&self.text[span.start as usize..span.end as usize]);
                Err(self.fail(span, format!("number out of range: `{text}` does not fit 64 bits")))
            }
        }
    }

    /// Operators that bind at least as tightly as `least`, and their right-hand sides.
    fn constant_rest(&mut self, mut left: Constant, least: u8) -> Result<Constant> {
        while let Some((binding, gives, evaluate)) = operator(self.token.kind).filter(|&(binding, ..)| binding >= least)
        {
            let token = self.advance()?;
            let right = self.constant_unary()?;
            let right =
                self.nested("the expression".to_string(), token.span, |p| p.constant_rest(right, binding + 1))?;
            let (Immediate::Int(a), Immediate::Int(b)) = (left.value, right.value) else {
                return Err(self.fail(token.span, "arithmetic on a float constant: write its value instead"));
            };
            if matches!(token.kind, Kind::Punct(b'/' | b'%')) && b == 0 {
                return Err(self.fail(token.span, "division by zero in a constant expression"));
            }
            let unsigned = left.unsigned || token.kind != Kind::Pair(b'>', b'>') && right.unsigned;
            let converted = [a, b].map(|value| if unsigned { i128::from(value as u64) } else { value });
            let value = self.in_range(token, evaluate([a, b], converted))?;
            left = Constant { value, unsigned: unsigned && gives == Gives::Number || gives == Gives::Bits };
        }
        Ok(left)
    }
}

/// Result of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// A number as its operands are.
    Number,
    /// The answer yes or no, a signed 1 or 0.
    Truth,
    /// Bits, unsigned whatever they are of.
    Bits,
}

/// Value of an operator on two numbers as they are, and as unsigned ones if one of them is; `None` where it overflows.
type Evaluate = fn([i128; 2], [i128; 2]) -> Option<i128>;

fn truth(is: bool) -> Option<i128> {
    Some(i128::from(is))
}

/// How tightly an operator binds, in the order of C; its result and value.
fn operator(kind: Kind) -> Option<(u8, Gives, Evaluate)> {
    use Gives::*;
    Some(match kind {
        Kind::Pair(b'|', _) => (1, Truth, |[a, b], _| truth(a != 0 || b != 0)),
        Kind::Pair(b'&', _) => (2, Truth, |[a, b], _| truth(a != 0 && b != 0)),
        Kind::Punct(b'|') => (3, Bits, |[a, b], _| Some(a | b)),
        Kind::Punct(b'^') => (4, Bits, |[a, b], _| Some(a ^ b)),
        Kind::Punct(b'&') => (5, Bits, |[a, b], _| Some(a & b)),
        Kind::Pair(b'=', _) => (6, Truth, |_, [x, y]| truth(x == y)),
        Kind::Pair(b'!', _) => (6, Truth, |_, [x, y]| truth(x != y)),
        Kind::Punct(b'<') => (7, Truth, |_, [x, y]| truth(x < y)),
        Kind::Punct(b'>') => (7, Truth, |_, [x, y]| truth(x > y)),
        Kind::Pair(b'<', b'=') => (7, Truth, |_, [x, y]| truth(x <= y)),
        Kind::Pair(b'>', b'=') => (7, Truth, |_, [x, y]| truth(x >= y)),
        Kind::Pair(b'<', _) => (SHIFT, Number, |[a, b], _| (0..64).contains(&b).then(|| a << b)),
        Kind::Pair(b'>', _) => (SHIFT, Number, |[_, b], [x, _]| (0..64).contains(&b).then(|| x >> b)),
        Kind::Punct(b'+') => (SUM, Number, |[a, b], _| a.checked_add(b)),
        Kind::Punct(b'-') => (SUM, Number, |[a, b], _| a.checked_sub(b)),
        Kind::Punct(b'*') => (11, Number, |[a, b], _| a.checked_mul(b)),
        Kind::Punct(b'/') => (11, Number, |_, [x, y]| x.checked_div(y)),
        Kind::Punct(b'%') => (11, Number, |_, [x, y]| x.checked_rem(y)),
        _ => return None,
    })
}
