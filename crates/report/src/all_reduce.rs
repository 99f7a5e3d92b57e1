//! The chapter over several devices: what its page shows of the library's record beside NCCL and torch (`scripts/gpu_all_reduce.sh`), and
//! of runs of its program on devices of the simulator.

mod clock;
mod simulated;

use std::collections::BTreeSet;
use std::path::Path;

use lab::text::day;
use lab::{Error, Result};
use serde::Deserialize;

use crate::fact::{Fact, facts_text};

pub use simulated::{OverDevices, recorded};

/// The record of two devices, from the root on.
const RECORD: &str = "measurements/library/h200-all-reduce.json";
/// That of four, of an earlier form of the kernels.
const RECORD_OF_FOUR: &str = "measurements/library/h200-x4-all-reduce.json";

/// Returns whether a case is of another library.
fn is_other(case: &Case) -> bool {
    ["nccl", "torch"].iter().any(|name| case.entrant.starts_with(name))
}

#[derive(Debug, Deserialize)]
struct Record {
    device: String,
    driver: String,
    date: String,
    /// NCCL's version as it counts: 22809 for 2.28.9.
    nccl: u32,
    torch: String,
    link: Vec<Link>,
    scalar: Vec<Scalar>,
    cases: Vec<Case>,
}

/// A measurement of the link.
#[derive(Debug, Deserialize)]
struct Link {
    link: String,
    ranks: u32,
    us: f64,
    gb_per_s: Option<f64>,
}

/// The sum of an array that is spread over the ranks, or of the parts alone.
#[derive(Debug, Deserialize)]
struct Scalar {
    entrant: String,
    n: u64,
    ranks: u32,
    us: f64,
}

/// One size by one entrant. Not a [`lab::Case`]: sizes are in bytes, and several devices share the work.
#[derive(Debug, Deserialize)]
struct Case {
    entrant: String,
    op: String,
    #[serde(rename = "type")]
    ty: String,
    bytes: u64,
    ranks: u32,
    us: f64,
    /// Whether the library takes this route by itself.
    #[serde(default)]
    chosen: bool,
    /// Judged elements that are wrong.
    wrong: u64,
}

/// One size: the library's own choice (where that was not measured, the fastest that was), the fastest of its routes, and all routes and
/// others.
struct Size<'a> {
    bytes: u64,
    chosen: &'a Case,
    fastest: &'a Case,
    ours: Vec<&'a Case>,
    others: Vec<&'a Case>,
}

impl Size<'_> {
    /// Time of the fastest other over that of the library's choice.
    fn ratio(&self) -> Option<f64> {
        self.others.iter().map(|case| case.us).min_by(f64::total_cmp).map(|us| us / self.chosen.us)
    }

    /// Time of a route.
    fn us(&self, route: &str) -> Option<f64> {
        self.ours.iter().find(|case| case.entrant == route).map(|case| case.us)
    }

    /// Time of the fastest of some others.
    fn other_us(&self, entrants: &[&str]) -> Option<f64> {
        let of = self.others.iter().filter(|case| entrants.contains(&case.entrant.as_str()));
        of.map(|case| case.us).min_by(f64::total_cmp)
    }
}

impl Record {
    /// Sizes of a type on so many ranks, added up, from the smallest on.
    fn sizes(&self, op: &str, ty: &str, ranks: u32) -> Vec<Size<'_>> {
        let of = |case: &&Case| case.op == op && case.ty == ty && case.ranks == ranks && case.wrong == 0;
        let cases: Vec<&Case> = self.cases.iter().filter(of).collect();
        let all: BTreeSet<u64> = cases.iter().map(|case| case.bytes).collect();
        let size = |bytes: u64| {
            let here: Vec<&Case> = cases.iter().copied().filter(|case| case.bytes == bytes).collect();
            let (others, ours): (Vec<&Case>, Vec<&Case>) = here.iter().partition(|case| is_other(case));
            let fastest = *ours.iter().min_by(|a, b| a.us.total_cmp(&b.us))?;
            let chosen = ours.iter().copied().find(|case| case.chosen).unwrap_or(fastest);
            Some(Size { bytes, chosen, fastest, ours, others })
        };
        all.into_iter().filter_map(size).collect()
    }

    fn link(&self, what: &str, ranks: u32) -> Option<&Link> {
        self.link.iter().find(|link| link.link == what && link.ranks == ranks)
    }

    /// Microseconds of the sum of an array that is spread over the ranks, or of the parts alone.
    fn scalar_us(&self, entrant: &str, n: u64, ranks: u32) -> Option<f64> {
        let of = |case: &&Scalar| case.entrant == entrant && case.n == n && case.ranks == ranks;
        self.scalar.iter().find(of).map(|case| case.us)
    }

    fn source(&self) -> String {
        let Record { device, driver, date, nccl, torch, .. } = self;
        let nccl = format!("{}.{}.{}", nccl / 10_000, nccl / 100 % 100, nccl % 100);
        let torch = torch.split('+').next().unwrap_or_default();
        format!("{device}, driver {driver}, NCCL {nccl}, torch {torch}, {}", day(date))
    }
}

/// The files of `book/src/generated/ch14-all-reduce/`, name and text, but for exercises and quiz. `root` is of the repository.
///
/// # Errors
/// A record that cannot be read, a chart that cannot be drawn.
pub fn all_reduce(root: &Path, runs: &OverDevices) -> Result<Vec<(String, String)>> {
    let mut record = load(root, RECORD)?;
    let four = load(root, RECORD_OF_FOUR)?;
    let source_of_four = four.source();
    record.link.extend(four.link);
    record.scalar.extend(four.scalar);
    record.cases.extend(four.cases);
    let mut facts: Vec<Fact> = clock::facts(&record);
    facts.push(("source-4".to_owned(), source_of_four));
    facts.extend(simulated::facts(runs));
    let mut files = clock::files(&record)?;
    files.extend(simulated::files(runs));
    files.push(("facts.md".to_owned(), facts_text(&facts)));
    Ok(files)
}

/// Reads a record, and refuses one in which a result of ours is wrong.
fn load(root: &Path, name: &str) -> Result<Record> {
    let path = root.join(name);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path, "read"))?;
    let refused = |problem: String| Error::Record { path: path.clone(), problem };
    let record: Record = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    match record.cases.iter().find(|case| case.wrong > 0 && !is_other(case)) {
        Some(Case { entrant, bytes, ranks, .. }) => {
            Err(refused(format!("{entrant} of {bytes} bytes on {ranks} devices is wrong")))
        }
        None => Ok(record),
    }
}
