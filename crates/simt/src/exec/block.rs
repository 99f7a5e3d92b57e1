//! One block: its shared memory, its warps, and who runs next.
//!
//! Without a seed each warp runs until all its splits wait, warp after warp. With a seed every choice is drawn from
//! it (for the order of blocks see `turns`): which warp, which of its splits, for how many instructions, and whether lanes part for no reason of their own.
//! Either way a block's course depends on its index and the schedule alone, not on host threads.

use super::barrier::{Barriers, open_cluster_barrier};
use super::bulk_store::BulkGroups;
use super::carried::Carried;
use super::copy::Copies;
use super::team::{Shared, Team};
use super::turns::{Random, device_bits};
use super::warp::{FULL, State, Warp};
use super::{Context, Machine, Stop};
use crate::launch::{Check, Schedule};
use crate::race::{Clocks, Shadow};

/// Instructions a split runs before the next one has a turn: long enough to cost nothing, short enough that a lane
/// that spins on another lane's store soon sees it.
const TURN_STEPS: u64 = 4096;
/// Instructions that a warp runs, parting and meeting, before it counts as a turn of its own.
const PARTING_STEPS: u64 = 1 << 16;
/// More splits than this are not driven apart further: enough to break any assumption on order, and still quick.
const SPLITS_MAX: usize = 6;

/// Turns between two in which a seed drives lanes apart: few in the first blocks of a grid and in one of eight of the others,
/// many elsewhere. Lanes that run apart take several times as long, and one block shows as much as a thousand.
const APART_OFTEN: usize = 4;
const APART_SELDOM: usize = 64;
const TORN_FIRST: u64 = 4;
const TORN_IN: usize = 8;
/// Steps for which warps run in order before they come to the line where lanes part and one may spin until another writes.
const IN_ORDER_MAX: u64 = 1 << 16;

/// Passes without a change of memory after which a scheduler that draws by chance watches for lanes that spin.
const QUIET_PASSES: u32 = 128;
/// Its turns have up to two to the power of this many instructions, and each power of two is as likely.
const CHANCE_TURN_BITS_MAX: usize = 8;

/// State shared by the warps of a block.
pub(super) struct Environment {
    pub(super) block: [u32; 3],
    pub(super) linear: u64,
    /// Its place in its cluster.
    pub(super) rank: u32,
    /// Threads that it started with.
    pub(super) threads: u32,
    pub(super) shared: Shared,
    pub(super) team: Team,
    pub(super) log: super::log::AccessLog,
    /// Undefined values that it has left in global memory.
    pub(super) carried: Carried,
    pub(super) barriers: Barriers,
    /// Asynchronous copies, by warp, as the race check sees them.
    pub(super) copies: Vec<Copies>,
    pub(super) bulk_groups: Vec<BulkGroups>,
    /// Index of its launch among those that run together, and the device that runs it.
    pub(super) launch: u32,
    pub(super) device: u32,
    /// Set once it lets the next launch begin.
    pub(super) lets_next: bool,
    /// Its turn ends here, though it could go on.
    pub(super) breaks_off: bool,
    random: Option<Random>,
    /// Instructions that warps ran in order because they had not come to the line from which on lanes part.
    in_order: u64,
    /// Turns between two in which a seed drives lanes apart.
    apart_in: usize,
    /// Passes since memory changed, and how often it had changed then.
    quiet_passes: u32,
    quiet_since: u64,
}

/// A block in the course of running.
pub(super) struct Block {
    pub(super) env: Environment,
    pub(super) warps: Vec<Warp>,
}

/// Progress of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// All threads have exited.
    Done,
    /// Its turn is over.
    Turn,
    /// All its threads wait for another block.
    Waiting,
    /// The launch is over.
    Fatal,
}

/// The entry of warp `warp` in a list that grows as it is asked for.
pub(super) fn entry_of<T: Default>(list: &mut Vec<T>, warp: u32) -> &mut T {
    let at = warp as usize;
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}

impl Environment {
    /// The shared memory of the block of this rank (`None`: this one), unless there is no such block.
    #[inline(always)]
    pub(super) fn shared_of(&mut self, rank: Option<u32>) -> Option<&mut Shared> {
        self.shared_and_clocks(rank).0
    }

    /// Returns whether any check looks at what happens in shared memory.
    #[inline(always)]
    pub(super) fn is_watched(&self) -> bool {
        self.team.clocks.is_some() || !self.shared.written.is_empty()
    }

    /// Returns the race check's shadow of the shared memory of the block of this rank (`None`: this one), and the clock.
    #[inline(always)]
    pub(super) fn shadow_of(&mut self, rank: Option<u32>) -> (Option<&mut Shadow>, Option<&mut Clocks>) {
        let (shared, clocks) = self.shared_and_clocks(rank);
        (shared.and_then(|shared| shared.shadow.as_mut()), clocks)
    }

    /// Returns the shared memory of the block of this rank (`None`: this one), and the race check's clock.
    #[inline(always)]
    pub(super) fn shared_and_clocks(&mut self, rank: Option<u32>) -> (Option<&mut Shared>, Option<&mut Clocks>) {
        let shared = match rank.filter(|&rank| rank != self.rank) {
            None => Some(&mut self.shared),
            Some(rank) => self.team.peers.get_mut(rank as usize).and_then(Option::as_mut),
        };
        (shared, self.team.clocks.as_mut())
    }
}

/// The lanes of warp `index` that exist in a block of `threads`.
pub(super) fn lanes_of(index: u32, threads: u32) -> u32 {
    match threads - index * 32 {
        32.. => FULL,
        few => (1 << few) - 1,
    }
}

impl Block {
    pub(super) fn new(context: &Context<'_>) -> Block {
        let words = context.shared_bytes.div_ceil(4) as usize;
        let checks = context.options.checks;
        let shadow = (words > 0 && checks.has(Check::SharedRace)).then(|| Shadow::new(context.shared_bytes));
        let mut warps: Vec<Warp> = (0..context.warps_per_block).map(|i| Warp::new(i, context.code)).collect();
        warps.iter_mut().for_each(|warp| super::constants::fill(context, warp));
        warps.iter_mut().for_each(|warp| warp.watches_local = checks.has(Check::UninitialisedRead));
        let written = if checks.has(Check::UninitialisedRead) { vec![0; words] } else { Vec::new() };
        Block {
            env: Environment {
                block: [0; 3],
                linear: 0,
                rank: 0,
                threads: context.threads_per_block,
                shared: Shared { words: vec![0; words], written, shadow, ..Shared::default() },
                team: Team { clocks: clocks(context, 1), blocks: vec![[0; 3]], ..Team::default() },
                log: Default::default(),
                carried: Default::default(),
                barriers: Barriers::default(),
                copies: Vec::new(),
                bulk_groups: Vec::new(),
                launch: context.grid as u32,
                device: context.launch.device,
                lets_next: false,
                breaks_off: false,
                random: None,
                in_order: 0,
                apart_in: APART_SELDOM,
                quiet_passes: 0,
                quiet_since: 0,
            },
            warps,
        }
    }

    /// At the first instruction of block `linear` of a launch without clusters.
    pub(super) fn restart(&mut self, context: &Context<'_>, linear: u64) {
        let [x, y, _] = context.launch.grid.map(u64::from);
        let block = [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32];
        self.restart_in_cluster(context, block, 0);
        let team = &mut self.env.team;
        team.blocks[0] = block;
        team.places.clear();
        if let Some(clocks) = &mut team.clocks {
            clocks.start(context.own_grid().first_unit.wrapping_add(linear as u32));
        }
    }

    /// At the first instruction of `block`, which has this rank in its cluster. The team is the caller's care.
    pub(super) fn restart_in_cluster(&mut self, context: &Context<'_>, block: [u32; 3], rank: u32) {
        let linear = context.own_grid().linear(block);
        (self.env.block, self.env.linear, self.env.rank) = (block, linear, rank);
        self.env.shared.words.fill(0);
        self.env.shared.written.fill(0);
        // The driver's part is no variable of the kernel: its libraries know what is there.
        let reserved = self.env.shared.written.iter_mut().take((context.code.reserved_bytes / 4) as usize);
        reserved.for_each(|written| *written = 0xf);
        self.env.barriers.restart(self.warps.len());
        self.env.carried.clear();
        self.env.shared.carried.clear();
        self.env.copies.clear();
        self.env.bulk_groups.clear();
        self.env.shared.mbarriers.clear();
        (self.env.lets_next, self.env.breaks_off) = (false, false);
        if let Some(shadow) = &mut self.env.shared.shadow {
            shadow.forget_copies();
        }
        self.env.random = match context.options.schedule {
            Schedule::Independent { seed: Some(seed) } | Schedule::IndependentFrom { seed, .. } => {
                Some(Random(seed ^ linear.wrapping_mul(0x9e37_79b9) ^ device_bits(context)))
            }
            _ => None,
        };
        let is_torn = self.env.random.as_mut().is_some_and(|random| random.below(TORN_IN) == 0);
        self.env.apart_in = if linear < TORN_FIRST || is_torn { APART_OFTEN } else { APART_SELDOM };
        self.env.quiet_passes = 0;
        self.env.in_order = 0;
        for warp in &mut self.warps {
            warp.restart(context.code, lanes_of(warp.index, context.threads_per_block));
            super::constants::fill_block(context, warp, block, rank);
            if let Some(entry) = context.begins_unset(0) {
                warp.mark_unset(&self.env, entry, warp.live);
            }
        }
    }

    /// All its threads have exited.
    pub(super) fn is_done(&self) -> bool {
        self.warps.iter().all(Warp::is_done)
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
            if self.is_done() {
                return Progress::Done;
            }
            let released = self.release_barriers(machine)
                || (self.env.team.size() == 1 && open_cluster_barrier(std::slice::from_mut(self), 0))
                || (!ran && self.warps.iter_mut().any(|warp| warp.exit_waiting(machine.context.code)));
            if !ran && !released && machine.goes_ahead && self.go_ahead_of_spinning() {
                continue;
            }
            let waits_for_launch = |warp: &Warp| warp.splits.iter().any(|split| split.state == State::AtLaunch);
            if !ran && !released && self.warps.iter().any(waits_for_launch) {
                return Progress::Waiting;
            }
            if !ran && !released && (self.let_absent_lanes_run_on(machine) || self.let_branches_meet(machine)) {
                continue;
            }
            if !ran && !released {
                let waits = |state| matches!(state, State::Spinning(_) | State::AtCluster);
                if self.warps.iter().flat_map(|warp| &warp.splits).any(|split| waits(split.state)) {
                    return Progress::Waiting;
                }
                if self.let_lanes_run_on_behind_barriers(machine) {
                    continue;
                }
                machine.findings.stuck(machine.context, &self.env, &self.warps);
                return Progress::Fatal;
            }
            let now: u64 = self.warps.iter().map(|warp| warp.steps).sum();
            let budget = machine.context.options.steps_per_block_max;
            if now >= budget {
                machine.findings.endless(&self.env, &self.warps, budget);
                return Progress::Fatal;
            }
            if now - before > steps || std::mem::take(&mut self.env.breaks_off) {
                return Progress::Turn;
            }
        }
    }

    /// Runs every warp until its splits wait or its turn is over. Returns `None` when the launch is over, else whether
    /// anything ran.
    fn pass_in_order(&mut self, machine: &mut Machine<'_>) -> Option<bool> {
        let rotate = machine.lanes_apart();
        let may_spin = rotate && machine.context.code.may_spin;
        let mut ran = false;
        for warp in &mut self.warps {
            if machine.context.code.may_spin {
                machine.wake(warp);
            }
            let mut last = usize::MAX;
            let (mut began, mut watched) = (warp.steps, warp.steps);
            while let Some(at) = warp.next_ready_before(last).or_else(|| warp.next_ready()) {
                ran = true;
                let mut stop = machine.turn(&mut self.env, warp, at);
                if stop == Stop::Blocked
                    && machine.context.code.may_spin
                    && warp.steps - watched >= warp.patience.parting_steps()
                {
                    stop = machine.watch_parting(&mut self.env, warp);
                    warp.patience.grow(warp.steps, PARTING_STEPS);
                    watched = warp.steps;
                }
                let spinning = match stop {
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

    /// Returns the first warp that can run and has not reached the line from which lanes may part; marks those that have.
    fn next_before_its_line(&mut self, machine: &Machine<'_>) -> Option<usize> {
        let Schedule::IndependentFrom { line, .. } = machine.context.options.schedule else { return None };
        for (index, warp) in self.warps.iter_mut().enumerate().filter(|(_, warp)| !warp.is_past_line) {
            let Some(at) = warp.next_ready() else { continue };
            let debug = &machine.context.code.debug[warp.splits[at].pc as usize];
            warp.is_past_line = debug.is_of_line(line);
            // One that spins may wait for a warp behind it: sooner or later, chance decides.
            if !warp.is_past_line && (!machine.context.code.may_spin || self.env.in_order < IN_ORDER_MAX) {
                self.env.in_order += 1;
                return Some(index);
            }
        }
        None
    }

    /// One instruction of one warp, whose lanes stay together.
    fn step_in_order(&mut self, machine: &mut Machine<'_>, index: usize) -> Option<bool> {
        let warp = &mut self.warps[index];
        let Some(at) = warp.next_ready() else { return Some(false) };
        if machine.run(&mut self.env, warp, at, 1) == Stop::Fatal {
            return None;
        }
        machine.release_collectives(&mut self.env, warp);
        Some(true)
    }

    /// One warp, one split, a few instructions, all by chance.
    fn pass_by_chance(&mut self, machine: &mut Machine<'_>) -> Option<bool> {
        let may_spin = machine.context.code.may_spin;
        let watch = self.is_quiet(machine);
        if may_spin {
            self.warps.iter_mut().for_each(|warp| machine.wake(warp));
        }
        if let Some(index) = self.next_before_its_line(machine) {
            return self.step_in_order(machine, index);
        }
        let Some(random) = &mut self.env.random else { return Some(false) };
        let Some(index) = random.pick(self.warps.len(), |index| self.warps[index].next_ready().is_some()) else {
            let mut released = false;
            for warp in &mut self.warps {
                released |= machine.release_collectives(&mut self.env, warp);
            }
            return Some(released);
        };
        let warp = &mut self.warps[index];
        let at = random.pick(warp.splits.len(), |at| warp.splits[at].state == State::Ready)?;
        // Often a few instructions, now and then so many that the split runs until it waits.
        let most = 1 << random.below(CHANCE_TURN_BITS_MAX + 1);
        let keeps_together =
            matches!(machine.context.options.schedule, Schedule::IndependentFrom { .. }) && !warp.is_past_line;
        let turn = if keeps_together { 1 } else { 1 + random.below(most) as u64 };
        if !keeps_together && random.below(self.env.apart_in) == 0 && warp.splits.len() < SPLITS_MAX {
            let mask = warp.splits[at].mask;
            let apart = mask & random.lanes();
            if apart != 0 && apart != mask {
                let _ = warp.drive_apart(at, apart);
            }
        }
        let watch = watch || (may_spin && warp.patience.has_spun());
        let stop = match machine.run(&mut self.env, warp, at, turn) {
            Stop::Turn if watch => {
                let stop = machine.put_aside_if_it_spins(&mut self.env, warp, at);
                warp.patience.grow(warp.steps, TURN_STEPS);
                stop
            }
            stop => stop,
        };
        match stop {
            Stop::Fatal => None,
            stop => {
                if stop == Stop::Turn && may_spin && warp.steps.is_multiple_of(64) {
                    warp.let_go_ahead(at);
                }
                machine.release_collectives(&mut self.env, warp);
                Some(true)
            }
        }
    }

    /// Lanes that wait for others that spin go ahead, since those may wait for them. True if there were any.
    pub(super) fn go_ahead_of_spinning(&mut self) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            for at in 0..warp.splits.len() {
                any |= warp.splits[at].state.is_spinning() && warp.let_go_ahead(at);
            }
        }
        any
    }

    /// Returns whether memory has not changed for so long that lanes may be waiting for it.
    fn is_quiet(&mut self, machine: &Machine<'_>) -> bool {
        let env = &mut self.env;
        if env.quiet_since != machine.changes {
            (env.quiet_since, env.quiet_passes) = (machine.changes, 0);
        }
        env.quiet_passes += 1;
        machine.context.code.may_spin && env.quiet_passes > QUIET_PASSES
    }
}

impl Machine<'_> {
    /// A turn of split `at`, with a look now and then at whether it spins.
    fn turn(&mut self, env: &mut Environment, warp: &mut Warp, at: usize) -> Stop {
        let budget = self.context.options.steps_per_block_max;
        let mut left = TURN_STEPS.min(budget.saturating_sub(warp.steps).max(1));
        if !self.context.code.may_spin {
            return self.run(env, warp, at, left);
        }
        while left > 0 {
            let steps = warp.patience.steps().min(left);
            left -= steps;
            let began = warp.steps;
            let mut stop = self.run(env, warp, at, steps);
            // A warp that waits for a barrier object ends its turn early.
            let waits = stop == Stop::Turn && warp.steps - began < steps;
            if stop == Stop::Turn && (!waits || warp.patience.is_over(warp.steps)) {
                stop = self.put_aside_if_it_spins(env, warp, at);
                warp.patience.grow(warp.steps, TURN_STEPS);
            }
            if waits || stop != Stop::Turn {
                return stop;
            }
        }
        Stop::Turn
    }

    /// See `spin`. Lanes that wait for those that spin may be the ones they wait for: they go ahead where that has shown.
    fn put_aside_if_it_spins(&mut self, env: &mut Environment, warp: &mut Warp, at: usize) -> Stop {
        let stop = self.watch_spinning(env, warp, at);
        let spins = stop == Stop::Blocked && warp.splits.get(at).is_some_and(|split| split.state.is_spinning());
        if spins && self.goes_ahead {
            warp.let_go_ahead(at);
        }
        stop
    }
}

/// The clock of the race checks for `blocks` blocks, if any of them is on.
pub(super) fn clocks(context: &Context<'_>, blocks: u32) -> Option<Clocks> {
    let shared = context.shared_bytes > 0 && context.options.checks.has(Check::SharedRace);
    if !shared && !context.watches_order {
        return None;
    }
    let lanes_apart = context.options.schedule.lanes_apart();
    let mut clocks = Clocks::new(blocks, context.warps_per_block, lanes_apart);
    clocks.set_device(context.launch.device);
    let last = context.warps_per_block - 1;
    for rank in 0..blocks {
        clocks.set_lanes(super::team::unit_warp(rank, last), lanes_of(last, context.threads_per_block));
    }
    Some(clocks)
}

impl Warp {
    /// The last ready split before `end`.
    fn next_ready_before(&self, end: usize) -> Option<usize> {
        let end = end.min(self.splits.len());
        self.splits[..end].iter().rposition(|split| split.state == State::Ready)
    }
}
