//! Remedies for a finding that says more than its kind does.

use super::{Detail, Finding, Names};
use crate::code::{Op, Order, Scope};
use crate::exec::issue::Place;
use crate::lower::strong_loads::comes_from_memory;
use crate::race::Hazard;

const WAIT_FOR_BULK: &str = "wait for the phase of the barrier object that counts the copy (`mbarrier.try_wait`, `barrier.wait`), in every \
    thread that touches its destination";
const WAIT_FOR_STORE: &str = "wait for the phase of the barrier object that counts the store (`mbarrier.try_wait`), in every thread that touches \
    where it goes";
const READ_BEFORE_STORE: &str = "let every thread that reads there do so before the store: `cluster.sync()` in between, or two places in turns, \
    each thread that sends its own values coming behind the readers of its warp or block (`__syncwarp()`, `__syncthreads()`): a shuffle orders \
    nothing";
const COUNTED_ELSEWHERE: &str = "a barrier object counts what is stored into its own block's memory, and PTX leaves open what becomes of a \
    store that one of another block is to count";
const ONE_BLOCK: &str = "make both addresses by `mapa` with the same rank";
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

const DEVICES: &str = "the two threads are on two devices, which no barrier and nothing of the device's own scope orders: `__threadfence()`, `atomicAdd` and \
    `cuda::thread_scope_device` (`.gpu`) reach the threads of one device alone";
const BETWEEN_DEVICES: &str = "between devices, in system scope: `__threadfence_system()` behind the write of the data and before that of the flag, a flag \
    of `cuda::thread_scope_system` (`st.release.sys`, `ld.acquire.sys`), and another fence behind the look at the flag; so also between the last read of a \
    buffer and the write that uses it again";
const SYSTEM_SCOPE: &str = "make both accesses those of the whole system (`atomicAdd_system`, `cuda::thread_scope_system`, `.sys`): between devices those of one \
    device are neither atomic nor ordered";
const MAP_THE_PEER: &str = "let the device map its peer's memory before the launch (`cudaDeviceEnablePeerAccess`, here `Memory::map_peer`), once for each of the \
    two directions; where it cannot, copy through the host";

const WAIT_FOR_LAUNCH: &str = "put `cudaGridDependencySynchronize()` (`griddepcontrol.wait`) before the access of the later launch, or launch it \
    without the attribute that lets it begin early (`cudaLaunchAttributeProgrammaticStreamSerialization`)";
const WAIT_IN_BETWEEN: &str = "let every launch from the one to the other wait (`cudaGridDependencySynchronize()`, `griddepcontrol.wait`), before the \
    access and also where it touches nothing itself: a wait is for the launch right before alone, and one that does not wait may end before its own predecessor; \
    or launch without the attribute that lets launches begin early";

const OVERLAP: &str = "the later launch may begin before the earlier one has ended, and nothing but a wait in its own code orders the two: that the \
    earlier one lets it begin (`griddepcontrol.launch_dependents`), or has ended, makes no write visible";
const UNFENCED: &str = "PTX has no race here, since both accesses are volatile or relaxed; but those have no order with what lies \
    around them, so the value may be one from before";
const UPDATE: &str = "PTX has no race here, since both accesses are volatile or relaxed; but a load and a store are two steps, and what \
    another thread writes between them is lost";
const EITHER: &str = "no race in PTX, which has one order of the volatile, relaxed and atomic writes of one place; but nothing says which, so \
    runs may leave different values (where one of them is to stay: a barrier, a lock with fences, or one writer)";
const STALE: &str = "`ld.global.nc` reads through a cache that no write, fence or barrier of the launch reaches: what it reads must not change \
    before the launch ends, and here the value may be the one from before";
const OBSERVED: &str = "no race in PTX: who has read what a strong write left comes behind that write; in CUDA C++ a plain access beside \
    relaxed atomics is a data race all the same (a relaxed store through `cuda::atomic_ref` says what is meant)";
const EQUAL: &str = "no race in PTX's results: in whatever order they come, they leave the same; in CUDA C++ it is a data race all the \
    same (let one thread write, or use `atomicExch`)";
const EQUAL_BY_INPUT: &str = "in whatever order they come, they leave the same, but the value comes from what was read and may be equal by \
    the input alone: fill the buffers with `iota` or `rand`, and it is a race if the writers then differ";
const FENCE_THE_DATA: &str = "between blocks: `__threadfence()` behind the write of the data and before that of the flag or ticket, and \
    another behind the look at the flag; for a count that many threads change: `atomicAdd`";
const ONE_WRITER: &str =
    "let one lane write, or give each a place of its own; to add up what they have, `atomicAdd` or a shuffle";
const PLAIN_LOAD: &str = "read it by a plain load: no `__ldg`, and no `const __restrict__` on a pointer to what the kernel writes; or read it in a \
    later launch";
const ONE_STEP: &str = "make one step of the update: `atomicAdd` or another atomic, or a compare-and-swap in a loop; where a lock is to keep \
    the two apart, `__threadfence()` behind taking it and before giving it back";
const SYNC_THE_BLOCK: &str = "put `__syncthreads()` between the two, where all threads of the block come by; for a count that many threads \
    change: `atomicAdd`";
const SYNC_THE_WARP: &str = "put `__syncwarp()` between the two: both threads are in one warp, whose lanes may run apart; for a count that many threads \
    change: `atomicAdd`";

const EXITED: &str = "a barrier waits for the threads that are left, on a card as here; look whether those that have exited should have \
    brought something to it first";
const NOT_RESIDENT: &str = "in the simulator one more block always finds room; on a card it begins only when another ends, so the launch hangs: \
    launch no more blocks than fit, and let each do more (a grid-stride loop); `--cooperative` refuses a grid that does not fit";

const UNSET: &str = "nothing has given the variable a value on the way here, so its register holds whatever was left there: 0 in the \
    simulator, anything on a card";
const SET_IT: &str = "give the variable a value where it is declared, or on the path that leaves it out";

impl Finding {
    /// Why it is wrong, or why it is not, if that is not what the kind of fault says.
    pub(super) fn why(&self, names: &Names<'_>) -> Option<&'static str> {
        let hazard = match self.detail {
            Detail::Race { hazard, .. } | Detail::GlobalRace { hazard, .. } => hazard,
            Detail::Unset(_) => return Some(UNSET),
            Detail::Exited(_) => return Some(EXITED),
            Detail::NotResident { .. } => return Some(NOT_RESIDENT),
            Detail::CountedElsewhere { .. } => return Some(COUNTED_ELSEWHERE),
            _ => return None,
        };
        match hazard {
            Hazard::UnfencedRead | Hazard::UnfencedWrite => Some(UNFENCED),
            Hazard::UpdateAfterWrite | Hazard::WriteIntoUpdate => Some(UPDATE),
            Hazard::EitherLast => Some(EITHER),
            Hazard::StaleCache => Some(STALE),
            Hazard::Observed => Some(OBSERVED),
            Hazard::EqualWrites if comes_from_memory(&names.kernel_of(&self.at).code, self.at.pc) => {
                Some(EQUAL_BY_INPUT)
            }
            Hazard::EqualWrites => Some(EQUAL),
            _ if self.other_device().is_some() => Some(DEVICES),
            _ if self.other_launch().is_some() => Some(OVERLAP),
            _ => None,
        }
    }

    /// Returns the remedy, if it differs from that of the kind of fault.
    pub(super) fn remedy(&self, names: &Names<'_>) -> Option<&'static str> {
        use super::waiting::Awaited;
        match self.detail {
            Detail::GlobalRace { hazard: Hazard::StaleCache, .. } => Some(PLAIN_LOAD),
            Detail::Race { hazard: Hazard::UpdateAfterWrite | Hazard::WriteIntoUpdate, .. }
            | Detail::GlobalRace { hazard: Hazard::UpdateAfterWrite | Hazard::WriteIntoUpdate, .. }
                if self.other_launch().is_none() =>
            {
                Some(ONE_STEP)
            }
            Detail::Race { hazard, .. } => self.remedy_of_race(names, hazard),
            Detail::GlobalRace { .. } => self.remedy_of_global_race(names),
            Detail::CountedElsewhere { .. } => Some(ONE_BLOCK),
            Detail::Unset(_) => Some(SET_IT),
            Detail::NoBlock { ended: Some(_), .. } => Some(STAY),
            Detail::NoBlock { ended: None, .. } => Some(RANKS),
            Detail::Lanes { .. } => Some(NAMED_LANES),
            Detail::Spin(Awaited::Phase { .. }) => Some(ARRIVALS),
            Detail::Spin(Awaited::Grid) => Some(GRID),
            Detail::Access { place, address, .. } if self.code == crate::Code::OutOfBounds => match place {
                Place::Shared if names.is_past_dynamic(address as u32) => Some(DYNAMIC),
                Place::Global if self.unmapped(names).is_some() => Some(MAP_THE_PEER),
                Place::Global if names.memory.is_null(address) => Some(NULL),
                Place::Global if names.memory.is_before(address) => Some(NEGATIVE),
                _ => None,
            },
            _ => None,
        }
    }

    fn remedy_of_race(&self, names: &Names<'_>, hazard: Hazard) -> Option<&'static str> {
        let other = self.other.as_ref()?;
        let op = |at: &super::At| names.kernel.code.insts.get(at.pc as usize).map(|inst| inst.op);
        let is_bulk = |at: &super::At| matches!(op(at), Some(Op::CopyBulk));
        let is_store = |at: &super::At| matches!(op(at), Some(Op::StoreAsync(_)));
        match hazard {
            Hazard::ReadOfCopy | Hazard::WriteOverCopy if is_store(other) => Some(WAIT_FOR_STORE),
            Hazard::WriteAfterRead if is_store(&self.at) => Some(READ_BEFORE_STORE),
            Hazard::ReadOfCopy | Hazard::WriteOverCopy if is_bulk(&self.at) || is_bulk(other) => Some(WAIT_FOR_BULK),
            Hazard::ReadOfCopy | Hazard::WriteOverCopy => Some(WAIT_FOR_COPY),
            Hazard::WriteTogether => Some(ONE_WRITER),
            _ if self.at.block != other.block => Some(CLUSTER_SYNC),
            _ if self.at.warp == other.warp => Some(SYNC_THE_WARP),
            _ => Some(SYNC_THE_BLOCK),
        }
    }

    fn remedy_of_global_race(&self, names: &Names<'_>) -> Option<&'static str> {
        let other = self.other.as_ref()?;
        if self.other_device().is_some() {
            let is_narrow = |at: &super::At| strong_scope(names, at).is_some_and(|scope| scope < Scope::Sys);
            return Some(if is_narrow(&self.at) || is_narrow(other) { SYSTEM_SCOPE } else { BETWEEN_DEVICES });
        }
        if let Some(apart) = self.other_launch() {
            return Some(if apart.abs() == 1 { WAIT_FOR_LAUNCH } else { WAIT_IN_BETWEEN });
        }
        if self.at.block == other.block {
            return Some(match self.detail {
                Detail::GlobalRace { hazard: Hazard::WriteTogether, .. } => ONE_WRITER,
                _ if self.at.warp == other.warp => SYNC_THE_WARP,
                _ => SYNC_THE_BLOCK,
            });
        }
        if self.why(names).is_some() {
            return Some(FENCE_THE_DATA);
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

/// Scope of the access at a site, if it is more than plain.
fn strong_scope(names: &Names<'_>, at: &super::At) -> Option<Scope> {
    match names.kernel_of(at).code.insts.get(at.pc as usize)?.op {
        Op::Atomic(op) => Some(op.scope),
        Op::Load(op) | Op::Store(op) => Some(op.scope).filter(|_| op.order != Order::Weak),
        _ => None,
    }
}
