//! Entrants and their contest: graphs that are replayed in turns, and every result of every timed replay judged.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use device::{Arg, BaselineSum, Buffer, Call, Device, Foreign, Graph, Replayed, Replays, Step, Timed, Timing};
use lab::bound::Rounding;
use lab::clock::{Flush, WARM_CALLS};
use lab::element::Element;
use lab::measurement::{COLUMN, CUB_UNORDERED, Contest, MeasuredCase};
use lab::op::OnHost as _;
use lab::reference::Reference;
use lab::session::Arrays;
use lab::verify::verify;
use lab::{Case, LaunchOptions, Layout, Op, Planned, Session, Type, Variant};

use super::pool::Slice;

/// Method of taking times, for the record.
pub fn method(is_quick: bool) -> String {
    let replays = if is_quick { QUICK_REPLAYS } else { REPLAYS };
    METHOD.replace("{replays}", &replays.to_string())
}

const METHOD: &str = "a time is the median of {replays} replays of a CUDA graph, measured by events around it, divided by the reductions \
in it; it covers all launches of a reduction. All entrants of a size, of both contests, are replayed in turns. Each of the 3 to 64 \
reductions of a graph reads an array of its own and writes a word of its own; the words are overwritten before each replay, and all \
of them are judged after each timed replay. Before each replay, outside of the events, a kernel reads four times the L2. alone: a \
launch begins when the one before it has ended, and the champion has the plan that is tuned for that. back_to_back: launches may \
begin while the one before ends, on both sides; CUB by its own macros, put into a copy of its headers, and not tuned anew for it. warm, for inputs of at most half the \
L2: as alone, 64 reductions of one array. Sizes are the powers of two, 42 drawn at random that are odd, and 10 drawn at random \
among the multiples of 32 and of 1,000. champion_with_memset: as the champion, with a node before each launch that clears its state. \
champion_not_ahead: as the champion back to back, but asking for no data before it waits. host: by the host's clock and without a \
graph, the median of 50 calls with a wait after each, and of 5 rows of 200 calls with a wait at the end; all read one array, and the \
last result is judged; the whole calls allocate what they need and give it back, the champion's state and CUB's storage alike. error \
is the distance from the exact sum over the sum of the magnitudes, the largest of all judged results. The clocks of the card are not \
locked. Kernels that sum in \
place get their input anew before each replay and are measured up to 2^26 elements. limit_us is an empty launch by the rules of the \
contest and every byte at the read ceiling, the best of five geometries of a kernel that reads and adds in registers. \
Of the operators sizes are powers of two and some drawn at random; torch and torch_compiled were timed before, each alone, the median \
of 9 replays, two results of each judged. \
Of rows every result of every replay is judged, row by row; a limit has the results and the offsets of ragged rows among its bytes, \
and the offsets are one array for all reductions of a graph, on both sides. cub takes offsets, cub_fixed one length.";

/// Timed replays.
const REPLAYS: u32 = 15;
/// Those of a quick run.
const QUICK_REPLAYS: u32 = 7;
/// The GPU is busy all the time here, so that its clocks need not rise again.
const WARM_UP: Duration = Duration::from_millis(3);
/// An input is warm if it fits in the L2 by this factor.
const WARM_SHARE: u64 = 2;
/// A second input begins at a multiple of so many elements behind the first.
pub const SECOND_ALIGNMENT: usize = 64;
/// Results of rows begin at a multiple of so many elements.
const ROW_ALIGNMENT: usize = 64;
/// Before a replay every byte of the outputs is this: not a number, and of integers minus one.
pub(crate) const POISON: u8 = 0xff;
/// Reductions of one graph on a simulator, which has no clock.
pub(super) const SIMULATED_CALLS: usize = 2;

/// Shared parts of all measurements.
pub struct Bench {
    pub device: Rc<Device>,
    pub flush: Flush,
    pub is_quick: bool,
}

/// Participant in a contest.
pub struct Entrant<'s, T: Element> {
    /// Contest whose rules apply.
    pub contest: Contest,
    /// Under this name in the record.
    pub name: String,
    /// Operation that it computes.
    pub(super) op: Op,
    /// Layout of its input: what gets a value.
    pub(super) layout: Layout,
    sum: Sum<'s, T>,
}

/// Its way to sum.
enum Sum<'s, T: Element> {
    Ours {
        session: &'s Session<'static>,
        variant: &'static Variant,
        options: Box<LaunchOptions>,
        plan: Box<Planned>,
        arrays: Box<Arrays<T>>,
        state: State,
    },
    Library {
        chapter: String,
        sum: Box<BaselineSum<'s, T>>,
    },
}

/// Treatment of the state before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing: the call before left it as it has to be.
    Kept,
    /// It is cleared.
    Cleared,
    /// The call has one of its own, allocated, cleared and given back. Of the host's calls alone.
    Fresh,
}

/// Facts about the inputs of a size.
#[derive(Clone, Copy)]
pub struct Input<'r> {
    /// Elements.
    pub n: u64,
    /// Elements after an aligned address.
    pub offset: usize,
    /// The result of each slice.
    pub references: &'r [Reference],
    /// The same, rounded once, for kernels whose additions are exact; empty if there are none.
    pub exact: &'r [Reference],
}

impl<'r> Input<'r> {
    /// An input of `n` aligned elements.
    pub fn new(n: u64, references: &'r [Reference]) -> Self {
        Input { n, offset: 0, references, exact: &[] }
    }
}

/// Slices that the entrants read.
#[derive(Clone, Copy)]
pub struct Slices<'p, 'a, T> {
    /// A slice for each reduction.
    pub cold: &'a [Slice<'p, T>],
    /// Slices of an array for kernels that destroy their input, and what it is restored from.
    pub to_destroy: &'a [Slice<'p, T>],
    /// Buffers that those are restored from.
    pub restore: Option<(&'p Buffer<T>, &'p Buffer<T>)>,
}

impl<'p, 'a, T> Slices<'p, 'a, T> {
    /// Slices for entrants that leave their input as it is.
    pub fn kept(cold: &'a [Slice<'p, T>]) -> Self {
        Slices { cold, to_destroy: &[], restore: None }
    }
}

impl<'s, T: Element> Entrant<'s, T> {
    /// One of our kernels, prepared for `n` elements.
    pub fn ours(
        session: &'s Session<'static>,
        variant: &'static Variant,
        options: LaunchOptions,
        n: u64,
    ) -> Result<Self> {
        let plan = session.plan(variant, T::TYPE, n, options)?;
        Entrant::planned(session, variant, options, plan)
    }

    /// One of our kernels by a plan of another's making.
    pub fn planned(
        session: &'s Session<'static>,
        variant: &'static Variant,
        options: LaunchOptions,
        plan: Planned,
    ) -> Result<Self> {
        let arrays = Box::new(session.arrays(&plan)?);
        let contest = if options.overlap { Contest::BackToBack } else { Contest::Alone };
        let name = variant.name.to_owned();
        Ok(Entrant {
            contest,
            name,
            op: options.op,
            layout: plan.layout,
            sum: Sum::Ours {
                session,
                variant,
                options: Box::new(options),
                plan: Box::new(plan),
                arrays,
                state: State::Kept,
            },
        })
    }

    /// A library's sum, in a chapter's contest.
    pub fn library(contest: Contest, name: &str, chapter: &str, sum: BaselineSum<'s, T>) -> Self {
        let sum = Sum::Library { chapter: chapter.to_owned(), sum: Box::new(sum) };
        Entrant { contest, name: name.to_owned(), op: Op::Sum, layout: Layout::Array, sum }
    }

    /// Entrant with another operation than the sum.
    pub fn computing(self, op: Op) -> Self {
        Entrant { op, ..self }
    }

    /// A value for each row, or column, of this layout.
    pub fn over(self, layout: Layout) -> Self {
        Entrant { layout, ..self }
    }

    /// Under another name.
    pub fn named(self, name: &str) -> Self {
        Entrant { name: name.to_owned(), ..self }
    }

    /// One of our kernels with another care for its state.
    pub fn with_state(mut self, restored: State) -> Self {
        if let Sum::Ours { state, .. } = &mut self.sum {
            *state = restored;
        }
        self
    }

    /// The state that each of the host's calls has of its own.
    pub(super) fn fresh(&self) -> Option<&Buffer<u64>> {
        match &self.sum {
            Sum::Ours { arrays, state: State::Fresh, .. } => Some(arrays.state()),
            _ => None,
        }
    }

    /// The plan of one of our kernels.
    pub fn plan(&self) -> Option<&Planned> {
        match &self.sum {
            Sum::Ours { plan, .. } => Some(plan),
            Sum::Library { .. } => None,
        }
    }

    /// Returns whether it destroys its input.
    pub fn destroys(&self) -> bool {
        matches!(&self.sum, Sum::Ours { variant, .. } if variant.in_place)
    }

    /// Words that one reduction writes where its result is the first. Those of rows begin at an aligned address, as they would
    /// in an array of their own.
    pub(super) fn words(&self) -> usize {
        let of_results = match self.layout {
            Layout::Array => T::TYPE.holding(self.op.result_bytes(T::TYPE)),
            layout => T::TYPE.holding(layout.values() * self.op.row_bytes(T::TYPE)),
        };
        let words = self.plan().and_then(|plan| plan.sums.last()).map_or(of_results as usize, |&words| words as usize);
        if self.layout == Layout::Array { words } else { words.next_multiple_of(ROW_ALIGNMENT) }
    }

    /// Rounding of a sum on the way from an element to the result.
    pub(super) fn rounding(&self, n: u64, multiprocessors: u64) -> Rounding {
        // One warp may take all of a row; more warps would round less.
        let longest = match self.layout {
            Layout::Array => 0,
            Layout::Rows(matrix) => matrix.cols,
            Layout::Columns(matrix) => matrix.rows,
            Layout::Ragged(offsets) => offsets.longest(),
        };
        // The order of a library is not known: assumed are paths of a full card's threads that share the input, then trees;
        // and where any order is allowed, its blocks one after the other.
        let blocks = if self.name == CUB_UNORDERED { 16 * multiprocessors } else { 0 };
        // A product has every multiplication's share in it, and not only those on one path.
        let path = if self.op == Op::Prod {
            n
        } else {
            n.div_ceil(256 * multiprocessors) + longest.div_ceil(32) + 80 + blocks
        };
        self.plan().map_or_else(|| path.into(), |plan| plan.rounding())
    }

    /// A library's work for each slice; nothing for our kernels.
    pub(super) fn works<'a>(&'a self, slices: &[Slice<'a, T>], out: &'a Buffer<T>) -> Vec<Box<Foreign<'a>>> {
        let Sum::Library { sum, .. } = &self.sum else { return Vec::new() };
        let work = |(i, &(array, start)): (usize, &Slice<'a, T>)| {
            Box::new(sum.work_into(array, start, (out, i * self.words()))) as Box<Foreign<'a>>
        };
        slices.iter().enumerate().map(work).collect()
    }

    /// One reduction of each slice, each into words of its own.
    pub(super) fn calls<'a>(
        &'a self,
        slices: &[Slice<'a, T>],
        out: &'a Buffer<T>,
        works: &'a [Box<Foreign<'a>>],
    ) -> Result<Vec<Timed<'a>>> {
        let Sum::Ours { session, variant, plan, arrays, state, .. } = &self.sum else {
            return Ok(works.iter().map(|work| Timed::Foreign(&**work)).collect());
        };
        let result = lab::Arg::Sums(plan.sums.len().saturating_sub(1));
        let reduction = |(i, &slice): (usize, &Slice<'a, T>)| {
            let mut calls: Vec<Call<'a>> = session.calls(variant, plan, slice, arrays)?;
            for (call, pass) in calls.iter_mut().zip(&plan.passes) {
                for (arg, _) in call.args.iter_mut().zip(&pass.args).filter(|(_, planned)| **planned == result) {
                    *arg = Arg::Address(out, (i * self.words() * T::BYTES) as u64);
                }
                // A second input lies behind the first, from the next multiple of 64 elements on.
                for (arg, _) in call.args.iter_mut().zip(&pass.args).filter(|(_, planned)| **planned == lab::Arg::Other)
                {
                    let second = (pass.elements as usize).next_multiple_of(SECOND_ALIGNMENT);
                    *arg = Arg::Address(slice.0, ((slice.1 + second) * T::BYTES) as u64);
                }
            }
            Ok(if *state == State::Cleared { Timed::Cleared(arrays.state(), calls) } else { Timed::Launches(calls) })
        };
        slices.iter().enumerate().map(reduction).collect()
    }

    /// The case, without what is measured.
    pub(super) fn case(&self, contest: Contest, input: Input<'_>) -> MeasuredCase {
        let mut case = empty_case(T::TYPE, contest, &self.name, (self.op, &self.layout), input);
        match &self.sum {
            Sum::Library { chapter, .. } => case.chapter = Some(chapter.clone()),
            Sum::Ours { session, options, plan, .. } => describe_plan(&mut case, session, options, plan),
        }
        case
    }
}

impl Bench {
    /// Replays of each graph.
    pub fn replays<'a>(&self, flush: Option<&'a Call<'a>>) -> Replays<'a> {
        let count = if self.is_quick { QUICK_REPLAYS } else { REPLAYS };
        Replays { warm_up: WARM_UP, ..Replays::new(count, flush) }
    }

    /// Times graphs without an output in turns; nothing on a simulator.
    pub fn time(&self, graphs: &[&[Timed<'_>]], flush: Option<&Call<'_>>) -> Result<Vec<Timing>> {
        Ok(self.device.time_in_turns(graphs, &self.replays(flush))?.unwrap_or_default())
    }

    /// Multiprocessors of the device.
    pub(super) fn multiprocessors(&self) -> u64 {
        u64::from(self.device.description().multiprocessors.unwrap_or(1))
    }

    /// Judges what an entrant left of one reduction.
    pub(super) fn judge_one<T: Element>(
        &self,
        case: &mut MeasuredCase,
        entrant: &Entrant<'_, T>,
        (sum, reference): (&T, &Reference),
    ) {
        judge(
            case,
            (entrant.op, std::iter::once((std::slice::from_ref(sum), reference))),
            entrant.rounding(case.n, self.multiprocessors()),
        );
    }

    /// Returns whether the L2 holds an input of this size with room to spare.
    pub fn stays_warm(&self, bytes: u64) -> bool {
        self.device.description().l2_bytes.is_some_and(|l2| WARM_SHARE * bytes <= l2)
    }

    /// The slices that a graph reads here: fewer on the simulator.
    pub(super) fn graph_slices<'a, S>(&self, slices: &'a [S]) -> &'a [S] {
        if self.device.is_gpu() { slices } else { &slices[..slices.len().min(SIMULATED_CALLS)] }
    }

    /// Replays all entrants in turns, each by the rules of its contest, and judges every result.
    pub fn contest<T: Element>(
        &self,
        entrants: &[Entrant<'_, T>],
        slices: Slices<'_, '_, T>,
        input: Input<'_>,
    ) -> Result<Vec<MeasuredCase>> {
        let flush = self.flush.call();
        self.judged(entrants, slices, input, None, &self.replays(Some(&flush)))
    }

    /// Replays them warm: all reductions read the first slice, and nothing empties the L2.
    pub fn warm<T: Element>(
        &self,
        entrants: &[Entrant<'_, T>],
        slices: Slices<'_, '_, T>,
        input: Input<'_>,
    ) -> Result<Vec<MeasuredCase>> {
        let Some((&first, &reference)) = slices.cold.first().zip(input.references.first()) else {
            return Ok(Vec::new());
        };
        let (cold, references) = ([first; WARM_CALLS], [reference; WARM_CALLS]);
        let exact: Vec<Reference> = input.exact.first().into_iter().flat_map(|&one| [one; WARM_CALLS]).collect();
        let slices = Slices { cold: &cold, ..slices };
        let input = Input { references: &references, exact: &exact, ..input };
        self.judged(entrants, slices, input, Some(Contest::Warm), &self.replays(None))
    }

    /// Replays a graph of each entrant in turns, and gives its times and all that it wrote.
    pub(super) fn replayed<T: Element>(
        &self,
        entrants: &[Entrant<'_, T>],
        slices: Slices<'_, '_, T>,
        replays: &Replays<'_>,
    ) -> Result<Vec<Replayed<T>>> {
        let slices_of = |entrant: &Entrant<'_, T>| {
            self.graph_slices(if entrant.destroys() { slices.to_destroy } else { slices.cold })
        };
        let out = |entrant| Ok(self.device.alloc("out", slices_of(entrant).len() * Entrant::words(entrant))?);
        let outs = entrants.iter().map(out).collect::<Result<Vec<Buffer<T>>>>()?;
        let works = entrants.iter().zip(&outs).map(|(entrant, out)| entrant.works(slices_of(entrant), out));
        let works: Vec<_> = works.collect();
        // A library loads a kernel when it launches it first, which a capture does not allow.
        works.iter().filter_map(|works| works.first()).try_for_each(|work| self.device.run_foreign(&**work))?;
        let mut graphs = Vec::new();
        for ((entrant, out), works) in entrants.iter().zip(&outs).zip(&works) {
            let mut before = vec![Step::Fill(out, POISON)];
            if let Some((from, to)) = slices.restore.filter(|_| entrant.destroys()) {
                before.push(Step::Copy { from, to, elements: to.len().min(from.len()) });
            }
            graphs.push(Graph { calls: entrant.calls(slices_of(entrant), out, works)?, before, output: Some(out) });
        }
        Ok(self.device.replay(&graphs, replays)?)
    }

    fn judged<T: Element>(
        &self,
        entrants: &[Entrant<'_, T>],
        slices: Slices<'_, '_, T>,
        input: Input<'_>,
        contest: Option<Contest>,
        replays: &Replays<'_>,
    ) -> Result<Vec<MeasuredCase>> {
        let replayed = self.replayed(entrants, slices, replays)?;
        let multiprocessors = self.multiprocessors();
        let case = |(entrant, replayed): (&Entrant<'_, T>, &Replayed<T>)| {
            let mut case = entrant.case(contest.unwrap_or(entrant.contest), input);
            let rounding = entrant.rounding(input.n, multiprocessors);
            let is_exact = rounding == Rounding::EXACT && !input.exact.is_empty();
            let references = if is_exact { input.exact } else { input.references };
            let sums = replayed.outputs.iter().flat_map(|words| words.chunks(entrant.words()).zip(references));
            judge(&mut case, (entrant.op, sums), rounding);
            set_times(&mut case, replayed.timing.as_ref());
            case
        };
        Ok(entrants.iter().zip(&replayed).map(case).collect())
    }
}

/// A case without what is measured, and without what a plan knows.
pub(super) fn empty_case(
    ty: Type,
    contest: Contest,
    entrant: &str,
    (op, layout): (Op, &Layout),
    input: Input<'_>,
) -> MeasuredCase {
    let (ty, op) = (ty.name().to_owned(), Some(op.name().to_owned()));
    let (rows, cols) = layout.size().unzip();
    MeasuredCase {
        contest,
        entrant: entrant.to_owned(),
        case: Case { ty, n: input.n, op, rows, cols, ..Case::default() },
        per: matches!(layout, Layout::Columns(_)).then(|| COLUMN.to_owned()),
        offset: input.offset as u64,
        ..MeasuredCase::default()
    }
}

/// Copies what a plan of ours knows into the record.
pub(super) fn describe_plan(case: &mut MeasuredCase, session: &Session<'_>, options: &LaunchOptions, plan: &Planned) {
    case.chapter = Some(session.chapter.slug.to_owned());
    (case.block, case.grid) = (plan.block(), Some(plan.grid()));
    (case.factor, case.launches) = (options.factor, Some(plan.passes.len() as u64));
    case.kernels = plan.kernels();
}

/// Takes into the case how many sums are right, and how far the worst is from its reference.
fn judge<'a, T: Element>(
    case: &mut MeasuredCase,
    (op, sums): (Op, impl Iterator<Item = (&'a [T], &'a Reference)>),
    rounding: Rounding,
) {
    let (mut right, mut error) = (true, 0.0f64);
    for (sum, reference) in sums {
        let Some(result) = op.result_in(sum) else { continue };
        let verdict = verify(result, reference, rounding, T::TYPE);
        case.judged += 1;
        right &= verdict.right;
        // There is no relative error where all numbers are zeros.
        error = error.max(if reference.magnitude > 0.0 { verdict.abs_error / reference.magnitude } else { 0.0 });
    }
    case.ok = right && case.judged > 0;
    case.error = (T::TYPE.is_float() && op.rounds() && case.ok).then_some(error);
}

pub(super) fn set_times(case: &mut MeasuredCase, timing: Option<&Timing>) {
    let median = timing.map(|timing| timing.median_us);
    if case.contest == Contest::Warm {
        case.warm_us = median;
    } else {
        case.cold_us = median;
    }
    case.range_us = timing.map(|timing| [timing.min_us, timing.max_us]);
}
