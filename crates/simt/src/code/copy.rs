//! Asynchronous copies and barrier objects in register code.

use super::{AtomOp, Guard, Reg};

/// Start address of an access, laid out as `Inst` has it for loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Row of the base.
    pub row: Reg,
    /// The base is a 32-bit row.
    pub narrow: bool,
    /// Byte offset.
    pub offset: i64,
}

/// One `cp.async`, from global to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyCode {
    /// In shared memory.
    pub to: Place,
    /// In global memory.
    pub from: Place,
    /// 4, 8 or 16 bytes a lane are written.
    pub bytes: u32,
    /// Row with the number of them that are read, the others becoming zero; [`super::NONE`] for all.
    pub taken: Reg,
    /// Nothing is read where this predicate holds.
    pub ignored: Guard,
}

/// One `cp.async.bulk` from global to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkCopy {
    /// In shared memory.
    pub to: Place,
    /// In global memory.
    pub from: Place,
    /// Row with the number of bytes that each lane copies.
    pub bytes: Reg,
    /// The barrier object that counts them.
    pub object: Place,
}

/// One `cp.async.bulk` or `cp.reduce.async.bulk` from shared to global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkStore {
    /// In global memory.
    pub to: Place,
    /// In shared memory.
    pub from: Place,
    /// Row with the number of bytes that each lane copies.
    pub bytes: Reg,
    /// Reduction applied to each element there; none replaces it.
    pub reduction: Option<AtomOp>,
}

/// One `st.async`, into the shared memory of a block of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncStore {
    /// In shared memory.
    pub to: Place,
    /// The barrier object that counts the bytes.
    pub object: Place,
    /// Rows with the elements that each lane stores; [`super::NONE`] behind the last.
    pub values: [Reg; 4],
}

/// Operation on a barrier object (`mbarrier`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MbarrierAct {
    /// `.init`: count in `b`.
    Init,
    /// `.inval`
    Invalidate,
    /// `.expect_tx`: bytes in `b`.
    ExpectBytes,
    /// `.complete_tx`: bytes in `b`.
    CompleteBytes,
    /// `.arrive`, `.arrive_drop`: how many arrive in `b`, one without; the state before goes to the 64-bit row `d`.
    Arrive {
        /// Not `.noComplete`.
        completes: bool,
        /// The phases that follow expect so many fewer.
        drops: bool,
        /// `.expect_tx`: `b` says how many bytes are waited for too, and one arrives.
        expects: bool,
    },
    /// `.test_wait`, `.try_wait`: predicate `d`; state in the 64-bit row `c`, or the parity of a phase in `b`.
    Test {
        /// `.parity`
        parity: bool,
        /// `.try_wait`
        may_wait: bool,
    },
    /// `cp.async.mbarrier.arrive`: when the copies that the thread has started are over.
    CopyArrive {
        /// `.noinc`: the arrival is one of those that the object counts on already.
        counted: bool,
    },
}

/// `mbarrier`, on the object at address `a` with offset `imm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MbarrierOp {
    /// Operation.
    pub act: MbarrierAct,
    /// The address is generic.
    pub generic: bool,
    /// `.shared::cluster`: the object may be that of another block of the cluster.
    pub is_remote: bool,
    /// It releases or acquires: not `.relaxed`.
    pub ordered: bool,
}
