//! Barrier objects in shared memory.
//!
//! An object is the 64-bit word that PTX gives it; what its bits mean is our own, as it is the hardware's own there:
//!
//! ```text
//! bits  0..20  threads that each phase expects        bits 40..62  bytes still expected, signed
//! bits 20..40  threads that have still to arrive      bit  62      parity of the phase        bit 63  it has been made
//! ```
//!
//! Other blocks of the cluster change an object where it lies: they arrive (`.shared::cluster`), and `async_store` counts what it
//! stores. The scope of a release or of a wait is not asked: one of the block alone is taken to order threads of two blocks too,
//! as the usual `mbarrier.try_wait` without a scope is on the hardware, so a race for want of `.cluster` is missed.
//!
//! The state returned by an arrival is the word before it. A lane that finds a phase not over ends its turn, so that others run;
//! if it asks in a loop that nothing else keeps going, it is put aside like any lane that spins.

use std::collections::HashMap;

use super::Machine;
use super::alu::{store_predicate, store64};
use super::block::Environment;
use super::copy::{Flying, PLAIN_READ};
use super::findings::Detail;
use super::issue::{Access, Issue, Place};
use super::remote::by_name;
use super::team::{Shared, mapped, unit_warp};
use super::warp::Warp;
use crate::code::{MbarrierAct, MbarrierOp};
use crate::fault::Code;
use crate::launch::Check;
use crate::lower::mbarrier::{COUNT_BITS, PENDING_SHIFT};
use crate::masks::{filter, lanes};
use crate::memory::SHARED_BASE;
use crate::race::{self, Arrivals};

const BYTES: u32 = 8;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const TX_SHIFT: u32 = 40;
const TX_BITS: u32 = 22;
const PARITY: u64 = 1 << 62;
const MADE: u64 = 1 << 63;

/// Content of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) expected: u32,
    pub(super) pending: u32,
    pub(super) bytes: i32,
    pub(super) parity: bool,
}

impl Object {
    /// Decodes it; `None` if no object has been made here.
    pub(super) fn from_word(word: u64) -> Option<Object> {
        let bytes = (word << (64 - TX_SHIFT - TX_BITS)) as i64 >> (64 - TX_BITS);
        (word & MADE != 0).then_some(Object {
            expected: (word & COUNT_MASK) as u32,
            pending: (word >> PENDING_SHIFT & COUNT_MASK) as u32,
            bytes: bytes as i32,
            parity: word & PARITY != 0,
        })
    }

    fn word(self) -> u64 {
        let bytes = (self.bytes as u64 & ((1 << TX_BITS) - 1)) << TX_SHIFT;
        let counts = u64::from(self.expected) & COUNT_MASK | (u64::from(self.pending) & COUNT_MASK) << PENDING_SHIFT;
        counts | bytes | if self.parity { PARITY } else { 0 } | MADE
    }

    /// Goes on to the next phase if this one is over.
    fn complete(&mut self) -> bool {
        let over = u64::from(self.pending) & COUNT_MASK == 0 && self.bytes == 0;
        if over {
            self.parity = !self.parity;
            self.pending = self.expected;
        }
        over
    }
}

/// The race check's record of an object.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// Clocks handed over by the arrivals so far, and those of the last phase at its end.
    handed: Arrivals,
    met: Arrivals,
    /// Copies that the phase waits for.
    pub(super) copies: Vec<Flying>,
    /// Copies that earlier phases waited for, and the tick of the phase's end.
    pub(super) landed: Vec<(Flying, i32)>,
}

/// Records by offset in shared memory.
pub(super) type Sides = HashMap<u32, Side>;

/// A barrier object's place.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectPlace {
    /// The rank of the block that has it; `None` for the one that executes.
    pub(super) owner: Option<u32>,
    /// Its offset there.
    pub(super) at: u32,
}

/// Operation on its object that an asynchronous copy or store ends with.
pub(super) const COMPLETE_BYTES: MbarrierOp =
    MbarrierOp { act: MbarrierAct::CompleteBytes, generic: false, is_remote: false, ordered: true };

impl Machine<'_> {
    /// `mbarrier`, `cp.async.mbarrier.arrive`. True if a lane asked for the end of a phase that is not over.
    #[inline(never)]
    pub(super) fn mbarrier(&mut self, mut issue: Issue<'_>, op: MbarrierOp) -> bool {
        let issue = &mut issue;
        if op.is_remote {
            self.arrive_remote(issue, op);
            return false;
        }
        let (inst, active) = (issue.inst, issue.active);
        let base = if op.generic { SHARED_BASE } else { 0 };
        let at = issue.addresses().map(|at| at.wrapping_sub(base));
        let mask = self.admit(issue, Access::new(Place::Shared, active, BYTES, &at, PLAIN_READ)).lanes;
        let at = at.map(|at| at as u32);
        let numbers = issue.warp.w.get(usize::from(inst.b)).map_or([0; 32], |row| row.0);
        let states = issue.warp.d.get(usize::from(inst.c)).map_or([0; 32], |row| row.0);
        self.watch_object(issue, op, mask, None, &at, &numbers);
        let Issue { env, warp, .. } = issue;
        if let MbarrierAct::Test { parity, .. } = op.act {
            let over = filter(mask, |lane| {
                let of = if parity { numbers[lane] & 1 != 0 } else { states[lane] & PARITY != 0 };
                Object::from_word(env.shared.load(at[lane], BYTES)).is_none_or(|object| object.parity != of)
            });
            lanes(over).for_each(|lane| env.pass(warp, lane, at[lane], op.ordered));
            store_predicate(warp, inst.d, over, active);
            return over != mask;
        }
        let mut before = [0; 32];
        for lane in lanes(mask) {
            before[lane] = env.shared.load(at[lane], BYTES);
            let word = match (op.act, Object::from_word(before[lane])) {
                (MbarrierAct::Init, _) => env.make_object(at[lane], numbers[lane]),
                (MbarrierAct::Invalidate, _) => env.unmake_object(at[lane]),
                (_, None) => before[lane],
                (_, Some(object)) => {
                    let place = ObjectPlace { owner: None, at: at[lane] };
                    env.change_object(warp, lane, place, op, object, numbers[lane])
                }
            };
            self.changes += u64::from(word != before[lane]);
            env.shared.store(at[lane], BYTES, word);
        }
        if matches!(op.act, MbarrierAct::Arrive { .. }) {
            store64(warp, inst.d, &before, active);
        }
        false
    }

    /// `mbarrier.arrive`, `.arrive_drop` on objects of any block of the cluster, which gives no state back.
    fn arrive_remote(&mut self, issue: &mut Issue<'_>, op: MbarrierOp) {
        let at = by_name(issue.env, &issue.addresses());
        let numbers = issue.warp.w.get(usize::from(issue.inst.b)).map_or([0; 32], |row| row.0);
        for group in self.groups(issue, &Access::new(Place::Shared, issue.active, BYTES, &at, PLAIN_READ)) {
            for lane in lanes(group.lanes) {
                let place = ObjectPlace { owner: Some(group.owner), at: group.at[lane] as u32 };
                self.on_object(issue, op, lane, place, numbers[lane]);
            }
        }
    }

    /// Carries out a lane's operation on an object that is another block's, or that belongs to another instruction.
    pub(super) fn on_object(
        &mut self,
        issue: &mut Issue<'_>,
        op: MbarrierOp,
        lane: usize,
        place: ObjectPlace,
        number: u32,
    ) {
        let ObjectPlace { owner, at } = place;
        self.watch_object(issue, op, 1 << lane, owner, &[at; 32], &[number; 32]);
        let before = issue.env.shared_of(owner).map_or(0, |shared| shared.load(at, BYTES));
        let Some(object) = Object::from_word(before) else { return };
        let word = issue.env.change_object(issue.warp, lane, place, op, object, number);
        if let Some(shared) = issue.env.shared_of(owner) {
            shared.store(at, BYTES, word);
        }
        self.changes += u64::from(word != before);
    }

    /// Race and initialisation checks. An object has rules of its own: that it was made is what counts, and not that its bytes were
    /// written.
    fn watch_object(
        &mut self,
        issue: &mut Issue<'_>,
        op: MbarrierOp,
        mask: u32,
        owner: Option<u32>,
        at: &[u32; 32],
        numbers: &[u32; 32],
    ) {
        if mask == 0 {
            return;
        }
        let access = race::Access { warp: issue.unit_warp(), mask, pc: issue.pc, bytes: BYTES, addresses: at };
        if let (Some(shadow), Some(clocks)) = issue.env.shadow_of(owner) {
            match op.act {
                // `.inval` is none: the pipelines of CUDA's library order it behind the arrivals of other lanes by nothing but
                // `match.sync`, and a late lane finds no object.
                MbarrierAct::Init => {
                    shadow.write(clocks, access, &numbers.map(u64::from), &mut self.races);
                }
                MbarrierAct::Test { .. } => shadow.flag(clocks, access, &mut self.races),
                _ => shadow.atomic(clocks, access, &mut self.races),
            }
            self.take_races(issue, owner);
        }
        if op.act == MbarrierAct::Init || !self.context.options.checks.has(Check::UninitialisedRead) {
            return;
        }
        let Some(shared) = issue.env.shared_of(owner) else { return };
        let missing = filter(mask, |lane| Object::from_word(shared.load(at[lane], BYTES)).is_none());
        if missing != 0 {
            let address = at[(missing.trailing_zeros() & 31) as usize];
            self.findings.found(issue, missing, Code::UninitialisedRead, Detail::NoObject(address));
        }
    }
}

/// Key of a barrier object in the race check: its place in the cluster.
pub(super) fn landing_key(rank: u32, at: u32) -> u32 {
    mapped(at.into(), rank) as u32
}

impl Environment {
    fn make_object(&mut self, at: u32, count: u32) -> u64 {
        self.unmake_object(at);
        Object { expected: count, pending: count, bytes: 0, parity: false }.word()
    }

    fn unmake_object(&mut self, at: u32) -> u64 {
        self.shared.mbarriers.remove(&at);
        0
    }

    /// Applies an arrival, or a change of the expected bytes, and returns the object's new word.
    fn change_object(
        &mut self,
        warp: &Warp,
        lane: usize,
        place: ObjectPlace,
        op: MbarrierOp,
        mut object: Object,
        number: u32,
    ) -> u64 {
        let mut completes = true;
        match op.act {
            MbarrierAct::ExpectBytes => object.bytes = object.bytes.wrapping_add(number as i32),
            MbarrierAct::CompleteBytes => object.bytes = object.bytes.wrapping_sub(number as i32),
            MbarrierAct::CopyArrive { counted } => {
                self.hand_over_copies(warp, lane, place.at);
                self.arrive_at(warp, lane, place, true);
                // Without `.noinc` one more is expected than the copies' arrival takes away again.
                object.pending = object.pending.wrapping_sub(u32::from(counted));
            }
            MbarrierAct::Arrive { completes: may_complete, drops, expects } => {
                completes = may_complete;
                let arriving = if expects { 1 } else { number };
                if expects {
                    object.bytes = object.bytes.wrapping_add(number as i32);
                }
                if drops {
                    object.expected = object.expected.wrapping_sub(arriving);
                }
                object.pending = object.pending.wrapping_sub(arriving);
                self.arrive_at(warp, lane, place, op.ordered);
            }
            MbarrierAct::Init | MbarrierAct::Invalidate | MbarrierAct::Test { .. } => {}
        }
        if completes && object.complete() {
            self.end_phase(place);
        }
        object.word()
    }

    /// The lane hands over what it did.
    pub(super) fn arrive_at(&mut self, warp: &Warp, lane: usize, place: ObjectPlace, releases: bool) {
        let unit_warp = unit_warp(self.rank, warp.index);
        let (Some(shared), Some(clocks)) = self.shared_and_clocks(place.owner) else { return };
        if releases {
            let handed = &mut shared.mbarriers.entry(place.at).or_default().handed;
            clocks.arrive(handed, unit_warp, 1 << lane);
        }
    }

    /// The phase waits for the copies that the lane has started.
    fn hand_over_copies(&mut self, warp: &Warp, lane: usize, at: u32) {
        let Some(copies) = self.copies.get_mut(warp.index as usize) else { return };
        let flying = copies.take(1 << lane);
        self.shared.mbarriers.entry(at).or_default().copies.extend(flying);
    }

    fn end_phase(&mut self, ObjectPlace { owner, at }: ObjectPlace) {
        let key = landing_key(owner.unwrap_or(self.rank), at);
        let (Some(Shared { shadow, mbarriers, .. }), clocks) = self.shared_and_clocks(owner) else { return };
        let Some(side) = mbarriers.get_mut(&at) else { return };
        if let (Some(shadow), Some(clocks), false) = (shadow, clocks, side.copies.is_empty()) {
            let tick = clocks.landing();
            side.landed.retain(|(flying, _)| shadow.is_flying(flying.id(), flying.access(flying.mask())));
            for flying in side.copies.drain(..) {
                shadow.land_copy(flying.id(), flying.access(flying.mask()), key, tick);
                side.landed.push((flying, tick));
            }
            side.handed.land(key, tick);
        }
        side.met = side.handed.clone();
    }

    /// The lane has seen the end of a phase, and with it what was handed over.
    fn pass(&mut self, warp: &Warp, lane: usize, at: u32, acquires: bool) {
        let unit_warp = unit_warp(self.rank, warp.index);
        let side = self.shared.mbarriers.get(&at).filter(|_| acquires);
        if let (Some(clocks), Some(side)) = (&mut self.team.clocks, side) {
            clocks.learn(unit_warp, 1 << lane, &side.met);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_an_object() {
        let mut object = Object { expected: 0xf_ffff, pending: 1, bytes: -((1 << 20) - 1), parity: true };
        assert_eq!(Object::from_word(object.word()), Some(object));
        assert_eq!(Object::from_word(0), None);
        assert!(!object.complete());
        (object.pending, object.bytes) = (0, 16);
        assert!(!object.complete(), "bytes are missing");
        object.bytes = 0;
        assert!(object.complete());
        assert_eq!((object.pending, object.parity), (0xf_ffff, false));
    }
}
