//! Accesses to the shared memory of the cluster's blocks, by addresses that name a block. What passes through the banks of
//! the block's own memory is counted, and nothing else: the lanes of a load or store that stay there; the same lanes of an
//! atomic, which counts one pass if none of them stays. So an H200 counted where the lanes that stay and those that leave
//! meet in different banks (`cluster_banks` in `tests/gpu`).

use super::Machine;
use super::block::Environment;
use super::memory::{Lanes, Place, Span, low_bytes};
use super::order::Strength;
use super::team::{block_and_offset, unit_warp};
use super::warp::Warp;
use crate::access::Passes;
use crate::code::{AtomOp, MemOp, Target};
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::memory::{LOCAL_BASE, SHARED_BASE};
use crate::race::Access;
use crate::race::global::Act;

/// The lanes of an access that go to one block.
struct Group {
    owner: u32,
    mask: u32,
    at: [u32; 32],
}

impl Machine<'_> {
    /// The lanes whose address names a block of the cluster, as `mapa` makes them.
    #[inline(always)]
    pub(super) fn remote_lanes(&self, target: Target, mask: u32, span: &Span) -> u32 {
        if !self.context.code.maps_shared || !matches!(target, Target::Cluster | Target::Generic) {
            return 0;
        }
        let base = if target == Target::Generic { SHARED_BASE } else { 0 };
        filter(mask, |lane| {
            let at = span.at[lane];
            at >= base && at < LOCAL_BASE && block_and_offset(at - base).0.is_some()
        })
    }

    /// The lanes of `mask` by the block they go to; those that go to none, or past its memory, become findings.
    fn groups(&mut self, env: &Environment, warp: &Warp, pc: u32, mask: u32, span: &Span) -> Vec<Group> {
        self.counts[pc as usize].requests[Place::Shared as usize] += 1;
        let mut groups = Vec::new();
        let mut rest = mask;
        while rest != 0 {
            let named = |lane: usize| block_and_offset(span.at[lane] & (SHARED_BASE - 1));
            let (owner, _) = named((rest.trailing_zeros() & 31) as usize);
            let together = filter(rest, |lane| named(lane).0 == owner);
            rest &= !together;
            let owner = owner.unwrap_or(0).min(u64::from(u32::MAX)) as u32;
            let at = std::array::from_fn(|lane| named(lane).1 as u32);
            let mask = self.admit_remote(env, warp, pc, owner, together, span.bytes, &at);
            groups.push(Group { owner, mask, at });
        }
        groups.retain(|group| group.mask != 0);
        groups
    }

    #[allow(clippy::too_many_arguments)]
    fn admit_remote(
        &mut self,
        env: &Environment,
        warp: &Warp,
        pc: u32,
        owner: u32,
        mask: u32,
        bytes: u32,
        at: &[u32; 32],
    ) -> u32 {
        if owner >= env.team.size() || env.team.gone & (1 << owner) != 0 {
            self.findings.no_block(env, warp, pc, mask, owner);
            return 0;
        }
        let misaligned = filter(mask, |lane| !at[lane].is_multiple_of(bytes));
        let outside = filter(mask & !misaligned, |lane| at[lane] + bytes > self.context.shared_bytes);
        for (code, wrong) in [(Code::Misaligned, misaligned), (Code::OutOfBounds, outside)] {
            if wrong != 0 {
                let first = u64::from(at[wrong.trailing_zeros() as usize]);
                self.findings.access(code, env, warp, pc, wrong, Place::Shared, first, bytes);
            }
        }
        mask & !misaligned & !outside
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn load_remote(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: MemOp,
        mask: u32,
        span: &Span,
        data: &mut [Lanes],
    ) {
        let width = u32::from(op.width.bytes);
        for Group { owner, mask, at } in self.groups(env, warp, pc, mask, span) {
            if owner == env.rank {
                let passes = self.memos[pc as usize].of(mask).shared_load(span.bytes, mask, &at);
                self.count_passes(pc, passes);
                self.record(Place::Shared, mask, span, passes, 0);
            }
            let strength = Strength::of(op, Act::Read);
            if strength.is_flag() {
                self.watch_shared_flag(env, warp, strength, owner, mask, &at);
            }
            let unit_warp = unit_warp(env.rank, warp.index);
            if let (Some(shadow), Some(clocks)) = env.shadow_of(owner) {
                let access = Access { warp: unit_warp, mask, pc, bytes: span.bytes, addresses: &at };
                match strength.is_flag() {
                    true => shadow.flag(clocks, access, &mut self.races),
                    false => shadow.read(clocks, access, &mut self.races),
                }
                self.take_races(env, owner);
            }
            self.watch_shared_written(env, warp, pc, owner, mask, span.bytes, &at);
            let Some(shared) = env.shared_of(owner) else { continue };
            for (element, values) in data.iter_mut().enumerate().take(usize::from(op.vector)) {
                lanes(mask).for_each(|lane| values[lane] = shared.load(at[lane] + element as u32 * width, width));
            }
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn store_remote(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: MemOp,
        mask: u32,
        span: &Span,
        data: &[Lanes],
    ) {
        let width = u32::from(op.width.bytes);
        let data = &data[..usize::from(op.vector)];
        for Group { owner, mask, at } in self.groups(env, warp, pc, mask, span) {
            if owner == env.rank {
                let passes = self.memos[pc as usize].of(mask).shared_store(span.bytes, mask, &at);
                self.count_passes(pc, passes);
                self.record(Place::Shared, mask, span, passes, 0);
            }
            self.watch_shared_store(env, warp, pc, op, owner, mask, &at, data);
            let Some(shared) = env.shared_of(owner) else { continue };
            for (element, values) in data.iter().enumerate() {
                for lane in lanes(mask) {
                    let at = at[lane] + element as u32 * width;
                    self.changes += u64::from(shared.load(at, width) != low_bytes(values[lane], width));
                    shared.store(at, width, values[lane]);
                }
            }
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic_remote(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: AtomOp,
        mask: u32,
        span: &Span,
        b: &[Lanes],
        c: &[Lanes],
        old: &mut [Lanes],
    ) {
        let groups = self.groups(env, warp, pc, mask, span);
        let own = groups.iter().find(|group| group.owner == env.rank);
        let passes = own.map_or(Passes { wavefronts: u32::from(!groups.is_empty()), conflicts: 0 }, |group| {
            self.shared_atomic_passes(pc, op, group.mask, span.bytes, &group.at)
        });
        self.count_passes(pc, passes);
        self.record(Place::Shared, mask, span, passes, 0);
        for Group { owner, mask, at } in groups {
            self.atomic_shared(env, warp, pc, op, owner, mask, span.bytes, &at, b, c, old);
        }
    }
}
