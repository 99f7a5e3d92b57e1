//! What lanes do together: barriers of the block, and the `.sync` instructions of a warp.

use super::alu::{store_predicate, store32};
use super::block::Environment;
use super::memory::lanes;
use super::warp::{State, Warp};
use super::{Machine, guarded};
use crate::code::{Inst, Op, ReduxOp, ShuffleMode, VoteMode};
use crate::launch::Schedule;

/// Split `at` executes a barrier instruction with the lanes `active`. True if it now waits.
#[inline(always)]
pub(super) fn arrive(env: &mut Environment, warp: &mut Warp, at: usize, inst: &Inst, active: u32) -> bool {
    let id = warp.first32(inst.a, active) & 15;
    let count = (inst.b != crate::code::NONE).then(|| warp.first32(inst.b, active));
    if inst.op == Op::BarrierArrive {
        env.arrivals[id as usize] += active.count_ones();
        return false;
    }
    let split = warp.splits[at];
    let passing = split.mask & !active;
    if passing != 0 {
        // `@p bar.sync`: the lanes whose guard is false walk past.
        let pc = split.pc;
        warp.drive_apart(at, passing);
        if let Some(other) = warp.splits.iter_mut().find(|s| s.mask == passing && s.pc == pc) {
            other.pc += 1;
        }
    }
    warp.splits[at].state = State::AtBarrier(id, count);
    true
}

impl Machine<'_> {
    /// Executes a `.sync` instruction of the warp now if every lane that its mask names is here. Otherwise split `at`
    /// starts to wait, and false is returned.
    #[inline(always)]
    pub(super) fn collective(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        at: usize,
        pc: u32,
        inst: &Inst,
        active: u32,
    ) -> bool {
        let named = member_mask(warp, inst, active);
        let needed = named & warp.live;
        let waits = matches!(self.context.options.schedule, Schedule::Independent { .. });
        if waits && needed & !active != 0 {
            warp.splits[at].pc = pc;
            warp.splits[at].state = State::AtWarpSync(needed);
            return false;
        }
        self.execute_collective(env, warp, pc, inst, active);
        true
    }

    /// Lets waiting lanes go on where all that are needed have come. True if any did.
    pub(super) fn release_collectives(&mut self, env: &mut Environment, warp: &mut Warp) -> bool {
        let mut released = false;
        for at in 0..warp.splits.len() {
            let (pc, State::AtWarpSync(_)) = (warp.splits[at].pc, warp.splits[at].state) else { continue };
            let inst = &self.context.code.insts[pc as usize];
            let together = |s: &super::warp::Split| s.pc == pc && matches!(s.state, State::AtWarpSync(_));
            let (mut here, mut needed) = (0, 0);
            for split in warp.splits.iter().filter(|s| together(s)) {
                here |= guarded(warp, inst, split.mask);
                if let State::AtWarpSync(mask) = split.state {
                    needed |= mask;
                }
            }
            if needed & warp.live & !here != 0 {
                continue;
            }
            self.execute_collective(env, warp, pc, inst, here);
            for split in warp.splits.iter_mut().filter(|s| together(s)) {
                split.state = State::Ready;
                split.pc += 1;
            }
            released = true;
        }
        if released {
            warp.merge();
        }
        released
    }

    fn execute_collective(&mut self, env: &mut Environment, warp: &mut Warp, pc: u32, inst: &Inst, here: u32) {
        let named = member_mask(warp, inst, here);
        if here & !named != 0 {
            self.findings.mask(env, warp, pc, here & !named, named);
        }
        match inst.op {
            Op::WarpBarrier => {
                if let Some(shadow) = &mut env.shadow {
                    shadow.warp_barrier(warp.index, here);
                }
            }
            Op::Shuffle(mode) => self.shuffle(env, warp, pc, inst, mode, here),
            Op::Vote(mode) => vote(warp, inst, mode, here),
            Op::Match { all, wide } => match_lanes(warp, inst, all, wide, here),
            Op::Redux(op) => redux(warp, inst, op, here),
            _ => {}
        }
    }

    #[inline(always)]
    fn shuffle(&mut self, env: &Environment, warp: &mut Warp, pc: u32, inst: &Inst, mode: ShuffleMode, here: u32) {
        let row = |reg: u16| warp.w[usize::from(reg)].0;
        let (a, b, c) = (row(inst.a), row(inst.b), row(inst.c));
        let mut out = [0; 32];
        let (mut inside, mut absent) = (0u32, 0u32);
        for lane in 0..32u32 {
            let (offset, clamp, segment) = (b[lane as usize] & 31, c[lane as usize] & 31, c[lane as usize] >> 8 & 31);
            let first = lane & segment;
            let last = first | (clamp & !segment);
            let (from, in_range) = match mode {
                ShuffleMode::Up => (lane.wrapping_sub(offset), lane >= offset + last),
                ShuffleMode::Down => (lane + offset, lane + offset <= last),
                ShuffleMode::Bfly => (lane ^ offset, lane ^ offset <= last),
                ShuffleMode::Idx => (first | (offset & !segment), first | (offset & !segment) <= last),
            };
            let from = if in_range { from & 31 } else { lane };
            inside |= u32::from(in_range) << lane;
            absent |= u32::from(here & (1 << from) == 0) << lane;
            out[lane as usize] = a[from as usize];
        }
        if absent & here != 0 {
            self.findings.inactive_lane(env, warp, pc, absent & here);
        }
        store32(warp, inst.d, &out, here);
        store_predicate(warp, inst.e, inside, here);
    }
}

/// The lanes that the instruction's mask operand names, as its first lane has it.
#[inline(always)]
fn member_mask(warp: &Warp, inst: &Inst, active: u32) -> u32 {
    let row = if inst.op == Op::WarpBarrier { inst.a } else { inst.f };
    warp.first32(row, active)
}

fn vote(warp: &mut Warp, inst: &Inst, mode: VoteMode, here: u32) {
    let p = warp.p[usize::from(inst.a)];
    let yes = here & if inst.imm == 1 { !p } else { p };
    let verdict = match mode {
        VoteMode::Ballot => return store32(warp, inst.d, &[yes; 32], here),
        VoteMode::All => yes == here,
        VoteMode::Any => yes != 0,
        VoteMode::Uni => yes == here || yes == 0,
    };
    store_predicate(warp, inst.d, if verdict { u32::MAX } else { 0 }, here);
}

fn match_lanes(warp: &mut Warp, inst: &Inst, all: bool, wide: bool, here: u32) {
    let value = |lane: usize| match wide {
        true => warp.d[usize::from(inst.a)].0[lane],
        false => u64::from(warp.w[usize::from(inst.a)].0[lane]),
    };
    let mut out = [0; 32];
    for lane in lanes(here) {
        out[lane] = lanes(here).filter(|&other| value(other) == value(lane)).fold(0, |mask, other| mask | 1 << other);
    }
    if all {
        let same = lanes(here).all(|lane| out[lane] == here);
        out = [if same { here } else { 0 }; 32];
        store_predicate(warp, inst.e, if same { u32::MAX } else { 0 }, here);
    }
    store32(warp, inst.d, &out, here);
}

fn redux(warp: &mut Warp, inst: &Inst, op: ReduxOp, here: u32) {
    let a = warp.w[usize::from(inst.a)].0;
    let values = lanes(here).map(|lane| a[lane]);
    let result = values.reduce(|x, y| match op {
        ReduxOp::Add => x.wrapping_add(y),
        ReduxOp::MinU => x.min(y),
        ReduxOp::MinS => (x as i32).min(y as i32) as u32,
        ReduxOp::MaxU => x.max(y),
        ReduxOp::MaxS => (x as i32).max(y as i32) as u32,
        ReduxOp::And => x & y,
        ReduxOp::Or => x | y,
        ReduxOp::Xor => x ^ y,
    });
    store32(warp, inst.d, &[result.unwrap_or(0); 32], here);
}
