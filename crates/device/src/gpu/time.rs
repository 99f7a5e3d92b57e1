//! The clock: replays of a captured graph between events.
//!
//! One launch costs the host some microseconds, longer than many a kernel runs. A graph holds all launches of all calls
//! and costs the host one launch; what it takes is divided by its calls.

use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaGraph, DriverError, result, sys};

use super::{Gpu, GpuBuffer, Prepared, PreparedGraph, PreparedLaunch, PreparedStep, driver, launch_failed};
use crate::{Error, Replays, Timing};

/// At least this many replays of warm-up, however long each takes.
const WARM_UP_REPLAYS: u32 = 3;

/// Launch before each replay, if any; its kernel is looked up once.
type Flush<'a> = Option<(sys::CUfunction, &'a PreparedLaunch<'a>)>;

/// Events around a replay.
type Events = (CudaEvent, CudaEvent);

impl Gpu {
    /// Times graphs in turns. Of each: its times, and its output after each timed replay, one after the other.
    pub(crate) fn replay(
        &self,
        graphs: &[PreparedGraph<'_>],
        flush: Option<&PreparedLaunch<'_>>,
        how: &Replays<'_>,
    ) -> Result<Vec<(Timing, Vec<u8>)>, Error> {
        let failed = |error| driver::failed("time the kernels", error);
        let flush: Flush<'_> =
            flush.map(|launch| Ok::<_, Error>((launch.0.function(launch.1)?, launch))).transpose()?;
        let captured = graphs.iter().map(|graph| self.capture(&graph.launches)).collect::<Result<Vec<_>, Error>>()?;
        captured.iter().try_for_each(CudaGraph::upload).map_err(failed)?;
        let round = self.warm_up(&captured, graphs, flush, how.warm_up)?;

        let rounds = rounds(how, round) as usize;
        let event = || self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(failed);
        let events = (0..rounds * graphs.len()).map(|_| Ok((event()?, event()?)));
        let events = events.collect::<Result<Vec<Events>, Error>>()?;
        let kept = graphs.iter().map(|graph| match graph.output {
            Some((_, bytes)) => self.alloc("outputs", (rounds * bytes) as u64).map(Some),
            None => Ok(None),
        });
        let kept = kept.collect::<Result<Vec<Option<GpuBuffer>>, Error>>()?;
        for (round, events) in events.chunks(graphs.len()).enumerate() {
            for (((graph, captured), (begin, end)), kept) in graphs.iter().zip(&captured).zip(events).zip(&kept) {
                self.prepare_replay(graph, flush)?;
                self.replay_between(captured, begin, end).map_err(failed)?;
                if let (Some((from, bytes)), Some(kept)) = (graph.output, kept) {
                    self.enqueue_copy(from, kept.address() + (round * bytes) as u64, bytes).map_err(failed)?;
                }
            }
        }
        self.stream.synchronize().map_err(failed)?;
        let of_graph = |(i, graph): (usize, &PreparedGraph<'_>)| {
            let us_per_call =
                |(begin, end): &Events| begin.elapsed_ms(end).map(|ms| f64::from(ms) * 1000.0 / f64::from(graph.calls));
            let times = events.iter().skip(i).step_by(graphs.len()).map(us_per_call);
            let timing = summary(times.collect::<Result<Vec<f64>, _>>().map_err(failed)?, graph.calls);
            let mut outputs = vec![0; graph.output.map_or(0, |(_, bytes)| rounds * bytes)];
            if let Some(kept) = kept[i].as_ref().filter(|_| !outputs.is_empty()) {
                self.read(kept, "outputs", &mut outputs)?;
            }
            Ok((timing, outputs))
        };
        graphs.iter().enumerate().map(of_graph).collect()
    }

    fn enqueue_copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: both are arrays of this device of at least so many bytes: `Step::check` compared, or they were made here.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }
    }

    /// Runs the steps before a replay, which do not count in its time.
    fn prepare_replay(&self, graph: &PreparedGraph<'_>, flush: Flush<'_>) -> Result<(), Error> {
        for step in &graph.before {
            match step {
                PreparedStep::Launch((module, kernel, geometry, args)) => {
                    let enqueued = self.enqueue(module.function(kernel)?, *geometry, args);
                    enqueued.map_err(|error| launch_failed(kernel, *geometry, error))
                }
                PreparedStep::Copy { from, to, bytes } => {
                    self.enqueue_copy(*from, *to, *bytes).map_err(|error| driver::failed("copy an array", error))
                }
                PreparedStep::Fill { to, bytes, byte } => {
                    // SAFETY: the whole of an array of this device.
                    let filled = unsafe { result::memset_d8_async(*to, *byte, *bytes, self.stream.cu_stream()) };
                    filled.map_err(|error| driver::failed("fill an array", error))
                }
            }?;
        }
        self.enqueue_flush(flush)
    }

    /// Records the launches into a graph, without running them.
    pub(super) fn capture(&self, launches: &[Prepared<'_>]) -> Result<CudaGraph, Error> {
        let failed = |error| driver::failed("capture the launches", error);
        let functions = Gpu::functions(launches)?;

        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).map_err(failed)?;
        let recorded =
            launches.iter().zip(functions).try_for_each(|(launch, function)| self.enqueue_prepared(launch, function));
        // The capture is ended whatever happened, or the stream would stay useless.
        let graph = self.stream.end_capture(sys::CUgraphInstantiate_flags(0));
        recorded?;
        graph.map_err(failed)?.ok_or(Error::NothingToTime)
    }

    fn enqueue_flush(&self, flush: Flush<'_>) -> Result<(), Error> {
        let Some((function, (_, kernel, geometry, args))) = flush else { return Ok(()) };
        self.enqueue(function, *geometry, args).map_err(|error| launch_failed(kernel, *geometry, error))
    }

    /// Replays every graph for some time; gives what one round of all of them takes.
    fn warm_up(
        &self,
        captured: &[CudaGraph],
        graphs: &[PreparedGraph<'_>],
        flush: Flush<'_>,
        busy: Duration,
    ) -> Result<Duration, Error> {
        let begin = Instant::now();
        let mut rounds = 0;
        while rounds < WARM_UP_REPLAYS || begin.elapsed() < busy {
            for (captured, graph) in captured.iter().zip(graphs) {
                self.prepare_replay(graph, flush)?;
                let done = captured.launch().and_then(|()| self.stream.synchronize());
                done.map_err(|error| replay_failed(&graph.launches, error))?;
            }
            rounds += 1;
        }
        Ok(begin.elapsed() / rounds)
    }

    /// Nothing is waited for between replays: the host runs ahead, and the events lie close around the graph.
    pub(super) fn replay_between(
        &self,
        graph: &CudaGraph,
        begin: &CudaEvent,
        end: &CudaEvent,
    ) -> Result<(), DriverError> {
        begin.record(&self.stream)?;
        graph.launch()?;
        end.record(&self.stream)
    }
}

/// The driver does not say which launch of the graph died; the first names the lesson at least.
fn replay_failed(launches: &[Prepared<'_>], error: DriverError) -> Error {
    match launches.first() {
        Some(Prepared::Launch((_, kernel, geometry, _))) => launch_failed(kernel, *geometry, error),
        _ => driver::failed("run the captured launches", error),
    }
}

/// Replays of each graph, where one of each together takes `round`.
fn rounds(how: &Replays<'_>, round: Duration) -> u32 {
    let affordable = how.patience.as_nanos() / round.as_nanos().max(1);
    how.count.min(u32::try_from(affordable).unwrap_or(u32::MAX).max(Replays::LEAST))
}

/// Median, fastest and slowest of at least one time.
pub(super) fn summary(mut times_us: Vec<f64>, calls: u32) -> Timing {
    times_us.sort_by(f64::total_cmp);
    let (last, middle) = (times_us.len() - 1, times_us.len() / 2);
    let median_us =
        if times_us.len() % 2 == 1 { times_us[middle] } else { (times_us[middle - 1] + times_us[middle]) / 2.0 };
    Timing { median_us, min_us: times_us[0], max_us: times_us[last], replays: times_us.len() as u32, calls }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_takes_the_middle() {
        let odd = summary(vec![3.0, 1.0, 2.0], 4);
        assert_eq!(odd, Timing { median_us: 2.0, min_us: 1.0, max_us: 3.0, replays: 3, calls: 4 });
        let even = summary(vec![4.0, 1.0, 2.0, 3.0], 1);
        assert_eq!((even.median_us, even.min_us, even.max_us, even.replays), (2.5, 1.0, 4.0, 4));
    }

    #[test]
    fn long_replays_are_fewer_but_never_too_few() {
        let how = Replays { patience: Duration::from_millis(100), ..Replays::new(15, None) };
        let rounds = |round_ms| rounds(&how, Duration::from_millis(round_ms));
        assert_eq!((rounds(1), rounds(10), rounds(50)), (15, 10, Replays::LEAST));
        assert_eq!(super::rounds(&Replays { count: 2, ..how }, Duration::from_secs(1)), 2);
        assert_eq!(super::rounds(&Replays::new(15, None), Duration::from_secs(1000)), 15);
    }
}
