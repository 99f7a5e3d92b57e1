//! Common tests of all chapters, so that a chapter has only its own: ragged sizes, all blocks and types, many
//! schedules, and its program on bad input.
//!
//! Functions return what went wrong as lines, and how much was tried: a trial of nothing must not pass. Those of records
//! and of refusals judge at once.

use std::collections::{BTreeMap, BTreeSet};

use device::{Arg, Call, Checks, Choice, Counters, Device, Fault, Geometry, KernelSource, Schedule, SimOptions};

use crate::element::{Array, Element};
use crate::error::Result;
use crate::hardware::{self, GpuCase, Replay, ragged_sizes};
use crate::input::{SEED, random, random_for};
use crate::mistake;
use crate::plan::refusal;
use crate::record::{self, OPTIONS};
use crate::run::{Job, Run};
use crate::session::{Session, built_root};
use crate::{Chapter, LaunchOptions, Type, Variant, with_type};

mod lesson;
mod matrices;
mod program;
mod rounds;

pub use lesson::{anything, extremes, mistakes};
pub use matrices::{Matrices, judge_plan, judge_staged, judge_turns, kinds, over_numbers};
pub use program::{Ended, Files, Program, ended, le_bytes, npy_bytes, program};
pub use rounds::{Round, each, rounds};

/// Findings of a trial.
#[derive(Debug, Default)]
pub struct Trial {
    /// Runs.
    pub tried: usize,
    /// Those that were wrong, a line each.
    pub failures: Vec<String>,
}

impl Trial {
    /// Panics with the failures, or if nothing was tried.
    ///
    /// # Panics
    /// In those two cases.
    pub fn assert_clean(&self) {
        assert!(self.tried > 0, "nothing was tried");
        assert!(self.failures.is_empty(), "{} of {}:\n{}", self.failures.len(), self.tried, self.failures.join("\n"));
    }

    fn judge(&mut self, run: &Run, context: &str) {
        self.tried += 1;
        if !run.ok() {
            self.failures.push(describe(run, context));
        }
    }
}

/// One line that says what a run did wrong.
pub fn describe(run: &Run, context: &str) -> String {
    let faults: Vec<&str> = run.faults.iter().map(|fault| fault.code.name()).collect();
    format!(
        "{} {} n={} block={} {context}: {} expected {} (off by {}, bound {}), faults {faults:?}",
        run.variant.name,
        run.ty,
        run.n,
        run.block,
        run.result,
        run.expected,
        run.verdict.abs_error,
        run.verdict.error_bound
    )
}

/// Numbers as an array of this type, each the nearest that it has.
pub fn array(ty: Type, numbers: &[f32]) -> Array {
    with_type!(ty, T => T::array(numbers.iter().map(|&x| <T as Element>::from_f64(x.into())).collect()))
}

/// The variant of that name.
///
/// # Panics
/// If the chapter has none.
pub fn variant(chapter: &Chapter, name: &str) -> &'static Variant {
    chapter.variant(name).unwrap_or_else(|| panic!("{} has no {name}", chapter.slug))
}

/// A session on the simulator with the kernels of the tree that the tests were built from.
///
/// # Errors
/// Kernels that are not there or do not compile.
pub fn simulator(chapter: &Chapter, schedule: Schedule, checks: Checks) -> Result<Session<'_>> {
    let source = KernelSource::in_root(&built_root(), chapter.slug);
    Session::open_source(chapter, source, Choice::Sim, SimOptions { schedule, checks, ..SimOptions::default() })
}

/// A session on the simulator as records have it: lanes on their own, with all checks on.
///
/// # Errors
/// As [`simulator`].
pub fn checked(chapter: &Chapter) -> Result<Session<'_>> {
    simulator(chapter, OPTIONS.schedule, OPTIONS.checks)
}

/// Runs `variant` over these numbers, the input `offset` elements into its allocation.
///
/// # Errors
/// A run that fails.
pub fn run(session: &Session<'_>, variant: &'static Variant, block: u32, input: &Array, offset: usize) -> Result<Run> {
    run_with(session, variant, LaunchOptions::block(block), input, offset)
}

/// As [`run`], for any operation, grid or factor.
///
/// # Errors
/// A run that fails.
pub fn run_with(
    session: &Session<'_>,
    variant: &'static Variant,
    options: LaunchOptions,
    input: &Array,
    offset: usize,
) -> Result<Run> {
    session.run(Job { variant, options, input, reference: None, offset })
}

/// As [`run_with`], of a kernel that is right.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If the result is wrong, or anything is found.
pub fn right(
    session: &Session<'_>,
    variant: &'static Variant,
    options: LaunchOptions,
    input: &Array,
    offset: usize,
) -> Result<Run> {
    let run = run_with(session, variant, options, input, offset)?;
    assert!(run.ok(), "{}", describe(&run, &format!("{options:?}, offset {offset}, {}", session.options.schedule)));
    Ok(run)
}

/// The bits of the result of a kernel that is right, in lockstep, by blocks of so many threads.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If the result is wrong.
pub fn bits((chapter, name): (&Chapter, &str), block: u32, input: &Array) -> Result<String> {
    let session = simulator(chapter, Schedule::Lockstep, Checks::NONE)?;
    Ok(right(&session, variant(chapter, name), LaunchOptions::block(block), input, 0)?.result.bits())
}

/// Launches one block over `n` of these numbers from `first` on, so many times onto one word that is 0 at first: what that holds, and
/// what was found.
///
/// # Errors
/// A kernel that is not there, a launch that fails.
pub fn launched(
    (source, kernel, block): (&KernelSource, &str, u32),
    (numbers, first, n): (&[i32], usize, usize),
    times: u32,
) -> Result<(i32, Vec<Fault>)> {
    let device = Device::open(Choice::Sim, SimOptions::default())?;
    let module = device.load(source)?;
    let (input, out) = (device.upload("in", numbers)?, device.upload("out", &[0i32])?);
    let mut faults = Vec::new();
    for _ in 0..times {
        let args = vec![Arg::Address(&input, 4 * first as u64), Arg::Address(&out, 0), Arg::U32(n as u32)];
        let call = Call { module: &module, kernel, geometry: Geometry::linear(1, block), args };
        faults.extend(device.launch(&call)?.faults);
    }
    Ok((device.download(&out)?[0], faults))
}

/// The counts of one full block of i32, by a kernel that is right.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If the result is wrong, or anything is found.
pub fn one_block((chapter, name): (&Chapter, &str), block: u32) -> Result<Counters> {
    let variant = variant(chapter, name);
    let n = (variant.elements_per_block)(block) as usize;
    let run = right(&checked(chapter)?, variant, LaunchOptions::block(block), &random(Type::I32, n, 1), 0)?;
    Ok(run.counters.unwrap_or_default())
}

/// Random i32 of the seed that records have.
pub fn integers(n: usize) -> Vec<i32> {
    crate::input::elements(n, SEED)
}

/// Their sum, modulo 2^32.
pub fn sum<'a>(numbers: impl IntoIterator<Item = &'a i32>) -> i32 {
    numbers.into_iter().fold(0, |sum, &x| sum.wrapping_add(x))
}

/// The facts that the chapter's notes bring to its page: anchor and value.
///
/// # Errors
/// A run that fails.
pub fn facts(chapter: &Chapter) -> Result<Vec<(String, String)>> {
    let session = checked(chapter)?;
    let notes = chapter.notes.map_or(Ok(Vec::new()), |notes| notes(&session))?;
    Ok(notes.into_iter().flat_map(|note| note.facts).collect())
}

/// Each of these facts is one of the chapter's, with this value.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If one is not.
pub fn assert_facts(chapter: &Chapter, expected: &[(&str, &str)]) -> Result<()> {
    let facts = facts(chapter)?;
    for &(name, value) in expected {
        assert!(facts.contains(&(name.to_owned(), value.to_owned())), "{name} is not {value}: {facts:?}");
    }
    Ok(())
}

/// Runs the mistake of that name as its page shows it.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If the chapter has no such mistake.
pub fn mistake(chapter: &Chapter, name: &str) -> Result<Run> {
    let found = chapter.mistakes.iter().find(|mistake| mistake.variant.name == name);
    mistake::run(chapter, found.unwrap_or_else(|| panic!("{} has no {name}", chapter.slug)), &built_root())
}

/// Variants that are meant to be right.
pub fn right_variants(chapter: &Chapter) -> impl Iterator<Item = &'static Variant> {
    chapter.variants.iter().filter(|variant| variant.announced.is_none())
}

/// Every operation, block and factor of a variant; its defaults first.
pub fn options(variant: &Variant) -> Vec<LaunchOptions> {
    let blocks = (0..=10).map(|log| 1 << log).filter(|&block| variant.blocks.allows(block));
    let factors = variant.factors.iter().flat_map(|factors| factors.values);
    let default = variant.options();
    let ops = variant.ops.iter().filter(|&&op| op != default.op);
    let mut options = vec![default];
    options.extend(blocks.map(|block| LaunchOptions { block: Some(block), ..default }));
    options.extend(ops.map(|&op| LaunchOptions { op, ..default }));
    options.extend(factors.map(|&factor| LaunchOptions { factor: Some(factor), ..default }));
    options
}

/// Every right variant, type, operation, block and factor at the sizes where kernels go wrong, with every check on.
///
/// # Errors
/// A run that fails.
pub fn ragged(chapter: &Chapter) -> Result<Trial> {
    let session = checked(chapter)?;
    let mut trial = Trial::default();
    for variant in right_variants(chapter) {
        for &ty in variant.types {
            for options in options(variant) {
                let block = u64::from(options.block.unwrap_or(variant.blocks.default));
                // The long ones once, not for every block.
                let long = if options == variant.options() { u64::MAX } else { 8 * block };
                if refusal(variant, ty, &options).is_some() {
                    continue;
                }
                for n in ragged_sizes(block).into_iter().filter(|&n| n <= long) {
                    let input = random_for(options.op, ty, n as usize, n);
                    trial.judge(&run_with(&session, variant, options, &input, 0)?, &format!("{options:?}"));
                }
            }
        }
    }
    Ok(trial)
}

/// Every right variant under lockstep and under `seeds` random schedules, at a size of two passes and an odd end.
///
/// # Errors
/// A run that fails.
pub fn schedules(chapter: &Chapter, seeds: u64) -> Result<Trial> {
    let random_schedules = (0..seeds).map(|seed| Schedule::Independent { seed: Some(seed) });
    let mut trial = Trial::default();
    for schedule in std::iter::once(Schedule::Lockstep).chain(random_schedules) {
        let session = simulator(chapter, schedule, Checks::ALL)?;
        for variant in right_variants(chapter) {
            for &ty in variant.types {
                let input = random_for(variant.op(), ty, 2 * 1024 + 77, SEED);
                trial.judge(&run_with(&session, variant, variant.options(), &input, 0)?, &format!("{schedule:?}"));
            }
        }
    }
    Ok(trial)
}

/// Recomputes `data/sim.json`.
///
/// # Errors
/// Those of [`record::check`].
///
/// # Panics
/// If it is not what the simulator computes today.
pub fn simulators_record(chapter: &Chapter) -> Result<()> {
    let differences = record::check(chapter, &built_root())?;
    assert!(differences.is_empty(), "BLESS=1 rewrites it:\n{}", differences.join("\n"));
    Ok(())
}

/// Items of a list that a long trial takes: every third, or all where `COURSE_ALL` is set. CI names another third for another commit.
pub fn tried<T>(all: Vec<T>) -> Vec<T> {
    if std::env::var_os("COURSE_ALL").is_some() {
        return all;
    }
    let third = std::env::var("COURSE_THIRD").ok().and_then(|third| third.parse().ok()).unwrap_or(0usize);
    let parts = all.len().clamp(1, 3);
    let is_tried = |i: usize| i % parts == third % parts;
    all.into_iter().enumerate().filter(|&(i, _)| is_tried(i)).map(|(_, item)| item).collect()
}

/// Elements from which on the quick replay takes a part of the cases: they take longer than all shorter ones together.
const LONG_N: u64 = 1 << 16;
/// Elements from which on it takes one case of each variant, and then one of all: kernels do with 2^24 elements what they do with 2^20.
const LONGEST_N: [u64; 2] = [1 << 22, 1 << 24];

/// Returns whether the quick replay takes a case; asked of each in the order of the record. Of long inputs these are the first of each
/// variant, type and operation, the first of each variant and size, and every third of those, beginning elsewhere at other sizes.
fn quick() -> impl FnMut(&GpuCase) -> bool {
    let mut kinds = BTreeSet::new();
    let mut sizes: BTreeMap<_, u64> = BTreeMap::new();
    move |case| {
        if case.is_stale || case.n < LONG_N {
            return true;
        }
        let variant = Some(case.variant.clone());
        let is_new = kinds.insert((variant.clone(), case.ty.clone(), case.op.clone()));
        let before = sizes.entry((variant.filter(|_| case.n < LONGEST_N[1]), case.n, case.rows)).or_default();
        let (is_first, is_third) = (*before == 0, (*before + case.n).is_multiple_of(3));
        *before += 1;
        is_first || (case.n < LONGEST_N[0] && (is_new || is_third))
    }
}

/// Replays the record of a GPU, of long inputs a part of the cases; `None` while there is none.
///
/// # Errors
/// Those of [`hardware::replay`].
///
/// # Panics
/// Those of [`gpus_whole_record`].
pub fn gpus_record(chapter: &Chapter) -> Result<Option<Replay>> {
    replayed(chapter, |mut cases| {
        cases.retain(quick());
        tried(cases)
    })
}

/// Replays all of the record of a GPU, `data/h200.json` for instance; `None` while there is none.
///
/// # Errors
/// Those of [`hardware::replay`].
///
/// # Panics
/// If a case was wrong on the GPU and not announced to be, if one differs, or if there is none.
pub fn gpus_whole_record(chapter: &Chapter) -> Result<Option<Replay>> {
    replayed(chapter, |cases| cases)
}

fn replayed(chapter: &Chapter, chosen: fn(Vec<GpuCase>) -> Vec<GpuCase>) -> Result<Option<Replay>> {
    let root = built_root();
    let Some(mut record) = hardware::load(&root, chapter.slug, &record::card_record(&root, chapter.slug, ""))? else {
        println!("skipped: no record of a GPU yet");
        return Ok(None);
    };
    let is_announced = |name: &str| chapter.variant(name).is_some_and(|variant| variant.announced.is_some());
    let wrong: Vec<_> = record.cases.iter().filter(|case| !case.ok && !is_announced(&case.variant)).collect();
    assert!(wrong.is_empty(), "wrong on the GPU: {wrong:?}");
    record.cases = chosen(record.cases);
    let replay = hardware::replay(chapter, &root, &record)?;
    let Replay { compared, announced, unordered, reshaped, differences } = &replay;
    println!(
        "{compared} compared, of which {announced} undefined ones differ, {unordered} without an order, and {reshaped} sums in shapes \
         that the GPU compiled"
    );
    assert!(*compared > 0, "the record has no case");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(Some(replay))
}
