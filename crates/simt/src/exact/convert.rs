//! `cvt` between any two types.

use super::arithmetic::{propagated, saturated};
use super::float::{BF16, F32, F64, Format, Number, Rounding, TF32};
use super::integer::Integer;
use super::{Exact, SOURCES, Ty};

impl Exact {
    pub(super) fn convert(&self, s: &[u64; SOURCES]) -> u64 {
        match (self.from, self.to) {
            (_, Ty::Integer(to)) if self.mode == "pack" => packed(to, s),
            (Ty::Integer(from), Ty::Integer(to)) => self.between_integers(from, to, s[0]),
            (Ty::Integer(from), Ty::Float(to)) => {
                self.finished(to, to.round(Number::integer(from.value(s[0])), self.rounding))
            }
            (Ty::Float(from), Ty::Integer(to)) => self.to_integer(from, to, s[0]),
            (Ty::Float(_), Ty::Float(TF32)) if self.rounding == Rounding::NearestAway => self.nearest_away(s[0]),
            (Ty::Float(from), Ty::Float(TF32)) => self.to_float(from, TF32, s[0]) << 13,
            (Ty::Float(from), Ty::Float(to)) => self.to_float(from, to, s[0]),
            // The first source goes to the high half.
            (Ty::Float(from), Ty::Floats(to)) => self.to_float(from, to, s[1]) | self.to_float(from, to, s[0]) << 16,
            (Ty::Float(from), Ty::Bytes(to)) => self.to_float(from, to, s[1]) | self.to_float(from, to, s[0]) << 8,
            (Ty::Floats(from), Ty::Bytes(to)) => {
                self.to_float(from, to, s[0]) | self.to_float(from, to, s[0] >> 16) << 8
            }
            (Ty::Bytes(from), Ty::Floats(to)) => {
                self.to_float(from, to, s[0]) | self.to_float(from, to, s[0] >> 8) << 16
            }
            _ => 0,
        }
    }

    /// The low bits, or with `.sat` the nearest value of the target; spread to 64 bits by the target's sign.
    fn between_integers(&self, from: Integer, to: Integer, bits: u64) -> u64 {
        let value = from.value(bits);
        let value = if self.flags.saturate { to.clamped(value) } else { value };
        to.value(value as u64 & to.mask()) as u64
    }

    /// Rounded to a whole number and clamped to the target's range. A NaN becomes what the hardware gives.
    fn to_integer(&self, from: Format, to: Integer, bits: u64) -> u64 {
        let bits = self.source(from, bits);
        let value = if from.is_nan(bits) {
            if from == F64 || to.bits == 64 { 1 << (to.bits - 1) } else { 0 }
        } else {
            let number = from.number(bits);
            let end = if number.is_negative() { to.smallest() } else { to.largest() };
            number.to_integer(self.rounding).map_or(end, |value| to.clamped(value))
        };
        to.value(value as u64 & to.mask()) as u64
    }

    /// `cvt.rna.tf32.f32`: half of the last kept bit is added to a finite number, and the rest is cut off, of a NaN too;
    /// `.satfinite` takes one place away from whatever is not finite then.
    fn nearest_away(&self, bits: u64) -> u64 {
        let is_finite = |bits: u32| bits & 0x7fff_ffff < 0x7f80_0000;
        let bits = bits as u32;
        let rounded = if is_finite(bits) { bits + 0x1000 } else { bits } & !0x1fff;
        let reached = !is_finite(rounded);
        u64::from(if self.flags.satfinite && reached { rounded - 0x2000 } else { rounded })
    }

    /// The low bits of a source, flushed if the opcode says so: `.ftz` is of f32 alone.
    fn source(&self, format: Format, bits: u64) -> u64 {
        let bits = bits & (u64::MAX >> (64 - format.bits()));
        if self.flags.flush && format == F32 { format.flushed(bits) } else { bits }
    }

    /// Between floats of any two formats.
    fn to_float(&self, from: Format, to: Format, bits: u64) -> u64 {
        // On the way to f16 the hardware keeps subnormal numbers whatever the opcode says: only directed rounding shows it.
        let bits = if to.bits() == 16 { bits & (u64::MAX >> (64 - from.bits())) } else { self.source(from, bits) };
        if from.is_nan(bits) {
            return if self.flags.saturate { 0 } else { self.converted_nan(from, to, bits) };
        }
        let number = from.number(bits);
        let out = match number {
            Number::Infinite { negative } if self.flags.satfinite => to.signed(negative, to.largest()),
            _ if self.flags.integral => whole(from, to, number, self.rounding),
            // On the way to other formats than f32 subnormal numbers stay, whatever the opcode says.
            _ if self.flags.flush && to == F32 => to.round_flushing(number, self.rounding),
            _ => to.round(number, self.rounding),
        };
        let overflowed = out & !to.sign() > to.largest();
        let out = if self.flags.satfinite && overflowed { to.signed(to.is_negative(out), to.largest()) } else { out };
        if self.flags.saturate {
            saturated(to, out)
        } else if self.flags.relu && to.is_negative(out) {
            0
        } else {
            out
        }
    }
}

/// `cvt.pack`: two clamped integers, the second lowest, and above them what has room of the third source.
fn packed(to: Integer, s: &[u64; SOURCES]) -> u64 {
    const SOURCE: Integer = Integer { bits: 32, signed: true };
    let [high, low] = [s[0], s[1]].map(|bits| to.clamped(SOURCE.value(bits)) as u64 & to.mask());
    (s[2] << (2 * to.bits) | high << to.bits | low) & 0xffff_ffff
}

/// The whole number next to it, in the same or another format.
fn whole(from: Format, to: Format, number: Number, rounding: Rounding) -> u64 {
    let Number::Finite { negative, exponent, .. } = number else { return to.round(number, rounding) };
    if exponent >= 0 {
        // It is whole already, and perhaps larger than any integer here.
        return to.round(number, rounding);
    }
    debug_assert!(from.fraction_bits < 100, "a number with a fraction is small");
    let value = number.to_integer(rounding).unwrap_or(0);
    to.signed(negative, to.round(Number::integer(value), rounding) & !to.sign())
}

impl Exact {
    /// A NaN in another format. Between f64 and smaller formats the sign stays and of the payload what has room, upper
    /// bits first.
    fn converted_nan(&self, from: Format, to: Format, bits: u64) -> u64 {
        let negative = from.is_negative(bits);
        let is_move = from == to && !self.flags.integral && !self.flags.flush;
        match (from, to) {
            _ if is_move && from.bits() >= 32 => bits,
            _ if from == to => propagated(to, bits),
            (F32, F64) if self.flags.flush => widened(F32, F32.nan()),
            (_, F64) => widened(from, bits),
            (BF16, F32) => bits << 16,
            (F64, _) => {
                let payload = (bits & ((1 << F64.fraction_bits) - 1)) >> (F64.fraction_bits - to.fraction_bits);
                to.signed(negative, to.infinity() | 1 << (to.fraction_bits - 1) | payload)
            }
            _ => to.nan(),
        }
    }
}

/// A NaN as f64, quiet.
fn widened(from: Format, bits: u64) -> u64 {
    let payload = bits & ((1 << from.fraction_bits) - 1);
    F64.signed(from.is_negative(bits), F64.infinity() | 1 << 51 | payload << (52 - from.fraction_bits))
}
