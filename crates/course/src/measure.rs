//! `cargo course measure`: times every chapter's kernels, NVIDIA's CUB, the launch floor, the read ceiling and single steps
//! on this GPU, in one run and by one clock, tries the last kernel between others, and writes it all to one file. A failure is
//! reported at the end, and costs nothing else: the file is written again after every size.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use device::{Choice, Device, KernelSource, SimOptions};
use lab::measurement::{self, LOGS, Measurement, random_sizes, round_sizes};
use lab::session::built_root;
use lab::{Type, hardware};

use crate::lessons::lessons;
use crate::results;

mod ablation;
mod arrays;
pub(crate) mod bench;
mod host;
mod huge;
mod latencies;
mod libraries;
mod limits;
pub(crate) mod matrices;
mod pool;
mod proofs;
mod rows;
mod saved;
mod suite;
pub(crate) mod task;
mod torch;

/// Options of `cargo course measure`.
#[derive(clap::Args)]
pub struct Options {
    /// File to write [default: target/measurements/<device>.json]
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,
    /// NVIDIA's CUB as a library, made by scripts/cub_library.sh, to be replayed in turns with the last chapter
    #[arg(long, value_name = "LIB.so")]
    cub: Option<PathBuf>,
    /// CUB as a library whose launches may overlap
    #[arg(long, value_name = "LIB.so")]
    cub_overlap: Option<PathBuf>,
    /// Library built from newer sources of CUB
    #[arg(long, value_name = "LIB.so")]
    cub_newer: Option<PathBuf>,
    /// The same with launches that may overlap
    #[arg(long, value_name = "LIB.so")]
    cub_newer_overlap: Option<PathBuf>,
    /// Parts to measure: how long single steps take when the next one waits for them (latencies), the last kernel between a
    /// producer and a consumer, and on two streams (proofs), every chapter's kernels, their contest and sweeps (times), or a
    /// chapter's own contest by its name, as chapters/*/contest.json has it (operators, rows, …)
    #[arg(long, value_delimiter = ',', default_values = PARTS)]
    parts: Vec<String>,
    /// Output of scripts/torch_sum.py or another of scripts/torch_*.py on this GPU, to be written into the same file
    #[arg(long, value_name = "FILE.json")]
    torch: Option<PathBuf>,
    /// Takes in what FILE.json of --out holds already, and measures the rest; for contests over matrices
    #[arg(long)]
    resume: bool,
    /// File that is locked while the GPU measures, for programs that take turns at it
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Types of the elements [default: those of each contest; of the chapters' sums i32, f32 and f64]
    #[arg(long, value_parser = lab::cli::types(), value_delimiter = ',')]
    types: Vec<Type>,
    /// Operations, for the chapters' own contests [default: all]
    #[arg(long, value_parser = lab::cli::operations(), value_delimiter = ',')]
    ops: Vec<lab::Op>,
    /// Sizes, as logarithms: from 2^10 to 2^30 elements
    #[arg(long, value_name = "FIRST..LAST", default_value = "10..30", value_parser = parse_sizes)]
    sizes: RangeInclusive<u32>,
    /// These chapters alone, by slug
    #[arg(long, value_delimiter = ',')]
    chapters: Vec<String>,
    /// Every fourth size up to 2^26, fewer replays and no sweeps; of the operators every second size
    #[arg(long)]
    quick: bool,
    /// Begins no further operation or shape after so many seconds, and says what is left out; for the chapters' own contests
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
}

/// Parts that are no chapter's own contest: single steps, the last kernel between others, and contests, kernels and sweeps of all
/// chapters.
const PARTS: [&str; 3] = [LATENCIES, PROOFS, TIMES];
const LATENCIES: &str = "latencies";
const PROOFS: &str = "proofs";
const TIMES: &str = "times";

/// Largest size of a quick run, as a logarithm, and the step between its sizes.
const QUICK: (u32, usize) = (26, 4);

/// Types of the chapters up to the champion's.
const TYPES_OF_SUMS: [Type; 3] = [Type::I32, Type::F32, Type::F64];

impl Options {
    /// Returns whether a part is measured.
    fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|asked| asked == part)
    }

    /// Types in which the chapters' sums are measured.
    fn types_of_sums(&self) -> &[Type] {
        if self.types.is_empty() { &TYPES_OF_SUMS } else { &self.types }
    }

    /// Returns whether an operation of a chapter's own contest is measured in this type.
    fn asks_for(&self, op: lab::Op, ty: Type) -> bool {
        (self.types.is_empty() || self.types.contains(&ty)) && (self.ops.is_empty() || self.ops.contains(&op))
    }

    /// Elements, ascending: the powers of two, and between the ends of the course's table those drawn at random.
    fn sizes(&self) -> Vec<u64> {
        let (first, last) = self.sizes.clone().into_inner();
        let (last, step) = if self.quick { (last.min(QUICK.0).max(first), QUICK.1) } else { (last, 1) };
        let mut sizes: Vec<u64> = (first..=last).step_by(step).map(|lg| 1 << lg).collect();
        if !self.quick && LOGS.contains(&last) {
            let drawn = random_sizes().into_iter().chain(round_sizes());
            sizes.extend(drawn.filter(|n| (1 << first..1 << last).contains(n)));
        }
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// `10..30`, or `24` for one size.
fn parse_sizes(text: &str) -> std::result::Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let lg = |word: &str| word.trim_start_matches('=').parse::<u32>().ok().filter(|lg| (4..=30).contains(lg));
    match (lg(first), lg(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err("expected two logarithms from 4 to 30, the smaller one first, such as 10..30".to_owned()),
    }
}

/// Runs the verb.
pub fn run(options: &Options) -> Result<()> {
    let lessons = lessons();
    if let Some(unknown) = options.chapters.iter().find(|slug| lessons.iter().all(|lesson| lesson.slug != *slug)) {
        let slugs: Vec<&str> = lessons.iter().map(|lesson| lesson.slug).collect();
        bail!("--chapters {unknown}: there is no such chapter; there are {}", slugs.join(", "));
    }
    let torch = options.torch.as_deref().map(torch::read).transpose()?;
    let device = open_gpu("measuring")?;
    let source = KernelSource::find(lab::clock::CEILING, &built_root())?;
    let out = options.out.clone().unwrap_or_else(|| default_out(source.root(), &device.description().name));
    let mut record = empty_record(&device, source.root(), options.quick);
    if options.resume {
        take_in_earlier(&mut record, &out)?;
    }
    if let Some((libraries, cases)) = torch {
        record.libraries.extend(libraries);
        record.cases.retain(|case| !torch::ENTRANTS.contains(&case.entrant.as_str()));
        record.cases.extend(cases);
    }
    let mut run = suite::Suite::new(options, device, source.clone(), record, out)?;
    run.all(&source)?;
    finish(&run)
}

/// Does something on the GPU while no program that locks the same file does.
///
/// # Errors
/// A file that cannot be locked, and those of the work.
pub(crate) fn alone<V>(lock: Option<&Path>, work: impl FnOnce() -> Result<V>) -> Result<V> {
    let Some(path) = lock else { return work() };
    let wrong = || format!("--lock {}: cannot be locked", path.display());
    let file = std::fs::File::options().create(true).append(true).open(path).with_context(wrong)?;
    file.lock().with_context(wrong)?;
    // Ends when the file is closed.
    work()
}

/// This machine's GPU, which `work` needs.
///
/// # Errors
/// None to be had.
pub(crate) fn open_gpu(work: &str) -> Result<Device> {
    match Device::open(Choice::Gpu, SimOptions::default()) {
        Err(device::Error::GpuAskedFor { why }) => {
            bail!("{work} needs a GPU, because the simulator has no clock, and there is none to be had: {why}")
        }
        opened => Ok(opened?),
    }
}

/// Takes over the cases of the record that `out` holds, which must be of the same card and sources.
fn take_in_earlier(record: &mut Measurement, out: &Path) -> Result<()> {
    let Some(earlier) = lab::record::load_json::<Measurement>(out)? else { return Ok(()) };
    let of = |record: &Measurement| (record.device.clone(), record.driver.clone(), record.commit.clone());
    if of(&earlier) != of(record) {
        bail!("--resume: {} is of another card, driver or commit; name another file with --out", out.display());
    }
    record.libraries.extend(earlier.libraries);
    record.cases.extend(earlier.cases);
    Ok(())
}

/// Says what was written and what was not right.
fn finish(run: &suite::Suite<'_>) -> Result<()> {
    let cases = run.record.cases.len();
    println!("{cases} cases on {}: {}", run.record.device, run.out.display());
    let page = results::write_reader(&run.record, &charts_folder(&run.out))?;
    println!("charts beside the book's: {}", page.display());
    if run.problems.is_empty() {
        return Ok(());
    }
    bail!("{} parts of the measurement failed:\n{}", run.problems.len(), run.problems.join("\n"))
}

/// Folder of a record's charts: `nvidia-h200` beside `nvidia-h200.json`.
fn charts_folder(out: &Path) -> PathBuf {
    let folder = out.with_extension("");
    if folder == out { out.with_extension("charts") } else { folder }
}

/// `target/measurements/nvidia-h200.json`
fn default_out(root: &Path, device: &str) -> PathBuf {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = device.chars().map(kept).collect();
    root.join("target").join("measurements").join(format!("{name}.json"))
}

/// A record of this device and of now, without any figure.
fn empty_record(device: &Device, root: &Path, is_quick: bool) -> Measurement {
    let description = device.description().clone();
    // Without folders, which would be paths of this machine and say nothing to others.
    let words = std::env::args().skip(1).map(|word| match Path::new(&word).file_name() {
        Some(name) if word.contains(['/', '\\']) => name.to_string_lossy().into_owned(),
        _ => word,
    });
    Measurement {
        schema: measurement::SCHEMA,
        device: description.name,
        arch: description.arch,
        driver: description.driver,
        cuda: description.cuda,
        multiprocessors: description.multiprocessors,
        l2_bytes: description.l2_bytes,
        memory_bytes: description.memory_bytes,
        date: date(),
        commit: hardware::commit(root),
        command: format!("cargo course {}", words.collect::<Vec<_>>().join(" ")),
        method: bench::method(is_quick),
        ..Measurement::default()
    }
}

pub(crate) fn date() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
impl Options {
    /// Parses options as from the command line.
    fn of(words: &[&str]) -> Options {
        use clap::{Args, FromArgMatches};
        let command = Options::augment_args(clap::Command::new("measure"));
        let matches = command.try_get_matches_from(std::iter::once("measure").chain(words.iter().copied())).unwrap();
        Options::from_arg_matches(&matches).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_every_fourth_size() {
        assert_eq!(Options::of(&[]).sizes().len(), 21 + 42 + 10);
        let some = Options::of(&["--sizes", "10..12"]).sizes();
        assert!(
            some.len() > 3 && some.is_sorted() && some[0] == 1 << 10 && some[some.len() - 1] == 1 << 12,
            "{some:?}"
        );
        assert_eq!(Options::of(&["--quick"]).sizes(), [1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26]);
        assert_eq!(Options::of(&["--quick", "--sizes", "28"]).sizes(), [1 << 28]);
    }

    #[test]
    fn sizes_are_two_logarithms() {
        assert_eq!(parse_sizes("10..30"), Ok(10..=30));
        assert_eq!(parse_sizes("10..=12"), Ok(10..=12));
        assert_eq!(parse_sizes("24"), Ok(24..=24));
        for wrong in ["", "30..10", "10..31", "3..5", "a..b", "10..", "10,20"] {
            assert!(parse_sizes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn charts_go_beside_the_record() {
        assert_eq!(charts_folder(Path::new("m/gpu.json")), Path::new("m/gpu"));
        assert_eq!(charts_folder(Path::new("m/gpu")), Path::new("m/gpu.charts"));
    }

    #[test]
    fn a_file_is_named_after_the_card() {
        let path = default_out(Path::new("r"), "NVIDIA GeForce RTX 4090");
        assert_eq!(path, Path::new("r/target/measurements/nvidia-geforce-rtx-4090.json"));
    }
}
