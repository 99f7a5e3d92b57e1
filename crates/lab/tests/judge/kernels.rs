//! Right kernels in floats, by the formulas that the lessons have, in any order.

use lab::element::Element;
use lab::{Op, Targets, Type, with_type};

use crate::{GRADIENT, LABEL};

/// Elements of this type in single precision.
pub fn narrowed(ty: Type, x: f32) -> f32 {
    with_type!(ty, T => <T as Element>::from_f64(f64::from(x)).value().to_f64() as f32)
}

macro_rules! folds {
    ($name:ident $float:ident) => {
        /// A sum, mean, product, sum of squares or of products, or mean and variance, element by element; `None` for other operations.
        pub fn $name(op: Op, x: &[$float], y: &[$float]) -> Option<Vec<$float>> {
            let products = || x.iter().zip(y).map(|(x, y)| x * y);
            Some(match op {
                Op::Sum => vec![x.iter().fold(0.0, |sum, x| sum + x)],
                Op::Mean => vec![x.iter().fold(0.0, |sum, x| sum + x) / x.len() as $float],
                Op::Prod => vec![x.iter().fold(1.0, |product, x| product * x)],
                Op::Sumsq => vec![x.iter().fold(0.0, |sum, x| x.mul_add(*x, sum))],
                Op::Dot => vec![products().fold(0.0, |sum, x| sum + x)],
                Op::Min => vec![x.iter().copied().reduce($float::min)?],
                Op::Max => vec![x.iter().copied().reduce($float::max)?],
                Op::Meanvar => {
                    let (mut count, mut mean, mut squares) = (0.0, 0.0 as $float, 0.0 as $float);
                    for &x in x {
                        count += 1.0;
                        let (share, apart) = (1.0 / count, x - mean);
                        squares += apart * ((count - 1.0) * share) * apart;
                        // An infinity stays, as one of the other sign does not meet it.
                        let stays = mean.is_infinite() && x + mean == mean;
                        mean = if stays { mean } else { mean + apart * share };
                    }
                    vec![mean, squares / count]
                }
                _ => return None,
            })
        }
    };
}

folds!(fold_f32 f32);
folds!(fold_f64 f64);

fn sum(x: impl Iterator<Item = f32>) -> f32 {
    x.fold(0.0, |sum, x| sum + x)
}

/// The results of a row, not rounded to a narrower type.
pub fn row(op: Op, ty: Type, x: &[f32], y: &[f32]) -> Vec<f32> {
    if op.is_norm() { norm(op, ty, x, y) } else { exponential(op, x, y) }
}

fn exponential(op: Op, x: &[f32], y: &[f32]) -> Vec<f32> {
    let pairs = || x.iter().zip(y);
    match op {
        Op::SoftmaxBackward => {
            let all = sum(pairs().map(|(x, y)| x * y));
            return pairs().map(|(x, y)| x * (y - all)).collect();
        }
        Op::LogSoftmaxBackward => {
            let all = sum(y.iter().copied());
            return pairs().map(|(x, y)| y - x.exp() * all).collect();
        }
        _ => {}
    }
    let larger = |max: f32, x: &f32| if max.is_nan() || x.is_nan() { f32::NAN } else { max.max(*x) };
    let max = x.iter().fold(f32::NEG_INFINITY, larger);
    let total = sum(x.iter().map(|x| (x - max).exp()));
    let label = LABEL % x.len().max(1);
    match op {
        Op::Logsumexp => vec![if max.is_finite() { max + total.ln() } else { max }],
        Op::CrossEntropy => vec![(max - x[label]) + total.ln()],
        Op::LogSoftmax => x.iter().map(|x| (x - max) - total.ln()).collect(),
        Op::Softmax => x.iter().map(|x| (x - max).exp() / total).collect(),
        _ => {
            let less = |i: usize| (x[i] - max).exp() / total - f32::from(u8::from(i == label));
            (0..x.len()).map(|i| less(i) * GRADIENT).collect()
        }
    }
}

fn norm(op: Op, ty: Type, x: &[f32], y: &[f32]) -> Vec<f32> {
    let targets = Targets::default();
    let parameters = |i: usize| {
        let i = i as u64;
        with_type!(ty, T => [targets.weight::<T>(i), targets.bias::<T>(i)].map(|x| x.value().to_f64() as f32))
    };
    let x: Vec<f32> = match op.adds() {
        true => x.iter().zip(y).map(|(x, y)| narrowed(ty, x + y)).collect(),
        false => x.to_vec(),
    };
    let count = x.len() as f32;
    let mean = if op.is_centred() { sum(x.iter().copied()) / count } else { 0.0 };
    let variance = sum(x.iter().map(|x| (x - mean) * (x - mean))) / count;
    let scale = 1.0 / (variance + 1e-5).sqrt();
    let normal: Vec<f32> = x.iter().map(|x| (x - mean) * scale).collect();
    if !op.has_weight_gradients() {
        let of = |(i, normal): (usize, &f32)| {
            normal * parameters(i)[0] + if op.is_centred() { parameters(i)[1] } else { 0.0 }
        };
        return normal.iter().enumerate().map(of).collect();
    }
    let g: Vec<f32> = y.iter().enumerate().map(|(i, y)| y * parameters(i)[0]).collect();
    let of_g = if op.is_centred() { sum(g.iter().copied()) / count } else { 0.0 };
    let of_gx = scale * (sum(x.iter().zip(&g).map(|(x, g)| g * (x - mean))) / count);
    normal.iter().zip(&g).map(|(normal, g)| scale * ((g - of_g) - normal * of_gx)).collect()
}
