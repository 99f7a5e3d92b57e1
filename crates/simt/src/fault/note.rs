//! Notes: observations of a run that are no faults, and still worth a look.

use super::Site;

/// The kinds of note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NoteKind {
    /// Threads that nothing orders write the same value to one place.
    EqualWrites,
    /// A plain access follows a read of what a strong one wrote: PTX orders the two, CUDA C++ does not.
    OrderedByObservation,
    /// Two strong writes of one place that nothing orders: either may come last.
    EitherLast,
    /// A barrier of the block opens though some of its threads have exited.
    ExitedThreads,
    /// More blocks have to wait for each other than any card holds at once.
    NotResident,
}

impl NoteKind {
    /// The kebab-case name: `equal-writes`.
    pub const fn name(self) -> &'static str {
        match self {
            NoteKind::EqualWrites => "equal-writes",
            NoteKind::OrderedByObservation => "ordered-by-observation",
            NoteKind::EitherLast => "either-last",
            NoteKind::ExitedThreads => "exited-threads",
            NoteKind::NotResident => "not-resident",
        }
    }
}

/// One note. Like faults, notes of one kind about one variable, in the same lines, are folded into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its kind.
    pub kind: NoteKind,
    /// Description, one sentence.
    pub message: String,
    /// Place where it happened (for two sites: the later access).
    pub site: Site,
    /// The other site, where two are involved.
    pub other: Option<Site>,
    /// The variable or buffer that it is about, where it has a name.
    pub variable: Option<String>,
    /// Reason why it is no fault, and when it would be one.
    pub why: &'static str,
    /// Number of times it was seen, this one included.
    pub count: u64,
}

impl Note {
    /// Returns whether it is of the same kind as another one and about the same variable, in the same lines of the source.
    pub fn is_like(&self, other: &Note) -> bool {
        let about_other = super::about(&other.variable, &other.site, other.other.as_ref());
        self.kind == other.kind && super::about(&self.variable, &self.site, self.other.as_ref()) == about_other
    }
}
