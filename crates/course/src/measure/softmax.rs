//! The contest of the chapter on softmax: results as many as the elements, and arrays of its own for each call. torch and Liger
//! were timed before, in a process of their own.

use anyhow::Result;
use device::{Arg, Buffer, Call, Device, Geometry, Graph, KernelSource, Module, Step, Timed, Timing};
use lab::element::Element;
use lab::measurement::{Contest, ENTRANT, MeasuredCase, SOFTMAX};
use lab::session::Arrays;
use lab::verify::{Exponentials, Results};
use lab::{LaunchOptions, Matrix, Op, Plan, Rows, Session, Type, Value};

use super::bench::{Bench, Input, POISON, SECOND_ALIGNMENT, empty_case, of_plan, set_times};
use super::pool::{Pool, Slice};

/// The kernels that copy and that compare.
pub const KERNELS: &str = "copying";
/// Our kernel.
const VARIANT: &str = "softmax";
/// Operations and types, in the order in which they are measured. `scripts/torch_softmax.py` has the same.
pub const TASKS: [(Op, Type); 14] = [
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
];
/// Of all calls of a graph, rows of about so many elements are held against doubles; of each call one row at least.
const JUDGED: u64 = 1 << 21;
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

/// Numbers for the largest of these shapes.
pub fn pool<T: Logit>(device: &Device, tasks: &[Task]) -> Result<Pool<T>> {
    // Operations that take two matrices come later, with the same shapes.
    let n_max = tasks.iter().map(|task| task.second() + task.n()).max().unwrap_or(1);
    Pool::made(device, n_max, T::spread)
}

/// Times our kernel over matrices of its own for each call. The results of a run before are held against doubles, as many rows as
/// [`JUDGED`] says, and those of every replay against that run's, bit for bit. `None` where the device has no room.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    copying: &mut Copying,
    pool: &Pool<T>,
    task: &Task,
) -> Result<Option<MeasuredCase>> {
    let Some(variant) = session.chapter.variant(VARIANT) else { return Ok(None) };
    let device = &bench.device;
    let slices = pool.slices(device, task.read(), 0);
    let slices = bench.of_graph(&slices);
    if slices.is_empty() {
        return Ok(None);
    }
    let matrix = Matrix::dense(task.rows, task.cols);
    let options = LaunchOptions { op: task.op, rows: Some(Rows::Matrix(matrix)), ..LaunchOptions::default() };
    let plan = session.plan(variant, T::TYPE, task.n(), options)?;
    let arrays = slices.iter().map(|_| Ok(session.arrays::<T>(&plan)?)).collect::<Result<Vec<_>>>()?;
    let calls = |i: usize| -> Result<Vec<Call<'_>>> {
        let mut calls = session.calls(variant, &plan, slices[i], &arrays[i])?;
        set_second(&mut calls, &plan, slices[i], task);
        Ok(calls)
    };
    let (mut right, mut judged, mut before) = (true, 0, Vec::new());
    for (i, of_call) in arrays.iter().enumerate() {
        calls(i)?.iter().try_for_each(|call| device.launch(call).map(drop))?;
        let Some(results) = of_call.last() else { continue };
        let values = &pool.all()[slices[i].1..];
        let rows = some_rows(task, slices.len() as u64);
        judged += rows.len() as u64;
        right &= is_right(device, task, &plan, of_call, values, &rows)?;
        before.push((results, device.duplicate(results)?));
    }
    let timed = (0..slices.len()).map(|i| Ok(Timed::Launches(calls(i)?))).collect::<Result<Vec<_>>>()?;
    let timing = replay(bench, copying, timed, &before)?;
    let input = Input { n: task.n(), offset: 0, references: &[] };
    let mut case = empty_case(T::TYPE, Contest::Alone, ENTRANT, (task.op, &plan.layout), input);
    of_plan(&mut case, session, &options, &plan);
    case.judged = judged;
    case.ok = right && judged > 0 && copying.count(device)? == 0;
    set_times(&mut case, timing.as_ref());
    Ok(Some(case))
}

/// Replays the calls, and counts where their results are not what they were before: `known` has each array of results with a copy
/// of what it held then. What a replay has left is compared, and destroyed, before the next one.
fn replay<T: Element>(
    bench: &Bench,
    copying: &Copying,
    calls: Vec<Timed<'_>>,
    known: &[(&Buffer<T>, Buffer<T>)],
) -> Result<Option<Timing>> {
    let compares: Vec<Call<'_>> = known.iter().map(|(results, before)| copying.compare(results, before)).collect();
    let steps = compares.iter().map(Step::Launch);
    let before = steps.chain(known.iter().map(|(results, _)| Step::Fill(*results, POISON))).collect();
    let flush = bench.flush.call();
    let graphs = [Graph { calls, before, output: None }];
    let replayed = bench.device.replay::<T>(&graphs, &bench.replays(Some(&flush)))?;
    compares.iter().try_for_each(|compare| bench.device.launch(compare).map(drop))?;
    Ok(replayed.into_iter().next().and_then(|replayed| replayed.timing))
}

/// A second matrix lies behind the first.
fn set_second<'a, T: Element>(calls: &mut [Call<'a>], plan: &Plan, (array, start): Slice<'a, T>, task: &Task) {
    for (call, pass) in calls.iter_mut().zip(&plan.passes) {
        for (arg, _) in call.args.iter_mut().zip(&pass.args).filter(|(_, planned)| **planned == lab::Arg::Other) {
            *arg = Arg::Address(array, (start as u64 + task.second()) * T::BYTES as u64);
        }
    }
}

/// Rows that are judged of one of `calls` calls: the first, the last, and others between them.
fn some_rows(task: &Task, calls: u64) -> Vec<u64> {
    let count = (JUDGED / calls.max(1) / task.cols.max(1)).clamp(1, task.rows);
    let mut rows: Vec<u64> = (0..count).map(|i| (i as u128 * task.rows as u128 / count as u128) as u64).collect();
    rows.push(task.rows - 1);
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
    let exponentials = Exponentials {
        op: task.op,
        matrix: Matrix::dense(task.rows, task.cols),
        targets: plan.targets,
        first: values.get(..n).unwrap_or(&[]),
        other: if task.op.arrays() == 2 { values.get(second..second + n).unwrap_or(&[]) } else { &[] },
        additions: plan.additions(),
    };
    let worst = if task.op.is_per_element() {
        exponentials.worst(rows, Results::Elements(&arrays.elements(device)?))
    } else {
        let results: Vec<Value> = arrays.results(device, task.op, &plan.layout)?;
        exponentials.worst(rows, Results::Rows(&results))
    };
    Ok(worst.is_some_and(|worst| worst.verdict.right))
}

/// Whether another's case is of the same task as ours.
pub fn is_beside(other: &MeasuredCase, ours: &MeasuredCase) -> bool {
    let of = |case: &MeasuredCase| (case.chapter.as_deref() == Some(SOFTMAX), case.rows, case.cols);
    other.entrant != ENTRANT && other.ok && (&other.op, &other.ty) == (&ours.op, &ours.ty) && of(other) == of(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_to_judge_are_spread_and_have_both_ends() {
        let task = |rows, cols| Task { op: Op::Softmax, rows, cols };
        assert_eq!(some_rows(&task(1, 50_257), 64), [0]);
        assert_eq!(some_rows(&task(8, 8_388_608), 3), [0, 7]);
        let many = some_rows(&task(4_194_304, 16), 4);
        assert!(many.len() == (1 << 15) + 1 && many.is_sorted() && many[1 << 15] == 4_194_303, "{}", many.len());
    }
}
