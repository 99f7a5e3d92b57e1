//! Families of kernels: who takes what of an input, and the launches. Shapes are plain data, which tests and tuning set by hand.

pub mod champion;
pub mod exact;
pub mod exact_rows;
pub mod loss;
pub mod many;
pub mod masked;
pub mod normalise;
pub mod norms;
pub mod operators;
pub mod own;
pub mod pieces;
pub mod quantised;
pub mod rows;
pub mod softmax;
