//! How far a right kernel may be off: a bound from the order of its own additions, not a tolerance that someone chose.
//!
//! A value that passes through k rounded additions on its way into the result is multiplied by k factors of at most
//! 1 ± u. The result is then off by at most γ(k)·Σ|x| with γ(k) = ku / (1 − ku), where k is the longest such path (Higham,
//! Accuracy and Stability of Numerical Algorithms, section 4.2). Trees keep k small: 20 or so for a million numbers.
//!
//! The bound is for the worst case and grows with n, so that at millions of floats it may hide one lost element. The same
//! kernel summing integers may not be off at all, which is why every chapter runs both.

use crate::Type;

/// The largest |result − exact sum| that `additions` rounded additions on the longest path explain. 0 for integers;
/// infinite where a sum on the way may overflow, because then no bound holds.
pub fn error_bound(ty: Type, additions: u64, magnitude: f64) -> f64 {
    if ty == Type::I32 || magnitude == 0.0 {
        return 0.0;
    }
    let ku = additions as f64 * ty.unit_roundoff();
    if ku >= 1.0 {
        return f64::INFINITY;
    }
    let gamma = ku / (1.0 - ku);
    let largest = if ty == Type::F32 { f64::from(f32::MAX) } else { f64::MAX };
    if magnitude * (1.0 + gamma) > largest { f64::INFINITY } else { gamma * magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_no_error() {
        assert_eq!(error_bound(Type::I32, 30, 0.0), 0.0);
    }

    #[test]
    fn grows_with_the_path_and_the_magnitude() {
        let u = 2.0f64.powi(-24);
        assert!((error_bound(Type::F32, 1, 1.0) / u - 1.0).abs() < 1e-6);
        assert!((error_bound(Type::F32, 20, 100.0) / (2000.0 * u) - 1.0).abs() < 1e-5);
        assert!((error_bound(Type::F64, 20, 100.0) / (2000.0 * 2.0f64.powi(-53)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn says_nothing_where_sums_may_overflow() {
        assert_eq!(error_bound(Type::F32, 20, 4e38), f64::INFINITY);
        assert!(error_bound(Type::F64, 20, 4e38).is_finite());
    }
}
