//! The instructions that PTX calls approximate. `ex2` of an f32 gives what a GPU gives. The others give the correctly rounded value
//! (but for about one in 2^29 f32 values, where the f64 result lies too close to the middle of two); a GPU is off by a few units in
//! the last place.

use super::ex2::ex2;
use super::float::{F32, F64, Format, Number, Rounding};
use super::{Exact, SOURCES};

impl Exact {
    /// The result in bits; `None` where it is the exact operation, rounded to the nearest.
    pub(super) fn approximate(&self, format: Format, x: &[u64; SOURCES]) -> Option<u64> {
        let a = format.to_f64(x[0]);
        let value = match self.verb {
            "rsqrt" => 1.0 / a.sqrt(),
            "sin" => libm::sin(a),
            "cos" => libm::cos(a),
            "lg2" => libm::log2(a),
            "ex2" if format == F32 => return Some(exponential(x[0] as u32, self.flags.flush).into()),
            "ex2" => libm::exp2(a),
            "tanh" => libm::tanh(a),
            // The reciprocal of a huge divisor is zero to the hardware, and zero times infinity a NaN.
            "div" if self.flags.approximate && format == F32 && format.to_f64(x[1]).abs() > 2f64.powi(126) => {
                let divisor_is_finite = format.to_f64(x[1]).is_finite();
                let negative = format.is_negative(x[0]) != format.is_negative(x[1]);
                return match a.is_infinite() {
                    true if divisor_is_finite => Some(format.nan()),
                    true => None,
                    false => Some(format.signed(negative, 0)),
                };
            }
            _ => return None,
        };
        if value.is_nan() {
            return Some(format.nan());
        }
        Some(format.round(F64.number(value.to_bits()), Rounding::Nearest))
    }
}

/// 2^x by the hardware's unit. Without `.ftz`, where the unit would flush its result, the square of the root.
fn exponential(x: u32, flush: bool) -> u32 {
    let value = f32::from_bits(x);
    if flush || value >= -126.0 {
        return ex2(F32.flushed(x.into()) as u32);
    }
    let root = f32::from_bits(ex2((0.5 * value).to_bits()));
    (root * root).to_bits()
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`, which read the upper half of their source and write that of their
/// result.
pub(super) fn coarse(is_root: bool, bits: u64) -> u64 {
    let a = f64::from_bits(F64.flushed(bits & !0xffff_ffff));
    let value = 1.0 / if is_root { a.sqrt() } else { a };
    if value.is_nan() {
        return 0x7fff_ffff << 32;
    }
    let to_upper = Format { exponent_bits: 11, fraction_bits: 20, finite: false };
    let number: Number = F64.number(value.to_bits());
    F64.flushed(to_upper.round(number, Rounding::Nearest) << 32)
}
