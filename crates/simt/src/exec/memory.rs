//! Loads, stores and atomics: addresses, checks, counters, data.

use super::Machine;
use super::alu::{narrowed, store32, store64, widened};
use super::block::Environment;
use super::order::Strength;
use super::warp::{FULL, Warp};
use crate::access::Passes;
use crate::code::{Inst, MemOp, Target, VECTOR_MAX, Width};
use crate::fault::Code;
use crate::launch::Check;
use crate::masks::{filter, hull, lanes};
use crate::memory::{Buffer, CONST_BASE, LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::race::global::Act;

/// Bytes an access of one lane covers, and where lanes start.
pub(super) struct Span {
    pub(super) bytes: u32,
    pub(super) at: [u64; 32],
}

/// What a lane's data goes to or comes from.
pub(super) type Lanes = [u64; 32];

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

#[inline(always)]
fn extend(value: u64, width: Width) -> u64 {
    match (width.signed, width.bytes) {
        (true, 1) => value as u8 as i8 as u64,
        (true, 2) => value as u16 as i16 as u64,
        (true, 4) => value as u32 as i32 as u64,
        _ => value,
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

two_clones! {
    impl Machine<'_> {
        /// `ld`
        load, load_avx2, load_baseline = load_inline(&mut self, env: &mut Environment, warp: &mut Warp, pc: u32, inst: &Inst, op: MemOp, mask: u32);
        /// `st`
        store, store_avx2, store_baseline = store_inline(&mut self, env: &mut Environment, warp: &mut Warp, pc: u32, inst: &Inst, op: MemOp, mask: u32);
    }
}

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn load_inline(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
    ) {
        if self.load_words(env, warp, pc, inst, op, mask) {
            return;
        }
        if op.vector > 4 {
            return self.load_elements::<VECTOR_MAX>(env, warp, pc, inst, op, mask);
        }
        self.load_elements::<4>(env, warp, pc, inst, op, mask);
    }

    /// A load of at most `N` elements a lane: the few kernels that load 8 do not slow down the others.
    #[inline(always)]
    fn load_elements<const N: usize>(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
    ) {
        let span = Span { bytes: u32::from(op.width.bytes) * u32::from(op.vector), at: addresses(warp, inst) };
        let mut data = [[0u64; 32]; N];
        let remote = self.remote_lanes(op.target, mask, &span);
        if remote != 0 {
            self.load_remote(env, warp, pc, op, remote, &span, &mut data);
        }
        if remote == 0 || remote != mask {
            self.each_place(op.target, mask & !remote, span, |machine, place, mask, span| {
                machine.load_from(env, warp, pc, op, place, mask, span, &mut data);
            });
        }
        for element in 0..usize::from(op.vector) {
            let register = self.register(inst, op, element);
            let values = &data[element];
            if op.width.wide {
                let mut out = *values;
                out.iter_mut().for_each(|value| *value = extend(*value, op.width));
                store64(warp, register, &out, mask);
            } else {
                // A 16-bit register may then hold sign bits above its 16: whoever reads one looks at its low half.
                let mut out = [0; 32];
                for lane in 0..32 {
                    out[lane] = extend(values[lane], op.width) as u32;
                }
                store32(warp, register, &out, mask);
            }
        }
    }

    #[inline(always)]
    pub(super) fn register(&self, inst: &Inst, op: MemOp, element: usize) -> u16 {
        if op.vector == 1 { inst.d } else { self.context.code.vectors[usize::from(inst.c)][element] }
    }

    #[inline(always)]
    pub(super) fn store_inline(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
    ) {
        if self.store_words(env, warp, pc, inst, op, mask) {
            return;
        }
        if op.vector > 4 {
            return self.store_elements::<VECTOR_MAX>(env, warp, pc, inst, op, mask);
        }
        self.store_elements::<4>(env, warp, pc, inst, op, mask);
    }

    #[inline(always)]
    fn store_elements<const N: usize>(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
    ) {
        let span = Span { bytes: u32::from(op.width.bytes) * u32::from(op.vector), at: addresses(warp, inst) };
        let mut data = [[0u64; 32]; N];
        for (element, values) in data.iter_mut().enumerate().take(usize::from(op.vector)) {
            let register = usize::from(self.register(inst, op, element));
            if op.width.wide {
                *values = warp.d[register].0;
            } else {
                *values = widened(&warp.w[register].0);
            }
        }
        let remote = self.remote_lanes(op.target, mask, &span);
        if remote != 0 {
            self.store_remote(env, warp, pc, op, remote, &span, &data);
        }
        if remote == 0 || remote != mask {
            self.each_place(op.target, mask & !remote, span, |machine, place, mask, span| {
                machine.store_to(env, warp, pc, op, place, mask, span, &data);
            });
        }
    }

    /// Calls `access` once for each state space that the lanes address, with addresses inside that space.
    #[inline(always)]
    pub(super) fn each_place(
        &mut self,
        target: Target,
        mask: u32,
        mut span: Span,
        mut access: impl FnMut(&mut Self, Place, u32, &Span),
    ) {
        const NOWHERE: (Place, u32, u64) = (Place::Local, 0, 0);
        let parts = match target {
            Target::Global => [(Place::Global, mask, 0), NOWHERE, NOWHERE],
            Target::Const => [(Place::Const, mask, CONST_BASE), NOWHERE, NOWHERE],
            Target::Param => [(Place::Param, mask, 0), NOWHERE, NOWHERE],
            // What lies in other blocks has been served, see `remote`.
            Target::Shared | Target::Cluster => [(Place::Shared, mask, 0), NOWHERE, NOWHERE],
            Target::Local => [(Place::Local, mask, 0), NOWHERE, NOWHERE],
            Target::Generic => {
                let mut local = filter(mask, |lane| span.at[lane] >= LOCAL_BASE);
                let shared = filter(mask & !local, |lane| span.at[lane] >= SHARED_BASE);
                let mut global = mask & !local & !shared;
                let constant = filter(global, |lane| span.at[lane] >= CONST_BASE);
                if constant != 0 {
                    global &= !constant;
                    let inside = Span { bytes: span.bytes, at: span.at.map(|at| at.wrapping_sub(CONST_BASE)) };
                    access(self, Place::Const, constant, &inside);
                }
                let param = if local == 0 { 0 } else { filter(local, |lane| span.at[lane] >= PARAM_BASE) };
                if param != 0 {
                    local &= !param;
                    let inside = Span { bytes: span.bytes, at: span.at.map(|at| at.wrapping_sub(PARAM_BASE)) };
                    access(self, Place::Param, param, &inside);
                }
                [(Place::Global, global, 0), (Place::Shared, shared, SHARED_BASE), (Place::Local, local, LOCAL_BASE)]
            }
        };
        for (i, (place, mask, base)) in parts.into_iter().enumerate() {
            // An access with no lane on is still issued: it is counted where its opcode says.
            if mask != 0 || (i == 0 && target != Target::Generic) {
                if base != 0 {
                    lanes(mask).for_each(|lane| span.at[lane] = span.at[lane].wrapping_sub(base));
                }
                access(self, place, mask, &span);
            }
        }
    }

    /// Counts a request, and gives the lanes of `mask` whose access may go ahead.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        env: &Environment,
        warp: &Warp,
        pc: u32,
        place: Place,
        mask: u32,
        span: &Span,
    ) -> u32 {
        // Constants and parameters have no requests to count: they come from a cache of their own.
        if let Some(requests) = self.counts[pc as usize].requests.get_mut(place as usize) {
            *requests += 1;
        }
        self.allowed(env, warp, pc, place, mask, span)
    }

    /// The lanes of `mask` whose access may go ahead: aligned and inside. The others become findings.
    #[inline(always)]
    pub(super) fn allowed(
        &mut self,
        env: &Environment,
        warp: &Warp,
        pc: u32,
        place: Place,
        mask: u32,
        span: &Span,
    ) -> u32 {
        let size = u64::from(span.bytes);
        let mut askew = 0;
        for lane in 0..32 {
            askew |= if mask & (1 << lane) != 0 { span.at[lane] & (size - 1) } else { 0 };
        }
        let (low, high) = hull(&span.at, mask, span.bytes);
        let inside = match place {
            Place::Global | Place::Const => match self.context.memory.buffer(low) {
                Some((buffer, offset)) => high - low <= buffer.bytes && offset + (high - low) <= buffer.bytes,
                None => false,
            },
            Place::Shared => high <= u64::from(self.context.shared_bytes),
            Place::Local => high <= warp.local_bytes(),
            Place::Param => high <= self.context.params.len() as u64,
        };
        if (askew == 0 && inside) || mask == 0 {
            return mask;
        }
        self.refuse(env, warp, pc, place, mask, span)
    }

    /// The slow half of `allowed`: which lanes are wrong, and how.
    #[cold]
    fn refuse(&mut self, env: &Environment, warp: &Warp, pc: u32, place: Place, mask: u32, span: &Span) -> u32 {
        let size = u64::from(span.bytes);
        let misaligned = filter(mask, |lane| !span.at[lane].is_multiple_of(size));
        let outside = filter(mask & !misaligned, |lane| {
            let at = span.at[lane];
            match place {
                Place::Global | Place::Const => self.context.memory.holding(at, size).is_none(),
                Place::Shared => at.saturating_add(size) > u64::from(self.context.shared_bytes),
                Place::Local => at.saturating_add(size) > warp.local_bytes(),
                Place::Param => at.saturating_add(size) > self.context.params.len() as u64,
            }
        });
        for (code, wrong) in [(Code::Misaligned, misaligned), (Code::OutOfBounds, outside)] {
            if wrong != 0 {
                let first = span.at[wrong.trailing_zeros() as usize];
                self.findings.access(code, env, warp, pc, wrong, place, first, span.bytes);
            }
        }
        mask & !misaligned & !outside
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // one call site; a struct would only rename the arguments
    fn load_from(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: MemOp,
        place: Place,
        mask: u32,
        span: &Span,
        data: &mut [Lanes],
    ) {
        let mask = self.admit(env, warp, pc, place, mask, span);
        if mask == 0 {
            return;
        }
        let width = u32::from(op.width.bytes);
        let elements = usize::from(op.vector);
        match place {
            Place::Global => {
                let sectors = self.memos[pc as usize].of(mask).global_sectors(span.bytes, mask, &span.at);
                self.counts[pc as usize].sectors += u64::from(sectors);
                self.record(place, mask, span, Passes::default(), sectors);
                if self.order.is_some() {
                    self.watch_order(env, warp, pc, Strength::of(op, Act::Read), mask, span, &[]);
                }
                self.load_global(env, warp, pc, mask, span, width, &mut data[..elements]);
            }
            Place::Shared => {
                let at = narrowed(&span.at);
                let passes = self.memos[pc as usize].of(mask).shared_load(span.bytes, mask, &at);
                self.counts[pc as usize].wavefronts += u64::from(passes.wavefronts);
                self.counts[pc as usize].conflicts += u64::from(passes.conflicts);
                self.record(place, mask, span, passes, 0);
                self.watch_read(env, warp, pc, op, mask, span.bytes, &at);
                for (element, values) in data.iter_mut().enumerate().take(elements) {
                    let step = element as u32 * width;
                    if width == 4 && mask == FULL {
                        *values = at.map(|a| u64::from(env.shared.words[((a + step) / 4) as usize]));
                    } else {
                        lanes(mask).for_each(|lane| values[lane] = env.shared.load(at[lane] + step, width));
                    }
                }
            }
            Place::Local => {
                self.record(place, mask, span, Passes::default(), 0);
                if !warp.local_written.is_empty() {
                    self.watch_local(env, warp, pc, mask, span);
                }
                for (element, values) in data.iter_mut().enumerate().take(elements) {
                    let step = (element as u32 * width) as u64;
                    lanes(mask).for_each(|lane| values[lane] = warp.load_local(lane, span.at[lane] + step, width));
                }
            }
            Place::Const => self.load_global(env, warp, pc, mask, span, width, &mut data[..elements]),
            Place::Param => {
                for (element, values) in data.iter_mut().enumerate().take(elements) {
                    for lane in lanes(mask) {
                        let start = span.at[lane] as usize + element * width as usize;
                        let mut raw = [0; 8];
                        raw[..width as usize].copy_from_slice(&self.context.params[start..start + width as usize]);
                        values[lane] = u64::from_le_bytes(raw);
                    }
                }
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn load_global(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        mask: u32,
        span: &Span,
        width: u32,
        data: &mut [Lanes],
    ) {
        let memory = self.context.memory;
        let (low, high) = hull(&span.at, mask, span.bytes);
        if self.context.side_by_side {
            env.log.read(low, high);
        }
        let first = memory.buffer(low);
        // All lanes in one buffer is the rule; `admit` has checked that each lies inside some buffer.
        if let Some((buffer, offset)) = first
            && offset + (high - low) <= buffer.bytes
        {
            let base = low - offset;
            if !buffer.is_all_written() && self.context.options.checks.has(Check::UninitialisedRead) {
                self.watch_global(env, warp, pc, mask, span, buffer, base);
            }
            for (element, values) in data.iter_mut().enumerate() {
                let step = (element as u32 * width) as u64;
                if width == 4 && mask == FULL {
                    *values = span.at.map(|at| buffer.load(at - base + step, 4));
                } else {
                    lanes(mask).for_each(|lane| values[lane] = buffer.load(span.at[lane] - base + step, width));
                }
            }
            return;
        }
        for lane in lanes(mask) {
            let Some((buffer, offset)) = memory.buffer(span.at[lane]) else { continue };
            if self.context.options.checks.has(Check::UninitialisedRead) {
                self.watch_global(env, warp, pc, 1 << lane, span, buffer, span.at[lane] - offset);
            }
            for (element, values) in data.iter_mut().enumerate() {
                values[lane] = buffer.load(offset + (element as u32 * width) as u64, width);
            }
        }
    }

    /// Notes an access of the instruction that is being recorded.
    #[inline(always)]
    pub(super) fn record(&mut self, place: Place, mask: u32, span: &Span, passes: Passes, sectors: u32) {
        if self.recording {
            self.recorder.access(place, mask, span.bytes, &span.at, passes, sectors);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn watch_global(
        &mut self,
        env: &Environment,
        warp: &Warp,
        pc: u32,
        mask: u32,
        span: &Span,
        buffer: &Buffer,
        base: u64,
    ) {
        let part = span.bytes.min(8);
        let unwritten = filter(mask, |lane| {
            let offset = span.at[lane] - base;
            !(0..span.bytes / part).all(|i| buffer.is_written(offset + u64::from(i * part), part))
        });
        if unwritten != 0 {
            let first = span.at[unwritten.trailing_zeros() as usize];
            self.read_unwritten(env, warp, pc, unwritten, Place::Global, first, span.bytes);
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn store_to(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        op: MemOp,
        place: Place,
        mask: u32,
        span: &Span,
        data: &[Lanes],
    ) {
        let mask = self.admit(env, warp, pc, place, mask, span);
        if mask == 0 {
            return;
        }
        let width = u32::from(op.width.bytes);
        let data = &data[..usize::from(op.vector)];
        match place {
            Place::Global => {
                let sectors = self.memos[pc as usize].of(mask).global_sectors(span.bytes, mask, &span.at);
                self.counts[pc as usize].sectors += u64::from(sectors);
                self.record(place, mask, span, Passes::default(), sectors);
                if self.context.side_by_side {
                    let (low, high) = hull(&span.at, mask, span.bytes);
                    env.log.write(low, high, mask, span.bytes, &span.at);
                }
                if self.order.is_some() {
                    self.watch_order(env, warp, pc, Strength::of(op, Act::Write), mask, span, data);
                }
                if self.context.code.may_spin {
                    self.note_changes(mask, span, width, data);
                }
                for lane in lanes(mask) {
                    let Some((buffer, offset)) = self.context.memory.buffer(span.at[lane]) else { continue };
                    for (element, values) in data.iter().enumerate() {
                        buffer.store(offset + (element as u32 * width) as u64, width, values[lane]);
                    }
                }
            }
            Place::Shared => self.store_shared(env, warp, pc, op, mask, span, data),
            Place::Local => {
                self.record(place, mask, span, Passes::default(), 0);
                for (element, values) in data.iter().enumerate() {
                    let step = (element as u32 * width) as u64;
                    for lane in lanes(mask) {
                        let at = span.at[lane] + step;
                        self.changes += u64::from(warp.load_local(lane, at, width) != low_bytes(values[lane], width));
                        warp.store_local(lane, at, width, values[lane]);
                    }
                }
            }
            // Nothing of a kernel may write its constants and parameters.
            Place::Const | Place::Param => {
                let first = span.at[(mask.trailing_zeros() & 31) as usize];
                self.findings.access(Code::OutOfBounds, env, warp, pc, mask, place, first, span.bytes);
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn store_shared(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        op: MemOp,
        mask: u32,
        span: &Span,
        data: &[Lanes],
    ) {
        let width = u32::from(op.width.bytes);
        let at = narrowed(&span.at);
        let passes = self.memos[pc as usize].of(mask).shared_store(span.bytes, mask, &at);
        self.counts[pc as usize].wavefronts += u64::from(passes.wavefronts);
        self.counts[pc as usize].conflicts += u64::from(passes.conflicts);
        self.record(Place::Shared, mask, span, passes, 0);
        self.watch_shared_store(env, warp, pc, op, env.rank, mask, &at, data);
        if self.context.code.may_spin {
            for (element, values) in data.iter().enumerate() {
                let old = |lane: usize| env.shared.load(at[lane] + element as u32 * width, width);
                let changed = lanes(mask).filter(|&lane| old(lane) != low_bytes(values[lane], width));
                self.changes += changed.count() as u64;
            }
        }
        for (element, values) in data.iter().enumerate() {
            let step = element as u32 * width;
            lanes(mask).for_each(|lane| env.shared.store(at[lane] + step, width, values[lane]));
        }
    }

    /// Counts the values that a store to global memory will change.
    fn note_changes(&mut self, mask: u32, span: &Span, width: u32, data: &[Lanes]) {
        for lane in lanes(mask) {
            let Some((buffer, offset)) = self.context.memory.buffer(span.at[lane]) else { continue };
            for (element, values) in data.iter().enumerate() {
                let old = buffer.load(offset + u64::from(element as u32 * width), width);
                self.changes += u64::from(old != low_bytes(values[lane], width));
            }
        }
    }
}

/// What a store of so many bytes leaves of a value.
#[inline(always)]
pub(super) fn low_bytes(value: u64, bytes: u32) -> u64 {
    if bytes >= 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}
