//! Copies that a thread starts and does not wait for.
//!
//! A copy is carried out where it starts. It differs from a store in its races: until its thread has waited for it, it races
//! with every thread (`race::flights`). So a kernel that waits correctly sees the values that a GPU shows, and one that does not
//! gets a finding. The source of a copy is checked when it starts; a write to it before the copy is over goes unnoticed.

use super::block::{Environment, entry_of};
use super::issue::{Access, Cost, Issue, Lanes, Place, addresses};
use super::mbarrier::landing_key;
use super::warp::Warp;
use super::{Machine, Next, Stop};
use crate::code::{self, CopyCode, Inst, NONE, Op, Order, Scope, Target};
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::race::global::Act;
use crate::race::{self, Arrivals, Strength};

/// Copies of one instruction of a warp that no thread has waited for.
#[derive(Debug, Clone)]
pub(super) struct Flying {
    /// Number of the copy in the shadow.
    id: u32,
    /// Warp of the unit.
    warp: u32,
    pc: u32,
    bytes: u32,
    /// Lanes whose copies are meant.
    mask: u32,
    at: [u32; 32],
    /// The group of each lane that it belongs to.
    group: [u32; 32],
}

impl Flying {
    /// Copy of one lane outside any group.
    pub(super) fn for_lane(id: u32, access: race::Access<'_>) -> Flying {
        let race::Access { warp, mask, pc, bytes, addresses } = access;
        Flying { id, warp, pc, bytes, mask, at: *addresses, group: [u32::MAX; 32] }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn mask(&self) -> u32 {
        self.mask
    }

    pub(super) fn access(&self, mask: u32) -> race::Access<'_> {
        race::Access { warp: self.warp, mask, pc: self.pc, bytes: self.bytes, addresses: &self.at }
    }
}

/// The copies of one warp. Only the race check asks for them.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    flying: Vec<Flying>,
    /// Groups that each lane has committed.
    committed: [u32; 32],
}

impl Copies {
    /// Takes out what the lanes `mask` have started.
    pub(super) fn take(&mut self, mask: u32) -> Vec<Flying> {
        let mut taken = Vec::new();
        for flying in &mut self.flying {
            if flying.mask & mask != 0 {
                taken.push(Flying { mask: flying.mask & mask, ..flying.clone() });
                flying.mask &= !mask;
            }
        }
        self.flying.retain(|flying| flying.mask != 0);
        taken
    }
}

/// Addresses that the lanes of a copy read or write.
pub(super) fn places(warp: &Warp, place: code::Place) -> [u64; 32] {
    addresses(warp, &Inst { a: place.row, e: u16::from(place.narrow), imm: place.offset, ..Inst::NOP })
}

/// Bytes that each lane reads.
fn bytes_taken(warp: &Warp, copy: &CopyCode) -> [u32; 32] {
    let mut taken = match warp.w.get(usize::from(copy.taken)) {
        Some(row) => row.0.map(|bytes| bytes.min(copy.bytes)),
        None => [copy.bytes; 32],
    };
    if copy.ignored.predicate != NONE {
        let p = warp.p[usize::from(copy.ignored.predicate)];
        let ignored = if copy.ignored.negated { !p } else { p };
        lanes(ignored).for_each(|lane| taken[lane] = 0);
    }
    taken
}

impl Machine<'_> {
    /// Starts a copy, or a load into the cache.
    #[inline(never)] // the run loop stays small
    pub(super) fn copy(&mut self, mut issue: Issue<'_>) -> Next {
        match issue.inst.op {
            Op::CopyAsync => self.copy_async(&mut issue),
            Op::CopyBulk => {
                let goes_on = self.copy_bulk(&mut issue);
                return if goes_on { Next::On } else { Next::Stop(Stop::Fatal) };
            }
            Op::StoreBulk => self.store_bulk(&mut issue),
            Op::PrefetchBulk => self.prefetch_bulk(&issue),
            _ => {}
        }
        Next::On
    }

    /// Ends a group of copies, or waits for some.
    #[inline(never)]
    pub(super) fn group(&mut self, mut issue: Issue<'_>) {
        match issue.inst.op {
            Op::CopyCommit => issue.env.commit_copies(issue.warp.index, issue.active),
            Op::CopyWait => self.copy_wait(&mut issue),
            Op::BulkCommit => issue.env.commit_bulk(issue.warp.index, issue.active),
            Op::BulkWait => self.bulk_wait(&mut issue),
            _ => {}
        }
    }

    /// `cp.async`
    #[inline(never)]
    fn copy_async(&mut self, issue: &mut Issue<'_>) {
        let copy = self.context.code.copies[issue.inst.imm as usize];
        let (to, from) = (places(issue.warp, copy.to), places(issue.warp, copy.from));
        let taken = bytes_taken(issue.warp, &copy);
        let to = Access::new(Place::Shared, issue.active, copy.bytes, &to, PLAIN_WRITE);
        let mask = self.allowed(issue, to).lanes;
        let from = Access::new(Place::Global, mask, copy.bytes, &from, PLAIN_READ);
        let whole = filter(mask, |lane| taken[lane] == copy.bytes);
        let part = filter(mask, |lane| taken[lane] != 0 && taken[lane] != copy.bytes);
        let mut data = [[0; 32]; 2];
        let refused_whole = whole & !self.take_whole(issue, from.by(whole), to.at, &mut data);
        let refused_part = part & !self.take_parts(issue, from.by(part), &taken, to.at, &mut data);
        let mask = mask & !refused_whole & !refused_part;
        self.count_copy(issue.pc, &from.by(mask & (whole | part)));
        let at = to.at.map(|at| at as u32);
        self.begin_copy(issue, copy.bytes, mask, &at);
        let (shared, width) = (&mut issue.env.shared, copy.bytes.min(8));
        for (element, values) in data.iter().enumerate().take((copy.bytes / width) as usize) {
            lanes(mask).for_each(|lane| shared.store(at[lane] + element as u32 * width, width, values[lane]));
        }
        self.unload(issue.env);
        self.changes += 1;
    }

    /// Counts what lanes read as a load from global memory, as hardware does; where it goes counts no passes through
    /// shared memory. An instruction none of whose lanes reads anything is no request.
    fn count_copy(&mut self, pc: u32, from: &Access<'_>) {
        if from.lanes == 0 {
            return;
        }
        let sectors = self.memos[pc as usize].of(from.lanes).global_sectors(from.bytes, from.lanes, from.at);
        self.counts[pc as usize].requests[Place::Global as usize] += 1;
        self.count(pc, from, Cost { sectors, ..Cost::default() });
    }

    /// Reads all bytes of lanes that do; the lanes that could.
    fn take_whole(&mut self, issue: &mut Issue<'_>, from: Access<'_>, to: &[u64; 32], data: &mut [Lanes; 2]) -> u32 {
        let from = self.allowed(issue, from);
        if from.lanes != 0 {
            self.check(issue, &from);
            self.take_along(Target::Shared, to);
            let width = from.bytes.min(8);
            self.load_global(&from, width, &mut data[..(from.bytes / width) as usize]);
        }
        from.lanes
    }

    /// Reads the first bytes of lanes that do not read all; the lanes that could. The address is aligned for all of them.
    fn take_parts(
        &mut self,
        issue: &mut Issue<'_>,
        from: Access<'_>,
        taken: &[u32; 32],
        to: &[u64; 32],
        data: &mut [Lanes; 2],
    ) -> u32 {
        let mut read = 0;
        for lane in lanes(from.lanes) {
            let (at, bytes) = (from.at[lane], taken[lane]);
            let inside = self.context.holding(at, bytes.into());
            let askew = !at.is_multiple_of(u64::from(from.bytes));
            let Some((buffer, offset)) = inside.filter(|_| !askew) else {
                let (code, bytes) = if askew { (Code::Misaligned, from.bytes) } else { (Code::OutOfBounds, bytes) };
                self.findings.access(code, issue, 1 << lane, &Access { bytes, ..from });
                continue;
            };
            read |= 1 << lane;
            for byte in 0..bytes {
                let here = [at + u64::from(byte); 32];
                let part = Access::new(Place::Global, 1 << lane, 1, &here, PLAIN_READ);
                self.check(issue, &Access { buffer: Some((buffer, at - offset)), ..part });
                self.take_along(Target::Shared, &[to[lane] + u64::from(byte); 32]);
                let value = buffer.load(offset + u64::from(byte), 1);
                data[byte as usize / 8][lane] |= value << (8 * (byte % 8));
            }
        }
        read
    }

    /// Tells the race check that the lanes `mask` copy to these places from here on.
    fn begin_copy(&mut self, issue: &mut Issue<'_>, bytes: u32, mask: u32, at: &[u32; 32]) {
        let (warp, pc) = (issue.unit_warp(), issue.pc);
        let env = &mut *issue.env;
        let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) else { return };
        if mask == 0 {
            return;
        }
        let access = race::Access { warp, mask, pc, bytes, addresses: at };
        let id = shadow.begin_copy(clocks, access, &mut self.races);
        let copies = entry_of(&mut env.copies, issue.warp.index);
        let group = copies.committed;
        copies.flying.push(Flying { id, warp, pc, bytes, mask, at: *at, group });
        self.take_races(issue, None);
    }

    /// `cp.async.wait_group`, with the number of groups that need not be over, or `cp.async.wait_all` with a negative one.
    #[inline(never)]
    fn copy_wait(&mut self, issue: &mut Issue<'_>) {
        let (groups, active, unit_warp) = (issue.inst.imm, issue.active, issue.unit_warp());
        let env = &mut *issue.env;
        if env.shared.shadow.is_none() || env.copies.is_empty() {
            return;
        }
        let copies = entry_of(&mut env.copies, issue.warp.index);
        let committed = copies.committed.map(i64::from);
        let over = |flying: &mut Flying| {
            // Bulk copies are in no group of these.
            let waits_for_all = groups < 0 && flying.group[0] != u32::MAX;
            let is_over = |lane: usize| waits_for_all || i64::from(flying.group[lane]) + groups < committed[lane];
            let mask = filter(flying.mask & active, is_over);
            let landed = Flying { mask, ..flying.clone() };
            flying.mask &= !mask;
            landed
        };
        let mut landed: Vec<Flying> = copies.flying.iter_mut().map(over).collect();
        copies.flying.retain(|flying| flying.mask != 0);
        // A copy that a barrier object waits for as well is over for the thread that waited here.
        let handed_over = env.shared.mbarriers.values_mut().flat_map(|side| side.copies.iter_mut());
        landed.extend(handed_over.filter(|flying| flying.warp == unit_warp).map(over));
        env.shared.mbarriers.values_mut().for_each(|side| side.copies.retain(|flying| flying.mask != 0));
        env.learn_of_own(unit_warp, over);
        let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) else { return };
        for flying in landed.iter().filter(|flying| flying.mask != 0) {
            shadow.stamp_copy(clocks, flying.access(flying.mask));
            shadow.end_copy(flying.id, flying.access(flying.mask));
        }
    }
}

pub(super) const PLAIN_READ: Strength =
    Strength { order: Order::Weak, scope: Scope::Cta, act: Act::Read, is_atomic: false, reads: true };
pub(super) const PLAIN_WRITE: Strength = Strength { act: Act::Write, reads: false, ..PLAIN_READ };

impl Environment {
    /// The lanes that wait here know of what barrier objects have counted of their own copies.
    fn learn_of_own(&mut self, unit_warp: u32, over: impl Fn(&mut Flying) -> Flying) {
        let Some(clocks) = &mut self.team.clocks else { return };
        for (&at, side) in &mut self.shared.mbarriers {
            for (flying, tick) in side.landed.iter_mut().filter(|(flying, _)| flying.warp == unit_warp) {
                let mask = over(&mut flying.clone()).mask;
                let mut known = Arrivals::default();
                known.land(landing_key(self.rank, at), *tick);
                clocks.learn(unit_warp, mask, &known);
            }
        }
    }

    /// `cp.async.commit_group`
    pub(super) fn commit_copies(&mut self, warp: u32, active: u32) {
        if self.shared.shadow.is_some() {
            let copies = entry_of(&mut self.copies, warp);
            lanes(active).for_each(|lane| copies.committed[lane] += 1);
        }
    }
}
