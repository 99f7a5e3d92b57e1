//! The logarithm of a sum of exponentials over an array, by an operator of the program's own. Run it with `--features nvrtc`.

use cudarc::driver::CudaContext;
use reduction::{Operator, Reducer};

// ANCHOR: operator
/// The largest x, and the sum of all e^(x - largest): no sum overflows.
const LOG_SUM_EXP: &str = "
struct State { float largest, sum; };
struct LogSumExp {
    using In = float;
    using Value = State;
    static __device__ Value identity() { return {-3e38f, 0}; }
    static __device__ Value lift(In x, unsigned int) { return {x, 1}; }
    static __device__ Value combine(Value a, Value b) {
        float largest = fmaxf(a.largest, b.largest);
        return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
    }
};
__device__ float finish(LogSumExp, State all, unsigned int n) { return all.largest + logf(all.sum); }
";
// ANCHOR_END: operator

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU: 05-replay runs without one".into());
    }
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let elements: Vec<f32> = (0..1_000_003).map(|i| ((i * 7919) % 1000) as f32 / 10.0).collect();
    let input = stream.clone_htod(&elements)?;
    let mut out = stream.alloc_zeros::<f32>(1)?;

    let reducer = Reducer::new(&context)?;
    // Its values have 8 bytes. NVRTC compiles the kernel here; what it says of the text is in the error, and why it is not there.
    let operator = Operator::new::<f32, f32>("LogSumExp", LOG_SUM_EXP, 8);
    let plan = reducer.plan_own(&operator, elements.len() as u64)?;
    let mut workspace = reducer.workspace(&stream)?;
    workspace.reserve(plan.reduction())?;
    plan.call(&mut workspace).input(&input).out(&mut out).run()?;

    let largest = elements.iter().copied().fold(f32::MIN, f32::max);
    let sum: f64 = elements.iter().map(|&x| f64::from(x - largest).exp()).sum();
    println!("{} on the GPU, {} on the host", stream.clone_dtoh(&out)?[0], f64::from(largest) + sum.ln());
    Ok(())
}
