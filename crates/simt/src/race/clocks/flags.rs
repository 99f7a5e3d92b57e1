//! Fences and flags: what a thread releases, and what it acquires.

use super::super::Strength;
use super::super::places::{Places, Reach, Release, Visible};
use super::super::views::{Beyond, Known, View};
use super::{Clocks, Fenced, Moment, Pending, Reached, Views, put_aside};
use crate::code::{Order, Scope};
use crate::masks::lanes;

impl Clocks {
    fn moment(&self, warp: u32) -> Moment {
        let own = &self.warps[warp as usize];
        Moment {
            at: self.now,
            unit_base: self.unit_base,
            block_base: self.blocks[self.block_of_warp(warp)].base,
            warp_base: own.base,
            views: own.views.clone(),
            common: self.common(warp).clone(),
        }
    }

    /// Returns the knowledge that `lane` of `warp` releases if its fence, or its releasing write, came at `moment`.
    fn released(&self, warp: u32, lane: usize, moment: &Moment) -> Beyond {
        let view = match &moment.views {
            Views::Common => &moment.common,
            Views::Warp(view) => view,
            Views::Lanes(views) => &views[lane],
        };
        self.released_with(warp, if self.lanes_apart { 1 << lane } else { u32::MAX }, moment, view)
    }

    /// Returns what the lanes `mask` of `warp`, taken together, had behind them when they passed a fence at `moment`.
    pub(super) fn behind_fence(&self, warp: u32, mask: u32, moment: &Moment) -> Beyond {
        let mask = if self.lanes_apart { mask } else { u32::MAX };
        match &moment.views {
            Views::Common => self.released_with(warp, mask, moment, &moment.common),
            Views::Warp(view) => self.released_with(warp, mask, moment, view),
            Views::Lanes(views) => {
                let mut joined = View::default();
                lanes(mask).for_each(|lane| joined.join(&views[lane]));
                self.released_with(warp, mask, moment, &joined)
            }
        }
    }

    fn released_with(&self, warp: u32, mask: u32, moment: &Moment, view: &View) -> Beyond {
        let mut known = Known::all_before(moment.unit_base);
        if moment.block_base > moment.unit_base {
            let block = self.block_of_warp(warp) as u32;
            self.warps_of(block).for_each(|warp| known.add(warp as u32, u32::MAX, moment.block_base));
        }
        known.add(warp, u32::MAX, moment.warp_base);
        known.add(warp, mask, moment.at);
        let mut released = view.beyond.clone();
        released.learn(self.unit, &view.own_with(known));
        released
    }

    /// The lanes `mask` of `warp` pass a fence of this scope: what they read from flags counts from here on, and what
    /// they did so far goes with the flags that they write from here on. Fences that have an order among themselves
    /// (`orders_fences`) do more: of two of them one comes first, and that is the one which is ordered before a write that the
    /// thread of the other, or one that it has met since, has read.
    pub fn fence(&mut self, warp: u32, mask: u32, scope: Scope, orders_fences: bool) {
        if self.at_the_end() {
            return;
        }
        let mask = if self.lanes_apart { mask } else { u32::MAX };
        let pending = std::mem::take(&mut self.warps[warp as usize].pending);
        let (counts, waits) = pending
            .into_iter()
            .partition(|pending| pending.reach <= scope && (orders_fences || !pending.behind_fences));
        self.warps[warp as usize].pending = waits;
        let counts: Vec<Pending> = counts;
        for Pending { lanes: readers, released, .. } in counts.iter() {
            lanes(readers & mask).for_each(|lane| self.acquire(warp, lane, released));
        }
        let others = counts.into_iter().map(|pending| Pending { lanes: pending.lanes & !mask, ..pending });
        self.warps[warp as usize].pending.extend(others.filter(|pending| pending.lanes != 0));
        self.now += 1;
        self.warps[warp as usize].last_split = self.now;
        let moment = self.moment(warp);
        let fenced = &mut self.warps[warp as usize].fenced;
        fenced.iter_mut().for_each(|fenced| fenced.lanes &= !mask);
        fenced.retain(|fenced| fenced.lanes != 0);
        fenced.push(Fenced { lanes: mask, scope, orders_fences, moment, reached: Reached::None });
        let block = self.block_of_warp(warp);
        self.blocks[block].has_news = true;
    }

    fn acquire(&mut self, warp: u32, lane: usize, released: &Beyond) {
        let unit = self.unit;
        let mut view = self.view(warp, lane).clone();
        view.acquire(released, unit);
        self.set_view_keeping_pending(warp, 1 << lane, view);
    }

    fn reach(&self, warp: u32) -> Reach {
        Reach { device: self.device, unit: self.unit, block: self.block_of_warp(warp) as u32 }
    }

    /// `lane` of `warp` reads the flag at `key` with an access that is more than plain.
    pub fn read_flag(&mut self, places: &Places, key: u64, warp: u32, lane: usize, order: Order, scope: Scope) {
        let here = self.reach(warp);
        let acquires = matches!(order, Order::Acquire | Order::AcqRel);
        for Visible { reach, released, behind_fences } in places.visible(key, here, scope) {
            if acquires && !behind_fences {
                self.acquire(warp, lane, released);
                continue;
            }
            let block = self.block_of_warp(warp);
            self.blocks[block].has_news = true;
            let lanes = if self.lanes_apart { 1 << lane } else { u32::MAX };
            let read = Pending { lanes, reach, released: released.clone(), behind_fences };
            put_aside(&mut self.warps[warp as usize].pending, read);
        }
    }

    /// `lane` of `warp` writes the flag at `key` with an access that is more than plain. An atomic hands on what was released there
    /// before.
    pub(crate) fn write_flag(&mut self, places: &mut Places, key: u64, warp: u32, lane: usize, strength: Strength) {
        let Strength { order, scope, is_atomic: in_place, .. } = strength;
        let here = self.reach(warp);
        let release = if matches!(order, Order::Release | Order::AcqRel) {
            self.now += 1;
            self.warps[warp as usize].last_split = self.now;
            Some(Release { scope, released: self.released(warp, lane, &self.moment(warp)) })
        } else {
            let fenced = self.warps[warp as usize].fenced.iter().find(|fenced| fenced.lanes & (1 << lane) != 0);
            fenced.map(|fenced| Release {
                scope: scope.min(fenced.scope),
                released: self.released(warp, lane, &fenced.moment),
            })
        };
        if release.is_some() || !in_place {
            places.write(key, here, release, in_place);
        }
        for (fence, released) in self.view(warp, lane).behind() {
            places.write_behind(key, here, Release { scope: scope.min(fence), released: released.clone() });
        }
    }
}
