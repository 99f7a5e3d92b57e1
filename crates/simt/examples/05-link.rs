//! Several PTX files, a variable of theirs, a structure by value, and the address of a function in it.
//!
//! `cargo run -p simt --example 05-link`

use simt::{Arg, Launch, Memory, Options, Program};

/// Calls what it is given, with a number that another file defines.
const CALLER: &str = "
    .version 8.0
    .target sm_80
    .address_size 64
    .extern .global .align 4 .u32 number;
    .visible .entry apply(.param .align 8 .b8 job[16])
    {
        .reg .b32 %x;
        .reg .b64 %f, %out;
        .param .b32 given, taken;
        ld.param.u64 %f, [job];
        ld.param.u64 %out, [job+8];
        ld.global.u32 %x, [number];
        st.param.b32 [given], %x;
        shape: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (taken), %f, (given), shape;
        ld.param.b32 %x, [taken];
        st.global.u32 [%out], %x;
        ret;
    }";

const LIBRARY: &str = "
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .global .align 4 .u32 number = 20;
    .visible .func (.param .b32 result) twice(.param .b32 x)
    {
        .reg .b32 %x;
        ld.param.b32 %x, [x];
        shl.b32 %x, %x, 1;
        st.param.b32 [result], %x;
        ret;
    }";

#[allow(missing_docs, reason = "an example's")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::link(&[("caller.ptx", CALLER), ("library.ptx", LIBRARY)])?;
    // No instruction takes the address of `twice`: that it may be called, the host has to say.
    let kernel = program.kernel_with("apply", &["twice"])?;
    let mut memory = Memory::new();
    let out = memory.alloc("out", 4, 4)?;
    let number = program.variable_address(&mut memory, "number")?;
    memory.write(number, &21_u32.to_le_bytes())?;

    let job = [program.function_address("twice")?, out].map(u64::to_le_bytes).concat();
    let launch = Launch { args: vec![Arg::Bytes(job)], ..Launch::default() };
    let outcome = simt::run(&kernel, &mut memory, &launch, &Options::default())?;
    assert!(outcome.faults.is_empty());
    let mut left = [0; 4];
    memory.read(out, &mut left)?;
    println!("twice(21) = {}", u32::from_le_bytes(left));
    assert_eq!(u32::from_le_bytes(left), 42);
    Ok(())
}
