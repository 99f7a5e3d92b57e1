//! The driver itself: is it here, how old is it, what does it show, and what do its errors mean.

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};

use crate::probe::Driver;
use crate::{Description, Error};

/// The oldest CUDA version whose driver is used, as `cuDriverGetVersion` counts: 12.0. It loads the machine code of any
/// NVRTC 12; and cudarc panics on a function that a driver lacks, so older ones must not get further than this.
const CUDA_MIN: i32 = 12_000;

/// The driver, if its library is here and new enough. Asks nothing of any GPU.
pub(crate) fn driver() -> Result<Driver, Error> {
    // SAFETY: loads and unloads the driver's library by its own name.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    let mut version = 0;
    // SAFETY: the pointer is to a live integer; the function needs no initialisation and every driver has it.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    status.result().map_err(|error| failed("give its version", error))?;
    let cuda = format!("{}.{}", version / 1000, version % 1000 / 10);
    if version < CUDA_MIN {
        return Err(Error::DriverTooOld { have: cuda, need: "12.0" });
    }
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    Ok(Driver { version: release_in(&text), cuda })
}

/// Describes the GPUs that the driver shows, the first and the others, without opening any.
pub(crate) fn describe_all(driver: &Driver) -> Result<(Description, Vec<Description>), Error> {
    let no_gpu = |error| {
        let (code, text) = words(error);
        Error::NoGpu { code, text }
    };
    result::init().map_err(no_gpu)?;
    let count = result::device::get_count().map_err(no_gpu)?;
    if count < 1 {
        return Err(no_gpu(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)));
    }
    let describe = |ordinal| describe(ordinal, driver).map_err(|error| failed("describe the GPU", error));
    Ok((describe(0)?, (1..count).map(describe).collect::<Result<_, Error>>()?))
}

fn describe(ordinal: i32, driver: &Driver) -> Result<Description, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let device = result::device::get(ordinal)?;
    // SAFETY: the driver just gave the device.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) };
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let l2_bytes = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
    // SAFETY: the driver just gave the device.
    let memory_bytes = unsafe { result::device::total_mem(device) }?;
    Ok(Description {
        kind: "gpu",
        name: result::device::get_name(device)?,
        arch: format!("sm_{major}{minor}"),
        driver: Some(driver.version.clone().unwrap_or_else(|| format!("CUDA {}", driver.cuda))),
        cuda: Some(driver.cuda.clone()),
        multiprocessors: u32::try_from(multiprocessors).ok(),
        l2_bytes: u64::try_from(l2_bytes).ok(),
        memory_bytes: Some(memory_bytes as u64),
        why: "the driver shows it".to_string(),
    })
}

/// The release in the kernel module's text: the first word that is numbers and dots, `580.159.04`.
fn release_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_release = |word: &&str| {
        word.split('.').count() >= 2
            && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    line.split_whitespace().find(is_release).map(str::to_string)
}

/// Address of an array.
pub(super) fn address(slice: &CudaSlice<u8>, stream: &CudaStream) -> u64 {
    let (address, _nothing_to_record) = slice.device_ptr(stream);
    address
}

/// Name and text of a CUDA error: `CUDA_ERROR_ILLEGAL_ADDRESS`, `an illegal memory access was encountered`.
pub(super) fn words(error: DriverError) -> (String, String) {
    let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
    let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
    (name.unwrap_or_else(|_| format!("{:?}", error.0)), text.unwrap_or_else(|_| "no words for it".to_string()))
}

/// The error for anything but a launch: `doing` is what was tried.
pub(super) fn failed(doing: &str, error: DriverError) -> Error {
    let (code, text) = words(error);
    Error::Driver { doing: doing.to_string(), code, text }
}

#[cfg(test)]
mod tests {
    use super::release_in;

    #[test]
    fn the_release_is_found_in_both_kinds_of_kernel_module() {
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder)\n\
                    GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
        assert_eq!(release_in(open).as_deref(), Some("580.159.04"));
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n";
        assert_eq!(release_in(closed).as_deref(), Some("535.183.01"));
        assert_eq!(release_in("GCC version:  gcc version 12.2.0\n"), None);
        assert_eq!(release_in(""), None);
    }
}
