//! The numbers that a question is about: few kinds, all of which a reader can write down.

use lab::element::Element;
use lab::{Array, Type};
use serde::Deserialize;

/// Input of a run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    /// A rule.
    Rule(Rule),
    /// The numbers themselves; `n` says as many.
    Given(Vec<i32>),
}

/// A rule that makes as many numbers as are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// 1, 2, 3, …
    Iota,
    /// 1, 1, 1, …
    Ones,
    /// −1, −2, −3, …
    Negative,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::Rule(Rule::Iota)
    }
}

impl Numbers {
    /// `n` of them; of those that are given, the first `n`.
    pub fn array(&self, ty: Type, n: u64) -> Array {
        let at = |i: u64| match self {
            Numbers::Rule(Rule::Iota) => i as i32 + 1,
            Numbers::Rule(Rule::Ones) => 1,
            Numbers::Rule(Rule::Negative) => -(i as i32) - 1,
            Numbers::Given(values) => values.get(i as usize).copied().unwrap_or(0),
        };
        lab::with_type!(ty, T => T::array((0..n).map(|i| T::from_f64(at(i).into())).collect()))
    }

    /// Returns whether there are `n` of them.
    pub fn has(&self, n: u64) -> bool {
        match self {
            Numbers::Rule(_) => true,
            Numbers::Given(values) => values.len() as u64 >= n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_lists() {
        assert_eq!(Numbers::default().array(Type::I32, 3), Array::I32(vec![1, 2, 3]));
        assert_eq!(Numbers::Rule(Rule::Negative).array(Type::F32, 2), Array::F32(vec![-1.0, -2.0]));
        let given = Numbers::Given(vec![3, 1, 4]);
        assert_eq!(given.array(Type::I32, 2), Array::I32(vec![3, 1]));
        assert!(given.has(3) && !given.has(4));
    }
}
