//! Lanes that spin: a loop that reads memory over and over until another thread writes.
//!
//! After a turn a split of a kernel that may spin is watched for a few instructions. If it comes back to where it was with
//! every register as it was, and no memory changed meanwhile, it will go on like that until memory changes: it is put
//! aside until then. So waiting costs next to nothing, and when all remaining lanes wait like that, none will
//! ever go on: a proven deadlock. A loop that counts, or reads the clock, is never put aside.
//!
//! Lanes that leave such a loop wait behind it for those that spin, as lanes wait wherever they meet: as if all that a warp
//! waits for came between two looks. That is the least that a card counts, and one of many: there a loop that looks has a YIELD, which
//! lets those go that wait at the BSYNC behind it. Of 32 lanes whose words an H200 wrote one after the other, all went on alone
//! with 2,000 cycles or more between two words, in 23 groups with 200, and in 10 with none. Where waiting for each
//! other hangs, because a lane spins until one that waits for it does something (gives back a lock, say), those that
//! wait go ahead here too; and from then on at once, since a kernel that needs it once needs it again.

use super::block::Environment;
use super::issue::addresses;
use super::warp::{Row32, Row64, Split, State, Warp};
use super::{Machine, Stop, guarded};
use crate::code::Op;
use crate::masks::lanes;
use crate::memory::Memory;

/// Instructions of a loop that is recognised.
const LOOP_STEPS_MAX: u32 = 96;
/// Instructions of a loop that is recognised though its lanes part and meet inside.
const PARTING_LOOP_STEPS_MAX: u32 = 320;
/// Instructions before a split is watched for the first time; the time doubles whenever it did not spin.
const FIRST_TURN_STEPS: u64 = 256;

/// Time that the splits of a warp run before they are watched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    steps: u64,
    /// The warp's steps when it was last watched.
    watched: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { steps: FIRST_TURN_STEPS, watched: 0 }
    }
}

impl Patience {
    /// After a spin: a lane that has spun will most likely spin again.
    const AFTER_A_CHANGE: Patience = Patience { steps: 1, watched: 0 };

    /// Returns whether it spun when it was last watched.
    pub(super) fn has_spun(self) -> bool {
        self.steps == Patience::AFTER_A_CHANGE.steps
    }

    /// Steps of the next turn.
    pub(super) fn steps(self) -> u64 {
        self.steps
    }

    /// Steps, parting and meeting, after which a warp is watched: more, since more is run then.
    pub(super) fn parting_steps(self) -> u64 {
        4 * self.steps
    }

    /// Returns whether it is time for a look after a turn that ended early, `now` steps into the warp's life.
    pub(super) fn is_over(self, now: u64) -> bool {
        now - self.watched >= self.steps
    }

    /// Lengthens the next turn, up to `most` steps, after a look at this step found no lane spinning.
    pub(super) fn grow(&mut self, now: u64, most: u64) {
        *self = Patience { steps: (self.steps * 2).min(most), watched: now };
    }
}

/// A word of global memory that a spinning lane has read: its address and value.
pub(super) type Word = (u64, u32);

/// Words of global memory that spinning lanes have read: until one of them changes, the loops go round as they did.
#[derive(Debug, Default)]
pub(super) struct Looks {
    words: Vec<Word>,
    /// Set if a lane spins whose reads were not noted.
    unknown: bool,
}

impl Looks {
    /// Clears it: no lane spins.
    pub(super) fn forget(&mut self) {
        self.words.clear();
        self.unknown = false;
    }

    /// Returns the words, unless other words may have been read.
    pub(super) fn known(&self) -> Option<&[Word]> {
        (!self.unknown).then_some(&self.words)
    }
}

/// All that a loop's next round depends on, besides memory.
#[derive(Debug, Default)]
pub(super) struct Registers {
    w: Vec<Row32>,
    d: Vec<Row64>,
    p: Vec<u32>,
    frames: Vec<Row32>,
}

impl Registers {
    fn save(&mut self, warp: &Warp) {
        self.w.clone_from(&warp.w);
        self.d.clone_from(&warp.d);
        self.p.clone_from(&warp.p);
        self.frames.clone_from(&warp.frames);
    }

    fn are_those_of(&self, warp: &Warp) -> bool {
        let same32 = |a: &[Row32], b: &[Row32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0);
        self.p == warp.p
            && self.d.iter().zip(&warp.d).all(|(a, b)| a.0 == b.0)
            && same32(&self.w, &warp.w)
            && same32(&self.frames, &warp.frames)
    }
}

impl Machine<'_> {
    /// Runs split `at`, whose turn is over, for a few more instructions. `Stop::Blocked` with the split put aside if it
    /// spins.
    pub(super) fn watch_spinning(&mut self, env: &mut Environment, warp: &mut Warp, at: usize) -> Stop {
        let start = warp.splits[at];
        let same_place = |split: &Split| {
            (split.pc, split.mask, split.frame, split.local, split.state)
                == (start.pc, start.mask, start.frame, start.local, start.state)
        };
        let splits = warp.splits.len();
        let changes = self.changes;
        let mut registers = std::mem::take(&mut self.registers);
        registers.save(warp);
        let mut stop = Stop::Turn;
        let mut read = Looks::default();
        for _ in 0..LOOP_STEPS_MAX {
            self.note_read(&mut read, warp, at);
            stop = self.run(env, warp, at, 1);
            if stop != Stop::Turn || self.changes != changes || warp.splits.len() != splits {
                break;
            }
            if same_place(&warp.splits[at]) && registers.are_those_of(warp) {
                if self.go_to_read(env, warp, at) {
                    warp.splits[at].state = State::Spinning(changes);
                    self.keep(&mut warp.looks, read);
                    stop = Stop::Blocked;
                }
                break;
            }
        }
        self.registers = registers;
        stop
    }

    /// Runs a warp, whose lanes part and meet without end, for a few more instructions. If all of it comes back to where it was,
    /// those that ran spin, and are put aside.
    pub(super) fn watch_parting(&mut self, env: &mut Environment, warp: &mut Warp) -> Stop {
        let (splits, changes) = (warp.splits.clone(), self.changes);
        let mut registers = std::mem::take(&mut self.registers);
        registers.save(warp);
        let (mut lanes, mut back) = (0, false);
        let mut read = Looks::default();
        for _ in 0..PARTING_LOOP_STEPS_MAX {
            let Some(at) = warp.next_ready() else { break };
            // Together, and about to read: there they wait, if they wait.
            if back && warp.splits[at].mask == lanes && self.reads(warp, at) {
                warp.splits[at].state = State::Spinning(changes);
                break;
            }
            if !back {
                lanes |= warp.splits[at].mask;
            }
            self.note_read(&mut read, warp, at);
            if self.run(env, warp, at, 1) == Stop::Fatal {
                return Stop::Fatal;
            }
            if self.changes != changes {
                back = false;
                break;
            }
            back |= warp.splits == splits && registers.are_those_of(warp);
        }
        if back && !warp.splits.iter().any(|split| split.state == State::Spinning(changes)) {
            // Some lanes never take part in a look of the others: each waits where it stands.
            let spins = |split: &&mut Split| split.state == State::Ready && split.mask & !lanes == 0;
            warp.splits.iter_mut().filter(spins).for_each(|split| split.state = State::Spinning(changes));
        }
        if warp.splits.iter().any(|split| split.state == State::Spinning(changes)) {
            self.keep(&mut warp.looks, read);
        }
        self.registers = registers;
        Stop::Blocked
    }

    /// Notes the words of global memory that split `at` is about to read. No other block can change words of shared memory.
    fn note_read(&self, read: &mut Looks, warp: &Warp, at: usize) {
        let split = warp.splits[at];
        let inst = &self.context.code.insts[split.pc as usize];
        let bytes = match inst.op {
            _ if !self.crowded => return,
            Op::Load(op) => u64::from(op.width.bytes) * u64::from(op.vector),
            Op::Atomic(op) => u64::from(op.bytes) * u64::from(op.vector),
            Op::CopyAsync | Op::CopyBulk | Op::Call => {
                read.unknown = true;
                return;
            }
            _ => return,
        };
        let addresses = addresses(warp, inst);
        for lane in lanes(guarded(warp, inst, split.mask)) {
            let first = addresses[lane] / 4;
            for word in first..(addresses[lane] + bytes).div_ceil(4) {
                let address = 4 * word;
                if let Some(value) = self.context.memory.word(address)
                    && !read.words.contains(&(address, value))
                {
                    read.words.push((address, value));
                }
            }
        }
    }

    /// Keeps the reads of a lane that spins.
    fn keep(&self, looks: &mut Looks, read: Looks) {
        looks.unknown |= read.unknown || !self.crowded;
        looks.words.extend(read.words);
    }

    /// Returns whether split `at` is about to read memory.
    fn reads(&self, warp: &Warp, at: usize) -> bool {
        let inst = &self.context.code.insts[warp.splits[at].pc as usize];
        matches!(inst.op, Op::Load(_) | Op::Atomic(_) | Op::Mbarrier(_))
    }

    /// Takes a split that goes round in a loop to where the loop reads memory, which is what it waits for. False if it
    /// nowhere does.
    fn go_to_read(&mut self, env: &mut Environment, warp: &mut Warp, at: usize) -> bool {
        for _ in 0..LOOP_STEPS_MAX {
            if self.reads(warp, at) {
                return true;
            }
            self.run(env, warp, at, 1);
        }
        false
    }

    /// Lets lanes go ahead of those that spin from now on, because all wait. False if they do already, or never may.
    pub(super) fn start_going_ahead(&mut self) -> bool {
        self.context.code.may_spin && self.lanes_apart() && !std::mem::replace(&mut self.goes_ahead, true)
    }

    /// Lets those spin on whose memory may have changed.
    pub(super) fn wake(&self, warp: &mut Warp) {
        let (mut woken, mut left) = (false, false);
        for split in &mut warp.splits {
            match split.state {
                State::Spinning(changes) if changes != self.changes => {
                    split.state = State::Ready;
                    warp.patience = Patience::AFTER_A_CHANGE;
                    woken = true;
                }
                State::Spinning(_) => left = true,
                _ => {}
            }
        }
        if woken && !left {
            warp.looks.forget();
        }
    }
}

/// Returns whether all of these words still hold their values.
pub(super) fn are_unchanged(memory: &Memory, words: &[Word]) -> bool {
    words.iter().all(|&(address, value)| memory.word(address) == Some(value))
}
