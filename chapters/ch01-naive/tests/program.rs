//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::trial::{Ended, program};
use serde_json::Value;

fn run(args: &[&str]) -> Result<Ended> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let args = [&["--device", "sim"], args].concat();
    program(env!("CARGO_BIN_EXE_ch01-naive"), &root, &args).context("the program starts")
}

#[test]
fn both_variants_are_right() -> Result<()> {
    for ty in ["i32", "f32"] {
        let ended = run(&["--n", "1_000_003", "--type", ty, "--json"])?;
        assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
        let value: Value = serde_json::from_str(&ended.out)?;
        let runs = value["runs"].as_array().context("runs")?;
        assert_eq!(runs.len(), 2);
        for run in runs {
            assert_eq!((&run["ok"], &run["announced"]), (&Value::Bool(true), &Value::Null), "{run:#}");
        }
    }
    Ok(())
}

#[test]
fn the_additions_of_the_textbook_case_are_told() -> Result<()> {
    let ended = run(&["--n", "1000"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["256 elements in one block of 128 threads", "its 255 additions take 27 warp-instructions", "29.5 %"] {
        assert!(text.contains(words), "{words:?} is not in:\n{}", ended.out);
    }
    let other = run(&["--n", "1000", "--variant", "interleaved_modulo"])?;
    assert!(!other.out.contains("29.5 %"), "told only of a variant that ran:\n{}", other.out);
    Ok(())
}

#[test]
fn blocks_that_are_no_power_of_two_are_refused() -> Result<()> {
    for block in ["0", "16", "33", "2048"] {
        let ended = run(&["--block", block])?;
        assert_eq!(ended.status, 2, "{}", ended.out);
        assert!(ended.err.contains("interleaved_modulo takes a power of two from 32 to 1024"), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn each_variant_has_its_own_grid() -> Result<()> {
    let ended = run(&["--n", "4096", "--block", "256", "--grid", "16"])?;
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("simple_global takes 512 elements a block"), "{}", ended.err);
    assert_eq!(run(&["--n", "4096", "--grid", "16"])?.status, 0, "256 x 1 and 128 x 2 elements a block");
    Ok(())
}
