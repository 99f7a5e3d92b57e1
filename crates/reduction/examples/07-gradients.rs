//! The norm of all gradients of a model, each an array of its own, in one launch.

use cudarc::driver::{CudaContext, CudaSlice};
use reduction::{Op, Reducer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let reducer = Reducer::new(&context)?;
    let mut workspace = reducer.workspace(&stream)?;

    let gradient = |len: usize| stream.clone_htod(&vec![0.5f32; len]);
    let gradients: Vec<CudaSlice<f32>> =
        [1 << 20, 1000, 1000, 0, 77].map(gradient).into_iter().collect::<Result<_, _>>()?;
    let gradients: Vec<&CudaSlice<f32>> = gradients.iter().collect();

    // ANCHOR: gather
    // Once, as long as they stay where they are.
    let all = reducer.gather(&stream, Op::L2Norm, &gradients)?;
    workspace.reserve(all.prepared().reduction())?;
    let mut norm = stream.alloc_zeros::<f32>(1)?;

    all.call(&mut workspace, &gradients).out(&mut norm).run()?;
    // ANCHOR_END: gather
    println!("{}", stream.clone_dtoh(&norm)?[0]);
    Ok(())
}
