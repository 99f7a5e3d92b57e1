//! Limits that no reduction can beat: the time of a launch that does nothing, and of reading every byte once.

use std::ops::RangeInclusive;

use anyhow::Result;
use device::{Arg, Buffer, Call, Geometry, Module, Timed};
use lab::clock::Reading;
use lab::element::Element;
use lab::measurement::{CeilingPoint, Floor};

use super::bench::Bench;
use super::matrices::Copying;
use super::pool::Pool;

/// Empty launches of a graph.
const LAUNCHES: usize = 128;
/// The ceiling is read at these sizes in bytes, as logarithms: 2^24 to 2^30 elements of 4 bytes.
const LG_BYTES: RangeInclusive<u32> = 26..=32;

/// The launch floor, without and with the attribute by which launches overlap; nothing on a simulator. `latencies` has the
/// kernel that may overlap.
pub fn floor(bench: &Bench, latencies: &Module) -> Result<Option<Floor>> {
    let multiprocessors = bench.device.description().multiprocessors.unwrap_or(1);
    let alone = |grid, block| bench.flush.nothing(grid, block);
    let overlapped = |grid, block| Call {
        module: latencies,
        kernel: "nothing_overlapped",
        geometry: Geometry::linear(grid, block).with_overlaps(true),
        args: Vec::new(),
    };
    let empty: [Vec<Timed<'_>>; 4] = [
        (0..LAUNCHES).map(|_| Timed::Launches(vec![alone(1, 32)])).collect(),
        (0..LAUNCHES).map(|_| Timed::Launches(vec![alone(multiprocessors, 1024)])).collect(),
        (0..LAUNCHES).map(|_| Timed::Launches(vec![overlapped(1, 32)])).collect(),
        (0..LAUNCHES).map(|_| Timed::Launches(vec![overlapped(multiprocessors, 1024)])).collect(),
    ];
    let timings = bench.time(&empty.each_ref().map(Vec::as_slice), None)?;
    Ok(match timings[..] {
        [one_block, full, overlapped, overlapped_full] => Some(Floor {
            one_block: one_block.median_us,
            full: full.median_us,
            overlapped: overlapped.median_us,
            overlapped_full: overlapped_full.median_us,
        }),
        _ => None,
    })
}

/// The read ceiling at every size that the pool has; nothing on a simulator.
pub fn ceiling<T: Element>(bench: &Bench, pool: &Pool<T>, n_max: u64) -> Result<Vec<CeilingPoint>> {
    let mut points = Vec::new();
    for bytes in sizes::<T>(LG_BYTES, n_max) {
        let n = bytes / T::BYTES as u64;
        let slices = pool.slices(&bench.device, n, 0);
        let graph = |reading| -> Vec<Timed<'_>> {
            let at = |start: usize| (start * T::BYTES) as u64;
            let reads = slices.iter().map(|&(array, start)| bench.flush.read((array, at(start)), bytes, reading));
            reads.map(|read| Timed::Launches(vec![read])).collect()
        };
        points.extend(fastest(bench, Reading::ALL.map(graph), bytes)?);
    }
    Ok(points)
}

/// Bytes of an array of up to so many elements, by their logarithms.
fn sizes<T: Element>(lg_bytes: RangeInclusive<u32>, n_max: u64) -> impl Iterator<Item = u64> {
    lg_bytes.map(|lg| 1u64 << lg).take_while(move |bytes| bytes / T::BYTES as u64 <= n_max)
}

/// The fastest of these graphs, each call of which moves so many bytes; none on a simulator.
fn fastest<const N: usize>(bench: &Bench, graphs: [Vec<Timed<'_>>; N], bytes: u64) -> Result<Option<CeilingPoint>> {
    let timings = bench.time(&graphs.each_ref().map(Vec::as_slice), Some(&bench.flush.call()))?;
    let best = timings.iter().map(|timing| timing.median_us).min_by(f64::total_cmp);
    Ok(best.map(|us| CeilingPoint { bytes, us, gb_per_s: bytes as f64 / us / 1e3 }))
}

/// Vectors of 16 bytes that a thread copies, and threads a block: those among which the ceiling of copying is looked for.
pub(super) const COPIES: [(u32, u32); 5] = [(1, 128), (1, 256), (2, 64), (2, 128), (4, 64)];
/// It is read at these sizes in bytes that are read, as logarithms.
const LG_COPIED: RangeInclusive<u32> = 26..=30;

/// The ceiling of copying, by bytes that move, at every size that the pool has; nothing on a simulator.
pub fn copy_ceiling<T: Element>(
    bench: &Bench,
    copying: &Copying,
    pool: &Pool<T>,
    n_max: u64,
) -> Result<Vec<CeilingPoint>> {
    let mut points = Vec::new();
    for bytes in sizes::<T>(LG_COPIED, n_max) {
        let n = bytes / T::BYTES as u64;
        let slices = pool.slices(&bench.device, n, 0);
        let to = slices
            .iter()
            .map(|_| Ok(bench.device.alloc::<T>("to", n as usize)?))
            .collect::<Result<Vec<Buffer<T>>>>()?;
        let graph = |how| -> Vec<Timed<'_>> {
            let ends = slices
                .iter()
                .zip(&to)
                .map(|(&(array, start), to)| [Arg::Address(array, (start * T::BYTES) as u64), Arg::Address(to, 0)]);
            ends.map(|ends| Timed::Launches(vec![copying.copy(ends, bytes, how)])).collect()
        };
        points.extend(fastest(bench, COPIES.map(graph), 2 * bytes)?);
    }
    Ok(points)
}
