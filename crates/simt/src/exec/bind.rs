//! Whether a launch can start: geometry and arguments against the kernel.

use crate::launch::{Launch, LaunchError};
use crate::program::Kernel;

/// Checks geometry and arguments; returns the parameter block.
pub(super) fn bind(kernel: &Kernel, launch: &Launch) -> Result<Vec<u8>, LaunchError> {
    let fail = |message: String| Err(LaunchError(format!("{}: {message}", kernel.name)));
    let threads = count(launch.block);
    if launch.grid.contains(&0) || threads == 0 {
        return fail("a grid and a block need at least one of each".into());
    }
    if threads > 1024 || launch.block[2] > 64 {
        return fail(format!("a block of {threads} threads; at most 1024 (and 64 in z) fit"));
    }
    if launch.grid[0] > i32::MAX as u32 || launch.grid[1] > 65535 || launch.grid[2] > 65535 {
        return fail("a grid has at most 2147483647 blocks in x and 65535 in y and z".into());
    }
    if let Some(max) = kernel.block_max
        && threads > max
    {
        return fail(format!("a block of {threads} threads; the kernel was compiled for at most {max}"));
    }
    if let Some(block) = kernel.block
        && launch.block != block
    {
        let (asked, wanted) = (text(launch.block), text(block));
        return fail(format!("a block of {asked} threads; the kernel was compiled for {wanted} and nothing else"));
    }
    let shared = u64::from(kernel.shared_bytes()) + u64::from(launch.shared_bytes);
    if shared > 227 << 10 {
        return fail(format!("{shared} bytes of shared memory; a block has at most 227 KiB"));
    }
    if launch.args.len() != kernel.parameters.len() {
        return fail(format!("{} arguments given, {} wanted", launch.args.len(), kernel.parameters.len()));
    }
    let mut block = Vec::new();
    for (arg, parameter) in launch.args.iter().zip(&kernel.parameters) {
        if arg.len() != parameter.bytes as usize {
            let (given, wanted) = (arg.len(), parameter.bytes);
            return fail(format!("argument {} has {given} bytes, {wanted} wanted", parameter.name));
        }
        block.resize(block.len().next_multiple_of(parameter.align_bytes.max(1) as usize), 0);
        block.extend_from_slice(arg);
    }
    Ok(block)
}

/// Most blocks of a cluster; more than 8 are not portable, and still exist.
const CLUSTER_MAX: u64 = 16;

/// Blocks of a cluster in x, y, z: as the launch asks, or as the kernel was compiled for. `None` without clusters.
pub(super) fn cluster(kernel: &Kernel, launch: &Launch) -> Result<Option<[u32; 3]>, LaunchError> {
    let fail = |message: String| Err(LaunchError(format!("{}: {message}", kernel.name)));
    let size = match (launch.cluster, kernel.cluster) {
        (None, None) if kernel.needs_cluster => {
            return fail("the kernel is compiled for clusters of a size that the launch must give".into());
        }
        (None, None) => return Ok(None),
        (Some(asked), Some(compiled)) if asked != compiled => {
            return fail(format!("clusters of {} blocks; the kernel was compiled for {}", text(asked), text(compiled)));
        }
        (Some(size), _) | (None, Some(size)) => size,
    };
    let blocks = count(size);
    if blocks == 0 || blocks > CLUSTER_MAX {
        return fail(format!("a cluster of {blocks} blocks; 1 to {CLUSTER_MAX} fit"));
    }
    if launch.grid.iter().zip(size).any(|(blocks, size)| !blocks.is_multiple_of(size)) {
        return fail(format!(
            "a grid of {} blocks is no whole number of clusters of {}",
            text(launch.grid),
            text(size)
        ));
    }
    Ok(Some(size))
}

/// How many there are, or as many as can be counted.
fn count(size: [u32; 3]) -> u64 {
    size.iter().fold(1, |count, &n| count.saturating_mul(u64::from(n)))
}

fn text([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}
