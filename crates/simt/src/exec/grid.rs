//! A launch: blocks dealt to host threads, with one outcome whatever their number.
//!
//! The outcome is defined by running blocks one after the other in grid order. Blocks that touch disjoint memory may
//! as well run side by side, and nearly all kernels are like that; so each block notes the ranges it reads and
//! writes, and when any two blocks met in one, or anything else out of the ordinary happened, memory is rolled back
//! and the launch is run again in order. Kernels whose blocks talk to each other on purpose (global atomics, ordered
//! loads, cooperative launches) take turns on one host thread from the start, so that a block may wait for another. The
//! blocks of a cluster are one unit in all this. A seed stands for another order than the grid's: see `turns`.
//!
//! The check for races in global memory pays for what may race. Of blocks that do not talk it needs the ranges only: where
//! blocks met, or one came back to bytes it wrote, the launch runs again with an eye on these pages. Of blocks that talk,
//! every written page is watched from its first write on; if a page was read before, the launch runs again
//! with an eye on it from the start. Pages that are only read, which is where most of the traffic is, cost a look-up of
//! their number, or nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::bind::resident_max;
use super::block::Progress;
use super::cluster::Unit;
use super::findings::{Findings, Names};
use super::log::Touches;
use super::tally::{atomic_operations, tally, trace};
use super::turns::{TURN_STEPS, Turns};
use super::{Context, Counts, Grid, Machine, Watch};
use crate::code::Code;
use crate::launch::{Check, Launch, LaunchError, Options, Outcome};
use crate::memory::{LOCAL_BYTES_MAX, Memory};
use crate::print::Printed;
use crate::program::Kernel;
use crate::race::global::Pages;
use crate::trace::Step;

/// Units a host thread takes at a time.
const BATCH: u64 = 8;
/// Units that wait while lanes of theirs could go ahead of others: a launch that hangs otherwise is not made resident as a whole
/// first.
pub(super) const WAITING_MAX: usize = 256;
/// Turns of all units without an end of any, after which lanes go ahead of others though a unit still runs: it may be
/// spinning unseen.
pub(super) const PATIENT_TURNS: u32 = 64;

/// Units that wait and all look again whenever memory has changed, and of which one more starts when all have. Of more, those look
/// again who have read what has changed, and a share of as many as there are starts at once: else n units that wait for the last
/// would look n^2 / 2 times. (How often a card looks depends on time, and hardly on how many wait.)
pub(super) const FEW_WAITING: usize = 64;
pub(super) const STARTED_AT_ONCE: usize = 8;

/// Results of one host thread.
#[derive(Default)]
pub(super) struct Share {
    counts: Vec<Counts>,
    pub(super) findings: Findings,
    touches: Touches,
    /// Pages that the check for races must look at from the start.
    suspicious: Pages,
    steps: Vec<Step>,
    /// The order of the steps is that in which units came after each other.
    pub(super) took_turns: bool,
    dropped_steps: u64,
    printed: Printed,
}

/// Runs one launch to its end (or to its first stopping fault) on `memory`.
pub fn run(kernel: &Kernel, memory: &mut Memory, launch: &Launch, options: &Options) -> Result<Outcome, LaunchError> {
    let draft = Draft::new(kernel, memory, launch, options, 0)?;
    if !options.checks.has(Check::UninitialisedRead) {
        memory.forget_unwritten();
    }
    let share = match kernel.code.blocks_communicate || launch.cooperative {
        true => draft.talking(memory),
        false => draft.silent(memory),
    };
    Ok(draft.outcome(share, memory, &[kernel]))
}

/// Checks a launch; its parameter block, and the blocks of a cluster if there are clusters.
pub(super) fn check(
    kernel: &Kernel,
    launch: &Launch,
    options: &Options,
) -> Result<(Vec<u8>, Option<[u32; 3]>), LaunchError> {
    let misfit = |why| LaunchError::Misfit { kernel: kernel.name.clone(), why };
    let params = super::bind::bind(kernel, launch).map_err(misfit)?;
    if options.stack_bytes > LOCAL_BYTES_MAX {
        return Err(LaunchError::Stack { asked: options.stack_bytes, most: LOCAL_BYTES_MAX });
    }
    Ok((params, super::bind::cluster(kernel, launch).map_err(misfit)?))
}

/// A context that still lacks its borrow of memory.
pub(super) struct Draft<'k> {
    kernel: &'k Kernel,
    code: &'k Code,
    launch: &'k Launch,
    options: &'k Options,
    params: Vec<u8>,
    variables: Vec<u64>,
    workspace: u64,
    threads_per_block: u32,
    dynamic_offset: u32,
    shared_bytes: u32,
    explicit_cluster: bool,
    /// Blocks, or clusters.
    pub(super) units: u64,
    /// The launch as the others of an overlapping group see it; alone by default.
    pub(super) own: [Grid<'k>; 1],
}

impl<'k> Draft<'k> {
    /// Draft of the launch at `place` among those that run together.
    pub(super) fn new(
        kernel: &'k Kernel,
        memory: &mut Memory,
        launch: &'k Launch,
        options: &'k Options,
        place: usize,
    ) -> Result<Draft<'k>, LaunchError> {
        let code = &kernel.code;
        let (params, cluster) = check(kernel, launch, options)?;
        let variables = memory.place_variables(kernel.program_id, launch.device, &code.variables)?;
        if code.allocates() {
            memory.place_heap()?;
        }
        let workspace = match launch.cooperative && code.uses_grid_barrier() {
            true => memory.grid_workspace(launch.device, place)?,
            false => 0,
        };
        let dynamic_offset = code.shared_bytes.next_multiple_of(code.dynamic_align_bytes);
        let blocks = launch.grid.iter().map(|&n| u64::from(n)).product::<u64>();
        let size = cluster.unwrap_or([1; 3]);
        Ok(Draft {
            kernel,
            code,
            launch,
            options,
            params,
            variables,
            workspace,
            threads_per_block: launch.block.iter().product(),
            dynamic_offset,
            shared_bytes: match launch.shared_bytes {
                0 => code.shared_bytes,
                dynamic => dynamic_offset + dynamic,
            },
            explicit_cluster: cluster.is_some(),
            units: blocks / size.iter().map(|&n| u64::from(n)).product::<u64>(),
            own: [Grid { code, device: launch.device, blocks: launch.grid, cluster: size, first_unit: 0 }],
        })
    }

    /// Returns the result of the launch besides memory. `kernels` are those of all launches that ran together.
    pub(super) fn outcome(&self, share: Share, memory: &Memory, kernels: &[&Kernel]) -> Outcome {
        let Draft { kernel, launch, options, .. } = *self;
        let (counters, lines) = tally(kernel, &share.counts);
        let order = (options.schedule, self.own[0].cluster, share.took_turns);
        let trace = options.trace.map(|_| trace(kernel, launch, order, share.steps, share.dropped_steps));
        let atomic_operations = atomic_operations(kernel, &share.counts);
        let (dynamic_offset, shared_bytes) = (self.dynamic_offset, self.shared_bytes);
        let (faults, notes) =
            share.findings.into_faults(&Names { kernel, kernels, memory, dynamic_offset, shared_bytes });
        let (printed, prints_dropped) = share.printed.into_text();
        Outcome { counters, lines, faults, notes, trace, printed, prints_dropped, atomic_operations }
    }

    pub(super) fn context<'c>(&'c self, memory: &'c Memory, side_by_side: bool, watch: Watch<'c>) -> Context<'c> {
        Context {
            code: self.code,
            memory,
            launch: self.launch,
            options: self.options,
            params: &self.params,
            variables: &self.variables,
            workspace: self.workspace,
            reach: memory.reach(self.launch.device),
            threads_per_block: self.threads_per_block,
            warps_per_block: self.threads_per_block.div_ceil(32),
            dynamic_offset: self.dynamic_offset,
            shared_bytes: self.shared_bytes,
            cluster: self.own[0].cluster,
            explicit_cluster: self.explicit_cluster,
            side_by_side,
            watches_order: !matches!(watch, Watch::Nothing),
            watch,
            any_grid_spins: self.code.may_spin,
            grids: &self.own,
            grid: 0,
        }
    }

    /// Returns whether races in global memory are looked for.
    pub(super) fn judges(&self) -> bool {
        self.options.checks.has(Check::GlobalRace)
    }

    /// A launch whose blocks do not talk to each other.
    fn silent(&self, memory: &mut Memory) -> Share {
        let asked = match self.options.threads {
            0 => super::host::cores(),
            n => n.min(256),
        };
        let workers = asked.min(self.units.div_ceil(BATCH).max(1) as usize);
        if workers == 1 && !self.judges() {
            return in_order(&self.context(memory, false, Watch::Nothing), self.units);
        }
        memory.begin_journal();
        let together = side_by_side(&self.context(memory, true, Watch::Nothing), self.units, workers);
        let apart = together.is_none();
        let mut share = together.unwrap_or_else(|| {
            // One unit ended the launch, and others may have gone further than they should have.
            memory.roll_back();
            memory.begin_journal();
            Share { took_turns: true, ..in_order(&self.context(memory, true, Watch::Nothing), self.units) }
        });
        let met = share.touches.met();
        let mut pages = std::mem::take(&mut share.touches.revisited);
        if pages.is_empty() && met.is_none() {
            memory.commit_journal();
            return share;
        }
        if apart && !self.judges() {
            memory.commit_journal();
            return share;
        }
        memory.roll_back();
        let across = met.is_some();
        pages.extend(met.unwrap_or_default());
        if !self.judges() {
            return in_order(&self.context(memory, false, Watch::Nothing), self.units);
        }
        let context = self.context(memory, false, Watch::Pages { pages: &pages, across });
        if across || apart {
            return Share { took_turns: true, ..in_order(&context, self.units) };
        }
        // Nothing to undo: the same blocks touch the same bytes.
        side_by_side(&context, self.units, workers).unwrap_or_default()
    }

    /// A launch whose blocks talk to each other.
    fn talking(&self, memory: &mut Memory) -> Share {
        Share { took_turns: true, ..self.in_turns(memory) }
    }

    fn in_turns(&self, memory: &mut Memory) -> Share {
        if !self.judges() {
            return taking_turns(&self.context(memory, false, Watch::Nothing), self.units);
        }
        memory.begin_journal();
        let share = taking_turns(&self.context(memory, false, Watch::Written), self.units);
        if share.suspicious.is_empty() {
            memory.commit_journal();
            return share;
        }
        memory.roll_back();
        taking_turns(&self.context(memory, false, Watch::WrittenAnd(&share.suspicious)), self.units)
    }
}

/// Units one after the other.
fn in_order(context: &Context<'_>, units: u64) -> Share {
    let turns = Turns::new(context, units);
    let mut machine = Machine::new(context);
    let mut unit = Unit::new(context);
    let mut touches = Touches::default();
    for place in 0..units {
        unit.restart(context, turns.unit(place));
        if machine.has_spent_all(&unit) {
            break;
        }
        let progress = run_to_end(&mut unit, &mut machine);
        unit.collect(&mut touches, context.side_by_side);
        if progress == Progress::Fatal {
            break;
        }
        machine.unit_ends();
    }
    Share { touches, ..machine.share() }
}

/// Runs a unit until it is done or the launch is over.
fn run_to_end(unit: &mut Unit, machine: &mut Machine<'_>) -> Progress {
    let mut turns = 0;
    loop {
        match machine.turn_of(unit, TURN_STEPS) {
            Progress::Turn => {
                turns += 1;
                if turns == PATIENT_TURNS && machine.start_going_ahead() {
                    unit.go_ahead();
                }
            }
            Progress::Waiting if machine.start_going_ahead() => unit.go_ahead(),
            Progress::Waiting => {
                unit.stuck(machine);
                return Progress::Fatal;
            }
            progress => return progress,
        }
    }
}

/// Result of a turn of all units.
#[derive(Default)]
pub(super) struct Pass {
    /// A unit executed an instruction, ended, or used up its turn.
    pub(super) moved: bool,
    pub(super) ended: bool,
    /// A unit is still in its turn.
    pub(super) any_runs: bool,
    pub(super) fatal: bool,
}

impl Pass {
    /// The turn of `unit`; true if that was its last.
    pub(super) fn turn(&mut self, unit: &mut Unit, machine: &mut Machine<'_>, steps: u64) -> bool {
        if self.fatal || unit.sleeps(machine.context.memory) {
            return false;
        }
        let before = unit.steps();
        match machine.turn_of(unit, steps) {
            Progress::Done => {
                (self.moved, self.ended) = (true, true);
                return true;
            }
            Progress::Turn => self.any_runs = true,
            Progress::Waiting if machine.crowded => unit.sleep(),
            Progress::Waiting => {}
            Progress::Fatal => self.fatal = true,
        }
        self.moved |= unit.steps() != before;
        self.fatal = self.fatal || machine.has_spent_all(unit);
        false
    }
}

/// Runs units in turns: each for a while, and the next one starts when all that have started still wait. They run one after
/// the other while none waits; all become resident if all wait. Once as many are resident as any card
/// holds, another starts only when none of them can go on, and a note says so.
fn taking_turns(context: &Context<'_>, units: u64) -> Share {
    let mut order = Turns::new(context, units);
    let mut machine = Machine::new(context);
    let mut resident: Vec<Unit> = Vec::new();
    let mut spare: Vec<Unit> = Vec::new();
    let (mut next, mut turns) = (0, 0);
    let size = context.cluster.iter().map(|&n| u64::from(n)).product::<u64>();
    let mut room = resident_max(context.threads_per_block.into(), context.shared_bytes.into()) / size;
    while next < units || !resident.is_empty() {
        machine.crowded = resident.len() > FEW_WAITING;
        if machine.crowded {
            // Now from the first to the last and now back: who waits for a neighbour need not wait for another turn.
            resident.reverse();
        }
        let mut pass = Pass::default();
        order.order(&mut resident);
        spare.extend(resident.extract_if(.., |unit| pass.turn(unit, &mut machine, order.steps())));
        if pass.fatal {
            break;
        }
        let is_full = next == units || resident.len() as u64 >= room;
        turns = if pass.ended || !is_full { 0 } else { turns + 1 };
        let all_wait = !pass.any_runs && !pass.ended;
        let many_wait = all_wait && resident.len() >= WAITING_MAX && !context.launch.cooperative;
        let hangs = is_full && !pass.moved;
        if (many_wait || hangs || turns == PATIENT_TURNS) && machine.start_going_ahead() {
            resident.iter_mut().for_each(Unit::go_ahead);
            continue;
        }
        if hangs && next == units {
            resident.iter_mut().for_each(|unit| {
                unit.stuck(&mut machine);
                unit.settle(&mut machine);
            });
            break;
        }
        if is_full && next < units {
            if !hangs && turns < PATIENT_TURNS {
                continue;
            }
            if hangs && let Some(unit) = resident.iter().min_by_key(|unit| unit.first_block()) {
                unit.not_resident(&mut machine, resident.len() as u64 * size);
            }
            room = u64::MAX;
        }
        let started = if resident.len() > FEW_WAITING { resident.len() / STARTED_AT_ONCE } else { 1 };
        for _ in 0..(started as u64).min(units - next).min(room - resident.len() as u64) {
            let mut unit = spare.pop().unwrap_or_else(|| Unit::new(context));
            unit.restart(context, order.unit(next));
            if machine.has_spent_all(&unit) {
                return machine.share();
            }
            next += 1;
            resident.push(unit);
        }
    }
    machine.share()
}

/// Units on `workers` host threads. `None` when the launch ended early. Where units met is in the share's touches.
fn side_by_side(context: &Context<'_>, units: u64, workers: usize) -> Option<Share> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let spent = AtomicU64::new(0);
    let work = || {
        let mut machine = Machine::new(context);
        let mut unit = Unit::new(context);
        let mut touches = Touches::default();
        let revisits = context.options.checks.has(Check::GlobalRace);
        while !stop.load(Relaxed) {
            let first = next.fetch_add(BATCH, Relaxed);
            for number in first..(first + BATCH).min(units) {
                unit.restart(context, number);
                let before = machine.spent;
                let progress = run_to_end(&mut unit, &mut machine);
                let spent = spent.fetch_add(machine.spent - before, Relaxed) + (machine.spent - before);
                if progress == Progress::Fatal || spent >= context.options.steps_per_launch_max {
                    stop.store(true, Relaxed);
                    break;
                }
                unit.collect(&mut touches, revisits);
                machine.unit_ends();
            }
            if first >= units {
                break;
            }
        }
        Share { touches, ..machine.share() }
    };
    if workers == 1 {
        // There are no other threads.
        let share = work();
        return (!stop.load(Relaxed)).then_some(share);
    }
    let shares = super::host::on_threads(workers, work);
    if stop.load(Relaxed) {
        return None;
    }
    let mut all = Share { counts: vec![Counts::default(); context.code.insts.len()], ..Share::default() };
    for share in shares {
        all.counts.iter_mut().zip(&share.counts).for_each(|(sum, counts)| sum.add(counts));
        all.findings.merge(share.findings);
        all.touches.merge(share.touches);
        all.steps.extend(share.steps);
        all.dropped_steps += share.dropped_steps;
        all.printed.merge(share.printed);
    }
    Some(all)
}

impl Machine<'_> {
    /// Runs `unit` for a turn.
    fn turn_of(&mut self, unit: &mut Unit, steps: u64) -> Progress {
        let before = unit.steps();
        let progress = unit.run(self, steps);
        self.spent += unit.steps() - before;
        if matches!(progress, Progress::Done | Progress::Fatal) {
            unit.settle(self);
        }
        progress
    }

    /// Returns whether the launch has used up its budget though `unit` still has work; reports it.
    pub(super) fn has_spent_all(&mut self, unit: &Unit) -> bool {
        let all = self.spent >= self.context.options.steps_per_launch_max;
        if all {
            unit.over_budget(self);
        }
        all
    }

    pub(super) fn share(self) -> Share {
        let dropped_steps = self.recorder.dropped;
        let steps = self.recorder.steps;
        let suspicious = self.order.map(|order| order.suspicious()).unwrap_or_default();
        let (mut counts, findings, printed) = (self.counts, self.findings, self.printed);
        let (mut issued, mut threads) = (0u64, 0u64);
        for (counts, edge) in counts.iter_mut().zip(&self.edges) {
            (issued, threads) = (issued.wrapping_add(edge.issued), threads.wrapping_add(edge.threads));
            (counts.issued, counts.threads) = (issued, threads);
        }
        Share { counts, findings, suspicious, steps, dropped_steps, printed, ..Share::default() }
    }
}
