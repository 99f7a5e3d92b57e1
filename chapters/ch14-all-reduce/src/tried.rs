//! Verdict of the lesson on a variant, under one schedule or many.

use device::{Checks, Code};
use serde_json::{Value, json};

use crate::Announced;
use crate::calls::Run;
use crate::judge::Problem;

/// A variant that was run under each of some schedules.
pub(crate) struct Tried {
    /// The first run in which most was found, or else the first.
    pub run: Run,
    finding: Finding,
    /// Schedules under which it ran.
    pub schedules: u64,
    /// Schedules under which something was found.
    pub found: u64,
    /// The seed of the run, where seeds were asked for and something was found.
    pub first: Option<u64>,
}

/// What a run shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Finding {
    Nothing,
    /// What the lesson announces.
    Announced,
    /// A wrong result, or a fault, that it does not announce.
    Surprise,
}

/// Status of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    /// Right, as it should be.
    Right,
    /// Wrong in a way that the lesson does not announce.
    Wrong,
    /// What the lesson announces was found.
    AsAnnounced(Announced),
    /// What the lesson announces was not found, though it should have been.
    Missing(Announced),
    /// What the lesson announces cannot be seen here, and why.
    Unseen(Announced, &'static str),
}

impl Tried {
    /// A first run. `checks` are those of the simulator; `None` on GPUs.
    pub(crate) fn new(run: Run, seed: Option<u64>, checks: Option<Checks>) -> Tried {
        let finding = finding(&run, checks);
        let is_found = finding != Finding::Nothing;
        Tried { run, finding, schedules: 1, found: is_found.into(), first: seed.filter(|_| is_found) }
    }

    /// Adds a run under another schedule.
    pub(crate) fn add(&mut self, next: Tried) {
        let (schedules, found) = (self.schedules + next.schedules, self.found + next.found);
        if next.finding > self.finding {
            *self = next;
        }
        (self.schedules, self.found) = (schedules, found);
    }

    /// What the lesson says of it.
    pub(crate) fn status(&self, problem: &Problem, checks: Option<Checks>) -> Status {
        match (self.finding, self.run.variant.announced) {
            (Finding::Surprise, _) => Status::Wrong,
            (_, None) => Status::Right,
            (Finding::Announced, Some(announced)) => Status::AsAnnounced(announced),
            (Finding::Nothing, Some(announced)) => match unseen(announced, problem, checks) {
                Some(why) => Status::Unseen(announced, why),
                None => Status::Missing(announced),
            },
        }
    }

    /// How it came out under many seeds, for JSON.
    pub(crate) fn seeds(&self) -> Value {
        let first = self.first.map(|seed| json!({"seed": seed, "schedule": format!("independent:{seed}")}));
        json!({"asked": self.schedules, "ran": self.schedules, "found": self.found, "first": first})
    }
}

impl Status {
    /// Returns whether the program ends with status 1 for it.
    pub(crate) fn fails(&self) -> bool {
        matches!(self, Status::Wrong | Status::Missing(_))
    }
}

fn finding(run: &Run, checks: Option<Checks>) -> Finding {
    let faults = &run.report.faults;
    let is_between = |fault: &device::Fault| {
        fault.code == Code::GlobalRace && fault.other.as_ref().is_some_and(|other| other.device != fault.site.device)
    };
    match run.variant.announced {
        _ if run.ok() => Finding::Nothing,
        Some(Announced::Race) if !faults.is_empty() && faults.iter().all(is_between) => Finding::Announced,
        // A race spoils results, also where nothing looks for it.
        Some(Announced::Race) if faults.is_empty() && !finds_races(checks) => Finding::Nothing,
        Some(Announced::OtherBits) if faults.is_empty() => Finding::Announced,
        _ => Finding::Surprise,
    }
}

fn finds_races(checks: Option<Checks>) -> bool {
    checks.is_some_and(|checks| checks.looks_for(Code::GlobalRace))
}

/// Why what is announced cannot be seen, if it cannot. `checks` are those of the simulator; `None` on GPUs.
fn unseen(announced: Announced, problem: &Problem, checks: Option<Checks>) -> Option<&'static str> {
    let Problem { n, ranks, .. } = *problem;
    match (announced, checks) {
        _ if ranks == 1 => Some("one rank waits for no other"),
        _ if n == 0 => Some("there is nothing to add"),
        (Announced::OtherBits, _) if ranks == 2 => {
            Some("two numbers have the same sum in either order; --device sim --ranks 4 shows it")
        }
        (Announced::Race, None) => {
            Some("GPUs report no races: it may be right or wrong, today or on another machine; --device sim finds it")
        }
        (Announced::OtherBits, None) => Some("the arrays arrived in the order of ranks, this time"),
        (Announced::Race, Some(_)) if !finds_races(checks) => Some("--check leaves it out"),
        _ => None,
    }
}
