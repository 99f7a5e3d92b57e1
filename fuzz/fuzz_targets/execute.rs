//! Whatever the text, running its kernels with bounded steps and memory ends with an outcome or an error. How they are
//! launched follows from the text, so that an input repeats what it did.

#![no_main]

// The other target uses the rest of it.
#[allow(dead_code)]
#[path = "../../crates/simt/tests/mutations/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The 64-bit FNV-1a hash.
    let choice = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    harness::execute(&String::from_utf8_lossy(bytes), choice ^ choice >> 32);
});
