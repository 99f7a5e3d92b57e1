//! The two shapes that execution has: an instruction that a split of a warp executes, and what some of its lanes do to memory.

use super::alu::widened;
use super::block::Environment;
use super::team::unit_warp;
use super::warp::Warp;
use crate::access::Passes;
use crate::code::Inst;
use crate::masks::hull;
use crate::memory::Buffer;
use crate::race::{Layout, Strength};

/// An instruction in execution.
pub(super) struct Issue<'a> {
    /// The block.
    pub(super) env: &'a mut Environment,
    pub(super) warp: &'a mut Warp,
    /// The split, by its place in the warp.
    pub(super) at: usize,
    pub(super) pc: u32,
    pub(super) inst: &'a Inst,
    /// The lanes that take part.
    pub(super) active: u32,
}

impl Issue<'_> {
    /// This issue again, for a function that takes one by value.
    #[inline(always)]
    pub(super) fn again(&mut self) -> Issue<'_> {
        Issue { env: &mut *self.env, warp: &mut *self.warp, ..*self }
    }

    /// The warp's number in its unit, as the race checks count.
    #[inline(always)]
    pub(super) fn unit_warp(&self) -> u32 {
        unit_warp(self.env.rank, self.warp.index)
    }

    /// The address operand of each lane.
    #[inline(always)]
    pub(super) fn addresses(&self) -> [u64; 32] {
        addresses(self.warp, self.inst)
    }
}

#[inline(always)]
pub(super) fn addresses(warp: &Warp, inst: &Inst) -> [u64; 32] {
    let offset = inst.imm as u64;
    if inst.e == 1 {
        let mut at = warp.w[usize::from(inst.a)].0;
        at.iter_mut().for_each(|a| *a = a.wrapping_add(offset as u32));
        widened(&at)
    } else {
        let mut at = warp.d[usize::from(inst.a)].0;
        at.iter_mut().for_each(|a| *a = a.wrapping_add(offset));
        at
    }
}

/// A state space as the counters see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Shared,
    Global,
    Local,
    /// Constants, which lie where global memory does.
    Const,
    /// The kernel's parameters.
    Param,
}

/// One value a lane, loaded or to be stored.
pub(super) type Lanes = [u64; 32];

/// Access of some lanes of one instruction to memory in one state space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access<'a> {
    pub(super) place: Place,
    /// For shared memory, the rank of the owning block; `None` for the block that executes the instruction.
    pub(super) owner: Option<u32>,
    pub(super) lanes: u32,
    /// Bytes that each lane covers.
    pub(super) bytes: u32,
    /// First byte of each lane, inside the state space; arbitrary for an access whose addresses no check uses.
    pub(super) at: &'a [u64; 32],
    /// The first byte of all lanes, and the one behind the last.
    pub(super) low: u64,
    pub(super) high: u64,
    /// For global memory, the one buffer that holds all of it, and its first address, if there is one.
    pub(super) buffer: Option<(&'a Buffer, u64)>,
    /// Layout of the lanes, if known.
    pub(super) layout: Option<Layout>,
    /// Action and ordering.
    pub(super) strength: Strength,
    /// Values of a store, element by element; empty for an atomic, whose result depends on memory.
    pub(super) values: &'a [Lanes],
}

impl<'a> Access<'a> {
    /// Access to the block's own memory, of `bytes` bytes by each of `lanes`.
    #[inline(always)]
    pub(super) fn new(place: Place, lanes: u32, bytes: u32, at: &'a [u64; 32], strength: Strength) -> Access<'a> {
        let (low, high) = hull(at, lanes, bytes);
        Access { place, owner: None, lanes, bytes, at, low, high, buffer: None, layout: None, strength, values: &[] }
    }

    /// Returns the part of it by these lanes.
    #[inline(always)]
    pub(super) fn by(self, lanes: u32) -> Access<'a> {
        Access {
            owner: self.owner,
            values: self.values,
            ..Access::new(self.place, lanes, self.bytes, self.at, self.strength)
        }
    }

    /// Copy for a cold path, so that the access itself can stay in registers.
    #[inline(always)]
    pub(super) fn copy(&self) -> Access<'a> {
        *self
    }

    /// First byte of the first of these lanes.
    pub(super) fn first(&self, lanes: u32) -> u64 {
        self.at[(lanes.trailing_zeros() & 31) as usize]
    }

    /// Returns whether all lanes have one address, as when a warp reads a flag.
    #[inline(always)]
    pub(super) fn is_one_place(&self) -> bool {
        self.lanes != 0 && self.high - self.low == u64::from(self.bytes)
    }

    /// Bytes of each element of a store.
    #[inline(always)]
    pub(super) fn width(&self) -> u32 {
        self.bytes / self.values.len().max(1) as u32
    }

    /// The word of lane 0 (even if it takes no part) in the `length` words of the block's shared memory or of the buffer, if
    /// lanes are known to lie side by side.
    #[inline(always)]
    pub(super) fn row(&self, length: usize) -> Option<usize> {
        let base = self.buffer.map_or(0, |(_, base)| base);
        let lane0 = (self.low - base).checked_sub(u64::from(self.lanes.trailing_zeros() * self.bytes))?;
        let first = (lane0 / 4) as usize;
        (self.layout == Some(Layout::SideBySide) && first + 8 * self.bytes as usize <= length).then_some(first)
    }
}

/// Cost of an access in the counters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    /// Through the banks of shared memory.
    pub(super) passes: Passes,
    /// Sectors of global memory.
    pub(super) sectors: u32,
}

impl From<Passes> for Cost {
    fn from(passes: Passes) -> Cost {
        Cost { passes, sectors: 0 }
    }
}
