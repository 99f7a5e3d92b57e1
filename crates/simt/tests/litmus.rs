//! The memory model by litmus tests: a few threads, three places, and what the check for races says.
//!
//! Each file of `tests/litmus` is one shape, and each of its kernels one variant. The head says how many threads a kernel has and
//! the expected findings, with a block for each thread and with a warp for each:
//!
//! ```text
//! //@ threads=2
//! //@ KERNEL blocks: race x, note y          or `warps`; `clean` where there is nothing to say
//! ```
//!
//! For launches of a stream that may overlap the head says `stream`, and each line has their kernels in order, each launched with two
//! warps:
//!
//! ```text
//! //@ stream
//! //@ KERNEL KERNEL: race x
//! ```
//!
//! For devices the head says how many, and each kernel is launched with two blocks on each of them at once, with its rank as the last
//! parameter:
//!
//! ```text
//! //@ devices=2
//! //@ KERNEL: race x
//! ```
//!
//! A `race` is one of PTX; `unfenced` and `update` are what PTX allows and the report calls by that; `note` (order by observation) and
//! `either` (of two writes either may come last) are no faults.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use simt::{Arg, Launch, Memory, Options, StreamLaunch, run_devices};

use crate::host;

const SCHEDULES: [&str; 4] = ["lockstep", "independent", "independent:1", "independent:7"];

/// The object that `--json` prints of one run of a kernel, or of several that overlap.
fn object(file: &Path, head: &str, what: &str, schedule: &str) -> Value {
    let words: Vec<&str> = what.split(' ').collect();
    let (kernel, grid, block, then) = match head.strip_prefix("threads=").map(|all| all.parse::<u32>().unwrap()) {
        Some(all) if words[1..] == ["blocks"] => (words[0], all, 1, &[][..]),
        Some(all) => (words[0], 1, 32 * all, &[][..]),
        None => (words[0], 1, 64, &words[1..]),
    };
    let mut command = host::simt();
    command.arg("run").arg(file).args(["--kernel", kernel, "--schedule", schedule]);
    command.args(["--grid", &grid.to_string(), "--block", &block.to_string()]);
    command.args(then.iter().flat_map(|kernel| ["--then", kernel]));
    command.args((!then.is_empty()).then_some("--overlap"));
    for buffer in ["x=u32[1]:zero", "y=u32[1]:zero", "z=u32[1]:zero", "out=u32[4]:zero"] {
        command.args(["--arg", buffer]);
    }
    host::object(&mut command).0
}

/// The same of a kernel on several devices.
fn object_of_devices(text: &str, devices: u32, kernel: &str, schedule: &str) -> Value {
    let loaded = host::kernel("devices.ptx", text, kernel);
    let mut memory = Memory::new();
    memory.map_all_peers(devices).unwrap();
    let places = [("x", 0), ("y", 1), ("z", 0), ("out", 0)].map(|(name, device)| {
        let address = memory.alloc_on(device, name, 16, 4).unwrap();
        memory.write(address, &[0; 16]).unwrap();
        Arg::Address(address)
    });
    let launch = |device: u32| {
        let args = places.iter().cloned().chain([device.into()]).collect();
        Launch { grid: [2, 1, 1], device, args, ..Launch::default() }
    };
    let launches: Vec<Launch> = (0..devices).map(launch).collect();
    let stream = |launch| vec![StreamLaunch { kernel: &loaded, launch, overlaps: false }];
    let options = Options { schedule: schedule.parse().unwrap(), ..Options::default() };
    let outcomes = run_devices(&launches.iter().map(stream).collect::<Vec<_>>(), &mut memory, &options).unwrap();
    let faults: Vec<_> = outcomes.iter().flatten().flat_map(|outcome| &outcome.faults).collect();
    let notes: Vec<_> = outcomes.iter().flatten().flat_map(|outcome| &outcome.notes).collect();
    json!({ "faults": faults, "notes": notes })
}

/// Findings of one run, by place.
fn verdicts(file: &Path, head: &str, what: &str, schedule: &str) -> BTreeSet<String> {
    let kernel = what;
    let object = match head.strip_prefix("devices=") {
        Some(devices) => object_of_devices(&host::read(file), devices.parse().unwrap(), kernel, schedule),
        None => object(file, head, what, schedule),
    };
    let of = |key: &str| object.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |one: &Value| one["message"].as_str().unwrap().to_owned();
    let named = |message: &str| {
        let place = ["x", "y", "z"].into_iter().find(|name| message.contains(&format!(" {name}[0]")));
        place.unwrap_or_else(|| panic!("{kernel}: {message}")).to_owned()
    };
    let faults = of("faults").into_iter().map(|fault| {
        assert_eq!(fault["code"], "global-race", "{kernel}: {fault}");
        let message = text(&fault);
        let kind = match &message {
            line if line.contains("with nothing to say") => "unfenced",
            line if line.contains("one of the two writes may be lost") => "update",
            _ => "race",
        };
        format!("{kind} {}", named(&message))
    });
    let notes = of("notes").into_iter().map(|note| {
        let kind = match note["kind"].as_str() {
            Some("ordered-by-observation") => "note",
            Some("either-last") => "either",
            _ => panic!("{kernel}: {note}"),
        };
        format!("{kind} {}", named(&text(&note)))
    });
    faults.chain(notes).collect()
}

#[test]
fn every_shape_gets_its_verdict() {
    let mut runs = 0;
    let mut wrong = Vec::new();
    for file in host::files("litmus", "ptx") {
        let text = host::read(&file);
        let heads: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//@ ")).collect();
        let of_stream = heads[0] == "stream";
        let has_threads = heads[0].starts_with("threads=") || heads[0].starts_with("devices=");
        assert!(of_stream || has_threads, "{}: no threads", file.display());
        let mut judged = BTreeSet::new();
        for line in &heads[1..] {
            let (what, expected) = line.split_once(": ").unwrap_or_else(|| panic!("{}: {line}", file.display()));
            judged.extend(what.split(' ').take(if of_stream { usize::MAX } else { 1 }));
            let expected: BTreeSet<String> =
                expected.split(", ").filter(|one| *one != "clean").map(str::to_owned).collect();
            for schedule in SCHEDULES {
                let found = verdicts(&file, heads[0], what, schedule);
                runs += 1;
                if found != expected {
                    wrong.push(format!("{}: {what} under {schedule}: {found:?}", file.display()));
                }
            }
        }
        let kernels = text.lines().filter(|line| line.contains(".visible .entry")).count();
        assert_eq!(judged.len(), kernels, "{}: every kernel has a verdict", file.display());
    }
    assert!(runs > 0, "no litmus tests");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
