//! The one door to a GPU or the simulator: open a device, load a lesson's kernels, move arrays, launch, time.
//!
//! Only this crate names cudarc. A missing driver, a missing NVRTC, an old driver, memory that does not suffice and a
//! launch that fails are ordinary errors of one clear sentence; nothing here panics.

mod error;
pub mod nvrtc;
mod source;

use std::marker::PhantomData;

pub use error::Error;
pub use simt::{Check, Checks, Code, Counters, Fault, LineCounters, Schedule, Site};
pub use source::{COMMITTED_OPTIONS, KernelSource, Stamp, compile_committed, sha256, source_sha256};

/// What the reader asked for with `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The GPU if a driver and a device are there, else the simulator.
    Auto,
    /// The GPU, or an error that says why not.
    Gpu,
    /// The simulator.
    Sim,
}

/// How the simulator runs; a GPU ignores it.
#[derive(Debug, Clone, Copy)]
pub struct SimOptions {
    /// How lanes run.
    pub schedule: Schedule,
    /// What is looked for.
    pub checks: Checks,
    /// Host threads; 0 means one a core.
    pub threads: usize,
}

/// A number type that kernels sum: i32, i64, u32, u64, f32, f64, … little-endian plain data.
pub trait Scalar: Copy + Send + Sync + PartialEq + std::fmt::Debug + 'static {
    /// `i32`
    const NAME: &'static str;
    /// Size in bytes.
    const BYTES: usize;
}

/// A device with a lesson's kernels on it, ready to launch.
pub struct Module {}

/// An array on the device. Freed when dropped.
pub struct Buffer<T> {
    _element: PhantomData<T>,
}

/// One kernel argument.
pub enum Arg<'a> {
    /// A buffer's address plus an offset in bytes (so that unaligned input can be tried).
    Address(&'a dyn DeviceAddress, u64),
    /// A scalar.
    U32(u32),
    /// A scalar.
    U64(u64),
}

/// Anything with an address on the device.
pub trait DeviceAddress {
    /// Its device address.
    fn address(&self) -> u64;
}

/// Geometry of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Cooperative launch.
    pub cooperative: bool,
}

/// One launch, with its arguments.
pub struct Call<'a> {
    /// Where the kernel is.
    pub module: &'a Module,
    /// Its C name.
    pub kernel: &'a str,
    /// Its geometry.
    pub geometry: Geometry,
    /// Its arguments in order.
    pub args: Vec<Arg<'a>>,
}

/// What a launch reports besides memory. A GPU reports nothing: counters are `None`, faults empty.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Counts in total.
    pub counters: Option<Counters>,
    /// Counts per source line.
    pub lines: Vec<LineCounters>,
    /// Findings.
    pub faults: Vec<Fault>,
}

/// A measured time. All times are per call (a whole reduction, all its launches).
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Median over the replays.
    pub median_us: f64,
    /// Fastest replay.
    pub min_us: f64,
    /// Slowest replay.
    pub max_us: f64,
    /// Replays measured.
    pub replays: u32,
    /// Calls in the captured graph.
    pub calls: u32,
}

/// What a device is, for records and for the first line that a chapter prints.
#[derive(Debug, Clone)]
pub struct Description {
    /// `gpu` or `sim`.
    pub kind: &'static str,
    /// `NVIDIA H200`, or `simulator`.
    pub name: String,
    /// `sm_90`, or the PTX target for the simulator.
    pub arch: String,
    /// Driver's version, `580.159.04`-like or CUDA version it supports; `None` on the simulator.
    pub driver: Option<String>,
    /// CUDA version that the driver supports, `13.0`.
    pub cuda: Option<String>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// L2 cache in bytes.
    pub l2_bytes: Option<u64>,
    /// Device memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Why this device was taken: `--device auto found no driver (libcuda.so.1)`.
    pub why: String,
}

/// A GPU or the simulator.
pub struct Device {}

impl Device {
    /// Opens what `choice` asks for. `Auto` falls back to the simulator and says why.
    pub fn open(choice: Choice, sim: SimOptions) -> Result<Device, Error> {
        let _ = (choice, sim);
        unimplemented!()
    }

    /// What it is.
    pub fn description(&self) -> &Description {
        unimplemented!()
    }

    /// True for a GPU.
    pub fn is_gpu(&self) -> bool {
        unimplemented!()
    }

    /// Loads a lesson's kernels. Stale PTX never runs: if the `.cu` differs from the hash stamped in its PTX it is
    /// compiled with NVRTC, and without NVRTC this is an error that names `cargo course setup`.
    pub fn load(&self, source: &KernelSource) -> Result<Module, Error> {
        let _ = source;
        unimplemented!()
    }

    /// An array with undefined contents. `name` is what reports call it.
    pub fn alloc<T: Scalar>(&self, name: &str, len: usize) -> Result<Buffer<T>, Error> {
        let _ = (name, len);
        unimplemented!()
    }

    /// An array copied from the host.
    pub fn upload<T: Scalar>(&self, name: &str, values: &[T]) -> Result<Buffer<T>, Error> {
        let _ = (name, values);
        unimplemented!()
    }

    /// The array copied to the host.
    pub fn download<T: Scalar>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let _ = buffer;
        unimplemented!()
    }

    /// Launches and waits.
    pub fn launch(&self, call: &Call<'_>) -> Result<Report, Error> {
        let _ = call;
        unimplemented!()
    }

    /// Times `calls` by replaying a graph that holds them all in order, `replays` times after warm-up; each call is
    /// a sequence of launches. Give calls that use different buffers, together several times the L2, to measure cold.
    /// `None` on the simulator, which never prints a time as if it were a GPU's.
    pub fn time(&self, calls: &[Vec<Call<'_>>], replays: u32) -> Result<Option<Timing>, Error> {
        let _ = (calls, replays);
        unimplemented!()
    }
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [gx, gy, gz] = self.grid;
        let [bx, by, bz] = self.block;
        write!(f, "grid {gx}x{gy}x{gz}, block {bx}x{by}x{bz}")?;
        if self.shared_bytes > 0 {
            write!(f, ", {} bytes of dynamic shared memory", self.shared_bytes)?;
        }
        if self.cooperative {
            write!(f, ", cooperative")?;
        }
        Ok(())
    }
}
