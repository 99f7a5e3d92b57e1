//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::trial::{Ended, program};
use serde_json::Value;

fn run(args: &[&str]) -> Result<Ended> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let args = [&["--device", "sim"], args].concat();
    program(env!("CARGO_BIN_EXE_ch04-first-add"), &root, &args).context("the program starts")
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
            assert_eq!(run["launches"], 3, "{run:#}");
        }
    }
    Ok(())
}

#[test]
fn the_price_of_the_second_element_is_told() -> Result<()> {
    let ended = run(&["--n", "1000"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["one block of 256 threads", "256 elements take 705 warp-instructions and 512 take 737"] {
        assert!(text.contains(words), "{words:?} is not in:\n{}", ended.out);
    }
    let other = run(&["--n", "1000", "--variant", "shared_mem"])?;
    assert!(!other.out.contains("an element"), "told only of a variant that ran:\n{}", other.out);
    Ok(())
}

#[test]
fn two_elements_a_thread_take_half_the_blocks() -> Result<()> {
    assert_eq!(run(&["--n", "4096", "--block", "256", "--grid", "8"])?.status, 0, "512 elements a block");
    let ended = run(&["--n", "4096", "--block", "256", "--grid", "16"])?;
    assert_eq!(ended.status, 2, "{}", ended.out);
    assert!(ended.err.contains("needs exactly 8 blocks of 256 threads"), "{}", ended.err);
    Ok(())
}

#[test]
fn blocks_that_are_no_power_of_two_are_refused() -> Result<()> {
    for block in ["0", "16", "33", "2048"] {
        let ended = run(&["--block", block])?;
        assert_eq!(ended.status, 2, "{}", ended.out);
        assert!(ended.err.contains("a power of two from 32 to 1024"), "{}", ended.err);
    }
    Ok(())
}
