//! What both fuzz targets share: the harness and the changes to texts of the simulator's test `mutations`, a cap on the
//! heap, and a line now and then on how far the texts came.

pub use simt_fixtures::harness;

use std::alloc::System;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cap::Cap;
use simt_fixtures::harness::Reached;
use simt_fixtures::mutate::{self, Bits};

/// Most bytes of the heap that are in use at any moment. An allocation beyond them fails, which ends the process.
const HEAP_BYTES: usize = 256 << 20;
/// Executions from one line on how far they came to the next.
const EXECUTIONS_PER_LINE: u64 = 500_000;
/// Texts seen lately, whose lines may come into another.
const TEXTS: usize = 64;
/// Changes tried until one fits.
const TRIES: usize = 4;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, HEAP_BYTES);

static REACHED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Counts an execution.
pub fn count(reached: Reached) {
    REACHED[reached as usize].fetch_add(1, Relaxed);
    let [nothing, parsed, launched] = REACHED.each_ref().map(|count| count.load(Relaxed));
    let all = nothing + parsed + launched;
    if all.is_multiple_of(EXECUTIONS_PER_LINE) {
        let peak = HEAP.max_allocated() >> 20;
        eprintln!("{all} texts: {nothing} no PTX, {parsed} PTX, {launched} launched; at most {peak} MiB of heap");
    }
}

/// `data[..size]` changed as `seed` says, at most `size_max` bytes: mostly by words and lines, which often leaves PTX,
/// else by bytes.
pub fn change(data: &mut [u8], size: usize, size_max: usize, seed: u32) -> usize {
    static LATELY: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut bits = Bits::of(seed.into());
    if bits.next().is_multiple_of(8) {
        return libfuzzer_sys::fuzzer_mutate(data, size, size_max);
    }
    let text = String::from_utf8_lossy(&data[..size]).into_owned();
    let mut lately = LATELY.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut tries = std::iter::repeat_with(|| mutate::changed(text.clone(), &lately, &mut bits)).take(TRIES);
    let Some(changed) = tries.find(|changed| changed.len() <= size_max) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, size_max);
    };
    if lately.len() < TEXTS {
        lately.push(text);
    } else {
        lately[bits.next() as usize % TEXTS] = text;
    }
    data[..changed.len()].copy_from_slice(changed.as_bytes());
    changed.len()
}
