//! Memory that kernels allocate with `malloc` and free with `free`.
//!
//! It lies in one buffer whose size counts as 0, so that every quick look at whether an access is inside says no; the slow
//! look asks here. What was given back is not given out again before the whole buffer was, so that a use of it is found, and
//! what is side by side does not touch.

use std::collections::{BTreeMap, VecDeque};

use super::{Buffer, FIRST_SLOT, Memory, MemoryError, SLOT_BITS, slot_of};

/// Bytes that may be allocated at a time: CUDA's `cudaLimitMallocHeapSize` unless a program asks for another.
const LIVE_BYTES_MAX: u64 = 8 << 20;
/// Bytes of the buffer.
const ARENA_BYTES: u64 = 4 * LIVE_BYTES_MAX;
/// Alignment of an allocation, and least distance to the next.
const GRANULE_BYTES: u64 = 16;

#[derive(Debug, Clone, Copy)]
struct Allocation {
    bytes: u64,
    /// Room up to the next one.
    room: u64,
    is_live: bool,
}

/// Allocated parts of the buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct Heap {
    /// Allocations by first byte.
    allocations: BTreeMap<u64, Allocation>,
    end: u64,
    live_bytes: u64,
    /// Given back and not out again, the longest ago first.
    freed: VecDeque<u64>,
}

fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(GRANULE_BYTES)
}

impl Heap {
    /// Allocates so many bytes and returns the first; `None` if there is no room or the size is 0.
    pub(super) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        if bytes == 0 || bytes > LIVE_BYTES_MAX || self.live_bytes + rounded(bytes) > LIVE_BYTES_MAX {
            return None;
        }
        let needed = rounded(bytes) + GRANULE_BYTES;
        let (at, room) = if self.end + needed <= ARENA_BYTES {
            (self.end, needed)
        } else {
            let fits = |at: &u64| self.allocations.get(at).is_some_and(|old| old.room >= needed);
            let place = self.freed.iter().position(fits)?;
            let at = self.freed.remove(place)?;
            (at, self.allocations.get(&at)?.room)
        };
        self.end = self.end.max(at + room);
        self.live_bytes += rounded(bytes);
        self.allocations.insert(at, Allocation { bytes, room, is_live: true });
        Some(at)
    }

    /// Takes back what starts there. False if nothing does, or it was given back before.
    pub(super) fn give_back(&mut self, at: u64) -> bool {
        match self.allocations.get_mut(&at) {
            Some(allocation) if allocation.is_live => {
                allocation.is_live = false;
                self.live_bytes -= rounded(allocation.bytes);
                self.freed.push_back(at);
                true
            }
            _ => false,
        }
    }

    /// Returns whether all of these bytes are of one allocation.
    pub(super) fn holds(&self, at: u64, bytes: u64) -> bool {
        self.before(at).is_some_and(|(start, found)| found.is_live && at + bytes <= start + found.bytes)
    }

    fn before(&self, at: u64) -> Option<(u64, Allocation)> {
        self.allocations.range(..=at).next_back().map(|(&start, &found)| (start, found))
    }

    /// Describes the allocation at that byte.
    pub(super) fn describe(&self, at: u64) -> String {
        let Some((start, found)) = self.before(at) else { return "the heap, of which malloc has given nothing".into() };
        let (byte, bytes) = (at - start, found.bytes);
        match byte < bytes {
            true => format!("byte {byte} of {bytes} bytes from malloc"),
            false => format!("byte {byte}, past the end of {bytes} bytes from malloc"),
        }
    }

    /// Returns whether that byte was of an allocation which is none any more.
    pub(super) fn was_given_back(&self, at: u64) -> bool {
        self.before(at).is_some_and(|(start, found)| !found.is_live && at < start + found.bytes)
    }
}

impl Memory {
    /// Makes the buffer that kernels allocate from, once.
    pub(crate) fn place_heap(&mut self) -> Result<(), MemoryError> {
        if self.heap_slot.is_none() {
            let address = self.alloc("heap", ARENA_BYTES, 1)?;
            self.heap_slot = slot_of(address).map(|(slot, _)| slot);
            if let Some(Some(buffer)) = self.heap_slot.and_then(|slot| self.slots.get_mut(slot)) {
                buffer.bytes = 0;
            }
        }
        Ok(())
    }

    pub(super) fn heap(&self) -> std::sync::MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// `malloc` of a kernel: the address of so many bytes that nothing has written, or 0.
    pub(crate) fn allocate_in_kernel(&self, bytes: u64) -> u64 {
        let (Some(slot), Some(at)) = (self.heap_slot, self.heap().allocate(bytes)) else { return 0 };
        if let Some(Some(buffer)) = self.slots.get(slot) {
            buffer.forget(at, bytes);
        }
        ((slot as u64 + FIRST_SLOT) << SLOT_BITS) + at
    }

    /// `free` of a kernel: false if the address is none that is allocated.
    pub(crate) fn free_in_kernel(&self, address: u64) -> bool {
        match slot_of(address) {
            Some((slot, at)) if Some(slot) == self.heap_slot => self.heap().give_back(at),
            _ => false,
        }
    }

    /// The buffer that holds all of these bytes, and where there.
    pub(crate) fn holding(&self, address: u64, bytes: u64) -> Option<(&Buffer, u64)> {
        let (buffer, offset) = self.buffer(address)?;
        let inside = offset + bytes <= buffer.bytes;
        let of_heap = || slot_of(address).map(|(slot, _)| slot) == self.heap_slot && self.heap().holds(offset, bytes);
        (inside || of_heap()).then_some((buffer, offset))
    }

    /// [`Memory::describe`] of what an access found in no allocation.
    pub(crate) fn describe_outside(&self, address: u64) -> String {
        let of_heap = slot_of(address).filter(|&(slot, _)| Some(slot) == self.heap_slot);
        let back = of_heap.is_some_and(|(_, at)| self.heap().was_given_back(at));
        format!("{}{}", self.describe(address), if back { ", given back with free" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_does_not_overlap_and_comes_back() {
        let mut heap = Heap::default();
        let [a, b] = [40, 1].map(|bytes| heap.allocate(bytes).expect("there is room"));
        assert!(a.is_multiple_of(16) && b.is_multiple_of(16) && a + 40 < b);
        assert!(heap.holds(a, 40) && heap.holds(a + 36, 4) && !heap.holds(a + 36, 8) && heap.holds(b, 1));
        assert!(heap.give_back(a) && !heap.give_back(a) && !heap.give_back(a + 16) && !heap.holds(a, 4));
        assert!(
            heap.was_given_back(a + 39)
                && !heap.was_given_back(a + 40)
                && heap.describe(b + 1).contains("past the end")
        );
        assert_eq!(heap.allocate(0), None);
    }

    #[test]
    fn a_full_heap_gives_nothing_until_something_comes_back() {
        let mut heap = Heap::default();
        let megabytes: Vec<u64> = (0..8).map(|_| heap.allocate(1 << 20).expect("there is room")).collect();
        assert_eq!(heap.allocate(1), None);
        assert!(heap.give_back(megabytes[3]));
        // Far more than the buffer holds, one after the other.
        for _ in 0..100 {
            let at = heap.allocate(1 << 20).expect("there is room");
            assert!(at + (1 << 20) <= ARENA_BYTES && heap.give_back(at));
        }
    }
}
