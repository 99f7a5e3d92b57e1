//! The host's clock: what a call takes that a program makes by itself, without a graph around it.

use std::time::Instant;

use cudarc::driver::{result, sys};

use super::time::summary;
use super::{Gpu, Prepared, driver};
use crate::{Error, HostTiming, Timing};

/// Calls before the clock counts.
const WARM_UP_CALLS: u32 = 20;
/// Calls of a row, at the end of which the host waits once.
const ROW: u32 = 200;
/// Rows.
const ROWS: u32 = 5;

impl Gpu {
    /// Times one call made by the host, with a wait after each; in rows too, unless it has an array of its own or waits by
    /// itself. `fresh` is address and bytes of an array in whose place each call has one of its own.
    pub(crate) fn time_host(
        &self,
        launches: &[Prepared<'_>],
        fresh: Option<(u64, usize)>,
        waits: bool,
        count: u32,
    ) -> Result<HostTiming, Error> {
        let functions = Gpu::functions(launches)?;
        let enqueue = |launches: &[Prepared<'_>]| {
            launches.iter().zip(&functions).try_for_each(|(launch, function)| self.enqueue_prepared(launch, *function))
        };
        let wait = || self.stream.synchronize().map_err(|error| driver::failed("time the calls", error));
        let once = || match fresh {
            Some(place) => self.with_fresh(launches, place, &|launches| enqueue(launches).and_then(|()| wait())),
            None => enqueue(launches).and_then(|()| wait()),
        };
        (0..WARM_UP_CALLS).try_for_each(|_| once())?;
        let timed = |count: u32, calls: u32, work: &dyn Fn() -> Result<(), Error>| -> Result<Timing, Error> {
            let time = |_| {
                let begin = Instant::now();
                work()?;
                Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(calls))
            };
            Ok(summary((0..count).map(time).collect::<Result<Vec<f64>, Error>>()?, calls))
        };
        let row = || (0..ROW).try_for_each(|_| enqueue(launches)).and_then(|()| wait());
        let in_a_row = if fresh.is_none() && !waits { Some(timed(ROWS, ROW, &row)?) } else { None };
        Ok(HostTiming { waiting: timed(count, 1, &once)?, in_a_row })
    }

    /// Runs `work` with launches that use a new, cleared array where they used `place`, and gives it back.
    fn with_fresh(
        &self,
        launches: &[Prepared<'_>],
        (address, bytes): (u64, usize),
        work: &dyn Fn(&[Prepared<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error| driver::failed("allocate an array for a call", error);
        self.context.bind_to_thread().map_err(failed)?;
        // SAFETY: what it gives is freed below, whatever happens between.
        let own: sys::CUdeviceptr = unsafe { result::malloc_sync(bytes) }.map_err(failed)?;
        let launches: Vec<Prepared<'_>> = launches.iter().map(|launch| moved(launch, (address, own))).collect();
        let done = self.enqueue_clear((own, bytes)).and_then(|()| work(&launches));
        // SAFETY: the array of above, which nothing uses any more: freeing waits for the device.
        let freed = unsafe { result::free_sync(own) }.map_err(failed);
        done.and(freed)
    }
}

/// The launch with one address in the place of another.
fn moved<'a>(launch: &Prepared<'a>, (from, to): (u64, u64)) -> Prepared<'a> {
    match launch {
        Prepared::Launch((module, kernel, geometry, args)) => {
            let mut args = args.clone();
            let words = args.iter_mut().flat_map(|arg| &mut arg.words);
            words.filter(|word| **word == from).for_each(|word| *word = to);
            Prepared::Launch((*module, *kernel, *geometry, args))
        }
        Prepared::Clear(place) => Prepared::Clear(*place),
        Prepared::Foreign(foreign) => Prepared::Foreign(*foreign),
    }
}
