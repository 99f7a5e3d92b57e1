//! Look for a result that depends on the order of warps: one launch under many seeds.
//!
//! `cargo run -p simt --example 04-schedules`

use std::collections::BTreeMap;

use simt::{Arg, Launch, Memory, Options, Program, Schedule};

/// The last warp to come leaves its number.
const LAST: &str = "
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry last(.param .u64 out)
    {
        .reg .b32 %warp, %old;
        .reg .b64 %out;
        mov.u32 %warp, %tid.x;
        shr.u32 %warp, %warp, 5;
        ld.param.u64 %out, [out];
        atom.global.exch.b32 %old, [%out], %warp;
        ret;
    }";

#[allow(missing_docs, reason = "an example's")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = Program::load("last.ptx", LAST)?.kernel("last")?;
    let mut results = BTreeMap::new();
    for seed in 0..40 {
        let mut memory = Memory::new();
        let out = memory.alloc("out", 4, 4)?;
        let launch = Launch { block: [128, 1, 1], args: vec![Arg::Address(out)], ..Launch::default() };
        // The same seed gives the same run, on any machine and with any number of host threads.
        let options = Options { schedule: Schedule::Independent { seed: Some(seed) }, ..Options::default() };
        simt::run(&kernel, &mut memory, &launch, &options)?;
        let mut left = [0; 4];
        memory.read(out, &mut left)?;
        *results.entry(u32::from_le_bytes(left)).or_insert(0) += 1;
    }
    results.iter().for_each(|(warp, seeds)| println!("warp {warp} came last under {seeds} seeds"));
    assert!(results.len() > 1);
    Ok(())
}
