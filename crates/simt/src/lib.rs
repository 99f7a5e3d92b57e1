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
//! - An asynchronous copy (`cp.async`) is carried out where it starts; the race check finds accesses that do not
//!   wait for it. It counts as an H200 counts it (`LDGSTS`): the sectors that its lanes read, as those of a load
//!   from global memory, and a request unless no lane reads anything; but neither wavefronts nor conflicts in shared memory,
//!   which the card has other counters for. A bulk copy or reduction (`cp.async.bulk`, `cp.reduce.async.bulk`) counts as an
//!   instruction and nothing else.
//! - What the 64 bits of a barrier object (`mbarrier`) mean is in `exec/mbarrier.rs`. `try_wait` answers at once, and who finds
//!   a phase not over lets others run first. Objects in the memory of other blocks of a cluster are left out.
//! - Prefetches and cache hints do nothing, as there is no cache. `griddepcontrol` does nothing in a launch that runs alone; what it
//!   does where launches overlap, [`run_stream`] says.
//!
//! # How it is fast
//!
//! `cargo bench -p simt` measures it; the README has the figures.
//!
//! - *Decoding* is done once, when a kernel is loaded: a PTX instruction becomes register code of fixed size (`code::Inst`).
//!   Literals, parameters and special registers are rows of the register file, filled when a launch or a block starts, so
//!   that an operand is an index of a row and nothing else. Only rows that may be read before they are written are cleared
//!   from block to block.
//! - *Dispatch* is a jump on the operation, and for arithmetic a call through a table of small functions. A split of a warp
//!   runs until it waits, parts or ends. Nothing is counted in between: code without a jump is counted where a warp comes to
//!   it and where it leaves it, and a sum over all instructions at the end of the launch makes the counts of each.
//! - *Lanes* are loops of 32 over whole rows, compiled once for AVX2 and once for any processor. All lanes are computed, and
//!   those that take part are kept; with all 32 the result goes straight to its row.
//! - *Accesses are remembered by shape*: the distances between the lanes' addresses, for each load and store and each order
//!   of magnitude of active lanes, since the steps of a tree come back with every block. If the next access has the same
//!   shape, one comparison tells wavefronts, conflicts and sectors, alignment and extent, and whether the words lie side by
//!   side: then one buffer is looked up, one range is checked, and the words are copied (`exec/words.rs`). Everything else
//!   takes the general way, lane by lane (`exec/memory.rs`).
//! - *Checks* work on such runs of words too: the shadow of shared memory is three arrays (when, who, where), and 32 words
//!   are compared with the last barrier at once. Races in global memory are looked for where ranges of blocks met.
//! - *Host threads* take eight blocks at a time, and share nothing but memory.
//!
//! Memory that checks cost; a check that is off costs none. `uninitialised-read` takes one byte for each word of
//! shared memory, of local memory of each lane, and of arrays that the host has not filled. `shared-race` takes 49 bytes for each word of shared memory of
//! a block that is running, and 48 for each byte once a kernel touches parts of words, and 20
//! for each word once it copies asynchronously. `global-race` takes nothing for
//! pages (of 4 KiB) that are only read or not shared; else up to 96 records of 40 bytes a page, or 100 bytes for each word (or
//! byte, where accesses are narrower) of a page whose accesses overlap. Blocks side by side keep a copy of each page that they write until the launch ends.
//!
//! Attempts that did not help, or not enough: one large function for all arithmetic (the table of small ones is a
//! sixth faster on the arithmetic mix: a large function saves and restores what its worst part needs); a count at every
//! instruction; closures handed to `array::map`, which ended up as functions of their own without vector instructions;
//! one remembered shape for each instruction, which the steps of a tree overwrote; a copy of the rows that the race check
//! looks at.
//!
//! The library does no I/O, knows no CUDA and needs no clock, so it also builds for wasm32.

// A loop over lanes indexes several rows at once; iterators over one of them would hide the others.
#![allow(clippy::needless_range_loop)]

pub mod access;
mod code;
#[cfg(feature = "command")]
pub mod command;
pub mod counters;
mod eval;
mod exact;
mod exec;
pub mod fault;
pub mod instructions;
#[cfg(feature = "serde")]
mod json;
pub mod launch;
mod link;
mod lower;
mod masks;
pub mod memory;
pub mod names;
pub mod npy;
mod ops;
mod print;
pub mod program;
pub mod race;
pub mod report;
#[cfg(feature = "spec")]
pub mod spec;
pub mod trace;

pub use counters::{Counters, LineCounters, Metric, Tier};
pub use fault::{Code, Fault, Frame, Note, NoteKind, Site};
pub use launch::{
    Arg, Check, Checks, Launch, LaunchError, Misfit, Options, Outcome, Schedule, StreamLaunch, run, run_devices,
    run_stream,
};
pub use memory::{DEVICES_MAX, Memory, MemoryError};
pub use program::{Kernel, LoadError, Parameter, Program};

/// The example of the README, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
