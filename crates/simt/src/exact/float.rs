//! Binary floating point of any format by integer arithmetic: every operation is computed exactly, or exactly enough to
//! round once, in any direction.

/// The layout of a format: a sign, the exponent's bits, the fraction's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    /// The highest exponent holds numbers too, but for one NaN, and there is no infinity (e4m3).
    pub finite: bool,
}

const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Format {
    Format { exponent_bits, fraction_bits, finite: false }
}

pub const F16: Format = ieee(5, 10);
pub const BF16: Format = ieee(8, 7);
pub const F32: Format = ieee(8, 23);
pub const F64: Format = ieee(11, 52);
/// Without the thirteen zero bits that an f32 register has below it.
pub const TF32: Format = ieee(8, 10);
pub const E5M2: Format = ieee(5, 2);
pub const E4M3: Format = Format { exponent_bits: 4, fraction_bits: 3, finite: true };

/// Rounding of a result that lies between two numbers of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearer, at the middle to the even one.
    Nearest,
    /// To the nearer, at the middle away from zero.
    NearestAway,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Rounding {
    /// Returns whether a magnitude with the last kept bit `odd` and the cut-off part `rest` is rounded up.
    fn goes_up(self, negative: bool, odd: bool, rest: Rest) -> bool {
        match self {
            _ if rest == Rest::Nothing => false,
            Rounding::Nearest => rest == Rest::More || rest == Rest::Half && odd,
            Rounding::NearestAway => rest != Rest::Less,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        }
    }
}

/// The cut-off part, compared with half of the last kept bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Less,
    Half,
    More,
}

/// A number that is not a NaN: `significand * 2^exponent` with a sign. The significand's lowest bit also stands for
/// everything below it, where a result was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    Infinite { negative: bool },
    Finite { negative: bool, exponent: i32, significand: u128 },
}

use Number::{Finite, Infinite};

impl Format {
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    pub const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// All ones in the exponent: infinity where there is one.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The largest finite number.
    pub const fn largest(self) -> u64 {
        if self.finite { self.sign() - 2 } else { self.infinity() - 1 }
    }

    /// The one NaN that instructions give: all ones but the sign, except for f64.
    pub const fn nan(self) -> u64 {
        if self.fraction_bits == 52 { 0xfff8_0000_0000_0000 } else { self.sign() - 1 }
    }

    pub const fn one(self) -> u64 {
        ((1 << (self.exponent_bits - 1)) - 1) << self.fraction_bits
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    const fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        if self.finite { self.magnitude(bits) == self.sign() - 1 } else { self.magnitude(bits) > self.infinity() }
    }

    pub const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude >> self.fraction_bits == 0
    }

    /// The bits with a subnormal number made zero; the sign stays.
    pub const fn flushed(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// The number of these bits, which are no NaN.
    pub fn number(self, bits: u64) -> Number {
        let (negative, magnitude) = (self.is_negative(bits), self.magnitude(bits));
        if magnitude == self.infinity() && !self.finite {
            return Infinite { negative };
        }
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let biased = (magnitude >> self.fraction_bits) as i32;
        let (significand, biased) =
            if biased == 0 { (fraction, 1) } else { (fraction | 1 << self.fraction_bits, biased) };
        let exponent = biased - self.bias() - self.fraction_bits as i32;
        Finite { negative, exponent, significand: u128::from(significand) }
    }

    /// The bits of a number, rounded.
    pub fn round(self, number: Number, rounding: Rounding) -> u64 {
        let (negative, exponent, significand) = match number {
            Infinite { negative } => return self.signed(negative, self.infinity()),
            Finite { negative, significand: 0, .. } => return self.signed(negative, 0),
            Finite { negative, exponent, significand } => (negative, exponent, significand),
        };
        let top = exponent + 127 - significand.leading_zeros() as i32;
        let lowest = 1 - self.bias();
        let unit = top.max(lowest) - self.fraction_bits as i32;
        let (kept, rest) = cut(significand, unit - exponent);
        let kept = kept as u64 + u64::from(rounding.goes_up(negative, kept & 1 != 0, rest));
        // A carry out of the fraction moves into the exponent by itself.
        let steps = (top.max(lowest) - lowest) as u64;
        let magnitude = (steps << self.fraction_bits) + kept;
        if magnitude <= self.largest() {
            return self.signed(negative, magnitude);
        }
        let outwards = match rounding {
            Rounding::Nearest | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        self.signed(negative, if outwards { self.largest() + 1 } else { self.largest() })
    }

    /// The bits of a number as `.ftz` rounds it: to the format's bits as if exponents had no lower end, and what is
    /// then below the smallest normal number becomes a zero of its sign. `2^-126 * (1 - 2^-24)` in f32 is such a one,
    /// though the nearest f32 is 2^-126.
    pub fn round_flushing(self, number: Number, rounding: Rounding) -> u64 {
        let Finite { negative, exponent, significand } = number else { return self.round(number, rounding) };
        let top = exponent + 127 - significand.leading_zeros() as i32;
        let lowest = 1 - self.bias();
        if significand == 0 || top >= lowest {
            return self.round(number, rounding);
        }
        let (kept, rest) = cut(significand, top - self.fraction_bits as i32 - exponent);
        let kept = kept as u64 + u64::from(rounding.goes_up(negative, kept & 1 != 0, rest));
        let reaches_normal = top == lowest - 1 && kept == 2 << self.fraction_bits;
        self.signed(negative, if reaches_normal { 1 << self.fraction_bits } else { 0 })
    }

    pub const fn signed(self, negative: bool, magnitude: u64) -> u64 {
        if negative { magnitude | self.sign() } else { magnitude }
    }

    /// The number as f64, which holds those of every other format.
    pub fn to_f64(self, bits: u64) -> f64 {
        if self.is_nan(bits) {
            return f64::NAN;
        }
        f64::from_bits(F64.round(self.number(bits), Rounding::Nearest))
    }
}

/// The bits of `significand` from bit `by` up (down, if negative), and what is cut off.
fn cut(significand: u128, by: i32) -> (u128, Rest) {
    if by <= 0 {
        return (significand << -by, Rest::Nothing);
    }
    if by > 128 {
        return (0, if significand == 0 { Rest::Nothing } else { Rest::Less });
    }
    let kept = if by == 128 { 0 } else { significand >> by };
    let rest = if by == 128 { significand } else { significand & ((1 << by) - 1) };
    let rest = match rest.cmp(&(1 << (by - 1))) {
        _ if rest == 0 => Rest::Nothing,
        std::cmp::Ordering::Less => Rest::Less,
        std::cmp::Ordering::Equal => Rest::Half,
        std::cmp::Ordering::Greater => Rest::More,
    };
    (kept, rest)
}

/// Moves the highest bit to bit `to`.
fn normalized(exponent: i32, significand: u128, to: u32) -> (i32, u128) {
    let up = to as i32 - (127 - significand.leading_zeros() as i32);
    (exponent - up, if up >= 0 { significand << up } else { significand >> -up })
}

/// A product; `None` is a NaN (zero times infinity).
pub fn product(a: Number, b: Number) -> Option<Number> {
    let negative = a.is_negative() != b.is_negative();
    match (a, b) {
        (Finite { exponent: ea, significand: sa, .. }, Finite { exponent: eb, significand: sb, .. }) => {
            Some(Finite { negative, exponent: ea + eb, significand: sa * sb })
        }
        (Finite { significand: 0, .. }, _) | (_, Finite { significand: 0, .. }) => None,
        _ => Some(Infinite { negative }),
    }
}

/// A sum, exact enough to be rounded once; `None` is a NaN (infinities of both signs).
pub fn sum(a: Number, b: Number, rounding: Rounding) -> Option<Number> {
    let (ea, sa, eb, sb) = match (a, b) {
        (Infinite { negative: x }, Infinite { negative: y }) => return (x == y).then_some(a),
        (Infinite { .. }, _) => return Some(a),
        (_, Infinite { .. }) => return Some(b),
        (Finite { exponent: ea, significand: sa, .. }, Finite { exponent: eb, significand: sb, .. }) => {
            (ea, sa, eb, sb)
        }
    };
    let (na, nb) = (a.is_negative(), b.is_negative());
    // Equal signs keep theirs; a sum of nothing is +0 except towards minus infinity.
    let zero = if na == nb { na } else { rounding == Rounding::Down };
    match (sa, sb) {
        (0, 0) => return Some(Finite { negative: zero, exponent: 0, significand: 0 }),
        (0, _) => return Some(b),
        (_, 0) => return Some(a),
        _ => {}
    }
    // One bit is left for the carry.
    let ((ea, sa), (eb, sb)) = (normalized(ea, sa, 126), normalized(eb, sb, 126));
    let exponent = ea.max(eb);
    let (sa, sb) = (jammed(sa, exponent - ea), jammed(sb, exponent - eb));
    let (negative, significand) = if na == nb {
        (na, sa + sb)
    } else if sa > sb {
        (na, sa - sb)
    } else if sa < sb {
        (nb, sb - sa)
    } else {
        (zero, 0)
    };
    Some(Finite { negative, exponent, significand })
}

/// Shifted down; the lowest bit keeps that something was lost. What is lost lies far below every format's last bit:
/// two numbers that cancel are at most one place apart and lose nothing.
fn jammed(significand: u128, by: i32) -> u128 {
    let (kept, rest) = cut(significand, by);
    kept | u128::from(rest != Rest::Nothing)
}

/// A quotient; `None` is a NaN.
pub fn quotient(a: Number, b: Number) -> Option<Number> {
    let negative = a.is_negative() != b.is_negative();
    let (ea, sa, eb, sb) = match (a, b) {
        (Infinite { .. }, Infinite { .. }) => return None,
        (Infinite { .. }, _) => return Some(Infinite { negative }),
        (_, Infinite { .. }) => return Some(Finite { negative, exponent: 0, significand: 0 }),
        (Finite { exponent: ea, significand: sa, .. }, Finite { exponent: eb, significand: sb, .. }) => {
            (ea, sa, eb, sb)
        }
    };
    match (sa, sb) {
        (0, 0) => return None,
        (0, _) => return Some(Finite { negative, exponent: 0, significand: 0 }),
        (_, 0) => return Some(Infinite { negative }),
        _ => {}
    }
    let ((ea, sa), (eb, sb)) = (normalized(ea, sa, 127), normalized(eb, sb, 60));
    let significand = (sa / sb) | u128::from(sa % sb != 0);
    Some(Finite { negative, exponent: ea - eb, significand })
}

/// A square root; `None` is a NaN. That of -0 is -0.
pub fn root(a: Number) -> Option<Number> {
    match a {
        Finite { significand: 0, .. } | Infinite { negative: false } => Some(a),
        Infinite { .. } | Finite { negative: true, .. } => None,
        Finite { exponent, significand, .. } => {
            let (mut exponent, mut significand) = normalized(exponent, significand, 126);
            if exponent % 2 != 0 {
                (exponent, significand) = (exponent + 1, significand >> 1);
            }
            let root = significand.isqrt();
            let inexact = u128::from(root * root != significand);
            // Two bits more than the root has, so that the last one can say "and something".
            Some(Finite { negative: false, exponent: exponent / 2 - 2, significand: root << 2 | inexact })
        }
    }
}

impl Number {
    pub fn is_negative(self) -> bool {
        match self {
            Infinite { negative } | Finite { negative, .. } => negative,
        }
    }

    /// An integer.
    pub fn integer(value: i128) -> Number {
        Finite { negative: value < 0, exponent: 0, significand: value.unsigned_abs() }
    }

    /// The integer next to it in the direction of `rounding`, at most 2^100 in magnitude; `None` of infinities.
    pub fn to_integer(self, rounding: Rounding) -> Option<i128> {
        let Finite { negative, exponent, significand } = self else { return None };
        if significand == 0 {
            return Some(0);
        }
        let top = exponent + 127 - significand.leading_zeros() as i32;
        let magnitude = if top >= 100 {
            1 << 100
        } else {
            let (kept, rest) = cut(significand, -exponent);
            kept + u128::from(rounding.goes_up(negative, kept & 1 != 0, rest))
        } as i128;
        Some(if negative { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_survives_a_round_trip_through_every_wider_format() {
        for bits in 0..=0xffff {
            if F16.is_nan(bits) {
                continue;
            }
            for format in [F16, F32, F64] {
                let wide = format.round(F16.number(bits), Rounding::Zero);
                assert_eq!(F16.round(format.number(wide), Rounding::Up), bits, "{bits:#x}");
            }
            assert_eq!(F16.to_f64(bits).to_bits(), F64.round(F16.number(bits), Rounding::Nearest));
        }
    }

    #[test]
    fn e4m3_ends_at_448() {
        assert_eq!(E4M3.to_f64(E4M3.largest()), 448.0);
        assert!(E4M3.is_nan(0x7f) && !E4M3.is_nan(0x7e));
        assert_eq!(E4M3.round(F32.number(449f32.to_bits().into()), Rounding::Nearest), 0x7e);
    }

    #[test]
    fn directed_rounding_encloses_what_lies_between() {
        let third = |rounding| {
            let (one, three) = (Number::integer(1), Number::integer(3));
            f32::from_bits(F32.round(quotient(one, three).expect("no NaN"), rounding) as u32)
        };
        assert_eq!(third(Rounding::Nearest), 1.0 / 3.0);
        assert!(f64::from(third(Rounding::Down)) < 1.0 / 3.0 && f64::from(third(Rounding::Up)) > 1.0 / 3.0);
        assert_eq!(third(Rounding::Down).to_bits() + 1, third(Rounding::Up).to_bits());
        assert_eq!(third(Rounding::Zero), third(Rounding::Down));
    }

    #[test]
    fn flushing_looks_at_what_rounding_without_a_lowest_exponent_gives() {
        let below = |k: u32| Finite { negative: true, exponent: -126 - k as i32, significand: (1 << k) - 1 };
        let flushed = |k, rounding| F32.round_flushing(below(k), rounding);
        let (zero, normal) = (F32.sign(), F32.sign() | 1 << 23);
        // 24 bits hold the first of these, not the others.
        assert_eq!([24, 25, 60].map(|k| flushed(k, Rounding::Nearest)), [zero, normal, normal]);
        assert_eq!([24, 25, 60].map(|k| flushed(k, Rounding::Zero)), [zero; 3]);
        assert_eq!([24, 25, 60].map(|k| flushed(k, Rounding::Down)), [zero, normal, normal]);
        assert_eq!(F32.round(below(24), Rounding::Nearest), normal);
        assert_eq!(F32.round_flushing(F32.number(1), Rounding::Up), 0);
        assert_eq!(F32.round_flushing(Number::integer(3), Rounding::Up), F32.round(Number::integer(3), Rounding::Up));
    }

    #[test]
    fn roots_and_overflow() {
        let root_of =
            |x: f64| f64::from_bits(F64.round(root(F64.number(x.to_bits())).expect("no NaN"), Rounding::Nearest));
        for x in [2.0, 4.0, 1e-320, 3.5e300, 0.1] {
            assert_eq!(root_of(x), x.sqrt(), "{x}");
        }
        let huge = product(F32.number(F32.largest()), Number::integer(2)).expect("no NaN");
        assert_eq!(F32.round(huge, Rounding::Nearest), F32.infinity());
        assert_eq!(F32.round(huge, Rounding::Down), F32.largest());
    }
}
