//! Facts about a GPU that plans use, from its driver.

use std::ffi::CString;
use std::sync::Arc;

use ::cudarc::driver::{CudaContext, DriverError, result, sys};

use super::launch::{allow, attributes};
use crate::card::Card;
use crate::geometry::Geometry;

/// A kernel that does nothing.
const NOTHING: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n";
/// The oldest cards with clusters.
const FIRST_WITH_CLUSTERS: u32 = 90;
/// Threads of a block that keeps others from its multiprocessor, with all shared memory that a block may have.
const BLOCK: u32 = 1024;

/// The card of a context, but for its clusters, which take a kernel to ask for.
///
/// # Errors
/// A driver that does not say.
pub fn without_clusters(context: &Arc<CudaContext>) -> Result<Card, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let device = context.cu_device();
    let attribute = |which| {
        // SAFETY: the context is of this device.
        let value = unsafe { result::device::get_attribute(device, which) };
        value.map(i32::unsigned_abs)
    };
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Card {
        name: context.name()?.into(),
        compute_capability: 10 * major + minor,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        threads_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        blocks_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        registers_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        shared_bytes_per_multiprocessor: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?,
        shared_bytes_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        clusters: [0; 4],
    })
}

/// Clusters of 2, 4, 8 and 16 blocks that are resident at once where a multiprocessor holds one block. None where the card is older,
/// and none where the driver does not say: plans have a way without them.
pub fn clusters(context: &Arc<CudaContext>, card: &Card) -> [u32; 4] {
    if card.compute_capability < FIRST_WITH_CLUSTERS {
        return [0; 4];
    }
    ask(context, card).unwrap_or_default()
}

fn ask(context: &Arc<CudaContext>, card: &Card) -> Result<[u32; 4], DriverError> {
    let (ptx, name) = (CString::new(NOTHING).unwrap_or_default(), CString::new("nothing").unwrap_or_default());
    context.bind_to_thread()?;
    let (mut module, none) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the context is current, the text ends in NUL, and without options there are no arrays.
    unsafe { sys::cuModuleLoadDataEx(&mut module, ptx.as_ptr().cast(), 0, none, none.cast()) }.result()?;
    // SAFETY: the module is loaded.
    let found = unsafe { result::module::get_function(module, name) };
    let clusters = found.map(|function| [2, 4, 8, 16].map(|blocks| resident(function, card, blocks).unwrap_or(0)));
    // SAFETY: it was loaded above, and nothing of it runs.
    unsafe { result::module::unload(module) }?;
    clusters
}

fn resident(function: sys::CUfunction, card: &Card, blocks: u32) -> Result<u32, DriverError> {
    let shared_bytes = card.shared_bytes_per_block;
    let geometry = Geometry { cluster: blocks, shared_bytes, ..Geometry::linear(blocks, BLOCK) };
    // SAFETY: the caller's module keeps the function alive.
    unsafe { allow(function, geometry) }?;
    let (mut attributes, count) = attributes(geometry);
    let config = sys::CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: BLOCK,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shared_bytes,
        hStream: std::ptr::null_mut(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: count,
    };
    let mut clusters = 0;
    // SAFETY: the function is live; the driver reads the configuration and its attributes, and writes one integer.
    let status = unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, function, &config) };
    status.result().map(|()| clusters.unsigned_abs())
}
