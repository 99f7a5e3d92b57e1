//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::trial::{Ended, program};
use serde_json::Value;

fn run(args: &[&str]) -> Result<Ended> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let args = [&["--device", "sim"], args].concat();
    program(env!("CARGO_BIN_EXE_ch03-sequential"), &root, &args).context("the program starts")
}

#[test]
fn it_is_right() -> Result<()> {
    for ty in ["i32", "f32"] {
        let ended = run(&["--n", "1_000_003", "--type", ty, "--json"])?;
        assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
        let value: Value = serde_json::from_str(&ended.out)?;
        let [one] = value["runs"].as_array().context("runs")?.as_slice() else {
            anyhow::bail!("one variant, one run: {value:#}")
        };
        assert_eq!((&one["variant"], &one["ok"]), (&Value::from("sequential"), &Value::Bool(true)), "{one:#}");
    }
    Ok(())
}

#[test]
fn the_text_tells_additions_and_the_change() -> Result<()> {
    let ended = run(&["--n", "1000"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "✓ sequential",
        "against ch02-divergence's strided_index",
        "256 elements in one block of 256 threads: the 255 additions take 12 warp-instructions",
        "66.4 %",
    ] {
        assert!(text.contains(words), "{words:?} is not in:\n{}", ended.out);
    }
    Ok(())
}

#[test]
fn blocks_that_are_no_power_of_two_are_refused() -> Result<()> {
    for block in ["0", "16", "33", "2048"] {
        let ended = run(&["--block", block])?;
        assert_eq!(ended.status, 2, "{}", ended.out);
        assert!(ended.err.contains("sequential takes a power of two from 32 to 1024"), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn the_empty_sum_is_zero() -> Result<()> {
    let ended = run(&["--n", "0", "--json"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let value: Value = serde_json::from_str(&ended.out)?;
    assert!(value["runs"].as_array().context("runs")?.iter().all(|run| run["result"] == 0), "{value:#}");
    Ok(())
}
