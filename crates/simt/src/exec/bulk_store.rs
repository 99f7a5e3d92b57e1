//! Bulk copies and bulk reductions from shared to global memory, and the groups by which their thread waits for them.
//!
//! They are carried out where they start. Until the thread that started one has waited (`.read` is enough), it may still be
//! reading: a write to its source meanwhile, by that thread included, races with it. What it writes counts as written by
//! its thread when it starts and, if the thread waits for more than the reading, once more when it has waited; so a read by
//! another thread in between is reported. A missing fence between the proxies is not.

use super::Machine;
use super::block::{Environment, entry_of};
use super::bulk::{BULK_GRANULE_BYTES, PART_BYTES};
use super::copy::places;
use super::findings::Detail;
use super::issue::{Access, Issue, Place};
use super::team::block_and_offset;
use crate::code::{AtomOp, BulkStore, Order, Scope, Target};
use crate::fault::Code;
use crate::masks::lanes;
use crate::race::global::Act;
use crate::race::{self, Strength};

/// A copy that one lane has started and not waited for.
#[derive(Debug, Clone)]
struct Outgoing {
    /// Number of the copy in the shadow of shared memory, until the lane has waited for the reading.
    read: Option<u32>,
    lane: usize,
    pc: u32,
    from: u32,
    to: u64,
    bytes: u32,
    /// Bytes and strength of what is written together.
    part_bytes: u32,
    strength: Strength,
    /// The group of its lane that it belongs to.
    group: u32,
}

/// The bulk groups of one warp. Only the race checks ask for them.
#[derive(Debug, Clone, Default)]
pub(super) struct BulkGroups {
    outgoing: Vec<Outgoing>,
    /// Groups that each lane has committed.
    committed: [u32; 32],
}

impl Outgoing {
    /// Its read, as the race check of shared memory sees it.
    fn source<'a>(&self, warp: u32, addresses: &'a [u32; 32]) -> race::Access<'a> {
        race::Access { warp, mask: 1 << self.lane, pc: self.pc, bytes: self.bytes, addresses }
    }
}

/// The strength of the writes: of a reduction, that of a relaxed atomic.
fn strength(reduction: Option<AtomOp>) -> Strength {
    let is_atomic = reduction.is_some();
    let order = if is_atomic { Order::Relaxed } else { Order::Weak };
    Strength { order, scope: Scope::Gpu, act: Act::Write, is_atomic, reads: is_atomic }
}

impl Machine<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk` from shared to global memory.
    #[inline(never)]
    pub(super) fn store_bulk(&mut self, issue: &mut Issue<'_>) {
        let BulkStore { to, from, bytes, reduction } = self.context.code.bulk_stores[issue.inst.imm as usize];
        let [to, from] = [to, from].map(|place| places(issue.warp, place));
        let bytes = issue.warp.w[usize::from(bytes)].0;
        for lane in lanes(issue.active) {
            // An address that names this block means what it means without a name; the source lies in no other.
            let (to, from) = (to[lane], block_and_offset(from[lane]).1);
            if !self.admit_bulk_range(issue, lane, (Place::Shared, from), (Place::Global, to), bytes[lane]) {
                continue;
            }
            let outgoing = Outgoing {
                read: None,
                lane,
                pc: issue.pc,
                from: from as u32,
                to,
                bytes: bytes[lane],
                part_bytes: reduction.map_or(PART_BYTES as u32, |op| u32::from(op.bytes)),
                strength: strength(reduction),
                group: 0,
            };
            self.write_bulk(issue, &outgoing, reduction);
            self.remember_store(issue, outgoing);
            self.changes += 1;
        }
    }

    /// Moves the bytes, with the checks of what is read and written.
    fn write_bulk(&mut self, issue: &mut Issue<'_>, copy: &Outgoing, reduction: Option<AtomOp>) {
        let Some((buffer, offset)) = self.context.memory.buffer(copy.to) else { return };
        let mut watches = !issue.env.shared.written.is_empty();
        let mask = 1 << copy.lane;
        for part in (0..copy.bytes).step_by(copy.part_bytes as usize) {
            let (from, at) = (copy.from + part, offset + u64::from(part));
            if watches && !issue.env.shared.is_written(from, copy.part_bytes) {
                let at = [u64::from(from); 32];
                let source = Access::new(Place::Shared, mask, copy.part_bytes, &at, copy.strength);
                if reduction.is_some() {
                    self.findings.access(Code::UninitialisedRead, issue, mask, &source);
                    watches = false;
                } else {
                    self.unread_elements(issue, mask, &source);
                    self.take_along(Target::Global, &[copy.to + u64::from(part); 32]);
                }
            }
            let new = issue.env.shared.load(from, copy.part_bytes);
            let (to, values) = ([copy.to + u64::from(part); 32], [[new; 32]]);
            let access = Access {
                buffer: Some((buffer, copy.to - offset)),
                values: if reduction.is_some() { &[] } else { &values },
                ..Access::new(Place::Global, mask, copy.part_bytes, &to, copy.strength)
            };
            self.check(issue, &access);
            let old = || buffer.load(at, copy.part_bytes);
            let value = reduction.map_or(new, |op| super::atomic::combine(op, old(), new, 0));
            buffer.store(at, copy.part_bytes, value);
        }
        self.unload(issue.env);
    }

    /// Tells the race check of the source, and keeps what the wait must know.
    fn remember_store(&mut self, issue: &mut Issue<'_>, mut copy: Outgoing) {
        let (at, warp) = ([copy.from; 32], issue.unit_warp());
        if let (Some(shadow), Some(clocks)) = (&mut issue.env.shared.shadow, &mut issue.env.team.clocks) {
            copy.read = Some(shadow.begin_reading(clocks, copy.source(warp, &at), &mut self.races));
            self.take_races(issue, None);
        }
        if issue.env.team.clocks.is_some() {
            let groups = entry_of(&mut issue.env.bulk_groups, issue.warp.index);
            copy.group = groups.committed[copy.lane];
            groups.outgoing.push(copy);
        }
    }

    /// `cp.async.bulk.wait_group` and `.wait_group.read`, with the number of groups that need not be over.
    #[inline(never)]
    pub(super) fn bulk_wait(&mut self, issue: &mut Issue<'_>) {
        let (spared, only_reads, warp) = (issue.inst.imm as u64, issue.inst.e != 0, issue.unit_warp());
        let Some(groups) = issue.env.bulk_groups.get_mut(issue.warp.index as usize) else { return };
        let committed = groups.committed;
        let is_over = |copy: &Outgoing| {
            issue.active & (1 << copy.lane) != 0 && u64::from(copy.group) + spared < u64::from(committed[copy.lane])
        };
        let mut over = Vec::new();
        for copy in groups.outgoing.iter_mut().filter(|copy| is_over(copy)) {
            over.push(copy.clone());
            copy.read = None;
        }
        groups.outgoing.retain(|copy| only_reads || !is_over(copy));
        for copy in over {
            let env = &mut *issue.env;
            if let (Some(shadow), Some(clocks), Some(id)) = (&mut env.shared.shadow, &mut env.team.clocks, copy.read) {
                shadow.end_reading(clocks, id, copy.source(warp, &[copy.from; 32]));
            }
            if self.order.is_some() && !only_reads {
                for part in (0..copy.bytes).step_by(copy.part_bytes as usize) {
                    let to = [copy.to + u64::from(part); 32];
                    let access = Access::new(Place::Global, 1 << copy.lane, copy.part_bytes, &to, copy.strength);
                    // The instruction that wrote it is the copy.
                    self.watch_order(&mut Issue { pc: copy.pc, ..issue.again() }, &access);
                }
            }
        }
    }

    /// Returns whether one lane's copy of `bytes` bytes is aligned, and inside on both sides.
    pub(super) fn admit_bulk_range(
        &mut self,
        issue: &Issue<'_>,
        lane: usize,
        from: (Place, u64),
        to: (Place, u64),
        bytes: u32,
    ) -> bool {
        let (mask, granule) = (1 << lane, u64::from(BULK_GRANULE_BYTES));
        for (place, address) in [to, from] {
            let inside = match place {
                Place::Shared => address + u64::from(bytes) <= u64::from(self.context.shared_bytes),
                _ => self.context.holding(address, u64::from(bytes)).is_some(),
            };
            let (code, bytes) = if !address.is_multiple_of(granule) {
                (Code::Misaligned, BULK_GRANULE_BYTES)
            } else if !inside {
                (Code::OutOfBounds, bytes)
            } else {
                continue;
            };
            self.findings.found(issue, mask, code, Detail::Access { place, address, bytes });
            return false;
        }
        if !bytes.is_multiple_of(BULK_GRANULE_BYTES) {
            let detail = Detail::Granule { bytes, multiple: BULK_GRANULE_BYTES };
            self.findings.found(issue, mask, Code::Misaligned, detail);
            return false;
        }
        true
    }
}

impl Environment {
    /// `cp.async.bulk.commit_group`
    pub(super) fn commit_bulk(&mut self, warp: u32, active: u32) {
        if let Some(groups) = self.bulk_groups.get_mut(warp as usize) {
            lanes(active).for_each(|lane| groups.committed[lane] += 1);
        }
    }
}
