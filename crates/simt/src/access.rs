//! How the memory pipeline splits one warp's access: shared-memory wavefronts and bank conflicts, global sectors.

/// What one shared-memory access of a warp costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passes {
    /// Wavefronts: passes through the 32 banks.
    pub wavefronts: u32,
    /// Wavefronts beyond those that any access of this width needs.
    pub conflicts: u32,
}

/// A load of `bytes` (1 to 16) a lane. Lanes outside `mask` are ignored; addresses are byte offsets in shared memory.
pub fn shared_load(bytes: u32, mask: u32, addresses: &[u32; 32]) -> Passes {
    let _ = (bytes, mask, addresses);
    unimplemented!()
}

/// A store of `bytes` (1 to 16) a lane.
pub fn shared_store(bytes: u32, mask: u32, addresses: &[u32; 32]) -> Passes {
    let _ = (bytes, mask, addresses);
    unimplemented!()
}

/// An atomic of `bytes` (4 or 8) a lane.
pub fn shared_atomic(bytes: u32, mask: u32, addresses: &[u32; 32]) -> Passes {
    let _ = (bytes, mask, addresses);
    unimplemented!()
}

/// Sectors (32 bytes) that a load or store of `bytes` (1 to 16) a lane touches.
pub fn global_sectors(bytes: u32, mask: u32, addresses: &[u64; 32]) -> u32 {
    let _ = (bytes, mask, addresses);
    unimplemented!()
}

/// Sectors that an `atom` or `red` of `bytes` a lane counts.
pub fn global_atomic_sectors(bytes: u32, mask: u32, addresses: &[u64; 32]) -> u32 {
    let _ = (bytes, mask, addresses);
    unimplemented!()
}
