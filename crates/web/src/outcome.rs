//! A request carried out: the JSON of the answer.
//!
//! | key | what |
//! |---|---|
//! | `version` | [`crate::VERSION`] |
//! | `launches` | of each launch `kernel`, `schedule`, `counters`, `faults`, `notes`, `warp_instructions`, `lines` (`file`, `line`, `counters`), `printed`, `prints_dropped`, as `simt run --json` has them, but that `launch` of a fault's site is an index of this list; `trace` of the one that was asked for, or of the first |
//! | `shared` | of each shared variable `name`, `first` byte, `bytes` |
//! | `trace` | `version`, `grid`, `block`, `code` (`opcode`, `text`, `ptx_line`, `file`, `line`, `calls` by program counter), `steps`, `dropped_steps` |
//! | `buffers` | of each buffer `name`, `type`, `len`, `address` |
//! | `outputs` | by name, the elements after the last launch |
//! | `seeds` | of each seed `outputs`, and `faults`: how many by code, over all launches |

use serde_json::{Map, Value, json};
use simt::trace::Trace;
use simt::{Checks, Launch, Memory, Options, Outcome, Program, Schedule};

use crate::bind::{self, Placed};
use crate::request::{self, Request};
use crate::{VERSION, devices, steps};

/// Most seeds of one request.
const SEEDS_MAX: u64 = 10_000;

/// Carries out a request; packs the steps that it asks for into `words`.
pub fn of(request: &[u8], words: &mut Vec<u32>) -> Result<Value, String> {
    let request: Request = serde_json::from_slice(request).map_err(|error| format!("the request: {error}"))?;
    if request.seeds > SEEDS_MAX {
        return Err(format!("{} seeds are too many: at most {SEEDS_MAX}", request.seeds));
    }
    let files: Vec<(&str, &str)> = request.ptx.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    let program = Program::link(&files).map_err(|error| error.to_string())?;
    let job = Job {
        program: &program,
        kernels: request.launches.iter().map(|launch| kernel(&program, launch)).collect::<Result<_, _>>()?,
        request: &request,
        checks: request.check.parse()?,
    };
    let mut ran = job.run(request.schedule.parse()?, request.trace)?;
    devices::join_traces(&mut ran.outcomes, request.trace)?;
    let mut launches = Vec::new();
    for ((launch, kernel), outcome) in request.launches.iter().zip(&job.kernels).zip(&ran.outcomes) {
        launches.push(launch_json(launch, kernel, &request.schedule, outcome, words)?);
    }
    let buffer = |placed: &Placed| json!({ "name": placed.name, "type": placed.ty.name(), "len": placed.len, "address": placed.address.to_string() });
    let mut answer = json!({
        "version": VERSION,
        "launches": launches,
        "outputs": outputs(&request, &ran)?,
        "buffers": ran.placed.iter().map(buffer).collect::<Vec<_>>(),
    });
    if request.seeds > 0 {
        answer["seeds"] = (0..request.seeds).map(|seed| job.seed(seed)).collect::<Result<_, _>>()?;
    }
    Ok(answer)
}

fn kernel(program: &Program, launch: &request::Launch) -> Result<simt::Kernel, String> {
    program.kernel(&launch.kernel).map_err(|error| error.to_string())
}

/// Kernels, loaded, and what they are launched with.
struct Job<'r> {
    program: &'r Program,
    kernels: Vec<simt::Kernel>,
    request: &'r Request,
    checks: Checks,
}

/// All launches, and what they left.
struct Ran {
    outcomes: Vec<Outcome>,
    memory: Memory,
    placed: Vec<Placed>,
}

impl Job<'_> {
    /// Fills memory and runs every launch.
    fn run(&self, schedule: Schedule, trace: Option<request::Trace>) -> Result<Ran, String> {
        let (mut memory, placed) = bind::place(&self.request.buffers)?;
        let mut launches = Vec::new();
        for asked in &self.request.launches {
            launches.push(Launch {
                grid: asked.grid,
                block: asked.block,
                shared_bytes: asked.shared_bytes,
                cooperative: asked.cooperative,
                cluster: asked.cluster,
                device: asked.device,
                args: bind::arguments(&asked.args, self.program, &mut memory, &placed)?,
            });
        }
        let outcomes = match launches.iter().all(|launch| launch.device == 0) {
            true => self.in_order(&launches, schedule, trace, &mut memory)?,
            false => devices::run(&self.kernels, &launches, &mut memory, &self.options(schedule, trace))?,
        };
        Ok(Ran { outcomes, memory, placed })
    }

    fn options(&self, schedule: Schedule, trace: Option<request::Trace>) -> Options {
        let mut options = Options { schedule, checks: self.checks, threads: 1, ..Options::default() };
        options.steps_per_block_max = self.request.steps_per_block_max.unwrap_or(options.steps_per_block_max);
        options.steps_per_launch_max = self.request.steps_per_launch_max.unwrap_or(options.steps_per_launch_max);
        options.trace = trace.map(|trace| simt::trace::Options {
            first_block: trace.first_block,
            blocks: trace.blocks,
            steps_per_block_max: trace.steps_per_block_max,
            ..Default::default()
        });
        options
    }

    /// Runs the launches one after the other.
    fn in_order(
        &self,
        launches: &[Launch],
        schedule: Schedule,
        trace: Option<request::Trace>,
        memory: &mut Memory,
    ) -> Result<Vec<Outcome>, String> {
        let one = |(at, (kernel, launch))| {
            let options = self.options(schedule, trace.filter(|trace| trace.launch == at));
            simt::run(kernel, memory, launch, &options).map_err(|error| error.to_string())
        };
        self.kernels.iter().zip(launches).enumerate().map(one).collect()
    }

    /// Runs one seed and returns its results.
    fn seed(&self, seed: u64) -> Result<Value, String> {
        let schedule = match self.request.seeds_line {
            Some(line) => Schedule::IndependentFrom { seed, line },
            None => Schedule::Independent { seed: Some(seed) },
        };
        let ran = self.run(schedule, None)?;
        let mut faults = Map::new();
        for fault in ran.outcomes.iter().flat_map(|outcome| &outcome.faults) {
            let so_far = faults.get(fault.code.name()).and_then(Value::as_u64).unwrap_or(0);
            faults.insert(fault.code.name().to_owned(), (so_far + fault.count).into());
        }
        Ok(json!({ "outputs": outputs(self.request, &ran)?, "faults": faults }))
    }
}

/// The buffers that are asked for, or their first elements.
fn outputs(request: &Request, ran: &Ran) -> Result<Value, String> {
    let mut outputs = Map::new();
    for output in &request.outputs {
        let (name, count) = match output.split_once(':') {
            None => (output.as_str(), None),
            Some((name, count)) => {
                (name, Some(count.parse::<u64>().map_err(|_| format!("`{count}` is no number of elements"))?))
            }
        };
        let placed = ran.placed.iter().find(|placed| placed.name == name);
        let placed = placed.ok_or_else(|| format!("{output}: no buffer is named {name}"))?;
        let count = count.unwrap_or(placed.len);
        if count > placed.len {
            return Err(format!("{output}: it has {} elements", placed.len));
        }
        outputs.insert(name.to_owned(), placed.elements(&ran.memory, count)?.into());
    }
    Ok(outputs.into())
}

/// Returns the results of one launch besides memory, as JSON.
fn launch_json(
    launch: &request::Launch,
    kernel: &simt::Kernel,
    schedule: &str,
    outcome: &Outcome,
    words: &mut Vec<u32>,
) -> Result<Value, String> {
    let shared = |(name, first, bytes)| json!({ "name": name, "first": first, "bytes": bytes });
    let mut answer = json!({
        "kernel": launch.kernel,
        "schedule": schedule,
        "shared": kernel.shared_variables().map(shared).collect::<Vec<_>>(),
        "counters": outcome.counters,
        "faults": outcome.faults,
        "notes": outcome.notes,
        "warp_instructions": outcome.counters.inst_executed,
        "lines": outcome.lines,
        "printed": outcome.printed,
        "prints_dropped": outcome.prints_dropped,
    });
    if let Some(trace) = &outcome.trace {
        answer["trace"] = head(trace);
        steps::pack(&trace.steps, words);
    }
    Ok(answer)
}

/// A trace without its steps.
fn head(trace: &Trace) -> Value {
    json!({
        "version": trace.version,
        "grid": trace.grid,
        "block": trace.block,
        "code": trace.code,
        "steps": trace.steps.len(),
        "dropped_steps": trace.dropped_steps,
    })
}
