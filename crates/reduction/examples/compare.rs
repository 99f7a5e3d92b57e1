//! The library beside candle's own kernels: the same arrays, in turns, in one run. Prints a record as JSON.
//!
//! Usage: compare REDUCE.cubin, which is candle-kernels' `src/reduce.cu`, compiled for this card. Each of them is launched as
//! candle-core 0.11 and candle-nn 0.11 launch it. A graph has calls enough, each on arrays of its own, that none finds its input in the L2.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaGraph, CudaSlice, CudaStream, DevicePtr, DeviceRepr, result, sys};
use half::bf16;
use lab::element::Element;
use reduction::{FoundInRow, Layout, Matrix, Memory, Op, Operands, Reducer, Role, Type, Workspace};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes that the calls of a graph touch at least, if there are arrays enough: several times an L2.
const BYTES: u64 = 400 << 20;
/// Most calls of a graph.
const CALLS_MAX: u64 = 64;
/// Replays of each graph, in turns.
const REPLAYS: usize = 21;
/// The ε of chapter 12's norms.
const EPSILON: f32 = 1e-5;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or("usage: compare REDUCE.cubin")?;
    let context = CudaContext::new(0)?;
    // SAFETY: all work is on one stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let image = std::fs::read(&path)?;
    // SAFETY: an image of the compiler's, whose head says how long it is.
    let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
    let bench = Bench { reducer: Reducer::new(&context)?.without_compiler(), stream, module };
    let mut cases = Vec::new();
    for lg in [10, 14, 18, 22, 24, 26, 28] {
        bench.row::<f32>(Op::Sum, 1, 1 << lg, &mut cases)?;
        bench.row::<bf16>(Op::Sum, 1, 1 << lg, &mut cases)?;
    }
    let shapes = [(262_144, 64), (32_768, 1000), (8192, 4096), (4096, 8192), (1024, 32_000), (64, 128_256), (32, 4096)];
    for op in [Op::Sum, Op::Max, Op::Argmax, Op::Softmax, Op::RmsNorm, Op::LayerNorm] {
        for (rows, cols) in shapes {
            bench.row::<f32>(op, rows, cols, &mut cases)?;
            bench.row::<bf16>(op, rows, cols, &mut cases)?;
        }
    }
    let record = json!({
        "device": bench.reducer.context().name()?, "rival": "candle-kernels 0.11.1", "replays": REPLAYS, "cases": cases,
    });
    println!("{}", serde_json::to_string_pretty(&record)?);
    Ok(())
}

/// An element of the library's that a host can draw and read.
trait Number: reduction::Element + Element + Default {}

impl<T: reduction::Element + Element + Default> Number for T {}

struct Bench {
    reducer: Reducer,
    stream: Arc<CudaStream>,
    module: sys::CUmodule,
}

/// Arrays of one call.
struct Arrays<T: DeviceRepr> {
    input: CudaSlice<T>,
    out: CudaSlice<u8>,
}

impl Bench {
    /// Times one shape both ways and adds the two cases.
    fn row<T: Number>(&self, op: Op, rows: u64, cols: u64, cases: &mut Vec<Value>) -> Result<()> {
        let n = rows * cols;
        let layout = if rows == 1 { Layout::Array } else { Layout::Rows(Matrix::dense(rows, cols)) };
        let plan = self.reducer.plan(op, <T as Element>::TYPE, n, layout)?;
        let mut workspace = self.reducer.workspace(&self.stream)?;
        workspace.reserve(plan.reduction())?;
        let elements: Vec<T> = lab::input::elements(n as usize, 0);
        let out_bytes = plan.reduction().result_bytes().max(8 * rows).max(if op.is_per_element() {
            n * <T as Element>::TYPE.bytes()
        } else {
            0
        });
        let calls = BYTES.div_ceil(n * <T as Element>::TYPE.bytes()).clamp(1, CALLS_MAX);
        let arrays = || -> Result<Arrays<T>> {
            Ok(Arrays { input: self.stream.clone_htod(&elements)?, out: self.stream.alloc_zeros(out_bytes as usize)? })
        };
        let arrays = (0..calls).map(|_| arrays()).collect::<Result<Vec<_>>>()?;
        let weights: Vec<T> = lab::input::elements(cols as usize, 1);
        let on_device = self.stream.clone_htod(&weights)?;
        let rival = Rival::new(self, op, rows, cols, <T as Element>::TYPE)?;
        let ours =
            self.graph(|| arrays.iter().try_for_each(|arrays| self.ours(&plan, &mut workspace, arrays, &on_device)))?;
        let theirs = self.graph(|| arrays.iter().try_for_each(|arrays| rival.launch(self, arrays, &on_device)))?;
        let judge = |graph: &CudaGraph, ours: bool| -> Result<f64> {
            graph.launch()?;
            let bytes = self.stream.clone_dtoh(&arrays[0].out)?;
            Ok(error_of(op, (rows, cols), (&elements, &weights), &bytes, ours))
        };
        let errors = [judge(&ours, true)?, judge(&theirs, false)?];
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..REPLAYS {
            for (graph, times) in [&ours, &theirs].into_iter().zip(&mut times) {
                times.push(self.time_us(graph)? / calls as f64);
            }
        }
        for ((entrant, times), error) in ["reduction", "candle"].into_iter().zip(times).zip(errors) {
            let us = median(times);
            cases.push(json!({"entrant": entrant, "op": op.name(), "type": <T as Element>::TYPE.name(), "rows": rows, "cols": cols, "us": us, "error": error}));
        }
        let [.., a, b] = cases.as_slice() else { return Ok(()) };
        eprintln!(
            "{:10} {:4} {rows:7} x {cols:9}: {:9.2} us, candle {:9.2}, {:6.2}; errors {:.1e} {:.1e}",
            op.name(),
            <T as Element>::TYPE.name(),
            a["us"].as_f64().unwrap_or(0.0),
            b["us"].as_f64().unwrap_or(0.0),
            b["us"].as_f64().unwrap_or(0.0) / a["us"].as_f64().unwrap_or(1.0),
            errors[0],
            errors[1]
        );
        Ok(())
    }

    fn ours<T: Number>(
        &self,
        plan: &reduction::Prepared,
        workspace: &mut Workspace,
        arrays: &Arrays<T>,
        weights: &CudaSlice<T>,
    ) -> Result<()> {
        let memory = |(address, _guard): (u64, _), bytes: usize| Memory { address, bytes: bytes as u64 };
        let mut operands = Operands::default()
            .with(Role::Input, memory(arrays.input.device_ptr(&self.stream), arrays.input.len() * size_of::<T>()))
            .with(Role::Out, memory(arrays.out.device_ptr(&self.stream), arrays.out.len()));
        for role in [Role::Weights, Role::Biases] {
            if plan.reduction().rule(role).is_some() {
                operands.set(role, memory(weights.device_ptr(&self.stream), weights.len() * size_of::<T>()));
            }
        }
        // SAFETY: the arrays live until the stream has been waited for.
        Ok(unsafe { plan.enqueue(workspace, &operands) }?)
    }

    fn graph(&self, work: impl FnOnce() -> Result<()>) -> Result<CudaGraph> {
        self.stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
        let done = work();
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = self.stream.end_capture(flags)?;
        done?;
        Ok(graph.ok_or("an empty graph")?)
    }

    fn time_us(&self, graph: &CudaGraph) -> Result<f64> {
        let timed =
            || -> Result<CudaEvent> { Ok(self.stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?) };
        let begin = timed()?;
        graph.launch()?;
        let end = timed()?;
        Ok(f64::from(begin.elapsed_ms(&end)?) * 1e3)
    }
}

/// One of candle's kernels, with its launch.
struct Rival {
    function: sys::CUfunction,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    numbers: Vec<u64>,
    /// Dimensions and strides that some take.
    info: CudaSlice<u64>,
    op: Op,
}

impl Rival {
    fn new(bench: &Bench, op: Op, rows: u64, cols: u64, ty: Type) -> Result<Rival> {
        let per_row = if cols < 1024 { 32 } else { 1024 };
        let (kernel, grid, block) = match op {
            Op::Softmax => ("softmax", rows, (1, 32, 1)),
            Op::RmsNorm => ("rmsnorm", rows, (per_row, 1, 1)),
            Op::LayerNorm => ("layernorm", rows, (per_row, 1, 1)),
            Op::Sum if cols <= 32 => ("fast_sum_small", rows.div_ceil(256), (256, 1, 1)),
            _ => {
                let kernel = if op == Op::Sum {
                    "fast_sum"
                } else if op == Op::Max {
                    "fast_max"
                } else {
                    "fast_argmax"
                };
                (kernel, rows, (cols.min(1024).next_power_of_two() as u32, 1, 1))
            }
        };
        let name = CString::new(format!("{kernel}_{ty}"))?;
        // SAFETY: the module is loaded and stays so.
        let function = unsafe { result::module::get_function(bench.module, name) }?;
        let info = bench.stream.clone_htod(&[rows, cols, cols, 1])?;
        let numbers = match op {
            Op::Softmax => vec![cols],
            Op::RmsNorm | Op::LayerNorm => vec![cols, per_row.into(), EPSILON.to_bits().into()],
            _ => vec![rows * cols, cols, 2],
        };
        Ok(Rival { function, grid: (grid as u32, 1, 1), block, numbers, info, op })
    }

    fn launch<T: Number>(&self, bench: &Bench, arrays: &Arrays<T>, weights: &CudaSlice<T>) -> Result<()> {
        let stream = &bench.stream;
        let (input, out) = (arrays.input.device_ptr(stream).0, arrays.out.device_ptr(stream).0);
        let (weights, info) = (weights.device_ptr(stream).0, self.info.device_ptr(stream).0);
        let args = match self.op {
            Op::Softmax => [&[input, out], self.numbers.as_slice()].concat(),
            Op::RmsNorm => [&[input, out, weights], self.numbers.as_slice()].concat(),
            Op::LayerNorm => [&[input, out, weights, weights], self.numbers.as_slice()].concat(),
            _ => [self.numbers.as_slice(), &[info, input, out]].concat(),
        };
        let mut pointers: Vec<*mut c_void> = args.iter().map(|arg| std::ptr::from_ref(arg).cast_mut().cast()).collect();
        // SAFETY: the parameters of candle's kernel, in order, each of its size or wider; the arrays live until the stream is waited for.
        unsafe { result::launch_kernel(self.function, self.grid, self.block, 0, stream.cu_stream(), &mut pointers) }?;
        Ok(())
    }
}

fn number_of<T: Element>(element: T) -> f64 {
    element.value().to_f64()
}

/// Largest distance from the result in doubles, over some rows, relative to what the row's numbers come to.
fn error_of<T: Number>(
    op: Op,
    (rows, cols): (u64, u64),
    (elements, weights): (&[T], &[T]),
    bytes: &[u8],
    ours: bool,
) -> f64 {
    let mut worst = 0.0f64;
    for row in (0..rows).step_by((rows / 5).max(1) as usize) {
        let x: Vec<f64> = elements[(row * cols) as usize..][..cols as usize].iter().copied().map(number_of).collect();
        let mut keep = |got: f64, expected: f64, scale: f64| {
            let error = (got - expected).abs() / scale;
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        };
        let number = |at: u64, size: usize| {
            let bytes = &bytes[at as usize * size..][..size];
            if size == 2 { number_of(bf16::from_le(bytes)) } else { number_of(f32::from_le(bytes)) }
        };
        let size = <T as Element>::TYPE.bytes() as usize;
        match op {
            Op::Sum => {
                let got = number(row, if ours { 4 } else { size });
                keep(got, x.iter().sum(), x.iter().map(|x| x.abs()).sum());
            }
            Op::Max => {
                let got = number(row, if ours { 4 } else { size });
                keep(got, x.iter().copied().fold(f64::NEG_INFINITY, f64::max), 1.0);
            }
            Op::Argmax => {
                let stride = if ours { size_of::<FoundInRow<f32>>() } else { 4 };
                let at = &bytes[row as usize * stride..][..4];
                let index = u32::from_le_bytes([at[0], at[1], at[2], at[3]]) as usize;
                let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                keep(x.get(index).copied().unwrap_or(f64::NAN), largest, 1.0);
            }
            Op::Softmax => {
                let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
                for (c, x) in x.iter().enumerate() {
                    let expected = (x - max).exp() / sum;
                    keep(number(row * cols + c as u64, size), expected, expected);
                }
            }
            _ => {
                let mean = if op == Op::LayerNorm { x.iter().sum::<f64>() / cols as f64 } else { 0.0 };
                let square = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / cols as f64;
                for (c, x) in x.iter().enumerate() {
                    let weight = number_of(weights[c]);
                    let bias = if op == Op::LayerNorm { weight } else { 0.0 };
                    let expected = (x - mean) / (square + f64::from(EPSILON)).sqrt() * weight + bias;
                    keep(number(row * cols + c as u64, size), expected, 1.0);
                }
            }
        }
    }
    worst
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
