//! Inventory of this machine for `cargo course doctor`, without opening a device.

use std::path::Path;

use crate::nvrtc::Nvrtc;
use crate::{Description, Error, gpu};

/// An NVIDIA driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// Its release, `580.159.04`, where the kernel module says it.
    pub version: Option<String>,
    /// CUDA version that it supports, `13.0`.
    pub cuda: String,
}

/// Devices and libraries that are here, and the reason for each that is not.
#[derive(Debug)]
pub struct Probe {
    /// The driver; [`Error::NoDriver`] or [`Error::DriverTooOld`].
    pub driver: Result<Driver, Error>,
    /// The GPUs that it shows, in its order, at least one; the driver's error, or [`Error::NoGpu`].
    pub devices: Result<Vec<Description>, Error>,
    /// NVRTC; [`Error::NoNvrtc`] with every place that was looked at.
    pub nvrtc: Result<Nvrtc, Error>,
}

/// Looks around; `root` is the source tree, where `cargo course setup` installs NVRTC.
pub fn probe(root: &Path) -> Probe {
    let devices = gpu::driver().and_then(|driver| gpu::describe_all(&driver)).map(|(first, mut all)| {
        all.insert(0, first);
        all
    });
    Probe { driver: gpu::driver(), devices, nvrtc: Nvrtc::find(root) }
}
