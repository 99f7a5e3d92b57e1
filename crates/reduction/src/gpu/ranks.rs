//! All-reduce over the GPUs of one program, whose kernels reach each other's memory.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::from_ref;
use std::sync::Arc;

use ::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, DriverError, sys};

use super::launch::{Function, failed, launch_kernel};
use super::members::Member;
use super::workspace::refuse_capture;
use super::{Element, Loaded, card};
use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::geometry::Geometry;
use crate::group::{Group, GroupCall, RankLaunch, Route, Share};
use crate::kernels;
use crate::memory::Memory;
use crate::op::Op;

/// A [`Group`] on GPUs, a rank for each stream: kernels are loaded on each device, which reaches the memory of all others, and has its
/// part of the memory that the ranks share.
///
/// One thread makes the calls for all ranks, or each rank has a thread of its own: [`Ranks::members`]. A call enqueues a kernel on each
/// stream, and these wait for each other. So these hang:
///
/// - work on a rank's stream that waits for a later call;
/// - two sets of ranks on the same devices at once, or two graphs of one set, or a graph and a call;
/// - launches that return when they have ended (`CUDA_LAUNCH_BLOCKING=1`, profilers that run one kernel at a time);
/// - whatever follows an [`Error::Driver`] of a call, the drop of the ranks too: a launch failed that others wait for.
///
/// A graph that was captured is launched while its ranks are there.
#[derive(Debug)]
pub struct Ranks(Arc<All>);

/// Ranks, which are dropped when no launch uses their memory any more.
#[derive(Debug)]
pub(super) struct All {
    pub(super) group: Group,
    pub(super) ranks: Vec<Rank>,
}

/// Rank with its stream, its kernels and its memory.
#[derive(Debug)]
pub(super) struct Rank {
    pub(super) stream: Arc<CudaStream>,
    /// In the order of [`Route::ALL`].
    functions: [Option<Function>; Route::ALL.len()],
    /// Its part of the memory, without operands.
    share: Share,
    /// Freed when no peer can use it any more.
    shared: ManuallyDrop<CudaSlice<u8>>,
    _loaded: Loaded,
}

impl Drop for All {
    fn drop(&mut self) {
        // A peer may still read what a rank has left for it. Each stream is waited for, whatever another one says.
        let wait = |rank: &Rank| {
            // An error of before says nothing of what runs.
            let _ = rank.stream.context().check_err();
            rank.stream.synchronize()
        };
        let failures = self.ranks.iter().map(wait).filter(|ended| ended.is_err()).count();
        if failures > 0 {
            return; // what may still be used is kept
        }
        for rank in &mut self.ranks {
            // SAFETY: it is dropped here alone, and nothing uses it.
            unsafe { ManuallyDrop::drop(&mut rank.shared) };
        }
    }
}

/// Memory that shares it begins at multiples of this, in bytes.
const APART: u64 = 256;

impl Ranks {
    /// Ranks in the order of the streams, each of a device of its own, for messages of `most` elements at most. It loads kernels, and
    /// allocates on each device some twice the longest message and 32 MiB for each rank: [`Group::room`] says it, and
    /// [`Group::with_routes`] makes do with less. The devices' memory pools, from which cudarc allocates, are opened to each other.
    ///
    /// # Errors
    /// Refusals of [`Group::new`]; [`Error::NoPeerAccess`] for devices that do not reach each other, or a device that is named twice;
    /// [`Error::Capturing`]; [`Error::Driver`].
    pub fn new(op: Op, ty: Type, most: u64, streams: &[Arc<CudaStream>]) -> Result<Ranks> {
        let cards = describe(streams)?;
        Ranks::on(Group::new(op, ty, most, &cards.iter().collect::<Vec<_>>())?, streams, &cards)
    }

    /// Ranks of a group that was planned by hand, one a stream.
    ///
    /// # Errors
    /// As [`Ranks::new`]; another number of streams than of ranks; cards that do not hold the group's blocks at once.
    pub fn of(group: Group, streams: &[Arc<CudaStream>]) -> Result<Ranks> {
        if streams.len() as u32 != group.ranks() {
            let got = streams.len().to_string();
            return Err(Error::Parameter {
                what: "the number of streams",
                got,
                range: "as many as the group has ranks",
            });
        }
        let cards = describe(streams)?;
        Ranks::on(group, streams, &cards)
    }

    /// Ranks on as many cards.
    fn on(group: Group, streams: &[Arc<CudaStream>], cards: &[Card]) -> Result<Ranks> {
        if cards.iter().any(|card| card.multiprocessors < group.blocks_max()) {
            let (got, range) = (group.blocks_max().to_string(), "at most the multiprocessors of each card");
            return Err(Error::Parameter { what: "the number of blocks", got, range });
        }
        reach_each_other(streams)?;
        let rank = |(stream, card)| Rank::new(&group, stream, card);
        let ranks = streams.iter().zip(cards).map(rank).collect::<Result<Vec<_>>>()?;
        // A peer may write into the memory of a rank as soon as its own stream gets there.
        for rank in &ranks {
            rank.stream.synchronize().map_err(|error| failed("clear the memory of a rank", error))?;
        }
        Ok(Ranks(Arc::new(All { group, ranks })))
    }

    /// The group, plain data.
    pub fn group(&self) -> &Group {
        &self.0.group
    }

    /// The same ranks, each for a thread of its own, in their order.
    pub fn members(self) -> Vec<Member> {
        Member::all(&self.0)
    }

    /// Reduces arrays of one length, one of each rank, into results on each: by this route or, with `None`, by [`Group::route`]. It
    /// neither allocates nor waits, and may be captured: the streams capture into one graph, or into graphs that are always launched
    /// together.
    ///
    /// # Errors
    /// Not as many arrays as ranks, or arrays of different lengths; another type than the group's; arrays of another device; what
    /// [`Group::call`] and [`GroupCall::launch`] refuse; an error that the driver has reported before. Nothing is enqueued then.
    /// [`Error::Driver`] where a launch fails.
    pub fn all_reduce<T: Element>(
        &mut self,
        route: impl Into<Option<Route>>,
        inputs: &[&impl DevicePtr<T>],
        outs: &mut [&mut impl DevicePtrMut<T>],
    ) -> Result<()> {
        self.check_count(inputs.len(), "the number of inputs")?;
        self.check_count(outs.len(), "the number of results")?;
        let All { group, ranks } = &*self.0;
        let n = inputs.first().map_or(0, |input| input.len());
        let (mut shares, mut guards) = (Vec::with_capacity(ranks.len()), Vec::with_capacity(2 * ranks.len()));
        for ((rank, input), out) in ranks.iter().zip(inputs).zip(outs.iter_mut()) {
            rank.check::<T>(group, "in", n, *input)?;
            rank.check::<T>(group, "out", n, *out)?;
            let (input, first) = input.device_ptr(&rank.stream);
            let (out, second) = out.device_ptr_mut(&rank.stream);
            shares.push(rank.share::<T>(n, input, out));
            guards.extend([first, second]);
        }
        // SAFETY: the operands are borrowed for the call, and cudarc keeps their memory for the work of their streams.
        unsafe { self.0.enqueue(route.into(), n, &shares) }
    }

    /// Reduces arrays of one length, one of each rank, and leaves the results in their places.
    ///
    /// # Errors
    /// Those of [`Ranks::all_reduce`].
    pub fn all_reduce_in_place<T: Element>(
        &mut self,
        route: impl Into<Option<Route>>,
        arrays: &mut [&mut impl DevicePtrMut<T>],
    ) -> Result<()> {
        self.check_count(arrays.len(), "the number of arrays")?;
        let All { group, ranks } = &*self.0;
        let n = arrays.first().map_or(0, |array| array.len());
        let (mut shares, mut guards) = (Vec::with_capacity(ranks.len()), Vec::with_capacity(ranks.len()));
        for (rank, array) in ranks.iter().zip(arrays.iter_mut()) {
            rank.check::<T>(group, "out", n, *array)?;
            let (address, guard) = array.device_ptr_mut(&rank.stream);
            shares.push(rank.share::<T>(n, address, address));
            guards.push(guard);
        }
        // SAFETY: as above.
        unsafe { self.0.enqueue(route.into(), n, &shares) }
    }

    fn check_count(&self, got: usize, what: &'static str) -> Result<()> {
        if got == self.0.ranks.len() {
            return Ok(());
        }
        Err(Error::Parameter { what, got: got.to_string(), range: "as many as there are ranks" })
    }
}

impl All {
    /// The call by this route, or by the one that is expected to be the fastest.
    pub(super) fn call(&self, route: Option<Route>, n: usize) -> Result<GroupCall> {
        let route = route.map_or_else(|| self.group.route(n as u64), Ok)?;
        self.group.call(route, n as u64)
    }

    /// Enqueues the kernel of each rank on its stream.
    ///
    /// # Safety
    /// The operands are memory of the ranks' devices, and stay so until their streams are past the launches.
    unsafe fn enqueue(&self, route: Option<Route>, n: usize, shares: &[Share]) -> Result<()> {
        let call = self.call(route, n)?;
        let launches = call.launches(shares)?;
        self.ranks.iter().try_for_each(|rank| rank.check_ready(&call))?;
        // SAFETY: the caller's promise.
        self.ranks.iter().zip(&launches).try_for_each(|(rank, launch)| unsafe { rank.enqueue(&call, launch) })
    }
}

/// The card of each stream, none of which captures.
fn describe(streams: &[Arc<CudaStream>]) -> Result<Vec<Card>> {
    let describe = |stream: &Arc<CudaStream>| {
        refuse_capture(stream, "ranks would load kernels and allocate")?;
        card::without_clusters(stream.context()).map_err(|error| failed("describe a card", error))
    };
    streams.iter().map(describe).collect()
}

impl Rank {
    fn new(group: &Group, stream: &Arc<CudaStream>, card: &Card) -> Result<Rank> {
        let loaded = Loaded::new(stream.context());
        let mut functions = [None; Route::ALL.len()];
        for route in Route::ALL.into_iter().filter(|&route| group.has_route(route)) {
            let kernel = group.kernel(route);
            let text = kernels::ptx(&kernel, card.compute_capability)?;
            let module = loaded.module(&kernel, || Ok([text.as_bytes(), b"\0"].concat()))?;
            functions[route as usize] = Some(loaded.function(module, &kernel, Geometry::linear(1, 1))?);
        }
        let room = group.room();
        let mut end = 0;
        let places = [room.stage, room.words, room.flags, room.calls].map(|bytes| {
            let begin = end;
            end += bytes.next_multiple_of(APART);
            (begin, bytes)
        });
        let allocate = |error: DriverError| failed("allocate the memory of a rank", error);
        let shared = stream.alloc_zeros::<u8>(end as usize).map_err(allocate)?;
        let (first, guard) = shared.device_ptr(stream);
        let [stage, words, flags, calls] = places.map(|(begin, bytes)| Memory { address: first + begin, bytes });
        drop(guard);
        let share = Share { input: stage, out: stage, stage, words, flags, calls };
        Ok(Rank { stream: Arc::clone(stream), functions, share, shared: ManuallyDrop::new(shared), _loaded: loaded })
    }

    /// Its memory with these operands.
    pub(super) fn share<T>(&self, n: usize, input: u64, out: u64) -> Share {
        let memory = |address| Memory { address, bytes: (n * size_of::<T>()) as u64 };
        Share { input: memory(input), out: memory(out), ..self.share }
    }

    /// Finds what would keep its launch from being enqueued, before a peer waits for it: an error that the driver has reported since the
    /// last call, or a kernel that is not there.
    pub(super) fn check_ready(&self, call: &GroupCall) -> Result<()> {
        self.stream.context().bind_to_thread().map_err(|error| failed("take the context", error))?;
        self.function(call).map(drop)
    }

    fn function(&self, call: &GroupCall) -> Result<Function> {
        self.functions[call.route() as usize].ok_or_else(|| Error::NoKernel { kernel: call.kernel() })
    }

    /// Enqueues its launch of a call.
    ///
    /// # Safety
    /// The launch is this rank's, and its operands are memory of the ranks' devices until their streams are past the call.
    pub(super) unsafe fn enqueue(&self, call: &GroupCall, launch: &RankLaunch) -> Result<()> {
        let function = self.function(call)?;
        let failed = |error| failed(&format!("launch {}", call.kernel()), error);
        let mut pointers: Vec<*mut c_void> = vec![launch.arrays.as_ptr().cast_mut().cast()];
        pointers.extend(launch.numbers.iter().map(|number| from_ref(number).cast_mut().cast::<c_void>()));
        pointers.push(from_ref(&launch.n).cast_mut().cast());
        self.stream.context().bind_to_thread().map_err(failed)?;
        // SAFETY: the function is loaded as long as its rank lives, and takes these; what their memory is was checked, and promised.
        let launched = unsafe { launch_kernel(self.stream.cu_stream(), function.0, launch.geometry, &mut pointers) };
        launched.map_err(failed)
    }

    pub(super) fn check<T: Element>(
        &self,
        group: &Group,
        operand: &'static str,
        n: usize,
        slice: &impl DeviceSlice<T>,
    ) -> Result<()> {
        if T::TYPE != group.ty() {
            return Err(Error::OperandType { operand, got: T::NAME, expected: group.ty().name() });
        }
        if slice.stream().context() != self.stream.context() {
            return Err(Error::OtherContext { what: operand });
        }
        if slice.len() != n {
            let bytes = |n: usize| (n * size_of::<T>()) as u64;
            return Err(Error::Length { operand, got: bytes(slice.len()), expected: bytes(n) });
        }
        Ok(())
    }
}

/// Lets each device reach the memory of all others: what was allocated plainly, and what came from its default pool.
///
/// # Errors
/// [`Error::NoPeerAccess`] for devices that do not reach each other, or one that is named twice; [`Error::Driver`].
pub fn reach_each_other(streams: &[Arc<CudaStream>]) -> Result<()> {
    let open = |error| failed("let devices reach each other's memory", error);
    for (at, from) in streams.iter().enumerate() {
        for (peer, to) in streams.iter().enumerate().filter(|&(peer, _)| peer != at) {
            let (from, to) = (from.context(), to.context());
            if from.cu_device() == to.cu_device() || !can_reach(from, to).map_err(open)? {
                return Err(Error::NoPeerAccess { from: at, to: peer });
            }
            reach(from, to).map_err(open)?;
        }
    }
    Ok(())
}

fn can_reach(from: &CudaContext, to: &CudaContext) -> std::result::Result<bool, DriverError> {
    let mut can = 0;
    // SAFETY: the contexts are of these devices, and the pointer is to a live integer.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, from.cu_device(), to.cu_device()) }.result()?;
    Ok(can != 0)
}

/// Lets kernels of one context reach the memory of another.
fn reach(from: &CudaContext, to: &CudaContext) -> std::result::Result<(), DriverError> {
    from.bind_to_thread()?;
    // SAFETY: both contexts are live.
    match unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) } {
        sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
        status => status.result()?,
    }
    if !to.has_async_alloc() {
        return Ok(());
    }
    let mut pool = std::ptr::null_mut();
    // SAFETY: the context is of this device, and the pointer is to a live handle.
    unsafe { sys::cuDeviceGetMemPool(&mut pool, to.cu_device()) }.result()?;
    // A `CUmemAccessDesc`, whose fields have other names in each CUDA: a location, which is a device and its number, and what it may do.
    let access = [
        sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE as u32,
        from.cu_device().unsigned_abs(),
        sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE as u32,
    ];
    // SAFETY: the pool is the device's, and the words are one description.
    unsafe { sys::cuMemPoolSetAccess(pool, access.as_ptr().cast(), 1) }.result()
}
