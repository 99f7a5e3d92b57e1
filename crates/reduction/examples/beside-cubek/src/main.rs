//! The library beside cubek, the reductions of burn: the same numbers, in turns, in one run. Prints a record as JSON.
//!
//! Each side has arrays of its own, and a graph of calls enough, each on its own array, that none finds its input in the L2. Cubek's
//! caller says which routine it wants: all of them are tried for each shape, and the fastest is measured. Its kernels are compiled by
//! NVRTC as they are needed, which wants CUDA's headers: `CUDA_PATH`, or `/usr/local/cuda`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use cubecl::client::Graph;
use cubecl::config::autotune::AutotuneLevel;
use cubecl::future::block_on;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use cubek_reduce::components::instructions::ReduceOperationConfig;
use cubek_reduce::launch::{RoutineStrategy, VectorizationStrategy};
use cubek_reduce::routines::BlueprintStrategy;
use cubek_reduce::routines::cube::CubeStrategy;
use cubek_reduce::routines::plane::PlaneStrategy;
use cubek_reduce::routines::unit::UnitStrategy;
use cubek_reduce::{ReduceDtypes, ReduceStrategy, reduce, shared_sum};
use cudarc::driver::{CudaContext, CudaGraph, CudaSlice, CudaStream, DevicePtr, sys};
use half::bf16;
use reduction::{Element, FoundInRow, Layout, Matrix, Memory, Op, Operands, Prepared, Reducer, Role, Workspace};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes that the calls of a graph touch at least, if there are arrays enough: several times an L2.
const BYTES: u64 = 400 << 20;
/// Most calls of a graph.
const CALLS_MAX: u64 = 64;
/// Replays of each graph between two waits: what the host adds to them is little.
const REPLAYS: u32 = 20;
/// Times that each side is measured, in turns.
const ROUNDS: usize = 21;
/// Rounds for the choice of cubek's routine.
const ROUNDS_OF_CHOICE: usize = 3;

fn main() -> Result<()> {
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU".into());
    }
    let context = CudaContext::new(0)?;
    // SAFETY: all work is on one stream, and cubek's on its own memory.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let reducer = Reducer::new(&context)?.without_compiler();
    let bench = Bench { reducer, stream, client: cubecl::Device::cuda(0)?.client() };
    let mut cases = Vec::new();
    for lg in [10, 14, 18, 22, 24, 26, 28] {
        bench.row::<f32>(Op::Sum, 1, 1 << lg, &mut cases)?;
        bench.row::<bf16>(Op::Sum, 1, 1 << lg, &mut cases)?;
    }
    let shapes = [(262_144, 64), (32_768, 1000), (8192, 4096), (4096, 8192), (1024, 32_000), (64, 128_256), (32, 4096)];
    for op in [Op::Sum, Op::Max, Op::Argmax] {
        for (rows, cols) in shapes {
            bench.row::<f32>(op, rows, cols, &mut cases)?;
            bench.row::<bf16>(op, rows, cols, &mut cases)?;
        }
    }
    let record = json!({
        "device": bench.reducer.context().name()?, "rival": "cubek-reduce 0.3.1, cubecl 0.11.3 by NVRTC", "replays": REPLAYS, "rounds": ROUNDS,
        "cases": cases,
    });
    println!("{}", serde_json::to_string_pretty(&record)?);
    Ok(())
}

/// An element that a host can draw and read, and that both libraries know.
trait Number: Element + Default + CubeElement {
    fn of(x: f32) -> Self;
    fn to(self) -> f64;
    fn elem() -> ElemType;
}

impl Number for f32 {
    fn of(x: f32) -> f32 {
        x
    }
    fn to(self) -> f64 {
        self.into()
    }
    fn elem() -> ElemType {
        f32::elem_type_native()
    }
}

impl Number for bf16 {
    fn of(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
    fn to(self) -> f64 {
        self.to_f64()
    }
    fn elem() -> ElemType {
        bf16::elem_type_native()
    }
}

struct Bench {
    reducer: Reducer,
    stream: Arc<CudaStream>,
    client: Client,
}

/// Arrays of one call of the library.
struct Arrays<T> {
    input: CudaSlice<T>,
    out: CudaSlice<u8>,
}

/// A way of cubek's to the result.
#[derive(Debug, Clone)]
enum Way {
    /// One launch of a routine.
    Once(ReduceStrategy),
    /// A routine for this many parts of an array, and then for their sums.
    Twice(ReduceStrategy, u64),
    /// So many blocks, whose sums an atomic adds to a zero.
    Atomic(u32),
}

/// Cubek's calls of one shape.
struct Rival<'a> {
    client: &'a Client,
    op: Op,
    ty: ElemType,
    rows: u64,
    cols: u64,
    /// Input and results of each call.
    arrays: Vec<(Handle, Handle)>,
    /// Sums of the parts.
    partial: Handle,
}

/// Measured work: a graph, or its calls where cubek's were not captured.
enum Work<G> {
    Graph(G),
    Calls,
}

impl Bench {
    /// Times one shape both ways and adds the two cases.
    fn row<T: Number>(&self, op: Op, rows: u64, cols: u64, cases: &mut Vec<Value>) -> Result<()> {
        let n = rows * cols;
        let layout = if rows == 1 { Layout::Array } else { Layout::Rows(Matrix::dense(rows, cols)) };
        let plan = self.reducer.plan(op, T::TYPE, n, layout)?;
        let mut workspace = self.reducer.workspace(&self.stream)?;
        workspace.reserve(plan.reduction())?;
        let elements: Vec<T> = (0..n).map(|i| T::of(drawn(i))).collect();
        let calls = BYTES.div_ceil(n * T::TYPE.bytes()).clamp(1, CALLS_MAX);
        let rival = Rival::new(&self.client, op, (rows, cols), &elements, calls);
        let judge = Judge::new(op, (rows, cols), &elements);
        let theirs = rival.fastest(&judge)?;
        let arrays = || -> Result<Arrays<T>> {
            let out = self.stream.alloc_zeros(plan.reduction().result_bytes() as usize)?;
            Ok(Arrays { input: self.stream.clone_htod(&elements)?, out })
        };
        let arrays = (0..calls).map(|_| arrays()).collect::<Result<Vec<_>>>()?;
        let ours = self.graph(|| arrays.iter().try_for_each(|arrays| self.ours(&plan, &mut workspace, arrays)))?;
        let is_graph = matches!(theirs.work, Work::Graph(_));
        let ours = if is_graph { Work::Graph(ours) } else { Work::Calls };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..REPLAYS {
                match &ours {
                    Work::Graph(graph) => graph.launch()?,
                    Work::Calls => arrays.iter().try_for_each(|arrays| self.ours(&plan, &mut workspace, arrays))?,
                }
            }
            self.stream.synchronize()?;
            times[0].push(start.elapsed().as_secs_f64() * 1e6 / f64::from(REPLAYS) / calls as f64);
            times[1].push(rival.time_us(&theirs, REPLAYS)?);
        }
        let stride = if op == Op::Argmax { size_of::<FoundInRow<f32>>() } else { 4 };
        let error = judge.error(&self.stream.clone_dtoh(&arrays[0].out)?, stride);
        let (ours_us, theirs_us) = (median(&mut times[0]), median(&mut times[1]));
        let (op, ty, timed) = (op.name(), T::TYPE.name(), if is_graph { "graph" } else { "calls" });
        cases.push(json!({"entrant": "reduction", "op": op, "type": ty, "rows": rows, "cols": cols, "us": ours_us, "error": error, "timed": timed}));
        cases.push(json!({"entrant": "cubek", "op": op, "type": ty, "rows": rows, "cols": cols, "us": theirs_us, "error": theirs.error, "timed": timed, "way": theirs.way.name()}));
        eprintln!(
            "{op:6} {ty:4} {rows:7} x {cols:9}: {ours_us:9.2} us, cubek {theirs_us:9.2}, {:6.2}; errors {error:.1e} {:.1e}; {timed}, {}",
            theirs_us / ours_us,
            theirs.error,
            theirs.way.name()
        );
        drop((theirs, rival));
        self.client.memory_cleanup()?;
        Ok(())
    }

    fn ours<T: Number>(&self, plan: &Prepared, workspace: &mut Workspace, arrays: &Arrays<T>) -> Result<()> {
        let memory = |(address, _guard): (u64, _), bytes: usize| Memory { address, bytes: bytes as u64 };
        let operands = Operands::default()
            .with(Role::Input, memory(arrays.input.device_ptr(&self.stream), arrays.input.len() * size_of::<T>()))
            .with(Role::Out, memory(arrays.out.device_ptr(&self.stream), arrays.out.len()));
        // SAFETY: the arrays live until the stream has been waited for.
        Ok(unsafe { plan.enqueue(workspace, &operands) }?)
    }

    fn graph(&self, work: impl FnOnce() -> Result<()>) -> Result<CudaGraph> {
        self.stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        let done = work();
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = self.stream.end_capture(flags)?;
        done?;
        Ok(graph.ok_or("an empty graph")?)
    }
}

/// A way that was tried.
struct Tried {
    way: Way,
    work: Work<Graph>,
    error: f64,
}

impl<'a> Rival<'a> {
    fn new<T: Number>(client: &'a Client, op: Op, (rows, cols): (u64, u64), elements: &[T], calls: u64) -> Rival<'a> {
        let array = |_| (client.create_from_slice(T::as_bytes(elements)), client.empty(rows as usize * 4));
        let arrays = (0..calls).map(array).collect();
        Rival {
            client,
            op,
            ty: T::elem(),
            rows,
            cols,
            arrays,
            partial: client.empty(PARTS[PARTS.len() - 1] as usize * 4),
        }
    }

    /// The fastest of the ways that give the result.
    fn fastest<T: Number>(&self, judge: &Judge<T>) -> Result<Tried> {
        let mut fastest: Option<(f64, Tried)> = None;
        for way in self.ways() {
            let name = way.name();
            // What cubecl's compiler does not take, it may say by a panic.
            let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(way, judge)));
            let tried = match attempt.unwrap_or_else(|_| Err("a panic".into())) {
                Ok(tried) => tried,
                Err(error) => {
                    eprintln!("  {name}: {}", first_line(&*error));
                    continue;
                }
            };
            let times = (0..ROUNDS_OF_CHOICE).map(|_| self.time_us(&tried, 1)).collect::<Result<Vec<f64>>>();
            let us = median(&mut times?);
            let is_right = tried.error < ERROR_MAX;
            if !is_right {
                eprintln!("  {name}: an error of {:.1e}", tried.error);
            } else if fastest.as_ref().is_none_or(|&(best, _)| us < best) {
                fastest = Some((us, tried));
            }
        }
        Ok(fastest.ok_or("none of cubek's ways gives the result")?.1)
    }

    /// What cubek has for the shape, less what would run for seconds.
    fn ways(&self) -> Vec<Way> {
        let mut routines = Vec::new();
        if self.cols <= 1 << 14 {
            routines.push(RoutineStrategy::Unit(BlueprintStrategy::Inferred(UnitStrategy)));
        }
        for choice in [true, false] {
            if self.cols <= 1 << 20 {
                let plane = PlaneStrategy { independent: choice };
                routines.push(RoutineStrategy::Plane(BlueprintStrategy::Inferred(plane)));
            }
            let cube = CubeStrategy { use_planes: choice };
            routines.push(RoutineStrategy::Cube(BlueprintStrategy::Inferred(cube)));
        }
        let strategies: Vec<ReduceStrategy> = routines
            .into_iter()
            .flat_map(|routine| {
                // The results of several rows in a vector, or each alone.
                [true, false].map(|together| ReduceStrategy {
                    routine: routine.clone(),
                    vectorization: VectorizationStrategy { parallel_output_vectorization: together },
                    autotune_level: AutotuneLevel::Full,
                })
            })
            .collect();
        let mut ways: Vec<Way> = strategies.iter().cloned().map(Way::Once).collect();
        if self.rows == 1 {
            for parts in PARTS.into_iter().filter(|parts| parts * 4 <= self.cols) {
                let of_parts = [true, false].map(|use_planes| ReduceStrategy {
                    routine: RoutineStrategy::Cube(BlueprintStrategy::Inferred(CubeStrategy { use_planes })),
                    vectorization: VectorizationStrategy { parallel_output_vectorization: false },
                    autotune_level: AutotuneLevel::Full,
                });
                ways.extend(of_parts.map(|strategy| Way::Twice(strategy, parts)));
            }
            // Its sums are of the elements' type, and those of bf16 are worth little.
            if self.ty == f32::elem_type_native() {
                ways.extend(PARTS.map(|blocks| Way::Atomic(blocks as u32)));
            }
        }
        ways
    }

    /// Runs a way, judges its result, and captures its calls.
    fn attempt<T: Number>(&self, way: Way, judge: &Judge<T>) -> Result<Tried> {
        self.enqueue(&way)?;
        block_on(self.client.sync_buffers(self.arrays.iter().map(|(_, out)| out)))?;
        let work = match self.capture(&way) {
            Ok(graph) => Work::Graph(graph),
            Err(error) => {
                eprintln!("  {} is not captured: {}", way.name(), first_line(&*error));
                Work::Calls
            }
        };
        let mut tried = Tried { way, work, error: f64::INFINITY };
        self.time_us(&tried, 1)?;
        tried.error = judge.error(&self.client.read_one(self.arrays[0].1.clone())?, 4);
        Ok(tried)
    }

    fn capture(&self, way: &Way) -> Result<Graph> {
        self.client.graph_prepare()?;
        let enqueued = self.enqueue(way).and_then(|()| {
            block_on(self.client.sync())?;
            self.client.start_capture()?;
            self.enqueue(way)
        });
        // It ends a capture that was only prepared, too.
        let graph = self.client.stop_capture();
        enqueued?;
        Ok(graph?)
    }

    fn enqueue(&self, way: &Way) -> Result<()> {
        let config = match self.op {
            Op::Sum => ReduceOperationConfig::Sum,
            Op::Max => ReduceOperationConfig::Max,
            _ => ReduceOperationConfig::ArgMax,
        };
        let single = f32::elem_type_native();
        let result = if self.op == Op::Argmax { u32::elem_type_native() } else { single };
        let dtypes = |input| ReduceDtypes { input, output: result, accumulation: single };
        let tensor = |handle: &Handle, rows: u64, cols: u64, ty| {
            TensorHandle::new_contiguous([rows as usize, cols as usize], handle.clone(), ty).binding()
        };
        for (input, out) in &self.arrays {
            let whole = tensor(input, self.rows, self.cols, self.ty);
            let results = tensor(out, self.rows, 1, result);
            match way {
                Way::Once(strategy) => {
                    reduce(self.client, whole, results, 1, strategy.clone(), config, dtypes(self.ty))?;
                }
                Way::Twice(strategy, parts) => {
                    let apart = tensor(input, *parts, self.cols / parts, self.ty);
                    let sums = tensor(&self.partial, *parts, 1, single);
                    reduce(self.client, apart, sums, 1, strategy.clone(), config, dtypes(self.ty))?;
                    let sums = tensor(&self.partial, 1, *parts, single);
                    reduce(self.client, sums, results, 1, strategy.clone(), config, dtypes(single))?;
                }
                Way::Atomic(blocks) => {
                    let zeroed = tensor(out, 1, 1, single).into_tensor_arg();
                    // SAFETY: one thread writes one number.
                    unsafe {
                        zero::launch_unchecked(self.client, CubeCount::new_single(), CubeDim::new_single(), zeroed)
                    };
                    shared_sum(self.client, whole, results, *blocks, self.ty)?;
                }
            }
        }
        Ok(())
    }

    /// Microseconds of a call.
    fn time_us(&self, tried: &Tried, replays: u32) -> Result<f64> {
        block_on(self.client.sync())?;
        let start = Instant::now();
        for _ in 0..replays {
            match &tried.work {
                // SAFETY: the arrays are live, and nothing else touches them.
                Work::Graph(graph) => unsafe { graph.replay() }?,
                Work::Calls => self.enqueue(&tried.way)?,
            }
        }
        block_on(self.client.sync())?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(replays) / self.arrays.len() as f64)
    }
}

/// More than the error of a sum that was added in f32, and less than that of a wrong one.
const ERROR_MAX: f64 = 1e-5;
/// Parts of an array, of which each has a block.
const PARTS: [u64; 5] = [64, 256, 1024, 2048, 4096];

impl Way {
    fn name(&self) -> String {
        let routine = |strategy: &ReduceStrategy| {
            let together = if strategy.vectorization.parallel_output_vectorization { ", rows together" } else { "" };
            match &strategy.routine {
                RoutineStrategy::Unit(_) => format!("unit{together}"),
                RoutineStrategy::Plane(BlueprintStrategy::Inferred(plane)) => {
                    format!("plane{}{together}", if plane.independent { ", merged last" } else { "" })
                }
                RoutineStrategy::Cube(BlueprintStrategy::Inferred(cube)) => {
                    format!("cube{}{together}", if cube.use_planes { " of planes" } else { "" })
                }
                _ => "forced".to_owned(),
            }
        };
        match self {
            Way::Once(strategy) => routine(strategy),
            Way::Twice(strategy, parts) => format!("{parts} parts, {}", routine(strategy)),
            Way::Atomic(blocks) => format!("{blocks} blocks, atomic"),
        }
    }
}

/// Makes ready what cubek's atomic sum adds to.
#[cube(launch_unchecked)]
fn zero(out: &mut Tensor<f32>) {
    out[0] = 0.0;
}

/// A number in [-1, 1) for an index, without a pattern.
fn drawn(i: u64) -> f32 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 40) as f32) / (1 << 23) as f32 - 1.0
}

/// Some rows in doubles.
struct Judge<'a, T> {
    op: Op,
    elements: &'a [T],
    cols: usize,
    rows: Vec<Expected>,
}

struct Expected {
    row: usize,
    sum: f64,
    /// What the row's numbers come to without their signs.
    scale: f64,
    largest: f64,
}

impl<T: Number> Judge<'_, T> {
    fn new(op: Op, (rows, cols): (u64, u64), elements: &[T]) -> Judge<'_, T> {
        let cols = cols as usize;
        let expected = |row: usize| {
            let mut expected = Expected { row, sum: 0.0, scale: 0.0, largest: f64::NEG_INFINITY };
            for x in elements[row * cols..][..cols].iter().map(|&x| x.to()) {
                expected.sum += x;
                expected.scale += x.abs();
                expected.largest = expected.largest.max(x);
            }
            expected
        };
        let rows = (0..rows as usize).step_by((rows / 5).max(1) as usize).map(expected).collect();
        Judge { op, elements, cols, rows }
    }

    /// Largest distance of results, each of which begins so many bytes after the one before it: of a sum, over the row's scale.
    fn error(&self, bytes: &[u8], stride: usize) -> f64 {
        let distance = |expected: &Expected| {
            let four = &bytes[expected.row * stride..][..4];
            let four = [four[0], four[1], four[2], four[3]];
            let got = f64::from(f32::from_le_bytes(four));
            match self.op {
                Op::Sum => (got - expected.sum).abs() / expected.scale,
                Op::Max => (got - expected.largest).abs(),
                _ => {
                    let row = &self.elements[expected.row * self.cols..][..self.cols];
                    let found = row.get(u32::from_le_bytes(four) as usize);
                    found.map_or(f64::INFINITY, |x| (x.to() - expected.largest).abs())
                }
            }
        };
        // A NaN is the largest of them.
        self.rows.iter().map(distance).max_by(f64::total_cmp).unwrap_or(f64::NAN)
    }
}

fn first_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
