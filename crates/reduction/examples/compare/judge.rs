//! The error of results: the largest distance from those in doubles, over some rows.

use lab::element::Element;
use lab::reference::reference_of_slice;
use lab::with_type;
use reduction::op::{Number as Held, Outcome};
use reduction::{Op, Type};

use crate::{Number, Shape};

/// The ε of chapter 12's norms.
pub const EPSILON: f32 = 1e-5;

/// Where results are, and what they hold.
#[derive(Debug, Clone, Copy)]
pub enum Format {
    /// Numbers of a type, one behind the other.
    Numbers(Type),
    /// Places of elements, whose first four bytes are an index; each begins so many bytes after the one before it.
    Places(usize),
}

impl Format {
    /// The library's own, whose results have so many bytes each.
    pub fn library(op: Op, ty: Type, bytes: u64) -> Format {
        match op.outcome(ty) {
            _ if op.is_per_element() => Format::Numbers(ty),
            Outcome::Found(_) => Format::Places(bytes as usize),
            Outcome::Number(held) | Outcome::Two(held) => Format::Numbers(match held {
                Held::I32 => Type::I32,
                Held::U32 => Type::U32,
                Held::I64 => Type::I64,
                Held::F32 => Type::F32,
                Held::F64 => Type::F64,
            }),
        }
    }

    /// Result `at`; of a place the index.
    fn read(self, bytes: &[u8], at: usize) -> f64 {
        match self {
            Format::Numbers(ty) => {
                let size = ty.bytes() as usize;
                with_type!(ty, T => number_of(<T as Element>::from_le(&bytes[at * size..][..size])))
            }
            Format::Places(stride) => number_of(<u32 as Element>::from_le(&bytes[at * stride..][..4])),
        }
    }
}

/// Elements of some rows, and what is expected of them.
pub struct Judge<'a, T> {
    op: Op,
    shape: &'a Shape,
    elements: &'a [T],
    weights: &'a [T],
    /// Rows, with the result of those that have one, and what an error is divided by.
    rows: Vec<(u64, f64, f64)>,
}

impl<'a, T: Number> Judge<'a, T> {
    pub fn new(op: Op, shape: &'a Shape, elements: &'a [T], weights: &'a [T]) -> Judge<'a, T> {
        let expected = |row: u64| {
            let x = &elements[shape.range(row)];
            match op {
                Op::Sum => {
                    let sum = reference_of_slice(x);
                    // Integers wrap, and are right or wrong.
                    (row, sum.expected.to_f64(), if <T as Element>::TYPE.is_float() { sum.magnitude } else { 0.0 })
                }
                Op::Max | Op::Argmax => (row, x.iter().copied().map(number_of).fold(f64::NEG_INFINITY, f64::max), 1.0),
                _ => (row, f64::NAN, 1.0),
            }
        };
        // The middle one is the longest of some ragged rows; one without elements has no sum to be off by.
        let spread = (0..shape.rows).step_by((shape.rows / 5).max(1) as usize).chain([shape.rows / 2]);
        let rows = spread.filter(|&row| !shape.range(row).is_empty()).map(expected).collect();
        Judge { op, shape, elements, weights, rows }
    }

    /// Largest distance of results: of a sum, over what the row's numbers come to.
    pub fn error(&self, bytes: &[u8], format: Format) -> f64 {
        let mut worst = 0.0f64;
        for &(row, expected, scale) in &self.rows {
            let mut keep = |got: f64, expected: f64, scale: f64| {
                let error = if got == expected { 0.0 } else { (got - expected).abs() / scale };
                worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
            };
            let range = self.shape.range(row);
            let x = &self.elements[range.clone()];
            match self.op {
                Op::Sum | Op::Max => keep(format.read(bytes, row as usize), expected, scale),
                Op::Argmax => {
                    let found = x.get(format.read(bytes, row as usize) as usize);
                    keep(found.copied().map_or(f64::NAN, number_of), expected, scale);
                }
                _ => {
                    let results = range.map(|at| format.read(bytes, at));
                    results.zip(self.sizes_of(x)).for_each(|(got, (expected, scale))| keep(got, expected, scale));
                }
            }
        }
        worst
    }

    /// Results of a row's elements, by softmax or a norm, with what an error is divided by.
    fn sizes_of(&self, x: &[T]) -> Vec<(f64, f64)> {
        let x: Vec<f64> = x.iter().copied().map(number_of).collect();
        if self.op == Op::Softmax {
            let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
            return x.iter().map(|x| (x - max).exp() / sum).map(|expected| (expected, expected)).collect();
        }
        let cols = x.len() as f64;
        let mean = if self.op == Op::LayerNorm { x.iter().sum::<f64>() / cols } else { 0.0 };
        let square = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / cols;
        let result = |(x, &weight): (&f64, &T)| {
            let weight = number_of(weight);
            let bias = if self.op == Op::LayerNorm { weight } else { 0.0 };
            ((x - mean) / (square + f64::from(EPSILON)).sqrt() * weight + bias, 1.0)
        };
        x.iter().zip(self.weights).map(result).collect()
    }
}

fn number_of<T: Element>(element: T) -> f64 {
    element.value().to_f64()
}
