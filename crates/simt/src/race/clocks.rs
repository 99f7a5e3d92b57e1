//! Time in one unit (a block, or the blocks of a cluster): which accesses lie behind which barrier, fence or flag.
//!
//! One clock ticks for every access and every barrier of the unit, so a tick names an access. Barriers of all threads
//! only move a horizon: of the unit, of one block in it, of one warp. What else a thread learns, at a barrier of some
//! threads or from a flag, is kept as [`View`]s until the next barrier of the block.

mod flags;

use crate::masks::lanes;
use std::sync::Arc;

use super::cells::Entry;
use super::now::{Now, pack};
use super::views::{Beyond, Known, View};
use crate::code::Scope;

const LANES: usize = 32;

/// Warps that a block's place in its cluster is counted in: warp 3 of the second block is warp 35 of the unit.
pub const WARPS_PER_BLOCK: u32 = 32;

/// Pending reads of one warp that are remembered one by one.
const PENDING_MAX: usize = 64;

/// Signed, because vector units of old compare signed numbers only.
pub(super) type Tick = i32;

/// Knowledge of a warp's threads beyond the horizons.
#[derive(Debug, Clone, Default)]
pub(super) enum Views {
    /// The same as their block's.
    #[default]
    Common,
    /// All lanes the same.
    Warp(View),
    /// Each lane its own.
    Lanes(Arc<[View; LANES]>),
}

/// Knowledge that lanes of a warp would release: all they knew at some moment.
#[derive(Debug, Clone)]
struct Moment {
    at: Tick,
    unit_base: Tick,
    block_base: Tick,
    warp_base: Tick,
    views: Views,
    common: View,
}

/// Lanes whose last fence is not forgotten.
#[derive(Debug)]
struct Fenced {
    lanes: u32,
    scope: Scope,
    /// One of the fences that have an order among themselves: `fence.sc`, `membar`.
    orders_fences: bool,
    moment: Moment,
    /// The widest barrier of whole warps, blocks or the unit behind which all know that it was passed.
    reached: Reached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    None,
    Warp,
    Block,
    Unit,
}

/// Something released that lanes have read, and which counts for them once they fence.
#[derive(Debug, Clone)]
struct Pending {
    lanes: u32,
    reach: Scope,
    released: Beyond,
    /// It is no release that they have read, but what fences had behind them that came before the write: see `Fenced`.
    behind_fences: bool,
}

/// Knowledge of threads when they meet, and the part that counts at their next fence.
#[derive(Debug, Clone, Default)]
struct Past {
    view: View,
    pending: Vec<Pending>,
}

impl Past {
    fn join(&mut self, Past { view, pending }: Past) {
        self.view.join(&view);
        pending.into_iter().for_each(|one| put_aside(&mut self.pending, one));
    }
}

#[derive(Debug)]
struct Warp {
    /// Lanes that exist.
    lanes: u32,
    /// Tick of the last barrier of all its lanes.
    base: Tick,
    /// Tick of the last time that others may have learnt what some of its lanes did: a barrier of any lanes, a fence, a
    /// release. Accesses before it and after it are kept apart.
    last_split: Tick,
    views: Views,
    fenced: Vec<Fenced>,
    pending: Vec<Pending>,
}

#[derive(Debug, Default)]
struct Block {
    /// Tick of its last barrier of all threads.
    base: Tick,
    /// Knowledge of all its threads beyond the horizons.
    common: View,
    /// Not all is said by the horizons: `common`, or a warp's views, say more.
    tangled: bool,
    /// Or there are pending reads, or fences that not all threads know of: barriers hand those on.
    has_news: bool,
}

/// See the module's head.
#[derive(Debug)]
pub struct Clocks {
    now: Tick,
    device: u32,
    unit: u32,
    /// Tick of the last barrier of the whole unit.
    unit_base: Tick,
    lanes_apart: bool,
    blocks: Vec<Block>,
    warps: Vec<Warp>,
    /// Grows when time starts again and every cell of shared memory is out of date.
    generation: u32,
    /// Time started again while the unit ran.
    lost_time: bool,
}

impl Clocks {
    /// For `blocks` blocks of `warps` warps. With `lanes_apart`, lanes of one warp are ordered by barriers only; without
    /// it (lockstep), one instruction of a warp is ordered before its next.
    pub fn new(blocks: u32, warps: u32, lanes_apart: bool) -> Clocks {
        let stride = if blocks == 1 { warps } else { WARPS_PER_BLOCK };
        let warp = || Warp {
            lanes: u32::MAX,
            base: 1,
            last_split: 1,
            views: Views::Common,
            fenced: Vec::new(),
            pending: Vec::new(),
        };
        Clocks {
            now: 1,
            device: 0,
            unit: 0,
            unit_base: 1,
            lanes_apart,
            blocks: (0..blocks).map(|_| Block { base: 1, ..Block::default() }).collect(),
            warps: (0..blocks * stride).map(|_| warp()).collect(),
            generation: 0,
            lost_time: false,
        }
    }

    /// Lanes of `warp` that exist: a block whose size is no multiple of 32 ends in a narrower warp. Without this call
    /// all 32 are taken to exist, which makes barriers of the narrower warp slower to follow, never wrong.
    pub fn set_lanes(&mut self, warp: u32, lanes: u32) {
        if let Some(warp) = self.warps.get_mut(warp as usize) {
            warp.lanes = lanes;
        }
    }

    /// The device that runs the unit: 0 without this call.
    pub fn set_device(&mut self, device: u32) {
        self.device = device;
    }

    /// A new unit starts, and knows nothing of what was before.
    pub fn start(&mut self, unit: u32) {
        self.unit = unit;
        if self.now > Tick::MAX / 4 {
            self.restart();
        }
        self.now += 1;
        self.forget();
    }

    /// Whatever was before, every thread begins now.
    fn forget(&mut self) {
        self.all_met(&Past::default());
        self.warps.iter_mut().for_each(|warp| warp.fenced.clear());
    }

    /// Returns whether time has started again since the last call: what other units remember of this one means nothing now.
    pub fn take_lost_time(&mut self) -> bool {
        std::mem::take(&mut self.lost_time)
    }

    #[cold]
    fn restart(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.now = 1;
        self.forget();
    }

    /// Moves every horizon to now.
    fn all_met(&mut self, past: &Past) {
        self.unit_base = self.now;
        for block in 0..self.blocks.len() as u32 {
            self.block_met(block, past);
        }
    }

    /// All threads of a block have met now, and know what `past` says besides.
    fn block_met(&mut self, block: u32, Past { view, pending }: &Past) {
        let now = self.now;
        let warps = self.warps_of(block);
        for warp in &mut self.warps[warps] {
            (warp.base, warp.last_split, warp.views) = (now, now, Views::Common);
            warp.pending.clone_from(pending);
        }
        self.blocks[block as usize] = Block {
            base: now,
            common: view.clone(),
            tangled: !view.is_empty(),
            has_news: !pending.is_empty() || view.has_news(),
        };
    }

    fn warps_of(&self, block: u32) -> std::ops::Range<usize> {
        if self.blocks.len() == 1 {
            return 0..self.warps.len();
        }
        let first = block * WARPS_PER_BLOCK;
        first as usize..(first + WARPS_PER_BLOCK) as usize
    }

    /// All threads of a block of the unit passed a barrier.
    pub fn block_barrier(&mut self, block: u32) {
        self.now += 1;
        let mut past = self.past_of_block(block, Reached::Block);
        if self.blocks.len() == 1 {
            past.view.forget_own();
            self.all_met(&past);
        } else {
            self.block_met(block, &past);
        }
    }

    /// All threads of all blocks of the unit passed a barrier together.
    pub fn unit_barrier(&mut self) {
        self.now += 1;
        let mut past = self.past_of_unit();
        past.view.forget_own();
        self.all_met(&past);
    }

    /// All threads of the unit have exited: what they knew of other units, for those who wait for their launch.
    pub fn unit_ended(&mut self) -> Arrivals {
        let mut past = self.past_of_unit();
        past.view.forget_unit();
        Arrivals(past)
    }

    /// Returns the joint knowledge of the unit's threads beyond the horizons.
    fn past_of_unit(&mut self) -> Past {
        let mut past = Past::default();
        for block in 0..self.blocks.len() as u32 {
            past.join(self.past_of_block(block, Reached::Unit));
        }
        past
    }

    /// Returns the joint knowledge of a block's threads beyond the horizons; from here on the threads in `reached` share it.
    fn past_of_block(&mut self, block: u32, reached: Reached) -> Past {
        let mut past = Past::default();
        let Block { tangled, has_news, .. } = self.blocks[block as usize];
        if tangled || has_news {
            past.view = self.blocks[block as usize].common.clone();
            for warp in self.warps_of(block) {
                self.join_warp(warp as u32, u32::MAX, reached, &mut past);
                self.warps[warp].fenced.iter_mut().for_each(|fenced| fenced.reached = fenced.reached.max(reached));
            }
        }
        past.pending.iter_mut().for_each(|pending| pending.lanes = u32::MAX);
        past
    }

    /// Adds to `past` the knowledge of lanes of a warp, their reads since their last fence, and what their fences had behind
    /// them, unless that had reached as far before.
    fn join_warp(&self, warp: u32, mask: u32, reached: Reached, past: &mut Past) {
        let own = &self.warps[warp as usize];
        match &own.views {
            Views::Common => {}
            Views::Warp(view) => past.view.join(view),
            Views::Lanes(views) => lanes(mask).for_each(|lane| past.view.join(&views[lane])),
        }
        for pending in own.pending.iter().filter(|pending| pending.lanes & mask != 0) {
            put_aside(&mut past.pending, pending.clone());
            past.view.within_sight.join(&pending.released);
        }
        let news = |fenced: &&Fenced| fenced.orders_fences && fenced.lanes & mask != 0 && fenced.reached < reached;
        for fenced in own.fenced.iter().filter(news) {
            past.view.stand_behind(fenced.scope, &self.behind_fence(warp, fenced.lanes & mask, &fenced.moment));
        }
    }

    /// The lanes `mask` of `warp` passed `bar.warp.sync`.
    pub fn warp_barrier(&mut self, warp: u32, mask: u32) {
        let at = warp as usize;
        if !self.lanes_apart || self.at_the_end() || at >= self.warps.len() {
            return;
        }
        self.now += 1;
        self.warps[at].last_split = self.now;
        let all = mask & self.warps[at].lanes == self.warps[at].lanes;
        let is_news = |fenced: &Fenced| fenced.orders_fences && fenced.reached == Reached::None;
        let news = !self.warps[at].pending.is_empty() || self.warps[at].fenced.iter().any(is_news);
        if all && !news && !matches!(self.warps[at].views, Views::Lanes(_)) {
            self.warps[at].base = self.now;
            return;
        }
        let mut past = Past { view: self.common(warp).clone(), ..Past::default() };
        self.join_warp(warp, mask, Reached::Warp, &mut past);
        if all {
            self.warps[at].base = self.now;
            self.warps[at].fenced.iter_mut().for_each(|fenced| fenced.reached = fenced.reached.max(Reached::Warp));
        } else {
            past.view.add(warp, mask, self.now);
        }
        self.set_past(warp, mask, past);
    }

    /// From here on the lanes `mask` know what `past` says, and have read what it says.
    fn set_past(&mut self, warp: u32, mask: u32, Past { view, pending }: Past) {
        self.set_views(warp, mask, view);
        let own = &mut self.warps[warp as usize].pending;
        pending.into_iter().for_each(|one| put_aside(own, Pending { lanes: mask, ..one }));
        let block = self.block_of_warp(warp);
        self.blocks[block].has_news = true;
    }

    fn block_of_warp(&self, warp: u32) -> usize {
        if self.blocks.len() == 1 { 0 } else { (warp / WARPS_PER_BLOCK) as usize }
    }

    fn common(&self, warp: u32) -> &View {
        &self.blocks[self.block_of_warp(warp)].common
    }

    /// From here on the lanes `mask` know what `view` says, and have no reads pending.
    fn set_views(&mut self, warp: u32, mask: u32, view: View) {
        let common = self.common(warp).clone();
        let block = self.block_of_warp(warp);
        self.blocks[block].tangled = true;
        let warp = &mut self.warps[warp as usize];
        for pending in &mut warp.pending {
            pending.lanes &= !mask;
        }
        warp.pending.retain(|pending| pending.lanes != 0);
        if mask & warp.lanes == warp.lanes {
            warp.views = Views::Warp(view);
            return;
        }
        let mut own = match std::mem::take(&mut warp.views) {
            Views::Common => Arc::new(std::array::from_fn(|_| common.clone())),
            Views::Warp(all) => Arc::new(std::array::from_fn(|_| all.clone())),
            Views::Lanes(own) => own,
        };
        let each = Arc::make_mut(&mut own);
        lanes(mask).for_each(|lane| each[lane] = view.clone());
        warp.views = Views::Lanes(own);
    }

    /// Adds to `joined` what the lanes `mask` of `warp` did and what lies behind their barriers.
    fn add_past(&self, warp: u32, mask: u32, joined: &mut View) {
        let block = self.block_of_warp(warp);
        if self.blocks[block].base > self.unit_base {
            let base = self.blocks[block].base;
            self.warps_of(block as u32).for_each(|warp| joined.add(warp as u32, u32::MAX, base));
        }
        joined.add(warp, u32::MAX, self.warps[warp as usize].base);
        joined.add(warp, if self.lanes_apart { mask } else { u32::MAX }, self.now);
        let common = self.common(warp).clone();
        joined.join(&common);
    }

    /// The lanes `mask` of `warp` come to a barrier of some threads and go on at once. What they hand over, for `meet`.
    pub fn arrive(&mut self, arrived: &mut Arrivals, warp: u32, mask: u32) {
        if self.at_the_end() {
            return;
        }
        self.now += 1;
        self.warps[warp as usize].last_split = self.now;
        let mask = if self.lanes_apart { mask } else { u32::MAX };
        self.join_warp(warp, mask, Reached::Unit, &mut arrived.0);
        self.add_past(warp, mask, &mut arrived.0.view);
    }

    /// The barrier opens: those who waited (warps of one block and their lanes) go on behind what they and those who
    /// arrived did.
    pub fn meet(&mut self, waited: &[(u32, u32)], arrived: Arrivals) {
        if self.at_the_end() {
            return;
        }
        self.now += 1;
        let mut joined = arrived.0;
        let whole = |mask: u32| if self.lanes_apart { mask } else { u32::MAX };
        let waited: Vec<(u32, u32)> = waited.iter().map(|&(warp, mask)| (warp, whole(mask))).collect();
        for &(warp, mask) in &waited {
            self.join_warp(warp, mask, Reached::Unit, &mut joined);
            self.add_past(warp, mask, &mut joined.view);
        }
        for (warp, mask) in waited {
            let at = warp as usize;
            self.warps[at].last_split = self.now;
            if mask & self.warps[at].lanes == self.warps[at].lanes {
                self.warps[at].base = self.now;
            }
            self.set_past(warp, mask, joined.clone());
        }
    }

    /// The lanes `mask` learn what those who arrived did: a barrier of the cluster lies behind them, or the end of a launch.
    pub fn learn(&mut self, warp: u32, mask: u32, arrived: &Arrivals) {
        let own = &self.warps[warp as usize];
        let as_one = mask & own.lanes == own.lanes && !matches!(own.views, Views::Lanes(_));
        // If all lanes know the same now, they do so afterwards.
        for lane in lanes(mask).take(if as_one { 1 } else { LANES }) {
            let mut view = self.view(warp, lane).clone();
            view.join(&arrived.0.view);
            self.set_view_keeping_pending(warp, if as_one { mask } else { 1 << lane }, view);
        }
        for pending in &arrived.0.pending {
            put_aside(&mut self.warps[warp as usize].pending, Pending { lanes: mask, ..pending.clone() });
        }
    }

    fn view(&self, warp: u32, lane: usize) -> &View {
        match &self.warps[warp as usize].views {
            Views::Common => self.common(warp),
            Views::Warp(view) => view,
            Views::Lanes(views) => &views[lane],
        }
    }

    /// Releases that `lane` of `warp`, or a thread that it has met since, has read, though no fence lets them count.
    fn sight(&self, warp: u32, lane: usize) -> Beyond {
        let mut sight = self.view(warp, lane).within_sight.clone();
        let pending = self.warps[warp as usize].pending.iter();
        pending.filter(|one| one.lanes & (1 << lane) != 0).for_each(|one| sight.join(&one.released));
        sight
    }

    /// Those of `lanes` whose past has not read anything that was released behind `past`, an access of `unit`.
    pub(super) fn out_of_sight(&self, now: &Now, unit: u32, past: &Entry, lanes: u32) -> u32 {
        let warp = now.warp();
        crate::masks::filter(lanes, |lane| {
            let sight = self.sight(warp, lane);
            let is_own = unit == now.unit && past.warp() == warp;
            let theirs = if is_own { past.lanes & !(1 << lane) } else { past.lanes };
            let seen = |of: usize| sight.of(unit).is_some_and(|known| past.tick < known.of(past.warp(), of));
            crate::masks::lanes(theirs).any(|of| !seen(of))
        })
    }

    /// A moment in which asynchronous copies end.
    pub fn landing(&mut self) -> i32 {
        self.now += i32::from(!self.at_the_end());
        self.now
    }

    /// Returns whether `lane` of `warp` knows that what object `key` counted until `tick` is over.
    pub(super) fn knows_landed(&self, warp: u32, lane: usize, key: u32, tick: Tick) -> bool {
        self.view(warp, lane).landed(key) >= tick
    }

    /// Returns whether all threads of the unit know it.
    pub(super) fn all_know_landed(&self, key: u32, tick: Tick) -> bool {
        self.blocks.iter().all(|block| block.common.landed(key) >= tick)
    }

    fn set_view_keeping_pending(&mut self, warp: u32, mask: u32, view: View) {
        let pending = std::mem::take(&mut self.warps[warp as usize].pending);
        let mask = if self.lanes_apart { mask } else { u32::MAX };
        self.set_views(warp, mask, view);
        self.warps[warp as usize].pending = pending;
    }

    /// The clock has nothing left.
    #[inline]
    fn at_the_end(&self) -> bool {
        self.now >= Tick::MAX - 1
    }

    #[inline(always)]
    pub(super) fn tick(&mut self, warp: u32, pc: u32) -> Now {
        if self.at_the_end() {
            self.restart();
            self.lost_time = true;
        }
        self.now += 1;
        let block = &self.blocks[self.block_of_warp(warp)];
        let (tick, site) = (self.now, pack(warp, pc));
        let mut now = Now {
            tick,
            device: self.device as u8,
            unit: self.unit,
            unit_base: self.unit_base,
            block_base: block.base,
            order_base: tick,
            merge_base: tick,
            site,
            generation: self.generation,
            views: Views::Common,
        };
        let Some(own) = self.warps.get(warp as usize) else { return now };
        if self.lanes_apart {
            (now.order_base, now.merge_base) = (own.base, own.last_split);
        }
        if block.tangled {
            now.views = match &own.views {
                Views::Common => Views::Warp(block.common.clone()),
                views => views.clone(),
            };
        }
        now
    }
}

/// Adds to what has been read and waits for a fence.
fn put_aside(pending: &mut Vec<Pending>, new: Pending) {
    let same = |one: &Pending| {
        (one.reach, one.behind_fences) == (new.reach, new.behind_fences) && one.released.is_same(&new.released)
    };
    if let Some(one) = pending.iter_mut().find(|one| same(one)) {
        one.lanes |= new.lanes;
    } else if pending.len() < PENDING_MAX {
        pending.push(new);
    } else {
        // Too many to tell apart: all its readers are taken to have read them all.
        let mut all = new;
        for one in pending.drain(..) {
            all.released.join(&one.released);
            all = Pending {
                lanes: all.lanes | one.lanes,
                reach: all.reach.min(one.reach),
                behind_fences: all.behind_fences && one.behind_fences,
                ..all
            };
        }
        pending.push(all);
    }
}

/// Knowledge handed over to a barrier by threads that did not wait at it.
#[derive(Debug, Default, Clone)]
pub struct Arrivals(Past);

impl Arrivals {
    /// They handed over this too.
    pub fn join(&mut self, other: Arrivals) {
        self.0.join(other.0);
    }

    /// All that these units ever did lies behind it.
    pub fn end_of(&mut self, units: std::ops::Range<u64>) {
        let all = Arc::new(Known::all_before(Tick::MAX));
        self.0.view.beyond.join(&Beyond::for_units(units, &all));
    }

    /// With the end of a phase of the barrier object `key` at `tick`, the copies are over that it counted.
    pub fn land(&mut self, key: u32, tick: i32) {
        self.0.view.land(key, tick);
    }
}
