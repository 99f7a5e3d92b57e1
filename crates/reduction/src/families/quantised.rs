//! RMS norm with results of 8 bits, FP8 or integers, and a scale for each row: what a matrix product of 8 bits takes.

use super::normalise::{Norm, Task, span};
use crate::card::Card;
use crate::element::Type;
use crate::error::Result;
use crate::layout::Matrix;
use crate::memory::{Role, Rule};
use crate::plan::{Arg, Plan};
use crate::reduction::Reduction;
use crate::setters::setters;

/// Formats of 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// FP8 with 4 bits of exponent and 3 of mantissa, `e4m3fn`: to the nearest, ties to even, at most 448 in magnitude. Bytes, `u8`.
    E4M3,
    /// Integers, `i8`: to the nearest, ties to even, at most 127 in magnitude.
    I8,
}

/// RMS norm of each row of a matrix, and each result divided by its row's scale and rounded to 8 bits.
///
/// `y` is the result of [`Norm::rms`], not rounded to the elements' type. With `top`, 448 for FP8 and 127 for integers, and `most` the
/// largest magnitude of the row's `y`, but at least 2⁻¹⁰⁰:
///
/// - the row's scale is `most / top`, f32;
/// - a result is `y · (top / most)`, rounded to the format; scale times result is `y`, but for that rounding.
///
/// So the results of a row of zeros are 0, and its scale is `2⁻¹⁰⁰ / top`. If any `y` is NaN, so is the scale; FP8 results of the row
/// are NaN (0x7f) and integers 0. If any is infinite, so is the scale; finite `y` become 0, and infinite ones NaN in FP8, 0 as
/// integers. An infinity among the elements makes its `y` NaN.
///
/// Operands: `Input`; `Other`, the residual, and `Sum`, where it is added up, apart or over `Input` or `Other`; `Weights`; `Out`,
/// apart, whose rows are as many bytes from each other as the input's are elements; `Scales`, one a row.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct QuantisedNorm {
    /// Type of the elements.
    pub ty: Type,
    /// Rows, and elements from one to the next in each operand that lies as the input.
    pub matrix: Matrix,
    /// Number added to the mean of squares, positive.
    pub epsilon: f32,
    /// Format of the results.
    pub code: Code,
    /// Type of the weights, the elements' or f32; 1 where there are none.
    pub weights: Option<Type>,
    /// True if a residual is added first.
    pub has_residual: bool,
}

setters! {
    QuantisedNorm:
    with_weights(ty: Type) weights = Some(ty), "With weights of this type.";
    with_residual() has_residual = true, "With a residual, and the sum written to an operand of its own.";
}

impl QuantisedNorm {
    /// RMS norm without weights.
    pub fn new(ty: Type, matrix: Matrix, epsilon: f32, code: Code) -> QuantisedNorm {
        QuantisedNorm { ty, matrix, epsilon, code, weights: None, has_residual: false }
    }

    /// Its launch.
    ///
    /// # Errors
    /// Those of [`Norm::reduction`].
    pub fn reduction(&self, card: &Card) -> Result<Reduction> {
        let QuantisedNorm { ty, matrix, epsilon, weights, has_residual, .. } = *self;
        let norm = Norm { weights, has_residual, ..Norm::rms(ty, matrix, epsilon) };
        norm.check()?;
        let results = if self.code == Code::I8 { Type::I8 } else { Type::U8 };
        let task = Task { norm, results, steps: Arg::Operand(Role::Scales) };
        let mut rules = task.rules();
        rules.push(Rule::written(Role::Out, results.name(), span(matrix), 1));
        rules.push(Rule::written(Role::Scales, "f32", 4 * matrix.rows, 4));
        let plan = if matrix.rows == 0 { Plan::default() } else { task.plan() };
        let (what, shape) = ("quantised_rms_norm", format!("{self:?}"));
        Reduction { what, ty, rules, plan, nothing: Vec::new(), shape, lesson: "", is_whole: false }.on(card)
    }
}
