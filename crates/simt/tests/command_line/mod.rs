//! The `simt` command as people and scripts meet it: results, JSON, exit status, and one clear sentence for each mistake.

mod arguments;
mod files;
mod reports;
mod seeds;
mod then;
mod trace;

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::host;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Copies `n` elements, one a thread, of each width; and a scalar of each kind.
const SCALE: &str = r"
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n)
{
    .reg .pred %outside;
    .reg .b32 %i, %block, %n;
    .reg .f32 %x, %factor;
    .reg .b64 %data, %bytes;
    mov.u32 %i, %tid.x;
    mov.u32 %block, %ctaid.x;
    mad.lo.s32 %i, %block, 32, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %outside, %i, %n;
    @%outside ret;
    ld.param.u64 %data, [data];
    ld.param.f32 %factor, [factor];
    mul.wide.u32 %bytes, %i, 4;
    add.s64 %data, %data, %bytes;
    ld.global.f32 %x, [%data];
    mul.f32 %x, %x, %factor;
    st.global.f32 [%data], %x;
    ret;
}
.visible .entry nothing() { ret; }
.visible .entry past_the_end(.param .u64 data)
{
    .reg .b32 %x;
    .reg .b64 %data;
    ld.param.u64 %data, [data];
    ld.global.u32 %x, [%data+4096];
    ret;
}
";

/// A folder with `scale.ptx` in it, where the command runs.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder::with(&[])
    }

    /// One that has these files of PTX too, each by its name and what stands behind [`HEAD`].
    fn with(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, body) in [("scale.ptx", SCALE)].iter().chain(files) {
            folder.write(name, format!("{HEAD}{body}"));
        }
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), contents).unwrap();
    }

    fn simt(&self, arguments: &str) -> Output {
        host::simt().current_dir(self.path()).args(arguments.split_whitespace()).output().unwrap()
    }

    /// Text that the command prints.
    fn shown(&self, arguments: &str) -> String {
        text(&self.simt(arguments).stdout)
    }

    /// Runs and expects exit status `status`; the text.
    fn ends(&self, arguments: &str, status: i32) -> String {
        let output = self.simt(arguments);
        assert_eq!(output.status.code(), Some(status), "{}{}", text(&output.stderr), text(&output.stdout));
        text(&output.stdout)
    }

    /// Runs and expects exit status `status`; the JSON object.
    fn json(&self, arguments: &str, status: i32) -> Value {
        let output = self.simt(&format!("{arguments} --json"));
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Expects exit status 2, nothing on standard output, and `parts` in the message.
    fn refused(&self, arguments: &str, parts: &[&str]) {
        let output = self.simt(arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert_eq!(text(&output.stdout), "", "{arguments}");
        assert_contains(&message, parts);
        let known = message.starts_with("error: ") || message.starts_with("error[unsupported-instruction]: ");
        assert!(known && !message.contains("panicked"), "{arguments}: {message}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

const RUN_SCALE: &str =
    "run scale.ptx --kernel scale --grid 2 --block 32 --arg data=f32[40]:iota factor=f32:0.5 n=u32:40";

#[test]
fn a_clean_run_prints_the_keys_of_the_contract() {
    let folder = Folder::new();
    let object = folder.json(&format!("{RUN_SCALE} --print data:3"), 0);
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["kernel", "schedule", "outputs", "counters", "faults", "warp_instructions", "seconds", "lines"]);
    assert_eq!(object["kernel"], "scale");
    assert_eq!(object["schedule"], "independent");
    assert_eq!(object["outputs"], serde_json::json!({"data": [0.0, 0.5, 1.0]}));
    assert_eq!(object["faults"], serde_json::json!([]));
    assert_eq!(object["counters"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], 5);
    assert_eq!(object["counters"]["ptx_inst_executed"], object["warp_instructions"]);
    assert!(object["counters"]["ptx_inst_executed"].is_u64(), "whole numbers print as whole numbers");
    let efficiency = object["counters"]["ptx_lane_efficiency"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&efficiency));
    assert!(object["seconds"].as_f64().unwrap() >= 0.0);
}

#[test]
fn nothing_ran_in_no_lane() {
    let folder = Folder::new();
    let object = folder.json("run scale.ptx --kernel nothing --grid 1 --block 1", 0);
    assert_eq!(object["outputs"], serde_json::json!({}));
    assert_eq!(object["counters"]["ptx_lane_efficiency"], 1.0 / 32.0);
}

#[test]
fn arguments_may_come_in_one_flag_or_in_several() {
    let folder = Folder::new();
    let several = "run scale.ptx --kernel scale --grid 1 --block 32 --arg data=f32[32]:const(2) --arg factor=f32:-1.5 --arg n=u32:0x2 --print data:3";
    let object = folder.json(several, 0);
    assert_eq!(object["outputs"]["data"], serde_json::json!([-3.0, -3.0, 2.0]));
}

#[test]
fn numbers_that_json_has_not_are_words() {
    let folder = Folder::new();
    let run = "run scale.ptx --kernel scale --grid 1 --block 32 --print data --arg data=f32[2]:const(1) n=u32:1";
    for (factor, word) in [("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")] {
        let run = run.replace("n=u32", &format!("factor=f32:{factor} n=u32"));
        assert_eq!(folder.json(&run, 0)["outputs"]["data"], serde_json::json!([word, 1.0]));
    }
}

#[test]
fn a_fault_has_the_keys_of_the_contract_and_exit_status_1() {
    let folder = Folder::new();
    let run = "run scale.ptx --kernel past_the_end --grid 1 --block 4 --arg data=u32[8]:zero";
    let object = folder.json(run, 1);
    let fault = &object["faults"][0];
    assert_eq!(fault["code"], "out-of-bounds");
    assert_eq!(fault["file"], "scale.ptx");
    assert_eq!(fault["block"], serde_json::json!([0, 0, 0]));
    assert_eq!(fault["lanes"], serde_json::json!([0, 1, 2, 3]));
    assert_eq!(fault["other"], Value::Null);
    let line = fault["line"].as_u64().unwrap() as usize;
    let ptx = std::fs::read_to_string(folder.path().join("scale.ptx")).unwrap();
    assert!(ptx.lines().nth(line - 1).unwrap().contains("ld.global.u32"), "line {line}");
    assert!(fault["message"].as_str().unwrap().contains("data"), "{fault}");

    let parts =
        ["error[out-of-bounds]", "ld.global.u32 %x, [%data+4096];", "lanes 0-3 of warp 0, block (0,0,0)", "= try:"];
    assert_contains(&folder.ends(run, 1), &parts);
}

#[test]
fn people_get_a_table_in_plain_english() {
    let folder = Folder::new();
    assert_contains(
        &folder.shown(&format!("{RUN_SCALE} --print data:2")),
        &[
            "kernel    scale of scale.ptx",
            "grid 2, block 32, schedule independent",
            "5  l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "32-byte sectors of global memory that loads touch",
            "every other counter is 0",
            "data = [0, 0.5]",
            "no faults found",
        ],
    );
}

#[test]
fn the_outcome_does_not_depend_on_host_threads() {
    let folder = Folder::new();
    let run = "run scale.ptx --kernel scale --grid 64 --block 32 --arg data=f32[2000]:rand(3) factor=f32:3 n=u32:2000 --print data";
    let mut objects = ["1", "2", "7"].map(|threads| folder.json(&format!("{run} --threads {threads}"), 0));
    objects.iter_mut().for_each(|object| object["seconds"] = Value::Null);
    assert_eq!(objects[0], objects[1]);
    assert_eq!(objects[0], objects[2]);
}

#[test]
fn every_schedule_has_a_name() {
    let folder = Folder::new();
    for name in ["lockstep", "independent", "independent:12"] {
        assert_eq!(folder.json(&format!("{RUN_SCALE} --schedule {name}"), 0)["schedule"], name);
    }
}

#[test]
fn kernels_lists_names_and_parameters() {
    let folder = Folder::new();
    let listed = folder.ends("kernels scale.ptx", 0);
    assert_eq!(listed, "scale(data: u64, factor: f32, n: u32)\nnothing()\npast_the_end(data: u64)\n");
}

#[test]
fn instructions_are_printed() {
    let folder = Folder::new();
    assert_eq!(folder.ends("instructions", 0), simt::instructions::markdown());
    folder.refused("instructions scale.ptx", &["unexpected argument", "scale.ptx"]);
}

#[test]
fn buffers_are_filled_from_files() {
    let folder = Folder::new();
    let raw: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
    let npy = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &raw].concat();
    folder.write("x.bin", &raw);
    folder.write("x.npy", &npy);
    folder.write("cut.npy", &npy[..npy.len() - 1]);
    let run = |file: &str, ty: &str| {
        format!(
            "run scale.ptx --kernel scale --grid 1 --block 32 --print data --arg data={ty}[2]:file({file}) factor=f32:2 n=u32:2"
        )
    };
    for file in ["x.bin", "x.npy"] {
        let object = folder.json(&run(file, "f32"), 0);
        assert_eq!(object["outputs"]["data"], serde_json::json!([3.0, -4.0]), "{file}");
    }
    folder.refused(&run("cut.npy", "f32"), &["cut.npy", "7 bytes", "8"]);
    folder.refused(&run("x.npy", "i32"), &["x.npy", "type <f4", "i32"]);
    folder.refused(&run("x.bin", "f64"), &["x.bin", "8 bytes", "16"]);
    folder.refused(&run("absent.bin", "f32"), &["absent.bin", "os error 2", "from the current folder"]);
    folder.refused(&run(".", "f32"), &["is no regular file"]);
    folder.write("long.bin", vec![0; 200_000]);
    folder.refused(&run("long.bin", "f32"), &["holds at least 65545 bytes", "2 elements of f32 need 8"]);
}

// ---- mistakes --------------------------------------------------------------------------------------------------------

/// Writes `bytes` to `bad.ptx` and expects both verbs to refuse it.
fn refused_file(bytes: &[u8], parts: &[&str]) {
    let folder = Folder::new();
    folder.write("bad.ptx", bytes);
    let parts: Vec<&str> = [&["bad.ptx"], parts].concat();
    folder.refused("run bad.ptx --kernel scale --grid 1 --block 1", &parts);
    folder.refused("kernels bad.ptx", &parts);
}

#[test]
fn files_that_are_no_ptx_are_refused() {
    refused_file(b"", &["bad.ptx:1:1: ", ".version"]);
    refused_file(b"\x7fELF\x02\x01\x01\x00\xff\xfe", &["binary"]);
    refused_file(b"\x7fELF\x02\x01\x01\x00", &["bad.ptx:1:"]);
    let whole = format!("{HEAD}{SCALE}");
    refused_file(&whole.as_bytes()[..whole.find("mul.wide").unwrap() + 4], &["bad.ptx:"]);
    let unknown = format!("{HEAD}.visible .entry scale()\n{{\n    frobnicate.u32 1, 2;\n    ret;\n}}\n");
    refused_file(unknown.as_bytes(), &["bad.ptx:6", "frobnicate"]);
}

#[test]
fn a_file_or_kernel_that_is_not_there_is_refused() {
    let folder = Folder::new();
    folder.refused("run absent.ptx --kernel scale --grid 1 --block 1", &["absent.ptx", "os error 2"]);
    folder.refused("kernels absent.ptx", &["absent.ptx", "os error 2"]);
    let parts = ["no kernel named scael", "scale, nothing, past_the_end"];
    folder.refused("run scale.ptx --kernel scael --grid 1 --block 1", &parts);
    folder.write("bare.ptx", HEAD);
    folder.refused("kernels bare.ptx", &["bare.ptx", "no kernel"]);
}

#[test]
fn arguments_must_fit_the_parameters() {
    let folder = Folder::new();
    let run = |args: &str| format!("run scale.ptx --kernel scale --grid 1 --block 1 {args}");
    folder.refused(&run(""), &["scale takes 3 arguments, 0 given", "factor: f32"]);
    folder.refused(&run("--arg data=f32[4]:zero n=u32:4"), &["scale takes 3 arguments, 2 given"]);
    folder.refused(
        &run("--arg data=f32[4]:zero factor=f64:1 n=u32:4"),
        &["argument factor is f64 of 8 bytes", "parameter 2 of scale, factor, is f32 of 4 bytes"],
    );
    folder.refused(&run("--arg data=f32[4]:zero factor=f32[4]:zero n=u32:4"), &["factor", "a buffer"]);
    folder.refused(&run("--arg data=f32[4]:zero data=f32:1 n=u32:4"), &["two arguments are named data"]);
    folder.refused(&run("--arg data=f32[4]"), &["data=f32[4]", "NAME=TYPE[LEN]:INIT"]);
    folder.refused(&run("--arg data=f32[4]:ones"), &["no way to fill", "hash8"]);
    folder.refused(&run("--arg data=f31[4]:zero"), &["no type `f31`"]);
    folder.refused(&run("--arg n=u8:300"), &["300 does not fit u8"]);
    folder.refused("run --kernel scale --grid 1 --block 1 --arg n=u8:3 scale.ptx", &["PTX file stands before"]);
}

#[test]
fn a_buffer_beyond_all_memory_is_refused() {
    let folder = Folder::new();
    for len in ["2^62", "2^50", "2^63"] {
        let run = format!("run scale.ptx --kernel past_the_end --grid 1 --block 1 --arg data=u64[{len}]:zero");
        folder.refused(&run, &["data"]);
    }
}

#[test]
fn a_launch_that_no_gpu_would_take_is_refused() {
    let folder = Folder::new();
    let run = |geometry: &str| format!("run scale.ptx --kernel nothing {geometry}");
    folder.refused(&run("--grid 1 --block 0"), &["block"]);
    folder.refused(&run("--grid 1 --block 1025"), &["1024", "1025"]);
    folder.refused(&run("--grid 1 --block 64,32"), &["1024", "2048"]);
    // Their product has more than 64 bits, of which the last 64 may be a small number: 4 in the second line.
    folder.refused(&run("--grid 1 --block 4294967295,4294967295,4294967295"), &["1024"]);
    folder.refused(&run("--grid 1 --block 2147418113,429509837,20"), &["1024"]);
    folder.refused(&run("--grid 4 --block 1 --cluster 4294967295,4294967295,4294967295"), &["cluster", "16"]);
    folder.refused(&run("--grid 0 --block 32"), &["grid"]);
    folder.refused(&run("--grid 1 --block 1,1,128"), &["64", "128"]);
    folder.refused(
        &run("--grid 1 --block 32 --shared 1000000"),
        &["shared", "0 of the kernel's own and 1000000 of the launch", "232448"],
    );
    folder.refused(&run("--grid 6 --block 32 --cluster 4"), &["6x1x1", "clusters of 4x1x1"]);
    folder.refused(&run("--grid 64 --block 32 --cluster 32"), &["cluster of 32 blocks", "16"]);
    folder.refused(&run("--grid 1,2,3,4 --block 32"), &["at most three"]);
    folder.refused(&run("--grid -1 --block 32"), &["`-1` is no whole number from 0 to 4294967295"]);
    folder.refused(&run("--grid 1 --block 32 --shared 227KB"), &["`227KB` is no whole number of bytes"]);
    for option in ["--shared", "--threads", "--steps", "--launch-steps", "--stack", "--seeds"] {
        folder.refused(&run(&format!("--grid 1 --block 32 {option} -1")), &["`-1` is no whole number"]);
    }
    folder.refused(&run("--grid 1 --block 32 --threads 1000"), &["from 0 to 256"]);
    folder.refused(&run("--grid 1 --block 32 --stack 524289"), &["from 0 to 524288"]);
    folder.refused(&run("--grid 8193 --block 32 --cooperative"), &["8193 blocks", "no card holds more than 8192"]);
    folder.refused(&run("--grid 513 --block 1024 --cooperative"), &["no card holds more than 512"]);
    folder.refused(&run("--grid x --block 32"), &["`x` is no whole number"]);
    folder.refused("run scale.ptx --kernel nothing --grid 1", &["--block"]);
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    let folder = Folder::new();
    let run = |option: &str| format!("{RUN_SCALE} {option}");
    folder.refused(&run("--check races"), &["no check named `races`", "shared-race", "barrier-divergence"]);
    folder.refused(&run("--schedule warp"), &["lockstep, independent or independent:SEED"]);
    folder.refused(&run("--schedule independent:x"), &["`x` is no seed"]);
    folder.refused(&run("--print out"), &["--print out", "data, factor, n"]);
    folder.refused(&run("--print n"), &["--print n", "scalar"]);
    folder.refused(&run("--print data:41"), &["--print data:41", "40 elements"]);
    folder.refused(&run("--frob"), &["--frob"]);
    folder.refused(&run("--trace absent/steps.json"), &["absent/steps.json"]);
    folder.refused(&run("--print data --print data:3"), &["--print data", "twice"]);
}

/// Prints a line from each thread, and returns what `vprintf` did.
const PRINT: &str = r"
.extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[] = {37, 100, 32, 37, 99, 10, 0};
.visible .entry print(.param .u64 counts)
{
    .local .align 4 .b8 values[8];
    .reg .b32 %t, %count;
    .reg .b64 %text, %values, %counts, %bytes;
    .param .b64 a; .param .b64 b; .param .b32 r;
    mov.u32 %t, %tid.x;
    st.local.u32 [values], %t;
    add.u32 %count, %t, 65;
    st.local.u32 [values+4], %count;
    cvta.local.u64 %values, values;
    cvta.global.u64 %text, text;
    st.param.b64 [a], %text;
    st.param.b64 [b], %values;
    call (r), vprintf, (a, b);
    ld.param.b32 %count, [r];
    ld.param.u64 %counts, [counts];
    mul.wide.u32 %bytes, %t, 4;
    add.u64 %counts, %counts, %bytes;
    st.global.u32 [%counts], %count;
    ret;
}
";

#[test]
fn what_a_kernel_prints_is_shown() {
    let folder = Folder::with(&[("print.ptx", PRINT)]);
    let run = "run print.ptx --kernel print --grid 1 --block 3 --arg counts=i32[3]:zero --print counts";
    let object = folder.json(run, 0);
    assert_eq!(object["printed"], "0 A\n1 B\n2 C\n");
    assert_eq!(object["prints_dropped"], 0);
    assert_eq!(object["outputs"]["counts"], serde_json::json!([2, 2, 2]));
    assert!(folder.shown(run).starts_with("0 A\n1 B\n2 C\n\nkernel    print of"));
}

#[test]
fn output_past_a_mebibyte_is_counted() {
    let folder = Folder::with(&[("print.ptx", PRINT)]);
    // Lines of four bytes, and one a block.
    let run = "run print.ptx --kernel print --grid 263000 --block 1 --check none --arg counts=i32[1]:zero";
    let object = folder.json(run, 0);
    let printed = object["printed"].as_str().unwrap();
    assert_eq!(printed.len(), 1 << 20);
    assert_eq!(object["prints_dropped"], 263_000 - (1 << 18));
    for threads in ["1", "3"] {
        let again = folder.json(&format!("{run} --threads {threads}"), 0);
        assert_eq!(again["prints_dropped"], object["prints_dropped"]);
    }
}

#[test]
fn the_stack_has_the_size_it_is_given() {
    // Seven calls of 16 bytes, each with an array of 32.
    let deep = ".func down(.param .b32 n)\n{\n .local .align 16 .b8 room[32];\n .reg .pred %more;\n .reg .b32 %n;\n .param .b32 next;\n ld.param.b32 %n, [n];\n \
         st.local.u32 [room], %n;\n sub.u32 %n, %n, 1;\n setp.ne.u32 %more, %n, 0;\n st.param.b32 [next], %n;\n @%more call down, (next);\n ret;\n}\n\
         .visible .entry deep()\n{\n .param .b32 n;\n st.param.b32 [n], 7;\n call down, (n);\n ret;\n}\n";
    let folder = Folder::with(&[("deep.ptx", deep)]);
    let run = "run deep.ptx --kernel deep --grid 1 --block 32";
    folder.json(run, 0);
    folder.json(&format!("{run} --stack 336"), 0);
    let object = folder.json(&format!("{run} --stack 335"), 1);
    assert_eq!(object["faults"][0]["code"], "stack-overflow");
    let message = object["faults"][0]["message"].as_str().unwrap();
    assert_contains(message, &["in down, 7 deep, on a thread's stack of 335 bytes"]);
}

#[test]
fn unsupported_instructions_are_refused_at_their_line() {
    let folder = Folder::new();
    let declared = ".extern .func (.param .b64 r) realloc (.param .b64 n);\n.extern .global .u32 elsewhere;\n\
                    .func (.param .b32 r) one (.param .b32 x) { ret; }\n.extern .shared .b32 dynamic[];\n\
                    .global .u32 narrow = one;\n.global .u64 far = dynamic;";
    let body = |line: &str| {
        format!(
            "{HEAD}{declared}\n.visible .entry k(.param .b64 p)\n{{\n .reg .b32 %r<4>;\n .reg .b64 %d<4>;\n .param .b64 big; .param .b32 small;\n{line}\n ret;\n}}\n"
        )
    };
    for (line, parts) in [
        ("call (big), realloc, (big);", &["bad.ptx:15: ", "realloc is called, and no PTX file given has its body"][..]),
        ("call (small), one, (big);", &["bad.ptx:15: ", "other sizes"]),
        ("call (small), one, (small, small);", &["bad.ptx:15: ", "takes 1, not 1 and 2"]),
        ("call (small), two, (small);", &["bad.ptx:15: ", "two is not declared"]),
        ("call (small), k, (small);", &["bad.ptx:15: ", "k is a kernel"]),
        ("call (small), elsewhere, (small);", &["elsewhere is defined in no PTX file given"]),
        ("call (%r1), %d1, (%r2);", &["bad.ptx:15: ", "a .param variable is expected"]),
        ("call (small), one, (%d1);", &["bad.ptx:15: ", "4 bytes"]),
        ("st.param.b64 [small], %d1;", &["bad.ptx:15: ", "past the 4 bytes"]),
        ("st.param.b32 [big+2], %r1;", &["bad.ptx:15: ", "at byte 2"]),
        ("st.param.b32 [big+9223372036854775807], %r1;", &["bad.ptx:15: ", "past the 8 bytes"]),
        ("ld.param.b32 %r1, [p+9223372036854775807];", &["bad.ptx:15: ", "past the 8 bytes"]),
        ("st.param.b64 [p], %d1;", &["bad.ptx:15: ", "p is no parameter that can be written"]),
        ("mov.u64 %d1, realloc;", &["bad.ptx:15: ", "the address of realloc is taken, and no PTX file"]),
        ("mov.u64 %d1, elsewhere;", &["elsewhere is defined in no PTX file given"]),
        ("ld.global.u32 %r1, [narrow];", &["address of one in an element of 4 bytes"]),
        ("ld.global.u64 %d1, [far];", &["dynamic, which lies in shared memory"]),
        ("brx.idx %r1, nowhere;", &["bad.ptx:15: ", "no .branchtargets named nowhere"]),
        ("alloca.u32 %r1, 16;", &["bad.ptx:15\n", "unsupported instruction alloca.u32"]),
        ("st.global.pred [%d1], %r1;", &["bad.ptx:15\n", "unsupported instruction st.global.pred"]),
        ("ld.global.pred %r1, [%d1];", &["bad.ptx:15\n", "unsupported instruction ld.global.pred"]),
        ("atom.global.exch.pred %r1, [%d1], %r2;", &["bad.ptx:15\n", "unsupported instruction atom.global.exch.pred"]),
        ("mov.u64 %d1, _;", &["bad.ptx:15: ", "`_` where a value is expected"]),
        ("mov.b64 %d1, {%r1, _};", &["bad.ptx:15: ", "`_` where a value is expected"]),
        ("st.global.v2.u32 [%d1], {%r1, _};", &["bad.ptx:15: ", "`_` where a value is expected"]),
        ("atom.global.exch.b32 _, [%d1], _;", &["bad.ptx:15: ", "`_` where a value is expected"]),
        ("bar.sync _;", &["bad.ptx:15: ", "`_` where a value is expected"]),
        ("mov.u32 %r1, %pm0;", &["bad.ptx:15: ", "%pm0"]),
    ] {
        folder.write("bad.ptx", body(line));
        folder.refused("run bad.ptx --kernel k --grid 1 --block 1 --arg p=u64:0", parts);
    }
}

#[test]
fn checks_can_be_chosen() {
    let race = ".visible .entry crowd()\n{\n .shared .b32 w;\n .reg .b32 %t;\n mov.u32 %t, %tid.x;\n st.shared.u32 [w], %t;\n ret;\n}\n";
    let folder = Folder::with(&[("race.ptx", race)]);
    let run = "run race.ptx --kernel crowd --grid 1 --block 32";
    assert_eq!(folder.json(run, 1)["faults"][0]["code"], "shared-race");
    folder.json(&format!("{run} --check shared-race"), 1);
    for checks in ["none", "uninitialised-read", "misaligned,barrier-divergence"] {
        folder.json(&format!("{run} --check {checks}"), 0);
    }
}

#[test]
fn help_says_what_rand_and_hash8_are() {
    let help = Folder::new().ends("run --help", 0);
    assert_contains(&help, &["splitmix64", "2654435761", "NAME=TYPE[LEN]:INIT", "--schedule", "Exit status"]);
}

#[test]
fn output_without_a_reader_is_no_panic() {
    let folder = Folder::new();
    let mut command = host::simt();
    let run = RUN_SCALE.replace("[40]", "[100000]").replace("32 ", "32 --print data ");
    command.current_dir(folder.path()).args(run.split_whitespace());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

/// Run of a kernel of the tests' folder that races.
fn run_of_race() -> String {
    let file = host::folder().join("fail/shared-race/missing_syncthreads.ptx");
    format!("run {} --kernel block_sum --grid 1 --block 128 --arg in=i32[128]:iota out=i32[1]:zero", file.display())
}

/// Whatever a name of the tests' folder looks like, reports find the source beside the PTX.
#[test]
fn source_lines_are_found_from_any_folder() {
    assert_contains(&Folder::new().shown(&run_of_race()), &["sums[t] += sums[t + half];"]);
}
