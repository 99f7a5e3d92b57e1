//! Integer, logic and bit instructions of one lane, at any width. Values come masked to their width.

/// Width in bits and signedness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    pub bits: u32,
    pub signed: bool,
}

impl Integer {
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The number in the low bits of a register.
    pub const fn value(self, register: u64) -> i128 {
        let up = 64 - self.bits;
        if self.signed { ((register << up) as i64 >> up) as i128 } else { (register << up >> up) as i128 }
    }

    pub const fn smallest(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    pub const fn largest(self) -> i128 {
        if self.signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }

    pub fn clamped(self, value: i128) -> i128 {
        value.clamp(self.smallest(), self.largest())
    }

    /// Quotient towards zero; all ones for a zero divisor, as the hardware gives.
    pub fn quotient(self, a: i128, b: i128) -> i128 {
        if b == 0 { -1 } else { a / b }
    }

    /// Remainder with the dividend's sign; all ones for a zero divisor.
    pub fn remainder(self, a: i128, b: i128) -> i128 {
        if b == 0 { -1 } else { a % b }
    }

    /// `bfind`: position of the highest bit that is not the sign, or how far it is from the top; all ones without one.
    pub fn find(self, register: u64, from_top: bool) -> u64 {
        let value = self.value(register);
        let bits = (if value < 0 { !value } else { value }) as u64;
        if bits == 0 {
            return 0xffff_ffff;
        }
        let position = 63 - bits.leading_zeros();
        u64::from(if from_top { self.bits - 1 - position } else { position })
    }
}

/// `fns`: position of the set bit that is `offset` set bits away from `base`, counted from 1; 0 asks for `base` itself.
/// (PTX gives the offset -2^31 no meaning, as its magnitude has no 32-bit value; a GPU answers 0.)
pub fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let is_set = |position: i32| (0..32).contains(&position) && mask >> position & 1 != 0;
    if offset == 0 {
        return if base < 32 && is_set(base as i32) { base } else { u32::MAX };
    }
    let mut left = offset.unsigned_abs();
    let mut position = i32::try_from(base).unwrap_or(i32::MAX);
    while (0..32).contains(&position) {
        if is_set(position) {
            left -= 1;
            if left == 0 {
                return position as u32;
            }
        }
        position += offset.signum();
    }
    u32::MAX
}

/// `bmsk`: `width` ones from `start` on.
pub fn bit_mask(start: u32, width: u32, clamp: bool) -> u32 {
    if clamp && start >= 32 {
        return 0;
    }
    let width = if clamp { width.min(32) } else { width & 31 };
    let ones = if width == 32 { u32::MAX } else { (1 << width) - 1 };
    ones << (start & 31)
}

/// `szext`: the low `width` bits, the rest filled with zeros or the sign.
pub fn sign_or_zero_extend(a: u32, width: u32, signed: bool, clamp: bool) -> u32 {
    let width = if clamp { width.min(32) } else { width & 31 };
    match width {
        0 => 0,
        32 => a,
        _ if signed => ((a << (32 - width)) as i32 >> (32 - width)) as u32,
        _ => a & ((1 << width) - 1),
    }
}

/// `prmt` with a mode: which of the eight bytes of `b:a` goes where.
pub fn permute(mode: &str, a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(b) << 32;
    let at = selector & 3;
    let pick = |i: u32| match mode {
        "f4e" => at + i,
        "b4e" => (at + 8 - i) & 7,
        "rc8" => at,
        "ecl" => i.max(at),
        "ecr" => i.min(at),
        _ => (at & 1) * 2 + (i & 1),
    };
    (0..4).fold(0, |out, i| out | u32::from((bytes >> (8 * pick(i))) as u8) << (8 * i))
}

/// `dp4a`, `dp2a`: products of parts of `a`, of `part_bits` each, with bytes of `b` from the bit `from` on.
pub fn dot(a: u64, b: u64, c: u64, part_bits: u32, from: u32, signed: (bool, bool)) -> u64 {
    let part = Integer { bits: part_bits, signed: signed.0 };
    let byte = Integer { bits: 8, signed: signed.1 };
    let products = (0..32 / part_bits).map(|i| part.value(a >> (i * part_bits)) * byte.value(b >> (from + 8 * i)));
    (products.sum::<i128>() as u64).wrapping_add(c) & 0xffff_ffff
}
