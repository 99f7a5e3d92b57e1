//! Integer and float arithmetic of one lane.

use super::approximate::coarse;
use super::float::{F64, Format, Number, product, quotient, root, sum};
use super::integer::{Integer, bit_mask, dot, find_nth_set, permute, sign_or_zero_extend};
use super::{Exact, Results, SOURCES, Ty};
use crate::eval::{bfe_s64, bfe_u64, bfi_u64, lop3, prmt};

impl Exact {
    /// An instruction on integers.
    pub(super) fn integer(&self, ty: Integer, s: &[u64; SOURCES]) -> Results {
        if matches!(self.verb, "add" | "addc" | "sub" | "subc" | "mad" | "madc") && !self.flags.wide {
            return self.with_carry(ty, s);
        }
        if self.verb == "pack" {
            let parts = s[..4].iter().zip((0..).step_by(ty.bits as usize));
            return [parts.fold(0, |out, (part, at)| out | (part & ty.mask()).checked_shl(at).unwrap_or(0)), 0];
        }
        let (a, b, c) = (ty.value(s[0]), ty.value(s[1]), ty.value(s[2]));
        let value = match self.verb {
            "mul" => self.half_of(a.wrapping_mul(b), ty.bits),
            // Wide: the addend has twice the width, and so has the sum.
            "mad" => (a * b).wrapping_add(s[2] as i128),
            "mul24" | "mad24" => return [self.mul24(ty, s), 0],
            "sad" => (a - b).abs() + c,
            "div" => ty.quotient(a, b),
            "rem" => ty.remainder(a, b),
            "abs" => a.abs(),
            "neg" => -a,
            "min" if self.flags.relu => a.min(b).max(0),
            "max" if self.flags.relu => a.max(b).max(0),
            "min" => a.min(b),
            "max" => a.max(b),
            "unpack" => i128::from(s[0] >> (s[1] & 63)),
            "isspacep" => i128::from(s[1] <= s[0] && s[0] < s[2]),
            _ => {
                let out = self.bits(ty, s);
                // `lop3` with a predicate: whether anything is left, joined with the fifth source.
                return [out, u64::from(self.verb == "lop3" && self.combined(out != 0, s[4]))];
            }
        };
        if self.flags.wide {
            return [value as u64, 0];
        }
        [value as u64 & ty.mask(), 0]
    }

    /// The half of a product that the opcode asks for; the whole of a wide one.
    fn half_of(&self, product: i128, bits: u32) -> i128 {
        if self.flags.high { product >> bits } else { product }
    }

    /// Sums that may take a carry and give one. A product's carry is that of its sum with the addend. A difference is the
    /// sum with the complement and 1: its carry is set where nothing was borrowed, which shows where `addc` reads what
    /// `sub.cc` left.
    fn with_carry(&self, ty: Integer, s: &[u64; SOURCES]) -> Results {
        let takes = matches!(self.verb, "addc" | "subc" | "madc");
        let is_product = matches!(self.verb, "mad" | "madc");
        let carry = if takes { s[if is_product { 3 } else { 2 }] as i128 } else { 0 };
        if self.flags.saturate {
            let exact = match self.verb {
                "add" => ty.value(s[0]) + ty.value(s[1]),
                "sub" => ty.value(s[0]) - ty.value(s[1]),
                _ => self.half_of(ty.value(s[0]) * ty.value(s[1]), ty.bits) + ty.value(s[2]),
            };
            return [ty.clamped(exact) as u64 & ty.mask(), 0];
        }
        // The carry is that of the bits as unsigned numbers, whatever the sign.
        let (x, y) = if is_product {
            let half = self.half_of(ty.value(s[0]).wrapping_mul(ty.value(s[1])), ty.bits);
            ((half as u64 & ty.mask()) as i128, (s[2] & ty.mask()) as i128)
        } else {
            ((s[0] & ty.mask()) as i128, (s[1] & ty.mask()) as i128)
        };
        let exact = match self.verb {
            "sub" => x + (ty.mask() as i128 - y) + 1,
            "subc" => x + (ty.mask() as i128 - y) + carry,
            _ => x + y + carry,
        };
        [exact as u64 & ty.mask(), u64::from(exact > ty.mask() as i128)]
    }

    /// Products of the low 24 bits: of 48 bits the low 32 or the high 32.
    fn mul24(&self, ty: Integer, s: &[u64; SOURCES]) -> u64 {
        let part = Integer { bits: 24, signed: ty.signed };
        let half = self.half_of(part.value(s[0]) * part.value(s[1]), 16);
        let half = Integer { bits: 32, signed: ty.signed }.value(half as u64 & 0xffff_ffff);
        let value = if self.verb == "mad24" { half + ty.value(s[2]) } else { half };
        (if self.flags.saturate { ty.clamped(value) } else { value }) as u64 & ty.mask()
    }

    /// Logic, shifts, fields and counts of bits.
    fn bits(&self, ty: Integer, s: &[u64; SOURCES]) -> u64 {
        let a = s[0] & ty.mask();
        let (b32, c32) = (s[1] as u32, s[2] as u32);
        let out = match self.verb {
            "and" => a & s[1],
            "or" => a | s[1],
            "xor" => a ^ s[1],
            "not" => !a,
            "cnot" => u64::from(a == 0),
            "shl" => a.checked_shl(b32).unwrap_or(0),
            "shr" => (ty.value(a) >> b32.min(127)) as u64,
            "popc" => u64::from(a.count_ones()),
            "clz" => u64::from(a.leading_zeros() - (64 - ty.bits)),
            "brev" => a.reverse_bits() >> (64 - ty.bits),
            "bfind" => return ty.find(a, self.flags.shift_amount),
            "bfe" if ty.signed => bfe_s64(ty.value(a) as i64, b32, c32, ty.bits) as u64,
            "bfe" => bfe_u64(a, b32, c32, ty.bits),
            "bfi" => bfi_u64(a, s[1] & ty.mask(), c32, s[3] as u32, ty.bits),
            "fns" => u64::from(find_nth_set(a as u32, b32, c32 as i32)),
            "szext" => u64::from(sign_or_zero_extend(a as u32, b32, ty.signed, self.flags.clamp)),
            "bmsk" => u64::from(bit_mask(a as u32, b32, self.flags.clamp)),
            "prmt" if self.mode.is_empty() => u64::from(prmt(a as u32, b32, c32)),
            "prmt" => u64::from(permute(self.mode, a as u32, b32, c32)),
            "lop3" => u64::from(lop3(a as u32, b32, c32, s[3] as u32)),
            "shf" => u64::from(self.funnel(a as u32, b32, c32)),
            _ => self.dot_product(s),
        };
        out & ty.mask()
    }

    fn funnel(&self, a: u32, b: u32, count: u32) -> u32 {
        let count = if self.flags.clamp { count.min(32) } else { count & 31 };
        let both = u64::from(b) << 32 | u64::from(a);
        (if self.flags.left { both << count >> 32 } else { both >> count }) as u32
    }

    fn dot_product(&self, s: &[u64; SOURCES]) -> u64 {
        let is_signed = |ty| matches!(ty, Ty::Integer(Integer { signed: true, .. }));
        let signed = (is_signed(self.to), is_signed(self.from));
        match self.verb {
            "dp4a" => dot(s[0], s[1], s[2], 8, 0, signed),
            _ => dot(s[0], s[1], s[2], 16, if self.flags.high { 16 } else { 0 }, signed),
        }
    }

    /// An instruction on floats of one format.
    pub(super) fn float(&self, format: Format, s: &[u64; SOURCES]) -> u64 {
        let mask = u64::MAX >> (64 - format.bits());
        let mut x = s.map(|bits| bits & mask);
        if self.flags.out_of_bounds && x[..2].contains(&mask) {
            return 0;
        }
        if self.verb == "copysign" {
            return x[0] & format.sign() | x[1] & !format.sign();
        }
        if self.flags.flush {
            x = x.map(|bits| format.flushed(bits));
        }
        match self.verb {
            "rcp" | "rsqrt" if self.flags.approximate && self.flags.flush && format == F64 => {
                return coarse(self.verb == "rsqrt", x[0]);
            }
            "neg" => return self.sign_changed(format, x[0], x[0] ^ format.sign()),
            "abs" => return self.sign_changed(format, x[0], x[0] & !format.sign()),
            "min" | "max" if self.flags.of_three => {
                let [a, b, c] = [0, 1, 2].map(|at| if self.flags.abs { x[at] & !format.sign() } else { x[at] });
                return self.extreme(format, self.extreme(format, a, b), c);
            }
            "min" | "max" => return self.extreme(format, x[0], x[1]),
            _ => {}
        }
        let bits = match self.order_of_nans().iter().map(|&at| x[at]).find(|&bits| format.is_nan(bits)) {
            Some(nan) => propagated(format, nan),
            None => self.finite_result(format, &x),
        };
        self.finished(format, bits)
    }

    /// Source whose NaN comes out where several are NaN. The second goes before the first; of a product with an addend
    /// both go before the first, as the addend is the second source of a sum. A quotient takes a routine, which looks at
    /// them in order.
    fn order_of_nans(&self) -> &'static [usize] {
        match self.verb {
            "fma" | "mad" => &[1, 2, 0],
            "add" | "sub" | "mul" => &[1, 0],
            "div" => &[0, 1],
            _ => &[0],
        }
    }

    /// `.ftz`, `.sat` and `.relu` of a result.
    pub(super) fn finished(&self, format: Format, bits: u64) -> u64 {
        let bits = if self.flags.flush { format.flushed(bits) } else { bits };
        if self.flags.saturate {
            return saturated(format, bits);
        }
        if self.flags.relu && !format.is_nan(bits) && format.is_negative(bits) {
            return 0;
        }
        bits
    }

    /// The rounded result of sources that are no NaN.
    fn finite_result(&self, format: Format, x: &[u64; SOURCES]) -> u64 {
        if self.flags.approximate
            && let Some(bits) = self.approximate(format, x)
        {
            return bits;
        }
        let number = |at: usize| format.number(x[at]);
        let negated = |at: usize| format.number(x[at] ^ format.sign());
        let exact = match self.verb {
            "add" => sum(number(0), number(1), self.rounding),
            "sub" => sum(number(0), negated(1), self.rounding),
            "mul" => product(number(0), number(1)),
            "fma" | "mad" => product(number(0), number(1)).and_then(|p| sum(p, number(2), self.rounding)),
            "div" => quotient(number(0), number(1)),
            "rcp" => quotient(Number::integer(1), number(0)),
            "sqrt" => root(number(0)),
            _ => None,
        };
        exact.map_or(format.nan(), |number| self.rounded(format, number))
    }

    /// A result in bits, rounded as the opcode says.
    pub(super) fn rounded(&self, format: Format, number: Number) -> u64 {
        match self.flags.flush {
            true => format.round_flushing(number, self.rounding),
            false => format.round(number, self.rounding),
        }
    }

    /// `neg` and `abs`: a NaN comes out as one.
    fn sign_changed(&self, format: Format, before: u64, after: u64) -> u64 {
        if format.is_nan(before) { propagated(format, before) } else { after }
    }

    /// `min` and `max`: -0 is less than +0, a NaN loses unless `.NaN`.
    fn extreme(&self, format: Format, a: u64, b: u64) -> u64 {
        let magnitude = |bits: u64| if self.flags.xorsign { bits & !format.sign() } else { bits };
        let (x, y) = (magnitude(a), magnitude(b));
        let chosen = match (format.is_nan(a), format.is_nan(b)) {
            (true, true) => return propagated(format, b),
            (true, _) | (_, true) if self.flags.nan => return format.nan(),
            (true, false) => y,
            (false, true) => x,
            (false, false) => {
                // Bits in the order of their numbers, -0 below +0.
                let order =
                    |bits: u64| if format.is_negative(bits) { -(bits as i128) } else { (bits | format.sign()) as i128 };
                if (order(x) < order(y)) == (self.verb == "min") { x } else { y }
            }
        };
        let sign = (a ^ b) & format.sign();
        if self.flags.xorsign { chosen & !format.sign() | sign } else { chosen }
    }
}

/// Result of an operation on a NaN: f64 keeps the payload, the other formats have one NaN.
pub(super) fn propagated(format: Format, nan: u64) -> u64 {
    if format.bits() == 64 { nan | 1 << 51 } else { format.nan() }
}

/// Clamped to [0, 1]; a NaN becomes +0.
pub(super) fn saturated(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || format.is_negative(bits) { 0 } else { bits.min(format.one()) }
}

#[cfg(test)]
mod tests {
    use super::super::float::F16;
    use super::*;

    /// Returns the result of an opcode on the first sources.
    fn of<const N: usize>(opcode: &'static str, sources: [u64; N]) -> u64 {
        let mnemonic = opcode.split('.').next().expect("a mnemonic");
        let mut all = [0; SOURCES];
        all[..N].copy_from_slice(&sources);
        Exact::from_opcode(mnemonic, opcode, N).unwrap_or_else(|| panic!("{opcode}")).evaluate(&all)[0]
    }

    /// Awkward values of f32: every sign and magnitude, infinities and NaN.
    const SINGLES: [u64; 12] = [
        0,
        0x8000_0000,
        0x3f80_0000,
        0xbf80_0001,
        0x0080_0000,
        0x8000_0001,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x3f00_0001,
        0xc640_e400,
    ];

    #[test]
    fn two_singles_are_each_what_one_is() {
        for (two, one) in
            [("add.f32x2", "add.f32"), ("sub.rz.ftz.f32x2", "sub.rz.ftz.f32"), ("mul.rp.f32x2", "mul.rp.f32")]
        {
            for (a, b) in SINGLES.into_iter().flat_map(|a| SINGLES.map(|b| (a, b))) {
                let expected = of(one, [a, b]) | of(one, [b, a ^ 0x8000_0000]) << 32;
                assert_eq!(of(two, [b << 32 | a, (a ^ 0x8000_0000) << 32 | b]), expected, "{two} {a:x} {b:x}");
            }
        }
        let (a, b, c) = (0x3f80_0001, 0xbf80_0003, 0x3380_0000);
        let expected = of("fma.rm.ftz.f32", [a, b, c]) | of("fma.rm.ftz.f32", [b, c, a]) << 32;
        assert_eq!(of("fma.rm.ftz.f32x2", [b << 32 | a, c << 32 | b, a << 32 | c]), expected);
    }

    #[test]
    fn halves_are_widened_before_they_are_added() {
        for half in [0u64, 0x8000, 0x3c00, 0xbc01, 1, 0x7bff, 0x7c00, 0x7e00] {
            let (f16, bf16) = (of("cvt.f32.f16", [half]), half << 16);
            for single in SINGLES {
                assert_eq!(
                    of("add.rz.f32.f16", [half, single]),
                    of("add.rz.f32", [f16, single]),
                    "{half:x} {single:x}"
                );
                assert_eq!(of("sub.sat.f32.f16", [half, single]), of("sub.sat.f32", [f16, single]));
                assert_eq!(of("add.f32.bf16", [half, single]), of("add.f32", [bf16, single]));
                let fused = of("fma.rn.f32.bf16", [half, 0x3f81, single]);
                assert_eq!(fused, of("fma.rn.f32", [bf16, 0x3f81_0000, single]), "{half:x} {single:x}");
            }
        }
    }

    #[test]
    fn the_least_of_three_is_that_of_two_and_one() {
        let (nan, zero, less) = (0x7fc0_0000, 0x8000_0000, 0xbf80_0000);
        assert_eq!(of("min.f32", [0x3f80_0000, less, zero]), less);
        assert_eq!(of("min.f32", [nan, less, nan]), less);
        assert_eq!(of("max.f32", [zero, 0, less]), 0);
        assert_eq!(of("max.NaN.f32", [0x3f80_0000, nan, zero]), 0x7fff_ffff);
        assert_eq!(of("max.abs.f32", [0x3f00_0000, less, zero]), 0x3f80_0000);
        assert_eq!(of("min.abs.f32", [0x3f00_0000, less, zero]), 0);
        assert_eq!(of("min.f32", [nan, nan, nan]), 0x7fff_ffff);
    }

    #[test]
    fn fma_of_halves_is_rounded_once() {
        let fma = Exact::from_opcode("fma", "fma.rn.f16", 3).expect("it is in the table");
        // 1.0009765625 * 1.0009765625 + 2^-24 lies just above the middle of two halves; f32 would round to the middle.
        let (a, tiny) = (0x3c01, 0x0001);
        let exact = 1.000_976_562_5f64.powi(2) + 2f64.powi(-24);
        let bits = fma.evaluate(&[a, a, tiny, 0, 0])[0];
        assert!((F16.to_f64(bits) - exact).abs() <= 2f64.powi(-11), "{bits:#x}");
    }
}
