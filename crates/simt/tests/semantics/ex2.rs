//! `ex2.approx.ftz.f32` against a card, for all fractions of a source: `scripts/approximations.cu` adds up results, and so does
//! `ex2-sums.ptx` on the simulator.

use serde_json::Value;
use simt::{Arg, Checks, Launch, Memory, Options, Program, run};

use super::folder;

/// Upper nine bits of sources, sign and exponent: from where all powers are 1 to where all are 0 or infinite. With
/// `EVERY_POWER=1` in the environment all 512 are tried, in a minute.
const UPPER: [u32; 9] = [0, 103, 104, 126, 127, 133, 134, 256 + 125, 256 + 128];

/// Sums of as many blocks, from this one on.
fn sums(program: &Program, first: u32, blocks: u32) -> Vec<u64> {
    let mut memory = Memory::new();
    let bytes = u64::from(blocks) * 8;
    let out = memory.alloc("out", bytes, 8).expect("room for the sums");
    memory.write(out, &vec![0; bytes as usize]).expect("the buffer was made for them");
    let kernel = program.kernel("sums").unwrap_or_else(|error| panic!("{error}"));
    let args = vec![Arg::Address(out), Arg::U32(first)];
    let launch = Launch { grid: [blocks, 1, 1], block: [1024, 1, 1], args, ..Launch::default() };
    let options = Options { checks: Checks::NONE, ..Options::default() };
    let outcome = run(&kernel, &mut memory, &launch, &options).expect("a good launch");
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    let mut bytes = vec![0; bytes as usize];
    memory.read(out, &mut bytes).expect("the buffer is there");
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

#[test]
fn a_power_of_2_is_what_a_card_gave_for_every_fraction() {
    let text = std::fs::read_to_string(folder().join("ex2-sums.h200.json")).expect("the record");
    let record: Value = serde_json::from_str(&text).expect("a record is JSON");
    let recorded = |upper: u32| {
        let digits = record["sums"][upper as usize].as_str().expect("digits");
        u64::from_str_radix(digits, 16).expect("a sum")
    };
    let program = Program::load("ex2-sums.ptx", include_str!("ex2-sums.ptx")).expect("it is PTX");
    if std::env::var_os("EVERY_POWER").is_some() {
        let recorded: Vec<u64> = (0..512).map(recorded).collect();
        assert_eq!(sums(&program, 0, 512), recorded);
    }
    for upper in UPPER {
        assert_eq!(sums(&program, upper, 1), [recorded(upper)], "sources whose upper nine bits are {upper:#x}");
    }
}
