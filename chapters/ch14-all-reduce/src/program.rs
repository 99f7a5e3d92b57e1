//! The program: command line to text and exit status.

use std::ffi::OsString;

use device::{Checks, Choice, KernelSource, Module, Peers, Schedule, SimOptions};
use lab::cli::LeftOut;
use lab::element::rust::bf16;
use lab::progress::Progress;
use lab::session::built_root;
use lab::text::{bytes, grouped};
use lab::{Error, Output, Result, Stop, memory};
use reduction::{Error as Refusal, Group, Op, Route, Type};

use crate::calls;
use crate::cli::Args;
use crate::judge::Problem;
use crate::show::Shown;
use crate::tried::Tried;
use crate::{CALLS, SLUG, Variant, json};

/// Elements of each array where none were asked for: on the simulator, and on GPUs, where as many floats are the longest message that
/// every route takes.
const N: [u64; 2] = [1 << 12, 1 << 18];

/// Runs the program with this command line.
///
/// # Errors
/// A command line that is refused, or a device that does not do its work.
pub fn execute(command: impl IntoIterator<Item = OsString>) -> std::result::Result<Output, Stop> {
    let args = Args::parse(command).map_err(Stop::Clap)?;
    let variants = args.variants()?;
    let source = KernelSource::find(SLUG, &built_root())?;
    let options = SimOptions {
        schedule: args.schedule.unwrap_or(Schedule::Independent { seed: None }),
        checks: args.check.unwrap_or(Checks::ALL),
        ..SimOptions::default()
    };
    let peers = Peers::open(Choice::from(args.device), args.ranks, options)?;
    if peers.are_gpus() {
        args.refuse_on_gpus()?;
    }
    let n = args.n.unwrap_or(N[usize::from(peers.are_gpus())]);
    let ranks = peers.devices().len() as u32;
    let problem = Problem { op: args.op, ty: args.ty, n, ranks, seed: args.seed };
    let group = checked_group(&peers, &problem)?;
    let (able, left_out) = able(&group, &problem, &variants)?;
    let route = group.route(n).map_err(device::Error::from)?;

    let modules = load(&peers, &source)?;
    let origin = modules.first().map(|module| module.origin().to_string()).unwrap_or_default();
    let tried = run_all(&args, (&peers, modules), options, &source, (&able, &problem))?;
    let checks = (!peers.are_gpus()).then_some(options.checks);
    let statuses: Vec<_> = tried.iter().map(|tried| tried.status(&problem, checks)).collect();
    let shown = Shown {
        args: &args,
        peers: &peers,
        origin,
        root: source.root(),
        problem,
        route,
        schedule: options.schedule,
        tried: &tried,
        statuses: &statuses,
        left_out: &left_out,
    };
    let text = if args.json { format!("{:#}\n", json::object(&shown)) } else { shown.text() };
    Ok(Output { text, status: u8::from(statuses.iter().any(|status| status.fails())) })
}

/// The group of all devices, after making sure that their arrays fit in memory.
fn checked_group(peers: &Peers, problem: &Problem) -> Result<Group> {
    let group = calls::group(peers, problem).map_err(|refusal| match refusal {
        Refusal::TooMany { most, .. } => Error::Usage(format!(
            "--n {}: the kernels take arrays of up to {} elements of {}",
            grouped(problem.n),
            grouped(most),
            problem.ty
        )),
        other => device::Error::from(other).into(),
    })?;
    let room = |route: &Route| {
        let room = group.with_routes(&[*route]).room();
        room.stage + room.words + room.flags + room.calls
    };
    let shared = Route::ALL.iter().map(room).max().unwrap_or(0);
    let of_rank = 2 * CALLS as u64 * problem.bytes() + shared;
    let device_bytes = peers.devices().first().and_then(|device| device.description().memory_bytes);
    let more = if peers.are_gpus() { of_rank } else { u64::from(problem.ranks) * of_rank };
    memory::check(problem.ty, problem.n, more, device_bytes)?;
    Ok(group)
}

/// The variants that take this problem, and the others by the option that they cannot honour. Each problem has a route that takes it.
///
/// # Errors
/// A variant that was named and does not.
fn able(
    group: &Group,
    problem: &Problem,
    variants: &[(&'static Variant, bool)],
) -> Result<(Vec<&'static Variant>, Vec<LeftOut>)> {
    let (mut able, mut left_out) = (Vec::new(), Vec::new());
    for &(variant, is_named) in variants {
        match refusal(group, problem, variant) {
            None => able.push(variant),
            Some((_, why)) if is_named => return Err(Error::Usage(format!("--variant {}: {why}", variant.name))),
            Some((option, _)) => LeftOut::add(&mut left_out, option, variant.name),
        }
    }
    Ok((able, left_out))
}

/// The option that a variant cannot honour, if there is one, and why.
fn refusal(group: &Group, problem: &Problem, variant: &Variant) -> Option<(String, String)> {
    let Problem { op, ty, n, .. } = *problem;
    if variant.announced.is_some() && (op, ty) != (Op::Sum, Type::F32) {
        let option = if op == Op::Sum { format!("--type {ty}") } else { format!("--op {op}") };
        return Some((option, format!("it adds f32, and has no {op} of {ty}")));
    }
    let Err(Refusal::TooMany { most, .. }) = group.call(variant.route, n) else { return None };
    let (most, size) = (grouped(most), bytes(most * ty.bytes()));
    let why = format!("it takes up to {most} elements, {size}: other routes are faster for longer arrays");
    Some((format!("--n {}", grouped(n)), why))
}

/// The kernels on each device.
fn load(peers: &Peers, source: &KernelSource) -> Result<Vec<Module>> {
    peers.devices().iter().map(|device| Ok(device.load(source)?)).collect()
}

/// Runs every variant on these devices or, if seeds were asked for, on others under each of them.
fn run_all(
    args: &Args,
    (peers, modules): (&Peers, Vec<Module>),
    options: SimOptions,
    source: &KernelSource,
    (variants, problem): (&[&'static Variant], &Problem),
) -> Result<Vec<Tried>> {
    let progress = Progress::new(args.seeds.unwrap_or(1) * variants.len() as u64);
    let checks = (!peers.are_gpus()).then_some(options.checks);
    let try_all = |peers: &Peers, modules: &[Module], seed: Option<u64>| {
        let try_one = |variant: &&'static Variant| {
            progress.at(variant.name.to_owned());
            let run = match problem.ty {
                Type::BF16 => calls::run::<bf16>(peers, modules, variant, problem),
                _ => calls::run::<f32>(peers, modules, variant, problem),
            };
            progress.step();
            Ok(Tried::new(run?, seed, checks))
        };
        variants.iter().map(try_one).collect::<Result<Vec<Tried>>>()
    };
    let Some(seeds) = args.seeds else { return try_all(peers, &modules, None) };
    let mut all: Vec<Tried> = Vec::new();
    for seed in 0..seeds {
        let schedule = Schedule::Independent { seed: Some(seed) };
        let peers = Peers::simulated(problem.ranks, SimOptions { schedule, ..options })?;
        let next = try_all(&peers, &load(&peers, source)?, Some(seed))?;
        if all.is_empty() {
            all = next;
        } else {
            all.iter_mut().zip(next).for_each(|(tried, next)| tried.add(next));
        }
    }
    Ok(all)
}
