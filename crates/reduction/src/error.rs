//! Refusals: each says what was wrong, what was given and what was expected, before anything is enqueued.

use crate::element::Type;
use crate::op::Op;
use crate::plan::Determinism;

/// Errors of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation that does not take elements of this type.
    #[error("{op} of {ty}: {why}")]
    Unsupported {
        /// The operation.
        op: Op,
        /// The type.
        ty: Type,
        /// Why not.
        why: &'static str,
    },
    /// An operation without kernels for this layout.
    #[error("{op} of {ty}: there are no kernels for {layout}")]
    NoKernels {
        /// The operation.
        op: Op,
        /// The type.
        ty: Type,
        /// `rows`, `columns`, `segments` or `an array`.
        layout: &'static str,
    },
    /// A plan whose results have a weaker promise than was asked for.
    #[error(
        "{what} of {ty}: results are {gives}, and {asked} was asked for, which sum, mean, dot and sumsq of an array of floats have"
    )]
    Determinism {
        /// The operation.
        what: &'static str,
        /// The type.
        ty: Type,
        /// What its plan gives.
        gives: Determinism,
        /// What was asked for.
        asked: Determinism,
    },
    /// A partial sum that cannot be read, or added to another one.
    #[error("the partial sum {0}")]
    PartialSum(String),
    /// More elements, rows or columns than the kernels count.
    #[error("{what}: {got}, and the kernels count up to {most}")]
    TooMany {
        /// `elements`, `rows`, `columns` or `blocks`.
        what: &'static str,
        /// How many there are.
        got: u64,
        /// The most.
        most: u64,
    },
    /// Offsets or labels of another size than kernels read.
    #[error("{what} of {got} bits: kernels read 32 or 64")]
    Bits {
        /// `offsets` or `labels`.
        what: &'static str,
        /// Bits of each.
        got: u32,
    },
    /// A parameter outside of its range.
    #[error("{what} is {got}, and kernels take {range}")]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// Its value.
        got: String,
        /// Its range.
        range: &'static str,
    },
    /// Rows that begin before the one before them has ended.
    #[error("a pitch of {pitch} elements is less than the {cols} of a row")]
    Pitch {
        /// Elements from the beginning of a row to that of the next.
        pitch: u64,
        /// Elements of a row.
        cols: u64,
    },
    /// A layout whose size 64 bits cannot hold.
    #[error("{rows} rows of {cols}, {pitch} from one to the next: more elements than 64 bits count")]
    Size {
        /// Rows.
        rows: u64,
        /// Elements of each.
        cols: u64,
        /// Elements from the beginning of a row to that of the next.
        pitch: u64,
    },
    /// An operand that is too short.
    #[error("{operand} has {got} bytes, and {expected} are read or written")]
    Length {
        /// The operand.
        operand: &'static str,
        /// Its bytes.
        got: u64,
        /// Bytes that the launches touch.
        expected: u64,
    },
    /// An operand that the operation needs and has not, or has and does not take.
    #[error("{what}: {operand} {problem}")]
    Operand {
        /// The operation.
        what: &'static str,
        /// The operand.
        operand: &'static str,
        /// `is missing`, or `is not taken`.
        problem: &'static str,
    },
    /// An operand of another type than the plan's.
    #[error("{operand} holds {got}, and the plan has {expected} there")]
    OperandType {
        /// The operand.
        operand: &'static str,
        /// Its type.
        got: &'static str,
        /// The type of the plan.
        expected: &'static str,
    },
    /// An address that is no multiple of the size of an element.
    #[error("{operand} begins at {address:#x}, which is no multiple of {multiple} bytes")]
    Alignment {
        /// The operand.
        operand: &'static str,
        /// Its address.
        address: u64,
        /// Bytes of an element.
        multiple: u64,
    },
    /// Results that lie over an operand in another way than element on element.
    #[error(
        "{written} overlaps {operand}: what is written lies apart, or element on element where the operation allows it"
    )]
    Overlap {
        /// The operand that is written.
        written: &'static str,
        /// The operand.
        operand: &'static str,
    },
    /// A launch that the card cannot run.
    #[error("{0}")]
    Card(String),
    /// A workspace that is too small for a plan.
    #[error("the workspace has {got} bytes for {what}, and the plan needs {expected}: reserve it first")]
    Workspace {
        /// `state` or `scratch`.
        what: &'static str,
        /// Its bytes.
        got: u64,
        /// Bytes that the plan needs.
        expected: u64,
    },
    /// A workspace of another context than the handle's, or an operand of another stream's device.
    #[error("{what} belongs to another context")]
    OtherContext {
        /// `the workspace`, `the stream`, or an operand.
        what: &'static str,
    },
    /// Devices that do not reach each other's memory, or one device for two ranks.
    #[error(
        "rank {from} does not reach the memory of rank {to}: a group needs a device for each rank, and peer access from each to all"
    )]
    NoPeerAccess {
        /// The rank that would read and write.
        from: usize,
        /// The rank whose memory it is.
        to: usize,
    },
    /// Members whose calls do not belong together.
    #[error("the members' calls differ: {what} is {got} here, and {other} at rank {rank}")]
    Members {
        /// `the length` or `the route`.
        what: &'static str,
        /// Length or route of this call.
        got: String,
        /// That of the other one.
        other: String,
        /// The other rank.
        rank: usize,
    },
    /// A call that cannot be made, as another member's was refused or is gone.
    #[error("rank {rank} {what}, and the call needs all members")]
    Member {
        /// The other rank.
        rank: usize,
        /// `was refused` or `is gone`.
        what: &'static str,
    },
    /// A stream that captures, where something would have to be allocated or loaded.
    #[error("the stream is being captured, and {what}: prepare the plan first")]
    Capturing {
        /// What would have to be done.
        what: String,
    },
    /// A kernel that is in no PTX of this crate.
    #[error("the kernel {kernel} is not compiled into this crate")]
    NoKernel {
        /// Its name.
        kernel: String,
    },
    /// A kernel that would have to be compiled, where there is no compiler.
    #[error("the kernel {kernel} has to be compiled, and cannot be: {why}")]
    NoCompiler {
        /// Its name.
        kernel: String,
        /// Why not.
        why: String,
    },
    /// A kernel that does not compile.
    #[error("the kernel {kernel} does not compile:\n{log}")]
    Compile {
        /// Its name.
        kernel: String,
        /// What NVRTC says.
        log: String,
    },
    /// An operator of the caller's own that no kernel can be made with.
    #[error("the operator {name}: {problem}")]
    Operator {
        /// Its name.
        name: String,
        /// The problem with it.
        problem: &'static str,
    },
    /// The driver's own refusal.
    #[error("{doing}: {code}")]
    Driver {
        /// The step that was tried.
        doing: String,
        /// The driver's name of the error.
        code: String,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
