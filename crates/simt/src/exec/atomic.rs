//! `atom` and `red`: read, combine and write as one step.

use super::Machine;
use super::alu::{narrowed, store32, store64};
use super::issue::{Access, Cost, Issue, Lanes, Place};
use super::observe::low_bytes;
use super::rounds::SWAP_PASSES;
use super::warp::Warp;
use crate::access::{Passes, global_atomic_sectors};
use crate::code::{AtomOp, AtomicOp, MachineOp, NONE, Reg, Target, VECTOR_MAX};
use crate::eval;
use crate::fault::Code;
use crate::masks::lanes;
use crate::race::Strength;
use crate::race::global::Act;

/// Operands of an atomic, element by element, and the old values that it finds.
pub(super) struct Operands<'a> {
    pub(super) b: &'a [Lanes],
    pub(super) c: &'a [Lanes],
    pub(super) old: &'a mut [Lanes],
}

two_clones! {
    impl Machine<'_> {
        /// `atom`, `red`
        atomic, atomic_avx2, atomic_baseline = atomic_inline(&mut self, issue: Issue<'_>, op: AtomOp);
    }
}

impl<'k> Machine<'k> {
    #[inline(always)]
    fn atomic_inline(&mut self, mut issue: Issue<'_>, op: AtomOp) {
        if op.vector > 1 || op.bytes == 16 {
            return self.atomic_elements(&mut issue, op);
        }
        let [b, c] = [issue.inst.b, issue.inst.c].map(|row| operand(issue.warp, op, row));
        let mut old = [[0; 32]];
        self.atomic_places(&mut issue, op, Operands { b: &[b], c: &[c], old: &mut old });
        result(issue.warp, op, issue.inst.d, &old[0], issue.active);
    }

    /// The wider forms: several elements a lane, or one of 16 bytes.
    #[inline(never)]
    fn atomic_elements(&mut self, issue: &mut Issue<'_>, op: AtomOp) {
        let (code, inst) = (self.context.code, issue.inst);
        let wide = op.bytes == 16;
        let count = if wide { 2 } else { usize::from(op.vector) };
        let registers = |first: Reg, side: Reg| -> [Reg; VECTOR_MAX] {
            std::array::from_fn(|i| match wide {
                _ if i >= count => NONE,
                true if first == NONE => NONE,
                true => first + i as Reg,
                false => code.vectors.get(usize::from(side)).map_or(NONE, |row| row[i]),
            })
        };
        let b = registers(inst.b, inst.c).map(|row| operand(issue.warp, op, row));
        let c = registers(inst.c, NONE).map(|row| if wide { operand(issue.warp, op, row) } else { [0; 32] });
        let mut old = [[0; 32]; VECTOR_MAX];
        self.atomic_places(issue, op, Operands { b: &b[..count], c: &c[..count], old: &mut old[..count] });
        for (row, old) in registers(inst.d, inst.f).into_iter().zip(&old) {
            result(issue.warp, op, row, old, issue.active);
        }
    }

    /// Wherever the lanes go.
    #[inline(always)]
    fn atomic_places(&mut self, issue: &mut Issue<'_>, op: AtomOp, mut operands: Operands<'_>) {
        let (bytes, mut at, mask) = (u32::from(op.bytes) * u32::from(op.vector), issue.addresses(), issue.active);
        let mut elsewhere = op.target == Target::Generic && mask != 0;
        let remote = self.remote_lanes(op.target, mask, &at);
        if remote != 0 {
            elsewhere = false;
            self.atomic_remote(issue, op, Access::new(Place::Shared, remote, bytes, &at, strength(op)), &mut operands);
        }
        if remote == 0 || remote != mask {
            self.each_place(op.target, mask & !remote, &mut at, |machine, place, mask, at| {
                let access = machine.admit(issue, Access::new(place, mask, bytes, at, strength(op)));
                if access.lanes != 0 {
                    elsewhere &= place != Place::Shared;
                    machine.atomic_at(issue, op, &access, &mut operands);
                }
            });
        }
        // A generic atomic (ATOM) passes by shared memory once, though none of its lanes goes there.
        self.counts[issue.pc as usize].wavefronts += u64::from(elsewhere);
    }

    fn atomic_at(&mut self, issue: &mut Issue<'_>, op: AtomOp, access: &Access<'_>, operands: &mut Operands<'_>) {
        let Access { lanes: mask, bytes, at, .. } = *access;
        match access.place {
            Place::Shared => {
                let at = narrowed(at);
                let passes = match op.machine {
                    MachineOp::Rounds => self.count_rounds(issue, op, mask, &at, &operands.b[0]),
                    _ => self.shared_atomic_passes(issue.pc, op, mask, bytes, &at),
                };
                self.observe(issue, access, passes.into());
                self.atomic_shared(issue, op, access, operands);
            }
            Place::Global => {
                // The hash of lines makes the count depend on more than distances: nothing to remember.
                let sectors = global_atomic_sectors(bytes, reaching(op, mask, at), at);
                self.observe(issue, access, Cost { sectors, ..Cost::default() });
                let op = AtomOp { op: global_operation(op.op), ..op };
                // Blocks that use global atomics never run side by side, so load and store need not be one step.
                for lane in lanes(mask) {
                    let Some((buffer, offset)) = self.context.memory.buffer(at[lane]) else { continue };
                    self.changes += operands.carry_out(op, lane, bytes, |byte, width, new| match new {
                        None => buffer.load(offset + byte, width),
                        Some(new) => {
                            buffer.store(offset + byte, width, new);
                            new
                        }
                    });
                }
            }
            // PTX has no atomics on local memory, constants or parameters; a generic address that points there is the
            // kernel's mistake.
            Place::Local | Place::Const | Place::Param => self.findings.access(Code::OutOfBounds, issue, mask, access),
        }
    }

    /// Passes of an atomic on the shared memory of one block.
    pub(super) fn shared_atomic_passes(
        &mut self,
        pc: u32,
        op: AtomOp,
        mask: u32,
        bytes: u32,
        at: &[u32; 32],
    ) -> Passes {
        let mask = reaching(op, mask, at);
        let memo = self.memos[pc as usize].of(mask);
        match op.machine {
            // Equal addresses need no pass of their own, as in a store.
            MachineOp::CountLanes => memo.shared_store(bytes, mask, at),
            _ => {
                let mut passes = memo.shared_atomic(bytes, mask, at);
                if op.op == AtomicOp::Cas && op.target == Target::Shared {
                    passes.wavefronts *= SWAP_PASSES;
                }
                passes
            }
        }
    }

    /// Carries an atomic on shared memory out.
    pub(super) fn atomic_shared(
        &mut self,
        issue: &mut Issue<'_>,
        op: AtomOp,
        access: &Access<'_>,
        operands: &mut Operands<'_>,
    ) {
        let Some(shared) = issue.env.shared_of(access.owner) else { return };
        for lane in lanes(access.lanes) {
            let at = access.at[lane];
            self.changes += operands.carry_out(op, lane, access.bytes, |byte, width, new| match new {
                None => shared.load((at + byte) as u32, width),
                Some(new) => {
                    shared.store((at + byte) as u32, width, new);
                    new
                }
            });
        }
    }
}

impl Operands<'_> {
    /// Carries out the operation of `lane` on `bytes` bytes: `word` reads or writes so many bytes at an offset. Returns the
    /// number of elements that changed. Sixteen bytes are compared and exchanged as one.
    #[inline(always)]
    fn carry_out(
        &mut self,
        op: AtomOp,
        lane: usize,
        bytes: u32,
        mut word: impl FnMut(u64, u32, Option<u64>) -> u64,
    ) -> u64 {
        let count = self.b.len();
        let width = bytes / count as u32;
        let offset = |element: usize| element as u64 * u64::from(width);
        for element in 0..count {
            self.old[element][lane] = word(offset(element), width, None);
        }
        let differs = |element: usize| self.old[element][lane] != self.b[element][lane];
        if op.bytes == 16 && op.op == AtomicOp::Cas && (0..count).any(differs) {
            return 0;
        }
        let mut changes = 0;
        for element in 0..count {
            let old = self.old[element][lane];
            let new = combine(op, old, self.b[element][lane], self.c[element][lane]);
            changes += u64::from(low_bytes(new, width) != old);
            word(offset(element), width, Some(new));
        }
        changes
    }
}

/// The lanes that reach memory. That all of them have one address was derived and not seen: it is looked at.
#[inline(always)]
fn reaching<A: PartialEq + Copy>(op: AtomOp, mask: u32, at: &[A; 32]) -> u32 {
    let reaching = op.machine.reaching(mask);
    let first = (mask.trailing_zeros() & 31) as usize;
    if reaching != mask && lanes(mask).any(|lane| at[lane] != at[first]) { mask } else { reaching }
}

/// Strength of an atomic; the result of an exchange does not depend on the old value.
pub(super) fn strength(op: AtomOp) -> Strength {
    Strength { order: op.order, scope: op.scope, act: Act::Write, is_atomic: true, reads: op.op != AtomicOp::Exch }
}

/// An operand of all lanes; nothing if it is absent. A row may hold sign bits above a number of 16 bits.
#[inline(always)]
fn operand(warp: &Warp, op: AtomOp, row: Reg) -> Lanes {
    match op.bytes {
        8.. => warp.d.get(usize::from(row)).map_or([0; 32], |r| r.0),
        4.. => warp.w.get(usize::from(row)).map_or([0; 32], |r| r.0.map(u64::from)),
        _ => {
            warp.w.get(usize::from(row)).map_or([0; 32], |r| r.0.map(|value| low_bytes(value.into(), op.bytes.into())))
        }
    }
}

/// Stores what was there before.
#[inline(always)]
fn result(warp: &mut Warp, op: AtomOp, row: Reg, old: &Lanes, mask: u32) {
    if op.bytes >= 8 {
        store64(warp, row, old, mask);
    } else {
        store32(warp, row, &old.map(|v| v as u32), mask);
    }
}

/// `add.f32` on global memory flushes subnormal numbers to zero; on shared memory it does not.
fn global_operation(op: AtomicOp) -> AtomicOp {
    if op == AtomicOp::AddF32 { AtomicOp::AddF32Ftz } else { op }
}

/// Applies `f` to each 16-bit half.
fn halves(bytes: u8, a: u64, b: u64, f: impl Fn(u32, u32) -> u32) -> u64 {
    (0..u32::from(bytes) / 2).fold(0, |all, i| {
        let part = |v: u64| (v >> (16 * i)) as u32 & 0xffff;
        all | u64::from(f(part(a), part(b))) << (16 * i)
    })
}

/// The smaller or larger of two f16 by the rules of `min.f32`: what is picked becomes an f16 again without loss.
fn extreme(a: u32, b: u32, pick: fn(u32, u32) -> u32) -> u32 {
    eval::to_f16(f32::from_bits(pick(eval::from_f16(a).to_bits(), eval::from_f16(b).to_bits())))
}

fn flushed(bits: u64) -> f32 {
    let x = f32::from_bits(bits as u32);
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// The value that an atomic leaves in memory.
pub(super) fn combine(op: AtomOp, old: u64, b: u64, c: u64) -> u64 {
    let signed = |v: u64| if op.bytes == 4 { v as u32 as i32 as i64 } else { v as i64 };
    match op.op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::AddF32 => u64::from(eval::bits32(f32::from_bits(old as u32) + f32::from_bits(b as u32))),
        AtomicOp::AddF32Ftz => {
            let sum = flushed(old) + flushed(b);
            u64::from(eval::bits32(flushed(u64::from(sum.to_bits()))))
        }
        AtomicOp::AddF16 => halves(op.bytes, old, b, eval::add_f16),
        AtomicOp::AddBf16 => halves(op.bytes, old, b, eval::add_bf16),
        AtomicOp::MinF16 => halves(op.bytes, old, b, |a, b| extreme(a, b, eval::min_f32)),
        AtomicOp::MaxF16 => halves(op.bytes, old, b, |a, b| extreme(a, b, eval::max_f32)),
        AtomicOp::MinBf16 => halves(op.bytes, old, b, |a, b| eval::in_bf16(a, b, eval::min_f32)),
        AtomicOp::MaxBf16 => halves(op.bytes, old, b, |a, b| eval::in_bf16(a, b, eval::max_f32)),
        AtomicOp::AddF64 => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        AtomicOp::MinU => old.min(b),
        AtomicOp::MaxU => old.max(b),
        AtomicOp::MinS if signed(b) < signed(old) => b,
        AtomicOp::MaxS if signed(b) > signed(old) => b,
        AtomicOp::MinS | AtomicOp::MaxS => old,
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exch => b,
        // For 16 bytes, `carry_out` has made the comparison.
        AtomicOp::Cas if op.bytes == 16 || old == b => c,
        AtomicOp::Cas => old,
        AtomicOp::Inc if old >= b => 0,
        AtomicOp::Inc => old + 1,
        AtomicOp::Dec if old == 0 || old > b => b,
        AtomicOp::Dec => old - 1,
    }
}
