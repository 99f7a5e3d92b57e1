//! Whole kernels against references on the host, and against what a GPU left and counted: `tests/gpu` holds kernels compiled by
//! NVRTC, `tests/unseen` kernels that nvcc made on the machine with the card.
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
//! `h200.json` holds what an H200 left, `h200-ncu.json` what Nsight Compute counted there; `counters.toml` says why a count may
//! differ. `scripts/gpu_fixtures.sh` makes all of that.
//!
//! `tests/undefined` holds kernels, made likewise, whose lanes do not come to a barrier or a `.sync` instruction as PTX asks. It
//! leaves open what becomes of them; the record says what an H200 made of them, and the simulator does the same.

use std::path::PathBuf;

use serde_json::Value;
use simt_fixtures::request;

use crate::host;
use crate::records::{self, Reasons};
use crate::references::{self, Elements};

const SCHEDULES: [&str; 6] =
    ["independent", "lockstep", "independent:1", "independent:2", "independent:3", "independent:4"];

/// Not run under seeds, the last of SCHEDULES: the first votes among the lanes that are active together, which a seed drives apart;
/// in the second all blocks but one wait for a long time, which costs seconds.
const WITHOUT_SEEDS: [&str; 2] = ["lane_masks", "flag_chain_backwards"];

/// Kernels that `tests/gpu` must have, and that a record of it must have.
const KERNELS_MIN: usize = 60;

fn tests(folder: &str) -> PathBuf {
    host::folder().join(folder)
}

/// Names of the kernels' files, sorted.
fn kernels() -> Vec<String> {
    let names: Vec<String> =
        host::files("gpu", "cu").iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert!(names.len() >= KERNELS_MIN, "{} kernels in tests/gpu", names.len());
    names
}

/// Runs a kernel clean; the JSON object.
fn run(name: &str, extra: &[&str]) -> Value {
    run_file("gpu", &format!("{name}.ptx"), name, extra)
}

/// The same, from another file than its own.
fn run_file(within: &str, file: &str, name: &str, extra: &[&str]) -> Value {
    let options = request::options(&tests(within).join(format!("{name}.ptx"))).unwrap();
    let mut command = host::simt();
    command.current_dir(tests(within)).args(["run", file]).args(options).args(extra);
    let (object, status) = host::object(&mut command);
    if within != "undefined" {
        assert_eq!(object["faults"], Value::Array(Vec::new()), "{name} {extra:?}");
        assert_eq!(status, Some(0), "{name} {extra:?}");
    }
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
fn kernels_leave_what_references_and_a_gpu_say_under_every_schedule() {
    let record = records::read(&tests("gpu").join("h200.json"));
    let recorded = record.as_ref().map(records::kernels);
    let names = kernels();
    let gone = recorded.into_iter().flat_map(|kernels| kernels.keys()).find(|name| !names.contains(name));
    assert_eq!(gone, None, "a record of no kernel");
    let (mut with_reference, mut with_record, mut differences) = (0, 0, Vec::new());
    for name in &names {
        let expected = references::outputs(name);
        with_reference += usize::from(expected.is_some());
        if let Some(kernel) = recorded.and_then(|kernels| kernels.get(name)) {
            with_record += 1;
            differences.extend(compare_with_gpu("gpu", name, kernel, expected.as_ref()));
            continue;
        }
        println!("{name} has no record yet");
        // Clean it must run all the same; what it leaves without a reference is for a record to say.
        for schedule in if expected.is_some() { &SCHEDULES[..] } else { &SCHEDULES[..1] } {
            let object = run(name, &["--schedule", schedule]);
            expected.iter().for_each(|expected| compare(&object, expected, &format!("{name} under {schedule}")));
        }
    }
    assert!(with_reference >= 20, "{with_reference} kernels with references");
    assert!(recorded.is_none() || with_record >= KERNELS_MIN, "{with_record} kernels have a record");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Asserts that a run left what the reference says.
fn compare(object: &Value, expected: &references::Outputs, what: &str) {
    for (buffer, right) in expected {
        let left = elements(&object["outputs"][buffer], right);
        assert_eq!(left, *right, "{what}: {buffer}");
    }
}

#[test]
fn other_compilers_and_debug_builds_leave_the_same() {
    let mut dialects = 0;
    for path in host::entries("gpu/dialects") {
        let file = path.file_name().unwrap().to_string_lossy();
        let (name, _) = file.split_once('.').unwrap();
        let expected = references::outputs(name).unwrap_or_else(|| panic!("{file}: no reference"));
        let object = run_file("gpu", &format!("dialects/{file}"), name, &[]);
        compare(&object, &expected, &file);
        let printed = references::printed(name).map_or(Value::Null, Value::from);
        assert_eq!(object["printed"], printed, "{file}");
        dialects += 1;
    }
    assert!(dialects > 0, "no files in tests/gpu/dialects");
}

/// PTX of another compiler and target, made where this project's own never was.
#[test]
fn kernels_by_nvcc_leave_what_a_gpu_left() {
    let Some(record) = records::read(&tests("unseen").join("h200.json")) else { return };
    let differences: Vec<String> = records::kernels(&record)
        .iter()
        .flat_map(|(name, kernel)| compare_with_gpu("unseen", name, kernel, None))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A kernel that hung there is a deadlock or a barrier that is missed here, and none gets as far as to store; one that ended leaves
/// the same here.
#[test]
fn kernels_that_ptx_leaves_undefined_end_as_on_a_gpu() {
    let Some(record) = records::read(&tests("undefined").join("h200.json")) else { return };
    let mut reasons = Reasons::read(&tests("undefined").join("reasons.toml"), &["kernel"]);
    for (name, recorded) in records::kernels(&record) {
        records::check_hash(&tests("undefined").join(format!("{name}.ptx")), recorded);
        let object = run_file("undefined", &format!("{name}.ptx"), name, &[]);
        let codes: Vec<&str> =
            object["faults"].as_array().unwrap().iter().map(|fault| fault["code"].as_str().unwrap()).collect();
        let hangs = codes.iter().any(|code| ["deadlock", "barrier-divergence"].contains(code));
        let differs = match recorded["error"].as_str() {
            Some(error) if !hangs || has_stored(&object) => {
                Some(format!("it ends with {codes:?}, where the GPU's words are: {error}"))
            }
            Some(_) => None,
            None if codes.contains(&"deadlock") => Some(format!("it ends with {codes:?}, where the GPU went on")),
            None => difference("undefined", name, recorded, &object),
        };
        if let Some(differs) = differs {
            reasons.meet(name, &differs);
        }
    }
    reasons.settle();
}

/// Returns whether a run has left anything but the zeros that were in its buffers.
fn has_stored(object: &Value) -> bool {
    let buffers = object["outputs"].as_object().unwrap();
    buffers.values().flat_map(|buffer| buffer.as_array().unwrap()).any(|value| value.as_i64() != Some(0))
}

/// Differences under any schedule, of which each leaves what the reference says.
fn compare_with_gpu(within: &str, name: &str, recorded: &Value, expected: Option<&references::Outputs>) -> Vec<String> {
    records::check_hash(&tests(within).join(format!("{name}.ptx")), recorded);
    if let Some(launch) = recorded["launch"].as_str() {
        let now = request::options(&tests(within).join(format!("{name}.ptx"))).unwrap().join(" ");
        assert_eq!(launch, now, "{name}: the record is of another launch");
    }
    if let Some(error) = recorded["error"].as_str() {
        return vec![format!("{name}: the GPU gave an error: {error}")];
    }
    assert!(
        recorded["outputs"].as_object().is_some_and(|outputs| !outputs.is_empty()),
        "{name}: a record of no buffer"
    );
    let each = |schedule: &&str| {
        let object = run_file(within, &format!("{name}.ptx"), name, &["--schedule", schedule]);
        expected.into_iter().for_each(|expected| compare(&object, expected, &format!("{name} under {schedule}")));
        difference(within, name, recorded, &object).map(|difference| format!("{name} under {schedule}: {difference}"))
    };
    let count = if WITHOUT_SEEDS.contains(&name) { 2 } else { SCHEDULES.len() };
    SCHEDULES[..count].iter().find_map(each).into_iter().collect()
}

/// The first difference, bit for bit: buffers, then the printed lines, which a GPU prints in an order of its own.
fn difference(within: &str, name: &str, recorded: &Value, object: &Value) -> Option<String> {
    let options = request::options(&tests(within).join(format!("{name}.ptx"))).unwrap();
    for (buffer, recorded) in recorded["outputs"].as_object()? {
        let spec = options.iter().find_map(|option| option.strip_prefix(&format!("{buffer}=")));
        let (ty, _) =
            spec.and_then(|spec| spec.split_once('[')).unwrap_or_else(|| panic!("{name}: no buffer {buffer}"));
        let left = records::bytes(&object["outputs"][buffer], ty);
        if let Some(difference) = records::difference(&left, recorded) {
            return Some(format!("{buffer}: {difference}"));
        }
    }
    let lines = |printed: &Value| {
        let mut lines: Vec<String> = printed.as_str().unwrap_or_default().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (ours, theirs) = (lines(&object["printed"]), lines(&recorded["printed"]));
    (ours != theirs).then(|| format!("printed {ours:?} where the GPU printed {theirs:?}"))
}

#[test]
fn counters_are_those_of_nsight_compute() {
    for within in ["gpu", "unseen"] {
        let Some(record) = records::read(&tests(within).join("h200-ncu.json")) else { continue };
        let mut reasons = Reasons::read(&tests(within).join("counters.toml"), &["kernel", "metric"]);
        let mut equal = 0;
        for (name, kernel) in records::kernels(&record) {
            records::check_hash(&tests(within).join(format!("{name}.ptx")), kernel);
            let object = run_file(within, &format!("{name}.ptx"), name, &["--check", "none"]);
            for (metric, counted) in kernel["metrics"].as_object().unwrap() {
                let simulated = object["counters"][metric].as_f64().unwrap_or_else(|| panic!("no counter {metric}"));
                if counted.as_f64() == Some(simulated) {
                    equal += 1;
                    continue;
                }
                reasons.meet(&format!("{name} {metric}"), &format!("simulated {simulated}, counted {counted}"));
            }
        }
        println!("{within}: {equal} counters of {} kernels are equal", records::kernels(&record).len());
        reasons.settle();
    }
}

#[test]
fn what_is_printed_does_not_depend_on_host_threads() {
    for name in kernels() {
        let one = run(&name, &["--threads", "1"]);
        let expected = references::printed(&name).map_or(Value::Null, Value::from);
        assert_eq!(one["printed"], expected, "{name}");
        for threads in ["2", "5"] {
            let many = run(&name, &["--threads", threads]);
            for key in ["outputs", "counters", "printed"] {
                assert_eq!(many[key], one[key], "{name}: {key} with {threads} threads");
            }
        }
    }
}
