//! Reductions between other kernels, thousands of times and each judged: a producer writes the input right before and a
//! consumer reads the sum right after, with launches that may overlap and with launches that may not; and two streams at once,
//! each with a state of its own.

use std::rc::Rc;
use std::sync::Barrier;

use anyhow::{Result, anyhow};
use device::{
    Arg, Buffer, Call, Choice, Device, Geometry, Graph, KernelSource, Module, Replays, SimOptions, Step, Timed,
};
use lab::element::Element;
use lab::measurement::Proof;
use lab::{LaunchOptions, Session, Variant};

use super::bench::Bench;

/// The kernels before and after.
pub const KERNELS: &str = "proofs";

/// Elements: one block, several, and a ragged end with as many blocks as a card holds.
const SIZES: [u64; 3] = [1 << 12, (1 << 16) + 1, (1 << 20) - 3];
/// Rounds of one graph, and replays of it: 10,000 together.
const ROUNDS: (u32, u32) = (500, 20);
/// Those on a simulator, which checks what is on this side of the clock.
const SIMULATED_ROUNDS: u32 = 3;
/// Every byte of what is kept, before each replay.
const POISON: u8 = 0xff;
/// Threads of a producer's block.
const BLOCK: u32 = 256;

/// Every proof.
///
/// # Errors
/// A launch that fails, memory that does not suffice.
pub fn all(
    bench: &Bench,
    session: &Session<'static>,
    variant: &'static Variant,
    source: &KernelSource,
) -> Result<Vec<Proof>> {
    let sizes = if bench.device.is_gpu() { &SIZES[..] } else { &SIZES[..1] };
    let module = bench.device.load(&KernelSource::in_root(source.root(), KERNELS))?;
    let mut proofs = Vec::new();
    for &n in sizes {
        for overlap in [false, true] {
            let round = Round { session, variant, module: &module, n, overlap };
            proofs.push(round.between::<i32>(&bench.device)?);
            proofs.push(round.between::<f32>(&bench.device)?);
            proofs.push(round.between::<f64>(&bench.device)?);
        }
    }
    if bench.device.is_gpu() {
        proofs.extend(two_streams(session, variant, source)?);
    }
    Ok(proofs)
}

/// Parts of one round.
struct Round<'s> {
    session: &'s Session<'static>,
    variant: &'static Variant,
    module: &'s Module,
    n: u64,
    overlap: bool,
}

impl Round<'_> {
    /// Producer, reduction, consumer, round after round in one graph.
    fn between<T: Element>(&self, device: &Device) -> Result<Proof> {
        let (rounds, replays) = if device.is_gpu() { ROUNDS } else { (SIMULATED_ROUNDS, 1) };
        let options = LaunchOptions { overlap: self.overlap, ..LaunchOptions::default() };
        let plan = self.session.plan(self.variant, T::TYPE, self.n, options)?;
        let arrays = self.session.arrays::<T>(&plan)?;
        let input: Buffer<T> = device.alloc("in", self.n as usize)?;
        let kept: Buffer<T> = device.alloc("kept", rounds as usize)?;
        let [produce, consume] = ["produce", "consume"].map(|stem| format!("{stem}_{}", T::NAME));
        let blocks = self.n.div_ceil(u64::from(4 * BLOCK)) as u32;
        let geometry = |grid, block| Geometry::linear(grid, block).with_overlaps(self.overlap);
        let launch = |kernel, geometry, args| Call { module: self.module, kernel, geometry, args };
        let round = |k: u32| -> Result<Timed<'_>> {
            let numbers = vec![Arg::Address(&input, 0), Arg::U64(self.n), Arg::U64(k.into())];
            let mut calls = vec![launch(&produce, geometry(blocks, BLOCK), numbers)];
            calls.extend(self.session.calls(self.variant, &plan, (&input, 0), &arrays)?);
            let sum = vec![arrays.result_address(), Arg::Address(&kept, 0), Arg::U32(k)];
            calls.push(launch(&consume, geometry(1, 32), sum));
            Ok(Timed::Launches(calls))
        };
        let calls = (0..rounds).map(round).collect::<Result<Vec<_>>>()?;
        let graph = Graph { calls, before: vec![Step::Fill(&kept, POISON)], output: Some(&kept) };
        let replayed = device.replay(&[graph], &Replays::new(replays, None))?;
        let expected = sums(self.n, rounds);
        let results =
            replayed.iter().flat_map(|replayed| &replayed.outputs).flat_map(|kept| kept.iter().zip(&expected));
        let verdicts: Vec<bool> = results.map(|(sum, &expected)| sum.value().to_f64() == expected as f64).collect();
        let wrong = verdicts.iter().filter(|&&right| !right).count() as u64;
        let (name, ty) = ("a producer before, a consumer after".to_owned(), T::NAME.to_owned());
        Ok(Proof { name, ty, n: self.n, overlap: self.overlap, judged: verdicts.len() as u64, wrong })
    }
}

/// The proof on two streams at once, each with its own input and state.
fn two_streams(session: &Session<'static>, variant: &'static Variant, source: &KernelSource) -> Result<Vec<Proof>> {
    let together = Barrier::new(2);
    let (chapter, n) = (session.chapter, SIZES[2]);
    let stream = || -> Result<Vec<Proof>> {
        // A device of its own is a stream of its own, on the same card.
        let opened = || -> Result<_> {
            let device = Rc::new(Device::open(Choice::Gpu, SimOptions::default())?);
            let own = KernelSource::in_root(source.root(), chapter.slug);
            let module = device.load(&KernelSource::in_root(source.root(), KERNELS))?;
            Ok((Session::on(chapter, own, Rc::clone(&device), SimOptions::default())?, module, device))
        };
        let opened = opened();
        let mut proofs = Vec::new();
        for overlap in [false, true] {
            together.wait(); // also by a stream that could not be opened: the other one would wait for ever
            let Ok((session, module, device)) = &opened else { continue };
            let round = Round { session, variant, module, n, overlap };
            proofs.push(round.between::<i32>(device));
            proofs.push(round.between::<f32>(device));
        }
        opened?;
        proofs.into_iter().collect()
    };
    let [one, other] = std::thread::scope(|scope| {
        let running = [scope.spawn(stream), scope.spawn(stream)];
        running.map(|thread| thread.join().map_err(|_| anyhow!("a stream's thread died"))?)
    });
    let both = one?.into_iter().zip(other?).map(|(one, other)| Proof {
        name: "two streams at once, a state each".to_owned(),
        judged: one.judged + other.judged,
        wrong: one.wrong + other.wrong,
        ..one
    });
    Ok(both.collect())
}

/// The sum of each round's numbers: those of places k to k + n.
fn sums(n: u64, rounds: u32) -> Vec<u64> {
    let number = |place: u64| u64::from((place as u32).wrapping_mul(2_654_435_761) >> 28);
    let mut sum: u64 = (0..n).map(number).sum();
    let rounds = (0..u64::from(rounds)).map(|k| {
        let of_round = sum;
        sum = sum + number(n + k) - number(k);
        of_round
    });
    rounds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_rounds_slide_and_stay_exact_in_floats() {
        let number = |place: u64| u64::from((place as u32).wrapping_mul(2_654_435_761) >> 28);
        assert_eq!(sums(100, 4)[3], (3..103).map(number).sum::<u64>());
        assert_ne!(sums(100, 4)[2], sums(100, 4)[3], "a number of the last round shows");
        assert!(SIZES.iter().all(|&n| 15 * n < 1 << 24));
    }
}
