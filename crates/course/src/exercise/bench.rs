//! One kernel on the simulator: compiled code in, and for each case the result, what was counted and what was found.

use anyhow::Result;
use device::{Checks, Choice, Code, Device, Error, Module, Report, Schedule, SimOptions};
use lab::element::Element;
use lab::op::OnHost as _;
use lab::plan::{Arg, Pass, Plan, Planned};
use lab::reference::reference_of;
use lab::runner::{self, Arrays};
use lab::verify::{Verdict, verify, worst};
use lab::{Array, Layout, Matrix, Op, Value};
use simt::{LoadError, trace};

use super::case::Case;
use super::ranks::{self, Job, Ran};
use super::write::{Exercise, Launches};

/// Name of what a kernel writes, as the starters call it.
const OUT: &str = "out";
/// Most warp-instructions of a block. Right kernels take some thousands at the sizes tried here; a loop without an end
/// is stopped within a second.
const STEPS_PER_BLOCK_MAX: u64 = 1 << 20;
/// The same for each column, where rows are long.
const STEPS_PER_COLUMN_MAX: u64 = 64;

/// Outcome of a case.
#[derive(Debug)]
pub struct Answer {
    /// The reported row, where each has a value: the first that is wrong.
    pub row: Option<u64>,
    /// The values of all rows.
    pub of_rows: Vec<Value>,
    /// Result of the kernel.
    pub result: Value,
    /// The right result.
    pub expected: Value,
    /// Comparison of the two.
    pub verdict: Verdict,
    /// Counters and output of all launches together, and the findings of the first launch that had any.
    pub report: Report,
    /// The elements of the second launch, if it is that one: it began with what a right one had left in the
    /// workspace.
    pub second: Option<u64>,
    /// The number of the launch that was the last: the one with a finding, if there is one.
    pub launch: usize,
    /// Calls of each rank, where a kernel runs on several at once.
    pub ranks: Option<Ran>,
}

/// Elements of a second launch after one of so many: fewer, so that its grid is another where there is more than one block.
const fn second(n: u64) -> u64 {
    n - n / 3
}

impl Answer {
    /// The result for an array of these values, held against the right one.
    pub(super) fn for_array<T: Element>(op: Op, values: &[T], result: Value, additions: u64, report: Report) -> Answer {
        let reference = reference_of(op, &T::array(values.to_vec()));
        let verdict = verify(result, &reference, additions, T::TYPE);
        let (expected, of_rows) = (reference.expected, Vec::new());
        Answer { row: None, of_rows, result, expected, verdict, report, second: None, launch: 0, ranks: None }
    }

    /// The results for rows of these values, of which the worst is the answer's.
    pub(super) fn for_rows<T: Element>(
        op: Op,
        (values, layout): (&[T], &Layout),
        of_rows: Vec<Value>,
        additions: u64,
        report: Report,
    ) -> Answer {
        let worst = worst(layout, op, values, &of_rows, additions.into());
        let nothing = op.identity(T::TYPE);
        let (result, expected, verdict) =
            worst.map_or((nothing, nothing, Verdict::EXACT), |worst| (worst.result, worst.expected, worst.verdict));
        let row = worst.map(|worst| worst.row);
        Answer { row, of_rows, result, expected, verdict, report, second: None, launch: 0, ranks: None }
    }

    /// The results of all ranks, which have to be those of the order of ranks bit for bit.
    pub(super) fn for_ranks(ran: Ran) -> Answer {
        let mut report = Report { counters: Some(device::Counters::default()), ..Report::default() };
        for one in ran.reports.iter().flatten() {
            runner::merge(&mut report, one.clone());
        }
        simt::fault::fold(&mut report.faults, ran.between.clone());
        // A rank that waits for ever may do so after a race, or after a fault of the rank that it waits for.
        report.faults.sort_by_key(|fault| matches!(fault.code, Code::StepBudget | Code::Deadlock));
        let (result, expected) = (ran.result, ran.expected);
        let abs_error = (result.to_f64() - expected.to_f64()).abs();
        let verdict = Verdict { right: ran.place.is_none(), abs_error, ..Verdict::EXACT };
        let (row, of_rows, second, launch, ranks) = (None, Vec::new(), None, 0, Some(ran));
        Answer { row, of_rows, result, expected, verdict, report, second, launch, ranks }
    }

    /// A right result, and nothing found.
    pub fn is_right(&self) -> bool {
        self.verdict.right && self.report.faults.is_empty()
    }
}

/// Options of a simulator with all checks and at most so many warp-instructions for a block, which records what `trace` asks for.
pub(super) fn options(schedule: Schedule, steps_per_block_max: u64, trace: Option<trace::Options>) -> SimOptions {
    SimOptions {
        schedule,
        checks: Checks::ALL,
        steps_per_block_max: Some(steps_per_block_max),
        trace,
        is_quiet: true,
        ..SimOptions::default()
    }
}

/// Launches a plan up to the first launch with a finding; the number of the last one.
///
/// # Errors
/// A launch that cannot start.
pub(super) fn launch<T: Element>(
    device: &Device,
    module: &Module,
    plan: &Planned,
    input: (&device::Buffer<T>, usize),
    arrays: &Arrays<T>,
    report: &mut Report,
) -> Result<usize> {
    for (i, call) in runner::calls(&|_| Ok(module), plan, input, arrays)?.iter().enumerate() {
        runner::merge(report, device.launch(call)?);
        if !report.faults.is_empty() {
            return Ok(i);
        }
    }
    Ok(plan.passes.len() - 1)
}

/// A kernel of an exercise, ready to run.
pub struct Bench<'e> {
    exercise: &'e Exercise,
    module: Module,
}

impl<'e> Bench<'e> {
    /// Takes PTX; `name` is what messages call it.
    ///
    /// # Errors
    /// Text that is no PTX, or an instance of the kernel that is not there, takes other arguments, or cannot be
    /// simulated: what the reader has to change, or a limit of the simulator.
    pub fn new(exercise: &'e Exercise, name: &str, ptx: &str) -> Result<Bench<'e>, String> {
        let loaded = Device::open(Choice::Sim, SimOptions::default()).and_then(|device| device.load_ptx(name, ptx));
        let module = loaded.map_err(|error| error.to_string())?;
        for ty in exercise.types.iter().copied() {
            for block in exercise.blocks_tried() {
                prepare(exercise, &module, &exercise.entry(ty, block))?;
            }
        }
        Ok(Bench { exercise, module })
    }

    /// Runs the kernel over the numbers of the case and compares with the right answer.
    ///
    /// # Errors
    /// A launch that cannot start, or memory that does not suffice.
    pub fn ask(&self, case: Case) -> Result<Answer> {
        self.ask_with(case, &case.numbers(self.exercise.op))
    }

    /// Runs a case like [`Bench::ask`], with at most so many warp-instructions for a block: more is a fault.
    ///
    /// # Errors
    /// Those of [`Bench::ask`].
    pub fn ask_within(&self, case: Case, steps: u64) -> Result<Answer> {
        self.run(case, &case.numbers(self.exercise.op), options(case.schedule, steps, None))
    }

    /// Runs a case like [`Bench::ask`]; the steps of the first launch are in the report.
    ///
    /// # Errors
    /// Those of [`Bench::ask`].
    pub fn ask_traced(&self, case: Case) -> Result<Answer> {
        let all = trace::Options { blocks: u64::MAX, ..trace::Options::default() };
        self.run(case, &case.numbers(self.exercise.op), options(case.schedule, STEPS_PER_BLOCK_MAX, Some(all)))
    }

    /// Runs the kernel over `numbers`, as many as the case has.
    ///
    /// # Errors
    /// Those of [`Bench::ask`].
    pub fn ask_with(&self, case: Case, numbers: &Array) -> Result<Answer> {
        let steps = case.matrix.map_or(0, |matrix| STEPS_PER_COLUMN_MAX * matrix.cols);
        self.run(case, numbers, options(case.schedule, steps.max(STEPS_PER_BLOCK_MAX), None))
    }

    fn run(&self, case: Case, numbers: &Array, options: SimOptions) -> Result<Answer> {
        if let Some(ranks) = case.ranks {
            return self.on_ranks(case, ranks, options);
        }
        let device = Device::open(Choice::Sim, options)?;
        lab::with_elements!(numbers, values => self.answer(case, values, &device))
    }

    /// All calls of a case on so many ranks, which bring numbers of their own.
    fn on_ranks(&self, case: Case, ranks: u32, options: SimOptions) -> Result<Answer> {
        let (kernel, n) = (self.exercise.entry(case.ty, case.block), case.n);
        let grid = self.grid(n, case.block);
        let job = Job { module: &self.module, kernel: &kernel, grid, block: case.block, ranks, n };
        let ran = lab::with_type!(case.ty, T => ranks::run(&job, options, ranks::random::<T>));
        Ok(Answer::for_ranks(ran?))
    }

    fn answer<T: Element>(&self, mut case: Case, values: &[T], device: &Device) -> Result<Answer> {
        let input = runner::upload(device, values, case.offset)?;
        let adds_to = (self.exercise.launches != Launches::UntilOne).then_some(self.exercise.op);
        let mut arrays = Arrays::new(device, &self.plan(case), adds_to)?;
        let mut report = Report { counters: Some(device::Counters::default()), ..Report::default() };
        let mut is_second = false;
        loop {
            let plan = self.plan(case);
            let last = launch(device, &self.module, &plan, (&input, case.offset), &arrays, &mut report)?;
            let (op, taken) = (self.exercise.op, &values[..case.n as usize]);
            let additions: u64 = plan.passes[..=last].iter().map(|pass| pass.additions).sum();
            let answer = if case.matrix.is_some() {
                let of_rows = arrays.results(device, op, &plan.layout)?;
                Answer::for_rows(op, (taken, &plan.layout), of_rows, additions, report)
            } else {
                let result = op.result_in(&arrays.of(device, last)?).unwrap_or(Value::zero(case.ty));
                Answer::for_array(op, taken, result, additions, report)
            };
            let answer = Answer { second: is_second.then_some(case.n), launch: last, ..answer };
            if is_second || self.exercise.launches != Launches::Twice || !answer.is_right() {
                return Ok(answer);
            }
            (report, is_second, case.n) = (answer.report, true, second(case.n));
            if !case.keeps_out {
                arrays = arrays.again(device, &self.plan(case), adds_to)?;
            }
        }
    }

    /// The one launch that gives each row a value.
    fn plan_of_rows(&self, case: Case, matrix: Matrix) -> Planned {
        let exercise = self.exercise;
        let args = vec![Arg::Input, Arg::Sums(0), Arg::U32(matrix.rows as u32), Arg::U32(matrix.cols as u32)];
        let grid = matrix.rows.div_ceil(exercise.rows_per_block(case.block)).max(1);
        let pass = Pass::new(exercise.entry(case.ty, case.block), grid, case.block.into(), args)
            .with_elements(case.n)
            // Whatever the order is in which the kernel adds.
            .with_additions(matrix.cols.saturating_sub(1));
        let results = case.ty.holding(matrix.rows * exercise.op.row_bytes(case.ty));
        let plan = Plan::new(vec![pass], vec![results]);
        Planned { plan, layout: case.layout(), written: OUT, ..Planned::default() }
    }

    /// Every launch that takes the input to one value, or to one for each row.
    pub(super) fn plan(&self, case: Case) -> Planned {
        if let Some(matrix) = case.matrix {
            return self.plan_of_rows(case, matrix);
        }
        let (exercise, block) = (self.exercise, case.block);
        let launch = |input, output, n| {
            let mut args = vec![input, output, Arg::U32(n as u32)];
            args.extend((exercise.state_words > 0).then_some(Arg::State));
            let grid = self.grid(n, block).min(case.grid_max.unwrap_or(u32::MAX));
            let mut pass = Pass::new(exercise.entry(case.ty, block), grid.into(), block.into(), args);
            pass.geometry.cooperative = exercise.cooperative;
            pass.with_elements(n).with_additions(self.additions(n, block, grid))
        };
        let plan = match exercise.launches {
            Launches::UntilOne => Plan::until_one(case.n, launch),
            Launches::Once | Launches::Twice => {
                let pass = launch(Arg::Input, Arg::Sums(0), case.n);
                let result = case.ty.holding(exercise.op.result_bytes(case.ty));
                Plan::new(vec![pass], vec![result])
            }
        };
        let plan = plan.with_state_words(exercise.state_words);
        Planned { plan, written: OUT, ..Planned::default() }
    }

    fn grid(&self, elements: u64, block: u32) -> u32 {
        let grid = elements.div_ceil(self.exercise.elements_per_block(block)).max(1) as u32;
        grid.min(self.exercise.grid_max.unwrap_or(u32::MAX))
    }

    /// The most additions on the way of one element, in whatever order a block adds what it takes: an exercise does not
    /// prescribe the order.
    fn additions(&self, elements: u64, block: u32, grid: u32) -> u64 {
        let share = elements.div_ceil(u64::from(grid)).next_multiple_of(self.exercise.elements_per_block(block));
        let taken = if self.exercise.launches != Launches::UntilOne { elements } else { share.min(elements) };
        taken.saturating_sub(1)
    }
}

/// The kernel of that name: it is there, takes what it will be given, and can be simulated.
fn prepare(exercise: &Exercise, module: &Module, entry: &str) -> Result<(), String> {
    let parameters = module.parameters(entry).map_err(|error| match error {
        Error::Load(LoadError::NoSuchKernel { kernels, .. }) => {
            let there =
                if kernels.is_empty() { String::new() } else { format!(" (but {})", lab::text::listed(&kernels)) };
            format!("there is no kernel {entry}{there}: keep the `extern \"C\"` functions of the starter")
        }
        other => other.to_string(),
    })?;
    let bytes: Vec<u32> = parameters.iter().map(|parameter| parameter.bytes).collect();
    let (expected, takes): (&[u32], &str) = match () {
        () if !exercise.ranks.is_empty() => (&ranks::PARAMETERS, ranks::SIGNATURE),
        () if exercise.lanes_per_row.is_some() => {
            (&[8, 8, 4, 4], "const T* in, T* out, unsigned int rows, unsigned int cols")
        }
        () if exercise.state_words > 0 => {
            (&[8, 8, 4, 8], "const T* in, T* out, unsigned int n, unsigned long long* state")
        }
        () => (&[8, 8, 4], "const T* in, T* out, unsigned int n"),
    };
    if bytes != expected {
        return Err(format!("{entry} must take what the starter's does: ({takes})"));
    }
    module.prepare(entry).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use lab::Type;

    use super::*;
    use crate::exercise::catalogue;

    /// Every thread strides over the grid and brings each element to out[0] by an atomic; thread 0 of each block counts
    /// its block in state[0].
    const STRIDING: &str = "
        .version 8.1
        .target sm_80
        .address_size 64
        .visible .entry tree_b64_i32(.param .u64 in, .param .u64 out, .param .u32 n, .param .u64 state) {
            .reg .pred %p<3>;
            .reg .b32 %r<9>;
            .reg .b64 %rd<6>;
            ld.param.u64 %rd1, [in];
            ld.param.u64 %rd2, [out];
            ld.param.u32 %r1, [n];
            ld.param.u64 %rd3, [state];
            mov.u32 %r2, %tid.x;
            mov.u32 %r3, %ctaid.x;
            mov.u32 %r4, %ntid.x;
            mov.u32 %r5, %nctaid.x;
            setp.ne.u32 %p1, %r2, 0;
            @%p1 bra START;
            red.global.add.u32 [%rd3], 1;
        START:
            mad.lo.u32 %r6, %r3, %r4, %r2;
            mul.lo.u32 %r7, %r5, %r4;
        LOOP:
            setp.ge.u32 %p2, %r6, %r1;
            @%p2 bra END;
            mul.wide.u32 %rd4, %r6, 4;
            add.u64 %rd5, %rd1, %rd4;
            ld.global.u32 %r8, [%rd5];
            red.global.OP.s32 [%rd2], %r8;
            add.u32 %r6, %r6, %r7;
            bra LOOP;
        END:
            ret;
        }";

    fn exercise(op: &str) -> Exercise {
        let text = format!(
            "[[exercise]]\nkind = 'write'\nid = 'tree'\ntitle = ''\nquestion = ''\nhints = ['']\nblocks = [64]\ntypes = ['i32']\n\
             entry = 'tree_b{{block}}_{{type}}'\nop = '{op}'\nlaunches = 'once'\ngrid_max = 3\nstate_words = 1\n"
        );
        catalogue::written(catalogue::parse(&text, "ch07").unwrap()).remove(0)
    }

    #[test]
    fn once_over_a_limited_grid_with_state() {
        for (op, of_ptx) in [("sum", "add"), ("min", "min"), ("max", "max")] {
            let exercise = exercise(op);
            let bench = Bench::new(&exercise, "k.ptx", &STRIDING.replace("OP", of_ptx)).unwrap();
            for n in [0, 1, 1000] {
                let answer = bench.ask(Case { offset: 1, ..Case::new(Type::I32, n, 64) }).unwrap();
                assert!(answer.is_right(), "{op} of {n}: {answer:?}");
                assert_eq!(bench.grid(n, 64), if n > 64 { 3 } else { 1 });
            }
        }
    }

    #[test]
    fn a_workspace_that_is_not_put_back_shows_in_the_second_launch() {
        let mut exercise = exercise("sum");
        let counts = "red.global.add.u32 [%rd3], 1;";
        let brings_the_count = STRIDING
            .replace("OP", "add")
            .replace(counts, "atom.global.add.u32 %r8, [%rd3], 1; red.global.add.s32 [%rd2], %r8;");
        for (launches, right) in [(Launches::Once, true), (Launches::Twice, false)] {
            exercise.launches = launches;
            let bench = Bench::new(&exercise, "k.ptx", &brings_the_count).unwrap();
            let answer = bench.ask(Case::new(Type::I32, 9, 64)).unwrap();
            assert_eq!((answer.is_right(), answer.second.is_some()), (right, !right), "{launches:?}: {answer:?}");
        }
    }

    #[test]
    fn another_operation_is_wrong() {
        let exercise = exercise("min");
        let bench = Bench::new(&exercise, "k.ptx", &STRIDING.replace("OP", "max")).unwrap();
        let case = Case { schedule: Schedule::Lockstep, ..Case::new(Type::I32, 9, 64) };
        assert!(!bench.ask(case).unwrap().is_right());
    }

    #[test]
    fn what_the_judge_cannot_call_is_refused_in_words() {
        let mut exercise = exercise("sum");
        let refused = |exercise: &Exercise, ptx: &str| Bench::new(exercise, "k.ptx", ptx).err().unwrap();
        let ptx = STRIDING.replace("OP", "add");
        assert!(refused(&exercise, &ptx.replace("tree_b64", "tree")).contains("no kernel tree_b64_i32 (but tree_i32)"));
        assert!(refused(&exercise, "int main() {}").contains("k.ptx:1"));
        exercise.state_words = 0;
        assert!(refused(&exercise, &ptx).contains("tree_b64_i32 must take what the starter's does"));
    }

    #[test]
    fn the_bound_holds_for_any_order_of_a_block() {
        let mut exercise = exercise("sum");
        let bench = Bench::new(&exercise, "k.ptx", &STRIDING.replace("OP", "add")).unwrap();
        assert_eq!(bench.additions(1000, 64, 3), 999, "one launch adds everything");
        exercise.launches = Launches::UntilOne;
        let bench = Bench::new(&exercise, "k.ptx", &STRIDING.replace("OP", "add")).unwrap();
        assert_eq!(bench.additions(1000, 64, 3), 383, "334 a block, taken 64 at a time");
        assert_eq!(bench.additions(40, 64, 1), 39);
    }
}
