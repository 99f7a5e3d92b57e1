//! Shared memory, and what the blocks of a cluster share besides: each other's memory, the clock of the race check, flags.

use super::alu::{store32, store64};
use super::block::Environment;
use super::carried::Carried;
use super::mbarrier::Sides;
use super::warp::Warp;
use crate::code::{Inst, Op};
use crate::race::{Arrivals, Clocks, Places, Shadow, WARPS_PER_BLOCK};

/// The bits of a shared address that are an offset in one block's memory. Above them stands which block of the cluster is
/// meant: 0 for the one that asks, else its rank plus 1.
const OFFSET_BITS: u32 = crate::memory::BLOCK_WINDOW_BYTES.trailing_zeros();

/// The shared memory of one block.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) words: Vec<u32>,
    /// Bit i of entry w: byte i of word w was written. Empty when no check uses it.
    pub(super) written: Vec<u8>,
    pub(super) shadow: Option<Shadow>,
    /// Undefined values that were copied there.
    pub(super) carried: Carried,
    /// Barrier objects, as the race check sees them.
    pub(super) mbarriers: Sides,
}

impl Shared {
    /// The `bytes` (1, 2, 4, 8) at a naturally aligned offset, zero-extended.
    #[inline(always)]
    pub(super) fn load(&self, at: u32, bytes: u32) -> u64 {
        let word = self.words[(at / 4) as usize];
        match bytes {
            4 => u64::from(word),
            8 => u64::from(word) | u64::from(self.words[(at / 4) as usize + 1]) << 32,
            _ => u64::from(word >> (8 * (at % 4)) & ((1 << (8 * bytes)) - 1)),
        }
    }

    /// Stores the low `bytes` of `value` there.
    #[inline(always)]
    pub(super) fn store(&mut self, at: u32, bytes: u32, value: u64) {
        let index = (at / 4) as usize;
        match bytes {
            4 => self.words[index] = value as u32,
            8 => {
                self.words[index] = value as u32;
                self.words[index + 1] = (value >> 32) as u32;
            }
            _ => {
                let shift = 8 * (at % 4);
                let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                self.words[index] = (self.words[index] & !ones) | (((value as u32) << shift) & ones);
            }
        }
        if !self.written.is_empty() {
            match bytes {
                4 => self.written[index] = 0xf,
                8 => self.written[index..index + 2].fill(0xf),
                _ => self.written[index] |= (((1u32 << bytes) - 1) << (at % 4)) as u8,
            }
        }
    }

    /// Marks `bytes` (1, 2, 4, 8) as unwritten again, after a store of an uninitialised value.
    pub(super) fn unwrite(&mut self, at: u32, bytes: u32) {
        for byte in at..at + bytes {
            if let Some(word) = self.written.get_mut((byte / 4) as usize) {
                *word &= !(1 << (byte % 4));
            }
        }
    }

    /// From here on the words of the lanes `mask` are written, that of lane 0 being `first`.
    #[inline(always)]
    pub(super) fn mark_written(&mut self, first: usize, mask: u32) {
        let Some(Ok(row)) = self.written.get_mut(first..first + 32).map(<&mut [u8; 32]>::try_from) else { return };
        for lane in 0..32 {
            row[lane] |= if mask & (1 << lane) != 0 { 0xf } else { 0 };
        }
    }

    /// Returns whether any of the `bytes` (a power of two) there were written.
    #[inline(always)]
    pub(super) fn is_touched(&self, at: u32, bytes: u32) -> bool {
        let index = (at / 4) as usize;
        match bytes {
            1 | 2 => self.written[index] & (((1u32 << bytes) - 1) << (at % 4)) as u8 != 0,
            _ => self.written[index..index + (bytes / 4) as usize].iter().any(|&mask| mask != 0),
        }
    }

    /// Returns whether all of the `bytes` (a power of two) there were written.
    #[inline(always)]
    pub(super) fn is_written(&self, at: u32, bytes: u32) -> bool {
        let index = (at / 4) as usize;
        match bytes {
            1 | 2 => {
                let mask = (((1u32 << bytes) - 1) << (at % 4)) as u8;
                self.written[index] & mask == mask
            }
            _ => self.written[index..index + (bytes / 4) as usize].iter().all(|&mask| mask == 0xf),
        }
    }
}

/// State shared by the blocks of a cluster. The block that runs has it; without clusters it stays with its one block.
#[derive(Debug, Default)]
pub(super) struct Team {
    /// The time of the race checks, if any is on.
    pub(super) clocks: Option<Clocks>,
    /// Flags in shared memory.
    pub(super) places: Places,
    /// Shared memory by rank; that of the block that runs is with the block. Empty without clusters.
    pub(super) peers: Vec<Option<Shared>>,
    /// Indices of the blocks, by rank.
    pub(super) blocks: Vec<[u32; 3]>,
    /// Ranks of the blocks that have ended.
    pub(super) gone: u32,
    /// Clocks handed over to the current opening of the cluster barrier, and to the last one.
    pub(super) handed: Arrivals,
    pub(super) met: Arrivals,
}

impl Team {
    /// Blocks of the cluster, 1 without one.
    pub(super) fn size(&self) -> u32 {
        self.blocks.len() as u32
    }
}

/// The warp's number in its unit, as the race checks count.
#[inline(always)]
pub(super) fn unit_warp(rank: u32, warp: u32) -> u32 {
    rank * WARPS_PER_BLOCK + warp
}

/// Splits an address in the shared window into the block of the cluster (`None`: the one that executes) and the offset there.
#[inline(always)]
pub(super) fn block_and_offset(address: u64) -> (Option<u64>, u64) {
    ((address >> OFFSET_BITS).checked_sub(1), address & ((1 << OFFSET_BITS) - 1))
}

/// The largest rank that an address of 32 bits can name; no cluster has as many blocks.
const RANK_MAX: u32 = (1 << (32 - OFFSET_BITS)) - 2;

/// The address of the same place in the block of that rank; of a rank that no cluster has, one that no block has.
#[inline(always)]
pub(super) fn mapped(address: u64, rank: u32) -> u64 {
    block_and_offset(address).1 | (u64::from(rank.min(RANK_MAX)) + 1) << OFFSET_BITS
}

/// `mapa`, `getctarank`. A generic address keeps its window.
#[inline(never)]
pub(super) fn address(env: &Environment, warp: &mut Warp, inst: &Inst, active: u32) {
    let (wide, maps) = match inst.op {
        Op::MapShared { wide } => (wide, true),
        Op::RankOf { wide } => (wide, false),
        _ => return,
    };
    let address: [u64; 32] = match wide {
        true => warp.d[usize::from(inst.a)].0,
        false => warp.w[usize::from(inst.a)].0.map(u64::from),
    };
    let window = crate::memory::SHARED_BASE;
    let split = |address: u64| if address >= window { (window, address - window) } else { (0, address) };
    if !maps {
        let rank = |address: u64| block_and_offset(split(address).1).0.map_or(env.rank, |rank| rank as u32);
        return store32(warp, inst.d, &address.map(rank), active);
    }
    let ranks = warp.w[usize::from(inst.b)].0;
    let mapped: [u64; 32] = std::array::from_fn(|lane| {
        let (base, address) = split(address[lane]);
        base + mapped(address, ranks[lane])
    });
    if wide {
        store64(warp, inst.d, &mapped, active);
    } else {
        store32(warp, inst.d, &mapped.map(|address| address as u32), active);
    }
}
