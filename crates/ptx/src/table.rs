//! The one table of instructions: parser checks, lowering, counters and documentation read it.

/// What an instruction counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Integer, logic, float arithmetic, moves, conversions, comparisons.
    Alu,
    /// `bra`, `brx`, `call`, `ret`, `exit`.
    Control,
    /// Loads, stores, prefetches: the space is in the modifiers.
    Memory,
    /// `atom`, `red`.
    Atomic,
    /// `bar`, `barrier`, `bar.warp.sync`.
    Barrier,
    /// `shfl`.
    Shuffle,
    /// `vote`, `match`, `redux`, `activemask`, `elect`.
    WarpVote,
    /// `membar`, `fence`.
    Fence,
    /// `nop`-like: `trap`, `brkpt`, `nanosleep`, `pmevent`, `griddepcontrol`, …
    Other,
}

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    /// The first word of the opcode: `ld`, `add`, `bar`.
    pub mnemonic: &'static str,
    /// Fewest operands.
    pub operands_min: u8,
    /// Most operands.
    pub operands_max: u8,
    /// What it counts as.
    pub class: Class,
    /// Section of the PTX manual: `9.7.1.1`.
    pub section: &'static str,
    /// What it does, half a line.
    pub summary: &'static str,
}
