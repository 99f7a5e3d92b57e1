//! Findings of a run, folded by kind and place, and made into [`Fault`]s at the end.

mod remedy;
mod waiting;
mod wording;

use std::collections::HashMap;

use super::Context;
use super::block::Environment;
use super::issue::{Access, Issue, Place};
use super::warp::{State, Warp};

use crate::code::{Code as Program, Inst, Op, Operand, Role};
use crate::fault::{Code, Fault, Note, NoteKind};
use crate::race::{Hazard, Race, WARPS_PER_BLOCK, global};
use waiting::Awaited;
pub(super) use wording::Names;
use wording::site;

/// A site before it has names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    device: u32,
    /// Index among the launches that ran together.
    launch: u32,
    pc: u32,
    block: [u32; 3],
    warp: u32,
    lanes: u32,
}

impl At {
    fn of(issue: &Issue<'_>, lanes: u32) -> At {
        At::new(issue.env, issue.warp.index, issue.pc, lanes)
    }

    fn new(env: &Environment, warp: u32, pc: u32, lanes: u32) -> At {
        let Environment { device, launch, block, .. } = *env;
        At { device, launch, pc, block, warp, lanes }
    }

    /// The instruction, among those of all launches that ran together.
    fn key(&self) -> u64 {
        u64::from(self.launch) << 32 | u64::from(self.pc)
    }
}

/// The key of no site.
const NOWHERE: u64 = u64::MAX;

/// Content of a message.
#[derive(Debug, Clone)]
pub(super) enum Detail {
    Access {
        place: Place,
        address: u64,
        bytes: u32,
    },
    /// No barrier object is at this offset in shared memory.
    NoObject(u32),
    /// An asynchronous copy into another block's memory.
    CopyAway,
    /// A size that is no multiple of the required granule.
    Granule {
        bytes: u32,
        multiple: u32,
    },
    /// A race in shared memory, with the owning block where there are clusters.
    Race {
        hazard: Hazard,
        address: u32,
        owner: Option<[u32; 3]>,
    },
    GlobalRace {
        hazard: Hazard,
        address: u64,
    },
    /// The memory of a block that the cluster does not have, or of one that has ended.
    NoBlock {
        rank: u32,
        size: u32,
        ended: Option<[u32; 3]>,
    },
    /// An asynchronous store to one block of the cluster that a barrier object of another counts.
    CountedElsewhere {
        rank: u32,
        counts: u32,
    },
    Barrier,
    /// A barrier has opened without so many threads, which have exited.
    Exited(u32),
    /// All blocks that have begun wait for one that has not, and no card has room for it.
    NotResident {
        blocks: u64,
        threads: u32,
        shared_bytes: u32,
    },
    Stuck,
    /// A barrier waits for a count of threads; so many have come.
    TooFew {
        id: u32,
        expected: u32,
        came: u32,
    },
    /// Threads of the cluster do not come to its barrier.
    Cluster,
    /// Memory that a loop waits for does not change.
    Spin(Awaited),
    /// Lanes that the mask of a `.sync` instruction names do not come to it.
    Lanes {
        named: u32,
        absent: u32,
    },
    /// A mask that does not name the lanes which execute its `.sync` instruction.
    Mask(u32),
    /// A lane that is named gives another mask at the same instruction.
    Masks {
        named: u32,
        lane: u32,
        other: u32,
    },
    Lane,
    /// A block has executed as many warp-instructions as it may.
    Budget(u64),
    /// All blocks together have.
    LaunchBudget(u64),
    Trap {
        for_want_of_cooperation: bool,
    },
    /// The condition of an assertion.
    Assertion(String),
    /// A call that found no room: how many calls deep, and how large the stack is.
    Stack {
        depth: u32,
        bytes: u32,
    },
    /// An address that was called, and the function that has it, of another type.
    Pointer {
        address: u64,
        function: Option<u32>,
    },
    /// An index past the labels of an indexed branch.
    Label(u32),
    /// A number past those of a block's barriers.
    NoBarrier(u32),
    /// An address that is freed, where nothing that is allocated begins.
    NotAllocated(u64),
    /// Something depends on a register that nothing has set.
    Unset(Use),
}

/// Use of a value that nothing has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// An address in memory.
    Address,
    /// The way that lanes take, or whether they execute an instruction.
    Path,
    /// An atomic's operand.
    Atomic,
    /// The value of a store.
    Stored,
    /// Anything else: a mask, the number of a barrier.
    Other,
}

impl Use {
    /// Returns how `inst` uses an operand.
    pub(super) fn of(inst: &Inst, operand: Operand) -> Use {
        match (operand.role, inst.op) {
            (Role::Address, _) => Use::Address,
            (_, Op::BranchIndexed | Op::Call) => Use::Path,
            (_, Op::Atomic(_)) => Use::Atomic,
            _ => Use::Other,
        }
    }
}

impl Detail {
    /// Describes the part of an access by the lanes `lanes`.
    fn access(access: &Access<'_>, lanes: u32) -> Detail {
        Detail::Access { place: access.place, address: access.first(lanes), bytes: access.bytes }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Finding {
    code: Code,
    /// Linear index of the first block that showed it.
    block: u64,
    at: At,
    other: Option<At>,
    detail: Detail,
    pub(super) count: u64,
}

/// Findings by kind and the two instructions involved.
#[derive(Debug, Default)]
pub(super) struct Findings {
    by_place: HashMap<(Code, u64, u64), Finding>,
    /// Findings that are notes, not faults.
    notes: HashMap<(NoteKind, u64, u64), Finding>,
}

impl Findings {
    fn note(&mut self, env: &Environment, code: Code, at: At, other: Option<At>, detail: Detail) {
        let key = (code, at.key(), other.map_or(NOWHERE, |other| other.key()));
        add(&mut self.by_place, key, Finding::new(env, code, at, other, detail));
    }

    /// Two accesses that nothing orders, or that are worth a note.
    fn pair(&mut self, env: &Environment, code: Code, hazard: Hazard, at: At, other: At, detail: Detail) {
        let kind = match hazard {
            Hazard::EqualWrites => NoteKind::EqualWrites,
            Hazard::Observed => NoteKind::OrderedByObservation,
            Hazard::EitherLast => NoteKind::EitherLast,
            _ => return self.note(env, code, at, Some(other), detail),
        };
        add(&mut self.notes, (kind, at.key(), other.key()), Finding::new(env, code, at, Some(other), detail));
    }

    /// An undefined value is used by so many lanes that have not used it before.
    #[cold]
    pub(super) fn used(&mut self, finding: &Finding, lanes: u32) {
        let at = At { lanes, ..finding.at };
        let used = Finding { at, count: u64::from(lanes.count_ones()), ..finding.clone() };
        add(&mut self.by_place, (used.code, at.key(), NOWHERE), used);
    }

    /// Undefined values are used, all those that a finding tells of.
    #[cold]
    pub(super) fn seen(&mut self, finding: Finding) {
        add(&mut self.by_place, (finding.code, finding.at.key(), NOWHERE), finding);
    }

    /// Adds what another host thread found in other blocks.
    pub(super) fn merge(&mut self, other: Findings) {
        other.by_place.into_iter().for_each(|(key, finding)| add(&mut self.by_place, key, finding));
        other.notes.into_iter().for_each(|(key, finding)| add(&mut self.notes, key, finding));
    }

    /// The lanes `lanes` of an instruction have done something wrong.
    #[cold]
    pub(super) fn found(&mut self, issue: &Issue<'_>, lanes: u32, code: Code, detail: Detail) {
        self.note(issue.env, code, At::of(issue, lanes), None, detail);
    }

    /// They did it with an access to memory.
    #[cold]
    pub(super) fn access(&mut self, code: Code, issue: &Issue<'_>, lanes: u32, access: &Access<'_>) {
        self.found(issue, lanes, code, Detail::access(access, lanes));
    }

    #[cold]
    pub(super) fn race(&mut self, env: &Environment, owner: u32, race: &Race) {
        let site = |(warp, lanes, pc): (u32, u32, u32)| {
            let block = env.team.blocks[(warp / WARPS_PER_BLOCK) as usize];
            At { device: env.device, launch: env.launch, pc, block, warp: warp % WARPS_PER_BLOCK, lanes }
        };
        let owner = (env.team.size() > 1).then(|| env.team.blocks[owner as usize]);
        let detail = Detail::Race { hazard: race.hazard, address: race.address, owner };
        self.pair(env, Code::SharedRace, race.hazard, site(race.later), site(race.earlier), detail);
    }

    #[cold]
    pub(super) fn global_race(&mut self, context: &Context<'_>, env: &Environment, race: &global::Race) {
        let site = |(unit, warp, lanes, pc): global::Party| {
            let (launch, grid) = context.grid_of(unit);
            let block = grid.block_of(unit - grid.first_unit, warp / WARPS_PER_BLOCK);
            At { device: grid.device, launch: launch as u32, pc, block, warp: warp % WARPS_PER_BLOCK, lanes }
        };
        let (at, other) = (site(race.later), site(race.earlier));
        if race.hazard == Hazard::StaleCache && at.launch != other.launch {
            return;
        }
        let detail = |hazard| Detail::GlobalRace { hazard, address: race.address };
        if at.launch >= other.launch || at.device != other.device || race.hazard.is_note() {
            return self.pair(env, Code::GlobalRace, race.hazard, at, other, detail(race.hazard));
        }
        // The later launch should have waited, so the finding is about it, though the earlier one ran last.
        let hazard = race.hazard.seen_from_the_other();
        let finding = Finding::new(env, Code::GlobalRace, other, Some(at), detail(hazard));
        let block = context.grids[other.launch as usize].linear(other.block);
        add(&mut self.by_place, (Code::GlobalRace, other.key(), at.key()), Finding { block, ..finding });
    }

    /// The warp alone has run longer than a block should.
    pub(super) fn step_budget(&mut self, env: &Environment, warp: &Warp, pc: u32, lanes: u32, budget: u64) {
        self.note(env, Code::StepBudget, At::new(env, warp.index, pc, lanes), None, Detail::Budget(budget));
    }

    /// The block has run longer than a block should: wherever its first threads are now is in the loop.
    pub(super) fn endless(&mut self, env: &Environment, warps: &[Warp], budget: u64) {
        self.over_budget(env, warps, Detail::Budget(budget));
    }

    /// The whole launch has run longer than it should: this block runs, or is about to.
    pub(super) fn launch_budget(&mut self, env: &Environment, warps: &[Warp], budget: u64) {
        self.over_budget(env, warps, Detail::LaunchBudget(budget));
    }

    fn over_budget(&mut self, env: &Environment, warps: &[Warp], detail: Detail) {
        if let Some((at, _)) = splits(env, warps).find(|(_, state)| !state.has_children()) {
            self.note(env, Code::StepBudget, at, None, detail);
        }
    }

    /// Barrier `id` opens without so many threads of the block, which have exited: a note.
    #[cold]
    pub(super) fn exited(&mut self, env: &Environment, warps: &[Warp], id: u32, threads: u32) {
        let waits = |(_, state): &(At, State)| matches!(state, State::AtBarrier(at, _) if *at == id);
        if let Some((at, _)) = splits(env, warps).find(waits) {
            let finding = Finding::new(env, Code::BarrierDivergence, at, None, Detail::Exited(threads));
            add(&mut self.notes, (NoteKind::ExitedThreads, at.key(), NOWHERE), Finding { count: 1, ..finding });
        }
    }

    /// Barrier `id` opens: a finding if those who wait there came to it at different instructions, and may not. An aligned
    /// instruction asks one warp to come to it together; `__syncthreads()`, which is barrier 0, asks that of the block.
    pub(super) fn barrier(&mut self, env: &Environment, code: &Program, warps: &[Warp], id: u32) {
        let is_aligned = |at: &At| code.insts.get(at.pc as usize).is_some_and(|inst| inst.e != 0);
        let waiting: Vec<At> = splits(env, warps)
            .filter(|(_, state)| matches!(state, State::AtBarrier(at, _) if *at == id))
            .map(|(at, _)| at)
            .collect();
        let may_not = |first: &At, other: &At| {
            first.pc != other.pc && (id == 0 || first.warp == other.warp) && (is_aligned(first) || is_aligned(other))
        };
        let pairs = waiting.iter().flat_map(|first| waiting.iter().map(move |other| (first, other)));
        if let Some((&first, &other)) = pairs.into_iter().find(|(first, other)| may_not(first, other)) {
            self.note(env, Code::BarrierDivergence, other, Some(first), Detail::Barrier);
        }
    }

    /// Sorts the findings of launches that ran together by the launch to blame: of two unordered accesses, the launch that is
    /// later in the stream should have waited, whichever ran first.
    pub(super) fn by_launch(found: Vec<Findings>) -> Vec<Findings> {
        let mut sorted: Vec<Findings> = found.iter().map(|_| Findings::default()).collect();
        for Findings { by_place, notes } in found {
            by_place.into_iter().for_each(|(key, of)| add(&mut sorted[of.launch()].by_place, key, of));
            notes.into_iter().for_each(|(key, of)| add(&mut sorted[of.launch()].notes, key, of));
        }
        sorted
    }

    /// The faults and the notes, each in the order of blocks, with names; those of one line and one variable are one. A used-up
    /// budget comes first: what else a loop without end did follows from it.
    pub(super) fn into_faults(self, names: &Names<'_>) -> (Vec<Fault>, Vec<Note>) {
        let mut faults: Vec<Fault> = folded(self.by_place, names).into_iter().map(|(_, fault)| fault).collect();
        faults.sort_by_key(|fault| fault.code != Code::StepBudget);
        let notes = folded(self.notes, names).into_iter().map(|(kind, fault)| {
            let Fault { message, site, other, variable, why, count, .. } = fault;
            Note { kind, message, site, other, variable, why, count }
        });
        (faults, notes.collect())
    }
}

/// Adds a finding, or counts it with those of its place.
fn add<K: Eq + std::hash::Hash>(places: &mut HashMap<K, Finding>, key: K, new: Finding) {
    match places.get_mut(&key) {
        None => drop(places.insert(key, new)),
        Some(old) => {
            let count = old.count + new.count;
            // The first block in grid order speaks for all, whichever host thread ran it.
            if new.block < old.block {
                *old = new;
            }
            old.count = count;
        }
    }
}

/// Folds findings into faults in the order of blocks; findings of one kind, line and variable become one.
fn folded<K: Ord + Copy>(places: HashMap<(K, u64, u64), Finding>, names: &Names<'_>) -> Vec<(K, Fault)> {
    let mut findings: Vec<(K, Finding)> = places.into_iter().map(|((kind, ..), finding)| (kind, finding)).collect();
    findings.sort_by_key(|(kind, f)| (f.block, f.at.key(), f.other.map_or(0, |other| other.key()), *kind));
    let mut folded: Vec<(K, Fault)> = Vec::new();
    for (kind, finding) in findings {
        let fault = finding.fault(names);
        match folded.iter_mut().find(|(of, first)| *of == kind && first.is_like(&fault)) {
            Some((_, first)) => first.count += fault.count,
            None => folded.push((kind, fault)),
        }
    }
    folded
}

/// Returns every split of a block that still has lanes, with its state.
fn splits<'a>(env: &'a Environment, warps: &'a [Warp]) -> impl Iterator<Item = (At, State)> + 'a {
    warps.iter().flat_map(move |warp| {
        warp.splits
            .iter()
            .filter(|s| s.mask & warp.live != 0 && s.state != State::Dead)
            .map(move |split| (At::new(env, warp.index, split.pc, split.mask & warp.live), split.state))
    })
}

impl Finding {
    fn new(env: &Environment, code: Code, at: At, other: Option<At>, detail: Detail) -> Finding {
        // A budget ends once, for all lanes.
        let lanes = if code == Code::StepBudget { 1 } else { at.lanes.count_ones().max(1) };
        Finding { code, block: env.linear, at, other, detail, count: lanes.into() }
    }

    /// Finding to report if the lanes `lanes` use a value that they shuffled from a lane that takes no part.
    #[cold]
    pub(super) fn inactive_lane(issue: &Issue<'_>, lanes: u32) -> Finding {
        Finding::new(issue.env, Code::InactiveShuffleLane, At::of(issue, lanes), None, Detail::Lane)
    }

    /// Finding to report if the lanes `lanes` use an uninitialised value that they have read.
    #[cold]
    pub(super) fn unread(issue: &Issue<'_>, lanes: u32, access: &Access<'_>) -> Finding {
        let detail = Detail::access(access, lanes);
        Finding::new(issue.env, Code::UninitialisedRead, At::of(issue, lanes), None, detail)
    }

    /// Finding to report, with the place, if the lanes `lanes` use a register that nothing has set.
    #[cold]
    pub(super) fn unset(env: &Environment, warp: u32, lanes: u32) -> Finding {
        Finding::new(env, Code::UninitialisedRead, At::new(env, warp, 0, lanes), None, Detail::Unset(Use::Other))
    }

    /// This finding about an unset register, which instruction `pc` uses.
    pub(super) fn used_at(&self, pc: u32, how: Use) -> Finding {
        Finding { at: At { pc, ..self.at }, detail: Detail::Unset(how), ..self.clone() }
    }

    /// The last launch that it is about; of two devices, that of the access which ran later.
    fn launch(&self) -> usize {
        let other = self.other.filter(|other| other.device == self.at.device);
        other.map_or(self.at.launch, |other| other.launch.max(self.at.launch)) as usize
    }

    pub(super) fn lanes(&self) -> u32 {
        self.at.lanes
    }

    /// This finding, for some of its lanes.
    pub(super) fn for_lanes(&self, lanes: u32) -> Finding {
        Finding { at: At { lanes, ..self.at }, count: lanes.count_ones().into(), ..self.clone() }
    }

    /// This finding with another count.
    pub(super) fn times(self, count: u64) -> Finding {
        Finding { count, ..self }
    }

    /// Returns whether both are about one instruction of one warp.
    pub(super) fn is_beside(&self, other: &Finding) -> bool {
        (self.at.pc, self.at.block, self.at.warp) == (other.at.pc, other.at.block, other.at.warp)
    }

    /// Adds the other's lanes.
    pub(super) fn join(&mut self, other: &Finding) {
        self.at.lanes |= other.at.lanes;
        self.count = self.at.lanes.count_ones().into();
    }

    /// Sentence with the lanes that a mask names, and those that come with it.
    fn mask_sentence(&self) -> String {
        match self.detail {
            Detail::Masks { named, lane, other } => format!(
                "executes a .sync instruction with mask {named:#010x}, and lane {lane}, which it names, executes it with mask {other:#010x}"
            ),
            Detail::Mask(named) => {
                format!("executes a .sync instruction whose mask {named:#010x} does not name these lanes")
            }
            _ => String::new(),
        }
    }

    fn fault(&self, names: &Names<'_>) -> Fault {
        let code = &names.kernel.code;
        // In a finding about global memory, an asynchronous copy is a reader.
        let in_global = matches!(self.detail, Detail::GlobalRace { .. } | Detail::Access { place: Place::Global, .. });
        let action = |at: &At| match names.kernel_of(at).code.insts.get(at.pc as usize) {
            Some(Inst { op: Op::CopyAsync | Op::CopyBulk, .. }) if in_global => "reads",
            Some(Inst { op: Op::StoreBulk, .. }) if !in_global => "reads",
            inst => inst.map_or("executes", |inst| inst.op.verb()),
        };
        let (here, there, message) = match &self.detail {
            Detail::Access { .. } | Detail::NoObject(_) | Detail::Granule { .. } => {
                let action = if matches!(self.detail, Detail::NoObject(_)) { "uses" } else { action(&self.at) };
                (action, "", self.access_sentence(action, names))
            }
            Detail::Race { .. } | Detail::GlobalRace { .. } => {
                (action(&self.at), self.other.as_ref().map_or("", action), self.race_sentence(names))
            }
            Detail::NoBlock { .. } | Detail::CountedElsewhere { .. } | Detail::CopyAway => {
                let action = action(&self.at);
                (action, "", self.cluster_sentence(action))
            }
            Detail::Mask(_) | Detail::Masks { .. } => ("executes", "", self.mask_sentence()),
            Detail::Unset(how) => (action(&self.at), "", self.unset_sentence(*how).into()),
            Detail::Lane => ("reads", "", "shuffles a value from a lane that takes no part in the shuffle".into()),
            Detail::Budget(_) | Detail::LaunchBudget(_) => ("executes", "", self.budget_sentence()),
            Detail::Trap { for_want_of_cooperation } => {
                let opcode = &code.debug[self.at.pc as usize].opcode;
                let why = if *for_want_of_cooperation {
                    ": it waits for the whole grid, and this launch is not cooperative"
                } else {
                    ""
                };
                ("executes", "", format!("the kernel executed {opcode}{why}"))
            }
            Detail::TooFew { .. }
            | Detail::Cluster
            | Detail::Spin(_)
            | Detail::Lanes { .. }
            | Detail::Barrier
            | Detail::Exited(_)
            | Detail::NotResident { .. }
            | Detail::Stuck => ("waits", self.absence(), self.wait_sentence(names)),
            Detail::NotAllocated(address) => {
                let what = names.memory.describe(*address);
                ("executes", "", format!("frees {what}, where nothing that is allocated begins"))
            }
            Detail::NoBarrier(_)
            | Detail::Assertion(_)
            | Detail::Stack { .. }
            | Detail::Pointer { .. }
            | Detail::Label(_) => {
                let (here, message) = self.control_flow(code);
                (here, "", message)
            }
        };
        let several = names.memory.devices() > 1;
        Fault {
            code: self.code,
            message,
            site: site(names.kernel_of(&self.at), several, &self.at, here),
            other: self.other.as_ref().map(|at| site(names.kernel_of(at), several, at, there)),
            why: self.why(names).unwrap_or(self.code.explanation().why),
            remedy: self.remedy(names).unwrap_or(self.code.explanation().remedy),
            variable: self.variable(names),
            count: self.count,
        }
    }
}
