//! The sum of a `CudaSlice`, on a stream of the program's own.

use cudarc::driver::CudaContext;
use reduction::{Layout, Op, Reducer, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let input = stream.clone_htod(&vec![0.5f32; 20_003])?;
    let mut sum = stream.alloc_zeros::<f32>(1)?;

    // Once for a context, a stream, and a shape.
    let reducer = Reducer::new(&context)?;
    let mut workspace = reducer.workspace(&stream)?;
    let plan = reducer.plan(Op::Sum, Type::F32, input.len() as u64, Layout::Array)?;
    workspace.reserve(plan.reduction())?;

    // As often as the data changes: it neither allocates nor waits, and the sum stays on the device.
    plan.call(&mut workspace).input(&input).out(&mut sum).run()?;

    println!("{:?}", stream.clone_dtoh(&sum)?);
    Ok(())
}
