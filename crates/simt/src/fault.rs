//! Faults that a run can find: codes, sites, and the words for them.

mod explanation;
mod note;

use std::fmt;

pub use explanation::Explanation;
pub use note::{Note, NoteKind};

/// The kinds of fault. The kebab-case name is a contract: JSON, fixtures and the book's appendix use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// An access outside every allocation, or past the end of a shared or local variable's space.
    OutOfBounds,
    /// An address that is no multiple of the access size.
    Misaligned,
    /// A read of memory that nothing wrote, or a use of a register that nothing set.
    UninitialisedRead,
    /// Two unordered accesses to shared memory, at least one a write.
    SharedRace,
    /// Two unordered accesses to global memory, at least one a write.
    GlobalRace,
    /// Some threads of a block wait at a barrier that the others do not reach.
    BarrierDivergence,
    /// Nothing can run any more and not everything has ended.
    Deadlock,
    /// A shuffle reads from a lane that takes no part in it.
    InactiveShuffleLane,
    /// A lane executes a `.sync` instruction whose mask does not name it, or names lanes that left.
    MaskMismatch,
    /// The launch ran longer than its step budget.
    StepBudget,
    /// The kernel executed `trap`.
    Trap,
    /// The call stack or local memory ran out.
    StackOverflow,
    /// An instruction that the simulator does not know.
    UnsupportedInstruction,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// A bug in the kernel.
    Kernel,
    /// A limit of the simulator; says nothing about the kernel.
    Simulator,
    /// A bug in the kernel, or an option that does not allow what it honestly needs.
    Either,
}

impl Code {
    /// Every code, in the order of the book's appendix.
    pub const ALL: [Code; 13] = [
        Code::OutOfBounds,
        Code::Misaligned,
        Code::UninitialisedRead,
        Code::SharedRace,
        Code::GlobalRace,
        Code::BarrierDivergence,
        Code::Deadlock,
        Code::InactiveShuffleLane,
        Code::MaskMismatch,
        Code::StepBudget,
        Code::Trap,
        Code::StackOverflow,
        Code::UnsupportedInstruction,
    ];

    /// The kebab-case name: `shared-race`.
    pub const fn name(self) -> &'static str {
        match self {
            Code::OutOfBounds => "out-of-bounds",
            Code::Misaligned => "misaligned",
            Code::UninitialisedRead => "uninitialised-read",
            Code::SharedRace => "shared-race",
            Code::GlobalRace => "global-race",
            Code::BarrierDivergence => "barrier-divergence",
            Code::Deadlock => "deadlock",
            Code::InactiveShuffleLane => "inactive-shuffle-lane",
            Code::MaskMismatch => "mask-mismatch",
            Code::StepBudget => "step-budget",
            Code::Trap => "trap",
            Code::StackOverflow => "stack-overflow",
            Code::UnsupportedInstruction => "unsupported-instruction",
        }
    }

    /// Returns whether its two sites are an earlier and a later access to the same memory.
    pub const fn is_between_accesses(self) -> bool {
        matches!(self, Code::SharedRace | Code::GlobalRace)
    }

    /// The code of that kebab-case name.
    pub fn named(name: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A line of the CUDA source, of code that was inlined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Frame {
    /// File as `.file` names it.
    pub file: String,
    /// Line in that file, from 1.
    pub line: u32,
}

/// Place where a fault, or one half of it, happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Source file as `.file` names it, or the PTX file when there is no line information. For code that was inlined from
    /// another file, such as a library's header, it is the file that it was inlined into.
    pub file: String,
    /// Line in that file, from 1.
    pub line: u32,
    /// Lines of the instructions before and behind, where the instruction has none of its own, as one that the compiler moved; then
    /// `line` is the first of them.
    pub between: Option<[u32; 2]>,
    /// Places where the code was inlined: its file and line, its caller's, and so on outwards; `file` and `line` are among them.
    /// Else empty.
    pub frames: Vec<Frame>,
    /// Line in the PTX file, from 1.
    pub ptx_line: u32,
    /// The PTX opcode: `ld.volatile.shared.u32`.
    pub opcode: String,
    /// Index of its launch among those that ran together, from 0: see [`crate::run_stream`]. 0 for a launch alone.
    pub launch: u32,
    /// Device that ran it, where several have memory.
    pub device: Option<u32>,
    /// Block index x, y, z.
    pub block: [u32; 3],
    /// Warp within the block.
    pub warp: u32,
    /// Lanes of that warp, as a bit mask.
    pub lanes: u32,
    /// Action at this site: `reads`, `writes`, `waits`.
    pub action: &'static str,
}

/// One finding. Findings of one kind about one variable, in the same lines of the source, are folded into one with a count: they differ in
/// lane, element, block, or in the copy of an unrolled loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub code: Code,
    /// Description, one sentence with the address as variable and element: `reads sums[16], which …`.
    pub message: String,
    /// Place where it happened (for two sites: the later access; of two launches, that of the later launch).
    pub site: Site,
    /// The other site, where two are involved (the earlier access, that of the earlier launch; where the missing threads are).
    pub other: Option<Site>,
    /// Reason why this is wrong: that of its kind, or a more specific one.
    pub why: &'static str,
    /// Advice, likewise.
    pub remedy: &'static str,
    /// The variable or buffer that it is about, where it has a name.
    pub variable: Option<String>,
    /// Number of times it was seen, this one included.
    pub count: u64,
}

impl Fault {
    /// Returns whether it is of the same kind as another one and about the same variable, in the same lines of the source.
    pub fn is_like(&self, other: &Fault) -> bool {
        let about_other = about(&other.variable, &other.site, other.other.as_ref());
        self.code == other.code && about(&self.variable, &self.site, self.other.as_ref()) == about_other
    }
}

/// Stands for a distance in a stream where the two sites are on two devices, whichever they are.
const BETWEEN_DEVICES: i64 = i64::MAX;

/// What a finding or a note is about: a variable, lines of the source, and the number of launches of the stream by which the other site
/// lies behind the first.
type About<'a> = (&'a Option<String>, [Option<(&'a str, u32)>; 2], i64);

fn about<'a>(variable: &'a Option<String>, site: &'a Site, other: Option<&'a Site>) -> About<'a> {
    let lines = [Some(site), other].map(|site| Some((site?.file.as_str(), site?.line)));
    let apart = other.map_or(0, |other| match other.device == site.device {
        true => i64::from(other.launch) - i64::from(site.launch),
        false => BETWEEN_DEVICES,
    });
    (variable, lines, apart)
}

/// Adds the notes of another launch to those of launches before: like ones are one, with their counts added up.
pub fn fold_notes(notes: &mut Vec<Note>, of_a_launch: Vec<Note>) {
    for note in of_a_launch {
        match notes.iter_mut().find(|first| first.is_like(&note)) {
            Some(first) => first.count += note.count,
            None => notes.push(note),
        }
    }
}

/// Adds what another launch found to what was found before: like findings are one, with their counts added up.
pub fn fold(faults: &mut Vec<Fault>, of_a_launch: Vec<Fault>) {
    for fault in of_a_launch {
        match faults.iter_mut().find(|first| first.is_like(&fault)) {
            Some(first) => first.count += fault.count,
            None => faults.push(fault),
        }
    }
}
