//! Chapter 14 end to end: its program on two and more devices of the simulator.

use lab::trial::Program;
use serde_json::Value;

const PROGRAM: Program = Program { exe: env!("CARGO_BIN_EXE_ch14-all-reduce") };
const ROUTES: [&str; 5] = ["one_shot_pull", "one_shot_push", "two_shot_direct", "two_shot_push", "low_latency"];
const RACES: [&str; 3] = ["device_scope", "reused", "overwritten"];

fn codes(run: &Value) -> Vec<&str> {
    run["faults"].as_array().expect("a list").iter().map(|fault| fault["code"].as_str().expect("a code")).collect()
}

fn named<'a>(runs: &'a [Value], name: &str) -> &'a Value {
    runs.iter().find(|run| run["variant"] == name).unwrap_or_else(|| panic!("{name} did not run"))
}

/// Every route gives every rank the same bits; every wrong kernel shows what is announced of it.
fn right_and_wrong(ranks: u64, args: &[&str]) {
    let count = ranks.to_string();
    let runs = PROGRAM.runs(&[&["--ranks", &count], args].concat());
    assert_eq!(runs.len(), ROUTES.len() + RACES.len() + 1);
    for run in &runs {
        assert_eq!((&run["ranks"], &run["launches"], &run["calls"]), (&ranks.into(), &ranks.into(), &4.into()));
        assert_eq!(run["judged"], 4 * ranks * run["n"].as_u64().expect("a number"), "every element on every rank");
        assert_eq!((&run["time_us"], &run["gb_per_s"]), (&Value::Null, &Value::Null), "a simulator has no clock");
    }
    for route in ROUTES {
        let run = named(&runs, route);
        assert_eq!((&run["ok"], &run["wrong"], &run["announced"]), (&true.into(), &0.into(), &Value::Null), "{run:#}");
        assert_eq!(run["result"], run["expected"]);
        // What a rank reads from its peers and writes to them, but for flags.
        let bytes = |key: &str| run["counters"][key].as_u64().unwrap_or(0);
        let crossed = bytes("ptx_peer_ld_bytes") + bytes("ptx_peer_st_bytes");
        let flags = crossed - run["link_bytes"].as_u64().expect("a number");
        let meetings = if route.starts_with("two_shot") { 2 } else { 1 };
        let grid = run["grid"].as_u64().expect("a number");
        let expected = if route == "low_latency" { 0 } else { 8 * meetings * grid * (ranks - 1) };
        assert_eq!(flags, expected, "{route}");
    }
    for wrong in RACES {
        let run = named(&runs, wrong);
        assert_eq!((&run["ok"], &run["announced"]), (&false.into(), &"global-race".into()), "{run:#}");
        assert!(!codes(run).is_empty() && codes(run).iter().all(|code| *code == "global-race"), "{run:#}");
    }
    // Two numbers have one sum, whichever comes first.
    let arrival = named(&runs, "arrival");
    assert_eq!((&arrival["ok"], &arrival["announced"]), (&(ranks < 3).into(), &"other-bits".into()), "{arrival:#}");
    assert_eq!(arrival["wrong"] == 0, ranks < 3);
    assert!(codes(arrival).is_empty());
}

#[test]
fn two_devices_and_eight() {
    right_and_wrong(2, &[]);
    right_and_wrong(8, &["--n", "1024"]);
}

#[test]
fn each_type_and_operation_by_each_route() {
    for args in
        [["--type", "bf16", "--op", "sum"], ["--type", "bf16", "--op", "maximum"], ["--type", "f32", "--op", "maximum"]]
    {
        for (ranks, n) in [("1", "100"), ("3", "1_001"), ("2", "0")] {
            let object = PROGRAM.json(&[&args[..], &["--ranks", ranks, "--n", n]].concat());
            let runs = object["runs"].as_array().expect("a list");
            assert!(runs.len() == ROUTES.len() && runs.iter().all(|run| run["ok"] == true), "{runs:#?}");
            assert_eq!(object["left_out"], serde_json::json!(["device_scope", "reused", "overwritten", "arrival"]));
        }
    }
}

#[test]
fn the_text_says_what_crosses_the_links_and_what_was_found() {
    PROGRAM.says(
        &[],
        &[
            "devices 2 x simulator",
            "4,096 random f32 on each device (16.0 KiB), seed 1",
            "route low_latency",
            "✓ two_shot_push all ranks have the bits of the 4,096 sums in the order of ranks",
            "4 calls: 2 ranks x 2 blocks x 512 threads",
            "✗ as announced: global-race between two devices",
            "two numbers have the same sum in either order; --device sim --ranks 4 shows it",
            "found in device_scope error[global-race]: reads flags[2] of device 0 while device 1 may still be writing it",
            "ptx_peer_ld_bytes 16,384 0 8,192 0 0",
            "link_bytes 16,384 16,384 16,384 16,384 32,768",
            "overwritten a rank that is ahead leaves its next array where a peer still reads the last one",
        ],
    );
    let text = PROGRAM.run(&[]).out;
    assert!(!text.contains("µs") && !text.contains("failed"), "{text}");
    PROGRAM.says(
        &["--ranks", "4", "--variant", "arrival"],
        &["✗ as announced: other bits", "of the order of ranks, and no fault"],
    );
    PROGRAM.says(
        &["--op", "maximum"],
        &["left out for want of --op maximum: device_scope, reused, overwritten and arrival"],
    );
    PROGRAM.says(&["--ranks", "1", "--variant", "reused"], &["does not show here: one rank waits for no other"]);
}

#[test]
fn checks_and_schedules_are_the_readers() {
    let run = |args: &[&str], name: &str| named(&PROGRAM.runs(&[args, &["--variant", name]].concat()), name).clone();
    // Without the check a wrong result alone is no finding of a race.
    let spoiled = run(&["--check", "none"], "reused");
    assert!(codes(&spoiled).is_empty() && spoiled["wrong"].as_u64() > Some(0), "{spoiled:#}");
    PROGRAM.says(&["--check", "none", "--variant", "reused"], &["does not show here: --check leaves it out"]);
    assert_eq!(codes(&run(&["--schedule", "lockstep"], "device_scope"))[0], "global-race");
    let seeds = ["--seeds", "6", "--n", "300", "--ranks", "3"];
    assert_eq!(run(&seeds, "arrival")["seeds"]["asked"], 6);
    assert!(run(&seeds, "arrival")["seeds"]["found"].as_u64() >= Some(4));
    assert_eq!(
        run(&seeds, "two_shot_direct")["seeds"],
        serde_json::json!({"asked": 6, "ran": 6, "found": 0, "first": null})
    );
    let results = |seed: &str| {
        let schedule = format!("independent:{seed}");
        run(&["--ranks", "4", "--n", "64", "--schedule", &schedule], "arrival")["wrong"].clone()
    };
    assert_ne!(results("1"), results("2"), "other ranks come first");
    let again = [results("1"), results("1")];
    assert_eq!(again[0], again[1], "a seed repeats a run");
}

#[test]
fn the_object_has_the_keys_of_other_chapters() {
    let object = PROGRAM.json(&["--ranks", "3", "--n", "2^8", "--seed", "7"]);
    assert_eq!((&object["chapter"], &object["device"]), (&"ch14-all-reduce".into(), &"simulator".into()));
    assert_eq!((&object["seed"], &object["schedule"]), (&7.into(), &"independent".into()));
    assert_eq!((&object["runs"][0]["call"], &object["runs"][0]["index"]), (&1.into(), &0.into()));
    assert_eq!((&object["route"], object["devices"].as_array().map(Vec::len)), (&"low_latency".into(), Some(3)));
    let run = &object["runs"][0];
    for key in [
        "variant",
        "ranks",
        "n",
        "type",
        "ok",
        "announced",
        "result",
        "expected",
        "abs_error",
        "error_bound",
        "launches",
        "counters",
        "faults",
        "time_us",
        "gb_per_s",
    ] {
        assert!(run.get(key).is_some(), "{key} is missing: {run:#}");
    }
    let other = PROGRAM.json(&["--ranks", "3", "--n", "2^8", "--seed", "8"]);
    assert_ne!(other["runs"][0]["result"], run["result"], "the seed decides the numbers");
}

/// A fast rank overwrites what a slow one has read already, as it happens: every element is right, and the race is found.
#[test]
fn a_race_may_leave_every_result_right() {
    let runs = PROGRAM.runs(&["--ranks", "4", "--n", "1024", "--variant", "overwritten"]);
    let run = named(&runs, "overwritten");
    assert_eq!((&run["wrong"], codes(run)[0]), (&0.into(), "global-race"), "{run:#}");
    let seed =
        PROGRAM.runs(&["--ranks", "4", "--n", "1024", "--variant", "overwritten", "--schedule", "independent:0"]);
    assert!(named(&seed, "overwritten")["wrong"].as_u64() > Some(0), "under another schedule elements are wrong");
}

/// Where there are GPUs that reach each other: every route is right and has a time.
#[test]
fn gpus_have_the_bits_and_a_clock() {
    let args = ["--device", "gpu", "--json", "--n", "10_007"];
    let ended = lab::trial::program(PROGRAM.exe, &lab::session::built_root(), &args).expect("the program starts");
    if ended.status == 2 && ended.err.contains("cannot be had") {
        return println!("skipped: {}", ended.err);
    }
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let object: Value = serde_json::from_str(&ended.out).expect("it is JSON");
    let runs = object["runs"].as_array().expect("a list");
    for route in ROUTES {
        let run = named(runs, route);
        assert!(run["ok"] == true && run["time_us"].as_f64() > Some(0.0) && run["gb_per_s"].is_number(), "{run:#}");
    }
    for wrong in RACES {
        assert!(named(runs, wrong)["time_us"].is_null(), "a wrong kernel has no time");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    PROGRAM.refuses_all(&[
        ("--ranks 0", &["--ranks", "1 to 8 devices"]),
        ("--ranks 9", &["--ranks", "1 to 8 devices"]),
        ("--ranks two", &["--ranks", "expected a whole number"]),
        ("--ranks -1", &["-1"]),
        ("--n -1", &["-1"]),
        ("--n many", &["--n", "expected a whole number"]),
        ("--n 2^40", &["--n 1,099,511,627,776: the kernels take arrays of up to", "elements of f32"]),
        ("--n 262145 --variant low_latency", &["--variant low_latency", "up to 262,144 elements, 1.0 MiB"]),
        ("--type f64", &["--type", "f32, bf16"]),
        ("--op prod", &["--op", "sum, maximum"]),
        ("--variant two_shots", &["--variant two_shots", "two_shot_push", "all"]),
        ("--variant reused --type bf16", &["--variant reused", "it adds f32"]),
        ("--schedule backwards", &["--schedule", "lockstep"]),
        ("--check everything", &["--check"]),
        ("--seeds 0", &["--seeds", "from 1"]),
        ("--seeds 3 --schedule lockstep", &["cannot be used with"]),
        ("--device gpu0", &["--device"]),
    ]);
}
