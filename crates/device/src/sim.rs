//! The simulator as a device: memory that buffers share, kernels lowered when first launched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simt::{Kernel, Launch, Memory, MemoryError, Options, Program};

use crate::launch::Argument;
use crate::{Error, Geometry, Report, SimOptions};

/// The simulator.
#[derive(Debug)]
pub(crate) struct Sim {
    memory: Arc<Mutex<Memory>>,
    options: Options,
    is_quiet: bool,
}

/// An array in the simulator's memory.
#[derive(Debug)]
pub(crate) struct SimBuffer {
    memory: Arc<Mutex<Memory>>,
    address: u64,
}

/// Kernels of one lesson that were lowered so far.
#[derive(Debug, Default)]
pub(crate) struct SimModule {
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// Memory and kernels stay consistent when a thread dies while it holds them: every change to them is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    pub(crate) fn new(options: SimOptions) -> Sim {
        let SimOptions { schedule, checks, threads, trace, steps_per_block_max, is_quiet } = options;
        let mut options = Options { schedule, checks, threads, trace, ..Options::default() };
        options.steps_per_block_max = steps_per_block_max.unwrap_or(options.steps_per_block_max);
        Sim { memory: Arc::default(), options, is_quiet }
    }

    pub(crate) fn alloc(&self, name: &str, bytes: u64, element_bytes: u32) -> Result<SimBuffer, Error> {
        let address = lock(&self.memory).alloc(name, bytes, element_bytes).map_err(|error| match error {
            MemoryError::OutOfMemory { name, bytes } => Error::HostOutOfMemory { name, bytes },
            other => memory_error(name, other),
        })?;
        Ok(SimBuffer { memory: Arc::clone(&self.memory), address })
    }

    pub(crate) fn launch(
        &self,
        module: &SimModule,
        program: &Program,
        kernel: &str,
        geometry: Geometry,
        args: &[Argument],
    ) -> Result<Report, Error> {
        let lowered = module.kernel(program, kernel)?;
        let launch = Launch {
            grid: geometry.grid,
            block: geometry.block,
            shared_bytes: geometry.shared_bytes,
            cooperative: geometry.cooperative,
            cluster: (geometry.cluster > 1).then_some([geometry.cluster, 1, 1]),
            args: args.iter().map(|arg| arg.value.to_le_bytes()[..arg.bytes].to_vec().into()).collect(),
        };
        let outcome = simt::run(&lowered, &mut lock(&self.memory), &launch, &self.options).map_err(|error| {
            Error::SimulatedLaunch { kernel: kernel.to_string(), geometry, problem: error.to_string() }
        })?;
        let simt::Outcome { counters, lines, faults, notes, trace, printed, .. } = outcome;
        if !self.is_quiet {
            // As the driver does with what a kernel prints. A pipe that was closed is no error.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), printed.as_bytes());
        }
        Ok(Report { counters: Some(counters), lines, faults, notes, trace, printed })
    }
}

impl SimModule {
    pub(crate) fn kernel(&self, program: &Program, name: &str) -> Result<Arc<Kernel>, Error> {
        let mut kernels = lock(&self.kernels);
        if let Some(kernel) = kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(program.kernel(name)?);
        kernels.insert(name.to_string(), Arc::clone(&kernel));
        Ok(kernel)
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
        // The address came from `alloc` and is given back once; there is nobody to tell if that ever failed.
        let _ = lock(&self.memory).free(self.address);
    }
}
