//! The simulator's verdicts beside compute-sanitizer's, on every fixture of `tests/pass` and `tests/fail`, and the figures that
//! NVIDIA publishes for the tool's own samples, on kernels of ours with the same mistakes.
//!
//! `tests/sanitizer/h200.json` is what `scripts/sanitize_fixtures.py` recorded. `tests/sanitizer/reasons.toml` says why the two
//! differ where they do; a difference that it does not explain fails, and so does a reason that no difference needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use simt_fixtures::request;

use crate::host;
use crate::records::{self, Reasons};

/// Codes that each of the tool's checks can find. It does not look for the others.
const TOOLS: [(&str, &[&str]); 4] = [
    ("memcheck", &["out-of-bounds", "misaligned", "stack-overflow", "trap"]),
    ("racecheck", &["shared-race"]),
    ("initcheck", &["uninitialised-read"]),
    ("synccheck", &["barrier-divergence", "mask-mismatch"]),
];

/// Codes with which a fixture is annotated, which `tests/fixtures.rs` holds the simulator to.
fn codes(fixture: &str) -> BTreeSet<String> {
    let text = |extension: &str| {
        std::fs::read_to_string(host::folder().join(format!("{fixture}.{extension}"))).unwrap_or_default()
    };
    let both = text("ptx") + &text("cu");
    let marks = both.split("//~ ERROR[").skip(1);
    marks.filter_map(|mark| mark.split_once(']')).map(|(code, _)| code.to_owned()).collect()
}

/// The PTX files below `tests/pass` and `tests/fail`, without their extension.
fn fixtures() -> Vec<String> {
    let folders = [vec!["pass".into()], host::entries("fail")].concat();
    let files = folders.iter().flat_map(|folder| host::files(folder, "ptx"));
    files.map(|path| path.with_extension("").to_string_lossy().into_owned()).collect()
}

/// Current place of the fixture: a fault that has got another code has moved to another folder since the record was made.
fn now(fixture: &str) -> String {
    let name = Path::new(fixture).file_name();
    let moved = || fixtures().into_iter().find(|other| Path::new(other).file_name() == name);
    let is_there = host::folder().join(format!("{fixture}.ptx")).exists();
    (!is_there).then(moved).flatten().unwrap_or_else(|| fixture.to_owned())
}

#[test]
fn verdicts_differ_from_the_tools_only_for_known_reasons() {
    let Some(record) = records::read(&host::folder().join("sanitizer/h200.json")) else { return };
    let mut reasons = Reasons::read(&host::folder().join("sanitizer/reasons.toml"), &["tool", "fixture", "code"]);
    let verdicts = record["verdicts"].as_array().expect("a record has verdicts");
    let mut by_fixture: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for verdict in verdicts {
        by_fixture.entry(now(verdict["fixture"].as_str().unwrap())).or_default().push(verdict);
    }
    assert!(!by_fixture.is_empty(), "a record of no fixture");
    by_fixture.retain(|fixture, _| {
        let is_there = host::folder().join(format!("{fixture}.ptx")).exists();
        if !is_there {
            println!("{fixture} has a record and is no more");
        }
        is_there
    });
    let mut agreed = 0;
    for (fixture, verdicts) in &by_fixture {
        agreed += compare(fixture, verdicts, &mut reasons);
    }
    for fixture in fixtures().iter().filter(|name| !by_fixture.contains_key(*name)) {
        println!("{fixture} has no record yet");
    }
    println!("{agreed} of {} verdicts agree", verdicts.len());
    reasons.settle();
}

/// Returns whether this line of the recorder's says that the driver did not load the fixture.
fn says_refused(line: &Value) -> bool {
    line.as_str().is_some_and(|line| line.contains("load the PTX"))
}

/// Number of the tool's checks that agree with the simulator about this fixture.
fn compare(fixture: &str, verdicts: &[&Value], reasons: &mut Reasons) -> usize {
    let codes = codes(fixture);
    // If fixtures share a process, only the tool that ran this one alone has its line.
    let refused = verdicts.iter().any(|verdict| verdict["program"].as_array().unwrap().iter().any(says_refused));
    if refused {
        println!("{fixture}: the driver refused the PTX, so that the tool had nothing to judge");
    }
    let mut agreed = 0;
    for verdict in verdicts {
        records::check_hash(&host::folder().join(format!("{fixture}.ptx")), verdict);
        let tool = verdict["tool"].as_str().unwrap();
        if refused {
            continue;
        }
        let (_, found) = TOOLS.iter().find(|(name, _)| *name == tool).unwrap_or_else(|| panic!("no tool {tool}"));
        let ours: Vec<&str> = found.iter().copied().filter(|code| codes.contains(*code)).collect();
        let count = |key: &str| verdict[key].as_u64().unwrap_or(0);
        let theirs = count("errors") + count("warnings");
        if ours.is_empty() == (theirs == 0) {
            agreed += 1;
            continue;
        }
        let timed_out = if verdict["timed_out"] == true { ", it did not end" } else { "" };
        let what = format!("we say {ours:?}, it says {theirs} errors{timed_out}: {}", verdict["said"]);
        reasons.meet(&format!("{tool} {fixture}"), &what);
    }
    for code in codes.iter().filter(|code| TOOLS.iter().all(|(_, found)| !found.contains(&code.as_str()))) {
        reasons.meet(code, &format!("no check of the tool looks for it ({fixture})"));
    }
    agreed
}

/// Faults that the simulator finds in a fixture when lanes may run apart.
fn faults(fixture: &str) -> Vec<Value> {
    let ptx = host::folder().join(format!("{fixture}.ptx"));
    let (object, _) = host::object(host::simt().arg("run").arg(&ptx).args(request::options(&ptx).unwrap()));
    object["faults"].as_array().unwrap().clone()
}

fn total(faults: &[Value]) -> u64 {
    faults.iter().map(|fault| fault["count"].as_u64().unwrap()).sum()
}

/// Threads at both sites.
fn lanes_at_both_sites(fault: &Value) -> usize {
    let lanes = |site: &Value| site["lanes"].as_array().map_or(0, Vec::len);
    lanes(fault) + lanes(&fault["other"])
}

/// NVIDIA's sample `block_error`: 508 hazards. The tool counts bytes: 127 threads write an `int` each that thread 0 reads with no
/// barrier between (its own is no hazard). The simulator counts pairs of accesses to one element, so four bytes a pair.
#[test]
fn racecheck_block_error_has_508_hazards() {
    let faults = faults("fail/shared-race/sum_by_one_thread");
    assert!(faults.iter().all(|fault| fault["code"] == "shared-race"), "{faults:?}");
    assert_eq!(total(&faults) * 4, 508);
}

/// `warp_error`: a warning, for both threads are in one warp; there is none at the block's own sum, behind its barrier. Here 31
/// lanes of each of two warps write what their first lane reads.
#[test]
fn racecheck_warp_error_is_within_warps() {
    let faults = faults("fail/shared-race/sum_by_the_first_lane");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0]["warp"], faults[0]["other"]["warp"]);
    assert_eq!((&faults[0]["action"], &faults[0]["other"]["action"]), (&"reads".into(), &"writes".into()));
    assert_eq!(total(&faults), 2 * 31);
}

/// `divergent_threads`: 32 errors, one for each thread of warp 1. The tool counts threads of the warp that stand at two places;
/// the simulator reports one fault whose two sites have those threads between them: 16 wait in the loop, 16 have left it.
#[test]
fn synccheck_divergent_threads_are_32() {
    let faults = faults("fail/barrier-divergence/barrier_in_the_last_round");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!((&faults[0]["code"], &faults[0]["warp"]), (&"barrier-divergence".into(), &1.into()));
    assert_eq!(faults[0]["other"]["warp"], 1);
    assert_eq!(lanes_at_both_sites(&faults[0]), 32);
}

/// `illegal_syncwarp`: invalid arguments, by thread 16 alone.
#[test]
fn synccheck_illegal_syncwarp_is_lane_16() {
    let faults = faults("fail/mask-mismatch/one_lane_too_many");
    assert_eq!((faults.len(), total(&faults)), (1, 1), "{faults:?}");
    assert_eq!((&faults[0]["code"], &faults[0]["lanes"]), (&"mask-mismatch".into(), &serde_json::json!([16])));
}

/// `memset_error`: reads of 4 bytes that were not set, for as many bytes were as there are elements. Of 64 elements 16 have been.
#[test]
fn initcheck_memset_error_is_of_four_bytes_each() {
    let faults = faults("fail/uninitialised-read/bytes_for_elements");
    assert_eq!((faults.len(), total(&faults)), (1, 64 - 16), "{faults:?}");
    assert_eq!((&faults[0]["code"], &faults[0]["opcode"]), (&"uninitialised-read".into(), &"ld.global.u32".into()));
}

/// `suppressions_initcheck_demo`: 1 error, thread 122, one byte of whose element is missing.
#[test]
fn initcheck_demo_is_thread_122() {
    let faults = faults("fail/uninitialised-read/one_byte_short");
    assert_eq!((faults.len(), total(&faults)), (1, 1), "{faults:?}");
    assert_eq!((&faults[0]["warp"], &faults[0]["lanes"]), (&(122 / 32).into(), &serde_json::json!([122 % 32])));
}

/// `memcheck_demo`: a write one byte behind an aligned address, and one to 0x87654320, by one thread each.
#[test]
fn memcheck_demo_has_two_errors() {
    let unaligned = faults("fail/misaligned/one_byte_further");
    assert_eq!((total(&unaligned), &unaligned[0]["code"]), (1, &"misaligned".into()), "{unaligned:?}");
    let address = unaligned[0]["message"].as_str().unwrap();
    assert!(address.contains("01 is no multiple of 4"), "{address}");
    let outside = faults("fail/out-of-bounds/number_for_an_address");
    assert_eq!((total(&outside), &outside[0]["code"]), (1, &"out-of-bounds".into()), "{outside:?}");
    let address = outside[0]["message"].as_str().unwrap();
    assert!(address.contains("0x87654320"), "{address}");
}
