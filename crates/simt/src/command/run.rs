//! `simt run`: arguments to memory, a launch, and what it left.

use std::io::Write;
use std::time::Instant;

use crate::counters::grouped;
use crate::{Arg, Fault, Kernel, Launch, LoadError, Memory, Options, Outcome, Program, Schedule, StreamLaunch, report};
use anyhow::{Context, Result, bail, ensure};

use super::bind::{self, Arguments, Bound, Placed};
use super::command_line::Request;
use super::show::{self, Output, Shown};
use super::then::{self, Counted, Then};
use super::{BAD_INPUT, CLEAN, FAULTS, Written, load, seeds, sources, trace};

/// One launch that was run, or several of a stream, and the memory that they left.
pub struct Ran {
    pub schedule: Schedule,
    pub outcome: Outcome,
    /// Counters of each launch, if there are several.
    pub counted: Vec<Counted>,
    pub memory: Memory,
    /// The buffers and variables in it that have a name on the command line.
    pub placed: Vec<Placed>,
    /// Duration on this computer.
    pub seconds: f64,
}

/// Runs the kernel and writes what came of it to `out`; the exit status.
pub fn run(request: &Request, out: &mut dyn Write) -> Result<Written> {
    run_program(request, &load(&request.files)?, &|name| Ok(name.to_owned()), out)
}

/// Runs kernels of a program that is already loaded and writes what came of it to `out`; the exit status. `entry` says which kernel of
/// the program is meant by a name; the request says everything else; its files are named as where the program comes from, and
/// sources are looked for beside them.
///
/// # Errors
/// Arguments that do not fit the kernel, files that cannot be read or written, a launch that cannot start.
pub fn run_program(
    request: &Request,
    program: &Program,
    entry: &dyn Fn(&str) -> Result<String>,
    out: &mut dyn Write,
) -> Result<Written> {
    let then_entries = request.then.iter().map(|name| entry(name)).collect::<Result<Vec<_>>>()?;
    let entry = &entry(&request.kernel)?;
    let kernel = match program.kernel_with(entry, &bind::functions(request)) {
        Err(LoadError::Unsupported { fault: Some(fault), .. }) => return Ok(refuse(request, &fault, out)),
        kernel => kernel?,
    };
    let then_kernels = then::kernels(request, program, &then_entries)?;
    let then = then::launches(request, &then_kernels)?;
    let arguments = Arguments::new(request, program, &kernel, &then)?;
    let job = Job { request, kernel: &kernel, then, arguments };
    let outputs = outputs(&job)?;
    let trace = request.trace.as_deref().map(|path| trace::create(request, path)).transpose()?;
    if let Some(note) = long_run(request.grid.0, request.block.0) {
        eprintln!("{note}");
    }
    let (mut ran, seeds) = match request.seeds {
        None => (job.launch(request.schedule)?, None),
        Some(count) => {
            let (ran, seeds) = seeds::run(&job, count)?;
            (ran, Some(seeds))
        }
    };
    if let Some(trace) = &mut ran.outcome.trace {
        trace.names = program.names(entry, |name| sources::text(&request.files, name))?;
    }
    let traced = match (trace, &ran.outcome.trace) {
        (Some(file), Some(steps)) => file.write(steps),
        _ => Ok(None),
    };
    // Findings are shown even where the trace could not be kept.
    let not_traced = traced.as_ref().err().map(|error| format!("{error:#}"));
    let is_clean = ran.outcome.faults.is_empty() && seeds.as_ref().is_none_or(|seeds| seeds.first.is_none());
    let shown = Shown { request, ran: &ran, outputs, seeds: seeds.as_ref(), traced: traced.unwrap_or_default() };
    let written = if request.json { show::json(&shown, out) } else { show::text(&shown, out) };
    if let Some(error) = not_traced {
        eprintln!("error: {error}");
        return Ok((BAD_INPUT, written));
    }
    Ok((if is_clean { CLEAN } else { FAULTS }, written))
}

/// Warps from which on a launch is announced.
const WARPS_OF_A_LONG_RUN: u64 = 1 << 24;

/// Announcement of a launch that takes minutes.
fn long_run(grid: [u32; 3], block: [u32; 3]) -> Option<String> {
    let product = |sizes: [u32; 3]| sizes.iter().fold(1u64, |all, &size| all.saturating_mul(size.into()));
    let (blocks, threads) = (product(grid), product(block));
    let warps = blocks.saturating_mul(threads.div_ceil(32));
    // A launch that no card takes is refused at once.
    (threads <= 1024 && warps >= WARPS_OF_A_LONG_RUN).then(|| {
        format!(
            "note: {} blocks of {} threads are {} warps, which the simulator runs one by one: that takes minutes or more. Ctrl-C \
             ends it; a kernel shows with some hundred blocks what it does.",
            grouped(blocks),
            grouped(threads),
            grouped(warps)
        )
    })
}

/// The kernel has an instruction that the simulator does not know: nothing runs.
fn refuse(request: &Request, fault: &Fault, out: &mut dyn Write) -> Written {
    let source = |name: &str| sources::text(&request.files, name);
    eprintln!("{}", report::render(fault, &source));
    let outcome = Outcome { faults: vec![fault.clone()], ..Outcome::default() };
    let (memory, counted, placed) = (Memory::new(), Vec::new(), Vec::new());
    let ran = Ran { schedule: request.schedule, outcome, counted, memory, placed, seconds: 0.0 };
    let shown = Shown { request, ran: &ran, outputs: Vec::new(), seeds: None, traced: None };
    (BAD_INPUT, if request.json { show::json(&shown, out) } else { Ok(()) })
}

/// A kernel, and what it is launched with.
pub struct Job<'r> {
    pub request: &'r Request,
    kernel: &'r Kernel,
    then: Vec<Then<'r>>,
    arguments: Arguments<'r>,
}

impl Job<'_> {
    /// Largest magnitude of the floats that the launch is given, and the number of elements of their largest buffer.
    pub fn floats(&self) -> Result<(f64, u64)> {
        self.arguments.floats()
    }

    /// Fills the buffers and launches each kernel once.
    pub fn launch(&self, schedule: Schedule) -> Result<Ran> {
        let request = self.request;
        let mut memory = Memory::new();
        let Bound { args, then, placed } = self.arguments.place(&mut memory)?;
        let launch = Launch {
            grid: request.grid.0,
            block: request.block.0,
            shared_bytes: request.shared,
            cooperative: request.cooperative,
            cluster: request.cluster.map(|cluster| cluster.0),
            device: 0,
            args: args.into_iter().map(Arg::from).collect(),
        };
        let behind = self.then.iter().zip(then).map(|(one, args)| Launch {
            grid: one.grid,
            block: one.block,
            args: args.into_iter().map(Arg::from).collect(),
            ..launch.clone()
        });
        let behind: Vec<Launch> = behind.collect();
        let mut stream = vec![StreamLaunch { kernel: self.kernel, launch: &launch, overlaps: false }];
        let overlaps = request.overlap;
        stream.extend(self.then.iter().zip(&behind).map(|(one, launch)| StreamLaunch {
            kernel: one.kernel,
            launch,
            overlaps,
        }));
        let options = Options {
            schedule,
            checks: request.check,
            threads: request.threads,
            steps_per_block_max: request.steps,
            steps_per_launch_max: request.launch_steps,
            stack_bytes: request.stack,
            trace: trace::options(request)?,
            ..Options::default()
        };
        let start = Instant::now();
        let outcomes = crate::run_stream(&stream, &mut memory, &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let (outcome, counted) = then::joined(request, self.kernel, &self.then, outcomes);
        Ok(Ran { schedule, outcome, counted, memory, placed, seconds })
    }
}

/// The buffers that are to be shown.
fn outputs(job: &Job<'_>) -> Result<Vec<Output>> {
    let mut outputs: Vec<Output> = Vec::new();
    let (buffers, all) = job.arguments.names();
    for print in &job.request.print {
        let name = &print.name;
        let Some(place) = buffers.iter().position(|spec| spec.name == *name) else {
            if all.contains(&name.as_str()) {
                bail!("--print {name}: it is a scalar or a structure by value, only buffers change");
            }
            bail!("--print {name}: no argument has that name, they are {}", all.join(", "));
        };
        let spec = buffers[place];
        let len = usize::try_from(bind::elements(spec)).context("length")?;
        let count = print.count.unwrap_or(len);
        ensure!(count <= len, "--print {name}:{count}: it has {len} elements");
        ensure!(outputs.iter().all(|output| output.place != place), "--print {name}: it is asked for twice");
        outputs.push(Output { name: name.clone(), ty: spec.ty, place, count });
    }
    Ok(outputs)
}

impl Ran {
    /// `len` bytes from byte `from` on of buffer number `place`.
    pub fn bytes(&self, place: usize, from: usize, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.memory.read(self.placed[place].address + from as u64, &mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_takes_minutes_is_announced() {
        let note = long_run([2_147_483_647, 1, 1], [256, 1, 1]).expect("a note");
        assert!(note.contains("2,147,483,647 blocks of 256 threads are 17,179,869,176 warps"), "{note}");
        assert!(long_run([4096, 4, 1], [1024, 1, 1]).is_none());
    }
}
