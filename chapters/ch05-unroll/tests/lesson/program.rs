//! The program as a reader uses it: what it prints, its exit status, and what it says to bad input.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use ch05_unroll::CHAPTER;
use lab::trial::{Ended, Files, ended, le_bytes, npy_bytes, program};
use lab::{Array, Type};
use serde_json::Value;

use crate::PROGRAM;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..")
}

#[test]
fn every_variant_is_right_but_the_announced_one() -> Result<()> {
    let value = PROGRAM.json(&["--n", "1000003"]);
    assert_eq!(value["chapter"], "ch05-unroll");
    assert!(value["device"].is_string());
    let runs = value["runs"].as_array().context("runs")?;
    let names: Vec<&str> = runs.iter().filter_map(|run| run["variant"].as_str()).collect();
    assert_eq!(names, ["unroll_volatile", "unroll_syncwarp", "unroll_shuffle"]);
    for run in runs {
        let announced = run["variant"] == "unroll_volatile";
        assert_eq!(run["ok"], !announced, "{run:#}");
        assert_eq!(run["announced"], if announced { Value::from("shared-race") } else { Value::Null });
        assert_eq!(run["n"], 1_000_003);
        assert_eq!(run["type"], "i32");
        assert_eq!(run["launches"], 3);
        assert!(run["result"].is_i64() && run["expected"].is_i64());
        assert_eq!((run["time_us"].clone(), run["gb_per_s"].clone()), (Value::Null, Value::Null));
        assert!(run["counters"]["ptx_inst_executed"].as_u64() > Some(0));
        let faults = run["faults"].as_array().context("faults")?;
        assert_eq!(faults.is_empty(), !announced);
        for fault in faults {
            assert_eq!(fault["code"], "shared-race");
            assert!(fault["message"].is_string() && fault["lanes"].is_array() && fault["block"].is_array());
            assert!(fault["file"].as_str().is_some_and(|file| file.ends_with("ch05-unroll.cu")));
            assert!(fault["line"].as_u64() > Some(0) && fault["other"]["line"].as_u64() > Some(0), "{fault:#}");
        }
    }
    Ok(())
}

#[test]
fn floats_carry_their_bound() -> Result<()> {
    let runs = PROGRAM.runs(&["--n", "100_000", "--type", "f32", "--variant", "unroll_shuffle"]);
    let run = &runs[0];
    let number = |key: &str| run[key].as_f64().with_context(|| format!("{key} in {run:#}"));
    assert!(number("abs_error")? <= number("error_bound")? && number("error_bound")? < 0.1);
    assert!((number("result")? - number("expected")?).abs() <= 2.0 * number("error_bound")?);
    assert_eq!(runs.len(), 1);
    Ok(())
}

#[test]
fn the_text_says_what_a_reader_needs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let chart = folder.path().join("chart.svg");
    let ended = PROGRAM.run(&["--n", "5000", "--chart", &chart.display().to_string()]);
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    for words in [
        "device   simulator",
        "✗ as announced: shared-race",
        "✓ unroll_shuffle",
        "5,000 random i32, seed 1",
        "counters, simulated",
        "against ch04-first-add's first_add",
        "  launches in all  ",
        "what holds each back",
        "chart.svg",
    ] {
        assert!(ended.out.contains(words), "{words:?} is not in:\n{}", ended.out);
    }
    for variant in CHAPTER.variants {
        let first_words = |text: &str| text.split(' ').take(4).collect::<Vec<_>>().join(" ");
        assert!(ended.out.contains(&first_words(variant.idea)), "{}", ended.out);
        assert!(ended.out.contains(&first_words(variant.limit)), "{}", ended.out);
    }
    assert!(ended.out.contains("sums[tid] += sums[tid + 16];"), "the race's own line:\n{}", ended.out);
    assert!(!ended.out.contains("µs"), "no time on the simulator:\n{}", ended.out);
    for line in ended.out.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    let svg = std::fs::read_to_string(chart)?;
    assert!(svg.contains("role=\"img\"") && svg.contains("unroll_shuffle"));
    Ok(())
}

#[test]
fn nothing_sums_to_zero_without_a_launch() {
    for ty in ["i32", "f32"] {
        for run in PROGRAM.runs(&["--n", "0", "--type", ty]) {
            assert_eq!(
                (run["launches"].as_u64(), run["result"].as_f64(), &run["ok"]),
                (Some(0), Some(0.0), &Value::Bool(true))
            );
        }
    }
    PROGRAM.says(&["--n", "0"], &["no launch"]);
}

#[test]
fn a_race_that_cannot_show_is_said_and_no_failure() {
    for (args, why) in
        [(["--check", "none"], "--check leaves it out"), (["--schedule", "lockstep"], "lanes in lockstep")]
    {
        PROGRAM.says(&[&args[..], &["--n", "3000", "--variant", "unroll_volatile"]].concat(), &[why]);
    }
}

#[test]
fn the_same_command_prints_the_same_text() {
    let command = ["--n", "70000", "--schedule", "independent:3", "--seed", "9"];
    assert_eq!(PROGRAM.run(&command).out, PROGRAM.run(&command).out);
}

#[test]
fn the_readers_own_numbers() -> Result<()> {
    let files = Files::new("ch05-numbers")?;
    let floats =
        |name: &str, numbers: Vec<f32>| files.bytes(name, &npy_bytes("<f4", "(3,)", &le_bytes(&Array::F32(numbers))));
    let ints = files.numbers("ints.npy", Type::I32, "(2, 3)", &[1, 2, 3, 4, 5, 6])?;
    let (floats, nan) = (floats("floats.npy", vec![0.5, 0.25, 4.0])?, floats("nan.npy", vec![0.5, f32::NAN, 4.0])?);
    let cases = [
        (vec!["--input", &ints], Value::from(21), "i32"),
        (vec!["--input", &ints, "--n", "4"], Value::from(10), "i32"),
        (vec!["--input", &floats], Value::from(4.75), "f32"),
        (vec!["--input", &nan], Value::from("NaN"), "f32"),
    ];
    for (args, result, ty) in cases {
        let run = PROGRAM.runs(&[&args[..], &["--variant", "unroll_shuffle"]].concat()).remove(0);
        assert_eq!((&run["result"], &run["type"], &run["ok"]), (&result, &ty.into(), &true.into()), "{args:?}");
    }
    Ok(())
}

#[test]
fn bad_arrays() -> Result<()> {
    let files = Files::new("ch05-arrays")?;
    let four = le_bytes(&Array::I32(vec![1, 2, 3, 4]));
    let good = files.bytes("good.npy", &npy_bytes("<i4", "(4,)", &four))?;
    let of_types = "this chapter sums int32 ('<i4') or float32 ('<f4')";
    for (name, bytes, said) in [
        (
            "truncated.npy",
            npy_bytes("<i4", "(400,)", &four),
            &["truncated: 400 elements of int32 ('<i4') need 1600 bytes", "holds 16"][..],
        ),
        ("long.npy", npy_bytes("<i8", "(2,)", &four), &["holds int64 ('<i8')", of_types]),
        ("complex.npy", npy_bytes("<c8", "(2,)", &four), &["holds '<c8'", "int32 ('<i4')", "float32 ('<f4')"]),
        ("double.npy", npy_bytes("<f8", "(2,)", &four), &["holds float64 ('<f8')", of_types]),
        ("big.npy", npy_bytes(">i4", "(4,)", &four), &["big-endian", "astype('<i4')"]),
        ("text.npy", b"1 2 3 4".to_vec(), &["not a .npy file"]),
        ("empty.npy", Vec::new(), &["truncated"]),
    ] {
        PROGRAM.refuses(&["--input", &files.bytes(name, &bytes)?], &[&[name], said].concat());
    }
    PROGRAM.refuses(&["--input", "no/such/file.npy"], &["no/such/file.npy: cannot be read"]);
    let refuses = |words: &[&str], said: &[&str]| PROGRAM.refuses(&[&["--input", &good], words].concat(), said);
    refuses(&["--type", "f32"], &["holds int32 ('<i4')", "--type f32 wants float32 ('<f4')"]);
    refuses(&["--n", "5"], &["holds 4 elements, --n asks for 5"]);
    refuses(&["--seed", "5"], &["--input", "--seed"]);
    Ok(())
}

#[test]
fn bad_options() {
    for block in ["0", "32", "33", "96", "2048"] {
        PROGRAM.refuses(&["--block", block], &[&format!("--block {block}"), "a power of two from 64 to 1024"]);
    }
    PROGRAM.refuses_all(&[
        ("--block -1", &["--block"]),
        ("--variant unroll_shufle", &["unroll_shufle", "unroll_volatile, unroll_syncwarp, unroll_shuffle"]),
        ("--type f64", &["--type f64", "is compiled for i32 and f32"]),
        ("--type f16", &["--type f16", "is compiled for i32 and f32"]),
        ("--type f128", &["f128", "i32", "f32", "f64"]),
        ("--op min", &["--op min", "sum, and no other operation"]),
        ("--op median", &["median", "sum", "min", "max"]),
        ("--n 5000 --grid 3", &["--grid 3", "needs exactly 10 blocks of 256 threads"]),
        ("--n 2^31", &["at most 2,147,483,647"]),
        ("--n 99999999999999999999", &["64 bits"]),
        ("--n many", &["many", "2^20"]),
        ("--schedule volta", &["volta", "lockstep, independent or independent:SEED"]),
        ("--check races", &["races", "shared-race"]),
        ("--trace t.json", &["--trace", "--variant NAME"]),
        ("--sweep", &["--sweep: ch05-unroll has no geometries to compare"]),
        ("--once", &["--once", "GPU"]),
        ("--chart Cargo.toml/chart.svg --n 100", &["Cargo.toml", "cannot be written"]),
        ("--frobnicate", &["--frobnicate"]),
    ]);
    PROGRAM.refuses(&["--record", "r.json"], &["--record", "GPU"]);
}

#[test]
fn a_trace_holds_the_steps_of_the_first_block() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("trace.json");
    let file = path.to_string_lossy();
    PROGRAM.says(&["--n", "1000", "--variant", "unroll_shuffle", "--trace", &file], &[]);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    assert_eq!((trace["version"].clone(), trace["kernel"].clone()), (3.into(), "unroll_shuffle_i32".into()));
    let steps = trace["steps"].as_array().context("steps")?;
    let opcode = |step: &Value| trace["code"][step["pc"].as_u64().unwrap_or(0) as usize]["opcode"].clone();
    assert_eq!(steps.iter().filter(|step| opcode(step) == "shfl.sync.down.b32").count(), 5);
    assert!(steps.iter().all(|step| step["block"] == serde_json::json!([0, 0, 0])));
    PROGRAM
        .refuses(&["--n", "0", "--variant", "unroll_shuffle", "--trace", &file], &["--trace", "nothing was launched"]);
    Ok(())
}

#[test]
fn a_grid_that_fits_is_taken() {
    let runs = PROGRAM.runs(&["--n", "5000", "--grid", "10", "--variant", "unroll_shuffle"]);
    assert_eq!(runs[0]["grids"][0], 10);
}

#[test]
fn no_gpu_is_a_sentence() -> Result<()> {
    let ended = program(PROGRAM.exe, &root(), &["--device", "gpu", "--n", "1000"])?;
    if ended.status == 0 {
        println!("skipped: this machine has a GPU");
        return Ok(());
    }
    assert_eq!(ended.status, 2, "{}", ended.err);
    assert!(ended.err.starts_with("error: ") && !ended.err.contains("panicked"), "{}", ended.err);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn more_than_memory_holds() -> Result<()> {
    // Eight GiB and their shadow, in an address space of four GiB.
    let mut shell = Command::new("sh");
    let script = r#"ulimit -v 4194304 && exec "$0" --device sim --n 2_000_000_000"#;
    let ended = ended(shell.args(["-c", script, PROGRAM.exe]).current_dir(root()))?;
    assert_eq!(ended.status, 2, "{}{}", ended.out, ended.err);
    for words in ["n = 2,000,000,000 of i32 needs about", "host memory", "take a smaller --n"] {
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    Ok(())
}

/// A copy of the kernels, for a reader who edits them.
fn copied_kernels() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for name in ["ch05-unroll.cu", "ptx/ch05-unroll.ptx"] {
        let to = folder.path().join("kernels").join(name);
        std::fs::create_dir_all(to.parent().context("a folder")?)?;
        std::fs::copy(root().join("kernels").join(name), to)?;
    }
    Ok(folder)
}

fn edit(folder: &Path, from: &str, to: &str) -> Result<()> {
    let path = folder.join("kernels").join("ch05-unroll.cu");
    let text = std::fs::read_to_string(&path)?;
    assert!(text.contains(from), "the kernel has {from}");
    Ok(std::fs::write(path, text.replace(from, to))?)
}

/// Runs the program where no NVRTC can be found: none is installed in the copy, and every other place is hidden.
fn without_nvrtc(folder: &Path, args: &[&str]) -> Result<Ended> {
    let mut command = Command::new(PROGRAM.exe);
    for name in ["CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH", "PATH"] {
        command.env_remove(name);
    }
    Ok(ended(command.env("PATH", folder).args(["--device", "sim"]).args(args).current_dir(folder))?)
}

#[test]
fn kernels_of_the_current_folder_are_run() -> Result<()> {
    let folder = copied_kernels()?;
    let ended = program(PROGRAM.exe, folder.path(), &["--device", "sim", "--n", "3000", "--json"])?;
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    Ok(())
}

#[test]
fn an_edited_kernel_without_a_compiler_is_refused() -> Result<()> {
    let folder = copied_kernels()?;
    edit(folder.path(), "offset = 16", "offset = 8")?;
    let ended = without_nvrtc(folder.path(), &["--n", "3000"])?;
    if !ended.err.contains("no NVRTC") {
        println!("skipped: this machine's loader finds an NVRTC: {}", ended.err);
        return Ok(());
    }
    assert_eq!(ended.status, 2);
    assert!(ended.out.is_empty());
    for words in ["kernels/ch05-unroll.cu", "changed", "cargo course setup"] {
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    Ok(())
}

/// The compiler that `cargo course setup` installed in this tree, made the copy's; `false` if there is none.
fn lend_nvrtc(folder: &Path) -> Result<bool> {
    let installed = root().join("target").join("nvrtc");
    if !installed.is_dir() {
        println!("skipped: no NVRTC in target/nvrtc (cargo course setup installs it)");
        return Ok(false);
    }
    std::fs::create_dir_all(folder.join("target"))?;
    #[cfg(unix)]
    std::os::unix::fs::symlink(installed.canonicalize()?, folder.join("target").join("nvrtc"))?;
    Ok(cfg!(unix))
}

#[test]
fn an_edited_kernel_is_compiled_and_judged() -> Result<()> {
    let folder = copied_kernels()?;
    edit(folder.path(), "offset = 16", "offset = 8")?;
    if lend_nvrtc(folder.path())? {
        let ended =
            program(PROGRAM.exe, folder.path(), &["--device", "sim", "--n", "3000", "--variant", "unroll_shuffle"])?;
        assert_eq!(ended.status, 1, "{}{}", ended.out, ended.err);
        assert!(
            ended.out.contains("not announced: a wrong result") && ended.out.contains("failed: unroll_shuffle"),
            "{}",
            ended.out
        );
        let smaller = "unroll_shuffle is wrong at n = 31 already";
        assert!(ended.out.contains(smaller), "lane 16 has something to bring:\n{}", ended.out);
    }
    Ok(())
}

#[test]
fn a_kernel_that_does_not_compile_shows_the_compilers_words() -> Result<()> {
    let folder = copied_kernels()?;
    edit(folder.path(), "T sum = sums[tid] + sums[tid + 32];", "T sum = sums[tid] + sums[tid + 32]")?;
    if lend_nvrtc(folder.path())? {
        let ended = program(PROGRAM.exe, folder.path(), &["--device", "sim", "--n", "3000"])?;
        assert_eq!(ended.status, 2, "{}{}", ended.out, ended.err);
        for words in ["ch05-unroll.cu", "does not compile", "expected a \";\""] {
            assert!(ended.err.contains(words), "{}", ended.err);
        }
    }
    Ok(())
}

#[test]
fn help_lists_options_and_variants() {
    PROGRAM.says(
        &["--help"],
        &["--schedule", "--input", "--json", "unroll_syncwarp", "For maintainers", "--record", "i32", "f32"],
    );
}

#[test]
fn many_seeds_in_one_command() -> Result<()> {
    let value = PROGRAM.json(&["--seeds", "5", "--n", "1000"]);
    assert_eq!(value["seeds"], 5);
    let runs = value["runs"].as_array().context("runs")?;
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["seeds"], serde_json::json!({"asked": 5, "ran": 5, "first": null}), "{run:#}");
        assert_eq!(run["n"], 1000);
    }
    PROGRAM.says(
        &["--seeds", "2", "--variant", "unroll_volatile,unroll_shuffle"],
        &["20,011 random i32", "independent:0 to independent:1", "as announced: shared-race", "each of the 2 seeds"],
    );
    Ok(())
}

#[test]
fn seeds_that_mean_nothing_are_refused() {
    for wrong in ["0", "-1", "x", ""] {
        PROGRAM.refuses(&["--seeds", wrong], &["--seeds"]);
    }
    for other in [["--schedule", "lockstep"], ["--trace", "steps.json"], ["--chart", "chart.svg"]] {
        PROGRAM.refuses(&[&["--seeds", "3"], &other[..]].concat(), &["--seeds", other[0], "cannot be used with"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() -> Result<()> {
    for words in [&["--n", "1000"][..], &["--n", "1000", "--json"], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
        let output = Command::new(PROGRAM.exe).args(["--device", "sim"]).args(words).stdout(full).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("standard output cannot be written"), "{words:?}: {said}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_judged_fails_unless_that_is_allowed() -> Result<()> {
    let files = Files::new("not-judged")?;
    let numbers = le_bytes(&Array::F32(vec![3e38, -3e38, 3e38, -3e38]));
    let path = files.bytes("large.npy", &npy_bytes("<f4", "(4,)", &numbers))?;
    let args = ["--input", &path, "--variant", "unroll_shuffle"];
    let ended = PROGRAM.run(&[&args[..], &["--json"]].concat());
    let run = &serde_json::from_str::<Value>(&ended.out)?["runs"][0];
    assert_eq!((ended.status, &run["ok"], &run["judged"]), (1, &false.into(), &false.into()), "{run:#}");
    assert!(run["not_judged"].as_str().is_some_and(|why| why.contains("may overflow")), "{run:#}");
    let allowed = PROGRAM.run(&[&args[..], &["--allow-unjudged"]].concat());
    assert!(allowed.status == 0 && allowed.out.contains("  ? unroll_shuffle"), "{}", allowed.out);
    assert!(!allowed.out.contains('✓') && allowed.out.contains("? not judged: values on the way"), "{}", allowed.out);
    let runs = PROGRAM.runs(&["--n", "1000", "--variant", "unroll_shuffle"]);
    assert!(runs[0]["judged"] == true && runs[0]["not_judged"].is_null());
    Ok(())
}
