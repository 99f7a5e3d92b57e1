//! The unit that is dealt to host threads: a block, or the blocks of a cluster, which make progress together.

use super::barrier::open_cluster_barrier;
use super::block::{Block, Progress, clocks};
use super::log::Touches;
use super::spin::{Word, are_unchanged};
use super::team::{Team, unit_warp};
use super::turns::{Random, device_bits};
use super::warp::{State, Warp};
use super::{Context, Machine};
use crate::launch::Schedule;
use crate::memory::Memory;
use crate::race::{Arrivals, Clocks};

/// Warp-instructions a block of a cluster runs before the next has a turn.
const TURN_STEPS: u64 = 1 << 14;

/// A block, or the blocks of a cluster by rank.
pub(super) struct Unit {
    blocks: Vec<Block>,
    /// The block that has the team.
    at: usize,
    /// Ranks in the order of their turns.
    order: Vec<usize>,
    /// All of it waits until one of these words of global memory changes.
    asleep: Option<Vec<Word>>,
}

impl Unit {
    pub(super) fn new(context: &Context<'_>) -> Unit {
        let size = context.cluster.iter().product::<u32>();
        let mut blocks: Vec<Block> = (0..size).map(|_| Block::new(context)).collect();
        if size > 1 {
            blocks.iter_mut().for_each(|block| block.env.team = Team::default());
            let peers = (0..size).map(|_| None).collect();
            let indices = vec![[0; 3]; size as usize];
            blocks[0].env.team = Team { clocks: clocks(context, size), peers, blocks: indices, ..Team::default() };
        }
        let order = (0..blocks.len()).collect();
        Unit { blocks, at: 0, order, asleep: None }
    }

    /// At the first instruction of the unit of this number.
    pub(super) fn restart(&mut self, context: &Context<'_>, number: u64) {
        self.asleep = None;
        if let [block] = self.blocks.as_mut_slice() {
            return block.restart(context, number);
        }
        self.gather();
        let mut team = std::mem::take(&mut self.blocks[self.at].env.team);
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            if let Some(shared) = team.peers[rank].take() {
                block.env.shared = shared;
            }
            let index = context.own_grid().block_of(number as u32, rank as u32);
            block.restart_in_cluster(context, index, rank as u32);
            team.blocks[rank] = index;
        }
        team.places.clear();
        (team.gone, team.handed, team.met) = (0, Default::default(), Default::default());
        if let Some(clocks) = &mut team.clocks {
            clocks.start(context.own_grid().first_unit.wrapping_add(number as u32));
        }
        for (block, peer) in self.blocks.iter_mut().zip(&mut team.peers).skip(1) {
            *peer = Some(std::mem::take(&mut block.env.shared));
        }
        self.at = 0;
        self.blocks[0].env.team = team;
        self.order.sort_unstable();
        if let Schedule::Independent { seed: Some(seed) } = context.options.schedule {
            Random(seed ^ number ^ device_bits(context)).shuffle(&mut self.order);
        }
    }

    /// The memory of the block that has the team joins that of the others.
    fn gather(&mut self) {
        let env = &mut self.blocks[self.at].env;
        env.team.peers[self.at] = Some(std::mem::take(&mut env.shared));
    }

    /// The team, and its own memory, go to block `to`.
    fn hand_over(&mut self, to: usize) {
        if to == self.at {
            return;
        }
        self.gather();
        let mut team = std::mem::take(&mut self.blocks[self.at].env.team);
        self.blocks[to].env.shared = team.peers[to].take().unwrap_or_default();
        self.blocks[to].env.team = team;
        self.at = to;
    }

    /// Warp-instructions executed so far.
    pub(super) fn steps(&self) -> u64 {
        self.warps().map(|warp| warp.steps).sum()
    }

    /// Linear index of its first block.
    pub(super) fn first_block(&self) -> u64 {
        self.blocks[0].env.linear
    }

    fn warps(&self) -> impl Iterator<Item = &Warp> {
        self.blocks.iter().flat_map(|block| &block.warps)
    }

    /// Runs until the unit is done, the launch is over, it waits for another unit, or about `steps` warp-instructions
    /// have passed.
    pub(super) fn run(&mut self, machine: &mut Machine<'_>, steps: u64) -> Progress {
        if let [block] = self.blocks.as_mut_slice() {
            return block.run(machine, steps);
        }
        let first = self.steps();
        loop {
            let before = self.steps();
            let mut ended = false;
            for turn in 0..self.order.len() {
                let rank = self.order[turn];
                if self.blocks[rank].is_done() {
                    continue;
                }
                self.hand_over(rank);
                match self.blocks[rank].run(machine, TURN_STEPS) {
                    Progress::Done => {
                        self.blocks[rank].env.team.gone |= 1 << rank;
                        ended = true;
                    }
                    Progress::Turn | Progress::Waiting => {}
                    Progress::Fatal => return Progress::Fatal,
                }
            }
            if self.blocks.iter().all(Block::is_done) {
                return Progress::Done;
            }
            let opened = open_cluster_barrier(&mut self.blocks, self.at);
            let now = self.steps();
            if now == before && !opened && !ended {
                return Progress::Waiting;
            }
            if now - first > steps {
                return Progress::Turn;
            }
        }
    }

    /// Lanes that wait for others that spin go ahead of them.
    pub(super) fn go_ahead(&mut self) {
        self.asleep = None;
        for block in &mut self.blocks {
            block.go_ahead_of_spinning();
        }
    }

    /// All of it waits for memory to change: it need not run before one of the words has that its lanes looked at.
    pub(super) fn sleep(&mut self) {
        let mut all = Vec::new();
        for warp in self.warps() {
            let Some(words) = warp.looks.known() else { return };
            all.extend_from_slice(words);
        }
        all.sort_unstable();
        all.dedup();
        self.asleep = Some(all);
    }

    /// Returns whether another look would find memory unchanged.
    pub(super) fn sleeps(&mut self, memory: &Memory) -> bool {
        self.asleep = self.asleep.take().filter(|words| are_unchanged(memory, words));
        self.asleep.is_some()
    }

    /// Whether, as far as it goes, the next launch may begin.
    pub(super) fn lets_next(&self) -> bool {
        self.blocks.iter().all(|block| block.env.lets_next || block.is_done())
    }

    /// It has ended: what its threads knew of others, if anybody keeps that.
    pub(super) fn knowledge(&mut self) -> Option<Arrivals> {
        self.blocks[self.at].env.team.clocks.as_mut().map(Clocks::unit_ended)
    }

    /// The launch before is over, and left `known` behind: those who wait for it go on.
    pub(super) fn launch_before_ended(&mut self, known: &Arrivals) {
        self.asleep = None;
        let mut team = std::mem::take(&mut self.blocks[self.at].env.team);
        for block in &mut self.blocks {
            let rank = block.env.rank;
            for warp in &mut block.warps {
                let mut lanes = 0;
                for split in warp.splits.iter_mut().filter(|split| split.state == State::AtLaunch) {
                    split.state = State::Ready;
                    split.pc += 1;
                    lanes |= split.mask;
                }
                if let Some(clocks) = team.clocks.as_mut().filter(|_| lanes != 0) {
                    clocks.learn(unit_warp(rank, warp.index), lanes, known);
                }
                warp.merge();
            }
        }
        self.blocks[self.at].env.team = team;
    }

    /// All threads of the unit, which is about to begin, come behind what launches before it left behind.
    pub(super) fn begin_behind(&mut self, known: &Arrivals) {
        let mut team = std::mem::take(&mut self.blocks[self.at].env.team);
        if let Some(clocks) = &mut team.clocks {
            for block in &self.blocks {
                let each = block.warps.iter().map(|warp| (unit_warp(block.env.rank, warp.index), warp.live));
                each.for_each(|(warp, lanes)| clocks.learn(warp, lanes, known));
            }
        }
        self.blocks[self.at].env.team = team;
    }

    /// The launch is over its budget, and this unit runs or is about to: a finding.
    pub(super) fn over_budget(&self, machine: &mut Machine<'_>) {
        if let Some(block) = self.blocks.iter().find(|block| !block.is_done()) {
            machine.findings.launch_budget(&block.env, &block.warps, machine.context.options.steps_per_launch_max);
        }
    }

    /// Reports that no thread is left that could let it go on.
    pub(super) fn stuck(&mut self, machine: &mut Machine<'_>) {
        for rank in 0..self.blocks.len() {
            if self.blocks[rank].is_done() {
                continue;
            }
            // What it waits for may lie in its shared memory.
            self.hand_over(rank);
            let block = &self.blocks[rank];
            machine.findings.stuck(machine.context, &block.env, &block.warps);
        }
    }

    /// So many blocks wait, its own among them, and no card has room for another: a note.
    pub(super) fn not_resident(&self, machine: &mut Machine<'_>, blocks: u64) {
        for block in self.blocks.iter().filter(|block| !block.is_done()) {
            machine.findings.not_resident(machine.context, &block.env, &block.warps, blocks);
        }
    }

    /// It has ended, or the launch has: what it has left undefined in global memory is a finding.
    pub(super) fn settle(&mut self, machine: &mut Machine<'_>) {
        self.blocks.iter_mut().for_each(|block| machine.settle(&mut block.env));
    }

    /// Hands what its blocks touched to `touches`.
    pub(super) fn collect(&mut self, touches: &mut Touches, revisits: bool) {
        for block in &mut self.blocks {
            touches.collect(&mut block.env.log, block.env.linear, revisits);
        }
    }
}
