//! Several PTX files, files that are none, and `simt check`.

use super::*;

/// Calls what another file defines, and has a helper and a variable of its own that the other file has too.
const CALLER: &str = r#"
.file 1 "caller.cu"
.extern .func (.param .b32 result) shared_code(.param .b32 x);
.extern .global .align 4 .u32 counter;
.global .align 4 .u32 own = 100;
.func (.param .b32 result) helper(.param .b32 x)
{
    .reg .b32 %x;
    ld.param.b32 %x, [x];
    add.u32 %x, %x, 1;
    st.param.b32 [result], %x;
    ret;
}
.weak .func (.param .b32 result) either()
{
    .reg .b32 %x;
    mov.u32 %x, 1;
    st.param.b32 [result], %x;
    ret;
}
.visible .entry both(.param .u64 out)
{
    .reg .b32 %x, %y;
    .reg .b64 %out;
    .param .b32 given, taken;
    ld.global.u32 %x, [own];
    st.param.b32 [given], %x;
    call (taken), helper, (given);
    ld.param.b32 %x, [taken];
    st.param.b32 [given], %x;
    .loc 1 7 1
    call (taken), shared_code, (given);
    ld.param.b32 %x, [taken];
    ld.global.u32 %y, [counter];
    add.u32 %x, %x, %y;
    call (taken), either;
    ld.param.b32 %y, [taken];
    add.u32 %x, %x, %y;
    ld.param.u64 %out, [out];
    st.global.u32 [%out], %x;
    ret;
}
.visible .entry alone() { ret; }
"#;

const LIBRARY: &str = r#"
.file 1 "library.cu"
.visible .global .align 4 .u32 counter = 3000;
.global .align 4 .u32 own = 20000;
.func (.param .b32 result) helper(.param .b32 x)
{
    .reg .b32 %x, %own;
    ld.param.b32 %x, [x];
    ld.global.u32 %own, [own];
    add.u32 %x, %x, %own;
    st.param.b32 [result], %x;
    ret;
}
.visible .func (.param .b32 result) either()
{
    .reg .b32 %x;
    mov.u32 %x, 500000;
    st.param.b32 [result], %x;
    ret;
}
.visible .func (.param .b32 result) shared_code(.param .b32 x)
{
    .reg .b32 %x;
    .param .b32 given, taken;
    ld.param.b32 %x, [x];
    st.param.b32 [given], %x;
    call (taken), helper, (given);
    ld.param.b32 %x, [taken];
    st.param.b32 [result], %x;
    ret;
}
.visible .entry wild(.param .u64 out)
{
    .reg .b64 %out;
    ld.param.u64 %out, [out];
    .loc 1 9 1
    st.global.u64 [%out+64], %out;
    ret;
}
.visible .entry bare(.param .u64 out)
{
    .reg .b64 %out;
    ld.param.u64 %out, [out];
    st.global.u64 [%out+64], %out;
    ret;
}
"#;

fn folder_of_files() -> Folder {
    Folder::with(&[("caller.ptx", CALLER), ("library.ptx", LIBRARY), ("tensor.ptx", TENSOR)])
}

/// A kernel that does not run, for two reasons, and one that does.
const TENSOR: &str = r"
.visible .entry product()
{
    .reg .f32 %f<9>;
    .reg .b32 %r<9>;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8};
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8};
    alloca.u32 %r1, 16;
    ret;
}
.visible .entry alone() { ret; }
";

const LAUNCH: &str = "--grid 1 --block 1 --arg out=u32[1]:zero";

#[test]
fn files_are_linked() {
    let folder = folder_of_files();
    for files in ["caller.ptx library.ptx", "library.ptx caller.ptx"] {
        let run = format!("run {files} --kernel both {LAUNCH} --print out");
        // 100 + 1 of the caller's own, 20000 of the library's own, and the definition that is not weak.
        assert_eq!(folder.json(&run, 0)["outputs"]["out"][0], 523_101, "{files}");
    }
    let listed = folder.shown("kernels caller.ptx library.ptx");
    assert_eq!(listed, "both(out: u64)\nalone()\nwild(out: u64)\nbare(out: u64)\n");
    let shown = folder.shown(&format!("run caller.ptx library.ptx --kernel both {LAUNCH}"));
    assert!(shown.contains("kernel    both of caller.ptx, library.ptx\n"), "{shown}");
}

#[test]
fn faults_name_the_file_that_they_are_in() {
    let folder = folder_of_files();
    let object = folder.json(&format!("run caller.ptx library.ptx --kernel wild {LAUNCH}"), 1);
    assert_eq!((&object["faults"][0]["file"], &object["faults"][0]["line"]), (&"library.cu".into(), &9.into()));
    let alone = folder.json(&format!("run library.ptx --kernel bare {LAUNCH}"), 1);
    let linked = folder.json(&format!("run caller.ptx library.ptx --kernel bare {LAUNCH}"), 1);
    assert_eq!(linked["faults"][0]["file"], "library.ptx");
    assert_eq!(linked["faults"], alone["faults"]);
    let shown = folder.shown(&format!("run caller.ptx library.ptx --kernel bare {LAUNCH}"));
    assert!(shown.contains("st.global.u64 [%out+64], %out;"), "{shown}");
}

#[test]
fn functions_with_no_definition_or_two_are_refused() {
    let folder = folder_of_files();
    let missing = [
        "caller.ptx:35: shared_code is called, and no PTX file given has its body",
        "name the PTX file that defines it",
    ];
    folder.refused(&format!("run caller.ptx --kernel both {LAUNCH}"), &missing);
    let twice =
        ["`alone` is defined a second time, first in caller.ptx:46", "tensor.ptx:14", "leave one of the files out"];
    folder.refused(&format!("run caller.ptx tensor.ptx --kernel both {LAUNCH}"), &twice);
    let narrow = format!("{}{CALLER}", HEAD.replace("64", "32"));
    folder.write("narrow.ptx", narrow);
    folder.refused(&format!("run library.ptx narrow.ptx --kernel both {LAUNCH}"), &["narrow.ptx", ".address_size"]);
    let parts = ["library.ptx, caller.ptx: no kernel named all", "wild, bare, both, alone"];
    folder.refused(&format!("run library.ptx caller.ptx --kernel all {LAUNCH}"), &parts);
    let runtime =
        ".extern .func cudaLaunchDeviceV2();\n.visible .entry parent() {\n    call cudaLaunchDeviceV2;\n    ret;\n}\n";
    folder.write("parent.ptx", format!("{HEAD}{runtime}"));
    folder.refused("run parent.ptx --kernel parent --grid 1 --block 1", &["device runtime, which has no PTX"]);
}

#[test]
fn old_ptx_is_named_as_such() {
    let folder = Folder::new();
    let old = "\n.entry k()\n{\n    .reg .b32 %r1;\n    alloca.u32 %r1, 16;\n}\n";
    for (version, parts) in [("2.3", &["the file is PTX 2.3, and PTX 3.0 and later is covered"][..]), ("3.0", &[])] {
        folder.write("old.ptx", format!(".version {version}\n.target sm_20{old}"));
        let message = text(&folder.simt("run old.ptx --kernel k --grid 1 --block 1").stderr);
        assert!(message.contains("unsupported instruction alloca.u32"), "{message}");
        assert_eq!(message.contains("is covered"), !parts.is_empty(), "{message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "{message}"));
    }
}

#[test]
fn source_code_is_no_ptx() {
    let folder = folder_of_files();
    folder.write("hello.cu", "extern \"C\" __global__ void hello() {}\n");
    folder.write("hello.txt", "extern \"C\" __global__ void hello() {}\n");
    for file in ["hello.cu", "hello.txt"] {
        for verb in ["run --kernel hello --grid 1 --block 1", "kernels", "check"] {
            let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
            let parts = [file, "this is source code", "nvcc -ptx", "cargo course run"];
            folder.refused(&format!("{verb} {file} {rest}"), &parts);
        }
    }
}

#[test]
fn check_says_of_every_kernel_whether_it_runs() {
    let folder = folder_of_files();
    let shown = folder.ends("check caller.ptx library.ptx", 0);
    assert!(shown.ends_with("\n4 of 4 kernels run\n"), "{shown}");

    assert_contains(
        &folder.ends("check tensor.ptx", 1),
        &["does not run  product of tensor.ptx\n", "runs          alone of tensor.ptx\n", "1 of 2 kernels run"],
    );
    let object = folder.json("check tensor.ptx", 1);
    let product = &object["kernels"][0];
    assert_eq!((&product["kernel"], &product["runs"]), (&"product".into(), &false.into()));
    let reasons: Vec<&str> = product["reasons"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 2, "the same instruction twice is one reason: {reasons:?}");
    assert!(reasons[0].starts_with("tensor.ptx:9: unsupported instruction mma.sync"), "{reasons:?}");
    assert!(reasons[1].contains("alloca.u32"), "{reasons:?}");
    assert_eq!(
        object["kernels"][1],
        serde_json::json!({"file": "tensor.ptx", "kernel": "alone", "runs": true, "reasons": []})
    );
}

#[test]
fn files_that_cannot_be_linked_are_checked_one_by_one() {
    let folder = folder_of_files();
    assert_contains(
        &folder.ends("check caller.ptx tensor.ptx", 1),
        &["each is checked by itself: tensor.ptx:14: `alone`", "shared_code is called", "2 of 4 kernels run"],
    );
    folder.write("cut.ptx", format!("{HEAD}.visible .entry k() {{"));
    let output = folder.simt("check library.ptx cut.ptx");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cut.ptx:4:"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("2 of 2 kernels run"), "{}", text(&output.stdout));
    folder.refused("check cut.ptx", &["cut.ptx:4:"]);
    folder.refused("check absent.ptx", &["absent.ptx", "os error 2"]);
    folder.write("bare.ptx", HEAD);
    folder.refused("check bare.ptx", &["bare.ptx: no kernel"]);
    folder.refused("check", &["<FILE>"]);
}
