//! f16 and bf16 by way of f32 and f64, in steps that a compiler turns into vector instructions. A sum of two halves in
//! f32, or of a product and a half in f64 rounded to odd, has bits enough that rounding it again gives what rounding once
//! would.

/// The f16 in the low half of a register, as f32.
#[inline(always)]
pub fn from_f16(a: u32) -> f32 {
    let (sign, magnitude) = ((a & 0x8000) << 16, a & 0x7fff);
    // The exponent is 112 too small; the product rights it for subnormal numbers too.
    let scaled = (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = magnitude << 13 | 0x7f80_0000;
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { scaled })
}

/// f32 to the nearest f16; a NaN becomes the one that instructions give.
#[inline(always)]
pub fn to_f16(x: f32) -> u32 {
    let bits = x.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    // Added to one half, a subnormal number's bits stand where f16 has them.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 113 << 23 { subnormal } else { normal };
    // 65520 is the middle between the largest f16 and the next power of two.
    let number = if magnitude >= 65520f32.to_bits() { 0x7c00 } else { finite };
    if magnitude > 0x7f80_0000 { 0x7fff } else { sign | number }
}

/// The bf16 in the low half of a register, as f32.
#[inline(always)]
pub fn from_bf16(a: u32) -> f32 {
    f32::from_bits(a << 16)
}

/// f32 to the nearest bf16; a NaN becomes the one that instructions give.
#[inline(always)]
pub fn to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff } else { rounded }
}

/// The product plus the addend rounded to odd: the last bit says whether anything was cut off.
#[inline(always)]
pub fn fma_to_odd64(a: f32, b: f32, c: f32) -> f64 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let shared = sum - product;
    let lost = (product - (sum - shared)) + (c - shared);
    odd64(sum, lost)
}

/// `a * b + c` rounded to odd in f32, of values with few bits.
#[inline(always)]
pub fn fma_to_odd(a: f32, b: f32, c: f32) -> f32 {
    to_odd(fma_to_odd64(a, b, c))
}

/// `sum`, of which `lost` was rounded away, with the bits that rounding to odd leaves.
#[inline(always)]
fn odd64(sum: f64, lost: f64) -> f64 {
    let bits = sum.to_bits();
    let towards_zero = bits.wrapping_sub(u64::from((lost < 0.0) != (sum < 0.0)));
    let inexact = lost != 0.0 && sum.is_finite() && !lost.is_nan();
    f64::from_bits(if inexact { towards_zero | 1 } else { bits })
}

/// f64 to f32, rounded to odd.
#[inline(always)]
pub fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let bits = near.to_bits();
    let too_far = u32::from(f64::from(near).abs() > x.abs());
    let inexact = f64::from(near) != x && !x.is_nan();
    f32::from_bits(if inexact { bits.wrapping_sub(too_far) | 1 } else { bits })
}

/// A function of halves on both halves of packed registers.
#[inline(always)]
pub fn both2(a: u32, b: u32, of: impl Fn(u32, u32) -> u32) -> u32 {
    of(a & 0xffff, b & 0xffff) | of(a >> 16, b >> 16) << 16
}

/// `of` on the low halves and on the high halves of three operands.
#[inline(always)]
pub fn both3(a: u32, b: u32, c: u32, of: impl Fn(u32, u32, u32) -> u32) -> u32 {
    of(a & 0xffff, b & 0xffff, c & 0xffff) | of(a >> 16, b >> 16, c >> 16) << 16
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),+) = $result:expr;)*) => {
        $($(#[$doc])* #[inline(always)] pub fn $name($($arg: u32),+) -> u32 { $result })*
    };
}

operations! {
    add_f16(a, b) = to_f16(from_f16(a) + from_f16(b));
    sub_f16(a, b) = to_f16(from_f16(a) - from_f16(b));
    mul_f16(a, b) = to_f16(from_f16(a) * from_f16(b));
    fma_f16(a, b, c) = to_f16(fma_to_odd(from_f16(a), from_f16(b), from_f16(c)));
    add_bf16(a, b) = to_bf16(from_bf16(a) + from_bf16(b));
    sub_bf16(a, b) = to_bf16(from_bf16(a) - from_bf16(b));
    /// `mul.bf16`. The exponents are those of f32, so a small product needs f64.
    mul_bf16(a, b) = to_bf16(to_odd(f64::from(from_bf16(a)) * f64::from(from_bf16(b))));
    fma_bf16(a, b, c) = to_bf16(fma_to_odd(from_bf16(a), from_bf16(b), from_bf16(c)));
}
