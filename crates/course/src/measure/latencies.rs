//! Times of single steps on this card when each waits for the one before: the kernels of `kernels/latencies.cu`.

use anyhow::{Context, Result};
use device::{Arg, Buffer, Call, Geometry, Module};
use lab::measurement::Latency;

use super::bench::Bench;

/// The kernels that measure it.
pub const KERNELS: &str = "latencies";

/// Words of a cache line.
const LINE_WORDS: u64 = 32;
/// Runs of each chain, of which the median counts.
const RUNS: usize = 7;
/// Runs before those.
const WARM_UP: usize = 2;

/// A chain: what it is called, its kernel, its threads, its steps, and the lines of the ring that it runs through.
struct Chain {
    name: &'static str,
    kernel: &'static str,
    threads: u32,
    steps: u32,
    lines: u64,
    /// Distance of two lines that follow each other.
    stride: u64,
}

const fn chain(name: &'static str, threads: u32, steps: u32) -> Chain {
    Chain { name, kernel: name, threads, steps, lines: 1, stride: 0 }
}

const fn chase(name: &'static str, kernel: &'static str, steps: u32, lines: u64, stride: u64) -> Chain {
    Chain { name, kernel, threads: 1, steps, lines, stride }
}

/// All measured chains, except the launches.
const CHAINS: [Chain; 14] = [
    chain("shared_load", 32, 4096),
    chain("shuffle", 32, 4096),
    chain("shuffle_and_add", 32, 4096),
    chain("redux_add", 32, 4096),
    chain("barrier_of_block", 256, 4096),
    chain("fence_acq_rel", 1, 1024),
    chain("fence_sc", 1, 1024),
    chain("store_and_fence_acq_rel", 1, 1024),
    chain("store_and_fence_sc", 1, 1024),
    chain("shared_atomic", 1, 1024),
    chain("global_atomic", 1, 1024),
    // 16 KiB, which the L1 has after the first round.
    chase("l1_load", "chase_l1", 4096, 128, 1),
    // 4 MiB, all of it read by the runs before those that count.
    chase("l2_load", "chase", 65_536, 32_768, 5),
    // 1 GiB, in steps that no other step prepares: each line is read once in a run, far from the one before.
    chase("dram_load", "chase", 8192, 1 << 23, 1021),
];

/// Every latency; nothing on a simulator, whose clock counts instructions.
///
/// # Errors
/// Memory that does not suffice, a launch that fails.
pub fn all(bench: &Bench, module: &Module) -> Result<Vec<Latency>> {
    let found = CHAINS.iter().map(|chain| measured(bench, module, chain));
    Ok(found.collect::<Result<Vec<_>>>()?.into_iter().filter(|_| bench.device.is_gpu()).collect())
}

fn measured(bench: &Bench, module: &Module, chain: &Chain) -> Result<Latency> {
    let device = &bench.device;
    // A simulator goes through little of it, to show that it runs.
    let (lines, steps) = if device.is_gpu() { (chain.lines, chain.steps) } else { (chain.lines.min(128), 64) };
    let words = device.upload("words", &ring(lines, chain.stride))?;
    let out: Buffer<i64> = device.alloc("out", 3)?;
    let mut runs = Vec::new();
    for run in 0..WARM_UP + RUNS {
        if chain.name == "dram_load" {
            device.launch(&bench.flush.call())?;
        }
        device.launch(&Call {
            module,
            kernel: chain.kernel,
            geometry: Geometry::linear(1, chain.threads),
            args: vec![Arg::Address(&words, 0), Arg::U32(steps), Arg::Address(&out, 0)],
        })?;
        let measured = device.download(&out)?;
        if run >= WARM_UP {
            runs.push((measured[0] as f64 / f64::from(steps), measured[1] as f64 / f64::from(steps)));
        }
        if !device.is_gpu() {
            return Ok(Latency { name: chain.name.to_owned(), cycles: 0.0, ns: 0.0, mhz: 0.0 });
        }
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(cycles, ns) = runs.get(runs.len() / 2).context("no run")?;
    Ok(Latency { name: chain.name.to_owned(), cycles, ns, mhz: 1e3 * cycles / ns })
}

/// A ring of lines, each of which holds the number of the next, `stride` lines on: all of them if the two have no common
/// factor.
fn ring(lines: u64, stride: u64) -> Vec<u32> {
    let mut words = vec![0; (lines * LINE_WORDS) as usize];
    for line in 0..lines {
        words[(line * LINE_WORDS) as usize] = ((line + stride) % lines) as u32;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::measurement::{FLOORS, LATENCIES};

    #[test]
    fn every_latency_of_the_pages_is_measured() {
        let measured: Vec<&str> = CHAINS.iter().map(|chain| chain.name).chain(FLOORS).collect();
        assert_eq!(measured, LATENCIES.map(|(name, _)| name));
    }

    #[test]
    fn a_ring_has_every_line_once() {
        for Chain { lines, stride, .. } in CHAINS.iter().filter(|chain| chain.lines > 1 && chain.lines < 1 << 20) {
            let words = ring(*lines, *stride);
            let (mut at, mut steps) = (0u32, 0);
            loop {
                at = words[(u64::from(at) * LINE_WORDS) as usize];
                steps += 1;
                if at == 0 {
                    break;
                }
            }
            assert_eq!(steps, *lines);
        }
    }
}
