//! `atom` and `red`: read, combine and write as one step.

use half::{bf16, f16};

use super::Machine;
use super::alu::{store32, store64};
use super::block::Environment;
use super::memory::{Lanes, Place, Span, addresses, low_bytes};
use super::order::Strength;
use super::rounds::SWAP_PASSES;
use super::team::unit_warp;
use super::warp::Warp;
use crate::access::Passes;
use crate::code::{AtomOp, AtomicOp, Inst, MachineOp, NONE, Reg, Target, VECTOR_MAX};
use crate::fault::Code;
use crate::masks::{hull, lanes};
use crate::race::Access;
use crate::race::global::Act;

two_clones! {
    impl Machine<'_> {
        /// `atom`, `red`
        atomic, atomic_avx2, atomic_baseline = atomic_inline(&mut self, env: &mut Environment, warp: &mut Warp, pc: u32, inst: &Inst, op: AtomOp, mask: u32);
    }
}

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn atomic_inline(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: AtomOp,
        mask: u32,
    ) {
        if op.vector > 1 || op.bytes == 16 {
            return self.atomic_elements(env, warp, pc, inst, op, mask);
        }
        let span = Span { bytes: u32::from(op.bytes), at: addresses(warp, inst) };
        let [b, c] = [inst.b, inst.c].map(|row| operand(warp, op, row));
        let mut old = [[0; 32]];
        let mut elsewhere = op.target == Target::Generic && mask != 0;
        let remote = self.remote_lanes(op.target, mask, &span);
        if remote != 0 {
            elsewhere = false;
            self.atomic_remote(env, warp, pc, op, remote, &span, &[b], &[c], &mut old);
        }
        if remote == 0 || remote != mask {
            self.each_place(op.target, mask & !remote, span, |machine, place, mask, span| {
                let mask = machine.admit(env, warp, pc, place, mask, span);
                if mask != 0 {
                    elsewhere &= place != Place::Shared;
                    machine.atomic_at(env, warp, pc, op, place, mask, span, &[b], &[c], &mut old);
                }
            });
        }
        self.pass_by_shared(pc, elsewhere);
        result(warp, op, inst.d, &old[0], mask);
    }

    /// The wider forms: several elements a lane, or one of 16 bytes.
    #[inline(never)]
    fn atomic_elements(&mut self, env: &mut Environment, warp: &mut Warp, pc: u32, inst: &Inst, op: AtomOp, mask: u32) {
        let code = self.context.code;
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
        let span = Span { bytes: u32::from(op.bytes) * u32::from(op.vector), at: addresses(warp, inst) };
        let b = registers(inst.b, inst.c).map(|row| operand(warp, op, row));
        let c = registers(inst.c, NONE).map(|row| if wide { operand(warp, op, row) } else { [0; 32] });
        let mut old = [[0; 32]; VECTOR_MAX];
        let mut elsewhere = op.target == Target::Generic && mask != 0;
        let remote = self.remote_lanes(op.target, mask, &span);
        if remote != 0 {
            elsewhere = false;
            self.atomic_remote(env, warp, pc, op, remote, &span, &b[..count], &c[..count], &mut old[..count]);
        }
        self.each_place(op.target, mask & !remote, span, |machine, place, mask, span| {
            let mask = machine.admit(env, warp, pc, place, mask, span);
            if mask != 0 {
                elsewhere &= place != Place::Shared;
                machine.atomic_at(env, warp, pc, op, place, mask, span, &b[..count], &c[..count], &mut old[..count]);
            }
        });
        self.pass_by_shared(pc, elsewhere);
        for (row, old) in registers(inst.d, inst.f).into_iter().zip(&old) {
            result(warp, op, row, old, mask);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn atomic_at(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: AtomOp,
        place: Place,
        mask: u32,
        span: &Span,
        b: &[Lanes],
        c: &[Lanes],
        old: &mut [Lanes],
    ) {
        let bytes = span.bytes;
        let step = bytes / b.len() as u32;
        match place {
            Place::Shared => {
                let at = span.at.map(|a| a as u32);
                let passes = match op.machine {
                    MachineOp::Rounds => self.count_rounds(env, pc, op, mask, &at, &b[0]),
                    _ => {
                        let passes = self.shared_atomic_passes(pc, op, mask, bytes, &at);
                        self.count_passes(pc, passes);
                        passes
                    }
                };
                self.record(place, mask, span, passes, 0);
                self.atomic_shared(env, warp, pc, op, env.rank, mask, bytes, &at, b, c, old);
            }
            Place::Global => {
                let reaching = reaching(op, mask, &span.at);
                let sectors = self.memos[pc as usize].of(mask).global_atomic_sectors(bytes, reaching, &span.at);
                self.counts[pc as usize].sectors += u64::from(sectors);
                self.record(place, mask, span, Passes::default(), sectors);
                if self.context.side_by_side {
                    let (low, high) = hull(&span.at, mask, bytes);
                    env.log.write(low, high, mask, bytes, &span.at);
                }
                if self.order.is_some() {
                    self.watch_order(env, warp, pc, strength(op), mask, span, &[]);
                }
                if reads_old(op.op) {
                    self.watch_global_written(env, warp, pc, mask, span);
                }
                let op = AtomOp { op: global_operation(op.op), ..op };
                let mut changes = 0;
                // Blocks that use global atomics never run side by side, so load and store need not be one step.
                for lane in lanes(mask) {
                    let Some((buffer, offset)) = self.context.memory.buffer(span.at[lane]) else { continue };
                    let places: [u64; VECTOR_MAX] = std::array::from_fn(|i| offset + u64::from(i as u32 * step));
                    old.iter_mut().zip(places).for_each(|(old, at)| old[lane] = buffer.load(at, step));
                    each_element(op, lane, b, c, old, |i, value| {
                        changes += u64::from(low_bytes(value, step) != old[i][lane]);
                        buffer.store(places[i], step, value);
                    });
                }
                self.changes += changes;
            }
            // PTX has no atomics on local memory, constants or parameters; a generic address that points there is the
            // kernel's mistake.
            Place::Local | Place::Const | Place::Param => {
                let first = span.at[mask.trailing_zeros() as usize & 31];
                self.findings.access(Code::OutOfBounds, env, warp, pc, mask, place, first, bytes);
            }
        }
    }
}

impl Machine<'_> {
    /// A generic atomic (ATOM) passes by shared memory once, though none of its lanes goes there.
    #[inline(always)]
    fn pass_by_shared(&mut self, pc: u32, elsewhere: bool) {
        self.counts[pc as usize].wavefronts += u64::from(elsewhere);
    }

    #[inline(always)]
    pub(super) fn count_passes(&mut self, pc: u32, passes: Passes) {
        self.counts[pc as usize].wavefronts += u64::from(passes.wavefronts);
        self.counts[pc as usize].conflicts += u64::from(passes.conflicts);
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

    /// On the shared memory of the block of rank `owner`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic_shared(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: AtomOp,
        owner: u32,
        mask: u32,
        bytes: u32,
        at: &[u32; 32],
        b: &[Lanes],
        c: &[Lanes],
        old: &mut [Lanes],
    ) {
        let step = bytes / b.len() as u32;
        if self.context.code.orders_by_hand {
            self.watch_shared_flag(env, warp, strength(op), owner, mask, at);
        }
        let unit_warp = unit_warp(env.rank, warp.index);
        if let (Some(shadow), Some(clocks)) = env.shadow_of(owner) {
            shadow.atomic(clocks, Access { warp: unit_warp, mask, pc, bytes, addresses: at }, &mut self.races);
            self.take_races(env, owner);
        }
        if reads_old(op.op) {
            self.watch_shared_written(env, warp, pc, owner, mask, bytes, at);
        }
        let Some(shared) = env.shared_of(owner) else { return };
        let mut changes = 0;
        for lane in lanes(mask) {
            let places: [u32; VECTOR_MAX] = std::array::from_fn(|i| at[lane] + i as u32 * step);
            old.iter_mut().zip(places).for_each(|(old, at)| old[lane] = shared.load(at, step));
            each_element(op, lane, b, c, old, |i, value| {
                changes += u64::from(low_bytes(value, step) != old[i][lane]);
                shared.store(places[i], step, value);
            });
        }
        self.changes += changes;
    }
}

/// The lanes that reach memory. That all of them have one address was derived and not seen: it is looked at.
#[inline(always)]
fn reaching<A: PartialEq + Copy>(op: AtomOp, mask: u32, at: &[A; 32]) -> u32 {
    let reaching = op.machine.reaching(mask);
    let first = (mask.trailing_zeros() & 31) as usize;
    if reaching != mask && lanes(mask).any(|lane| at[lane] != at[first]) { mask } else { reaching }
}

/// How an atomic is ordered.
fn strength(op: AtomOp) -> Strength {
    Strength { order: op.order, scope: op.scope, act: Act::Write, is_atomic: true }
}

/// Whether what an atomic leaves in memory depends on what was there.
fn reads_old(op: AtomicOp) -> bool {
    op != AtomicOp::Exch
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

/// Calls `store` with the number of each element and what it becomes. Sixteen bytes are compared and exchanged as one.
#[inline(always)]
fn each_element(op: AtomOp, lane: usize, b: &[Lanes], c: &[Lanes], old: &[Lanes], mut store: impl FnMut(usize, u64)) {
    if op.bytes == 16 && op.op == AtomicOp::Cas && (0..b.len()).any(|i| old[i][lane] != b[i][lane]) {
        return;
    }
    for i in 0..b.len() {
        store(i, combine(op, old[i][lane], b[i][lane], c[i][lane]));
    }
}

/// `add.f32` on global memory flushes subnormal numbers to zero; on shared memory it does not.
fn global_operation(op: AtomicOp) -> AtomicOp {
    if op == AtomicOp::AddF32 { AtomicOp::AddF32Ftz } else { op }
}

/// Applies `f` to each 16-bit half.
fn halves(bytes: u8, a: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    (0..u32::from(bytes) / 2).fold(0, |all, i| {
        let part = |v: u64| (v >> (16 * i)) as u16;
        all | u64::from(f(part(a), part(b))) << (16 * i)
    })
}

const NAN_16: u16 = 0x7fff;

/// The sum of two halves, rounded once: a float holds enough digits that rounding twice changes nothing.
fn add_f16(a: u16, b: u16) -> u16 {
    let sum = f16::from_f32(f16::from_bits(a).to_f32() + f16::from_bits(b).to_f32());
    if sum.is_nan() { NAN_16 } else { sum.to_bits() }
}

fn add_bf16(a: u16, b: u16) -> u16 {
    let sum = bf16::from_f32(bf16::from_bits(a).to_f32() + bf16::from_bits(b).to_f32());
    if sum.is_nan() { NAN_16 } else { sum.to_bits() }
}

/// The smaller or larger of two halves by the rules of `min.f32`; `widen` is exact.
fn extreme(a: u16, b: u16, widen: fn(u16) -> u32, pick: fn(u32, u32) -> u32) -> u16 {
    let (wide_a, wide_b) = (widen(a), widen(b));
    match pick(wide_a, wide_b) {
        crate::eval::NAN_F32 => NAN_16,
        picked if picked == wide_a => a,
        _ => b,
    }
}

fn widen_f16(bits: u16) -> u32 {
    f16::from_bits(bits).to_f32().to_bits()
}

fn widen_bf16(bits: u16) -> u32 {
    u32::from(bits) << 16
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
        AtomicOp::AddF32 => u64::from(crate::eval::bits32(f32::from_bits(old as u32) + f32::from_bits(b as u32))),
        AtomicOp::AddF32Ftz => {
            let sum = flushed(old) + flushed(b);
            u64::from(crate::eval::bits32(flushed(u64::from(sum.to_bits()))))
        }
        AtomicOp::AddF16 => halves(op.bytes, old, b, add_f16),
        AtomicOp::AddBf16 => halves(op.bytes, old, b, add_bf16),
        AtomicOp::MinF16 => halves(op.bytes, old, b, |a, b| extreme(a, b, widen_f16, crate::eval::min_f32)),
        AtomicOp::MaxF16 => halves(op.bytes, old, b, |a, b| extreme(a, b, widen_f16, crate::eval::max_f32)),
        AtomicOp::MinBf16 => halves(op.bytes, old, b, |a, b| extreme(a, b, widen_bf16, crate::eval::min_f32)),
        AtomicOp::MaxBf16 => halves(op.bytes, old, b, |a, b| extreme(a, b, widen_bf16, crate::eval::max_f32)),
        AtomicOp::AddF64 => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        AtomicOp::MinU => old.min(b),
        AtomicOp::MinS => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        AtomicOp::MaxU => old.max(b),
        AtomicOp::MaxS => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exch => b,
        // Of 16 bytes `each_element` has compared.
        AtomicOp::Cas if op.bytes == 16 || old == b => c,
        AtomicOp::Cas => old,
        AtomicOp::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}
