//! Runs whose elements are doubles on the host, for families that the course's references do not know.

use device::{HostOperands, Schedule};
use lab::element::Element;
use lab::with_type;
use reduction::card::H200;
use reduction::{Reduction, Type};

use crate::trial;

/// Unit roundoff of floats.
pub const U: f64 = f32::EPSILON as f64 / 2.0;

/// A number, and how far a right kernel may be off.
#[derive(Debug, Clone, Copy)]
pub struct Right {
    /// The number.
    pub value: f64,
    /// The bound.
    pub bound: f64,
}

impl Right {
    /// No number.
    pub const NAN: Right = Right { value: f64::NAN, bound: 0.0 };

    /// Returns whether a result is within the bound, or of the same class where the number is not finite.
    pub fn takes(&self, got: f64) -> bool {
        if self.value.is_finite() {
            (got - self.value).abs() <= self.bound
        } else {
            got == self.value || got.is_nan() && self.value.is_nan()
        }
    }
}

/// `n` random elements of a type in [-size, size), as doubles.
pub fn drawn(ty: Type, n: u64, seed: u64, size: f64) -> Vec<f64> {
    let all: Vec<f64> = lab::input::elements::<f64>(n as usize, seed).into_iter().map(|x| x * size).collect();
    rounded(ty, &encode(ty, &all))
}

/// The bytes of the elements nearest to these numbers.
pub fn encode(ty: Type, numbers: &[f64]) -> Vec<u8> {
    with_type!(ty, T => numbers.iter().flat_map(|&number| T::from_f64(number).le()).collect())
}

/// The elements of these bytes.
pub fn rounded(ty: Type, bytes: &[u8]) -> Vec<f64> {
    with_type!(ty, T => numbers_of::<T>(bytes))
}

fn numbers_of<T: Element>(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(T::BYTES).map(|bytes| T::from_le(bytes).value().to_f64()).collect()
}

/// Half a step of a type at this size, where it is narrower than a float.
pub fn half_step(ty: Type, size: f64) -> f64 {
    let (bits, least) = match ty {
        Type::BF16 => (8, -126),
        Type::F16 => (11, -14),
        _ => return 0.0,
    };
    let exponent = if size == 0.0 { least } else { (size.abs().log2().floor() as i32).max(least) };
    f64::from(exponent - bits).exp2() * 1.01
}

/// Runs a reduction twice over one workspace, or once in place; the bytes of its results and of its other operands.
pub fn run(reduction: &Reduction, operands: &HostOperands<'_>, schedule: Schedule) -> (Vec<u8>, Vec<Vec<u8>>) {
    let times = if operands.in_place { 1 } else { 2 };
    let left = trial::run_all(reduction, operands, schedule, &H200, times);
    left.unwrap_or_else(|error| panic!("{reduction:?}: {error}"))
}
