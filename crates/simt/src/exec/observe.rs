//! Observation of every access to memory. The code that carries one out first hands it to [`Machine::observe`], which passes it
//! to the counters, the recorder, and the checks that are on: bytes touched by blocks, order, initialisation, and the watch for
//! lanes that spin.
//!
//! An asynchronous copy is counted as a whole and checked piece by piece, so each half can be called alone.

use super::Machine;
use super::alu::narrowed;
use super::issue::{Access, Cost, Issue, Lanes, Place};
use super::team::Shared;
use crate::access;
use crate::code::{Code, Op};
use crate::fault;
use crate::launch::Check;
use crate::masks::{filter, lanes};
use crate::memory::Buffer;
use crate::race::global::Act;
use crate::race::{self, Hazard, Race};

impl Machine<'_> {
    /// An access is about to be carried out.
    // Inlined at every access, these took 50 KB of the 564 (gzip) of the pages' engine, which is to be small.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn observe(&mut self, issue: &mut Issue<'_>, access: &Access<'_>, cost: Cost) {
        self.count(issue.pc, access, cost);
        self.check(issue, access);
    }

    /// Adds up what an access costs, and records it.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn count(&mut self, pc: u32, access: &Access<'_>, cost: Cost) {
        self.add_up(pc, access, cost);
        if self.recording {
            self.recorder.access(&access.copy(), cost.passes, cost.sectors);
        }
    }

    /// Adds up what an access costs.
    #[inline(always)]
    pub(super) fn add_up(&mut self, pc: u32, access: &Access<'_>, Cost { passes, sectors }: Cost) {
        let counts = &mut self.counts[pc as usize];
        match access.place {
            Place::Shared => {
                counts.wavefronts += u64::from(passes.wavefronts);
                counts.conflicts += u64::from(passes.conflicts);
            }
            Place::Global => {
                counts.sectors += u64::from(sectors);
                if self.context.has_peers() {
                    self.add_up_peers(pc, &access.copy(), sectors);
                }
            }
            Place::Local | Place::Const | Place::Param => {}
        }
    }

    /// Adds up what an access of so many sectors costs in other devices' memory.
    #[cold]
    fn add_up_peers(&mut self, pc: u32, access: &Access<'_>, sectors: u32) {
        let Access { lanes: mask, bytes, at, .. } = *access;
        let (peers, sectors) = match access.buffer {
            Some((buffer, _)) if self.context.is_peers(buffer) => (mask, sectors),
            Some(_) => return,
            None => {
                let buffer = |lane: usize| self.context.memory.buffer(at[lane]);
                let peers = filter(mask, |lane| buffer(lane).is_some_and(|(buffer, _)| self.context.is_peers(buffer)));
                let sectors = match access.strength.is_atomic {
                    _ if peers == mask => sectors,
                    true => access::global_atomic_sectors(bytes, peers, at),
                    false => access::global_sectors(bytes, peers, at),
                };
                (peers, sectors)
            }
        };
        let counts = &mut self.counts[pc as usize];
        counts.peer_sectors += u64::from(sectors);
        counts.peer_bytes += u64::from(peers.count_ones() * bytes);
    }

    /// Tells the checks that are on.
    #[inline(always)]
    pub(super) fn check(&mut self, issue: &mut Issue<'_>, access: &Access<'_>) {
        match access.place {
            Place::Global | Place::Const => {
                if self.context.side_by_side {
                    issue.env.log.note(access);
                }
                if self.order.is_some() && access.place == Place::Global {
                    self.watch_order(issue, &access.copy());
                }
                if access.strength.reads && self.context.options.checks.has(Check::UninitialisedRead) {
                    self.watch_written_global(issue, access);
                }
            }
            Place::Shared if issue.env.is_watched() => {
                if access.strength.reads {
                    self.watch_written_shared(issue, access);
                }
                self.watch_shared(issue, access);
            }
            Place::Local if access.strength.reads && !issue.warp.local_written.is_empty() => {
                self.watch_written_local(issue, &access.copy());
            }
            Place::Shared | Place::Local | Place::Param => {}
        }
        if self.context.any_grid_spins && !access.values.is_empty() {
            self.changes += self.changed(issue, access);
        }
    }

    /// Handles an uninitialised read by the lanes `lanes`. For a load or a copy it becomes a finding once the value is used;
    /// every other instruction uses it at once.
    #[cold]
    fn read_unwritten(&mut self, issue: &Issue<'_>, lanes: u32, access: &Access<'_>) {
        if matches!(issue.inst.op, Op::Load(_) | Op::Matrix { .. } | Op::CopyAsync | Op::CopyBulk) {
            self.unread_elements(issue, lanes, access);
        } else {
            self.findings.access(fault::Code::UninitialisedRead, issue, lanes, access);
        }
    }

    /// Initialisation check of a read of global memory.
    #[inline(always)]
    fn watch_written_global(&mut self, issue: &Issue<'_>, access: &Access<'_>) {
        match access.buffer {
            Some((buffer, _)) if buffer.is_all_written() => {}
            Some((buffer, base)) if !access.strength.is_atomic => {
                self.watch_buffer(issue, &access.copy(), access.lanes, buffer, base);
            }
            _ => self.watch_buffers(issue, &access.copy()),
        }
    }

    /// Initialisation check lane by lane, each of which may have a buffer of its own.
    #[cold]
    fn watch_buffers(&mut self, issue: &Issue<'_>, access: &Access<'_>) {
        for lane in lanes(access.lanes) {
            let Some((buffer, offset)) = self.context.memory.buffer(access.at[lane]) else { continue };
            if !buffer.is_all_written() {
                self.watch_buffer(issue, access, 1 << lane, buffer, access.at[lane] - offset);
            }
        }
    }

    /// Initialisation check of the lanes `mask`, which read from one buffer with its first byte at `base`.
    fn watch_buffer(&mut self, issue: &Issue<'_>, access: &Access<'_>, mask: u32, buffer: &Buffer, base: u64) {
        let part = access.bytes.min(8);
        let unwritten = filter(mask, |lane| {
            let offset = access.at[lane] - base;
            !(0..access.bytes / part).all(|i| buffer.is_written(offset + u64::from(i * part), part))
        });
        if unwritten != 0 {
            self.read_unwritten(issue, unwritten, access);
        }
    }

    /// Initialisation check of a read of local memory. Compilers copy structures whole, holes and all, so only a value without any
    /// written byte counts.
    #[inline(never)]
    fn watch_written_local(&mut self, issue: &Issue<'_>, access: &Access<'_>) {
        let step = element_bytes(issue, access);
        let is_known = |lane: usize, at: u64| issue.warp.is_local_written(lane, access.at[lane] + at, step);
        let unwritten =
            filter(access.lanes, |lane| !(0..access.bytes.into()).step_by(step as usize).all(|at| is_known(lane, at)));
        if unwritten != 0 {
            self.read_unwritten(issue, unwritten, access);
        }
    }

    /// Initialisation check of a read of shared memory; of local memory's kind, and what is only carried along does not count
    /// either.
    #[inline(always)]
    fn watch_written_shared(&mut self, issue: &mut Issue<'_>, access: &Access<'_>) {
        let step = element_bytes(issue, access);
        let Some(shared) = issue.env.shared_of(access.owner).filter(|shared| !shared.written.is_empty()) else {
            return;
        };
        // Closures may become functions of their own: what they use are copies.
        let Access { at, bytes, lanes: mask, .. } = *access;
        let words = (bytes / 4) as usize;
        if let Some(row) =
            access.row(shared.written.len()).and_then(|first| shared.written.get(first..first + 32 * words))
        {
            let mut missing = 0;
            for word in 0..words {
                for lane in 0..32 {
                    missing |= if mask & (1 << lane) != 0 { row[lane * words + word] ^ 0xf } else { 0 };
                }
            }
            if missing == 0 {
                return;
            }
        }
        let is_known =
            |lane: usize| (0..bytes).step_by(step as usize).all(|part| shared.is_touched(at[lane] as u32 + part, step));
        let unwritten = if access.is_one_place() {
            if is_known(mask.trailing_zeros() as usize) { 0 } else { mask }
        } else {
            filter(mask, |lane| !is_known(lane))
        };
        if unwritten != 0 {
            self.read_unwritten(issue, unwritten, &access.copy());
        }
    }

    /// Race check of an access to shared memory.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn watch_shared(&mut self, issue: &mut Issue<'_>, access: &Access<'_>) {
        let Access { owner, strength, values, .. } = *access;
        let strong = self.strong(issue.pc, strength);
        let at = narrowed(access.at);
        if strong.is_some() && self.context.code.orders_by_hand {
            self.watch_shared_flag(issue, strength, owner, access.lanes, &at);
        }
        let (warp, mask, pc) = (issue.unit_warp(), access.lanes, issue.pc);
        let whole = race::Access { warp, mask, pc, bytes: access.bytes, addresses: &at };
        let (Some(shadow), Some(clocks)) = issue.env.shadow_of(owner) else { return };
        match (strength.act, strong, access.layout) {
            (act, Some(strong), _) if act == Act::Read || strength.is_atomic => {
                shadow.strong(clocks, whole, strong, None, &mut self.races);
            }
            (Act::Read, _, Some(layout)) => shadow.read_of(layout, clocks, whole, &mut self.races),
            (Act::Read, _, None) => shadow.read(clocks, whole, &mut self.races),
            // Each element is its own access to the race check, so that values can be compared.
            (Act::Write, strong, layout) => {
                let width = access.width();
                for (element, values) in values.iter().enumerate() {
                    let at = at.map(|a| a.wrapping_add(element as u32 * width));
                    let part = race::Access { bytes: width, addresses: &at, ..whole };
                    let (Some(shadow), Some(clocks)) = issue.env.shadow_of(owner) else { return };
                    match (strong, layout) {
                        (Some(strong), _) => shadow.strong(clocks, part, strong, Some(values), &mut self.races),
                        (None, Some(layout)) => shadow.write_of(layout, clocks, part, values, &mut self.races),
                        (None, None) => shadow.write(clocks, part, values, &mut self.races),
                    }
                    if let Some(shared) = issue.env.shared_of(owner).filter(|_| !self.races.is_empty()) {
                        forgive_equal_writes(self.context.code, &mut self.races, shared, part, values);
                        self.take_races(issue, owner);
                    }
                }
            }
        }
        self.take_races(issue, owner);
    }

    #[inline(always)]
    pub(super) fn take_races(&mut self, issue: &Issue<'_>, owner: Option<u32>) {
        if !self.races.is_empty() {
            let owner = owner.unwrap_or(issue.env.rank);
            // Races in the part of the driver are not reported: only its libraries use it.
            let reserved = self.context.code.reserved_bytes;
            for race in self.races.drain(..).filter(|race| race.address >= reserved) {
                self.findings.race(issue.env, owner, &race);
            }
        }
    }

    /// Returns the number of values that a store is about to change; spinning lanes wait for changes.
    #[inline(always)]
    fn changed(&self, issue: &mut Issue<'_>, access: &Access<'_>) -> u64 {
        let Access { lanes: mask, at, values, .. } = *access;
        let width = access.width();
        let count = |old: &dyn Fn(usize, u64) -> Option<u64>| -> u64 {
            let is_new = |element: usize, lane: usize| {
                old(lane, at[lane] + element as u64 * u64::from(width))
                    .is_some_and(|old| old != low_bytes(values[element][lane], width))
            };
            (0..values.len()).map(|element| filter(mask, |lane| is_new(element, lane)).count_ones() as u64).sum()
        };
        match access.place {
            Place::Shared => {
                let Some(shared) = issue.env.shared_of(access.owner) else { return 0 };
                if let Some(row) = access.row(shared.words.len()).and_then(|first| shared.words.get(first..first + 32))
                {
                    return filter(mask, |lane| row[lane] != values[0][lane] as u32).count_ones().into();
                }
                count(&|_, at| Some(shared.load(at as u32, width)))
            }
            Place::Local => count(&|lane, at| Some(issue.warp.load_local(lane, at, width))),
            _ => count(&|_, at| self.context.memory.buffer(at).map(|(buffer, offset)| buffer.load(offset, width))),
        }
    }
}

/// Bytes of what counts as one value to the initialisation check: of a load, those of a register.
fn element_bytes(issue: &Issue<'_>, access: &Access<'_>) -> u32 {
    if let Op::Load(op) = issue.inst.op { op.width.bytes.into() } else { access.bytes }
}

/// Returns the low bytes of a value that a store of this size writes.
#[inline(always)]
pub(super) fn low_bytes(value: u64, bytes: u32) -> u64 {
    if bytes >= 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

/// Turns those of `races` into notes whose writes store the value that another thread wrote: in every order they leave the
/// same.
#[cold]
fn forgive_equal_writes(code: &Code, races: &mut Vec<Race>, shared: &Shared, access: race::Access<'_>, values: &Lanes) {
    let race::Access { bytes, addresses: at, .. } = access;
    let inside = |lane: usize| (at[lane] + bytes) as usize <= 4 * shared.words.len();
    let same = |lane: usize| inside(lane) && shared.load(at[lane], bytes) == low_bytes(values[lane], bytes);
    for index in 0..races.len() {
        let Race { hazard, later: (warp, lanes, pc), earlier, .. } = races[index];
        if !matches!(hazard, Hazard::WriteAfterWrite | Hazard::EitherLast) {
            continue;
        }
        // The result of an atomic depends on the value that was there.
        if code.is_atomic(earlier.2) {
            continue;
        }
        let equal = filter(lanes, same);
        if equal != 0 && hazard == Hazard::WriteAfterWrite {
            races.push(Race { hazard: Hazard::EqualWrites, later: (warp, equal, pc), ..races[index] });
        }
        races[index].later.1 &= !equal;
    }
    races.retain(|race| race.later.1 != 0);
}
