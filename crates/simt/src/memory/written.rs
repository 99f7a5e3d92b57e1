//! Bytes that were written: by the host, or by a kernel since.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, OnceLock, PoisonError};

use super::{Buffer, Memory, zeroed_bytes};

impl Memory {
    pub(super) fn unwritten(&self) -> MutexGuard<'_, HashSet<usize>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a kernel's store at `address` as a copy of an uninitialised value: see [`Buffer::is_known`]. Returns false if nothing
    /// there can be marked.
    pub(crate) fn unwrite(&self, address: u64, bytes: u32) -> bool {
        let Some((buffer, offset)) = self.holding(address, u64::from(bytes)) else { return false };
        if buffer.is_all_written() {
            self.unwritten().insert(buffer.slot);
        }
        buffer.unwrite(offset, bytes)
    }

    /// A launch will run without noting what it writes: from here on everything counts as written.
    pub(crate) fn forget_unwritten(&mut self) {
        let slots = std::mem::take(&mut *self.unwritten());
        for slot in slots {
            if let Some(Some(buffer)) = self.slots.get_mut(slot) {
                buffer.written = OnceLock::new();
            }
        }
    }
}

impl Buffer {
    /// From here on nothing has written these bytes.
    pub(super) fn forget(&self, offset: u64, bytes: u64) {
        let Some(written) = self.written.get() else { return };
        for index in (offset / 4) as usize..(offset + bytes).div_ceil(4) as usize {
            if written[index].load(Relaxed) != 0 {
                self.save_page(index);
                written[index].store(0, Relaxed);
            }
        }
    }

    /// Returns whether all `bytes` (1, 2, 4, 8) at `offset` were written.
    #[inline(always)]
    pub(crate) fn is_written(&self, offset: u64, bytes: u32) -> bool {
        let Some(written) = self.written.get() else { return true };
        let index = (offset / 4) as usize;
        match bytes {
            4 => written[index].load(Relaxed) & 0xf == 0xf,
            8 => written[index].load(Relaxed) & written[index + 1].load(Relaxed) & 0xf == 0xf,
            _ => {
                let mask = (((1u32 << bytes) - 1) << (offset % 4)) as u8;
                written[index].load(Relaxed) & mask == mask
            }
        }
    }

    /// Returns whether these `bytes` (1, 2, 4, 8) count as initialised: all of them were written, or some, and a copy brought
    /// the holes between them.
    pub(crate) fn is_known(&self, offset: u64, bytes: u32) -> bool {
        let Some(written) = self.written.get() else { return true };
        let of = |byte: u64| written[(byte / 4) as usize].load(Relaxed) >> (byte % 4) & 0x11;
        let mut all = offset..offset + u64::from(bytes);
        all.clone().all(|byte| of(byte) != 0) && all.any(|byte| of(byte) & 1 != 0)
    }

    /// Returns whether any of the `bytes` from `offset` on was written; what lies past the end was not.
    pub(crate) fn is_touched(&self, offset: u64, bytes: u64) -> bool {
        let Some(written) = self.written.get() else { return true };
        let is_written = |byte: u64| written[(byte / 4) as usize].load(Relaxed) >> (byte % 4) & 1 != 0;
        (offset..(offset + bytes).min(4 * written.len() as u64)).any(is_written)
    }

    /// Marks these bytes as unwritten again, after a copy of an uninitialised value. The first call ever allocates room for the
    /// marks; returns false if there is none.
    fn unwrite(&self, offset: u64, bytes: u32) -> bool {
        if self.written.get().is_none() {
            let Some(all) = zeroed_bytes(self.words.len()) else { return false };
            all.iter().for_each(|word| word.store(0xf, Relaxed));
            // A second thread finds what the first has put there, which is the same.
            let _ = self.written.set(all);
        }
        let Some(written) = self.written.get() else { return false };
        for byte in offset..offset + u64::from(bytes) {
            let index = (byte / 4) as usize;
            self.save_page(index);
            written[index].fetch_or(0x10 << (byte % 4), Relaxed);
            written[index].fetch_and(!(1 << (byte % 4)), Relaxed);
        }
        true
    }

    /// True when every byte is known to be written: no need to ask.
    #[inline(always)]
    pub(crate) fn is_all_written(&self) -> bool {
        self.written.get().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_nothing_counts_as_unwritten_until_it_is_undone_or_written_over() {
        let mut memory = Memory::new();
        let at = memory.alloc("x", 16, 4).unwrap();
        memory.write(at, &[7; 16]).unwrap();
        memory.begin_journal();
        assert!(memory.unwrite(at + 4, 4) && !memory.unwrite(at + 16, 4));
        let known = |memory: &Memory, offset, bytes| memory.buffer(at).unwrap().0.is_known(offset, bytes);
        assert!(!known(&memory, 4, 4) && known(&memory, 0, 8), "beside what was written it is a hole");
        memory.buffer(at).unwrap().0.store(5, 1, 1);
        assert!(known(&memory, 4, 4));
        memory.roll_back();
        assert!(memory.buffer(at).unwrap().0.is_written(4, 4));
        assert!(memory.unwrite(at, 1) && !known(&memory, 0, 1));
        memory.forget_unwritten();
        assert!(memory.buffer(at).unwrap().0.is_all_written());
    }
}
