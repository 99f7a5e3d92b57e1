//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use anyhow::Result;
use lab::Array;
use lab::trial::{Files, integers, le_bytes, npy_bytes};
use serde_json::Value;

use crate::PROGRAM;

#[test]
fn each_block_size_has_an_instance_of_its_own() -> Result<()> {
    for block in ["32", "64", "128", "256", "512", "1024"] {
        let ended = PROGRAM.run(&["--n", "1000", "--op", "max", "--block", block, "--plan"]);
        assert_eq!(ended.status, 0, "{}", ended.err);
        for variant in ["template_unrolled", "template_shuffle"] {
            let kernel = format!("{variant}_max_b{block}_i32");
            assert!(ended.out.contains(&kernel), "{kernel} is not in:\n{}", ended.out);
        }
        assert_eq!(PROGRAM.run(&["--n", "3000", "--op", "max", "--block", block]).status, 0);
    }
    Ok(())
}

#[test]
fn the_largest_of_the_readers_negative_numbers() -> Result<()> {
    let files = Files::new("ch06-negative")?;
    let numbers = Array::F64(vec![-3.5, -0.25, -7.0]);
    let path = files.bytes("negative.npy", &npy_bytes("<f8", "(3,)", &le_bytes(&numbers)))?;
    for run in PROGRAM.runs(&["--input", &path, "--op", "max"]) {
        assert_eq!((run["result"].as_f64(), &run["type"]), (Some(-0.25), &Value::from("f64")), "{run:#}");
    }
    for run in PROGRAM.runs(&["--n", "4", "--op", "max"]) {
        assert_eq!(run["result"], -190_250_652, "the page's four numbers: {run:#}");
    }
    let first = integers(4);
    assert!(first.iter().all(|&x| x < 0), "the page says that all four are negative: {first:?}");
    Ok(())
}

#[test]
fn the_price_of_each_block_size_is_printed() -> Result<()> {
    PROGRAM.says(
        &["--n", "1000"],
        &[
            "template_unrolled, one full block of i32, in warp-instructions for each element: 0.97 with 32",
            "0.83 with 256, 0.81 with 512, 0.79 with 1024 threads.",
        ],
    );
    Ok(())
}
