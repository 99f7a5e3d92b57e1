//! `simt run --seeds N`: many schedules in one command.

use super::*;

/// Two kernels that end as the order of their warps has it: `last` keeps the number of the warp that came last, `tickets`
/// leaves its buffer if a warp draws another ticket than its number.
const ORDER: &str = r"
.visible .entry last(.param .u64 out)
{
    .reg .b32 %t, %old;
    .reg .b64 %out;
    mov.u32 %t, %tid.x;
    shr.u32 %t, %t, 5;
    ld.param.u64 %out, [out];
    atom.global.exch.b32 %old, [%out+4], %t;
    ret;
}
.visible .entry tickets(.param .u64 out)
{
    .reg .pred %other;
    .reg .b32 %t, %warp, %ticket;
    .reg .b64 %out;
    mov.u32 %t, %tid.x;
    and.b32 %ticket, %t, 31;
    setp.ne.u32 %other, %ticket, 0;
    @%other ret;
    shr.u32 %warp, %t, 5;
    ld.param.u64 %out, [out];
    atom.global.add.u32 %ticket, [%out], 1;
    setp.ne.u32 %other, %ticket, %warp;
    @%other st.global.u32 [%out+4096], %t;
    ret;
}
";

#[test]
fn many_seeds_of_a_right_kernel_are_one_clean_run() {
    let folder = Folder::new();
    let object = folder.json(&format!("{RUN_SCALE} --seeds 5 --print data:2"), 0);
    assert_eq!(object["seeds"], serde_json::json!({"asked": 5, "ran": 5, "first": null}));
    assert_eq!(object["schedule"], "independent");
    assert_eq!(object["outputs"]["data"], serde_json::json!([0.0, 0.5]));
    let shown = folder.shown(&format!("{RUN_SCALE} --seeds 5"));
    assert!(shown.contains("independent:0 to independent:4: no faults, and every buffer ends the same\n"), "{shown}");
}

#[test]
fn the_first_seed_that_leaves_something_else_is_named_and_repeats_it() {
    let folder = Folder::with(&[("order.ptx", ORDER)]);
    let run = "run order.ptx --kernel last --grid 1 --block 256 --print out --arg out=i32[2]:const(9)";
    let object = folder.json(&format!("{run} --seeds 50"), 1);
    assert_eq!(object["faults"], serde_json::json!([]));
    let first = &object["seeds"]["first"];
    let seed = first["seed"].as_u64().expect("a seed");
    assert_eq!(object["seeds"]["ran"], seed + 1);
    assert_eq!(first["schedule"], format!("independent:{seed}"));
    assert_eq!(object["schedule"], first["schedule"]);
    let plain = folder.json(run, 0)["outputs"]["out"][1].clone();
    let again = folder.json(&format!("{run} --schedule independent:{seed}"), 0)["outputs"]["out"][1].clone();
    assert_ne!(plain, again);
    let difference = serde_json::json!({"buffer": "out", "element": 1, "value": again.to_string(), "without_seed": plain.to_string(), "elements": 1});
    assert_eq!(first["difference"], difference);
    for earlier in 0..seed {
        let same = folder.json(&format!("{run} --schedule independent:{earlier}"), 0);
        assert_eq!(same["outputs"]["out"][1], plain, "seed {earlier} was passed over");
    }
    let shown = folder.ends(&format!("{run} --seeds 50"), 1);
    let leaves = format!("seed {seed} of 0 to 49 leaves out[1] = {again}, the run without a seed {plain}\n");
    let repeat = format!("repeat    --schedule independent:{seed} in place of --seeds 50\n");
    assert_contains(&shown, &[&leaves, &repeat]);
}

#[test]
fn the_first_seed_with_a_fault_is_reported_with_it() {
    let folder = Folder::with(&[("order.ptx", ORDER)]);
    let run = "run order.ptx --kernel tickets --grid 1 --block 256 --arg out=i32[2]:zero";
    folder.json(run, 0);
    let object = folder.json(&format!("{run} --seeds 50"), 1);
    assert_eq!(object["faults"][0]["code"], "out-of-bounds");
    let schedule = object["seeds"]["first"]["schedule"].as_str().unwrap();
    let again = folder.json(&format!("{run} --schedule {schedule}"), 1);
    assert_eq!(again["faults"], object["faults"]);
    assert_eq!(again["counters"], object["counters"]);

    let run = "run scale.ptx --kernel past_the_end --grid 1 --block 4 --arg data=u32[8]:zero --seeds 3";
    let object = folder.json(run, 1);
    let first = serde_json::json!({"schedule": "independent", "seed": null, "difference": null});
    assert_eq!(object["seeds"], serde_json::json!({"asked": 3, "ran": 0, "first": first}));
    let shown = folder.shown(run);
    assert!(shown.contains("the run without a seed has a fault"), "{shown}");
    assert!(shown.contains("error[out-of-bounds]"), "{shown}");
}

#[test]
fn a_difference_that_ptx_allows_is_called_lawful() {
    let folder = Folder::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/pass/either_of_two_writers.ptx");
    let run = format!(
        "run {fixture} --kernel winners --grid 2 --block 64 --arg place=i32[1]:zero --arg out=i32[2]:zero --seeds 50"
    );
    let object = folder.json(&run, 1);
    assert_eq!(object["seeds"]["first"]["difference"]["buffer"], "place");
    assert_eq!(object["seeds"]["first"]["lawful"], true);
    let shown = folder.shown(&run);
    assert!(shown.contains("which PTX allows: see the note"), "{shown}");
}

#[test]
fn seeds_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    for wrong in ["0", "-1", "x", "1.5", "", "1048577", "99999999999999999999"] {
        folder.refused(&format!("{RUN_SCALE} --seeds={wrong}"), &["--seeds"]);
    }
    folder.refused(&format!("{RUN_SCALE} --seeds"), &["--seeds"]);
    for other in ["--schedule lockstep", "--schedule independent:3", "--trace steps.json"] {
        let option = other.split(' ').next().unwrap();
        folder.refused(&format!("{RUN_SCALE} --seeds 3 {other}"), &["--seeds", option, "cannot be used with"]);
    }
    folder.refused(&RUN_SCALE.replace("n=u32:40", "n=u64:40").replacen("run", "run --seeds 2", 1), &["n is u64"]);
}

/// `add`: each thread adds its element to a sum.
const ADD: &str = r"
.visible .entry add(.param .u64 in, .param .u64 sum)
{
    .reg .b32 %t;
    .reg .f32 %x;
    .reg .b64 %in, %sum, %bytes;
    mov.u32 %t, %tid.x;
    mul.wide.u32 %bytes, %t, 4;
    ld.param.u64 %in, [in];
    add.s64 %in, %in, %bytes;
    ld.global.f32 %x, [%in];
    ld.param.u64 %sum, [sum];
    red.global.add.f32 [%sum], %x;
    ret;
}
";

#[test]
fn floats_may_differ_by_what_rounding_explains() {
    // The last thread's element stays.
    let exchange = ADD.replace("entry add", "entry exchange").replace("red.global.add.f32", "atom.global.exch.b32 %t,");
    let folder = Folder::with(&[("sums.ptx", &format!("{ADD}{exchange}"))]);
    let run = |kernel: &str, ty: &str| {
        format!(
            "run sums.ptx --kernel {kernel} --grid 1 --block 1024 --arg in={ty}[1024]:rand(3) sum={ty}[1]:zero --print sum --seeds 20"
        )
    };
    let object = folder.json(&run("add", "f32"), 0);
    let rounded = &object["seeds"]["rounded"];
    assert_eq!(rounded["buffer"], "sum", "20 orders of 1024 additions give another last digit: {object}");
    let value = |key: &str| rounded[key].as_str().unwrap().parse::<f64>().unwrap();
    // 4 sqrt(1024) 2^-24 sqrt(1024) max|x|, and max|x| is nearly 1.
    let most = rounded["at_most"].as_f64().unwrap();
    assert!((0.99..=1.0).contains(&(most / (4096.0 / 16_777_216.0))), "{most}");
    assert!((value("value") - value("without_seed")).abs() <= most);
    let shown = folder.shown(&run("add", "f32"));
    assert_contains(
        &shown,
        &[
            "every buffer ends the same but for rounding",
            "Atomics add in any order: up to 2.44e-4",
            "integers are, bit for bit",
        ],
    );
    // The same memory as integers is compared bit for bit.
    let object = folder.json(&run("add", "f32").replace("sum=f32", "sum=u32"), 1);
    assert_eq!(object["seeds"]["first"]["difference"]["buffer"], "sum");
    // Another thread's element is no rounding.
    let object = folder.json(&run("exchange", "f32").replace("block 1024", "block 256"), 1);
    assert_eq!(object["seeds"]["first"]["difference"]["buffer"], "sum");
    assert_eq!(object["seeds"].get("rounded"), None);
}
