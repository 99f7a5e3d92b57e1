//! Verdict of the lesson on a run: a right kernel is right, and one that is taught as wrong goes wrong as the lesson says.

use device::{Checks, Code, Schedule, SimOptions};

use crate::run::Run;
use crate::verdict::Why;

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Right, as it should be.
    Right,
    /// Wrong or faulty, though the lesson teaches it as right.
    Wrong,
    /// Neither right nor wrong, and why; nothing was found.
    NotJudged(Why),
    /// The fault that the lesson announces was found.
    AsAnnounced(Code),
    /// The fault that the lesson announces was not found, though this run should have found it.
    AnnouncedMissing(Code),
    /// The fault that the lesson announces cannot be found in this run, and why not.
    AnnouncedUnseen(Code, &'static str),
}

impl Status {
    /// Judges a run on the simulator with `options`, or on a GPU.
    pub fn of(run: &Run, is_gpu: bool, options: SimOptions) -> Status {
        let Some(code) = run.variant.announced else {
            return match run.verdict.not_judged.filter(|_| run.faults.is_empty()) {
                Some(why) => Status::NotJudged(why),
                None if run.ok() => Status::Right,
                None => Status::Wrong,
            };
        };
        if run.faults.iter().any(|fault| fault.code != code) {
            return Status::Wrong;
        }
        if !run.faults.is_empty() {
            return Status::AsAnnounced(code);
        }
        match unseen(run, code, is_gpu, options.checks, options.schedule) {
            Some(why) => Status::AnnouncedUnseen(code, why),
            None => Status::AnnouncedMissing(code),
        }
    }

    /// Returns whether the chapter program ends with status 1 for it.
    pub fn fails(self) -> bool {
        matches!(self, Status::Wrong | Status::AnnouncedMissing(_))
    }

    /// Whether the chapter program ends with status 1 for it unless `--allow-unjudged` is given.
    pub fn is_unjudged(self) -> bool {
        matches!(self, Status::NotJudged(_))
    }
}

/// Why a fault of this code cannot be seen, if it cannot.
fn unseen(run: &Run, code: Code, is_gpu: bool, checks: Checks, schedule: Schedule) -> Option<&'static str> {
    if run.plan.passes.is_empty() {
        Some("nothing was launched")
    } else if is_gpu {
        Some(
            "a GPU reports no races: it may be right or wrong, today or after the next compiler; --device sim finds it",
        )
    } else if !checks.looks_for(code) {
        Some("--check leaves it out")
    } else if schedule == Schedule::Lockstep && matches!(code, Code::SharedRace | Code::GlobalRace) {
        Some("lanes in lockstep, as before Volta, cannot overtake each other")
    } else {
        None
    }
}
