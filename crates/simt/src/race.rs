//! Happens-before for the shared memory of one block.

/// One warp's access to shared memory, as the detector sees it.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Warp within the block.
    pub warp: u32,
    /// Active lanes.
    pub mask: u32,
    /// Index of the instruction in the kernel's code: the site.
    pub pc: u32,
    /// Bytes a lane.
    pub bytes: u32,
    /// Byte offset in shared memory of each lane.
    pub addresses: &'a [u32; 32],
}

/// What raced with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hazard {
    /// Read after write.
    ReadAfterWrite,
    /// Write after read.
    WriteAfterRead,
    /// Write after write.
    WriteAfterWrite,
}

/// Two unordered accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Race {
    /// Which kind.
    pub hazard: Hazard,
    /// First byte of the word they share.
    pub address: u32,
    /// The earlier access: warp, lanes, instruction.
    pub earlier: (u32, u32, u32),
    /// The later access: warp, lanes, instruction.
    pub later: (u32, u32, u32),
}

/// Who touched which word last, and since which barrier.
#[derive(Debug)]
pub struct Shadow {}

impl Shadow {
    /// For `bytes` of shared memory and `warps` warps. With `lanes_apart`, lanes of one warp are ordered by barriers
    /// only; without it (lockstep), one instruction of a warp is ordered before its next.
    pub fn new(bytes: u32, warps: u32, lanes_apart: bool) -> Shadow {
        let _ = (bytes, warps, lanes_apart);
        unimplemented!()
    }

    /// Forgets everything: a new block starts.
    pub fn reset(&mut self) {
        unimplemented!()
    }

    /// All threads of the block passed a barrier.
    pub fn block_barrier(&mut self) {
        unimplemented!()
    }

    /// The lanes `mask` of `warp` passed `bar.warp.sync`.
    pub fn warp_barrier(&mut self, warp: u32, mask: u32) {
        let _ = (warp, mask);
        unimplemented!()
    }

    /// A read; races go to `found`.
    pub fn read(&mut self, access: Access<'_>, found: &mut Vec<Race>) {
        let _ = (access, found);
        unimplemented!()
    }

    /// A write of `values` (low bytes of each lane's value); two lanes that write the same bytes with the same values in one
    /// instruction do not race.
    pub fn write(&mut self, access: Access<'_>, values: &[u64; 32], found: &mut Vec<Race>) {
        let _ = (access, values, found);
        unimplemented!()
    }

    /// An atomic: races with plain accesses, never with another atomic.
    pub fn atomic(&mut self, access: Access<'_>, found: &mut Vec<Race>) {
        let _ = (access, found);
        unimplemented!()
    }
}
