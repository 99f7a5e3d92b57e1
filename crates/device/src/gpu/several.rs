//! Several GPUs at once, whose kernels reach each other's memory and wait for each other.
//!
//! A kernel that waits for another device's must not keep the host from launching that one. So everything that may wait is done before
//! the first launch: kernels are looked up, graphs are captured and sent to their devices.

use std::ops::RangeInclusive;

use cudarc::driver::{CudaEvent, CudaGraph, DriverError, sys};
use reduction::gpu::reach_each_other;

use super::time::summary;
use super::{Gpu, GpuBuffer, Prepared, describe_all, driver};
use crate::{Description, Error, Timing};

/// Bytes that are cleared on each device before its graph begins: some 100 µs, in which the host launches the graphs of the others.
const BUSY_BYTES: usize = 256 << 20;
/// Replays before those that count.
const WARM_UP_REPLAYS: u32 = 3;

/// Opens the first GPUs that the driver shows, as many as `count` allows, and lets each reach the memory of all others.
pub(crate) fn open_several(count: RangeInclusive<u32>) -> Result<Vec<(Gpu, Description)>, Error> {
    let (first, others) = describe_all(&driver()?)?;
    let have = 1 + others.len() as u32;
    if have < *count.start() {
        return Err(Error::FewGpus { needed: *count.start(), have });
    }
    let taken = have.min(*count.end());
    let mut all = Vec::new();
    for (number, mut description) in [first].into_iter().chain(others).take(taken as usize).enumerate() {
        description.why = match (have, taken) {
            (1, _) => "an NVIDIA driver and a GPU are here".to_string(),
            (_, 1) => format!("an NVIDIA driver and {have} GPUs are here, and the first is taken"),
            _ if have == taken => format!("an NVIDIA driver and {have} GPUs are here"),
            _ => format!("an NVIDIA driver and {have} GPUs are here, and the first {taken} are taken"),
        };
        all.push((Gpu::numbered(number)?, description));
    }
    reach_each_other(&all.iter().map(|(gpu, _)| gpu.stream.clone()).collect::<Vec<_>>())?;
    Ok(all)
}

/// Runs the launches of each GPU in their order, all GPUs at once, and waits for the last of each.
pub(crate) fn launch_together(gpus: &[&Gpu], launches: &[Vec<Prepared<'_>>]) -> Result<(), Error> {
    check(gpus, launches)?;
    let functions = launches.iter().map(|launches| Gpu::functions(launches)).collect::<Result<Vec<_>, _>>()?;
    // In turns, as a stream takes no more than some thousand launches before one of them has ended.
    for at in 0..launches.iter().map(Vec::len).max().unwrap_or(0) {
        for ((gpu, launches), functions) in gpus.iter().zip(launches).zip(&functions) {
            if let (Some(launch), Some(function)) = (launches.get(at), functions.get(at)) {
                gpu.enqueue_prepared(launch, *function)?;
            }
        }
    }
    wait(gpus).map_err(|error| driver::failed("run kernels on several GPUs", error))
}

/// Refuses launches of one GPU's kernels on another, which would be found only when its peers already wait.
fn check(gpus: &[&Gpu], launches: &[Vec<Prepared<'_>>]) -> Result<(), Error> {
    for (gpu, launches) in gpus.iter().zip(launches) {
        for launch in launches {
            if let Prepared::Launch((module, kernel, ..)) = launch
                && !module.is_in(&gpu.context)
            {
                return Err(Error::OtherDevice { name: (*kernel).to_string() });
            }
        }
    }
    Ok(())
}

fn wait(gpus: &[&Gpu]) -> Result<(), DriverError> {
    gpus.iter().try_for_each(|gpu| gpu.stream.synchronize())
}

/// A GPU's graph, with what goes before it and the events around it.
struct Timed<'a> {
    gpu: &'a Gpu,
    graph: CudaGraph,
    busy: GpuBuffer,
    begin: CudaEvent,
    end: CudaEvent,
}

/// Times as many launches of each GPU, all GPUs at once: a graph of them on each. The time is divided by their number.
pub(crate) fn time_together(gpus: &[&Gpu], launches: &[Vec<Prepared<'_>>], replays: u32) -> Result<Timing, Error> {
    check(gpus, launches)?;
    let failed = |error| driver::failed("time kernels on several GPUs", error);
    let mut all = Vec::new();
    for (&gpu, launches) in gpus.iter().zip(launches) {
        let event = || gpu.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(failed);
        let (begin, end) = (event()?, event()?);
        let timed =
            Timed { gpu, graph: gpu.capture(launches)?, busy: gpu.alloc("cleared", BUSY_BYTES as u64)?, begin, end };
        timed.graph.upload().map_err(failed)?;
        all.push(timed);
    }
    wait(gpus).map_err(failed)?;
    let calls = launches.first().map_or(1, Vec::len).max(1) as u32;
    let mut times_us = Vec::new();
    for round in 0..WARM_UP_REPLAYS + replays {
        let us = replay(gpus, &all)?;
        if round >= WARM_UP_REPLAYS {
            times_us.push(us / f64::from(calls));
        }
    }
    Ok(summary(times_us, calls))
}

/// Microseconds on the device that began last: those that began before it have waited for it.
fn replay(gpus: &[&Gpu], all: &[Timed<'_>]) -> Result<f64, Error> {
    let failed = |error| driver::failed("time kernels on several GPUs", error);
    for Timed { gpu, graph, busy, begin, end } in all {
        gpu.context.bind_to_thread().map_err(failed)?;
        gpu.enqueue_clear((busy.address(), BUSY_BYTES))?;
        gpu.replay_between(graph, begin, end).map_err(failed)?;
    }
    wait(gpus).map_err(failed)?;
    let mut shortest_ms = f32::INFINITY;
    for Timed { begin, end, .. } in all {
        shortest_ms = shortest_ms.min(begin.elapsed_ms(end).map_err(failed)?);
    }
    Ok(f64::from(shortest_ms) * 1e3)
}
