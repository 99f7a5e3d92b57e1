//! The library's all-reduce beside NCCL's, by every route: the same arrays, in turns, in one run. Prints a record, a line of JSON each.
//!
//! Usage: beside-nccl [ROUNDS]. `RANKS` in the environment is the number of GPUs, all by default. NCCL is looked for as `libnccl.so`;
//! where it is not, it is left out with a line.
//!
//! Every entrant has a graph of calls for each rank, from one array into another. Graphs are launched behind work that lasts until all
//! are there, and the time is that of the rank that began last, so that the host's launches are not in it.

mod cases;
mod link;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaGraph, CudaSlice, CudaStream, sys};
use cudarc::nccl;
use half::bf16;
use reduction::Op;
use serde_json::{Value, json};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One stream a GPU, and NCCL's communicators if it is here.
pub struct Bench {
    pub streams: Vec<Arc<CudaStream>>,
    pub comms: Vec<nccl::Comm>,
    pub rounds: usize,
    /// Array of each GPU that is cleared before a graph begins.
    busy: Vec<CudaSlice<u8>>,
}

/// Bytes that are cleared before a graph begins: some 100 us.
const BUSY_BYTES: usize = 256 << 20;

/// Work of all ranks, as a graph each.
pub struct Graphs {
    pub name: &'static str,
    /// Divisor of the time.
    pub calls: u32,
    pub graphs: Vec<CudaGraph>,
}

/// Prints a line of the record, and writes it out at once.
pub fn say(line: Value) {
    use std::io::Write;
    println!("{line}");
    let _ = std::io::stdout().flush();
}

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(31), |arg| arg.parse())?;
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU".into());
    }
    let all = CudaContext::device_count()? as usize;
    let ranks = std::env::var("RANKS").map_or(Ok(all), |ranks| ranks.parse())?.min(all);
    let stream = |device| -> Result<Arc<CudaStream>> {
        let context = CudaContext::new(device)?;
        // SAFETY: an array is used on its rank's stream alone, or by kernels that wait for each other.
        unsafe { context.disable_event_tracking() };
        Ok(context.new_stream()?)
    };
    let streams = (0..ranks).map(stream).collect::<Result<Vec<_>>>()?;
    // SAFETY: a library of NCCL's name is NCCL.
    let has_nccl = unsafe { nccl::sys::is_culib_present() };
    let comms = if has_nccl {
        nccl::Comm::from_devices(streams.clone()).map_err(|error| format!("NCCL does not begin: {error:?}"))?
    } else {
        eprintln!("no libnccl.so: NCCL is left out");
        Vec::new()
    };
    let version = has_nccl.then(|| nccl::result::get_nccl_version().ok()).flatten();
    say(json!({"device": streams[0].context().name()?, "ranks": ranks, "nccl": version, "rounds": rounds}));
    let busy = streams.iter().map(|stream| Ok(stream.alloc_zeros::<u8>(BUSY_BYTES)?)).collect::<Result<_>>()?;
    let mut bench = Bench { streams, comms, rounds, busy };
    bench.link()?;
    bench.cases::<f32>(Op::Sum, 30)?;
    bench.scalar()?;
    bench.cases::<bf16>(Op::Sum, 30)?;
    bench.cases::<f32>(Op::Maximum, 30)?;
    bench.cases::<bf16>(Op::Maximum, 30)?;
    // Its communicators are aborted where they are dropped, which waits for nothing that is left.
    Ok(())
}

impl Bench {
    /// Captures the work of all ranks, which `enqueue` puts into their streams.
    pub fn capture(&self, name: &'static str, calls: u32, mut enqueue: impl FnMut() -> Result<()>) -> Result<Graphs> {
        // Once as it is: what is made at the first call may not be captured.
        enqueue()?;
        self.wait()?;
        for stream in &self.streams {
            stream.context().bind_to_thread()?;
            stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        }
        let enqueued = (0..calls).try_for_each(|_| enqueue());
        let end = |stream: &Arc<CudaStream>| -> Result<CudaGraph> {
            stream.context().bind_to_thread()?;
            let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
            stream.end_capture(flags)?.ok_or_else(|| "nothing was captured".into())
        };
        let graphs: Result<Vec<_>> = self.streams.iter().map(end).collect();
        enqueued?;
        Ok(Graphs { name, calls, graphs: graphs? })
    }

    pub fn wait(&self) -> Result<()> {
        for stream in &self.streams {
            stream.context().bind_to_thread()?;
            stream.synchronize()?;
        }
        Ok(())
    }

    /// Microseconds of a call by each, smallest, median and largest, measured in turns.
    pub fn times_us(&mut self, all: &[Graphs]) -> Result<Vec<[f64; 3]>> {
        let mut times = vec![Vec::new(); all.len()];
        for round in 0..self.rounds + 2 {
            for (entrant, times) in all.iter().zip(&mut times) {
                let us = self.time_us(entrant)?;
                if round >= 2 {
                    times.push(us);
                }
            }
        }
        let of_three = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            [times[0], times[times.len() / 2], times[times.len() - 1]]
        };
        Ok(times.iter_mut().map(of_three).collect())
    }

    fn time_us(&mut self, entrant: &Graphs) -> Result<f64> {
        let event = |stream: &Arc<CudaStream>| -> Result<CudaEvent> {
            stream.context().bind_to_thread()?;
            Ok(stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?)
        };
        let mut pairs = Vec::new();
        for ((stream, graph), busy) in self.streams.iter().zip(&entrant.graphs).zip(&mut self.busy) {
            stream.context().bind_to_thread()?;
            stream.memset_zeros(busy)?;
            let begin = event(stream)?;
            graph.launch()?;
            pairs.push((begin, event(stream)?));
        }
        self.wait()?;
        let mut shortest = f64::INFINITY;
        for (begin, end) in &pairs {
            shortest = shortest.min(f64::from(begin.elapsed_ms(end)?) * 1e3);
        }
        Ok(shortest / f64::from(entrant.calls))
    }
}
