//! Accesses of global memory that race with one access, and the readers of strong writes.

use rustc_hash::FxHashMap;

use super::super::clocks::Clocks;
use super::super::now::{Now, block_of};
use super::super::{Hazard, Role, Strong};
use super::{Access, Act, Party, Past, Race};
use crate::code::Scope;

/// Readers of a strong write, which come behind it: by the place's first byte.
#[derive(Debug, Default)]
pub(super) struct Observed(FxHashMap<u64, Vec<Observation>>);

/// A strong read of what a strong write left.
#[derive(Debug, Clone, Copy)]
struct Observation {
    /// Unit and tick of the write.
    of: (u32, i32),
    by: Past,
}

/// Most distinct readers of one place. With more, every reader is taken to have read in time.
const OBSERVERS_MAX: usize = 256;

impl Observed {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn add(&mut self, address: u64, of: &Past, by: &Past) {
        let seen = self.0.entry(address).or_default();
        let write = (of.unit, of.tick);
        let same = |one: &Observation| one.of == write && one.by.unit == by.unit && one.by.site == by.site;
        if let Some(one) = seen.iter_mut().find(|one| same(one) && one.by.lanes & by.lanes == by.lanes) {
            // A second look at the same lanes learns nothing.
            one.by.tick = one.by.tick.min(by.tick);
            return;
        }
        if seen.len() >= OBSERVERS_MAX {
            seen.retain(|one| one.of == write);
        }
        // No lanes: anybody.
        let lanes = if seen.len() < OBSERVERS_MAX { by.lanes } else { 0 };
        if seen.len() <= OBSERVERS_MAX {
            seen.push(Observation { of: write, by: Past { lanes, ..*by } });
        }
    }

    /// The reads of what `write` left.
    pub(super) fn reads<'a>(&'a self, address: u64, write: &Past) -> impl Iterator<Item = &'a Past> {
        let of = (write.unit, write.tick);
        self.0.get(&address).into_iter().flatten().filter(move |one| one.of == of).map(|one| &one.by)
    }
}

/// Destination of the races of one access.
pub(super) struct Report<'a> {
    pub(super) found: &'a mut Vec<Race>,
    /// Races that were there before this access.
    pub(super) reported: usize,
    pub(super) now: &'a Now,
    pub(super) clocks: &'a Clocks,
    pub(super) observed: &'a mut Observed,
    pub(super) strong: Option<Strong>,
    pub(super) is_constant: bool,
}

impl Report<'_> {
    /// Returns the role of this access.
    fn role(&self) -> Role {
        self.strong.map_or(Role::Other, |strong| strong.role)
    }

    /// Returns the record of `lanes` of this access.
    pub(super) fn past(&self, lanes: u32) -> Past {
        let Now { device, unit, tick, site, .. } = *self.now;
        Past { unit, tick, lanes, site, strong: self.strong, device }
    }

    /// Returns whether two strong accesses are strong for each other.
    pub(super) fn morally_strong(&self, past: &Past) -> bool {
        let (Some(ours), Some(theirs)) = (self.strong, past.strong) else { return false };
        ours.morally(
            theirs,
            match past.unit == self.now.unit {
                true if block_of(past.site) == block_of(self.now.site) => Scope::Cta,
                true => Scope::Cluster,
                false if past.device == self.now.device => Scope::Gpu,
                false => Scope::Sys,
            },
        )
    }

    /// The lanes of `past` and of `lanes` of this access that base causality leaves unordered, if there are such.
    pub(super) fn unordered(&self, past: &Past, hazard: Hazard, lanes: u32) -> Option<(u32, u32)> {
        if past.lanes == 0 {
            return None;
        }
        if past.unit == self.now.unit {
            return self.now.unordered(&past.entry(), lanes);
        }
        let reaches = |strong: Strong| past.device == self.now.device || strong.scope == Scope::Sys;
        let by_sight = self.strong.is_some_and(reaches) && hazard == Hazard::ReadAfterWrite;
        self.now.unordered_beyond(past.unit, &past.entry(), lanes, by_sight)
    }

    /// Reports a read through the cache for constant data of what `past` wrote before it.
    pub(super) fn behind_a_cache(&mut self, past: &Past, address: u64, lanes: u32) {
        if self.is_constant && past.lanes != 0 {
            self.push(Hazard::StaleCache, address, past.party(past.lanes), lanes);
        }
    }

    /// Those of `lanes` that do not come behind a read of what `write` left.
    pub(super) fn not_observed(&self, address: u64, write: &Past, lanes: u32) -> u32 {
        let mut left = lanes;
        for by in self.observed.reads(address, write) {
            if by.lanes == 0 {
                return 0;
            }
            for lane in crate::masks::lanes(by.lanes) {
                if left == 0 {
                    return 0;
                }
                let read = Past { lanes: 1 << lane, ..*by };
                left = self.unordered(&read, Hazard::WriteAfterRead, left).map_or(0, |(_, later)| later);
            }
        }
        left
    }

    /// Reports what `lanes` do now if it is unordered with what was. True if it is.
    pub(super) fn against(&mut self, past: &Past, hazard: Hazard, address: u64, lanes: u32) -> bool {
        if past.lanes == 0 {
            return false;
        }
        let mut hazard = hazard;
        if self.morally_strong(past) {
            let Some(verdict) = hazard.between_strong(past.role(), self.role()) else { return false };
            hazard = verdict;
        }
        let Some((earlier, mut later)) = self.unordered(past, hazard, lanes) else { return false };
        if hazard.is_unfenced() {
            later = self.clocks.out_of_sight(self.now, past.unit, &past.entry(), later);
        } else if past.strong.is_some() && hazard != Hazard::WriteAfterRead {
            let racing = self.not_observed(address, past, later);
            if racing != later && self.strong.is_none() {
                self.push(Hazard::Observed, address, past.party(earlier), later & !racing);
            }
            later = racing;
        }
        if later != 0 {
            self.push(hazard, address, past.party(earlier), later);
        }
        later != 0
    }

    /// A plain access comes behind the `last` strong write of a place, and so behind the one before it, by no more than
    /// the order that one place's writes have.
    pub(super) fn behind_the_last(&mut self, last: &Past, other: &Past, hazard: Hazard, address: u64, lanes: u32) {
        if self.strong.is_none()
            && last.role().is_atomic()
            && let Some((earlier, later)) = self.unordered(other, hazard, lanes)
        {
            self.push(Hazard::Observed, address, other.party(earlier), later);
        }
    }

    /// Notes that this access reads what the strong write `last` left.
    pub(super) fn observe(&mut self, address: u64, last: &Past, past: &Past) {
        if self.morally_strong(last) && self.unordered(last, Hazard::ReadAfterWrite, past.lanes).is_some() {
            self.observed.add(address, last, past);
        }
    }

    /// Reports lanes that store other values than a lane before them in the same instruction.
    pub(super) fn same_instruction(&mut self, access: &Access<'_>, at: u64, lanes: u32) {
        if access.act != Act::Write || self.role().is_atomic() || lanes.is_power_of_two() {
            return;
        }
        let hazard = if access.strong.is_some() { Hazard::EitherLast } else { Hazard::WriteTogether };
        let first = lanes.trailing_zeros();
        let bits = 64 - 8 * (access.bytes / access.values.len().max(1) as u32).min(8);
        let differs = |lane: u32| access.values.iter().any(|v| (v[lane as usize] ^ v[first as usize]) << bits != 0);
        let others =
            (first + 1..32).filter(|&lane| lanes & (1 << lane) != 0 && differs(lane)).fold(0, |all, l| all | 1 << l);
        if others != 0 {
            let earlier = (self.now.unit, self.now.warp(), 1 << first, self.now.pc());
            self.push(hazard, at, earlier, others);
        }
    }

    /// Adds a race, or its lanes to one that differs in nothing else.
    pub(super) fn push(&mut self, hazard: Hazard, address: u64, earlier: Party, lanes: u32) {
        let (unit, warp, earlier_lanes, pc) = earlier;
        for race in &mut self.found[self.reported..] {
            if race.hazard == hazard && (race.earlier.0, race.earlier.1, race.earlier.3) == (unit, warp, pc) {
                race.earlier.2 |= earlier_lanes;
                race.later.2 |= lanes;
                return;
            }
        }
        let later = (self.now.unit, self.now.warp(), lanes, self.now.pc());
        self.found.push(Race { hazard, address, earlier, later });
    }
}
