//! A recorded run: every step of chosen blocks and warps, for a stepper to play.
//!
//! With the feature `serde`, a [`Trace`] serialises as one object. [`SCHEMA`] lists its keys, and the book's appendix
//! prints that list; a test holds what is written to it.

mod schema;

pub use schema::{Field, SCHEMA};

/// Version of what a trace holds. It grows by one whenever a field changes its meaning or goes away; a new field leaves it
/// as it is.
pub const VERSION: u32 = 3;

/// Steps to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The first block, as one number, x fastest.
    pub first_block: u64,
    /// Number of blocks from there on.
    pub blocks: u64,
    /// Warps of each block: bit w is warp w.
    pub warps: u32,
    /// Steps kept of each block; the rest is counted in [`Trace::dropped_steps`]. A step takes about 600 bytes of memory.
    pub steps_per_block_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { first_block: 0, blocks: 1, warps: u32::MAX, steps_per_block_max: 20_000 }
    }
}

impl Options {
    /// Returns whether block number `linear` is recorded.
    pub fn has_block(&self, linear: u64) -> bool {
        linear.checked_sub(self.first_block).is_some_and(|at| at < self.blocks)
    }

    /// Returns whether warp `index` of such a block is recorded.
    pub fn has_warp(&self, index: u32) -> bool {
        self.warps.checked_shr(index).is_some_and(|bits| bits & 1 == 1)
    }
}

/// The recorded steps, block by block, each block in the order it ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(missing_docs)] // SCHEMA says what each key is
pub struct Trace {
    pub version: u32,
    pub kernel: String,
    pub schedule: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub code: Vec<Instruction>,
    pub steps: Vec<Step>,
    pub dropped_steps: u64,
    /// Names of the source for what registers hold; empty until [`crate::Program::names`] fills it in.
    pub names: Vec<crate::names::Name>,
}

/// An instruction of the kernel, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(missing_docs)] // SCHEMA says what each key is
pub struct Instruction {
    pub opcode: String,
    pub text: String,
    pub ptx_line: u32,
    pub file: String,
    pub line: u32,
    pub calls: Vec<u32>,
}

/// One warp executed one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(missing_docs)] // SCHEMA says what each key is
pub struct Step {
    pub block: [u32; 3],
    pub block_linear: u64,
    pub order: u64,
    pub warp: u32,
    pub pc: u32,
    pub split: u32,
    pub active: u32,
    pub access: Vec<Access>,
    pub values: Option<Values>,
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[allow(missing_docs)] // named after PTX
pub enum Space {
    Shared,
    Global,
    Local,
    /// Shared memory of another block of the cluster.
    Cluster,
}

/// Effect of one step on one state space.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(missing_docs)] // SCHEMA says what each key is
pub struct Access {
    pub space: Space,
    pub owner: Option<u64>,
    pub mask: u32,
    pub bytes: u32,
    pub addresses: [u64; 32],
    pub banks: Option<[u8; 32]>,
    pub lane_sectors: Option<[u64; 32]>,
    pub wavefronts: u32,
    pub conflicts: u32,
    pub sectors: u32,
}

/// A register of all lanes; 0 for those that are not active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Values {
    /// 32 bits a lane.
    Bits32([u32; 32]),
    /// 64 bits a lane; as JSON, decimal digits in strings, since a number of JavaScript holds 53 bits.
    #[cfg_attr(feature = "serde", serde(serialize_with = "digits"))]
    Bits64([u64; 32]),
    /// One bit a lane.
    Predicate(u32),
}

#[cfg(feature = "serde")]
fn digits<S: serde::Serializer>(row: &[u64; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(row.iter().map(u64::to_string))
}
