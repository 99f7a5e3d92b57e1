//! One kernel on the simulator: compiled code in, and for each case the result, what was counted and what was found.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use device::{Checks, Counters, Fault, LineCounters, Schedule};
use lab::{Array, Type, Value, verify::Verdict};
use simt::{Kernel, LoadError, Memory, Options, Program};

use super::catalogue::{Exercise, Launches};

/// Most warp-instructions of a block. Right kernels take some thousands at the sizes tried here; a loop without an end
/// is stopped within a second.
const STEPS_PER_BLOCK_MAX: u64 = 1 << 20;

/// One thing that a kernel is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Element type.
    pub ty: Type,
    /// Elements.
    pub n: u64,
    /// Threads a block.
    pub block: u32,
    /// Elements by which the input is shifted from the start of its allocation.
    pub offset: usize,
    /// How lanes run.
    pub schedule: Schedule,
}

/// What came of a case.
#[derive(Debug)]
pub struct Answer {
    /// What the kernel left.
    pub result: Value,
    /// What is right.
    pub expected: Value,
    /// Whether it is.
    pub verdict: Verdict,
    /// Counts of all launches together.
    pub counters: Counters,
    /// The same per source line.
    pub lines: Vec<LineCounters>,
    /// Findings of the first launch that had any.
    pub faults: Vec<Fault>,
    /// Whether it is the second launch that this is of: one that began with what a right one had left in the workspace.
    pub is_second: bool,
}

impl Answer {
    /// A right result, and nothing found.
    pub fn is_right(&self) -> bool {
        self.verdict.right && self.faults.is_empty()
    }
}

/// Arrays of one case in the simulator's memory.
struct Arrays {
    memory: Memory,
    input: u64,
    state: u64,
}

/// A kernel of an exercise, ready to run.
pub struct Bench<'e> {
    exercise: &'e Exercise,
    kernels: BTreeMap<String, Kernel>,
}

impl<'e> Bench<'e> {
    /// Takes PTX; `name` is what messages call it.
    ///
    /// # Errors
    /// Text that is no PTX, or an instance of the kernel that is not there, takes other arguments, or cannot be
    /// simulated: what the reader has to change, or a limit of the simulator.
    pub fn new(exercise: &'e Exercise, name: &str, ptx: &str) -> Result<Bench<'e>, String> {
        let program = Program::load(name, ptx).map_err(|error| error.to_string())?;
        let mut kernels = BTreeMap::new();
        for ty in exercise.types.iter().copied() {
            for block in exercise.blocks.iter().copied().chain(exercise.goals.iter().map(|goal| goal.block)) {
                let entry = exercise.entry(ty, block);
                if !kernels.contains_key(&entry) {
                    kernels.insert(entry.clone(), load(exercise, &program, &entry)?);
                }
            }
        }
        Ok(Bench { exercise, kernels })
    }

    /// Runs the kernel over random numbers and compares with the right answer.
    ///
    /// # Errors
    /// A launch that cannot start, or memory that does not suffice.
    pub fn ask(&self, case: Case) -> Result<Answer> {
        self.ask_of(case, &lab::input::random(case.ty, case.n as usize, case.n + 1))
    }

    /// Runs the kernel over `numbers`, as many as the case has.
    ///
    /// # Errors
    /// As [`Bench::ask`].
    pub fn ask_of(&self, case: Case, numbers: &Array) -> Result<Answer> {
        let entry = self.exercise.entry(case.ty, case.block);
        let kernel = self.kernels.get(&entry).with_context(|| format!("{entry} was not asked for"))?;
        let mut arrays = self.upload(case, numbers)?;
        let reference = lab::reference::reference_of(self.exercise.op, numbers);
        let mut answer = Answer::of_nothing(case.ty);
        answer.expected = reference.expected;
        for launch in 0..if self.exercise.launches == Launches::Twice { 2 } else { 1 } {
            answer.is_second = launch == 1;
            let (from, additions) = self.reduce(kernel, &mut arrays, case, &mut answer)?;
            let mut left = vec![0; case.ty.bytes() as usize];
            arrays.memory.read(from, &mut left)?;
            answer.result = value(case.ty, &left);
            answer.verdict = lab::verify::verify(answer.result, &reference, additions, case.ty);
            if !answer.is_right() {
                break;
            }
        }
        Ok(answer)
    }

    /// Every launch that takes the input to one value, up to the first with a fault: where the value is, and the additions on
    /// the longest way to it.
    fn reduce(&self, kernel: &Kernel, arrays: &mut Arrays, case: Case, answer: &mut Answer) -> Result<(u64, u64)> {
        let alone = self.exercise.launches != Launches::UntilOne;
        let mut additions = 0;
        let (mut from, mut elements) = (arrays.input, case.n);
        for pass in 1.. {
            let grid = self.grid(elements, case.block);
            let sums = if alone { 1 } else { u64::from(grid) };
            let out = arrays.memory.alloc(&format!("sums{pass}"), sums * case.ty.bytes(), case.ty.bytes() as u32)?;
            if alone {
                arrays.memory.write(out, &bytes(self.exercise.op.identity(case.ty)))?;
            }
            self.launch(kernel, arrays, case, (from, out, elements, grid), answer)?;
            additions += self.additions(elements, case.block, grid);
            (from, elements) = (out, sums);
            if elements == 1 || !answer.faults.is_empty() {
                break;
            }
        }
        Ok((from, additions))
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

    fn upload(&self, case: Case, numbers: &Array) -> Result<Arrays> {
        let numbers = lab::trial::le_bytes(numbers);
        let width = case.ty.bytes() as usize;
        // What lies before the input is data, so that a kernel that reads it gets a wrong sum and not a lucky zero.
        let before = numbers.iter().copied().cycle().take(case.offset * width);
        let bytes: Vec<u8> = before.chain(numbers.iter().copied()).collect();
        let mut memory = Memory::new();
        let start = memory.alloc("in", bytes.len() as u64, width as u32)?;
        memory.write(start, &bytes)?;
        let state = memory.alloc("state", self.exercise.state_words * 8, 8)?;
        memory.write(state, &vec![0; self.exercise.state_words as usize * 8])?;
        Ok(Arrays { memory, input: start + (bytes.len() - numbers.len()) as u64, state })
    }

    /// One launch; adds what it reports to the answer.
    fn launch(
        &self,
        kernel: &Kernel,
        arrays: &mut Arrays,
        case: Case,
        (from, out, elements, grid): (u64, u64, u64, u32),
        answer: &mut Answer,
    ) -> Result<()> {
        let n = u32::try_from(elements).context("more elements than a kernel counts")?;
        let mut args = vec![simt::Arg::Address(from), simt::Arg::Address(out), n.into()];
        if self.exercise.state_words > 0 {
            args.push(simt::Arg::Address(arrays.state));
        }
        let (grid, block) = ([grid, 1, 1], [case.block, 1, 1]);
        let launch =
            simt::Launch { grid, block, cooperative: self.exercise.cooperative, args, shared_bytes: 0, cluster: None };
        let options = Options {
            schedule: case.schedule,
            checks: Checks::ALL,
            steps_per_block_max: STEPS_PER_BLOCK_MAX,
            ..Options::default()
        };
        let outcome = simt::run(kernel, &mut arrays.memory, &launch, &options)?;
        answer.counters += outcome.counters;
        for line in outcome.lines {
            match answer.lines.iter_mut().find(|known| (&known.file, known.line) == (&line.file, line.line)) {
                Some(known) => known.counters += line.counters,
                None => answer.lines.push(line),
            }
        }
        answer.faults = outcome.faults;
        Ok(())
    }
}

impl Answer {
    fn of_nothing(ty: Type) -> Answer {
        let verdict = Verdict { right: true, abs_error: 0.0, error_bound: 0.0 };
        let (result, expected) = (Value::zero(ty), Value::zero(ty));
        let (lines, faults) = (Vec::new(), Vec::new());
        Answer { result, expected, verdict, counters: Counters::default(), lines, faults, is_second: false }
    }
}

/// The kernel of that name: it is there, takes what it will be given, and can be simulated.
fn load(exercise: &Exercise, program: &Program, entry: &str) -> Result<Kernel, String> {
    let parameters = program.parameters(entry).map_err(|error| match error {
        LoadError::NoSuchKernel { kernels, .. } => {
            let there = if kernels.is_empty() { "none".to_owned() } else { lab::text::listed(&kernels) };
            format!("there is no kernel {entry} (but {there}): keep the `extern \"C\"` functions of the starter")
        }
        other => other.to_string(),
    })?;
    let bytes: Vec<u32> = parameters.iter().map(|parameter| parameter.bytes).collect();
    let wanted: &[u32] = if exercise.state_words > 0 { &[8, 8, 4, 8] } else { &[8, 8, 4] };
    if bytes != wanted {
        let state = if exercise.state_words > 0 { ", unsigned long long* state" } else { "" };
        return Err(format!("{entry} must take what the starter's does: (const T* in, T* out, unsigned int n{state})"));
    }
    program.kernel(entry).map_err(|error| error.to_string())
}

fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::I32(v) => v.to_le_bytes().to_vec(),
        Value::F32(v) => v.to_le_bytes().to_vec(),
        Value::F64(v) => v.to_le_bytes().to_vec(),
    }
}

fn value(ty: Type, bytes: &[u8]) -> Value {
    let word = |bytes: &[u8]| bytes.try_into().unwrap_or([0; 4]);
    match ty {
        Type::I32 => Value::I32(i32::from_le_bytes(word(bytes))),
        Type::F32 => Value::F32(f32::from_le_bytes(word(bytes))),
        Type::F64 => Value::F64(f64::from_le_bytes(bytes.try_into().unwrap_or([0; 8]))),
    }
}

#[cfg(test)]
mod tests {
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
            "[[exercise]]\nid = 'tree'\ntitle = ''\nquestion = ''\nhints = ['']\nblocks = [64]\ntypes = ['i32']\n\
             entry = 'tree_b{{block}}_{{type}}'\nop = '{op}'\nlaunches = 'once'\ngrid_max = 3\nstate_words = 1\n"
        );
        catalogue::parse(&text, "ch07").unwrap().remove(0)
    }

    #[test]
    fn once_over_a_limited_grid_with_state() {
        for (op, of_ptx) in [("sum", "add"), ("min", "min"), ("max", "max")] {
            let exercise = exercise(op);
            let bench = Bench::new(&exercise, "k.ptx", &STRIDING.replace("OP", of_ptx)).unwrap();
            for n in [0, 1, 1000] {
                let schedule = Schedule::Independent { seed: None };
                let answer = bench.ask(Case { ty: Type::I32, n, block: 64, offset: 1, schedule }).unwrap();
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
        let schedule = Schedule::Independent { seed: None };
        for (launches, right) in [(Launches::Once, true), (Launches::Twice, false)] {
            exercise.launches = launches;
            let bench = Bench::new(&exercise, "k.ptx", &brings_the_count).unwrap();
            let answer = bench.ask(Case { ty: Type::I32, n: 9, block: 64, offset: 0, schedule }).unwrap();
            assert_eq!((answer.is_right(), answer.is_second), (right, !right), "{launches:?}: {answer:?}");
        }
    }

    #[test]
    fn another_operation_is_wrong() {
        let exercise = exercise("min");
        let bench = Bench::new(&exercise, "k.ptx", &STRIDING.replace("OP", "max")).unwrap();
        let schedule = Schedule::Lockstep;
        assert!(!bench.ask(Case { ty: Type::I32, n: 9, block: 64, offset: 0, schedule }).unwrap().is_right());
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
