//! Checks before a launch: geometry and arguments against the kernel.

use crate::launch::{Arg, Launch, Misfit};
use crate::memory::DEVICES_MAX;
use crate::program::Kernel;

/// Shared memory of a block in bytes: what compute capability 9.0 gives, the most that there is.
const SHARED_BYTES_MAX: u64 = 227 << 10;

/// More multiprocessors than any card has.
const MULTIPROCESSORS: u64 = 256;

/// Blocks of this size that are resident at once on a card larger than any: a multiprocessor has room for 32 blocks, 64 warps and
/// 228 KiB of shared memory, of which the system takes 1 KiB a block.
pub(super) fn resident_max(threads: u64, shared_bytes: u64) -> u64 {
    let by_warps = 64 / threads.div_ceil(32);
    let by_shared = (228 << 10) / (shared_bytes + (1 << 10));
    MULTIPROCESSORS * by_warps.min(by_shared).clamp(1, 32)
}

/// Checks geometry and arguments; returns the parameter block.
pub(super) fn bind(kernel: &Kernel, launch: &Launch) -> Result<Vec<u8>, Misfit> {
    let threads = count(launch.block);
    if launch.grid.contains(&0) || threads == 0 {
        return Err(Misfit::Empty);
    }
    if threads > 1024 || launch.block[2] > 64 {
        return Err(Misfit::BlockTooLarge { threads });
    }
    if launch.grid[0] > i32::MAX as u32 || launch.grid[1] > 65535 || launch.grid[2] > 65535 {
        return Err(Misfit::GridTooLarge);
    }
    let device = launch.device;
    if device >= DEVICES_MAX {
        return Err(Misfit::NoSuchDevice { device });
    }
    if device > 0 && kernel.code.allocates() {
        return Err(Misfit::NoHeap { device });
    }
    if let Some(most) = kernel.block_max.filter(|&most| threads > most) {
        return Err(Misfit::BlockBeyondBounds { threads, most });
    }
    if let Some(compiled) = kernel.block.filter(|&block| launch.block != block) {
        return Err(Misfit::OtherBlock { asked: launch.block, compiled });
    }
    let (own, dynamic) = (kernel.shared_bytes(), launch.shared_bytes);
    let bytes = u64::from(own) + u64::from(dynamic);
    if bytes > SHARED_BYTES_MAX {
        return Err(Misfit::SharedMemory { bytes, own, dynamic, most: SHARED_BYTES_MAX });
    }
    let blocks = count(launch.grid);
    let most = resident_max(threads, bytes);
    if launch.cooperative && blocks > most {
        return Err(Misfit::NotResident { blocks, threads, shared_bytes: bytes, most });
    }
    parameters(kernel, &launch.args)
}

/// The parameter block: each argument at its place.
fn parameters(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, Misfit> {
    let (given, expected) = (args.len(), kernel.parameters.len());
    if given != expected {
        return Err(Misfit::ArgumentCount { given, expected });
    }
    let mut block = Vec::new();
    for (arg, parameter) in args.iter().zip(&kernel.parameters) {
        let (given, expected) = (arg.size_bytes(), parameter.bytes);
        if given != expected as usize {
            return Err(Misfit::ArgumentSize { parameter: parameter.name.clone(), given, expected });
        }
        block.resize(block.len().next_multiple_of(parameter.align_bytes.max(1) as usize), 0);
        arg.append(&mut block);
    }
    Ok(block)
}

/// Most blocks of a cluster; more than 8 are not portable, and still exist.
const CLUSTER_MAX: u64 = 16;

/// Blocks of a cluster in x, y, z: as the launch asks, or as the kernel was compiled for. `None` without clusters.
pub(super) fn cluster(kernel: &Kernel, launch: &Launch) -> Result<Option<[u32; 3]>, Misfit> {
    let size = match (launch.cluster, kernel.cluster) {
        (None, None) if kernel.needs_cluster => {
            return Err(Misfit::OtherCluster { asked: None, compiled: None });
        }
        (None, None) => return Ok(None),
        (Some(asked), Some(compiled)) if asked != compiled => {
            return Err(Misfit::OtherCluster { asked: Some(asked), compiled: Some(compiled) });
        }
        (Some(size), _) | (None, Some(size)) => size,
    };
    let blocks = count(size);
    if blocks == 0 || blocks > CLUSTER_MAX {
        return Err(Misfit::ClusterSize { blocks, most: CLUSTER_MAX });
    }
    if launch.grid.iter().zip(size).any(|(blocks, size)| !blocks.is_multiple_of(size)) {
        return Err(Misfit::PartOfACluster { grid: launch.grid, cluster: size });
    }
    Ok(Some(size))
}

/// Product of all dimensions, saturating.
fn count(size: [u32; 3]) -> u64 {
    size.iter().fold(1, |count, &n| count.saturating_mul(u64::from(n)))
}
