//! What a run can show that is no fault, and still worth a look.

use super::Site;

/// The kinds of note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NoteKind {
    /// Threads that nothing orders write the same value to one place.
    EqualWrites,
    /// A plain access follows a read of what a strong one wrote: PTX orders the two, CUDA C++ does not.
    OrderedByObservation,
    /// A barrier of the block opens though some of its threads have exited.
    ExitedThreads,
}

impl NoteKind {
    /// The kebab-case name: `equal-writes`.
    pub const fn name(self) -> &'static str {
        match self {
            NoteKind::EqualWrites => "equal-writes",
            NoteKind::OrderedByObservation => "ordered-by-observation",
            NoteKind::ExitedThreads => "exited-threads",
        }
    }
}

/// One note. Like faults, notes of one kind about one variable, in the same lines, are folded into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its kind.
    pub kind: NoteKind,
    /// What happened, one sentence.
    pub message: String,
    /// Where (for two sites: the later access).
    pub site: Site,
    /// The other site, where two are involved.
    pub other: Option<Site>,
    /// Why it is no fault, and when it would be one.
    pub why: &'static str,
    /// How many times it was seen, this one included.
    pub count: u64,
}
