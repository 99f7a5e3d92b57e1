//! State shared by all blocks of a launch, and the facts about launches that run beside it.

use crate::code::{Code, Function};
use crate::launch::{Check, Launch, Options};
use crate::memory::{Buffer, Memory};
use crate::race::global::Pages;

/// State shared by all blocks of a launch.
pub(crate) struct Context<'k> {
    pub(crate) code: &'k Code,
    pub(crate) memory: &'k Memory,
    pub(crate) launch: &'k Launch,
    pub(crate) options: &'k Options,
    /// The parameter block.
    pub(crate) params: &'k [u8],
    /// Addresses of `code.variables`.
    pub(crate) variables: &'k [u64],
    /// Address of the grid-wide barrier, 0 where the launch is not cooperative.
    pub(crate) workspace: u64,
    /// Devices whose memory the launch may touch, as bits.
    pub(crate) reach: u32,
    pub(crate) threads_per_block: u32,
    pub(crate) warps_per_block: u32,
    /// Offset of dynamic shared memory, and size of all shared memory of a block, in bytes.
    pub(crate) dynamic_offset: u32,
    pub(crate) shared_bytes: u32,
    /// Blocks of a cluster in x, y, z, and whether the launch has clusters at all.
    pub(crate) cluster: [u32; 3],
    pub(crate) explicit_cluster: bool,
    /// Note the ranges of global memory that each block reads and writes.
    pub(crate) side_by_side: bool,
    /// Pages that the check for races in global memory watches, and whether there are any.
    pub(crate) watch: Watch<'k>,
    pub(crate) watches_order: bool,
    /// Lanes of this launch, or of one that runs with it, may spin until memory changes.
    pub(crate) any_grid_spins: bool,
    /// The launches that run together, in the order of their stream, and which of them this one is. Where none overlap it is alone.
    pub(crate) grids: &'k [Grid<'k>],
    pub(crate) grid: usize,
}

/// Facts about a launch that its threads need when they meet those of another one.
#[derive(Clone, Copy)]
pub(crate) struct Grid<'k> {
    pub(crate) code: &'k Code,
    /// Device that runs it.
    pub(crate) device: u32,
    /// Blocks in x, y, z.
    pub(crate) blocks: [u32; 3],
    /// Blocks of a cluster in x, y, z.
    pub(crate) cluster: [u32; 3],
    /// The race checks number the units of all launches that run together: that of its first.
    pub(crate) first_unit: u32,
}

/// Pages that the check for races in global memory watches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Watch<'k> {
    Nothing,
    /// Pages from their first write on.
    Written,
    /// Those, and some pages from their first read on.
    WrittenAnd(&'k Pages),
    /// Some pages only; accesses of one unit, or `across` units.
    Pages {
        pages: &'k Pages,
        across: bool,
    },
}

impl<'k> Context<'k> {
    /// The launch itself, as others see it.
    pub(crate) fn own_grid(&self) -> &'k Grid<'k> {
        &self.grids[self.grid]
    }

    /// The function of this index, if it begins with registers that a use may find unset and the run looks for such uses.
    pub(crate) fn begins_unset(&self, index: u32) -> Option<&'k Function> {
        let function = self.code.functions.get(index as usize).filter(|function| !function.unset.is_empty());
        function.filter(|_| self.options.checks.has(Check::UninitialisedRead))
    }

    /// The buffer that holds all of these bytes, and where there, if the launch may touch it.
    pub(crate) fn holding(&self, address: u64, bytes: u64) -> Option<(&'k Buffer, u64)> {
        self.memory.holding(address, bytes).filter(|(buffer, _)| self.reaches(buffer))
    }

    /// Returns whether the launch may touch a buffer: it lies in the memory of its device, or of a peer that this has mapped.
    #[inline(always)]
    pub(crate) fn reaches(&self, buffer: &Buffer) -> bool {
        self.reach >> buffer.device & 1 != 0
    }

    /// Returns whether a buffer lies in another device's memory.
    #[inline(always)]
    pub(crate) fn is_peers(&self, buffer: &Buffer) -> bool {
        buffer.device != self.launch.device
    }

    /// Returns whether the launch may touch memory of other devices.
    #[inline(always)]
    pub(crate) fn has_peers(&self) -> bool {
        !self.reach.is_power_of_two()
    }

    /// The launch that a unit of the race checks belongs to, and its place among those that run together.
    pub(crate) fn grid_of(&self, unit: u32) -> (usize, &'k Grid<'k>) {
        let behind = self.grids.partition_point(|grid| grid.first_unit <= unit);
        let at = behind.saturating_sub(1);
        (at, &self.grids[at])
    }
}

impl Grid<'_> {
    /// The number of a block in the order of the grid.
    pub(crate) fn linear(&self, block: [u32; 3]) -> u64 {
        let [x, y, z] = block.map(u64::from);
        let [wide, high, _] = self.blocks.map(u64::from);
        (z * high + y) * wide + x
    }

    /// The index of the block of this rank in the unit of this number of the launch, from 0.
    pub(crate) fn block_of(&self, unit: u32, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.cluster;
        let [wide, high, _] = self.blocks;
        let (wide, high) = (wide / x, high / y);
        let of = [unit % wide, unit / wide % high, unit / wide / high];
        let within = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|axis| of[axis] * self.cluster[axis] + within[axis])
    }
}
