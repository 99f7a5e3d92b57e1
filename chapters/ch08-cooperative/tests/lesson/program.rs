//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own:
//! plans of one launch, grids, loads on their way, and the variants that not every type and operation has.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::PROGRAM;

#[test]
fn three_variants_need_one_launch() {
    for ty in ["i32", "f32"] {
        let runs = PROGRAM.runs(&["--n", "100_003", "--type", ty]);
        let launches: Vec<_> = runs.iter().map(|run| (run["variant"].as_str(), run["launches"].as_u64())).collect();
        let expected = [("redux", 2), ("grid_sync", 1), ("last_block", 1), ("cluster", 2), ("single_pass", 1)];
        assert_eq!(launches, expected.map(|(name, launches)| (Some(name), Some(launches))));
        for run in runs {
            assert_eq!((&run["ok"], &run["announced"]), (&Value::Bool(true), &Value::Null), "{run:#}");
        }
    }
}

#[test]
fn doubles_are_for_two_of_them() {
    for run in &PROGRAM.runs(&["--n", "100_003", "--type", "f64", "--variant", "single_pass,cluster"]) {
        assert_eq!(run["ok"], true, "{run:#}");
    }
    PROGRAM.refuses(&["--type", "f64", "--variant", "redux"], &["--type f64", "redux is compiled for i32 and f32"]);
}

#[test]
fn other_operations_are_where_the_template_has_them() {
    for op in ["min", "max"] {
        for run in &PROGRAM.runs(&["--n", "50_001", "--variant", "redux,grid_sync,last_block", "--op", op]) {
            assert_eq!((&run["ok"], &run["op"]), (&Value::Bool(true), &Value::from(op)), "{run:#}");
        }
    }
    PROGRAM.refuses(
        &["--op", "max", "--variant", "single_pass", "--n", "100"],
        &["--op max: single_pass has no such operation"],
    );
}

/// Without names, the variants run that can do what is asked, and the others are listed. A named variant runs, or an error says why not.
#[test]
fn what_cannot_be_done_is_left_out_or_refused() {
    let names = |value: &Value| -> Vec<String> {
        value["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|run| run["variant"].as_str().unwrap_or("").to_owned())
            .collect()
    };
    let all = ["redux", "grid_sync", "last_block", "cluster", "single_pass"];
    for (options, left_out) in [
        (&["--op", "max"][..], &["cluster", "single_pass"][..]),
        (&["--type", "f64"], &["redux", "grid_sync", "last_block"]),
        (&["--block", "128"], &["single_pass"]),
        (&["--factor", "8"], &["redux", "grid_sync", "last_block", "cluster"]),
        (&["--op", "sum"], &[]),
    ] {
        let value = PROGRAM.json(&[options, &["--n", "5000"]].concat());
        assert_eq!(value["left_out"], serde_json::json!(left_out), "{options:?}");
        let able: Vec<&str> = all.into_iter().filter(|name| !left_out.contains(name)).collect();
        assert_eq!(names(&value), able, "{options:?}");
    }
    for plan in [&["--plan"][..], &[]] {
        let ended = PROGRAM.run(&[&["--n", "5000", "--op", "max"], plan].concat());
        assert_eq!(ended.status, 0, "{}", ended.err);
        let lines = ended.out.lines().filter(|line| line.contains("left out")).collect::<Vec<_>>();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("left out for want of --op max: cluster and single_pass"), "{lines:?}");
    }
    PROGRAM.refuses(&["--variant", "redux,cluster", "--op", "max"], &["--op max: cluster has no such operation"]);
    PROGRAM
        .refuses(&["--op", "max", "--type", "f64", "--n", "100"], &["--type f64: redux is compiled for i32 and f32"]);
}

/// A sum wraps; the largest element does not.
#[test]
fn only_sums_of_integers_wrap() {
    for (options, words) in [
        (&["--op", "sum"][..], "5,000 random i32, seed 1; i32 sums wrap modulo 2^32"),
        (&["--op", "min"], "5,000 random i32, seed 1; wanted is the smallest\n"),
        (&["--op", "max", "--type", "f32"], "5,000 random f32, seed 1; wanted is the largest\n"),
        (&["--type", "f32"], "5,000 random f32, seed 1\n"),
    ] {
        let ended = PROGRAM.run(&[options, &["--n", "5000", "--variant", "redux"]].concat());
        assert!(ended.out.contains(words), "{options:?}: {words:?} is not in:\n{}", ended.out);
    }
}

#[test]
fn the_plan_says_what_is_launched() {
    PROGRAM.says(
        &["--n", "1_000_003", "--plan"],
        &[
            "2. redux_i32: 489 elements by 1 block of 256 threads",
            "1. grid_sync_i32: 1,000,003 elements by 489 blocks of 256 threads, cooperative",
            "1. last_block_i32: 1,000,003 elements by 489 blocks of 256 threads",
            "1. single_pass_t",
            "1. cluster_i32: 1,000,003 elements by 128 blocks of 256 threads, clusters of 8",
            "2. cluster_i32: 16 elements by 8 blocks of 256 threads, clusters of 8",
        ],
    );
}

#[test]
fn the_plan_of_the_champion_is_one_launch_at_every_size() -> Result<()> {
    for n in ["1", "4097", "2^20"] {
        let value = PROGRAM.json(&["--plan", "--variant", "single_pass", "--overlap", "--n", n]);
        let passes = value["plans"][0]["passes"].as_array().context("passes")?;
        assert_eq!((passes.len(), &passes[0]["overlaps"]), (1, &Value::Bool(true)), "{value:#}");
    }
    let overlap = ["--plan", "--variant", "single_pass", "--overlap", "--n", "1000"];
    PROGRAM.says(&overlap, &["may start before the launch before it has ended"]);
    PROGRAM.refuses(&["--plan", "--variant", "single_pass", "--n", "2^41"], &["at most 1,099,511,627,776"]);
    Ok(())
}

#[test]
fn grids_and_loads_are_the_readers_to_choose() {
    for run in &PROGRAM.runs(&["--n", "50_001", "--variant", "redux,grid_sync,last_block,single_pass", "--grid", "7"]) {
        assert_eq!((&run["grids"][0], &run["ok"]), (&Value::from(7), &Value::Bool(true)), "{run:#}");
    }
    PROGRAM.refuses(&["--n", "1000", "--variant", "cluster", "--grid", "7"], &["--grid 7: cluster", "such as 8"]);
    PROGRAM.refuses(
        &["--n", "1000", "--variant", "single_pass", "--grid", "70000"],
        &["--grid 70000", "another number of blocks", "such as 1"],
    );
    let ended = PROGRAM.run(&["--plan", "--n", "2^20", "--variant", "single_pass", "--block", "512", "--factor", "8"]);
    assert!(ended.out.contains("single_pass_tiles_t512u8_i32"), "{}{}", ended.out, ended.err);
    PROGRAM
        .refuses(&["--variant", "single_pass", "--factor", "3"], &["--factor 3: single_pass has 2, 8", "on their way"]);
    PROGRAM
        .refuses(&["--variant", "single_pass", "--block", "512", "--factor", "2"], &["block size and factor together"]);
    PROGRAM.refuses(&["--variant", "single_pass", "--block", "128"], &["--block 128: single_pass takes"]);
}

#[test]
fn launches_are_planned_for_the_card_that_is_named() {
    let plan = ["--n", "2^15", "--type", "f32", "--variant", "single_pass", "--plan"];
    PROGRAM.says(&plan, &["by 48 blocks"]);
    PROGRAM.says(&[&plan[..], &["--card", "h200"]].concat(), &["by 48 blocks"]);
    PROGRAM.says(&[&plan[..], &["--card", "l4"]].concat(), &["by 29 blocks"]);
    let expected = ["launches as planned for", "skipped: cluster needs compute capability 9.0", "NVIDIA L4"];
    PROGRAM.says(&["--n", "1000", "--card", "l4"], &expected);
}
