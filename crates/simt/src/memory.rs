//! Global memory: named buffers at addresses far apart, shared by the blocks of a launch.

/// Device memory as kernels see it.
#[derive(Debug, Default)]
pub struct Memory {}

/// Why a memory operation of the host failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The host has no room for the buffer.
    #[error("{name}: no room for {bytes} bytes")]
    OutOfMemory {
        /// Name of the buffer.
        name: String,
        /// Size asked for.
        bytes: u64,
    },
    /// An address that no buffer holds, or a length past its end.
    #[error("no buffer holds {bytes} bytes at {address:#x}")]
    NoSuchBuffer {
        /// Device address.
        address: u64,
        /// Length of the operation.
        bytes: u64,
    },
}

impl Memory {
    /// No buffers.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A new buffer of `bytes` bytes, aligned to 4096, contents undefined until written (reads are found by
    /// `uninitialised-read`). `element_bytes` is what reports count in: `input[17]`. Returns its device address.
    pub fn alloc(&mut self, name: &str, bytes: u64, element_bytes: u32) -> Result<u64, MemoryError> {
        let _ = (name, bytes, element_bytes);
        unimplemented!()
    }

    /// Gives the buffer that starts at `address` back.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let _ = address;
        unimplemented!()
    }

    /// Host to device.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let _ = (address, bytes);
        unimplemented!()
    }

    /// Device to host.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let _ = (address, bytes);
        unimplemented!()
    }
}
