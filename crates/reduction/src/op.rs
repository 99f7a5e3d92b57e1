//! Operations of a reduction, their types and results.

use std::fmt;

use crate::element::Type;
use crate::error::{Error, Result};

/// Declares the operations from a row for each: its name, what its result is made of, what a reduction of nothing is, which types
/// it takes, what it is for `--help`, and words for the result.
macro_rules! operations {
    ($($(#[$mark:meta])? $variant:ident $name:literal $result:ident $empty:ident $takes:ident $about:literal $words:literal;)*) => {
        /// Operation of a kernel on its input.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
        #[non_exhaustive]
        pub enum Op {
            $(#[doc = $about] #[cfg_attr(feature = "serde", serde(rename = $name))] $(#[$mark])? $variant,)*
        }

        impl Op {
            /// All of them.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// What it is, a sentence.
            pub const fn about(self) -> &'static str {
                match self { $(Op::$variant => $about,)* }
            }

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
    L2Norm "l2_norm" Total Zero Floats "The root of the sum of the squares."
        "the root of the sum of the squares";
    Dot "dot" Total Zero Squares "The sum of the products with the elements of a second array."
        "the product with as many others";
    Count "count" Count Zero All "How many elements are above 0."
        "how many are above 0";
    Any "any" Count Zero All "1 if an element is not 0, else 0; a NaN is not 0."
        "whether one is not 0";
    All "all" Count One All "1 if no element is 0, else 0; a NaN is not 0."
        "whether none is 0";
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
    Mean "mean" Total Nan Floats "The mean."
        "the mean";
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
    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
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

    /// Bytes of the result of a row. A place in it has 32 bits.
    pub const fn row_bytes(self, ty: Type) -> u64 {
        match self.outcome(ty) {
            Outcome::Found(number) => 4 + number.bytes(),
            _ => self.result_bytes(ty),
        }
    }

    /// Bytes of the result of a reduction of nothing, little-endian as on the device: the value that changes no other; where there
    /// is none, no index and NaN.
    pub fn identity_bytes(self, ty: Type) -> Vec<u8> {
        let (smallest, largest) = (end(ty, true), end(ty, false));
        let (first, second) = match self.row().1 {
            // There is no share, mean or gradient where there is no element; what is asked for all the same is 0.
            Empty::Zero => ((0, 0.0), (0, 0.0)),
            Empty::One => ((1, 1.0), (0, 0.0)),
            Empty::Ones => ((-1, 0.0), (0, 0.0)),
            Empty::Smallest => (smallest, smallest),
            Empty::Largest => (largest, largest),
            Empty::Ends => (largest, smallest),
            Empty::Nan => ((0, f64::NAN), (0, f64::NAN)),
        };
        let mut bytes = match self.outcome(ty) {
            Outcome::Number(number) => number.le_bytes(first),
            Outcome::Found(number) => [u64::MAX.to_le_bytes().to_vec(), number.le_bytes(first)].concat(),
            Outcome::Two(number) => [number.le_bytes(first), number.le_bytes(second)].concat(),
        };
        bytes.resize(self.result_bytes(ty) as usize, 0);
        bytes
    }

    /// Refuses a type of elements that it does not take.
    pub(crate) fn check(self, ty: Type) -> Result<()> {
        self.refusal(ty).map_or(Ok(()), |why| Err(Error::Unsupported { op: self, ty, why }))
    }

    /// Why it does not take elements of this type, as the end of a sentence; `None` if it does.
    pub fn refusal(self, ty: Type) -> Option<&'static str> {
        let (is_float, is_narrow) = (ty.is_float(), ty.bytes() < 4 && !ty.is_float());
        let is_single = matches!(ty, Type::F16 | Type::BF16 | Type::F32);
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
            Takes::Floats if !is_float => "it has floats for accumulators: take f16, bf16, f32 or f64",
            Takes::Exponentials if !is_single => {
                "exponentials are taken of f16, bf16 and f32, with floats for accumulators"
            }
            Takes::Norms if !is_single => "norms are of f16, bf16 and f32, with floats for accumulators",
            _ => return None,
        })
    }
}

/// The element that every other one beats, the smallest for a maximum: as a whole number for integers, as a float for floats.
fn end(ty: Type, max: bool) -> (i64, f64) {
    let (low, high) = match ty {
        Type::I8 => (i8::MIN.into(), i8::MAX.into()),
        Type::U8 => (0, u8::MAX.into()),
        Type::I16 => (i16::MIN.into(), i16::MAX.into()),
        Type::U32 => (0, u32::MAX.into()),
        Type::I64 => (i64::MIN, i64::MAX),
        _ => (i32::MIN.into(), i32::MAX.into()),
    };
    if max { (low, f64::NEG_INFINITY) } else { (high, f64::INFINITY) }
}

impl Number {
    /// The bytes of a number, which is given both ways.
    fn le_bytes(self, (whole, float): (i64, f64)) -> Vec<u8> {
        match self {
            Number::I32 | Number::U32 => (whole as u32).to_le_bytes().to_vec(),
            Number::I64 => whole.to_le_bytes().to_vec(),
            Number::F32 => (float as f32).to_le_bytes().to_vec(),
            Number::F64 => float.to_le_bytes().to_vec(),
        }
    }

    /// Its size.
    pub const fn bytes(self) -> u64 {
        match self {
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::F64 => 8,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
