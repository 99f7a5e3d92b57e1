//! `simt run --then`: several launches of one stream.

use super::*;

/// `fill` lets the next launch begin and then fills a buffer, `copy` copies it without a wait.
const FILL_AND_COPY: &str = r"
.visible .entry fill(.param .u64 to, .param .u32 value)
{
    .reg .b32 %i, %value;
    .reg .b64 %to, %bytes;
    griddepcontrol.launch_dependents;
    mov.u32 %i, %tid.x;
    ld.param.u64 %to, [to];
    ld.param.u32 %value, [value];
    mul.wide.u32 %bytes, %i, 4;
    add.u64 %to, %to, %bytes;
    st.global.u32 [%to], %value;
    ret;
}
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .b32 %i, %value;
    .reg .b64 %from, %to, %bytes;
    mov.u32 %i, %tid.x;
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    mul.wide.u32 %bytes, %i, 4;
    add.u64 %from, %from, %bytes;
    add.u64 %to, %to, %bytes;
    ld.global.u32 %value, [%from];
    st.global.u32 [%to], %value;
    ret;
}
";

const FILL: &str = "run fill.ptx --kernel fill --grid 1 --block 64 --arg a=u32[64]:zero v=u32:7";

#[test]
fn launches_behind_the_first_take_its_arguments_or_their_own() {
    let folder = Folder::with(&[("fill.ptx", FILL_AND_COPY)]);
    let run = format!("{FILL} --then copy --then-arg a b=u32[64]:zero --then-block 32 --print b");
    let object = folder.json(&run, 0);
    let b = object["outputs"]["b"].as_array().unwrap();
    assert!(b[..32].iter().all(|value| value == 7) && b[32..].iter().all(|value| value == 0), "{b:?}");
    let launches = object["launches"].as_array().expect("one object a launch");
    let kernels: Vec<_> = launches.iter().map(|launch| (&launch["kernel"], &launch["block"][0])).collect();
    assert_eq!(kernels, [(&"fill".into(), &64.into()), (&"copy".into(), &32.into())]);
    let sum: u64 = launches.iter().map(|launch| launch["warp_instructions"].as_u64().unwrap()).sum();
    assert_eq!(object["warp_instructions"], sum);
    assert_eq!(object["counters"]["ptx_inst_executed"], sum);

    let again = folder.json(&format!("{FILL} --then fill --then fill"), 0);
    let counts: Vec<_> =
        again["launches"].as_array().unwrap().iter().map(|launch| &launch["warp_instructions"]).collect();
    assert!(counts.len() == 3 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert!(folder.json(FILL, 0).get("launches").is_none(), "of one launch the object is as it was");
}

#[test]
fn a_structure_of_a_later_launch_takes_values_as_one_of_the_first_does() {
    let folder = Folder::with(&[("fill.ptx", FILL_AND_COPY)]);
    let copy = FILL_AND_COPY.split_once(".visible .entry copy").unwrap().1;
    let copy = copy.replace(".param .u64 from,", ".param .align 8 .b8 s[16],").replace("[from]", "[s+8]");
    folder.write("held.ptx", format!("{HEAD}.visible .entry held{copy}"));
    let run = format!("{FILL} --then held --then-arg s=bytes[16]:zero b=u32[64]:zero --print b")
        .replace("fill.ptx", "fill.ptx held.ptx");
    for put in ["--then-arg s@8=&a", "--arg s@8=&a"] {
        let object = folder.json(&format!("{run} {put}"), 0);
        assert_eq!(object["outputs"]["b"], serde_json::json!(vec![7; 64]), "{put}");
    }
    folder.refused(&format!("{run} --then-arg s@12=&a"), &["s@12: 8 bytes from there on end past the 16 bytes of s"]);
}

#[test]
fn a_launch_that_overlaps_and_does_not_wait_is_found() {
    let folder = Folder::with(&[("fill.ptx", FILL_AND_COPY)]);
    let run = format!("{FILL} --then copy --then-arg a b=u32[64]:zero");
    assert_eq!(folder.json(&run, 0)["faults"], serde_json::json!([]));
    let object = folder.json(&format!("{run} --overlap"), 1);
    let fault = &object["faults"][0];
    assert_eq!((&fault["code"], &fault["launch"]), (&"global-race".into(), &1.into()));
    assert_eq!(fault["message"], "reads a[0] while the launch before may still be writing it");
    assert!(fault["other"].get("launch").is_none() && fault["other"]["action"] == "writes", "{fault}");
    let shown = folder.shown(&format!("{run} --overlap"));
    let then = "then      copy, grid 1, block 64, may begin before the launch before has ended\n";
    assert_contains(&shown, &[then, "(1) the launch before: ", "(2) this launch: "]);
}

#[test]
fn mistakes_are_reported_in_a_sentence() {
    let folder = Folder::with(&[("fill.ptx", FILL_AND_COPY)]);
    for (more, message) in [
        ("--then copy", "argument v is u32 of 4 bytes, but parameter 2 of copy, to, is u64 of 8 bytes"),
        ("--then other", "no kernel"),
        ("--then copy --then-arg a", "--then-arg: 1 given, and 2 needed: copy(from: u64, to: u64)"),
        (
            "--then copy --then-arg a c",
            "--then-arg c: no argument or buffer has that name, and a new one is NAME=TYPE…",
        ),
        ("--then fill --then-grid 1 --then-grid 2", "--then-grid: 2 values, and one kernel is named by --then"),
        ("--then fill --then-block 0", "fill: a grid and a block need at least one of each"),
        ("--then copy --then-arg a a=u32[4]:zero", "two arguments are named a"),
        ("--overlap", "--then <NAME>"),
        ("--then-block 32", "--then <NAME>"),
        ("--then fill --trace t.json", "cannot be used with"),
    ] {
        let output = folder.simt(&format!("{FILL} {more}"));
        assert_eq!(output.status.code(), Some(2), "{more}");
        let said = text(&output.stderr);
        assert!(said.contains(message), "{more}: {said}");
    }
}
