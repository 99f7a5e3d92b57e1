//! Atomics that shared memory has no instruction for: additions of floats and of pairs of halves, and all of 64 bits but exchange
//! and compare-and-swap. `ptxas` makes a loop of them: LDS, the operation, and ATOMS.CAST.SPIN, a compare-and-swap that
//! says whether it stored. In each round all lanes that are left load; of each bank the lowest lane stores, and leaves: the
//! swap takes no passes more where lanes meet in a bank, those lanes go round again. Words of 64 bits are swapped one half
//! of the warp after the other, so that a lane of the second half stores too unless the first half has just changed its word. A
//! minimum or maximum that would change nothing leaves without a store.
//!
//! An H200 counted that for one warp, two passes for each ATOMS.CAST.SPIN and half, and one more each where the address is generic (`shared_float_rounds`,
//! `shared_wide_rounds` and `shared_bank_rounds` in `tests/gpu`). It is not exact where warps come between each other's
//! rounds, which is a matter of time, or where the atomic is in a loop behind which alone the lanes meet again: then those that
//! were first go round that loop before the others go on.

use super::Machine;
use super::atomic::combine;
use super::issue::{Issue, Lanes};
use crate::access::{self, Passes};
use crate::code::{AtomOp, AtomicOp, Target};
use crate::masks::{filter, lanes};

/// Passes of a compare-and-swap for one of a store; of ATOMS.CAST.SPIN, for each half of a warp where words have 64 bits.
pub(super) const SWAP_PASSES: u32 = 2;

/// One word of each bank.
const ALL_BANKS_BYTES: u32 = 32 * 4;

/// Cost of all rounds of one atomic.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Rounds {
    loads: Passes,
    swaps: Passes,
}

impl Machine<'_> {
    /// Counts the rounds of an atomic on the block's own shared memory, before it is carried out: the loads
    /// here, the compare-and-swaps where their passes are added.
    #[cold]
    pub(super) fn count_rounds(
        &mut self,
        issue: &Issue<'_>,
        op: AtomOp,
        mask: u32,
        at: &[u32; 32],
        operands: &Lanes,
    ) -> Passes {
        let mut words = [0; 32];
        lanes(mask).for_each(|lane| words[lane] = issue.env.shared.load(at[lane], u32::from(op.bytes)));
        let mut rounds = rounds(op, mask, at, words, operands);
        if op.target == Target::Generic {
            // The instruction that finds out that it is shared memory.
            let halves = [0xffff, 0xffff_0000].into_iter().filter(|half| op.bytes == 8 && mask & half != 0).count();
            rounds.swaps.wavefronts += halves.max(1) as u32;
        }
        let counts = &mut self.counts[issue.pc as usize];
        counts.load_wavefronts += u64::from(rounds.loads.wavefronts);
        counts.load_conflicts += u64::from(rounds.loads.conflicts);
        rounds.swaps
    }
}

/// Plays the rounds of the lanes `mask`, whose words hold `words`.
fn rounds(op: AtomOp, mask: u32, at: &[u32; 32], words: Lanes, operands: &Lanes) -> Rounds {
    let bytes = u32::from(op.bytes);
    // The value of a word is kept with the lowest of its lanes.
    let lowest: [usize; 32] =
        std::array::from_fn(|lane| lanes(mask).find(|&other| at[other] == at[lane]).unwrap_or(lane));
    let halves = if bytes == 8 { [0xffff, 0xffff_0000] } else { [u32::MAX, 0] };
    let bank = |lane: usize| at[lane] % ALL_BANKS_BYTES / bytes;
    let extreme = matches!(op.op, AtomicOp::MinS | AtomicOp::MinU | AtomicOp::MaxS | AtomicOp::MaxU);
    let mut now = words;
    let mut left = mask;
    let mut sum = Rounds::default();
    while left != 0 {
        let load = access::shared_load(bytes, left, at);
        sum.loads.wavefronts += load.wavefronts;
        sum.loads.conflicts += load.conflicts;
        let seen = now;
        let becomes = |lane: usize| combine(op, seen[lowest[lane]], operands[lane], 0);
        if extreme {
            left = filter(left, |lane| becomes(lane) != seen[lowest[lane]]);
        }
        let mut stored = 0;
        for half in halves.into_iter().filter(|half| left & half != 0) {
            sum.swaps.wavefronts += SWAP_PASSES;
            let first = |lane: usize| !lanes(left & half).any(|other| other < lane && bank(other) == bank(lane));
            let same = |lane: usize| now[lowest[lane]] == seen[lowest[lane]];
            let storing = filter(left & half, |lane| first(lane) && same(lane));
            lanes(storing).for_each(|lane| now[lowest[lane]] = becomes(lane));
            stored |= storing;
        }
        left &= !stored;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{MachineOp, Order, Scope, Target};

    fn of(op: AtomicOp, bytes: u8, word: fn(u32) -> u32, operand: fn(u64) -> u64) -> (u32, u32) {
        let (target, machine) = (Target::Shared, MachineOp::Rounds);
        let op = AtomOp { target, op, bytes, vector: 1, machine, order: Order::Relaxed, scope: Scope::Gpu };
        let at = std::array::from_fn(|lane| u32::from(bytes) * word(lane as u32));
        let operands = std::array::from_fn(|lane| operand(lane as u64));
        let rounds = rounds(op, u32::MAX, &at, [0; 32], &operands);
        assert_eq!(rounds.swaps.conflicts, 0);
        (rounds.loads.wavefronts, rounds.swaps.wavefronts)
    }

    /// A sixteenth of what an H200 counted for 16 additions: passes of loads and of compare-and-swaps.
    #[test]
    fn an_h200_counted_these_rounds() {
        let float = |word| of(AtomicOp::AddF32, 4, word, |_| u64::from(1_f32.to_bits()));
        assert_eq!(float(|t| t), (1, 2));
        assert_eq!(float(|_| 0), (32, 64));
        assert_eq!(float(|t| t / 2), (2, 4));
        assert_eq!(float(|t| t % 4), (8, 16));
        assert_eq!(float(|t| t % 16), (2, 4));
        assert_eq!(float(|t| if t < 8 { 0 } else { t }), (8, 16));
        let wide = |word| of(AtomicOp::Add, 8, word, |t| t);
        assert_eq!(wide(|t| t), (2, 4));
        assert_eq!(wide(|t| t / 2), (2, 8));
        assert_eq!(wide(|t| t % 16), (3, 6));
        assert_eq!(wide(|t| if t < 8 { 0 } else { t }), (9, 18));
        // Lane 0 adds nothing, so that a lane of the other half stores in the same round.
        assert_eq!(wide(|_| 0).0, 31);
    }

    /// Counts of an H200 for lanes that meet in a bank with different words.
    #[test]
    fn one_lane_of_each_bank_stores_in_a_round() {
        let float = |word| of(AtomicOp::AddF32, 4, word, |_| u64::from(1_f32.to_bits()));
        assert_eq!(float(|t| 32 * t), (528, 64));
        assert_eq!(float(|t| 2 * t), (3, 4));
        assert_eq!(float(|t| t % 8 * 16), (58, 32));
        assert_eq!(float(|t| t / 4 * 32), (144, 64));
        assert_eq!(float(|t| t % 2 * 32), (63, 64));
        assert_eq!(float(|t| 5 * t % 8 * 32), (228, 64));
        let wide = |word| of(AtomicOp::Add, 8, word, |t| t + 1);
        assert_eq!(wide(|t| 16 * t), (272, 64));
        assert_eq!(wide(|t| t % 8 * 16), (207, 66));
        assert_eq!(wide(|t| t % 16 * 16), (287, 66));
        assert_eq!(wide(|t| t / 4 * 16), (80, 64));
        assert_eq!(wide(|t| 4 * t), (20, 16));
        assert_eq!(of(AtomicOp::MaxU, 8, |t| t % 8 * 16, |t| t + 1), (167, 54));
    }

    #[test]
    fn who_would_change_nothing_only_loads() {
        assert_eq!(of(AtomicOp::MaxU, 8, |t| t, |_| 0), (2, 0));
        // The lowest lane of each round stores one more than the one before it.
        assert_eq!(of(AtomicOp::MaxU, 8, |_| 0, |t| t % 3).0, 3);
    }
}
