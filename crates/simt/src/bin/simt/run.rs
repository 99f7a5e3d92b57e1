//! `simt run`: arguments to memory, a launch, and what it left.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use simt::{Fault, Kernel, Launch, LoadError, Memory, Options, Outcome, Schedule, report};

use crate::command_line::Request;
use crate::show::{self, Output, Shown};
use crate::spec::{Kind, Spec, contents};
use crate::{BAD_INPUT, CLEAN, FAULTS, Written, load, seeds, sources, trace};

/// One launch that was run, and the memory that it left.
pub struct Ran {
    pub schedule: Schedule,
    pub outcome: Outcome,
    pub memory: Memory,
    /// The arguments as the kernel got them: of a buffer, its address.
    pub args: Vec<Vec<u8>>,
    /// Of this computer's time.
    pub seconds: f64,
}

/// Runs the kernel and writes what came of it to `out`; the exit status.
pub fn run(request: &Request, out: &mut dyn Write) -> Result<Written> {
    let program = load(&request.file)?;
    let kernel = match program.kernel(&request.kernel) {
        Err(LoadError::Unsupported { fault: Some(fault), .. }) => return Ok(refuse(request, &fault, out)),
        kernel => kernel?,
    };
    check_arguments(&kernel, &request.args)?;
    let outputs = outputs(request)?;
    let trace = request.trace.as_deref().map(|path| trace::create(request, path)).transpose()?;
    let (ran, seeds) = match request.seeds {
        None => (launch(request, &kernel, request.schedule)?, None),
        Some(count) => {
            let (ran, seeds) = seeds::run(request, &kernel, count)?;
            (ran, Some(seeds))
        }
    };
    let traced = match (trace, &ran.outcome.trace) {
        (Some(file), Some(steps)) => file.write(steps),
        _ => Ok(None),
    };
    // What was found is shown even where the trace could not be kept.
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

/// The kernel has an instruction that the simulator does not know: nothing runs.
fn refuse(request: &Request, fault: &Fault, out: &mut dyn Write) -> Written {
    let source = |name: &str| sources::text(&request.file, name);
    eprintln!("{}", report::render(fault, &source));
    let written = if request.json { show::json_refused(request, fault, out) } else { Ok(()) };
    (BAD_INPUT, written)
}

/// Fills the buffers and launches the kernel once.
pub fn launch(request: &Request, kernel: &Kernel, schedule: Schedule) -> Result<Ran> {
    let mut memory = Memory::new();
    let args = bind(&mut memory, &request.args)?;
    let launch = Launch {
        grid: request.grid.0,
        block: request.block.0,
        shared_bytes: request.shared,
        cooperative: request.cooperative,
        cluster: request.cluster.map(|cluster| cluster.0),
        args: args.clone(),
    };
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
    let outcome = simt::run(kernel, &mut memory, &launch, &options)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Ran { schedule, outcome, memory, args, seconds })
}

/// Whether there is one argument of the right size for each parameter.
fn check_arguments(kernel: &Kernel, args: &[Spec]) -> Result<()> {
    let parameters = kernel.parameters();
    if parameters.len() != args.len() {
        let wanted: Vec<String> = parameters.iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
        let (given, name) = (args.len(), kernel.name());
        bail!("{name} takes {} arguments, {given} given: it is {name}({})", parameters.len(), wanted.join(", "));
    }
    for (place, (parameter, spec)) in parameters.iter().zip(args).enumerate() {
        let (bytes, what) = match &spec.kind {
            Kind::Buffer { .. } => (8, "a buffer, whose address has 8 bytes".to_owned()),
            Kind::Scalar(value) => (value.len() as u32, format!("{} of {} bytes", spec.ty.name(), value.len())),
        };
        ensure!(
            bytes == parameter.bytes,
            "argument {} is {what}, but parameter {} of {}, {}, is {} of {} bytes",
            spec.name,
            place + 1,
            kernel.name(),
            parameter.name,
            parameter.ty,
            parameter.bytes,
        );
    }
    for (place, spec) in args.iter().enumerate() {
        let again = args[..place].iter().any(|other| other.name == spec.name);
        ensure!(!again, "two arguments are named {}", spec.name);
    }
    Ok(())
}

/// Places every buffer; the arguments as the kernel gets them.
fn bind(memory: &mut Memory, args: &[Spec]) -> Result<Vec<Vec<u8>>> {
    let mut bound = Vec::new();
    for spec in args {
        bound.push(match &spec.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Buffer { len, init } => {
                let bytes = contents(spec, *len, init)?;
                // `contents` has made sure that this is no more than there can be.
                let size = len * spec.ty.bytes() as u64;
                let address = memory.alloc(&spec.name, size, spec.ty.bytes() as u32)?;
                memory.write(address, &bytes)?;
                address.to_le_bytes().to_vec()
            }
        });
    }
    Ok(bound)
}

/// The buffers that are to be shown.
fn outputs(request: &Request) -> Result<Vec<Output>> {
    let mut outputs: Vec<Output> = Vec::new();
    for print in &request.print {
        let name = &print.name;
        let Some(place) = request.args.iter().position(|spec| spec.name == *name) else {
            let names: Vec<&str> = request.args.iter().map(|spec| spec.name.as_str()).collect();
            bail!("--print {name}: no argument has that name, they are {}", names.join(", "));
        };
        let spec = &request.args[place];
        let Kind::Buffer { len, .. } = spec.kind else { bail!("--print {name}: it is a scalar, only buffers change") };
        let len = usize::try_from(len).context("length")?;
        let count = print.count.unwrap_or(len);
        ensure!(count <= len, "--print {name}:{count}: it has {len} elements");
        ensure!(outputs.iter().all(|output| output.place != place), "--print {name}: it is asked for twice");
        outputs.push(Output { name: name.clone(), ty: spec.ty, place, count });
    }
    Ok(outputs)
}

impl Ran {
    /// `len` bytes from byte `from` on of the buffer that is argument number `place`.
    pub fn bytes(&self, place: usize, from: usize, len: usize) -> Result<Vec<u8>> {
        let address = <[u8; 8]>::try_from(self.args[place].as_slice()).map(u64::from_le_bytes)?;
        let mut bytes = vec![0; len];
        self.memory.read(address + from as u64, &mut bytes)?;
        Ok(bytes)
    }
}
