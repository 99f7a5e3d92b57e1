//! A sum inside a captured graph, which is replayed over new data.

use cudarc::driver::{CudaContext, sys};
use reduction::{Layout, Op, Reducer, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let context = CudaContext::new(0)?;
    // cudarc orders accesses of several streams by events, which a capture does not know.
    // SAFETY: all work is on one stream, which orders it.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let reducer = Reducer::new(&context)?;
    let n = 1 << 20;
    let mut input = stream.clone_htod(&vec![1i32; n])?;
    let mut sum = stream.alloc_zeros::<i32>(1)?;

    // Kernels are loaded and memory is reserved before the capture; within it memory cannot be had.
    let plan = reducer.plan(Op::Sum, Type::I32, n as u64, Layout::Array)?;
    let mut workspace = reducer.workspace(&stream)?;
    workspace.reserve(plan.reduction())?;

    // ANCHOR: capture
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let enqueued = plan.call(&mut workspace).input(&input).out(&mut sum).run();
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags)?.ok_or("nothing was captured")?;
    enqueued?;
    // ANCHOR_END: capture

    for value in [1, 2, 3] {
        stream.memcpy_htod(&vec![value; n], &mut input)?;
        graph.launch()?;
        println!("{:?}", stream.clone_dtoh(&sum)?);
    }
    Ok(())
}
