//! One case: a reduction's result judged, then its time cold and warm, alone or in turns with others.

use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use device::{BaselineSum, Buffer, Call, Device, Foreign, Replays, Timed, Timing};
use lab::clock::{Flush, REPLAYS, WARM_CALLS};
use lab::element::Element;
use lab::measurement::{CUB, MeasuredCase};
use lab::reference::Reference;
use lab::session::Arrays;
use lab::verify::verify;
use lab::{Plan, Session, Variant, Wish};

use super::pool::Slice;

/// How times are taken, for the record.
pub const METHOD: &str = "times are medians of up to 15 replays of a CUDA graph, measured by events around it, divided by the \
reductions in it. cold: each of 3 to 64 reductions reads an array of its own, and before each replay, outside of the events, a kernel \
reads another array of four times the L2. warm, for inputs of at most half the L2: 64 reductions of one array. A time covers all \
launches of a reduction. single_pass and CUB are replayed in turns; single_pass may begin while the reduction before it ends, and is replayed once more where it may not. Kernels that sum in place are measured up to 2^26 elements. The \
read ceiling is the best of five geometries of a kernel that reads and adds in registers.";

/// Replays of a quick run.
const QUICK_REPLAYS: u32 = 7;
/// The GPU is busy all the time here, so that its clocks need not rise again.
const WARM_UP: Duration = Duration::from_millis(5);
/// Timed replays of slow kernels are fewer.
const PATIENCE: Duration = Duration::from_millis(200);
/// An input is warm if it fits in the L2 by this factor.
const WARM_SHARE: u64 = 2;

/// What every case needs.
pub struct Bench {
    pub device: Rc<Device>,
    pub flush: Flush,
    pub is_quick: bool,
}

/// A reduction of one of our kernels, ready to run.
pub struct Ours<'s, T: Element> {
    session: &'s Session<'static>,
    variant: &'static Variant,
    wish: Wish,
    plan: Plan,
    arrays: Arrays<T>,
}

/// What is known of an input.
#[derive(Clone, Copy)]
pub struct Input<'r> {
    /// Elements.
    pub n: u64,
    /// Elements after an aligned address.
    pub offset: usize,
    /// Its sum.
    pub reference: &'r Reference,
}

impl Bench {
    /// Times graphs in turns, as every case is; nothing on a simulator.
    pub fn time(&self, graphs: &[&[Timed<'_>]], flush: Option<&Call<'_>>) -> Result<Vec<Timing>> {
        let count = if self.is_quick { QUICK_REPLAYS } else { REPLAYS };
        let replays = Replays { warm_up: WARM_UP, patience: PATIENCE, ..Replays::new(count, flush) };
        Ok(self.device.time_in_turns(graphs, &replays)?.unwrap_or_default())
    }

    /// Whether the L2 holds an input of this size with room to spare.
    fn stays_warm(&self, bytes: u64) -> bool {
        self.device.description().l2_bytes.is_some_and(|l2| WARM_SHARE * bytes <= l2)
    }

    /// Prepares a reduction of `n` elements.
    pub fn ours<'s, T: Element>(
        &self,
        session: &'s Session<'static>,
        variant: &'static Variant,
        wish: Wish,
        n: u64,
    ) -> Result<Ours<'s, T>> {
        let plan = session.plan(variant, T::TYPE, n, wish)?;
        let arrays = session.arrays(&plan)?;
        Ok(Ours { session, variant, wish, plan, arrays })
    }

    /// Judges and times one of our kernels; the first slice holds the input.
    pub fn alone<T: Element>(
        &self,
        ours: &Ours<'_, T>,
        slices: &[Slice<'_, T>],
        input: Input<'_>,
    ) -> Result<MeasuredCase> {
        let mut case = ours.judged(&self.device, slices, input)?;
        let cold = ours.graph(slices)?;
        set_cold(&mut case, self.time(&[&cold], Some(&self.flush.call()))?.first());
        if self.stays_warm(case.input_bytes()) {
            let warm = ours.graph(&warm_slices(slices))?;
            case.warm_us = self.time(&[&warm], None)?.first().map(|timing| timing.median_us);
        }
        Ok(case)
    }

    /// Judges and times one of our kernels and the library's sum, in turns.
    pub fn in_turns<T: Element>(
        &self,
        ours: &Ours<'_, T>,
        theirs: &BaselineSum<'_, T>,
        slices: &[Slice<'_, T>],
        input: Input<'_>,
    ) -> Result<[MeasuredCase; 2]> {
        let mut cases = [ours.judged(&self.device, slices, input)?, self.judged(theirs, slices, input)?];
        let timed = |slices: &[Slice<'_, T>], flush: Option<&Call<'_>>| {
            let sums: Vec<_> = slices.iter().map(|&(array, start)| library_call(theirs, array, start)).collect();
            let foreign: Vec<Timed<'_>> = sums.iter().map(|sum| Timed::Foreign(&**sum)).collect();
            self.time(&[&ours.graph(slices)?, &foreign], flush)
        };
        for (case, timing) in cases.iter_mut().zip(timed(slices, Some(&self.flush.call()))?) {
            set_cold(case, Some(&timing));
        }
        if self.stays_warm(cases[0].input_bytes()) {
            for (case, timing) in cases.iter_mut().zip(timed(&warm_slices(slices), None)?) {
                case.warm_us = Some(timing.median_us);
            }
        }
        Ok(cases)
    }

    /// The library's sum, judged but not timed.
    fn judged<T: Element>(
        &self,
        theirs: &BaselineSum<'_, T>,
        slices: &[Slice<'_, T>],
        input: Input<'_>,
    ) -> Result<MeasuredCase> {
        let &(array, start) = slices.first().context("there is no input")?;
        self.device.run_foreign(&*library_call(theirs, array, start))?;
        let result = theirs.result(&self.device)?.context("the library left no sum")?;
        // How it adds is its own business: a path as long as where a full card's threads share the input, and trees.
        let threads = 256 * u64::from(self.device.description().multiprocessors.unwrap_or(1));
        let additions = input.n.div_ceil(threads) + 80;
        let right = verify(result.value(), input.reference, additions, T::TYPE).right;
        Ok(MeasuredCase { name: CUB.to_owned(), ok: right, ..empty_case::<T>(input) })
    }
}

impl<T: Element> Ours<'_, T> {
    /// Makes each launch begin only when the one before it has ended.
    pub fn forgo_overlap(&mut self) {
        self.plan.passes.iter_mut().for_each(|pass| pass.overlaps = false);
    }

    /// The plan of its launches.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// One reduction of each slice.
    fn graph<'a>(&'a self, slices: &[Slice<'a, T>]) -> Result<Vec<Timed<'a>>> {
        let reduction = |&slice: &Slice<'a, T>| {
            Ok(Timed::Launches(self.session.calls(self.variant, &self.plan, slice, &self.arrays)?))
        };
        slices.iter().map(reduction).collect()
    }

    /// The case with its verdict, not timed yet.
    fn judged(&self, device: &Device, slices: &[Slice<'_, T>], input: Input<'_>) -> Result<MeasuredCase> {
        let &slice = slices.first().context("there is no input")?;
        for call in self.session.calls(self.variant, &self.plan, slice, &self.arrays)? {
            device.launch(&call)?;
        }
        let result = self.session.result(&self.arrays)?.context("the kernel left no sum")?;
        Ok(MeasuredCase {
            chapter: Some(self.session.chapter.slug.to_owned()),
            name: self.variant.name.to_owned(),
            block: self.plan.block(),
            grid: Some(self.plan.grid()),
            factor: self.wish.factor,
            launches: Some(self.plan.passes.len() as u64),
            ok: verify(result, input.reference, self.plan.depth(), T::TYPE).right,
            ..empty_case::<T>(input)
        })
    }
}

/// The library's sum of one slice.
fn library_call<'c, T: Element>(
    theirs: &'c BaselineSum<'_, T>,
    array: &'c Buffer<T>,
    start: usize,
) -> Box<Foreign<'c>> {
    Box::new(theirs.work(array, start))
}

/// The same input as often as a warm graph reads it.
fn warm_slices<'p, T>(slices: &[Slice<'p, T>]) -> Vec<Slice<'p, T>> {
    slices.iter().take(1).cycle().take(WARM_CALLS).copied().collect()
}

fn set_cold(case: &mut MeasuredCase, timing: Option<&Timing>) {
    case.cold_us = timing.map(|timing| timing.median_us);
    case.cold_range_us = timing.map(|timing| [timing.min_us, timing.max_us]);
}

fn empty_case<T: Element>(input: Input<'_>) -> MeasuredCase {
    MeasuredCase {
        chapter: None,
        name: String::new(),
        ty: T::TYPE.name().to_owned(),
        n: input.n,
        offset: input.offset as u64,
        block: None,
        grid: None,
        factor: None,
        launches: None,
        swept: None,
        cold_us: None,
        cold_range_us: None,
        warm_us: None,
        ok: false,
    }
}
