//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own:
//! factors, grids, operations and the sweep.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::PROGRAM;

#[test]
fn a_grid_is_the_readers_to_choose_where_a_kernel_strides() {
    let strides = ["--n", "100_000", "--variant", "grid_stride,grid_stride_shuffle,vectorised"];
    for grid in ["1", "7", "49"] {
        for run in &PROGRAM.runs(&[&strides[..], &["--grid", grid]].concat()) {
            assert_eq!(run["grids"][0].to_string(), grid, "{run:#}");
            assert_eq!(run["ok"], true, "{run:#}");
        }
    }
    PROGRAM.refuses(
        &[&strides[..], &["--grid", "5000"]].concat(),
        &["--grid 5000: grid_stride takes another number", "196"],
    );
    PROGRAM.refuses(&[&strides[..], &["--grid", "0"]].concat(), &["--grid 0"]);
    PROGRAM
        .refuses(&["--n", "100_000", "--variant", "coarsened", "--grid", "7"], &["--grid 7: coarsened", "such as 49"]);
}

#[test]
fn factors_are_those_that_there_are_instances_of() {
    let value = PROGRAM.json(&["--n", "100_000", "--variant", "coarsened", "--factor", "16"]);
    assert_eq!(value["runs"][0]["grids"], serde_json::json!([1, 13]), "8,192 elements a block");
    PROGRAM.refuses(&["--variant", "coarsened", "--factor", "3"], &["--factor 3: coarsened has 1, 2, 4, 8, 16, 32"]);
    PROGRAM.refuses(&["--variant", "multi_add", "--factor", "1000"], &["1024, 2048", "NUM_PER_BLOCK"]);
    PROGRAM.refuses(&["--variant", "grid_stride", "--factor", "2"], &["grid_stride has no number to be tuned by"]);
}

#[test]
fn other_operations_are_where_the_template_has_them() {
    for op in ["min", "max"] {
        for ty in ["i32", "f32", "f64"] {
            let value = PROGRAM.json(&["--n", "100_003", "--variant", "grid_stride_shuffle", "--op", op, "--type", ty]);
            assert_eq!((&value["runs"][0]["ok"], &value["runs"][0]["op"]), (&Value::Bool(true), &Value::from(op)));
        }
    }
    let left_out = ["segmented_atomic", "coarsened", "multi_add", "grid_stride", "vectorised"];
    assert_eq!(PROGRAM.json(&["--n", "100_003", "--op", "min"])["left_out"], serde_json::json!(left_out));
    PROGRAM.refuses(&["--op", "min", "--variant", "coarsened"], &["--op min: coarsened has no such operation"]);
}

#[test]
fn the_plan_names_the_clear_and_both_launches() {
    PROGRAM.says(
        &["--n", "1_000_000", "--plan"],
        &[
            "1. clear_i32: 0 elements by 1 block of 1 threads",
            "2. segmented_atomic_i32: 1,000,000 elements by 1,954 blocks of 256 threads",
            "2. coarsened_c4_i32: 1,000,000 elements by 489 blocks of 256 threads",
            "1. multi_add_n32768_i32: 1,000,000 elements by 31 blocks of 256 threads",
            "1. grid_stride_i32: 1,000,000 elements by 1,056 blocks of 256 threads",
            "2. grid_stride_i32: 1,056 elements by 1 block of 256 threads",
            "1. vectorised_v16_i32: 1,000,000 elements by 489 blocks of 256 threads",
        ],
    );
}

#[test]
fn the_sweep_tells_counts_and_what_follows() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let chart = folder.path().join("sweep.svg");
    let args = ["--sweep", "--n", "2^16", "--chart", &chart.display().to_string()];
    let lines = [
        "sweep, simulated counts for every 1,000 elements, all launches together",
        "coarsened 32 4 0.0303 256 64.0 2",
        "grid_stride 64 0.485 256 4.00 2",
        "about log2 n = 16.0 elements a thread, 4,096 threads",
        "The V7 note recommends 64 to 256 elements a thread",
        "0.0947 to 0.379 % of the 270,336 threads that 132 multiprocessors hold",
    ];
    PROGRAM.says(&args, &lines);
    let ended = PROGRAM.run(&args);
    assert!(!ended.out.contains("µs") && !ended.out.contains("GB/s"), "no time on the simulator:\n{}", ended.out);
    for line in ended.out.lines().filter(|line| !line.starts_with("chart")) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(std::fs::read_to_string(chart)?.contains("warp instructions an element, simulated, n = 65,536"));
    Ok(())
}

#[test]
fn the_sweep_is_json_on_request() -> Result<()> {
    let value = PROGRAM.json(&["--sweep", "--n", "10_007", "--type", "f32", "--variant", "coarsened"]);
    let points = value["sweep"].as_array().context("points")?;
    assert_eq!(points.len(), 6);
    for point in points {
        assert_eq!((&point["curve"], &point["right"]), (&Value::from("coarsened"), &Value::Bool(true)), "{point:#}");
        assert_eq!((&point["cold_us"], &point["gb_per_s"]), (&Value::Null, &Value::Null));
        assert!(point["counters"]["ptx_inst_executed"].as_u64() > Some(0), "{point:#}");
    }
    assert_eq!(points[0]["grid"], 20, "512 elements a block");
    Ok(())
}

#[test]
fn a_sweep_chooses_its_geometries_itself() {
    for option in [["--grid", "7"], ["--block", "64"], ["--factor", "4"], ["--op", "min"]] {
        PROGRAM.refuses(&[&["--sweep"], &option[..]].concat(), &["--sweep", option[0]]);
    }
    PROGRAM.refuses(&["--sweep", "--n", "0"], &["--n 0", "no geometry"]);
    PROGRAM.refuses(&["--sweep", "--n", "2^31"], &["at most 2,147,483,647"]);
    PROGRAM.refuses(&["--sweep", "--record", "x.json"], &["--record is for a GPU"]);
}
