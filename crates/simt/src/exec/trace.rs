//! Records what chosen blocks do, step by step.

use std::collections::BTreeMap;

use super::block::Environment;
use super::issue::{Access, Place};
use super::warp::Warp;
use crate::access::Passes;
use crate::code::{Code, Inst, Operand, operands};
use crate::ops::Row;
use crate::trace::{self, Options, Space, Step, Values};

/// The steps of the blocks that one host thread ran.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    options: Option<Options>,
    pub(super) steps: Vec<Step>,
    /// Steps so far by block: blocks that talk to each other take turns.
    of_block: BTreeMap<u64, u64>,
    /// Order of the next step. Launches that run together share one count: see `overlap.rs`.
    pub(super) next: u64,
    pub(super) dropped: u64,
}

impl Recorder {
    pub(super) fn new(options: Option<Options>) -> Recorder {
        Recorder { options, ..Recorder::default() }
    }

    /// Returns whether block `linear` is recorded.
    #[inline(always)]
    pub(super) fn records(&self, linear: u64) -> bool {
        self.options.is_some_and(|options| options.has_block(linear))
    }

    /// An instruction is about to run. True if it was recorded: a block that has had its share of steps is cut off.
    pub(super) fn begin(&mut self, env: &Environment, warp: &Warp, pc: u32, split: u32, active: u32) -> bool {
        let Some(options) = self.options.filter(|options| options.has_warp(warp.index)) else { return false };
        let so_far = self.of_block.entry(env.linear).or_default();
        *so_far += 1;
        if *so_far > options.steps_per_block_max {
            self.dropped += 1;
            return false;
        }
        let (block, block_linear, order) = (env.block, env.linear, self.next);
        self.next += 1;
        self.steps.push(Step {
            block,
            block_linear,
            order,
            warp: warp.index,
            pc,
            split,
            active,
            access: Vec::new(),
            values: None,
        });
        true
    }

    /// The instruction that began last touches memory.
    pub(super) fn access(&mut self, access: &Access<'_>, passes: Passes, sectors: u32) {
        let Access { place, lanes: mask, bytes, at, .. } = *access;
        let Passes { wavefronts, conflicts } = passes;
        let space = match place {
            Place::Shared => Space::Shared,
            Place::Global => Space::Global,
            Place::Local => Space::Local,
            Place::Const | Place::Param => return,
        };
        if let Some(step) = self.steps.last_mut() {
            let addresses = masked(at, mask);
            let banks = (space == Space::Shared).then(|| addresses.map(|at| (at / 4 % 32) as u8));
            let lane_sectors = (space == Space::Global).then(|| addresses.map(|at| at / 32));
            step.access.push(trace::Access {
                space,
                owner: None,
                mask,
                bytes,
                addresses,
                banks,
                lane_sectors,
                wavefronts,
                conflicts,
                sectors,
            });
        }
    }

    /// The instruction that began last touches the shared memory of another block of the cluster, which passes no banks of
    /// its own block.
    pub(super) fn remote(&mut self, access: &Access<'_>, owner: u64) {
        self.access(access, Passes::default(), 0);
        if let Some(access) = self.steps.last_mut().and_then(|step| step.access.last_mut()) {
            (access.space, access.owner, access.banks) = (Space::Cluster, Some(owner), None);
        }
    }

    /// Records the values that the last instruction left in its destination, or stored.
    pub(super) fn values(&mut self, code: &Code, warp: &Warp, inst: &Inst) {
        let Some(step) = self.steps.last_mut() else { return };
        let first = operands(code, inst).into_iter().next().filter(|operand| operand.reg == inst.d);
        let active = step.active;
        step.values = first.filter(|_| inst.op.shows_values()).and_then(|Operand { row, reg, .. }| {
            let at = usize::from(reg);
            Some(match row {
                Row::W => Values::Bits32(masked(&warp.w.get(at)?.0, active)),
                Row::D => Values::Bits64(masked(&warp.d.get(at)?.0, active)),
                Row::P => Values::Predicate(warp.p.get(at)? & active),
            })
        });
    }
}

/// A row with zeros for the lanes that took no part: what they hold there may be left over from the block that ran before
/// on this host thread.
fn masked<T: Copy + Default>(row: &[T; 32], mask: u32) -> [T; 32] {
    std::array::from_fn(|lane| if mask >> lane & 1 == 1 { row[lane] } else { T::default() })
}
