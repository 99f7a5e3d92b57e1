//! Contests: arrays of all sizes by every route and by NCCL, and the sum of one array that is spread over the ranks.

use cudarc::driver::{CudaSlice, ValidAsZeroBits};
use cudarc::nccl::{self, NcclType};
use half::bf16;
use reduction::{Element, Group, Layout, Op, Ranks, Reducer, Route};
use serde_json::json;

use crate::{Bench, Graphs, Result, say};

/// Largest messages in bytes, as a power of two, and the routes that are worth a trial up to there.
const TIERS: [(u32, &[Route]); 3] = [
    (20, &Route::ALL),
    (24, &[Route::OneShotPull, Route::OneShotPush, Route::TwoShotPush, Route::TwoShotDirect]),
    (30, &[Route::TwoShotPush, Route::TwoShotDirect]),
];
/// Bytes that the calls of a graph reduce together, and most calls of one.
const BYTES_A_GRAPH: u64 = 64 << 20;
const CALLS_MAX: u64 = 200;
/// Elements that are judged of a long array: as many at its begin, in its middle and at its end.
const JUDGED: usize = 1 << 18;

/// Element that a host can draw and reduce.
pub trait Number: Element + NcclType + ValidAsZeroBits + PartialEq + std::fmt::Debug {
    /// Half a unit in the last place of 1.
    const UNIT: f32;
    fn of(x: f32) -> Self;
    fn to(self) -> f32;
}

impl Number for f32 {
    const UNIT: f32 = 1.0 / 16_777_216.0;
    fn of(x: f32) -> f32 {
        x
    }
    fn to(self) -> f32 {
        self
    }
}

impl Number for bf16 {
    const UNIT: f32 = 1.0 / 256.0;
    fn of(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
    fn to(self) -> f32 {
        self.to_f32()
    }
}

fn drawn<T: Number>(rank: usize, i: usize) -> T {
    let mut bits = (rank as u64) << 40 | i as u64;
    for _ in 0..2 {
        bits = (bits ^ bits >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    T::of((bits >> 40) as f32 / (1 << 23) as f32 - 1.0)
}

fn expected<T: Number>(op: Op, ranks: usize, i: usize) -> T {
    let all = (0..ranks).map(|rank| drawn::<T>(rank, i).to());
    T::of(all.reduce(|a, b| if op == Op::Sum { a + b } else { a.max(b) }).unwrap_or_default())
}

/// Arrays of each rank.
struct Arrays<T> {
    inputs: Vec<CudaSlice<T>>,
    outs: Vec<CudaSlice<T>>,
}

impl<T: Number> Arrays<T> {
    fn of(bench: &Bench, n: usize) -> Result<Arrays<T>> {
        let mut arrays = Arrays { inputs: Vec::new(), outs: Vec::new() };
        for (rank, stream) in bench.streams.iter().enumerate() {
            let values: Vec<T> = (0..n).map(|i| drawn(rank, i)).collect();
            arrays.inputs.push(stream.clone_htod(&values)?);
            arrays.outs.push(stream.alloc_zeros(n)?);
        }
        Ok(arrays)
    }

    fn clear(&mut self, bench: &Bench) -> Result<()> {
        for (stream, out) in bench.streams.iter().zip(&mut self.outs) {
            stream.context().bind_to_thread()?;
            stream.memset_zeros(out)?;
        }
        bench.wait()
    }

    /// Elements with other bits than the sum in the order of ranks, and those that rounding does not explain either.
    fn judge(&self, bench: &Bench, op: Op) -> Result<[u64; 2]> {
        let (mut counts, ranks) = ([0; 2], self.outs.len());
        // Elements are below 1, and each addition may be rounded to the type.
        let bound = (ranks * ranks) as f32 * T::UNIT;
        for (stream, out) in bench.streams.iter().zip(&self.outs) {
            let (n, len) = (out.len(), out.len().min(JUDGED));
            for begin in [0, (n - len) / 2, n - len] {
                let left: Vec<T> = stream.clone_dtoh(&out.slice(begin..begin + len))?;
                for (i, value) in left.iter().enumerate() {
                    let expected = expected::<T>(op, ranks, begin + i);
                    counts[0] += u64::from(*value != expected);
                    counts[1] += u64::from((value.to() - expected.to()).abs() > bound || value.to().is_nan());
                }
            }
        }
        Ok(counts)
    }
}

impl Bench {
    /// One operation and type: 16 bytes, and from 1 KiB up to so many, a power of two.
    pub fn cases<T: Number>(&mut self, op: Op, most: u32) -> Result<()> {
        let mut from = 10;
        for (to, routes) in TIERS {
            let group = self.group::<T>(op, 1 << to.min(most), routes)?;
            let mut ranks = Ranks::of(group, &self.streams)?;
            let shortest = (from == 10).then_some(4);
            for lg in shortest.into_iter().chain((from..=to.min(most)).step_by(2)) {
                self.case::<T>(&mut ranks, op, (1usize << lg) / size_of::<T>(), routes)?;
            }
            from = to + 2;
            if from > most {
                break;
            }
        }
        Ok(())
    }

    fn group<T: Number>(&self, op: Op, bytes: u64, routes: &[Route]) -> Result<Group> {
        let card = |stream: &std::sync::Arc<_>| reduction::gpu::card::without_clusters(stream);
        let cards =
            self.streams.iter().map(|stream| card(stream.context())).collect::<std::result::Result<Vec<_>, _>>()?;
        let most = bytes / T::TYPE.bytes();
        Ok(Group::new(op, T::TYPE, most, &cards.iter().collect::<Vec<_>>())?.with_routes(routes))
    }

    fn case<T: Number>(&mut self, ranks: &mut Ranks, op: Op, n: usize, routes: &[Route]) -> Result<()> {
        let mut arrays = Arrays::<T>::of(self, n)?;
        let bytes = (n * size_of::<T>()) as u64;
        let calls = (BYTES_A_GRAPH / bytes).clamp(4, CALLS_MAX) as u32;
        let chosen = self.group::<T>(op, 1 << 30, &Route::ALL)?.route(n as u64)?;
        let (mut all, mut wrong) = (Vec::<Graphs>::new(), Vec::new());
        for &route in routes {
            arrays.clear(self)?;
            let Arrays { inputs, outs } = &mut arrays;
            all.push(self.capture(route.name(), calls, || {
                let mut outs: Vec<&mut CudaSlice<T>> = outs.iter_mut().collect();
                Ok(ranks.all_reduce(route, &inputs.iter().collect::<Vec<_>>(), &mut outs)?)
            })?);
            self.times_us(&all[all.len() - 1..])?;
            wrong.push(arrays.judge(self, op)?);
        }
        if !self.comms.is_empty() {
            arrays.clear(self)?;
            match self.nccl(&mut arrays, op, calls) {
                Ok(graphs) => {
                    self.times_us(std::slice::from_ref(&graphs))?;
                    wrong.push(arrays.judge(self, op)?);
                    all.push(graphs);
                }
                Err(error) => eprintln!("NCCL, {bytes} bytes: {error}"),
            }
        }
        for ((graphs, [low, us, high]), [other_bits, wrong]) in all.iter().zip(self.times_us(&all)?).zip(wrong) {
            say(json!({
                "entrant": graphs.name, "op": op.name(), "type": T::TYPE.name(), "n": n, "bytes": bytes,
                "ranks": self.streams.len(), "us": us, "range_us": [low, high], "chosen": graphs.name == chosen.name(), "other_bits": other_bits,
                "wrong": wrong,
            }));
        }
        Ok(())
    }

    fn nccl<T: Number>(&self, arrays: &mut Arrays<T>, op: Op, calls: u32) -> Result<Graphs> {
        let op = if op == Op::Sum { nccl::ReduceOp::Sum } else { nccl::ReduceOp::Max };
        self.capture("nccl", calls, || {
            let failed = |error: nccl::result::NcclError| format!("{error:?}");
            nccl::group_start().map_err(failed)?;
            for ((comm, input), out) in self.comms.iter().zip(&arrays.inputs).zip(&mut arrays.outs) {
                comm.all_reduce(input, out, &op).map_err(failed)?;
            }
            nccl::group_end().map_err(failed)?;
            Ok(())
        })
    }

    /// The sum of an array that is spread over the ranks, beside the sums of the parts alone.
    pub fn scalar(&mut self) -> Result<()> {
        let mut ranks = Ranks::of(self.group::<f32>(Op::Sum, 4, &[Route::LowLatency])?, &self.streams)?;
        for lg in [20, 24, 26, 28] {
            let n = 1usize << lg;
            let arrays = Arrays::<f32>::of(self, n)?;
            let mut plans = Vec::new();
            for stream in &self.streams {
                let reducer = Reducer::new(stream.context())?.without_compiler();
                let plan = reducer.plan(Op::Sum, f32::TYPE, n as u64, Layout::Array)?;
                let mut workspace = reducer.workspace(stream)?;
                workspace.reserve(plan.reduction())?;
                plans.push((plan, workspace, stream.alloc_zeros::<f32>(1)?, stream.alloc_zeros::<f32>(1)?));
            }
            let mut sums = |with_peers: bool| -> Result<()> {
                for ((plan, workspace, part, _), input) in plans.iter_mut().zip(&arrays.inputs) {
                    plan.call(workspace).input(input).out(part).run()?;
                }
                if with_peers {
                    let (parts, mut outs): (Vec<_>, Vec<_>) =
                        plans.iter_mut().map(|(_, _, part, out)| (&*part, out)).unzip();
                    ranks.all_reduce(Route::LowLatency, &parts, &mut outs)?;
                }
                Ok(())
            };
            let calls = (BYTES_A_GRAPH / (4 * n as u64)).clamp(4, CALLS_MAX) as u32;
            let all = [self.capture("parts", calls, || sums(false))?, self.capture("whole", calls, || sums(true))?];
            let times = self.times_us(&all)?;
            let whole = self.streams.iter().zip(&plans).map(|(stream, (.., out))| Ok(stream.clone_dtoh(out)?[0]));
            let whole = whole.collect::<Result<Vec<f32>>>()?;
            let exact: f64 =
                (0..self.streams.len()).flat_map(|rank| (0..n).map(move |i| f64::from(drawn::<f32>(rank, i)))).sum();
            for (graphs, [low, us, high]) in all.iter().zip(times) {
                say(json!({
                    "entrant": graphs.name, "op": "scalar", "type": "f32", "n": n, "ranks": self.streams.len(), "us": us, "range_us": [low, high],
                    "whole": whole, "exact": exact,
                }));
            }
        }
        Ok(())
    }
}
