//! Why a launch cannot start.

use crate::MemoryError;

/// A launch that could not start. Nothing ran and nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say what each field is
pub enum LaunchError {
    /// Bad geometry or arguments.
    #[error("{kernel}: {why}")]
    Misfit { kernel: String, why: Misfit },
    /// A stack of more bytes than a thread has local memory.
    #[error("a stack of {asked} bytes; a thread has at most {most} bytes of local memory")]
    Stack { asked: u32, most: u32 },
    /// Streams that are not one for each of some devices.
    #[error("device {device}: each device has one stream of its own, and every launch in it is of that device")]
    Streams { device: u32 },
    /// No room for the variables of the PTX.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl LaunchError {
    /// The kernel whose launch it is, where it is one's.
    pub fn kernel(&self) -> Option<&str> {
        match self {
            LaunchError::Misfit { kernel, .. } => Some(kernel),
            LaunchError::Stack { .. } | LaunchError::Streams { .. } | LaunchError::Memory(_) => None,
        }
    }
}

/// A launch that a kernel, or any card, cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say what each field is
pub enum Misfit {
    /// No block, or no thread.
    #[error("a grid and a block need at least one of each")]
    Empty,
    /// More threads than a block may have.
    #[error("a block of {threads} threads; at most 1024 (and 64 in z) fit")]
    BlockTooLarge { threads: u64 },
    /// More blocks than a grid may have.
    #[error("a grid has at most 2147483647 blocks in x and 65535 in y and z")]
    GridTooLarge,
    /// More threads than the kernel was compiled for (`__launch_bounds__`).
    #[error("a block of {threads} threads; the kernel was compiled for at most {most}")]
    BlockBeyondBounds { threads: u64, most: u64 },
    /// Another block than the one that the kernel was compiled for.
    #[error("a block of {} threads; the kernel was compiled for {} and nothing else", text(*asked), text(*compiled))]
    OtherBlock { asked: [u32; 3], compiled: [u32; 3] },
    /// More shared memory than a block has.
    #[error(
        "{bytes} bytes of shared memory, {own} of the kernel's own and {dynamic} of the launch; a block has at most {most}"
    )]
    SharedMemory { bytes: u64, own: u32, dynamic: u32, most: u64 },
    /// A cooperative launch of more blocks than any card holds at once.
    #[error(
        "a cooperative launch of {blocks} blocks of {threads} threads and {shared_bytes} bytes of shared memory; all of them \
         must be resident at once, and no card holds more than {most}"
    )]
    NotResident { blocks: u64, threads: u64, shared_bytes: u64, most: u64 },
    /// A device beyond those that there can be.
    #[error("device {device}; a simulation has devices 0 to {}", crate::memory::DEVICES_MAX - 1)]
    NoSuchDevice { device: u32 },
    /// A kernel that allocates memory, on another device than the first.
    #[error(
        "it allocates memory (`malloc`), which the simulator has for kernels of device 0 alone; this one runs on device {device}"
    )]
    NoHeap { device: u32 },
    /// Too few arguments, or too many.
    #[error("{given} arguments given, {expected} expected")]
    ArgumentCount { given: usize, expected: usize },
    /// An argument of another size than its parameter.
    #[error("argument {parameter} has {given} bytes, {expected} expected")]
    ArgumentSize { parameter: String, given: usize, expected: u32 },
    /// Clusters that are not those that the kernel was compiled for; no `asked` where the launch must give a size and gives none.
    #[error("{}", clusters(*asked, *compiled))]
    OtherCluster { asked: Option<[u32; 3]>, compiled: Option<[u32; 3]> },
    /// A cluster of no blocks, or of more than there can be.
    #[error("a cluster of {blocks} blocks; 1 to {most} fit")]
    ClusterSize { blocks: u64, most: u64 },
    /// A grid that clusters do not fill.
    #[error("a grid of {} blocks is no whole number of clusters of {}", text(*grid), text(*cluster))]
    PartOfACluster { grid: [u32; 3], cluster: [u32; 3] },
}

fn text([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

fn clusters(asked: Option<[u32; 3]>, compiled: Option<[u32; 3]>) -> String {
    match (asked, compiled) {
        (Some(asked), Some(compiled)) => {
            format!("clusters of {} blocks; the kernel was compiled for {}", text(asked), text(compiled))
        }
        _ => "the kernel is compiled for clusters of a size that the launch must give".to_owned(),
    }
}
