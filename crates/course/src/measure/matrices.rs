//! Contests over matrices whose results may be as many as the elements. Each call of a graph has arrays of its own, with the same
//! numbers. Other libraries were timed before, in a process of their own.

use anyhow::Result;
use device::{Arg, Buffer, Call, Device, Geometry, Graph, KernelSource, Module, Step, Timed, Timing};
use lab::clock::WARM_CALLS;
use lab::element::Element;
use lab::measurement::{Contest, ENTRANT, MeasuredCase, SAVED};
use lab::session::Arrays;
use lab::verify::Bounded;
use lab::{Matrix, Op, Planned, Session, Variant, clock, input};

use super::bench::{Bench, Input, POISON, SIMULATED_CALLS, describe_plan, empty_case, set_times};
use super::saved::Saved;
use super::task::Task;

/// The kernels that copy and that compare.
pub const KERNELS: &str = "copying";
/// Rows of about so many elements are held against doubles; one row at least.
const JUDGED: u64 = 1 << 21;
/// A matrix of more elements has its columns not judged by all of its rows, which takes too long: the gradients of weights are
/// compared with those of the run before alone.
const COLUMNS_N_MAX: u64 = 1 << 24;
/// Logits are from minus to plus so many.
const SPREAD: f64 = 8.0;
/// Blocks that compare, of [`COMPARING`] threads.
const COMPARING_BLOCKS: u32 = 1024;
const COMPARING: u32 = 256;

/// Kernels that copy, and that count where two arrays differ.
pub struct Copying {
    module: Module,
    unequal: Buffer<u64>,
}

impl Copying {
    /// Loads them from the folder of `source`.
    pub fn new(device: &Device, source: &KernelSource) -> Result<Copying> {
        let module = device.load(&KernelSource::in_root(source.root(), KERNELS))?;
        Ok(Copying { module, unequal: device.upload("unequal", &[0])? })
    }

    /// Copies so many bytes, a multiple of 16, from one place to another: each thread so many vectors of 16 bytes.
    pub fn copy<'a>(&'a self, [from, to]: [Arg<'a>; 2], bytes: u64, (each, block): (u32, u32)) -> Call<'a> {
        let kernel = match each {
            1 => "copy_all_1",
            2 => "copy_all_2",
            _ => "copy_all_4",
        };
        let vectors = bytes / 16;
        let grid = vectors.div_ceil(u64::from(each.min(4) * block)) as u32;
        Call {
            module: &self.module,
            kernel,
            geometry: Geometry::linear(grid, block),
            args: vec![from, to, Arg::U32(vectors as u32)],
        }
    }

    /// Adds to the counter in how many words two arrays differ.
    pub(super) fn compare<'a, T: Element>(&'a self, a: &'a Buffer<T>, b: &'a Buffer<T>) -> Call<'a> {
        let words = a.bytes().min(b.bytes()) / 2;
        let grid = words.div_ceil(8 * u64::from(COMPARING)).clamp(1, COMPARING_BLOCKS.into()) as u32;
        Call {
            module: &self.module,
            kernel: "count_unequal",
            geometry: Geometry::linear(grid, COMPARING),
            args: vec![Arg::Address(a, 0), Arg::Address(b, 0), Arg::U64(words), Arg::Address(&self.unequal, 0)],
        }
    }

    /// Count since the last call.
    pub(super) fn count(&mut self, device: &Device) -> Result<u64> {
        let count = device.download(&self.unequal)?;
        self.unequal = device.upload("unequal", &[0])?;
        Ok(count.first().copied().unwrap_or(u64::MAX))
    }
}

/// This many numbers of a type, made by all cores.
pub fn numbers<T: Element>(count: u64) -> Vec<T> {
    let mut values = input::elements::<T>(count as usize, input::SEED);
    let part = values.len().div_ceil(crate::cores::count()).max(1);
    let spread = |value: &mut T| *value = T::from_f64(SPREAD * value.value().to_f64());
    std::thread::scope(|scope| {
        for part in values.chunks_mut(part) {
            scope.spawn(move || part.iter_mut().for_each(spread));
        }
    });
    values
}

/// Our launches for a task: those of the chapter's kernel, or of the library's from what a forward pass has saved.
struct Ours<'a> {
    entrant: &'static str,
    plan: &'a Planned,
    /// Roundings on the longest path to a result.
    additions: u64,
    saved: Option<&'a Saved<'a>>,
}

/// Matrices of a task, one a call, all with the same numbers.
struct Inputs<'a, T: Element> {
    session: &'a Session<'static>,
    variant: &'static Variant,
    task: &'a Task,
    values: &'a [T],
    buffers: Vec<Buffer<T>>,
}

/// Times the chapter's kernel over a matrix of its own for each call, all with the same numbers. The results of the first call are
/// held against doubles, as many rows as [`JUDGED`] says; those of all calls, after every replay, against the first's, bit for bit.
/// Gradients of a cross-entropy are timed from saved logarithms too, with the kernels of `losses`.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    (copying, losses): (&mut Copying, Option<&Module>),
    (numbers, task): (&[T], &Task),
) -> Result<Vec<MeasuredCase>> {
    let device = &bench.device;
    let values = numbers.get(..task.read() as usize).filter(|values| !values.is_empty());
    let Some((variant, values)) = session.chapter.variant(&task.variant).zip(values) else { return Ok(Vec::new()) };
    let plan = session.plan(variant, T::TYPE, task.n, task.options())?;
    let original = device.upload("in", values)?;
    let count = clock::copies(device, original.bytes() + plan.more_bytes(T::TYPE, task.n));
    let count = if device.is_gpu() { count } else { SIMULATED_CALLS };
    let copies = (1..count).map(|_| Ok(device.duplicate(&original)?)).collect::<Result<Vec<_>>>()?;
    let buffers: Vec<Buffer<T>> = std::iter::once(original).chain(copies).collect();
    let inputs = Inputs { session, variant, task, values, buffers };
    let anew = Ours { entrant: ENTRANT, plan: &plan, additions: plan.additions(), saved: None };
    let mut cases = vec![one(bench, copying, &inputs, &anew)?];
    if task.op == Op::CrossEntropyBackward
        && let Some(module) = losses
    {
        let saved = Saved::new(device, module, task, (&inputs.buffers[0], &plan))?;
        let ours = Ours { entrant: SAVED, plan: &saved.plan, additions: saved.additions, saved: Some(&saved) };
        cases.push(one(bench, copying, &inputs, &ours)?);
    }
    Ok(cases)
}

/// The case of these launches: cold, and warm where the L2 holds what a call reads and writes.
fn one<T: Element>(
    bench: &Bench,
    copying: &mut Copying,
    inputs: &Inputs<'_, T>,
    ours: &Ours<'_>,
) -> Result<MeasuredCase> {
    let Inputs { session, variant, task, values, buffers } = inputs;
    let (device, plan) = (&bench.device, ours.plan);
    let arrays = buffers.iter().map(|_| Ok(session.arrays::<T>(plan)?)).collect::<Result<Vec<_>>>()?;
    let calls = |i: usize| -> Result<Vec<Call<'_>>> {
        let mut calls = match ours.saved {
            Some(saved) => saved.calls(&buffers[i], &arrays[i])?,
            None => session.calls(variant, plan, (&buffers[i], 0), &arrays[i])?,
        };
        set_second(&mut calls, plan, &buffers[i], task);
        Ok(calls)
    };
    for i in 0..buffers.len() {
        calls(i)?.iter().try_for_each(|call| device.launch(call).map(drop))?;
    }
    let rows = some_rows(task);
    let right = is_right(device, task, (plan, ours.additions), &arrays[0], values, &rows)?;
    let mut case = empty_case(T::TYPE, Contest::Alone, ours.entrant, (task.op, &plan.layout), Input::new(task.n, &[]));
    describe_plan(&mut case, session, &task.options(), plan);
    let Some(judged) = arrays[0].last() else { return Ok(case) };
    let judged = device.duplicate(judged)?;
    let results: Vec<&Buffer<T>> = arrays.iter().filter_map(Arrays::last).collect();
    let timed = |of: &mut dyn Iterator<Item = usize>| -> Result<Vec<Timed<'_>>> {
        of.map(|i| Ok(Timed::Launches(calls(i)?))).collect()
    };
    let flush = bench.flush.call();
    let cold = timed(&mut (0..buffers.len()))?;
    set_times(&mut case, replay(bench, copying, cold, (&results, &judged), Some(&flush))?.as_ref());
    if bench.stays_warm(buffers[0].bytes() + plan.more_bytes(T::TYPE, task.n)) {
        let warm = timed(&mut std::iter::repeat_n(0, WARM_CALLS))?;
        let timing = replay(bench, copying, warm, (&results[..1], &judged), None)?;
        case.warm_us = timing.map(|timing| timing.median_us);
    }
    case.judged = rows.len() as u64;
    case.ok = right && !rows.is_empty() && copying.count(device)? == 0;
    Ok(case)
}

/// Replays the calls, and counts where their results are not those that were judged. What a replay has left is compared, and
/// destroyed, before the next one.
fn replay<T: Element>(
    bench: &Bench,
    copying: &Copying,
    calls: Vec<Timed<'_>>,
    (results, judged): (&[&Buffer<T>], &Buffer<T>),
    flush: Option<&Call<'_>>,
) -> Result<Option<Timing>> {
    let compares: Vec<Call<'_>> = results.iter().map(|results| copying.compare(results, judged)).collect();
    let steps = compares.iter().map(Step::Launch);
    let before = steps.chain(results.iter().map(|results| Step::Fill(*results, POISON))).collect();
    let graphs = [Graph { calls, before, output: None }];
    let replayed = bench.device.replay::<T>(&graphs, &bench.replays(flush))?;
    compares.iter().try_for_each(|compare| bench.device.launch(compare).map(drop))?;
    Ok(replayed.into_iter().next().and_then(|replayed| replayed.timing))
}

/// A second matrix lies behind the first.
pub(crate) fn set_second<'a, T: Element>(calls: &mut [Call<'a>], plan: &Planned, input: &'a Buffer<T>, task: &Task) {
    set_operand(calls, plan, lab::Arg::Other, || Arg::Address(input, task.second() * T::BYTES as u64));
}

/// Gives launches what their plan has as this operand.
pub(super) fn set_operand<'a>(calls: &mut [Call<'a>], plan: &Planned, operand: lab::Arg, given: impl Fn() -> Arg<'a>) {
    for (call, pass) in calls.iter_mut().zip(&plan.passes) {
        for (arg, _) in call.args.iter_mut().zip(&pass.args).filter(|(_, planned)| **planned == operand) {
            *arg = given();
        }
    }
}

/// Rows of results that are judged: the first, the last, others between them, and what lies behind the rows.
pub(crate) fn some_rows(task: &Task) -> Vec<u64> {
    let (rows, cols) = task.shape();
    let count = (JUDGED / cols.max(1)).clamp(1, rows);
    let of =
        |first: u64| (0..count).map(move |i| first + (u128::from(i) * u128::from(rows) / u128::from(count)) as u64);
    let all = if task.op.is_per_element() { task.op.result_rows(rows) } else { rows };
    let mut judged: Vec<u64> = of(0).chain([rows - 1]).collect();
    if task.op.adds() {
        judged.extend(of(rows));
    } else if task.n <= COLUMNS_N_MAX {
        judged.extend(rows..all);
    }
    judged.dedup();
    judged
}

pub(crate) fn is_right<T: Element>(
    device: &Device,
    task: &Task,
    (plan, additions): (&Planned, u64),
    arrays: &Arrays<T>,
    values: &[T],
    rows: &[u64],
) -> Result<bool> {
    let (n, second) = (task.n as usize, task.second() as usize);
    let first = values.get(..n).unwrap_or(&[]);
    let other = if task.op.arrays() == 2 { values.get(second..second + n).unwrap_or(&[]) } else { &[] };
    let matrix = Matrix::dense(task.shape().0, task.shape().1);
    let bounded = Bounded::new(task.op, matrix, plan.targets, (first, other), additions);
    let worst = arrays.worst(device, (task.op, &plan.layout), (&bounded, rows))?;
    Ok(worst.is_some_and(|worst| worst.verdict.right))
}

/// The cases of others that are of the same task as ours.
pub fn beside<'c>(all: &'c [MeasuredCase], ours: &MeasuredCase) -> impl Iterator<Item = &'c MeasuredCase> + Clone {
    fn key(case: &MeasuredCase) -> (Option<&str>, &str, &str, Option<u64>, Option<u64>) {
        (case.chapter.as_deref(), case.op(), &case.ty, case.rows, case.cols)
    }
    let is_of_others = |entrant: &str| ![ENTRANT, SAVED].contains(&entrant);
    let same: Vec<&MeasuredCase> =
        all.iter().filter(|case| is_of_others(&case.entrant) && case.ok && key(case) == key(ours)).collect();
    same.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_to_judge_are_spread_and_have_both_ends() {
        let judged = |op, shape| some_rows(&Task::matrix("", op, shape));
        assert_eq!(judged(Op::Softmax, (1, 50_257)), [0]);
        assert_eq!(judged(Op::Softmax, (8, 8_388_608)), [0, 7]);
        let many = judged(Op::Softmax, (4_194_304, 16));
        assert!(many.len() == (1 << 17) + 1 && many.is_sorted() && many[1 << 17] == 4_194_303, "{}", many.len());
        assert_eq!(judged(Op::LayerNormBackward, (3, 5)), [0, 1, 2, 3, 4]);
        assert_eq!(judged(Op::AddRmsNorm, (3, 5)), [0, 1, 2, 3, 4, 5]);
    }
}
