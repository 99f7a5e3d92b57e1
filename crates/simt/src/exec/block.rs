//! One block: its shared memory, its warps, and who runs next.
//!
//! Without a seed each warp runs until all its splits wait, warp after warp. With a seed every choice is drawn from
//! it: which warp, which of its splits, for how many instructions, and whether lanes part for no reason of their own.
//! Either way a block's course depends on its index and the schedule alone, not on host threads.

use super::warp::{FULL, State, Warp};
use super::{Context, Machine, Stop};
use crate::launch::{Check, Schedule};
use crate::race::Shadow;

/// Instructions a split runs before the next one has a turn: long enough to cost nothing, short enough that a lane
/// that spins on another lane's store soon sees it.
const TURN_STEPS: u64 = 4096;
/// Instructions that a warp runs, parting and meeting, before it counts as a turn of its own.
const PARTING_STEPS: u64 = 1 << 16;
/// More splits than this are not driven apart further: enough to break any assumption on order, and still quick.
const SPLITS_MAX: usize = 6;

/// What the warps of a block share.
pub(super) struct Environment {
    pub(super) block: [u32; 3],
    pub(super) linear: u64,
    /// Shared memory in words.
    pub(super) shared: Vec<u32>,
    /// Bit i of entry w: byte i of word w was written. Empty when nobody asks.
    pub(super) shared_written: Vec<u8>,
    pub(super) shadow: Option<Shadow>,
    pub(super) log: super::grid::AccessLog,
    /// Threads that came by `bar.arrive`, per barrier.
    pub(super) arrivals: [u32; 16],
    random: Option<Random>,
}

/// A block in the course of running.
pub(super) struct Block {
    pub(super) env: Environment,
    warps: Vec<Warp>,
}

/// How far a block got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// All threads have exited.
    Done,
    /// Its turn is over.
    Turn,
    /// The launch is over.
    Fatal,
}

/// SplitMix64 (Steele, Lea and Flood 2014): small, seedable, good enough to shuffle a schedule.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A set of lanes.
    fn lanes(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }
}

impl Environment {
    #[inline(always)]
    pub(super) fn load_shared(&self, at: u32, bytes: u32) -> u64 {
        let word = self.shared[(at / 4) as usize];
        match bytes {
            4 => u64::from(word),
            8 => u64::from(word) | u64::from(self.shared[(at / 4) as usize + 1]) << 32,
            _ => u64::from(word >> (8 * (at % 4)) & ((1 << (8 * bytes)) - 1)),
        }
    }

    #[inline(always)]
    pub(super) fn store_shared(&mut self, at: u32, bytes: u32, value: u64) {
        let index = (at / 4) as usize;
        match bytes {
            4 => self.shared[index] = value as u32,
            8 => {
                self.shared[index] = value as u32;
                self.shared[index + 1] = (value >> 32) as u32;
            }
            _ => {
                let shift = 8 * (at % 4);
                let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                self.shared[index] = (self.shared[index] & !ones) | (((value as u32) << shift) & ones);
            }
        }
        if !self.shared_written.is_empty() {
            match bytes {
                4 => self.shared_written[index] = 0xf,
                8 => self.shared_written[index..index + 2].fill(0xf),
                _ => self.shared_written[index] |= (((1u32 << bytes) - 1) << (at % 4)) as u8,
            }
        }
    }

    #[inline(always)]
    pub(super) fn is_shared_written(&self, at: u32, bytes: u32) -> bool {
        let index = (at / 4) as usize;
        match bytes {
            1 | 2 => {
                let wanted = (((1u32 << bytes) - 1) << (at % 4)) as u8;
                self.shared_written[index] & wanted == wanted
            }
            _ => self.shared_written[index..index + (bytes / 4) as usize].iter().all(|&mask| mask == 0xf),
        }
    }
}

/// The lanes of warp `index` that exist in a block of `threads`.
fn lanes_of(index: u32, threads: u32) -> u32 {
    match threads - index * 32 {
        32.. => FULL,
        few => (1 << few) - 1,
    }
}

impl Block {
    pub(super) fn new(context: &Context<'_>) -> Block {
        let words = context.shared_bytes.div_ceil(4) as usize;
        let checks = context.options.checks;
        let lanes_apart = matches!(context.options.schedule, Schedule::Independent { .. });
        let shadow = (words > 0 && checks.has(Check::SharedRace)).then(|| {
            let mut shadow = Shadow::new(context.shared_bytes, context.warps_per_block, lanes_apart);
            let last = context.warps_per_block - 1;
            shadow.set_lanes(last, lanes_of(last, context.threads_per_block));
            shadow
        });
        let mut warps: Vec<Warp> = (0..context.warps_per_block).map(|i| Warp::new(i, context.code)).collect();
        warps.iter_mut().for_each(|warp| super::grid::fill_constants(context, warp));
        Block {
            env: Environment {
                block: [0; 3],
                linear: 0,
                shared: vec![0; words],
                shared_written: if checks.has(Check::UninitialisedRead) { vec![0; words] } else { Vec::new() },
                shadow,
                log: Default::default(),
                arrivals: [0; 16],
                random: None,
            },
            warps,
        }
    }

    /// At the first instruction of block `linear`.
    pub(super) fn restart(&mut self, context: &Context<'_>, linear: u64) {
        let [x, y, _] = context.launch.grid.map(u64::from);
        self.env.linear = linear;
        self.env.block = [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32];
        self.env.shared.fill(0);
        self.env.shared_written.fill(0);
        self.env.arrivals = [0; 16];
        if let Some(shadow) = &mut self.env.shadow {
            shadow.reset();
        }
        self.env.random = match context.options.schedule {
            Schedule::Independent { seed: Some(seed) } => Some(Random(seed ^ linear.wrapping_mul(0x9e37_79b9))),
            _ => None,
        };
        for warp in &mut self.warps {
            warp.restart(context.code, lanes_of(warp.index, context.threads_per_block));
            super::grid::fill_block_index(context, warp, self.env.block);
        }
    }

    /// Runs until the block is done, the launch is over, or about `steps` warp-instructions have passed.
    pub(super) fn run(&mut self, machine: &mut Machine<'_>, steps: u64) -> Progress {
        let before: u64 = self.warps.iter().map(|warp| warp.steps).sum();
        loop {
            let ran = match self.env.random.is_some() {
                true => self.pass_by_chance(machine),
                false => self.pass_in_order(machine),
            };
            let Some(ran) = ran else { return Progress::Fatal };
            if self.warps.iter().all(Warp::is_done) {
                return Progress::Done;
            }
            let released = self.release_barriers(machine)
                || (!ran && self.warps.iter_mut().any(|warp| warp.exit_waiting(machine.context.code)));
            if !ran && !released {
                machine.findings.stuck(&self.env, &self.warps);
                return Progress::Fatal;
            }
            let now: u64 = self.warps.iter().map(|warp| warp.steps).sum();
            if now >= machine.context.options.steps_per_block_max {
                machine.findings.endless(&self.env, &self.warps);
                return Progress::Fatal;
            }
            if now - before > steps {
                return Progress::Turn;
            }
        }
    }

    /// Every warp runs until its splits wait or its turn is over. `None` when the launch is over, else whether
    /// anything ran.
    fn pass_in_order(&mut self, machine: &mut Machine<'_>) -> Option<bool> {
        let rotate = machine.lanes_apart();
        let may_spin = rotate && machine.context.code.may_spin;
        let mut ran = false;
        for warp in &mut self.warps {
            let mut last = usize::MAX;
            let mut began = warp.steps;
            while let Some(at) = warp.next_ready_before(last).or_else(|| warp.next_ready()) {
                ran = true;
                let spinning = match machine.run(&mut self.env, warp, at, TURN_STEPS) {
                    Stop::Fatal => return None,
                    Stop::Blocked if warp.steps - began < PARTING_STEPS => {
                        last = usize::MAX;
                        continue;
                    }
                    // Lanes that part again and again never end a turn, and may spin all the same.
                    Stop::Blocked => warp.next_ready(),
                    Stop::Turn => Some(at),
                };
                began = warp.steps;
                match spinning {
                    _ if warp.steps >= machine.context.options.steps_per_block_max => break,
                    Some(at) if may_spin && warp.let_go_ahead(at) => last = at,
                    // A split may spin until another of its warp, or another warp, writes.
                    Some(at) if rotate && warp.next_ready_before(at).is_some() => last = at,
                    _ => break,
                }
            }
            ran |= machine.release_collectives(&mut self.env, warp);
        }
        Some(ran)
    }

    /// One warp, one split, a few instructions, all by chance.
    fn pass_by_chance(&mut self, machine: &mut Machine<'_>) -> Option<bool> {
        let env = &mut self.env;
        let mut draw = |end: usize| env.random.as_mut().map_or(0, |random| random.below(end));
        let ready: Vec<usize> = (0..self.warps.len()).filter(|&w| self.warps[w].next_ready().is_some()).collect();
        if ready.is_empty() {
            let mut released = false;
            for warp in &mut self.warps {
                released |= machine.release_collectives(&mut self.env, warp);
            }
            return Some(released);
        }
        let warp = &mut self.warps[ready[draw(ready.len())]];
        let splits: Vec<usize> = (0..warp.splits.len()).filter(|&at| warp.splits[at].state == State::Ready).collect();
        let at = splits[draw(splits.len())];
        let turn = 1 + draw(24) as u64;
        if draw(4) == 0 && warp.splits.len() < SPLITS_MAX {
            let mask = warp.splits[at].mask;
            let apart = mask & self.env.random.as_mut().map_or(0, Random::lanes);
            if apart != 0 && apart != mask {
                let _ = warp.drive_apart(at, apart);
            }
        }
        match machine.run(&mut self.env, warp, at, turn) {
            Stop::Fatal => None,
            stop => {
                // Now and then, and not by chance: the draws of a seed stay what they are.
                if stop == Stop::Turn && machine.context.code.may_spin && warp.steps.is_multiple_of(64) {
                    warp.let_go_ahead(at);
                }
                machine.release_collectives(&mut self.env, warp);
                Some(true)
            }
        }
    }

    /// Opens the barriers that everybody has reached. A barrier counts threads, as Volta's does, so that lanes that
    /// took another way are missed.
    fn release_barriers(&mut self, machine: &mut Machine<'_>) -> bool {
        let live: u32 = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        let mut released = false;
        for id in 0..16u32 {
            let mut waiting = 0;
            let mut expected = None;
            for split in self.warps.iter().flat_map(|warp| &warp.splits) {
                if let State::AtBarrier(at, count) = split.state
                    && at == id
                {
                    waiting += split.mask.count_ones();
                    expected = expected.max(Some(count.unwrap_or(live)));
                }
            }
            let arrived = waiting + self.env.arrivals[id as usize];
            if waiting == 0 || expected.is_none_or(|expected| arrived < expected) {
                continue;
            }
            if machine.context.options.checks.has(Check::BarrierDivergence) {
                machine.findings.barrier(&self.env, &self.warps, id);
            }
            self.open(id);
            released = true;
        }
        released
    }

    fn open(&mut self, id: u32) {
        self.env.arrivals[id as usize] = 0;
        for warp in &mut self.warps {
            for split in &mut warp.splits {
                if matches!(split.state, State::AtBarrier(at, _) if at == id) {
                    split.state = State::Ready;
                    split.pc += 1;
                }
            }
            warp.merge();
        }
        // A barrier with a thread count orders only those who came. Taking it for all may miss a race, never invent one.
        if let Some(shadow) = &mut self.env.shadow {
            shadow.block_barrier();
        }
    }
}

impl Warp {
    /// The last ready split before `end`.
    fn next_ready_before(&self, end: usize) -> Option<usize> {
        let end = end.min(self.splits.len());
        self.splits[..end].iter().rposition(|split| split.state == State::Ready)
    }
}
