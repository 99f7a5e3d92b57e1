//! A GPU or the simulator, chosen and described.

use std::marker::PhantomData;

use simt::Options;

use crate::buffer::{Storage, bytes_for};
use crate::card::{Card, H200};
use crate::committed::COMMITTED_TARGET;
use crate::gpu::{Gpu, Prepared, PreparedGraph, PreparedLaunch, PreparedStep};
use crate::launch::{Argument, bind};
use crate::module::{self, Code};
use crate::nvrtc::{Nvrtc, Place, places};
use crate::scalar::{bytes_of, from_bytes};
use crate::sim::{Sim, SimCall};
use crate::{
    Buffer, Call, Checks, Error, Foreign, Geometry, Graph, HostTiming, KernelSource, Module, Replayed, Replays, Report,
    Scalar, Schedule, Step, Timed, Timing,
};

/// Choice of the reader with `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The GPU if a driver and a device are there, else the simulator.
    Auto,
    /// The GPU, or an error that says why not.
    Gpu,
    /// The simulator.
    Sim,
}

/// Options of the simulator; a GPU ignores them.
#[derive(Debug, Clone, Copy)]
pub struct SimOptions {
    /// Order of lanes.
    pub schedule: Schedule,
    /// Checks that are on.
    pub checks: Checks,
    /// Host threads; 0 means one a core.
    pub threads: usize,
    /// Steps to record of each launch.
    pub trace: Option<simt::trace::Options>,
    /// Most warp-instructions of a block, after which a launch is taken for one without an end; `None` for the simulator's
    /// own limit.
    pub steps_per_block_max: Option<u64>,
    /// True if what kernels print goes into the report alone, and not to standard output as well.
    pub is_quiet: bool,
    /// The card that plans are made for; `None` for [`H200`].
    pub card: Option<&'static Card>,
}

impl Default for SimOptions {
    /// The simulator's own defaults.
    fn default() -> Self {
        let Options { schedule, checks, threads, trace, .. } = Options::default();
        SimOptions { schedule, checks, threads, trace, steps_per_block_max: None, is_quiet: false, card: None }
    }
}

/// Description of a device, for records and for the first line that a chapter prints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// `gpu` or `sim`.
    pub kind: &'static str,
    /// `NVIDIA H200`, or `simulator`.
    pub name: String,
    /// `sm_90`, or the PTX target for the simulator.
    pub arch: String,
    /// Driver's release, `580.159.04`, or, if it is not available, `CUDA 13.0`; `None` on the simulator.
    pub driver: Option<String>,
    /// CUDA version that the driver supports, `13.0`.
    pub cuda: Option<String>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// L2 cache in bytes.
    pub l2_bytes: Option<u64>,
    /// Device memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Why this device was taken: `no NVIDIA driver here (libcuda.so.1 was not found), so the simulator runs`.
    pub why: String,
}

/// A GPU or the simulator.
#[derive(Debug)]
pub struct Device {
    kind: Kind,
    description: Description,
}

#[derive(Debug)]
enum Kind {
    Gpu(Gpu),
    Sim(Sim),
}

impl Device {
    /// Opens what `choice` asks for. `Auto` falls back to the simulator and says why.
    ///
    /// # Errors
    /// [`Error::GpuAskedFor`] when `choice` is [`Choice::Gpu`] and there is none that can be used.
    pub fn open(choice: Choice, sim: SimOptions) -> Result<Device, Error> {
        let why_sim = match choice {
            Choice::Sim => "--device sim was asked for".to_string(),
            Choice::Auto | Choice::Gpu => match Gpu::open() {
                Ok((gpu, mut description)) => {
                    if choice == Choice::Gpu {
                        description.why = "--device gpu was asked for".to_string();
                    }
                    return Ok(Device { kind: Kind::Gpu(gpu), description });
                }
                Err(error) if choice == Choice::Gpu => return Err(Error::GpuAskedFor { why: Box::new(error) }),
                Err(error) => format!("{error}, so the simulator runs"),
            },
        };
        let why = match sim.card {
            Some(card) => format!("{why_sim}; launches as planned for the card {}", card.name),
            None => why_sim,
        };
        Ok(Device { kind: Kind::Sim(Sim::new(sim)), description: Description::simulator(why) })
    }

    /// A GPU that was opened.
    pub(crate) fn opened((gpu, description): (Gpu, Description)) -> Device {
        Device { kind: Kind::Gpu(gpu), description }
    }

    /// A device of the simulator; `why` says why it was taken.
    pub(crate) fn simulated(sim: Sim, why: &str) -> Device {
        Device { kind: Kind::Sim(sim), description: Description::simulator(why.to_owned()) }
    }

    /// The simulator behind it, unless it is a GPU.
    pub(crate) fn sim(&self) -> Option<&Sim> {
        match &self.kind {
            Kind::Sim(sim) => Some(sim),
            Kind::Gpu(_) => None,
        }
    }

    /// The GPU behind it, unless it is the simulator.
    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        match &self.kind {
            Kind::Gpu(gpu) => Some(gpu),
            Kind::Sim(_) => None,
        }
    }

    /// Description of the device.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// True for a GPU.
    pub fn is_gpu(&self) -> bool {
        matches!(self.kind, Kind::Gpu(_))
    }

    /// Facts about it that plans may use: for a GPU those from its driver, for the simulator those of the card that it is taken for.
    pub fn card(&self) -> &Card {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.card(),
            Kind::Sim(sim) => sim.card().unwrap_or(&H200),
        }
    }

    /// Compute capability of a GPU, 90 for 9.0; `None` on the simulator, which runs PTX for any.
    pub fn compute_capability(&self) -> Option<u32> {
        self.gpu().map(Gpu::arch)
    }

    /// Loads a lesson's kernels. Stale PTX never runs: if the `.cu` differs from the hash stamped in its PTX it is
    /// compiled with NVRTC, and without NVRTC this is an error that names `cargo course setup`.
    ///
    /// # Errors
    /// [`Error::Unreadable`], [`Error::NeedsNvrtc`], [`Error::Compile`], [`Error::Nvrtc`], [`Error::Load`]; on a GPU
    /// also [`Error::PtxTooNew`] and [`Error::ModuleLoad`].
    pub fn load(&self, source: &KernelSource) -> Result<Module, Error> {
        self.load_with(source, &places(source.root()))
    }

    /// [`Device::load`] with NVRTC looked for in `places` alone.
    ///
    /// # Errors
    /// Those of [`Device::load`].
    pub fn load_with(&self, source: &KernelSource, places: &[Place]) -> Result<Module, Error> {
        match &self.kind {
            Kind::Gpu(gpu) => module::load_gpu(gpu, source, places),
            Kind::Sim(sim) => module::load_sim(source, places, sim.card().map(|card| card.compute_capability)),
        }
    }

    /// Returns whether [`Device::load_on_demand`] can be asked here: NVRTC is there and knows the device.
    pub fn can_compile(&self, source: &KernelSource) -> bool {
        let Ok(nvrtc) = Nvrtc::find_in(&places(source.root())) else { return false };
        self.compute_capability().is_none_or(|arch| nvrtc.knows(arch))
    }

    /// Compiles a lesson's `.cu` with these lines of CUDA behind it, and without the kernels that its committed PTX has: what
    /// stands in its `#ifndef`. For kernels of which there are too many to commit them all.
    ///
    /// # Errors
    /// As [`Device::load`]; [`Error::NoNvrtc`].
    pub fn load_on_demand(&self, source: &KernelSource, lines: &str) -> Result<Module, Error> {
        let nvrtc = Nvrtc::find_in(&places(source.root()))?;
        match &self.kind {
            Kind::Gpu(gpu) => module::load_on_demand_gpu(gpu, source, &nvrtc, lines),
            Kind::Sim(_) => module::load_on_demand_sim(source, &nvrtc, lines),
        }
    }

    /// Loads kernels that have no CUDA source: PTX as it stands. `name` is what messages call it.
    ///
    /// # Errors
    /// [`Error::Load`]; on a GPU also [`Error::PtxTooNew`] and [`Error::ModuleLoad`].
    pub fn load_ptx(&self, name: &str, text: &str) -> Result<Module, Error> {
        match &self.kind {
            Kind::Gpu(gpu) => module::load_ptx_gpu(gpu, name, text),
            Kind::Sim(_) => module::load_ptx_sim(name, text),
        }
    }

    /// An array of `len` elements with undefined contents. `name` is what reports call it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] on a GPU, [`Error::HostOutOfMemory`] on the simulator.
    pub fn alloc<T: Scalar>(&self, name: &str, len: usize) -> Result<Buffer<T>, Error> {
        let bytes = bytes_for::<T>(len);
        let storage = match &self.kind {
            Kind::Gpu(gpu) => Storage::Gpu(gpu.alloc(name, bytes)?),
            Kind::Sim(sim) => Storage::Sim(sim.alloc(name, bytes, T::BYTES as u32)?),
        };
        Ok(Buffer { name: name.to_string(), len, storage, _element: PhantomData })
    }

    /// An array copied from the host.
    ///
    /// # Errors
    /// As [`Device::alloc`], and [`Error::Driver`].
    pub fn upload<T: Scalar>(&self, name: &str, values: &[T]) -> Result<Buffer<T>, Error> {
        let mut buffer = self.alloc(name, values.len())?;
        self.write(&mut buffer, values)?;
        Ok(buffer)
    }

    /// Overwrites an array, from its first element on, with values of the host; for kernels that destroy their input.
    ///
    /// # Errors
    /// [`Error::TooLong`] when there are more values than elements, [`Error::OtherDevice`], [`Error::Driver`].
    pub fn write<T: Scalar>(&self, buffer: &mut Buffer<T>, values: &[T]) -> Result<(), Error> {
        if values.len() > buffer.len {
            return Err(Error::TooLong { name: buffer.name.clone(), len: buffer.len, values: values.len() });
        }
        let bytes = bytes_of(values);
        match (&self.kind, &mut buffer.storage) {
            _ if bytes.is_empty() => Ok(()),
            (Kind::Gpu(gpu), Storage::Gpu(storage)) => gpu.write(storage, &buffer.name, bytes),
            (Kind::Sim(_), Storage::Sim(storage)) => storage.write(&buffer.name, bytes),
            _ => Err(Error::OtherDevice { name: buffer.name.clone() }),
        }
    }

    /// The array copied to the host.
    ///
    /// # Errors
    /// [`Error::OtherDevice`], [`Error::Driver`].
    pub fn download<T: Scalar>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        from_bytes(buffer.len, |bytes| match (&self.kind, &buffer.storage) {
            _ if bytes.is_empty() => Ok(()),
            (Kind::Gpu(gpu), Storage::Gpu(storage)) => gpu.read(storage, &buffer.name, bytes),
            (Kind::Sim(_), Storage::Sim(storage)) => storage.read(&buffer.name, bytes),
            _ => Err(Error::OtherDevice { name: buffer.name.clone() }),
        })
    }

    /// Launches and waits.
    ///
    /// A kernel does what it does: addresses are not checked against buffers before the launch, neither here nor on a
    /// GPU. The simulator reports a wrong access as a fault; a GPU may report it, or overwrite another buffer.
    ///
    /// # Errors
    /// [`Error::BadGeometry`], [`Error::BadArguments`], [`Error::Load`] (no such kernel, or one that the simulator
    /// cannot run), [`Error::LaunchFailed`], [`Error::SimulatedLaunch`], [`Error::OtherDevice`].
    pub fn launch(&self, call: &Call<'_>) -> Result<Report, Error> {
        Ok(self.launch_in_stream(&[call])?.pop().unwrap_or_default())
    }

    /// Launches in one stream, one behind the other, and waits for the last; a report of each. A launch that
    /// [overlaps](Geometry::overlaps) may start before the one before it has ended, on the simulator too, where a wait that is missing
    /// is a fault of it.
    ///
    /// # Errors
    /// As [`Device::launch`]. An error on a GPU while the launches run is reported for the last one.
    pub fn launch_all(&self, calls: &[Call<'_>]) -> Result<Vec<Report>, Error> {
        self.launch_in_stream(&calls.iter().collect::<Vec<_>>())
    }

    fn launch_in_stream(&self, calls: &[&Call<'_>]) -> Result<Vec<Report>, Error> {
        match &self.kind {
            Kind::Gpu(gpu) => {
                let launches = calls.iter().map(|call| prepare_gpu(call)).collect::<Result<Vec<_>, _>>()?;
                gpu.launch(&launches)?;
                Ok(calls.iter().map(|_| Report::default()).collect())
            }
            Kind::Sim(sim) => {
                let launches = calls.iter().map(|call| prepare_sim(call)).collect::<Result<Vec<_>, _>>()?;
                sim.launch(&launches)
            }
        }
    }

    /// Times `calls` by replaying a graph that holds them all in order, `replays` times after warm-up. To measure cold,
    /// give calls that use different buffers and a `flush` that reads more than the L2 holds: it is launched before each
    /// replay, outside the time. `None` on the simulator, which never prints a time as if it were a GPU's.
    ///
    /// # Errors
    /// [`Error::NothingToTime`], and as [`Device::launch`].
    pub fn time(&self, calls: &[Timed<'_>], flush: Option<&Call<'_>>, replays: u32) -> Result<Option<Timing>, Error> {
        let timings = self.time_in_turns(&[calls], &Replays::new(replays, flush))?;
        Ok(timings.and_then(|timings| timings.into_iter().next()))
    }

    /// Times like [`Device::time`] several graphs, each with its own calls, that are replayed in turns (A B A B), so that what
    /// changes on the card meanwhile meets all of them. One [`Timing`] for each.
    ///
    /// # Errors
    /// Those of [`Device::time`].
    pub fn time_in_turns(&self, graphs: &[&[Timed<'_>]], replays: &Replays<'_>) -> Result<Option<Vec<Timing>>, Error> {
        let Kind::Gpu(gpu) = &self.kind else { return Ok(None) };
        let is_nothing = |calls: &&[Timed<'_>]| has_nothing(calls);
        if replays.count == 0 || graphs.is_empty() || graphs.iter().any(is_nothing) {
            return Err(Error::NothingToTime);
        }
        let flush = replays.flush.map(prepare_gpu).transpose()?;
        let graphs = graphs.iter().map(|calls| PreparedGraph::of(prepare_all(calls)?, calls.len()));
        let graphs = graphs.collect::<Result<Vec<_>, Error>>()?;
        Ok(Some(gpu.replay(&graphs, flush.as_ref(), replays)?.into_iter().map(|(timing, _)| timing).collect()))
    }

    /// Replays graphs in turns and keeps the graph's output of each replay, so that every reported time can be judged
    /// too. A simulator goes through each graph once, without a time.
    ///
    /// # Errors
    /// [`Error::NothingToTime`]; [`Error::TooLong`] for a copy of more than an array holds; as [`Device::launch`].
    pub fn replay<T: Scalar>(&self, graphs: &[Graph<'_, T>], replays: &Replays<'_>) -> Result<Vec<Replayed<T>>, Error> {
        if replays.count == 0 || graphs.is_empty() || graphs.iter().any(|graph| has_nothing(&graph.calls)) {
            return Err(Error::NothingToTime);
        }
        graphs.iter().flat_map(|graph| &graph.before).try_for_each(Step::check)?;
        let Kind::Gpu(gpu) = &self.kind else { return graphs.iter().map(|graph| self.go_through(graph)).collect() };
        let flush = replays.flush.map(prepare_gpu).transpose()?;
        let prepared = graphs.iter().map(prepare_graph).collect::<Result<Vec<_>, Error>>()?;
        let replayed = gpu.replay(&prepared, flush.as_ref(), replays)?;
        let outputs = replayed.into_iter().zip(graphs).map(|((timing, bytes), graph)| {
            let len = graph.output.map_or(0, Buffer::len);
            let of_replay = |bytes: &[u8]| {
                from_bytes::<T, Error>(len, |values| {
                    values.copy_from_slice(bytes);
                    Ok(())
                })
            };
            let outputs = bytes.chunks(len.max(1) * T::BYTES).map(of_replay).collect::<Result<Vec<_>, Error>>()?;
            Ok(Replayed { timing: Some(timing), outputs })
        });
        outputs.collect()
    }

    /// Runs a graph once on the simulator, which stands for a replay.
    fn go_through<T: Scalar>(&self, graph: &Graph<'_, T>) -> Result<Replayed<T>, Error> {
        // Launches that nothing else comes between, which may overlap.
        let mut row: Vec<&Call<'_>> = Vec::new();
        let run = |row: &mut Vec<&Call<'_>>| self.launch_in_stream(&std::mem::take(row)).map(drop);
        for step in &graph.before {
            match step {
                Step::Launch(call) => row.push(call),
                Step::Fill(to, byte) => {
                    run(&mut row)?;
                    overwrite(to, &vec![*byte; to.bytes() as usize])?;
                }
                Step::Copy { from, to, elements } => {
                    run(&mut row)?;
                    overwrite(to, bytes_of(&self.download(from)?[..*elements]))?;
                }
            }
        }
        run(&mut row)?;
        for timed in &graph.calls {
            match timed {
                Timed::Launches(calls) => row.extend(calls),
                Timed::Cleared(array, calls) => {
                    run(&mut row)?;
                    overwrite(array, &vec![0; array.bytes() as usize])?;
                    row.extend(calls);
                }
                Timed::Foreign(foreign) => {
                    run(&mut row)?;
                    self.run_foreign(foreign)?;
                }
            }
        }
        run(&mut row)?;
        let outputs = graph.output.map(|output| self.download(output)).transpose()?.into_iter().collect();
        Ok(Replayed { timing: None, outputs })
    }

    /// Times a call as a program makes it that has no graph: launched by the host, `count` times with a wait after each, and
    /// some hundred in a row unless it `waits` by itself. An array that is `fresh` is allocated, cleared and given back by each call, in the
    /// place of the one that it is given. `None` on the simulator, which has no clock.
    ///
    /// # Errors
    /// Those of [`Device::time`].
    pub fn time_host(
        &self,
        call: &Timed<'_>,
        fresh: Option<&Buffer<u64>>,
        waits: bool,
        count: u32,
    ) -> Result<Option<HostTiming>, Error> {
        let Kind::Gpu(gpu) = &self.kind else { return Ok(None) };
        let calls = std::slice::from_ref(call);
        if count == 0 || has_nothing(calls) {
            return Err(Error::NothingToTime);
        }
        let prepared = prepare_all(calls)?;
        gpu.time_host(&prepared, fresh.map(place).transpose()?, waits, count).map(Some)
    }

    /// Puts a library's work into the stream and waits for it; nothing happens on the simulator.
    ///
    /// # Errors
    /// [`Error::Foreign`] with what it says, [`Error::Driver`].
    pub fn run_foreign(&self, foreign: &Foreign<'_>) -> Result<(), Error> {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.run_foreign(foreign),
            Kind::Sim(_) => Ok(()),
        }
    }

    /// Another array with the same contents.
    ///
    /// # Errors
    /// As [`Device::alloc`], and [`Error::Driver`].
    pub fn duplicate<T: Scalar>(&self, buffer: &Buffer<T>) -> Result<Buffer<T>, Error> {
        let mut copy = self.alloc::<T>(&buffer.name, buffer.len)?;
        match (&self.kind, &buffer.storage, &mut copy.storage) {
            (Kind::Gpu(gpu), Storage::Gpu(from), Storage::Gpu(to)) => gpu.copy(from, to, &buffer.name)?,
            _ => {
                let values = self.download(buffer)?;
                self.write(&mut copy, &values)?;
            }
        }
        Ok(copy)
    }
}

/// The geometry of a call; one that does not wait for the launch before it does not overlap it.
fn allowed(call: &Call<'_>) -> Geometry {
    call.geometry.with_overlaps(call.geometry.overlaps && call.module.waits(call.kernel))
}

/// Returns whether there is nothing to time.
fn has_nothing(calls: &[Timed<'_>]) -> bool {
    let launches_nothing =
        |timed: &Timed<'_>| matches!(timed, Timed::Launches(calls) | Timed::Cleared(_, calls) if calls.is_empty());
    calls.is_empty() || calls.iter().any(launches_nothing)
}

/// A graph as a GPU takes it.
fn prepare_graph<'a, T: Scalar>(graph: &'a Graph<'_, T>) -> Result<PreparedGraph<'a>, Error> {
    let step = |step: &'a Step<'_, T>| {
        Ok(match step {
            Step::Launch(call) => PreparedStep::Launch(prepare_gpu(call)?),
            Step::Fill(to, byte) => {
                let (to, bytes) = place(to)?;
                PreparedStep::Fill { to, bytes, byte: *byte }
            }
            Step::Copy { from, to, elements } => {
                PreparedStep::Copy { from: place(from)?.0, to: place(to)?.0, bytes: elements * T::BYTES }
            }
        })
    };
    let mut prepared = PreparedGraph::of(prepare_all(&graph.calls)?, graph.calls.len())?;
    prepared.before = graph.before.iter().map(step).collect::<Result<_, Error>>()?;
    prepared.output = graph.output.map(place).transpose()?;
    Ok(prepared)
}

/// A call as the simulator takes it. Code for older targets does not overlap: it cannot wait. Of newer code that does not it is found
/// that it should.
pub(crate) fn prepare_sim<'a>(call: &Call<'a>) -> Result<SimCall<'a>, Error> {
    let args = prepare(call)?;
    let Code::Sim = &call.module.code else {
        return Err(Error::OtherDevice { name: call.module.slug.clone() });
    };
    let overlaps = call.geometry.overlaps && call.module.may_wait();
    let geometry = call.geometry.with_overlaps(overlaps);
    Ok(SimCall { kernels: &call.module.kernels, kernel: call.kernel, geometry, args })
}

/// Writes into an array of the simulator.
fn overwrite<T: Scalar>(to: &Buffer<T>, bytes: &[u8]) -> Result<(), Error> {
    match &to.storage {
        Storage::Sim(storage) => storage.write(&to.name, bytes),
        Storage::Gpu(_) => Err(Error::OtherDevice { name: to.name.clone() }),
    }
}

/// Address and bytes of an array of a GPU.
fn place<T: Scalar>(buffer: &Buffer<T>) -> Result<(u64, usize), Error> {
    match &buffer.storage {
        Storage::Gpu(storage) => Ok((storage.address(), buffer.bytes() as usize)),
        Storage::Sim(_) => Err(Error::OtherDevice { name: buffer.name.clone() }),
    }
}

/// A call as a GPU takes it.
pub(crate) fn prepare_gpu<'a>(call: &'a Call<'_>) -> Result<PreparedLaunch<'a>, Error> {
    match &call.module.code {
        Code::Gpu(code) => Ok((code, call.kernel, allowed(call), prepare(call)?)),
        Code::Sim => Err(Error::OtherDevice { name: call.module.slug.clone() }),
    }
}

/// Calls as a GPU takes them, one after the other.
fn prepare_all<'a>(calls: &'a [Timed<'_>]) -> Result<Vec<Prepared<'a>>, Error> {
    let mut prepared = Vec::new();
    for timed in calls {
        match timed {
            Timed::Launches(_) => {}
            Timed::Cleared(array, _) => prepared.push(Prepared::Clear(place(array)?)),
            Timed::Foreign(foreign) => prepared.push(Prepared::Foreign(foreign)),
        }
        if let Timed::Launches(calls) | Timed::Cleared(_, calls) = timed {
            for call in calls {
                prepared.push(Prepared::Launch(prepare_gpu(call)?));
            }
        }
    }
    Ok(prepared)
}

/// Checks a call and lays out its arguments.
fn prepare(call: &Call<'_>) -> Result<Vec<Argument>, Error> {
    if let Some(problem) = call.geometry.refusal() {
        return Err(Error::BadGeometry { kernel: call.kernel.to_string(), geometry: call.geometry, problem });
    }
    bind(call.kernel, &call.module.parameters(call.kernel)?, &call.args)
}

impl Description {
    fn simulator(why: String) -> Description {
        Description {
            kind: "sim",
            name: "simulator".to_string(),
            arch: COMMITTED_TARGET.to_string(),
            why,
            ..Description::default()
        }
    }
}
