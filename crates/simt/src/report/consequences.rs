//! Faults that follow from others: one missing barrier is a race and a read of unwritten memory; an access that was not carried
//! out leaves bytes unwritten, and threads that wait for it wait for ever.

use crate::fault::{Code, Fault, Site};

/// For each fault the one that it most likely follows from, which follows from none.
pub(super) fn causes(faults: &[Fault]) -> Vec<Option<usize>> {
    let cause =
        |at: usize| (0..faults.len()).find(|&other| other != at && follows(&faults[at], &faults[other], other < at));
    let direct: Vec<Option<usize>> = (0..faults.len()).map(cause).collect();
    let last = |at: usize| {
        let mut up = direct[at]?;
        // A circle has no first fault: then the one it was entered at speaks for it.
        for _ in 0..faults.len() {
            match direct[up] {
                Some(next) => up = next,
                None => return Some(up),
            }
        }
        None
    };
    (0..faults.len()).map(last).collect()
}

/// Returns whether `fault` follows from `cause`, which stands before it or not.
fn follows(fault: &Fault, cause: &Fault, is_before: bool) -> bool {
    let is_race = cause.code.is_between_accesses();
    let left_out = matches!(cause.code, Code::OutOfBounds | Code::Misaligned);
    let no_object = cause.code == Code::UninitialisedRead && is_object(&cause.site);
    match fault.code {
        // The same place reads what another thread has not written yet.
        Code::UninitialisedRead if is_race => reads_at(cause, &fault.site),
        // The same object, used in another line.
        Code::UninitialisedRead if is_object(&fault.site) => no_object && is_before && cause.message == fault.message,
        Code::UninitialisedRead => left_out && fills_shared(&cause.site),
        // Threads that a barrier would have ordered.
        Code::SharedRace => no_object,
        // Threads that wait for a copy that was never made, or at a barrier that is none.
        Code::Deadlock => (left_out && cause.site.opcode.starts_with("cp.async")) || no_object,
        _ => false,
    }
}

/// Returns whether the line of `site` reads in the race.
fn reads_at(race: &Fault, site: &Site) -> bool {
    let sites = [Some(&race.site), race.other.as_ref()];
    sites.into_iter().flatten().any(|of| of.action == "reads" && (&of.file, of.line) == (&site.file, site.line))
}

fn is_object(site: &Site) -> bool {
    site.opcode.starts_with("mbarrier")
}

fn fills_shared(site: &Site) -> bool {
    site.opcode.starts_with("cp.async") || (site.opcode.starts_with("st.") && site.opcode.contains(".shared"))
}
