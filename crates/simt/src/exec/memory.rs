//! Loads and stores: addresses, bounds, data. `observe` counts and checks them.

use super::Machine;
use super::alu::{narrowed, store32, store64, widened};
use super::issue::{Access, Cost, Issue, Lanes, Place};
use super::warp::FULL;
use crate::code::{Inst, MemOp, Target, VECTOR_MAX, Width};
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::memory::{Buffer, CONST_BASE, LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::race::Strength;
use crate::race::global::Act;

#[inline(always)]
fn extend(value: u64, width: Width) -> u64 {
    match (width.signed, width.bytes) {
        (true, 1) => value as u8 as i8 as u64,
        (true, 2) => value as u16 as i16 as u64,
        (true, 4) => value as u32 as i32 as u64,
        _ => value,
    }
}

two_clones! {
    impl Machine<'_> {
        /// `ld`
        load, load_avx2, load_baseline = load_inline(&mut self, issue: Issue<'_>, op: MemOp);
        /// `st`
        store, store_avx2, store_baseline = store_inline(&mut self, issue: Issue<'_>, op: MemOp);
    }
}

impl<'k> Machine<'k> {
    #[inline(always)]
    fn load_inline(&mut self, mut issue: Issue<'_>, op: MemOp) {
        if self.load_words(&mut issue, op) {
            return;
        }
        if op.vector > 4 {
            return self.load_elements::<VECTOR_MAX>(&mut issue, op);
        }
        self.load_elements::<4>(&mut issue, op);
    }

    /// A load of at most `N` elements a lane: the few kernels that load 8 do not slow down the others.
    #[inline(always)]
    fn load_elements<const N: usize>(&mut self, issue: &mut Issue<'_>, op: MemOp) {
        let (bytes, mut at, mask) = (op.bytes(), issue.addresses(), issue.active);
        let mut data = [[0u64; 32]; N];
        let remote = self.remote_lanes(op.target, mask, &at);
        if remote != 0 {
            self.load_remote(
                issue,
                op,
                Access::new(Place::Shared, remote, bytes, &at, Strength::of(op, Act::Read)),
                &mut data,
            );
        }
        if remote == 0 || remote != mask {
            self.each_place(op.target, mask & !remote, &mut at, |machine, place, mask, at| {
                let access = Access::new(place, mask, bytes, at, Strength::of(op, Act::Read));
                machine.load_from(issue, op, access, &mut data);
            });
        }
        for element in 0..usize::from(op.vector) {
            let register = self.register(issue.inst, op, element);
            let values = &data[element];
            if op.width.wide {
                let mut out = *values;
                out.iter_mut().for_each(|value| *value = extend(*value, op.width));
                store64(issue.warp, register, &out, mask);
            } else {
                // A 16-bit register may then hold sign bits above its 16: every reader of one uses its low half.
                let mut out = [0; 32];
                for lane in 0..32 {
                    out[lane] = extend(values[lane], op.width) as u32;
                }
                store32(issue.warp, register, &out, mask);
            }
        }
    }

    #[inline(always)]
    pub(super) fn register(&self, inst: &Inst, op: MemOp, element: usize) -> u16 {
        if op.vector == 1 { inst.d } else { self.context.code.vectors[usize::from(inst.c)][element] }
    }

    #[inline(always)]
    fn store_inline(&mut self, mut issue: Issue<'_>, op: MemOp) {
        if self.store_words(&mut issue, op) {
            return;
        }
        if op.vector > 4 {
            return self.store_elements::<VECTOR_MAX>(&mut issue, op);
        }
        self.store_elements::<4>(&mut issue, op);
    }

    #[inline(always)]
    fn store_elements<const N: usize>(&mut self, issue: &mut Issue<'_>, op: MemOp) {
        let (bytes, mut at, mask) = (op.bytes(), issue.addresses(), issue.active);
        let mut data = [[0u64; 32]; N];
        for (element, values) in data.iter_mut().enumerate().take(usize::from(op.vector)) {
            let register = usize::from(self.register(issue.inst, op, element));
            if op.width.wide {
                *values = issue.warp.d[register].0;
            } else {
                *values = widened(&issue.warp.w[register].0);
            }
        }
        let strength = Strength::of(op, Act::Write);
        let values = &data[..usize::from(op.vector)];
        let remote = self.remote_lanes(op.target, mask, &at);
        if remote != 0 {
            self.store_remote(issue, Access { values, ..Access::new(Place::Shared, remote, bytes, &at, strength) });
        }
        if remote == 0 || remote != mask {
            self.each_place(op.target, mask & !remote, &mut at, |machine, place, mask, at| {
                machine.store_to(issue, Access { values, ..Access::new(place, mask, bytes, at, strength) });
            });
        }
    }

    /// Calls `access` once for each state space that the lanes address, with addresses inside that space.
    #[inline(always)]
    pub(super) fn each_place(
        &mut self,
        target: Target,
        mask: u32,
        at: &mut [u64; 32],
        mut access: impl FnMut(&mut Self, Place, u32, &[u64; 32]),
    ) {
        const NOWHERE: (Place, u32, u64) = (Place::Local, 0, 0);
        let parts = match target {
            Target::Global => [(Place::Global, mask, 0), NOWHERE, NOWHERE],
            Target::Const => [(Place::Const, mask, CONST_BASE), NOWHERE, NOWHERE],
            Target::Param => [(Place::Param, mask, 0), NOWHERE, NOWHERE],
            // Accesses to other blocks have been served, see `remote`.
            Target::Shared | Target::Cluster => [(Place::Shared, mask, 0), NOWHERE, NOWHERE],
            Target::Local => [(Place::Local, mask, 0), NOWHERE, NOWHERE],
            Target::Generic => {
                let mut local = filter(mask, |lane| at[lane] >= LOCAL_BASE);
                let shared = filter(mask & !local, |lane| at[lane] >= SHARED_BASE);
                let mut global = mask & !local & !shared;
                let constant = filter(global, |lane| at[lane] >= CONST_BASE);
                if constant != 0 {
                    global &= !constant;
                    access(self, Place::Const, constant, &at.map(|at| at.wrapping_sub(CONST_BASE)));
                }
                let param = if local == 0 { 0 } else { filter(local, |lane| at[lane] >= PARAM_BASE) };
                if param != 0 {
                    local &= !param;
                    access(self, Place::Param, param, &at.map(|at| at.wrapping_sub(PARAM_BASE)));
                }
                [(Place::Global, global, 0), (Place::Shared, shared, SHARED_BASE), (Place::Local, local, LOCAL_BASE)]
            }
        };
        for (i, (place, mask, base)) in parts.into_iter().enumerate() {
            // An access with no lane on is still issued: it is counted where its opcode says.
            if mask != 0 || (i == 0 && target != Target::Generic) {
                if base != 0 {
                    lanes(mask).for_each(|lane| at[lane] = at[lane].wrapping_sub(base));
                }
                access(self, place, mask, at);
            }
        }
    }

    /// Counts a request; of the access, what may go ahead.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn admit<'a>(&mut self, issue: &Issue<'_>, access: Access<'a>) -> Access<'a>
    where
        'k: 'a,
    {
        // Constants and parameters have no requests to count: they come from a cache of their own.
        if let Some(requests) = self.counts[issue.pc as usize].requests.get_mut(access.place as usize) {
            *requests += 1;
        }
        self.allowed(issue, access)
    }

    /// Returns the aligned, in-bounds part of an access to the block's own memory; reports the other lanes.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn allowed<'a>(&mut self, issue: &Issue<'_>, access: Access<'a>) -> Access<'a>
    where
        'k: 'a,
    {
        let Access { place, lanes: mask, bytes, low, high, .. } = access;
        let mut access = access;
        let mut askew = 0;
        for lane in 0..32 {
            askew |= if mask & (1 << lane) != 0 { access.at[lane] & (u64::from(bytes) - 1) } else { 0 };
        }
        let inside = match place {
            Place::Global | Place::Const => {
                access.buffer = self.buffer_of(low, high);
                access.buffer.is_some()
            }
            Place::Shared => high <= u64::from(self.context.shared_bytes),
            Place::Local => high <= issue.warp.local_bytes(),
            Place::Param => high <= self.context.params.len() as u64,
        };
        if (askew == 0 && inside) || mask == 0 {
            return access;
        }
        self.refuse(issue, access.copy())
    }

    /// The slow half of `allowed`: which lanes are wrong, and how.
    #[cold]
    fn refuse<'a>(&mut self, issue: &Issue<'_>, access: Access<'a>) -> Access<'a>
    where
        'k: 'a,
    {
        let Access { place, lanes: mask, at, .. } = access;
        let size = u64::from(access.bytes);
        let misaligned = filter(mask, |lane| !at[lane].is_multiple_of(size));
        let outside = filter(mask & !misaligned, |lane| {
            let end = at[lane].saturating_add(size);
            match place {
                Place::Global | Place::Const => self.context.holding(at[lane], size).is_none(),
                Place::Shared => end > u64::from(self.context.shared_bytes),
                Place::Local => end > issue.warp.local_bytes(),
                Place::Param => end > self.context.params.len() as u64,
            }
        });
        for (code, wrong) in [(Code::Misaligned, misaligned), (Code::OutOfBounds, outside)] {
            if wrong != 0 {
                self.findings.access(code, issue, wrong, &access);
            }
        }
        let access = access.by(mask & !misaligned & !outside);
        Access { buffer: self.buffer_of(access.low, access.high), ..access }
    }

    /// The buffer that holds all bytes from `low` to `high`, and its first address.
    #[inline(always)]
    pub(super) fn buffer_of(&self, low: u64, high: u64) -> Option<(&'k Buffer, u64)> {
        let (buffer, offset) = self.context.memory.buffer(low)?;
        let bytes = high.checked_sub(low).filter(|&bytes| bytes <= buffer.bytes)?;
        (offset + bytes <= buffer.bytes && self.context.reaches(buffer)).then_some((buffer, low - offset))
    }

    /// Returns the cost of a load or store by the lanes of `access`.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn cost(&mut self, pc: u32, access: &Access<'_>) -> Cost {
        let Access { lanes, bytes, at, .. } = *access;
        let memo = self.memos[pc as usize].of(lanes);
        match (access.place, access.strength.act) {
            (Place::Global, _) => Cost { sectors: memo.global_sectors(bytes, lanes, at), ..Cost::default() },
            (Place::Shared, Act::Read) => memo.shared_load(bytes, lanes, &narrowed(at)).into(),
            (Place::Shared, Act::Write) => memo.shared_store(bytes, lanes, &narrowed(at)).into(),
            _ => Cost::default(),
        }
    }

    #[inline(always)]
    fn load_from<'a>(&mut self, issue: &mut Issue<'_>, op: MemOp, access: Access<'a>, data: &mut [Lanes])
    where
        'k: 'a,
    {
        let access = self.admit(issue, access);
        let Access { lanes: mask, at, .. } = access;
        if mask == 0 {
            return;
        }
        let cost = self.cost(issue.pc, &access);
        self.observe(issue, &access, cost);
        let (data, width) = (&mut data[..usize::from(op.vector)], u32::from(op.width.bytes));
        let steps = (0..).step_by(width as usize);
        match access.place {
            Place::Global | Place::Const => self.load_global(&access, width, data),
            Place::Shared => {
                for (values, step) in data.iter_mut().zip(steps) {
                    if width == 4 && mask == FULL {
                        *values = at.map(|at| u64::from(issue.env.shared.words[((at as u32 + step) / 4) as usize]));
                    } else {
                        lanes(mask)
                            .for_each(|lane| values[lane] = issue.env.shared.load(at[lane] as u32 + step, width));
                    }
                }
            }
            Place::Local => {
                for (values, step) in data.iter_mut().zip(steps) {
                    let load = |lane: usize| issue.warp.load_local(lane, at[lane] + u64::from(step), width);
                    lanes(mask).for_each(|lane| values[lane] = load(lane));
                }
            }
            Place::Param => {
                for (values, step) in data.iter_mut().zip(steps) {
                    for lane in lanes(mask) {
                        let (start, mut raw) = (at[lane] as usize + step as usize, [0; 8]);
                        raw[..width as usize].copy_from_slice(&self.context.params[start..start + width as usize]);
                        values[lane] = u64::from_le_bytes(raw);
                    }
                }
            }
        }
    }

    /// Reads the elements of `width` bytes of `access` from global memory.
    #[inline(always)]
    pub(super) fn load_global(&self, access: &Access<'_>, width: u32, data: &mut [Lanes]) {
        let Access { lanes: mask, at, .. } = *access;
        let steps = || (0..).step_by(width as usize);
        // All lanes in one buffer is the rule.
        if let Some((buffer, base)) = access.buffer {
            for (values, step) in data.iter_mut().zip(steps()) {
                let step: u64 = step;
                if width == 4 && mask == FULL {
                    *values = at.map(|at| buffer.load(at - base + step, 4));
                } else {
                    lanes(mask).for_each(|lane| values[lane] = buffer.load(at[lane] - base + step, width));
                }
            }
            return;
        }
        for lane in lanes(mask) {
            let Some((buffer, offset)) = self.context.memory.buffer(at[lane]) else { continue };
            data.iter_mut().zip(steps()).for_each(|(values, step)| values[lane] = buffer.load(offset + step, width));
        }
    }

    #[inline(always)]
    fn store_to<'a>(&mut self, issue: &mut Issue<'_>, access: Access<'a>)
    where
        'k: 'a,
    {
        let access = self.admit(issue, access);
        let Access { place, lanes: mask, at, values, .. } = access;
        if mask == 0 {
            return;
        }
        // Nothing of a kernel may write its constants and parameters.
        if matches!(place, Place::Const | Place::Param) {
            return self.findings.access(Code::OutOfBounds, issue, mask, &access.copy());
        }
        let cost = self.cost(issue.pc, &access);
        self.observe(issue, &access, cost);
        let width = access.width();
        let elements = || values.iter().zip((0..).step_by(width as usize));
        match place {
            Place::Shared => {
                for (values, step) in elements() {
                    let store =
                        |lane: usize| issue.env.shared.store(at[lane] as u32 + step as u32, width, values[lane]);
                    lanes(mask).for_each(store);
                }
            }
            Place::Local => {
                for (values, step) in elements() {
                    lanes(mask).for_each(|lane| issue.warp.store_local(lane, at[lane] + step, width, values[lane]));
                }
            }
            _ => {
                for lane in lanes(mask) {
                    let Some((buffer, offset)) = self.context.memory.buffer(at[lane]) else { continue };
                    elements().for_each(|(values, step)| buffer.store(offset + step, width, values[lane]));
                }
            }
        }
    }
}
