//! The GPU's path without a GPU: under a driver of our own (`fake_driver/libcuda.rs`) that fails on demand, so that
//! the messages about an old driver, a missing GPU, full memory or a dead launch are tested everywhere.
//!
//! A driver is found by the loader and stays for the life of a process, so every case is a process of its own: this
//! test program again, running only [`child`].

#![cfg(target_os = "linux")]

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use device::nvrtc::{Nvrtc, Place, pinned};
use device::{
    Arg, Baseline, Buffer, Call, Choice, Device, DeviceAddress, Error, Geometry, Graph, KernelSource, Operands,
    Replays, SimOptions, Step, Timed, Timing,
};

use crate::repository;

const N: u32 = 1000;
const BLOCK: u32 = 256;

/// The folder of the fake driver, compiled once; nothing where there is no rustc to be called, with the reason printed.
fn driver_folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake_driver");
        std::fs::create_dir_all(&folder).expect("a folder below the target folder");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/fake_driver/libcuda.rs");
        // Made aside and moved into place, in case two runs of the tests meet.
        let made = folder.join(format!("made_by_{}.so", std::process::id()));
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let status = Command::new(&rustc)
            .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=cuda", "--cap-lints=allow"])
            .args(["-C", "panic=abort", "-o"])
            .args([made.as_os_str(), source.as_ref()])
            .status();
        match status {
            Ok(status) => {
                assert!(status.success(), "the fake driver does not compile");
                std::fs::rename(&made, folder.join("libcuda.so")).expect("one folder");
                Some(folder)
            }
            Err(error) => {
                println!("skipped: {}: {error}", rustc.display());
                None
            }
        }
    };
    FOLDER.get_or_init(build).as_deref()
}

/// Output of [`child`] under a driver with these failures; `nvrtc` says whether it may use the installed NVRTC.
fn output(failures: &str, nvrtc: bool) -> Option<String> {
    output_of("fake_driver::child", failures, nvrtc)
}

/// Output of an ignored test of this program under a driver with these failures.
pub(crate) fn output_of(child: &str, failures: &str, nvrtc: bool) -> Option<String> {
    let folder = driver_folder()?;
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([child, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_LIBRARY_PATH", folder)
        .env("FAKE_CUDA", failures)
        .env("FAKE_NVRTC", if nvrtc { "1" } else { "" })
        .output()
        .expect("the child runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "the child fails: {text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("panicked"), "{text}");
    Some(text)
}

#[test]
#[ignore = "a child process of the other tests, under the fake driver"]
fn child() {
    ended(tell());
}

/// Prints how a child came out.
pub(crate) fn ended(result: Result<(), Error>) {
    match result {
        Ok(()) => println!("no error"),
        Err(error) => println!("error: {error}"),
    }
}

/// The output has all of these.
pub(crate) fn assert_has(output: &str, all: &[&str]) {
    for expected in all {
        assert!(output.contains(expected), "{expected:?} is not in:\n{output}");
    }
}

/// Goes through all that a chapter does and prints what it sees.
fn tell() -> Result<(), Error> {
    let auto = Device::open(Choice::Auto, SimOptions::default())?;
    println!("auto: {} because {}", auto.description().kind, auto.description().why);
    let device = Device::open(Choice::Gpu, SimOptions::default())?;
    println!("{:?}", device.description());
    println!("{:?}", device.card());

    let nvrtc = [Place::Wheels(repository().join(pinned::FOLDER))];
    let places = if std::env::var("FAKE_NVRTC").is_ok_and(|value| !value.is_empty()) { &nvrtc[..] } else { &[] };
    let module = device.load_with(&KernelSource::in_root(repository(), "ch01-naive"), places)?;
    let kernel = "interleaved_modulo_i32";
    println!("code: {}; {:?}", module.origin(), module.resources(kernel)?);

    let values: Vec<i32> = (0..N as i32).map(|i| i * i - 5000).collect();
    let blocks = N.div_ceil(BLOCK);
    let input = device.upload("input", &values)?;
    let sums = device.alloc::<i32>("sums", blocks as usize)?;
    let empty = device.upload::<i32>("empty", &[])?;
    assert!(device.download(&empty)?.is_empty());
    let call = |kernel, block| Call {
        module: &module,
        kernel,
        geometry: Geometry::linear(blocks, block),
        args: vec![Arg::Address(&input, 0), Arg::Address(&sums, 0), Arg::U32(N)],
    };
    device.launch(&call(kernel, BLOCK))?;
    let expected: Vec<i32> = values.chunks(BLOCK as usize).map(|block| block.iter().sum()).collect();
    println!("sums right: {}", device.download(&sums)? == expected);

    time(&device, &|| call(kernel, BLOCK))?;

    println!("huge: {}", device.alloc::<f64>("huge", 1 << 40).expect_err("no room"));
    println!("wide: {}", device.launch(&call(kernel, 2048)).expect_err("too many threads"));
    println!("absent: {}", device.launch(&call("no_such_kernel", 32)).expect_err("no such kernel"));
    println!("nothing: {}", device.time(&[], None, 5).expect_err("nothing to time"));
    Ok(())
}

/// The library's sum of five elements by a caller that has nothing but addresses.
fn by_address(device: &Device, baseline: &Baseline, input: &Buffer<i32>, expected: i32) -> Result<(), Error> {
    let entry = baseline.entry("cub_baseline_sum_i32")?;
    let counts = |n| Operands { n, ..Operands::default() };
    let bytes = entry.temp_bytes(&counts(5))?;
    let (temp, out) = (device.alloc::<u8>("temp", bytes)?, device.alloc::<i32>("out", 1)?);
    let operands = Operands { input: input.address(), out: out.address(), ..counts(5) };
    device.run_foreign(&|stream| {
        // SAFETY: the storage is as long as was asked for, the input longer than five, and there is room for a sum.
        unsafe { entry.enqueue((temp.address(), bytes), &operands, stream) }.map_err(|error| error.to_string())
    })?;
    let right = device.download(&out)? == [expected];
    let refused = entry.temp_bytes(&counts(13)).expect_err("refused");
    println!("by address: {bytes} bytes, right: {right}; {refused}");
    Ok(())
}

/// Two graphs in turns, one of launches and one of a library's work, with a flush before every replay.
fn time<'a>(device: &Device, call: &dyn Fn() -> Call<'a>) -> Result<(), Error> {
    let baseline = Baseline::open(Path::new("libcuda.so"))?;
    let values: Vec<i32> = (0..N as i32).map(|i| 3 * i * i).collect();
    let input = device.upload("input", &values)?;
    let sum = baseline.sum::<i32>(device, u64::from(N) - 3)?;
    device.run_foreign(&sum.work(&input, 3))?;
    let right = sum.result(device)? == Some(values[3..].iter().sum());
    println!("library {}, its sum is right: {right}", baseline.version());
    println!("short: {}", device.run_foreign(&sum.work(&input, 4)).expect_err("one is missing"));
    println!("unlucky: {}", baseline.sum::<i32>(device, 13).expect_err("refused"));
    println!("no f32: {}", baseline.sum::<f32>(device, 1).is_err());
    by_address(device, &baseline, &input, values[..5].iter().sum())?;
    println!("no library: {}", Baseline::open(Path::new("no_such_library.so")).expect_err("it is not there"));

    let work = sum.work(&input, 0);
    let launches: Vec<Timed<'_>> = (0..3).map(|_| Timed::Launches(vec![call(), call()])).collect();
    let library_calls: Vec<Timed<'_>> = (0..4).map(|_| Timed::Foreign(&work)).collect();
    let flush = call();
    let replays = Replays { warm_up: Duration::from_millis(1), ..Replays::new(5, Some(&flush)) };
    let timings = device.time_in_turns(&[&launches, &library_calls], &replays)?.expect("a GPU has a clock");
    for Timing { median_us, min_us, max_us, replays, calls } in &timings {
        println!("time: {calls} calls, {replays} replays, in order {}", min_us <= median_us && median_us <= max_us);
    }
    println!("a graph of launches: {}, of a library: {}", timings[0].min_us >= 200.0, timings[1].min_us >= 100.0);
    replay(device, call)?;
    time_host(device, call)?;
    let refused = |_: *mut c_void| Err("the library is tired".to_string());
    let error = device.time(&[Timed::Foreign(&refused)], None, 5).expect_err("refused");
    println!("refused: {error}");
    // The capture ended all the same.
    device.launch(&call()).map(|_| ())
}

/// Calls outside of a graph: in rows, where they do not wait by themselves, and with an array of their own.
fn time_host<'a>(device: &Device, call: &dyn Fn() -> Call<'a>) -> Result<(), Error> {
    let fresh = device.upload("fresh", &[7u64; 4])?;
    for (name, fresh, waits) in [("plain", None, false), ("waits", None, true), ("fresh", Some(&fresh), false)] {
        let timing = device.time_host(&Timed::Launches(vec![call()]), fresh, waits, 5)?.expect("a GPU has a clock");
        let (waiting, row) = (timing.waiting, timing.in_a_row);
        println!("host {name}: {} of {}, a row of {:?}", waiting.replays, waiting.calls, row.map(|row| row.calls));
    }
    let cleared = Timed::Cleared(&fresh, vec![call()]);
    device.time_host(&cleared, None, false, 5)?;
    println!("cleared: {:?}", device.download(&fresh)?);
    println!("no launch: {}", device.time_host(&Timed::Cleared(&fresh, Vec::new()), None, false, 5).is_err());
    Ok(())
}

/// Copies the output of each replay away before the next one poisons it.
fn replay<'a>(device: &Device, call: &dyn Fn() -> Call<'a>) -> Result<(), Error> {
    let (source, out) = (device.upload("source", &[5, 6, 7])?, device.alloc::<i32>("out", 4)?);
    let before = vec![Step::Fill(&out, 0xff), Step::Copy { from: &source, to: &out, elements: 3 }];
    let graph = Graph { calls: vec![Timed::Launches(vec![call()])], before, output: Some(&out) };
    let replays = Replays { warm_up: Duration::from_millis(1), ..Replays::new(5, None) };
    let replayed = device.replay(&[graph], &replays)?;
    println!("kept: {} times {:?}", replayed[0].outputs.len(), replayed[0].outputs[4]);
    Ok(())
}

#[test]
fn a_chapter_runs_on_committed_ptx() {
    let Some(output) = output("", false) else { return };
    let expected = [
        "auto: gpu because an NVIDIA driver and a GPU are here",
        "name: \"Fake GPU\", arch: \"sm_90\"",
        "cuda: Some(\"13.0\"), multiprocessors: Some(4), l2_bytes: Some(1048576), memory_bytes: Some(1073741824)",
        "multiprocessors: 4, threads_per_multiprocessor: 2048, blocks_per_multiprocessor: 32, \
         registers_per_multiprocessor: 65536, shared_bytes_per_multiprocessor: 233472, shared_bytes_per_block: 232448, \
         l2_bytes: 1048576, clusters: [2, 0, 0, 0] }",
        "code: committed; Some(Resources { registers: 40, shared_bytes: 10, local_bytes: 30 })",
        "sums right: true",
        "library 3.0.1, its sum is right: true",
        "short: the library's code failed: input has 1000 elements, and the last of this sum is the 1001th",
        "unlucky: the library's code failed: invalid argument",
        "no f32: true",
        "by address: 16 bytes, right: true; libcuda.so: invalid argument",
        "no library: no_such_library.so: ",
        "time: 3 calls, 5 replays, in order true",
        "time: 4 calls, 5 replays, in order true",
        "a graph of launches: true, of a library: true",
        // A flush (L) before each pair of events (E) around a replay (G with what it holds), in turns.
        "timeline: LEG6ELEG4ELEG6ELEG4ELEG6ELEG4ELEG6ELEG4ELEG6ELEG4E\n",
        "kept: 5 times [5, 6, 7, -1]",
        "host plain: 5 of 1, a row of Some(200)",
        "host waits: 5 of 1, a row of None",
        "host fresh: 5 of 1, a row of None",
        "cleared: [0, 0, 0, 0]",
        "no launch: true",
        "refused: the library's code failed: the library is tired",
        "huge: huge: no room on the GPU for 8796093022208 bytes: 536870912 of 1073741824 are free; take a smaller --n",
        "wide: interleaved_modulo_i32 cannot be launched as grid 4x1x1, block 2048x1x1: a block has at most \
         1024 threads",
        "no kernel named no_such_kernel",
        "nothing: nothing to time",
        "no error",
        "every array was freed",
        "the module was unloaded",
    ];
    assert_has(&output, &expected);
}

/// Plans have a way without clusters, so that a driver which says nothing of them is no error.
#[test]
fn a_driver_that_says_nothing_of_clusters_has_none() {
    let Some(output) = output("no-clusters", false) else { return };
    assert!(output.contains("clusters: [0, 0, 0, 0] }") && output.contains("no error"), "{output}");
}

#[test]
fn nvrtc_makes_code_for_the_gpu_and_ptx_is_there_when_it_is_refused() {
    if let Err(error) = Nvrtc::find_in(&[Place::Wheels(repository().join(pinned::FOLDER))]) {
        println!("skipped: {error}");
        return;
    }
    let Some(accepted) = output("", true) else { return };
    assert!(accepted.contains("code: NVRTC 12.1 for sm_90;") && accepted.contains("no error"), "{accepted}");
    let refused = output("code-refused", true).expect("as before");
    assert!(refused.contains("code: committed;") && refused.contains("no error"), "{refused}");
}

#[test]
fn every_failure_of_a_driver_is_one_sentence() {
    let cases = [
        (
            "version=11080",
            "error: --device gpu cannot be had: the NVIDIA driver is too old (it supports CUDA 11.8, and \
          12.0, driver 525, is the oldest that will do); --device sim runs the same kernels without a GPU",
        ),
        (
            "no-gpu",
            "error: --device gpu cannot be had: the NVIDIA driver is here but shows no GPU (CUDA_ERROR_NO_DEVICE: \
          no CUDA-capable device is detected; nvidia-smi and CUDA_VISIBLE_DEVICES say more); --device sim runs the \
          same kernels without a GPU",
        ),
        (
            "out-of-memory",
            "error: input: no room on the GPU for 4000 bytes: 536870912 of 1073741824 are free; take a \
          smaller --n",
        ),
        (
            "version=12000,ptx-too-new",
            "error: the NVIDIA driver (CUDA 12.0) is too old for the PTX of \
          kernels/ptx/ch01-naive.ptx (version 8.1); update the driver, or install a compiler that makes code for it \
          with `cargo course setup`",
        ),
        (
            "ptx-invalid",
            "error: the NVIDIA driver cannot load kernels/ptx/ch01-naive.ptx: CUDA_ERROR_INVALID_PTX (a PTX \
          JIT compilation failed)\nptxas fatal : line 7 is nonsense",
        ),
        (
            "launch-dies",
            "error: interleaved_modulo_i32 failed on the GPU, launched as grid 4x1x1, block 256x1x1: \
          CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered); --device sim names the access and its \
          line",
        ),
    ];
    for (failures, expected) in cases {
        let Some(output) = output(failures, false) else { return };
        assert_has(&output, &[expected]);
    }
}

#[test]
fn auto_takes_the_simulator_where_the_driver_is_of_no_use() {
    let Some(output) = output("version=11080", false) else { return };
    let expected = "auto: sim because the NVIDIA driver is too old (it supports CUDA 11.8, and 12.0, driver 525, is \
                    the oldest that will do), so the simulator runs";
    assert_has(&output, &[expected]);
}
