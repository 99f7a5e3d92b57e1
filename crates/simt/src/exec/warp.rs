//! A warp: 32 lanes of registers, and the tree of splits that its lanes have parted into.
//!
//! A split is a set of lanes with one program counter. When a branch parts a split, it becomes the place where its
//! children meet again (the branch's immediate post-dominator) and they run on their own until they get there. A warp
//! that never diverges has one split.
//!
//! A call parts a split in the same way: it becomes the place behind the call, and its lanes run in the called function
//! as its children, where each lane leaves them with its `ret`. So lanes that call different functions, return early or
//! recurse to different depths are together again behind the call.

use super::spin::{Looks, Patience};
use super::undefined::Marks;
use crate::code::{Code, NO_PC, NONE, Op, Reg};

/// All 32 lanes.
pub(super) const FULL: u32 = u32::MAX;

/// 32 lanes of 32 bits.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Row32(pub(super) [u32; 32]);

/// 32 lanes of 64 bits.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Row64(pub(super) [u64; 32]);

/// State of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It can run.
    Ready,
    /// It waits for its children to meet at its program counter.
    Parted,
    /// It waits for its children to return from the call before its program counter.
    Calling,
    /// It waits at a `.sync` instruction of the warp.
    AtWarpSync,
    /// It waits at a barrier of the block: its number, and how often that had opened before.
    AtBarrier(u32, u32),
    /// It waits at the barrier of the cluster.
    AtCluster,
    /// It waits for the launch before to end.
    AtLaunch,
    /// It spins, and will until memory has changed more often than this.
    Spinning(u64),
    /// Its slot is free.
    Dead,
}

/// Lanes with one program counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// Instruction where it meets its siblings, [`NO_PC`] if none before the exit.
    pub(super) meet: u32,
    /// The split that waits for it.
    pub(super) parent: Option<usize>,
    pub(super) children: u32,
    pub(super) state: State,
    /// First row of its activation's frame in the stack of parameters.
    pub(super) frame: u32,
    /// First byte of its activation's local variables.
    pub(super) local: u32,
    /// Calls that it is inside of.
    pub(super) depth: u32,
}

impl State {
    /// Its lanes are, as far as they are not in its children, at the place where these come back to it.
    pub(super) fn has_children(self) -> bool {
        matches!(self, State::Parted | State::Calling)
    }

    pub(super) fn is_spinning(self) -> bool {
        matches!(self, State::Spinning(_))
    }
}

/// One warp of a block.
#[derive(Debug)]
pub(super) struct Warp {
    /// Index within the block.
    pub(super) index: u32,
    pub(super) w: Vec<Row32>,
    pub(super) d: Vec<Row64>,
    pub(super) p: Vec<u32>,
    /// Lanes that have not exited.
    pub(super) live: u32,
    pub(super) splits: Vec<Split>,
    /// No slot before this one is free: recursion to depth n makes n splits, and looking through them for each would take n^2 steps.
    free_from: usize,
    /// Local memory, word after word. It grows with calls.
    pub(super) local: Vec<Row32>,
    /// Set if the initialisation check is on: then, for each of its words and each lane, the written bytes, a bit each.
    pub(super) watches_local: bool,
    pub(super) local_written: Vec<[u8; 32]>,
    /// End of each lane's allocations on its stack, in bytes: see `stack.rs`.
    pub(super) dynamic_ends: [u32; 32],
    /// Arguments, results and saved registers of calls, frame after frame. It grows with calls.
    pub(super) frames: Vec<Row32>,
    /// Warp-instructions executed.
    pub(super) steps: u64,
    /// It has come to the line from which on its lanes may part, where the schedule names one.
    pub(super) is_past_line: bool,
    /// The last comparison's result, for `setp` to combine.
    pub(super) compared: u32,
    /// Lanes that wait for others which came with another mask.
    pub(super) suspects: Vec<Suspect>,
    /// Time that its splits run before a look whether they spin.
    pub(super) patience: Patience,
    /// Words that its spinning splits have read.
    pub(super) looks: Looks,
    /// Undefined values in its registers.
    pub(super) undefined: Marks,
}

/// Lanes that wait at a `.sync` instruction for a lane that executed it beside them with another mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) pc: u32,
    pub(super) lanes: u32,
    /// Their mask.
    pub(super) named: u32,
    pub(super) lane: u32,
    /// That lane's mask.
    pub(super) other: u32,
}

impl Warp {
    /// Rows as large as `code` needs, all zero.
    pub(super) fn new(index: u32, code: &Code) -> Warp {
        Warp {
            index,
            w: vec![Row32([0; 32]); usize::from(code.rows32)],
            d: vec![Row64([0; 32]); usize::from(code.rows64)],
            p: vec![0; usize::from(code.predicates)],
            live: 0,
            splits: Vec::new(),
            free_from: 0,
            local: Vec::new(),
            watches_local: false,
            local_written: Vec::new(),
            dynamic_ends: [0; 32],
            frames: Vec::new(),
            steps: 0,
            is_past_line: false,
            compared: 0,
            suspects: Vec::new(),
            patience: Patience::default(),
            looks: Looks::default(),
            undefined: Marks::default(),
        }
    }

    /// Ready at the first instruction with the lanes `mask`.
    pub(super) fn restart(&mut self, code: &Code, mask: u32) {
        self.suspects.clear();
        self.is_past_line = false;
        self.undefined.forget();
        for &row in &code.unset32 {
            self.w[usize::from(row)] = Row32([0; 32]);
        }
        for &row in &code.unset64 {
            self.d[usize::from(row)] = Row64([0; 32]);
        }
        self.p.fill(0);
        // Rows and memory that calls added are dropped, so that each block finds the same.
        let (local_bytes, frame_rows) = code.functions.first().map_or((0, 0), |f| (f.local_bytes, f.frame_rows));
        self.local.clear();
        self.local_written.clear();
        self.dynamic_ends = [0; 32];
        self.frames.clear();
        self.make_room(local_bytes, frame_rows);
        self.live = mask;
        self.steps = 0;
        self.patience = Patience::default();
        self.looks.forget();
        self.splits.clear();
        self.free_from = 0;
        let (parent, children, state) = (None, 0, State::Ready);
        self.splits.push(Split { pc: 0, mask, meet: NO_PC, parent, children, state, frame: 0, local: 0, depth: 0 });
    }

    /// Local memory and frames at least this large, zero where they are new.
    pub(super) fn make_room(&mut self, local_bytes: u32, frame_rows: u32) {
        let words = local_bytes.div_ceil(4) as usize;
        if words > self.local.len() {
            self.local.resize(words, Row32([0; 32]));
            if self.watches_local {
                self.local_written.resize(words, [0; 32]);
            }
        }
        if frame_rows as usize > self.frames.len() {
            self.frames.resize(frame_rows as usize, Row32([0; 32]));
        }
    }

    /// Bytes of local memory that a lane has.
    pub(super) fn local_bytes(&self) -> u64 {
        4 * self.local.len() as u64
    }

    /// The `bytes` (1, 2, 4, 8) of a lane's local memory at a naturally aligned place, zero-extended.
    #[inline(always)]
    pub(super) fn load_local(&self, lane: usize, at: u64, bytes: u32) -> u64 {
        let index = (at / 4) as usize;
        let word = self.local[index].0[lane];
        match bytes {
            4 => u64::from(word),
            8 => u64::from(word) | u64::from(self.local[index + 1].0[lane]) << 32,
            _ => u64::from(word >> (8 * (at % 4))) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Returns whether one of the `bytes` there was written; true if the check is off.
    pub(super) fn is_local_written(&self, lane: usize, at: u64, bytes: u32) -> bool {
        let is_written = |byte: u64| self.local_written[(byte / 4) as usize][lane] >> (byte % 4) & 1 != 0;
        self.local_written.is_empty() || (at..at + u64::from(bytes)).any(is_written)
    }

    /// An activation begins with `bytes` of local variables from byte `at` on: what was there belongs to one before it.
    pub(super) fn forget_local(&mut self, at: u32, bytes: u32, lanes: u32) {
        let words = (at / 4) as usize..at.saturating_add(bytes).div_ceil(4) as usize;
        for written in self.local_written.get_mut(words).into_iter().flatten() {
            (0..32).filter(|lane| lanes >> lane & 1 != 0).for_each(|lane| written[lane] = 0);
        }
    }

    /// Stores the low `bytes` of `value` there.
    #[inline(always)]
    pub(super) fn store_local(&mut self, lane: usize, at: u64, bytes: u32, value: u64) {
        let index = (at / 4) as usize;
        if !self.local_written.is_empty() {
            for byte in at..at + u64::from(bytes) {
                self.local_written[(byte / 4) as usize][lane] |= 1 << (byte % 4);
            }
        }
        match bytes {
            4 => self.local[index].0[lane] = value as u32,
            8 => {
                self.local[index].0[lane] = value as u32;
                self.local[index + 1].0[lane] = (value >> 32) as u32;
            }
            _ => {
                let shift = 8 * (at % 4) as u32;
                let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                let word = &mut self.local[index].0[lane];
                *word = (*word & !ones) | (((value as u32) << shift) & ones);
            }
        }
    }

    /// The value that the first lane of `mask` has in a 32-bit row.
    #[inline(always)]
    pub(super) fn first32(&self, row: Reg, mask: u32) -> u32 {
        self.w[usize::from(row)].0[(mask.trailing_zeros() & 31) as usize]
    }

    /// True when nothing of it will ever run again.
    pub(super) fn is_done(&self) -> bool {
        self.live == 0
    }

    /// The split that runs next without a seed: the last one that is ready, as a stack would have it.
    pub(super) fn next_ready(&self) -> Option<usize> {
        self.splits.iter().rposition(|split| split.state == State::Ready)
    }

    fn add(&mut self, split: Split) -> usize {
        let from = self.free_from.min(self.splits.len());
        let free = self.splits[from..].iter().position(|s| s.state == State::Dead);
        let slot = free.map_or(self.splits.len(), |at| from + at);
        match self.splits.get_mut(slot) {
            Some(free) => *free = split,
            None => self.splits.push(split),
        }
        self.free_from = slot + 1;
        slot
    }

    /// The lanes of split `at` part: `taken` go to `target`, the rest to `next`; they meet at `meet`.
    pub(super) fn part(&mut self, at: usize, taken: u32, target: u32, next: u32, meet: u32) {
        let rest = self.splits[at].mask & !taken;
        self.part_into(at, &[(next, rest), (target, taken)], meet);
    }

    /// The lanes of split `at` part into `groups`, each a program counter and lanes; they meet at `meet`.
    pub(super) fn part_into(&mut self, at: usize, groups: &[(u32, u32)], meet: u32) {
        let parent = self.splits[at];
        let child = |pc, mask, meet, waiting| Split {
            pc,
            mask,
            meet,
            parent: waiting,
            children: 0,
            state: State::Ready,
            ..parent
        };
        if meet == parent.meet || meet == NO_PC {
            // They meet where their parent's siblings do: no split of their own has to wait there. Lanes that are
            // there already are part of the split that waits.
            let mut groups = groups.iter().filter(|&&(pc, _)| pc != parent.meet);
            let (pc, mask) = groups.next().copied().unwrap_or((parent.meet, 0));
            self.splits[at] = Split { pc, mask, ..parent };
            for &(pc, mask) in groups {
                if let Some(waiting) = parent.parent {
                    self.splits[waiting].children += 1;
                }
                self.add(child(pc, mask, parent.meet, parent.parent));
            }
            return;
        }
        let children = groups.iter().filter(|&&(pc, _)| pc != meet).count() as u32;
        self.splits[at] = Split { pc: meet, children, state: State::Parted, ..parent };
        for &(pc, mask) in groups.iter().filter(|&&(pc, _)| pc != meet) {
            self.add(child(pc, mask, meet, Some(at)));
        }
    }

    /// The lanes of `groups`, each a function's first instruction and lanes, leave split `at` for a call; it goes on at
    /// `back` when they have returned. Their frames and local variables start at `frame` and `local`.
    pub(super) fn enter(&mut self, at: usize, groups: &[(u32, u32)], back: u32, frame: u32, local: u32) {
        let caller = self.splits[at];
        let children = groups.len() as u32;
        self.splits[at] = Split { pc: back, children, state: State::Calling, ..caller };
        let (parent, state, depth) = (Some(at), State::Ready, caller.depth + 1);
        for &(pc, mask) in groups {
            self.add(Split { pc, mask, meet: NO_PC, parent, children: 0, state, frame, local, depth });
        }
    }

    /// The split that made the call which split `at` is in, if it is in one.
    pub(super) fn caller(&self, at: usize) -> Option<usize> {
        let mut up = self.splits[at].parent?;
        while self.splits[up].state != State::Calling {
            up = self.splits[up].parent?;
        }
        Some(up)
    }

    /// Takes the lanes `leaving` out of split `at` and of those that wait for it inside the same activation.
    pub(super) fn leave_activation(&mut self, at: usize, leaving: u32) {
        let mut up = Some(at);
        while let Some(split) = up.filter(|&split| self.splits[split].state != State::Calling) {
            self.splits[split].mask &= !leaving;
            up = self.splits[split].parent;
        }
    }

    /// Split `at` has reached its meeting point or lost its last lane.
    pub(super) fn end(&mut self, mut at: usize) {
        loop {
            let parent = self.splits[at].parent;
            self.splits[at].state = State::Dead;
            self.free_from = self.free_from.min(at);
            while self.splits.last().is_some_and(|split| split.state == State::Dead) {
                self.splits.pop();
            }
            let Some(waiting) = parent else { return };
            let split = &mut self.splits[waiting];
            split.children -= 1;
            if split.children > 0 {
                return;
            }
            split.mask &= self.live;
            split.state = State::Ready;
            // The meeting point may be the parent's own meeting point, or everybody has exited.
            if split.mask != 0 && split.pc != split.meet {
                return;
            }
            at = waiting;
        }
    }

    /// Parts split `at` for no reason but that the hardware may: its lanes `apart` run on their own until a
    /// `.sync` instruction or the meeting point brings them back.
    pub(super) fn drive_apart(&mut self, at: usize, apart: u32) -> usize {
        let split = self.splits[at];
        self.splits[at].mask &= !apart;
        if let Some(waiting) = split.parent {
            self.splits[waiting].children += 1;
        }
        self.add(Split { mask: apart, ..split })
    }

    /// The lanes `active` of split `at` are about to wait at its guarded instruction: the others walk past it.
    pub(super) fn pass_by(&mut self, at: usize, active: u32) {
        let passing = self.splits[at].mask & !active;
        if passing != 0 {
            let other = self.drive_apart(at, passing);
            self.splits[other].pc += 1;
        }
    }

    /// The lanes of a parted split that are at its meeting point already.
    pub(super) fn waiting(&self, at: usize) -> u32 {
        let below = |split: &Split| {
            let mut up = split.parent;
            while let Some(parent) = up {
                if parent == at {
                    return true;
                }
                up = self.splits[parent].parent;
            }
            false
        };
        let gone = self.splits.iter().filter(|s| s.state != State::Dead && below(s)).fold(0, |all, s| all | s.mask);
        self.splits[at].mask & self.live & !gone
    }

    /// Lanes that wait for others to meet them at the end of the kernel have nothing left to do: they exit. (Compilers
    /// let the lanes of an early `return` exit where they are; PTX sends them to a common `ret`.) True if any did.
    pub(super) fn exit_waiting(&mut self, code: &Code) -> bool {
        let mut exited = false;
        for at in 0..self.splits.len() {
            if !self.splits[at].state.has_children() {
                continue;
            }
            let waiting = self.waiting(at);
            if waiting != 0 && self.only_exits(code, at) {
                self.live &= !waiting;
                self.splits[at].mask &= !waiting;
                exited = true;
            }
        }
        exited
    }

    /// Returns whether the lanes of split `at` can only return from their calls and exit.
    fn only_exits(&self, code: &Code, mut at: usize) -> bool {
        loop {
            let inst = code.insts.get(self.splits[at].pc as usize);
            match inst.filter(|inst| inst.guard.predicate == NONE).map(|inst| inst.op) {
                Some(Op::Exit) => return true,
                Some(Op::Return) => match self.caller(at) {
                    Some(caller) => at = caller,
                    None => return false,
                },
                _ => return false,
            }
        }
    }

    /// Lets lanes that wait for the ones of split `spinning` go ahead without them: a lane may spin until one of those
    /// that wait for it does something. True if any were waiting.
    pub(super) fn let_go_ahead(&mut self, spinning: usize) -> bool {
        let mut up = self.splits[spinning].parent;
        while let Some(at) = up {
            if self.waiting(at) != 0 {
                self.go_ahead_from(at);
                return true;
            }
            up = self.splits[at].parent;
        }
        false
    }

    /// Ready splits at one place with one meeting point become one again.
    pub(super) fn merge(&mut self) {
        for i in 0..self.splits.len() {
            for j in (i + 1)..self.splits.len() {
                let (a, b) = (self.splits[i], self.splits[j]);
                let ready = a.state == State::Ready && b.state == State::Ready;
                if ready && a.pc == b.pc && a.meet == b.meet && a.parent == b.parent {
                    self.splits[i].mask |= b.mask;
                    self.splits[j].state = State::Dead;
                    self.free_from = self.free_from.min(j);
                    if let Some(waiting) = a.parent {
                        self.splits[waiting].children -= 1;
                    }
                }
            }
        }
        while self.splits.last().is_some_and(|split| split.state == State::Dead) {
            self.splits.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp() -> Warp {
        let code = Code::default();
        let mut warp = Warp::new(0, &code);
        warp.restart(&code, FULL);
        warp
    }

    #[test]
    fn both_sides_of_an_if_meet_again() {
        let mut warp = warp();
        warp.part(0, 0xffff, 10, 1, 20);
        assert_eq!(warp.splits.len(), 3);
        let top = warp.next_ready().unwrap();
        assert_eq!((warp.splits[top].pc, warp.splits[top].mask), (10, 0xffff));
        warp.end(top);
        let other = warp.next_ready().unwrap();
        assert_eq!((warp.splits[other].pc, warp.splits[other].mask), (1, 0xffff_0000));
        warp.end(other);
        assert_eq!(warp.splits.len(), 1);
        assert_eq!((warp.splits[0].pc, warp.splits[0].mask), (20, FULL));
    }

    #[test]
    fn lanes_that_leave_a_loop_wait_without_growing_the_tree() {
        let mut warp = warp();
        // A loop at 5 whose exit is 9: lanes leave a few at a time.
        warp.part(0, FULL << 4, 5, 9, 9);
        assert_eq!(warp.splits.len(), 2);
        let inner = warp.next_ready().unwrap();
        warp.part(inner, FULL << 8, 5, 9, 9);
        assert_eq!(warp.splits.len(), 2);
        let inner = warp.next_ready().unwrap();
        assert_eq!(warp.splits[inner].mask, FULL << 8);
        warp.end(inner);
        assert_eq!((warp.splits[0].pc, warp.splits[0].mask), (9, FULL));
    }

    #[test]
    fn lanes_driven_apart_merge_where_they_stand_together() {
        let mut warp = warp();
        warp.drive_apart(0, 0xff);
        assert_eq!(warp.splits.len(), 2);
        warp.merge();
        assert_eq!(warp.splits.len(), 1);
        assert_eq!(warp.splits[0].mask, FULL);
    }
}
