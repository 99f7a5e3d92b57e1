//! The race detector: each rule by itself, and the whole against a reference that forgets nothing.

mod pairs;
mod properties;
mod reference;
mod rules;

const FULL: u32 = u32::MAX;
