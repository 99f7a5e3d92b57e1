//! Bulk copies and bulk reductions from shared to global memory, and the groups by which their thread waits for them.
//!
//! They are carried out where they start. Until the thread that started one has waited (`.read` is enough), it may still be
//! reading: whoever writes to its source meanwhile, that thread included, races with it. What it writes counts as written by
//! its thread when it starts and, if the thread waits for more than the reading, once more when it has waited; so a thread of
//! another place that reads it in between is told. That a fence between the proxies is missing is not.

use super::Machine;
use super::block::Environment;
use super::bulk::{BULK_GRANULE_BYTES, PART_BYTES};
use super::copy::places;
use super::memory::{Place, Span};
use super::order::Strength;
use super::team::{block_and_offset, unit_warp};
use super::warp::Warp;
use crate::code::{AtomOp, BulkStore, Inst, Order, Scope};
use crate::fault::Code;
use crate::launch::Check;
use crate::masks::lanes;
use crate::race::Access;
use crate::race::global::Act;

/// What one lane has started and not waited for.
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

/// The strength of the writes: of a reduction, that of a relaxed atomic.
fn strength(reduction: Option<AtomOp>) -> Strength {
    let order = if reduction.is_some() { Order::Relaxed } else { Order::Weak };
    Strength { order, scope: Scope::Gpu, act: Act::Write, is_atomic: reduction.is_some() }
}

impl Machine<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk` from shared to global memory.
    #[inline(never)]
    pub(super) fn store_bulk(&mut self, env: &mut Environment, warp: &Warp, pc: u32, inst: &Inst, active: u32) {
        let BulkStore { to, from, bytes, reduction } = self.context.code.bulk_stores[inst.imm as usize];
        let [to, from] = [to, from].map(|place| places(warp, place));
        let bytes = warp.w[usize::from(bytes)].0;
        for lane in lanes(active) {
            // An address that names this block means what it means without a name; the source lies in no other.
            let (to, from) = (to[lane], block_and_offset(from[lane]).1);
            if !self.admit_bulk_range(env, warp, pc, lane, (Place::Shared, from), (Place::Global, to), bytes[lane]) {
                continue;
            }
            let outgoing = Outgoing {
                read: None,
                lane,
                pc,
                from: from as u32,
                to,
                bytes: bytes[lane],
                part_bytes: reduction.map_or(PART_BYTES as u32, |op| u32::from(op.bytes)),
                strength: strength(reduction),
                group: 0,
            };
            self.write_bulk(env, warp, &outgoing, reduction);
            self.remember_store(env, warp, outgoing);
            self.changes += 1;
        }
    }

    /// Moves the bytes, with the checks of what is read and written.
    fn write_bulk(&mut self, env: &mut Environment, warp: &Warp, copy: &Outgoing, reduction: Option<AtomOp>) {
        let Some((buffer, offset)) = self.context.memory.buffer(copy.to) else { return };
        if self.context.side_by_side {
            let (low, high) = (copy.to, copy.to + u64::from(copy.bytes));
            env.log.write(low, high, 1 << copy.lane, copy.bytes, &[low; 32]);
        }
        let mut watches = !env.shared.written.is_empty();
        let mask = 1 << copy.lane;
        for part in (0..copy.bytes).step_by(copy.part_bytes as usize) {
            let (from, at) = (copy.from + part, offset + u64::from(part));
            if watches && !env.shared.is_written(from, copy.part_bytes) {
                let code = Code::UninitialisedRead;
                self.findings.access(code, env, warp, copy.pc, mask, Place::Shared, from.into(), copy.part_bytes);
                watches = false;
            }
            let new = env.shared.load(from, copy.part_bytes);
            let span = Span { bytes: copy.part_bytes, at: [copy.to + u64::from(part); 32] };
            if reduction.is_some()
                && !buffer.is_all_written()
                && self.context.options.checks.has(Check::UninitialisedRead)
            {
                self.watch_global(env, warp, copy.pc, mask, &span, buffer, copy.to - offset);
            }
            if self.order.is_some() {
                let values = [[new; 32]];
                let values = if reduction.is_some() { &[][..] } else { &values[..] };
                self.watch_order(env, warp, copy.pc, copy.strength, mask, &span, values);
            }
            let old = || buffer.load(at, copy.part_bytes);
            let value = reduction.map_or(new, |op| super::atomic::combine(op, old(), new, 0));
            buffer.store(at, copy.part_bytes, value);
        }
    }

    /// Tells the race check of the source, and keeps what the wait must know.
    fn remember_store(&mut self, env: &mut Environment, warp: &Warp, mut copy: Outgoing) {
        let unit_warp = unit_warp(env.rank, warp.index);
        let at = [copy.from; 32];
        let access = Access { warp: unit_warp, mask: 1 << copy.lane, pc: copy.pc, bytes: copy.bytes, addresses: &at };
        if let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) {
            copy.read = Some(shadow.begin_reading(clocks, access, &mut self.races));
            self.take_races(env, env.rank);
        }
        if env.team.clocks.is_some() {
            let groups = env.bulk_groups_of(warp.index);
            copy.group = groups.committed[copy.lane];
            groups.outgoing.push(copy);
        }
    }

    /// `cp.async.bulk.wait_group` and `.wait_group.read`, with the number of groups that need not be over.
    #[inline(never)]
    pub(super) fn bulk_wait(&mut self, env: &mut Environment, warp: &Warp, inst: &Inst, active: u32) {
        let (spared, only_reads) = (inst.imm as u64, inst.e != 0);
        let Some(groups) = env.bulk_groups.get_mut(warp.index as usize) else { return };
        let committed = groups.committed;
        let is_over = |copy: &Outgoing| {
            active & (1 << copy.lane) != 0 && u64::from(copy.group) + spared < u64::from(committed[copy.lane])
        };
        let mut over = Vec::new();
        for copy in groups.outgoing.iter_mut().filter(|copy| is_over(copy)) {
            over.push(copy.clone());
            copy.read = None;
        }
        groups.outgoing.retain(|copy| only_reads || !is_over(copy));
        let unit_warp = unit_warp(env.rank, warp.index);
        for copy in over {
            if let (Some(shadow), Some(clocks), Some(id)) = (&mut env.shared.shadow, &mut env.team.clocks, copy.read) {
                let (mask, at) = (1 << copy.lane, [copy.from; 32]);
                let access = Access { warp: unit_warp, mask, pc: copy.pc, bytes: copy.bytes, addresses: &at };
                shadow.end_reading(clocks, id, access);
            }
            if self.order.is_some() && !only_reads {
                for part in (0..copy.bytes).step_by(copy.part_bytes as usize) {
                    let span = Span { bytes: copy.part_bytes, at: [copy.to + u64::from(part); 32] };
                    self.watch_order(env, warp, copy.pc, copy.strength, 1 << copy.lane, &span, &[]);
                }
            }
        }
    }

    /// Whether one lane's copy of `bytes` bytes is aligned, and inside on both sides.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn admit_bulk_range(
        &mut self,
        env: &Environment,
        warp: &Warp,
        pc: u32,
        lane: usize,
        from: (Place, u64),
        to: (Place, u64),
        bytes: u32,
    ) -> bool {
        let (mask, granule) = (1 << lane, u64::from(BULK_GRANULE_BYTES));
        for (place, at) in [to, from] {
            let inside = match place {
                Place::Shared => at + u64::from(bytes) <= u64::from(self.context.shared_bytes),
                _ => self.context.memory.holding(at, u64::from(bytes)).is_some(),
            };
            let code = if !at.is_multiple_of(granule) {
                Code::Misaligned
            } else if !inside {
                Code::OutOfBounds
            } else {
                continue;
            };
            let bytes = if code == Code::Misaligned { BULK_GRANULE_BYTES } else { bytes };
            self.findings.access(code, env, warp, pc, mask, place, at, bytes);
            return false;
        }
        if !bytes.is_multiple_of(BULK_GRANULE_BYTES) {
            self.findings.granule(env, warp, pc, mask, bytes, BULK_GRANULE_BYTES);
            return false;
        }
        true
    }
}

impl Environment {
    fn bulk_groups_of(&mut self, warp: u32) -> &mut BulkGroups {
        let at = warp as usize;
        if self.bulk_groups.len() <= at {
            self.bulk_groups.resize_with(at + 1, BulkGroups::default);
        }
        &mut self.bulk_groups[at]
    }

    /// `cp.async.bulk.commit_group`
    pub(super) fn commit_bulk(&mut self, warp: u32, active: u32) {
        if let Some(groups) = self.bulk_groups.get_mut(warp as usize) {
            lanes(active).for_each(|lane| groups.committed[lane] += 1);
        }
    }
}
