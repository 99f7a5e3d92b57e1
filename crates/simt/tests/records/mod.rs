//! Records of whole kernels on a GPU, as `crates/device/examples/whole.rs` and `scripts/fixture_counters.py` record it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Instructions for making all records anew.
const ANEW: &str = "on a machine with an H200, `scripts/gpu_fixtures.sh OUT` and `cp -r OUT/* crates/simt/tests/`";

/// A difference that is known, with its reason: what is compared, as words with spaces between.
pub struct Reasons {
    file: String,
    known: BTreeSet<String>,
    met: BTreeSet<String>,
    unexplained: Vec<String>,
}

impl Reasons {
    /// Reads `[[difference]]` tables; `keys` are those that name what differs, one text or several, and each table has a
    /// `reason` too.
    pub fn read(path: &Path, keys: &[&str]) -> Reasons {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut known = BTreeSet::new();
        for entry in table.get("difference").and_then(toml::Value::as_array).into_iter().flatten() {
            assert!(words(entry, "reason").iter().any(|reason| reason.len() > 20), "{file}: no reason: {entry:?}");
            let mut names = vec![String::new()];
            for values in keys.iter().map(|key| words(entry, key)).filter(|values| !values.is_empty()) {
                let with = |name: &String| values.iter().map(|v| format!("{name} {v}").trim().to_owned()).collect();
                names = names.iter().flat_map::<Vec<String>, _>(with).collect();
            }
            for name in names {
                assert!(!name.is_empty(), "{file}: no {}: {entry:?}", keys.join(" or "));
                assert!(!known.contains(&name), "{file}: twice: {name}");
                known.insert(name);
            }
        }
        Reasons { file, known, met: BTreeSet::new(), unexplained: Vec::new() }
    }

    /// A difference was met, of that name.
    pub fn meet(&mut self, name: &str, what: &str) {
        if self.known.contains(name) {
            self.met.insert(name.to_owned());
        } else {
            self.unexplained.push(format!("{name}: {what}"));
        }
    }

    /// Fails on a difference without a reason, and on a reason without a difference.
    pub fn settle(self) {
        let file = &self.file;
        assert!(
            self.unexplained.is_empty(),
            "{} differences without a reason in {file}:\n{}",
            self.unexplained.len(),
            self.unexplained.join("\n")
        );
        let idle: Vec<&String> = self.known.difference(&self.met).collect();
        assert!(idle.is_empty(), "{file} explains what does not differ: {idle:?}");
    }
}

/// A key's text, or its texts where it has several.
fn words(entry: &toml::Value, key: &str) -> Vec<String> {
    let text = |value: &toml::Value| value.as_str().map(str::to_owned);
    match entry.get(key) {
        Some(toml::Value::Array(values)) => values.iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// A record, if there is one: a line says so if not.
pub fn read(path: &Path) -> Option<Value> {
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("{} is not there yet: {ANEW}", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The kernels of a record; at least one.
pub fn kernels(record: &Value) -> &Map<String, Value> {
    for key in ["device", "driver", "date"] {
        assert!(record[key].is_string(), "the record does not say its {key}");
    }
    let kernels = record["kernels"].as_object().expect("a record has kernels");
    assert!(!kernels.is_empty(), "a record of no kernel");
    kernels
}

/// Fails unless the record is of the fixture's PTX as it is now.
pub fn check_hash(ptx: &Path, record: &Value) {
    let bytes = std::fs::read(ptx).unwrap_or_else(|error| panic!("a record of {}: {error}", ptx.display()));
    let (now, then) = (sha256(&bytes), record["ptx_sha256"].as_str().unwrap_or_default());
    assert_eq!(now, then, "{} has changed since its record was made; record it anew: {ANEW}", ptx.display());
}

/// Lower-case hexadecimal SHA-256.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The little-endian bytes of a buffer that `simt run --json` printed; `ty` as in a SPEC. No fixture leaves a NaN, whose
/// bits are not in the JSON.
pub fn bytes(values: &Value, ty: &str) -> Vec<u8> {
    let values = values.as_array().expect("a buffer is an array");
    let each = |value: &Value| match ty {
        "f32" => (value.as_f64().expect("a number") as f32).to_le_bytes().to_vec(),
        "f64" => value.as_f64().expect("a number").to_le_bytes().to_vec(),
        // Printed numbers are those of the buffer, so that nothing is rounded here.
        "f16" => half::f16::from_f32(value.as_f64().expect("a number") as f32).to_le_bytes().to_vec(),
        "bf16" => half::bf16::from_f32(value.as_f64().expect("a number") as f32).to_le_bytes().to_vec(),
        integer => {
            let bits: usize = integer[1..].parse().unwrap_or_else(|_| panic!("buffers of {ty} are not compared"));
            let low = value.as_i64().map_or_else(|| value.as_u64().expect("an integer"), |signed| signed as u64);
            low.to_le_bytes()[..bits / 8].to_vec()
        }
    };
    values.iter().flat_map(each).collect()
}

/// Returns where these bytes begin to differ from the record; `None` if they are the same.
pub fn difference(bytes: &[u8], recorded: &Value) -> Option<String> {
    if recorded["sha256"] == sha256(bytes) && recorded["bytes"] == bytes.len() {
        return None;
    }
    let begin = recorded["begin"].as_str().unwrap_or_default();
    let ours = hex(bytes);
    let at = ours.bytes().zip(begin.bytes()).position(|(a, b)| a != b).map_or(begin.len() / 2, |digit| digit / 2);
    let word = |text: &str| text.get(at / 4 * 8..).map_or(String::new(), |rest| rest.chars().take(16).collect());
    Some(format!("byte {at} of {}: simulated {}, recorded {}", bytes.len(), word(&ours), word(begin)))
}
