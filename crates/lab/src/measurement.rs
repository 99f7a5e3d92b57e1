//! `measurements/<device>.json`: one run of `cargo course measure` on one GPU. Every chapter's kernels, CUB, torch, the
//! launch floor and the read ceiling, taken together by the same harness, so that they may be compared. The course-wide
//! charts and tables are made of it.

mod charts;
mod facts;
mod ladder;
mod publish;
mod quoted;
mod sheet;
#[cfg(test)]
mod synthetic;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use device::KernelSource;
use serde::{Deserialize, Serialize};

use crate::element::Type;
use crate::error::{Error, Result};
use crate::record;

pub use charts::{charts, stages};
pub use ladder::{CHAMPION, LOGS, ONE_SIZE, Rung, geometric_mean};
pub use publish::{BOOKS, book, report};
pub use quoted::{Article, ArticleRow, Quoted, Shmoo};

/// Of the form that this program reads and writes.
pub const SCHEMA: u32 = 1;
/// [`MeasuredCase::name`] of NVIDIA's library.
pub const CUB: &str = "cub";
/// [`MeasuredCase::swept`] of a variant whose launches may overlap, and here do not.
pub const OVERLAP: &str = "overlap";
/// [`MeasuredCase::name`] of `torch.sum`.
pub const TORCH: &str = "torch";

/// What was measured on one device in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Of the source tree, if it was known.
    #[serde(default)]
    pub commit: Option<String>,
    /// The command line.
    pub command: String,
    /// How times were taken.
    pub method: String,
    /// The committed PTX of each chapter that was measured, by slug.
    #[serde(default)]
    pub ptx_sha256: BTreeMap<String, String>,
    /// NVIDIA's library, if it was measured too.
    #[serde(default)]
    pub cub: Option<Library>,
    /// PyTorch, if it was measured too.
    #[serde(default)]
    pub torch: Option<Library>,
    /// What a launch of an empty kernel takes.
    #[serde(default)]
    pub floor_us: Option<Floor>,
    /// How fast memory can be read and summed in registers, by size.
    #[serde(default)]
    pub ceiling: Vec<CeilingPoint>,
    /// The best of [`Measurement::ceiling`].
    #[serde(default)]
    pub read_ceiling_gb_per_s: Option<f64>,
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

/// What an empty kernel takes inside a graph, in us.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// One block.
    pub one_block: f64,
    /// As many blocks as the device holds at once.
    pub full: f64,
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

/// One timed reduction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCase {
    /// Slug of the chapter; `None` for a library.
    #[serde(default)]
    pub chapter: Option<String>,
    /// The variant, or [`CUB`] or [`TORCH`].
    pub name: String,
    /// Type of the elements.
    #[serde(rename = "type")]
    pub ty: String,
    /// Elements.
    pub n: u64,
    /// Elements by which the input begins after an aligned address.
    #[serde(default)]
    pub offset: u64,
    /// Threads a block.
    #[serde(default)]
    pub block: Option<u32>,
    /// Blocks of the widest launch.
    #[serde(default)]
    pub grid: Option<u32>,
    /// The number that the variant is tuned by, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<u32>,
    /// Launches.
    #[serde(default)]
    pub launches: Option<u64>,
    /// Of a sweep, what was varied: `block`, `grid`, `factor` or [`OVERLAP`]. `None` where the variant chose for itself.
    #[serde(default)]
    pub swept: Option<String>,
    /// Cold median; `None` where it was not timed.
    #[serde(default)]
    pub cold_us: Option<f64>,
    /// Fastest and slowest cold replay.
    #[serde(default)]
    pub cold_range_us: Option<[f64; 2]>,
    /// Warm median.
    #[serde(default)]
    pub warm_us: Option<f64>,
    /// Whether the result was right.
    pub ok: bool,
}

impl MeasuredCase {
    /// Bytes of the input; 0 for a type that this program does not know.
    pub fn input_bytes(&self) -> u64 {
        self.n * Type::from_name(&self.ty).map_or(0, Type::bytes)
    }

    /// Bytes of the input over the cold median.
    pub fn gb_per_s(&self) -> Option<f64> {
        self.cold_us.filter(|&us| us > 0.0).map(|us| self.input_bytes() as f64 / us / 1e3)
    }

    /// Whether it is what a variant does by itself: aligned input, its own geometry.
    pub fn is_plain(&self) -> bool {
        self.offset == 0 && self.swept.is_none()
    }
}

impl Measurement {
    /// The plain case of this name, type and size.
    pub fn plain(&self, name: &str, ty: Type, n: u64) -> Option<&MeasuredCase> {
        let mut plain = self.cases.iter().filter(|case| case.is_plain());
        plain.find(|case| (case.name.as_str(), case.ty.as_str(), case.n) == (name, ty.name(), n))
    }

    /// Its cold median, us.
    pub fn cold_us(&self, name: &str, ty: Type, n: u64) -> Option<f64> {
        self.plain(name, ty, n)?.cold_us
    }

    /// The champion's cold median where each launch begins when the one before it has ended, us.
    pub fn without_overlap_us(&self, ty: Type, n: u64) -> Option<f64> {
        let mut alone = self.cases.iter().filter(|case| case.swept.as_deref() == Some(OVERLAP));
        alone.find(|case| (case.name.as_str(), case.ty.as_str(), case.n) == (CHAMPION, ty.name(), n))?.cold_us
    }

    /// Why figures of it say nothing about the kernels of today: a sentence for each chapter whose PTX is another now.
    ///
    /// # Errors
    /// PTX that cannot be read.
    pub fn stale(&self, root: &Path) -> Result<Vec<String>> {
        let mut stale = Vec::new();
        for (slug, hash) in &self.ptx_sha256 {
            if !KernelSource::in_root(root, slug).ptx.is_file() {
                stale.push(format!("{slug}: the course has no such chapter now: measure again"));
                continue;
            }
            stale.extend(record::is_stale(root, slug, hash)?.map(|why| format!("{slug}: {why}")));
        }
        let slugs: BTreeSet<&str> = self.cases.iter().filter_map(|case| case.chapter.as_deref()).collect();
        let nameless = slugs.into_iter().filter(|slug| !self.ptx_sha256.contains_key(*slug));
        stale.extend(nameless.map(|slug| format!("{slug}: does not say which PTX it was made with")));
        Ok(stale)
    }
}

/// `measurements/<name>.json`
pub fn path(root: &Path, name: &str) -> PathBuf {
    root.join("measurements").join(format!("{name}.json"))
}

/// The record of that name, `h200` for instance; `None` while there is none.
///
/// # Errors
/// As [`read`].
pub fn load(root: &Path, name: &str) -> Result<Option<Measurement>> {
    let path = path(root, name);
    if path.is_file() { read(&path).map(Some) } else { Ok(None) }
}

/// Reads a record.
///
/// # Errors
/// A file that cannot be read, or that has another form or schema.
pub fn read(path: &Path) -> Result<Measurement> {
    let not_a_record = |problem: String| Error::Record { path: path.to_owned(), problem };
    let record: Option<Measurement> = record::load_json(path)?;
    let record = record.ok_or_else(|| not_a_record("the file is not there".to_owned()))?;
    if record.schema != SCHEMA {
        return Err(not_a_record(format!("schema {}, and this program reads schema {SCHEMA}", record.schema)));
    }
    Ok(record)
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

    const LEAST: &str = r#"{"schema": 1, "device": "A GPU", "arch": "sm_80", "date": "2026-01-02T03:04:05Z", "new": 1,
        "command": "c", "method": "m", "cub": null, "cases": [
        {"name": "cub", "type": "f64", "n": 1024, "cold_us": 2.0, "ok": true, "also": "new"},
        {"name": "a", "type": "i32", "n": 1024, "offset": 1, "cold_us": 9.0, "ok": true},
        {"name": "a", "type": "i32", "n": 1024, "swept": "block", "cold_us": 8.0, "ok": true},
        {"name": "a", "type": "i32", "n": 1024, "cold_us": null, "ok": false},
        {"name": "b", "type": "complex", "n": 1024, "cold_us": 1.0, "ok": true}]}"#;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), "gpu");
        record::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn missing_parts_and_new_keys_are_no_errors() {
        let (dir, file) = written(LEAST);
        let record = load(dir.path(), "gpu").unwrap().unwrap();
        assert_eq!(record.plain("cub", Type::F64, 1024).unwrap().gb_per_s(), Some(4.096));
        assert_eq!(record.cold_us("a", Type::I32, 1024), None, "neither the sweep nor the misaligned one");
        assert_eq!(record.cases[4].gb_per_s(), Some(0.0));
        save(&record, &file).unwrap();
        assert_eq!(read(&file).unwrap(), record);
        assert_eq!(load(dir.path(), "other").unwrap(), None);
    }

    #[test]
    fn another_form_is_named() {
        let (_dir, file) = written(&LEAST.replace("\"schema\": 1", "\"schema\": 9"));
        let message = read(&file).unwrap_err().to_string();
        assert!(message.ends_with("schema 9, and this program reads schema 1"), "{message}");
        assert!(read(&file.with_extension("none")).unwrap_err().to_string().contains("not there"));
    }

    #[test]
    fn old_kernels_make_it_stale() {
        let (dir, file) = written(LEAST);
        let mut record = read(&file).unwrap();
        record.ptx_sha256.insert("ch01-a".to_owned(), String::new());
        assert_eq!(record.stale(dir.path()).unwrap(), ["ch01-a: the course has no such chapter now: measure again"]);
        record::write(&dir.path().join("kernels/ptx/ch01-a.ptx"), "old").unwrap();
        record.ptx_sha256.insert("ch01-a".to_owned(), record::ptx_sha256(dir.path(), "ch01-a").unwrap());
        assert_eq!(record.stale(dir.path()).unwrap(), Vec::<String>::new());
        record::write(&dir.path().join("kernels/ptx/ch01-a.ptx"), "new").unwrap();
        let stale = record.stale(dir.path()).unwrap();
        assert!(stale.len() == 1 && stale[0].starts_with("ch01-a: made with PTX "), "{stale:?}");
        record.cases[0].chapter = Some("ch02-b".to_owned());
        assert_eq!(record.stale(dir.path()).unwrap()[1], "ch02-b: does not say which PTX it was made with");
    }
}
