//! A simulator for PTX: executes a kernel warp by warp, counts what Nsight Compute would count from the same accesses,
//! and reports what compute-sanitizer would find.
//!
//! ```text
//! ptx::Module -> Program -> Kernel (register code + control-flow graph) -> run -> Outcome {counters, faults, trace}
//! ```
//!
//! The library does no I/O, knows no CUDA and needs no clock, so it also builds for wasm32.

// A loop over lanes indexes several rows at once; iterators over one of them would hide the others.
#![allow(clippy::needless_range_loop)]

pub mod access;
mod code;
pub mod counters;
mod eval;
mod exact;
mod exec;
pub mod fault;
#[cfg(feature = "serde")]
mod json;
pub mod launch;
mod lower;
pub mod memory;
mod ops;
pub mod program;
pub mod race;
pub mod report;
pub mod trace;

pub use counters::{Counters, LineCounters, Metric, Tier};
pub use fault::{Code, Fault, Site};
pub use launch::{Check, Checks, Launch, LaunchError, Options, Outcome, Schedule, run};
pub use memory::{Memory, MemoryError};
pub use program::{Kernel, LoadError, Parameter, Program};
