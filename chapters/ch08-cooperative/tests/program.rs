//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::trial::{Ended, program};
use serde_json::Value;

fn run(args: &[&str]) -> Result<Ended> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let args = [&["--device", "sim"], args].concat();
    program(env!("CARGO_BIN_EXE_ch08-cooperative"), &root, &args).context("the program starts")
}

#[test]
fn the_plan_of_the_champion_is_one_launch() -> Result<()> {
    for n in ["1", "4097", "2^20", "2^31"] {
        let ended = run(&["--plan", "--json", "--variant", "single_pass", "--n", n])?;
        if n == "2^31" {
            assert_eq!(ended.status, 2);
            assert!(ended.err.contains("2^31 - 1"), "{}", ended.err);
            continue;
        }
        assert_eq!(ended.status, 0, "{}", ended.err);
        let value: Value = serde_json::from_str(&ended.out)?;
        let passes = value["plans"][0]["passes"].as_array().context("passes")?;
        assert_eq!(passes.len(), 1, "{value:#}");
        assert_eq!(passes[0]["overlaps"], true, "{value:#}");
    }
    Ok(())
}

#[test]
fn a_sum_in_one_launch_is_right() -> Result<()> {
    let ended = run(&["--n", "100_003", "--json", "--variant", "last_block,single_pass"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let value: Value = serde_json::from_str(&ended.out)?;
    for run in value["runs"].as_array().context("runs")? {
        assert_eq!((&run["ok"], &run["launches"]), (&Value::Bool(true), &Value::from(1)), "{run:#}");
    }
    Ok(())
}

#[test]
fn the_champion_sums_and_does_nothing_else() -> Result<()> {
    let ended = run(&["--op", "max", "--variant", "single_pass", "--n", "100"])?;
    assert_eq!(ended.status, 2, "{}", ended.out);
    assert!(ended.err.contains("--op max"), "{}", ended.err);
    Ok(())
}
