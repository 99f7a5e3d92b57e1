//! Bulk copies from global to shared memory, of which a barrier object is told, and bulk prefetches.
//!
//! As other asynchronous copies they are carried out where they start, and are nobody's until the phase of the barrier object
//! that counts their bytes is over. With a bulk copy its thread hands over, for whoever sees the end of the phase, all that it
//! did before: more than PTX promises, so a race with something else of that thread may be missed.

use super::Machine;
use super::block::Environment;
use super::copy::{Flying, PLAIN_READ, places};
use super::memory::{Place, Span, addresses};
use super::team::{block_and_offset, unit_warp};
use super::warp::Warp;
use crate::code::{BulkCopy, Inst, MbarrierAct, MbarrierOp};
use crate::fault::Code;
use crate::launch::Check;
use crate::masks::{filter, lanes};
use crate::race::Access;

/// What the address and the size of a bulk copy must be a multiple of, in bytes.
pub(super) const BULK_GRANULE_BYTES: u32 = 16;

/// Bytes that are looked at together.
pub(super) const PART_BYTES: u64 = 8;

/// One lane's copy.
struct Copy {
    to: u64,
    from: u64,
    bytes: u32,
    object: u64,
}

impl Machine<'_> {
    /// `cp.async.bulk` to shared memory. False if the launch is over.
    #[inline(never)]
    pub(super) fn copy_bulk(&mut self, env: &mut Environment, warp: &Warp, pc: u32, inst: &Inst, active: u32) -> bool {
        let BulkCopy { to, from, bytes, object } = self.context.code.bulk_copies[inst.imm as usize];
        let [to, from, object] = [to, from, object].map(|place| places(warp, place));
        let bytes = warp.w[usize::from(bytes)].0;
        // An address that names this block means what it means without a name.
        let [to, object] = [to, object].map(|at| at.map(block_and_offset));
        let (own, size) = (u64::from(env.rank), u64::from(env.team.size()));
        let rank = |lane: usize| to[lane].0.unwrap_or(own).max(object[lane].0.unwrap_or(own));
        let nowhere = filter(active, |lane| rank(lane) >= size);
        if nowhere != 0 {
            let named = rank((nowhere.trailing_zeros() & 31) as usize).min(u64::from(u32::MAX)) as u32;
            self.findings.no_block(env, warp, pc, nowhere, named);
        }
        let is_own = |lane: usize| [to[lane].0, object[lane].0].iter().all(|rank| rank.is_none_or(|rank| rank == own));
        let away = filter(active & !nowhere, |lane| !is_own(lane));
        if away != 0 {
            self.findings.copy_away(env, warp, pc, away);
            return false;
        }
        for lane in lanes(active & !nowhere) {
            let copy = Copy { to: to[lane].1, from: from[lane], bytes: bytes[lane], object: object[lane].1 };
            if self.admit_bulk(env, warp, pc, lane, &copy) {
                self.read_bulk(env, warp, pc, lane, &copy);
                self.tell_object(env, warp, pc, lane, &copy);
                self.changes += 1;
            }
        }
        true
    }

    /// Whether one lane's copy is aligned, and inside on both sides.
    fn admit_bulk(&mut self, env: &Environment, warp: &Warp, pc: u32, lane: usize, copy: &Copy) -> bool {
        let (from, to) = ((Place::Global, copy.from), (Place::Shared, copy.to));
        if !self.admit_bulk_range(env, warp, pc, lane, from, to, copy.bytes) {
            return false;
        }
        let object = Span { bytes: 8, at: [copy.object; 32] };
        self.admit(env, warp, pc, Place::Shared, 1 << lane, &object) != 0
    }

    /// Moves the bytes, with the checks of what is read.
    fn read_bulk(&mut self, env: &mut Environment, warp: &Warp, pc: u32, lane: usize, copy: &Copy) {
        let Some((buffer, offset)) = self.context.memory.buffer(copy.from) else { return };
        let end = copy.from + u64::from(copy.bytes);
        if self.context.side_by_side {
            env.log.read(copy.from, end);
        }
        let mut watches = !buffer.is_all_written() && self.context.options.checks.has(Check::UninitialisedRead);
        for part in (0..u64::from(copy.bytes)).step_by(PART_BYTES as usize) {
            let from = Span { bytes: PART_BYTES as u32, at: [copy.from + part; 32] };
            if self.order.is_some() {
                self.watch_order(env, warp, pc, PLAIN_READ, 1 << lane, &from, &[]);
            }
            if watches && !buffer.is_written(offset + part, PART_BYTES as u32) {
                self.watch_global(env, warp, pc, 1 << lane, &from, buffer, copy.from - offset);
                watches = false;
            }
            let value = buffer.load(offset + part, PART_BYTES as u32);
            env.shared.store((copy.to + part) as u32, PART_BYTES as u32, value);
        }
    }

    /// The bytes are on their way, and the object is told when they are there: which they are at once.
    fn tell_object(&mut self, env: &mut Environment, warp: &Warp, pc: u32, lane: usize, copy: &Copy) {
        let (at, object) = ([copy.to as u32; 32], copy.object as u32);
        let unit_warp = unit_warp(env.rank, warp.index);
        if let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) {
            let access = Access { warp: unit_warp, mask: 1 << lane, pc, bytes: copy.bytes, addresses: &at };
            let id = shadow.begin_copy(clocks, access, &mut self.races);
            env.mbarriers.entry(object).or_default().copies.push(Flying::of_lane(id, access));
            self.take_races(env, env.rank);
        }
        env.arrive_at(warp, lane, object, true);
        let op = MbarrierOp { act: MbarrierAct::CompleteBytes, generic: false, ordered: true };
        self.on_object(env, warp, pc, op, lane, object, copy.bytes);
    }

    /// `cp.async.bulk.prefetch`: a hint like other prefetches, to wherever it goes, but one that PTX leaves undefined unless
    /// address and size are multiples of 16.
    #[inline(never)]
    pub(super) fn prefetch_bulk(&mut self, env: &Environment, warp: &Warp, pc: u32, inst: &Inst, active: u32) {
        let (at, sizes) = (addresses(warp, inst), warp.w[usize::from(inst.b)].0);
        let askew = filter(active, |lane| !at[lane].is_multiple_of(u64::from(BULK_GRANULE_BYTES)));
        if askew != 0 {
            let first = at[askew.trailing_zeros() as usize];
            self.findings.access(Code::Misaligned, env, warp, pc, askew, Place::Global, first, BULK_GRANULE_BYTES);
        }
        let odd = filter(active & !askew, |lane| !sizes[lane].is_multiple_of(BULK_GRANULE_BYTES));
        if odd != 0 {
            let first = sizes[odd.trailing_zeros() as usize];
            self.findings.granule(env, warp, pc, odd, first, BULK_GRANULE_BYTES);
        }
    }
}
