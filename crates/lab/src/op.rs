//! What a reduction computes, of which types, and what its result is made of.

use std::fmt;

use clap::ValueEnum;

use crate::element::{Element, Type, Value};
use crate::text::grouped;

/// What a kernel computes of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Op {
    /// The sum.
    #[default]
    Sum,
    /// The smallest element; a NaN is passed over.
    Min,
    /// The largest element; a NaN is passed over.
    Max,
    /// The product.
    Prod,
    /// The smallest element, or NaN if there is one.
    Minimum,
    /// The largest element, or NaN if there is one.
    Maximum,
    /// The bits that all elements have.
    And,
    /// The bits that some element has.
    Or,
    /// The bits that an odd number of elements has.
    Xor,
    /// The sum of the squares.
    Sumsq,
    /// The sum of the products with the elements of a second array.
    Dot,
    /// How many elements are above 0.
    Count,
    /// The first of the smallest elements, or the first NaN.
    Argmin,
    /// The first of the largest elements, or the first NaN.
    Argmax,
    /// The first of the smallest elements; a NaN is passed over.
    Nanargmin,
    /// The first of the largest elements; a NaN is passed over.
    Nanargmax,
    /// The smallest and the largest element, or NaN twice.
    Minmax,
    /// Mean and variance of the elements, not of a sample.
    Meanvar,
    /// Of each element its share of the sum of all e^x.
    Softmax,
    /// Of each element the logarithm of that share.
    LogSoftmax,
    /// The logarithm of the sum of all e^x.
    Logsumexp,
    /// The negative logarithm of the share that the element at the row's label has.
    CrossEntropy,
    /// The gradient of softmax's input, from its results and the gradient of those.
    SoftmaxBackward,
    /// The gradient of log_softmax's input, from its results and the gradient of those.
    LogSoftmaxBackward,
    /// The gradient of cross_entropy's input, from that, the labels and the gradient of the losses.
    CrossEntropyBackward,
    /// Each element less its row's mean, over the deviation, times its column's weight, plus its bias.
    LayerNorm,
    /// Each element over the root of its row's mean square, times its column's weight.
    RmsNorm,
    /// layer_norm of the sum of two inputs, and that sum.
    AddLayerNorm,
    /// rms_norm of the sum of two inputs, and that sum.
    AddRmsNorm,
    /// The gradients of layer_norm's input, weights and biases.
    LayerNormBackward,
    /// The gradients of rms_norm's input and weights.
    RmsNormBackward,
}

/// What a result is made of.
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

    /// `sum`, as in `--op`.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Sum => "sum",
            Op::Min => "min",
            Op::Max => "max",
            Op::Prod => "prod",
            Op::Minimum => "minimum",
            Op::Maximum => "maximum",
            Op::And => "and",
            Op::Or => "or",
            Op::Xor => "xor",
            Op::Sumsq => "sumsq",
            Op::Dot => "dot",
            Op::Count => "count",
            Op::Argmin => "argmin",
            Op::Argmax => "argmax",
            Op::Nanargmin => "nanargmin",
            Op::Nanargmax => "nanargmax",
            Op::Minmax => "minmax",
            Op::Meanvar => "meanvar",
            Op::Softmax => "softmax",
            Op::LogSoftmax => "log_softmax",
            Op::Logsumexp => "logsumexp",
            Op::CrossEntropy => "cross_entropy",
            Op::SoftmaxBackward => "softmax_backward",
            Op::LogSoftmaxBackward => "log_softmax_backward",
            Op::CrossEntropyBackward => "cross_entropy_backward",
            Op::LayerNorm => "layer_norm",
            Op::RmsNorm => "rms_norm",
            Op::AddLayerNorm => "add_layer_norm",
            Op::AddRmsNorm => "add_rms_norm",
            Op::LayerNormBackward => "layer_norm_backward",
            Op::RmsNormBackward => "rms_norm_backward",
        }
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::all().iter().copied().find(|op| op.name() == name)
    }

    /// What is wanted, after "wanted is": nothing for a sum.
    pub const fn wanted(self) -> &'static str {
        match self {
            Op::Sum => "",
            Op::Min => "the smallest",
            Op::Max => "the largest",
            Op::Prod => "the product",
            Op::Minimum => "the smallest, or NaN if there is one",
            Op::Maximum => "the largest, or NaN if there is one",
            Op::And => "the bits that all have",
            Op::Or => "the bits that some have",
            Op::Xor => "the bits that an odd number has",
            Op::Sumsq => "the sum of the squares",
            Op::Dot => "the product with as many others",
            Op::Count => "how many are above 0",
            Op::Argmin => "where the smallest is first, or the first NaN",
            Op::Argmax => "where the largest is first, or the first NaN",
            Op::Nanargmin => "where the smallest is first, NaN passed over",
            Op::Nanargmax => "where the largest is first, NaN passed over",
            Op::Minmax => "the smallest and the largest, or NaN twice",
            Op::Meanvar => "mean and variance",
            Op::Softmax => "each element's share of the sum of e^x of its row",
            Op::LogSoftmax => "the logarithm of each element's share of the sum of e^x of its row",
            Op::Logsumexp => "the logarithm of the sum of e^x",
            Op::CrossEntropy => "the negative logarithm of the share at the row's label",
            Op::SoftmaxBackward => "the gradient of what softmax was given, from its results and their gradient",
            Op::LogSoftmaxBackward => "the gradient of what log_softmax was given, from its results and their gradient",
            Op::CrossEntropyBackward => "the gradient of what cross_entropy was given",
            Op::LayerNorm => "each element less its row's mean, over the deviation, weighted",
            Op::RmsNorm => "each element over the root of its row's mean square, weighted",
            Op::AddLayerNorm => "layer_norm of the sum of two inputs, and the sum",
            Op::AddRmsNorm => "rms_norm of the sum of two inputs, and the sum",
            Op::LayerNormBackward => "the gradients of what layer_norm was given, of the weights and of the biases",
            Op::RmsNormBackward => "the gradients of what rms_norm was given and of the weights",
        }
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

    /// Whether it is made of exponentials of a row's elements, or goes back through them: chapter 11's.
    pub const fn is_exponential(self) -> bool {
        matches!(self, Op::Softmax | Op::LogSoftmax | Op::Logsumexp | Op::CrossEntropy)
            || matches!(self, Op::SoftmaxBackward | Op::LogSoftmaxBackward | Op::CrossEntropyBackward)
    }

    /// Whether it divides a row by its size, or goes back through that: chapter 12's.
    pub const fn is_norm(self) -> bool {
        self.is_centred() || matches!(self, Op::RmsNorm | Op::AddRmsNorm | Op::RmsNormBackward)
    }

    /// Of norms, whether the mean is taken away first. Those have biases.
    pub const fn is_centred(self) -> bool {
        matches!(self, Op::LayerNorm | Op::AddLayerNorm | Op::LayerNormBackward)
    }

    /// Of norms, whether two inputs are added first, and the sum is a result too.
    pub const fn adds(self) -> bool {
        matches!(self, Op::AddLayerNorm | Op::AddRmsNorm)
    }

    /// Whether the gradients of weights are results.
    pub const fn has_weight_gradients(self) -> bool {
        matches!(self, Op::LayerNormBackward | Op::RmsNormBackward)
    }

    /// Whether each result has a bound of its own, which its reference finds: chapters 11 and 12.
    pub const fn has_bounds(self) -> bool {
        self.is_exponential() || self.is_norm()
    }

    /// Whether its result is a matrix that lies as the input does, of the input's type.
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

    /// What a row of the result is called, where the input has so many.
    pub fn row_name(self, row: u64, rows: u64) -> String {
        match row.checked_sub(rows) {
            Some(behind) if self.adds() => format!("sum of row {}", grouped(behind)),
            Some(0) if self.has_weight_gradients() => "gradients of the weights".to_owned(),
            Some(_) if self.has_weight_gradients() => "gradients of the biases".to_owned(),
            _ => format!("row {}", grouped(row)),
        }
    }

    /// Whether each row has a label.
    pub const fn has_labels(self) -> bool {
        matches!(self, Op::CrossEntropy | Op::CrossEntropyBackward)
    }

    /// Whether each row's loss has a gradient.
    pub const fn has_gradients(self) -> bool {
        matches!(self, Op::CrossEntropyBackward)
    }

    /// Whether float results round on the way, by the order in which they come together.
    pub const fn rounds(self) -> bool {
        matches!(self, Op::Sum | Op::Prod | Op::Sumsq | Op::Dot | Op::Meanvar) || self.has_bounds()
    }

    /// What its result is made of; of a matrix each element.
    pub const fn outcome(self, ty: Type) -> Outcome {
        // A byte or a short is computed with as an int, a half as a float.
        let wide = match ty {
            Type::I8 | Type::U8 | Type::I16 | Type::I32 => Number::I32,
            Type::U32 => Number::U32,
            Type::I64 => Number::I64,
            Type::F16 | Type::BF16 | Type::F32 => Number::F32,
            Type::F64 => Number::F64,
        };
        match self {
            Op::Sum | Op::Prod | Op::Sumsq | Op::Dot => Outcome::Number(match ty {
                Type::I8 | Type::U8 | Type::I16 => Number::I64,
                _ => wide,
            }),
            Op::Min | Op::Max | Op::Minimum | Op::Maximum | Op::And | Op::Or | Op::Xor => Outcome::Number(wide),
            Op::Count => Outcome::Number(Number::U32),
            Op::Argmin | Op::Argmax | Op::Nanargmin | Op::Nanargmax => Outcome::Found(wide),
            Op::Minmax | Op::Meanvar => Outcome::Two(wide),
            Op::Softmax | Op::LogSoftmax | Op::Logsumexp | Op::CrossEntropy => Outcome::Number(wide),
            Op::SoftmaxBackward | Op::LogSoftmaxBackward | Op::CrossEntropyBackward => Outcome::Number(wide),
            Op::LayerNorm | Op::RmsNorm | Op::AddLayerNorm | Op::AddRmsNorm => Outcome::Number(wide),
            Op::LayerNormBackward | Op::RmsNormBackward => Outcome::Number(wide),
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

    /// What a reduction of nothing is: the value that changes no other, and for what has none, nowhere and NaN.
    pub fn identity(self, ty: Type) -> Value {
        match self {
            Op::Sum | Op::Sumsq | Op::Dot => Value::zero(ty),
            Op::Prod => Value::of_whole(ty, 1),
            Op::Min | Op::Minimum => end(ty, false),
            Op::Max | Op::Maximum => end(ty, true),
            Op::And => {
                if ty == Type::U32 {
                    Value::U32(u32::MAX)
                } else {
                    Value::of_whole(ty, -1)
                }
            }
            Op::Or | Op::Xor => Value::zero(ty),
            Op::Count => Value::U32(0),
            Op::Argmin | Op::Nanargmin => Value::At { index: Value::NOWHERE, value: end(ty, false).to_f64() },
            Op::Argmax | Op::Nanargmax => Value::At { index: Value::NOWHERE, value: end(ty, true).to_f64() },
            Op::Minmax => Value::Two(end(ty, false).to_f64(), end(ty, true).to_f64()),
            Op::Meanvar => Value::Two(f64::NAN, f64::NAN),
            Op::Logsumexp => end(ty, true),
            // Of no element there is no share; what is asked for all the same is 0.
            Op::Softmax | Op::LogSoftmax | Op::CrossEntropy => Value::zero(ty),
            Op::SoftmaxBackward | Op::LogSoftmaxBackward | Op::CrossEntropyBackward => Value::zero(ty),
            Op::LayerNorm | Op::RmsNorm | Op::AddLayerNorm | Op::AddRmsNorm => Value::zero(ty),
            Op::LayerNormBackward | Op::RmsNormBackward => Value::zero(ty),
        }
    }

    /// Why it does not take elements of this type, as the end of a sentence; `None` if it does.
    pub fn refusal(self, ty: Type) -> Option<&'static str> {
        let (is_float, is_narrow) = (ty.is_float(), ty.bytes() < 4 && !ty.is_float());
        match self {
            Op::And | Op::Or | Op::Xor if is_float => Some("the bits of floats are no set: take u32 or i64"),
            Op::And | Op::Or | Op::Xor if is_narrow || ty == Type::I32 => {
                Some("it is compiled for u32 and i64, which hold the bits of any other")
            }
            Op::Prod if is_narrow || ty == Type::U32 => Some("a product of these has no accumulator: take i32 or i64"),
            Op::Prod if matches!(ty, Type::F16 | Type::BF16) => {
                Some("a product of halves leaves what they can tell apart: take f32")
            }
            Op::Sumsq | Op::Dot if !is_float && ty != Type::I8 => {
                Some("squares and products of these have no accumulator that holds them: take i8, or a float")
            }
            Op::Minimum | Op::Maximum if !is_float => Some("there is no NaN among integers: take min or max"),
            Op::Nanargmin | Op::Nanargmax if !is_float => Some("there is no NaN among integers: take argmin or argmax"),
            Op::Meanvar if !is_float => {
                Some("mean and variance have floats for accumulators: take f16, bf16, f32 or f64")
            }
            _ if self.is_exponential() && !matches!(ty, Type::BF16 | Type::F32) => {
                Some("exponentials are taken of f32 and bf16, with floats for accumulators")
            }
            _ if self.is_norm() && !matches!(ty, Type::BF16 | Type::F32) => {
                Some("norms are of f32 and bf16, with floats for accumulators")
            }
            _ => None,
        }
    }
}

/// The element that every other is better than: the smallest where the largest is wanted.
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
