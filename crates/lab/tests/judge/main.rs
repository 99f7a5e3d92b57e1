//! The judge of results against NumPy, and over inputs that are made to be awkward.

mod kernels;
mod numpy;
mod property;

use half::{bf16, f16};
use lab::reference::exponentials::{self, Row};
use lab::reference::norms::{self, Norm};
use lab::verdict::Expected;
use lab::{Array, Op, Targets, Type};

/// Label of the one row.
pub const LABEL: usize = 1;
/// Gradient of its loss.
pub const GRADIENT: f32 = 0.5;

/// Floats as an array of a type; integers are cut to its bits.
pub fn array(ty: Type, floats: &[f64], wholes: &[i64]) -> Array {
    let all = |of: fn(f64) -> f32| floats.iter().map(|&x| of(x)).collect::<Vec<f32>>();
    match ty {
        Type::I8 => Array::I8(wholes.iter().map(|&x| x as i8).collect()),
        Type::U8 => Array::U8(wholes.iter().map(|&x| x as u8).collect()),
        Type::I16 => Array::I16(wholes.iter().map(|&x| x as i16).collect()),
        Type::I32 => Array::I32(wholes.iter().map(|&x| x as i32).collect()),
        Type::U32 => Array::U32(wholes.iter().map(|&x| x as u32).collect()),
        Type::I64 => Array::I64(wholes.to_vec()),
        Type::F16 => Array::F16(all(|x| x as f32).into_iter().map(f16::from_f32).collect()),
        Type::BF16 => Array::BF16(all(|x| x as f32).into_iter().map(bf16::from_f32).collect()),
        Type::F32 => Array::F32(all(|x| x as f32)),
        Type::F64 => Array::F64(floats.to_vec()),
    }
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

fn row_of<T: lab::element::Element>(op: Op, first: &[T], other: &[T], additions: u64) -> Vec<Expected> {
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
