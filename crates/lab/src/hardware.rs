//! `data/<device>.json`: what a chapter computed, and how fast, on a GPU. Made there by `--record`; replayed on the
//! simulator by a test, bit for bit, because both add in the same order.

use std::path::Path;
use std::time::SystemTime;

use device::card::H200;
use serde::{Deserialize, Serialize};

use crate::case::{self, Case, has_case};
use crate::element::{Array, Element, Type, Value};
use crate::error::Result;
use crate::input::{SEED, random_for};
use crate::kernels::{self, Hashes};
use crate::layout::{Matrix, Per, Rows};
use crate::measurement::{self, Contest, Measurement};
use crate::op::Op;
use crate::plan::{LaunchOptions, Planned, Problem, refusal};
use crate::record::{load_json, path, to_text, write};
use crate::reference::{Reference, reference_of};
use crate::run::{Job, Run};
use crate::session::Session;
use crate::sweep::{self, Numbers, Point, Sweep};
use crate::{Chapter, Variant, with_elements};

mod replay;

pub use replay::{Replay, replay};

/// A prime, so that nothing divides evenly.
pub const PRIME: u64 = 1_000_003;
/// Large sizes of a record, which `cargo course measure` times.
const TIMED: [u64; 4] = [1 << 18, 1 << 20, 1 << 22, 1 << 24];
/// Method of a record, in its own words.
const METHOD: &str = "each case is one run, judged; times are those of the record in measurements.";

/// The record of a chapter on one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the first eight are device::Description's
pub struct GpuRecord {
    pub chapter: String,
    pub device: String,
    pub arch: String,
    pub driver: Option<String>,
    pub cuda: Option<String>,
    pub multiprocessors: Option<u32>,
    pub l2_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// When, in UTC.
    pub date: String,
    /// Commit of the source tree, if known.
    pub commit: Option<String>,
    /// Hash of each kernel's code that the chapter had.
    #[serde(default)]
    pub kernels: Hashes,
    /// Origin of the code on the card: `committed`, or `NVRTC 13.0 for sm_90`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The command line.
    pub command: String,
    /// Method of timing.
    pub method: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Every variant, type and size; empty in a record of a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<GpuCase>,
    /// Every geometry of a sweep; empty in a record of cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Point>,
}

/// One run of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuCase {
    /// The kernel.
    pub variant: String,
    /// Problem and launches: an operation that is not a sum, and a grid that the plan chose.
    #[serde(flatten, deserialize_with = "case::with_launches")]
    pub case: Case,
    /// Row or column of the worst result, if there are several; it is the one below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// Column of the worst result, if each element has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col: Option<u64>,
    /// First 16 digits of the hash of the bits of all results, where there is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_sha256: Option<String>,
    /// Bits of the result, of the worst where there is more than one.
    pub result: String,
    /// Bits of the exact sum (of a double for floats).
    pub expected: String,
    /// True if the result is within its bound.
    pub ok: bool,
    /// Cold median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_us: Option<f64>,
    /// Warm median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_us: Option<f64>,
    /// Bytes of the input over the cold median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gb_per_s: Option<f64>,
}

has_case!(GpuCase);

impl GpuCase {
    /// Returns the options that make the same launches anywhere. Without elements there is none, and no grid to ask for.
    fn options(&self, variant: &Variant) -> LaunchOptions {
        let op = Op::from_name(self.op()).unwrap_or_default();
        // A variant that chooses its grid may choose its block too.
        let block = self.block.filter(|_| !variant.chooses_grid);
        let grid = self.grid.filter(|&grid| grid > 0);
        let rows = self.rows.zip(self.cols).map(|(rows, cols)| Rows::Matrix(Matrix::dense(rows, cols)));
        LaunchOptions { op, block, grid, factor: self.factor, rows, ..LaunchOptions::default() }
    }

    /// Returns whether this is what the record has for the right result; of a float's extreme older records have the bits of a double.
    fn is_expected(&self, expected: Value) -> bool {
        let wide = match expected {
            Value::F32(narrow) => Value::F64(narrow.into()),
            other => other,
        };
        [expected, wide].iter().any(|value| value.bits() == self.expected)
    }

    /// Returns the reference for the row or column with the GPU's worst result; `None` where there is one result.
    fn reference(&self, run: &Run, input: &Array) -> Option<Reference> {
        let row = self.row.filter(|&row| row < run.layout.values())?;
        Some(
            with_elements!(input, values => reference_of(run.options.op, &Element::array(run.layout.elements(values, row)))),
        )
    }

    /// Returns whether the GPU compiled another shape for this case than the committed one, which the simulator has run. A result that
    /// no rounding has changed must be the same all the same.
    fn is_reshaped(&self, chapter: &Chapter, record: &GpuRecord, run: &Run) -> bool {
        let options = LaunchOptions { grid: None, ..run.options };
        let Some(multiprocessors) = record.multiprocessors else { return false };
        let card = H200.clone().with_multiprocessors(multiprocessors);
        let problem = Problem::new(run.variant, run.ty, self.n, options).on(&card, true);
        let rounds = run.ty.is_float() && run.options.op.rounds();
        let Ok(plan) = Planned::new(&problem) else { return false };
        let is_the_gpus = self.grid == Some(plan.grid()) && Some(plan.passes[0].block()) == self.block;
        chapter.on_demand && rounds && is_the_gpus && plan.passes[0].kernel != run.plan.passes[0].kernel
    }
}

/// The sizes of every record and agreement test: none, one, around a warp and a block, powers of two and their
/// neighbours, a prime.
pub fn ragged_sizes(block: u64) -> Vec<u64> {
    let around = |n: u64| [n - 1, n, n + 1];
    let mut sizes = vec![0, 1];
    sizes.extend([32, block, 2 * block, 1 << 10, 1 << 16].into_iter().flat_map(around));
    sizes.push(10_007);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The matrices of every record of rows and columns: short rows and long ones, many and few, whole vectors and odd ends.
const MATRICES: [Matrix; 7] = [
    Matrix::dense(4099, 16),
    Matrix::dense(700, 3),
    Matrix::dense(2050, 37),
    Matrix::dense(300, 257),
    Matrix::dense(66, 1024),
    Matrix::dense(5, 20_001),
    Matrix::dense(1, 50_257),
];

/// Runs every variant and type at many sizes on the session's device and writes the record to `file`.
///
/// # Errors
/// A run that fails, or a file that cannot be written. Wrong results are recorded, not errors.
pub fn record(session: &Session<'_>, command: String, file: &Path) -> Result<GpuRecord> {
    let mut jobs = Vec::new();
    for ty in session.chapter.types() {
        for variant in session.chapter.variants_for(ty).filter(|variant| session.unsupported(variant).is_none()) {
            let asked = asked(variant).into_iter().filter(|(options, _)| refusal(variant, ty, options).is_none());
            jobs.extend(asked.map(|(options, n)| (variant, ty, options, n)));
        }
    }
    for of_variant in jobs.chunk_by(|a, b| a.0.name == b.0.name) {
        let plans = of_variant.iter().map(|&(variant, ty, options, n)| session.plan(variant, ty, n, options));
        session.compile_ahead(of_variant[0].0, &plans.collect::<Result<Vec<_>>>()?)?;
    }
    let mut cases = Vec::new();
    for (variant, ty, options, n) in jobs {
        let input = random_for(options.op, ty, n as usize, SEED);
        cases.push(case(session, Job { variant, options, input: &input, reference: None, offset: 0 })?);
        session.progress.step();
    }
    let record = GpuRecord { cases, ..empty(session, command)? };
    write(file, &to_text(&record)?)?;
    Ok(record)
}

/// Runs the chapter's sweep on the session's device and writes the record to `file`.
///
/// # Errors
/// Those of [`record`].
pub fn record_sweep(session: &Session<'_>, sweep: &Sweep, command: String, file: &Path) -> Result<GpuRecord> {
    let variants: Vec<&Variant> = session.chapter.variants.iter().collect();
    let mut points = Vec::new();
    for &n in sweep.sizes {
        points.extend(sweep::run(sweep, session, &Numbers { ty: Type::I32, n, seed: SEED }, &variants)?);
    }
    let record = GpuRecord { sweep: points, ..empty(session, command)? };
    write(file, &to_text(&record)?)?;
    Ok(record)
}

/// A record of the session's device, of now and of the committed kernels, without any run.
fn empty(session: &Session<'_>, command: String) -> Result<GpuRecord> {
    let description = session.device().description().clone();
    Ok(GpuRecord {
        chapter: session.chapter.slug.to_owned(),
        device: description.name,
        arch: description.arch,
        driver: description.driver,
        cuda: description.cuda,
        multiprocessors: description.multiprocessors,
        l2_bytes: description.l2_bytes,
        memory_bytes: description.memory_bytes,
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        commit: commit(session.source.root()),
        kernels: kernels::chapter_hashes(session.source.root(), session.chapter)?,
        code: Some(session.origin()),
        command,
        method: METHOD.to_owned(),
        seed: SEED,
        ..GpuRecord::default()
    })
}

/// Cases of one variant in a record: its defaults at every size; its other operations, blocks and factors at a few.
fn asked(variant: &Variant) -> Vec<(LaunchOptions, u64)> {
    let default = variant.options();
    let mut sizes = ragged_sizes(u64::from(variant.blocks.default));
    // Where each element is judged, a replay of so many takes too long.
    let is_long = !default.op.has_bounds();
    if is_long {
        sizes.push(PRIME);
        sizes.extend(TIMED);
    }
    let mut asked: Vec<(LaunchOptions, u64)> = sizes.into_iter().map(|n| (default, n)).collect();
    let others = variant.ops.iter().filter(|&&op| op != default.op).map(|&op| LaunchOptions { op, ..default });
    let blocks = (0..=10).map(|log| 1 << log).filter(|&block| variant.per_block && variant.blocks.allows(block));
    let factors = variant.factors.iter().flat_map(|factors| factors.values);
    let factors = factors.map(|&factor| LaunchOptions { factor: Some(factor), ..default });
    let all = others.chain(blocks.map(LaunchOptions::block)).chain(factors);
    let few = [1, 33, 1 << 10, 10_007, PRIME].into_iter().filter(|&n| n < PRIME || is_long);
    asked.extend(all.flat_map(|options| few.clone().map(move |n| (options, n))));
    if variant.per != Per::Array {
        let of_op = |op: &Op| {
            MATRICES.map(|matrix| {
                (LaunchOptions { op: *op, rows: Some(Rows::Matrix(matrix)), ..default }, matrix.rows * matrix.cols)
            })
        };
        asked.extend(variant.ops.iter().flat_map(of_op));
    }
    asked
}

fn case(session: &Session<'_>, job: Job<'_>) -> Result<GpuCase> {
    let run = session.run(job)?;
    let LaunchOptions { op, factor, rows, .. } = run.options;
    let op = (op != Op::Sum).then(|| op.name().to_owned());
    let grid = run.variant.chooses_grid.then(|| run.plan.grid());
    let (rows, cols) = rows.and_then(|_| run.layout.size()).unzip();
    Ok(GpuCase {
        variant: run.variant.name.to_owned(),
        case: Case { op, rows, cols, grid, factor, kernels: run.plan.kernels(), ..Case::of(&run) },
        row: run.row,
        col: run.col,
        all_sha256: run.all_sha256.clone(),
        result: run.result.bits(),
        expected: run.expected.bits(),
        ok: run.verdict.right,
        ..GpuCase::default()
    })
}

/// The commit of the source tree: of git, or of COURSE_COMMIT where the tree is a copy without its history.
pub fn commit(root: &Path) -> Option<String> {
    if let Ok(commit) = std::env::var("COURSE_COMMIT") {
        return Some(commit);
    }
    let output = std::process::Command::new("git").arg("-C").arg(root).args(["rev-parse", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// A committed record, `h200` for instance; `None` while there is none.
///
/// # Errors
/// A file that cannot be read or has another form.
pub fn load(root: &Path, slug: &str, name: &str) -> Result<Option<GpuRecord>> {
    let mut record: Option<GpuRecord> = load_json(&path(root, slug, name))?;
    if let Some(record) = &mut record {
        let now = kernels::today(root)?;
        record.cases.iter_mut().for_each(|case| case.mark_stale(&record.kernels, &now));
    }
    Ok(record)
}

/// [`load`], with the times that `cargo course measure` took on the same kind of device, where it did: there is one clock.
/// Day, driver and command are then those of the times.
///
/// # Errors
/// As [`load`], and as [`measurement::load`].
pub fn load_timed(root: &Path, slug: &str, name: &str) -> Result<Option<GpuRecord>> {
    let Some(mut record) = load(root, slug, name)? else { return Ok(None) };
    // A chapter that was not measured in that run has no times of it, and keeps its own day.
    let is_its = |measured: &Measurement| measured.device == record.device && measured.code.contains_key(slug);
    if let Some(measured) = measurement::load(root, name)?.filter(is_its) {
        record.take_times(&measured);
    }
    Ok(Some(record))
}

impl GpuRecord {
    /// The first case of this variant and type with `n` elements.
    pub fn case(&self, variant: &str, ty: &str, n: u64) -> Option<&GpuCase> {
        self.cases.iter().find(|case| (case.variant.as_str(), case.ty.as_str(), case.n) == (variant, ty, n))
    }

    /// Why some of it is of other kernels than today's, if it is. Points of a sweep are of all kernels that the record has.
    ///
    /// # Errors
    /// PTX that cannot be read.
    pub fn stale(&self, root: &Path) -> Result<Option<String>> {
        let now = kernels::today(root)?;
        let all: Vec<String> = self.kernels.keys().cloned().collect();
        let sweep = if self.sweep.is_empty() { Vec::new() } else { kernels::changed(&all, &self.kernels, &now) };
        let cases = self.cases.iter().map(|case| kernels::changed(&case.kernels, &self.kernels, &now));
        let cases: Vec<_> = cases.filter(|changed| !changed.is_empty()).collect();
        let rows = cases.len() + if sweep.is_empty() { 0 } else { self.sweep.len() };
        let changed: Vec<&str> = cases.into_iter().flatten().chain(sweep).collect();
        Ok((rows > 0).then(|| kernels::reason(&changed, rows, self.commit.as_deref())))
    }

    fn take_times(&mut self, measured: &Measurement) {
        self.driver.clone_from(&measured.driver);
        self.cuda.clone_from(&measured.cuda);
        self.date.clone_from(&measured.date);
        self.command.clone_from(&measured.command);
        // At these sizes a record has what a variant does by itself, and nothing else.
        for case in self.cases.iter_mut().filter(|case| TIMED.contains(&case.n)) {
            let Some(ty) = Type::from_name(&case.ty) else { continue };
            let plain = measured.plain(&case.variant, ty, case.n);
            case.is_stale |= plain.is_some_and(|plain| plain.is_stale);
            case.cold_us = plain.and_then(|plain| plain.cold_us);
            case.gb_per_s = plain.and_then(|plain| plain.gb_per_s());
            case.warm_us = measured.us_in(Contest::Warm, &case.variant, ty, case.n);
        }
    }
}
