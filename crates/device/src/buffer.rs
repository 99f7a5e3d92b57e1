//! Arrays on a device.

use std::marker::PhantomData;

use crate::Scalar;
use crate::gpu::GpuBuffer;
use crate::sim::SimBuffer;

/// An array on the device. Freed when dropped.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) name: String,
    pub(crate) len: usize,
    pub(crate) storage: Storage,
    pub(crate) _element: PhantomData<T>,
}

/// Memory of an array.
#[derive(Debug)]
pub(crate) enum Storage {
    Gpu(GpuBuffer),
    Sim(SimBuffer),
}

/// Anything with an address on the device. Sealed: a launch trusts it, so it is memory that this crate allocated.
pub trait DeviceAddress: sealed::Sealed {
    /// Its device address.
    fn address(&self) -> u64;
}

pub(crate) mod sealed {
    /// Keeps other crates from naming an address of their own.
    pub trait Sealed {}
}

impl<T: Scalar> sealed::Sealed for Buffer<T> {}

impl<T: Scalar> DeviceAddress for Buffer<T> {
    fn address(&self) -> u64 {
        match &self.storage {
            Storage::Gpu(buffer) => buffer.address(),
            Storage::Sim(buffer) => buffer.address(),
        }
    }
}

impl<T: Scalar> Buffer<T> {
    /// Name in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        bytes_for::<T>(self.len)
    }
}

/// Bytes that `len` values take. A length that overflows becomes the largest number, which no memory has.
pub(crate) fn bytes_for<T: Scalar>(len: usize) -> u64 {
    (len as u64).saturating_mul(T::BYTES as u64)
}
