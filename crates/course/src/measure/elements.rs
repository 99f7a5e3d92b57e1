//! The contests of the chapters on softmax and on norms, whose results are as many as the elements. Each call of a graph has arrays
//! of its own, with the same numbers. torch and Liger were timed before, in a process of their own.

use anyhow::Result;
use device::{Arg, Buffer, Call, Device, Geometry, Graph, KernelSource, Module, Step, Timed, Timing};
use lab::element::Element;
use lab::measurement::{Contest, ENTRANT, MeasuredCase};
use lab::session::Arrays;
use lab::verify::{Bounded, Results};
use lab::{LaunchOptions, Matrix, Op, Plan, Rows, Session, Type, Value, clock, input};
use report::{NORMS, SOFTMAX};

use super::bench::{Bench, Input, POISON, SECOND_ALIGNMENT, SIMULATED_CALLS, empty_case, of_plan, set_times};

/// The kernels that copy and that compare.
pub const KERNELS: &str = "copying";
/// A chapter's contest.
pub struct Family {
    /// Whose it is.
    pub chapter: &'static str,
    /// The kernel that it puts forward.
    variant: &'static str,
    /// Operations and types, in the order in which they are measured. The script that times torch has the same.
    pub tasks: &'static [(Op, Type)],
}

/// `scripts/torch_softmax.py` has the same.
pub const OF_SOFTMAX: Family = Family {
    chapter: SOFTMAX,
    variant: "softmax",
    tasks: &[
        (Op::Softmax, Type::F32),
        (Op::Softmax, Type::BF16),
        (Op::CrossEntropy, Type::F32),
        (Op::SoftmaxBackward, Type::F32),
        (Op::Logsumexp, Type::F32),
        (Op::CrossEntropy, Type::BF16),
        (Op::SoftmaxBackward, Type::BF16),
        (Op::CrossEntropyBackward, Type::BF16),
        (Op::LogSoftmax, Type::F32),
        (Op::CrossEntropyBackward, Type::F32),
        (Op::Logsumexp, Type::BF16),
        (Op::LogSoftmax, Type::BF16),
        (Op::LogSoftmaxBackward, Type::F32),
        (Op::LogSoftmaxBackward, Type::BF16),
    ],
};

/// `scripts/torch_norms.py` has the same.
pub const OF_NORMS: Family = Family {
    chapter: NORMS,
    variant: "norm",
    tasks: &[
        (Op::LayerNorm, Type::F32),
        (Op::RmsNorm, Type::BF16),
        (Op::LayerNormBackward, Type::F32),
        (Op::AddRmsNorm, Type::BF16),
        (Op::LayerNorm, Type::BF16),
        (Op::RmsNormBackward, Type::BF16),
        (Op::LayerNormBackward, Type::BF16),
        (Op::RmsNorm, Type::F32),
        (Op::AddLayerNorm, Type::BF16),
        (Op::RmsNormBackward, Type::F32),
        (Op::AddRmsNorm, Type::F32),
        (Op::AddLayerNorm, Type::F32),
    ],
};

/// Rows of about so many elements are held against doubles; one row at least.
const JUDGED: u64 = 1 << 21;
/// A matrix of more elements has its columns not judged by all of its rows, which takes too long: the gradients of weights are
/// compared with those of the run before alone.
const COLUMNS_N_MAX: u64 = 1 << 24;
/// Logits are from minus to plus so many.
const SPREAD: f32 = 8.0;
/// Blocks that compare, of [`COMPARING`] threads.
const COMPARING_BLOCKS: u32 = 1024;
const COMPARING: u32 = 256;

/// A type of logits.
pub trait Logit: Element {
    /// From a number between -1 and 1.
    fn spread(self) -> Self;
}

impl Logit for f32 {
    fn spread(self) -> f32 {
        SPREAD * self
    }
}

impl Logit for half::bf16 {
    fn spread(self) -> half::bf16 {
        half::bf16::from_f32(SPREAD * self.to_f32())
    }
}

/// What is computed of which matrix.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub op: Op,
    pub rows: u64,
    pub cols: u64,
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}x{}", self.op, self.rows, self.cols)
    }
}

impl Task {
    /// Elements of a matrix.
    fn n(&self) -> u64 {
        self.rows * self.cols
    }

    /// Elements after which the second matrix begins.
    fn second(&self) -> u64 {
        self.n().next_multiple_of(SECOND_ALIGNMENT as u64)
    }

    /// Elements that a call reads.
    fn read(&self) -> u64 {
        if self.op.arrays() == 2 { self.second() + self.n() } else { self.n() }
    }
}

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

    /// What was counted since it was last asked.
    pub(super) fn count(&mut self, device: &Device) -> Result<u64> {
        let count = device.download(&self.unequal)?;
        self.unequal = device.upload("unequal", &[0])?;
        Ok(count.first().copied().unwrap_or(u64::MAX))
    }
}

/// Numbers for the largest of these tasks.
pub fn numbers<T: Logit>(tasks: &[Task]) -> Vec<T> {
    // Operations that take two matrices come later, with the same shapes.
    let most = tasks.iter().map(|task| task.second() + task.n()).max().unwrap_or(1);
    let mut values = input::elements::<T>(most as usize, input::SEED);
    let part = values.len().div_ceil(std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    std::thread::scope(|scope| {
        for part in values.chunks_mut(part) {
            scope.spawn(move || part.iter_mut().for_each(|value| *value = value.spread()));
        }
    });
    values
}

/// Times the family's kernel over a matrix of its own for each call, all with the same numbers. The results of the first call are
/// held against doubles, as many rows as [`JUDGED`] says; those of all calls, after every replay, against the first's, bit for bit.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    family: &Family,
    copying: &mut Copying,
    (numbers, task): (&[T], &Task),
) -> Result<Option<MeasuredCase>> {
    let device = &bench.device;
    let values = numbers.get(..task.read() as usize).filter(|values| !values.is_empty());
    let Some((variant, values)) = session.chapter.variant(family.variant).zip(values) else { return Ok(None) };
    let rows = Rows::Matrix(Matrix::dense(task.rows, task.cols));
    let options = LaunchOptions { op: task.op, rows: Some(rows), ..LaunchOptions::default() };
    let plan = session.plan(variant, T::TYPE, task.n(), options)?;
    let original = device.upload("in", values)?;
    let count = clock::copies(device, original.bytes() + plan.more_bytes(T::TYPE, task.n()));
    let count = if device.is_gpu() { count } else { SIMULATED_CALLS };
    let copies = (1..count).map(|_| Ok(device.duplicate(&original)?)).collect::<Result<Vec<_>>>()?;
    let inputs: Vec<Buffer<T>> = std::iter::once(original).chain(copies).collect();
    let arrays = inputs.iter().map(|_| Ok(session.arrays::<T>(&plan)?)).collect::<Result<Vec<_>>>()?;
    let calls = |i: usize| -> Result<Vec<Call<'_>>> {
        let mut calls = session.calls(variant, &plan, (&inputs[i], 0), &arrays[i])?;
        set_second(&mut calls, &plan, &inputs[i], task);
        Ok(calls)
    };
    for i in 0..inputs.len() {
        calls(i)?.iter().try_for_each(|call| device.launch(call).map(drop))?;
    }
    let rows = some_rows(task);
    let right = is_right(device, task, &plan, &arrays[0], values, &rows)?;
    let Some(judged) = arrays[0].last() else { return Ok(None) };
    let judged = device.duplicate(judged)?;
    let results: Vec<&Buffer<T>> = arrays.iter().filter_map(Arrays::last).collect();
    let timed = (0..inputs.len()).map(|i| Ok(Timed::Launches(calls(i)?))).collect::<Result<Vec<_>>>()?;
    let timing = replay(bench, copying, timed, (&results, &judged))?;
    let input = Input { n: task.n(), offset: 0, references: &[] };
    let mut case = empty_case(T::TYPE, Contest::Alone, ENTRANT, (task.op, &plan.layout), input);
    of_plan(&mut case, session, &options, &plan);
    case.judged = rows.len() as u64;
    case.ok = right && !rows.is_empty() && copying.count(device)? == 0;
    set_times(&mut case, timing.as_ref());
    Ok(Some(case))
}

/// Replays the calls, and counts where their results are not those that were judged. What a replay has left is compared, and
/// destroyed, before the next one.
fn replay<T: Element>(
    bench: &Bench,
    copying: &Copying,
    calls: Vec<Timed<'_>>,
    (results, judged): (&[&Buffer<T>], &Buffer<T>),
) -> Result<Option<Timing>> {
    let compares: Vec<Call<'_>> = results.iter().map(|results| copying.compare(results, judged)).collect();
    let steps = compares.iter().map(Step::Launch);
    let before = steps.chain(results.iter().map(|results| Step::Fill(*results, POISON))).collect();
    let flush = bench.flush.call();
    let graphs = [Graph { calls, before, output: None }];
    let replayed = bench.device.replay::<T>(&graphs, &bench.replays(Some(&flush)))?;
    compares.iter().try_for_each(|compare| bench.device.launch(compare).map(drop))?;
    Ok(replayed.into_iter().next().and_then(|replayed| replayed.timing))
}

/// A second matrix lies behind the first.
fn set_second<'a, T: Element>(calls: &mut [Call<'a>], plan: &Plan, input: &'a Buffer<T>, task: &Task) {
    for (call, pass) in calls.iter_mut().zip(&plan.passes) {
        for (arg, _) in call.args.iter_mut().zip(&pass.args).filter(|(_, planned)| **planned == lab::Arg::Other) {
            *arg = Arg::Address(input, task.second() * T::BYTES as u64);
        }
    }
}

/// Rows of results that are judged: the first, the last, others between them, and what lies behind the rows.
fn some_rows(task: &Task) -> Vec<u64> {
    let count = (JUDGED / task.cols.max(1)).clamp(1, task.rows);
    let of = |first: u64| (0..count).map(move |i| first + (i as u128 * task.rows as u128 / count as u128) as u64);
    let all = if task.op.is_per_element() { task.op.result_rows(task.rows) } else { task.rows };
    let mut rows: Vec<u64> = of(0).chain([task.rows - 1]).collect();
    if task.op.adds() {
        rows.extend(of(task.rows));
    } else if task.n() <= COLUMNS_N_MAX {
        rows.extend(task.rows..all);
    }
    rows.dedup();
    rows
}

fn is_right<T: Element>(
    device: &Device,
    task: &Task,
    plan: &Plan,
    arrays: &Arrays<T>,
    values: &[T],
    rows: &[u64],
) -> Result<bool> {
    let (n, second) = (task.n() as usize, task.second() as usize);
    let first = values.get(..n).unwrap_or(&[]);
    let other = if task.op.arrays() == 2 { values.get(second..second + n).unwrap_or(&[]) } else { &[] };
    let matrix = Matrix::dense(task.rows, task.cols);
    let bounded = Bounded::new(task.op, matrix, plan.targets, (first, other), plan.additions());
    let worst = if task.op.is_per_element() {
        bounded.worst(rows, Results::Elements(&arrays.elements(device)?))
    } else {
        let results: Vec<Value> = arrays.results(device, task.op, &plan.layout)?;
        bounded.worst(rows, Results::Rows(&results))
    };
    Ok(worst.is_some_and(|worst| worst.verdict.right))
}

/// Whether another's case is of the same task as ours.
pub fn is_beside(other: &MeasuredCase, ours: &MeasuredCase) -> bool {
    let of = |case: &MeasuredCase| (case.chapter.clone(), case.rows, case.cols);
    other.entrant != ENTRANT && other.ok && (&other.op, &other.ty) == (&ours.op, &ours.ty) && of(other) == of(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_to_judge_are_spread_and_have_both_ends() {
        let task = |rows, cols| Task { op: Op::Softmax, rows, cols };
        assert_eq!(some_rows(&task(1, 50_257)), [0]);
        assert_eq!(some_rows(&task(8, 8_388_608)), [0, 7]);
        let many = some_rows(&task(4_194_304, 16));
        assert!(many.len() == (1 << 17) + 1 && many.is_sorted() && many[1 << 17] == 4_194_303, "{}", many.len());
        let behind = Task { op: Op::LayerNormBackward, ..task(3, 5) };
        assert_eq!(some_rows(&behind), [0, 1, 2, 3, 4]);
        assert_eq!(some_rows(&Task { op: Op::AddRmsNorm, ..behind }), [0, 1, 2, 3, 4, 5]);
    }
}
