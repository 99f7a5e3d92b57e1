//! Results of more than one number, as they lie on the device.

use crate::op::{Number, Outcome};

/// An element of an array, or of a row, column or axis of 2³¹ elements or more, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Found<V> {
    /// Index of the first such element; −1 where there is none.
    pub index: i64,
    /// The element.
    pub value: V,
}

/// An element of a row or column of fewer than 2³¹ elements, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct FoundInRow<V> {
    /// Index of the first such element of the row; −1 where there is none.
    pub index: i32,
    /// The element.
    pub value: V,
}

/// Two numbers: the smallest and the largest element, or mean and variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Two<V> {
    /// The smallest element, or the mean.
    pub first: V,
    /// The largest element, or the variance, of the elements and not of a sample.
    pub second: V,
}

/// Rust's name of a result of an array, or of a row or column.
pub(crate) const fn name(outcome: Outcome, is_array: bool) -> &'static str {
    macro_rules! named {
        ($number:expr, $before:literal, $after:literal) => {
            match $number {
                Number::I32 => concat!($before, "i32", $after),
                Number::U32 => concat!($before, "u32", $after),
                Number::I64 => concat!($before, "i64", $after),
                Number::F32 => concat!($before, "f32", $after),
                Number::F64 => concat!($before, "f64", $after),
            }
        };
    }
    match outcome {
        Outcome::Number(number) => named!(number, "", ""),
        Outcome::Found(number) if is_array => named!(number, "Found<", ">"),
        Outcome::Found(number) => named!(number, "FoundInRow<", ">"),
        Outcome::Two(number) => named!(number, "Two<", ">"),
    }
}
