//! Time of a call that a program makes by itself: the host launches, and no graph stands around it.

use anyhow::Result;
use device::{Buffer, Graph, HostTiming, Replays};
use lab::element::Element;
use lab::measurement::{CUB, CUB_WHOLE, Contest, ENTRANT, MeasuredCase, WHOLE};
use lab::{LaunchOptions, Session, Variant};

use super::bench::{Bench, Entrant, Input, Slices, State};
use super::libraries::Libraries;

/// Calls that are waited for.
const CALLS: u32 = 50;
/// Those of a quick run.
const QUICK_CALLS: u32 = 10;

/// The champion and the library, with what they need at hand, and each call with memory of its own.
///
/// # Errors
/// Memory that does not suffice, a size that a library refuses.
pub fn entrants<'s, T: Element>(
    bench: &Bench,
    (session, variant): (&'s Session<'static>, &'static Variant),
    libraries: &'s Libraries,
    n: u64,
) -> Result<Vec<Entrant<'s, T>>> {
    let ours = |state| -> Result<Entrant<'s, T>> {
        Ok(Entrant::ours(session, variant, LaunchOptions::default(), n)?.with_state(state))
    };
    let mut entrants = vec![ours(State::Kept)?.named(ENTRANT), ours(State::Fresh)?.named(WHOLE)];
    let of_library = libraries.entrants::<T>(&bench.device, Contest::Alone, n)?;
    entrants.extend(of_library.into_iter().filter(|entrant| entrant.name == CUB));
    entrants.extend(libraries.whole::<T>(&bench.device, n)?);
    Ok(entrants)
}

impl Bench {
    /// The times of an entrant's calls by the host: one case of calls that are waited for, one of rows of calls where it has
    /// such. The first slice is summed again and again.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn host<T: Element>(
        &self,
        entrant: &Entrant<'_, T>,
        slices: Slices<'_, '_, T>,
        input: Input<'_>,
    ) -> Result<Vec<MeasuredCase>> {
        let Some((slice, reference)) = slices.cold.get(..1).zip(input.references.first()) else {
            return Ok(Vec::new());
        };
        // Not the sum, whatever it is: all bits set are minus one, and no number.
        let wrong: Vec<T> = (0..entrant.words()).map(|_| T::from_le(&[0xff; 8][..T::BYTES])).collect();
        let out: Buffer<T> = self.device.upload("out", &wrong)?;
        let works = entrant.works(slice, &out);
        let calls = entrant.calls(slice, &out, &works)?;
        let count = if self.is_quick { QUICK_CALLS } else { CALLS };
        let mut timing: Option<HostTiming> = None;
        for call in &calls {
            timing = self.device.time_host(call, entrant.fresh(), entrant.name == CUB_WHOLE, count)?;
        }
        if timing.is_none() {
            self.device.replay(&[Graph::<T>::of(calls)], &Replays::new(1, None))?;
        }
        let sums = self.device.download(&out)?;
        let times = [
            (Contest::Host, timing.map(|timing| timing.waiting)),
            (Contest::HostRow, timing.and_then(|timing| timing.in_a_row)),
        ];
        let mut cases = Vec::new();
        for (contest, timing) in
            times.into_iter().filter(|(contest, timing)| *contest == Contest::Host || timing.is_some())
        {
            let mut case = entrant.case(contest, input);
            if let Some(sum) = sums.first() {
                self.judge_one(&mut case, entrant, (sum, reference));
            }
            case.warm_us = timing.map(|timing| timing.median_us);
            case.range_us = timing.map(|timing| [timing.min_us, timing.max_us]);
            cases.push(case);
        }
        Ok(cases)
    }
}
