//! The exact result of a sum, mean, dot product or sum of squares of floats, rounded once: what an exact kernel's bits are compared with.
//!
//! Elements are whole numbers times powers of two. Those of one exponent are added up in 128 bits, the exponents as one number without an
//! end, and nothing is rounded before the last step.

use num_bigint::{BigInt, BigUint, Sign};

use super::Reference;
use crate::element::{Array, Type, Value};
use crate::op::{OnHost as _, Op};

/// Numbers that are added before their buckets are emptied: 2^20 products of 106 bits are below 2^127.
const AT_ONCE: usize = 1 << 20;
/// Power of two of the lowest bucket: the smallest double, squared.
const LOWEST: i32 = -2 * 1074;
/// Exponents from there to that of the largest double, squared.
const BUCKETS: usize = (2 * (1023 - 52) - LOWEST + 1) as usize;
/// Bits that a sum is moved up by before it is divided, so that the quotient has more than a double.
const BELOW: u32 = 128;

/// The exact result with nothing beside it; `None` for an operation and type without one.
pub fn rounded_once(op: Op, array: &Array) -> Option<Reference> {
    if !array.ty().is_float() || !matches!(op, Op::Sum | Op::Mean | Op::Dot | Op::Sumsq) {
        return None;
    }
    if array.is_empty() {
        return Some(Reference::exact(op.identity(array.ty())));
    }
    let values = super::operators::reals(array);
    let mut total = Total::default();
    match op {
        Op::Dot => {
            let (a, b) = values.split_at(values.len() / 2);
            total.add(a.iter().copied().zip(b.iter().copied()));
        }
        Op::Sumsq => total.add(values.iter().map(|&x| (x, x))),
        _ => total.add(values.iter().map(|&x| (x, 1.0))),
    }
    let divisor = if op == Op::Mean { values.len() as u64 } else { 1 };
    Some(Reference::exact(total.rounded(divisor, array.ty())))
}

/// A sum of products.
#[derive(Default)]
struct Total {
    /// In units of 2^LOWEST.
    sum: BigInt,
    /// Sum of what is infinite or NaN.
    special: f64,
    /// True if a term has no sign.
    some_positive: bool,
}

impl Total {
    fn add(&mut self, pairs: impl Iterator<Item = (f64, f64)>) {
        let mut buckets = vec![0i128; BUCKETS];
        for (i, (x, y)) in pairs.enumerate() {
            self.some_positive |= x.is_sign_positive() == y.is_sign_positive();
            if !x.is_finite() || !y.is_finite() {
                self.special += x * y;
                continue;
            }
            let ((a, of_a), (b, of_b)) = (parts(x), parts(y));
            buckets[(of_a + of_b - LOWEST) as usize] += i128::from(a) * i128::from(b);
            if i % AT_ONCE == AT_ONCE - 1 {
                self.empty(&mut buckets);
            }
        }
        self.empty(&mut buckets);
    }

    fn empty(&mut self, buckets: &mut [i128]) {
        for (at, bucket) in buckets.iter_mut().enumerate().filter(|(_, bucket)| **bucket != 0) {
            self.sum += BigInt::from(std::mem::take(bucket)) << at;
        }
    }

    /// The quotient, rounded to nearest, ties to even.
    fn rounded(&self, divisor: u64, ty: Type) -> Value {
        let as_value = |x: f64| if ty == Type::F64 { Value::F64(x) } else { Value::F32(x as f32) };
        if self.special != 0.0 || self.special.is_nan() {
            return as_value(self.special);
        }
        if self.sum.sign() == Sign::NoSign {
            return as_value(if self.some_positive { 0.0 } else { -0.0 });
        }
        let dividend = self.sum.magnitude() << BELOW;
        let (quotient, lowest) = (&dividend / divisor, LOWEST - BELOW as i32);
        let (bits, least) = if ty == Type::F64 { (53, -1074) } else { (24, -149) };
        // Bits below the last one that the type has at this size.
        let gone = (quotient.bits() as i32 - bits).max(least - lowest) as u64;
        let mut kept = &quotient >> gone;
        let below: BigUint = dividend - ((&kept << gone) * divisor);
        let half = BigUint::from(divisor) << (gone - 1);
        if below > half || (below == half && kept.bit(0)) {
            kept += 1u32;
        }
        // At most 2^53, times a power of two: exact, or over the edge.
        let kept = u64::try_from(kept).unwrap_or(u64::MAX) as f64;
        let number = kept * power_of_two(gone as i32 + lowest);
        as_value(if self.sum.sign() == Sign::Minus { -number } else { number })
    }
}

/// A finite double as a whole number and the power of two that it is multiplied by.
fn parts(x: f64) -> (i64, i32) {
    let (fraction, exponent) = ((x.to_bits() & ((1 << 52) - 1)) as i64, (x.to_bits() >> 52 & 0x7ff) as i32);
    let whole = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    (if x.is_sign_negative() { -whole } else { whole }, exponent.max(1) - 1075)
}

/// 2^power as a double; infinite where there is none.
fn power_of_two(power: i32) -> f64 {
    match power {
        1024.. => f64::INFINITY,
        -1022.. => f64::from_bits(((power + 1023) as u64) << 52),
        _ => f64::from_bits(1 << (power + 1074).max(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn of(op: Op, array: Array) -> Value {
        rounded_once(op, &array).expect("a sum of floats").expected
    }

    fn sum(values: &[f32]) -> u32 {
        let Value::F32(sum) = of(Op::Sum, Array::F32(values.to_vec())) else { panic!("an f32") };
        sum.to_bits()
    }

    #[test]
    fn nothing_is_lost_before_the_one_rounding() {
        assert_eq!(sum(&[1e30, 1.0, -1e30, 1e-40]), 1f32.to_bits());
        assert_eq!(sum(&[1e30, 1e-45, -1e30]), 1);
        assert_eq!(sum(&[16_777_216.0, 1.0]), 16_777_216f32.to_bits(), "a tie, to even");
        assert_eq!(sum(&[16_777_216.0, 1.0, 1e-45]), 16_777_218f32.to_bits(), "above a tie");
        assert_eq!(sum(&[f32::MAX, f32::MAX, -f32::MAX]), f32::MAX.to_bits());
        assert_eq!(sum(&[f32::MAX, 2.0f32.powi(103)]), f32::INFINITY.to_bits(), "half a step over the edge");
        assert_eq!(sum(&[f32::MAX, 2.0f32.powi(102)]), f32::MAX.to_bits());
        assert_eq!((sum(&[-0.0, -0.0]), sum(&[-0.0, 0.0]), sum(&[1.0, -1.0]), sum(&[])), (0x8000_0000, 0, 0, 0));
    }

    #[test]
    fn what_is_not_finite_is_the_result() {
        let bits = |values: &[f32]| f32::from_bits(sum(values));
        assert_eq!(bits(&[1.0, f32::INFINITY, -f32::MAX]), f32::INFINITY);
        assert!(bits(&[f32::NEG_INFINITY, f32::INFINITY]).is_nan() && bits(&[f32::NAN, 1.0]).is_nan());
    }

    #[test]
    fn products_and_quotients_are_exact_too() {
        let f64 = |op, values: Vec<f64>| of(op, Array::F64(values)).to_f64();
        let near = 1.0 + f64::EPSILON;
        // near² = 1 + 2ε + ε², of which a double has the first two terms.
        assert_eq!(f64(Op::Dot, vec![near, 1.0, near, -1.0 - 2.0 * f64::EPSILON]), f64::EPSILON * f64::EPSILON);
        assert_eq!(f64(Op::Dot, vec![1e300, 1e300, 1e300, -1e300]), 0.0);
        assert_eq!(f64(Op::Sumsq, vec![1e-200]), 0.0);
        assert_eq!(f64(Op::Sumsq, vec![f64::MAX]), f64::INFINITY);
        assert_eq!(f64(Op::Mean, vec![f64::MAX, f64::MAX]), f64::MAX);
        assert_eq!(f64(Op::Mean, vec![f64::from_bits(1), 0.0]), 0.0, "a tie, to even");
        assert_eq!(f64(Op::Mean, vec![f64::from_bits(3), 0.0]), f64::from_bits(2));
        assert_eq!(f64(Op::Mean, vec![1.0, 0.0, 0.0]), 1.0 / 3.0);
        assert!(f64(Op::Mean, vec![]).is_nan());
        let halves = Array::F16([256.0, 256.0, 0.5].map(f16::from_f32).to_vec());
        assert_eq!(of(Op::Sumsq, halves).to_f64(), 131_072.25);
        assert!(rounded_once(Op::Max, &Array::F32(vec![1.0])).is_none());
        assert!(rounded_once(Op::Sum, &Array::I32(vec![1])).is_none());
    }

    #[test]
    fn more_than_the_buckets_take_at_once_is_added_in_parts() {
        let n = AT_ONCE + 3;
        let largest = vec![f64::MAX; n];
        assert_eq!(of(Op::Mean, Array::F64(largest)).to_f64(), f64::MAX);
        let big = 2f64.powi(53) - 1.0;
        let squares = of(Op::Sumsq, Array::F64(vec![big; n])).to_f64();
        assert_eq!(squares, (big * big) * n as f64, "one that a double holds to its last bit but one");
    }
}
