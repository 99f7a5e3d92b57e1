//! The simulator as a device: memory that buffers share, also those of several devices.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simt::{Launch, Memory, MemoryError, Options, StreamLaunch};

use crate::kernels::Kernels;
use crate::launch::Argument;
use crate::{Card, Error, Geometry, Report, SimOptions};

/// The simulator.
#[derive(Debug)]
pub(crate) struct Sim {
    memory: Arc<Mutex<Memory>>,
    /// Which of the devices that share the memory it is.
    number: u32,
    options: Options,
    is_quiet: bool,
    card: Option<&'static Card>,
}

/// An array in the simulator's memory.
#[derive(Debug)]
pub(crate) struct SimBuffer {
    memory: Arc<Mutex<Memory>>,
    address: u64,
}

/// A launch as [`Sim::launch`] takes it.
pub(crate) struct SimCall<'a> {
    pub(crate) kernels: &'a Kernels,
    pub(crate) kernel: &'a str,
    pub(crate) geometry: Geometry,
    pub(crate) args: Vec<Argument>,
}

/// Memory stays consistent when a thread dies while it holds it: every change to it is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    pub(crate) fn new(options: SimOptions) -> Sim {
        let SimOptions { schedule, checks, threads, trace, steps_per_block_max, is_quiet, card } = options;
        let mut options = Options { schedule, checks, threads, trace, ..Options::default() };
        options.steps_per_block_max = steps_per_block_max.unwrap_or(options.steps_per_block_max);
        Sim { memory: Arc::default(), number: 0, options, is_quiet, card }
    }

    /// So many devices, each of which reaches the memory of all.
    pub(crate) fn several(count: u32, options: SimOptions) -> Result<Vec<Sim>, Error> {
        let first = Sim::new(options);
        let mapped = lock(&first.memory).map_all_peers(count);
        mapped.map_err(|error| Error::NoSuchDevices { count, problem: error.to_string() })?;
        Ok((0..count).map(|number| Sim { memory: Arc::clone(&first.memory), number, ..first }).collect())
    }

    /// The card that it was said to be taken for.
    pub(crate) fn card(&self) -> Option<&'static Card> {
        self.card
    }

    pub(crate) fn alloc(&self, name: &str, bytes: u64, element_bytes: u32) -> Result<SimBuffer, Error> {
        let address =
            lock(&self.memory).alloc_on(self.number, name, bytes, element_bytes).map_err(|error| match error {
                MemoryError::OutOfMemory { name, bytes } => Error::HostOutOfMemory { name, bytes },
                other => memory_error(name, other),
            })?;
        Ok(SimBuffer { memory: Arc::clone(&self.memory), address })
    }

    /// Launches of one stream, which overlap where their geometry says so; a report of each.
    pub(crate) fn launch(&self, calls: &[SimCall<'_>]) -> Result<Vec<Report>, Error> {
        let one = [(self, calls)];
        Ok(Sim::launch_together(&one)?.pop().unwrap_or_default())
    }

    /// The launches of a stream of each of some devices, which share a memory; all devices run at once.
    pub(crate) fn launch_together(devices: &[(&Sim, &[SimCall<'_>])]) -> Result<Vec<Vec<Report>>, Error> {
        let Some((first, _)) = devices.first() else { return Ok(Vec::new()) };
        let calls = || devices.iter().flat_map(|(sim, calls)| calls.iter().map(|call| (sim.number, call)));
        let kernels = calls().map(|(_, call)| call.kernels.kernel(call.kernel)).collect::<Result<Vec<_>, _>>()?;
        let launches: Vec<Launch> = calls().map(|(number, call)| call.launch(number)).collect();
        let mut all = kernels.iter().zip(&launches).zip(calls()).map(|((kernel, launch), (_, call))| StreamLaunch {
            kernel,
            launch,
            overlaps: call.geometry.overlaps,
        });
        let streams: Vec<Vec<StreamLaunch<'_>>> =
            devices.iter().map(|(_, calls)| all.by_ref().take(calls.len()).collect()).collect();
        let outcomes = simt::run_devices(&streams, &mut lock(&first.memory), &first.options).map_err(|error| {
            let refused = calls().find(|(_, call)| error.kernel() == Some(call.kernel)).or(calls().next());
            let (kernel, geometry) = refused
                .map_or((String::new(), Geometry::linear(0, 0)), |(_, call)| (call.kernel.to_string(), call.geometry));
            Error::SimulatedLaunch { kernel, geometry, problem: error.to_string() }
        })?;
        let reports = |outcomes: Vec<simt::Outcome>| outcomes.into_iter().map(|one| first.report(one)).collect();
        Ok(outcomes.into_iter().map(reports).collect())
    }

    fn report(&self, outcome: simt::Outcome) -> Report {
        let simt::Outcome { counters, lines, faults, notes, trace, printed, .. } = outcome;
        if !self.is_quiet {
            // The driver treats the output of kernels in the same way. A pipe that was closed is no error.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), printed.as_bytes());
        }
        Report { counters: Some(counters), lines, faults, notes, trace, printed }
    }
}

impl SimCall<'_> {
    fn launch(&self, device: u32) -> Launch {
        let SimCall { geometry, .. } = *self;
        Launch {
            grid: geometry.grid,
            block: geometry.block,
            shared_bytes: geometry.shared_bytes,
            cooperative: geometry.cooperative,
            cluster: (geometry.cluster > 1).then_some([geometry.cluster, 1, 1]),
            device,
            args: self.args.iter().map(|arg| arg.to_bytes().into()).collect(),
        }
    }
}

impl SimBuffer {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        lock(&self.memory).write(self.address, bytes).map_err(|error| memory_error(name, error))
    }

    pub(crate) fn read(&self, name: &str, bytes: &mut [u8]) -> Result<(), Error> {
        lock(&self.memory).read(self.address, bytes).map_err(|error| memory_error(name, error))
    }
}

fn memory_error(name: &str, error: MemoryError) -> Error {
    Error::SimulatedMemory { name: name.to_string(), problem: error.to_string() }
}

impl Drop for SimBuffer {
    fn drop(&mut self) {
        // The address came from `alloc` and is freed once; a failure could not be reported from here.
        let _ = lock(&self.memory).free(self.address);
    }
}
