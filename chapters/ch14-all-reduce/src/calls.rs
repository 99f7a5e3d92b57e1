//! The calls of one variant on all devices: arrays, launches, results, and on GPUs the time.

use std::path::Path;

use device::{
    Arg, Buffer, Call, Counters, DeviceAddress, Geometry, KernelSource, Module, Peers, Report, Schedule, SimOptions,
    Timing,
};
use lab::element::Element;
use lab::{Error, Result, runner};
use reduction::{Group, Memory, Op, RankLaunch, Share, Type};

use crate::judge::{Problem, Verdict};
use crate::{CALLS, SLUG, VARIANTS, Variant};

/// Replays of a graph that are timed.
const REPLAYS: u32 = 31;
/// Bytes that the calls of a graph reduce together.
const BYTES_A_GRAPH: u64 = 64 << 20;
/// Largest number of calls in a graph.
const CALLS_A_GRAPH_MAX: u64 = 200;

/// What a variant did in a row of calls.
pub(crate) struct Run {
    pub variant: &'static Variant,
    pub geometry: Geometry,
    pub verdict: Verdict,
    /// Counts of rank 0 in its first call; `None` on a GPU.
    pub counters: Option<Counters>,
    /// Faults and notes of all launches, like ones folded.
    pub report: Report,
    /// Time of a call; `None` on the simulator, and of a wrong kernel.
    pub time: Option<Timing>,
}

impl Run {
    /// Returns whether all results are right and nothing was found.
    pub(crate) fn ok(&self) -> bool {
        self.verdict.is_right() && self.report.faults.is_empty()
    }
}

/// One call by itself on simulated devices.
#[derive(Debug)]
pub struct Once {
    /// Blocks and threads of each rank.
    pub geometry: Geometry,
    /// Results, by rank.
    pub results: Vec<Vec<f32>>,
    /// Counts of rank 0, and the findings of all ranks.
    pub report: Report,
}

/// Makes one call of a variant on so many simulated devices, each with `n` floats: `element` is that of a rank and an index.
///
/// # Errors
/// A variant that there is not, devices that there cannot be, or memory that does not suffice.
pub fn call_once(variant: &str, root: &Path, ranks: u32, n: u64, element: impl Fn(u64, u64) -> f32) -> Result<Once> {
    let known = VARIANTS.iter().find(|known| known.name == variant);
    let variant = known.ok_or_else(|| Error::Usage(format!("{SLUG} has no kernel `{variant}`")))?;
    let options =
        SimOptions { schedule: Schedule::Independent { seed: None }, is_quiet: true, ..SimOptions::default() };
    let (peers, source) = (Peers::simulated(ranks, options)?, KernelSource::in_root(root, SLUG));
    let modules = peers.devices().iter().map(|device| Ok(device.load(&source)?)).collect::<Result<Vec<_>>>()?;
    let problem = Problem { op: Op::Sum, ty: Type::F32, n, ranks, seed: 1 };
    let group = group(&peers, &problem).map_err(device::Error::from)?.with_routes(&[variant.route]);
    let arrays = Arrays::new(&peers, &group, (1, n), |_, rank, i| element(rank as u64, i))?;
    let launches = arrays.launches(&group, variant, n)?;
    let mut reports = peers.launch(&rows(&modules, &variant.kernel(&group), &launches, 1))?.into_iter().flatten();
    let mut report = reports.next().unwrap_or_default();
    reports.for_each(|other| report.faults.extend(other.faults));
    Ok(Once { geometry: launches[0][0].geometry, results: arrays.results(&peers, 0)?, report })
}

/// The group of these devices, by all routes.
///
/// # Errors
/// What [`Group::new`] refuses.
pub(crate) fn group(peers: &Peers, problem: &Problem) -> reduction::Result<Group> {
    let cards: Vec<_> = peers.devices().iter().map(|device| device.card()).collect();
    Group::new(problem.op, problem.ty, problem.n, &cards)
}

/// Arrays of all ranks.
struct Arrays<T> {
    /// By call and rank.
    inputs: Vec<Vec<Buffer<T>>>,
    /// Likewise.
    outs: Vec<Vec<Buffer<T>>>,
    /// Staging arrays, words, flags and counts of calls, each by rank.
    shared: [Vec<Buffer<u32>>; 4],
}

/// Makes [`CALLS`] calls on all devices at once, judges all results, and on GPUs times calls like them.
///
/// # Errors
/// Memory that does not suffice, a launch that fails.
pub(crate) fn run<T: Element>(
    peers: &Peers,
    modules: &[Module],
    variant: &'static Variant,
    problem: &Problem,
) -> Result<Run> {
    let group = group(peers, problem).map_err(device::Error::from)?.with_routes(&[variant.route]);
    let mut arrays =
        Arrays::<T>::new(peers, &group, (CALLS, problem.n), |call, rank, i| problem.element(call, rank, i))?;
    let launches = arrays.launches(&group, variant, problem.n)?;
    let kernel = variant.kernel(&group);
    let row = |calls: usize| rows(modules, &kernel, &launches, calls);
    let reports = peers.launch(&row(CALLS))?;
    let mut verdict = arrays.judge(peers, problem)?;
    let counters = reports.first().and_then(|calls| calls.first()?.counters);
    let mut report = Report::default();
    reports.into_iter().flatten().for_each(|launch| runner::merge(&mut report, launch));
    let mut time = None;
    if variant.announced.is_none() && peers.are_gpus() {
        arrays.clear(peers)?;
        let calls = (BYTES_A_GRAPH / problem.bytes().max(1)).clamp(CALLS as u64, CALLS_A_GRAPH_MAX);
        time = peers.time(&row(calls as usize), REPLAYS)?;
        // What was timed is judged too.
        let timed = arrays.judge(peers, problem)?;
        if verdict.is_right() {
            verdict = timed;
        }
    }
    let geometry = launches[0][0].geometry;
    Ok(Run { variant, geometry, verdict, counters, report, time })
}

/// So many calls of each rank, from the first launch to the last and again.
fn rows<'a>(modules: &'a [Module], kernel: &'a str, launches: &[Vec<RankLaunch>], calls: usize) -> Vec<Vec<Call<'a>>> {
    let call = |rank: usize, at: usize| {
        let launch = &launches[at % launches.len()][rank];
        let numbers = launch.numbers.map(Arg::U32);
        let arrays = Arg::Words(launch.arrays.to_vec());
        let args = [arrays].into_iter().chain(numbers).chain([Arg::U64(launch.n)]).collect();
        Call { module: &modules[rank], kernel, geometry: launch.geometry, args }
    };
    (0..modules.len()).map(|rank| (0..calls).map(|at| call(rank, at)).collect()).collect()
}

impl<T: Element> Arrays<T> {
    /// Arrays of so many calls and elements, with the element of a call and a rank.
    fn new(
        peers: &Peers,
        group: &Group,
        (calls, n): (usize, u64),
        element: impl Fn(usize, usize, u64) -> T,
    ) -> Result<Arrays<T>> {
        let room = group.room();
        let zeros = |(name, bytes): (&str, u64)| upload(peers, name, |_| vec![0u32; bytes as usize / 4]);
        let [stage, words, flags, counts] =
            [("stage", room.stage), ("words", room.words), ("flags", room.flags), ("calls", room.calls)].map(zeros);
        let mut arrays = Arrays { inputs: Vec::new(), outs: Vec::new(), shared: [stage?, words?, flags?, counts?] };
        for call in 0..calls {
            let values = |rank| (0..n).map(|i| element(call, rank, i)).collect();
            arrays.inputs.push(upload(peers, "in", values)?);
            arrays.outs.push(upload(peers, "out", |_| nothing(n as usize))?);
        }
        Ok(arrays)
    }

    /// The launches by call and rank.
    fn launches(&self, group: &Group, variant: &Variant, n: u64) -> Result<Vec<Vec<RankLaunch>>> {
        let call = group.call(variant.route, n).map_err(device::Error::from)?;
        let launches = |at: usize| {
            let share = |rank: usize| {
                let [stage, words, flags, calls] = self.shared.each_ref().map(|ranks| memory(&ranks[rank]));
                let (input, out) = (memory(&self.inputs[at][rank]), memory(&self.outs[at][rank]));
                Share { input, out, stage, words, flags, calls }
            };
            let shares: Vec<Share> = (0..group.ranks() as usize).map(share).collect();
            Ok(call.launches(&shares).map_err(device::Error::from)?)
        };
        (0..self.inputs.len()).map(launches).collect()
    }

    /// Results of a call, by rank.
    fn results(&self, peers: &Peers, call: usize) -> Result<Vec<Vec<T>>> {
        let each = peers.devices().iter().zip(&self.outs[call]);
        each.map(|(device, out)| Ok(device.download(out)?)).collect()
    }

    fn judge(&self, peers: &Peers, problem: &Problem) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        for call in 0..self.outs.len() {
            verdict.judge(problem, call, &self.results(peers, call)?);
        }
        Ok(verdict)
    }

    /// Overwrites the results, so that those of a replay are judged and not those before it.
    fn clear(&mut self, peers: &Peers) -> Result<()> {
        for outs in &mut self.outs {
            for (device, out) in peers.devices().iter().zip(outs) {
                device.write(out, &nothing::<T>(out.len()))?;
            }
        }
        Ok(())
    }
}

/// A result that no kernel leaves.
fn nothing<T: Element>(n: usize) -> Vec<T> {
    vec![T::from_f64(f64::NEG_INFINITY); n]
}

fn memory<T: device::Scalar>(buffer: &Buffer<T>) -> Memory {
    Memory { address: buffer.address(), bytes: buffer.bytes() }
}

/// An array on each device.
fn upload<T: device::Scalar>(peers: &Peers, name: &str, values: impl Fn(usize) -> Vec<T>) -> Result<Vec<Buffer<T>>> {
    let each = peers.devices().iter().enumerate();
    each.map(|(rank, device)| Ok(device.upload(name, &values(rank))?)).collect()
}
