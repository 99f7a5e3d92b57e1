//! Whatever the text, parsing it ends with a tree or an error, and the tree can be printed.

#![no_main]

use reduction_course_fuzz::{change, count, harness};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    count(harness::parse(&String::from_utf8_lossy(bytes)));
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    change(data, size, max_size, seed)
});
