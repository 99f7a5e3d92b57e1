//! The right answer of every element of a norm and of what goes back through it, with how far a right kernel may be off.
//!
//! Expected values are doubles. The bounds follow from what the kernels do, in floats with the unit roundoff u, and sums that
//! are off by γ(k), where k is the longest path (`reduction::bound`), and 16 more for what is beside it:
//!
//! - A mean is off by γ(k) times the mean magnitude, e. Where parts merge, each has a mean of its own that is off likewise.
//! - A variance is taken around such a mean: it is off by γ(k) of itself, by 2 e times the deviation, and by 2 e². It is never
//!   below 0, so that the reciprocal of its root is between those of both ends. Taken as the mean of squares less the square of the mean it would be off by γ(k) times the mean
//!   square, which for a mean far from 0 is all of it.
//! - A normalised element is off by what mean and root are, and its own roundings.
//! - Backward, the mean of g and that of g times the normalised element are sums of products, off as those are.
//! - Where all of that moves a normalised element by 2 √n, which is more than any can be, nothing is judged; nor where a sum may
//!   overflow.
//! - A result of f16 or bf16 is rounded once more, by half a step.

use super::exponentials::{U, double, rounded};
use crate::bound::{error_bound, may_overflow};
use crate::element::{Element, Type};
use crate::op::Op;
use crate::targets::Targets;
use crate::verdict::{Expected, Unsure, Why};

/// The ε that is added to the variance, as a float.
pub const EPSILON: f64 = 1e-5f32 as f64;
/// Largest error of a result with a factor below the smallest normal float.
const FLUSHED: f64 = 4.0 * f32::MIN_POSITIVE as f64;
/// The smallest float: twice what a product below the normal numbers loses.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64 * f32::EPSILON as f64;
/// Roundings beside those of the longest path.
const OTHERS: u64 = 16;

/// A row as its reference sees it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a, T> {
    /// The elements.
    pub first: &'a [T],
    /// Second operand of a sum, or the gradients of the results.
    pub other: &'a [T],
}

/// Operation, and the length of its longest path.
#[derive(Debug, Clone, Copy)]
pub struct Norm {
    /// One of the norms.
    pub op: Op,
    /// Weights and biases.
    pub targets: Targets,
    /// Roundings on the longest path through a sum.
    pub additions: u64,
}

/// Statistics of a row, and their error bounds.
struct Known {
    mean: f64,
    off_mean: f64,
    scale: f64,
    /// Relatively.
    off_scale: f64,
    /// What else a right kernel may make of the row.
    unsure: Unsure,
}

/// A number and how far off it may be.
#[derive(Clone, Copy)]
struct About {
    value: f64,
    off: f64,
}

/// Stored value of the sum of two elements.
fn rounded_sum<T: Element>(a: T, b: T) -> f64 {
    let sum = (double(a) as f32) + (double(b) as f32);
    T::from_f64(f64::from(sum)).value().to_f64()
}

impl Norm {
    fn gamma(&self) -> f64 {
        error_bound(Type::F32, (self.additions + OTHERS).into(), 1.0)
    }

    /// The elements that are normalised.
    fn elements<T: Element>(&self, row: Row<'_, T>) -> Vec<f64> {
        if self.op.adds() {
            return row.first.iter().zip(row.other).map(|(&a, &b)| rounded_sum(a, b)).collect();
        }
        row.first.iter().map(|&x| double(x)).collect()
    }

    fn known(&self, x: &[f64]) -> Known {
        let (count, gamma) = (x.len() as f64, self.gamma());
        let (mut mean, mut off_mean) = (0.0, 0.0);
        if self.op.is_centred() {
            mean = x.iter().sum::<f64>() / count;
            off_mean = gamma * x.iter().map(|x| x.abs()).sum::<f64>() / count;
        }
        let squares: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
        let variance = squares / count;
        let off = 2.0 * gamma * variance + 2.0 * off_mean * variance.sqrt() + 2.0 * off_mean * off_mean;
        let scale_of = |variance: f64| 1.0 / (variance + EPSILON).sqrt();
        let scale = scale_of(variance);
        let (least, most) = (scale_of(variance + off), scale_of((variance - off).max(0.0)));
        let mut row = Known { mean, off_mean, scale, off_scale: 0.0, unsure: Unsure::NONE };
        if !squares.is_finite() {
            return row; // what follows from it has a class and no distance
        }
        row.off_scale = (most - scale).max(scale - least) / scale + 4.0 * U;
        let around = 2.0 * squares + 2.0 * count * off_mean * off_mean;
        let overflows = self.overflows(around) || self.overflows(off_mean / gamma * count);
        let farthest = x.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
        row.unsure = if overflows {
            Unsure::all(Why::Overflow)
        } else if self.normal(mean + farthest, &row).off > 2.0 * count.sqrt() {
            Unsure::finite(Why::FarMean)
        } else {
            Unsure::NONE
        };
        row
    }

    /// Whether a sum of terms of this size may be more than a float.
    fn overflows(&self, size: f64) -> bool {
        may_overflow(Type::F32, (self.additions + OTHERS).into(), size)
    }

    /// A normalised element.
    fn normal(&self, x: f64, row: &Known) -> About {
        let apart = x - row.mean;
        let value = apart * row.scale;
        let scale = row.scale * (1.0 + row.off_scale);
        let off = scale * (row.off_mean + U * apart.abs()) + value.abs() * (row.off_scale + 2.0 * U);
        About { value, off: 1.01 * off + SMALLEST }
    }

    /// What is right of the results of a row, in order.
    pub fn row_results<T: Element>(&self, row: Row<'_, T>) -> Vec<Expected> {
        let x = self.elements(row);
        let known = self.known(&x);
        if self.op.has_weight_gradients() {
            self.backward::<T>(&x, row.other, &known)
        } else {
            self.forward::<T>(&x, &known)
        }
    }

    fn forward<T: Element>(&self, x: &[f64], row: &Known) -> Vec<Expected> {
        let right = |(col, &x): (usize, &f64)| {
            let (weight, normal) = (double(self.targets.weight::<T>(col as u64)), self.normal(x, row));
            let bias = if self.op.is_centred() { double(self.targets.bias::<T>(col as u64)) } else { 0.0 };
            let expected = normal.value * weight + bias;
            let bound = weight.abs() * normal.off + 2.0 * U * expected.abs() + FLUSHED;
            right_of::<T>(expected, bound, row.unsure)
        };
        x.iter().enumerate().map(right).collect()
    }

    fn backward<T: Element>(&self, x: &[f64], gradients: &[T], row: &Known) -> Vec<Expected> {
        let (count, gamma) = (x.len() as f64, self.gamma());
        let weighted = |(col, &y): (usize, &T)| double(y) * double(self.targets.weight::<T>(col as u64));
        let g: Vec<f64> = gradients.iter().enumerate().map(weighted).collect();
        let mean =
            |of: &dyn Fn(f64, f64) -> f64| x.iter().zip(&g).map(|(&x, &g)| of(x - row.mean, g)).sum::<f64>() / count;
        let size_of_g = mean(&|_, g| g.abs());
        let of_g = if self.op.is_centred() {
            About { value: mean(&|_, g| g), off: gamma * size_of_g + SMALLEST }
        } else {
            About { value: 0.0, off: 0.0 }
        };
        let value = mean(&|apart, g| g * apart);
        let off = gamma * mean(&|apart, g| (g * apart).abs()) + 2.0 * row.off_mean * size_of_g + 2.0 * SMALLEST;
        let scale = row.scale * (1.0 + row.off_scale);
        let of_gx = About {
            value: row.scale * value,
            off: scale * off + (row.scale * value).abs() * (row.off_scale + 4.0 * U),
        };
        let apart = |x: f64| (x - row.mean).abs() + row.off_mean;
        let all: f64 = x.iter().zip(&g).map(|(&x, &g)| finite(g.abs()).max(finite(g.abs() * apart(x)))).sum();
        let unsure = row.unsure.and(Unsure::all_if(self.overflows(all), Why::Overflow));
        // Its sign, or whether it is a NaN, hangs on a distance from the mean that may be 0.
        let of_zero = g.iter().any(|g| g.is_infinite());
        let unsure = unsure.and(Unsure::infinite_if(of_zero, Why::ZeroTimesInfinity));
        let right = |(&x, &g): (&f64, &f64)| {
            let normal = self.normal(x, row);
            let product = normal.value * of_gx.value;
            let inner = g - of_g.value - product;
            let off = of_g.off
                + normal.value.abs() * of_gx.off
                + (of_gx.value.abs() + of_gx.off) * normal.off
                + 3.0 * U * (g.abs() + of_g.value.abs() + product.abs());
            let expected = row.scale * inner;
            let of_product = (normal.value.abs() + normal.off) * (of_gx.value.abs() + of_gx.off);
            let way = finite(g.abs()) + finite(of_g.value.abs() + of_g.off) + finite(of_product);
            let unsure = unsure.and(Unsure::all_if(self.overflows(way.max(way * scale)), Why::Overflow));
            let bound = scale * 1.01 * off + expected.abs() * (row.off_scale + 2.0 * U) + FLUSHED * (1.0 + scale);
            right_of::<T>(expected, bound, unsure)
        };
        x.iter().zip(&g).map(right).collect()
    }

    /// The sums of two inputs, which have no error but their rounding.
    pub fn input_sums<T: Element>(&self, row: Row<'_, T>) -> Vec<Expected> {
        self.elements(row).into_iter().map(Expected::exact).collect()
    }

    /// The gradients of weights and of biases.
    pub fn column_gradients<'a, T: Element>(
        &self,
        rows: impl Iterator<Item = Row<'a, T>>,
        cols: u64,
    ) -> [Vec<Expected>; 2] {
        let mut weights = vec![Column::default(); cols as usize];
        let mut biases = weights.clone();
        for row in rows {
            let x = self.elements(row);
            let known = self.known(&x);
            for (col, (&x, &y)) in x.iter().zip(row.other).enumerate() {
                let (y, normal) = (double(y), self.normal(x, &known));
                // Which infinity it is, or a NaN, is a matter of rounding.
                let sign = y.is_infinite() && normal.value.abs() <= normal.off;
                let unsure = known.unsure.and(Unsure::infinite_if(sign, Why::ZeroTimesInfinity));
                weights[col].add(y * normal.value, y.abs() * normal.off, unsure);
                biases[col].add(y, 0.0, Unsure::NONE);
            }
        }
        [weights, biases].map(|all| all.into_iter().map(|column| self.column_sum::<T>(column)).collect())
    }

    fn column_sum<T: Element>(&self, column: Column) -> Expected {
        let Column { sum, size, unsure } = column;
        let bound = sum.off + self.gamma() * (size + finite(sum.off)) + FLUSHED;
        let overflows = self.overflows(size + finite(sum.off));
        right_of::<T>(sum.value, bound, unsure.and(Unsure::all_if(overflows, Why::Overflow)))
    }
}

/// Sum over the rows of a column.
#[derive(Clone, Copy)]
struct Column {
    sum: About,
    /// Sum of the magnitudes of its finite terms.
    size: f64,
    unsure: Unsure,
}

impl Default for Column {
    fn default() -> Column {
        Column { sum: About { value: 0.0, off: 0.0 }, size: 0.0, unsure: Unsure::NONE }
    }
}

impl Column {
    fn add(&mut self, value: f64, off: f64, unsure: Unsure) {
        self.sum = About { value: self.sum.value + value, off: self.sum.off + off };
        self.size += finite(value.abs());
        self.unsure = self.unsure.and(unsure);
    }
}

/// 0 for what is not finite, which no sum of magnitudes counts.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}

/// A result as it is stored. One that is not finite is compared by its class; one of which nothing is known within a useful bound
/// has none.
fn right_of<T: Element>(value: f64, bound: f64, unsure: Unsure) -> Expected {
    let bound = match () {
        () if !value.is_finite() => 0.0,
        () if unsure.why == Why::FarMean => f64::INFINITY,
        () => bound,
    };
    rounded::<T>(Expected { bound, unsure, ..Expected::exact(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norm(op: Op) -> Norm {
        Norm { op, targets: Targets::default(), additions: 300 }
    }

    fn row<'a>(first: &'a [f32], other: &'a [f32]) -> Row<'a, f32> {
        Row { first, other }
    }

    /// The textbook form, in floats; `by_squares` takes the variance as the mean square less the square of the mean.
    fn layer_norm(x: &[f32], by_squares: bool) -> Vec<f32> {
        let count = x.len() as f32;
        let mean = x.iter().sum::<f32>() / count;
        let variance = if by_squares {
            x.iter().map(|x| x * x).sum::<f32>() / count - mean * mean
        } else {
            x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count
        };
        let scale = 1.0 / (variance + 1e-5).sqrt();
        let targets = Targets::default();
        let of = |(i, x): (usize, &f32)| {
            (x - mean) * scale * targets.weight::<f32>(i as u64) + targets.bias::<f32>(i as u64)
        };
        x.iter().enumerate().map(of).collect()
    }

    fn wrong(op: Op, row: Row<'_, f32>, results: &[f32]) -> usize {
        norm(op)
            .row_results(row)
            .iter()
            .zip(results)
            .filter(|(right, result)| !right.judge(f64::from(**result)).right)
            .count()
    }

    #[test]
    fn right_ones_pass_and_the_smallest_mistakes_do_not() {
        let x: Vec<f32> = crate::input::elements::<f32>(300, 5).iter().map(|x| 4.0 * x + 1.0).collect();
        let mut results = layer_norm(&x, false);
        assert_eq!(wrong(Op::LayerNorm, row(&x, &[]), &results), 0);
        results[7] += 0.001;
        assert_eq!(wrong(Op::LayerNorm, row(&x, &[]), &results), 1);
        results[7] = f32::NAN;
        assert_eq!(wrong(Op::LayerNorm, row(&x, &[]), &results), 1);
        let one_less = layer_norm(&x[..299], false);
        assert!(wrong(Op::LayerNorm, row(&x, &[]), &one_less) > 200, "a mean of one element less");
    }

    #[test]
    fn squares_less_the_square_are_caught_where_they_cancel() {
        let x: Vec<f32> = crate::input::elements::<f32>(300, 5).iter().map(|x| x + 1000.0).collect();
        assert_eq!(wrong(Op::LayerNorm, row(&x, &[]), &layer_norm(&x, false)), 0);
        assert!(wrong(Op::LayerNorm, row(&x, &[]), &layer_norm(&x, true)) > 200);
    }

    #[test]
    fn backward_is_what_differences_of_forward_are() {
        let (x, gradients) = ([0.3f32, -1.2, 0.9, 2.0], [0.7f32, -0.2, 0.4, 1.1]);
        for (op, forward) in [(Op::LayerNormBackward, Op::LayerNorm), (Op::RmsNormBackward, Op::RmsNorm)] {
            let loss = |x: &[f64]| {
                let (norm, known) = (norm(forward), norm(forward).known(x));
                let results = norm.forward::<f32>(x, &known);
                results.iter().zip(gradients).map(|(y, gradient)| y.value * f64::from(gradient)).sum::<f64>()
            };
            let right = norm(op).row_results(row(&x, &gradients));
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            for i in 0..4 {
                let (mut up, mut down) = (wide.clone(), wide.clone());
                (up[i], down[i]) = (up[i] + 1e-4, down[i] - 1e-4);
                let difference = (loss(&up) - loss(&down)) / 2e-4;
                assert!((difference - right[i].value).abs() < 1e-6, "{op} {i}: {difference} {}", right[i].value);
            }
            let [weights, biases] = norm(op).column_gradients([row(&x, &gradients)].into_iter(), 4);
            let known = norm(forward).known(&wide);
            for i in 0..4 {
                let normal = (wide[i] - known.mean) * known.scale;
                assert!((weights[i].value - f64::from(gradients[i]) * normal).abs() < 1e-12);
                assert_eq!(biases[i].value, f64::from(gradients[i]));
            }
        }
    }

    #[test]
    fn rows_that_are_not_finite_have_their_class() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for x in [[inf, 1.0], [nan, 1.0], [-inf, inf]] {
            assert_eq!(wrong(Op::LayerNorm, row(&x, &[]), &[nan, nan]), 0, "{x:?}");
            assert_eq!(wrong(Op::LayerNorm, row(&x, &[]), &[0.0, 0.0]), 2, "{x:?}");
        }
        assert_eq!(wrong(Op::RmsNorm, row(&[inf, 1.0], &[]), &[nan, 0.0]), 0);
        assert_eq!(wrong(Op::RmsNorm, row(&[0.0, 0.0], &[]), &[0.0, 0.0]), 0);
    }
}
