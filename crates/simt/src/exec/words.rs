//! Loads and stores of 32-bit words where the lanes lie as they lay when the instruction last ran: nearly all of them. One
//! comparison with that shape answers at once what the general way in `memory` finds out lane by lane: alignment, bounds,
//! bank conflicts, sectors, and whether the words lie side by side. Whatever is out of the ordinary is left to that.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::Machine;
use super::alu::{narrowed, store32};
use super::block::Environment;
use super::memory::{Place, Span, addresses};
use super::order::Strength;
use super::warp::{FULL, Row32, Warp};
use crate::access::{Kind, Known};
use crate::code::{Inst, MemOp, Target};
use crate::launch::Check;
use crate::masks::lanes;
use crate::race::global::Act;
use crate::race::{Access, Layout};

const WORD_BYTES: u32 = 4;

/// Where the words of an access are in an array of words.
struct Words {
    /// The word of lane 0 (even if it takes no part), if lanes lie side by side.
    row: Option<usize>,
    /// First byte of the array, as lanes address it.
    base: u64,
}

impl Words {
    /// Of an access inside an array of `length` words whose first byte is `base`.
    #[inline(always)]
    fn new(known: &Known, mask: u32, elements: usize, base: u64, length: usize) -> Words {
        let lane0 = (known.first - base).checked_sub(u64::from(mask.trailing_zeros() * WORD_BYTES) * elements as u64);
        let row = lane0.filter(|_| known.is_row).map(|byte| (byte / u64::from(WORD_BYTES)) as usize);
        Words { row: row.filter(|&first| first + 32 * elements <= length), base }
    }

    /// The word of a lane at this address.
    #[inline(always)]
    fn at(&self, address: u64) -> usize {
        ((address - self.base) / u64::from(WORD_BYTES)) as usize
    }
}

impl Machine<'_> {
    #[inline(always)]
    fn recall(&mut self, warp: &Warp, pc: u32, inst: &Inst, op: MemOp, mask: u32, shared: Kind) -> Option<Known> {
        let kind = match op.target {
            Target::Global => Kind::Global,
            Target::Shared => shared,
            _ => return None,
        };
        if u32::from(op.width.bytes) != WORD_BYTES || op.width.wide || op.vector > 4 || mask == 0 || self.recording {
            return None;
        }
        let bytes = WORD_BYTES * u32::from(op.vector);
        let memo = self.memos[pc as usize].of(mask);
        match inst.e == 1 {
            true => memo.recall32(kind, bytes, mask, &warp.w[usize::from(inst.a)].0, inst.imm as u32),
            false => memo.recall(kind, bytes, mask, &warp.d[usize::from(inst.a)].0, inst.imm as u64),
        }
    }

    /// Executes a load if it is one of those. False if not: nothing has happened then.
    #[inline(always)]
    pub(super) fn load_words(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
    ) -> bool {
        let Some(known) = self.recall(warp, pc, inst, op, mask, Kind::SharedLoad) else { return false };
        match (op.target, op.vector) {
            (Target::Global, 1) => self.load_global_words::<1>(env, warp, pc, inst, op, mask, &known),
            (Target::Global, 2) => self.load_global_words::<2>(env, warp, pc, inst, op, mask, &known),
            (Target::Global, _) => self.load_global_words::<4>(env, warp, pc, inst, op, mask, &known),
            (_, 1) => self.load_shared_words::<1>(env, warp, pc, inst, op, mask, &known),
            (_, 2) => self.load_shared_words::<2>(env, warp, pc, inst, op, mask, &known),
            _ => self.load_shared_words::<4>(env, warp, pc, inst, op, mask, &known),
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // two call sites; a struct would only rename the arguments
    fn load_global_words<const N: usize>(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
        known: &Known,
    ) -> bool {
        let bytes = WORD_BYTES * N as u32;
        let memory = self.context.memory;
        let Some((buffer, offset)) = memory.buffer(known.lowest) else { return false };
        let (low, high) = (known.lowest, known.highest.wrapping_add(u64::from(bytes)));
        let inside = high > low && offset + (high - low) <= buffer.bytes;
        if !inside || (!buffer.is_all_written() && self.context.options.checks.has(Check::UninitialisedRead)) {
            return false;
        }
        let counts = &mut self.counts[pc as usize];
        counts.requests[Place::Global as usize] += 1;
        counts.sectors += u64::from(known.passes.wavefronts);
        if self.context.side_by_side {
            env.log.read(low, high);
        }
        if self.order.is_some() {
            let span = Span { bytes, at: addresses(warp, inst) };
            self.watch_order(env, warp, pc, Strength::of(op, Act::Read), mask, &span, &[]);
        }
        let words = buffer.words();
        let place = Words::new(known, mask, N, low - offset, words.len());
        let read = |word: usize| words[word].load(Relaxed);
        if let Some(row) = place.row.and_then(|first| words.get(first..first + 32 * N)) {
            for element in 0..N {
                let register = self.register(inst, op, element);
                keep(warp, register, mask, |lane| row[lane * N + element].load(Relaxed));
            }
        } else {
            let at = addresses(warp, inst);
            for element in 0..N {
                let mut out = [0; 32];
                lanes(mask).for_each(|lane| out[lane] = read(place.at(at[lane]) + element));
                store32(warp, self.register(inst, op, element), &out, mask);
            }
        }
        true
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn load_shared_words<const N: usize>(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
        known: &Known,
    ) -> bool {
        let bytes = WORD_BYTES * N as u32;
        if !self.admit_shared_words(pc, bytes, known) {
            return false;
        }
        let place = Words::new(known, mask, N, 0, env.shared.words.len());
        if env.is_watched() {
            let at = narrowed(&addresses(warp, inst));
            if !are_written::<N>(&env.shared.written, &place, mask, &at) {
                self.watch_shared_written(env, warp, pc, env.rank, mask, bytes, &at);
            }
            let layout = if known.is_row {
                Layout::SideBySide
            } else if known.lowest == known.highest {
                Layout::OnePlace
            } else {
                Layout::Apart
            };
            self.watch_race_read(env, warp, op, Access { warp: 0, mask, pc, bytes, addresses: &at }, Some(layout));
        }
        let words = &env.shared.words;
        if let Some(row) = place.row.and_then(|first| words.get(first..first + 32 * N)) {
            for element in 0..N {
                keep(warp, self.register(inst, op, element), mask, |lane| row[lane * N + element]);
            }
        } else {
            let at = addresses(warp, inst);
            for element in 0..N {
                let mut out = [0; 32];
                lanes(mask).for_each(|lane| out[lane] = words[place.at(at[lane]) + element]);
                store32(warp, self.register(inst, op, element), &out, mask);
            }
        }
        true
    }

    /// Counts an access to shared memory that is inside. False if it is not.
    #[inline(always)]
    fn admit_shared_words(&mut self, pc: u32, bytes: u32, known: &Known) -> bool {
        let end = known.highest.wrapping_add(u64::from(bytes));
        if known.lowest >= end || end > u64::from(self.context.shared_bytes) {
            return false;
        }
        let counts = &mut self.counts[pc as usize];
        counts.requests[Place::Shared as usize] += 1;
        counts.wavefronts += u64::from(known.passes.wavefronts);
        counts.conflicts += u64::from(known.passes.conflicts);
        true
    }

    /// Executes a store if it is one of those. False if not: nothing has happened then.
    #[inline(always)]
    pub(super) fn store_words(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
    ) -> bool {
        let Some(known) = self.recall(warp, pc, inst, op, mask, Kind::SharedStore) else { return false };
        match (op.target, op.vector) {
            (Target::Global, 1) => self.store_global_words(env, warp, pc, inst, mask, &known),
            (Target::Shared, 1) => self.store_shared_words(env, warp, pc, inst, op, mask, &known),
            _ => false,
        }
    }

    #[inline(always)]
    fn store_global_words(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        inst: &Inst,
        mask: u32,
        known: &Known,
    ) -> bool {
        let Some((buffer, offset)) = self.context.memory.buffer(known.lowest) else { return false };
        let (low, high) = (known.lowest, known.highest.wrapping_add(u64::from(WORD_BYTES)));
        let place = Words::new(known, mask, 1, low.wrapping_sub(offset), buffer.words().len());
        let inside = high > low && offset + (high - low) <= buffer.bytes;
        let Some(first) = place.row.filter(|_| inside && self.order.is_none()) else { return false };
        let counts = &mut self.counts[pc as usize];
        counts.requests[Place::Global as usize] += 1;
        counts.sectors += u64::from(known.passes.wavefronts);
        if self.context.side_by_side {
            env.log.write(low, high, mask, WORD_BYTES, &addresses(warp, inst));
        }
        let values = &warp.w[usize::from(inst.d)].0;
        if self.context.code.may_spin {
            let old: &[AtomicU32] = &buffer.words()[first..first + 32];
            self.changes += lanes(mask).filter(|&lane| old[lane].load(Relaxed) != values[lane]).count() as u64;
        }
        buffer.store_row(first, mask, values);
        true
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn store_shared_words(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        inst: &Inst,
        op: MemOp,
        mask: u32,
        known: &Known,
    ) -> bool {
        let place = Words::new(known, mask, 1, 0, env.shared.words.len());
        // Lanes that share a word: the last one wins, and that is the general way's business.
        let Some(first) = place.row else { return false };
        if !self.admit_shared_words(pc, WORD_BYTES, known) {
            return false;
        }
        let values = &warp.w[usize::from(inst.d)].0;
        if env.is_watched() {
            let at = narrowed(&addresses(warp, inst));
            self.watch_row_store(
                env,
                warp,
                op,
                Access { warp: 0, mask, pc, bytes: WORD_BYTES, addresses: &at },
                values,
            );
        }
        let Ok(row) = <&mut [u32; 32]>::try_from(&mut env.shared.words[first..first + 32]) else { return false };
        if self.context.code.may_spin {
            let changed = |lane: usize| u64::from(mask & (1 << lane) != 0 && row[lane] != values[lane]);
            self.changes += (0..32).map(changed).sum::<u64>();
        }
        for lane in 0..32 {
            row[lane] = if mask & (1 << lane) != 0 { values[lane] } else { row[lane] };
        }
        env.shared.mark_written(first, mask);
        true
    }
}

/// Whether all words of the lanes were written; `written` is empty where nobody asks.
#[inline(always)]
fn are_written<const N: usize>(written: &[u8], place: &Words, mask: u32, at: &[u32; 32]) -> bool {
    if written.is_empty() {
        return true;
    }
    if let Some(row) = place.row.and_then(|first| written.get(first..first + 32 * N)) {
        let mut missing = 0;
        for element in 0..N {
            for lane in 0..32 {
                missing |= if mask & (1 << lane) != 0 { row[lane * N + element] ^ 0xf } else { 0 };
            }
        }
        return missing == 0;
    }
    lanes(mask).all(|lane| written[place.at(u64::from(at[lane]))..][..N].iter().all(|&bytes| bytes == 0xf))
}

/// The lanes of `mask` get what `value` gives.
#[inline(always)]
fn keep(warp: &mut Warp, register: u16, mask: u32, value: impl Fn(usize) -> u32) {
    let Some(Row32(row)) = warp.w.get_mut(usize::from(register)) else { return };
    if mask == FULL {
        for lane in 0..32 {
            row[lane] = value(lane);
        }
        return;
    }
    for lane in 0..32 {
        let loaded = value(lane);
        row[lane] = if mask & (1 << lane) != 0 { loaded } else { row[lane] };
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arg, Checks, Launch, Memory, Options, Outcome, Program, trace};

    const N: u32 = 3001;

    /// Runs a kernel of the course over `N` words that begin `skip` words after an aligned address: what it left in
    /// memory, and the outcome. A step that is recorded takes the general way.
    fn run(ptx: &str, kernel: &str, skip: u64, checks: Checks, recorded: bool) -> (Vec<u8>, Outcome) {
        let kernel = Program::load("kernel.ptx", ptx).unwrap().kernel(kernel).unwrap();
        let mut memory = Memory::new();
        let words = u64::from(N) + skip;
        let input = memory.alloc("in", 4 * words, 4).unwrap();
        let bytes: Vec<u8> = (0..words as u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        memory.write(input, &bytes).unwrap();
        let sums = memory.alloc("sums", 4 * 64, 4).unwrap();
        let args = vec![Arg::Address(input + 4 * skip), Arg::Address(sums), N.into()];
        let launch = Launch { grid: [24, 1, 1], block: [128, 1, 1], args, ..Launch::default() };
        let every_step =
            trace::Options { blocks: u64::MAX, steps_per_block_max: u64::MAX, ..trace::Options::default() };
        let options = Options { checks, threads: 1, trace: recorded.then_some(every_step), ..Options::default() };
        let outcome = crate::run(&kernel, &mut memory, &launch, &options).unwrap();
        let mut left = vec![0; 4 * 64];
        memory.read(sums, &mut left).unwrap();
        let mut array = vec![0; bytes.len()];
        memory.read(input, &mut array).unwrap();
        left.extend(array);
        (left, outcome)
    }

    #[test]
    fn words_give_what_the_general_way_gives() {
        let naive = include_str!("../../../../kernels/ptx/ch01-naive.ptx");
        let divergence = include_str!("../../../../kernels/ptx/ch02-divergence.ptx");
        let unroll = include_str!("../../../../kernels/ptx/ch05-unroll.ptx");
        let coarsening = include_str!("../../../../kernels/ptx/ch07-coarsening.ptx");
        for (ptx, kernel) in [
            (naive, "interleaved_modulo_i32"),
            (naive, "simple_global_i32"),
            (divergence, "strided_index_i32"),
            (unroll, "unroll_volatile_i32"),
            (unroll, "unroll_shuffle_i32"),
            (coarsening, "vectorised_v8_i32"),
            (coarsening, "vectorised_v16_i32"),
        ] {
            for (checks, skip) in [(Checks::ALL, 0), (Checks::ALL, 3), (Checks::NONE, 1)] {
                let (left, outcome) = run(ptx, kernel, skip, checks, false);
                let (expected, general) = run(ptx, kernel, skip, checks, true);
                assert_eq!(left, expected, "{kernel}");
                assert_eq!(outcome.counters, general.counters, "{kernel}");
                assert_eq!(outcome.lines, general.lines, "{kernel}");
                assert_eq!(outcome.faults, general.faults, "{kernel}");
                assert!(outcome.counters.inst_executed > 1000, "{kernel}");
            }
        }
    }
}
