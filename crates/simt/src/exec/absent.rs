//! Lanes that a `.sync` instruction waits for, and that wait for it: its mask names them, they have taken another way, and stand
//! where the two ways meet. PTX leaves open what happens then. A card lets them run on, to their exit or to where they wait
//! themselves, and so does this: it is a finding, and the launch goes on.

use super::Machine;
use super::block::Block;
use super::sync::mask_row;
use super::warp::{State, Warp};
use crate::launch::Schedule;

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
}

impl Warp {
    /// The innermost split in which lanes wait to meet those of split `at`, which wait for them at a `.sync` instruction.
    fn meeting(&self, machine: &Machine<'_>, at: usize) -> Option<usize> {
        let split = self.splits[at];
        let named = self.first32(mask_row(&machine.context.code.insts[split.pc as usize]), split.mask);
        let mut up = split.parent;
        while let Some(above) = up {
            if self.waiting(above) & named != 0 {
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
