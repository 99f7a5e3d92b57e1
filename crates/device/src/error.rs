//! Errors between a chapter and its device, each one clear sentence: what, where, what to do.

use std::path::PathBuf;

use crate::Geometry;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A reduction that the library refuses.
    #[error(transparent)]
    Reduction(#[from] reduction::Error),
    /// The driver's library is not on this machine.
    #[error("no NVIDIA driver here (libcuda.so.1 was not found)")]
    NoDriver,

    /// `--device gpu` was asked for and cannot be had.
    #[error("--device gpu cannot be had: {why}; --device sim runs the same kernels without a GPU")]
    GpuAskedFor {
        /// The missing part.
        why: Box<Error>,
    },

    /// The driver answers, but shows no device.
    #[error(
        "the NVIDIA driver is here but shows no GPU ({code}: {text}; nvidia-smi and CUDA_VISIBLE_DEVICES say more)"
    )]
    NoGpu {
        /// `CUDA_ERROR_NO_DEVICE`.
        code: String,
        /// The driver's words for it.
        text: String,
    },

    /// The driver is older than what this crate calls.
    #[error(
        "the NVIDIA driver is too old (it supports CUDA {have}, and {need}, driver 525, is the oldest that will do)"
    )]
    DriverTooOld {
        /// CUDA version that the driver supports.
        have: String,
        /// The oldest that will do.
        need: &'static str,
    },

    /// The driver cannot read PTX this new.
    #[error(
        "the NVIDIA driver (CUDA {cuda}) is too old for the PTX of {file} (version {ptx_version}); update the \
         driver, or install a compiler that makes code for it with `cargo course setup`"
    )]
    PtxTooNew {
        /// The file that was loaded.
        file: String,
        /// Its `.version`.
        ptx_version: String,
        /// CUDA version that the driver supports.
        cuda: String,
    },

    /// The driver refused a module.
    #[error("the NVIDIA driver cannot load {file}: {code} ({text}){}", after_newline(.log))]
    ModuleLoad {
        /// The file that was loaded.
        file: String,
        /// Name of the CUDA error.
        code: String,
        /// The driver's words for it.
        text: String,
        /// Output of the driver's PTX compiler; may be empty.
        log: String,
    },

    /// Device memory does not suffice.
    #[error("{name}: no room on the GPU for {bytes} bytes: {free_bytes} of {total_bytes} are free; take a smaller --n")]
    OutOfMemory {
        /// The array that was to be made.
        name: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes free on the device.
        free_bytes: u64,
        /// Bytes that the device has.
        total_bytes: u64,
    },

    /// The host has no room for a simulated array.
    #[error("{name}: no room for {bytes} bytes in this machine's memory; take a smaller --n")]
    HostOutOfMemory {
        /// The array that was to be made.
        name: String,
        /// Bytes asked for.
        bytes: u64,
    },

    /// A kernel could not start, or died.
    #[error("{kernel} failed on the GPU, launched as {geometry}: {code} ({text}){}", hint(.code))]
    LaunchFailed {
        /// The kernel's name.
        kernel: String,
        /// Geometry of the launch.
        geometry: Geometry,
        /// Name of the CUDA error.
        code: String,
        /// The driver's words for it.
        text: String,
    },

    /// Any other refusal of the driver.
    #[error("the NVIDIA driver could not {doing}: {code} ({text})")]
    Driver {
        /// Attempted action, as a verb phrase.
        doing: String,
        /// Name of the CUDA error.
        code: String,
        /// The driver's words for it.
        text: String,
    },

    /// A geometry that no device can run.
    #[error("{kernel} cannot be launched as {geometry}: {problem}")]
    BadGeometry {
        /// The kernel's name.
        kernel: String,
        /// Geometry of the launch.
        geometry: Geometry,
        /// Problem with it.
        problem: String,
    },

    /// The number or the sizes of the arguments are not the kernel's.
    #[error("{kernel}: {problem}")]
    BadArguments {
        /// The kernel's name.
        kernel: String,
        /// Description of the problem.
        problem: String,
    },

    /// Fewer GPUs than are needed.
    #[error("{needed} GPUs are needed, and the driver shows {have}")]
    FewGpus {
        /// GPUs that were asked for, or the fewest that would do.
        needed: u32,
        /// GPUs that are here.
        have: u32,
    },

    /// More devices than a simulation has, or none.
    #[error("{count} simulated devices: {problem}")]
    NoSuchDevices {
        /// Devices that were asked for.
        count: u32,
        /// Description of the problem.
        problem: String,
    },

    /// A name that is no lesson's slug.
    #[error("{slug:?} is no lesson: a slug has lower-case letters, digits and hyphens, as in ch05-unroll")]
    BadSlug {
        /// The given slug.
        slug: String,
    },

    /// The lesson's CUDA file is nowhere.
    #[error("kernels/{slug}.cu was not found from {} upwards, nor in {}", .start.display(), .fallback.display())]
    NoKernelFile {
        /// The lesson.
        slug: String,
        /// Folder where the search began.
        start: PathBuf,
        /// The source tree that the program was built from.
        fallback: PathBuf,
    },

    /// A file that cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },

    /// The committed PTX cannot be used and there is no compiler.
    #[error(
        "{cu} must be compiled, because {why}, but no NVRTC was found: run `cargo course setup` once to install it"
    )]
    NeedsNvrtc {
        /// The CUDA file.
        cu: String,
        /// Why the committed PTX will not do.
        why: String,
    },

    /// No NVRTC on this machine.
    #[error("no NVRTC was found: run `cargo course setup` once to install it{}", after_newline(.looked))]
    NoNvrtc {
        /// Places searched, a line each.
        looked: String,
    },

    /// The CUDA file does not compile.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The CUDA file.
        file: String,
        /// NVRTC's messages, with the file's own line numbers.
        log: String,
    },

    /// NVRTC failed in a way that says nothing about the kernel.
    #[error("NVRTC at {} could not {doing}: {text}", .path.display())]
    Nvrtc {
        /// The library.
        path: PathBuf,
        /// Attempted action, as a verb phrase.
        doing: String,
        /// NVRTC's words for it.
        text: String,
    },

    /// PTX that is not PTX, a kernel that is not there, an instruction that is not known.
    #[error(transparent)]
    Load(#[from] simt::LoadError),

    /// The simulator refused a launch.
    #[error("{kernel} cannot be simulated as {geometry}: {problem}")]
    SimulatedLaunch {
        /// The kernel's name.
        kernel: String,
        /// Geometry of the launch.
        geometry: Geometry,
        /// Description of the problem.
        problem: String,
    },

    /// An array or a module of one device was given to another.
    #[error("{name} lives on another device: arrays and kernels are used on the device that made them")]
    OtherDevice {
        /// The array or the lesson.
        name: String,
    },

    /// The simulator's memory refused an array.
    #[error("{name}: {problem}")]
    SimulatedMemory {
        /// The array.
        name: String,
        /// Description of the problem.
        problem: String,
    },

    /// More values than the array has room for.
    #[error("{name} has room for {len}, and {values} were to be copied")]
    TooLong {
        /// The array.
        name: String,
        /// Its length.
        len: usize,
        /// Number of values.
        values: usize,
    },

    /// A library that kernels are compared with cannot be used.
    #[error("{name}: {problem}")]
    Baseline {
        /// Its file.
        name: String,
        /// Description of the problem.
        problem: String,
    },

    /// A library refused its own work.
    #[error("the library's code failed: {problem}")]
    Foreign {
        /// Its message.
        problem: String,
    },

    /// Nothing to time.
    #[error("nothing to time: give at least one call with one launch, and one replay")]
    NothingToTime,
}

/// A block of text below the sentence, or nothing.
fn after_newline(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n{}", text.trim_end()) }
}

/// Advice after a launch that died.
fn hint(code: &str) -> &'static str {
    match code {
        "CUDA_ERROR_ILLEGAL_ADDRESS" | "CUDA_ERROR_MISALIGNED_ADDRESS" | "CUDA_ERROR_LAUNCH_FAILED" => {
            "; --device sim names the access and its line"
        }
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" => {
            "; a cooperative grid must fit on the GPU at once: take fewer blocks"
        }
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" => {
            "; a block needs more registers or shared memory than there are: take a smaller --block"
        }
        _ => "",
    }
}
