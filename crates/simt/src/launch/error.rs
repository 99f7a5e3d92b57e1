//! Why a launch cannot start.

use crate::MemoryError;

/// A launch that could not start: bad geometry or arguments. Nothing ran and nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No block, or no thread.
    #[error("{kernel}: a grid and a block need at least one of each")]
    Empty {
        /// The kernel.
        kernel: String,
    },
    /// More threads than a block may have.
    #[error("{kernel}: a block of {threads} threads; at most 1024 (and 64 in z) fit")]
    BlockTooLarge {
        /// The kernel.
        kernel: String,
        /// Threads of the block.
        threads: u64,
    },
    /// More blocks than a grid may have.
    #[error("{kernel}: a grid has at most 2147483647 blocks in x and 65535 in y and z")]
    GridTooLarge {
        /// The kernel.
        kernel: String,
    },
    /// More threads than the kernel was compiled for (`__launch_bounds__`).
    #[error("{kernel}: a block of {threads} threads; the kernel was compiled for at most {most}")]
    BlockBeyondBounds {
        /// The kernel.
        kernel: String,
        /// Threads of the block.
        threads: u64,
        /// Most that it was compiled for.
        most: u64,
    },
    /// Another block than the one that the kernel was compiled for.
    #[error("{kernel}: a block of {} threads; the kernel was compiled for {} and nothing else", text(*asked), text(*compiled))]
    OtherBlock {
        /// The kernel.
        kernel: String,
        /// Threads of the block.
        asked: [u32; 3],
        /// Threads that it was compiled for.
        compiled: [u32; 3],
    },
    /// More shared memory than a block has.
    #[error(
        "{kernel}: {bytes} bytes of shared memory, {own} of the kernel's own and {dynamic} of the launch; a block has at most {most}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Both together.
        bytes: u64,
        /// Static.
        own: u32,
        /// Dynamic.
        dynamic: u32,
        /// Bytes that a block can have.
        most: u64,
    },
    /// A cooperative launch of more blocks than any card holds at once.
    #[error(
        "{kernel}: a cooperative launch of {blocks} blocks of {threads} threads and {shared_bytes} bytes of shared memory; all of them \
         must be resident at once, and no card holds more than {most}"
    )]
    NotResident {
        /// The kernel.
        kernel: String,
        /// Blocks of the grid.
        blocks: u64,
        /// Threads of a block.
        threads: u64,
        /// Shared memory of a block.
        shared_bytes: u64,
        /// Blocks that are resident at once, at most.
        most: u64,
    },
    /// Too few arguments, or too many.
    #[error("{kernel}: {given} arguments given, {expected} expected")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Arguments given.
        given: usize,
        /// Parameters of the kernel.
        expected: usize,
    },
    /// An argument of another size than its parameter.
    #[error("{kernel}: argument {parameter} has {given} bytes, {expected} expected")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// The parameter's name.
        parameter: String,
        /// Bytes of the argument.
        given: usize,
        /// Bytes of the parameter.
        expected: u32,
    },
    /// Clusters that are not those that the kernel was compiled for; no `asked` where the launch must give a size and gives none.
    #[error("{kernel}: {}", clusters(*asked, *compiled))]
    OtherCluster {
        /// The kernel.
        kernel: String,
        /// Blocks of a cluster as the launch has it.
        asked: Option<[u32; 3]>,
        /// Blocks of a cluster that the kernel was compiled for.
        compiled: Option<[u32; 3]>,
    },
    /// A cluster of no blocks, or of more than there can be.
    #[error("{kernel}: a cluster of {blocks} blocks; 1 to {most} fit")]
    ClusterSize {
        /// The kernel.
        kernel: String,
        /// Blocks of a cluster.
        blocks: u64,
        /// Largest cluster that fits.
        most: u64,
    },
    /// A grid that clusters do not fill.
    #[error("{kernel}: a grid of {} blocks is no whole number of clusters of {}", text(*grid), text(*cluster))]
    PartOfACluster {
        /// The kernel.
        kernel: String,
        /// Blocks of the grid.
        grid: [u32; 3],
        /// Blocks of a cluster.
        cluster: [u32; 3],
    },
    /// A stack of more bytes than a thread has local memory.
    #[error("a stack of {asked} bytes; a thread has at most {most} bytes of local memory")]
    Stack {
        /// Bytes of stack.
        asked: u32,
        /// Bytes of local memory.
        most: u32,
    },
    /// No room for the variables of the PTX.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl LaunchError {
    /// The kernel whose launch it is, where it is one's.
    pub fn kernel(&self) -> Option<&str> {
        match self {
            LaunchError::Empty { kernel }
            | LaunchError::BlockTooLarge { kernel, .. }
            | LaunchError::GridTooLarge { kernel }
            | LaunchError::BlockBeyondBounds { kernel, .. }
            | LaunchError::OtherBlock { kernel, .. }
            | LaunchError::SharedMemory { kernel, .. }
            | LaunchError::NotResident { kernel, .. }
            | LaunchError::ArgumentCount { kernel, .. }
            | LaunchError::ArgumentSize { kernel, .. }
            | LaunchError::OtherCluster { kernel, .. }
            | LaunchError::ClusterSize { kernel, .. }
            | LaunchError::PartOfACluster { kernel, .. } => Some(kernel),
            LaunchError::Stack { .. } | LaunchError::Memory(_) => None,
        }
    }
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
