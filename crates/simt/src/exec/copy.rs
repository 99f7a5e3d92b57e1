//! Copies that a thread starts and does not wait for.
//!
//! A copy is carried out where it starts. What tells it from a store is whom it races with: until its thread has waited for it,
//! with everybody (`race::flights`). So a kernel that waits as it should sees what a GPU shows it, and one that does not is told.
//! What a copy reads is looked at when it starts; a write to that place before the copy is over goes unnoticed.

use super::block::Environment;
use super::mbarrier::landing_key;
use super::memory::{Lanes, Place, Span, addresses};
use super::order::Strength;
use super::team::unit_warp;
use super::warp::Warp;
use super::{Machine, Next, Stop};
use crate::access::Passes;
use crate::code::{self, CopyCode, Inst, NONE, Op, Order, Scope};
use crate::fault::Code;
use crate::launch::Check;
use crate::masks::{filter, lanes};
use crate::race::global::Act;
use crate::race::{Access, Arrivals};

/// What one instruction of a warp copies and nobody has waited for.
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
    /// What one lane copies outside any group.
    pub(super) fn of_lane(id: u32, access: Access<'_>) -> Flying {
        let Access { warp, mask, pc, bytes, addresses } = access;
        Flying { id, warp, pc, bytes, mask, at: *addresses, group: [u32::MAX; 32] }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn mask(&self) -> u32 {
        self.mask
    }

    pub(super) fn access(&self, mask: u32) -> Access<'_> {
        Access { warp: self.warp, mask, pc: self.pc, bytes: self.bytes, addresses: &self.at }
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

/// Where the lanes of a copy read or write.
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
    pub(super) fn copy(&mut self, env: &mut Environment, warp: &Warp, pc: u32, inst: &Inst, active: u32) -> Next {
        match inst.op {
            Op::CopyAsync => self.copy_async(env, warp, pc, inst, active),
            Op::CopyBulk if !self.copy_bulk(env, warp, pc, inst, active) => return Next::Stop(Stop::Fatal),
            Op::StoreBulk => self.store_bulk(env, warp, pc, inst, active),
            Op::PrefetchBulk => self.prefetch_bulk(env, warp, pc, inst, active),
            _ => {}
        }
        Next::On
    }

    /// Ends a group of copies, or waits for some.
    pub(super) fn group(&mut self, env: &mut Environment, warp: &Warp, inst: &Inst, active: u32) {
        match inst.op {
            Op::CopyCommit => env.commit_copies(warp.index, active),
            Op::CopyWait => self.copy_wait(env, warp, inst.imm, active),
            Op::BulkCommit => env.commit_bulk(warp.index, active),
            Op::BulkWait => self.bulk_wait(env, warp, inst, active),
            _ => {}
        }
    }

    /// `cp.async`
    #[inline(never)]
    fn copy_async(&mut self, env: &mut Environment, warp: &Warp, pc: u32, inst: &Inst, active: u32) {
        let copy = self.context.code.copies[inst.imm as usize];
        let to = Span { bytes: copy.bytes, at: places(warp, copy.to) };
        let from = Span { bytes: copy.bytes, at: places(warp, copy.from) };
        let taken = bytes_taken(warp, &copy);
        let mask = self.allowed(env, warp, pc, Place::Shared, active, &to);
        let whole = filter(mask, |lane| taken[lane] == copy.bytes);
        let part = filter(mask, |lane| taken[lane] != 0 && taken[lane] != copy.bytes);
        let mut data = [[0; 32]; 2];
        let refused_whole = whole & !self.take_whole(env, warp, pc, whole, &from, &mut data);
        let refused_part = part & !self.take_parts(env, warp, pc, part, &from, &taken, &mut data);
        let mask = mask & !refused_whole & !refused_part;
        self.count_copy(pc, mask & (whole | part), &from);
        let at = to.at.map(|at| at as u32);
        self.begin_copy(env, warp, pc, copy.bytes, mask, &at);
        let width = copy.bytes.min(8);
        for (element, values) in data.iter().enumerate().take((copy.bytes / width) as usize) {
            lanes(mask).for_each(|lane| env.shared.store(at[lane] + element as u32 * width, width, values[lane]));
        }
        self.changes += 1;
    }

    /// Counts what the lanes `mask` read as a load from global memory, as hardware does; where it goes counts no passes through
    /// shared memory. An instruction none of whose lanes reads anything is no request.
    fn count_copy(&mut self, pc: u32, mask: u32, from: &Span) {
        if mask == 0 {
            return;
        }
        let sectors = self.memos[pc as usize].of(mask).global_sectors(from.bytes, mask, &from.at);
        let counts = &mut self.counts[pc as usize];
        counts.requests[Place::Global as usize] += 1;
        counts.sectors += u64::from(sectors);
        self.record(Place::Global, mask, from, Passes::default(), sectors);
    }

    /// Reads all bytes of the lanes `mask`; the lanes that could.
    fn take_whole(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        mask: u32,
        from: &Span,
        data: &mut [Lanes; 2],
    ) -> u32 {
        let mask = self.allowed(env, warp, pc, Place::Global, mask, from);
        if mask != 0 {
            if self.order.is_some() {
                self.watch_order(env, warp, pc, PLAIN_READ, mask, from, &[]);
            }
            let width = from.bytes.min(8);
            self.load_global(env, warp, pc, mask, from, width, &mut data[..(from.bytes / width) as usize]);
        }
        mask
    }

    /// Reads the first bytes of lanes that do not read all; the lanes that could. The address is aligned for all of them.
    #[allow(clippy::too_many_arguments)]
    fn take_parts(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        mask: u32,
        from: &Span,
        taken: &[u32; 32],
        data: &mut [Lanes; 2],
    ) -> u32 {
        let mut read = 0;
        for lane in lanes(mask) {
            let (at, bytes) = (from.at[lane], taken[lane]);
            let inside = self.context.memory.holding(at, bytes.into());
            let askew = !at.is_multiple_of(u64::from(from.bytes));
            let Some((buffer, offset)) = inside.filter(|_| !askew) else {
                let (code, bytes) = if askew { (Code::Misaligned, from.bytes) } else { (Code::OutOfBounds, bytes) };
                self.findings.access(code, env, warp, pc, 1 << lane, Place::Global, at, bytes);
                continue;
            };
            read |= 1 << lane;
            if self.context.side_by_side {
                env.log.read(at, at + u64::from(bytes));
            }
            for byte in 0..bytes {
                let at = Span { bytes: 1, at: [at + u64::from(byte); 32] };
                if self.order.is_some() {
                    self.watch_order(env, warp, pc, PLAIN_READ, 1 << lane, &at, &[]);
                }
                if !buffer.is_all_written() && self.context.options.checks.has(Check::UninitialisedRead) {
                    self.watch_global(env, warp, pc, 1 << lane, &at, buffer, from.at[lane] - offset);
                }
                let value = buffer.load(offset + u64::from(byte), 1);
                data[byte as usize / 8][lane] |= value << (8 * (byte % 8));
            }
        }
        read
    }

    /// Tells the race check that the lanes `mask` copy to these places from here on.
    fn begin_copy(&mut self, env: &mut Environment, warp: &Warp, pc: u32, bytes: u32, mask: u32, at: &[u32; 32]) {
        let unit_warp = unit_warp(env.rank, warp.index);
        let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) else { return };
        if mask == 0 {
            return;
        }
        let access = Access { warp: unit_warp, mask, pc, bytes, addresses: at };
        let id = shadow.begin_copy(clocks, access, &mut self.races);
        let copies = env.copies_of(warp.index);
        let group = copies.committed;
        copies.flying.push(Flying { id, warp: unit_warp, pc, bytes, mask, at: *at, group });
        self.take_races(env, env.rank);
    }

    /// `cp.async.wait_group`, with the number of groups that need not be over, or `cp.async.wait_all` with a negative one.
    #[inline(never)]
    fn copy_wait(&mut self, env: &mut Environment, warp: &Warp, groups: i64, active: u32) {
        if env.shared.shadow.is_none() || env.copies.is_empty() {
            return;
        }
        let unit_warp = unit_warp(env.rank, warp.index);
        let copies = env.copies_of(warp.index);
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
        // What a barrier object waits for as well is over all the same for the thread that waited here.
        let handed_over = env.mbarriers.values_mut().flat_map(|side| side.copies.iter_mut());
        landed.extend(handed_over.filter(|flying| flying.warp == unit_warp).map(over));
        env.mbarriers.values_mut().for_each(|side| side.copies.retain(|flying| flying.mask != 0));
        env.learn_of_own(unit_warp, over);
        let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) else { return };
        for flying in landed.iter().filter(|flying| flying.mask != 0) {
            shadow.stamp_copy(clocks, flying.access(flying.mask));
            shadow.end_copy(flying.id, flying.access(flying.mask));
        }
    }
}

pub(super) const PLAIN_READ: Strength =
    Strength { order: Order::Weak, scope: Scope::Cta, act: Act::Read, is_atomic: false };

impl Environment {
    fn copies_of(&mut self, warp: u32) -> &mut Copies {
        let at = warp as usize;
        if self.copies.len() <= at {
            self.copies.resize_with(at + 1, Copies::default);
        }
        &mut self.copies[at]
    }

    /// The lanes that wait here know of what barrier objects have counted of their own copies.
    fn learn_of_own(&mut self, unit_warp: u32, over: impl Fn(&mut Flying) -> Flying) {
        let Some(clocks) = &mut self.team.clocks else { return };
        for (&at, side) in &mut self.mbarriers {
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
            let copies = self.copies_of(warp);
            lanes(active).for_each(|lane| copies.committed[lane] += 1);
        }
    }
}
