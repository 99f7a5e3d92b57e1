//! The meaning of single instructions as pure functions of one lane, wherever it takes more than an operator.

mod half;

pub use half::*;

/// PTX's one result for an invalid f32 operation.
pub const NAN_F32: u32 = 0x7fff_ffff;

/// The NaN of an invalid f64 operation.
pub const NAN_F64: u64 = 0xfff8_0000_0000_0000;

/// `.ftz`: a subnormal f32 becomes a zero of its sign.
#[inline(always)]
pub fn ftz(x: u32) -> u32 {
    if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }
}

/// The number in an f32 register, flushed.
#[inline(always)]
pub fn ff(x: u32) -> f32 {
    f(ftz(x))
}

/// Bits of an f32 result, flushed: of an operation whose exact results are none between the largest subnormal number and
/// the smallest normal one.
#[inline(always)]
pub fn flushed32(x: f32) -> u32 {
    ftz(bits32(x))
}

/// Bits of an f32 result of `.ftz`, from the exact one or one that f64 holds well enough to round it again. It is zero
/// if, rounded to 24 bits with no lowest exponent, it is below 2^-126.
#[inline(always)]
pub fn flushed64(x: f64) -> u32 {
    const END: f64 = f32::MIN_POSITIVE as f64 * (1.0 - 1.0 / (1 << 25) as f64);
    if x.abs() < END { (x.to_bits() >> 32) as u32 & 0x8000_0000 } else { bits32(x as f32) }
}

/// Bits of an f64 result: that of the first NaN among the operands, made quiet, or the NaN of an invalid operation. The
/// operands come in the hardware's order (`Exact::order_of_nans`).
#[inline(always)]
pub fn bits64<const N: usize>(x: f64, operands: [u64; N]) -> u64 {
    if !x.is_nan() {
        return x.to_bits();
    }
    operands.into_iter().rev().fold(NAN_F64, |nan, bits| if g(bits).is_nan() { bits | 1 << 51 } else { nan })
}

/// `changed`, unless the operand is a NaN, which keeps its sign and becomes quiet.
#[inline(always)]
pub fn keep_nan64(operand: u64, changed: u64) -> u64 {
    if g(operand).is_nan() { operand | 1 << 51 } else { changed }
}

/// `changed`, unless the operand is a NaN.
#[inline(always)]
pub fn keep_nan32(operand: u32, changed: u32) -> u32 {
    if f(operand).is_nan() { NAN_F32 } else { changed }
}

/// Bits of an f32 result, any NaN made canonical as the hardware does.
#[inline(always)]
pub fn bits32(x: f32) -> u32 {
    if x.is_nan() { NAN_F32 } else { x.to_bits() }
}

/// `cvt.f64.f32`: a NaN keeps its payload and becomes quiet.
#[inline(always)]
pub fn f64_of_f32(a: u32) -> u64 {
    if f(a).is_nan() {
        return u64::from(a >> 31) << 63 | 0x7ff8 << 48 | u64::from(a & 0x7f_ffff) << 29;
    }
    f64::from(f(a)).to_bits()
}

/// `cvt.rn.f32.f64`: a NaN keeps its sign and the upper bits of its payload, and becomes quiet.
#[inline(always)]
pub fn f32_of_f64(a: u64) -> u32 {
    let nan = (a >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (a >> 29) as u32 & 0x7f_ffff;
    if g(a).is_nan() { nan } else { (g(a) as f32).to_bits() }
}

/// The number in an f32 register.
#[inline(always)]
pub fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

/// The number in an f64 register.
#[inline(always)]
pub fn g(x: u64) -> f64 {
    f64::from_bits(x)
}

/// Operation on both single-precision halves of 64-bit registers.
#[inline(always)]
pub fn singles<const N: usize>(x: [u64; N], of: impl Fn([u32; N]) -> u32) -> u64 {
    u64::from(of(x.map(|x| x as u32))) | u64::from(of(x.map(|x| (x >> 32) as u32))) << 32
}

/// A minimum or maximum of the bits `a` and `b`: a NaN loses, and of two zeros `tie` picks one.
macro_rules! extreme {
    ($(#[$doc:meta])* $name:ident($a:ident, $b:ident: $bits:ty as $number:ident), $before:tt, tie: $tie:expr, nan: $nan:expr) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($a: $bits, $b: $bits) -> $bits {
            let (x, y) = ($number($a), $number($b));
            if x.is_nan() && y.is_nan() {
                $nan
            } else if x == y {
                $tie
            } else if y.is_nan() || x $before y {
                $a
            } else {
                $b
            }
        }
    };
}

extreme! {
    /// `min.f32`: a NaN loses, -0 is less than +0.
    min_f32(a, b: u32 as f), <, tie: a | (b & (1 << 31)), nan: NAN_F32
}
extreme! {
    /// `max.f32`: a NaN loses, +0 is more than -0.
    max_f32(a, b: u32 as f), >, tie: a & (b | !(1 << 31)), nan: NAN_F32
}

/// `min.NaN.f32`: a NaN wins.
#[inline(always)]
pub fn min_nan_f32(a: u32, b: u32) -> u32 {
    if f(a).is_nan() || f(b).is_nan() { NAN_F32 } else { min_f32(a, b) }
}

/// `max.NaN.f32`, by the same rule.
#[inline(always)]
pub fn max_nan_f32(a: u32, b: u32) -> u32 {
    if f(a).is_nan() || f(b).is_nan() { NAN_F32 } else { max_f32(a, b) }
}

/// An operation on f32 that chooses one of its operands, on bf16: the upper half of an f32.
#[inline(always)]
pub fn in_bf16(a: u32, b: u32, choose: impl Fn(u32, u32) -> u32) -> u32 {
    choose(a << 16, b << 16) >> 16
}

extreme! {
    /// `min.f64`, by the same rules.
    min_f64(a, b: u64 as g), <, tie: a | (b & (1 << 63)), nan: b | 1 << 51
}
extreme! {
    /// `max.f64`, by the same rules.
    max_f64(a, b: u64 as g), >, tie: a & (b | !(1 << 63)), nan: b | 1 << 51
}

/// A position or length of a bit field: the hardware reads 8 bits of it for 32-bit fields, and all of it for 64-bit ones.
#[inline(always)]
fn field_number(number: u32, width: u32) -> u32 {
    if width == 32 { number & 0xff } else { number.min(0xff) }
}

/// `bfe`: `length` bits from `start`, zero-extended.
#[inline(always)]
pub fn bfe_u64(a: u64, start: u32, length: u32, width: u32) -> u64 {
    let (start, length) = (field_number(start, width), field_number(length, width));
    if start >= width || length == 0 {
        return 0;
    }
    let field = a >> start;
    if length >= 64 { field } else { field & ((1 << length) - 1) }
}

/// `bfe` of a signed type: the field's sign bit fills the rest; past the top, the number's sign bit does.
#[inline(always)]
pub fn bfe_s64(a: i64, start: u32, length: u32, width: u32) -> i64 {
    let (start, length) = (field_number(start, width), field_number(length, width));
    if length == 0 {
        return 0;
    }
    let top = (start + length - 1).min(width - 1);
    let sign = if (a >> top) & 1 != 0 { -1 } else { 0 };
    let kept = width.saturating_sub(start).min(length);
    if kept == 0 {
        return sign;
    }
    let field = (a as u64) >> start;
    if kept >= 64 {
        return field as i64;
    }
    ((field & ((1 << kept) - 1)) | ((sign as u64) << kept)) as i64
}

/// `bfi`: the low `length` bits of `a` into `b` at `start`.
#[inline(always)]
pub fn bfi_u64(a: u64, b: u64, start: u32, length: u32, width: u32) -> u64 {
    let (start, length) = (field_number(start, width), field_number(length, width));
    if start >= width || length == 0 {
        return b;
    }
    let length = length.min(width - start);
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    (b & !(ones << start)) | ((a & ones) << start)
}

/// `lop3`: bit i of the result is bit (a_i, b_i, c_i) of the table.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut out = 0;
    for entry in 0..8 {
        if table >> entry & 1 != 0 {
            let pick = |x: u32, bit: u32| if entry & bit != 0 { x } else { !x };
            out |= pick(a, 4) & pick(b, 2) & pick(c, 1);
        }
    }
    out
}

/// `prmt.b32`: four bytes picked from the eight of `b:a`; a selector's high bit copies the byte's sign.
#[inline(always)]
pub fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(b) << 32;
    let mut out = 0;
    for i in 0..4 {
        let nibble = selector >> (4 * i) & 0xf;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        out |= u32::from(byte) << (8 * i);
    }
    out
}

/// `bfind`: position of the highest one, or of the highest bit that differs from the sign; all ones if there is none.
#[inline(always)]
pub fn bfind(a: u32) -> u32 {
    if a == 0 { u32::MAX } else { 31 - a.leading_zeros() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_and_maximum_follow_ptx_for_zeros_and_nans() {
        let (neg0, pos0, one, nan) = (0x8000_0000, 0, 1f32.to_bits(), 0x7fc0_1234);
        assert_eq!(min_f32(neg0, pos0), neg0);
        assert_eq!(min_f32(pos0, neg0), neg0);
        assert_eq!(max_f32(neg0, pos0), pos0);
        assert_eq!(max_f32(neg0, neg0), neg0);
        assert_eq!(min_f32(nan, one), one);
        assert_eq!(max_f32(one, nan), one);
        assert_eq!(max_f32(nan, nan), NAN_F32);
        assert_eq!(max_f64(1f64.to_bits(), f64::NAN.to_bits()), 1f64.to_bits());
    }

    #[test]
    fn bit_fields() {
        assert_eq!(bfe_u64(0xabcd_1234, 8, 8, 32), 0x12);
        assert_eq!(bfe_u64(0xabcd_1234, 40, 8, 32), 0);
        assert_eq!(bfe_s64(0x80i64, 0, 8, 32) as u32, 0xffff_ff80);
        assert_eq!(bfe_s64(i64::from(i32::MIN), 31, 4, 32) as u32, 0xffff_ffff);
        assert_eq!(bfi_u64(0xff, 0, 4, 4, 32), 0xf0);
        assert_eq!(bfi_u64(u64::MAX, 0, 32, 32, 64), 0xffff_ffff_0000_0000);
        assert_eq!(lop3(0b1100, 0b1010, 0b1001, 0x96), 0b1100 ^ 0b1010 ^ 0b1001);
        assert_eq!(prmt(0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(prmt(0x80, 0, 0x8), 0x8080_80ff);
    }
}
