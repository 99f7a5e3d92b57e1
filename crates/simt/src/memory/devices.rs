//! Devices, whose memories share one space of addresses as CUDA's unified addressing has it: the buffer that holds an address says
//! whose memory it is. A device reaches its own memory, and that of the peers which it has mapped.

use super::{Memory, MemoryError};

/// Most devices of a simulation.
pub const DEVICES_MAX: u32 = 32;

/// Devices with memory, and the peers that each has mapped.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// Devices that have memory: one more than the highest number.
    count: u32,
    /// By device: the devices whose memory it has mapped, as bits.
    mapped: Vec<u32>,
}

impl Devices {
    pub(super) fn use_one(&mut self, device: u32) {
        self.count = self.count.max(device + 1);
    }
}

impl Memory {
    /// Devices that have memory here, counted from device 0.
    pub fn devices(&self) -> u32 {
        self.devices.count
    }

    /// The device in whose memory this address lies.
    pub fn device_of(&self, address: u64) -> Option<u32> {
        self.buffer(super::without_window(address)).map(|(buffer, _)| buffer.device)
    }

    /// Lets kernels of `device` touch the memory of `peer` from the next launch on (`cudaDeviceEnablePeerAccess`). It says nothing of
    /// the other way round.
    ///
    /// # Errors
    /// A device beyond [`DEVICES_MAX`].
    pub fn map_peer(&mut self, device: u32, peer: u32) -> Result<(), MemoryError> {
        if let Some(device) = [device, peer].into_iter().find(|&device| device >= DEVICES_MAX) {
            return Err(MemoryError::NoSuchDevice { device });
        }
        let mapped = &mut self.devices.mapped;
        mapped.resize(mapped.len().max(device as usize + 1), 0);
        mapped[device as usize] |= 1 << peer;
        Ok(())
    }

    /// Lets each of the first `devices` devices touch the memory of every other.
    ///
    /// # Errors
    /// More devices than [`DEVICES_MAX`].
    pub fn map_all_peers(&mut self, devices: u32) -> Result<(), MemoryError> {
        let pairs = (0..devices).flat_map(|device| (0..devices).map(move |peer| (device, peer)));
        pairs.filter(|(device, peer)| device != peer).try_for_each(|(device, peer)| self.map_peer(device, peer))
    }

    /// Ends what [`Memory::map_peer`] allows.
    pub fn unmap_peer(&mut self, device: u32, peer: u32) {
        if let Some(mapped) = self.devices.mapped.get_mut(device as usize) {
            *mapped &= !1u32.checked_shl(peer).unwrap_or(0);
        }
    }

    /// The devices whose memory kernels of `device` may touch, as bits; its own is among them.
    pub(crate) fn reach(&self, device: u32) -> u32 {
        self.devices.mapped.get(device as usize).copied().unwrap_or(0) | 1 << device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_its_device_and_mappings_go_one_way() {
        let mut memory = Memory::new();
        let [a, b] = [0, 2].map(|device| memory.alloc_on(device, "x", 16, 4).unwrap());
        assert_eq!((memory.devices(), memory.device_of(a + 12), memory.device_of(b)), (3, Some(0), Some(2)));
        assert_eq!(memory.device_of(0), None);
        memory.map_peer(0, 2).unwrap();
        assert_eq!([0, 1, 2].map(|device| memory.reach(device)), [0b101, 0b010, 0b100]);
        memory.unmap_peer(0, 2);
        memory.unmap_peer(7, 99);
        assert_eq!(memory.reach(0), 1);
        memory.map_all_peers(3).unwrap();
        assert_eq!([0, 1, 2].map(|device| memory.reach(device)), [0b111; 3]);
        for error in [memory.map_peer(0, 32).unwrap_err(), memory.alloc_on(32, "x", 4, 4).unwrap_err()] {
            assert_eq!(error, MemoryError::NoSuchDevice { device: 32 });
        }
    }
}
