//! Calls: into a function, out of it, and what is passed between. See `warp.rs` for how lanes that part in a call meet
//! again, and `lower/call.rs` for what lies where in a frame.

use super::alu::{keep, store32, store64};
use super::findings::Detail;
use super::issue::Issue;
use super::undefined::Home;
use super::warp::Warp;
use super::{Machine, Stop};
use crate::code::{CallSite, Callee, Function, Inst, MemOp, NONE, Op, Slot};
use crate::fault;
use crate::masks::{filter, lanes};
use crate::memory::LOCAL_BYTES_MAX;
use crate::ops::Row;

/// Stack bytes of a call besides local variables: a return address and room to keep a register or two.
const CALL_BYTES: u64 = 16;

/// Copies the lanes `mask` of a row of the stack.
fn copy(warp: &mut Warp, from: u32, to: u32, mask: u32) {
    let row = warp.frames[from as usize];
    keep(&mut warp.frames[to as usize].0, &row.0, mask);
    if !warp.undefined.is_empty() {
        warp.undefined.copy(Home::Frame(from), Home::Frame(to), mask);
    }
}

impl Machine<'_> {
    /// Executes `call`, `ret`, `brx.idx` or what allocates on the stack for the lanes `active` of split `at`. `Ok` if the split goes on behind it with
    /// the lanes that it has left.
    #[inline(never)] // the run loop stays small
    pub(super) fn transfer(&mut self, mut issue: Issue<'_>) -> Result<(), Stop> {
        match issue.inst.op {
            Op::Call => self.call(&mut issue),
            Op::Return => self.come_back(issue.warp, issue.at, issue.pc, issue.active),
            Op::Stack(act) => self.stack(&mut issue, act),
            _ => Err(self.branch_indexed(&mut issue)),
        }
    }

    /// Executes an instruction about the frame or the local variables of split `at`'s activation.
    #[inline(never)]
    pub(super) fn frame(&self, warp: &mut Warp, at: usize, inst: &Inst, active: u32) {
        match inst.op {
            Op::LoadFrame(op) => self.load_frame(warp, at, inst, op, active),
            Op::StoreFrame(op) => self.store_frame(warp, at, inst, op, active),
            _ => {
                let address = u64::from(warp.splits[at].local).wrapping_add_signed(inst.imm);
                store64(warp, inst.d, &[address; 32], active);
            }
        }
    }

    /// The lanes `active` of split `at` call.
    fn call(&mut self, issue: &mut Issue<'_>) -> Result<(), Stop> {
        let code = self.context.code;
        let Issue { at, pc, active, .. } = *issue;
        let site = &code.calls[issue.inst.imm as usize];
        let groups: Vec<(u32, u32)> = match site.callee {
            Callee::Function(index) => vec![(index, active)],
            Callee::Print => return self.print(issue, site),
            Callee::Allocate => {
                self.allocate(issue, site);
                return Ok(());
            }
            Callee::Free => {
                self.give_back(issue, site);
                return Ok(());
            }
            Callee::AssertFail => return self.assertion(issue, site),
            Callee::Indirect => match self.targets(issue, site) {
                Some(groups) => groups,
                None => return Err(Stop::Fatal),
            },
        };
        let split = issue.warp.splits[at];
        let caller = &code.functions[site.caller as usize];
        let ends = issue.warp.stack_ends(at, caller.local_bytes);
        let local = lanes(active).map(|lane| ends[lane]).max().unwrap_or(0).next_multiple_of(code.local_align_bytes);
        let frame = split.frame + caller.frame_rows;
        for &(index, mask) in &groups {
            let function = &code.functions[index as usize];
            if let Some(bytes) = self.full_stack(local, function, split.depth) {
                let detail = Detail::Stack { depth: split.depth + 1, bytes };
                self.findings.found(issue, mask, fault::Code::StackOverflow, detail);
                return Err(Stop::Fatal);
            }
            issue.warp.make_room(local + function.local_bytes, frame + function.frame_rows);
            issue.warp.forget_local(local, function.local_bytes, mask);
        }
        let warp = &mut *issue.warp;
        for &Slot { caller, callee, rows } in &site.arguments {
            (0..rows).for_each(|row| copy(warp, split.frame + caller + row, frame + callee + row, active));
        }
        save(warp, site, split.frame + site.save_at, active);
        for &(index, mask) in &groups {
            if let Some(function) = self.context.begins_unset(index) {
                warp.mark_unset(issue.env, function, mask);
            }
        }
        let start = |(index, mask): (u32, u32)| (code.functions[index as usize].start, mask);
        let groups: Vec<(u32, u32)> = groups.into_iter().map(start).collect();
        warp.enter(at, &groups, pc + 1, frame, local);
        Err(Stop::Blocked)
    }

    /// The lanes `back` of split `at` return from the function they are in.
    fn come_back(&mut self, warp: &mut Warp, at: usize, pc: u32, back: u32) -> Result<(), Stop> {
        let rest = warp.splits[at].mask & !back;
        let code = self.context.code;
        if !warp.undefined.is_empty() {
            warp.outlive(&code.function_at(pc).unset, back);
        }
        let Some(up) = warp.caller(at) else {
            // Only functions return, and they are only entered by calls.
            return if super::leave(warp, at, rest, back) { Err(Stop::Blocked) } else { Ok(()) };
        };
        let split = warp.splits[up];
        let site = &code.calls[code.insts[split.pc as usize - 1].imm as usize];
        let frame = split.frame + code.functions[site.caller as usize].frame_rows;
        for &Slot { caller, callee, rows } in &site.returns {
            (0..rows).for_each(|row| copy(warp, frame + callee + row, split.frame + caller + row, back));
        }
        restore(warp, site, split.frame + site.save_at, back);
        warp.release_stack(warp.splits[at].local, back);
        warp.leave_activation(at, back);
        if rest != 0 {
            return Ok(());
        }
        warp.end(at);
        Err(Stop::Blocked)
    }

    /// The size in bytes of the stack on which a call at `depth` finds no room for the function's local variables, which
    /// start at byte `local`; `None` if there is room.
    fn full_stack(&self, local: u32, function: &Function, depth: u32) -> Option<u32> {
        let code = self.context.code;
        let end = u64::from(local) + u64::from(function.local_bytes);
        if end > u64::from(LOCAL_BYTES_MAX) {
            return Some(LOCAL_BYTES_MAX);
        }
        // If the compiler knows how deep calls go, the driver makes the stack as large as they need.
        let entry = code.functions.first().map_or(0, |entry| u64::from(entry.local_bytes));
        let used = end - entry + CALL_BYTES * (u64::from(depth) + 1);
        let limit = self.context.options.stack_bytes;
        (code.has_unbounded_stack && used > u64::from(limit)).then_some(limit)
    }

    /// The functions whose addresses the lanes hold, by index, with the lanes. `None` and a finding if some hold
    /// something else, or the address of a function that takes or returns something else.
    fn targets(&mut self, issue: &Issue<'_>, site: &CallSite) -> Option<Vec<(u32, u32)>> {
        let code = self.context.code;
        let address = &issue.warp.d[usize::from(issue.inst.a)].0;
        let mut groups = Vec::new();
        let mut rest = issue.active;
        while rest != 0 {
            let target = address[(rest.trailing_zeros() & 31) as usize];
            let group = filter(rest, |lane| address[lane] == target);
            rest &= !group;
            let found = code.addresses.get(&target).copied();
            match found.filter(|&index| code.functions[index as usize].signature == site.signature) {
                Some(index) => groups.push((index, group)),
                None => {
                    let detail = Detail::Pointer { address: target, function: found };
                    self.findings.found(issue, group, fault::Code::OutOfBounds, detail);
                    return None;
                }
            }
        }
        Some(groups)
    }

    /// The lanes `active` of split `at` each go to the label that their index chooses. The others go on.
    fn branch_indexed(&mut self, issue: &mut Issue<'_>) -> Stop {
        let Issue { at, pc, inst, active, .. } = *issue;
        let table = &self.context.code.tables[inst.imm as usize];
        let index = issue.warp.w[usize::from(inst.a)].0;
        let outside = filter(active, |lane| index[lane] as usize >= table.len());
        if outside != 0 {
            let detail = Detail::Label(index[(outside.trailing_zeros() & 31) as usize]);
            self.findings.found(issue, outside, fault::Code::OutOfBounds, detail);
            return Stop::Fatal;
        }
        let warp = &mut *issue.warp;
        let mut groups: Vec<(u32, u32)> = Vec::new();
        let staying = warp.splits[at].mask & !active;
        if staying != 0 {
            groups.push((pc + 1, staying));
        }
        for lane in lanes(active) {
            let target = table[index[lane] as usize];
            match groups.iter_mut().find(|(pc, _)| *pc == target) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => groups.push((target, 1 << lane)),
            }
        }
        if let [(target, _)] = groups[..] {
            warp.splits[at].pc = target;
        } else {
            self.counts[pc as usize].divergent += 1;
            warp.part_into(at, &groups, inst.reconverge);
        }
        Stop::Blocked
    }

    /// `ld.param` of what lies in the frame.
    fn load_frame(&self, warp: &mut Warp, at: usize, inst: &Inst, op: MemOp, active: u32) {
        let bytes = u32::from(op.width.bytes);
        for element in 0..u32::from(op.vector) {
            let byte = inst.imm as u32 + element * bytes;
            let row = (warp.splits[at].frame + byte / 4) as usize;
            let register = self.register(inst, op, element as usize);
            if register == NONE {
                continue;
            }
            let low = warp.frames[row].0;
            if bytes == 8 {
                let high = warp.frames[row + 1].0;
                let out = std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32);
                store64(warp, register, &out, active);
                continue;
            }
            let (shift, unused) = (8 * (byte % 4), 32 - 8 * bytes);
            let out = low.map(|word| match op.width.signed {
                true => ((word >> shift << unused) as i32 >> unused) as u32,
                false => word >> shift << unused >> unused,
            });
            if op.width.wide {
                let wide = |v: u32| if op.width.signed { v as i32 as u64 } else { u64::from(v) };
                store64(warp, register, &out.map(wide), active);
            } else {
                store32(warp, register, &out, active);
            }
        }
    }

    /// `st.param`, likewise.
    fn store_frame(&self, warp: &mut Warp, at: usize, inst: &Inst, op: MemOp, active: u32) {
        let bytes = u32::from(op.width.bytes);
        for element in 0..u32::from(op.vector) {
            let byte = inst.imm as u32 + element * bytes;
            let row = (warp.splits[at].frame + byte / 4) as usize;
            let register = usize::from(self.register(inst, op, element as usize));
            let low = match op.width.wide {
                true => warp.d[register].0.map(|v| v as u32),
                false => warp.w[register].0,
            };
            match bytes {
                8 => {
                    let high = warp.d[register].0.map(|v| (v >> 32) as u32);
                    keep(&mut warp.frames[row].0, &low, active);
                    keep(&mut warp.frames[row + 1].0, &high, active);
                }
                4 => keep(&mut warp.frames[row].0, &low, active),
                _ => {
                    let shift = 8 * (byte % 4);
                    let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                    let old = warp.frames[row].0;
                    let new = std::array::from_fn(|lane| (old[lane] & !ones) | (low[lane] << shift & ones));
                    keep(&mut warp.frames[row].0, &new, active);
                }
            }
        }
    }
}

/// Keeps the registers that the call may be made again with.
fn save(warp: &mut Warp, site: &CallSite, mut place: u32, active: u32) {
    for &(row, reg) in &site.saved {
        let at = place as usize;
        match row {
            Row::W => keep(&mut warp.frames[at].0, &warp.w[usize::from(reg)].0, active),
            Row::P => {
                let bits = warp.p[usize::from(reg)];
                keep(&mut warp.frames[at].0, &std::array::from_fn(|lane| bits >> lane & 1), active);
            }
            Row::D => {
                let values = &warp.d[usize::from(reg)].0;
                keep(&mut warp.frames[at].0, &values.map(|v| v as u32), active);
                keep(&mut warp.frames[at + 1].0, &values.map(|v| (v >> 32) as u32), active);
            }
        }
        place += if row == Row::D { 2 } else { 1 };
    }
}

/// Gives the lanes `back` the registers that were kept.
fn restore(warp: &mut Warp, site: &CallSite, mut place: u32, back: u32) {
    for &(row, reg) in &site.saved {
        // The registers count as defined from here on, even those that were not before the call.
        warp.undefined.clear(Home::Register(row, reg), back);
        let kept = warp.frames[place as usize].0;
        match row {
            Row::W => store32(warp, reg, &kept, back),
            Row::P => {
                let bits = (0..32).fold(0, |bits, lane| bits | (kept[lane] & 1) << lane);
                super::alu::store_predicate(warp, reg, bits, back);
            }
            Row::D => {
                let high = warp.frames[place as usize + 1].0;
                let values = std::array::from_fn(|lane| u64::from(kept[lane]) | u64::from(high[lane]) << 32);
                store64(warp, reg, &values, back);
            }
        }
        place += if row == Row::D { 2 } else { 1 };
    }
}
