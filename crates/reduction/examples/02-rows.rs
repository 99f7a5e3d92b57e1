//! The largest element of each row of a matrix, and where it is; then the sums of its columns.

use cudarc::driver::CudaContext;
use reduction::{FoundInRow, Layout, Matrix, Op, Reducer, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let reducer = Reducer::new(&context)?;
    let mut workspace = reducer.workspace(&stream)?;

    // Three rows of 1,000, which begin 1,024 elements apart.
    let matrix = Matrix { rows: 3, cols: 1000, pitch: 1024 };
    let elements: Vec<f32> = (0..3 * 1024).map(|i| ((i * 37) % 1001) as f32).collect();
    let input = stream.clone_htod(&elements)?;

    let largest = reducer.plan(Op::Argmax, Type::F32, 0, Layout::Rows(matrix))?;
    workspace.reserve(largest.reduction())?;
    // SAFETY: every result is written before it is read.
    let mut found = unsafe { stream.alloc::<FoundInRow<f32>>(3) }?;
    largest.call(&mut workspace).input(&input).out(&mut found).run()?;

    let sums = reducer.plan(Op::Sum, Type::F32, 0, Layout::Columns(matrix))?;
    workspace.reserve(sums.reduction())?;
    let mut of_columns = stream.alloc_zeros::<f32>(1000)?;
    sums.call(&mut workspace).input(&input).out(&mut of_columns).run()?;

    println!("{:?}", stream.clone_dtoh(&found)?);
    println!("{:?}", &stream.clone_dtoh(&of_columns)?[..4]);
    Ok(())
}
