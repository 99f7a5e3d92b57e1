//! The judge of results against NumPy, and over inputs that are made to be awkward.

mod kernels;
mod numpy;
mod property;

use lab::element::Element;
use lab::reference::exponentials::{self, Row};
use lab::reference::norms::{self, Norm};
use lab::verdict::Expected;
use lab::{Array, Op, Targets, Type, with_type};

/// Label of the one row.
pub const LABEL: usize = 1;
/// Gradient of its loss.
pub const GRADIENT: f32 = 0.5;

/// Floats as an array of a type; integers are cut to its bits.
pub fn array(ty: Type, floats: &[f64], wholes: &[i64]) -> Array {
    with_type!(ty, T => T::array(match ty.is_float() {
        true => floats.iter().map(|&x| <T as Element>::from_f64(x)).collect(),
        false => wholes.iter().map(|x| <T as Element>::from_le(&x.to_le_bytes()[..size_of::<T>()])).collect(),
    }))
}

/// What is expected of each result of one row, whose label is [`LABEL`] and whose gradient [`GRADIENT`], by a kernel with so many
/// additions on its longest path.
pub fn row(op: Op, first: &Array, other: &Array, additions: u64) -> Vec<Expected> {
    match (first, other) {
        (Array::F32(first), Array::F32(other)) => row_of(op, first, other, additions),
        (Array::BF16(first), Array::BF16(other)) => row_of(op, first, other, additions),
        (Array::F16(first), Array::F16(other)) => row_of(op, first, other, additions),
        _ => panic!("{op} is of f16, bf16 and f32"),
    }
}

fn row_of<T: Element>(op: Op, first: &[T], other: &[T], additions: u64) -> Vec<Expected> {
    if op.is_norm() {
        let row = norms::Row { first, other };
        return Norm { op, targets: Targets::default(), additions }.row_results(row);
    }
    let label = (LABEL % first.len().max(1)) as i64;
    let row = Row { first, other, label, gradient: GRADIENT };
    if op.is_per_element() {
        exponentials::element_results(op, row, additions).collect()
    } else {
        vec![exponentials::row_result(op, row, additions)]
    }
}
