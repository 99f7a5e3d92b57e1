//! Ranges of global memory that a block touched: enough to know whether blocks that ran side by side met, and
//! which pages the check for races must watch. Most kernels read one array and write another, each
//! element once: then there is nothing to look at, and nothing else to pay.

use super::issue::Access;
use super::observe::low_bytes;
use crate::race::Layout;
use crate::race::global::{Act, PAGE_BYTES, Pages};

/// The bytes that one block touched.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    reads: Vec<(u64, u64)>,
    writes: Vec<(u64, u64)>,
    /// Bytes that it wrote more than once, or that lanes of one instruction wrote with different values.
    rewritten: Vec<(u64, u64)>,
}

/// An access is noted lane by lane if it covers less than one part in so many of the bytes from its first to its last.
const SPARSE: u64 = 4;

impl AccessLog {
    #[inline(always)]
    pub(super) fn note(&mut self, access: &Access<'_>) {
        let Access { low, high, lanes, bytes, at, .. } = *access;
        match access.strength.act {
            Act::Read => self.read(low, high),
            Act::Write => {
                if is_contradictory(access) {
                    self.rewritten.push((low, high));
                }
                self.write(low, high, lanes, bytes, at);
            }
        }
    }

    #[inline(always)]
    pub(super) fn read(&mut self, low: u64, high: u64) {
        extend(&mut self.reads, low, high);
    }

    /// Lanes write `bytes` bytes each, all of it from `low` to `high`.
    #[inline(always)]
    fn write(&mut self, low: u64, high: u64, mask: u32, bytes: u32, at: &[u64; 32]) {
        if (high - low) / SPARSE > u64::from(mask.count_ones() * bytes) {
            return self.write_each(mask, bytes, at);
        }
        self.write_range(low, high);
    }

    #[inline(always)]
    fn write_range(&mut self, low: u64, high: u64) {
        if self.writes.last().is_some_and(|last| low < last.1 && high > last.0) {
            self.rewritten.push((low, high));
        }
        extend(&mut self.writes, low, high);
    }

    fn write_each(&mut self, mask: u32, bytes: u32, at: &[u64; 32]) {
        for lane in crate::masks::lanes(mask) {
            self.write_range(at[lane], at[lane] + u64::from(bytes));
        }
    }
}

/// Returns whether lanes of one store leave different values at one place.
#[inline(always)]
fn is_contradictory(access: &Access<'_>) -> bool {
    let Access { layout, at, lanes, bytes, strength, .. } = *access;
    if layout == Some(Layout::SideBySide) || strength.is_atomic {
        return false;
    }
    let (mut end, mut rising) = (0, true);
    for lane in 0..32 {
        let on = lanes & (1 << lane) != 0;
        rising &= !on || at[lane] >= end;
        end = if on { at[lane] + u64::from(bytes) } else { end };
    }
    !rising && has_two_values(access)
}

/// Lanes of one instruction start at one address or lie apart: every address is a multiple of the size.
#[inline(never)]
fn has_two_values(access: &Access<'_>) -> bool {
    let Access { at, lanes, values, .. } = *access;
    let width = access.width();
    let differ = |a: usize, b: usize| values.iter().any(|v| low_bytes(v[a], width) != low_bytes(v[b], width));
    crate::masks::lanes(lanes)
        .any(|a| crate::masks::filter(lanes & (u32::MAX << a), |b| at[a] == at[b] && differ(a, b)) != 0)
}

/// Adds a range, joined with the last one where they touch.
#[inline(always)]
fn extend(ranges: &mut Vec<(u64, u64)>, low: u64, high: u64) {
    match ranges.last_mut() {
        Some(last) if low <= last.1 && high >= last.0 => *last = (last.0.min(low), last.1.max(high)),
        _ => ranges.push((low, high)),
    }
}

/// A range and the block that touched it.
type Touch = (u64, u64, u64);

/// Ranges that many blocks touched.
#[derive(Debug, Default)]
pub(super) struct Touches {
    reads: Vec<Touch>,
    writes: Vec<Touch>,
    /// Pages of which one block read and wrote, or wrote twice, the same bytes, as far as ranges tell.
    pub(super) revisited: Pages,
}

impl Touches {
    /// Takes over the ranges of a block (of a cluster: by its number); with `revisits`, also what it touched twice.
    pub(super) fn collect(&mut self, log: &mut AccessLog, block: u64, revisits: bool) {
        let first = (self.reads.len(), self.writes.len());
        join(&mut log.reads, block, &mut self.reads, &mut Vec::new());
        join(&mut log.writes, block, &mut self.writes, &mut log.rewritten);
        if revisits {
            log.rewritten.iter().for_each(|&range| add_pages(range, &mut self.revisited));
            overlaps(&self.reads[first.0..], &self.writes[first.1..], |range, _| add_pages(range, &mut self.revisited));
        }
        log.rewritten.clear();
    }

    /// Adds what another host thread collected.
    pub(super) fn merge(&mut self, other: Touches) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.revisited.extend(other.revisited);
    }

    /// The pages where a block touched what another one wrote, and whether there is such a place at all.
    pub(super) fn met(&mut self) -> Option<Pages> {
        self.writes.sort_unstable();
        let mut pages = Pages::default();
        let mut met = false;
        let mut furthest: Option<Touch> = None;
        for &(low, high, block) in &self.writes {
            if let Some((_, end, other)) = furthest
                && low < end
                && other != block
            {
                add_pages((low, high.min(end)), &mut pages);
                met = true;
            }
            if furthest.is_none_or(|(_, end, _)| high > end) {
                furthest = Some((low, high, block));
            }
        }
        overlaps(&self.reads, &self.writes, |range, same_block| {
            if !same_block {
                add_pages(range, &mut pages);
                met = true;
            }
        });
        met.then_some(pages)
    }
}

fn add_pages((low, high): (u64, u64), pages: &mut Pages) {
    pages.extend(low / PAGE_BYTES..=(high - 1) / PAGE_BYTES);
}

/// Moves a block's ranges to the common list, sorted and joined; what overlaps goes to `twice` too.
fn join(ranges: &mut Vec<(u64, u64)>, block: u64, all: &mut Vec<Touch>, twice: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    let mut joined: Option<(u64, u64)> = None;
    for (low, high) in ranges.drain(..) {
        match &mut joined {
            Some(last) if low <= last.1 => {
                if low < last.1 {
                    twice.push((low, high.min(last.1)));
                }
                last.1 = last.1.max(high);
            }
            _ => {
                all.extend(joined.map(|(low, high)| (low, high, block)));
                joined = Some((low, high));
            }
        }
    }
    all.extend(joined.map(|(low, high)| (low, high, block)));
}

/// Calls `found` with each piece that a range of `reads` and one of `writes` have in common, and whether they are one
/// block's. `writes` is sorted.
fn overlaps(reads: &[Touch], writes: &[Touch], mut found: impl FnMut((u64, u64), bool)) {
    // The furthest end so far: sorted even where a long range covers short ones.
    let mut ends = Vec::with_capacity(writes.len());
    for &(_, end, _) in writes {
        ends.push(end.max(ends.last().copied().unwrap_or(0)));
    }
    for &(low, high, block) in reads {
        let first = ends.partition_point(|&end| end <= low);
        for &(start, end, writer) in writes[first..].iter().take_while(|&&(start, ..)| start < high) {
            if end > low {
                found((low.max(start), high.min(end)), writer == block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(reads: &[Touch], writes: &[Touch]) -> Touches {
        Touches { reads: reads.to_vec(), writes: writes.to_vec(), ..Touches::default() }
    }

    #[test]
    fn blocks_meet_only_where_one_writes() {
        assert!(touches(&[(0, 100, 0), (0, 100, 1)], &[(200, 204, 0), (204, 208, 1)]).met().is_none());
        assert!(touches(&[(0, 100, 0)], &[(96, 100, 1)]).met().is_some());
        assert!(touches(&[(96, 100, 1)], &[(96, 100, 1)]).met().is_none());
        assert!(touches(&[], &[(0, 8, 0), (4, 12, 1)]).met().is_some());
        // A long range hides a short one inside it, and the one after that.
        let pages = touches(&[], &[(0, 9000, 0), (4, 8, 0), (8192, 8196, 1)]).met();
        assert_eq!(pages, Some(Pages::from_iter([2])));
    }

    #[test]
    fn a_block_that_comes_back_to_its_bytes_is_noticed() {
        let collect = |note: &dyn Fn(&mut AccessLog)| {
            let (mut log, mut touches) = (AccessLog::default(), Touches::default());
            note(&mut log);
            touches.collect(&mut log, 0, true);
            touches.revisited.len()
        };
        let write = |log: &mut AccessLog, low| log.write(low, low + 4, 1, 4, &[low; 32]);
        assert_eq!(collect(&|log| (0..64).for_each(|i| write(log, 4 * i))), 0);
        assert_eq!(collect(&|log| [0, 8, 0].into_iter().for_each(|at| write(log, at))), 1);
        assert_eq!(collect(&|log| [0, 0].into_iter().for_each(|at| write(log, at))), 1);
        let read_then_write = |log: &mut AccessLog| {
            log.read(0, 128);
            write(log, 64);
        };
        assert_eq!(collect(&read_then_write), 1);
    }

    #[test]
    fn a_column_is_no_range() {
        let (mut log, mut touches) = (AccessLog::default(), Touches::default());
        let column = std::array::from_fn(|lane| lane as u64 * 4096);
        log.write(0, 31 * 4096 + 4, u32::MAX, 4, &column);
        touches.collect(&mut log, 0, true);
        assert_eq!(touches.writes.len(), 32);
    }
}
