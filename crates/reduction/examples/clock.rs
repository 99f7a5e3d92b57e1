//! What a call costs the host: loading a kernel at the first, and a call beside its bare launches; and what the norm of a model's gradients
//! takes on the card. Prints JSON.
//!
//! Usage: clock [compiled], which makes plans with kernels that NVRTC compiles.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, ValidAsZeroBits, result, sys};
use half::bf16;
use reduction::{Arg, Element, Layout, Matrix, Op, Reducer, Type, kernels};
use serde_json::json;

/// Calls between two waits: few enough that the driver's queue never fills.
const CALLS: u32 = 200;
const ROUNDS: usize = 51;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let start = Instant::now();
    let reducer = Reducer::new(&context)?;
    let is_compiled = std::env::args().nth(1).is_some_and(|word| word == "compiled");
    let reducer = if is_compiled { reducer } else { reducer.without_compiler() };
    let opened_ms = start.elapsed().as_secs_f64() * 1e3;
    let mut loads = Vec::new();
    let rows = Layout::Rows(Matrix::dense(4096, 4096));
    for (op, ty, layout) in [
        (Op::Sum, Type::F32, Layout::Array),
        (Op::Argmax, Type::BF16, Layout::Array),
        (Op::Meanvar, Type::F32, rows),
        (Op::Softmax, Type::BF16, rows),
        (Op::LayerNormBackward, Type::F32, rows),
    ] {
        let start = Instant::now();
        let plan = reducer.plan(op, ty, 1 << 24, layout)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        loads.push(json!({"op": op.name(), "type": ty.name(), "kernels": plan.reduction().plan().kernels(), "ms": ms}));
    }
    let calls = call_us(&reducer, &stream)?;
    let tracked = gradients_us::<f32>("reduction_tracked", &reducer, &stream)?;
    // SAFETY: all work is on one stream.
    unsafe { context.disable_event_tracking() };
    let gradients = [
        gradients_us::<f32>("reduction", &reducer, &stream)?,
        gradients_us::<bf16>("reduction", &reducer, &stream)?,
        tracked,
    ];
    let record = json!({
        "device": context.name()?, "plans": if reducer.compiles() { "compiled" } else { "committed" },
        "handle_ms": opened_ms, "first_plan": loads, "calls": calls,
        "gradients": gradients,
    });
    println!("{}", serde_json::to_string_pretty(&record)?);
    Ok(())
}

/// Microseconds of a call and of its bare launch: medians, in turns.
fn call_us(reducer: &Reducer, stream: &Arc<CudaStream>) -> Result<Vec<serde_json::Value>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for n in [1u64 << 10, 1 << 16] {
        let input = stream.clone_htod(&vec![1.0f32; n as usize])?;
        let mut out = stream.alloc_zeros::<f32>(1)?;
        let plan = reducer.plan(Op::Sum, Type::F32, n, Layout::Array)?;
        let mut workspace = reducer.workspace(stream)?;
        workspace.reserve(plan.reduction())?;
        let state = stream.alloc_zeros::<u64>(1 << 16)?;
        let addresses = [input.device_ptr(stream).0, out.device_ptr_mut(stream).0, state.device_ptr(stream).0];
        let bare = Bare::new(reducer, &plan.reduction().plan().passes[0], addresses)?;
        let (mut of_call, mut of_launch) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            stream.synchronize()?;
            let start = Instant::now();
            for _ in 0..CALLS {
                plan.call(&mut workspace).input(&input).out(&mut out).run()?;
            }
            of_call.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
            stream.synchronize()?;
            let start = Instant::now();
            for _ in 0..CALLS {
                bare.launch(stream)?;
            }
            of_launch.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
        }
        let (call, launch) = (median(of_call), median(of_launch));
        all.push(json!({"op": "sum", "type": "f32", "n": n, "call_us": call, "launch_us": launch, "beside_us": call - launch}));
    }
    Ok(all)
}

/// Elements of the parameters of a model of the size of GPT-2: 148 arrays, 124 million elements.
fn parameters() -> Vec<usize> {
    const WIDTH: usize = 768;
    let norm = [WIDTH; 2];
    let layer = [
        3 * WIDTH * WIDTH,
        3 * WIDTH,
        WIDTH * WIDTH,
        WIDTH,
        WIDTH,
        WIDTH,
        4 * WIDTH * WIDTH,
        4 * WIDTH,
        4 * WIDTH * WIDTH,
        WIDTH,
    ];
    let mut all = vec![50_257 * WIDTH, 1024 * WIDTH];
    for _ in 0..12 {
        all.extend(norm);
        all.extend(layer);
    }
    all.extend(norm);
    all
}

/// Microseconds of the norm of all gradients of such a model, by events around each of many calls, the median. Where cudarc tracks
/// events, it records one for each array behind the launch.
fn gradients_us<T: Element + ValidAsZeroBits>(
    entrant: &str,
    reducer: &Reducer,
    stream: &Arc<CudaStream>,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let arrays = parameters().into_iter().map(|n| stream.alloc_zeros::<T>(n)).collect::<Result<Vec<_>, _>>()?;
    let arrays: Vec<&CudaSlice<T>> = arrays.iter().collect();
    let all = reducer.gather(stream, Op::L2Norm, &arrays)?;
    let mut workspace = reducer.workspace(stream)?;
    workspace.reserve(all.prepared().reduction())?;
    let mut norm = stream.alloc_zeros::<f32>(1)?;
    let event = || stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = event()?;
        all.call(&mut workspace, &arrays).out(&mut norm).run()?;
        times.push(f64::from(begin.elapsed_ms(&event()?)?) * 1e3);
    }
    let elements: usize = arrays.iter().map(|array| array.len()).sum();
    Ok(
        json!({"entrant": entrant, "type": T::TYPE.name(), "arrays": arrays.len(), "elements": elements, "us": median(times)}),
    )
}

/// The same launch without the library.
struct Bare {
    function: sys::CUfunction,
    grid: u32,
    block: u32,
    numbers: Vec<u64>,
}

impl Bare {
    fn new(reducer: &Reducer, pass: &reduction::Pass, addresses: [u64; 3]) -> Result<Bare, Box<dyn std::error::Error>> {
        let text = std::ffi::CString::new(kernels::ptx(&pass.kernel, reducer.card().compute_capability)?)?;
        // SAFETY: the text ends in NUL, and the context is current on this thread.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }?;
        // SAFETY: the module is loaded and stays so.
        let function = unsafe { result::module::get_function(module, std::ffi::CString::new(pass.kernel.as_str())?) }?;
        let number = |arg: &Arg| match *arg {
            Arg::Input => addresses[0],
            Arg::Sums(_) => addresses[1],
            Arg::State => addresses[2],
            Arg::U32(number) => number.into(),
            Arg::U64(number) => number,
            _ => 0,
        };
        let numbers = pass.args.iter().map(number).collect();
        Ok(Bare { function, grid: pass.grid(), block: pass.block(), numbers })
    }

    fn launch(&self, stream: &CudaStream) -> Result<(), cudarc::driver::DriverError> {
        let mut pointers: Vec<*mut c_void> =
            self.numbers.iter().map(|number| std::ptr::from_ref(number).cast_mut().cast()).collect();
        // SAFETY: an argument for each parameter, as the plan has them; the arrays live until the stream is waited for.
        unsafe {
            result::launch_kernel(
                self.function,
                (self.grid, 1, 1),
                (self.block, 1, 1),
                0,
                stream.cu_stream(),
                &mut pointers,
            )
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
