//! The right answer: exact for integers, to about twice the precision of a double for floats.
//!
//! A plain sum in the precision under test would be a worthless reference (a serial f32 sum of ones stalls at 2^24). The
//! float sum here carries the rounding error of every addition in a second double and renormalises after each one; a
//! compensation that is added only at the end would stall as a plain sum does. Its relative error is about n·2^-106, so
//! that it serves f32 and f64 inputs alike.

use crate::element::{Array, Element, Type, Value};
use crate::op::{OnHost as _, Op};
use crate::with_elements;

pub mod exponentials;
pub mod norms;
mod operators;

/// The right answer, with what an error bound needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    /// The answer: wrapped to the type for integers, a double for floats.
    pub expected: Value,
    /// Rest of the exact sum beyond the double.
    pub low: f64,
    /// Sum of the absolute values, 0 for integers and where nothing is added; of mean and variance, the mean's.
    pub magnitude: f64,
    /// Base of a variance's relative error; 0 for everything else.
    pub spread: f64,
    /// How far partial results may be from 0.
    pub reach: Reach,
    /// Operations whose result may be below the normal numbers, each by how much it counts in the answer. Such a result loses
    /// half the smallest number.
    pub underflows: f64,
}

/// Largest partial results of any order, were nothing rounded. Infinite elements are left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reach {
    /// Sum of the terms above 0; of factors, the product of those above 1, or infinite where one of another order may come to
    /// anything.
    pub above: f64,
    /// Magnitude of the sum of the terms below 0; of factors the same as `above`.
    pub below: f64,
    /// Sum of the squares of distances from a mean.
    pub squares: f64,
    /// Elements of that mean.
    pub count: f64,
}

impl Reference {
    /// An answer without any error.
    pub fn exact(expected: Value) -> Reference {
        Reference { expected, low: 0.0, magnitude: 0.0, spread: 0.0, reach: Reach::default(), underflows: 0.0 }
    }

    /// Sum `high` + `low` of terms whose magnitudes add up to `magnitude`.
    pub fn sum(high: f64, low: f64, magnitude: f64) -> Reference {
        // Halves first, so that neither overflows.
        let reach =
            Reach { above: magnitude / 2.0 + high / 2.0, below: magnitude / 2.0 - high / 2.0, ..Reach::default() };
        Reference { low, magnitude, reach, ..Reference::exact(Value::F64(high)) }
    }
}

/// Computes `op` over `array`, which for two arrays holds one behind the other. The smallest and the largest element are
/// exact; by the rule of `min` and `max` a NaN among floats is passed over, as CUDA's `fmin` and `fmax` do, and is the answer
/// only where there is nothing else.
pub fn reference_of(op: Op, array: &Array) -> Reference {
    match array {
        // Each element has its own, see exponentials.rs and norms.rs.
        _ if op.has_bounds() => Reference::exact(op.identity(array.ty())),
        Array::F16(_) | Array::BF16(_) | Array::F32(_) | Array::F64(_) if op == Op::Sum => reference(array),
        _ => operators::of(op, array),
    }
}

/// Sums `array`.
pub fn reference(array: &Array) -> Reference {
    if !array.ty().is_float() {
        return operators::of(Op::Sum, array);
    }
    with_elements!(array, values => float_sum(values.iter().map(|x| x.value().to_f64())))
}

/// As [`reference`], for a part of an array, by all cores and with less work for each element: the sums of short blocks are
/// compensated only at their end. For arrays of up to 2^31 numbers, of which no sum comes near an overflow; another array
/// gets the slow way.
pub fn reference_of_slice<T: Element>(values: &[T]) -> Reference {
    if !T::TYPE.is_float() && T::TYPE != Type::I32 {
        return reference(&T::array(values.to_vec()));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = values.len().div_ceil(threads).next_multiple_of(BLOCK).max(64 * BLOCK);
    let parts: Vec<Partial> = std::thread::scope(|scope| {
        let running: Vec<_> = values.chunks(part).map(|part| scope.spawn(|| Partial::of(part))).collect();
        // A thread that died would be a mistake of this program; its part is then not a number, and nothing agrees with it.
        running.into_iter().map(|thread| thread.join().unwrap_or(Partial::LOST)).collect()
    });
    if T::TYPE == Type::I32 {
        let exact = parts.iter().fold(0i64, |sum, part| sum.wrapping_add(part.exact));
        return Reference::exact(Value::I32(exact as i32));
    }
    let Pair { high, low } = pair_sum(parts.iter().flat_map(|part| [part.high, part.low]));
    if !high.is_finite() {
        return reference(&T::array(values.to_vec()));
    }
    let magnitude = parts.iter().map(|part| part.magnitude).sum();
    Reference::sum(high, low, magnitude)
}

/// Elements of a block whose sum is compensated at its end.
const BLOCK: usize = 4096;
/// Sums that a block keeps side by side, so that none waits for the other.
const LANES: usize = 8;

/// The sum of a part of an array: of integers `exact`, of floats the pair `high` and `low`.
struct Partial {
    exact: i64,
    high: f64,
    low: f64,
    magnitude: f64,
}

impl Partial {
    const LOST: Partial = Partial { exact: i64::MIN, high: f64::NAN, low: 0.0, magnitude: 0.0 };

    fn of<T: Element>(values: &[T]) -> Partial {
        if T::TYPE == Type::I32 {
            let exact = values.iter().map(|value| if let Value::I32(v) = value.value() { i64::from(v) } else { 0 });
            return Partial { exact: exact.sum(), high: 0.0, low: 0.0, magnitude: 0.0 };
        }
        let mut magnitude = 0.0;
        let blocks = values.chunks(BLOCK).flat_map(|block| {
            let (sums, sizes) = block_sums(block);
            magnitude += sizes;
            sums
        });
        let Pair { high, low } = pair_sum(blocks);
        Partial { exact: 0, high, low, magnitude }
    }
}

/// Sums of a block's elements, with the sums of their rounding errors, and the sum of their absolute values.
fn block_sums<T: Element>(block: &[T]) -> ([f64; 2 * LANES], f64) {
    let (mut sums, mut errors, mut sizes) = ([0.0f64; LANES], [0.0f64; LANES], [0.0f64; LANES]);
    for group in block.chunks(LANES) {
        for (lane, value) in group.iter().enumerate() {
            let x = value.value().to_f64();
            let sum = sums[lane] + x;
            let from_x = sum - sums[lane];
            errors[lane] += (sums[lane] - (sum - from_x)) + (x - from_x);
            sums[lane] = sum;
            sizes[lane] += x.abs();
        }
    }
    let both = std::array::from_fn(|i| if i < LANES { sums[i] } else { errors[i - LANES] });
    (both, sizes.iter().sum())
}

fn float_sum(values: impl Iterator<Item = f64> + Clone) -> Reference {
    // One pass: each sum waits for its last addition, and the others are added in that time.
    let (mut sum, mut sizes, mut reach) = (Pair::default(), Pair::default(), Reach::default());
    for x in values.clone() {
        sum.add(x);
        sizes.add(x.abs());
        if x.is_finite() {
            *if x > 0.0 { &mut reach.above } else { &mut reach.below } += x.abs();
        }
    }
    let (high, low) = sum.or_scaled(values.clone());
    let (magnitude, _) = sizes.or_scaled(values.map(f64::abs));
    Reference { low, magnitude, reach, ..Reference::exact(Value::F64(high)) }
}

/// The sum as an unevaluated pair: the nearest double and the rest. The rest is 0 when the sum is not finite.
fn compensated_sum(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    pair_sum(values.clone()).or_scaled(values)
}

/// A sum and the rest that its double does not hold.
#[derive(Default)]
struct Pair {
    high: f64,
    low: f64,
}

impl Pair {
    fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let from_x = sum - self.high;
        self.low += (self.high - (sum - from_x)) + (x - from_x);
        self.high = sum + self.low;
        self.low -= self.high - sum;
    }

    /// The sum of the same values where this one has overflowed or is no number, else this one.
    fn or_scaled(self, values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let Pair { high, low } = self;
        if high.is_finite() && low.is_finite() {
            return (high, low);
        }
        if values.clone().all(f64::is_finite) {
            // A partial sum overflowed, which says nothing about the sum: once more, far from the edge. 2^31 values of at
            // most 2^1024 stay below 2^1024 after this scaling; what it loses to underflow is far below any bound.
            const SCALE: f64 = 1.0 / (1u64 << 40) as f64;
            let Pair { high, low } = pair_sum(values.map(|x| x * SCALE));
            let high = high / SCALE;
            return (high, if high.is_finite() { low / SCALE } else { 0.0 });
        }
        (values.sum(), 0.0) // infinities and NaN: IEEE addition gives the class of the result whatever the order
    }
}

fn pair_sum(values: impl Iterator<Item = f64>) -> Pair {
    let mut pair = Pair::default();
    values.for_each(|x| pair.add(x));
    pair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_f64(values: &[f64]) -> f64 {
        reference(&Array::F64(values.to_vec())).expected.to_f64()
    }

    #[test]
    fn integers_wrap() {
        let Value::I32(sum) = reference(&Array::I32(vec![i32::MAX, 1, 5])).expected else { panic!("an i32 sum") };
        assert_eq!(sum, i32::MIN + 5);
    }

    #[test]
    fn cancellation_is_exact() {
        assert_eq!(sum_f64(&[1e16, 1.0, -1e16, 1e-20]), 1.0);
        let r = reference(&Array::F64(vec![1e16, 1.0, -1e16, 1e-20]));
        assert_eq!(r.low, 1e-20);
        assert!((r.magnitude - 2e16).abs() <= 4.0);
    }

    #[test]
    fn ones_do_not_stall() {
        let ones = vec![1.0f32; (1 << 24) + 3];
        assert_eq!(reference(&Array::F32(ones)).expected.to_f64(), 16777219.0);
    }

    #[test]
    fn partial_overflow_is_not_overflow() {
        assert_eq!(sum_f64(&[1.5e308, 1.5e308, -1.5e308]), 1.5e308);
        assert_eq!(sum_f64(&[1.5e308, 1.5e308]), f64::INFINITY);
    }

    #[test]
    fn what_is_not_finite_keeps_its_class() {
        assert!(sum_f64(&[1.0, f64::NAN]).is_nan());
        assert_eq!(sum_f64(&[1.0, f64::NEG_INFINITY]), f64::NEG_INFINITY);
        assert!(sum_f64(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }

    #[test]
    fn the_smallest_and_the_largest_pass_over_nan() {
        let floats = Array::F32(vec![1.5, f32::NAN, -2.0]);
        assert_eq!(reference_of(Op::Min, &floats).expected.to_f64(), -2.0);
        assert_eq!(reference_of(Op::Max, &floats).expected.to_f64(), 1.5);
        assert!(reference_of(Op::Max, &Array::F64(vec![f64::NAN])).expected.to_f64().is_nan());
        assert_eq!(reference_of(Op::Min, &Array::I32(vec![3, -7, 5])).expected.to_f64(), -7.0);
        assert_eq!(reference_of(Op::Min, &Array::F64(vec![])).expected.to_f64(), f64::INFINITY);
    }

    #[test]
    fn the_quick_sum_of_a_slice_is_the_slow_one() {
        use crate::input::elements;
        let n = 64 * BLOCK + 3 * LANES + 5; // two threads' worth, and ends that are not full
        let close = |quick: Reference, slow: Reference| {
            assert_eq!(quick.expected.bits(), slow.expected.bits());
            assert!((quick.low - slow.low).abs() <= 1e-28 * slow.magnitude, "{} {}", quick.low, slow.low);
            assert!((quick.magnitude / slow.magnitude - 1.0).abs() < 1e-9 || slow.magnitude == 0.0);
        };
        let (ints, floats, doubles) = (elements::<i32>(n, 1), elements::<f32>(n, 2), elements::<f64>(n, 3));
        close(reference_of_slice(&ints[3..]), reference(&Array::I32(ints[3..].to_vec())));
        close(reference_of_slice(&floats[1..]), reference(&Array::F32(floats[1..].to_vec())));
        close(reference_of_slice(&doubles), reference(&Array::F64(doubles.clone())));
        assert_eq!(reference_of_slice(&[1e308f64, 1e308, -1e308]).expected.to_f64(), 1e308);
        assert_eq!(reference_of_slice::<f64>(&[]).expected.to_f64(), 0.0);
        assert!(reference_of_slice(&[1.0f32, f32::NAN]).expected.to_f64().is_nan());
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!(sum_f64(&[]), 0.0);
    }

    #[test]
    fn agrees_with_exact_fixed_point() {
        // f32 values of [-1, 1) are multiples of 2^-23 here, so that an i128 holds their sum exactly.
        let values: Vec<f32> =
            (0..10_000u32).map(|i| (i.wrapping_mul(2654435761) >> 8) as f32 / 8388608.0 - 1.0).collect();
        let exact: i128 = values.iter().map(|&x| (f64::from(x) * 8388608.0) as i128).sum();
        let r = reference(&Array::F32(values));
        assert_eq!(r.expected.to_f64() * 8388608.0, exact as f64);
        assert_eq!(r.low, 0.0);
    }
}
