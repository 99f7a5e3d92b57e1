//! A record replayed on the simulator, bit for bit.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use device::{Checks, Choice, KernelSource, SimOptions};

use super::{GpuCase, GpuRecord};
use crate::bound::Rounding;
use crate::element::{Array, Type, Value};
use crate::error::{Error, Result};
use crate::input::random_for;
use crate::layout::Layout;
use crate::plan::LaunchOptions;
use crate::record::OPTIONS;
use crate::reference::{Reference, reference_of};
use crate::run::Job;
use crate::session::Session;
use crate::verify::verify;
use crate::{Chapter, Variant};

/// Result of replaying a record on the simulator.
#[derive(Debug, Default)]
pub struct Replay {
    /// Cases that were compared.
    pub compared: usize,
    /// Cases that may differ and do, because their kernel is announced to be undefined.
    pub announced: usize,
    /// Cases that may differ and do, because their kernel adds floats in no fixed order; each is within its bound.
    pub unordered: usize,
    /// Cases that may differ and do, because the GPU compiled a shape of its own, whose floats meet in another order; each is
    /// within its bound.
    pub reshaped: usize,
    /// Cases that disagree, a line each.
    pub differences: Vec<String>,
}

/// A case of a record, and what it runs.
struct Recorded<'a> {
    case: &'a GpuCase,
    variant: &'static Variant,
    ty: Type,
    options: LaunchOptions,
}

/// Replays the record's cases on the simulator and compares bits; of kernels that add floats in no fixed order, whether
/// both sums are within the bound. Cases of kernels that have changed since are left out. No checks are on: this compares results, and other
/// tests look for faults.
///
/// # Errors
/// A variant or type that the chapter no longer has, or kernels that do not run.
pub fn replay(chapter: &Chapter, root: &Path, record: &GpuRecord) -> Result<Replay> {
    // By operation, type and size: those cases have one input, which is drawn and added up once.
    let mut inputs: BTreeMap<_, Vec<Recorded<'_>>> = BTreeMap::new();
    for case in record.cases.iter().filter(|case| !case.is_stale) {
        let unknown = |what: &str| Error::Usage(format!("the record has {} {}, {what}", case.variant, case.ty));
        let variant = chapter.variant(&case.variant).ok_or_else(|| unknown("a variant that the chapter lacks"))?;
        let ty = Type::from_name(&case.ty).ok_or_else(|| unknown("a type that the chapter lacks"))?;
        let options = case.options(variant);
        let cases = inputs.entry((options.op.name(), ty.name(), case.n)).or_default();
        cases.push(Recorded { case, variant, ty, options });
    }
    // Each thread takes the next input when it is done with one, the largest first.
    let mut inputs: Vec<_> = inputs.into_values().collect();
    inputs.sort_by_key(|cases| cases.iter().map(|recorded| recorded.case.n).sum::<u64>());
    let inputs = Mutex::new(inputs);
    let next = || inputs.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let replay_some = || -> Result<Replay> {
        let options = SimOptions { checks: Checks::NONE, threads: 1, ..OPTIONS };
        let session = Session::open_source(chapter, KernelSource::in_root(root, chapter.slug), Choice::Sim, options)?;
        let mut replay = Replay::default();
        while let Some(cases) = next() {
            replay.add_input(&session, record, &cases)?;
        }
        Ok(replay)
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(replay_some)).collect();
        running.into_iter().try_fold(Replay::default(), |all, thread| {
            let some = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(all.and(some?))
        })
    })
}

impl Replay {
    fn and(mut self, other: Replay) -> Replay {
        self.compared += other.compared;
        self.announced += other.announced;
        self.unordered += other.unordered;
        self.reshaped += other.reshaped;
        self.differences.extend(other.differences);
        self.differences.sort();
        self
    }

    /// Replays cases that have one input.
    fn add_input(&mut self, session: &Session<'_>, record: &GpuRecord, cases: &[Recorded<'_>]) -> Result<()> {
        let Some(&Recorded { case, ty, options: LaunchOptions { op, .. }, .. }) = cases.first() else { return Ok(()) };
        let input = random_for(op, ty, case.n as usize, record.seed);
        let of_all = LazyCell::new(|| reference_of(op, &input));
        cases.iter().try_for_each(|recorded| self.add(session, record, recorded, &input, &of_all))
    }

    fn add(
        &mut self,
        session: &Session<'_>,
        record: &GpuRecord,
        &Recorded { case, variant, ty, options }: &Recorded<'_>,
        input: &Array,
        of_all: &LazyCell<Reference, impl FnOnce() -> Reference>,
    ) -> Result<()> {
        // A grid that the plan comes to by itself is not asked for: asked for one, it may choose another shape.
        let free = LaunchOptions { grid: None, ..options };
        let plan = session.plan(variant, ty, case.n, free);
        let is_free = plan.as_ref().is_ok_and(|plan| Some(plan.grid()) == case.grid);
        let options = if is_free { free } else { options };
        // Rows have references of their own.
        let reference = plan.is_ok_and(|plan| plan.layout == Layout::Array).then(|| &**of_all);
        let run = session.run(Job { variant, options, input, reference, offset: 0 })?;
        self.compared += 1;
        let (launches, result) = (run.plan.passes.len() as u64, run.result.bits());
        // Elements are judged one by one, and the record's worst is the run's, if their bits are the same.
        let judged = match case.reference(&run, input) {
            _ if options.op.has_bounds() => Reference::exact(run.expected),
            other => other.unwrap_or_else(|| **of_all),
        };
        // A plan that rounds nothing is held to the result that is rounded once, as the run was.
        let is_once = run.plan.layout == Layout::Array && run.plan.rounding() == Rounding::EXACT;
        let once = if is_once { Reference::exact(run.expected) } else { judged };
        // Of no row at all nothing is right but the result of nothing.
        let is_expected = match run.layout.values() {
            0 => case.is_expected(run.expected),
            _ => case.is_expected(judged.expected) || case.is_expected(once.expected),
        };
        let as_many = case.launches == Some(launches);
        if as_many && is_expected && (&result, &run.all_sha256) == (&case.result, &case.all_sha256) {
            return Ok(());
        }
        let on_gpu = Value::from_bits(ty, &case.result).map(|result| verify(result, &once, run.plan.rounding(), ty));
        let both_right = run.verdict.right && on_gpu.is_some_and(|verdict| verdict.right);
        if variant.announced.is_some() && as_many {
            self.announced += 1;
        } else if variant.unordered && as_many && is_expected && both_right {
            self.unordered += 1;
        } else if is_expected && both_right && case.is_reshaped(session.chapter, record, &run) {
            self.reshaped += 1;
        } else {
            let (block, recorded) = (case.block.unwrap_or(0), case.launches.unwrap_or(0));
            self.differences.push(format!(
                "{} {} n={} block={block}: {} gave {} in {recorded} launches, the simulator {result} in {launches}",
                case.variant, case.ty, case.n, record.device, case.result
            ));
        }
        Ok(())
    }
}
