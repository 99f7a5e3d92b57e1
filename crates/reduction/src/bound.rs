//! Error bound of a right kernel, from the order of its own additions; not a tolerance that someone chose.
//!
//! A value that passes through k rounded additions on its way into the result is multiplied by k factors of at most
//! 1 ± u. The result is then off by at most γ(k)·Σ|x| with γ(k) = ku / (1 − ku), where k is the longest such path (Higham,
//! Accuracy and Stability of Numerical Algorithms, section 4.2). Trees keep k small: 20 or so for a million numbers.
//!
//! An addition loses nothing where its result is subnormal, but for one: the atomic addition of `float` to global memory
//! takes subnormal numbers for zeros, what it adds and what it leaves. That is less than the smallest normal number each time.
//!
//! The bound is for the worst case and grows with n, so that at millions of floats it may hide one lost element. The same
//! kernel summing integers may not be off at all, which is why every chapter runs both.

use crate::element::Type;

/// Rounding of a sum by a kernel's order of additions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rounding {
    /// Rounded additions on the longest path from an element to the result.
    pub additions: u64,
    /// Atomic additions to global memory, all of them: in `float` each may lose what is subnormal, twice.
    pub atomics: u64,
}

impl Rounding {
    /// Rounding of an exact sum: none on the way, and one to the nearest number of the result's type. Such a result is right bit for
    /// bit, or wrong.
    pub const EXACT: Rounding = Rounding { additions: 0, atomics: 0 };
}

/// Rounding of additions that keep subnormal numbers.
impl From<u64> for Rounding {
    fn from(additions: u64) -> Rounding {
        Rounding { additions, atomics: 0 }
    }
}

/// Largest |result − exact sum| that this rounding explains, if nothing on the way overflows; see [`may_overflow`]. 0 for
/// integers; infinite where the path is so long that rounding explains any result.
pub fn error_bound(ty: Type, rounding: Rounding, magnitude: f64) -> f64 {
    if !ty.is_float() || magnitude == 0.0 {
        return 0.0;
    }
    let ku = rounding.additions as f64 * ty.unit_roundoff();
    if ku >= 1.0 {
        return f64::INFINITY;
    }
    let gamma = ku / (1.0 - ku);
    let smallest = if ty == Type::F64 { 0.0 } else { f64::from(f32::MIN_POSITIVE) };
    let flushed = 2.0 * rounding.atomics as f64 * smallest * (1.0 + gamma);
    gamma * magnitude + flushed
}

/// Whether a value of this size, were nothing rounded, may be more than the type of the sums holds. What is no number may be.
pub fn may_overflow(ty: Type, rounding: Rounding, size: f64) -> bool {
    let grown = size * (rounding.additions as f64 * ty.unit_roundoff()).exp();
    ty.is_float() && (grown.is_nan() || grown > largest(ty))
}

/// Largest finite number of the type that sums of elements are held in.
pub fn largest(ty: Type) -> f64 {
    if ty == Type::F64 { f64::MAX } else { f64::from(f32::MAX) }
}

/// Smallest number above 0 of that type: twice what a result below the normal numbers loses by rounding.
pub fn smallest(ty: Type) -> f64 {
    if ty == Type::F64 { f64::from_bits(1) } else { f64::from(f32::from_bits(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_no_error() {
        assert_eq!(error_bound(Type::I32, 30.into(), 0.0), 0.0);
    }

    #[test]
    fn grows_with_the_path_and_the_magnitude() {
        let u = 2.0f64.powi(-24);
        assert!((error_bound(Type::F32, 1.into(), 1.0) / u - 1.0).abs() < 1e-6);
        assert!((error_bound(Type::F32, 20.into(), 100.0) / (2000.0 * u) - 1.0).abs() < 1e-5);
        assert!((error_bound(Type::F64, 20.into(), 100.0) / (2000.0 * 2.0f64.powi(-53)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn knows_that_atomic_additions_of_float_lose_subnormal_numbers() {
        let tiny = f64::from(f32::MIN_POSITIVE) / 4.0;
        let rounding = Rounding { additions: 12, atomics: 3 };
        assert!(error_bound(Type::F32, rounding, 6.0 * tiny) >= 6.0 * tiny, "all of it may be gone");
        assert!(error_bound(Type::F32, 12.into(), 6.0 * tiny) < tiny, "other additions keep it");
        assert_eq!(error_bound(Type::F64, rounding, 1.0), error_bound(Type::F64, 12.into(), 1.0));
    }

    #[test]
    fn knows_which_sums_may_overflow() {
        assert!(may_overflow(Type::F32, 20.into(), 4e38) && may_overflow(Type::BF16, 20.into(), f64::from(f32::MAX)));
        assert!(!may_overflow(Type::F32, 20.into(), 3.4e38) && !may_overflow(Type::F64, 20.into(), 4e38));
        assert!(may_overflow(Type::F32, 20.into(), f64::NAN));
    }

    #[test]
    fn says_nothing_of_a_path_that_is_too_long() {
        assert_eq!(error_bound(Type::F32, (1 << 24).into(), 1.0), f64::INFINITY);
        assert!(error_bound(Type::F32, (1 << 23).into(), 1.0).is_finite());
    }
}
