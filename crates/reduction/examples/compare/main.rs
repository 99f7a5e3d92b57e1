//! The library beside candle's own kernels, or beside CUB: the same arrays, in turns, in one run; and its losses by themselves. Prints a
//! record, its head first and then each case on a line of its own as it comes.
//!
//! A graph has calls enough, each on arrays of its own, that none finds its input in the L2. `scripts/library_records.py` makes a file
//! of the lines.

mod candle;
mod cub;
mod judge;
mod losses;

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaEvent, CudaGraph, CudaSlice, CudaStream, DevicePtr, sys};
use half::bf16;
use lab::element::Element;
use lab::{Offsets, Ragged};
use reduction::{Layout, Matrix, Memory, Op, Operands, Prepared, Reducer, Role, Segments, Type, Workspace};
use serde_json::json;

use self::judge::{Format, Judge};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: compare candle REDUCE.cubin (candle-kernels' src/reduce.cu, compiled for this card), \
    or compare cub SECONDS LIBRARY.so... (of scripts/cub_library.sh --library, of any versions of CUB), \
    or compare losses (ours alone: scripts/torch_losses.py times the others)";
/// Bytes that the calls of a graph touch at least, if there are arrays enough: several times an L2.
const BYTES: u64 = 400 << 20;
/// Most calls of a graph.
const CALLS_MAX: u64 = 64;
/// Replays of each graph, in turns.
const REPLAYS: usize = 21;
/// Replays by which one of several ways is chosen.
const REPLAYS_OF_CHOICE: usize = 3;
/// More than the error of a sum of `f32`, and less than that of a wrong one. Candle's sums of `bf16` are off by more, and have one way.
const ERROR_MAX: f64 = 1e-5;

/// Elements of arrays.
const ARRAYS: [u64; 7] = [1 << 28, 1 << 26, 1 << 24, 1 << 22, 1 << 18, 1 << 14, 1 << 10];
/// Rows and columns.
const ROWS: [(u64, u64); 7] =
    [(262_144, 64), (32_768, 1000), (8192, 4096), (4096, 8192), (1024, 32_000), (64, 128_256), (32, 4096)];

fn main() -> std::process::ExitCode {
    if let Err(error) = run() {
        eprintln!("compare: {error}");
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["candle", image] => {
            let image = std::fs::read(image).map_err(|error| format!("{image}: {error}"))?;
            let bench = Bench::new()?;
            let mut rivals = candle::Candle::new(&image)?;
            candle_shapes(&mut Turns::new(bench, &mut rivals, f64::INFINITY))
        }
        ["cub", seconds, libraries @ ..] if !libraries.is_empty() => {
            let seconds =
                seconds.parse().map_err(|_| format!("{seconds}: a number of seconds is expected; {USAGE}"))?;
            let libraries = cub::open(libraries)?;
            let bench = Bench::new()?;
            cub_shapes(&mut Turns::new(bench, &mut cub::Cub::new(&libraries), seconds))
        }
        ["losses"] => losses::time(&Bench::new()?),
        _ => Err(USAGE.into()),
    }
}

fn candle_shapes(turns: &mut Turns<'_>) -> Result<()> {
    turns.head()?;
    for n in ARRAYS {
        turns.both(Op::Sum, &Shape::array(n));
    }
    for op in [Op::Sum, Op::Max, Op::Argmax, Op::Softmax, Op::RmsNorm, Op::LayerNorm] {
        for (rows, cols) in ROWS {
            turns.both(op, &Shape::rows(rows, cols));
        }
    }
    turns.end()
}

/// What matters most comes first.
fn cub_shapes(turns: &mut Turns<'_>) -> Result<()> {
    turns.head()?;
    let ops = [Op::Sum, Op::Max, Op::Argmax];
    for n in ARRAYS {
        turns.both(Op::Sum, &Shape::array(n));
    }
    for op in ops {
        for (rows, cols) in ROWS {
            turns.both(op, &Shape::rows(rows, cols));
        }
    }
    for op in ops {
        for kind in [Ragged::Uniform, Ragged::Power, Ragged::Giant] {
            turns.both(op, &Shape::ragged(kind, 65_536, 512));
        }
    }
    for op in [Op::Max, Op::Argmax] {
        for n in ARRAYS {
            turns.both(op, &Shape::array(n));
        }
    }
    for op in ops {
        for n in ARRAYS {
            turns.one::<f64>(op, &Shape::array(n));
            turns.one::<i32>(op, &Shape::array(n));
        }
    }
    turns.end()
}

/// An element of the library's that a host can draw and read.
trait Number: reduction::Element + Element {}

impl<T: reduction::Element + Element> Number for T {}

/// Rows, of which an array is one.
struct Shape {
    rows: u64,
    /// Columns; of ragged rows the mean, rounded down.
    cols: u64,
    /// Name and offsets of ragged rows.
    ragged: Option<(&'static str, Vec<u64>)>,
}

impl Shape {
    fn array(n: u64) -> Shape {
        Shape::rows(1, n)
    }

    fn rows(rows: u64, cols: u64) -> Shape {
        Shape { rows, cols, ragged: None }
    }

    fn ragged(kind: Ragged, rows: u64, cols: u64) -> Shape {
        let name = match kind {
            Ragged::Uniform => "uniform",
            Ragged::Power => "power",
            Ragged::Giant => "giant",
            Ragged::Empty => "empty",
        };
        let offsets = kind.offsets(rows, cols, 1);
        Shape { rows, cols: offsets.last().copied().unwrap_or(0) / rows, ragged: Some((name, offsets)) }
    }

    fn n(&self) -> u64 {
        self.range(self.rows - 1).end as u64
    }

    /// Elements of a row.
    fn range(&self, row: u64) -> std::ops::Range<usize> {
        match &self.ragged {
            Some((_, offsets)) => offsets[row as usize] as usize..offsets[row as usize + 1] as usize,
            None => (row * self.cols) as usize..((row + 1) * self.cols) as usize,
        }
    }

    fn layout(&self) -> Result<Layout> {
        Ok(match &self.ragged {
            Some((_, offsets)) => {
                let longest = Offsets::new(offsets.clone(), 32, self.n())?.longest();
                Layout::Ragged(Segments::new(self.rows, self.n(), 32).with_longest(longest))
            }
            None if self.rows == 1 => Layout::Array,
            None => Layout::Rows(Matrix::dense(self.rows, self.cols)),
        })
    }
}

/// Card and stream that all runs on.
struct Bench {
    reducer: Reducer,
    stream: Arc<CudaStream>,
}

/// Arrays of one call.
struct Arrays {
    input: CudaSlice<u8>,
    out: CudaSlice<u8>,
}

/// Arrays that all calls of a shape read.
struct Shared {
    weights: CudaSlice<u8>,
    offsets: CudaSlice<u32>,
}

impl Bench {
    fn new() -> Result<Bench> {
        if !reduction::is_available() {
            return Err("no NVIDIA driver with a GPU is here; run it on a machine that has one".into());
        }
        let context = CudaContext::new(0)?;
        // SAFETY: all work is on one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream()?;
        Ok(Bench { reducer: Reducer::new(&context)?.without_compiler(), stream })
    }

    fn address<T>(&self, array: &CudaSlice<T>) -> u64 {
        array.device_ptr(&self.stream).0
    }

    fn ours(&self, plan: &Prepared, workspace: &mut Workspace, arrays: &Arrays, shared: &Shared) -> Result<()> {
        let memory = |array: &CudaSlice<u8>| Memory { address: self.address(array), bytes: array.len() as u64 };
        let mut operands =
            Operands::default().with(Role::Input, memory(&arrays.input)).with(Role::Out, memory(&arrays.out));
        for role in [Role::Weights, Role::Biases] {
            if plan.reduction().rule(role).is_some() {
                operands.set(role, memory(&shared.weights));
            }
        }
        if plan.reduction().rule(Role::Offsets).is_some() {
            let (address, bytes) = (self.address(&shared.offsets), shared.offsets.num_bytes() as u64);
            operands.set(Role::Offsets, Memory { address, bytes });
        }
        // SAFETY: the arrays live until the stream has been waited for, and the offsets are those of the elements.
        Ok(unsafe { plan.enqueue(workspace, &operands) }?)
    }

    fn graph(&self, work: impl FnOnce() -> Result<()>) -> Result<CudaGraph> {
        self.stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
        let done = work();
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = self.stream.end_capture(flags);
        done?;
        Ok(graph?.ok_or("an empty graph")?)
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

/// Another library.
trait Rival {
    /// Name of its cases.
    fn entrant(&self) -> &'static str;
    /// Name and release.
    fn about(&self) -> String;
    /// Its ways to the results of a shape.
    ///
    /// # Errors
    /// A shape that it has none for.
    fn ways(&self, bench: &Bench, op: Op, ty: Type, shape: &Shape) -> Result<Vec<Way<'_>>>;
}

/// One of a library's ways to the results of a shape.
struct Way<'l> {
    /// Its name; empty where there is no other.
    name: String,
    /// Where its results are.
    format: Format,
    enqueue: Box<Enqueue<'l>>,
}

/// Puts a call into the stream.
type Enqueue<'l> = dyn Fn(&Bench, &Arrays, &Shared) -> Result<()> + 'l;

/// A way that has been captured, with the error of its results.
struct Captured {
    name: String,
    graph: CudaGraph,
    error: f64,
    us: f64,
}

/// A run of shapes, each by both libraries in turns.
struct Turns<'r> {
    bench: Bench,
    rival: &'r mut dyn Rival,
    start: Instant,
    seconds: f64,
    /// Shapes that were not reached in time.
    left: usize,
    failed: usize,
}

impl<'r> Turns<'r> {
    fn new(bench: Bench, rival: &'r mut dyn Rival, seconds: f64) -> Turns<'r> {
        Turns { bench, rival, start: Instant::now(), seconds, left: 0, failed: 0 }
    }

    fn head(&self) -> Result<()> {
        let device = self.bench.reducer.context().name()?;
        println!("{}", json!({"device": device, "rival": self.rival.about(), "replays": REPLAYS}));
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if self.left > 0 {
            eprintln!("{} shapes were not reached in {} s", self.left, self.seconds);
        }
        if self.failed > 0 { Err(format!("{} shapes failed", self.failed).into()) } else { Ok(()) }
    }

    fn both(&mut self, op: Op, shape: &Shape) {
        self.one::<f32>(op, shape);
        self.one::<bf16>(op, shape);
    }

    /// Times one shape both ways and prints the two cases. One that fails costs the others nothing.
    fn one<T: Number>(&mut self, op: Op, shape: &Shape) {
        if self.start.elapsed().as_secs_f64() > self.seconds {
            self.left += 1;
        } else if let Err(error) = self.shape::<T>(op, shape) {
            self.failed += 1;
            eprintln!("{} {} {} x {}: {error}", op.name(), <T as Element>::TYPE, shape.rows, shape.cols);
        }
    }

    fn shape<T: Number>(&self, op: Op, shape: &Shape) -> Result<()> {
        let (bench, ty, n) = (&self.bench, <T as Element>::TYPE, shape.n());
        let plan = bench.reducer.plan(op, ty, n, shape.layout()?)?;
        let mut workspace = bench.reducer.workspace(&bench.stream)?;
        workspace.reserve(plan.reduction())?;
        let (elements, weights): (Vec<T>, Vec<T>) =
            (lab::input::elements(n as usize, 0), lab::input::elements(shape.cols as usize, 1));
        // Of both libraries: a result of an array is 16 bytes at most.
        let of_elements = if op.is_per_element() { n * ty.bytes() } else { 0 };
        let out_bytes = plan.reduction().result_bytes().max(16 * shape.rows).max(of_elements) as usize;
        let calls = BYTES.div_ceil(n * ty.bytes()).clamp(1, CALLS_MAX);
        let first = bench.stream.clone_htod(bytes_of(&elements))?;
        let arrays = |_| -> Result<Arrays> {
            Ok(Arrays { input: bench.stream.clone_dtod(&first)?, out: bench.stream.alloc_zeros(out_bytes)? })
        };
        let arrays = (0..calls).map(arrays).collect::<Result<Vec<_>>>()?;
        drop(first);
        // CUB takes rows of one length by offsets too.
        let begins = |row| shape.ragged.as_ref().map_or(row * shape.cols, |(_, offsets)| offsets[row as usize]) as u32;
        let offsets: Vec<u32> = (0..=shape.rows).map(begins).collect();
        let shared = Shared {
            weights: bench.stream.clone_htod(bytes_of(&weights))?,
            offsets: bench.stream.clone_htod(&offsets)?,
        };
        let judge = Judge::new(op, shape, &elements, &weights);

        let stride = plan.reduction().result_bytes() / shape.rows;
        let format = Format::library(op, ty, stride);
        let ours = self.captured(&arrays, &judge, format, String::new(), &mut |arrays| {
            bench.ours(&plan, &mut workspace, arrays, &shared)
        })?;
        let theirs = self.fastest(op, ty, shape, (&arrays, &shared), &judge)?;
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..REPLAYS {
            for (captured, times) in [&ours, &theirs].into_iter().zip(&mut times) {
                times.push(bench.time_us(&captured.graph)? / calls as f64);
            }
        }
        self.print((op, ty, shape), [ours, theirs], times.map(median));
        Ok(())
    }

    /// The fastest of the rival's ways whose results are right; of a single way no more is asked.
    fn fastest<T: Number>(
        &self,
        op: Op,
        ty: Type,
        shape: &Shape,
        (arrays, shared): (&[Arrays], &Shared),
        judge: &Judge<'_, T>,
    ) -> Result<Captured> {
        let ways = self.rival.ways(&self.bench, op, ty, shape)?;
        let is_single = ways.len() == 1;
        let mut fastest: Option<Captured> = None;
        for way in &ways {
            let enqueue = &mut |arrays: &Arrays| (way.enqueue)(&self.bench, arrays, shared);
            let captured = self.captured(arrays, judge, way.format, way.name.clone(), enqueue)?;
            if captured.error > ERROR_MAX && !is_single {
                eprintln!("  {}: an error of {:.1e}", captured.name, captured.error);
            } else if fastest.as_ref().is_none_or(|best| captured.us < best.us) {
                fastest = Some(captured);
            }
        }
        Ok(fastest.ok_or("none of the rival's ways gives the results")?)
    }

    /// Runs a call for each of the arrays, judges the first one's results, and captures the calls.
    fn captured<T: Number>(
        &self,
        arrays: &[Arrays],
        judge: &Judge<'_, T>,
        format: Format,
        name: String,
        enqueue: &mut dyn FnMut(&Arrays) -> Result<()>,
    ) -> Result<Captured> {
        let (bench, stream) = (&self.bench, &self.bench.stream);
        // What a library loads at its first call is no part of a capture.
        enqueue(&arrays[0])?;
        stream.synchronize()?;
        let graph = bench.graph(|| arrays.iter().try_for_each(enqueue))?;
        let mut times = Vec::new();
        for _ in 0..REPLAYS_OF_CHOICE {
            times.push(bench.time_us(&graph)?);
        }
        let error = judge.error(&stream.clone_dtoh(&arrays[0].out)?, format);
        Ok(Captured { name, graph, error, us: median(times) })
    }

    fn print(&self, (op, ty, shape): (Op, Type, &Shape), captured: [Captured; 2], us: [f64; 2]) {
        let Shape { rows, cols, ragged } = shape;
        let entrants = ["reduction", self.rival.entrant()];
        for ((entrant, captured), us) in entrants.into_iter().zip(&captured).zip(us) {
            let mut case = json!({"entrant": entrant, "op": op.name(), "type": ty.name(), "rows": rows, "cols": cols, "us": us, "error": captured.error});
            if let Some((name, _)) = ragged {
                case["offsets"] = (*name).into();
            }
            if !captured.name.is_empty() {
                case["way"] = captured.name.clone().into();
            }
            println!("{case}");
        }
        let [ours, theirs] = captured;
        eprintln!(
            "{:10} {ty:4} {rows:7} x {cols:9} {:7}: {:9.2} us, {} {:9.2}, {:6.2}; errors {:.1e} {:.1e}; {}",
            op.name(),
            ragged.as_ref().map_or("", |(name, _)| name),
            us[0],
            entrants[1],
            us[1],
            us[1] / us[0],
            ours.error,
            theirs.error,
            theirs.name
        );
    }
}

fn bytes_of<T: Number>(elements: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding, and any of their bytes is a `u8`.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
