//! Code on a GPU. Loaded through the plain driver call and not through cudarc's safe module, because that one keeps
//! the driver's own message about its PTX compiler.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result, sys};

use super::driver::{failed, words};
use crate::{Error, Resources};

/// Room for what the driver's PTX compiler says.
const LOG_BYTES: usize = 8192;

/// Code that can be loaded.
pub(crate) enum Image<'a> {
    /// Machine code for this GPU.
    Machine(&'a [u8]),
    /// PTX, which the driver compiles.
    Ptx(&'a str),
}

/// Loaded code; unloaded when dropped.
#[derive(Debug)]
pub(crate) struct GpuModule {
    context: Arc<CudaContext>,
    handle: sys::CUmodule,
}

// SAFETY: a module belongs to its context and to no thread; the driver locks the context itself, and every call first
// makes the context current on its thread.
unsafe impl Send for GpuModule {}
// SAFETY: as above.
unsafe impl Sync for GpuModule {}

impl GpuModule {
    pub(super) fn load(context: &Arc<CudaContext>, file: &str, image: &Image<'_>) -> Result<GpuModule, Error> {
        context.bind_to_thread().map_err(|error| failed("open the GPU", error))?;
        match load_image(image) {
            Ok(handle) => Ok(GpuModule { context: Arc::clone(context), handle }),
            Err((error, log)) => Err(refusal(file, image, error, log)),
        }
    }

    /// Returns whether it was loaded into this context.
    pub(super) fn is_in(&self, context: &Arc<CudaContext>) -> bool {
        self.context == *context
    }

    /// The kernel's handle, valid as long as the module.
    pub(super) fn function(&self, kernel: &str) -> Result<sys::CUfunction, Error> {
        let failed = |error| failed(&format!("find the kernel {kernel}"), error);
        self.context.bind_to_thread().map_err(failed)?;
        let name = CString::new(kernel).map_err(|_| failed(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND)))?;
        // SAFETY: the module is loaded.
        unsafe { result::module::get_function(self.handle, name) }.map_err(failed)
    }

    pub(crate) fn resources(&self, kernel: &str) -> Result<Resources, Error> {
        use sys::CUfunction_attribute as Attribute;
        let function = self.function(kernel)?;
        let attribute = |which| {
            // SAFETY: the function belongs to this module, which is loaded.
            let value = unsafe { result::function::get_function_attribute(function, which) };
            value.map(i32::unsigned_abs).map_err(|error| failed(&format!("describe the kernel {kernel}"), error))
        };
        Ok(Resources {
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }
}

impl Drop for GpuModule {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: loaded once, unloaded once; launches are waited for, so no kernel of it runs any more.
        self.context.record_err(unsafe { result::module::unload(self.handle) });
    }
}

/// Loads an image into the current context, or gives the error and what the PTX compiler said.
fn load_image(image: &Image<'_>) -> Result<sys::CUmodule, (DriverError, String)> {
    let mut handle = std::ptr::null_mut();
    match image {
        Image::Machine(code) => {
            // SAFETY: the image is an ELF file, whose head says how long it is; without options there are no arrays.
            let status = unsafe {
                sys::cuModuleLoadDataEx(
                    &mut handle,
                    code.as_ptr().cast(),
                    0,
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                )
            };
            status.result().map_err(|error| (error, String::new()))?;
        }
        Image::Ptx(text) => {
            let nul = |_| (DriverError(sys::CUresult::CUDA_ERROR_INVALID_PTX), "the text holds a NUL".to_string());
            let text = CString::new(&*ptx::for_driver(text)).map_err(nul)?;
            let mut log = vec![0u8; LOG_BYTES];
            let mut options = [
                sys::CUjit_option::CU_JIT_GENERATE_LINE_INFO,
                sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            ];
            // The driver takes integers where it takes pointers.
            let number = std::ptr::without_provenance_mut::<c_void>;
            let mut values = [number(1), log.as_mut_ptr().cast(), number(LOG_BYTES)];
            // SAFETY: the text ends in NUL; the two arrays are of one length; the log has the size that is passed.
            let status = unsafe {
                sys::cuModuleLoadDataEx(
                    &mut handle,
                    text.as_ptr().cast(),
                    options.len() as u32,
                    options.as_mut_ptr(),
                    values.as_mut_ptr(),
                )
            };
            status.result().map_err(|error| {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                (error, String::from_utf8_lossy(&log[..end]).trim().to_string())
            })?;
        }
    }
    Ok(handle)
}

fn refusal(file: &str, image: &Image<'_>, error: DriverError, log: String) -> Error {
    let file = file.to_string();
    if let (sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, Image::Ptx(text)) = (error.0, image) {
        let version = text.lines().find_map(|line| line.trim().strip_prefix(".version"));
        let cuda = super::driver().map(|driver| driver.cuda).unwrap_or_default();
        return Error::PtxTooNew { file, ptx_version: version.unwrap_or("?").trim().to_string(), cuda };
    }
    let (code, text) = words(error);
    Error::ModuleLoad { file, code, text, log }
}
