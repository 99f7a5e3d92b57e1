//! Barriers of a block, by number: threads that wait, threads that only arrive, and the opening. And the barrier of a cluster.
//!
//! A barrier without a count waits for all threads that have not exited. One with a count counts a warp as 32 once all its
//! remaining lanes have come, as the hardware does, and opens as soon as the count is reached: later threads wait for the next
//! opening. A barrier counts threads, as Volta's does, so lanes that took another path are missing.

use super::Machine;
use super::alu::{store_predicate, store32};
use super::block::{Block, Environment, lanes_of};
use super::findings::Detail;
use super::issue::Issue;
use super::team::unit_warp;
use super::warp::{State, Warp};
use crate::code::{BARRIERS, Inst, NONE, Op, Reduction};
use crate::fault::Code;
use crate::launch::Check;
use crate::masks::lanes;
use crate::race::Arrivals;

/// One barrier of a block, between two openings.
#[derive(Debug, Default)]
struct Named {
    /// Number of times it has opened.
    opening: u32,
    /// Waiting threads: warp of the unit, and lanes.
    waiting: Vec<(u32, u32)>,
    /// Threads that wait or only arrived, by warp of the block: lanes, and whether they are all the lanes left in the warp.
    come: Vec<(u32, u32, bool)>,
    /// Threads that these are.
    threads: u32,
    /// The count, if the instructions gave one.
    expected: Option<u32>,
    /// Clocks handed over by threads that only arrived.
    handed: Option<Arrivals>,
    /// Waiting threads whose predicate held.
    yes: u32,
    waiting_threads: u32,
    /// Warps that have come, as bits.
    warps: u32,
}

impl Named {
    /// Empties it for the next opening. The lists keep their capacity: barriers open by the million.
    fn restart(&mut self, opening: u32) {
        let Named { waiting, come, .. } = std::mem::take(self);
        *self = Named { opening, waiting, come, ..Named::default() };
        self.waiting.clear();
        self.come.clear();
    }

    fn come(&mut self, warp: &Warp, active: u32) {
        let warps = self.warps;
        self.warps |= 1 << warp.index;
        let before = self.come.iter_mut().filter(|_| warps & (1 << warp.index) != 0);
        match before.into_iter().find(|(at, ..)| *at == warp.index) {
            Some((_, lanes, whole)) => {
                self.threads += (active & !*lanes).count_ones();
                *lanes |= active;
                *whole = warp.live & !*lanes == 0;
            }
            None => {
                self.threads += active.count_ones();
                self.come.push((warp.index, active, warp.live & !active == 0));
            }
        }
    }

    /// Threads that have come, whole warps as 32.
    fn slots(&self) -> u32 {
        self.come.iter().map(|&(_, lanes, whole)| if whole { 32 } else { lanes.count_ones() }).sum()
    }

    /// Returns whether the count is reached.
    fn is_complete(&self) -> bool {
        self.expected.is_some_and(|expected| !self.come.is_empty() && self.slots() >= expected)
    }
}

/// A barrier that has opened, with the predicates of those who waited.
#[derive(Debug, Clone, Copy)]
struct Opened {
    id: u32,
    opening: u32,
    yes: u32,
    threads: u32,
    /// Threads that a count took for come, and that have exited.
    exited: u32,
}

/// The barriers of a block.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    named: [Named; BARRIERS as usize],
    /// Barriers that have been used since the block began, as bits.
    used: u32,
    opened: Vec<Opened>,
    /// For each warp: lanes that have arrived at the cluster's barrier, lanes whose arrival has been answered, and the last arrival.
    arrived: Vec<u32>,
    answered: Vec<u32>,
    arrived_at: Vec<u32>,
}

impl Barriers {
    /// Resets them for a new block of so many warps.
    pub(super) fn restart(&mut self, warps: usize) {
        for named in lanes(std::mem::take(&mut self.used)) {
            self.named[named].restart(0);
        }
        self.opened.clear();
        for lanes in [&mut self.arrived, &mut self.answered, &mut self.arrived_at] {
            lanes.clear();
            lanes.resize(warps, 0);
        }
    }

    /// The count that barrier `id` waits for, and how much of it has come.
    pub(super) fn missing(&self, id: u32) -> Option<(u32, u32)> {
        let named = &self.named[(id % BARRIERS) as usize];
        named.expected.map(|expected| (expected, named.slots()))
    }
}

/// Lanes execute a barrier instruction. True if they now wait.
#[inline(never)] // the run loop stays small
pub(super) fn meet(issue: Issue<'_>) -> bool {
    let Issue { env, warp, at, inst, active, .. } = issue;
    match inst.op {
        Op::ClusterArrive { releases } => {
            arrive_at_cluster(env, warp, warp.splits[at].pc, releases, active);
            false
        }
        Op::ClusterWait => wait_for_cluster(env, warp, at, active),
        _ => arrive(env, warp, at, inst, active),
    }
}

impl Machine<'_> {
    /// Returns whether the block has the barrier that the lanes name; a finding if not.
    pub(super) fn has_barrier(&mut self, issue: &Issue<'_>) -> bool {
        let Issue { inst, active, .. } = *issue;
        let named = matches!(inst.op, Op::Barrier | Op::BarrierArrive | Op::BarrierReduce(_));
        let number = if named && active != 0 { issue.warp.first32(inst.a, active) } else { 0 };
        if number >= BARRIERS {
            self.findings.found(issue, active, Code::OutOfBounds, Detail::NoBarrier(number));
        }
        number < BARRIERS
    }
}

fn arrive(env: &mut Environment, warp: &mut Warp, at: usize, inst: &Inst, active: u32) -> bool {
    let id = warp.first32(inst.a, active) % BARRIERS;
    let count = (inst.b != NONE).then(|| warp.first32(inst.b, active));
    env.barriers.used |= 1 << id;
    let named = &mut env.barriers.named[id as usize];
    named.come(warp, active);
    named.expected = named.expected.max(count);
    let waits = !matches!(inst.op, Op::BarrierArrive);
    let opening = named.opening;
    if waits {
        let predicate = warp.p.get(usize::from(inst.c)).map_or(0, |&p| if inst.imm == 1 { !p } else { p });
        named.yes += (predicate & active).count_ones();
        named.waiting_threads += active.count_ones();
        named.waiting.push((unit_warp(env.rank, warp.index), active));
        warp.pass_by(at, active);
        warp.splits[at].state = State::AtBarrier(id, opening);
    } else {
        let handed = named.handed.get_or_insert_default();
        if let Some(clocks) = &mut env.team.clocks {
            clocks.arrive(handed, unit_warp(env.rank, warp.index), active);
        }
    }
    if named.is_complete() {
        env.open(id, false);
    }
    waits
}

impl Environment {
    /// Barrier `id` opens; with `everybody`, for all threads of the block.
    fn open(&mut self, id: u32, everybody: bool) {
        let named = &mut self.barriers.named[id as usize];
        let (opening, handed) = (named.opening, named.handed.take());
        let whole = named.come.iter().filter(|(.., whole)| *whole && named.expected.is_some());
        let exited = whole.map(|&(at, lanes, _)| (lanes_of(at, self.threads) & !lanes).count_ones()).sum();
        self.barriers.opened.push(Opened { id, opening, yes: named.yes, threads: named.waiting_threads, exited });
        if let Some(clocks) = &mut self.team.clocks {
            let threads = named.waiting.iter().map(|(_, lanes)| lanes.count_ones()).sum::<u32>();
            if handed.is_none() && (everybody || threads == self.threads) {
                clocks.block_barrier(self.rank);
            } else {
                clocks.meet(&named.waiting, handed.unwrap_or_default());
            }
        }
        named.restart(opening.wrapping_add(1));
    }
}

impl Block {
    /// Opens the barriers that everybody has reached, and lets those go on who wait at an open one. True if any did.
    pub(super) fn release_barriers(&mut self, machine: &mut Machine<'_>) -> bool {
        let live: u32 = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        for id in lanes(self.env.barriers.used).map(|id| id as u32) {
            let named = &self.env.barriers.named[id as usize];
            if named.expected.is_some() {
                // Lanes may have ended since their warp came.
                let named = &mut self.env.barriers.named[id as usize];
                named
                    .come
                    .iter_mut()
                    .for_each(|(at, lanes, whole)| *whole = self.warps[*at as usize].live & !*lanes == 0);
                if named.is_complete() {
                    self.env.open(id, false);
                }
                continue;
            }
            if named.waiting.is_empty() || named.threads < live {
                continue;
            }
            if machine.context.options.checks.has(Check::BarrierDivergence) {
                machine.findings.barrier(&self.env, machine.context.code, &self.warps, id);
                if live < self.env.threads {
                    machine.findings.exited(&self.env, &self.warps, id, self.env.threads - live);
                }
            }
            self.env.open(id, true);
        }
        let mut opened = std::mem::take(&mut self.env.barriers.opened);
        let watched = machine.context.options.checks.has(Check::BarrierDivergence);
        for opened in opened.iter().filter(|opened| watched && opened.exited > 0) {
            machine.findings.exited(&self.env, &self.warps, opened.id, opened.exited);
        }
        for warp in self.warps.iter_mut().filter(|_| !opened.is_empty()) {
            for at in 0..warp.splits.len() {
                let State::AtBarrier(id, opening) = warp.splits[at].state else { continue };
                if let Some(opened) = opened.iter().find(|o| (o.id, o.opening) == (id, opening)) {
                    reduce(warp, &machine.context.code.insts[warp.splits[at].pc as usize], at, opened);
                    warp.splits[at].state = State::Ready;
                    warp.splits[at].pc += 1;
                }
            }
            warp.merge();
        }
        let any = !opened.is_empty();
        opened.clear();
        self.env.barriers.opened = opened;
        any
    }

    /// Returns whether every thread that is left has arrived at the cluster's barrier.
    fn is_at_cluster_barrier(&self) -> bool {
        self.warps.iter().zip(&self.env.barriers.arrived).all(|(warp, arrived)| warp.live & !arrived == 0)
    }

    /// Returns whether all that are left wait, and came to the wait straight from their arrival.
    fn stands_at_cluster_barrier(&self) -> bool {
        self.warps.iter().zip(&self.env.barriers.arrived_at).all(|(warp, &arrival)| {
            let stands = |split: &&super::warp::Split| split.state == State::AtCluster && split.pc == arrival + 1;
            let standing = warp.splits.iter().filter(stands).fold(0, |all, split| all | split.mask);
            warp.live & !standing == 0
        })
    }
}

/// Result of a reducing barrier.
fn reduce(warp: &mut Warp, inst: &Inst, at: usize, opened: &Opened) {
    let Op::BarrierReduce(reduction) = inst.op else { return };
    let mask = warp.splits[at].mask;
    let verdict = match reduction {
        Reduction::Count => return store32(warp, inst.d, &[opened.yes; 32], mask),
        Reduction::And => opened.yes == opened.threads,
        Reduction::Or => opened.yes > 0,
    };
    store_predicate(warp, inst.d, if verdict { u32::MAX } else { 0 }, mask);
}

/// `barrier.cluster.arrive`: the lanes go on at once.
fn arrive_at_cluster(env: &mut Environment, warp: &Warp, pc: u32, releases: bool, active: u32) {
    let at = warp.index as usize;
    env.barriers.arrived[at] |= active;
    env.barriers.arrived_at[at] = pc;
    if let Some(clocks) = env.team.clocks.as_mut().filter(|_| releases) {
        clocks.arrive(&mut env.team.handed, unit_warp(env.rank, warp.index), active);
    }
}

/// `barrier.cluster.wait`: true if split `at` waits.
fn wait_for_cluster(env: &mut Environment, warp: &mut Warp, at: usize, active: u32) -> bool {
    let answered = &mut env.barriers.answered[warp.index as usize];
    if active & !*answered == 0 {
        *answered &= !active;
        if let Some(clocks) = &mut env.team.clocks {
            clocks.learn(unit_warp(env.rank, warp.index), active, &env.team.met);
        }
        return false;
    }
    warp.pass_by(at, active);
    warp.splits[at].state = State::AtCluster;
    true
}

/// Opens the cluster's barrier if every thread that is left in `blocks`, which are all of the cluster, has arrived. The team
/// is with block `at`. True if it opened.
pub(super) fn open_cluster_barrier(blocks: &mut [Block], at: usize) -> bool {
    let arrived = blocks.iter().any(|block| block.env.barriers.arrived.iter().any(|&lanes| lanes != 0));
    if !arrived || !blocks.iter().all(Block::is_at_cluster_barrier) {
        return false;
    }
    let together = blocks.iter().all(Block::stands_at_cluster_barrier);
    let mut team = std::mem::take(&mut blocks[at].env.team);
    team.met = std::mem::take(&mut team.handed);
    if let Some(clocks) = team.clocks.as_mut().filter(|_| together) {
        clocks.unit_barrier();
    }
    for block in blocks.iter_mut() {
        let rank = block.env.rank;
        for (index, warp) in block.warps.iter_mut().enumerate() {
            let arrived = std::mem::take(&mut block.env.barriers.arrived[index]);
            let mut went = 0;
            for split in warp.splits.iter_mut().filter(|split| split.state == State::AtCluster) {
                let lanes = split.mask & arrived;
                if lanes == split.mask {
                    split.state = State::Ready;
                    split.pc += 1;
                    went |= lanes;
                }
            }
            if let Some(clocks) = team.clocks.as_mut().filter(|_| !together) {
                clocks.learn(unit_warp(rank, index as u32), went, &team.met);
            }
            block.env.barriers.answered[index] |= arrived & !went;
            warp.merge();
        }
    }
    blocks[at].env.team = team;
    true
}
