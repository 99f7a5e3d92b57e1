//! The clock: how long a reduction takes on a GPU, cold and warm apart. There is no clock on the simulator.

use device::{Buffer, Timing};

use crate::element::{Array, Element};
use crate::error::Result;
use crate::session::{Job, Session};

/// Replays of a graph from which the median is taken.
pub(crate) const REPLAYS: u32 = 15;
/// Most reductions that one graph holds. Inputs so small that this many of them do not exceed the L2 are only timed warm.
const CALLS_MAX: u64 = 512;
/// Reductions of the same array in the graph that is timed warm.
const WARM_CALLS: usize = 16;
/// The inputs that a cold graph reads exceed the L2 by this factor, so that each is gone when its turn comes again.
const L2_FACTOR: u64 = 3;

/// Times of one reduction, all its launches.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Each call reads an array that the L2 no longer holds. `None` for arrays too small for that.
    pub cold: Option<Timing>,
    /// Each call reads the same array.
    pub warm: Timing,
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
        let warm = self.time_copies(job, 1, WARM_CALLS, REPLAYS)?;
        Ok(warm.map(|warm| Measured { cold, warm }))
    }

    /// Times the job on arrays that rotate past the L2; `None` on the simulator and for arrays too small for that.
    ///
    /// # Errors
    /// Memory that does not suffice, a launch that fails.
    pub fn time_cold(&self, job: Job<'_>, replays: u32) -> Result<Option<Timing>> {
        let bytes = job.input.len() as u64 * job.input.ty().bytes();
        let to_exceed = L2_FACTOR * self.device.description().l2_bytes.unwrap_or(0);
        if bytes == 0 || to_exceed / bytes >= CALLS_MAX {
            return Ok(None);
        }
        self.time_copies(job, (to_exceed / bytes + 1) as usize, 1, replays)
    }

    /// Times a graph that reduces each of `copies` copies of the input `rounds` times.
    fn time_copies(&self, job: Job<'_>, copies: usize, rounds: usize, replays: u32) -> Result<Option<Timing>> {
        if !self.device.is_gpu() || job.input.is_empty() {
            return Ok(None);
        }
        match job.input {
            Array::I32(values) => self.time_typed(job, values, copies, rounds, replays),
            Array::F32(values) => self.time_typed(job, values, copies, rounds, replays),
            Array::F64(values) => self.time_typed(job, values, copies, rounds, replays),
        }
    }

    fn time_typed<T: Element>(
        &self,
        job: Job<'_>,
        values: &[T],
        copies: usize,
        rounds: usize,
        replays: u32,
    ) -> Result<Option<Timing>> {
        let plan = self.plan(job.variant, T::TYPE, values.len() as u64, job.wish)?;
        let upload = |_| self.device.upload("in", values);
        let inputs: Vec<Buffer<T>> = (0..copies).map(upload).collect::<std::result::Result<_, _>>()?;
        let arrays = self.arrays::<T>(&plan)?;
        let reduction = |i: usize| self.calls(job.variant, &plan, (&inputs[i % copies], 0), &arrays);
        let calls = (0..copies * rounds).map(reduction).collect::<Result<Vec<_>>>()?;
        Ok(self.device.time(&calls, replays)?)
    }
}
