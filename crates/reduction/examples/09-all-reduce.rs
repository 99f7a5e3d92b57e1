//! A sum over all GPUs of this machine: each has an array, and each gets the sum of all, element by element.

use cudarc::driver::{CudaContext, CudaSlice};
use reduction::{Op, Ranks, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let mut streams = Vec::new();
    for device in 0..CudaContext::device_count()?.min(8) {
        streams.push(CudaContext::new(device as usize)?.new_stream()?);
    }

    // Once for the longest arrays: it lets the devices reach each other's memory, loads kernels, and allocates.
    // ANCHOR: calls
    let mut ranks = Ranks::new(Op::Sum, Type::F32, 1 << 20, &streams)?;

    let mut gradients: Vec<CudaSlice<f32>> = Vec::new();
    for stream in &streams {
        gradients.push(stream.clone_htod(&vec![0.5; 20_003])?);
    }
    // `None`: by the route that should be the fastest. It neither
    // allocates nor waits.
    ranks.all_reduce_in_place(None, &mut gradients.iter_mut().collect::<Vec<_>>())?;
    // ANCHOR_END: calls

    for (stream, sums) in streams.iter().zip(&gradients) {
        println!("{:?}", &stream.clone_dtoh(sums)?[..3]);
    }
    Ok(())
}
