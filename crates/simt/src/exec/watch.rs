//! What the race checks are told of shared memory.

use super::Machine;
use super::alu::widened;
use super::block::Environment;
use super::findings::Finding;
use super::memory::{Lanes, Place, Span, low_bytes};
use super::order::Strength;
use super::team::{Shared, unit_warp};
use super::warp::Warp;
use crate::code::{Code, MemOp, Op, Order};
use crate::fault;
use crate::launch::Check;
use crate::masks::{filter, lanes};
use crate::race::global::Act;
use crate::race::{Access, Hazard, Layout, Race};

impl Machine<'_> {
    /// The lanes `lanes` have read what nobody has written. Of a load that is a finding once the value is used; everything else uses it
    /// at once.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn read_unwritten(
        &mut self,
        env: &Environment,
        warp: &Warp,
        pc: u32,
        lanes: u32,
        place: Place,
        address: u64,
        bytes: u32,
    ) {
        if matches!(self.context.code.insts[pc as usize].op, Op::Load(_)) {
            self.unread.push((lanes, Finding::unread(env, warp, pc, lanes, place, address, bytes)));
        } else {
            self.findings.access(fault::Code::UninitialisedRead, env, warp, pc, lanes, place, address, bytes);
        }
    }

    /// Initialisation check of an atomic on global memory, which reads what it changes.
    pub(super) fn watch_global_written(&mut self, env: &Environment, warp: &Warp, pc: u32, mask: u32, span: &Span) {
        if !self.context.options.checks.has(Check::UninitialisedRead) {
            return;
        }
        for lane in lanes(mask) {
            let Some((buffer, offset)) = self.context.memory.buffer(span.at[lane]) else { continue };
            if !buffer.is_all_written() {
                self.watch_global(env, warp, pc, 1 << lane, span, buffer, span.at[lane] - offset);
            }
        }
    }

    /// Initialisation check of a read of local memory. Compilers copy structures whole, holes and all, so only a read of
    /// nothing that was written counts.
    #[inline(never)]
    pub(super) fn watch_local(&mut self, env: &Environment, warp: &Warp, pc: u32, mask: u32, span: &Span) {
        let unwritten = filter(mask, |lane| !warp.is_local_written(lane, span.at[lane], span.bytes));
        if unwritten != 0 {
            let first = span.at[unwritten.trailing_zeros() as usize];
            self.read_unwritten(env, warp, pc, unwritten, Place::Local, first, span.bytes);
        }
    }

    /// Initialisation check of a read of the shared memory of the block of rank `owner`; of local memory's kind, and what is only
    /// carried along does not count either.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn watch_shared_written(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        owner: u32,
        mask: u32,
        bytes: u32,
        at: &[u32; 32],
    ) {
        let Some(shared) = env.shared_of(owner).filter(|shared| !shared.written.is_empty()) else { return };
        let unwritten = filter(mask, |lane| !shared.is_touched(at[lane], bytes));
        if unwritten != 0 {
            let first = u64::from(at[unwritten.trailing_zeros() as usize]);
            self.read_unwritten(env, warp, pc, unwritten, Place::Shared, first, bytes);
        }
    }

    /// Race and initialisation checks of a read of shared memory.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn watch_read(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: MemOp,
        mask: u32,
        bytes: u32,
        at: &[u32; 32],
    ) {
        self.watch_shared_written(env, warp, pc, env.rank, mask, bytes, at);
        self.watch_race_read(env, warp, op, Access { warp: 0, mask, pc, bytes, addresses: at }, None);
    }

    /// Race check of a read of shared memory; `layout` where it is known.
    #[inline(always)]
    pub(super) fn watch_race_read(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        op: MemOp,
        access: Access<'_>,
        layout: Option<Layout>,
    ) {
        let access = Access { warp: unit_warp(env.rank, warp.index), ..access };
        let strength = Strength::of(op, Act::Read);
        if strength.is_flag() {
            self.watch_shared_flag(env, warp, strength, env.rank, access.mask, access.addresses);
        }
        if let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) {
            match layout {
                _ if strength.is_flag() => shadow.flag(clocks, access, &mut self.races),
                Some(layout) => shadow.read_of(layout, clocks, access, &mut self.races),
                None => shadow.read(clocks, access, &mut self.races),
            }
            self.take_races(env, env.rank);
        }
    }

    #[inline(always)]
    pub(super) fn take_races(&mut self, env: &Environment, owner: u32) {
        if !self.races.is_empty() {
            // What lies in the driver's part is its libraries' business.
            let reserved = self.context.code.reserved_bytes;
            for race in self.races.drain(..).filter(|race| race.address >= reserved) {
                self.findings.race(env, owner, &race);
            }
        }
    }

    /// Whether a `volatile` store may be one to a flag: somebody looks at such.
    #[inline(always)]
    fn is_volatile_flag(&self, strength: Strength) -> bool {
        strength.order == Order::Volatile && self.context.code.has_volatile_flags
    }

    /// Race check of a store of one word a lane to the block's own shared memory, its lanes side by side.
    #[inline(always)]
    pub(super) fn watch_row_store(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        op: MemOp,
        access: Access<'_>,
        values: &[u32; 32],
    ) {
        let access = Access { warp: unit_warp(env.rank, warp.index), ..access };
        let strength = Strength::of(op, Act::Write);
        let is_flag = strength.is_flag() || self.is_volatile_flag(strength);
        if is_flag {
            self.watch_shared_flag(env, warp, strength, env.rank, access.mask, access.addresses);
        }
        let (Some(shadow), Some(clocks)) = (&mut env.shared.shadow, &mut env.team.clocks) else { return };
        if is_flag {
            shadow.atomic(clocks, access, &mut self.races);
        } else {
            shadow.write_of(Layout::SideBySide, clocks, access, &widened(values), &mut self.races);
        }
        if !self.races.is_empty() {
            forgive_equal_writes(self.context.code, &mut self.races, &env.shared, access, &widened(values));
        }
        self.take_races(env, env.rank);
    }

    /// Race checks of a store to the shared memory of the block of rank `owner`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn watch_shared_store(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: MemOp,
        owner: u32,
        mask: u32,
        at: &[u32; 32],
        data: &[Lanes],
    ) {
        let strength = Strength::of(op, Act::Write);
        let unit_warp = unit_warp(env.rank, warp.index);
        let width = u32::from(op.width.bytes);
        let is_flag = strength.is_flag() || self.is_volatile_flag(strength);
        if is_flag {
            self.watch_shared_flag(env, warp, strength, owner, mask, at);
        }
        // Each element is its own access to the race check, so that values can be compared.
        for (element, values) in data.iter().enumerate() {
            let at = at.map(|a| a.wrapping_add(element as u32 * width));
            let access = Access { warp: unit_warp, mask, pc, bytes: width, addresses: &at };
            let (Some(shadow), Some(clocks)) = env.shadow_of(owner) else { return };
            if is_flag {
                shadow.atomic(clocks, access, &mut self.races);
            } else {
                shadow.write(clocks, access, values, &mut self.races);
            }
            if let Some(shared) = env.shared_of(owner).filter(|_| !self.races.is_empty()) {
                forgive_equal_writes(self.context.code, &mut self.races, shared, access, values);
                self.take_races(env, owner);
            }
        }
    }
}

/// Of `races`, the writes that leave in memory what another thread wrote there are none: in whatever order they come, they
/// leave the same. They become notes.
#[cold]
fn forgive_equal_writes(code: &Code, races: &mut Vec<Race>, shared: &Shared, access: Access<'_>, values: &Lanes) {
    let Access { bytes, addresses: at, .. } = access;
    let inside = |lane: usize| (at[lane] + bytes) as usize <= 4 * shared.words.len();
    let same = |lane: usize| inside(lane) && shared.load(at[lane], bytes) == low_bytes(values[lane], bytes);
    for index in 0..races.len() {
        let Race { hazard: Hazard::WriteAfterWrite, later: (warp, lanes, pc), earlier, .. } = races[index] else {
            continue;
        };
        // What an atomic makes of a place depends on what was there.
        if code.is_atomic(earlier.2) {
            continue;
        }
        let equal = filter(lanes, same);
        if equal != 0 {
            races.push(Race { hazard: Hazard::EqualWrites, later: (warp, equal, pc), ..races[index] });
            races[index].later.1 &= !equal;
        }
    }
    races.retain(|race| race.later.1 != 0);
}
