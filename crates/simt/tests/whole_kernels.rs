//! Whole kernels, compiled by NVRTC, against references on the host and, where `tests/gpu/NAME.expected` is, against what
//! a GPU left.
//!
//! A kernel is a `.cu` file in `tests/gpu` with the PTX that NVRTC 12.1 makes of it beside it. One line of its head holds
//! the options of `simt run`:
//!
//! ```text
//! // simt: --kernel fibonacci --grid 3 --block 96 --arg out=u32[288]:zero --arg n=u32:280 --print out
//! ```
//!
//! `dialects/NAME.COMPILER.TARGET.ptx` is the same kernel by another compiler, for another target, or compiled with `-G`
//! (`.debug`, without its debug sections).
//! `NAME.expected` is a JSON object of buffers by name, as `simt run --json` prints under `outputs`.

mod references;

use std::path::{Path, PathBuf};
use std::process::Command;

use references::Elements;
use serde_json::Value;

const SCHEDULES: [&str; 6] =
    ["independent", "lockstep", "independent:1", "independent:2", "independent:3", "independent:4"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu")
}

/// Names of the kernels' files, sorted.
fn kernels() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{} kernels in tests/gpu", names.len());
    names
}

/// The options of the kernel's head line.
fn options(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.cu"))).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("// simt: "));
    let line = line.unwrap_or_else(|| panic!("{name}.cu: no line `// simt: …`"));
    line.split_whitespace().map(str::to_owned).collect()
}

/// Runs a kernel clean; the JSON object.
fn run(name: &str, extra: &[&str]) -> Value {
    run_file(&format!("{name}.ptx"), name, extra)
}

/// The same, from another file than its own.
fn run_file(file: &str, name: &str, extra: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simt"));
    command.current_dir(folder()).args(["run", file, "--json"]);
    let output = command.args(options(name)).args(extra).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{name} {extra:?}: {error}"));
    assert_eq!(object["faults"], Value::Array(Vec::new()), "{name} {extra:?}");
    assert_eq!(output.status.code(), Some(0), "{name} {extra:?}");
    object
}

/// A buffer of the JSON object, as elements of the type that `like` has.
fn elements(values: &Value, like: &Elements) -> Elements {
    let values = values.as_array().unwrap();
    match like {
        Elements::Integers(_) => Elements::Integers(values.iter().map(|v| v.as_i64().unwrap()).collect()),
        Elements::F32(_) => Elements::F32(values.iter().map(|v| v.as_f64().unwrap() as f32).collect()),
        Elements::F64(_) => Elements::F64(values.iter().map(|v| v.as_f64().unwrap()).collect()),
    }
}

#[test]
fn kernels_leave_what_their_references_say_under_every_schedule() {
    let mut compared = 0;
    for name in kernels() {
        let Some(expected) = references::outputs(&name) else {
            // Clean it must run all the same; what it leaves is for a record to say.
            run(&name, &[]);
            if !folder().join(format!("{name}.expected")).exists() {
                println!("{name}: neither a reference nor a record yet");
            }
            continue;
        };
        compared += 1;
        for schedule in SCHEDULES {
            let object = run(&name, &["--schedule", schedule]);
            compare(&object, &expected, &format!("{name} under {schedule}"));
        }
    }
    assert!(compared >= 20, "{compared} kernels with references");
}

/// Whether a run left what the reference says.
fn compare(object: &Value, expected: &references::Outputs, what: &str) {
    for (buffer, wanted) in expected {
        let left = elements(&object["outputs"][buffer], wanted);
        assert_eq!(left, *wanted, "{what}: {buffer}");
    }
}

#[test]
fn other_compilers_and_debug_builds_leave_the_same() {
    let mut dialects = 0;
    for entry in std::fs::read_dir(folder().join("dialects")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let (name, _) = file.split_once('.').unwrap();
        let expected = references::outputs(name).unwrap_or_else(|| panic!("{file}: no reference"));
        let object = run_file(&format!("dialects/{file}"), name, &[]);
        compare(&object, &expected, &file);
        let printed = references::printed(name).map_or(Value::Null, Value::from);
        assert_eq!(object["printed"], printed, "{file}");
        dialects += 1;
    }
    assert!(dialects > 0, "no files in tests/gpu/dialects");
}

#[test]
fn kernels_leave_what_a_gpu_left() {
    let mut records = 0;
    for name in kernels() {
        let Ok(text) = std::fs::read_to_string(folder().join(format!("{name}.expected"))) else { continue };
        let expected: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}.expected: {error}"));
        assert_eq!(run(&name, &[])["outputs"], expected, "{name}");
        records += 1;
    }
    println!("{records} of {} kernels have a record", kernels().len());
}

#[test]
fn what_is_printed_does_not_depend_on_host_threads() {
    for name in kernels() {
        let one = run(&name, &["--threads", "1"]);
        let wanted = references::printed(&name).map_or(Value::Null, Value::from);
        assert_eq!(one["printed"], wanted, "{name}");
        for threads in ["2", "5"] {
            let many = run(&name, &["--threads", threads]);
            for key in ["outputs", "counters", "printed"] {
                assert_eq!(many[key], one[key], "{name}: {key} with {threads} threads");
            }
        }
    }
}
