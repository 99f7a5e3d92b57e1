//! Measurements of scripts/torch_*.py, by the same method, on the same card.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use lab::measurement::{LIGER, Library, MeasuredCase, QUACK, TORCH, TORCH_COMPILED};
use serde::Deserialize;

/// Those that the scripts time.
pub const ENTRANTS: [&str; 4] = [TORCH, TORCH_COMPILED, LIGER, QUACK];

/// The file that a script writes; its cases have the form of ours.
#[derive(Deserialize)]
struct File {
    version: String,
    /// Version of Liger, where it was there.
    liger: Option<String>,
    /// Version of QuACK, likewise.
    quack: Option<String>,
    cases: Vec<MeasuredCase>,
}

/// Reads the file: the libraries by their names in the record, and the cases.
pub fn read(path: &Path) -> Result<(BTreeMap<String, Library>, Vec<MeasuredCase>)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("--torch {}: cannot be read", path.display()))?;
    let file: File = serde_json::from_str(&text)
        .with_context(|| format!("--torch {}: not what scripts/torch_*.py write", path.display()))?;
    let is_torch = |case: &MeasuredCase| ENTRANTS.contains(&case.entrant.as_str());
    ensure!(file.cases.iter().all(is_torch), "--torch {}: holds cases that are not torch's", path.display());
    let versions = [(TORCH, Some(file.version)), (LIGER, file.liger), (QUACK, file.quack)];
    let libraries =
        versions.into_iter().filter_map(|(name, version)| Some((name.to_owned(), Library { version: version? })));
    Ok((libraries.collect(), file.cases))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_scripts_write_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("torch.json");
        let text = r#"{"version": "2.9.0", "cases": [{"chapter": "ch08-cooperative", "contest": "alone", "entrant": "torch",
            "op": "sum", "type": "i32", "n": 1024, "offsets": null, "cold_us": 1.5, "range_us": [1.4, 1.9],
            "limit_us": null, "judged": 704, "ok": true}]}"#;
        std::fs::write(&path, text).unwrap();
        let (libraries, cases) = read(&path).unwrap();
        assert_eq!((libraries[TORCH].version.as_str(), libraries.len()), ("2.9.0", 1));
        assert_eq!((cases[0].cold_us, cases[0].is_plain()), (Some(1.5), true));
        let liger = text.replace(r#""torch""#, r#""liger""#).replace(r#""cases""#, r#""liger": "0.8", "cases""#);
        std::fs::write(&path, liger).unwrap();
        let (libraries, cases) = read(&path).unwrap();
        assert_eq!((libraries[LIGER].version.as_str(), cases[0].entrant.as_str()), ("0.8", "liger"));
        std::fs::write(&path, text.replace(r#""torch""#, r#""cub""#)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not torch's"));
        std::fs::write(&path, "[]").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not what scripts/torch_*.py write"));
    }
}
