//! One array by an operator of the caller's own, as CUDA that chapter 9's kernel is compiled with.

use std::borrow::Cow;

use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::families::operators;
use crate::layout::Layout;
use crate::memory::{Role, Rule};
use crate::op::Op;
use crate::plan::{Plan, Problem};
use crate::reduction::Reduction;

/// Most bytes of a value: a block of 512 threads leaves its values in shared memory, twice.
const VALUE_BYTES_MAX: u64 = 48;
/// Values of more bytes take more than an instruction or two to combine.
const LIGHT_BYTES: u64 = 8;

/// An operator of the caller's own: a commutative monoid in CUDA.
///
/// `cuda` declares a structure `name` with the members that chapter 9's operators have:
///
/// ```cuda
/// struct Magnitudes {
///     using In = float;                                  // an element
///     using Value = double;                              // what is combined; copied as bytes
///     static __device__ Value identity() { return 0; }
///     static __device__ Value lift(In x, unsigned int index) { return fabsf(x); }
///     static __device__ Value combine(Value a, Value b) { return a + b; }
/// };
/// __device__ float finish(Magnitudes, double all, unsigned int n) { return all; }
/// ```
///
/// `identity` changes nothing and may be combined any number of times; `combine` gets values in any order. `finish` makes the result
/// from the value of `n` elements; without it the value is the result. The text may use the types of `kernels/ch09-operators.cu`
/// (`bf16`, `f16`, `widen`), and includes no file. NVRTC's messages count its lines from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operator {
    /// Name of the structure.
    pub name: &'static str,
    /// Its text.
    pub cuda: Cow<'static, str>,
    /// The elements' type, which is `In` in CUDA.
    pub ty: Type,
    /// Bytes of `Value`: a multiple of 4, and at most 48.
    pub value_bytes: u64,
    /// Rust's name of a result.
    pub result: &'static str,
    /// Bytes of a result.
    pub result_bytes: u64,
}

impl Operator {
    /// An operator over elements of type `E` with a result `R`, whose values have so many bytes.
    #[cfg(feature = "cudarc")]
    pub fn new<E: crate::Element, R: crate::Value>(
        name: &'static str,
        cuda: impl Into<Cow<'static, str>>,
        value_bytes: u64,
    ) -> Operator {
        let (cuda, result_bytes) = (cuda.into(), size_of::<R>() as u64);
        Operator { name, cuda, ty: E::TYPE, value_bytes, result: R::NAME, result_bytes }
    }

    /// The reduction of an array of `n` elements, with a kernel that has to be compiled. That of none is what `finish` makes of the
    /// identity.
    ///
    /// # Errors
    /// [`Error::Operator`] for a name that is no identifier and a value of a size that kernels do not pass on; [`Error::TooMany`] for
    /// more than 2³² − 1 elements.
    pub fn reduction(&self, n: u64, card: &Card) -> Result<Reduction> {
        self.check()?;
        if n > u32::MAX.into() {
            return Err(Error::TooMany { what: "elements", got: n, most: u32::MAX.into() });
        }
        let size = self.ty.bytes();
        let rules = vec![
            Rule::read(Role::Input, self.ty.name(), n * size, size),
            Rule::results(self.result, self.result_bytes, 1),
        ];
        let shape = format!("{} {} {} {n}", self.name, self.cuda, self.ty);
        let (plan, lesson) = (self.plan(n, card), operators::LESSON);
        Reduction { what: self.name, ty: self.ty, rules, plan, nothing: Vec::new(), shape, lesson, is_whole: false }
            .on(card)
    }

    fn check(&self) -> Result<()> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_identifier = self.name.chars().all(is_word) && !self.name.starts_with(|c: char| c.is_ascii_digit());
        let problem = match self.value_bytes {
            _ if self.name.is_empty() || !is_identifier => "its name is no identifier of C++",
            0 => "its values have no bytes",
            bytes if bytes > VALUE_BYTES_MAX => "kernels pass on values of up to 48 bytes",
            bytes if !bytes.is_multiple_of(4) => "kernels pass on values of whole words of 4 bytes",
            _ => return Ok(()),
        };
        Err(Error::Operator { name: self.name.to_owned(), problem })
    }

    /// The launch of a sum in the same shape, with this operator in its place.
    fn plan(&self, n: u64, card: &Card) -> Plan {
        let sum = Problem { on_demand: true, ..Problem::new(Op::Sum, self.ty, n, Layout::Array, card) };
        let shape = operators::tuned(&sum, self.value_bytes > LIGHT_BYTES);
        let mut plan = operators::plan_for(&sum, shape);
        (plan.state_words, plan.protocol) = operators::messages(shape.grid, self.value_bytes);
        plan.sums = vec![self.ty.holding(self.result_bytes)];
        let (name, ty) = (self.name, self.ty);
        for pass in &mut plan.passes {
            pass.kernel = pass.kernel.replacen("reduce", &format!("reduce_own_{name}"), 1);
            let instance = format!("own::{name}, _own_{name}, {ty}");
            let line = pass.line.take().unwrap_or_default().replacen(&operators::instance(&sum), &instance, 1);
            pass.line = Some(format!("{}\n{line}", self.text()));
        }
        plan
    }

    /// Its text in a namespace of its own, with checks of what this structure says of it.
    fn text(&self) -> String {
        let Operator { name, cuda, ty, value_bytes, result, result_bytes } = self;
        let element = ty.cuda();
        format!(
            "namespace own {{\n#line 1 \"{name}\"\n{cuda}\n}}\n#line 1 \"plan\"\n\
             static_assert(IS_SAME<own::{name}::In, {element}>, \"the elements of {name} are {ty} for Rust, which is {element}\");\n\
             static_assert(sizeof(own::{name}::Value) == {value_bytes}, \"a value of {name} has {value_bytes} bytes for Rust\");\n\
             static_assert(sizeof(Out<own::{name}>) == {result_bytes}, \"a result of {name} is {result} for Rust\");"
        )
    }
}
