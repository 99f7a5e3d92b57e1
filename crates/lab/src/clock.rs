//! The clock: how long a reduction takes on a GPU, cold and warm apart. There is no clock on the simulator.
//!
//! A graph of many reductions is replayed between two events, and the time is divided by them, so that the few
//! microseconds which a replay itself costs count little. Cold, each reduction reads a copy of the input of its own, and
//! before each replay a kernel reads more than the L2 holds, so that none of the copies is left in it.

use device::{Arg, Buffer, Call, Device, DeviceAddress, Geometry, KernelSource, Module, Timed, Timing};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::plan::{Planned, Problem};
use crate::run::{Job, Measured};
use crate::session::Session;
use crate::{Plan, Variant, with_elements};

/// Replays of a graph from which the median is taken.
pub const REPLAYS: u32 = 15;
/// Most reductions of one graph.
const CALLS_MAX: u64 = 64;
/// Fewest, as long as there is room for their inputs.
pub const CALLS_MIN: u64 = 3;
/// Most bytes of all copies of the input, unless [`CALLS_MIN`] of them take more.
const COPIES_BYTES: u64 = 1 << 30;
/// Reductions of the same array in the graph that is timed warm.
pub const WARM_CALLS: usize = 64;
/// Bytes read to empty the L2, as a multiple of it.
const FLUSH_FACTOR: u64 = 4;
/// The kernels that flush and that measure the ceiling.
pub const CEILING: &str = "ceiling";

/// Flush of the L2: a kernel and a large array to read.
pub struct Flush {
    module: Module,
    large: Buffer<u32>,
    out: Buffer<u32>,
    multiprocessors: u32,
}

/// Launch of the reading kernel.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    kernel: &'static str,
    block: u32,
    blocks_per_multiprocessor: u32,
}

impl Reading {
    /// Those among which the read ceiling of a card is looked for: with four and eight loads of a thread in flight.
    pub const ALL: [Reading; 5] = [
        Reading { kernel: "read_all_4", block: 1024, blocks_per_multiprocessor: 2 },
        Reading { kernel: "read_all_4", block: 512, blocks_per_multiprocessor: 4 },
        Reading { kernel: "read_all_4", block: 256, blocks_per_multiprocessor: 16 },
        Reading { kernel: "read_all_8", block: 1024, blocks_per_multiprocessor: 2 },
        Reading { kernel: "read_all_8", block: 512, blocks_per_multiprocessor: 4 },
    ];
}

impl Flush {
    /// Loads the kernel and allocates what it reads.
    ///
    /// # Errors
    /// Kernels that are not there, memory that does not suffice.
    pub fn new(device: &Device, source: &KernelSource) -> Result<Flush> {
        let module = device.load(&KernelSource::in_root(source.root(), CEILING))?;
        let description = device.description();
        let words = FLUSH_FACTOR * description.l2_bytes.unwrap_or(0).max(1 << 20) / 4;
        let large = device.upload("flush", &vec![1u32; words as usize])?;
        let multiprocessors = description.multiprocessors.unwrap_or(1);
        Ok(Flush { module, large, out: device.alloc("flushed", 1)?, multiprocessors })
    }

    /// The launch that empties the L2.
    pub fn call(&self) -> Call<'_> {
        self.read((&self.large, 0), self.large.bytes(), Reading::ALL[0])
    }

    /// A launch that reads `bytes` bytes, a multiple of 16, of an array from an aligned offset in bytes on.
    pub fn read<'a>(&'a self, from: (&'a dyn DeviceAddress, u64), bytes: u64, reading: Reading) -> Call<'a> {
        let args = vec![Arg::Address(from.0, from.1), Arg::Address(&self.out, 0), Arg::U32((bytes / 16) as u32)];
        let grid = reading.blocks_per_multiprocessor * self.multiprocessors;
        Call { module: &self.module, kernel: reading.kernel, geometry: Geometry::linear(grid, reading.block), args }
    }

    /// A launch that does nothing.
    pub fn nothing(&self, grid: u32, block: u32) -> Call<'_> {
        Call { module: &self.module, kernel: "nothing", geometry: Geometry::linear(grid, block), args: Vec::new() }
    }
}

/// Returns the number of copies of an input of this size that one graph reads cold; at least one.
pub fn copies(device: &Device, bytes: u64) -> usize {
    let ideal = (COPIES_BYTES / bytes.max(1)).clamp(CALLS_MIN, CALLS_MAX);
    let half = device.description().memory_bytes.unwrap_or(u64::MAX) / 2;
    ideal.min((half / bytes.max(1)).max(1)) as usize
}

impl Session<'_> {
    /// Times the job on a GPU; `None` on the simulator and for no elements. The kernels that sum in place are timed on
    /// whatever their last run left: the same accesses, and no data that takes longer than other data.
    ///
    /// # Errors
    /// Memory that does not suffice, a launch that fails.
    pub fn time(&self, job: Job<'_>) -> Result<Option<Measured>> {
        self.progress.at(format!("{}, timing", job.variant.name));
        let cold = self.time_cold(job, REPLAYS)?;
        let Some(warm) = self.time_job(job, false, REPLAYS)? else { return Ok(None) };
        Ok(Some(Measured { cold, warm }))
    }

    /// Times the job on arrays that the L2 does not hold; `None` on the simulator and for no elements.
    ///
    /// # Errors
    /// Memory that does not suffice, a launch that fails.
    pub fn time_cold(&self, job: Job<'_>, replays: u32) -> Result<Option<Timing>> {
        self.time_job(job, true, replays)
    }

    fn time_job(&self, job: Job<'_>, cold: bool, replays: u32) -> Result<Option<Timing>> {
        if !self.device.is_gpu() || job.input.is_empty() {
            return Ok(None);
        }
        let plan = self.plan(job.variant, job.input.ty(), job.n(), job.options)?;
        with_elements!(job.input, values => self.time_typed(job, &plan, values, cold, replays))
    }

    fn time_typed<T: Element>(
        &self,
        job: Job<'_>,
        plan: &Planned,
        values: &[T],
        cold: bool,
        replays: u32,
    ) -> Result<Option<Timing>> {
        let (values, other) = values.split_at(job.n() as usize);
        let inputs = self.inputs(plan, (values, job.offset), cold)?;
        self.time_plan(job.variant, plan, (&inputs, other), job.offset, cold, replays)
    }

    /// The input of a plan, cold as often as one graph reads it.
    fn inputs<T: Element>(
        &self,
        plan: &Planned,
        (values, offset): (&[T], usize),
        cold: bool,
    ) -> Result<Vec<Buffer<T>>> {
        let (input, n) = (crate::runner::upload(self.device(), values, offset)?, values.len() as u64);
        let more = if plan.wants_own_arrays(T::TYPE, n) { plan.more_bytes(T::TYPE, n) } else { 0 };
        let count = if cold { copies(&self.device, input.bytes() + more) } else { 1 };
        let more = (1..count).map(|_| Ok(self.device.duplicate(&input)?)).collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(input).chain(more).collect())
    }

    /// Times a problem's own plan on a GPU, cold, and others that solve it: the microseconds of the first, then the others, the quickest
    /// first. For examples that look for shapes.
    ///
    /// # Errors
    /// Those of [`Session::time_plan`].
    pub fn quickest<T: Element, S>(
        &self,
        problem: &Problem<'_>,
        values: &[T],
        others: impl IntoIterator<Item = (S, Plan)>,
        replays: u32,
    ) -> Result<(f64, Vec<(f64, S)>)> {
        let (values, other) = values.split_at(problem.n as usize);
        let planned = |plan| Planned { plan, layout: problem.layout(), ..Planned::default() };
        let own = planned((problem.variant.launches)(problem));
        let inputs = self.inputs(&own, (values, 0), true)?;
        let time = |plan: &Planned| -> Result<f64> {
            let timing = self.time_plan(problem.variant, plan, (&inputs, other), 0, true, replays)?;
            Ok(timing.map_or(f64::NAN, |timing| timing.median_us))
        };
        let others = others.into_iter().map(|(shape, plan)| Ok((time(&planned(plan))?, shape)));
        let mut found = others.collect::<Result<Vec<_>>>()?;
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok((time(&own)?, found))
    }

    /// Times a plan on inputs that are on the device already, with the second array of an operation that takes two: one reduction
    /// of each, cold, or many of the first, warm. Cold, each has arrays of its own, where those are worth it: else the L2 would
    /// hold what the call before has written, or read beside its input.
    ///
    /// # Errors
    /// Memory that does not suffice, a launch that fails.
    pub fn time_plan<T: Element>(
        &self,
        variant: &Variant,
        plan: &Planned,
        (inputs, other): (&[Buffer<T>], &[T]),
        offset: usize,
        cold: bool,
        replays: u32,
    ) -> Result<Option<Timing>> {
        let calls = if cold { inputs.len() } else { WARM_CALLS };
        let n = inputs.first().map_or(0, |input| input.len() - offset) as u64;
        let own = if cold && plan.wants_own_arrays(T::TYPE, n) { calls } else { 1 };
        let arrays = (0..own).map(|_| self.arrays::<T>(plan)?.with_other(&self.device, other));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let reduction = |i: usize| {
            let input = &inputs[if cold { i } else { 0 }];
            Ok(Timed::Launches(self.calls(variant, plan, (input, offset), &arrays[i % own])?))
        };
        let calls = (0..calls).map(reduction).collect::<Result<Vec<_>>>()?;
        let flush = if cold { Some(self.flush()?) } else { None };
        Ok(self.device.time(&calls, flush.map(Flush::call).as_ref(), replays)?)
    }

    /// Returns the flush of the L2, loaded when it is first needed.
    ///
    /// # Errors
    /// Those of [`Flush::new`].
    pub fn flush(&self) -> Result<&Flush> {
        if self.flush.get().is_none() {
            let _ = self.flush.set(Flush::new(&self.device, &self.source)?); // only this line sets it
        }
        self.flush.get().ok_or_else(|| Error::Usage("the L2 cannot be emptied".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use device::{Choice, SimOptions};

    use super::*;
    use crate::session::built_root;

    #[test]
    fn the_reading_kernels_read_every_sector_once_and_write_nothing() {
        let device = Device::open(Choice::Sim, SimOptions::default()).unwrap();
        let flush = Flush::new(&device, &KernelSource::in_root(&built_root(), CEILING)).unwrap();
        // For one multiprocessor, neither a multiple of a round nor of a warp's loads; after an offset.
        let words = 4 * (4 * 4096 + 1035);
        let array = device.upload("in", &(0..words + 64).collect::<Vec<u32>>()).unwrap();
        for reading in Reading::ALL {
            let report = device.launch(&flush.read((&array, 256), u64::from(words) * 4, reading)).unwrap();
            let counters = report.counters.unwrap();
            assert!(report.faults.is_empty(), "{reading:?}: {:?}", report.faults);
            // 32 bytes a sector; the last one is read by half.
            assert_eq!(counters.global_ld_sectors, u64::from(words).div_ceil(8), "{reading:?}");
            assert_eq!(counters.global_st_sectors, 0, "{reading:?}");
        }
        assert!(device.launch(&flush.nothing(2, 1024)).unwrap().faults.is_empty());
    }
}
