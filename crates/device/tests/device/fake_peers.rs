//! Several GPUs without a GPU: their path under the driver of `fake_driver`, which has as many as are asked for.

#![cfg(target_os = "linux")]

use device::{Arg, Call, Choice, Error, Geometry, KernelSource, Peers, SimOptions};

use crate::fake_driver::{assert_has, ended, output_of};
use crate::repository;

const KERNEL: &str = "interleaved_modulo_i32";
const N: u32 = 500;
const BLOCK: u32 = 256;

#[test]
#[ignore = "a child process of the other tests, under the fake driver"]
fn child() {
    ended(tell());
}

/// Opens some GPUs, launches on all, times all, and prints what it sees.
fn tell() -> Result<(), Error> {
    let open = |choice, count| Peers::open(choice, count, SimOptions::default());
    for count in [None, Some(1), Some(2), Some(4)] {
        let peers = open(Choice::Auto, count)?;
        let first = peers.devices()[0].description();
        println!("{count:?}: {} of {} because {}", peers.devices().len(), first.kind, first.why);
    }
    println!("too many: {}", open(Choice::Gpu, Some(20)).expect_err("not so many"));

    let peers = open(Choice::Gpu, Some(2))?;
    let source = KernelSource::in_root(repository(), "ch01-naive");
    let each = || peers.devices().iter();
    let modules = each().map(|device| device.load_with(&source, &[])).collect::<Result<Vec<_>, _>>()?;
    let values = |rank: i32| (0..N as i32).map(|i| i * i + rank).collect::<Vec<i32>>();
    let inputs = each().zip(0..).map(|(device, rank)| device.upload("in", &values(rank)));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let sums = each().map(|device| device.alloc::<i32>("sums", 2)).collect::<Result<Vec<_>, _>>()?;
    let call = |module: usize, rank: usize| Call {
        module: &modules[module],
        kernel: KERNEL,
        geometry: Geometry::linear(N.div_ceil(BLOCK), BLOCK),
        args: vec![Arg::Address(&inputs[rank], 0), Arg::Address(&sums[rank], 0), Arg::U32(N)],
    };
    let calls = || [0, 1].map(|rank| vec![call(rank, rank), call(rank, rank), call(rank, rank)]);
    let reports = peers.launch(&calls())?;
    println!("reports: {:?}", reports.iter().map(Vec::len).collect::<Vec<_>>());
    for (rank, (device, sums)) in each().zip(&sums).enumerate() {
        let expected: Vec<i32> = values(rank as i32).chunks(BLOCK as usize).map(|block| block.iter().sum()).collect();
        println!("rank {rank} is right: {}", device.download(sums)? == expected);
    }
    println!("another's kernel: {}", peers.launch(&[vec![call(1, 0)]]).expect_err("a kernel of the other GPU"));
    let timing = peers.time(&calls(), 2)?.expect("GPUs have a clock");
    println!("time: {} us, {} replays of {} calls", timing.median_us, timing.replays, timing.calls);
    println!("uneven: {}", peers.time(&[vec![call(0, 0)], vec![]], 2).expect_err("one has no call"));
    Ok(())
}

fn output(failures: &str) -> Option<String> {
    output_of("fake_peers::child", failures, false)
}

#[test]
fn all_are_launched_before_one_is_waited_for() {
    let Some(output) = output("gpus=3") else { return };
    assert_has(
        &output,
        &[
            "None: 3 of gpu because an NVIDIA driver and 3 GPUs are here\n",
            "Some(1): 1 of gpu because an NVIDIA driver and 3 GPUs are here, and the first is taken",
            "Some(2): 2 of gpu because an NVIDIA driver and 3 GPUs are here, and the first 2 are taken",
            "Some(4): 4 of sim because 4 GPUs are needed, and the driver shows 3, so the simulator runs",
            "too many: --device gpu cannot be had: 20 GPUs are needed, and the driver shows 3",
            "P01P10",
            "L0L1L0L1L0L1S0S1",
            "reports: [3, 3]",
            "rank 0 is right: true",
            "rank 1 is right: true",
            "another's kernel: interleaved_modulo_i32 lives on another device",
            // The second of two takes 500 us, and the first waits for it.
            "time: 166.66666666666666 us, 2 replays of 3 calls",
            "uneven: nothing to time",
            "no error",
            "every array was freed",
        ],
    );
    let replays = output.lines().filter(|line| line.ends_with("F0E0G30E0F1E1G31E1S0S1"));
    assert_eq!(replays.count(), 5, "three of them to warm up: {output}");
}

#[test]
fn one_gpu_alone_is_a_peer_of_none() {
    let Some(output) = output("") else { return };
    assert_has(
        &output,
        &[
            "None: 2 of sim because 2 GPUs are needed, and the driver shows 1, so the simulator runs",
            "Some(1): 1 of gpu because an NVIDIA driver and a GPU are here",
            "error: --device gpu cannot be had: 2 GPUs are needed, and the driver shows 1; --device sim runs",
        ],
    );
}

#[test]
fn gpus_that_do_not_reach_each_other_are_refused() {
    let Some(output) = output("gpus=2,no-peers") else { return };
    assert_has(
        &output,
        &[
            "None: 2 of sim because rank 0 does not reach the memory of rank 1",
            "error: --device gpu cannot be had: rank 0 does not reach the memory of rank 1: a group needs a device for",
        ],
    );
}
