//! Whatever the text, parsing it ends with a tree or an error, and the tree can be printed.

#![no_main]

// The other target uses the rest of it.
#[allow(dead_code)]
#[path = "../../crates/simt/tests/mutations/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    harness::parse(&String::from_utf8_lossy(bytes));
});
