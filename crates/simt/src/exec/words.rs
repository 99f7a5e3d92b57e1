//! Loads and stores of 32-bit words where the lanes lie as they lay when the instruction last ran: nearly all of them. One
//! comparison with that shape answers at once what the general way in `memory` finds out lane by lane: alignment, bounds,
//! bank conflicts, sectors, and whether the words lie side by side. Whatever is out of the ordinary is left to that.

use std::sync::atomic::Ordering::Relaxed;

use super::Machine;
use super::alu::{keep, store32, widened};
use super::issue::{Access, Cost, Issue, Place, addresses};
use super::warp::{FULL, Row32, Warp};
use crate::access::{Kind, Known, Passes};
use crate::code::{Inst, MemOp, Target};
use crate::masks::lanes;
use crate::race::global::Act;
use crate::race::{Layout, Strength};

const WORD_BYTES: u32 = 4;

/// Stands for addresses that no check uses.
const UNASKED: [u64; 32] = [0; 32];

impl Access<'_> {
    /// The word of a lane at this address, in shared memory or in the buffer.
    #[inline(always)]
    fn word(&self, address: u64) -> usize {
        ((address - self.buffer.map_or(0, |(_, base)| base)) / u64::from(WORD_BYTES)) as usize
    }
}

impl<'k> Machine<'k> {
    #[inline(always)]
    fn recall(&mut self, issue: &Issue<'_>, op: MemOp, shared: Kind) -> Option<Known> {
        let kind = match op.target {
            Target::Global => Kind::Global,
            Target::Shared => shared,
            _ => return None,
        };
        let (inst, mask) = (issue.inst, issue.active);
        if u32::from(op.width.bytes) != WORD_BYTES || op.width.wide || op.vector > 4 || mask == 0 || self.recording {
            return None;
        }
        let bytes = WORD_BYTES * u32::from(op.vector);
        let memo = self.memos[issue.pc as usize].of(mask);
        match inst.e == 1 {
            true => memo.recall32(kind, bytes, mask, &issue.warp.w[usize::from(inst.a)].0, inst.imm as u32),
            false => memo.recall(kind, bytes, mask, &issue.warp.d[usize::from(inst.a)].0, inst.imm as u64),
        }
    }

    /// The access of `bytes` bytes a lane that is known to be like the last one, counted as a request, with what it costs. `None` if it
    /// is not inside one buffer or the block's shared memory: nothing has happened then.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn admit_words(
        &mut self,
        issue: &Issue<'_>,
        place: Place,
        bytes: u32,
        known: &Known,
        strength: Strength,
    ) -> Option<(Access<'k>, Cost)> {
        let (low, high) = (known.lowest, known.highest.checked_add(u64::from(bytes))?);
        let (buffer, cost) = match place {
            Place::Global => {
                let cost = Cost { passes: Passes::default(), sectors: known.passes.wavefronts };
                (Some(self.buffer_of(low, high)?), cost)
            }
            _ if low < high && high <= u64::from(self.context.shared_bytes) => (None, known.passes.into()),
            _ => return None,
        };
        let layout = Some(match known.is_row {
            true => Layout::SideBySide,
            false if known.lowest == known.highest => Layout::OnePlace,
            false => Layout::Apart,
        });
        let (lanes, owner) = (issue.active, None);
        let access =
            Access { place, owner, lanes, bytes, at: &UNASKED, low, high, buffer, layout, strength, values: &[] };
        Some((access, cost))
    }

    /// Executes a load if it is one of those. False if not: nothing has happened then.
    #[inline(always)]
    pub(super) fn load_words(&mut self, issue: &mut Issue<'_>, op: MemOp) -> bool {
        let Some(known) = self.recall(issue, op, Kind::SharedLoad) else { return false };
        match (op.target, op.vector) {
            (Target::Global, 1) => self.load_global_words::<1>(issue, op, &known),
            (Target::Global, 2) => self.load_global_words::<2>(issue, op, &known),
            (Target::Global, _) => self.load_global_words::<4>(issue, op, &known),
            (_, 1) => self.load_shared_words::<1>(issue, op, &known),
            (_, 2) => self.load_shared_words::<2>(issue, op, &known),
            _ => self.load_shared_words::<4>(issue, op, &known),
        }
    }

    #[inline(always)]
    fn load_global_words<const N: usize>(&mut self, issue: &mut Issue<'_>, op: MemOp, known: &Known) -> bool {
        let (bytes, strength) = (WORD_BYTES * N as u32, Strength::of(op, Act::Read));
        let admitted = self.admit_words(issue, Place::Global, bytes, known, strength);
        let Some((mut access, cost)) = admitted else { return false };
        let Some((buffer, _)) = access.buffer else { return false };
        let at;
        if self.order.is_some() || !buffer.is_all_written() {
            at = issue.addresses();
            access.at = &at;
        }
        self.counts[issue.pc as usize].requests[Place::Global as usize] += 1;
        self.observe(issue, &access, cost);
        self.fill::<_, N>(issue.warp, issue.inst, op, &access, buffer.words(), |word| word.load(Relaxed));
        true
    }

    #[inline(always)]
    fn load_shared_words<const N: usize>(&mut self, issue: &mut Issue<'_>, op: MemOp, known: &Known) -> bool {
        let (bytes, strength) = (WORD_BYTES * N as u32, Strength::of(op, Act::Read));
        let admitted = self.admit_words(issue, Place::Shared, bytes, known, strength);
        let Some((access, cost)) = admitted else { return false };
        self.counts[issue.pc as usize].requests[Place::Shared as usize] += 1;
        if issue.env.is_watched() {
            let at = issue.addresses();
            self.observe(issue, &Access { at: &at, ..access }, cost);
        } else {
            self.count(issue.pc, &access, cost);
        }
        self.fill::<_, N>(issue.warp, issue.inst, op, &access, &issue.env.shared.words, |&word| word);
        true
    }

    /// The registers of a load of `N` words a lane get what `read` finds in `words`.
    #[inline(always)]
    fn fill<W, const N: usize>(
        &self,
        warp: &mut Warp,
        inst: &Inst,
        op: MemOp,
        access: &Access<'_>,
        words: &[W],
        read: impl Fn(&W) -> u32,
    ) {
        let mask = access.lanes;
        if let Some(row) = access.row(words.len()).and_then(|first| words.get(first..first + 32 * N)) {
            for element in 0..N {
                keep_each(warp, self.register(inst, op, element), mask, |lane| read(&row[lane * N + element]));
            }
            return;
        }
        let at = addresses(warp, inst);
        for element in 0..N {
            let mut out = [0; 32];
            lanes(mask).for_each(|lane| out[lane] = read(&words[access.word(at[lane]) + element]));
            store32(warp, self.register(inst, op, element), &out, mask);
        }
    }

    /// Executes a store if it is one of those. False if not: nothing has happened then.
    #[inline(always)]
    pub(super) fn store_words(&mut self, issue: &mut Issue<'_>, op: MemOp) -> bool {
        let Some(known) = self.recall(issue, op, Kind::SharedStore) else { return false };
        match (op.target, op.vector) {
            (Target::Global, 1) => self.store_row(issue, Place::Global, op, &known),
            (Target::Shared, 1) => self.store_row(issue, Place::Shared, op, &known),
            _ => false,
        }
    }

    #[inline(always)]
    fn store_row(&mut self, issue: &mut Issue<'_>, place: Place, op: MemOp, known: &Known) -> bool {
        let admitted = self.admit_words(issue, place, WORD_BYTES, known, Strength::of(op, Act::Write));
        let Some((access, cost)) = admitted else { return false };
        let length = access.buffer.map_or(issue.env.shared.words.len(), |(buffer, _)| buffer.words().len());
        // Lanes that share a word: the last one wins, and that is the general way's business.
        let Some(first) = access.row(length) else { return false };
        let is_asked = match place {
            Place::Global if self.order.is_some() => return false,
            Place::Global => self.context.side_by_side,
            _ => issue.env.is_watched(),
        };
        self.counts[issue.pc as usize].requests[place as usize] += 1;
        if is_asked || self.context.any_grid_spins {
            let (at, values) = (issue.addresses(), [widened(&issue.warp.w[usize::from(issue.inst.d)].0)]);
            self.observe(issue, &Access { at: &at, values: &values, ..access }, cost);
        } else {
            self.count(issue.pc, &access, cost);
        }
        let (mask, values) = (access.lanes, &issue.warp.w[usize::from(issue.inst.d)].0);
        if let Some((buffer, _)) = access.buffer {
            buffer.store_row(first, mask, values);
            return true;
        }
        let shared = &mut issue.env.shared;
        let Some(Ok(row)) = shared.words.get_mut(first..first + 32).map(<&mut [u32; 32]>::try_from) else {
            return false;
        };
        keep(row, values, mask);
        shared.mark_written(first, mask);
        true
    }
}

/// The lanes of `mask` get what `value` gives.
#[inline(always)]
fn keep_each(warp: &mut Warp, register: u16, mask: u32, value: impl Fn(usize) -> u32) {
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
