//! What to try, where a finding tells more than its kind does.

use super::{Detail, Finding, Names};
use crate::code::{Op, Scope};
use crate::exec::memory::Place;
use crate::fault::Code;
use crate::race::Hazard;

const WAIT_FOR_BULK: &str = "wait for the phase of the barrier object that counts the copy (`mbarrier.try_wait`, `barrier.wait`), in every \
    thread that touches its destination";
const WAIT_FOR_COPY: &str = "wait for the copy in the thread that started it (`__pipeline_wait_prior(0)`, `cuda::pipeline`'s \
    `consumer_wait()`, `cg::wait`), and then put `__syncthreads()` before other threads touch its destination";
const CLUSTER_SYNC: &str = "put `cluster.sync()` between them: the threads are in two blocks of a cluster, which `__syncthreads()` does not order";
const STAY: &str =
    "put `cluster.sync()` at the end of the kernel, so that no block ends while others use its shared memory";
const RANKS: &str = "compare the rank with the number of blocks of the cluster, `cluster.num_blocks()`";
const DEVICE_SCOPE: &str = "make the atomics those of the whole device (`atomicAdd`, `cuda::thread_scope_device`): those of a block order \
    nothing between blocks";
const GRID_SYNC: &str = "put `grid.sync()` between the two, or make two launches of them";
const NULL: &str = "look where the pointer comes from: it is null, or an index was added to null";
const NEGATIVE: &str = "look at how the index is made: it is negative here, or wrapped";
const DYNAMIC: &str = "give the launch as many bytes of dynamic shared memory as the kernel uses (the third number in `<<<…>>>`, here \
    `--shared`), or compare the index with the length";
const NAMED_LANES: &str = "let every lane that the mask names execute the instruction: move it out of the branch, or make the mask \
    before the branch, with `__ballot_sync`";
const ARRIVALS: &str =
    "compare the count of `mbarrier.init` with the threads that arrive, and the bytes expected with those copied";
const GRID: &str = "let every thread of every block come to `grid.sync()` equally often: no `return` before it, and no branch around it";

impl Finding {
    /// What to try, if it is not what the kind of fault says.
    pub(super) fn remedy(&self, names: &Names<'_>) -> Option<&'static str> {
        use super::waiting::Awaited;
        match self.detail {
            Detail::Race { hazard, .. } => self.remedy_of_race(names, hazard),
            Detail::GlobalRace { .. } => self.remedy_of_global_race(names),
            Detail::NoBlock { ended: Some(_), .. } => Some(STAY),
            Detail::NoBlock { ended: None, .. } => Some(RANKS),
            Detail::Lanes { .. } => Some(NAMED_LANES),
            Detail::Spin(Awaited::Phase { .. }) => Some(ARRIVALS),
            Detail::Spin(Awaited::Grid) => Some(GRID),
            Detail::Access { place, address, .. } if self.code == Code::OutOfBounds => match place {
                Place::Shared if names.is_past_dynamic(address as u32) => Some(DYNAMIC),
                Place::Global if names.memory.is_null(address) => Some(NULL),
                Place::Global if names.memory.is_before(address) => Some(NEGATIVE),
                _ => None,
            },
            _ => None,
        }
    }

    fn remedy_of_race(&self, names: &Names<'_>, hazard: Hazard) -> Option<&'static str> {
        let other = self.other.as_ref()?;
        let is_bulk = |at: &super::At| {
            matches!(names.kernel.code.insts.get(at.pc as usize).map(|inst| inst.op), Some(Op::CopyBulk))
        };
        match hazard {
            Hazard::ReadOfCopy | Hazard::WriteOverCopy if is_bulk(&self.at) || is_bulk(other) => Some(WAIT_FOR_BULK),
            Hazard::ReadOfCopy | Hazard::WriteOverCopy => Some(WAIT_FOR_COPY),
            _ if self.at.block != other.block => Some(CLUSTER_SYNC),
            _ => None,
        }
    }

    fn remedy_of_global_race(&self, names: &Names<'_>) -> Option<&'static str> {
        let other = self.other.as_ref()?;
        if self.at.block == other.block {
            return None;
        }
        let of_block = |at: &super::At| match names.kernel.code.insts.get(at.pc as usize).map(|inst| inst.op) {
            Some(Op::Atomic(op)) => op.scope == Scope::Cta,
            _ => false,
        };
        if of_block(&self.at) || of_block(other) {
            return Some(DEVICE_SCOPE);
        }
        names.kernel.code.uses_grid_barrier().then_some(GRID_SYNC)
    }
}
