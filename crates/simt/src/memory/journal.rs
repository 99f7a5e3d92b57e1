//! Pages that a launch changed, so that it can be undone.
//!
//! A launch pays for the pages that it writes and for nothing else: a page is known to be kept by the number of the launch that kept
//! it, so that no launch looks at memory that it does not touch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use super::{Buffer, Memory, PAGE_WORDS};

/// The pages that a launch changed, as they were before it; all buffers of a memory share it.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The number of the launch that keeps pages, from 1; 0 while none does.
    launch: AtomicU32,
    saved: Mutex<Vec<Page>>,
}

#[derive(Debug)]
struct Page {
    slot: usize,
    first_word: usize,
    words: Vec<u32>,
    written: Vec<u8>,
}

impl Memory {
    /// From here on changed pages are kept as they were.
    pub(crate) fn begin_journal(&mut self) {
        self.heap_before = self.heap_slot.map(|_| self.heap().clone());
        self.launches += 1;
        if self.launches == u32::MAX / 2 {
            // Numbers begin anew, and what earlier ones left must not look like theirs.
            self.launches = 1;
            self.slots.iter().flatten().flat_map(|buffer| &buffer.pages).for_each(|page| page.store(0, Relaxed));
        }
        self.journal.launch.store(self.launches, Relaxed);
    }

    /// The pages that were kept since `begin_journal`; no more are.
    fn end_journal(&mut self) -> Vec<Page> {
        self.journal.launch.store(0, Relaxed);
        std::mem::take(&mut *self.journal.saved.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Keeps what was written since `begin_journal`.
    pub(crate) fn commit_journal(&mut self) {
        self.end_journal();
    }

    /// Undoes what was written since `begin_journal`.
    pub(crate) fn roll_back(&mut self) {
        if let Some(before) = self.heap_before.take() {
            *self.heap() = before;
        }
        for page in self.end_journal() {
            let Some(Some(buffer)) = self.slots.get(page.slot) else { continue };
            for (word, old) in buffer.words[page.first_word..].iter().zip(&page.words) {
                word.store(*old, Relaxed);
            }
            let Some(written) = buffer.written.get() else { continue };
            for (at, mask) in written[page.first_word..][..page.words.len()].iter().enumerate() {
                // A buffer that was written throughout had nothing to keep.
                mask.store(page.written.get(at).copied().unwrap_or(0xf), Relaxed);
            }
        }
    }
}

impl Buffer {
    /// Keeps the page of word `index` as it was, once a launch.
    #[inline(always)]
    pub(super) fn save_page(&self, index: usize) {
        let launch = self.journal.launch.load(Relaxed);
        let page = index / PAGE_WORDS;
        if launch != 0 && self.pages[page].load(Acquire) != 2 * launch + 1 {
            self.keep_page(page, launch);
        }
    }

    #[cold]
    fn keep_page(&self, page: usize, launch: u32) {
        let (state, being_saved, saved) = (&self.pages[page], 2 * launch, 2 * launch + 1);
        let seen = state.load(Acquire);
        let is_taken = seen == being_saved || seen == saved;
        if is_taken || state.compare_exchange(seen, being_saved, Acquire, Acquire).is_err() {
            // Another thread saves it, or has.
            while state.load(Acquire) != saved {
                std::hint::spin_loop();
            }
            return;
        }
        let first_word = page * PAGE_WORDS;
        let end = (first_word + PAGE_WORDS).min(self.words.len());
        let words = self.words[first_word..end].iter().map(|w| w.load(Relaxed)).collect();
        let written =
            self.written.get().into_iter().flat_map(|w| &w[first_word..end]).map(|w| w.load(Relaxed)).collect();
        let page = Page { slot: self.slot, first_word, words, written };
        self.journal.saved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(page);
        state.store(saved, Release);
    }
}
