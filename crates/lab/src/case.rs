//! The part of a row that all records share: its problem and its launches.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::kernels::{Hashes, changed};
use crate::run::Run;

/// Problem and launches of a row. Each kind of record has some of it, and no keys for the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Type of the elements.
    #[serde(rename = "type")]
    pub ty: String,
    /// Elements.
    pub n: u64,
    /// Name of the operation; see [`Case::op`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// Rows of a matrix; none of a whole array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Its columns; of ragged rows the mean, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u64>,
    /// Threads a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Blocks of the widest launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<u32>,
    /// The number that the variant is tuned by, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<u32>,
    /// Launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<u64>,
    /// Our kernels that were launched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<String>,
    /// True if one of them has changed since.
    #[serde(skip)]
    pub is_stale: bool,
}

impl Case {
    /// The part that every record has of a run.
    pub fn of(run: &Run) -> Case {
        let (ty, launches) = (run.ty.name().to_owned(), run.plan.passes.len() as u64);
        Case { ty, n: run.n, block: Some(run.block), launches: Some(launches), ..Case::default() }
    }

    /// The operation's name, `sum` where the record names none.
    pub fn op(&self) -> &str {
        self.op.as_deref().unwrap_or("sum")
    }

    /// Marks it where one of its kernels has another hash now than then.
    pub(crate) fn mark_stale(&mut self, then: &Hashes, now: &Hashes) {
        self.is_stale = !changed(&self.kernels, then, now).is_empty();
    }
}

/// Reads the case of a row that has to name its operation.
///
/// # Errors
/// A row without `op`, or what serde finds.
pub(crate) fn with_op<'de, D: Deserializer<'de>>(from: D) -> Result<Case, D::Error> {
    let case = Case::deserialize(from)?;
    if case.op.is_none() { Err(D::Error::missing_field("op")) } else { Ok(case) }
}

/// Reads the case of a row that has to say how it was launched.
///
/// # Errors
/// A row without `block` or `launches`, or what serde finds.
pub(crate) fn with_launches<'de, D: Deserializer<'de>>(from: D) -> Result<Case, D::Error> {
    let case = Case::deserialize(from)?;
    let missing = [("block", case.block.is_none()), ("launches", case.launches.is_none())];
    match missing.into_iter().find(|&(_, is_missing)| is_missing) {
        Some((key, _)) => Err(D::Error::missing_field(key)),
        None => Ok(case),
    }
}

/// Gives a row the fields of its [`Case`]: `row.n` for `row.case.n`.
macro_rules! has_case {
    ($row:ty) => {
        impl std::ops::Deref for $row {
            type Target = Case;

            fn deref(&self) -> &Case {
                &self.case
            }
        }

        impl std::ops::DerefMut for $row {
            fn deref_mut(&mut self) -> &mut Case {
                &mut self.case
            }
        }
    };
}
pub(crate) use has_case;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use crate::hardware::{GpuCase, GpuRecord};
    use crate::measurement::{MeasuredCase, Measurement};
    use crate::record::{SimRecord, load_json};
    use crate::session::built_root;

    #[test]
    fn rows_have_what_their_record_needs() {
        let measured =
            r#"{ "chapter": null, "contest": "alone", "entrant": "cub", "type": "f32", "n": 1, "ok": true }"#;
        let error = serde_json::from_str::<MeasuredCase>(measured).unwrap_err().to_string();
        assert!(error.starts_with("missing field `op`"), "{error}");
        let of_card =
            r#"{ "variant": "a", "type": "f32", "n": 1, "block": 32, "result": "0", "expected": "0", "ok": true }"#;
        let error = serde_json::from_str::<GpuCase>(of_card).unwrap_err().to_string();
        assert!(error.starts_with("missing field `launches`"), "{error}");
    }

    #[test]
    fn every_committed_record_is_written_as_it_was_read() {
        fn again<T: serde::Serialize + serde::de::DeserializeOwned>(read: &Value) -> Value {
            let written = serde_json::from_value::<T>(read.clone()).and_then(|record| serde_json::to_string(&record));
            serde_json::from_str(&written.unwrap()).unwrap()
        }
        let inside = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
        let data = inside(built_root().join("chapters")).flat_map(|chapter| inside(chapter.join("data")));
        let files = inside(built_root().join("measurements")).chain(data);
        let mut rows = 0;
        for path in files.filter(|path| path.extension().is_some_and(|ext| ext == "json")) {
            let read: Value = load_json(&path).unwrap().unwrap();
            let written = match ["schema", "method", "schedule"].map(|key| read.get(key).is_some()) {
                // It has more digits of times than are written now, and keys without a value.
                [true, ..] if path.ends_with("h100-accuracy.json") => continue,
                [true, ..] => again::<Measurement>(&read),
                [_, true, _] => again::<GpuRecord>(&read),
                [.., true] => again::<SimRecord>(&read),
                _ => continue, // of a profiler, or of several devices
            };
            assert!(read == written, "{}", path.display());
            rows += read["cases"].as_array().map_or(0, Vec::len);
        }
        assert!(rows > 15_000, "{rows}");
    }
}
