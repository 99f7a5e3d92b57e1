//! The clock: replays of a captured graph between events.
//!
//! One launch costs the host some microseconds, longer than many a kernel runs. A graph holds all launches of all calls
//! and costs the host one launch; what it takes is divided by its calls.

use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaGraph, sys};

use super::{Gpu, Prepared, PreparedLaunch, driver, launch_failed};
use crate::{Error, Timing};

/// How long the GPU is kept busy before the clock counts, so that its own clocks have risen.
const WARM_UP: Duration = Duration::from_millis(50);
/// At least this many replays of warm-up, however long each takes.
const WARM_UP_REPLAYS: u32 = 3;

impl Gpu {
    /// Times `launches`, which are the launches of `calls` calls one after the other, with `flush` before each replay.
    pub(crate) fn time(
        &self,
        launches: &[Prepared<'_>],
        flush: Option<&PreparedLaunch<'_>>,
        calls: u32,
        replays: u32,
    ) -> Result<Timing, Error> {
        let failed = |error| driver::failed("time the kernels", error);
        let flush = flush.map(|launch| Ok::<_, Error>((launch.0.function(launch.1)?, launch))).transpose()?;
        let graph = self.capture(launches)?;
        graph.upload().map_err(failed)?;
        self.warm_up(&graph, launches)?;

        let event = || self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let pairs = (0..replays).map(|_| Ok((event()?, event()?))).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for (begin, end) in &pairs {
            if let Some((function, (_, kernel, geometry, args))) = &flush {
                let flushed = self.enqueue(*function, *geometry, args);
                flushed.map_err(|error| launch_failed(kernel, *geometry, error))?;
            }
            self.replay_between(&graph, begin, end).map_err(failed)?;
        }
        self.stream.synchronize().map_err(failed)?;
        let us_per_call = |(begin, end): &(CudaEvent, CudaEvent)| {
            begin.elapsed_ms(end).map(|ms| f64::from(ms) * 1000.0 / f64::from(calls))
        };
        let times_us = pairs.iter().map(us_per_call).collect::<Result<Vec<f64>, _>>().map_err(failed)?;
        Ok(summary(times_us, calls))
    }

    /// Records the launches into a graph, without running them.
    fn capture(&self, launches: &[Prepared<'_>]) -> Result<CudaGraph, Error> {
        let failed = |error| driver::failed("capture the launches", error);
        // Before the capture: a kernel may be loaded when it is first looked up, which a capture does not allow.
        let function = |launch: &Prepared<'_>| match launch {
            Prepared::Launch((module, kernel, ..)) => module.function(kernel).map(Some),
            Prepared::Foreign(_) => Ok(None),
        };
        let functions = launches.iter().map(function).collect::<Result<Vec<_>, Error>>()?;

        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).map_err(failed)?;
        let recorded = launches.iter().zip(functions).try_for_each(|launch| match launch {
            (Prepared::Launch((_, kernel, geometry, args)), Some(function)) => {
                let enqueued = self.enqueue(function, *geometry, args);
                enqueued.map_err(|error| launch_failed(kernel, *geometry, error))
            }
            (Prepared::Foreign(foreign), _) => self.enqueue_foreign(foreign),
            (Prepared::Launch(_), None) => Ok(()), // each launch has its function
        });
        // The capture is ended whatever happened, or the stream would stay useless.
        let graph = self.stream.end_capture(sys::CUgraphInstantiate_flags(0));
        recorded?;
        graph.map_err(failed)?.ok_or(Error::NothingToTime)
    }

    fn warm_up(&self, graph: &CudaGraph, launches: &[Prepared<'_>]) -> Result<(), Error> {
        let begin = Instant::now();
        let mut replays = 0;
        while replays < WARM_UP_REPLAYS || begin.elapsed() < WARM_UP {
            graph.launch().and_then(|()| self.stream.synchronize()).map_err(|error| {
                // The driver does not say which launch of the graph died; the first names the lesson at least.
                match launches.first() {
                    Some(Prepared::Launch((_, kernel, geometry, _))) => launch_failed(kernel, *geometry, error),
                    _ => driver::failed("run the captured launches", error),
                }
            })?;
            replays += 1;
        }
        Ok(())
    }

    /// Nothing is waited for between replays: the host runs ahead, and the events lie close around the graph.
    fn replay_between(
        &self,
        graph: &CudaGraph,
        begin: &CudaEvent,
        end: &CudaEvent,
    ) -> Result<(), cudarc::driver::DriverError> {
        begin.record(&self.stream)?;
        graph.launch()?;
        end.record(&self.stream)
    }
}

/// Median, fastest and slowest of at least one time.
fn summary(mut times_us: Vec<f64>, calls: u32) -> Timing {
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
}
