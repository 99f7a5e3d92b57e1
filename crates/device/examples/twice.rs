//! The page "Your first kernel" in Rust: every number doubled on the GPU, through cudarc alone. It needs a GPU.
//!
//! `cargo run --release -p device --example twice`

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;

/// PTX of `twice.cu` by NVRTC.
const PTX: &str = include_str!("../../../book/src/first-kernel/twice.ptx");

// ANCHOR: page
fn main() -> Result<(), DriverError> {
    // SAFETY: this only looks for the driver's library, which cudarc loads when it is first called.
    if !unsafe { sys::is_culib_present() } {
        eprintln!("error: no NVIDIA driver on this machine: `cargo course run` runs the same kernel on the simulator");
        std::process::exit(1);
    }
    let n = 1000;
    let numbers: Vec<i32> = (0..n).collect();

    let gpu = CudaContext::new(0)?;
    let stream = gpu.default_stream();
    let twice = gpu.load_module(Ptx::from_src(PTX))?.load_function("twice")?;
    let input = stream.clone_htod(&numbers)?;
    let mut output = stream.alloc_zeros::<i32>(n as usize)?;

    let block = 256;
    let grid = (n as u32).div_ceil(block);
    let config = LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (block, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel takes two arrays and n, and its guard keeps it inside of both.
    unsafe { stream.launch_builder(&twice).arg(&input).arg(&mut output).arg(&n).launch(config)? };

    let doubled = stream.clone_dtoh(&output)?;
    println!("{} {} ... {}", doubled[0], doubled[1], doubled[n as usize - 1]);
    Ok(())
}
// ANCHOR_END: page
