//! `atom` and `red`: read, combine and write as one step.

use super::Machine;
use super::alu::{store32, store64};
use super::block::Environment;
use super::memory::{Lanes, Place, Span, addresses, hull, lanes};
use super::warp::Warp;
use crate::access::Passes;
use crate::code::{AtomOp, AtomicOp, Inst};
use crate::fault::Code;
use crate::race::Access;

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
        let span = Span { bytes: u32::from(op.bytes), at: addresses(warp, inst) };
        let source = |row: u16| -> Lanes {
            match op.bytes {
                8 => warp.d.get(usize::from(row)).map_or([0; 32], |r| r.0),
                _ => warp.w.get(usize::from(row)).map_or([0; 32], |r| r.0.map(u64::from)),
            }
        };
        let (b, c) = (source(inst.b), source(inst.c));
        let mut old = [0u64; 32];
        self.each_place(op.target, mask, span, |machine, place, mask, span| {
            let mask = machine.admit(env, warp, pc, place, mask, span);
            if mask != 0 {
                machine.atomic_at(env, warp, pc, op, place, mask, span, &b, &c, &mut old);
            }
        });
        if op.bytes == 8 {
            store64(warp, inst.d, &old, mask);
        } else {
            store32(warp, inst.d, &old.map(|v| v as u32), mask);
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
        b: &Lanes,
        c: &Lanes,
        old: &mut Lanes,
    ) {
        let bytes = u32::from(op.bytes);
        match place {
            Place::Shared => {
                let at = span.at.map(|a| a as u32);
                let passes = self.memos[pc as usize].shared_atomic(bytes, mask, &at);
                self.counts[pc as usize].wavefronts += u64::from(passes.wavefronts);
                self.counts[pc as usize].conflicts += u64::from(passes.conflicts);
                self.record(place, mask, span, passes, 0);
                if let Some(shadow) = &mut env.shadow {
                    shadow.atomic(Access { warp: warp.index, mask, pc, bytes, addresses: &at }, &mut self.races);
                    self.take_races(env);
                }
                for lane in lanes(mask) {
                    old[lane] = env.load_shared(at[lane], bytes);
                    env.store_shared(at[lane], bytes, combine(op, old[lane], b[lane], c[lane]));
                }
            }
            Place::Global => {
                let sectors = self.memos[pc as usize].global_atomic_sectors(bytes, mask, &span.at);
                self.counts[pc as usize].sectors += u64::from(sectors);
                self.record(place, mask, span, Passes::default(), sectors);
                if self.context.side_by_side {
                    let (low, high) = hull(&span.at, mask, bytes);
                    env.log.write(low, high);
                }
                // Blocks that use global atomics never run side by side, so load and store need not be one step.
                for lane in lanes(mask) {
                    let Some((buffer, offset)) = self.context.memory.buffer(span.at[lane]) else { continue };
                    old[lane] = buffer.load(offset, bytes);
                    buffer.store(offset, bytes, combine(op, old[lane], b[lane], c[lane]));
                }
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

/// The value that an atomic leaves in memory.
fn combine(op: AtomOp, old: u64, b: u64, c: u64) -> u64 {
    let signed = |v: u64| if op.bytes == 4 { v as u32 as i32 as i64 } else { v as i64 };
    match op.op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::AddF32 => u64::from(crate::eval::bits32(f32::from_bits(old as u32) + f32::from_bits(b as u32))),
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
        AtomicOp::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
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
