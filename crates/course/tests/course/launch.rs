//! `cargo course run`: what comes of a reader's file, in words and in the exit status. Compiling needs NVRTC; without it the
//! tests that compile say so and end.

use std::process::{Command, Output};

use device::nvrtc::Nvrtc;
use serde_json::Value;

use crate::checkout::{Checkout, ends, repository};

/// Runs `cargo course run` on a file `my.cu` that holds `text`. `None`: there is no NVRTC here.
fn run(text: &str, options: &str) -> Option<Output> {
    if Nvrtc::find(&repository()).is_err() {
        eprintln!("skipped: no NVRTC, `cargo course setup` installs it");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("my.cu"), text).unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_course"))
        .current_dir(folder.path())
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .args(["run", "my.cu"])
        .args(options.split_whitespace())
        .output();
    Some(command.unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Expects status 2, nothing on standard output, and every part in the message.
fn refused(source: &str, options: &str, parts: &[&str]) {
    let Some(output) = run(source, options) else { return };
    let message = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{source}: {message}");
    for part in parts {
        assert!(message.contains(part), "{source}: `{part}` is not in: {message}");
    }
}

const SIMPLE: &str = "--kernel k --grid 1 --block 1";

#[test]
fn the_first_kernel_of_the_book_runs() {
    let source = std::fs::read_to_string(repository().join("book/src/first-kernel/hello.cu")).unwrap();
    let Some(output) = run(&source, "--kernel hello --grid 2 --block 4") else { return };
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.starts_with("block 0, thread 0: number 0\n"), "{said}");
    assert!(said.contains("block 1, thread 3: number 7\n\nkernel    hello of my.cu"), "{said}");
    assert!(said.contains("lanes at work") && said.ends_with("no faults found\n"), "{said}");
}

#[test]
fn arguments_and_outputs_are_those_of_simt_run() {
    let source = std::fs::read_to_string(repository().join("book/src/first-kernel/twice.cu")).unwrap();
    let options =
        "--kernel twice --grid 2 --block 32 --arg in=i32[40]:iota out=i32[40]:zero n=i32:40 --print out:4 --json";
    let Some(output) = run(&source, options) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["outputs"], serde_json::json!({"out": [0, 2, 4, 6]}));
    assert_eq!(object["counters"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], 5);
}

#[test]
fn a_fault_has_its_line_and_status_1() {
    let source = "__global__ void k(int *o) {\n    o[threadIdx.x] = 1;\n}\n";
    let Some(output) = run(source, "--kernel k --grid 1 --block 33 --arg o=i32[32]:zero") else { return };
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error[out-of-bounds]") && said.contains("my.cu:2"), "{said}");
    assert!(said.contains("2 |     o[threadIdx.x] = 1;"), "{said}");
}

#[test]
fn habitual_headers_are_there() {
    let source = "#include <cstdio>\n#include <stdio.h>\n#include <cuda_runtime.h>\n#include <cstdint>\n#include <stdint.h>\n\
        #include <cstddef>\n#include <climits>\n#include <cfloat>\n#include <cmath>\n#include <device_launch_parameters.h>\n#include <assert.h>\n#include <cassert>\n\
        __global__ void k(uint64_t *o, float x) {\n    o[0] = INT_MAX + (ptrdiff_t)1;\n    o[1] = (x < INFINITY) + (x > FLT_MAX);\n\
        std::uint8_t b = 255;\n    std::printf(\"%d %d\\n\", ++b, (int)sqrtf(x));\n}\n";
    let Some(output) = run(source, "--kernel k --grid 1 --block 1 --arg o=u64[2]:zero x=f32:16 --print o") else {
        return;
    };
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.starts_with("0 4\n") && said.contains("o = [2147483648, 1]"), "{said}");
}

#[test]
fn what_is_the_cpus_is_explained() {
    let kernel = "__global__ void k() {}\n";
    refused(
        &format!("{kernel}int main() {{ k<<<1, 1>>>(); }}\n"),
        SIMPLE,
        &["my.cu(2): error", "`#ifndef __CUDACC_RTC__`", "--grid"],
    );
    refused(&format!("#include <iostream>\n{kernel}"), SIMPLE, &["my.cu(1)", "cstdio", "`printf`"]);
    let has_cub = |nvrtc: Nvrtc| nvrtc.include_dirs().iter().any(|folder| folder.join("cub").is_dir());
    if Nvrtc::find(&repository()).is_ok_and(has_cub) {
        eprintln!("skipped: what is said where CUB is not there; a toolkit or its wheels have it here");
    } else {
        refused(
            &format!("#include <cub/cub.cuh>\n{kernel}"),
            SIMPLE,
            &["<cub/cub.cuh> comes with the CUDA toolkit", "nvcc -ptx"],
        );
    }
    refused("__global__ void k() { __shfl_down(1, 1); }\n", SIMPLE, &["write __shfl_down_sync", "0xffffffff"]);
    refused("int f() { return 1; }\n__global__ void k() { f(); }\n", SIMPLE, &["my.cu(1)", "needs `__device__`"]);
    refused(
        "__global__ void k() { x = 1; }\n",
        SIMPLE,
        &["my.cu does not compile", "my.cu(1): error", "\"x\" is undefined"],
    );
}

#[test]
fn a_kernel_is_found_by_its_name_in_the_file() {
    let source = "__global__ void hello(float x) {}\nextern \"C\" __global__ void plain() {}\n";
    refused(source, "--kernel helo --grid 1 --block 1", &["no kernel has that name, the file has hello, plain"]);
    let Some(output) = run(source, "--kernel plain --grid 1 --block 1") else { return };
    assert_eq!(output.status.code(), Some(0));
    let nested = "\u{feff}namespace my {\n__global__ void sum(float x) { assert(x > 0); }\n}\n";
    let Some(output) = run(nested, "--kernel my::sum --grid 1 --block 1 --arg x=f32:1") else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let overloaded = "__global__ void k(float x) {}\n__global__ void k(int x) {}\n";
    refused(overloaded, SIMPLE, &["several of that name", "_Z1kf", "_Z1ki"]);
    let Some(output) = run(overloaded, "--kernel _Z1ki --grid 1 --block 1 --arg x=i32:1") else { return };
    assert_eq!(output.status.code(), Some(0));
    refused("template <int B> __global__ void k() {}\n", SIMPLE, &["A template has no code until it is used"]);
    refused("__device__ int k() { return 1; }\n", SIMPLE, &["A kernel is a function that returns void"]);
}

#[test]
fn a_machine_without_the_compiler_hears_how_to_get_it() {
    let checkout = Checkout::new();
    checkout.write("k.cu", "__global__ void k() {}\n");
    let of = |file: &str| {
        let mut command = checkout.command(&["run", file]);
        let [_, said] = ends(2, command.args(SIMPLE.split(' ')).current_dir(checkout.path("")));
        said
    };
    // A toolkit in the loader's own path is found whatever the environment says.
    if Nvrtc::find(&checkout.path("")).is_err() {
        assert!(of("k.cu").contains("`cargo course setup` installs it"));
    }
    assert!(of("none.cu").contains("none.cu: the file cannot be read"));
    assert!(of("k.ptx").contains("-p simt"));
}
