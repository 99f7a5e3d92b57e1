//! Cells of the shadow, one for each word and byte: structures of arrays, so that a run of words is checked at once.

use super::clocks::Tick;
use super::now::{Now, block_of, pc_of, warp_of};
use super::{Access, WORD_BYTES};
use crate::masks::lanes;

const LANES: usize = 32;

/// Most words that one access of a warp touches (32 lanes of 16 bytes): the margin on both sides of the words, so that
/// a window may reach over inactive lanes past either end.
const MARGIN: usize = 4 * LANES;

/// Lane that owns each word of a window, as a bit, for 1, 2 and 4 words a lane.
static LANE_BITS: [[[u32; LANES]; 4]; 3] = [lane_bits(1), lane_bits(2), lane_bits(4)];

const fn lane_bits(words_per_lane: usize) -> [[u32; LANES]; 4] {
    let mut bits = [[0; LANES]; 4];
    let mut word = 0;
    while word < LANES * words_per_lane {
        bits[word / LANES][word % LANES] = 1 << (word / words_per_lane);
        word += 1;
    }
    bits
}

/// One remembered access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub tick: Tick,
    pub lanes: u32,
    pub site: u32,
}

impl Entry {
    #[inline(always)]
    pub fn warp(&self) -> u32 {
        warp_of(self.site)
    }

    #[inline(always)]
    pub fn pc(&self) -> u32 {
        pc_of(self.site)
    }
}

/// The whole words that one access touches, in parts of one word a lane.
pub(super) trait Cover {
    fn parts(&self) -> usize;
    /// Active lanes.
    fn mask(&self) -> u32;
    /// Returns the lane that owns each word of a part.
    fn owners(&self, part: usize) -> &[u32; LANES];
    /// Returns `field` for each word of a part; `room` collects words that do not lie side by side.
    fn gather<'a, T: Copy>(&self, part: usize, field: &'a [T], room: &'a mut [T; LANES]) -> &'a [T; LANES];
    /// The latest of the ticks of a part, or a later one that is no active lane's.
    fn newest(&self, part: usize, ticks: &[Tick]) -> Tick;
    /// Overwrites the cells of a part. False if lanes share one (it then names them all).
    fn set(&self, part: usize, cells: &mut Cells, now: &Now) -> bool;
}

/// One run of words, lane after lane.
pub(super) struct Run {
    /// Cell of the first word.
    start: usize,
    /// Lane that owns each word, in pieces of 32 words.
    owners: &'static [[u32; LANES]],
    mask: u32,
}

impl Run {
    #[inline(always)]
    fn range(&self, part: usize) -> std::ops::Range<usize> {
        self.start + LANES * part..self.start + LANES * (part + 1)
    }
}

impl Cover for Run {
    #[inline(always)]
    fn parts(&self) -> usize {
        self.owners.len()
    }

    #[inline(always)]
    fn mask(&self) -> u32 {
        self.mask
    }

    #[inline(always)]
    fn owners(&self, part: usize) -> &[u32; LANES] {
        &self.owners[part]
    }

    #[inline(always)]
    fn gather<'a, T: Copy>(&self, part: usize, field: &'a [T], room: &'a mut [T; LANES]) -> &'a [T; LANES] {
        <&[T; LANES]>::try_from(&field[self.range(part)]).unwrap_or(room)
    }

    #[inline(always)]
    fn newest(&self, part: usize, ticks: &[Tick]) -> Tick {
        let mut newest = 0;
        for &tick in &ticks[self.range(part)][..LANES] {
            newest = newest.max(tick);
        }
        newest
    }

    #[inline(always)]
    fn set(&self, part: usize, cells: &mut Cells, now: &Now) -> bool {
        let owners = &self.owners[part];
        put(&mut cells.tick[self.range(part)], owners, self.mask, |_| now.tick);
        put(&mut cells.lanes[self.range(part)], owners, self.mask, |owner| owner);
        put(&mut cells.site[self.range(part)], owners, self.mask, |_| now.site);
        true
    }
}

/// Words anywhere; lanes may share them.
pub(super) struct Scattered {
    /// Cell of each lane's first word, 0 for an inactive lane.
    cells: [u32; LANES],
    words_per_lane: usize,
    mask: u32,
}

impl Cover for Scattered {
    fn parts(&self) -> usize {
        self.words_per_lane
    }

    fn mask(&self) -> u32 {
        self.mask
    }

    fn owners(&self, _: usize) -> &[u32; LANES] {
        &LANE_BITS[0][0]
    }

    #[inline(always)]
    fn gather<'a, T: Copy>(&self, part: usize, field: &'a [T], room: &'a mut [T; LANES]) -> &'a [T; LANES] {
        for (value, &cell) in room.iter_mut().zip(&self.cells) {
            *value = field[cell as usize + part];
        }
        room
    }

    #[inline(always)]
    fn newest(&self, part: usize, ticks: &[Tick]) -> Tick {
        let mut newest = 0;
        for lane in lanes(self.mask) {
            newest = ticks[self.cells[lane] as usize + part].max(newest);
        }
        newest
    }

    #[inline(always)]
    fn set(&self, part: usize, cells: &mut Cells, now: &Now) -> bool {
        let mut apart = true;
        for lane in lanes(self.mask) {
            let cell = self.cells[lane] as usize + part;
            // No access but this one has this tick.
            let joins = cells.tick[cell] == now.tick;
            cells.lanes[cell] = 1 << lane | if joins { cells.lanes[cell] } else { 0 };
            (cells.tick[cell], cells.site[cell]) = (now.tick, now.site);
            apart &= !joins;
        }
        apart
    }
}

#[inline(always)]
fn all_ones_if(condition: bool) -> u32 {
    u32::from(condition).wrapping_neg()
}

/// Overwrites what belongs to active lanes.
#[inline(always)]
fn put<T: Copy>(field: &mut [T], owners: &[u32; LANES], mask: u32, value: impl Fn(u32) -> T) {
    let Ok(field) = <&mut [T; LANES]>::try_from(field) else { return };
    for (cell, &owner) in field.iter_mut().zip(owners) {
        *cell = if owner & mask != 0 { value(owner) } else { *cell };
    }
}

/// One access for each word, and for each byte of words that were split.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub tick: Vec<Tick>,
    lanes: Vec<u32>,
    site: Vec<u32>,
    /// Words of shared memory.
    words: usize,
}

impl Cells {
    pub fn new(words: usize) -> Cells {
        let cells = MARGIN + words + MARGIN;
        Cells { tick: vec![0; cells], lanes: vec![0; cells], site: vec![0; cells], words }
    }

    pub fn clear(&mut self) {
        self.tick.fill(0);
    }

    /// The cell of a word.
    #[inline]
    pub fn word(word: u32) -> usize {
        MARGIN + word as usize
    }

    /// The cell of a byte, in a word that was split.
    pub fn byte(&self, address: u32) -> usize {
        MARGIN + self.words + MARGIN + address as usize
    }

    #[inline]
    pub fn entry(&self, cell: usize) -> Entry {
        Entry { tick: self.tick[cell], lanes: self.lanes[cell], site: self.site[cell] }
    }

    /// Copies a word's cell to the cells of its bytes. The first split makes room for them.
    pub fn split(&mut self, word: u32) {
        let cells = self.byte(self.words as u32 * WORD_BYTES);
        self.tick.resize(cells, 0);
        self.lanes.resize(cells, 0);
        self.site.resize(cells, 0);
        let Entry { tick, lanes, site } = self.entry(Cells::word(word));
        let first = self.byte(word * WORD_BYTES);
        let bytes = first..first + WORD_BYTES as usize;
        self.tick[bytes.clone()].fill(tick);
        self.lanes[bytes.clone()].fill(lanes);
        self.site[bytes].fill(site);
    }

    /// Covers the words from byte `start` on (which may lie before the first one, if the lanes there are inactive).
    #[inline(always)]
    pub fn run(&self, start: i32, words_per_lane: u32, mask: u32) -> Option<Run> {
        let start = usize::try_from(start.div_euclid(WORD_BYTES as i32) as i64 + MARGIN as i64).ok()?;
        let owners = &LANE_BITS[words_per_lane.trailing_zeros() as usize][..words_per_lane as usize];
        let end = start + LANES * words_per_lane as usize;
        (end <= MARGIN + self.words + MARGIN).then_some(Run { start, owners, mask })
    }

    /// Covers the words of lanes that lie anywhere, if all addresses are aligned and inside.
    #[inline(always)]
    pub fn scattered(&self, access: &Access<'_>) -> Option<Scattered> {
        let Access { addresses, mask, bytes, .. } = *access;
        let (mut odd, mut last) = (0, 0);
        let mut cells = [0; LANES];
        for lane in 0..LANES {
            let active = mask & (1 << lane) != 0;
            odd |= if active { addresses[lane] & (bytes - 1) } else { 0 };
            cells[lane] = if active { MARGIN as u32 + addresses[lane] / WORD_BYTES } else { 0 };
            last = cells[lane].max(last);
        }
        let words_per_lane = (bytes / WORD_BYTES) as usize;
        let inside = odd == 0 && last as usize + words_per_lane <= MARGIN + self.words;
        inside.then_some(Scattered { cells, words_per_lane, mask })
    }

    /// Returns whether a covered cell may hold something unordered with its lane's access now. Exact, unless barriers of part of a
    /// warp matter: then it may say yes too often.
    #[inline(always)]
    pub fn conflicts(&self, cover: &impl Cover, now: &Now) -> bool {
        self.any_live(cover, now, |own, lanes, owner| !own | (lanes & !owner))
    }

    /// Returns whether every covered cell may be overwritten: what it holds adds nothing to its lane's access now.
    #[inline(always)]
    fn replaceable(&self, cover: &impl Cover, now: &Now) -> bool {
        !self.any_live(cover, now, |own, lanes, owner| !own | (lanes ^ owner))
    }

    /// Returns whether `says_so` (not 0) of any cell of an active lane that is still live. Its arguments: whether the cell is of this
    /// warp (all ones or 0), its lanes, and the lane that owns it now.
    #[inline(always)]
    fn any_live(&self, cover: &impl Cover, now: &Now, says_so: impl Fn(u32, u32, u32) -> u32) -> bool {
        for part in 0..cover.parts() {
            if cover.newest(part, &self.tick) < now.unit_base {
                continue;
            }
            let mut room = [0; LANES];
            let ticks = cover.gather(part, &self.tick, &mut room);
            let (mut room_lanes, mut room_sites) = ([0; LANES], [0; LANES]);
            let lanes = cover.gather(part, &self.lanes, &mut room_lanes);
            let sites = cover.gather(part, &self.site, &mut room_sites);
            let (owners, mask, warp) = (cover.owners(part), cover.mask(), now.warp());
            let block = block_of(now.site);
            let mut any = 0;
            for cell in 0..LANES {
                let own = all_ones_if(warp_of(sites[cell]) == warp);
                let own_block = block_of(sites[cell]) == block;
                let since = if own_block { now.block_base } else { now.unit_base };
                let since = if own != 0 { now.order_base } else { since };
                let live = all_ones_if(ticks[cell] >= since) & all_ones_if(owners[cell] & mask != 0);
                any |= live & says_so(own, lanes[cell], owners[cell]);
            }
            if any != 0 {
                return true;
            }
        }
        false
    }

    /// Overwrites the covered cells. False if lanes share one (it then names them all).
    #[inline(always)]
    pub fn set_covered(&mut self, cover: &impl Cover, now: &Now) -> bool {
        let mut apart = true;
        for part in 0..cover.parts() {
            apart &= cover.set(part, self, now);
        }
        apart
    }

    #[inline]
    pub fn set(&mut self, cell: usize, lanes: u32, now: &Now) {
        self.tick[cell] = now.tick;
        self.lanes[cell] = lanes;
        self.site[cell] = now.site;
    }

    /// Sets the cell, or adds `lanes` to what the same instruction of the same warp left there now.
    #[inline]
    pub fn set_or_join(&mut self, cell: usize, lanes: u32, now: &Now) {
        let before = if self.tick[cell] == now.tick { self.lanes[cell] } else { 0 };
        self.set(cell, before | lanes, now);
    }
}

/// Two accesses for each cell, of two threads, and of two warps if there are such: any third thread that conflicts with
/// the ones left out conflicts with one of these.
#[derive(Debug, Default)]
pub(super) struct Pair {
    pub first: Cells,
    pub second: Cells,
    /// Tick of the last note.
    pub used_tick: Tick,
    second_used_tick: Tick,
}

impl Pair {
    pub fn new(words: usize) -> Pair {
        Pair { first: Cells::new(words), second: Cells::new(words), used_tick: 0, second_used_tick: 0 }
    }

    pub fn clear(&mut self) {
        self.first.clear();
        self.second.clear();
        (self.used_tick, self.second_used_tick) = (0, 0);
    }

    /// See [`Cells::conflicts`].
    #[inline(always)]
    pub fn conflicts(&self, cover: &impl Cover, now: &Now) -> bool {
        self.first.conflicts(cover, now)
            || (self.second_used_tick >= now.unit_base && self.second.conflicts(cover, now))
    }

    /// Notes an access of the covered cells, if none of them needs the second place.
    #[inline(always)]
    pub fn note_covered(&mut self, cover: &impl Cover, now: &Now) -> bool {
        let replaceable = self.first.replaceable(cover, now);
        if replaceable {
            self.first.set_covered(cover, now);
            self.used_tick = now.tick;
        }
        replaceable
    }

    /// Notes an access of `lanes` to one cell.
    #[inline]
    pub fn note(&mut self, cell: usize, lanes: u32, now: &Now) {
        self.used_tick = now.tick;
        let first = self.first.entry(cell);
        if takes_over(&first, lanes, now) {
            self.first.set(cell, lanes, now);
        } else if joins(&first, now) {
            self.first.set(cell, first.lanes | lanes, now);
        } else {
            self.note_second(cell, lanes, now, &first);
        }
    }

    fn note_second(&mut self, cell: usize, lanes: u32, now: &Now, first: &Entry) {
        let second = self.second.entry(cell);
        let one_warp = second.warp() == first.warp();
        let one_thread = one_warp && (first.lanes | second.lanes).is_power_of_two();
        if takes_over(&second, lanes, now) || one_thread || (one_warp && now.warp() != first.warp()) {
            self.second.set(cell, lanes, now);
        } else if joins(&second, now) {
            self.second.set(cell, second.lanes | lanes, now);
        } else {
            return;
        }
        self.second_used_tick = now.tick;
    }
}

/// Returns whether `entry` is out of date, or a later access of the same threads says all that it says.
#[inline]
fn takes_over(entry: &Entry, lanes: u32, now: &Now) -> bool {
    !now.is_live(entry.tick, entry.site) || (entry.warp() == now.warp() && entry.lanes == lanes)
}

/// Returns whether `entry` is of the same instruction and warp, and no other thread can know of it yet.
#[inline]
fn joins(entry: &Entry, now: &Now) -> bool {
    entry.site == now.site && entry.tick >= now.merge_base
}
