//! The numbers of each rank, and the judge of results: bit for bit those of the order of ranks.

use lab::element::Element;
use lab::input::split_mix;
use reduction::{Op, Type};

/// What all variants reduce.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem {
    pub op: Op,
    pub ty: Type,
    /// Elements of each rank's array.
    pub n: u64,
    pub ranks: u32,
    pub seed: u64,
}

/// Sizes that elements are drawn in: sums of such numbers are rounded, and differ by their order.
const SIZES: [f64; 3] = [1.0, 1e-4, 3e3];
/// One element in so many of a rank is a NaN where the largest is asked for.
const NAN_EVERY: u64 = 29;

impl Problem {
    /// Bytes of one array.
    pub(crate) fn bytes(&self) -> u64 {
        self.n * self.ty.bytes()
    }

    /// Element `i` of a rank in a call. Each call has other numbers, so that one that is late shows.
    pub(crate) fn element<T: Element>(&self, call: usize, rank: usize, i: u64) -> T {
        if self.op == Op::Maximum && i % NAN_EVERY == 3 * rank as u64 + call as u64 {
            return T::from_f64(f64::NAN);
        }
        let seed = self.seed.wrapping_mul(1 << 16).wrapping_add((call << 8 | rank) as u64);
        let bits = split_mix(seed, i);
        T::from_f64(T::from_random(bits).value().to_f64() * SIZES[(bits % 3) as usize])
    }

    /// The result: floats, added from rank 0 on, and rounded to the type once.
    pub(crate) fn expected<T: Element>(&self, call: usize, i: u64) -> T {
        let mut result = wide(self.element::<T>(call, 0, i));
        for rank in 1..self.ranks as usize {
            let next = wide(self.element::<T>(call, rank, i));
            result = match self.op {
                Op::Sum => result + next,
                _ if result.is_nan() || next.is_nan() => f32::NAN,
                _ => result.max(next),
            };
        }
        T::from_f64(result.into())
    }
}

/// An element as the float in which kernels add.
fn wide<T: Element>(element: T) -> f32 {
    element.value().to_f64() as f32
}

/// One element of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub call: usize,
    pub rank: usize,
    pub index: u64,
    pub result: f32,
    pub expected: f32,
}

/// Verdict on the results of all ranks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// Elements that were judged.
    pub judged: u64,
    /// Elements of them that are wrong.
    pub wrong: u64,
    /// The first that is wrong, or else the first of all.
    pub shown: Option<Place>,
}

impl Verdict {
    /// Returns whether every element on every rank has the right bits.
    pub(crate) fn is_right(&self) -> bool {
        self.wrong == 0
    }

    /// Adds the results that the ranks have of one call.
    pub(crate) fn judge<T: Element>(&mut self, problem: &Problem, call: usize, results: &[Vec<T>]) {
        for index in 0..problem.n {
            let expected = wide(problem.expected::<T>(call, index));
            for (rank, result) in results.iter().enumerate() {
                // An element that is missing is a wrong one.
                let result = result.get(index as usize).map_or(f32::NEG_INFINITY, |&result| wide(result));
                let is_right = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
                if self.shown.is_none() || (!is_right && self.wrong == 0) {
                    self.shown = Some(Place { call, rank, index, result, expected });
                }
                self.judged += 1;
                self.wrong += u64::from(!is_right);
            }
        }
    }
}
