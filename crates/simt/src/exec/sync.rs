//! Joint operations of the lanes of a warp: the `.sync` instructions.

use super::Machine;
use super::alu::{narrowed, store_predicate, store32, widened};
use super::block::Environment;
use super::carried::Unread;
use super::findings::{Detail, Finding};
use super::issue::{Access, Issue, Place};
use super::undefined::Kind;
use super::warp::{Split, State, Suspect, Warp};
use crate::access;
use crate::code::{FloatMode, Inst, Op, Order, ReduxOp, Scope, ShuffleMode, VoteMode};
use crate::fault::Code;
use crate::launch::Schedule;
use crate::masks::{filter, lanes};
use crate::memory::SHARED_BASE;
use crate::ops::Row;
use crate::race::Strength;
use crate::race::global::Act;

two_clones! {
    impl Machine<'_> {
        /// Executes a `.sync` instruction of the warp for those lanes whose mask names only lanes that are here, and
        /// returns the lanes of the split that go on. `None` if none do: the split waits.
        collective, collective_avx2, collective_baseline = collective_inline(&mut self, issue: Issue<'_>) -> Option<u32>;
    }
}

impl Machine<'_> {
    #[inline(always)]
    fn collective_inline(&mut self, mut issue: Issue<'_>) -> Option<u32> {
        let Issue { at, pc, inst, active, .. } = issue;
        let warp = &mut *issue.warp;
        let named = warp.first32(inst.mask_row(), active);
        let masks = &warp.w[usize::from(inst.mask_row())].0;
        let mut differ = 0;
        for lane in 0..32 {
            differ |= if active & (1 << lane) != 0 { masks[lane] ^ named } else { 0 };
        }
        let lockstep = self.context.options.schedule == Schedule::Lockstep;
        if differ == 0 && (lockstep || named & warp.live & !active == 0) {
            // One mask, and all that it names are here, as is the rule.
            warp.splits[at].pc = pc;
            self.execute_group(&mut issue, named);
            return Some(issue.warp.splits[at].mask);
        }
        self.collective_apart(issue)
    }

    #[inline(never)]
    fn collective_apart(&mut self, mut issue: Issue<'_>) -> Option<u32> {
        let Issue { at, pc, inst, active, .. } = issue;
        let warp = &mut *issue.warp;
        let masks = member_masks(warp, inst);
        let complete = match self.context.options.schedule {
            // Before Volta an instruction took the lanes that came to it.
            Schedule::Lockstep => active,
            _ => complete(&masks, active, warp.live),
        };
        suspect(warp, pc, &masks, active, active & !complete);
        warp.splits[at].pc = pc;
        if complete == 0 {
            // Lanes that are not to execute it do not wait for it either.
            warp.pass_by(at, active);
            warp.splits[at].state = State::AtWarpSync;
            return None;
        }
        if complete != active {
            let waiting = warp.drive_apart(at, active & !complete);
            warp.splits[waiting].state = State::AtWarpSync;
        }
        issue.active = complete;
        self.execute_collective(&mut issue, &masks);
        Some(issue.warp.splits[at].mask)
    }

    /// Lets waiting lanes go on where all that their masks name have come. True if any did.
    #[inline(always)]
    pub(super) fn release_collectives(&mut self, env: &mut Environment, warp: &mut Warp) -> bool {
        warp.splits.iter().any(|split| split.state == State::AtWarpSync) && self.release_waiting(env, warp)
    }

    #[inline(never)]
    fn release_waiting(&mut self, env: &mut Environment, warp: &mut Warp) -> bool {
        let mut released = false;
        for at in 0..warp.splits.len() {
            let split = warp.splits[at];
            if split.state != State::AtWarpSync {
                continue;
            }
            let code = self.context.code;
            let inst = &code.insts[split.pc as usize];
            // A warp barrier is met at any `bar.warp.sync` with the same mask; what moves data, at one instruction.
            let together = |s: &Split| {
                s.state == State::AtWarpSync
                    && (s.pc == split.pc
                        || (inst.op == Op::WarpBarrier && code.insts[s.pc as usize].op == Op::WarpBarrier))
            };
            let (mut here, mut masks) = (0, [0; 32]);
            for other in warp.splits.iter().filter(|s| together(s)) {
                let own = member_masks(warp, &code.insts[other.pc as usize]);
                here |= other.mask;
                lanes(other.mask).for_each(|lane| masks[lane] = own[lane]);
            }
            let complete = complete(&masks, here, warp.live);
            if complete == 0 {
                continue;
            }
            let issue = &mut Issue { env: &mut *env, warp: &mut *warp, at, pc: split.pc, inst, active: complete };
            self.execute_collective(issue, &masks);
            for other in 0..warp.splits.len() {
                let split = warp.splits[other];
                let done = split.mask & complete;
                if !together(&split) || done == 0 {
                    continue;
                }
                if done != split.mask {
                    // The copy keeps waiting with the lanes whose partners are still to come.
                    warp.drive_apart(other, split.mask & !done);
                }
                warp.splits[other].state = State::Ready;
                warp.splits[other].pc += 1;
            }
            released = true;
        }
        if released {
            warp.merge();
        }
        released
    }

    /// Executes the instruction once for each group of lanes with one mask.
    fn execute_collective(&mut self, issue: &mut Issue<'_>, masks: &[u32; 32]) {
        let here = issue.active;
        for (named, group) in groups(masks, here) {
            let apart = here & named & !group;
            if apart != 0 {
                let lane = apart.trailing_zeros() & 31;
                let detail = Detail::Masks { named, lane, other: masks[lane as usize] };
                self.findings.found(issue, group, Code::MaskMismatch, detail);
            }
            self.execute_group(&mut Issue { active: group, ..issue.again() }, named);
        }
    }

    /// The lanes that go on have waited long enough: a finding if one that they waited for has not come to them.
    #[cold]
    fn judge_suspects(&mut self, issue: &mut Issue<'_>, named: u32) {
        let group = issue.active;
        for at in (0..issue.warp.suspects.len()).rev() {
            let Suspect { pc, lanes, named: waited_for, lane, other } = issue.warp.suspects[at];
            if (pc, waited_for) == (issue.pc, named) && lanes & group != 0 {
                issue.warp.suspects.swap_remove(at);
                if group & (1 << lane) == 0 {
                    let detail = Detail::Masks { named, lane, other };
                    self.findings.found(issue, lanes & group, Code::MaskMismatch, detail);
                }
            }
        }
    }

    /// Executes the instruction for lanes that are here and whose mask is `named`.
    #[inline(always)]
    pub(super) fn execute_group(&mut self, issue: &mut Issue<'_>, named: u32) {
        let (inst, group) = (issue.inst, issue.active);
        if !issue.warp.suspects.is_empty() {
            self.judge_suspects(issue, named);
        }
        if group & !named != 0 {
            self.findings.found(issue, group & !named, Code::MaskMismatch, Detail::Mask(named));
        }
        if !issue.warp.undefined.is_empty() && !matches!(inst.op, Op::Shuffle(_)) {
            self.exchange_undefined(issue.warp, issue.pc, group);
        }
        let warp = &mut *issue.warp;
        match inst.op {
            Op::WarpBarrier => {
                let warp = issue.unit_warp();
                if let Some(clocks) = &mut issue.env.team.clocks {
                    clocks.warp_barrier(warp, group);
                }
            }
            Op::Shuffle(mode) => self.shuffle(issue, mode),
            Op::Vote(mode) => vote(warp, inst, mode, group),
            Op::Match { all, wide } => match_lanes(warp, inst, all, wide, group),
            Op::Redux(op) => redux(warp, inst, op, group),
            Op::Elect => elect(warp, inst, named, group),
            Op::Matrix { .. } => self.matrix(issue),
            _ => {}
        }
    }

    #[inline(always)]
    fn shuffle(&mut self, issue: &mut Issue<'_>, mode: ShuffleMode) {
        let (warp, inst, here) = (&mut *issue.warp, issue.inst, issue.active);
        let row = |reg: u16| warp.w[usize::from(reg)].0;
        let (a, b, c) = (row(inst.a), row(inst.b), row(inst.c));
        let is_defined = warp.undefined.is_empty();
        if is_defined && let Some((mut out, inside, absent)) = whole_shuffle(mode, &a, &b, &c, here) {
            clear(&mut out, absent);
            store32(warp, inst.d, &out, here);
            store_predicate(warp, inst.e, inside, here);
            return mark_absent(issue, absent);
        }
        let (mut out, mut sources) = ([0; 32], [0; 32]);
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
            sources[lane as usize] = from;
        }
        if !is_defined {
            self.shuffle_undefined(warp, issue.pc, here, &sources);
        }
        clear(&mut out, absent & here);
        store32(warp, inst.d, &out, here);
        store_predicate(warp, inst.e, inside, here);
        mark_absent(issue, absent & here);
    }
}

/// A lane that takes no part gives 0 on a card; PTX leaves it open.
#[inline(always)]
fn clear(out: &mut [u32; 32], absent: u32) {
    if absent != 0 {
        lanes(absent).for_each(|lane| out[lane] = 0);
    }
}

/// The lanes `absent` have got the value of a lane that takes no part: a finding, if it is used.
#[inline(always)]
fn mark_absent(issue: &mut Issue<'_>, absent: u32) {
    if absent != 0 {
        let finding = Finding::inactive_lane(issue, absent);
        issue.warp.mark_undefined(&[(Row::W, issue.inst.d)], absent, finding, Kind::Shuffled);
    }
}

impl Machine<'_> {
    /// `ldmatrix`, `stmatrix`. Of matrix `m`, lane `8 m + r` has the address of row `r`, 16 bytes; lane `4 r + c` gets or gives
    /// elements `2 c` and `2 c + 1` of that row, or of that column where the matrix is transposed. Each matrix passes through
    /// the banks on its own.
    #[inline(never)]
    fn matrix(&mut self, issue: &mut Issue<'_>) {
        let Op::Matrix { stores, count, transposed, generic } = issue.inst.op else { return };
        let here = issue.active;
        let mut rows = issue.addresses();
        let addressing = here & u32::MAX >> (32 - 8 * u32::from(count));
        if generic {
            rows.iter_mut().for_each(|row| *row = row.wrapping_sub(SHARED_BASE));
        }
        let (scope, is_atomic) = (Scope::Cta, false);
        let act = if stores { Act::Write } else { Act::Read };
        let strength = Strength { order: Order::Weak, scope, act, is_atomic, reads: !stores };
        let inside = self.admit(issue, Access::new(Place::Shared, addressing, 16, &rows, strength)).lanes;
        for matrix in 0..usize::from(count) {
            let row = |lane: usize| 8 * matrix + lane / 4;
            let mask = filter(here, |lane| inside >> row(lane) & 1 != 0);
            if mask == 0 {
                continue;
            }
            let at: [u64; 32] = std::array::from_fn(|lane| rows[row(lane)].wrapping_add(4 * (lane as u64 % 4)));
            let register = self.context.code.vectors[usize::from(issue.inst.c)][matrix];
            let turned = |values: &[u32; 32]| if transposed { transpose(values) } else { *values };
            let cost = access::shared_load(4, mask, &narrowed(&at)).into();
            let access = Access::new(Place::Shared, mask, 4, &at, strength);
            if stores {
                let values = [widened(&turned(&issue.warp.w[usize::from(register)].0))];
                self.observe(issue, &Access { values: &values, ..access }, cost);
                lanes(mask).for_each(|lane| issue.env.shared.store(at[lane] as u32, 4, values[0][lane]));
            } else {
                self.observe(issue, &access, cost);
                let mut values = [0; 32];
                lanes(mask).for_each(|lane| values[lane] = issue.env.shared.load(at[lane] as u32, 4) as u32);
                store32(issue.warp, register, &turned(&values), here);
                for Unread { lanes, finding, .. } in std::mem::take(&mut self.passing.unread) {
                    let bits = std::array::from_fn(|lane| if lanes >> lane & 1 != 0 { u32::MAX } else { 0 });
                    let holders = turned(&bits);
                    let holders = filter(here, |lane| holders[lane] == u32::MAX);
                    issue.warp.mark_copied(&[(Row::W, register)], holders, finding);
                }
            }
        }
    }
}

/// An 8 by 8 matrix of halves as the lanes of a warp hold it, rows and columns exchanged.
fn transpose(values: &[u32; 32]) -> [u32; 32] {
    let element = |row: usize, column: usize| values[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

/// The mask operand of each lane.
#[inline(always)]
fn member_masks(warp: &Warp, inst: &Inst) -> [u32; 32] {
    warp.w[usize::from(inst.mask_row())].0
}

/// Result of a shuffle down or across the whole warp by a power of two, as reductions have it: values for `here`, lanes with a
/// partner, and lanes of `here` whose partner is absent. `None` for other shuffles.
#[inline(always)]
fn whole_shuffle(
    mode: ShuffleMode,
    a: &[u32; 32],
    b: &[u32; 32],
    c: &[u32; 32],
    here: u32,
) -> Option<([u32; 32], u32, u32)> {
    let first = (here.trailing_zeros() & 31) as usize;
    let mut differ = (c[first] & 0x1f1f) ^ 0x1f;
    for lane in 0..32 {
        let differs = (b[lane] ^ b[first]) | (c[lane] ^ c[first]);
        differ |= if here & (1 << lane) != 0 { differs } else { 0 };
    }
    if differ != 0 {
        return None;
    }
    let out = match (mode, b[first] & 31) {
        (ShuffleMode::Down, 1) => down::<1>(a),
        (ShuffleMode::Down, 2) => down::<2>(a),
        (ShuffleMode::Down, 4) => down::<4>(a),
        (ShuffleMode::Down, 8) => down::<8>(a),
        (ShuffleMode::Down, 16) => down::<16>(a),
        (ShuffleMode::Bfly, 1) => across::<1>(a),
        (ShuffleMode::Bfly, 2) => across::<2>(a),
        (ShuffleMode::Bfly, 4) => across::<4>(a),
        (ShuffleMode::Bfly, 8) => across::<8>(a),
        (ShuffleMode::Bfly, 16) => across::<16>(a),
        _ => return None,
    };
    let distance = b[first] & 31;
    if mode == ShuffleMode::Down {
        let inside = u32::MAX >> distance;
        return Some((out, inside, here & inside & !(here >> distance)));
    }
    let mut partners = 0;
    for lane in 0..32 {
        partners |= (here >> (lane ^ distance) & 1) << lane;
    }
    Some((out, u32::MAX, here & !partners))
}

#[inline(always)]
fn down<const DISTANCE: usize>(a: &[u32; 32]) -> [u32; 32] {
    let mut out = *a;
    out[..32 - DISTANCE].copy_from_slice(&a[DISTANCE..]);
    out
}

#[inline(always)]
fn across<const DISTANCE: usize>(a: &[u32; 32]) -> [u32; 32] {
    let mut out = *a;
    for lane in 0..32 {
        out[lane] = a[lane ^ DISTANCE];
    }
    out
}

/// The lanes of `of` whose mask is `named`.
#[inline(always)]
fn same_mask(masks: &[u32; 32], of: u32, named: u32) -> u32 {
    let same = (0..32).fold(0, |all, lane| all | (u32::from(masks[lane] == named) << lane));
    of & same
}

/// Each mask that some of the lanes `of` have, and those lanes.
#[inline(always)]
fn groups(masks: &[u32; 32], of: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut rest = of;
    std::iter::from_fn(move || {
        let named = masks[(rest.trailing_zeros() & 31) as usize];
        (rest != 0).then(|| {
            let group = same_mask(masks, rest, named);
            rest &= !group;
            (named, group)
        })
    })
}

/// Notes which of the lanes `waiting` name one that executes the instruction beside them, in `active`, with another mask. It may
/// come back with theirs, in a loop.
fn suspect(warp: &mut Warp, pc: u32, masks: &[u32; 32], active: u32, waiting: u32) {
    for (named, lanes) in groups(masks, waiting) {
        let apart = active & named & !same_mask(masks, active, named);
        let lane = apart.trailing_zeros() & 31;
        let new = Suspect { pc, lanes, named, lane, other: masks[lane as usize] };
        if apart != 0 && !warp.suspects.contains(&new) {
            warp.suspects.push(new);
        }
    }
}

/// The lanes of `here` whose mask names no living lane but those that came with the same mask.
#[inline(always)]
fn complete(masks: &[u32; 32], here: u32, live: u32) -> u32 {
    let together = groups(masks, here).filter(|(named, group)| named & live & !group == 0);
    together.fold(0, |complete, (_, group)| complete | group)
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

/// One lane of those named leads: the first. PTX leaves open which, and asks that it is always the same.
fn elect(warp: &mut Warp, inst: &Inst, named: u32, here: u32) {
    let leader = named.trailing_zeros();
    store32(warp, inst.d, &[leader; 32], here);
    store_predicate(warp, inst.e, 1u32.checked_shl(leader).unwrap_or(0), here);
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
        ReduxOp::MinF32(mode) => float_extreme(x, y, mode, crate::eval::min_f32),
        ReduxOp::MaxF32(mode) => float_extreme(x, y, mode, crate::eval::max_f32),
    });
    let result = result.map_or(0, |result| match op {
        // A single lane goes through the same rules.
        ReduxOp::MinF32(mode) | ReduxOp::MaxF32(mode) => float_extreme(result, result, mode, crate::eval::min_f32),
        _ => result,
    });
    store32(warp, inst.d, &[result; 32], here);
}

/// One step of `redux.sync.min` or `.max` of floats, with `.abs` and `.NaN`.
fn float_extreme(x: u32, y: u32, mode: FloatMode, pick: fn(u32, u32) -> u32) -> u32 {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    if mode.nan && (is_nan(x) || is_nan(y)) {
        return crate::eval::NAN_F32;
    }
    let magnitude = |bits: u32| if mode.abs { bits & 0x7fff_ffff } else { bits };
    pick(magnitude(x), magnitude(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_of_a_whole_warp_are_what_ptx_defines() {
        let a: [u32; 32] = std::array::from_fn(|lane| 1000 + lane as u32);
        let mut found = 0;
        for (mode, distance) in [ShuffleMode::Down, ShuffleMode::Bfly, ShuffleMode::Up]
            .into_iter()
            .flat_map(|m| (0..32).map(move |d| (m, d)))
        {
            for here in [u32::MAX, 0xffff, 0x8000_0001, 0x5555_5555, 4] {
                let Some((out, inside, absent)) = whole_shuffle(mode, &a, &[distance; 32], &[31; 32], here) else {
                    continue;
                };
                found += 1;
                for lane in 0..32u32 {
                    let from = if mode == ShuffleMode::Down { lane + distance } else { lane ^ distance };
                    let is_inside = from < 32;
                    let from = if is_inside { from } else { lane };
                    assert_eq!(out[lane as usize], a[from as usize], "{mode:?} {distance}, lane {lane}");
                    assert_eq!(inside >> lane & 1 == 1, is_inside, "{mode:?} {distance}, lane {lane}");
                    let is_absent = here >> lane & 1 == 1 && here >> from & 1 == 0;
                    assert_eq!(absent >> lane & 1 == 1, is_absent, "{mode:?} {distance} {here:x}, lane {lane}");
                }
            }
        }
        assert_eq!(found, 2 * 5 * 5, "down and across by five powers of two");
        let mut apart = [1; 32];
        apart[7] = 2;
        assert!(whole_shuffle(ShuffleMode::Down, &a, &apart, &[31; 32], u32::MAX).is_none());
        assert!(whole_shuffle(ShuffleMode::Down, &a, &[1; 32], &[0x101f; 32], u32::MAX).is_none(), "a segment");
    }
}
