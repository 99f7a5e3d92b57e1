//! The simulator as a device: memory that buffers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simt::{Launch, Memory, MemoryError, Options, StreamLaunch};

use crate::kernels::Kernels;
use crate::launch::Argument;
use crate::{Card, Error, Geometry, Report, SimOptions};

/// The simulator.
#[derive(Debug)]
pub(crate) struct Sim {
    memory: Arc<Mutex<Memory>>,
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
        Sim { memory: Arc::default(), options, is_quiet, card }
    }

    /// The card that it was said to be taken for.
    pub(crate) fn card(&self) -> Option<&'static Card> {
        self.card
    }

    pub(crate) fn alloc(&self, name: &str, bytes: u64, element_bytes: u32) -> Result<SimBuffer, Error> {
        let address = lock(&self.memory).alloc(name, bytes, element_bytes).map_err(|error| match error {
            MemoryError::OutOfMemory { name, bytes } => Error::HostOutOfMemory { name, bytes },
            other => memory_error(name, other),
        })?;
        Ok(SimBuffer { memory: Arc::clone(&self.memory), address })
    }

    /// Launches of one stream, which overlap where their geometry says so; a report of each.
    pub(crate) fn launch(&self, calls: &[SimCall<'_>]) -> Result<Vec<Report>, Error> {
        let kernels = calls.iter().map(|call| call.kernels.kernel(call.kernel)).collect::<Result<Vec<_>, _>>()?;
        let launches: Vec<Launch> = calls.iter().map(SimCall::launch).collect();
        let stream = kernels.iter().zip(&launches).zip(calls);
        let stream: Vec<StreamLaunch<'_>> = stream
            .map(|((kernel, launch), call)| StreamLaunch { kernel, launch, overlaps: call.geometry.overlaps })
            .collect();
        let outcomes = simt::run_stream(&stream, &mut lock(&self.memory), &self.options).map_err(|error| {
            let is_refused = |call: &&SimCall<'_>| error.kernel() == Some(call.kernel);
            let refused = calls.iter().find(is_refused).or(calls.first());
            let (kernel, geometry) = refused
                .map_or((String::new(), Geometry::linear(0, 0)), |call| (call.kernel.to_string(), call.geometry));
            Error::SimulatedLaunch { kernel, geometry, problem: error.to_string() }
        })?;
        Ok(outcomes.into_iter().map(|outcome| self.report(outcome)).collect())
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
    fn launch(&self) -> Launch {
        let SimCall { geometry, .. } = *self;
        Launch {
            grid: geometry.grid,
            block: geometry.block,
            shared_bytes: geometry.shared_bytes,
            cooperative: geometry.cooperative,
            cluster: (geometry.cluster > 1).then_some([geometry.cluster, 1, 1]),
            device: 0,
            args: self.args.iter().map(|arg| arg.value.to_le_bytes()[..arg.bytes].to_vec().into()).collect(),
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
