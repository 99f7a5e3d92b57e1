//! Structures by value, addresses inside them and in memory, functions as arguments, variables of the PTX.

use super::*;

/// `pair` adds up what a structure of two pointers and a count points to; `chain` follows a pointer in memory; `apply` calls the
/// function that it is given, and `dispatch` one of a table; `scaled` reads a variable and a constant.
const KERNELS: &str = r"
.visible .global .align 8 .u64 handlers[2];
.visible .const .align 4 .f32 factors[2] = {0f3F800000, 0f40000000};
.visible .global .align 4 .u32 total;
.func (.param .b32 result) twice(.param .b32 x)
{
    .reg .b32 %x;
    ld.param.b32 %x, [x];
    add.u32 %x, %x, %x;
    st.param.b32 [result], %x;
    ret;
}
.func (.param .b32 result) square(.param .b32 x)
{
    .reg .b32 %x;
    ld.param.b32 %x, [x];
    mul.lo.u32 %x, %x, %x;
    st.param.b32 [result], %x;
    ret;
}
.visible .entry pair(.param .align 8 .b8 s[24], .param .u64 out)
{
    .reg .b32 %a, %b, %n;
    .reg .b64 %from, %more, %out;
    ld.param.u64 %from, [s];
    ld.param.u64 %more, [s+8];
    ld.param.u32 %n, [s+16];
    ld.global.u32 %a, [%from];
    ld.global.u32 %b, [%more];
    add.u32 %a, %a, %b;
    add.u32 %a, %a, %n;
    ld.param.u64 %out, [out];
    st.global.u32 [%out], %a;
    ret;
}
.visible .entry chain(.param .u64 list, .param .u64 out)
{
    .reg .b32 %a;
    .reg .b64 %from, %out;
    ld.param.u64 %from, [list];
    ld.global.u64 %from, [%from+8];
    ld.global.u32 %a, [%from];
    ld.param.u64 %out, [out];
    st.global.u32 [%out], %a;
    ret;
}
.visible .entry apply(.param .u64 f, .param .u64 out)
{
    .reg .b32 %x;
    .reg .b64 %f, %out;
    .param .b32 given, taken;
    ld.param.u64 %f, [f];
    mov.u32 %x, 7;
    st.param.b32 [given], %x;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (taken), %f, (given), proto;
    ld.param.b32 %x, [taken];
    ld.param.u64 %out, [out];
    st.global.u32 [%out], %x;
    ret;
}
.visible .entry dispatch(.param .u64 out)
{
    .reg .b32 %x;
    .reg .b64 %f, %out;
    .param .b32 given, taken;
    ld.global.u64 %f, [handlers+8];
    mov.u32 %x, 7;
    st.param.b32 [given], %x;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (taken), %f, (given), proto;
    ld.param.b32 %x, [taken];
    ld.param.u64 %out, [out];
    st.global.u32 [%out], %x;
    st.global.u32 [total], %x;
    ret;
}
.visible .entry scaled(.param .u64 out)
{
    .reg .f32 %x;
    .reg .b64 %out;
    ld.const.f32 %x, [factors+4];
    ld.param.u64 %out, [out];
    st.global.f32 [%out], %x;
    ret;
}
";

fn folder_of_kernels() -> Folder {
    Folder::with(&[("k.ptx", KERNELS)])
}

/// Runs one thread of `kernel` and prints `out`; what it left there.
fn out(folder: &Folder, kernel: &str, arguments: &str) -> Value {
    let run = format!("run k.ptx --kernel {kernel} --grid 1 --block 1 --print out {arguments}");
    folder.json(&run, 0)["outputs"]["out"][0].clone()
}

#[test]
fn a_structure_holds_addresses_of_buffers_and_numbers() {
    let folder = folder_of_kernels();
    let structure = "--arg s=bytes[24]:zero out=u32[1]:zero s@0=&a s@8=&b+4 s@16=u32:1000";
    let loose = format!("{structure} --buffer a=u32[1]:const(5) b=u32[2]:iota");
    assert_eq!(out(&folder, "pair", &loose), 1006);
    // A buffer that is pointed to needs no parameter, and may have one.
    assert_eq!(out(&folder, "pair", &format!("{structure} a=u32[1]:const(7) b=u32[2]:iota")), 1008);
    assert_eq!(out(&folder, "pair", "--arg s=bytes[24]:zero out=u32[1]:const(4) s@0=&out s@8=&out"), 8);
    let bytes: Vec<u8> = (0..24).map(|i| if i == 16 { 9 } else { 0 }).collect();
    folder.write("s.bin", bytes);
    let filled = structure.replace("bytes[24]:zero", "bytes[24]:file(s.bin)").replace(" s@16=u32:1000", "");
    assert_eq!(out(&folder, "pair", &format!("{filled} --buffer a=u32[1]:const(5) b=u32[2]:iota")), 15);
}

#[test]
fn memory_holds_addresses_too() {
    let folder = folder_of_kernels();
    let list = "--arg list=u64[2]:zero out=u32[1]:zero list@8=&last --buffer last=u32[1]:const(3)";
    assert_eq!(out(&folder, "chain", list), 3);
    assert_eq!(
        out(&folder, "chain", "--arg list=&node-8 out=u32[1]:zero node@0=&node+12 --buffer node=u32[4]:const(6)"),
        6
    );
}

#[test]
fn functions_are_passed_by_address() {
    let folder = folder_of_kernels();
    assert_eq!(out(&folder, "apply", "--arg f=fn:twice out=u32[1]:zero"), 14);
    assert_eq!(out(&folder, "apply", "--arg f=fn:square out=u32[1]:zero"), 49);
    let table = "--arg out=u32[1]:zero handlers@8=fn:square --set handlers=u64[2]:zero";
    assert_eq!(out(&folder, "dispatch", table), 49);
    let run = "run k.ptx --kernel apply --grid 1 --block 1 --arg out=u32[1]:zero";
    folder.refused(&run.replace("--arg", "--arg f=fn:thrice"), &["no device function named thrice", "twice, square"]);
    folder.refused(&run.replace("--arg", "--arg f=fn:apply"), &["no device function named apply"]);
}

#[test]
fn variables_are_set_and_printed() {
    let folder = folder_of_kernels();
    assert_eq!(out(&folder, "scaled", "--arg out=f32[1]:zero"), 2.0);
    assert_eq!(out(&folder, "scaled", "--arg out=f32[1]:zero --set factors=f32[2]:const(-1.5)"), -1.5);
    let run = "run k.ptx --kernel dispatch --grid 1 --block 1 --arg out=u32[1]:zero handlers@8=fn:twice \
               --set handlers=u64[2]:zero total=u32:5 --print total";
    assert_eq!(folder.json(run, 0)["outputs"]["total"], serde_json::json!([14]));
}

#[test]
fn a_file_may_be_shorter_than_the_buffer() {
    let folder = folder_of_kernels();
    folder.write("x.bin", 1.5_f32.to_le_bytes());
    let run = |n, rest: &str| {
        format!("run scale.ptx --kernel scale --grid 1 --block 32 --arg data=f32[2]:{rest} factor=f32:2 n=u32:{n}")
    };
    folder.json(&run(1, "start(x.bin)"), 0);
    let object = folder.json(&run(2, "start(x.bin)"), 1);
    assert_eq!(object["faults"][0]["code"], "uninitialised-read");
    folder.refused(&run(1, "file(x.bin)"), &["holds 4 bytes of data", "start(PATH)"]);
    folder.write("x.bin", [0; 12]);
    folder.refused(&run(1, "start(x.bin)"), &["holds 12 bytes of data, data has 8"]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = folder_of_kernels();
    let run = |kernel: &str, rest: &str| {
        format!("run k.ptx --kernel {kernel} --grid 1 --block 1 --arg out=u32[1]:zero {rest}")
    };
    let pair = |rest: &str| run("pair", rest).replace("--arg", "--arg s=bytes[24]:zero");
    folder.refused(&pair("s@20=&out"), &["s@20: 8 bytes from there on end past the 24 bytes of s"]);
    folder.refused(&pair("s@0=&nobody"), &["&nobody: no buffer has that name", "no .global or .const variable named"]);
    folder.refused(&pair("t@0=&out"), &["t@0: no argument is named t"]);
    folder.refused(&pair("s@0=&a --print s"), &["--print s: it is a scalar or a structure"]);
    folder.refused(&pair("a=u32[1]:zero b=u32[1]:zero s@0=&a"), &["pair takes 2 arguments, 4 given", "--buffer"]);
    folder.refused(
        &run("pair", "").replace("--arg", "--arg s=bytes[16]:zero"),
        &["a structure of 16 bytes", "of 24 bytes"],
    );
    folder.refused(&run("pair", "").replace("--arg", "--arg s=u64:0"), &["a structure, as bytes[LEN]:INIT"]);
    folder.refused(&run("pair", "").replace("--arg", "--arg s=bytes[24]:zero(3)"), &["every byte of a structure"]);
    folder.refused(&run("scaled", "--buffer b=u32:1"), &["--buffer b: it is no buffer"]);
    folder.refused(&run("scaled", "--buffer out=u32[1]:zero"), &["two arguments are named out"]);
    folder.refused(&run("scaled", "--set nobody=u32:1"), &["--set nobody", "handlers, factors, total"]);
    folder.refused(&run("scaled", "--set total=u32[2]:zero"), &["--set total: 8 bytes are given, the variable has 4"]);
    folder.refused(&run("chain", "").replace("--arg", "--arg list=u64:1 list@0=&out"), &["list is a scalar"]);
}
