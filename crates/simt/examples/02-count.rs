//! Count what an access costs: the same copy with neighbouring threads at neighbouring words, and 32 words apart.
//!
//! `cargo run -p simt --example 02-count`

use simt::counters::METRICS;
use simt::{Arg, Counters, Launch, Memory, Options, Program};

/// Each of 32 threads loads the word at `stride` times its number.
const STRIDED: &str = "
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry strided(.param .u64 x, .param .u32 stride)
    {
        .reg .b32 %i, %stride, %v;
        .reg .b64 %x, %bytes;
        mov.u32 %i, %tid.x;
        ld.param.u32 %stride, [stride];
        mul.lo.u32 %i, %i, %stride;
        mul.wide.u32 %bytes, %i, 4;
        ld.param.u64 %x, [x];
        add.s64 %x, %x, %bytes;
        ld.global.u32 %v, [%x];
        ret;
    }";

#[allow(missing_docs, reason = "an example's")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = Program::load("strided.ptx", STRIDED)?.kernel("strided")?;
    let mut memory = Memory::new();
    let x = memory.alloc("x", 4 * 1024, 4)?;
    memory.write(x, &[0; 4 * 1024])?;
    let mut counters = |stride: u32| -> Result<Counters, simt::LaunchError> {
        let launch = Launch { block: [32, 1, 1], args: vec![Arg::Address(x), stride.into()], ..Launch::default() };
        Ok(simt::run(&kernel, &mut memory, &launch, &Options::default())?.counters)
    };
    let (near, far) = (counters(1)?, counters(32)?);

    // The names are Nsight Compute's; `ptx_` marks what is counted on PTX and may differ in machine code.
    for metric in METRICS.iter().filter(|metric| (metric.value)(&far) != 0.0) {
        println!("{:>6} {:>6}  {}", metric.display(&near), metric.display(&far), metric.key);
    }
    assert_eq!((near.global_ld_sectors, far.global_ld_sectors), (4, 32));
    Ok(())
}
