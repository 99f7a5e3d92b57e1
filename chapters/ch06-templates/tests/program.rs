//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::trial::{Ended, le_bytes, npy_bytes, program};
use lab::{Array, Op, Type, input};
use serde_json::Value;

fn run(args: &[&str]) -> Result<Ended> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let args = [&["--device", "sim"], args].concat();
    program(env!("CARGO_BIN_EXE_ch06-templates"), &root, &args).context("the program starts")
}

fn runs(args: &[&str]) -> Result<Vec<Value>> {
    let ended = run(&[args, &["--json"]].concat())?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let value: Value = serde_json::from_str(&ended.out)?;
    Ok(value["runs"].as_array().context("runs")?.clone())
}

#[test]
fn both_variants_are_right_for_every_type_and_operation() -> Result<()> {
    for ty in [Type::I32, Type::F32, Type::F64] {
        for op in [Op::Sum, Op::Min, Op::Max] {
            let runs = runs(&["--n", "100_003", "--type", ty.name(), "--op", op.name()])?;
            assert_eq!(runs.len(), 2);
            for run in runs {
                assert_eq!((&run["ok"], &run["announced"]), (&Value::Bool(true), &Value::Null), "{run:#}");
                assert_eq!(run["launches"], 2, "{run:#}");
            }
        }
    }
    Ok(())
}

#[test]
fn each_block_size_has_an_instance_of_its_own() -> Result<()> {
    for block in ["32", "64", "128", "256", "512", "1024"] {
        let ended = run(&["--n", "1000", "--op", "max", "--block", block, "--plan"])?;
        assert_eq!(ended.status, 0, "{}", ended.err);
        for variant in ["template_unrolled", "template_shuffle"] {
            let kernel = format!("{variant}_max_b{block}_i32");
            assert!(ended.out.contains(&kernel), "{kernel} is not in:\n{}", ended.out);
        }
        assert_eq!(run(&["--n", "3000", "--op", "max", "--block", block])?.status, 0);
    }
    Ok(())
}

#[test]
fn a_block_size_without_an_instance_is_refused() -> Result<()> {
    for block in ["16", "96", "768", "2048"] {
        let ended = run(&["--block", block])?;
        assert_eq!(ended.status, 2, "{}", ended.out);
        assert!(ended.err.contains("a power of two from 32 to 1024"), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn the_largest_of_the_readers_negative_numbers() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("negative.npy");
    let numbers = Array::F64(vec![-3.5, -0.25, -7.0]);
    std::fs::write(&path, npy_bytes("<f8", "(3,)", &le_bytes(&numbers)))?;
    for run in runs(&["--input", &path.to_string_lossy(), "--op", "max"])? {
        assert_eq!((run["result"].as_f64(), &run["type"]), (Some(-0.25), &Value::from("f64")), "{run:#}");
    }
    for run in runs(&["--n", "4", "--op", "max"])? {
        assert_eq!(run["result"], -190_250_652, "the page's four numbers: {run:#}");
    }
    let Array::I32(first) = input::random(Type::I32, 4, input::SEED) else { unreachable!("i32 was asked for") };
    assert!(first.iter().all(|&x| x < 0), "the page says that all four are negative: {first:?}");
    Ok(())
}

#[test]
fn the_price_of_each_block_size_is_told() -> Result<()> {
    let ended = run(&["--n", "1000"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "template_unrolled, one full block of i32, in warp-instructions for each element: 0.97 with 32",
        "0.83 with 256, 0.81 with 512, 0.79 with 1024 threads.",
    ] {
        assert!(text.contains(words), "{words:?} is not in:\n{}", ended.out);
    }
    Ok(())
}
