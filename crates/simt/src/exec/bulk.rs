//! Bulk copies from global to shared memory, counted by a barrier object, and bulk prefetches.
//!
//! Like other asynchronous copies they are carried out where they start, and no thread may use the bytes before the phase of the
//! barrier object that counts them is over. A bulk copy also hands over all earlier accesses of its thread to each thread that
//! sees the end of the phase: more than PTX promises, so a race with another access of that thread may be missed.

use super::Machine;
use super::copy::{Flying, PLAIN_READ, places};
use super::findings::Detail;
use super::issue::{Access, Issue, Place};
use super::mbarrier::{COMPLETE_BYTES, ObjectPlace};
use super::team::block_and_offset;
use crate::code::{BulkCopy, Target};
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::race::{self, Strength};

/// Granule of a bulk copy: address and size are multiples of it, in bytes.
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
    pub(super) fn copy_bulk(&mut self, issue: &mut Issue<'_>) -> bool {
        let BulkCopy { to, from, bytes, object } = self.context.code.bulk_copies[issue.inst.imm as usize];
        let [to, from, object] = [to, from, object].map(|place| places(issue.warp, place));
        let bytes = issue.warp.w[usize::from(bytes)].0;
        // An address that names this block means what it means without a name.
        let [to, object] = [to, object].map(|at| at.map(block_and_offset));
        let team = &issue.env.team;
        let (own, size) = (u64::from(issue.env.rank), team.size());
        let rank = |lane: usize| to[lane].0.unwrap_or(own).max(object[lane].0.unwrap_or(own));
        let nowhere = filter(issue.active, |lane| rank(lane) >= u64::from(size));
        if nowhere != 0 {
            let rank = rank((nowhere.trailing_zeros() & 31) as usize).min(u64::from(u32::MAX)) as u32;
            let detail = Detail::NoBlock { rank, size, ended: team.blocks.get(rank as usize).copied() };
            self.findings.found(issue, nowhere, Code::OutOfBounds, detail);
        }
        let is_own = |lane: usize| [to[lane].0, object[lane].0].iter().all(|rank| rank.is_none_or(|rank| rank == own));
        let away = filter(issue.active & !nowhere, |lane| !is_own(lane));
        if away != 0 {
            self.findings.found(issue, away, Code::UnsupportedInstruction, Detail::CopyAway);
            return false;
        }
        for lane in lanes(issue.active & !nowhere) {
            let copy = Copy { to: to[lane].1, from: from[lane], bytes: bytes[lane], object: object[lane].1 };
            if self.admit_bulk(issue, lane, &copy) {
                self.read_bulk(issue, lane, &copy);
                self.tell_object(issue, lane, &copy);
                self.changes += 1;
            }
        }
        true
    }

    /// Returns whether one lane's copy is aligned, and inside on both sides.
    fn admit_bulk(&mut self, issue: &Issue<'_>, lane: usize, copy: &Copy) -> bool {
        let (from, to) = ((Place::Global, copy.from), (Place::Shared, copy.to));
        if !self.admit_bulk_range(issue, lane, from, to, copy.bytes) {
            return false;
        }
        let object = [copy.object; 32];
        self.admit(issue, Access::new(Place::Shared, 1 << lane, 8, &object, PLAIN_READ)).lanes != 0
    }

    /// Moves the bytes, with the checks of what is read.
    fn read_bulk(&mut self, issue: &mut Issue<'_>, lane: usize, copy: &Copy) {
        let Some((buffer, offset)) = self.context.memory.buffer(copy.from) else { return };
        let strength = Strength { reads: !buffer.is_all_written(), ..PLAIN_READ };
        for part in (0..u64::from(copy.bytes)).step_by(PART_BYTES as usize) {
            let from = [copy.from + part; 32];
            let access = Access::new(Place::Global, 1 << lane, PART_BYTES as u32, &from, strength);
            self.check(issue, &Access { buffer: Some((buffer, copy.from - offset)), ..access });
            self.take_along(Target::Shared, &[copy.to + part; 32]);
            let value = buffer.load(offset + part, PART_BYTES as u32);
            issue.env.shared.store((copy.to + part) as u32, PART_BYTES as u32, value);
        }
        self.unload(issue.env);
    }

    /// Announces the bytes to the object and completes them at once.
    fn tell_object(&mut self, issue: &mut Issue<'_>, lane: usize, copy: &Copy) {
        let (addresses, object) = ([copy.to as u32; 32], copy.object as u32);
        let access = race::Access {
            warp: issue.unit_warp(),
            mask: 1 << lane,
            pc: issue.pc,
            bytes: copy.bytes,
            addresses: &addresses,
        };
        let env = &mut *issue.env;
        if let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) {
            let id = shadow.begin_copy(clocks, access, &mut self.races);
            env.shared.mbarriers.entry(object).or_default().copies.push(Flying::for_lane(id, access));
            self.take_races(issue, None);
        }
        let object = ObjectPlace { owner: None, at: object };
        issue.env.arrive_at(issue.warp, lane, object, true);
        self.on_object(issue, COMPLETE_BYTES, lane, object, copy.bytes);
    }

    /// `cp.async.bulk.prefetch`: a hint like other prefetches, to wherever it goes, but one that PTX leaves undefined unless
    /// address and size are multiples of 16.
    #[inline(never)]
    pub(super) fn prefetch_bulk(&mut self, issue: &Issue<'_>) {
        let (at, sizes) = (issue.addresses(), issue.warp.w[usize::from(issue.inst.b)].0);
        let askew = filter(issue.active, |lane| !at[lane].is_multiple_of(u64::from(BULK_GRANULE_BYTES)));
        if askew != 0 {
            let access = Access::new(Place::Global, askew, BULK_GRANULE_BYTES, &at, PLAIN_READ);
            self.findings.access(Code::Misaligned, issue, askew, &access);
        }
        let odd = filter(issue.active & !askew, |lane| !sizes[lane].is_multiple_of(BULK_GRANULE_BYTES));
        if odd != 0 {
            let bytes = sizes[odd.trailing_zeros() as usize];
            let detail = Detail::Granule { bytes, multiple: BULK_GRANULE_BYTES };
            self.findings.found(issue, odd, Code::Misaligned, detail);
        }
    }
}
