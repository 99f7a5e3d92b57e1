//! A simulator for PTX: executes a kernel warp by warp, counts what Nsight Compute would count from the same accesses,
//! and reports what compute-sanitizer would find.
//!
//! ```text
//! ptx::Module -> Program -> Kernel (register code + control-flow graph) -> run -> Outcome {counters, faults, trace}
//! ```
//!
//! # What a kernel sees of the machine
//!
//! Everything that PTX leaves to the hardware has one value here, the same in every run:
//!
//! - `%clock`, `%clock64` and `%globaltimer` (and their halves) count the instructions that the warp has executed, since
//!   there is no other time; `nanosleep` takes one of them. No figure made from them is a GPU's time.
//! - `%smid` and `%gridid` are 0, `%nsmid` is 1, `%warpid` is the warp's index in its block.
//! - A thread's stack for recursion and calls through pointers has [`Options::stack_bytes`]; a call takes the local
//!   variables of the function and 16 bytes. Other calls always find room, as the driver makes it for them.
//! - Functions have addresses at which there is no memory, the same for every kernel of a PTX file.
//! - `printf` returns the number of values that it printed. Output comes in the order of blocks in the grid, in a block
//!   as it ran under the schedule, in a call lane by lane: [`Outcome::printed`].
//! - `trap` and `brkpt` end the launch; no debugger is there to catch the second.
//! - Local variables are zero until they are written.
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
pub mod instructions;
#[cfg(feature = "serde")]
mod json;
pub mod launch;
mod lower;
pub mod memory;
mod ops;
mod print;
pub mod program;
pub mod race;
pub mod report;
pub mod trace;

pub use counters::{Counters, LineCounters, Metric, Tier};
pub use fault::{Code, Fault, Site};
pub use launch::{Check, Checks, Launch, LaunchError, Options, Outcome, Schedule, run};
pub use memory::{Memory, MemoryError};
pub use program::{Kernel, LoadError, Parameter, Program};
