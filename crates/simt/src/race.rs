//! Order between threads, and accesses to memory that nothing orders.
//!
#![doc = include_str!("race/MODEL.md")]
//!
//! # Shared memory
//!
//! Shuffles and votes order nothing, as on the hardware. An asynchronous copy writes from its start until its thread has waited
//! for it: see `flights`. Two lanes that write the same bytes in one instruction race only if their values differ.
//!
//! The shadow keeps, for each word (for each byte, once a narrower access came by), the last plain write, the last strong
//! one, and readers of two different threads, of two different warps if there are such: those that read plainly, those that look at
//! a flag, and those that read data by a strong load. That is enough to find a race in
//! every word that has one as long as threads are ordered by barriers of the whole block and of whole warps.
//!
//! It may miss: a second race of a word after its first one in the same stretch between barriers; races among threads
//! that other barriers or flags keep apart, when more than two of them read the word; differing values beyond the
//! first 8 bytes of one lane's store; a race with a strong write before the last one; two copies of one
//! instruction to one place, or from one place. It never reports accesses that the rules above order.

use rustc_hash::FxHashMap;

mod cells;
mod clocks;
mod flights;
pub(crate) mod global;
mod now;
mod places;
mod strong;
mod views;

use cells::{Cells, Cover, Entry, Pair, Run};
use clocks::Tick;
pub use clocks::{Arrivals, Clocks, WARPS_PER_BLOCK};
use flights::Flights;
use now::Now;
pub use places::Places;
use strong::Looks;
pub use strong::Role;
pub(crate) use strong::Strong;

use crate::code::{MemOp, Order, Scope};

/// One warp's access to shared memory, as the detector sees it.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Warp within its unit, see [`WARPS_PER_BLOCK`].
    pub warp: u32,
    /// Active lanes.
    pub mask: u32,
    /// Index of the instruction in the kernel's code: the site.
    pub pc: u32,
    /// Bytes a lane.
    pub bytes: u32,
    /// Byte offset in shared memory of each lane.
    pub addresses: &'a [u32; 32],
}

/// Action and ordering of an access.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strength {
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    pub(crate) act: global::Act,
    /// An atomic: reads and writes in one step.
    pub(crate) is_atomic: bool,
    /// Its result depends on the old value.
    pub(crate) reads: bool,
}

impl Strength {
    /// Strength of a load or store.
    #[inline(always)]
    pub(crate) fn of(op: MemOp, act: global::Act) -> Strength {
        Strength { order: op.order, scope: op.scope, act, is_atomic: false, reads: act == global::Act::Read }
    }

    /// Returns whether it is more than plain.
    pub(crate) fn is_strong(self) -> bool {
        self.order != Order::Weak
    }
}

/// Pair of accesses that race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hazard {
    /// Read after write.
    ReadAfterWrite,
    /// Write after read.
    WriteAfterRead,
    /// Write after write.
    WriteAfterWrite,
    /// Lanes of one instruction write different values.
    WriteTogether,
    /// A read of what an asynchronous copy may still be writing.
    ReadOfCopy,
    /// A write, or a copy, to what an asynchronous copy may still be reading.
    WriteUnderCopy,
    /// A write, or another copy, to where an asynchronous copy may still be writing.
    WriteOverCopy,
    /// Data read through a strong access, which may be older than what another thread has written: PTX allows it.
    UnfencedRead,
    /// A strong write over data that another thread reads through a strong access: PTX allows it.
    UnfencedWrite,
    /// As [`Hazard::UnfencedRead`], by a load whose thread puts back what it makes of the value: one of two updates may be lost.
    UpdateAfterWrite,
    /// As [`Hazard::UnfencedWrite`], between the load and the store of such an update.
    WriteIntoUpdate,
    /// No race, since one place has one order of strong writes: either may come last.
    EitherLast,
    /// A read through the cache for constant data of what the launch has written before, in whatever order.
    StaleCache,
    /// No race in PTX, since one access follows a read of what the other wrote; one in CUDA C++.
    Observed,
    /// No race, since both leave the same value there.
    EqualWrites,
}

impl Hazard {
    /// The same pair of accesses, seen from the one that ran first.
    pub(crate) const fn seen_from_the_other(self) -> Hazard {
        match self {
            Hazard::ReadAfterWrite => Hazard::WriteAfterRead,
            Hazard::WriteAfterRead => Hazard::ReadAfterWrite,
            Hazard::UnfencedRead => Hazard::UnfencedWrite,
            Hazard::UnfencedWrite => Hazard::UnfencedRead,
            Hazard::UpdateAfterWrite => Hazard::WriteIntoUpdate,
            Hazard::WriteIntoUpdate => Hazard::UpdateAfterWrite,
            same => same,
        }
    }

    /// Returns whether it is worth a note, and no fault.
    pub const fn is_note(self) -> bool {
        matches!(self, Hazard::Observed | Hazard::EqualWrites | Hazard::EitherLast)
    }
}

/// Two unordered accesses. Words of one access that race with the same earlier instruction of a warp are one race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Race {
    /// Kind of pair; an atomic counts as a write.
    pub hazard: Hazard,
    /// First byte of the word they share; the byte itself where bytes of the word have different histories.
    pub address: u32,
    /// The earlier access: warp, lanes, instruction.
    pub earlier: (u32, u32, u32),
    /// The later access: warp, lanes, instruction.
    pub later: (u32, u32, u32),
}

const WORD_BYTES: u32 = 4;

/// Most distinct readers of one strong write; beyond them all threads count as readers.
const OBSERVERS_MAX: usize = 64;

/// Action of the later access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Read,
    Write,
    StrongRead,
    StrongWrite,
}

impl Act {
    fn reads(self) -> bool {
        matches!(self, Act::Read | Act::StrongRead)
    }
}

/// Last accesses to each word, and the barrier since.
#[derive(Debug, Default)]
pub struct Shadow {
    /// Generation of the clock when the cells were last empty.
    generation: u32,
    /// Tick of the unit's last barrier, as far as the cells of bytes have seen it.
    unit_base: Tick,
    writes: Cells,
    readers: Pair,
    /// The last atomic, or other strong write: one place has one order of them, so who is behind the last is behind all.
    strong: Cells,
    /// Tick of the last note there.
    strong_tick: Tick,
    /// Readers of a strong write, by its cell, with the tick of the write.
    observed: FxHashMap<usize, Vec<(Tick, Entry)>>,
    /// Strong reads, once there has been one.
    looks: Option<Box<Looks>>,
    /// Scope and role of the strong accesses so far, by instruction.
    strengths: FxHashMap<u32, Strong>,
    /// Words whose bytes have different histories, one flag a word; those live in the byte cells.
    split: Vec<bool>,
    any_split: bool,
    /// Words that asynchronous copies may still be writing, once there has been one.
    flights: Option<Box<Flights>>,
}

impl Shadow {
    /// For `bytes` of shared memory.
    pub fn new(bytes: u32) -> Shadow {
        let words = bytes.div_ceil(WORD_BYTES) as usize;
        Shadow {
            writes: Cells::new(words),
            readers: Pair::new(words),
            strong: Cells::new(words),
            split: vec![false; words],
            ..Shadow::default()
        }
    }

    /// A read; races go to `found`.
    #[inline]
    pub fn read(&mut self, clocks: &mut Clocks, access: Access<'_>, found: &mut Vec<Race>) {
        self.read_of(Layout::of(&access), clocks, access, found);
    }

    /// A read by lanes of which it is known how they lie.
    #[inline(always)]
    pub(crate) fn read_of(&mut self, layout: Layout, clocks: &mut Clocks, access: Access<'_>, found: &mut Vec<Race>) {
        if self.flights.is_some() {
            self.check_flights(clocks, &access, Act::Read, found);
        }
        let now = self.tick(clocks, &access);
        let done = match self.shape(&access, layout) {
            Shape::Run(run) => self.note_read(&run, &now),
            Shape::Scattered => self.note_scattered_read(&access, &now),
            Shape::Other => false,
        };
        if !done {
            self.by_cell(access, Act::Read, &[0; 32], &now, clocks, found);
        }
    }

    /// A write of `values` (low bytes of each lane's value); two lanes that write the same bytes with the same values in one
    /// instruction do not race.
    #[inline]
    pub fn write(&mut self, clocks: &mut Clocks, access: Access<'_>, values: &[u64; 32], found: &mut Vec<Race>) {
        self.write_of(Layout::of(&access), clocks, access, values, found);
    }

    /// A write by lanes of which it is known how they lie.
    #[inline(always)]
    pub(crate) fn write_of(
        &mut self,
        layout: Layout,
        clocks: &mut Clocks,
        access: Access<'_>,
        values: &[u64; 32],
        found: &mut Vec<Race>,
    ) {
        if self.flights.is_some() {
            self.check_flights(clocks, &access, Act::Write, found);
        }
        let now = self.tick(clocks, &access);
        let done = match self.shape(&access, layout) {
            Shape::Run(run) => self.note_write(&run, &now),
            Shape::Scattered => self.note_scattered_write(&access, &now),
            Shape::Other => false,
        };
        if !done {
            self.by_cell(access, Act::Write, values, &now, clocks, found);
        }
    }

    /// Time moves on by one access.
    #[inline(always)]
    fn tick(&mut self, clocks: &mut Clocks, access: &Access<'_>) -> Now {
        let now = clocks.tick(access.warp, access.pc);
        if self.generation != now.generation {
            self.forget(&now);
        }
        if self.any_split && self.unit_base != now.unit_base {
            // The accesses in the byte cells are over, so the words may be whole again.
            self.split.fill(false);
            self.any_split = false;
        }
        self.unit_base = now.unit_base;
        now
    }

    /// Empties every cell: time has started again.
    #[cold]
    fn forget(&mut self, now: &Now) {
        self.generation = now.generation;
        self.forget_copies();
        self.writes.clear();
        self.readers.clear();
        self.strong.clear();
        self.observed.clear();
        self.looks = None;
        self.strong_tick = 0;
    }

    /// Notes a read that races with nothing, if it is one and needs no second place.
    #[inline(always)]
    fn note_read(&mut self, cover: &impl Cover, now: &Now) -> bool {
        !self.writes.conflicts(cover, now)
            && !(now.since_unit_barrier(self.strong_tick) && self.strong.conflicts(cover, now))
            && self.readers.note_covered(cover, now)
    }

    /// Notes a write that races with nothing, if it is one and no lanes share a word.
    #[inline(always)]
    fn note_write(&mut self, cover: &impl Cover, now: &Now) -> bool {
        !self.writes.conflicts(cover, now)
            && !(now.since_unit_barrier(self.readers.used_tick) && self.readers.conflicts(cover, now))
            && !(now.since_unit_barrier(self.strong_tick) && self.strong.conflicts(cover, now))
            && !self.looks.as_ref().is_some_and(|looks| looks.conflict(cover, now))
            && self.writes.set_covered(cover, now)
    }

    fn note_scattered_read(&mut self, access: &Access<'_>, now: &Now) -> bool {
        self.writes.scattered(access).is_some_and(|cover| self.note_read(&cover, now))
    }

    fn note_scattered_write(&mut self, access: &Access<'_>, now: &Now) -> bool {
        self.writes.scattered(access).is_some_and(|cover| self.note_write(&cover, now))
    }

    /// The cells that the lanes' words have.
    #[inline(always)]
    fn shape(&self, access: &Access<'_>, layout: Layout) -> Shape {
        if self.any_split || access.mask == 0 || !matches!(access.bytes, 4 | 8 | 16) {
            return Shape::Other;
        }
        match layout {
            Layout::SideBySide => {
                let first = access.mask.trailing_zeros();
                let start = access.addresses[first as usize].wrapping_sub(first * access.bytes);
                let run = self.writes.run(start as i32, access.bytes / WORD_BYTES, access.mask);
                run.map_or(Shape::Other, Shape::Run)
            }
            Layout::OnePlace => Shape::Other,
            Layout::Apart => Shape::Scattered,
        }
    }

    /// The general way: cell after cell. Every lane is checked before a write is noted, or lanes that write one place together
    /// would hide from each other what was there before.
    #[inline(never)]
    fn by_cell(
        &mut self,
        access: Access<'_>,
        act: Act,
        values: &[u64; 32],
        now: &Now,
        clocks: &Clocks,
        found: &mut Vec<Race>,
    ) {
        let mut report = Report::new(&access, values, now, clocks, found);
        self.each_cell(&access, true, |shadow, place, lanes| {
            shadow.check(place, lanes, act, &mut report);
            if act == Act::Read {
                shadow.readers.note(place.cell, lanes, now);
            }
        });
        if act == Act::Write {
            self.each_cell(&access, false, |shadow, place, lanes| {
                report.same_instruction(&shadow.writes, Hazard::WriteTogether, place, lanes);
                shadow.writes.set_or_join(place.cell, lanes, now);
            });
        }
    }

    /// Calls `visit` with each cell and the lanes that touch it: all at once where every lane touches the same place.
    fn each_cell(&mut self, access: &Access<'_>, together: bool, mut visit: impl FnMut(&mut Shadow, Place, u32)) {
        let mut left = access.mask;
        if together && left != 0 {
            let first = access.addresses[left.trailing_zeros() as usize];
            let elsewhere = (0..32).fold(0, |differ, lane| {
                differ | if left & (1 << lane) != 0 { access.addresses[lane] ^ first } else { 0 }
            });
            if elsewhere == 0 {
                self.cells_of_lane(first, access.bytes, |shadow, place| visit(shadow, place, left));
                return;
            }
        }
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            self.cells_of_lane(access.addresses[lane as usize], access.bytes, |shadow, place| {
                visit(shadow, place, 1 << lane);
            });
        }
    }

    /// Calls `visit` for each cell of the `bytes` bytes from `address` on; what lies past the end is left out.
    fn cells_of_lane(&mut self, address: u32, bytes: u32, mut visit: impl FnMut(&mut Shadow, Place)) {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let word = at / WORD_BYTES;
            let Some(&is_split) = self.split.get(word as usize) else { return };
            let word_end = (word + 1) * WORD_BYTES;
            let whole = at.is_multiple_of(WORD_BYTES) && word_end <= end;
            if whole && !is_split {
                visit(self, Place { cell: Cells::word(word), address: at, bytes: WORD_BYTES });
            } else {
                if !is_split {
                    self.split_word(word);
                }
                for byte in at..end.min(word_end) {
                    let cell = self.writes.byte(byte);
                    visit(self, Place { cell, address: byte, bytes: 1 });
                }
            }
            at = word_end;
        }
    }

    /// Gives each byte of a word the word's history.
    fn split_word(&mut self, word: u32) {
        for cells in [&mut self.writes, &mut self.readers.first, &mut self.readers.second, &mut self.strong] {
            cells.split(word);
        }
        if let Some(looks) = &mut self.looks {
            looks.split(word);
        }
        self.split[word as usize] = true;
        self.any_split = true;
    }

    /// Reports what is unordered with `lanes` in one cell.
    #[inline]
    fn check(&self, place: Place, lanes: u32, act: Act, report: &mut Report<'_>) {
        let after_write = if act.reads() { Hazard::ReadAfterWrite } else { Hazard::WriteAfterWrite };
        report.against(&self.writes, after_write, place, lanes);
        if matches!(act, Act::Read | Act::Write) && report.now.since_unit_barrier(self.strong_tick) {
            let behind = self.observers(place.cell, lanes, report.now);
            report.against(&self.strong, after_write, place, lanes & !behind);
            if behind != 0 {
                report.against(&self.strong, Hazard::Observed, place, behind);
            }
        }
        if !act.reads() && report.now.since_unit_barrier(self.readers.used_tick) {
            report.against_pair(&self.readers, Hazard::WriteAfterRead, place, lanes);
        }
        if let Some(looks) = self.looks.as_ref().filter(|_| act == Act::Write) {
            looks.pairs().for_each(|pair| report.against_pair(pair, Hazard::WriteAfterRead, place, lanes));
        }
    }
}

/// Layout of the lanes of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Rising from lane to lane without a gap, from the start of a word on.
    SideBySide,
    /// All on one address.
    OnePlace,
    Apart,
}

impl Layout {
    #[inline(always)]
    fn of(access: &Access<'_>) -> Layout {
        let first = access.mask.trailing_zeros() & 31;
        let first_address = access.addresses[first as usize];
        let start = first_address.wrapping_sub(first * access.bytes);
        let (mut not_rising, mut not_equal) = (0, 0);
        for (lane, &address) in access.addresses.iter().enumerate() {
            let active = if access.mask & (1 << lane) != 0 { u32::MAX } else { 0 };
            not_rising |= active & (address ^ start.wrapping_add(lane as u32 * access.bytes));
            not_equal |= active & (address ^ first_address);
        }
        if not_rising == 0 && start.is_multiple_of(WORD_BYTES) {
            Layout::SideBySide
        } else if not_equal == 0 {
            Layout::OnePlace
        } else {
            Layout::Apart
        }
    }
}

/// Layout of the words of one access.
enum Shape {
    /// Rising from lane to lane without a gap.
    Run(Run),
    /// Whole words, in any order.
    Scattered,
    /// All in one place, or parts of words: cell by cell is best.
    Other,
}

/// A cell, and which bytes it stands for.
#[derive(Clone, Copy)]
struct Place {
    cell: usize,
    /// Byte offset in shared memory.
    address: u32,
    bytes: u32,
}

/// Destination of the races of one access.
struct Report<'a> {
    found: &'a mut Vec<Race>,
    /// Races that were there before this access.
    reported: usize,
    addresses: &'a [u32; 32],
    values: &'a [u64; 32],
    now: &'a Now,
    clocks: &'a Clocks,
}

impl<'a> Report<'a> {
    fn new(
        access: &Access<'a>,
        values: &'a [u64; 32],
        now: &'a Now,
        clocks: &'a Clocks,
        found: &'a mut Vec<Race>,
    ) -> Report<'a> {
        Report { reported: found.len(), found, addresses: access.addresses, values, now, clocks }
    }

    /// Reports what `lanes` do now if it is unordered with either of two remembered accesses.
    fn against_pair(&mut self, pair: &Pair, hazard: Hazard, place: Place, lanes: u32) {
        self.against(&pair.first, hazard, place, lanes);
        self.against(&pair.second, hazard, place, lanes);
    }

    /// Reports what `lanes` do now if it is unordered with what `cells` remember.
    #[inline]
    fn against(&mut self, cells: &Cells, hazard: Hazard, place: Place, lanes: u32) {
        if cells.tick[place.cell] < self.now.unit_base || lanes == 0 {
            return;
        }
        let entry = cells.entry(place.cell);
        if let Some((earlier, later)) = self.now.unordered(&entry, lanes) {
            self.push(hazard, place.address, (entry.warp(), earlier, entry.pc()), later);
        }
    }

    /// Reports a lane that writes other values than a lane before it in the same instruction, as `hazard`.
    fn same_instruction(&mut self, writes: &Cells, hazard: Hazard, place: Place, lanes: u32) {
        let entry = writes.entry(place.cell);
        if entry.tick != self.now.tick {
            return;
        }
        let mask = if place.bytes == 1 { 0xFF } else { 0xFFFF_FFFF };
        // Nothing beyond the first 8 bytes is known of a lane's value.
        let value = |lane: u32| {
            let offset = place.address.wrapping_sub(self.addresses[lane as usize]);
            self.values[lane as usize].checked_shr(8 * offset).map(|bits| bits & mask)
        };
        let (earlier, later) = (entry.lanes.trailing_zeros(), lanes.trailing_zeros());
        if earlier != later && value(earlier).zip(value(later)).is_some_and(|(a, b)| a != b) {
            self.push(hazard, place.address, (self.now.warp(), 1 << earlier, self.now.pc()), lanes);
        }
    }

    /// Adds a race, or its lanes to one that differs in nothing else.
    fn push(&mut self, hazard: Hazard, address: u32, earlier: (u32, u32, u32), lanes: u32) {
        let (warp, earlier_lanes, pc) = earlier;
        for race in &mut self.found[self.reported..] {
            if race.hazard == hazard && (race.earlier.0, race.earlier.2) == (warp, pc) {
                race.earlier.1 |= earlier_lanes;
                race.later.1 |= lanes;
                return;
            }
        }
        self.found.push(Race { hazard, address, earlier, later: (self.now.warp(), lanes, self.now.pc()) });
    }
}
