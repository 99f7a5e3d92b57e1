//! A recorded run: every step of chosen blocks, for a stepper to play.
//!
//! With the feature `serde`, a [`Trace`] serialises as its fields say: lane masks as numbers, rows as arrays of 32.

/// Version of what a trace holds. It grows by one whenever a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// What to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The first so many blocks of the grid.
    pub blocks: u64,
    /// Steps kept of each block; the rest is counted in [`Trace::dropped_steps`].
    pub steps_per_block_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { blocks: 1, steps_per_block_max: 20_000 }
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
    /// What the instructions in `steps` are, by program counter.
    pub code: Vec<Instruction>,
    /// One per warp-instruction.
    pub steps: Vec<Step>,
    /// Steps past the limit.
    pub dropped_steps: u64,
}

/// An instruction of the kernel, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Instruction {
    /// The PTX opcode.
    pub opcode: String,
    /// Line in the PTX file.
    pub ptx_line: u32,
    /// Source file, empty without line information.
    pub file: String,
    /// Line in the source file, 0 without line information.
    pub line: u32,
}

/// One warp executed one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Step {
    /// Block index.
    pub block: [u32; 3],
    /// The same as one number, x fastest.
    pub block_linear: u64,
    /// Warp within the block.
    pub warp: u32,
    /// Index into [`Trace::code`].
    pub pc: u32,
    /// Lanes at this program counter.
    pub split: u32,
    /// Those of them whose guard lets them take part.
    pub active: u32,
    /// Memory touched, one entry a state space.
    pub access: Vec<Access>,
    /// What it left in its destination register (loads, arithmetic) or stored.
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
}

/// What one step did to one state space.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Access {
    /// Which one.
    pub space: Space,
    /// Lanes whose access went ahead.
    pub mask: u32,
    /// Bytes a lane.
    pub bytes: u32,
    /// Byte address of each lane in that space.
    pub addresses: [u64; 32],
    /// Shared memory: passes through the banks.
    pub wavefronts: u32,
    /// Shared memory: passes beyond those that the width needs.
    pub conflicts: u32,
    /// Global memory: 32-byte sectors.
    pub sectors: u32,
}

/// A register of all lanes. Only active lanes mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Values {
    /// 32 bits a lane.
    Bits32([u32; 32]),
    /// 64 bits a lane.
    Bits64([u64; 32]),
    /// One bit a lane.
    Predicate(u32),
}
