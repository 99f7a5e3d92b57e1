//! Operations of a reduction, their types and results.

use std::fmt;

use clap::ValueEnum;
use serde::Deserialize;

use crate::element::{Element, Type, Value};

/// Declares the operations from a row for each: its name, what its result is made of, what a reduction of nothing is, which types
/// it takes, what it is for `--help`, and words for the result.
macro_rules! operations {
    ($($(#[$mark:meta])? $variant:ident $name:literal $result:ident $empty:ident $takes:ident $about:literal $words:literal;)*) => {
        /// Operation of a kernel on its input.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ValueEnum, Deserialize)]
        pub enum Op {
            $(#[doc = $about] #[value(name = $name)] #[serde(rename = $name)] $(#[$mark])? $variant,)*
        }

        impl Op {
            /// `sum`, as in `--op`.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// Words for the result in the line about the input; none for a sum.
            pub const fn words(self) -> &'static str {
                match self { $(Op::$variant => $words,)* }
            }

            const fn row(self) -> (Made, Empty, Takes) {
                match self { $(Op::$variant => (Made::$result, Empty::$empty, Takes::$takes),)* }
            }
        }
    };
}

operations! {
    #[default]
    Sum "sum" Total Zero All "The sum."
        "";
    Min "min" Element Largest All "The smallest element; a NaN is passed over."
        "the smallest";
    Max "max" Element Smallest All "The largest element; a NaN is passed over."
        "the largest";
    Prod "prod" Total One Factors "The product."
        "the product";
    Minimum "minimum" Element Largest NanRule "The smallest element, or NaN if there is one."
        "the smallest, or NaN if there is one";
    Maximum "maximum" Element Smallest NanRule "The largest element, or NaN if there is one."
        "the largest, or NaN if there is one";
    And "and" Element Ones Bits "The bits that all elements have."
        "the bits that all have";
    Or "or" Element Zero Bits "The bits that some element has."
        "the bits that some have";
    Xor "xor" Element Zero Bits "The bits that an odd number of elements has."
        "the bits that an odd number has";
    Sumsq "sumsq" Total Zero Squares "The sum of the squares."
        "the sum of the squares";
    Dot "dot" Total Zero Squares "The sum of the products with the elements of a second array."
        "the product with as many others";
    Count "count" Count Zero All "How many elements are above 0."
        "how many are above 0";
    Argmin "argmin" Found Largest All "The first of the smallest elements, or the first NaN."
        "where the smallest is first, or the first NaN";
    Argmax "argmax" Found Smallest All "The first of the largest elements, or the first NaN."
        "where the largest is first, or the first NaN";
    Nanargmin "nanargmin" Found Largest NanArg "The first of the smallest elements; a NaN is passed over."
        "where the smallest is first, NaN passed over";
    Nanargmax "nanargmax" Found Smallest NanArg "The first of the largest elements; a NaN is passed over."
        "where the largest is first, NaN passed over";
    Minmax "minmax" Pair Ends All "The smallest and the largest element, or NaN twice."
        "the smallest and the largest, or NaN twice";
    Meanvar "meanvar" Pair Nan Floats "Mean and variance of the elements, not of a sample."
        "mean and variance";
    Softmax "softmax" Element Zero Exponentials "Of each element its share of the sum of all e^x."
        "each element's share of the sum of e^x of its row";
    LogSoftmax "log_softmax" Element Zero Exponentials "Of each element the logarithm of that share."
        "the logarithm of each element's share of the sum of e^x of its row";
    Logsumexp "logsumexp" Element Smallest Exponentials "The logarithm of the sum of all e^x."
        "the logarithm of the sum of e^x";
    CrossEntropy "cross_entropy" Element Zero Exponentials
        "The negative logarithm of the share that the element at the row's label has."
        "the negative logarithm of the share at the row's label";
    SoftmaxBackward "softmax_backward" Element Zero Exponentials
        "The gradient of softmax's input, from its results and the gradient of those."
        "the gradient of what softmax was given, from its results and their gradient";
    LogSoftmaxBackward "log_softmax_backward" Element Zero Exponentials
        "The gradient of log_softmax's input, from its results and the gradient of those."
        "the gradient of what log_softmax was given, from its results and their gradient";
    CrossEntropyBackward "cross_entropy_backward" Element Zero Exponentials
        "The gradient of cross_entropy's input, from that, the labels and the gradient of the losses."
        "the gradient of what cross_entropy was given";
    LayerNorm "layer_norm" Element Zero Norms
        "Each element less its row's mean, over the deviation, times its column's weight, plus its bias."
        "each element less its row's mean, over the deviation, weighted";
    RmsNorm "rms_norm" Element Zero Norms
        "Each element over the root of its row's mean square, times its column's weight."
        "each element over the root of its row's mean square, weighted";
    AddLayerNorm "add_layer_norm" Element Zero Norms "layer_norm of the sum of two inputs, and that sum."
        "layer_norm of the sum of two inputs, and the sum";
    AddRmsNorm "add_rms_norm" Element Zero Norms "rms_norm of the sum of two inputs, and that sum."
        "rms_norm of the sum of two inputs, and the sum";
    LayerNormBackward "layer_norm_backward" Element Zero Norms
        "The gradients of layer_norm's input, weights and biases."
        "the gradients of what layer_norm was given, of the weights and of the biases";
    RmsNormBackward "rms_norm_backward" Element Zero Norms "The gradients of rms_norm's input and weights."
        "the gradients of what rms_norm was given and of the weights";
}

/// Parts of a result, whatever the type of the elements.
#[derive(Clone, Copy)]
enum Made {
    /// A number that is added or multiplied up: of narrow integers 64 bits.
    Total,
    /// A number in the type that elements are computed with.
    Element,
    /// A count.
    Count,
    /// An element and where it is.
    Found,
    /// Two numbers in the type that elements are computed with.
    Pair,
}

/// Result of a reduction of nothing.
#[derive(Clone, Copy)]
enum Empty {
    Zero,
    One,
    /// All bits.
    Ones,
    /// Lower bound of all elements.
    Smallest,
    /// Upper bound of all elements.
    Largest,
    /// The largest, then the smallest.
    Ends,
    Nan,
}

/// Types that an operation takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    All,
    Bits,
    Factors,
    Squares,
    /// Types with a NaN: of others `min` and `max` say the same.
    NanRule,
    /// Likewise `argmin` and `argmax`.
    NanArg,
    Floats,
    Exponentials,
    Norms,
}

/// Parts of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// One number, of which bits.
    Number(Number),
    /// An element and where it is.
    Found(Number),
    /// Two numbers.
    Two(Number),
}

/// A number of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the Rust types of these names
pub enum Number {
    I32,
    U32,
    I64,
    F32,
    F64,
}

impl Op {
    /// All of them.
    pub fn all() -> &'static [Op] {
        Op::value_variants()
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::all().iter().copied().find(|op| op.name() == name)
    }

    /// Arrays that it takes, one behind the other in its input.
    pub const fn arrays(self) -> u64 {
        if matches!(self, Op::Dot | Op::SoftmaxBackward | Op::LogSoftmaxBackward)
            || self.adds()
            || self.has_weight_gradients()
        {
            2
        } else {
            1
        }
    }

    /// Returns whether it is made of exponentials of a row's elements, or goes back through them: chapter 11's.
    pub const fn is_exponential(self) -> bool {
        matches!(self.row().2, Takes::Exponentials)
    }

    /// Returns whether it divides a row by its size, or goes back through that: chapter 12's.
    pub const fn is_norm(self) -> bool {
        matches!(self.row().2, Takes::Norms)
    }

    /// Returns whether a norm subtracts the mean first. Those norms have biases.
    pub const fn is_centred(self) -> bool {
        matches!(self, Op::LayerNorm | Op::AddLayerNorm | Op::LayerNormBackward)
    }

    /// Returns whether a norm first adds two inputs, whose sum is a result too.
    pub const fn adds(self) -> bool {
        matches!(self, Op::AddLayerNorm | Op::AddRmsNorm)
    }

    /// Returns whether the gradients of weights are results.
    pub const fn has_weight_gradients(self) -> bool {
        matches!(self, Op::LayerNormBackward | Op::RmsNormBackward)
    }

    /// Returns whether each result has a bound of its own, which its reference finds: chapters 11 and 12.
    pub const fn has_bounds(self) -> bool {
        self.is_exponential() || self.is_norm()
    }

    /// Returns whether its result is a matrix that lies as the input does, of the input's type.
    pub const fn is_per_element(self) -> bool {
        self.has_bounds() && !matches!(self, Op::Logsumexp | Op::CrossEntropy)
    }

    /// Rows of its result, of an operation per element, for so many of the input: behind those that lie as the input's do come
    /// the sums of two inputs, or the gradients of weights and of biases. Of no row there is nothing.
    pub const fn result_rows(self, rows: u64) -> u64 {
        match self {
            Op::AddLayerNorm | Op::AddRmsNorm => 2 * rows,
            Op::LayerNormBackward if rows > 0 => rows + 2,
            Op::RmsNormBackward if rows > 0 => rows + 1,
            _ => rows,
        }
    }

    /// Returns whether each row has a label.
    pub const fn has_labels(self) -> bool {
        matches!(self, Op::CrossEntropy | Op::CrossEntropyBackward)
    }

    /// Returns whether each row's loss has a gradient.
    pub const fn has_gradients(self) -> bool {
        matches!(self, Op::CrossEntropyBackward)
    }

    /// Returns whether float results round on the way, by the order in which they come together.
    pub const fn rounds(self) -> bool {
        matches!(self.row().0, Made::Total) || matches!(self, Op::Meanvar) || self.has_bounds()
    }

    /// Parts of its result; for a matrix, of each element.
    pub const fn outcome(self, ty: Type) -> Outcome {
        // A byte or a short is computed with as an int, a half as a float.
        let wide = match ty {
            Type::I8 | Type::U8 | Type::I16 | Type::I32 => Number::I32,
            Type::U32 => Number::U32,
            Type::I64 => Number::I64,
            Type::F16 | Type::BF16 | Type::F32 => Number::F32,
            Type::F64 => Number::F64,
        };
        match self.row().0 {
            Made::Total => Outcome::Number(match ty {
                Type::I8 | Type::U8 | Type::I16 => Number::I64,
                _ => wide,
            }),
            Made::Element => Outcome::Number(wide),
            Made::Count => Outcome::Number(Number::U32),
            Made::Found => Outcome::Found(wide),
            Made::Pair => Outcome::Two(wide),
        }
    }

    /// Bytes of the result in memory.
    pub const fn result_bytes(self, ty: Type) -> u64 {
        match self.outcome(ty) {
            Outcome::Number(number) => number.bytes(),
            Outcome::Found(_) => 16,
            Outcome::Two(number) => 2 * number.bytes(),
        }
    }

    /// Bytes of what blocks hand on: the result, but for a place, whose index has 32 bits on the way, and for mean and variance,
    /// which are three numbers; of exponentials a maximum and a sum.
    pub const fn value_bytes(self, ty: Type) -> u64 {
        match (self, self.outcome(ty)) {
            (Op::Meanvar, Outcome::Two(number)) => 3 * number.bytes(),
            (op, Outcome::Number(number)) if op.is_exponential() => 2 * number.bytes(),
            (_, Outcome::Found(number)) => 2 * number.bytes(),
            _ => self.result_bytes(ty),
        }
    }

    /// The result whose bytes these are, little-endian as on the device; `None` if they are too few.
    pub fn result(self, ty: Type, bytes: &[u8]) -> Option<Value> {
        match self.outcome(ty) {
            Outcome::Number(number) => number.value(bytes),
            Outcome::Found(number) => {
                let index = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
                Some(Value::At { index, value: number.value(bytes.get(8..)?)?.to_f64() })
            }
            Outcome::Two(number) => {
                let second = number.value(bytes.get(number.bytes() as usize..)?)?;
                Some(Value::Two(number.value(bytes)?.to_f64(), second.to_f64()))
            }
        }
    }

    /// Bytes of the result of a row. A place in it has 32 bits.
    pub const fn row_bytes(self, ty: Type) -> u64 {
        match self.outcome(ty) {
            Outcome::Found(number) => 4 + number.bytes(),
            _ => self.result_bytes(ty),
        }
    }

    /// The result of a row whose bytes these are, little-endian as on the device; `None` if they are too few.
    pub fn row_result(self, ty: Type, bytes: &[u8]) -> Option<Value> {
        let Outcome::Found(number) = self.outcome(ty) else { return self.result(ty, bytes) };
        let index = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let index = if index == u32::MAX { Value::NOWHERE } else { index.into() };
        Some(Value::At { index, value: number.value(bytes.get(4..)?)?.to_f64() })
    }

    /// The result that these elements hold, as they come from a device; `None` if they are too few.
    pub fn result_in<T: Element>(self, elements: &[T]) -> Option<Value> {
        let bytes: Vec<u8> = elements.iter().flat_map(|&element| element.le()).collect();
        self.result(T::TYPE, &bytes)
    }

    /// Result of a reduction of nothing: the value that changes no other; where there is none, no index and NaN.
    pub fn identity(self, ty: Type) -> Value {
        let (smallest, largest) = (end(ty, true), end(ty, false));
        match self.row() {
            (Made::Count, ..) => Value::U32(0),
            (Made::Found, Empty::Largest, _) => Value::At { index: Value::NOWHERE, value: largest.to_f64() },
            (Made::Found, ..) => Value::At { index: Value::NOWHERE, value: smallest.to_f64() },
            // Of no element there is no share, mean or gradient; what is asked for all the same is 0.
            (_, Empty::Zero, _) => Value::zero(ty),
            (_, Empty::One, _) => Value::whole(ty, 1),
            (_, Empty::Ones, _) if ty == Type::U32 => Value::U32(u32::MAX),
            (_, Empty::Ones, _) => Value::whole(ty, -1),
            (_, Empty::Smallest, _) => smallest,
            (_, Empty::Largest, _) => largest,
            (_, Empty::Ends, _) => Value::Two(largest.to_f64(), smallest.to_f64()),
            (_, Empty::Nan, _) => Value::Two(f64::NAN, f64::NAN),
        }
    }

    /// Why it does not take elements of this type, as the end of a sentence; `None` if it does.
    pub fn refusal(self, ty: Type) -> Option<&'static str> {
        let (is_float, is_narrow) = (ty.is_float(), ty.bytes() < 4 && !ty.is_float());
        let is_single = matches!(ty, Type::BF16 | Type::F32);
        Some(match self.row().2 {
            Takes::Bits if is_float => "the bits of floats are no set: take u32 or i64",
            Takes::Bits if is_narrow || ty == Type::I32 => {
                "it is compiled for u32 and i64, which hold the bits of any other"
            }
            Takes::Factors if is_narrow || ty == Type::U32 => "a product of these has no accumulator: take i32 or i64",
            Takes::Factors if matches!(ty, Type::F16 | Type::BF16) => {
                "a product of halves leaves what they can tell apart: take f32"
            }
            Takes::Squares if !is_float && ty != Type::I8 => {
                "squares and products of these have no accumulator that holds them: take i8, or a float"
            }
            Takes::NanRule if !is_float => "there is no NaN among integers: take min or max",
            Takes::NanArg if !is_float => "there is no NaN among integers: take argmin or argmax",
            Takes::Floats if !is_float => "mean and variance have floats for accumulators: take f16, bf16, f32 or f64",
            Takes::Exponentials if !is_single => "exponentials are taken of f32 and bf16, with floats for accumulators",
            Takes::Norms if !is_single => "norms are of f32 and bf16, with floats for accumulators",
            _ => return None,
        })
    }
}

/// The element that every other one beats: the smallest for a maximum.
fn end(ty: Type, max: bool) -> Value {
    let whole = |low: i64, high: i64| {
        let end = if max { low } else { high };
        match ty {
            Type::U32 => Value::U32(end as u32),
            Type::I64 => Value::I64(end),
            _ => Value::I32(end as i32),
        }
    };
    match ty {
        Type::I8 => whole(i8::MIN.into(), i8::MAX.into()),
        Type::U8 => whole(0, u8::MAX.into()),
        Type::I16 => whole(i16::MIN.into(), i16::MAX.into()),
        Type::I32 => whole(i32::MIN.into(), i32::MAX.into()),
        Type::U32 => whole(0, u32::MAX.into()),
        Type::I64 => whole(i64::MIN, i64::MAX),
        Type::F64 => Value::F64(if max { f64::NEG_INFINITY } else { f64::INFINITY }),
        Type::F16 | Type::BF16 | Type::F32 => Value::F32(if max { f32::NEG_INFINITY } else { f32::INFINITY }),
    }
}

impl Number {
    /// Its size.
    pub const fn bytes(self) -> u64 {
        match self {
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::F64 => 8,
        }
    }

    fn value(self, bytes: &[u8]) -> Option<Value> {
        let bytes = bytes.get(..self.bytes() as usize)?;
        Some(match self {
            Number::I32 => Value::I32(i32::from_le_bytes(bytes.try_into().ok()?)),
            Number::U32 => Value::U32(u32::from_le_bytes(bytes.try_into().ok()?)),
            Number::I64 => Value::I64(i64::from_le_bytes(bytes.try_into().ok()?)),
            Number::F32 => Value::F32(f32::from_le_bytes(bytes.try_into().ok()?)),
            Number::F64 => Value::F64(f64::from_le_bytes(bytes.try_into().ok()?)),
        })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for &op in Op::all() {
            assert_eq!(Op::from_name(op.name()), Some(op));
            assert_eq!(op.to_possible_value().expect("none is hidden").get_name(), op.name());
        }
    }

    #[test]
    fn every_identity_is_a_result() {
        for &op in Op::all() {
            for &ty in Type::ALL.iter().filter(|&&ty| op.refusal(ty).is_none()) {
                let (identity, bytes) = (op.identity(ty), vec![0; op.result_bytes(ty) as usize]);
                let result = op.result(ty, &bytes).expect("enough bytes");
                assert_eq!(std::mem::discriminant(&identity), std::mem::discriminant(&result), "{op} of {ty}");
                assert!(op.result(ty, &bytes[..3]).is_none());
            }
        }
    }
}
