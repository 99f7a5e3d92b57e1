//! Accesses to the shared memory of the cluster's blocks, by addresses that name a block. What passes through the banks of
//! the block's own memory is counted, and nothing else: the lanes of a load or store that stay there; the same lanes of an
//! atomic, which counts one pass if none of them stays. So an H200 counted where the lanes that stay and those that leave
//! meet in different banks (`cluster_banks` in `tests/gpu`).

use super::Machine;
use super::alu::narrowed;
use super::atomic::Operands;
use super::block::Environment;
use super::findings::Detail;
use super::issue::{Access, Issue, Lanes, Place};
use super::team::{block_and_offset, mapped};
use crate::access::{Memo, Passes};
use crate::code::{AtomOp, MemOp, Target};
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::memory::{LOCAL_BASE, SHARED_BASE};

/// The lanes of an access that go to one block.
pub(super) struct Group {
    pub(super) owner: u32,
    pub(super) lanes: u32,
    /// Offsets in its memory.
    pub(super) at: [u64; 32],
}

impl Group {
    pub(super) fn access<'a>(&'a self, of: &Access<'a>) -> Access<'a> {
        Access { owner: Some(self.owner), lanes: self.lanes, at: &self.at, ..*of }
    }
}

/// Addresses in the window of the cluster, each with the name of its block: the one that executes, where it names none.
pub(super) fn by_name(env: &Environment, at: &[u64; 32]) -> [u64; 32] {
    at.map(|at| {
        let (rank, offset) = block_and_offset(at);
        mapped(offset, rank.map_or(env.rank, |rank| u32::try_from(rank).unwrap_or(u32::MAX)))
    })
}

impl Machine<'_> {
    /// The lanes whose address names a block of the cluster, as `mapa` makes them.
    #[inline(always)]
    pub(super) fn remote_lanes(&self, target: Target, mask: u32, at: &[u64; 32]) -> u32 {
        if !self.context.code.maps_shared || !matches!(target, Target::Cluster | Target::Generic) {
            return 0;
        }
        let base = if target == Target::Generic { SHARED_BASE } else { 0 };
        filter(mask, |lane| at[lane] >= base && at[lane] < LOCAL_BASE && block_and_offset(at[lane] - base).0.is_some())
    }

    /// The lanes of an access by the block they go to; those that go to none, or past its memory, become findings.
    pub(super) fn groups(&mut self, issue: &Issue<'_>, access: &Access<'_>) -> Vec<Group> {
        self.counts[issue.pc as usize].requests[Place::Shared as usize] += 1;
        let mut groups = Vec::new();
        let mut rest = access.lanes;
        while rest != 0 {
            let named = |lane: usize| block_and_offset(access.at[lane] & (SHARED_BASE - 1));
            let (owner, _) = named((rest.trailing_zeros() & 31) as usize);
            let together = filter(rest, |lane| named(lane).0 == owner);
            rest &= !together;
            let owner = owner.unwrap_or(0).min(u64::from(u32::MAX)) as u32;
            let mut group = Group { owner, lanes: together, at: std::array::from_fn(|lane| named(lane).1) };
            group.lanes = self.admit_remote(issue, owner, &group.access(access));
            groups.push(group);
        }
        groups.retain(|group| group.lanes != 0);
        groups
    }

    pub(super) fn admit_remote(&mut self, issue: &Issue<'_>, owner: u32, access: &Access<'_>) -> u32 {
        let Access { lanes: mask, at, .. } = *access;
        let team = &issue.env.team;
        if owner >= team.size() || team.gone & (1 << owner) != 0 {
            let ended = team.blocks.get(owner as usize).copied();
            self.findings.found(
                issue,
                mask,
                Code::OutOfBounds,
                Detail::NoBlock { rank: owner, size: team.size(), ended },
            );
            return 0;
        }
        let bytes = u64::from(access.bytes);
        let misaligned = filter(mask, |lane| !at[lane].is_multiple_of(bytes));
        let outside = filter(mask & !misaligned, |lane| at[lane] + bytes > u64::from(self.context.shared_bytes));
        for (code, wrong) in [(Code::Misaligned, misaligned), (Code::OutOfBounds, outside)] {
            if wrong != 0 {
                self.findings.access(code, issue, wrong, access);
            }
        }
        mask & !misaligned & !outside
    }

    /// Records what goes to the memory of another block.
    pub(super) fn record_remote(&mut self, issue: &Issue<'_>, access: &Access<'_>) {
        let owner = access.owner.and_then(|rank| issue.env.team.blocks.get(rank as usize));
        if let Some(&block) = owner.filter(|_| self.recording) {
            self.recorder.remote(access, self.context.own_grid().linear(block));
        }
    }

    /// Counts the lanes of a load or store that stay in the block, records those that leave it, and checks either.
    fn observe_group(
        &mut self,
        issue: &mut Issue<'_>,
        access: &Access<'_>,
        passes: fn(&mut Memo, u32, u32, &[u32; 32]) -> Passes,
    ) {
        if access.owner == Some(issue.env.rank) {
            let memo = self.memos[issue.pc as usize].of(access.lanes);
            let passes = passes(memo, access.bytes, access.lanes, &narrowed(access.at));
            self.count(issue.pc, access, passes.into());
        } else {
            self.record_remote(issue, access);
        }
        self.check(issue, access);
    }

    #[cold]
    pub(super) fn load_remote(&mut self, issue: &mut Issue<'_>, op: MemOp, access: Access<'_>, data: &mut [Lanes]) {
        let width = u32::from(op.width.bytes);
        for group in self.groups(issue, &access) {
            self.observe_group(issue, &group.access(&access), Memo::shared_load);
            let Some(shared) = issue.env.shared_of(Some(group.owner)) else { continue };
            for (element, values) in data.iter_mut().enumerate().take(usize::from(op.vector)) {
                let at = |lane: usize| group.at[lane] as u32 + element as u32 * width;
                lanes(group.lanes).for_each(|lane| values[lane] = shared.load(at(lane), width));
            }
        }
    }

    #[cold]
    pub(super) fn store_remote(&mut self, issue: &mut Issue<'_>, access: Access<'_>) {
        let width = access.width();
        for group in self.groups(issue, &access) {
            self.observe_group(issue, &group.access(&access), Memo::shared_store);
            let Some(shared) = issue.env.shared_of(Some(group.owner)) else { continue };
            for (element, values) in access.values.iter().enumerate() {
                let at = |lane: usize| group.at[lane] as u32 + element as u32 * width;
                lanes(group.lanes).for_each(|lane| shared.store(at(lane), width, values[lane]));
            }
        }
    }

    #[cold]
    pub(super) fn atomic_remote(
        &mut self,
        issue: &mut Issue<'_>,
        op: AtomOp,
        access: Access<'_>,
        operands: &mut Operands<'_>,
    ) {
        let groups = self.groups(issue, &access);
        let own = groups.iter().find(|group| group.owner == issue.env.rank);
        let passes = own.map_or(Passes { wavefronts: u32::from(!groups.is_empty()), conflicts: 0 }, |group| {
            self.shared_atomic_passes(issue.pc, op, group.lanes, access.bytes, &group.at.map(|at| at as u32))
        });
        self.add_up(issue.pc, &access, passes.into());
        for group in groups {
            match group.owner == issue.env.rank {
                true if self.recording => self.recorder.access(&group.access(&access), passes, 0),
                true => {}
                false => self.record_remote(issue, &group.access(&access)),
            }
            self.check(issue, &group.access(&access));
            self.atomic_shared(issue, op, &group.access(&access), operands);
        }
    }
}
