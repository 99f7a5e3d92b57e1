//! Lanes that a `.sync` instruction names but that have taken another path, and wait for it where the two paths meet. PTX leaves
//! the outcome open. A card lets them run on, to their exit or to their own next wait, and so does this module: it reports a
//! finding and the launch goes on. The same holds for lanes that wait for others at a barrier of the block, if nothing but their
//! exit lies ahead.
//!
//! Lanes may also wait for each other in two branches, at two votes or at two shuffles of one kind. A card executes the two as one.
//! (At a vote and a shuffle they wait for ever there, and here.)

use super::Machine;
use super::block::{Block, Environment};
use super::issue::Issue;
use super::warp::{FULL, Row32, Split, State, Warp};
use crate::code::{Code, Inst, Op};
use crate::launch::Schedule;
use crate::masks::lanes;

impl Block {
    /// Nothing can run: lets lanes run on that others of their warp wait for in vain. True if there were any.
    pub(super) fn let_absent_lanes_run_on(&mut self, machine: &mut Machine<'_>) -> bool {
        if machine.context.options.schedule == Schedule::Lockstep {
            return false;
        }
        let mut any = false;
        for index in 0..self.warps.len() {
            let warp = &self.warps[index];
            let waiting = (0..warp.splits.len()).filter(|&at| warp.splits[at].state == State::AtWarpSync);
            let Some((at, meeting)) = waiting.into_iter().find_map(|at| Some((at, warp.meeting(machine, at)?))) else {
                continue;
            };
            machine.findings.lanes_elsewhere(machine.context, &self.env, warp, at);
            let warp = &mut self.warps[index];
            warp.go_ahead_from(meeting);
            any = true;
        }
        any
    }

    /// Called when nothing can run and no lane spins: lets lanes that wait for others of their warp, which stand at a barrier of the block, run
    /// on where only their exit lies ahead. True if there were any.
    pub(super) fn let_lanes_run_on_behind_barriers(&mut self, machine: &mut Machine<'_>) -> bool {
        if machine.context.options.schedule == Schedule::Lockstep {
            return false;
        }
        let mut any = false;
        for warp in &mut self.warps {
            let at_barrier = |&at: &usize| matches!(warp.splits[at].state, State::AtBarrier(..));
            let code = machine.context.code;
            let meeting = |at: usize| {
                let above = warp.above_with(at, FULL)?;
                runs_to_its_exit(code, warp.splits[above].pc).then_some((at, above))
            };
            let Some((at, meeting)) = (0..warp.splits.len()).filter(at_barrier).find_map(meeting) else { continue };
            machine.findings.lanes_behind(&self.env, warp, at, meeting);
            warp.go_ahead_from(meeting);
            any = true;
        }
        any
    }

    /// Nothing can run: lets lanes of a warp meet that wait for each other at two instructions of one kind. True if any did.
    pub(super) fn let_branches_meet(&mut self, machine: &mut Machine<'_>) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            let Some(group) = warp.in_branches(machine.context.code) else { continue };
            machine.findings.lanes_elsewhere(machine.context, &self.env, warp, group[0]);
            machine.execute_across(&mut self.env, warp, &group);
            any = true;
        }
        any
    }
}

impl Machine<'_> {
    /// The splits `group` execute the instructions that they wait at as if these were one.
    fn execute_across(&mut self, env: &mut Environment, warp: &mut Warp, group: &[usize]) {
        let code = self.context.code;
        let all = group.iter().fold(0, |all, &at| all | warp.splits[at].mask);
        let before = (warp.w.clone(), warp.p.clone());
        let mut after = before.clone();
        for &at in group {
            let split = warp.splits[at];
            let inst = &code.insts[split.pc as usize];
            (warp.w, warp.p) = before.clone();
            for &other in group {
                let Split { pc, mask, .. } = warp.splits[other];
                hand_over(warp, inst, &before, &code.insts[pc as usize], mask);
            }
            let named = warp.first32(inst.mask_row(), split.mask);
            let issue = &mut Issue { env: &mut *env, warp: &mut *warp, at, pc: split.pc, inst, active: all };
            self.execute_group(issue, named);
            for (row, of) in after.0.iter_mut().zip(&warp.w) {
                lanes(split.mask).for_each(|lane| row.0[lane] = of.0[lane]);
            }
            for (row, of) in after.1.iter_mut().zip(&warp.p) {
                *row = (*row & !split.mask) | (of & split.mask);
            }
        }
        (warp.w, warp.p) = after;
        for &at in group {
            warp.splits[at].state = State::Ready;
            warp.splits[at].pc += 1;
        }
        warp.merge();
    }
}

/// Returns whether code runs straight from `pc` to an exit, past nothing that lanes could wait at.
fn runs_to_its_exit(code: &Code, pc: u32) -> bool {
    let may_stop = |inst: &&Inst| {
        matches!(
            inst.op,
            Op::Branch | Op::BranchIndexed | Op::Call | Op::Return | Op::Trap | Op::WarpBarrier | Op::Elect
        ) || matches!(inst.op, Op::Barrier | Op::BarrierArrive | Op::BarrierReduce(_) | Op::Mbarrier(_))
            || matches!(inst.op, Op::ClusterArrive { .. } | Op::ClusterWait | Op::Shuffle(_) | Op::Vote(_))
            || matches!(inst.op, Op::Match { .. } | Op::Redux(_) | Op::Matrix { .. } | Op::Exit)
    };
    code.insts.iter().skip(pc as usize).find(may_stop).is_some_and(|inst| inst.op == Op::Exit)
}

/// Gives the operands of the lanes `mask` at `other` to `inst`, an instruction of the same kind.
fn hand_over(warp: &mut Warp, inst: &Inst, (w, p): &(Vec<Row32>, Vec<u32>), other: &Inst, mask: u32) {
    let (to, from) = (usize::from(inst.a), usize::from(other.a));
    if matches!(inst.op, Op::Vote(_)) {
        let given = if inst.imm == other.imm { p[from] } else { !p[from] };
        warp.p[to] = (warp.p[to] & !mask) | (given & mask);
    } else {
        lanes(mask).for_each(|lane| warp.w[to].0[lane] = w[from].0[lane]);
    }
}

impl Warp {
    /// Splits that wait with one mask at several instructions of one kind, and are all that it names. Not where some values are
    /// undefined: these are known by their registers.
    fn in_branches(&self, code: &Code) -> Option<Vec<usize>> {
        if !self.undefined.is_empty() {
            return None;
        }
        let inst = |at: usize| &code.insts[self.splits[at].pc as usize];
        let waits = |&at: &usize| {
            self.splits[at].state == State::AtWarpSync && matches!(inst(at).op, Op::Vote(_) | Op::Shuffle(_))
        };
        let named = |at: usize| self.first32(inst(at).mask_row(), self.splits[at].mask);
        let is_named = |at: usize, mask: u32| {
            let masks = &self.w[usize::from(inst(at).mask_row())].0;
            lanes(self.splits[at].mask).all(|lane| masks[lane] == mask)
        };
        (0..self.splits.len()).filter(waits).find_map(|first| {
            let mask = named(first);
            let alike = |&at: &usize| inst(at).op == inst(first).op && is_named(at, mask);
            let group: Vec<usize> = (0..self.splits.len()).filter(waits).filter(alike).collect();
            let come = group.iter().fold(0, |all, &at| all | self.splits[at].mask);
            (!group.is_empty() && mask & self.live & !come == 0).then_some(group)
        })
    }

    /// The innermost split in which lanes wait to meet those of split `at`, which wait for them at a `.sync` instruction.
    fn meeting(&self, machine: &Machine<'_>, at: usize) -> Option<usize> {
        let split = self.splits[at];
        let named = self.first32(machine.context.code.insts[split.pc as usize].mask_row(), split.mask);
        self.above_with(at, named)
    }

    /// The innermost split above `at` in which some of `lanes` wait to meet the others.
    fn above_with(&self, at: usize, lanes: u32) -> Option<usize> {
        let mut up = self.splits[at].parent;
        while let Some(above) = up {
            if self.waiting(above) & lanes != 0 {
                return Some(above);
            }
            up = self.splits[above].parent;
        }
        None
    }

    /// The lanes that wait in the parted split `at` go on without those they wait for.
    pub(super) fn go_ahead_from(&mut self, at: usize) {
        let ahead = self.drive_apart(at, self.waiting(at));
        self.splits[ahead].state = State::Ready;
        self.splits[ahead].children = 0;
    }
}
