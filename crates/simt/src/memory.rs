//! Global memory: named buffers at addresses far apart, shared by the blocks of a launch.
//!
//! Words are relaxed atomics: blocks run on several host threads, and a kernel that races must not make the host
//! program undefined; on x86-64 and Arm a relaxed access is a plain move. A launch that runs blocks side by side can
//! be rolled back page by page (see `exec/grid.rs` for why). The memories of all devices share one space of addresses: see `devices`.

mod devices;
mod heap;
mod journal;
mod names;
mod written;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use crate::code::ModuleVariable;
pub use devices::DEVICES_MAX;
use devices::Devices;
use heap::Heap;
use journal::Journal;
pub(crate) use names::{element, element_before, element_past};

/// Addresses from here on are constants: each is that far from the place in the buffers that holds it.
pub(crate) const CONST_BASE: u64 = 1 << 55;
/// Generic addresses from here on are shared memory.
pub(crate) const SHARED_BASE: u64 = 1 << 56;
/// Size of the block's own part; the parts of its cluster's blocks follow by rank.
pub(crate) const BLOCK_WINDOW_BYTES: u64 = 1 << 24;
/// Generic addresses from here on are local memory.
pub(crate) const LOCAL_BASE: u64 = 1 << 57;

/// Generic addresses from here on are the kernel's parameters.
pub(crate) const PARAM_BASE: u64 = LOCAL_BASE + (1 << 56);
/// Local memory of a thread in bytes, with all that calls add to it.
pub(crate) const LOCAL_BYTES_MAX: u32 = 512 << 10;

/// Each buffer has 64 GiB of address space to itself, so that a stray address meets a gap, not a neighbour.
const SLOT_BITS: u32 = 36;
/// Address 0 and small numbers are no buffer.
const FIRST_SLOT: u64 = 16;
const SLOTS_MAX: usize = 1 << 18;
/// Slots that are given out before any is given out again. Addresses stay below 2^46 while no more buffers are held at a time,
/// which is below where hosts place the memory of a program.
const SLOTS_BEFORE_REUSE: usize = (1 << 10) - FIRST_SLOT as usize;
const PAGE_WORDS: usize = 1024;

/// Device memory as kernels see it.
#[derive(Debug, Default)]
pub struct Memory {
    slots: Vec<Option<Buffer>>,
    /// Slots of buffers that were given back, the longest ago first.
    free: VecDeque<usize>,
    /// Ranges of slots that no buffer is placed in.
    clear: Vec<std::ops::Range<usize>>,
    /// Buffers with a byte that may not count as written.
    unwritten: Mutex<HashSet<usize>>,
    journal: Arc<Journal>,
    /// Addresses of variables by module, device and symbol, and of grid-wide barriers by device and place among launches.
    module_variables: HashMap<(u64, u32, String), u64>,
    grid_workspaces: HashMap<(u32, usize), u64>,
    devices: Devices,
    /// The slot of what kernels allocate from, and what they have; as it was before the launch, while that may be undone.
    heap_slot: Option<usize>,
    heap: Mutex<Heap>,
    heap_before: Option<Heap>,
    /// Most bytes that buffers and variables may have together, and how many they have.
    bytes_max: Option<u64>,
    bytes_used: u64,
    /// Launches that have kept pages.
    launches: u32,
}

/// Why a memory operation of the host failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The host has no room for the buffer.
    #[error("no room for {bytes} bytes of simulated memory for {name}")]
    OutOfMemory {
        /// Name of the buffer.
        name: String,
        /// Size asked for.
        bytes: u64,
    },
    /// An address that no buffer holds, or a length past its end.
    #[error("no buffer holds {bytes} bytes at {address:#x}")]
    NoSuchBuffer {
        /// Device address.
        address: u64,
        /// Length of the operation.
        bytes: u64,
    },
    /// A device beyond those that there can be.
    #[error("device {device}: a simulation has devices 0 to {}", DEVICES_MAX - 1)]
    NoSuchDevice {
        /// Its number.
        device: u32,
    },
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) element_bytes: u32,
    /// Device in whose memory it lies.
    pub(crate) device: u32,
    words: Vec<AtomicU32>,
    /// Bit i of entry w: byte i of word w was written. Bit 4 + i of an unwritten byte: it holds a copy of an uninitialised value.
    /// Nothing when all were written.
    written: OnceLock<Vec<AtomicU8>>,
    slot: usize,
    /// The launch that saved each page last: twice its number while it does, and one more when it has. So a launch
    /// need not visit buffers that it does not touch.
    pages: Vec<AtomicU32>,
    journal: Arc<Journal>,
}

impl Memory {
    /// No buffers.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// No buffers, and never more than `bytes` bytes in them and in what modules declare.
    pub fn with_limit(bytes: u64) -> Memory {
        Memory { bytes_max: Some(bytes), ..Memory::default() }
    }

    /// A new buffer of `bytes` bytes, aligned to 4096, contents undefined until written (reads of it are
    /// `uninitialised-read`). `element_bytes` is what reports count in: `input[17]`. Returns its device address.
    pub fn alloc(&mut self, name: &str, bytes: u64, element_bytes: u32) -> Result<u64, MemoryError> {
        self.alloc_on(0, name, bytes, element_bytes)
    }

    /// [`Memory::alloc`] in the memory of this device, one of [`DEVICES_MAX`].
    pub fn alloc_on(&mut self, device: u32, name: &str, bytes: u64, element_bytes: u32) -> Result<u64, MemoryError> {
        if device >= DEVICES_MAX {
            return Err(MemoryError::NoSuchDevice { device });
        }
        let refuse = || MemoryError::OutOfMemory { name: name.to_owned(), bytes };
        let used = self.bytes_used.saturating_add(bytes);
        if bytes >= 1 << SLOT_BITS || self.bytes_max.is_some_and(|max| used > max) {
            return Err(refuse());
        }
        let count = bytes.div_ceil(4) as usize;
        let words = zeroed_words(count).ok_or_else(refuse)?;
        let written = OnceLock::from(zeroed_bytes(count).ok_or_else(refuse)?);
        let pages = zeroed_words(count.div_ceil(PAGE_WORDS)).ok_or_else(refuse)?;
        let slot = self.take_slot().ok_or_else(refuse)?;
        self.bytes_used = used;
        self.devices.use_one(device);
        let (name, element_bytes, journal) = (name.to_owned(), element_bytes.max(1), Arc::clone(&self.journal));
        self.slots[slot] = Some(Buffer { name, bytes, element_bytes, device, words, written, slot, pages, journal });
        self.unwritten().insert(slot);
        Ok((slot as u64 + FIRST_SLOT) << SLOT_BITS)
    }

    /// A slot without a buffer: a new one while there are few, so that a stale address is found to be one; then the one that has
    /// been free for longest.
    fn take_slot(&mut self) -> Option<usize> {
        if self.slots.len() >= SLOTS_BEFORE_REUSE
            && let Some(slot) = self.free.pop_front()
        {
            return Some(slot);
        }
        let mut slot = self.slots.len();
        while let Some(range) = self.clear.iter().find(|range| range.contains(&slot)) {
            slot = range.end;
        }
        (slot < SLOTS_MAX).then(|| {
            self.slots.resize_with(slot + 1, || None);
            slot
        })
    }

    /// Places no buffer at these addresses from now on, nor within 64 GiB of them: for programs that tell device addresses from
    /// others of their own by the number. Buffers that are there already stay.
    pub fn keep_clear(&mut self, addresses: std::ops::Range<u64>) {
        if addresses.is_empty() {
            return;
        }
        let slot = |address: u64| (address >> SLOT_BITS).saturating_sub(FIRST_SLOT).min(SLOTS_MAX as u64) as usize;
        let range = slot(addresses.start)..slot(addresses.end - 1) + 1;
        self.free.retain(|slot| !range.contains(slot));
        self.clear.push(range);
    }

    /// Gives the buffer that starts at `address` back.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let missing = MemoryError::NoSuchBuffer { address, bytes: 0 };
        match slot_of(address) {
            Some((slot, 0)) if self.slots.get(slot).is_some_and(Option::is_some) => {
                self.unwritten().remove(&slot);
                self.bytes_used -= self.slots[slot].take().map_or(0, |buffer| buffer.bytes);
                if !self.clear.iter().any(|range| range.contains(&slot)) {
                    self.free.push_back(slot);
                }
                Ok(())
            }
            _ => Err(missing),
        }
    }

    /// Host to device.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let address = without_window(address);
        let (buffer, offset) = self.range(address, bytes.len() as u64)?;
        if offset == 0 && bytes.len() as u64 == buffer.bytes {
            buffer.written = OnceLock::new();
        }
        let to_word = (offset.next_multiple_of(4) - offset).min(bytes.len() as u64);
        let (head, rest) = bytes.split_at(to_word as usize);
        let (words, tail) = rest.as_chunks::<4>();
        let each_byte =
            |at: u64, bytes: &[u8]| (at..).zip(bytes).for_each(|(at, &b)| buffer.store(at, 1, u64::from(b)));
        each_byte(offset, head);
        let mut at = offset + to_word;
        for word in words {
            buffer.store(at, 4, u64::from(u32::from_le_bytes(*word)));
            at += 4;
        }
        each_byte(at, tail);
        Ok(())
    }

    /// Device to host. Bytes that nothing wrote read as zero.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let address = without_window(address);
        let missing = MemoryError::NoSuchBuffer { address, bytes: bytes.len() as u64 };
        let inside = |(buffer, offset): &(&Buffer, u64)| offset + bytes.len() as u64 <= buffer.bytes;
        let (buffer, offset) = self.buffer(address).filter(inside).ok_or(missing)?;
        for (i, chunk) in bytes.chunks_mut(4).enumerate() {
            let at = offset + 4 * i as u64;
            if at.is_multiple_of(4) && chunk.len() == 4 {
                chunk.copy_from_slice(&(buffer.load(at, 4) as u32).to_le_bytes());
            } else {
                for (j, byte) in chunk.iter_mut().enumerate() {
                    *byte = buffer.load(at + j as u64, 1) as u8;
                }
            }
        }
        Ok(())
    }

    fn range(&mut self, address: u64, bytes: u64) -> Result<(&mut Buffer, u64), MemoryError> {
        let missing = MemoryError::NoSuchBuffer { address, bytes };
        let (slot, offset) = slot_of(address).ok_or(missing.clone())?;
        match self.slots.get_mut(slot) {
            Some(Some(buffer)) if offset + bytes <= buffer.bytes => Ok((buffer, offset)),
            _ => Err(missing),
        }
    }

    /// The buffer whose slot `address` lies in, and the offset there (which may be past its end).
    #[inline(always)]
    pub(crate) fn buffer(&self, address: u64) -> Option<(&Buffer, u64)> {
        let (slot, offset) = slot_of(address)?;
        let buffer = self.slots.get(slot)?.as_ref()?;
        Some((buffer, offset))
    }

    /// The word at a multiple of 4, if a buffer holds all of it.
    #[inline(always)]
    pub(crate) fn word(&self, address: u64) -> Option<u32> {
        let (buffer, offset) = self.buffer(address)?;
        buffer.words.get((offset / 4) as usize).map(|word| word.load(Relaxed))
    }

    /// The addresses of module-scope variables, of which each device has its own, placed and initialised on first use.
    pub(crate) fn place_variables(
        &mut self,
        module: u64,
        device: u32,
        variables: &[ModuleVariable],
    ) -> Result<Vec<u64>, MemoryError> {
        let mut new = Vec::new();
        for variable in variables {
            let key = (module, device, variable.symbol.clone());
            if !self.module_variables.contains_key(&key) {
                let address = self.alloc_on(device, &variable.name, variable.bytes, variable.element_bytes)?;
                self.write(address, &variable.init)?;
                let window = if variable.is_const { CONST_BASE } else { 0 };
                self.module_variables.insert(key, address + window);
                new.push((variable, address));
            }
        }
        // Addresses of variables are known when all have been placed.
        for (variable, address) in new {
            for relocation in &variable.relocations {
                let target = self.module_variables.get(&(module, device, relocation.symbol.clone()));
                let target = target.copied().unwrap_or(0);
                let value = target.wrapping_add_signed(relocation.offset) & relocation.mask;
                let raw = (value >> relocation.mask.trailing_zeros()).to_le_bytes();
                self.write(address + relocation.at, &raw[..usize::from(relocation.bytes)])?;
            }
            // Variables without an initial value are zero.
            if let Ok((buffer, _)) = self.range(address, 0) {
                buffer.written = OnceLock::new();
            }
        }
        let address = |v: &ModuleVariable| self.module_variables.get(&(module, device, v.symbol.clone())).copied();
        Ok(variables.iter().map(|variable| address(variable).unwrap_or(0)).collect())
    }

    /// The address of what cooperative groups find through `%envreg1` and `%envreg2`: its size in bytes and the word that
    /// counts blocks at a grid-wide barrier, as at the start of a launch. Of launches that run together each has its own, by its
    /// place among them.
    pub(crate) fn grid_workspace(&mut self, device: u32, place: usize) -> Result<u64, MemoryError> {
        const BYTES: u32 = 8;
        let address = match self.grid_workspaces.get(&(device, place)) {
            Some(&address) => address,
            None => self.alloc_on(device, "grid_barrier", u64::from(BYTES), 4)?,
        };
        self.grid_workspaces.insert((device, place), address);
        let [a, b, c, d] = BYTES.to_le_bytes();
        self.write(address, &[a, b, c, d, 0, 0, 0, 0])?;
        Ok(address)
    }
}

/// Returns the address of a constant in the buffers; other addresses unchanged.
fn without_window(address: u64) -> u64 {
    if (CONST_BASE..SHARED_BASE).contains(&address) { address - CONST_BASE } else { address }
}

#[inline(always)]
fn slot_of(address: u64) -> Option<(usize, u64)> {
    let slot = (address >> SLOT_BITS).checked_sub(FIRST_SLOT)?;
    (slot < SLOTS_MAX as u64).then_some((slot as usize, address & ((1 << SLOT_BITS) - 1)))
}

impl Buffer {
    /// The `bytes` (1, 2, 4) at a naturally aligned `offset` inside the buffer, zero-extended.
    #[inline(always)]
    pub(crate) fn load(&self, offset: u64, bytes: u32) -> u64 {
        let word = self.words[(offset / 4) as usize].load(Relaxed);
        match bytes {
            4 => u64::from(word),
            8 => u64::from(word) | u64::from(self.words[(offset / 4) as usize + 1].load(Relaxed)) << 32,
            _ => u64::from(word >> (8 * (offset % 4))) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Stores the low `bytes` (1, 2, 4, 8) of `value` at a naturally aligned `offset` inside the buffer.
    #[inline(always)]
    pub(crate) fn store(&self, offset: u64, bytes: u32, value: u64) {
        let index = (offset / 4) as usize;
        self.save_page(index);
        match bytes {
            4 => self.words[index].store(value as u32, Relaxed),
            8 => {
                self.words[index].store(value as u32, Relaxed);
                self.words[index + 1].store((value >> 32) as u32, Relaxed);
            }
            _ => {
                // Two blocks may own bytes of one word: change only these, atomically.
                let shift = 8 * (offset % 4) as u32;
                let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                let bits = ((value as u32) << shift) & ones;
                let _ = self.words[index].fetch_update(Relaxed, Relaxed, |word| Some((word & !ones) | bits));
            }
        }
        if let Some(written) = self.written.get() {
            match bytes {
                4 => written[index].store(0xf, Relaxed),
                8 => {
                    written[index].store(0xf, Relaxed);
                    written[index + 1].store(0xf, Relaxed);
                }
                _ => drop(written[index].fetch_or((((1u32 << bytes) - 1) << (offset % 4)) as u8, Relaxed)),
            }
        }
    }

    /// Its contents, for reading.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// Stores a word for each lane of `mask`, that of lane 0 at word `first`; all 32 lie inside.
    #[inline(always)]
    pub(crate) fn store_row(&self, first: usize, mask: u32, values: &[u32; 32]) {
        self.save_page(first);
        self.save_page(first + 31);
        let row = &self.words[first..first + 32];
        let each = || (0..32).filter(|lane| mask & (1 << lane) != 0);
        each().for_each(|lane: usize| row[lane].store(values[lane], Relaxed));
        if let Some(written) = self.written.get() {
            each().for_each(|lane| written[first + lane].store(0xf, Relaxed));
        }
    }
}

/// Zeroed words straight from the allocator, which hands out untouched pages; `None` when there is no room.
fn zeroed_words(count: usize) -> Option<Vec<AtomicU32>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let layout = std::alloc::Layout::array::<AtomicU32>(count).ok()?;
    // SAFETY: the layout has a size, count > 0.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<AtomicU32>();
    // SAFETY: the allocation has exactly this layout, and all-zero bytes are `count` valid AtomicU32s.
    (!pointer.is_null()).then(|| unsafe { Vec::from_raw_parts(pointer, count, count) })
}

/// Zeroed bytes, likewise.
fn zeroed_bytes(count: usize) -> Option<Vec<AtomicU8>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let layout = std::alloc::Layout::array::<AtomicU8>(count).ok()?;
    // SAFETY: the layout has a size, count > 0.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<AtomicU8>();
    // SAFETY: the allocation has exactly this layout, and all-zero bytes are `count` valid AtomicU8s.
    (!pointer.is_null()).then(|| unsafe { Vec::from_raw_parts(pointer, count, count) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Relocation;

    #[test]
    fn what_is_written_is_read_at_any_alignment() {
        let mut memory = Memory::new();
        let at = memory.alloc("bytes", 13, 1).unwrap();
        for start in 0..5u64 {
            let sent: Vec<u8> = (0..8).map(|i| i as u8 * 17 + start as u8).collect();
            memory.write(at + start, &sent).unwrap();
            let mut back = [0; 8];
            memory.read(at + start, &mut back).unwrap();
            assert_eq!(sent, back);
        }
        assert!(memory.write(at + 6, &[0; 8]).is_err());
        assert!(memory.read(at + 13, &mut [0]).is_err());
        memory.free(at).unwrap();
        assert!(memory.free(at).is_err());
    }

    #[test]
    fn a_roll_back_restores_values_and_what_was_written() {
        let mut memory = Memory::new();
        let at = memory.alloc("x", 16, 4).unwrap();
        memory.write(at, &7u32.to_le_bytes()).unwrap();
        // Once, and again by a later launch.
        for _ in 0..2 {
            memory.begin_journal();
            memory.buffer(at).unwrap().0.store(0, 4, 9);
            memory.buffer(at).unwrap().0.store(4, 4, 9);
            memory.roll_back();
        }
        let (buffer, _) = memory.buffer(at).unwrap();
        assert_eq!(buffer.load(0, 4), 7);
        assert!(buffer.is_written(0, 4) && !buffer.is_written(4, 4));
    }

    #[test]
    fn addresses_come_back_late_and_keep_clear_of_others() {
        let mut memory = Memory::new();
        let first = memory.alloc("x", 4, 4).unwrap();
        memory.free(first).unwrap();
        let second = memory.alloc("x", 4, 4).unwrap();
        assert_ne!(first, second, "a stale address is no new buffer's");
        let mut highest = 0;
        for _ in 0..10_000 {
            let at = memory.alloc("x", 4, 4).unwrap();
            highest = highest.max(at);
            memory.free(at).unwrap();
        }
        assert!(highest < 1 << 46 && memory.read(second, &mut [0; 4]).is_ok());
        assert!(memory.free(highest).is_err(), "nothing is there any more");

        let host = 0x5500_0000_0000..0x8000_0000_0000;
        let mut memory = Memory::new();
        memory.keep_clear(host.clone());
        memory.keep_clear(0..0);
        let held: Vec<u64> = (0..3000).map(|_| memory.alloc("x", 1, 1).unwrap()).collect();
        assert!(held.iter().all(|at| !host.contains(at)) && held.iter().any(|&at| at >= host.end));
        memory.keep_clear(held[0]..held[0] + 1);
        held.iter().for_each(|&at| memory.free(at).unwrap());
        let again: Vec<u64> = (0..2999).map(|_| memory.alloc("x", 1, 1).unwrap()).collect();
        assert!(!again.contains(&held[0]) && again.iter().all(|at| held.contains(at)));
    }

    #[test]
    fn variables_may_hold_each_others_addresses() {
        let variable = |symbol: &str, of: &str, at, offset, bytes, mask| ModuleVariable {
            name: symbol.to_owned(),
            symbol: symbol.to_owned(),
            bytes: 16,
            init: vec![1],
            relocations: vec![Relocation { at, bytes, symbol: of.to_owned(), offset, mask }],
            element_bytes: 8,
            is_const: false,
        };
        let (a, b) = (variable("a", "b", 8, -4, 8, u64::MAX), variable("b", "a", 3, 0, 1, 0xff << 32));
        let mut memory = Memory::new();
        let placed = memory.place_variables(7, 0, &[a.clone(), b.clone()]).unwrap();
        let mut bytes = [0; 16];
        memory.read(placed[0], &mut bytes).unwrap();
        assert_eq!(bytes[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[8..], (placed[1] - 4).to_le_bytes());
        memory.read(placed[1], &mut bytes).unwrap();
        assert_eq!(bytes[3], (placed[0] >> 32) as u8);
        assert_eq!(
            memory.place_variables(7, 0, &[b.clone(), a.clone()]).unwrap(),
            [placed[1], placed[0]],
            "once a module"
        );
        assert!(!placed.contains(&memory.place_variables(7, 1, &[a, b]).unwrap()[0]), "and once a device");
    }

    #[test]
    fn too_large_is_an_error() {
        assert!(Memory::new().alloc("huge", 1 << 40, 4).is_err());
        let mut memory = Memory::with_limit(100);
        let first = memory.alloc("first", 60, 4).unwrap();
        assert!(memory.alloc("second", 60, 4).is_err());
        memory.free(first).unwrap();
        assert!(memory.alloc("second", 60, 4).is_ok());
    }
}
