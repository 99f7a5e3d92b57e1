//! Threads that wait when nothing can run any more, and the event that each waits for.

use super::{At, Detail, Finding, Findings, NOWHERE, Names, splits};
use crate::code::{Inst, MbarrierAct, Op};
use crate::exec::Context;
use crate::exec::block::Environment;
use crate::exec::issue::addresses;
use crate::exec::mbarrier::Object;
use crate::exec::warp::{State, Suspect, Warp};
use crate::fault::{Code, NoteKind};
use crate::memory::SHARED_BASE;

/// Event that a loop waits for.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) enum Awaited {
    Memory,
    /// A place in global memory.
    Global(u64),
    /// A place in shared memory.
    Shared(u32),
    /// The barrier of the whole grid.
    Grid,
    /// The end of a phase of a barrier object.
    Phase {
        address: u32,
        object: Object,
    },
}

impl Awaited {
    pub(super) fn sentence(self, names: &Names<'_>) -> String {
        match self {
            Awaited::Memory => "waits in a loop for memory to change".into(),
            Awaited::Global(address) => format!("waits in a loop for {} to change", names.memory.describe(address)),
            Awaited::Shared(address) => format!("waits in a loop for {} to change", names.shared(address, 4)),
            Awaited::Grid => "waits at the barrier of the grid for blocks that do not come to it".into(),
            Awaited::Phase { address, object } => {
                let Object { expected, pending, bytes, parity } = object;
                let missing = match (pending, bytes) {
                    (0, bytes) => format!("{bytes} bytes"),
                    (pending, 0) => format!("{pending} of {expected} arrivals"),
                    (pending, bytes) => format!("{pending} of {expected} arrivals and {bytes} bytes"),
                };
                let (name, parity) = (names.shared(address, 8), u32::from(parity));
                format!(
                    "waits for the phase of parity {parity} of the barrier object {name} to end, which lacks {missing}"
                )
            }
        }
    }
}

impl Findings {
    /// All blocks that have begun, so many, wait for one that finds no room on any card: a note at a loop in which this one waits.
    #[cold]
    pub(in crate::exec) fn not_resident(
        &mut self,
        context: &Context<'_>,
        env: &Environment,
        warps: &[Warp],
        blocks: u64,
    ) {
        if let Some((at, _)) = splits(env, warps).find(|(_, state)| state.is_spinning()) {
            let Context { threads_per_block: threads, shared_bytes, .. } = *context;
            let finding =
                Finding::new(env, Code::Deadlock, at, None, Detail::NotResident { blocks, threads, shared_bytes });
            self.notes.entry((NoteKind::NotResident, at.key(), NOWHERE)).or_insert(Finding { count: 1, ..finding });
        }
    }

    /// Reports a block in which nothing can run, and which no other block will release.
    pub(in crate::exec) fn stuck(&mut self, context: &Context<'_>, env: &Environment, warps: &[Warp]) {
        // They hang wherever there is room for all, too.
        self.notes.retain(|(kind, ..), _| *kind != NoteKind::NotResident);
        for warp in warps {
            for suspect in &warp.suspects {
                let Suspect { pc, lanes, named, lane, other } = *suspect;
                let at = At::new(env, warp.index, pc, lanes);
                self.note(env, Code::MaskMismatch, at, None, Detail::Masks { named, lane, other });
            }
        }
        if warps.iter().any(|warp| !warp.suspects.is_empty()) {
            return;
        }
        let find = |is: fn(&State) -> bool| splits(env, warps).find(|(_, state)| is(state));
        if let Some((at, _)) = find(|state| state.is_spinning()) {
            let on = awaited(context, env, &warps[at.warp as usize], &at);
            return self.note(env, Code::Deadlock, at, None, Detail::Spin(on));
        }
        if find(|state| *state == State::AtLaunch).is_some() {
            // The launch before is stuck too, and has the finding.
            return;
        }
        if let Some((at, _)) = find(|state| *state == State::AtCluster) {
            return self.note(env, Code::Deadlock, at, None, Detail::Cluster);
        }
        let waiting = find(|state| matches!(state, State::AtBarrier(..)));
        let elsewhere = find(|state| *state == State::AtWarpSync).or_else(|| find(|state| state.has_children()));
        match (waiting, elsewhere) {
            (Some((at, State::AtBarrier(id, _))), _) if env.barriers.missing(id).is_some() => {
                let (expected, came) = env.barriers.missing(id).unwrap_or_default();
                self.note(env, Code::Deadlock, at, None, Detail::TooFew { id, expected, came });
            }
            (Some((first, _)), Some((mut other, state))) if state.has_children() => {
                // A parted split's lanes include its children's: those that only wait to meet are the missing ones.
                let of_its_warp = |(at, state): &(At, State)| {
                    (at.block, at.warp) == (other.block, other.warp) && matches!(state, State::AtBarrier(..))
                };
                let beside: Vec<At> = splits(env, warps).filter(of_its_warp).map(|(at, _)| at).collect();
                other.lanes &= !beside.iter().fold(0, |lanes, at| lanes | at.lanes);
                let at = beside.first().copied().unwrap_or(first);
                self.note(env, Code::BarrierDivergence, at, Some(other), Detail::Stuck);
            }
            (Some((at, _)), other) => self.note(env, Code::BarrierDivergence, at, other.map(|o| o.0), Detail::Stuck),
            (None, Some((at, State::AtWarpSync))) => {
                self.lanes_missing(context, env, &warps[at.warp as usize], at, Code::Deadlock);
            }
            (None, Some((at, _))) => self.note(env, Code::Deadlock, at, None, Detail::Stuck),
            (None, None) => {}
        }
    }

    /// The lanes of split `at` wait at a `.sync` instruction for lanes of their warp that have taken another way.
    pub(in crate::exec) fn lanes_elsewhere(
        &mut self,
        context: &Context<'_>,
        env: &Environment,
        warp: &Warp,
        at: usize,
    ) {
        let at = At::new(env, warp.index, warp.splits[at].pc, warp.splits[at].mask);
        self.lanes_missing(context, env, warp, at, Code::MaskMismatch);
    }

    /// The lanes of split `at` wait at a barrier of the block, and others of their warp wait in split `above` to meet them.
    pub(in crate::exec) fn lanes_behind(&mut self, env: &Environment, warp: &Warp, at: usize, above: usize) {
        let place = |split: usize, lanes| At::new(env, warp.index, warp.splits[split].pc, lanes);
        let (here, behind) = (place(at, warp.splits[at].mask), place(above, warp.waiting(above)));
        self.note(env, Code::BarrierDivergence, here, Some(behind), Detail::Stuck);
    }

    /// Lanes wait at a `.sync` instruction: which of those that its mask names are elsewhere, and where the first of them are.
    fn lanes_missing(&mut self, context: &Context<'_>, env: &Environment, warp: &Warp, at: At, code: Code) {
        let Some(inst) = context.code.insts.get(at.pc as usize) else { return };
        let named = warp.first32(inst.mask_row(), at.lanes);
        let here = |split: &&crate::exec::warp::Split| split.state == State::AtWarpSync && split.pc == at.pc;
        let come = warp.splits.iter().filter(here).fold(0, |all, split| all | split.mask);
        let absent = named & warp.live & !come;
        let places = (0..warp.splits.len()).filter_map(|index| {
            let split = &warp.splits[index];
            let lanes = match split.state {
                State::Dead => 0,
                state if state.has_children() => warp.waiting(index),
                _ => split.mask,
            };
            let lanes = lanes & absent;
            (lanes != 0).then_some(At { pc: split.pc, lanes, ..at })
        });
        match places.min_by_key(|place| place.lanes.trailing_zeros()) {
            Some(other) => self.note(env, code, at, Some(other), Detail::Lanes { named, absent }),
            None => self.note(env, code, at, None, Detail::Stuck),
        }
    }
}

/// Returns the event that the lanes spinning at `at` wait for.
fn awaited(context: &Context<'_>, env: &Environment, warp: &Warp, at: &At) -> Awaited {
    let Some(inst) = context.code.insts.get(at.pc as usize) else { return Awaited::Memory };
    let lane = (at.lanes.trailing_zeros() & 31) as usize;
    let shared = |address: u64| {
        let offset = address.wrapping_sub(if address >= SHARED_BASE { SHARED_BASE } else { 0 });
        u32::try_from(offset).ok().filter(|&offset| (offset / 4 + 1) < env.shared.words.len() as u32)
    };
    match inst.op {
        Op::Mbarrier(op) if matches!(op.act, MbarrierAct::Test { .. }) => {
            let address = addresses(warp, inst)[lane];
            let object = shared(address).and_then(|at| Some((at, Object::from_word(env.shared.load(at, 8))?)));
            object.map_or(Awaited::Memory, |(address, object)| Awaited::Phase { address, object })
        }
        Op::Load(_) | Op::Atomic(_) => in_memory(context, inst, addresses(warp, inst)[lane], shared),
        _ => Awaited::Memory,
    }
}

fn in_memory(context: &Context<'_>, inst: &Inst, address: u64, shared: impl Fn(u64) -> Option<u32>) -> Awaited {
    let is_shared = match inst.op {
        Op::Load(op) => op.target == crate::code::Target::Shared,
        Op::Atomic(op) => op.target == crate::code::Target::Shared,
        _ => false,
    };
    if is_shared || address >= SHARED_BASE {
        return shared(address).map_or(Awaited::Memory, Awaited::Shared);
    }
    if context.workspace != 0 && (context.workspace..context.workspace + 8).contains(&address) {
        return Awaited::Grid;
    }
    Awaited::Global(address)
}
