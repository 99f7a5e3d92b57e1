//! What scripts/torch_sum.py or scripts/torch_operators.py measured, by the same method, on the same card.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use lab::measurement::{Library, MeasuredCase, TORCH, TORCH_COMPILED};
use serde::Deserialize;

/// The file that the script writes; its cases have the form of ours.
#[derive(Deserialize)]
struct File {
    version: String,
    cases: Vec<MeasuredCase>,
}

/// Reads the file.
pub fn read(path: &Path) -> Result<(Library, Vec<MeasuredCase>)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("--torch {}: cannot be read", path.display()))?;
    let file: File = serde_json::from_str(&text)
        .with_context(|| format!("--torch {}: not what scripts/torch_sum.py writes", path.display()))?;
    let is_torch = |case: &MeasuredCase| [TORCH, TORCH_COMPILED].contains(&case.entrant.as_str());
    ensure!(file.cases.iter().all(is_torch), "--torch {}: holds cases that are not torch's", path.display());
    Ok((Library { version: file.version }, file.cases))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_script_writes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("torch.json");
        let text = r#"{"version": "2.9.0", "cases": [{"chapter": "ch08-cooperative", "contest": "alone", "entrant": "torch",
            "op": "sum", "type": "i32", "n": 1024, "offsets": null, "cold_us": 1.5, "range_us": [1.4, 1.9],
            "limit_us": null, "judged": 704, "ok": true}]}"#;
        std::fs::write(&path, text).unwrap();
        let (library, cases) = read(&path).unwrap();
        assert_eq!((library.version.as_str(), cases[0].cold_us, cases[0].is_plain()), ("2.9.0", Some(1.5), true));
        std::fs::write(&path, text.replace(r#""torch""#, r#""torch_compiled""#)).unwrap();
        assert_eq!(read(&path).unwrap().1[0].entrant, "torch_compiled");
        std::fs::write(&path, text.replace(r#""torch""#, r#""cub""#)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not torch's"));
        std::fs::write(&path, "[]").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not what scripts/torch_sum.py writes"));
    }
}
