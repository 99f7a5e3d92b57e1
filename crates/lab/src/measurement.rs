//! `measurements/<device>.json`: one run of `cargo course measure` on one GPU. Every chapter's kernels, CUB, torch, the
//! launch floor, the read ceiling, latencies and proofs, taken together by the same harness, so that they may be compared.
//! The course-wide charts and tables are made of it.

mod contest;
mod ladder;
mod stale;
#[cfg(any(test, feature = "trial"))]
pub mod synthetic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use crate::case::{self, Case, has_case};
use crate::element::Type;
use crate::error::{Error, Result};
use crate::kernels::{self, Hashes};
use crate::op::Op;
use crate::record;

pub use contest::{BANDS, HOST_SIZES, RIVALS, Sizes, is_drawn, is_round, random_sizes, round_sizes};
pub use ladder::{
    ABLATION_SIZES, CHAMPION, LOGS, ONE_SIZE, Rung, geometric_mean, is_library, is_taught_as_wrong, number,
};

/// Version of the form that this program reads and writes.
pub const SCHEMA: u32 = 2;
/// [`MeasuredCase::entrant`] of the kernel that a chapter puts forward.
pub const ENTRANT: &str = "champion";
/// [`MeasuredCase::per`] of a value for each column.
pub const COLUMN: &str = "column";
/// Segments of one length by the library's own form for them, which newer versions have; [`CUB`] takes offsets.
pub const CUB_FIXED: &str = "cub_fixed";
/// As [`CUB_FIXED`], of newer sources.
pub const CUB_NEWER_FIXED: &str = "cub_newer_fixed";
/// [`MeasuredCase::entrant`] of NVIDIA's library as it comes with the toolkit.
pub const CUB: &str = "cub";
/// CUB from the newest sources that have such a mode, allowed to add in any order: its floats may differ from run to run,
/// which promises less than the champion does.
pub const CUB_UNORDERED: &str = "cub_unordered";
/// CUB from the newest sources that have such a mode, with the same bits on every card.
pub const CUB_REPRODUCIBLE: &str = "cub_reproducible";
/// CUB from newer sources.
pub const CUB_NEWER: &str = "cub_newer";
/// The champion after its state has been cleared, by a node of its own in the graph: for who does not keep it zero.
pub const WITH_MEMSET: &str = "champion_with_memset";
/// The champion back to back without asking for data before it waits for the launch before.
pub const NOT_AHEAD: &str = "champion_not_ahead";
/// In [`Contest::Host`]: the champion with memory that each call allocates, clears and gives back.
pub const WHOLE: &str = "champion_whole";
/// In [`Contest::Host`]: CUB with a query, an allocation and a release in each call.
pub const CUB_WHOLE: &str = "cub_whole";
/// [`MeasuredCase::entrant`] of the library's gradients of a cross-entropy, from the logarithms that a forward pass has saved.
pub const SAVED: &str = "champion_saved";
/// [`MeasuredCase::entrant`] of what torch has for an operation, called as it is: `torch.sum`.
pub const TORCH: &str = "torch";
/// The operation compiled by `torch.compile`.
pub const TORCH_COMPILED: &str = "torch_compiled";
/// [`MeasuredCase::entrant`] of Liger's kernels, written in Triton.
pub const LIGER: &str = "liger";
/// [`MeasuredCase::entrant`] of QuACK's kernels, written in CuTe's language for Python.
pub const QUACK: &str = "quack";
/// [`MeasuredCase::entrant`] of the champion with one of its ideas taken away, and what it is then.
pub const ABLATIONS: [(&str, &str); 8] = [
    ("plain_grid", "a grid by one rule instead of the tuned one"),
    ("narrow", "loads of one element instead of 16 bytes"),
    ("ticket", "a ticket and a second read instead of the message"),
    ("fences", "the same, with the fences of every thread instead of thread 0's"),
    ("two_launches", "a second launch instead of a meeting"),
    ("hintless", "loads without the hint not to keep them in L1"),
    ("shuffles", "floats of a block by shuffles instead of columns in shared memory"),
    ("lone_word", "a float's message of one word instead of a whole sector"),
];

/// Names of the steps whose latency is measured, which are those of the kernels in `kernels/latencies.cu` (the chases of
/// different rings apart), and what each is.
pub const LATENCIES: [(&str, &str); 16] = [
    ("shared_load", "load from shared memory"),
    ("shuffle", "shuffle"),
    ("shuffle_and_add", "shuffle and addition: a step of a warp's tree"),
    ("redux_add", "`redux.sync`, the sum of a warp"),
    ("barrier_of_block", "`__syncthreads()` of 256 threads"),
    ("fence_acq_rel", "`fence.acq_rel.gpu`, nothing to wait for"),
    ("fence_sc", "`fence.sc.gpu`, nothing to wait for"),
    ("store_and_fence_acq_rel", "store, then `fence.acq_rel.gpu`"),
    ("store_and_fence_sc", "store, then `fence.sc.gpu`, which is `__threadfence()`"),
    ("shared_atomic", "atomic addition in shared memory, value used"),
    ("global_atomic", "atomic addition in global memory, value used"),
    ("l1_load", "load that the L1 has"),
    ("l2_load", "load that the L2 has"),
    ("dram_load", "load that only the memory has"),
    ("launch", "launch of an empty kernel after another"),
    ("launch_overlapped", "the same, with the programmatic attribute"),
];

/// Those of [`LATENCIES`] that the launch floor holds.
pub const FLOORS: [&str; 2] = ["launch", "launch_overlapped"];

/// Under which rules launches follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contest {
    /// Each launch begins after the end of the one before, and reads what the L2 does not hold.
    #[default]
    Alone,
    /// Launches may begin before the one before has ended, and read what the L2 does not hold.
    BackToBack,
    /// Launches as in `Alone`, all of which read the same array.
    Warm,
    /// A call by the host, outside of any graph, and a wait for its end. All read the same array.
    Host,
    /// Calls by the host in a row, outside of any graph, and a wait at their end. All read the same array.
    HostRow,
}

/// Measurements of one device in one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `NVIDIA H200`
    pub device: String,
    /// `sm_90`
    pub arch: String,
    /// Version of the driver.
    #[serde(default)]
    pub driver: Option<String>,
    /// The CUDA version that the driver speaks.
    #[serde(default)]
    pub cuda: Option<String>,
    /// Multiprocessors.
    #[serde(default)]
    pub multiprocessors: Option<u32>,
    /// Size of the L2 cache.
    #[serde(default)]
    pub l2_bytes: Option<u64>,
    /// Size of the global memory.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// When, in UTC.
    pub date: String,
    /// Commit of the source tree, if known.
    #[serde(default)]
    pub commit: Option<String>,
    /// The command line.
    pub command: String,
    /// Method of timing.
    pub method: String,
    /// Hash of each kernel's code, of every file that was measured or measured with.
    #[serde(default)]
    pub kernels: Hashes,
    /// Origin of the code that ran, by slug: `committed`, or `NVRTC 13.0 for sm_90`.
    #[serde(default)]
    pub code: BTreeMap<String, String>,
    /// The libraries that were measured too, by entrant: [`CUB`], [`CUB_NEWER`], [`TORCH`].
    #[serde(default)]
    pub libraries: BTreeMap<String, Library>,
    /// Time of a launch of an empty kernel.
    #[serde(default)]
    pub floor_us: Option<Floor>,
    /// Measured speed of reading memory and summing in registers, by size.
    #[serde(default)]
    pub ceiling: Vec<CeilingPoint>,
    /// The best of [`Measurement::ceiling`].
    #[serde(default)]
    pub read_ceiling_gb_per_s: Option<f64>,
    /// Measured speed of copying, by bytes that move: half of them are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy_ceiling: Vec<CeilingPoint>,
    /// The best of [`Measurement::copy_ceiling`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_ceiling_gb_per_s: Option<f64>,
    /// Latencies of single steps.
    #[serde(default)]
    pub latencies: Vec<Latency>,
    /// Trials of thousands of runs with other kernels around.
    #[serde(default)]
    pub proofs: Vec<Proof>,
    /// Every timed reduction.
    #[serde(default)]
    pub cases: Vec<MeasuredCase>,
}

/// A library that the kernels are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Library {
    /// Its version.
    pub version: String,
}

/// Time of an empty kernel inside a graph, in us.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// One block.
    pub one_block: f64,
    /// With as many blocks as the device holds at once.
    pub full: f64,
    /// One block, where launches may begin before the one before has ended.
    pub overlapped: f64,
    /// With as many blocks as the device holds at once, and launches that may overlap.
    pub overlapped_full: f64,
}

/// Reading this many bytes and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CeilingPoint {
    /// Read.
    pub bytes: u64,
    /// Cold median.
    pub us: f64,
    /// `bytes` over `us`.
    pub gb_per_s: f64,
}

/// Latency of one kind of step, in a chain of its like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// One of [`LATENCIES`].
    pub name: String,
    /// Cycles of the multiprocessor's clock a step.
    pub cycles: f64,
    /// A step.
    pub ns: f64,
    /// Frequency of the clock meanwhile.
    pub mhz: f64,
}

/// Reductions between other kernels, each judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Work around the reduction.
    pub name: String,
    /// Type of the elements.
    #[serde(rename = "type")]
    pub ty: String,
    /// Elements.
    pub n: u64,
    /// True if launches could overlap.
    pub overlap: bool,
    /// Reductions that were judged.
    pub judged: u64,
    /// Those that were wrong.
    pub wrong: u64,
}

/// One timed reduction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCase {
    /// Slug of the chapter whose contest it is.
    pub chapter: Option<String>,
    /// Under which rules.
    pub contest: Contest,
    /// [`ENTRANT`], a variant, one of [`ABLATIONS`], or a library.
    pub entrant: String,
    /// Problem and launches, with every operation by its name; no kernels of a library.
    #[serde(flatten, deserialize_with = "case::with_op")]
    pub case: Case,
    /// Part of a matrix that gets a value: [`COLUMN`], or none for a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// Name of the offsets of ragged rows; none of a whole array.
    #[serde(default)]
    pub offsets: Option<String>,
    /// Elements by which the input begins after an aligned address.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// Commit of its kernels, where it is of an earlier run than the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Varied option of a sweep: `block`, `grid` or `factor`. `None` where the variant chose for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<String>,
    /// Median; `None` where it was not timed, and of the warm contest.
    #[serde(default, serialize_with = "seven_digits")]
    pub cold_us: Option<f64>,
    /// Median where all reductions read the same array: of the warm contest, of the host's calls, and of a matrix that the L2 holds
    /// with its results.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "seven_digits")]
    pub warm_us: Option<f64>,
    /// Fastest and slowest replay.
    #[serde(default, serialize_with = "seven_digits_each")]
    pub range_us: Option<[f64; 2]>,
    /// Lower bound of the time on this card: the launch floor of the contest, and every byte once at the read ceiling.
    #[serde(default, serialize_with = "seven_digits")]
    pub limit_us: Option<f64>,
    /// Results that were judged: one of each reduction of each timed replay.
    #[serde(default)]
    pub judged: u64,
    /// Largest error of them, as a share of the sum of all magnitudes; none for integers.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "seven_digits")]
    pub error: Option<f64>,
    /// True if all of them were right.
    pub ok: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The seven digits of a measured value that a record keeps: what follows is no clock's.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn seven_digits<S: Serializer>(value: &Option<f64>, to: S) -> std::result::Result<S::Ok, S::Error> {
    value.map(rounded).serialize(to)
}

fn seven_digits_each<S: Serializer>(values: &Option<[f64; 2]>, to: S) -> std::result::Result<S::Ok, S::Error> {
    values.map(|values| values.map(rounded)).serialize(to)
}

has_case!(MeasuredCase);

impl MeasuredCase {
    /// The variant, or the library: [`CHAMPION`] for [`ENTRANT`].
    pub fn name(&self) -> &str {
        if self.entrant == ENTRANT { CHAMPION } else { &self.entrant }
    }

    /// Bytes that have to move: those that are read and those that are written.
    pub fn moved_bytes(&self) -> u64 {
        let (read, written) = self.read_and_written_bytes();
        read + written
    }

    /// Bytes that have to be read and to be written: of rows the input, offsets, labels and gradients, and the results; of an
    /// array the input.
    pub fn read_and_written_bytes(&self) -> (u64, u64) {
        let (Some(ty), Some(op)) = (Type::from_name(&self.ty), Op::from_name(self.op())) else { return (0, 0) };
        let input = self.input_bytes() * op.arrays();
        let (Some(rows), Some(cols)) = (self.rows, self.cols) else { return (input, 0) };
        if op.is_per_element() {
            let labels = if op.has_labels() { 8 * rows } else { 0 };
            let gradients = if op.has_gradients() { 4 * rows } else { 0 };
            let saved = if self.entrant == SAVED { 4 * rows } else { 0 };
            return (input + labels + gradients + saved, self.input_bytes() / rows.max(1) * op.result_rows(rows));
        }
        let results = if self.per.as_deref() == Some(COLUMN) { cols } else { rows };
        let offsets = if self.offsets.is_some() { 4 * (rows + 1) } else { 0 };
        let labels = if op.has_labels() { 8 * rows } else { 0 };
        (input + offsets + labels, results * op.row_bytes(ty))
    }

    /// Bytes of the input; 0 for a type that this program does not know.
    pub fn input_bytes(&self) -> u64 {
        self.n * Type::from_name(&self.ty).map_or(0, Type::bytes)
    }

    /// The median, of whichever contest.
    pub fn us(&self) -> Option<f64> {
        self.cold_us.or(self.warm_us)
    }

    /// Bytes of the input over the median.
    pub fn gb_per_s(&self) -> Option<f64> {
        self.us().filter(|&us| us > 0.0).map(|us| self.input_bytes() as f64 / us / 1e3)
    }

    /// Returns whether it is what a variant does by itself, alone: aligned input, its own geometry.
    pub fn is_plain(&self) -> bool {
        self.is_plain_in(Contest::Alone)
    }

    /// Returns whether it is what a variant does by itself in this contest.
    pub fn is_plain_in(&self, contest: Contest) -> bool {
        self.contest == contest && self.offset == 0 && self.swept.is_none()
    }
}

impl Measurement {
    /// The plain case of this name, type and size, alone.
    pub fn plain(&self, name: &str, ty: Type, n: u64) -> Option<&MeasuredCase> {
        self.plain_in(Contest::Alone, name, ty, n)
    }

    /// The plain case of this name, type and size in this contest.
    pub fn plain_in(&self, contest: Contest, name: &str, ty: Type, n: u64) -> Option<&MeasuredCase> {
        let mut plain = self.cases.iter().filter(|case| case.is_plain_in(contest));
        plain.find(|case| (case.name(), case.ty.as_str(), case.n) == (name, ty.name(), n))
    }

    /// Its median.
    pub fn us_in(&self, contest: Contest, name: &str, ty: Type, n: u64) -> Option<f64> {
        self.plain_in(contest, name, ty, n)?.us()
    }

    /// Its cold median alone, us.
    pub fn cold_us(&self, name: &str, ty: Type, n: u64) -> Option<f64> {
        self.us_in(Contest::Alone, name, ty, n)
    }
}

/// `measurements/<name>.json`
pub fn path(root: &Path, name: &str) -> PathBuf {
    root.join("measurements").join(format!("{name}.json"))
}

/// The record of that name, `h200` for instance; `None` while there is none, or only one of an older form: its figures
/// were taken by other rules, so that it has to be measured again.
///
/// # Errors
/// Those of [`read`].
pub fn load(root: &Path, name: &str) -> Result<Option<Measurement>> {
    #[derive(Deserialize)]
    struct Form {
        schema: u32,
    }
    let path = path(root, name);
    let is_older = record::load_json::<Form>(&path).is_ok_and(|form| form.is_some_and(|form| form.schema < SCHEMA));
    if !path.is_file() || is_older {
        return Ok(None);
    }
    let mut record = read(&path)?;
    let now = kernels::today(root)?;
    record.cases.iter_mut().for_each(|case| case.mark_stale(&record.kernels, &now));
    Ok(Some(record))
}

/// Reads a record.
///
/// # Errors
/// A file that cannot be read, or that has another form or schema.
pub fn read(path: &Path) -> Result<Measurement> {
    let not_a_record = |problem: String| Error::Record { path: path.to_owned(), problem };
    let value: Option<serde_json::Value> = record::load_json(path)?;
    let value = value.ok_or_else(|| not_a_record("the file is not there".to_owned()))?;
    if let Some(schema) = value["schema"].as_u64().filter(|&schema| schema != u64::from(SCHEMA)) {
        return Err(not_a_record(format!("schema {schema}, and this program reads schema {SCHEMA}: measure again")));
    }
    serde_json::from_value(value).map_err(|error| not_a_record(error.to_string()))
}

/// Writes a record and the folders above it.
///
/// # Errors
/// A file that cannot be written.
pub fn save(record: &Measurement, path: &Path) -> Result<()> {
    record::write(path, &record::to_text(record)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{"schema": 2, "device": "A GPU", "arch": "sm_80", "date": "2026-01-02T03:04:05Z", "new": 1,
        "command": "c", "method": "m", "cases": [
        {"chapter": null, "contest": "alone", "entrant": "cub", "op": "sum", "type": "f64", "n": 1024, "offsets": null,
         "cold_us": 2.0, "range_us": [1.9, 2.2], "limit_us": 0.6, "ok": true, "also": "new"},
        {"contest": "alone", "entrant": "a", "op": "sum", "type": "i32", "n": 1024, "offset": 1, "cold_us": 9.0, "ok": true},
        {"contest": "alone", "entrant": "a", "op": "sum", "type": "i32", "n": 1024, "swept": "block", "cold_us": 8.0,
         "ok": true},
        {"contest": "back_to_back", "entrant": "a", "op": "sum", "type": "i32", "n": 1024, "cold_us": 7.0, "ok": true},
        {"contest": "alone", "entrant": "a", "op": "sum", "type": "i32", "n": 1024, "cold_us": null, "ok": false},
        {"contest": "warm", "entrant": "champion", "op": "sum", "type": "i32", "n": 1024, "warm_us": 0.5, "ok": true},
        {"contest": "alone", "entrant": "b", "op": "sum", "type": "complex", "n": 1024, "cold_us": 1.0, "ok": true}]}"#;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), "gpu");
        record::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn times_are_written_with_seven_digits() {
        let case = MeasuredCase { cold_us: Some(1.831499976105988), range_us: Some([3e-9, 1e6]), ..Default::default() };
        let text = serde_json::to_string(&case).unwrap();
        assert!(text.contains(r#""cold_us":1.8315,"range_us":[3e-9,1000000.0],"#), "{text}");
    }

    #[test]
    fn missing_parts_and_new_keys_are_no_errors() {
        let (dir, file) = written(LEAST);
        let record = load(dir.path(), "gpu").unwrap().unwrap();
        assert_eq!(record.plain("cub", Type::F64, 1024).unwrap().gb_per_s(), Some(4.096));
        assert_eq!(record.cold_us("a", Type::I32, 1024), None, "not the sweep, the misaligned one, another contest");
        assert_eq!(record.us_in(Contest::BackToBack, "a", Type::I32, 1024), Some(7.0));
        assert_eq!(record.us_in(Contest::Warm, CHAMPION, Type::I32, 1024), Some(0.5));
        assert_eq!(record.cases[6].gb_per_s(), Some(0.0));
        save(&record, &file).unwrap();
        assert_eq!(read(&file).unwrap(), record);
        assert_eq!(load(dir.path(), "other").unwrap(), None);
    }

    #[test]
    fn another_form_is_named() {
        let (dir, file) = written(&LEAST.replace("\"schema\": 2", "\"schema\": 9"));
        let message = read(&file).unwrap_err().to_string();
        assert!(message.ends_with("schema 9, and this program reads schema 2: measure again"), "{message}");
        assert!(load(dir.path(), "gpu").is_err());
        record::write(&file, r#"{"schema": 1, "cases": [{"name": "cub"}]}"#).unwrap();
        assert_eq!(load(dir.path(), "gpu").unwrap(), None, "an older form counts as none");
        record::write(&file, r#"{"schema": 2, "cases": [{"name": "cub"}]}"#).unwrap();
        assert!(load(dir.path(), "gpu").unwrap_err().to_string().contains("missing field"));
        assert!(read(&file.with_extension("none")).unwrap_err().to_string().contains("not there"));
    }

    #[test]
    fn a_changed_kernel_makes_its_own_cases_stale() {
        let (dir, file) = written(LEAST);
        let ptx = |kernels: &[(&str, u32)]| {
            let body = |(name, n): &(&str, u32)| format!(".entry {name}()\n{{\n\tmov.u32 %r1, {n};\n}}\n");
            record::write(&dir.path().join("kernels/ch01-a.cu"), "").unwrap();
            let text: String = kernels.iter().map(body).collect();
            record::write(&dir.path().join("kernels/ptx/ch01-a.ptx"), &text).unwrap();
        };
        ptx(&[("a_i32", 1), ("b_i32", 1)]);
        let mut record = read(&file).unwrap();
        assert_eq!(record.nameless(), [""; 0], "they have no chapter");
        record.commit = Some("0123456789".to_owned());
        record.kernels = kernels::today(dir.path()).unwrap();
        for (i, kernel) in [(1, "a_i32"), (3, "b_i32")] {
            record.cases[i].chapter = Some("ch01-a".to_owned());
            record.cases[i].kernels = vec![kernel.to_owned()];
        }
        save(&record, &file).unwrap();
        let stale = || {
            let record = load(dir.path(), "gpu").unwrap().unwrap();
            let cases = record.cases.iter().enumerate().filter(|(_, case)| case.is_stale).map(|(i, _)| i).collect();
            (record.stale(dir.path()).unwrap(), cases)
        };
        assert_eq!(stale(), (vec![], Vec::<usize>::new()));
        ptx(&[("a_i32", 1), ("b_i32", 2)]);
        let why = "ch01-a: 1 row has times of commit 0123456, before `b_i32` changed";
        assert_eq!(stale(), (vec![why.to_owned()], vec![3]));
        ptx(&[("b_i32", 1)]);
        assert_eq!(stale().1, [1], "its kernel is gone");
        record.cases[3].kernels.clear();
        assert_eq!(record.nameless(), ["ch01-a: has times that do not say of which kernels they are"]);
    }
}
