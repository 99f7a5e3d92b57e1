//! A GPU through the CUDA driver API: one context, one stream of our own, arrays, launches.
//!
//! Everything goes to one created stream, in order. cudarc's event tracking, which orders accesses of several streams,
//! is off: it would add two event calls to every launch, and those would be captured and timed with it.

mod driver;
mod host;
mod module;
mod several;
mod time;

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, result, sys};
use reduction::gpu::{allow, card, launch_kernel};

use crate::launch::Argument;
use crate::{Card, Description, Error, Foreign, Geometry};

pub(crate) use driver::{describe_all, driver};
pub(crate) use module::{GpuModule, Image};
pub(crate) use several::{launch_together, open_several, time_together};

/// A GPU, opened.
#[derive(Debug)]
pub(crate) struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    arch: u32,
    /// All but its clusters, which are asked for when plans first want them.
    whole: Card,
    card: OnceLock<Card>,
}

/// An array in the GPU's memory; given back, in stream order, when dropped.
#[derive(Debug)]
pub(crate) struct GpuBuffer {
    slice: CudaSlice<u8>,
    address: u64,
}

/// A launch as [`Gpu::time`] takes it: code, kernel, geometry, arguments.
pub(crate) type PreparedLaunch<'a> = (&'a GpuModule, &'a str, Geometry, Vec<Argument>);

/// Work for a captured graph.
pub(crate) enum Prepared<'a> {
    Launch(PreparedLaunch<'a>),
    /// Address and bytes of an array that becomes 0.
    Clear((u64, usize)),
    Foreign(&'a Foreign<'a>),
}

/// Step before a replay.
pub(crate) enum PreparedStep<'a> {
    Launch(PreparedLaunch<'a>),
    Fill { to: u64, bytes: usize, byte: u8 },
    Copy { from: u64, to: u64, bytes: usize },
}

/// A graph as [`Gpu::replay`] takes it.
pub(crate) struct PreparedGraph<'a> {
    pub launches: Vec<Prepared<'a>>,
    /// Divisor of its time.
    pub calls: u32,
    pub before: Vec<PreparedStep<'a>>,
    /// Address and bytes of what is kept of each replay.
    pub output: Option<(u64, usize)>,
}

impl<'a> PreparedGraph<'a> {
    pub(crate) fn of(launches: Vec<Prepared<'a>>, calls: usize) -> Result<PreparedGraph<'a>, Error> {
        let calls = u32::try_from(calls).map_err(|_| Error::NothingToTime)?;
        Ok(PreparedGraph { launches, calls, before: Vec::new(), output: None })
    }
}

impl Gpu {
    /// Opens the first GPU that the driver shows.
    pub(crate) fn open() -> Result<(Gpu, Description), Error> {
        let (mut description, others) = describe_all(&driver()?)?;
        description.why = match others.len() {
            0 => "an NVIDIA driver and a GPU are here".to_string(),
            more => format!("an NVIDIA driver and {} GPUs are here, and the first is taken", more + 1),
        };
        Ok((Gpu::numbered(0)?, description))
    }

    /// Opens the GPU with this number among those that the driver shows.
    fn numbered(number: usize) -> Result<Gpu, Error> {
        let open = |error| driver::failed("open the GPU", error);
        let context = CudaContext::new(number).map_err(open)?;
        // SAFETY: every array is allocated, used and freed on the one stream made below, which orders all accesses. Peers
        // touch it in launches alone that the host waits for on all of them.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(open)?;
        let (major, minor) = context.compute_capability().map_err(open)?;
        let arch = (10 * major + minor).unsigned_abs();
        let whole = card::without_clusters(&context).map_err(|error| driver::failed("describe the GPU", error))?;
        Ok(Gpu { context, stream, arch, whole, card: OnceLock::new() })
    }

    /// Facts about it that plans may use.
    pub(crate) fn card(&self) -> &Card {
        self.card.get_or_init(|| self.whole.clone().with_clusters(card::clusters(&self.context, &self.whole)))
    }

    /// Compute capability, 90 for 9.0.
    pub(crate) fn arch(&self) -> u32 {
        self.arch
    }

    pub(crate) fn alloc(&self, name: &str, bytes: u64) -> Result<GpuBuffer, Error> {
        // The driver has no array of no bytes, and an empty array still wants an address.
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        // SAFETY: `u8` may hold anything; that the contents are undefined is the contract of `Device::alloc`.
        let made = unsafe { self.stream.alloc::<u8>(size) }.and_then(|slice| {
            self.stream.synchronize()?;
            Ok(slice)
        });
        match made {
            Ok(slice) => {
                let address = driver::address(&slice, &self.stream);
                Ok(GpuBuffer { slice, address })
            }
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let (free, total) = self.context.mem_get_info().unwrap_or_default();
                Err(Error::OutOfMemory {
                    name: name.to_string(),
                    bytes,
                    free_bytes: free as u64,
                    total_bytes: total as u64,
                })
            }
            Err(error) => Err(driver::failed(&format!("make {name}, {bytes} bytes"), error)),
        }
    }

    /// Copies `bytes`, no more than the array has, to its begin, and waits.
    pub(crate) fn write(&self, buffer: &mut GpuBuffer, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let copied = self.stream.memcpy_htod(bytes, &mut buffer.slice);
        copied.and_then(|()| self.stream.synchronize()).map_err(|e| driver::failed(&format!("copy {name} to it"), e))
    }

    /// Copies the first bytes of the array, and waits.
    pub(crate) fn read(&self, buffer: &GpuBuffer, name: &str, bytes: &mut [u8]) -> Result<(), Error> {
        let failed = |error| driver::failed(&format!("copy {name} back"), error);
        let view = buffer.slice.try_slice(..bytes.len()).ok_or_else(|| Error::TooLong {
            name: name.to_string(),
            len: buffer.slice.len(),
            values: bytes.len(),
        })?;
        self.stream.memcpy_dtoh(&view, bytes).map_err(failed)?;
        self.stream.synchronize().map_err(failed)
    }

    /// Copies one array onto another of the same size, and waits.
    pub(crate) fn copy(&self, from: &GpuBuffer, to: &mut GpuBuffer, name: &str) -> Result<(), Error> {
        let copied = self.stream.memcpy_dtod(&from.slice, &mut to.slice);
        copied.and_then(|()| self.stream.synchronize()).map_err(|e| driver::failed(&format!("copy {name}"), e))
    }

    /// Puts a library's work into the stream and waits.
    pub(crate) fn run_foreign(&self, foreign: &Foreign<'_>) -> Result<(), Error> {
        self.enqueue_foreign(foreign)?;
        self.stream.synchronize().map_err(|error| driver::failed("run the library's code", error))
    }

    fn enqueue_foreign(&self, foreign: &Foreign<'_>) -> Result<(), Error> {
        self.context.bind_to_thread().map_err(|error| driver::failed("open the GPU", error))?;
        foreign(self.stream.cu_stream().cast()).map_err(|problem| Error::Foreign { problem })
    }

    /// Loads machine code or PTX; `file` is what messages call it.
    pub(crate) fn load(&self, file: &str, image: &Image<'_>) -> Result<GpuModule, Error> {
        GpuModule::load(&self.context, file, image)
    }

    /// Launches and waits.
    /// Launches one behind the other, and a wait for the last. What goes wrong while they run is said of that one.
    pub(crate) fn launch(&self, launches: &[PreparedLaunch<'_>]) -> Result<(), Error> {
        let function = |(module, kernel, ..): &PreparedLaunch<'_>| module.function(kernel);
        let functions = launches.iter().map(function).collect::<Result<Vec<_>, _>>()?;
        for ((_, kernel, geometry, args), function) in launches.iter().zip(functions) {
            self.enqueue(function, *geometry, args).map_err(|error| launch_failed(kernel, *geometry, error))?;
        }
        let Some((_, kernel, geometry, _)) = launches.last() else { return Ok(()) };
        self.stream.synchronize().map_err(|error| launch_failed(kernel, *geometry, error))
    }

    /// Puts the clearing of an array into the stream, which may be capturing.
    fn enqueue_clear(&self, (to, bytes): (u64, usize)) -> Result<(), Error> {
        // SAFETY: the whole of an array of this device.
        let filled = unsafe { result::memset_d8_async(to, 0, bytes, self.stream.cu_stream()) };
        filled.map_err(|error| driver::failed("clear an array", error))
    }

    /// The kernel of each launch, looked up; a kernel may be loaded then, which a capture does not allow.
    fn functions(launches: &[Prepared<'_>]) -> Result<Vec<Option<sys::CUfunction>>, Error> {
        let function = |launch: &Prepared<'_>| match launch {
            Prepared::Launch((module, kernel, ..)) => module.function(kernel).map(Some),
            Prepared::Clear(_) | Prepared::Foreign(_) => Ok(None),
        };
        launches.iter().map(function).collect()
    }

    /// Puts one thing into the stream, which may be capturing.
    fn enqueue_prepared(&self, launch: &Prepared<'_>, function: Option<sys::CUfunction>) -> Result<(), Error> {
        match (launch, function) {
            (Prepared::Launch((_, kernel, geometry, args)), Some(function)) => {
                let enqueued = self.enqueue(function, *geometry, args);
                enqueued.map_err(|error| launch_failed(kernel, *geometry, error))
            }
            (Prepared::Launch(_), None) => Ok(()), // each launch has its function
            (Prepared::Clear(place), _) => self.enqueue_clear(*place),
            (Prepared::Foreign(foreign), _) => self.enqueue_foreign(foreign),
        }
    }

    /// Puts a launch into the stream, which may be capturing.
    fn enqueue(&self, function: sys::CUfunction, geometry: Geometry, args: &[Argument]) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the caller's module keeps the function alive.
        unsafe { allow(function, geometry) }?;
        let mut pointers: Vec<*mut std::ffi::c_void> =
            args.iter().map(|arg| arg.words.as_ptr().cast_mut().cast()).collect();
        // SAFETY: the function is live; `bind` made words for each parameter, each at least as large as the parameter, and the driver copies
        // them before it returns. What the kernel does with its addresses is the kernel's business, as `Device::launch` says.
        unsafe { launch_kernel(self.stream.cu_stream(), function, geometry, &mut pointers) }
    }
}

impl GpuBuffer {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

fn launch_failed(kernel: &str, geometry: Geometry, error: DriverError) -> Error {
    let (code, text) = driver::words(error);
    Error::LaunchFailed { kernel: kernel.to_string(), geometry, code, text }
}
