//! More numbers than 32 bits can count: one call, judged and timed beside the library's.

use anyhow::Result;
use device::{Arg, Call, Geometry, KernelSource};
use lab::element::Element;
use lab::measurement::{CUB_UNORDERED, Contest, ENTRANT, MeasuredCase};
use lab::reference::{Reference, reference_of_slice};
use lab::{LaunchOptions, Session, Variant, input};

use super::bench::{Bench, Entrant, Input, Slices};
use super::libraries::Libraries;
use super::proofs;

/// Elements.
pub const N: u64 = 1 << 33;
/// Numbers of which the array is made, over and over again: a prime, so that no block of any kernel meets the same twice.
pub const PERIOD: u64 = (1 << 24) + 43;
/// Reductions of a graph: the array is larger than the L2 by far, and one is enough for all of them.
const CALLS: usize = 3;

/// The champion and the libraries, by the rules of both contests, over `n` floats of which `period` are different.
///
/// # Errors
/// Memory that does not suffice, a launch that fails.
pub fn all(
    bench: &Bench,
    session: &Session<'static>,
    variant: &'static Variant,
    libraries: &Libraries,
    (n, period): (u64, u64),
    source: &KernelSource,
) -> Result<Vec<MeasuredCase>> {
    let device = &bench.device;
    let module = device.load(&KernelSource::in_root(source.root(), proofs::KERNELS))?;
    let values: Vec<f32> = input::elements(period.min(n) as usize, input::SEED);
    let mut array = device.alloc::<f32>("in", n as usize)?;
    device.write(&mut array, &values)?;
    let blocks = 8 * device.description().multiprocessors.unwrap_or(1);
    device.launch(&Call {
        module: &module,
        kernel: "repeat_f32",
        geometry: Geometry::linear(blocks, 256),
        args: vec![Arg::Address(&array, 0), Arg::U64(n), Arg::U64(period)],
    })?;
    let references = [repeated(&values, n); CALLS];
    let slices = [(&array, 0); CALLS];
    let mut entrants = Vec::new();
    for contest in [Contest::Alone, Contest::BackToBack] {
        let options = LaunchOptions { overlap: contest == Contest::BackToBack, ..LaunchOptions::default() };
        entrants.push(Entrant::ours(session, variant, options, n)?.named(ENTRANT));
        // The order is fixed here, as the champion's is.
        let of_library = libraries.entrants::<f32>(device, contest, n)?;
        entrants.extend(of_library.into_iter().filter(|entrant| entrant.name != CUB_UNORDERED));
    }
    bench.contest(&entrants, Slices::kept(&slices), Input::new(n, &references))
}

/// The sum of `n` numbers that begin with `values` and repeat them.
fn repeated<T: Element>(values: &[T], n: u64) -> Reference {
    let period = values.len() as u64;
    let times = (n / period) as f64;
    let (whole, rest) = (reference_of_slice(values), reference_of_slice(&values[..(n % period) as usize]));
    // A product of doubles is off by 2^-53 of itself, far below what a sum of floats may be off by.
    let sum = times * whole.expected.to_f64() + rest.expected.to_f64();
    let low = times * whole.low + rest.low;
    Reference::sum(sum, low, times * whole.magnitude + rest.magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_summed_once() {
        let values: Vec<f32> = input::elements(1001, 3);
        let long: Vec<f32> = values.iter().copied().cycle().take(5000).collect();
        let (short, long) = (repeated(&values, 5000), reference_of_slice(&long));
        assert!((short.expected.to_f64() - long.expected.to_f64()).abs() < 1e-12 * long.magnitude);
        assert!((short.magnitude / long.magnitude - 1.0).abs() < 1e-12);
    }
}
