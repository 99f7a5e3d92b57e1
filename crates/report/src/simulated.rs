//! The simulator as the book's figures take it: for results and counts, while other tests look for faults.

use std::path::Path;

use device::{Checks, Choice, KernelSource, SimOptions};
use lab::record::OPTIONS;
use lab::{Chapter, Result, Session};

/// A chapter on the simulator, with no check on.
///
/// # Errors
/// Kernels that are stale or do not load.
pub(crate) fn unchecked<'c>(chapter: &'c Chapter, root: &Path) -> Result<Session<'c>> {
    let options = SimOptions { checks: Checks::NONE, ..OPTIONS };
    Session::open_source(chapter, KernelSource::in_root(root, chapter.slug), Choice::Sim, options)
}
