//! Fixtures of arithmetic: an opcode, the operands that it is fed, and the PTX around it.

pub mod fixture;
pub mod operands;
mod video;
