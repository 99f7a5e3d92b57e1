//! Find a bug: two threads at one word without a barrier between them, and both places in the report.
//!
//! `cargo run -p simt --example 03-find`

use simt::{Arg, Check, Checks, Code, Launch, Memory, Options, Program, report};

/// Each thread leaves its number for the thread of the next warp, which does not wait for it.
const HANDED_ON: &str = "
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry handed_on(.param .u64 out)
    {
        .reg .b32 %i, %at, %v;
        .reg .b64 %out, %bytes;
        .shared .align 4 .b32 room[64];
        mov.u32 %i, %tid.x;
        mov.u32 %at, room;
        mad.lo.u32 %at, %i, 4, %at;
        st.shared.u32 [%at], %i;
        xor.b32 %v, %i, 32;
        mov.u32 %at, room;
        mad.lo.u32 %at, %v, 4, %at;
        ld.shared.u32 %v, [%at];
        ld.param.u64 %out, [out];
        mul.wide.u32 %bytes, %i, 4;
        add.s64 %out, %out, %bytes;
        st.global.u32 [%out], %v;
        ret;
    }";

#[allow(missing_docs, reason = "an example's")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = Program::load("handed_on.ptx", HANDED_ON)?.kernel("handed_on")?;
    let mut memory = Memory::new();
    let out = memory.alloc("out", 4 * 64, 4)?;
    let launch = Launch { block: [64, 1, 1], args: vec![Arg::Address(out)], ..Launch::default() };
    // Every check is on unless one asks for some; what is off costs nothing.
    let options = Options { checks: Checks::NONE.with(Check::SharedRace), ..Options::default() };
    let outcome = simt::run(&kernel, &mut memory, &launch, &options)?;

    let fault = &outcome.faults[0];
    assert_eq!(fault.code, Code::SharedRace);
    let source = |name: &str| (name == "handed_on.ptx").then(|| HANDED_ON.to_owned());
    println!("{}", report::render(fault, &source));
    Ok(())
}
