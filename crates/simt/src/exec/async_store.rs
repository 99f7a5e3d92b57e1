//! `st.async`: stores into the shared memory of a block of the cluster, its own or another, that a barrier object there counts.
//!
//! Like an asynchronous copy such a store is carried out where it starts, and no thread may touch its words before the phase of the
//! barrier object that counts it is over: until a thread has seen that, every access of it to them, also of the thread that
//! stores, is a race (`race::flights`). The store itself comes behind all that its thread has done, so it races with reads of
//! what was there before unless those are ordered before it.
//!
//! Weaker than PTX: the store also hands over all earlier accesses of its thread to each thread that sees the end of the phase,
//! where PTX promises that of the stored values alone, so a race with another access of that thread may be missed. Stores of one
//! instruction to one place are not distinguished, and an undefined value counts as used where it is stored.
//!
//! Counters: a request of a store, and no pass through banks, even where it stays in its own block. That is what `remote` counts of
//! lanes that leave the block; what an H200 counts for `st.async` has not been recorded.

use super::Machine;
use super::alu::widened;
use super::copy::{Flying, PLAIN_READ, PLAIN_WRITE, places};
use super::findings::Detail;
use super::issue::{Access, Issue, Lanes, Place};
use super::mbarrier::{COMPLETE_BYTES, ObjectPlace};
use super::remote::by_name;
use super::team::block_and_offset;
use crate::code::{AsyncStore, MemOp, NONE};
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::race;

/// Bytes of a barrier object.
const OBJECT_BYTES: u32 = 8;

impl Machine<'_> {
    /// `st.async`
    #[inline(never)] // the run loop stays small
    pub(super) fn store_async(&mut self, mut issue: Issue<'_>, op: MemOp) {
        let issue = &mut issue;
        let AsyncStore { to, object, values } = self.context.code.async_stores[issue.inst.imm as usize];
        let row = |&reg: &u16| match op.width.wide {
            true => issue.warp.d[usize::from(reg)].0,
            false => widened(&issue.warp.w[usize::from(reg)].0),
        };
        let values: Vec<Lanes> = values.iter().filter(|&&reg| reg != NONE).map(row).collect();
        let [to, object] = [to, object].map(|place| by_name(issue.env, &places(issue.warp, place)));
        let mask = self.counted_where_stored(issue, &to, &object);
        let offsets = object.map(|object| block_and_offset(object).1);
        let access = Access { values: &values, ..Access::new(Place::Shared, mask, op.bytes(), &to, PLAIN_WRITE) };
        for group in self.groups(issue, &access) {
            let of_objects = Access::new(Place::Shared, group.lanes, OBJECT_BYTES, &offsets, PLAIN_READ);
            let owner = Some(group.owner);
            let mask = self.admit_remote(issue, group.owner, &Access { owner, ..of_objects });
            let access = Access { lanes: mask, ..group.access(&access) };
            self.record_remote(issue, &access);
            self.begin_stores(issue, &access, &offsets);
            for lane in lanes(mask) {
                let place = ObjectPlace { owner, at: offsets[lane] as u32 };
                issue.env.arrive_at(issue.warp, lane, place, true);
                self.on_object(issue, COMPLETE_BYTES, lane, place, access.bytes);
            }
        }
    }

    /// Returns the lanes whose barrier object lies in the block that they store to; the others become a finding.
    fn counted_where_stored(&mut self, issue: &Issue<'_>, to: &[u64; 32], object: &[u64; 32]) -> u32 {
        let rank = |at: u64| block_and_offset(at).0.unwrap_or(0);
        let size = u64::from(issue.env.team.size());
        let apart = |lane: usize| rank(to[lane]) < size && rank(to[lane]) != rank(object[lane]);
        let wrong = filter(issue.active, apart);
        if wrong != 0 {
            let lane = (wrong.trailing_zeros() & 31) as usize;
            let [rank, counts] = [to[lane], object[lane]].map(|at| rank(at) as u32);
            self.findings.found(issue, wrong, Code::OutOfBounds, Detail::CountedElsewhere { rank, counts });
        }
        issue.active & !wrong
    }

    /// Stores what the lanes of `access` store to one block, which the phases of their objects wait for.
    fn begin_stores(&mut self, issue: &mut Issue<'_>, access: &Access<'_>, objects: &[u64; 32]) {
        let (warp, pc, mask) = (issue.unit_warp(), issue.pc, access.lanes);
        let (owner, width, at) = (access.owner, access.width(), access.at.map(|at| at as u32));
        if mask == 0 {
            return;
        }
        let (Some(shared), clocks) = issue.env.shared_and_clocks(owner) else { return };
        if let (Some(shadow), Some(clocks)) = (&mut shared.shadow, clocks) {
            let access = race::Access { warp, mask, pc, bytes: access.bytes, addresses: &at };
            let id = shadow.begin_copy(clocks, access, &mut self.races);
            for lane in lanes(mask) {
                let own = Flying::for_lane(id, race::Access { mask: 1 << lane, ..access });
                shared.mbarriers.entry(objects[lane] as u32).or_default().copies.push(own);
            }
        }
        for (element, values) in (0..).zip(access.values) {
            lanes(mask).for_each(|lane| shared.store(at[lane] + element * width, width, values[lane]));
        }
        self.changes += 1;
        self.take_races(issue, owner);
    }
}
