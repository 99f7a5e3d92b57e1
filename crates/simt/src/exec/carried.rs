//! Copies of uninitialised values. A copy is not a use: compilers copy structures whole, holes included. So a store that leaves
//! such a value in shared or global memory makes those bytes count as unwritten again, and keeps the load that first read the
//! value: a later use reports that load.
//!
//! An undefined result must not pass in silence, though: undefined bytes that a block has left in global memory when it ends are
//! a finding, unless they are a hole. A hole has written bytes around it: in the element of the buffer's type there, or, in a
//! buffer of bytes, in the same 16, the largest alignment that CUDA gives a structure.

use std::collections::HashMap;

use super::Machine;
use super::block::Environment;
use super::findings::Finding;
use super::issue::{Access, Issue, Place};
use super::team::{Shared, block_and_offset};
use crate::code::{Op, Target};
use crate::masks::{filter, lanes};
use crate::memory::SHARED_BASE;

/// Most words of a block's shared memory, and most words that it left in global memory, whose origin is kept. A copy beyond
/// them counts as a use.
const WORDS_MAX: usize = 1 << 14;
/// The largest alignment of a structure.
const STRUCTURE_BYTES: u64 = 16;

/// Places of copied uninitialised values, by word address, with the load that first read each.
#[derive(Debug, Default)]
pub(super) struct Carried(HashMap<u64, (usize, Finding)>);

impl Carried {
    fn put(&mut self, address: u64, bytes: u32, finding: &Finding) -> bool {
        let words = address / 4..(address + u64::from(bytes)).div_ceil(4);
        let room = self.0.len() + 2 <= WORDS_MAX;
        for word in words.filter(|_| room) {
            let count = self.0.len();
            self.0.insert(word, (count, finding.clone()));
        }
        room
    }

    fn at(&self, address: u64, bytes: u32) -> Option<&Finding> {
        let mut words = address / 4..(address + u64::from(bytes)).div_ceil(4);
        words.find_map(|word| self.0.get(&word)).map(|(_, finding)| finding)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// An undefined value that a lane's store is about to take to memory.
#[derive(Debug)]
pub(super) struct Cargo {
    pub(super) lane: usize,
    pub(super) target: Target,
    pub(super) address: u64,
    pub(super) bytes: u32,
    /// Finding to report when it is used.
    pub(super) finding: Finding,
}

/// Uninitialised value that some lanes of a load have read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) lanes: u32,
    /// Registers that it fills, a bit each.
    pub(super) elements: u32,
    /// Finding to report when the value is used.
    pub(super) finding: Finding,
    /// The load that the finding is about is an earlier one.
    pub(super) is_copy: bool,
}

/// Undefined values between memory and registers, while one instruction runs.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// Uninitialised values read by the current load.
    pub(super) unread: Vec<Unread>,
    /// Uninitialised values that the current store takes to memory.
    pub(super) cargo: Vec<Cargo>,
}

impl Machine<'_> {
    /// The store that was to take the cargo has been carried out: where it lies counts as unwritten.
    #[cold]
    pub(super) fn unload(&mut self, env: &mut Environment) {
        for Cargo { target, address, bytes, finding, .. } in std::mem::take(&mut self.passing.cargo) {
            let in_shared = match target {
                Target::Shared | Target::Cluster => Some(address),
                Target::Generic => address.checked_sub(SHARED_BASE),
                _ => None,
            };
            // An access that was not carried out has findings of its own.
            if !address.is_multiple_of(u64::from(bytes)) {
                continue;
            }
            let is_kept = if let Some(address) = in_shared {
                let (rank, at) = block_and_offset(address);
                let Some(shared) = env.shared_of(rank.map(|rank| rank as u32)) else { continue };
                if at + u64::from(bytes) > 4 * shared.written.len() as u64 {
                    continue;
                }
                let is_kept = shared.carried.put(at, bytes, &finding);
                if is_kept {
                    shared.unwrite(at as u32, bytes);
                }
                is_kept
            } else {
                if self.context.holding(address, u64::from(bytes)).is_none() {
                    continue;
                }
                env.carried.put(address, bytes, &finding) && self.context.memory.unwrite(address, bytes)
            };
            if !is_kept {
                self.findings.seen(finding);
            }
        }
    }

    /// Makes the uninitialised bytes that a copy from memory to memory has just read the cargo of its lanes. Each copies to
    /// the bytes from `to` on.
    pub(super) fn take_along(&mut self, target: Target, to: &[u64; 32]) {
        for Unread { lanes: mask, elements, finding, is_copy } in std::mem::take(&mut self.passing.unread) {
            for lane in lanes(mask) {
                let own = if is_copy { finding.clone().times(1) } else { finding.for_lanes(1 << lane) };
                for element in lanes(elements) {
                    let address = to[lane] + element as u64;
                    self.passing.cargo.push(Cargo { lane, target, address, bytes: 1, finding: own.clone() });
                }
            }
        }
    }

    /// Notes the uninitialised elements that the lanes `mask` of a load or a copy have read, with the load that brought each there.
    pub(super) fn unread_elements(&mut self, issue: &Issue<'_>, mask: u32, access: &Access<'_>) {
        let (width, count) = match issue.inst.op {
            Op::Load(op) => (u32::from(op.width.bytes), usize::from(op.vector)),
            Op::Matrix { .. } => (access.bytes, 1),
            // Byte for byte, so that a hole is carried along and its neighbours are not.
            _ => (1, access.bytes as usize),
        };
        let mut found: Vec<Unread> = Vec::new();
        for element in 0..count {
            let at = |lane: usize| access.at[lane] + element as u64 * u64::from(width);
            let undefined = filter(mask, |lane| !self.is_known(issue, access, at(lane), lane, width));
            let carried = |lane: usize| match access.place {
                Place::Shared => issue.env.shared_at(access.owner)?.carried.at(at(lane), width),
                Place::Global => issue.env.carried.at(at(lane), width),
                _ => None,
            };
            let fresh = filter(undefined, |lane| carried(lane).is_none());
            let mut add = |lanes: u32, finding: Finding, is_copy: bool| {
                let known = found.iter_mut().find(|unread| {
                    unread.is_copy == is_copy
                        && match is_copy {
                            true => unread.elements == 1 << element && unread.finding.is_beside(&finding),
                            false => unread.lanes == lanes,
                        }
                });
                match known {
                    Some(known) if is_copy => {
                        known.lanes |= lanes;
                        known.finding.join(&finding);
                    }
                    Some(known) => known.elements |= 1 << element,
                    None => found.push(Unread { lanes, elements: 1 << element, finding, is_copy }),
                }
            };
            if fresh != 0 {
                add(fresh, Finding::unread(issue, fresh, access), false);
            }
            for lane in lanes(undefined & !fresh) {
                let Some(finding) = carried(lane) else { continue };
                add(1 << lane, finding.clone(), true);
            }
        }
        self.passing.unread.append(&mut found);
    }

    /// Returns whether the value that a lane reads in these bytes counts as written.
    fn is_known(&self, issue: &Issue<'_>, access: &Access<'_>, at: u64, lane: usize, bytes: u32) -> bool {
        match access.place {
            Place::Shared => issue.env.shared_at(access.owner).is_none_or(|shared| shared.is_touched(at as u32, bytes)),
            Place::Local => issue.warp.is_local_written(lane, at, bytes),
            _ => self.context.memory.buffer(at).is_none_or(|(buffer, offset)| buffer.is_known(offset, bytes)),
        }
    }

    /// Reports, at the end of the block, the undefined bytes in global memory that are no holes.
    pub(super) fn settle(&mut self, env: &mut Environment) {
        if env.carried.0.is_empty() {
            return;
        }
        let mut left: Vec<(usize, u64, Finding)> =
            env.carried.0.drain().map(|(word, (turn, finding))| (turn, word, finding)).collect();
        left.sort_unstable_by_key(|&(turn, word, _)| (turn, word));
        let mut reported: Vec<(Finding, u64)> = Vec::new();
        for (_, word, finding) in left {
            let Some((buffer, offset)) = self.context.memory.buffer(4 * word) else { continue };
            let granule = match u64::from(buffer.element_bytes) {
                1 => STRUCTURE_BYTES,
                bytes => bytes.next_power_of_two().clamp(4, STRUCTURE_BYTES),
            };
            if buffer.is_touched(offset / granule * granule, granule) {
                continue;
            }
            match reported.iter_mut().find(|(first, _)| first.is_beside(&finding)) {
                Some((first, times)) => {
                    first.join(&finding);
                    *times += finding.count;
                }
                None => {
                    let times = finding.count;
                    reported.push((finding, times));
                }
            }
        }
        reported.into_iter().for_each(|(finding, times)| self.findings.seen(finding.times(times)));
    }
}

impl Environment {
    /// The shared memory of the block of this rank (`None`: this one), for reading.
    fn shared_at(&self, rank: Option<u32>) -> Option<&Shared> {
        match rank.filter(|&rank| rank != self.rank) {
            None => Some(&self.shared),
            Some(rank) => self.team.peers.get(rank as usize)?.as_ref(),
        }
    }
}
