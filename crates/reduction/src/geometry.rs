//! Blocks and threads of a launch.

use std::fmt;

use crate::setters::setters;

/// Most threads a block can have on every card so far.
pub(crate) const BLOCK_MAX: u32 = 1024;
/// Most blocks of a grid in its first direction.
const GRID_MAX: u32 = (1 << 31) - 1;

/// A count of 32 bits; the largest where there are more, which no device takes.
pub(crate) fn capped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Geometry of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Geometry {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Cooperative launch.
    pub cooperative: bool,
    /// Consecutive blocks that form one cluster; 1 where there are none.
    pub cluster: u32,
    /// True if the launch may start before the one before it in the stream has ended. The kernel then waits for it in its
    /// own code, with `griddepcontrol.wait`, before it touches anything that the other wrote.
    pub overlaps: bool,
}

setters! {
    Geometry:
    with_overlaps(overlaps: bool) overlaps = overlaps, "With a start before the end of the launch before it, or without.";
    with_shared_bytes(shared_bytes: u32) shared_bytes = shared_bytes, "With so many bytes of dynamic shared memory.";
}

impl Geometry {
    /// Blocks and threads in x alone, no dynamic shared memory.
    pub fn linear(grid: u32, block: u32) -> Geometry {
        Geometry {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            shared_bytes: 0,
            cooperative: false,
            cluster: 1,
            overlaps: false,
        }
    }

    /// Why no device can run such a launch, a sentence; `None` if one may. A driver would only say `CUDA_ERROR_INVALID_VALUE`.
    pub fn refusal(&self) -> Option<String> {
        let threads: u64 = self.block.iter().fold(1, |product, &side| u64::from(side).saturating_mul(product));
        Some(if self.grid.contains(&0) {
            "a grid has at least one block in each direction".to_string()
        } else if threads == 0 {
            "a block has at least one thread in each direction".to_string()
        } else if threads > u64::from(BLOCK_MAX) {
            format!("a block has at most {BLOCK_MAX} threads, and this one would have {threads}")
        } else if self.grid[0] > GRID_MAX {
            format!("a grid has at most {GRID_MAX} blocks in a row, and this one would have {} or more", self.grid[0])
        } else if self.cluster == 0 || !self.grid[0].is_multiple_of(self.cluster) {
            format!("clusters of {} blocks do not divide the {} blocks of the grid", self.cluster, self.grid[0])
        } else {
            return None;
        })
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gx, gy, gz] = self.grid;
        let [bx, by, bz] = self.block;
        write!(f, "grid {gx}x{gy}x{gz}, block {bx}x{by}x{bz}")?;
        if self.shared_bytes > 0 {
            write!(f, ", {} bytes of dynamic shared memory", self.shared_bytes)?;
        }
        if self.cooperative {
            write!(f, ", cooperative")?;
        }
        if self.cluster > 1 {
            write!(f, ", clusters of {}", self.cluster)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_geometries_say_why() {
        let problem = |grid, block| Geometry { grid, block, ..Geometry::linear(1, 1) }.refusal().unwrap_or_default();
        assert_eq!(problem([1, 1, 1], [1024, 1, 1]), "");
        assert!(problem([0, 1, 1], [32, 1, 1]).contains("at least one block"));
        assert!(problem([1, 1, 1], [32, 0, 1]).contains("at least one thread"));
        assert!(problem([1, 1, 1], [64, 32, 1]).contains("2048"));
        assert!(problem([1, 1, 1], [u32::MAX; 3]).contains("at most 1024"));
    }
}
