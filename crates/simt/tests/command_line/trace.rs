//! `simt run --trace`: the file is what `simt::trace::SCHEMA` says, and holds what was asked for.

use std::collections::BTreeSet;

use simt::trace::{SCHEMA, VERSION};

use super::*;

/// Runs a file of the tests' folder with these options, expects this status; the trace, and what was printed.
fn traced(file: &str, options: &str, status: i32) -> (Value, String) {
    let folder = Folder::new();
    let path = host::folder().join(file);
    let options = format!("run {} {options} --trace steps.json", path.display());
    let output = folder.simt(&options);
    assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
    let trace = std::fs::read(folder.path().join("steps.json")).unwrap();
    (serde_json::from_slice(&trace).unwrap(), text(&output.stdout))
}

const BLOCK_SUM: &str = "--kernel block_sum --grid 3 --block 128 --arg in=i32[128]:iota out=i32[1]:zero";
const PARTS: &str = "--kernel parts --grid 1 --block 1 --arg out=u32[12]:zero";
const RACE: &str = "fail/shared-race/missing_syncthreads.ptx";

/// Returns the problem with `value`, which should be of type `ty`.
fn misfit(value: &Value, ty: &str, used: &mut BTreeSet<(&'static str, &'static str)>) -> Option<String> {
    if ty.contains('|') {
        let misfits: Option<Vec<String>> = ty.split('|').map(|ty| misfit(value, ty, used)).collect();
        return misfits.map(|misfits| misfits.join(", or "));
    }
    if let Some((ty, count)) = ty.strip_suffix(']').and_then(|ty| ty.rsplit_once('[')) {
        let Some(elements) = value.as_array() else { return Some(format!("{value} is no array")) };
        if count.parse().is_ok_and(|count: usize| count != elements.len()) {
            return Some(format!("{} elements, not {count}", elements.len()));
        }
        return elements.iter().find_map(|element| misfit(element, ty, used));
    }
    let fits = match ty {
        "number" => value.as_u64().is_some_and(|number| number < 1 << 53),
        "string" => value.is_string(),
        "null" => value.is_null(),
        word if word.starts_with('"') => value.as_str() == Some(word.trim_matches('"')),
        object => return misfit_object(value, object, used),
    };
    (!fits).then(|| format!("{value} is no {ty}"))
}

fn misfit_object(value: &Value, kind: &str, used: &mut BTreeSet<(&'static str, &'static str)>) -> Option<String> {
    let Some(found) = value.as_object() else { return Some(format!("{value} is no {kind}")) };
    let fields: Vec<_> = SCHEMA.iter().filter(|field| field.object == kind).collect();
    assert!(!fields.is_empty(), "the schema has no {kind}");
    if let Some(key) = found.keys().find(|key| fields.iter().all(|field| field.key != key.as_str())) {
        return Some(format!("{kind} has a key {key} that the schema has not"));
    }
    if kind == "Values" && found.len() != 1 {
        return Some(format!("{} keys in Values", found.len()));
    }
    fields.iter().find_map(|field| match found.get(field.key) {
        Some(value) => {
            used.insert((field.object, field.key));
            misfit(value, field.ty, used).map(|misfit| format!("{}: {misfit}", field.key))
        }
        None => (kind != "Values").then(|| format!("{kind} has no {}", field.key)),
    })
}

#[test]
fn traces_are_what_the_schema_says() {
    let mut used = BTreeSet::new();
    for (file, options, status) in [
        (RACE, BLOCK_SUM, 1),
        ("pass/parts_and_spaces.ptx", PARTS, 0),
        (
            "gpu/memory_spaces.ptx",
            "--kernel memory_spaces --grid 3 --block 96 --shared 384 --arg out=i32[864]:zero --schedule lockstep",
            0,
        ),
    ] {
        let (trace, _) = traced(file, options, status);
        assert_eq!(misfit(&trace, "Trace", &mut used), None, "{file}");
        assert_eq!(trace["version"], VERSION);
    }
    let unused: Vec<_> = SCHEMA.iter().filter(|field| !used.contains(&(field.object, field.key))).collect();
    assert!(unused.is_empty(), "never written: {unused:?}");
}

#[test]
fn the_schema_test_sees_what_does_not_fit() {
    let (trace, _) = traced(RACE, BLOCK_SUM, 1);
    let mut used = BTreeSet::new();
    let mut changed = |change: &dyn Fn(&mut Value)| {
        let mut trace = trace.clone();
        change(&mut trace);
        misfit(&trace, "Trace", &mut used).expect("a change that does not fit")
    };
    assert!(changed(&|trace| trace["version"] = "2".into()).contains("is no number"));
    assert!(changed(&|trace| trace["extra"] = 1.into()).contains("a key extra"));
    assert!(changed(&|trace| trace["grid"] = serde_json::json!([1, 2])).contains("2 elements, not 3"));
    assert!(changed(&|trace| drop(trace.as_object_mut().unwrap().remove("steps"))).contains("has no steps"));
    assert!(changed(&|trace| trace["steps"][0]["active"] = (-1).into()).contains("-1 is no number"));
    assert!(changed(&|trace| trace["steps"][0]["access"] = serde_json::json!([{}])).contains("Access has no space"));
}

#[test]
fn a_step_shows_its_instruction_its_line_its_lanes_and_its_banks() {
    let (trace, _) = traced(RACE, BLOCK_SUM, 1);
    assert_eq!(trace["kernel"], "block_sum");
    assert_eq!((&trace["grid"], &trace["block"]), (&serde_json::json!([3, 1, 1]), &serde_json::json!([128, 1, 1])));
    let steps = trace["steps"].as_array().unwrap();
    let code = |step: &Value| trace["code"][step["pc"].as_u64().unwrap() as usize].clone();
    let source = std::fs::read_to_string(host::folder().join(RACE).with_extension("cu")).unwrap();
    let line = 1 + source.lines().position(|line| line.contains("sums[t] += ")).unwrap() as u64;
    let is_read = |step: &&Value| code(step)["line"] == line && code(step)["opcode"] == "ld.shared.u32";
    let reads: Vec<&Value> = steps.iter().filter(is_read).collect();
    assert!(!reads.is_empty());
    for step in reads {
        let instruction = code(step);
        assert!(instruction["text"].as_str().unwrap().starts_with("ld.shared.u32"), "{instruction}");
        assert_eq!(instruction["file"], "missing_syncthreads.cu");
        let access = &step["access"][0];
        assert_eq!((&access["space"], &access["conflicts"]), (&"shared".into(), &0.into()));
        assert_eq!(step["active"], access["mask"]);
        for lane in 0..32 {
            let address = access["addresses"][lane].as_u64().unwrap();
            assert_eq!(access["banks"][lane], address / 4 % 32);
            if access["mask"].as_u64().unwrap() >> lane & 1 == 0 {
                assert_eq!((address, &step["values"]["bits32"][lane]), (0, &0.into()));
            }
        }
    }
}

#[test]
fn what_lies_in_other_blocks_of_a_cluster_names_its_block() {
    let options = "--kernel cluster_histogram --grid 8 --block 128 --cluster 4 --shared 256 --trace-blocks 0-7 \
                   --arg in=u32[8192]:hash8 bins=u32[256]:zero";
    let (trace, _) = traced("gpu/cluster_histogram.ptx", options, 0);
    let steps = trace["steps"].as_array().unwrap();
    let mut orders: Vec<u64> = steps.iter().map(|step| step["order"].as_u64().unwrap()).collect();
    let mut remote = 0;
    for step in steps {
        let block = step["block_linear"].as_u64().unwrap();
        let accesses = step["access"].as_array().unwrap();
        for access in accesses.iter().filter(|access| access["space"] == "cluster") {
            let owner = access["owner"].as_u64().unwrap();
            assert!(owner != block && owner / 4 == block / 4, "block {block} reaches block {owner}");
            assert_eq!(access["wavefronts"], 0);
            assert!(access["addresses"].as_array().unwrap().iter().all(|at| at.as_u64().unwrap() < 1 << 20));
            remote += 1;
        }
        let masks: u64 = accesses.iter().map(|access| access["mask"].as_u64().unwrap()).sum();
        assert!(accesses.is_empty() || masks == step["active"].as_u64().unwrap(), "a lane's access is missing: {step}");
    }
    assert!(remote > 0, "no step reaches another block");
    let in_turns = orders.windows(2).any(|pair| pair[1] != pair[0] + 1);
    assert!(in_turns, "the blocks of a cluster run one after the other");
    orders.sort_unstable();
    assert!(orders.iter().zip(0..).all(|(&order, place)| order == place));
}

#[test]
fn blocks_and_warps_can_be_chosen() {
    let of = |options: &str| {
        let (trace, _) = traced(RACE, &format!("{BLOCK_SUM} {options}"), 1);
        let steps = trace["steps"].as_array().unwrap().clone();
        let numbers = |key: &str| steps.iter().map(|step| step[key].as_u64().unwrap()).collect::<BTreeSet<_>>();
        (numbers("block_linear"), numbers("warp"))
    };
    let set = |numbers: &[u64]| BTreeSet::from_iter(numbers.iter().copied());
    assert_eq!(of(""), (set(&[0]), set(&[0, 1, 2, 3])));
    assert_eq!(of("--trace-blocks 1-2 --trace-warps 0,2-3"), (set(&[1, 2]), set(&[0, 2, 3])));
    assert_eq!(of("--trace-blocks 2-900 --trace-warps 1,31"), (set(&[2]), set(&[1])));
    assert_eq!(of("--trace-warps 0-31"), (set(&[0]), set(&[0, 1, 2, 3])));
}

#[test]
fn a_trace_that_was_cut_says_so() {
    let (whole, said) = traced(RACE, BLOCK_SUM, 1);
    let steps = whole["steps"].as_array().unwrap();
    assert_eq!(whole["dropped_steps"], 0);
    assert!(said.contains(&format!("trace     {} steps in steps.json\n", steps.len())), "{said}");
    let (cut, said) = traced(RACE, &format!("{BLOCK_SUM} --trace-blocks 0-1 --trace-steps 10"), 1);
    assert_eq!(cut["steps"].as_array().unwrap()[..10], steps[..10]);
    assert_eq!(cut["steps"].as_array().unwrap().len(), 20);
    let dropped = 2 * (steps.len() - 10);
    assert_eq!(cut["dropped_steps"], dropped);
    assert_contains(&said, &[&format!("20 steps in steps.json, cut off: --trace-steps keeps {dropped} more out")]);
}

/// Blocks that wait for each other run in turns, many each: the limit is one of the block, not of the turn.
#[test]
fn the_limit_holds_for_blocks_that_take_turns() {
    let run =
        "--kernel grid_sync --grid 4 --block 96 --cooperative --arg a=u32[384]:hash8 b=u32[384]:zero state=u32[4]:zero";
    let (trace, _) = traced("gpu/grid_sync.ptx", &format!("{run} --trace-blocks 0-3 --trace-steps 50"), 0);
    let steps = trace["steps"].as_array().unwrap();
    for block in 0..4 {
        assert_eq!(steps.iter().filter(|step| step["block_linear"] == block).count(), 50);
    }
}

#[test]
fn traces_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    let run = |options: &str| format!("{RUN_SCALE} --trace steps.json {options}");
    folder.refused(&run("--trace-blocks 2"), &["--trace-blocks 2", "the grid has 2 blocks"]);
    folder.refused(&run("--trace-blocks 1-0"), &["`1-0` ends before it starts"]);
    folder.refused(&run("--trace-blocks x"), &["`x` is no whole number"]);
    folder.refused(&run("--trace-blocks 0-"), &["`` is no whole number"]);
    folder.refused(&run("--trace-warps 1"), &["--trace-warps", "the block has 1 warps"]);
    folder.refused(&run("--trace-warps 32"), &["0 to 31", "`32`"]);
    folder.refused(&run("--trace-warps 0,,1"), &["`` is no whole number"]);
    folder.refused(&run("--trace-steps 0"), &["--trace-steps"]);
    folder.refused(&run("--trace-steps 9999999"), &["--trace-steps"]);
    folder.refused(&run("--trace-blocks 0-1 --trace-steps 1000000"), &["2 blocks of 1000000 steps"]);
    folder.refused(&format!("{RUN_SCALE} --trace-steps 5"), &["--trace"]);
    assert!(!folder.path().join("steps.json").exists());
    folder.refused(&format!("{RUN_SCALE} --trace ./scale.ptx"), &["--trace ./scale.ptx", "scale.ptx itself"]);
    assert!(folder.shown(RUN_SCALE).contains("no faults found"), "the PTX is what it was");
}

/// Findings are not lost with the trace.
#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_cannot_be_kept_loses_nothing_else() {
    let folder = Folder::new();
    let output = folder.simt(&format!("{RUN_SCALE} --trace /dev/full"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("no faults found"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).starts_with("error: --trace /dev/full: "), "{}", text(&output.stderr));
}

#[test]
fn blocks_that_the_grid_does_not_have_are_said_to_be_missing() {
    let (_, said) = traced(RACE, &format!("{BLOCK_SUM} --trace-blocks 2-9"), 1);
    assert!(said.contains("steps in steps.json; the grid has 3 blocks\n"), "{said}");
}
