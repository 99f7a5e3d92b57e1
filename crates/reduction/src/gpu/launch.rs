//! Launches on a stream of the caller's.

use std::ffi::c_void;
use std::sync::Arc;

use ::cudarc::driver::{CudaStream, DriverError, result, sys};

use crate::error::Error;
use crate::geometry::Geometry;
use crate::memory::Memory;
use crate::plan::Pass;
use crate::reduction::Queue;

/// Most attributes of a launch: cooperative, cluster and overlap.
const ATTRIBUTES_MAX: usize = 3;
/// Most arguments of a kernel.
const ARGS_MAX: usize = 16;

/// A function of a loaded module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function(pub(super) sys::CUfunction);

// SAFETY: a handle of the driver's, which belongs to a context and to no thread.
unsafe impl Send for Function {}
// SAFETY: as above; the driver locks.
unsafe impl Sync for Function {}

/// A stream, with the functions of a plan's launches in order.
pub(super) struct StreamQueue<'a> {
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) functions: std::slice::Iter<'a, Function>,
}

impl Queue for StreamQueue<'_> {
    type Error = Error;

    fn launch(&mut self, pass: &Pass, args: &[u64]) -> Result<(), Error> {
        let function = self.functions.next().ok_or_else(|| Error::NoKernel { kernel: pass.kernel.clone() })?;
        let mut pointers = [std::ptr::null_mut(); ARGS_MAX];
        for (pointer, arg) in pointers.iter_mut().zip(args) {
            *pointer = std::ptr::from_ref(arg).cast_mut().cast::<c_void>();
        }
        // SAFETY: the function is loaded as long as its plan lives; the plan has an argument for each of its parameters, of its size or
        // wider. What their memory is was checked.
        let launched = unsafe { launch_kernel(self.stream.cu_stream(), function.0, pass.geometry, &mut pointers) };
        launched.map_err(|error| failed(&format!("launch {}", pass.kernel), error))
    }

    fn write(&mut self, memory: Memory, bytes: &[u8]) -> Result<(), Error> {
        for (at, word) in bytes.chunks(4).enumerate() {
            let mut four = [0; 4];
            four[..word.len()].copy_from_slice(word);
            // SAFETY: the results have these bytes, which was checked.
            let status = unsafe {
                sys::cuMemsetD32Async(
                    memory.address + 4 * at as u64,
                    u32::from_le_bytes(four),
                    1,
                    self.stream.cu_stream(),
                )
            };
            status.result().map_err(|error| failed("write the result of nothing", error))?;
        }
        Ok(())
    }
}

/// Launches a function on a stream.
///
/// # Safety
/// The function and the stream are live and of the current context. There is a pointer for each parameter, to a value of its size or
/// wider, which the driver copies before it returns.
///
/// # Errors
/// The driver's.
pub unsafe fn launch_kernel(
    stream: sys::CUstream,
    function: sys::CUfunction,
    geometry: Geometry,
    args: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let (mut attributes, count) = attributes(geometry);
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (geometry.grid, geometry.block);
    let config = sys::CUlaunchConfig {
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: geometry.shared_bytes,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: count,
    };
    // SAFETY: the caller promises what the driver asks for; it copies the configuration and its attributes before it returns.
    unsafe { sys::cuLaunchKernelEx(&config, function, args.as_mut_ptr(), std::ptr::null_mut()) }.result()
}

/// Most blocks of a cluster that every card with clusters takes.
const PORTABLE_CLUSTER: u32 = 8;

/// Allows a function what launches of this geometry need beyond what every kernel has: more shared memory, larger clusters.
///
/// # Safety
/// The function is loaded.
///
/// # Errors
/// The driver's.
pub unsafe fn allow(function: sys::CUfunction, geometry: Geometry) -> Result<(), DriverError> {
    use sys::CUfunction_attribute as Attribute;
    // SAFETY: the caller promises that the function is loaded.
    let set = |which, value| unsafe { result::function::set_function_attribute(function, which, value) };
    // Needed from 48 KB on, which the kernel's own shared variables count towards.
    if geometry.shared_bytes > 0 {
        set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, geometry.shared_bytes as i32)?;
    }
    if geometry.cluster > PORTABLE_CLUSTER {
        set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
    }
    Ok(())
}

/// Attributes of a launch beyond its sizes, and how many there are.
pub(super) fn attributes(geometry: Geometry) -> ([sys::CUlaunchAttribute; ATTRIBUTES_MAX], u32) {
    use sys::CUlaunchAttributeID as Id;
    let none = || sys::CUlaunchAttribute {
        id: Id::CU_LAUNCH_ATTRIBUTE_IGNORE,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { pad: [0; 64] },
    };
    let mut all = [none(), none(), none()];
    let mut count = 0;
    let mut attribute = |id: Id, set: &dyn Fn(&mut sys::CUlaunchAttributeValue)| {
        all[count].id = id;
        set(&mut all[count].value);
        count += 1;
    };
    if geometry.cooperative {
        attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &|value| value.cooperative = 1);
    }
    if geometry.cluster > 1 {
        let dim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: geometry.cluster, y: 1, z: 1 };
        attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &|value| value.clusterDim = dim);
    }
    if geometry.overlaps {
        let overlap = Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute(overlap, &|value| value.programmaticStreamSerializationAllowed = 1);
    }
    (all, count as u32)
}

/// The error of a driver that refused.
pub(super) fn failed(doing: &str, error: DriverError) -> Error {
    let code = error.error_name().map(|name| name.to_string_lossy().into_owned());
    Error::Driver { doing: doing.to_owned(), code: code.unwrap_or_else(|_| format!("{:?}", error.0)) }
}
