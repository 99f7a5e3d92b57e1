//! Time in one block: which accesses lie behind which barrier.
//!
//! One clock ticks for every access and every barrier of the block, so a tick names an access. Warp barriers of all lanes
//! only move a warp's horizon. One of part of a warp makes vector clocks, until the next barrier of all lanes.

use std::sync::Arc;

use super::cells::Entry;

const LANES: usize = 32;

/// Signed, because vector units of old compare signed numbers only.
pub(super) type Tick = i32;

/// `rows[l][a]`: what lane `a` did before this tick happened before what lane `l` does now.
type Rows = [[Tick; LANES]; LANES];

#[derive(Debug)]
struct Warp {
    /// Lanes that exist.
    lanes: u32,
    /// Tick of the last barrier of all its lanes.
    base: Tick,
    /// Tick of its last barrier of any lanes.
    last_barrier: Tick,
    /// Kept apart from `base` only while barriers of part of the warp matter.
    rows: Option<Arc<Rows>>,
}

#[derive(Debug)]
pub(super) struct Clocks {
    now: Tick,
    /// Tick of the last barrier of the block.
    block_base: Tick,
    lanes_apart: bool,
    warps: Vec<Warp>,
}

/// What one access needs to know of time.
#[derive(Debug)]
pub(super) struct Now {
    /// Tick of this access.
    pub tick: Tick,
    /// Entries before this tick lie behind a barrier of the block.
    pub block_base: Tick,
    /// Entries of the same warp before this tick are ordered before this access.
    pub order_base: Tick,
    /// Entries of the same warp from this tick on have seen no warp barrier since.
    pub merge_base: Tick,
    /// Warp and instruction of this access.
    pub site: u32,
    rows: Option<Arc<Rows>>,
}

const PC_BITS: u32 = 26;
const PC_MAX: u32 = (1 << PC_BITS) - 1;

/// Warp (at most 32 a block) and instruction in one word.
#[inline(always)]
pub(super) const fn pack(warp: u32, pc: u32) -> u32 {
    warp << PC_BITS | if pc < PC_MAX { pc } else { PC_MAX }
}

#[inline(always)]
pub(super) const fn warp_of(site: u32) -> u32 {
    site >> PC_BITS
}

#[inline(always)]
pub(super) const fn pc_of(site: u32) -> u32 {
    site & PC_MAX
}

impl Clocks {
    pub fn new(warps: u32, lanes_apart: bool) -> Clocks {
        let warp = || Warp { lanes: u32::MAX, base: 1, last_barrier: 1, rows: None };
        Clocks { now: 1, block_base: 1, lanes_apart, warps: (0..warps).map(|_| warp()).collect() }
    }

    pub fn set_lanes(&mut self, warp: u32, lanes: u32) {
        if let Some(warp) = self.warps.get_mut(warp as usize) {
            warp.lanes = lanes;
        }
    }

    /// The clock has little left: a barrier of the block, when every cell is out of date, is the time to start again.
    pub fn near_the_end(&self) -> bool {
        self.now > Tick::MAX / 2
    }

    /// The clock has nothing left.
    #[inline]
    pub fn at_the_end(&self) -> bool {
        self.now >= Tick::MAX - 1
    }

    /// Starts again at the first tick; every cell must have been emptied.
    pub fn restart(&mut self) {
        self.now = 0;
        self.block_barrier();
    }

    pub fn block_barrier(&mut self) {
        self.now += 1;
        self.block_base = self.now;
        for warp in &mut self.warps {
            (warp.base, warp.last_barrier, warp.rows) = (self.now, self.now, None);
        }
    }

    /// Whether something last used at `tick` was used since the last barrier of the block.
    #[inline]
    pub fn since_block_barrier(&self, tick: Tick) -> bool {
        tick >= self.block_base
    }

    pub fn warp_barrier(&mut self, warp: u32, mask: u32) {
        if !self.lanes_apart || self.at_the_end() {
            return;
        }
        let Some(warp) = self.warps.get_mut(warp as usize) else { return };
        self.now += 1;
        warp.last_barrier = self.now;
        if mask & warp.lanes == warp.lanes {
            (warp.base, warp.rows) = (self.now, None);
            return;
        }
        let base = warp.base;
        let rows = Arc::make_mut(warp.rows.get_or_insert_with(|| Arc::new([[base; LANES]; LANES])));
        let members = || (0..LANES).filter(|lane| mask & (1 << lane) != 0);
        let mut joined = [base; LANES];
        for lane in members() {
            for (tick, &own) in joined.iter_mut().zip(&rows[lane]) {
                *tick = own.max(*tick);
            }
        }
        for lane in members() {
            joined[lane] = self.now;
        }
        for lane in members() {
            rows[lane] = joined;
        }
    }

    #[inline(always)]
    pub fn tick(&mut self, warp: u32, pc: u32) -> Now {
        self.now += 1;
        let site = pack(warp, pc);
        let (tick, block_base) = (self.now, self.block_base);
        match self.warps.get(warp as usize) {
            Some(warp) if self.lanes_apart => Now {
                tick,
                block_base,
                order_base: warp.base,
                merge_base: warp.last_barrier,
                site,
                rows: warp.rows.clone(),
            },
            _ => Now { tick, block_base, order_base: tick, merge_base: tick, site, rows: None },
        }
    }
}

impl Now {
    #[inline(always)]
    pub fn warp(&self) -> u32 {
        warp_of(self.site)
    }

    #[inline(always)]
    pub fn pc(&self) -> u32 {
        pc_of(self.site)
    }

    /// Whether `entry` may be unordered with what any other lane of this warp does now.
    #[inline(always)]
    pub fn is_live(&self, tick: Tick, site: u32) -> bool {
        tick >= self.block_base && (warp_of(site) != self.warp() || tick >= self.order_base)
    }

    /// The lanes of `entry` and the ones of `lanes` that nothing orders, if there are such.
    pub fn unordered(&self, entry: &Entry, lanes: u32) -> Option<(u32, u32)> {
        if !self.is_live(entry.tick, entry.site) || entry.tick == self.tick {
            return None;
        }
        if entry.warp() != self.warp() {
            return Some((entry.lanes, lanes));
        }
        let (earlier, later) = match &self.rows {
            // Every lane but oneself.
            None => (
                if lanes.is_power_of_two() { entry.lanes & !lanes } else { entry.lanes },
                if entry.lanes.is_power_of_two() { lanes & !entry.lanes } else { lanes },
            ),
            Some(rows) => unordered_by_rows(rows, entry, lanes),
        };
        (earlier != 0 && later != 0).then_some((earlier, later))
    }
}

fn unordered_by_rows(rows: &Rows, entry: &Entry, lanes: u32) -> (u32, u32) {
    let (mut earlier, mut later) = (0, 0);
    for (lane, row) in rows.iter().enumerate().filter(|(lane, _)| lanes & (1 << lane) != 0) {
        for (other, &seen) in row.iter().enumerate() {
            if other != lane && entry.lanes & (1 << other) != 0 && entry.tick >= seen {
                earlier |= 1 << other;
                later |= 1 << lane;
            }
        }
    }
    (earlier, later)
}
