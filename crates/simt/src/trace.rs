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
pub struct Trace {
    /// [`VERSION`]
    pub version: u32,
    /// Name of the kernel.
    pub kernel: String,
    /// The schedule, as `--schedule` takes it.
    pub schedule: String,
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Instructions of `steps`, by program counter.
    pub code: Vec<Instruction>,
    /// One per warp-instruction.
    pub steps: Vec<Step>,
    /// Steps past the limit.
    pub dropped_steps: u64,
    /// Names of the source for what registers hold; empty until [`crate::Program::names`] fills it in.
    pub names: Vec<crate::names::Name>,
}

/// An instruction of the kernel, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Instruction {
    /// The PTX opcode.
    pub opcode: String,
    /// The line of the PTX file that it stands on.
    pub text: String,
    /// Number of that line, from 1.
    pub ptx_line: u32,
    /// Source file, empty without line information.
    pub file: String,
    /// Line in the source file, 0 without line information.
    pub line: u32,
    /// Lines of the calls that brought it there by inlining, from the innermost outwards, where all are in that file.
    pub calls: Vec<u32>,
}

/// One warp executed one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Step {
    /// Block index.
    pub block: [u32; 3],
    /// Block index as one number, x fastest.
    pub block_linear: u64,
    /// Place among all steps of the trace, in the order in which the launch ran: blocks that talk to each other, and those of a
    /// cluster, in turns; other blocks one after the other.
    pub order: u64,
    /// Warp within the block.
    pub warp: u32,
    /// Index into [`Trace::code`].
    pub pc: u32,
    /// Lanes at this program counter.
    pub split: u32,
    /// Those of them whose guard lets them take part.
    pub active: u32,
    /// Memory touched, one entry a state space; of [`Space::Cluster`] one a block.
    pub access: Vec<Access>,
    /// Values left in its destination register (loads, arithmetic) or stored.
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
pub struct Access {
    /// State space.
    pub space: Space,
    /// [`Space::Cluster`]: the block whose memory it is, as one number, x fastest.
    pub owner: Option<u64>,
    /// Lanes whose access went ahead.
    pub mask: u32,
    /// Bytes a lane.
    pub bytes: u32,
    /// Byte address of each lane in that space; 0 for lanes outside `mask`.
    pub addresses: [u64; 32],
    /// Shared memory: the bank of each lane's first word; 0 for lanes outside `mask`.
    pub banks: Option<[u8; 32]>,
    /// Global memory: the sector of each lane's first byte, which is its address / 32; 0 for lanes outside `mask`.
    pub lane_sectors: Option<[u64; 32]>,
    /// Shared memory: passes through the banks.
    pub wavefronts: u32,
    /// Shared memory: passes beyond those that the width needs.
    pub conflicts: u32,
    /// Global memory: 32-byte sectors.
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
