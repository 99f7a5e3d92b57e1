//! Global memory, across all blocks of a launch, by the rules that the head of `race` gives. A grid-wide barrier is made of
//! such parts and needs none of its own.
//!
//! Each byte is checked by itself. A page of memory keeps whole warp accesses while they do not overlap, and a cell for each word
//! (or byte) once they do: the last plain write, two strong writes and two readers, of two
//! blocks if there are such.
//!
//! It may miss: a race with a third reader or strong write of a word; a second race of a word after its first. It finds what
//! is unordered in the interleaving that ran, which for most kernels is unordered in all. It never reports accesses that the rules order.

mod report;

use rustc_hash::{FxHashMap, FxHashSet};

use report::{Observed, Report};

use super::cells::Entry;
use super::clocks::Clocks;
use super::now::{Now, pc_of, warp_of};
use super::{Hazard, Role, Strong};

/// Bytes of memory that are looked after together.
pub(crate) const PAGE_BYTES: u64 = 4096;
const WORD_BYTES: u32 = 4;
/// Whole accesses that a page keeps before it is taken apart.
const SPANS_MAX: usize = 96;

/// One warp's access to global memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    /// Warp within its unit.
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    /// Bytes a lane.
    pub(crate) bytes: u32,
    pub(crate) addresses: &'a [u64; 32],
    pub(crate) act: Act,
    /// `None` for a plain access.
    pub(crate) strong: Option<Strong>,
    /// It reads through the cache for constant data, which no barrier keeps up to date.
    pub(crate) is_constant: bool,
    /// Values of a store: lanes that write the same bytes with the same values do not race. Empty: not known.
    pub(crate) values: &'a [[u64; 32]],
}

/// Action of an access. An atomic is a strong write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Read,
    Write,
}

/// Unit, warp of the unit, lanes, instruction.
pub(crate) type Party = (u32, u32, u32, u32);

/// Two unordered accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) hazard: Hazard,
    pub(crate) address: u64,
    pub(crate) earlier: Party,
    pub(crate) later: Party,
}

/// One remembered access; no lanes, no access.
#[derive(Debug, Clone, Copy, Default)]
struct Past {
    unit: u32,
    tick: i32,
    lanes: u32,
    site: u32,
    strong: Option<Strong>,
    device: u8,
}

impl Past {
    fn role(&self) -> Role {
        self.strong.map_or(Role::Other, |strong| strong.role)
    }

    fn party(&self, lanes: u32) -> Party {
        (self.unit, warp_of(self.site), lanes, pc_of(self.site))
    }

    /// Returns whether it is of the same instruction of the same warp, for other lanes.
    fn joins(&self, past: &Past) -> bool {
        (self.unit, self.tick, self.site) == (past.unit, past.tick, past.site)
    }

    fn entry(&self) -> Entry {
        Entry { tick: self.tick, lanes: self.lanes, site: self.site }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    write: Past,
    /// The last strong write, and one before it, of another unit if there was one.
    strong: [Past; 2],
    readers: [Past; 2],
}

/// A whole access of lanes that lie side by side.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Bytes of the page.
    start: u32,
    end: u32,
    /// Offset where lane 0 would lie, and bytes of each lane.
    lane0: i32,
    lane_bytes: u32,
    act: Act,
    past: Past,
}

#[derive(Debug, Default)]
struct Page {
    /// Plain reads only so far, on a page that is not watched: nothing is remembered.
    only_read: bool,
    spans: Vec<Span>,
    /// Cells of words, or of bytes if `by_byte`; empty while spans say all.
    cells: Vec<Cell>,
    by_byte: bool,
}

/// Page numbers.
pub(crate) type Pages = FxHashSet<u64>;

/// Accesses to each byte of global memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pages: FxHashMap<u64, Page>,
    observed: Observed,
    /// Pages to look after from their first read on,
    watched: Pages,
    /// and no others.
    only_watched: bool,
    /// Pages that were read before they were written, and not watched: the launch must run again to be judged.
    pub(crate) suspicious: Pages,
}

impl Shadow {
    /// Looks after these pages, and after others from their first write on.
    pub(crate) fn watching(watched: Pages) -> Shadow {
        Shadow { watched, ..Shadow::default() }
    }

    /// Looks after these pages only.
    pub(crate) fn of(watched: Pages) -> Shadow {
        Shadow { watched, only_watched: true, ..Shadow::default() }
    }

    /// Forgets all accesses.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.observed.clear();
    }

    /// Checks and notes an access. Races go to `found`.
    pub(crate) fn access(&mut self, clocks: &mut Clocks, access: &Access<'_>, found: &mut Vec<Race>) {
        let now = clocks.tick(access.warp, access.pc);
        if clocks.take_lost_time() {
            self.clear();
        }
        if access.mask == 0 {
            return;
        }
        let mut observed = std::mem::take(&mut self.observed);
        let (reported, strong, is_constant) = (found.len(), access.strong, access.is_constant);
        let mut report = Report { reported, found, now: &now, clocks, observed: &mut observed, strong, is_constant };
        self.each_place(access, &mut report);
        self.observed = observed;
    }

    fn each_place(&mut self, access: &Access<'_>, report: &mut Report<'_>) {
        if let Some((first_lane, start, end)) = side_by_side(access) {
            return self.run(access, first_lane, start, end, report);
        }
        let mut left = access.mask;
        while left != 0 {
            let lane = left.trailing_zeros();
            let at = access.addresses[lane as usize];
            // Lanes at one place at once, or they would hide each other's past.
            let together =
                (lane..32).filter(|&other| left & (1 << other) != 0 && access.addresses[other as usize] == at);
            let lanes = together.fold(0, |all, lane| all | 1 << lane);
            left &= !lanes;
            self.one_place(access, at, lanes, report);
        }
    }

    /// The page, if it is to be looked after for this access.
    fn page(&mut self, number: u64, access: &Access<'_>) -> Option<&mut Page> {
        let plain_read = access.act == Act::Read && access.strong.is_none();
        let watched = self.watched.contains(&number);
        if self.only_watched && !watched {
            return None;
        }
        let only_read = plain_read && !watched;
        let page = self.pages.entry(number).or_insert_with(|| Page { only_read, ..Page::default() });
        if page.only_read {
            if plain_read {
                return None;
            }
            page.only_read = false;
            self.suspicious.insert(number);
        }
        Some(page)
    }

    /// Lanes that lie side by side, page by page.
    fn run(&mut self, access: &Access<'_>, first_lane: u32, start: u64, end: u64, report: &mut Report<'_>) {
        let mut at = start;
        while at < end {
            let number = at / PAGE_BYTES;
            let base = number * PAGE_BYTES;
            let part_end = end.min(base + PAGE_BYTES);
            if let Some(page) = self.page(number, access) {
                let lane0 = start as i64 - i64::from(first_lane * access.bytes) - base as i64;
                let span = Span {
                    start: (at - base) as u32,
                    end: (part_end - base) as u32,
                    lane0: lane0 as i32,
                    lane_bytes: access.bytes,
                    act: access.act,
                    past: report.past(access.mask),
                };
                page.note(base, span, report);
            }
            at = part_end;
        }
    }

    /// Lanes of one access at one address.
    fn one_place(&mut self, access: &Access<'_>, at: u64, lanes: u32, report: &mut Report<'_>) {
        let number = at / PAGE_BYTES;
        let base = number * PAGE_BYTES;
        // An aligned access lies in one page.
        let Some(page) = self.page(number, access) else { return };
        page.take_apart(access.bytes < WORD_BYTES || !at.is_multiple_of(u64::from(WORD_BYTES)));
        report.same_instruction(access, at, lanes);
        let start = (at - base) as u32;
        for index in page.indices(start, start + access.bytes) {
            let address = base + u64::from(page.offset_of(index));
            let past = report.past(lanes);
            page.cells[index].check_and_note(past, access.act, address, report);
        }
    }
}

/// First lane, and first and one past the last byte, of lanes that follow each other in number and in memory.
fn side_by_side(access: &Access<'_>) -> Option<(u32, u64, u64)> {
    let first = access.mask.trailing_zeros();
    let count = access.mask.count_ones();
    if access.mask >> first != u32::MAX >> (32 - count) {
        return None;
    }
    let start = access.addresses[first as usize];
    let bytes = u64::from(access.bytes);
    let rising = (0..count).all(|i| access.addresses[(first + i) as usize] == start + u64::from(i) * bytes);
    rising.then_some((first, start, start + u64::from(count) * bytes))
}

impl Span {
    fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns whether the same threads touch the same bytes later, in a way that says all that this access said.
    fn is_outdone_by(&self, later: &Span) -> bool {
        (self.start, self.end, self.lane0, self.lane_bytes) == (later.start, later.end, later.lane0, later.lane_bytes)
            && self.past.unit == later.past.unit
            && warp_of(self.past.site) == warp_of(later.past.site)
            && self.past.strong == later.past.strong
            && (self.act == later.act || self.act == Act::Read)
    }

    /// The lane that covers a byte of the page, as a bit.
    fn lane_at(&self, byte: u32) -> u32 {
        1 << ((byte as i32 - self.lane0) as u32 / self.lane_bytes % 32)
    }

    /// The lanes that cover some bytes of the page.
    fn lanes_at(&self, start: u32, end: u32) -> u32 {
        let (start, end) = (start.max(self.start), end.min(self.end));
        (start..end).step_by(self.lane_bytes.min(WORD_BYTES) as usize).fold(0, |all, byte| all | self.lane_at(byte))
            | if start < end { self.lane_at(end - 1) } else { 0 }
    }
}

impl Page {
    /// Checks and notes an access of lanes that lie side by side.
    fn note(&mut self, base: u64, span: Span, report: &mut Report<'_>) {
        if self.cells.is_empty() {
            let mut overlapping = (0..self.spans.len()).filter(|&at| self.spans[at].overlaps(&span));
            match (overlapping.next(), overlapping.next()) {
                (None, _) if self.spans.len() < SPANS_MAX => return self.spans.push(span),
                (Some(at), None) if self.spans[at].is_outdone_by(&span) => {
                    self.spans[at] = span;
                    return;
                }
                _ => {}
            }
        }
        self.take_apart(span.lane_bytes < WORD_BYTES || !span.start.is_multiple_of(WORD_BYTES));
        for index in self.indices(span.start, span.end) {
            let start = self.offset_of(index);
            let lanes = span.lanes_at(start, start + if self.by_byte { 1 } else { WORD_BYTES });
            let past = Past { lanes, ..span.past };
            self.cells[index].check_and_note(past, span.act, base + u64::from(start), report);
        }
    }

    /// From here on each word, or byte, is remembered by itself.
    fn take_apart(&mut self, by_byte: bool) {
        let by_byte = by_byte || self.by_byte || self.spans.iter().any(|span| span.lane_bytes < WORD_BYTES);
        if self.cells.is_empty() {
            self.by_byte = by_byte;
            let cell_bytes = if by_byte { 1 } else { WORD_BYTES };
            self.cells = vec![Cell::default(); PAGE_BYTES as usize / cell_bytes as usize];
            for span in std::mem::take(&mut self.spans) {
                for index in self.indices(span.start, span.end) {
                    let start = self.offset_of(index);
                    let lanes = span.lanes_at(start, start + cell_bytes);
                    self.cells[index].note(Past { lanes, ..span.past }, span.act, None);
                }
            }
        } else if by_byte && !self.by_byte {
            self.by_byte = true;
            self.cells = self.cells.iter().flat_map(|cell| [*cell; WORD_BYTES as usize]).collect();
        }
    }

    /// The cells of some bytes of the page.
    fn indices(&self, start: u32, end: u32) -> std::ops::Range<usize> {
        match self.by_byte {
            true => start as usize..end as usize,
            false => (start / WORD_BYTES) as usize..end.div_ceil(WORD_BYTES) as usize,
        }
    }

    /// The first byte of a cell.
    fn offset_of(&self, index: usize) -> u32 {
        index as u32 * if self.by_byte { 1 } else { WORD_BYTES }
    }
}

impl Cell {
    fn check_and_note(&mut self, past: Past, act: Act, address: u64, report: &mut Report<'_>) {
        let (after_write, after_read) = match act {
            Act::Read => (Hazard::ReadAfterWrite, None),
            Act::Write => (Hazard::WriteAfterWrite, Some(Hazard::WriteAfterRead)),
        };
        if !report.against(&self.write, after_write, address, past.lanes) {
            report.behind_a_cache(&self.write, address, past.lanes);
        }
        let [last, other] = &self.strong;
        // One place has one order of strong writes: a thread behind the last of them is behind them all. So a block may
        // put back the counter that its own atomic found full.
        match report.against(last, after_write, address, past.lanes) {
            true => drop(report.against(other, after_write, address, past.lanes)),
            false => {
                report.behind_a_cache(last, address, past.lanes);
                report.behind_the_last(last, other, after_write, address, past.lanes);
            }
        }
        if past.strong.is_some() && (act == Act::Read || past.role().is_atomic()) {
            report.observe(address, last, &past);
        }
        if let Some(hazard) = after_read {
            for reader in &self.readers {
                report.against(reader, hazard, address, past.lanes);
            }
        }
        self.note(past, act, Some(report.now));
    }

    fn note(&mut self, past: Past, act: Act, now: Option<&Now>) {
        match act {
            Act::Write if past.strong.is_some() => {
                let [last, other] = &mut self.strong;
                // Among lanes that update one place together, the last one comes behind them all.
                let past = match past.role().is_atomic() {
                    true => Past { lanes: 1 << (31 - past.lanes.leading_zeros()), ..past },
                    false => past,
                };
                if last.joins(&past) && !past.role().is_atomic() {
                    last.lanes |= past.lanes;
                } else {
                    if last.unit != past.unit || other.lanes == 0 {
                        *other = *last;
                    }
                    *last = past;
                }
            }
            Act::Write => {
                // Whatever was before is ordered before this write, or was reported.
                let before = if self.write.joins(&past) { self.write.lanes } else { 0 };
                *self = Cell { write: Past { lanes: before | past.lanes, ..past }, ..Cell::default() };
            }
            Act::Read => keep(&mut self.readers, past, now),
        }
    }
}

/// Keeps two accesses, of two units if there are such.
fn keep(kept: &mut [Past; 2], past: Past, now: Option<&Now>) {
    let gone = |old: &Past| {
        let same = old.unit == past.unit && warp_of(old.site) == warp_of(past.site) && old.lanes & !past.lanes == 0;
        let behind = now.is_some_and(|now| old.unit == now.unit && !now.is_live(old.tick, old.site));
        old.lanes == 0 || same || behind
    };
    let [first, second] = kept;
    if first.joins(&past) {
        first.lanes |= past.lanes;
    } else if second.joins(&past) {
        second.lanes |= past.lanes;
    } else if gone(first) {
        *first = past;
    } else if gone(second) || (second.unit == first.unit && past.unit != first.unit) {
        *second = past;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_check_remembers_is_as_large_as_the_crate_s_head_says() {
        assert_eq!([size_of::<Span>(), size_of::<Cell>()], [40, 100]);
    }
}
