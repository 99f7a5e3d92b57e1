//! One access in time: its tick, and what lies ordered before it.

use super::WARPS_PER_BLOCK;
use super::cells::Entry;
use super::clocks::{Tick, Views};
use super::views::{Beyond, View};
use crate::masks::lanes;

/// Clocks that one access needs.
#[derive(Debug)]
pub(super) struct Now {
    /// Tick of this access.
    pub tick: Tick,
    pub device: u8,
    pub unit: u32,
    /// Entries before this tick lie behind a barrier of the unit.
    pub unit_base: Tick,
    /// Entries of the same block before this tick lie behind a barrier of the block.
    pub block_base: Tick,
    /// Entries of the same warp before this tick are ordered before this access.
    pub order_base: Tick,
    /// No other thread can know of entries of the same warp from this tick on.
    pub merge_base: Tick,
    /// Warp and instruction of this access.
    pub site: u32,
    pub generation: u32,
    pub views: Views,
}

const PC_BITS: u32 = 23;
const PC_MAX: u32 = (1 << PC_BITS) - 1;
const BLOCK_BITS: u32 = WARPS_PER_BLOCK.trailing_zeros() + PC_BITS;

/// Warp of the unit (at most 512) and instruction in one word.
#[inline(always)]
pub(super) const fn pack(warp: u32, pc: u32) -> u32 {
    warp << PC_BITS | if pc < PC_MAX { pc } else { PC_MAX }
}

#[inline(always)]
pub(super) const fn warp_of(site: u32) -> u32 {
    site >> PC_BITS
}

/// The block within the unit.
#[inline(always)]
pub(super) const fn block_of(site: u32) -> u32 {
    site >> BLOCK_BITS
}

#[inline(always)]
pub(super) const fn pc_of(site: u32) -> u32 {
    site & PC_MAX
}

impl Now {
    /// Returns whether something last used at `tick` was used since the last barrier of the unit.
    #[inline]
    pub fn since_unit_barrier(&self, tick: Tick) -> bool {
        tick >= self.unit_base
    }

    #[inline(always)]
    pub fn warp(&self) -> u32 {
        warp_of(self.site)
    }

    #[inline(always)]
    pub fn pc(&self) -> u32 {
        pc_of(self.site)
    }

    /// Returns whether an entry of this unit may be unordered with what any other lane of this warp does now.
    #[inline(always)]
    pub fn is_live(&self, tick: Tick, site: u32) -> bool {
        tick >= if warp_of(site) == self.warp() {
            self.order_base
        } else if block_of(site) == block_of(self.site) {
            self.block_base
        } else {
            self.unit_base
        }
    }

    /// The lanes of `entry`, of this unit, and the ones of `lanes` that nothing orders, if there are such.
    pub fn unordered(&self, entry: &Entry, lanes: u32) -> Option<(u32, u32)> {
        if !self.is_live(entry.tick, entry.site) || entry.tick == self.tick {
            return None;
        }
        let one_warp = entry.warp() == self.warp();
        let (earlier, later) = match &self.views {
            Views::Common if !one_warp => (entry.lanes, lanes),
            // Every lane but oneself.
            Views::Common => (
                if lanes.is_power_of_two() { entry.lanes & !lanes } else { entry.lanes },
                if entry.lanes.is_power_of_two() { lanes & !entry.lanes } else { lanes },
            ),
            _ => self.unordered_by_views(entry.lanes, lanes, one_warp, |view, lane| {
                entry.tick >= view.of(entry.warp(), lane)
            }),
        };
        (earlier != 0 && later != 0).then_some((earlier, later))
    }

    /// Returns the lanes of another unit's entry, and those of `lanes`, that nothing orders.
    /// With `by_sight` this access is a read that sees what was within sight of its thread.
    pub fn unordered_beyond(&self, unit: u32, entry: &Entry, lanes: u32, by_sight: bool) -> Option<(u32, u32)> {
        let (earlier, later) = self.unordered_by_views(entry.lanes, lanes, false, |view, lane| {
            let is_news =
                |beyond: &Beyond| beyond.of(unit).is_none_or(|known| entry.tick >= known.of(entry.warp(), lane));
            is_news(&view.beyond) && !(by_sight && !is_news(&view.within_sight))
        });
        (earlier != 0 && later != 0).then_some((earlier, later))
    }

    /// Lanes of `theirs` and of `ours` of which `is_news` says that the past of one is no past of the other.
    fn unordered_by_views(
        &self,
        theirs: u32,
        ours: u32,
        one_warp: bool,
        is_news: impl Fn(&View, usize) -> bool,
    ) -> (u32, u32) {
        let (mut earlier, mut later) = (0, 0);
        let empty = View::default();
        let mut compare = |view: &View, ours: u32| {
            let news = lanes(theirs).filter(|&lane| is_news(view, lane)).fold(0, |all, lane| all | 1 << lane);
            for lane in lanes(ours) {
                let others = if one_warp { news & !(1u32 << lane) } else { news };
                if others != 0 {
                    earlier |= others;
                    later |= 1 << lane;
                }
            }
        };
        match &self.views {
            Views::Common => compare(&empty, ours),
            Views::Warp(view) => compare(view, ours),
            Views::Lanes(views) => lanes(ours).for_each(|lane| compare(&views[lane], 1 << lane)),
        }
        (earlier, later)
    }
}
