//! The right answer of every operation but the sum: exact where nothing rounds, else to about twice the precision of a double.

use super::{Reach, Reference, compensated_sum, float_sum};
use crate::bound::{largest, smallest};
use crate::element::{Array, Element, Type, Value};
use crate::op::{Number, OnHost as _, Op, Outcome};
use crate::with_elements;

/// Computes `op` over `array`, which holds its arrays one behind the other.
pub(super) fn of(op: Op, array: &Array) -> Reference {
    let ty = array.ty();
    if array.is_empty() {
        return Reference::exact(op.identity(ty));
    }
    if ty.is_float() { real_result(op, ty, &reals(array)) } else { whole_result(op, ty, &wholes(array)) }
}

/// The elements as doubles, which hold all of those of 32 bits and less.
pub(super) fn reals(array: &Array) -> Vec<f64> {
    with_elements!(array, values => values.iter().map(|value| value.value().to_f64()).collect())
}

fn wholes(array: &Array) -> Vec<i64> {
    let whole = |value: Value| match value {
        Value::I32(v) => i64::from(v),
        Value::U32(v) => i64::from(v),
        Value::I64(v) => v,
        _ => 0,
    };
    with_elements!(array, values => values.iter().map(|value| whole(value.value())).collect())
}

/// A whole number in the bits that the result has, as the kernel leaves them.
fn whole(op: Op, ty: Type, v: i64) -> Value {
    match op.outcome(ty) {
        Outcome::Number(Number::I32) => Value::I32(v as i32),
        Outcome::Number(Number::U32) => Value::U32(v as u32),
        _ => Value::I64(v),
    }
}

fn whole_result(op: Op, ty: Type, values: &[i64]) -> Reference {
    let fold = |combine: fn(i64, i64) -> i64| values.iter().copied().reduce(combine).unwrap_or(0);
    let first = |is_better: fn(i64, i64) -> bool| {
        let mut best = 0;
        for (i, &value) in values.iter().enumerate() {
            if is_better(value, values[best]) {
                best = i;
            }
        }
        Value::At { index: best as u64, value: values[best] as f64 }
    };
    Reference::exact(match op {
        Op::Sum => whole(op, ty, fold(i64::wrapping_add)),
        Op::Min | Op::Minimum => whole(op, ty, fold(i64::min)),
        Op::Max | Op::Maximum => whole(op, ty, fold(i64::max)),
        Op::Prod => whole(op, ty, fold(i64::wrapping_mul)),
        Op::And => whole(op, ty, fold(|a, b| a & b)),
        Op::Or => whole(op, ty, fold(|a, b| a | b)),
        Op::Xor => whole(op, ty, fold(|a, b| a ^ b)),
        Op::Sumsq => whole(op, ty, values.iter().fold(0i64, |sum, &v| sum.wrapping_add(v.wrapping_mul(v)))),
        Op::Dot => {
            let (a, b) = values.split_at(values.len() / 2);
            whole(op, ty, a.iter().zip(b).fold(0i64, |sum, (&a, &b)| sum.wrapping_add(a.wrapping_mul(b))))
        }
        Op::Count => Value::U32(values.iter().filter(|&&v| v > 0).count() as u32),
        Op::Any => Value::U32(values.iter().any(|&v| v != 0).into()),
        Op::All => Value::U32(values.iter().all(|&v| v != 0).into()),
        Op::Argmin | Op::Nanargmin => first(|a, b| a < b),
        Op::Argmax | Op::Nanargmax => first(|a, b| a > b),
        Op::Minmax => Value::Two(fold(i64::min) as f64, fold(i64::max) as f64),
        // The others are of no integers, see Op::refusal.
        _ => Value::Two(f64::NAN, f64::NAN),
    })
}

fn real_result(op: Op, ty: Type, values: &[f64]) -> Reference {
    // A double that is one of the elements, in their own wide type.
    let element = |v: f64| Reference::exact(if ty == Type::F64 { Value::F64(v) } else { Value::F32(v as f32) });
    let nan_or = |v: f64| if values.iter().any(|v| v.is_nan()) { f64::NAN } else { v };
    let min = || values.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
    let max = || values.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
    match op {
        Op::Min => element(min()),
        Op::Max => element(max()),
        Op::Minimum => element(nan_or(min())),
        Op::Maximum => element(nan_or(max())),
        Op::Minmax => Reference::exact(Value::Two(nan_or(min()), nan_or(max()))),
        Op::Prod => product(ty, values),
        Op::Sumsq => product_sum(values.iter().map(|&v| (v, v))),
        Op::L2Norm => root(ty, product_sum(values.iter().map(|&v| (v, v)))),
        Op::Dot => {
            let (a, b) = values.split_at(values.len() / 2);
            product_sum(a.iter().copied().zip(b.iter().copied()))
        }
        Op::Count => Reference::exact(Value::U32(values.iter().filter(|&&v| v > 0.0).count() as u32)),
        Op::Any => Reference::exact(Value::U32(values.iter().any(|&v| v != 0.0).into())),
        Op::All => Reference::exact(Value::U32(values.iter().all(|&v| v != 0.0).into())),
        Op::Argmin => Reference::exact(first_of(values, |a, b| a < b, true)),
        Op::Argmax => Reference::exact(first_of(values, |a, b| a > b, true)),
        Op::Nanargmin => Reference::exact(first_of(values, |a, b| a < b, false)),
        Op::Nanargmax => Reference::exact(first_of(values, |a, b| a > b, false)),
        Op::Mean => mean(values),
        Op::Meanvar => moments(values),
        // The first is the caller's own; of floats there are no bits, see Op::refusal; and exponentials have a reference of theirs.
        _ => Reference::exact(Value::F64(f64::NAN)),
    }
}

/// The first of the best, the first NaN before it, or with NaN passed over.
fn first_of(values: &[f64], is_better: fn(f64, f64) -> bool, nan_wins: bool) -> Value {
    let mut found = Value::At { index: Value::NOWHERE, value: f64::NAN };
    let mut best: Option<f64> = None;
    for (i, &value) in values.iter().enumerate() {
        if value.is_nan() && nan_wins {
            return Value::At { index: i as u64, value };
        }
        if !value.is_nan() && best.is_none_or(|best| is_better(value, best)) {
            best = Some(value);
            found = Value::At { index: i as u64, value };
        }
    }
    found
}

/// The product, with the rounding error of every step in a second double; powers of two that would take it over an edge on the
/// way are kept apart.
fn product(ty: Type, values: &[f64]) -> Reference {
    const STEP: i32 = 400;
    let (far, near) = (2.0f64.powi(STEP), 2.0f64.powi(-STEP));
    let (mut high, mut low, mut steps) = (1.0f64, 0.0f64, 0i64);
    let mut shift = |high: &mut f64, low: &mut f64, by: f64, step: i64| {
        (*high, *low) = (*high * by, *low * by);
        steps += step;
    };
    for &x in values {
        // A factor at the edge of the doubles is brought near 1 first.
        let (mut x, size) = (x, x.abs());
        if size.is_finite() && size > far {
            x *= near;
            shift(&mut high, &mut low, 1.0, 1);
        } else if size > 0.0 && size < near {
            x *= far;
            shift(&mut high, &mut low, 1.0, -1);
        }
        let next = high * x;
        low = low.mul_add(x, high.mul_add(x, -next));
        high = next;
        let size = high.abs();
        if size.is_finite() && size > far {
            shift(&mut high, &mut low, near, 1);
        } else if size > 0.0 && size < near {
            shift(&mut high, &mut low, far, -1);
        }
    }
    // More steps than these take any double to an infinity or to 0.
    for _ in 0..steps.unsigned_abs().min(8) {
        let by = if steps > 0 { far } else { near };
        (high, low) = (high * by, low * by);
    }
    let low = if high.is_finite() && low.is_finite() { low } else { 0.0 };
    let factors = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let above = factors.clone().filter(|&x| x > 1.0).product::<f64>();
    let below = factors.filter(|&x| x > 0.0 && x < 1.0).product::<f64>();
    // Beyond an edge of the type all may be lost, as an infinity times what has become 0.
    let is_lost = above > largest(ty) / 2.0 || (!high.is_finite() && below < 2.0 * smallest(ty));
    let (reach, underflows) = if is_lost { (f64::INFINITY, 0.0) } else { (above, values.len() as f64 * above) };
    let reach = Reach { above: reach, below: reach, ..Reach::default() };
    Reference { low, magnitude: high.abs(), reach, underflows, ..Reference::exact(Value::F64(high)) }
}

/// The sum of products, each as the nearest double and what that lacks.
fn product_sum(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Reference {
    let underflows = pairs.clone().count() as f64;
    let sum = float_sum(pairs.flat_map(|(a, b)| {
        let high = a * b;
        let low = a.mul_add(b, -high);
        [high, if low.is_finite() { low } else { 0.0 }]
    }));
    Reference { underflows, ..sum }
}

/// The root of a sum of squares. It halves a relative error; what squares lose below the normal numbers it brings up again.
fn root(ty: Type, squares: Reference) -> Reference {
    let high = squares.expected.to_f64();
    let root = high.sqrt();
    let low = (root.mul_add(-root, high) + squares.low) / (2.0 * root);
    let low = if low.is_finite() { low } else { 0.0 };
    let lost = squares.underflows * smallest(ty);
    let lost = (2.0 * lost).sqrt().min(if root > 0.0 { lost / root } else { f64::INFINITY });
    let (magnitude, underflows) = (squares.magnitude.sqrt(), lost / smallest(ty));
    Reference { low, magnitude, underflows, reach: squares.reach, ..Reference::exact(Value::F64(root)) }
}

/// The mean, which is divided once. What the division rounds off is less than an addition does, and a bound has it among those.
fn mean(values: &[f64]) -> Reference {
    let n = values.len() as f64;
    let sum = float_sum(values.iter().copied());
    let (high, low) = if sum.expected.to_f64().is_finite() {
        let (high, low) = (sum.expected.to_f64(), sum.low);
        let mean = high / n;
        let low = (mean.mul_add(-n, high) + low) / n;
        (mean, if low.is_finite() { low } else { 0.0 })
    } else {
        // No double holds the sum, or an element is infinite.
        compensated_sum(values.iter().map(|x| x / n))
    };
    // A quotient below the normal numbers loses half the smallest.
    Reference {
        low,
        magnitude: sum.magnitude / n,
        reach: sum.reach,
        underflows: 1.0,
        ..Reference::exact(Value::F64(high))
    }
}

/// Mean and variance, by two passes of compensated sums.
fn moments(values: &[f64]) -> Reference {
    let n = values.len() as f64;
    let sum = float_sum(values.iter().copied());
    let mean = if sum.magnitude.is_finite() {
        (sum.expected.to_f64() + sum.low) / n
    } else {
        // No double holds the sum, or an element is infinite.
        let parts = float_sum(values.iter().map(|x| x / n));
        parts.expected.to_f64() + parts.low
    };
    // What the mean lacks is squared away: the sum of distances from a mean that is off by a little, is off by its square.
    let (high, low) = compensated_sum(values.iter().map(|&x| (x - mean) * (x - mean)));
    let squares = high + low;
    let variance = if mean.is_finite() { squares / n } else { f64::NAN };
    let condition = if variance > 0.0 { (1.0 + mean * mean / variance).sqrt() } else { 0.0 };
    // Of equal numbers every distance is that of rounded means: so small that its square vanishes beside theirs.
    let spread = if variance > 0.0 { variance * condition } else { f64::EPSILON * mean * mean };
    let reach = Reach { squares, count: n, ..sum.reach };
    let expected = Value::Two(mean, variance);
    Reference { magnitude: sum.magnitude / n, spread, reach, ..Reference::exact(expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::reference_of;

    fn floats(op: Op, values: &[f32]) -> Value {
        reference_of(op, &Array::F32(values.to_vec())).expected
    }

    #[test]
    fn ties_go_to_the_first_and_nan_by_the_rule() {
        let index = |op, values: &[f32]| match floats(op, values) {
            Value::At { index, .. } => index,
            other => panic!("{other}"),
        };
        assert_eq!(index(Op::Argmax, &[1.0, 3.0, 3.0]), 1);
        assert_eq!(index(Op::Argmin, &[0.0, -0.0, 3.0]), 0);
        assert_eq!(index(Op::Argmax, &[1.0, f32::NAN, 3.0, f32::NAN]), 1);
        assert_eq!(index(Op::Nanargmax, &[f32::NAN, 1.0, 3.0, 3.0]), 2);
        assert_eq!(index(Op::Nanargmax, &[f32::NAN]), Value::NOWHERE);
        assert_eq!(index(Op::Argmax, &[f32::NEG_INFINITY; 3]), 0);
    }

    #[test]
    fn the_two_rules_differ_by_a_nan() {
        assert!(floats(Op::Maximum, &[1.0, f32::NAN]).to_f64().is_nan());
        assert_eq!(floats(Op::Max, &[1.0, f32::NAN]).to_f64(), 1.0);
        assert_eq!(floats(Op::Maximum, &[1.0, 2.0]).to_f64(), 2.0);
    }

    #[test]
    fn narrow_sums_do_not_wrap_and_wide_ones_do() {
        let bytes = reference_of(Op::Sum, &Array::I8(vec![-128; 1000])).expected;
        assert_eq!(bytes.to_f64(), -128_000.0);
        assert_eq!(reference_of(Op::Sum, &Array::U32(vec![u32::MAX, 3])).expected.to_f64(), 2.0);
        assert_eq!(reference_of(Op::Prod, &Array::I32(vec![1 << 16, 1 << 16, 3])).expected.to_f64(), 0.0);
        assert_eq!(reference_of(Op::Dot, &Array::I8(vec![1, 2, -3, 4])).expected.to_f64(), 5.0);
    }

    #[test]
    fn variance_survives_what_all_have_in_common() {
        let Value::Two(mean, variance) =
            reference_of(Op::Meanvar, &Array::F64(vec![1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0])).expected
        else {
            panic!("two numbers")
        };
        assert_eq!((mean, variance), (1e9 + 10.0, 22.5));
    }
}
