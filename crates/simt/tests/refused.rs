//! The simulator refuses what an assembler refuses, with a sentence that says what was wrong: it would otherwise run something
//! that no GPU runs. Each line was given to `ptxas` 13.0.

use simt::{Arg, Launch, Memory, Options, Program};

use crate::host;

/// A kernel with registers of each kind and `line` in it.
fn module(head: &str, directives: &str, line: &str) -> String {
    format!(
        "{head}\n.address_size 64\n.const .b32 c = 1;\n.global .b32 g;\n.shared .b32 s;\n\
         .visible .entry k(.param .u64 p) {directives}\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<5>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %fd<5>;\n\
         {line}\nret;\n}}\n"
    )
}

const SM_90: &str = ".version 8.1\n.target sm_90";
const SM_80: &str = ".version 8.1\n.target sm_80";
const KERNEL_LINE: u32 = 10;

fn lowered(head: &str, line: &str) -> Result<simt::Kernel, simt::LoadError> {
    Program::load("k.ptx", &module(head, "", line))?.kernel("k")
}

#[track_caller]
fn refused(head: &str, line: &str, why: &str) {
    let error = lowered(head, line).expect_err(line).to_string();
    assert!(error.contains(why), "{line}: {error}");
    assert!(error.contains(&format!("k.ptx:{KERNEL_LINE}")), "{line}: {error}");
}

#[test]
fn results_go_to_registers() {
    for (line, why) in [
        ("add.u32 1, %r1, 100;", "a register is expected where the result goes"),
        ("mov.u32 %tid.x, 99;", "%tid.x can only be read"),
        ("mov.u32 s, 12;", "s is no register"),
        ("ld.global.v2.u32 {%r1, 2}, [%rd1];", "a register is expected"),
        ("setp.eq.u32 %p1|s, %r1, 0;", "s is no register"),
        ("atom.global.add.u32 7, [%rd1], 1;", "a register is expected"),
    ] {
        refused(SM_90, line, why);
    }
}

#[test]
fn literals_are_of_the_kind_that_an_instruction_takes() {
    for (line, why) in [
        ("mov.f32 %f1, 1;", "expected a float literal"),
        ("mov.b32 %r1, 1.5;", "expected an integer, or the bits of a float"),
        ("mov.u32 %r1, 0f3F800000;", "expected an integer"),
        ("mov.b64 %rd1, 0f3F800000;", "expected an integer"),
        ("add.f32 %f1, %f1, 0x3f800000;", "expected a float literal"),
        ("add.s32 %r1, %r1, 1.5;", "expected an integer"),
        ("add.f16 %h1, %h1, 1.0;", "halves have no literals"),
        ("selp.b32 %r1, 1.5, %r2, %p1;", "expected an integer"),
        ("selp.f32 %f1, 1, %f2, %p1;", "expected a float literal"),
        ("slct.u32.f32 %r1, 1, 2, 1;", "expected a float literal"),
        ("cvt.rn.f32.s32 %f1, 1.5;", "expected an integer"),
        ("st.global.f32 [%rd1], 1;", "expected a float literal"),
        ("st.global.u32 [%rd1], 0f3F800000;", "expected an integer"),
        ("atom.global.add.f32 %f1, [%rd1], 1;", "expected a float literal"),
        ("shfl.sync.idx.b32 %r1, 1.5, 1, 31, -1;", "expected an integer"),
        ("redux.sync.add.s32 %r1, 1.5, -1;", "expected an integer"),
    ] {
        refused(SM_90, line, why);
    }
    for line in [
        "mov.f32 %f1, 0d3FF0000000000000;",
        "mov.b32 %r1, 0f3F800000;",
        "mov.b64 %rd1, 1.5;",
        "and.b32 %r1, %r1, 0f3F800000;",
        "slct.u32.f32 %r1, 1, 2, 1.0;",
        "st.global.f32 [%rd1], 1.5;",
        "red.global.add.f64 [%rd1], 1.0;",
        "mov.pred %p1, 1;",
        "mov.b32 %f1, 1;",
    ] {
        lowered(SM_90, line).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_block_has_sixteen_barriers_of_whole_warps() {
    refused(SM_90, "bar.sync 16;", "a block has barriers 0 to 15");
    refused(SM_90, "bar.sync -1;", "a block has barriers 0 to 15");
    refused(SM_90, "bar.sync 1, 33;", "33 threads");
    refused(SM_90, "bar.arrive 1, 31;", "31 threads");
    assert!(lowered(SM_90, "barrier.sync 15, 1024;").is_ok());
}

#[test]
fn a_target_has_what_came_with_it() {
    for line in [
        "mov.u32 %r1, %cluster_ctarank;",
        "barrier.cluster.arrive;",
        "mapa.shared::cluster.u32 %r1, %r2, 0;",
        "elect.sync %r1|%p1, -1;",
        "fence.acq_rel.cluster;",
        "add.u16x2 %r1, %r1, %r2;",
    ] {
        refused(SM_80, line, "needs .target sm_90 or higher, not sm_80");
        assert!(lowered(SM_90, line).is_ok(), "{line}");
    }
}

#[test]
fn a_matrix_instruction_has_a_register_for_each_matrix() {
    let line = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];";
    refused(SM_80, line, "2 registers in braces are expected here");
    refused(
        SM_80,
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};",
        "needs .target sm_90 or higher, not sm_80",
    );
}

#[test]
fn a_kernel_that_another_launches_is_refused_as_that() {
    let text = ".version 8.1\n.target sm_80\n.address_size 64\n.entry child() { ret; }\n.entry k() {\n.reg .b64 %rd<2>;\n\
                mov.u64 %rd1, child;\nret;\n}\n";
    let error = Program::load("k.ptx", text).and_then(|program| program.kernel("k")).expect_err("a launch").to_string();
    assert!(
        error.contains("k.ptx:7") && error.contains("unsupported launch from the GPU: child is a kernel"),
        "{error}"
    );
}

#[test]
fn a_warp_instruction_without_sync_has_a_new_spelling() {
    for (line, instead) in [
        ("shfl.up.b32 %r1, %r2, 1, 0;", "write shfl.sync.up.b32"),
        ("vote.ballot.b32 %r1, %p1;", "in CUDA C++ __ballot_sync"),
    ] {
        refused(SM_80, line, "is gone from PTX 6.4 on for sm_70 and newer, and the file is for sm_80");
        refused(SM_80, line, instead);
    }
    assert!(lowered(".version 6.3\n.target sm_60", "shfl.up.b32 %r1, %r2, 1, 0;").is_ok());
}

#[test]
fn a_version_and_a_target_have_to_be_there() {
    for (head, why) in [
        (".version 99.9\n.target sm_90", "k.ptx:1:10: there is no PTX 99.9 known here: the newest is 9.5"),
        (".version 8.0\n.target sm_95", "there is no target `sm_95` known here"),
        (".version 8.0\n.target sm_80a", "there is no target `sm_80a` known here"),
        (".version 8.6\n.target sm_120", "PTX 8.6 has no target sm_120: write `.version 8.7` or higher"),
    ] {
        let error = Program::load("k.ptx", &module(head, "", "")).map(drop).expect_err(head).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_a_family_has_is_refused_elsewhere() {
    let line = "redux.sync.min.f32 %f1, %f2, -1;";
    for target in ["sm_90", "sm_120a", "sm_100"] {
        refused(&format!(".version 9.0\n.target {target}"), line, "needs .target sm_100a (or sm_100f, sm_103a");
    }
    assert!(lowered(".version 8.6\n.target sm_100a", line).is_ok());
    refused(
        ".version 8.1\n.target sm_70",
        "redux.sync.add.u32 %r1, %r2, -1;",
        "needs .target sm_80 or higher, not sm_70",
    );
    refused(
        ".version 8.1\n.target sm_70",
        "red.global.add.noftz.bf16x2 [%rd1], %r1;",
        "needs .target sm_90 or higher, not sm_70",
    );
    refused(".version 7.8\n.target sm_90", "add.u16x2 %r1, %r1, %r2;", "needs .version 8.0 or higher, not 7.8");
}

#[test]
fn newer_targets_have_more_forms_of_what_older_ones_have() {
    let (sm_89, sm_100) = (".version 8.8\n.target sm_89", ".version 8.8\n.target sm_100");
    for line in ["add.rn.f32x2 %rd1, %rd1, %rd2;", "min.f32 %f1, %f1, %f2, %f3;", "add.f32.bf16 %f1, %h1, %f2;"] {
        refused(SM_90, line, "needs .target sm_100 or higher, not sm_90");
        assert!(lowered(sm_100, line).is_ok(), "{line}");
    }
    let line = "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;";
    refused(SM_80, line, "needs .target sm_89 or higher, not sm_80");
    assert!(lowered(sm_89, line).is_ok() && lowered(SM_80, "min.f32 %f1, %f1, %f2;").is_ok());
}

#[test]
fn what_no_form_is_run_of_is_called_unsupported_whatever_its_first_operand_is() {
    for line in [
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%rd1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, %r1;",
        "sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};",
        "setmaxnreg.inc.sync.aligned.u32 40;",
        "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];",
        "st.async.weak.shared::cluster.b32 [%r1], %r2, [%r3];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r1], %h2, [%r3];",
        "st.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 %rd1, [%r2];",
        "mbarrier.arrive.noComplete.shared::cluster.b64 %rd1, [%r2], 1;",
        "mbarrier.init.shared::cluster.b64 [%r1], 1;",
        "ld.global.acq_rel.u32 %r1, [%rd1];",
        "ldmatrix.sync.m8n8.x1.shared.b16 {%r1}, [%r2];",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r1], {%r2};",
    ] {
        let opcode = line.split(' ').next().unwrap();
        refused(SM_90, line, &format!("unsupported instruction {opcode}"));
    }
}

#[test]
fn constants_fit_in_64_kib() {
    let text = |bytes: u32| module(SM_90, "", "").replace(".const .b32 c = 1;", &format!(".const .b8 c[{bytes}];"));
    let kernel = |bytes| Program::load("k.ptx", &text(bytes)).expect("it parses").kernel("k");
    assert!(kernel(65536).is_ok());
    let error = kernel(65537).expect_err("one byte too many").to_string();
    assert!(error.contains("k.ptx:4: 65537 bytes of constants"), "{error}");
}

#[test]
fn registers_of_the_driver_are_called_what_they_are() {
    refused(SM_90, "mov.u32 %r1, %pm0;", "unsupported special register %pm0");
    refused(SM_90, "mov.u32 %r1, %nosuch;", "%nosuch is not declared");
    assert!(lowered(SM_90, "mov.u32 %r1, %tid.w;").is_ok());
}

#[test]
fn a_launch_has_the_block_that_the_kernel_requires() {
    let launch = |directives: &str, block| {
        let kernel = Program::load("k.ptx", &module(SM_90, directives, "")).expect("it parses").kernel("k");
        let launch = Launch { block, args: vec![Arg::Address(0)], ..Launch::default() };
        let outcome = simt::run(&kernel.expect("it lowers"), &mut Memory::new(), &launch, &Options::default());
        outcome.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(launch(".reqntid 64, 2", [64, 2, 1]), Ok(()));
    for block in [[64, 1, 1], [128, 1, 1], [2, 64, 1], [64, 2, 2]] {
        let error = launch(".reqntid 64, 2", block).expect_err("another block");
        assert!(error.contains("compiled for 64x2x1 and nothing else"), "{error}");
    }
    assert_eq!(launch(".maxntid 64, 2", [32, 1, 1]), Ok(()));
    assert!(launch(".maxntid 64, 2", [129, 1, 1]).is_err_and(|error| error.contains("at most 128")));
}

#[test]
fn a_kernel_has_room_for_sixty_thousand_registers_of_a_width() {
    let sum = |count: u32, last: u32| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 out) {{\n.reg .b32 %r<{count}>;\n.reg .b64 %d<{count}>;\n\
             .reg .pred %p<{count}>;\nld.param.u64 %d{last}, [out];\nmov.u32 %r{last}, 7;\nmov.u32 %r1, 2;\n\
             setp.eq.u32 %p{last}, %r1, 2;\n@%p{last} add.u32 %r{last}, %r{last}, %r1;\nst.global.u32 [%d{last}], %r{last};\nret;\n}}\n"
        );
        let kernel = Program::load("k.ptx", &text)?.kernel("k")?;
        let mut memory = Memory::new();
        let out = memory.alloc("out", 4, 4).unwrap();
        let launch = Launch { args: vec![Arg::Address(out)], ..Launch::default() };
        let outcome = simt::run(&kernel, &mut memory, &launch, &Options::default()).unwrap();
        assert!(outcome.faults.is_empty());
        Ok::<u32, simt::LoadError>(host::words(&memory, out, 1)[0])
    };
    assert_eq!(sum(65_000, 64_999), Ok(9));
    let message = sum(65_001, 7).unwrap_err().to_string();
    assert!(message.starts_with("k.ptx:4: 65001 registers of one width") && message.contains("65000"), "{message}");
}
