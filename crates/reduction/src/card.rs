//! Facts about a card that plans may use: queried on a GPU, named on the simulator (`--card l4`).

use std::borrow::Cow;

use crate::geometry::{BLOCK_MAX, Geometry};
use crate::setters::setters;

/// A card, as far as plans of launches depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Card {
    /// `NVIDIA L4`
    pub name: Cow<'static, str>,
    /// 89 for 8.9.
    pub compute_capability: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Threads that a multiprocessor holds at a time.
    pub threads_per_multiprocessor: u32,
    /// Blocks that it holds at a time, however small they are.
    pub blocks_per_multiprocessor: u32,
    /// Its registers of 32 bits.
    pub registers_per_multiprocessor: u32,
    /// Its shared memory.
    pub shared_bytes_per_multiprocessor: u32,
    /// Shared memory that a block may have, where the launch opts in to more than 48 KiB.
    pub shared_bytes_per_block: u32,
    /// L2 cache.
    pub l2_bytes: u64,
    /// Clusters of 2, 4, 8 and 16 blocks that are resident at once where a multiprocessor holds one block. 0 where none is, because
    /// the card is older than clusters or has none of 16, or a part of a card (MIG, MPS) has too few multiprocessors that lie
    /// together.
    pub clusters: [u32; 4],
}

/// Resources of a multiprocessor that one kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Threads a block.
    pub block: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
}

setters! {
    Card:
    with_multiprocessors(multiprocessors: u32) multiprocessors = multiprocessors,
        "With so many multiprocessors, such as a part of a card has.";
    with_clusters(clusters: [u32; 4]) clusters = clusters, "With room for so many clusters.";
}

impl Footprint {
    /// Threads of a block, registers of each, and the block's shared memory.
    pub fn new(block: u32, registers: u32, shared_bytes: u32) -> Footprint {
        Footprint { block, registers, shared_bytes }
    }
}

/// Resource that a multiprocessor runs out of first as it takes blocks of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Its threads: it is full.
    Threads,
    /// Its registers.
    Registers,
    /// Its shared memory.
    SharedMemory,
    /// The number of blocks that it holds, however small they are.
    Blocks,
}

impl Limit {
    /// `threads`, `registers`, `shared` or `blocks`, as pages have it.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Threads => "threads",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared",
            Limit::Blocks => "blocks",
        }
    }
}

/// Blocks of a grid in x, on every card.
const GRID_MAX: u32 = (1 << 31) - 1;
/// Registers that a thread can have, on every card.
const REGISTERS_PER_THREAD_MAX: u32 = 255;
/// Registers are given to a warp by this many, from compute capability 8.0 to 12.1.
const REGISTERS_AT_ONCE: u32 = 256;
/// Shared memory of every block that the system keeps, likewise.
const SHARED_BYTES_RESERVED: u32 = 1024;

/// The limits of a compute capability: itself, threads and blocks of a multiprocessor, KiB of shared memory of a multiprocessor and
/// of a block.
///
/// CUDA C++ Programming Guide, appendix Compute Capabilities, table "Technical Specifications per Compute Capability".
type Limits = (u32, u32, u32, u32, u32);
const SM_80: Limits = (80, 2048, 32, 164, 163);
const SM_86: Limits = (86, 1536, 16, 100, 99);
const SM_89: Limits = (89, 1536, 24, 100, 99);
const SM_90: Limits = (90, 2048, 32, 228, 227);
const SM_100: Limits = (100, 2048, 32, 228, 227);
const SM_120: Limits = (120, 1536, 24, 100, 99);

/// A card with so many multiprocessors and so many MiB of L2.
const fn card(name: &'static str, limits: Limits, multiprocessors: u32, l2_mib: u64) -> Card {
    let (compute_capability, threads, blocks, shared_kib, of_block_kib) = limits;
    Card {
        name: Cow::Borrowed(name),
        compute_capability,
        multiprocessors,
        threads_per_multiprocessor: threads,
        blocks_per_multiprocessor: blocks,
        registers_per_multiprocessor: 64 << 10,
        shared_bytes_per_multiprocessor: shared_kib << 10,
        shared_bytes_per_block: of_block_kib << 10,
        l2_bytes: l2_mib << 20,
        clusters: clusters(compute_capability, multiprocessors),
    }
}

/// Clusters of a whole card. They lie within one group of multiprocessors, so that of larger ones some are left over: an H100
/// and an H200 say 66, 30, 15 and 7 (`cuOccupancyMaxActiveClusters`). Of other cards NVIDIA publishes no number, and the same share
/// is assumed. Clusters of 16 are not portable: cards without a data centre's memory have none.
const fn clusters(compute_capability: u32, multiprocessors: u32) -> [u32; 4] {
    let grouped = multiprocessors - multiprocessors.div_ceil(11);
    match compute_capability {
        0..90 => [0; 4],
        90..120 => [multiprocessors / 2, grouped / 4, grouped / 8, grouped / 16],
        _ => [multiprocessors / 2, grouped / 4, grouped / 8, 0],
    }
}

/// The card that the course's records come from, and that the simulator is taken for where no other is named, so that a run here
/// adds in the same order as a run there. Multiprocessors and L2 as its driver says.
pub static H200: Card = card("NVIDIA H200", SM_90, 132, 60);

/// Cards by the names of `--card`.
///
/// Multiprocessors and L2: NVIDIA A100 Tensor Core GPU Architecture, table 4; NVIDIA Ampere GA102 GPU Architecture, appendix A
/// (the A10 is a GA102 of 9,216 CUDA cores, 128 a multiprocessor, by its data sheet); NVIDIA Ada GPU Architecture, appendix A (the
/// L4 is an AD104 of 7,424 CUDA cores by its data sheet, and its driver says 48 MiB); NVIDIA H100 Tensor Core GPU Architecture, table 3;
/// NVIDIA Blackwell Tuning Guide and the driver of a B200; NVIDIA RTX Blackwell GPU Architecture, appendix A.
static NAMED: [(&str, Card); 7] = [
    ("a100", card("NVIDIA A100", SM_80, 108, 40)),
    ("a10", card("NVIDIA A10", SM_86, 72, 6)),
    ("l4", card("NVIDIA L4", SM_89, 58, 48)),
    ("rtx4090", card("NVIDIA GeForce RTX 4090", SM_89, 128, 72)),
    ("h100", card("NVIDIA H100 SXM", SM_90, 132, 50)),
    ("b200", card("NVIDIA B200", SM_100, 148, 126)),
    ("rtx5090", card("NVIDIA GeForce RTX 5090", SM_120, 170, 96)),
];

impl Card {
    /// Every card with a name, the simulator's own first.
    pub fn named() -> impl Iterator<Item = (&'static str, &'static Card)> {
        std::iter::once(("h200", &H200)).chain(NAMED.iter().map(|(name, card)| (*name, card)))
    }

    /// Clusters of so many blocks that are resident at once where a multiprocessor holds one block; 0 where none fits.
    pub fn clusters_of(&self, blocks: u32) -> u32 {
        match blocks {
            0..=1 => self.multiprocessors,
            2..=16 if blocks.is_power_of_two() => self.clusters[blocks.ilog2() as usize - 1],
            _ => 0,
        }
    }

    /// Blocks of so many threads that a multiprocessor holds at a time, where registers and shared memory are no limit.
    pub fn blocks_of(&self, threads: u32) -> u32 {
        (self.threads_per_multiprocessor / threads.max(1)).min(self.blocks_per_multiprocessor)
    }

    /// Blocks of a kernel that a multiprocessor holds at a time; 0 where not even one fits.
    pub fn resident_blocks(&self, kernel: Footprint) -> u32 {
        self.residency(kernel).map_or(0, |(blocks, _)| blocks)
    }

    /// Blocks of a kernel that a multiprocessor holds at a time, and what keeps it from one more; `None` where no launch may have
    /// such a block. If several run out together, threads come first.
    pub fn residency(&self, kernel: Footprint) -> Option<(u32, Limit)> {
        let Footprint { block, registers, shared_bytes } = kernel;
        if block > BLOCK_MAX || registers > REGISTERS_PER_THREAD_MAX || shared_bytes > self.shared_bytes_per_block {
            return None;
        }
        let warps = block.div_ceil(32).max(1);
        // A multiprocessor has four parts, each with its share of the registers and of the warps.
        let of_warp = (32 * registers.max(1)).next_multiple_of(REGISTERS_AT_ONCE);
        let by_registers = self.registers_per_multiprocessor / 4 / of_warp * 4 / warps;
        let by_shared = self.shared_bytes_per_multiprocessor / (shared_bytes + SHARED_BYTES_RESERVED);
        let limits = [
            (self.threads_per_multiprocessor / (32 * warps), Limit::Threads),
            (by_registers, Limit::Registers),
            (by_shared, Limit::SharedMemory),
            (self.blocks_per_multiprocessor, Limit::Blocks),
        ];
        limits.into_iter().min_by_key(|&(blocks, _)| blocks)
    }

    /// Why the card cannot run a launch of this geometry; `None` if it can.
    pub fn refusal(&self, geometry: Geometry) -> Option<String> {
        let threads: u32 = geometry.block.iter().product();
        let grid: u64 = geometry.grid.iter().map(|&blocks| u64::from(blocks)).product();
        let resident = u64::from(self.multiprocessors) * u64::from(self.blocks_of(threads));
        let why = if geometry.grid[0] > GRID_MAX {
            format!("a grid of more than {GRID_MAX} blocks")
        } else if threads > BLOCK_MAX {
            format!("blocks of {threads} threads, and a block has {BLOCK_MAX} at most")
        } else if geometry.shared_bytes > self.shared_bytes_per_block {
            let most = self.shared_bytes_per_block;
            format!(
                "blocks with {} bytes of shared memory, and a block of it has {most} at most",
                geometry.shared_bytes
            )
        } else if geometry.cluster > 1 && self.clusters_of(geometry.cluster) == 0 {
            format!("clusters of {} blocks, and none fits on it", geometry.cluster)
        } else if geometry.cooperative && grid > resident {
            format!("{grid} blocks that wait for each other, and it holds {resident} at a time")
        } else {
            return None;
        };
        Some(format!("the card {}: {why}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_cards_are_whole() {
        for (name, card) in Card::named() {
            assert!(card.multiprocessors > 0 && card.l2_bytes > 0 && !card.name.is_empty(), "{name}");
            assert!(card.shared_bytes_per_block < card.shared_bytes_per_multiprocessor, "{name}");
            assert_eq!(card.clusters_of(8) > 0, card.compute_capability >= 90, "{name}");
        }
        assert_eq!(H200.clusters, [66, 30, 15, 7], "as the driver of an H200 says");
    }

    /// Expected values are from the occupancy calculator of Nsight Compute.
    #[test]
    fn resident_blocks_are_those_of_the_occupancy_calculator() {
        let l4 = &NAMED[2].1;
        let of = |card: &Card, block, registers, shared_bytes| {
            card.resident_blocks(Footprint { block, registers, shared_bytes })
        };
        assert_eq!(of(&H200, 256, 32, 0), 8);
        assert_eq!(of(&H200, 1024, 64, 0), 1);
        assert_eq!(of(&H200, 512, 65, 0), 1, "72 registers a thread are given");
        assert_eq!(of(&H200, 32, 16, 0), 32);
        assert_eq!(of(&H200, 256, 32, 100 << 10), 2);
        assert_eq!(of(l4, 256, 32, 0), 6);
        assert_eq!(of(l4, 32, 16, 0), 24);
        assert_eq!(of(l4, 256, 32, 100 << 10), 0, "a block has 99 KiB at most");
        assert_eq!(of(l4, 1024, 65, 0), 0);
    }

    #[test]
    fn the_limit_is_what_runs_out_first() {
        let of = |block, registers, shared_bytes| H200.residency(Footprint { block, registers, shared_bytes });
        assert_eq!(of(256, 32, 0), Some((8, Limit::Threads)), "and registers with them");
        assert_eq!(of(256, 64, 0), Some((4, Limit::Registers)));
        assert_eq!(of(256, 32, 100 << 10), Some((2, Limit::SharedMemory)));
        assert_eq!(of(32, 16, 0), Some((32, Limit::Blocks)));
        assert_eq!(of(1025, 16, 0), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let l4 = &NAMED[2].1;
        let why = |card: &Card, geometry| card.refusal(geometry).unwrap_or_default();
        let plain = Geometry::linear(64, 256);
        assert_eq!(l4.refusal(plain), None);
        assert!(why(l4, Geometry { cluster: 8, ..plain }).starts_with("the card NVIDIA L4: clusters of 8 blocks"));
        assert_eq!(H200.refusal(Geometry { cluster: 8, ..plain }), None);
        assert_eq!(H200.refusal(Geometry { cluster: 16, ..plain }), None);
        assert!(why(&H200, Geometry { cluster: 32, ..plain }).contains("clusters of 32"), "more than there are");
        assert!(why(l4, Geometry { shared_bytes: 100 << 10, ..plain }).contains("101376 at most"));
        assert!(why(l4, Geometry::linear(1, 2048)).contains("1024 at most"));
        assert!(why(&H200, Geometry::linear(1 << 31, 32)).contains("more than 2147483647 blocks"));
        let cooperative = Geometry { cooperative: true, ..Geometry::linear(25 * 58, 32) };
        assert!(why(l4, cooperative).contains("holds 1392 at a time"));
        let slice = Card { clusters: [4, 1, 0, 0], ..H200.clone() };
        assert!(slice.refusal(Geometry { cluster: 8, ..plain }).is_some(), "a part of a card");
        assert_eq!(slice.refusal(Geometry { cluster: 4, ..plain }), None);
    }
}
