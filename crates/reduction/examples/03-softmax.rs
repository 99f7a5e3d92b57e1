//! Softmax of bf16 rows in place, and the norm of the results.

use cudarc::driver::CudaContext;
use half::bf16;
use reduction::{Layout, Matrix, Op, Reducer, Role, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let reducer = Reducer::new(&context)?;
    let mut workspace = reducer.workspace(&stream)?;

    let (rows, cols) = (64, 4096);
    let layout = Layout::Rows(Matrix::dense(rows, cols));
    let elements: Vec<bf16> = (0..rows * cols).map(|i| bf16::from_f32((i % 13) as f32)).collect();
    let mut data = stream.clone_htod(&elements)?;
    let weights = stream.clone_htod(&vec![bf16::ONE; cols as usize])?;
    let mut normed = stream.alloc_zeros::<bf16>((rows * cols) as usize)?;

    // ANCHOR: calls
    let softmax = reducer.plan(Op::Softmax, Type::BF16, 0, layout)?;
    let norm = reducer.plan(Op::RmsNorm, Type::BF16, 0, layout)?;
    workspace.reserve(softmax.reduction())?;
    workspace.reserve(norm.reduction())?;
    softmax.call(&mut workspace).in_place(&mut data).run()?;
    norm.call(&mut workspace).input(&data).read(Role::Weights, &weights).out(&mut normed).run()?;
    // ANCHOR_END: calls

    println!("{}", softmax.reduction().plan().why);
    println!("{:?}", &stream.clone_dtoh(&normed)?[..4]);
    Ok(())
}
