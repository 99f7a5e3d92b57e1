//! Run a kernel: PTX in, memory before, memory after.
//!
//! `cargo run -p simt --example 01-run`

use simt::{Arg, Launch, Memory, Options, Program};

/// `out[i] = a * x[i]`, one element a thread.
const SCALE: &str = "
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry scale(.param .f32 a, .param .u64 x, .param .u64 out)
    {
        .reg .b32 %i;
        .reg .f32 %a, %v;
        .reg .b64 %x, %out, %bytes;
        mov.u32 %i, %tid.x;
        mul.wide.u32 %bytes, %i, 4;
        ld.param.f32 %a, [a];
        ld.param.u64 %x, [x];
        ld.param.u64 %out, [out];
        add.s64 %x, %x, %bytes;
        add.s64 %out, %out, %bytes;
        ld.global.f32 %v, [%x];
        mul.f32 %v, %v, %a;
        st.global.f32 [%out], %v;
        ret;
    }";

#[allow(missing_docs, reason = "an example's")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What cudaModuleLoad does, and what the driver's compiler does with it.
    let kernel = Program::load("scale.ptx", SCALE)?.kernel("scale")?;

    // cudaMalloc and cudaMemcpy. The name and the size of an element are for reports.
    let mut memory = Memory::new();
    let x = memory.alloc("x", 4 * 64, 4)?;
    let out = memory.alloc("out", 4 * 64, 4)?;
    let values: Vec<u8> = (0..64).flat_map(|i| (i as f32).to_le_bytes()).collect();
    memory.write(x, &values)?;

    // scale<<<1, 64>>>(0.5f, x, out)
    let args = vec![Arg::F32(0.5), Arg::Address(x), Arg::Address(out)];
    let launch = Launch { block: [64, 1, 1], args, ..Launch::default() };
    let outcome = simt::run(&kernel, &mut memory, &launch, &Options::default())?;
    assert!(outcome.faults.is_empty());

    let mut last = [0; 4];
    memory.read(out + 4 * 63, &mut last)?;
    println!("out[63] = {}", f32::from_le_bytes(last));
    assert_eq!(f32::from_le_bytes(last), 31.5);
    Ok(())
}
