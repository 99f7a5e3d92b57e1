//! Constant expressions: literals, signs, `~`, parentheses and the arithmetic that PTX allows between them.

use super::{Parser, Result};
use crate::ast::Immediate;
use crate::lex::{self, Kind, Token};

/// What PTX calls a constant is 64 bits wide, signed or not.
const VALUE_MIN: i128 = i64::MIN as i128;
const VALUE_MAX: i128 = u64::MAX as i128;

/// How tightly `+` and `-` bind.
const SUM: u8 = 5;

impl Parser<'_> {
    /// Whether a constant starts here.
    pub(super) fn at_constant(&self) -> bool {
        match self.token.kind {
            Kind::Number => true,
            Kind::Punct(b'-' | b'+' | b'~' | b'(') => true,
            Kind::Word => self.peek() == "WARP_SZ",
            _ => false,
        }
    }

    /// A constant expression.
    pub(super) fn constant(&mut self) -> Result<Immediate> {
        let first = self.constant_unary()?;
        self.constant_rest(first, 0)
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
        match u64::try_from(value) {
            Ok(value) if value <= limit => Ok(value),
            _ => Err(self
                .fail(self.since(start), format!("number out of range: {value} is not {what} between 0 and {limit}"))),
        }
    }

    /// `+4`, `-4`, `+-4` or nothing, after the name of an address.
    pub(super) fn offset(&mut self) -> Result<i64> {
        let start = self.token.span;
        match self.constant_rest(Immediate::Int(0), SUM)? {
            Immediate::Int(value) => i64::try_from(value).map_err(|_| {
                self.fail(
                    self.since(start),
                    format!("number out of range: an offset of {value} bytes does not fit a signed 64-bit number"),
                )
            }),
            _ => Err(self.fail(self.since(start), "a float where an offset in bytes is expected")),
        }
    }

    fn constant_unary(&mut self) -> Result<Immediate> {
        let token = self.token;
        match token.kind {
            Kind::Number => {
                self.advance()?;
                lex::number(self.text_of(token)).map_err(|message| self.fail(token.span, message))
            }
            Kind::Word if self.peek() == "WARP_SZ" => {
                self.advance()?;
                Ok(Immediate::Int(32))
            }
            Kind::Punct(sign @ (b'-' | b'+' | b'~')) => {
                self.advance()?;
                let value = self.nested("the expression".to_string(), token.span, |p| p.constant_unary())?;
                self.signed(token, sign, value)
            }
            Kind::Punct(b'(') => {
                self.advance()?;
                let value = self.nested("the parenthesis".to_string(), token.span, |p| p.constant())?;
                self.expect(b')', "to close the expression")?;
                Ok(value)
            }
            _ => Err(self.expected("a number")),
        }
    }

    fn signed(&self, token: Token, sign: u8, value: Immediate) -> Result<Immediate> {
        match (sign, value) {
            (b'+', value) => Ok(value),
            (b'-', Immediate::F32(bits)) => Ok(Immediate::F32(bits ^ 1 << 31)),
            (b'-', Immediate::F64(bits)) => Ok(Immediate::F64(bits ^ 1 << 63)),
            (b'-', Immediate::Int(value)) => self.in_range(token, Some(-value)),
            (_, Immediate::Int(value)) => self.in_range(token, Some(!value)),
            _ => Err(self.fail(self.since(token.span), "`~` of a float: expected an integer")),
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
    fn constant_rest(&mut self, mut left: Immediate, least: u8) -> Result<Immediate> {
        while let Some((symbol, binding)) = operator(self.token.kind).filter(|&(_, binding)| binding >= least) {
            let token = self.advance()?;
            let right = self.constant_unary()?;
            let right =
                self.nested("the expression".to_string(), token.span, |p| p.constant_rest(right, binding + 1))?;
            let (Immediate::Int(a), Immediate::Int(b)) = (left, right) else {
                return Err(self.fail(token.span, "arithmetic on a float constant: write its value instead"));
            };
            if matches!(symbol, b'/' | b'%') && b == 0 {
                return Err(self.fail(token.span, "division by zero in a constant expression"));
            }
            left = self.in_range(token, evaluate(symbol, a, b))?;
        }
        Ok(left)
    }
}

/// An operator's symbol and how tightly it binds.
fn operator(kind: Kind) -> Option<(u8, u8)> {
    Some(match kind {
        Kind::Punct(b'|') => (b'|', 1),
        Kind::Punct(b'^') => (b'^', 2),
        Kind::Punct(b'&') => (b'&', 3),
        Kind::ShiftLeft => (b'<', 4),
        Kind::ShiftRight => (b'>', 4),
        Kind::Punct(symbol @ (b'+' | b'-')) => (symbol, SUM),
        Kind::Punct(symbol @ (b'*' | b'/' | b'%')) => (symbol, 6),
        _ => return None,
    })
}

/// The value, or `None` where it overflows.
fn evaluate(symbol: u8, a: i128, b: i128) -> Option<i128> {
    match symbol {
        b'|' => Some(a | b),
        b'^' => Some(a ^ b),
        b'&' => Some(a & b),
        b'<' => (0..64).contains(&b).then(|| a << b),
        b'>' => (0..64).contains(&b).then(|| a >> b),
        b'+' => a.checked_add(b),
        b'-' => a.checked_sub(b),
        b'*' => a.checked_mul(b),
        b'/' => a.checked_div(b),
        _ => a.checked_rem(b),
    }
}
