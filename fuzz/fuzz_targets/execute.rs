//! Whatever the text, running its kernels with bounded steps and memory ends with an outcome or an error. How they are
//! launched follows from the text, so that an input repeats what it did.

#![no_main]

use libfuzzer_sys::Corpus;
use reduction_course_fuzz::harness::{self, Reached};
use reduction_course_fuzz::{change, count};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> Corpus {
    let reached = harness::execute(&String::from_utf8_lossy(bytes), harness::choice(bytes));
    count(reached);
    // What is no PTX teaches the parser's target something, and this one only how to make more of it.
    if reached == Reached::Nothing { Corpus::Reject } else { Corpus::Keep }
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    change(data, size, max_size, seed)
});
