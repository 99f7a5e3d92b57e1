//! Launches that run together: those of one stream, some of which begin before the one before them has ended, and those of several
//! devices.
//!
//! A launch that may overlap begins when every block of the launch before has said so (`griddepcontrol.launch_dependents`) or has
//! ended. From then on the blocks of both take turns on one host thread, as blocks that talk to each other do. On a card they do so
//! where there is room for them; here there always is. Without a seed the earlier launch runs first as far as it can; with one
//! a turn ends where a block lets the next launch begin, and the seed picks the next unit.
//!
//! Only `griddepcontrol.wait` orders: behind it lies all that the launch right before did and knew. So a wait reaches back over a
//! launch in between only if that one waited itself, in any of its threads. A launch that overlaps and does not wait may also end
//! first. What a launch has written is in memory at once, here: that a reader did not wait shows in what it reads only where it is
//! early, and in what the race check says always.
//!
//! Each device has a stream, and all streams begin at once. What runs on two devices is ordered by flags of system scope alone. A launch
//! that does not overlap begins when all before it in its stream have ended, and comes behind them.
//!
//! A fault that ends one of the launches ends all of them.

use std::collections::HashSet;

use super::block::Environment;
use super::cluster::Unit;
use super::findings::Findings;
use super::grid::{self, Draft, FEW_WAITING, PATIENT_TURNS, Pass, STARTED_AT_ONCE, Share, WAITING_MAX};
use super::issue::Issue;
use super::order::GlobalOrder;
use super::turns::Turns;
use super::warp::State;
use super::{Context, Grid, Machine, Next, Stop, Watch};
use crate::code::Op;
use crate::launch::{Check, LaunchError, Options, Outcome, Schedule, StreamLaunch};
use crate::memory::Memory;
use crate::program::Kernel;
use crate::race::Arrivals;
use crate::race::global::Pages;

/// State of the previous launch, for a wait.
#[derive(Debug, Default)]
pub(super) enum Before {
    /// It was over before this launch began, and everything knows of it.
    #[default]
    Nothing,
    /// It still runs.
    Runs,
    /// It has ended meanwhile, with these clocks.
    Ended(Arrivals),
}

/// Runs launches in the order of their stream on `memory`; an outcome for each, in the same order.
///
/// Launches that do not overlap run one after the other, each as [`crate::run`] runs it. Those that overlap run together, their blocks in
/// turns on one host thread: the schedule's seed decides who comes first. (A card starts blocks of the later launch where there is
/// room for them; here there always is.) Accesses that nothing orders are a fault of the later launch, whose sites tell by
/// [`crate::Site::launch`] which of the two each belongs to. A fault that ends one of them ends all that run together.
///
/// # Errors
/// A launch that cannot start: bad geometry or arguments of any of them, and nothing has run; or no room for the variables of the
/// PTX, and those before may have run.
pub fn run_stream(
    launches: &[StreamLaunch<'_>],
    memory: &mut Memory,
    options: &Options,
) -> Result<Vec<Outcome>, LaunchError> {
    for one in launches {
        grid::check(one.kernel, one.launch, options)?;
    }
    let mut outcomes = Vec::with_capacity(launches.len());
    for together in launches.chunk_by(|_, next| next.overlaps) {
        match together {
            [alone] => outcomes.push(grid::run(alone.kernel, memory, alone.launch, options)?),
            several => outcomes.extend(run(&[several], memory, options)?),
        }
    }
    Ok(outcomes)
}

/// Runs a stream on each of several devices, all at once; the outcomes of each stream, in the order of its launches.
///
/// The blocks of all devices take turns on one host thread, so that a block may wait for another device. In a stream one launch
/// follows the other as in [`run_stream`]. Between devices nothing is ordered but by what the kernels do in system scope. With a seed
/// the devices start in any order, take turns of any length, and now and then one is held back. A device that has nothing to run is
/// given no stream.
///
/// A race between two devices is a fault of the launch whose access ran later. A fault that ends one launch ends all.
///
/// # Errors
/// A launch that cannot start, launches of two devices in one stream, or two streams of one device: nothing has run then. Or no room
/// for the variables of the PTX.
pub fn run_devices(
    streams: &[Vec<StreamLaunch<'_>>],
    memory: &mut Memory,
    options: &Options,
) -> Result<Vec<Vec<Outcome>>, LaunchError> {
    let mut devices = HashSet::new();
    for stream in streams {
        let Some(device) = stream.first().map(|first| first.launch.device) else { continue };
        if !devices.insert(device) || stream.iter().any(|one| one.launch.device != device) {
            return Err(LaunchError::Streams { device });
        }
    }
    for one in streams.iter().flatten() {
        grid::check(one.kernel, one.launch, options)?;
    }
    let parts: Vec<&[StreamLaunch<'_>]> = streams.iter().map(Vec::as_slice).collect();
    let mut outcomes = match devices.len() {
        0 | 1 => run_stream(&parts.concat(), memory, options)?,
        _ => run(&parts, memory, options)?,
    }
    .into_iter();
    Ok(streams.iter().map(|stream| outcomes.by_ref().take(stream.len()).collect()).collect())
}

/// Runs the launches of some streams, all of which begin at once. The outcomes, stream after stream.
fn run(streams: &[&[StreamLaunch<'_>]], memory: &mut Memory, options: &Options) -> Result<Vec<Outcome>, LaunchError> {
    let launches = streams.concat();
    let mut drafts = Vec::with_capacity(launches.len());
    for (place, one) in launches.iter().enumerate() {
        drafts.push(Draft::new(one.kernel, memory, one.launch, options, place)?);
    }
    if !options.checks.has(Check::UninitialisedRead) {
        memory.forget_unwritten();
    }
    let parts = streams.iter().enumerate().flat_map(|(stream, launches)| {
        launches.iter().enumerate().map(move |(at, one)| Part { stream, overlaps: at > 0 && one.overlaps })
    });
    let parts: Vec<Part> = parts.collect();
    let mut shares = judged(&drafts, &parts, memory);
    let found = shares.iter_mut().map(|share| std::mem::take(&mut share.findings)).collect();
    let found = Findings::by_launch(found);
    let kernels: Vec<&Kernel> = launches.iter().map(|one| one.kernel).collect();
    let outcomes = drafts.iter().zip(shares).zip(found).map(|((draft, mut share), findings)| {
        (share.findings, share.took_turns) = (findings, true);
        draft.outcome(share, memory, &kernels)
    });
    Ok(outcomes.collect())
}

/// Runs the launches; twice, if the check for races finds out late which pages it should have had an eye on.
fn judged(drafts: &[Draft<'_>], parts: &[Part], memory: &mut Memory) -> Vec<Share> {
    if !drafts.iter().all(Draft::judges) {
        return together(drafts, parts, memory, Watch::Nothing).0;
    }
    memory.begin_journal();
    let (shares, suspicious) = together(drafts, parts, memory, Watch::Written);
    if suspicious.is_empty() {
        memory.commit_journal();
        return shares;
    }
    memory.roll_back();
    together(drafts, parts, memory, Watch::WrittenAnd(&suspicious)).0
}

/// Runs the launches together and returns the results of each, and the pages that the race check must watch from the start.
fn together<'d>(drafts: &'d [Draft<'d>], parts: &[Part], memory: &'d Memory, watch: Watch<'d>) -> (Vec<Share>, Pages) {
    let mut grids: Vec<Grid<'_>> = Vec::with_capacity(drafts.len());
    let mut units = 0u64;
    for draft in drafts {
        grids.push(Grid { first_unit: units as u32, ..draft.own[0] });
        units += draft.units;
    }
    let any_grid_spins = grids.iter().any(|grid| grid.code.may_spin);
    let context = |(at, draft): (usize, &'d Draft<'d>)| {
        let alone = draft.context(memory, false, watch);
        Context { grids: &grids, grid: at, any_grid_spins, ..alone }
    };
    let contexts: Vec<Context<'_>> = drafts.iter().enumerate().map(context).collect();
    let mut group = Group::new(&contexts, drafts, parts);
    group.run();
    let suspicious = group.order.take().map(|order| order.suspicious()).unwrap_or_default();
    (group.launches.into_iter().map(|launch| launch.machine.share()).collect(), suspicious)
}

/// Place of a launch among those that run together.
#[derive(Debug, Clone, Copy)]
struct Part {
    stream: usize,
    /// It may begin before the launch before it in its stream has ended.
    overlaps: bool,
}

/// A launch in the course of running.
struct Running<'c> {
    machine: Machine<'c>,
    part: Part,
    /// Order in which its units start.
    order: Turns,
    units: u64,
    /// Units that have started, and that have ended.
    started: u64,
    ended: u64,
    /// Clocks of its units at their end.
    known: Arrivals,
    /// Set once threads that wait for its end have been released.
    is_announced: bool,
}

/// Launches that run together.
struct Group<'c> {
    contexts: &'c [Context<'c>],
    /// Stream after stream.
    launches: Vec<Running<'c>>,
    /// By stream: the clocks of its launches that have ended.
    behind: Vec<Arrivals>,
    /// Units that run, each with its launch.
    resident: Vec<(usize, Unit)>,
    turns: Turns,
    /// Shared state that each machine has for its turn: the check for races, the number of changes of memory, and that of recorded steps.
    order: Option<Box<GlobalOrder>>,
    changes: u64,
    /// Steps that were recorded, of all launches.
    recorded: u64,
}

impl<'c> Group<'c> {
    fn new(contexts: &'c [Context<'c>], drafts: &[Draft<'_>], parts: &[Part]) -> Group<'c> {
        let mut order = None;
        let running = |((context, draft), &part): ((&'c Context<'c>, &Draft<'_>), &Part)| {
            let mut machine = Machine::new(context);
            order = order.take().or(machine.order.take());
            machine.order = None;
            machine.before = if part.overlaps { Before::Runs } else { Before::Nothing };
            let (order, units) = (Turns::new(context, draft.units), draft.units);
            let known = Arrivals::default();
            Running { machine, part, order, units, started: 0, ended: 0, known, is_announced: false }
        };
        let launches: Vec<Running<'_>> = contexts.iter().zip(drafts).zip(parts).map(running).collect();
        let streams = parts.iter().map(|part| part.stream + 1).max().unwrap_or(0);
        Group {
            contexts,
            launches,
            behind: vec![Arrivals::default(); streams],
            resident: Vec::new(),
            turns: Turns::new(&contexts[0], drafts.iter().map(|draft| draft.units).sum()).among(streams),
            order,
            changes: 0,
            recorded: 0,
        }
    }

    /// Runs them to their end, or to a fault that ends them.
    fn run(&mut self) {
        let mut patience = 0;
        loop {
            let pass = self.pass();
            if pass.fatal {
                return;
            }
            let released = self.announce_ends();
            let Some(started) = self.start() else { return };
            if self.resident.is_empty() && started == 0 {
                return;
            }
            patience = if pass.ended || started > 0 { 0 } else { patience + 1 };
            let hangs = !pass.moved && !released && started == 0;
            let many_wait = !pass.any_runs && !pass.ended && self.resident.len() >= WAITING_MAX;
            if (hangs || many_wait || patience == PATIENT_TURNS) && self.start_going_ahead() {
                continue;
            }
            if hangs {
                for (at, unit) in &mut self.resident {
                    unit.stuck(&mut self.launches[*at].machine);
                    unit.settle(&mut self.launches[*at].machine);
                }
                return;
            }
        }
    }

    /// A turn of all units that run.
    fn pass(&mut self) -> Pass {
        let crowded = self.resident.len() > FEW_WAITING;
        if crowded {
            // Units take turns as in `taking_turns`: from the first to the last, then back.
            self.resident.reverse();
        }
        self.launches.iter_mut().for_each(|launch| launch.machine.crowded = crowded);
        let mut pass = Pass::default();
        let mut resident = std::mem::take(&mut self.resident);
        self.turns.order(&mut resident);
        let held_back = self.turns.held_back();
        resident.retain_mut(|(at, unit)| {
            if held_back == Some(self.launches[*at].part.stream) {
                (pass.moved, pass.any_runs) = (true, true);
                return true;
            }
            !self.turn(*at, unit, &mut pass)
        });
        self.resident = resident;
        pass
    }

    /// The turn of one unit; true if that was its last.
    fn turn(&mut self, at: usize, unit: &mut Unit, pass: &mut Pass) -> bool {
        let launch = &mut self.launches[at];
        std::mem::swap(&mut launch.machine.order, &mut self.order);
        launch.machine.changes = self.changes;
        launch.machine.recorder.next = self.recorded;
        let done = pass.turn(unit, &mut launch.machine, self.turns.steps());
        self.changes = launch.machine.changes;
        self.recorded = launch.machine.recorder.next;
        std::mem::swap(&mut launch.machine.order, &mut self.order);
        if done {
            launch.ended += 1;
            launch.known.join(unit.knowledge().unwrap_or_default());
        }
        done
    }

    /// Releases the threads that wait for the end of a launch that has ended. Returns whether there was one.
    fn announce_ends(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.launches.len() {
            let launch = &mut self.launches[at];
            if launch.is_announced || launch.ended < launch.units {
                continue;
            }
            (launch.is_announced, any) = (true, true);
            let mut known = std::mem::take(&mut launch.known);
            let first = u64::from(self.contexts[at].own_grid().first_unit);
            known.end_of(first..first + launch.units);
            let Part { stream, .. } = self.launches[at].part;
            self.behind[stream].join(known.clone());
            if let Some(next) = self.launches.get_mut(at + 1).filter(|next| next.part.overlaps) {
                let waiting = self.resident.iter_mut().filter(|(of, _)| *of == at + 1);
                waiting.for_each(|(_, unit)| unit.launch_before_ended(&known));
                next.machine.before = Before::Ended(known);
            }
        }
        any
    }

    /// Starts units of launches that may begin. How many; `None` if a launch has no steps left for them.
    fn start(&mut self) -> Option<u64> {
        let mut able: Vec<usize> = (0..self.behind.len()).filter_map(|stream| self.next_of(stream)).collect();
        self.turns.some_of(&mut able);
        able.into_iter().try_fold(0, |started, at| Some(started + self.start_units(at)?))
    }

    /// The first launch of a stream that has units left, if it may begin.
    fn next_of(&self, stream: usize) -> Option<usize> {
        let is_next = |launch: &Running<'_>| launch.part.stream == stream && launch.started < launch.units;
        let at = self.launches.iter().position(is_next)?;
        let may_begin = if self.launches[at].part.overlaps {
            self.resident.iter().all(|(of, unit)| *of + 1 != at || unit.lets_next())
        } else {
            self.launches[..at].iter().all(|before| before.part.stream != stream || before.is_announced)
        };
        may_begin.then_some(at)
    }

    /// Starts units of launch `at`. How many; `None` if it has no steps left for them.
    fn start_units(&mut self, at: usize) -> Option<u64> {
        let Part { stream, overlaps } = self.launches[at].part;
        let follows = !overlaps && self.launches[..at].iter().any(|before| before.part.stream == stream);
        let launch = &mut self.launches[at];
        let crowd = if self.resident.len() > FEW_WAITING { self.resident.len() / STARTED_AT_ONCE } else { 1 };
        let count = self.turns.starts().max(crowd as u64).min(launch.units - launch.started);
        for _ in 0..count {
            let mut unit = Unit::new(&self.contexts[at]);
            unit.restart(&self.contexts[at], launch.order.unit(launch.started));
            if launch.machine.has_spent_all(&unit) {
                return None;
            }
            if follows {
                unit.begin_behind(&self.behind[stream]);
            }
            launch.started += 1;
            self.resident.push((at, unit));
        }
        Some(count)
    }

    /// Lets lanes go ahead of those that spin from now on, because all wait. False if they do already, or never may.
    fn start_going_ahead(&mut self) -> bool {
        let mut any = false;
        for launch in &mut self.launches {
            any |= launch.machine.start_going_ahead();
        }
        if any {
            self.resident.iter_mut().for_each(|(_, unit)| unit.go_ahead());
        }
        any
    }
}

impl Machine<'_> {
    /// `griddepcontrol`
    #[inline(never)] // the run loop stays small
    pub(super) fn between_launches(&mut self, mut issue: Issue<'_>) -> Next {
        let Issue { at, pc, .. } = issue;
        if issue.inst.op == Op::WaitForLaunch {
            issue.warp.splits[at].pc = pc;
            return if self.waits(issue) { Next::Stop(Stop::Blocked) } else { Next::On };
        }
        if !self.lets_next(issue.env) {
            return Next::On;
        }
        issue.warp.splits[at].pc = pc + 1;
        let Issue { env, warp, active, .. } = issue.again();
        Next::Stop(self.end_turn(env, warp, pc, active))
    }

    /// The block lets the next launch begin. True if the turn ends here, so that the other may come first.
    fn lets_next(&self, env: &mut Environment) -> bool {
        let is_news = !std::mem::replace(&mut env.lets_next, true);
        let by_chance = matches!(self.context.options.schedule, Schedule::Independent { seed: Some(_) });
        env.breaks_off = is_news && by_chance && self.context.grids.len() > 1;
        env.breaks_off
    }

    /// Returns whether lanes now wait for the previous launch.
    fn waits(&self, issue: Issue<'_>) -> bool {
        let unit_warp = issue.unit_warp();
        let Issue { env, warp, at, active, .. } = issue;
        match &self.before {
            Before::Nothing => {}
            Before::Runs => {
                warp.pass_by(at, active);
                warp.splits[at].state = State::AtLaunch;
                return true;
            }
            Before::Ended(known) => {
                if let Some(clocks) = &mut env.team.clocks {
                    clocks.learn(unit_warp, active, known);
                }
            }
        }
        false
    }
}
