//! Comparisons and what is chosen by them: `set`, `setp`, `slct`, `testp`.

use super::float::Format;
use super::{Exact, Results, SOURCES, Ty};
use crate::code::Combine;

/// The question of a comparison. The last six and `Num`, `Nan` are of floats alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

use Comparison::*;

impl Comparison {
    pub fn from_word(word: &str) -> Option<Comparison> {
        Some(match word {
            "eq" => Eq,
            "ne" => Ne,
            "lt" | "lo" => Lt,
            "le" | "ls" => Le,
            "gt" | "hi" => Gt,
            "ge" | "hs" => Ge,
            "equ" => Equ,
            "neu" => Neu,
            "ltu" => Ltu,
            "leu" => Leu,
            "gtu" => Gtu,
            "geu" => Geu,
            "num" => Num,
            "nan" => Nan,
            _ => return None,
        })
    }

    /// The answer for two values of which `order` is how they compare, `None` if one is a NaN.
    pub(super) fn of(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let Some(order) = order else { return matches!(self, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan) };
        match self {
            Eq | Equ => order == Equal,
            Ne | Neu => order != Equal,
            Lt | Ltu => order == Less,
            Le | Leu => order != Greater,
            Gt | Gtu => order == Greater,
            Ge | Geu => order != Less,
            Num => true,
            Nan => false,
        }
    }
}

impl Exact {
    pub(super) fn compare(&self, s: &[u64; SOURCES]) -> Results {
        match self.verb {
            "testp" => [self.tested(s[0]), 0],
            "slct" => [self.selected(s), 0],
            "setp" => {
                let packed = matches!(self.from, Ty::Floats(_));
                let first = self.compared(s[0], s[1]);
                let second = if packed { self.compared(s[0] >> 16, s[1] >> 16) } else { !first };
                [u64::from(self.combined(first, s[2])), u64::from(self.combined(second, s[2]))]
            }
            _ => [self.set(s), 0],
        }
    }

    /// `set`: a number for yes. Packed sources are compared half by half.
    fn set(&self, s: &[u64; SOURCES]) -> u64 {
        let answer = |shift: u32| self.combined(self.compared(s[0] >> shift, s[1] >> shift), s[2]);
        let chosen = |is: bool, yes: u64| if is { yes } else { 0 };
        match (self.from, self.to) {
            (Ty::Floats(_), Ty::Floats(format)) => {
                chosen(answer(0), format.one()) | chosen(answer(16), format.one()) << 16
            }
            (Ty::Floats(_), _) => chosen(answer(0), 0xffff) | chosen(answer(16), 0xffff) << 16,
            (_, Ty::Float(format)) => chosen(answer(0), format.one()),
            (_, Ty::Integer(integer)) => chosen(answer(0), integer.mask()),
            _ => 0,
        }
    }

    pub(super) fn combined(&self, compared: bool, other: u64) -> bool {
        match self.combine {
            Combine::None => compared,
            Combine::And => compared & (other != 0),
            Combine::Or => compared | (other != 0),
            Combine::Xor => compared ^ (other != 0),
        }
    }

    /// The comparison of two scalars of the source type, in the low bits.
    fn compared(&self, a: u64, b: u64) -> bool {
        match self.from {
            Ty::Integer(integer) => self.comparison.of(integer.value(a).partial_cmp(&integer.value(b))),
            Ty::Float(format) | Ty::Floats(format) => {
                let (x, y) = (self.real(format, a), self.real(format, b));
                self.comparison.of(x.partial_cmp(&y))
            }
            Ty::Integers(_) | Ty::Singles | Ty::Bytes(_) => false,
        }
    }

    /// The number of the low bits, flushed if the opcode says so.
    fn real(&self, format: Format, bits: u64) -> f64 {
        let bits = bits & (u64::MAX >> (64 - format.bits()));
        format.to_f64(if self.flags.flush { format.flushed(bits) } else { bits })
    }

    /// `slct`: the first if the third is not negative; a NaN counts as negative, -0 does not.
    fn selected(&self, s: &[u64; SOURCES]) -> u64 {
        let first = match self.from {
            Ty::Float(format) => self.real(format, s[2]) >= 0.0,
            _ => s[2] as i32 >= 0,
        };
        if first { s[0] } else { s[1] }
    }

    fn tested(&self, bits: u64) -> u64 {
        let Ty::Float(format) = self.to else { return 0 };
        let bits = bits & (u64::MAX >> (64 - format.bits()));
        let (nan, infinite) = (format.is_nan(bits), bits & !format.sign() == format.infinity());
        u64::from(match self.mode {
            "finite" => !nan && !infinite,
            "infinite" => infinite,
            "number" => !nan,
            "notanumber" => nan,
            // Zero counts as normal.
            "normal" => !nan && !infinite && !format.is_subnormal(bits),
            _ => format.is_subnormal(bits),
        })
    }
}
