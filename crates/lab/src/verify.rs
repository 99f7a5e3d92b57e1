//! The judgement on one result: is it within the bound of the right answer?

use crate::bound::{Rounding, error_bound};
use crate::element::{Type, Value};
use crate::reference::Reference;

/// What a result is worth.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Within the bound; a NaN is right only where the inputs make the sum a NaN.
    pub right: bool,
    /// |result − expected|; for an expected infinity or NaN 0 where the class agrees, else infinite.
    pub abs_error: f64,
    /// The largest error that the kernel's own order of additions explains.
    pub error_bound: f64,
}

/// Judges `result`, which came by additions that round like this.
pub fn verify(result: Value, reference: &Reference, rounding: impl Into<Rounding>, ty: Type) -> Verdict {
    if let (Value::I32(got), Value::I32(want)) = (result, reference.expected) {
        let abs_error = (i64::from(got) - i64::from(want)).abs() as f64;
        return Verdict { right: got == want, abs_error, error_bound: 0.0 };
    }
    let (got, want) = (result.to_f64(), reference.expected.to_f64());
    if !want.is_finite() {
        let right = (got.is_nan() && want.is_nan()) || got == want;
        return Verdict { right, abs_error: if right { 0.0 } else { f64::INFINITY }, error_bound: 0.0 };
    }
    let error_bound = error_bound(ty, rounding.into(), reference.magnitude);
    let abs_error = ((got - want) - reference.low).abs();
    // Written so that a NaN fails.
    Verdict { right: abs_error <= error_bound, abs_error, error_bound }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Array;
    use crate::reference::reference;

    fn judge(values: Vec<f32>, result: f32) -> Verdict {
        verify(Value::F32(result), &reference(&Array::F32(values)), 4, Type::F32)
    }

    #[test]
    fn integers_agree_or_do_not() {
        let r = reference(&Array::I32(vec![1, 2, 3]));
        assert!(verify(Value::I32(6), &r, 2, Type::I32).right);
        let off = verify(Value::I32(7), &r, 2, Type::I32);
        assert!(!off.right);
        assert_eq!(off.abs_error, 1.0);
    }

    #[test]
    fn floats_may_be_off_by_the_bound_and_no_more() {
        let bound = judge(vec![1.0, 2.0, 3.0], 6.0).error_bound;
        assert!(judge(vec![1.0, 2.0, 3.0], 6.0 + bound as f32 * 0.9).right);
        assert!(!judge(vec![1.0, 2.0, 3.0], 6.0 + bound as f32 * 1.5).right);
    }

    #[test]
    fn nan_never_passes_for_a_finite_sum() {
        assert!(!judge(vec![1.0, 2.0], f32::NAN).right);
        assert!(!judge(vec![3e38, 3e38, -3e38], f32::NAN).right, "even where no bound holds");
    }

    #[test]
    fn classes_are_compared_as_classes() {
        assert!(judge(vec![1.0, f32::NAN], f32::NAN).right);
        assert!(!judge(vec![1.0, f32::NAN], 1.0).right);
        assert!(judge(vec![1.0, f32::INFINITY], f32::INFINITY).right);
        assert!(!judge(vec![1.0, f32::INFINITY], f32::NEG_INFINITY).right);
        assert!(!judge(vec![1.0, f32::INFINITY], f32::NAN).right);
    }

    #[test]
    fn overflow_on_the_way_is_no_error_of_the_kernel() {
        assert!(judge(vec![3e38, 3e38, -3e38], f32::INFINITY).right);
        assert!(judge(vec![3e38, 3e38, -3e38], 3e38).right);
    }

    #[test]
    fn zeros_sum_to_zero_exactly() {
        assert!(judge(vec![0.0; 5], 0.0).right);
        assert!(!judge(vec![0.0; 5], 1e-30).right);
    }
}
