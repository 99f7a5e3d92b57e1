//! `data/sim.json`: what the simulator counts for a chapter, committed, and recomputed by a test. Nothing in it depends on
//! the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use device::{Checks, Choice, KernelSource, Schedule, SimOptions};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::Chapter;
use crate::case::{self, Case, has_case};
use crate::counts::fields;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::input::{SEED, random_for};
use crate::run::{Job, Run};
use crate::session::Session;

/// Elements of the recorded run, and of a run on the simulator when the reader gives none: a power of two, so that every
/// block is full and counts divide evenly.
pub const N: u64 = 1 << 22;

/// As [`N`], for this chapter: exponentials take longer than sums.
pub fn full(chapter: &Chapter) -> u64 {
    if chapter.default_kind().0.has_bounds() { N >> 4 } else { N }
}

/// Options of records: the schedule of today's GPUs, every check on.
pub const OPTIONS: SimOptions = SimOptions {
    schedule: Schedule::Independent { seed: None },
    checks: Checks::ALL,
    threads: 0,
    trace: None,
    steps_per_block_max: None,
    is_quiet: false,
    card: None,
};

/// The record of a chapter on the simulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimRecord {
    /// The chapter.
    pub chapter: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Order of lanes.
    pub schedule: String,
    /// Every variant and type at [`N`] and for one full block.
    pub cases: Vec<SimCase>,
}

/// One run of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimCase {
    /// The kernel.
    pub variant: String,
    /// Problem and launches.
    #[serde(flatten, deserialize_with = "case::with_launches")]
    pub case: Case,
    /// Bits of the result.
    pub result: String,
    /// True if it is within its bound.
    pub right: bool,
    /// Codes of the faults found, each once.
    pub faults: Vec<String>,
    /// Raw counts, all launches together.
    pub counters: BTreeMap<String, u64>,
}

has_case!(SimCase);

impl SimRecord {
    /// The case of this variant and type with `n` elements.
    pub fn case(&self, variant: &str, ty: Type, n: u64) -> Option<&SimCase> {
        self.cases.iter().find(|case| case.variant == variant && case.ty == ty.name() && case.n == n)
    }
}

impl SimCase {
    fn of(run: &Run) -> SimCase {
        let mut faults: Vec<String> = run.faults.iter().map(|fault| fault.code.name().to_owned()).collect();
        faults.sort_unstable();
        faults.dedup();
        SimCase {
            variant: run.variant.name.to_owned(),
            case: Case::of(run),
            result: run.result.bits(),
            right: run.verdict.right,
            faults,
            counters: run.counters.iter().flat_map(fields).map(|(name, count)| (name.to_owned(), count)).collect(),
        }
    }
}

/// Every run that a chapter's records and generated files are made of.
///
/// # Errors
/// Kernels that are not there or do not compile.
pub fn runs(chapter: &Chapter, root: &Path) -> Result<Vec<Run>> {
    let source = KernelSource::in_root(root, chapter.slug);
    let session = Session::open_source(chapter, source, Choice::Sim, OPTIONS)?;
    let mut runs = Vec::new();
    for ty in chapter.types() {
        for variant in chapter.variants_for(ty) {
            for n in [full(chapter), (variant.elements_per_block)(variant.blocks.default)] {
                let options = variant.options();
                let input = random_for(options.op, ty, n as usize, SEED);
                runs.push(session.run(Job { variant, options, input: &input, reference: None, offset: 0 })?);
            }
        }
    }
    Ok(runs)
}

/// The record as it is now, computed by running every variant and type.
///
/// # Errors
/// Those of [`runs`].
pub fn compute(chapter: &Chapter, root: &Path) -> Result<SimRecord> {
    Ok(recorded(chapter, &runs(chapter, root)?))
}

/// The record of these runs.
pub fn recorded(chapter: &Chapter, runs: &[Run]) -> SimRecord {
    SimRecord {
        chapter: chapter.slug.to_owned(),
        seed: SEED,
        schedule: OPTIONS.schedule.to_string(),
        cases: runs.iter().map(SimCase::of).collect(),
    }
}

/// Cards with records in the tree, as in the names of the files. A chapter's is that of the first which has one.
pub const CARDS: [&str; 2] = ["h200", "h100"];

/// Name of a chapter's record of a card with an ending, such as `-ncu`; of the first card if there is none.
pub fn card_record(root: &Path, slug: &str, ending: &str) -> String {
    let mut names = CARDS.iter().map(|card| format!("{card}{ending}"));
    names.find(|name| path(root, slug, name).is_file()).unwrap_or_else(|| format!("{}{ending}", CARDS[0]))
}

/// `chapters/<slug>/data/<name>.json`
pub fn path(root: &Path, slug: &str, name: &str) -> PathBuf {
    root.join("chapters").join(slug).join("data").join(format!("{name}.json"))
}

/// The committed record of a chapter on the simulator; `None` while there is none.
///
/// # Errors
/// A file that cannot be read or has another form.
pub fn load(root: &Path, slug: &str) -> Result<Option<SimRecord>> {
    load_json(&path(root, slug, "sim"))
}

/// Reads a record; `None` if the file is not there.
///
/// # Errors
/// A file that cannot be read or has another form.
pub fn load_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file(path, "read")(error)),
    };
    let record = serde_json::from_str(&text);
    record.map(Some).map_err(|error| Error::Record { path: path.to_owned(), problem: error.to_string() })
}

/// A record as the text of its file: a line for each of its cases.
///
/// # Errors
/// None in practice: a record holds nothing that JSON cannot write.
pub fn to_text<T: Serialize>(record: &T) -> Result<String> {
    let lines = |value: &Value| match value {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let lines: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
            format!("[\n{}\n]", lines.join(",\n"))
        }
        value => value.to_string(),
    };
    let record = serde_json::to_value(record)
        .map_err(|error| Error::Usage(format!("the record cannot be written as JSON: {error}")))?;
    let fields = record.as_object().into_iter().flatten();
    let fields: Vec<String> = fields.map(|(key, value)| format!("\"{key}\": {}", lines(value))).collect();
    Ok(format!("{{\n{}\n}}\n", fields.join(",\n")))
}

/// Writes a file and the folders above it, whole or not at all: beside its place first, and there when all of it is written.
///
/// # Errors
/// [`Error::File`].
pub fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(Error::file(folder, "written"))?;
    }
    // A device or a pipe has no place beside it, and a link stays a link.
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, text).map_err(Error::file(path, "written"));
    }
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut partial = place.clone().into_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = std::fs::write(partial, text).and_then(|()| std::fs::rename(partial, &place));
    if written.is_err() {
        let _ = std::fs::remove_file(partial); // the first error says what is wrong
    }
    written.map_err(Error::file(path, "written"))
}

/// Returns the differences between the committed record and the simulator of today, a line each; empty when they agree. With
/// `BLESS=1` in the environment the record is rewritten first.
///
/// # Errors
/// As [`compute`] and [`load`].
pub fn check(chapter: &Chapter, root: &Path) -> Result<Vec<String>> {
    let now = compute(chapter, root)?;
    if std::env::var_os("BLESS").is_some() {
        write(&path(root, chapter.slug, "sim"), &to_text(&now)?)?;
    }
    let Some(committed) = load(root, chapter.slug)? else {
        return Ok(vec!["data/sim.json is not there: cargo course bless makes it".to_owned()]);
    };
    Ok(differences(&committed, &now))
}

fn differences(committed: &SimRecord, now: &SimRecord) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |what: String, then: String, now: String| {
        if then != now {
            lines.push(format!("{what}: recorded {then}, now {now}"));
        }
    };
    compare("seed".to_owned(), committed.seed.to_string(), now.seed.to_string());
    compare("schedule".to_owned(), committed.schedule.clone(), now.schedule.clone());
    compare("cases".to_owned(), committed.cases.len().to_string(), now.cases.len().to_string());
    for (then, now) in committed.cases.iter().zip(&now.cases) {
        let case = format!("{} {} n={}", now.variant, now.ty, now.n);
        let head = |c: &SimCase| {
            let (block, launches) = (c.block.unwrap_or(0), c.launches.unwrap_or(0));
            format!("{} {} {block} {launches} {} {} {:?}", c.variant, c.n, c.result, c.right, c.faults)
        };
        compare(case.clone(), head(then), head(now));
        for (name, count) in &now.counters {
            let recorded = then.counters.get(name).map_or("nothing".to_owned(), u64::to_string);
            compare(format!("{case} {name}"), recorded, count.to_string());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_is_written_whole_or_not_at_all() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("charts").join("one.svg");
        let names = || -> std::io::Result<Vec<_>> {
            std::fs::read_dir(folder.path().join("charts"))?.map(|entry| Ok(entry?.file_name())).collect()
        };
        write(&path, "first").expect("there is room");
        write(&path, "second").expect("there is room");
        assert_eq!((std::fs::read_to_string(&path)?, names()?.len()), ("second".to_owned(), 1));
        // What is written beside the place meets a full disk.
        let partial = format!("one.svg.{}.partial", std::process::id());
        std::os::unix::fs::symlink("/dev/full", folder.path().join("charts").join(partial))?;
        let error = write(&path, "third").expect_err("the disk is full");
        assert!(error.to_string().contains("one.svg"), "{error}");
        assert_eq!((std::fs::read_to_string(&path)?, names()?.len()), ("second".to_owned(), 1));
        assert!(write(Path::new("/dev/full"), "text").is_err(), "a device is written as it is");
        Ok(())
    }
}
