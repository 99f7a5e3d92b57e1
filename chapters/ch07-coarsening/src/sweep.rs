//! Comparison made by `--sweep`, and its conclusions about two pieces of advice: Brent's theorem, and the guide of the V7 note.

use lab::sweep::{Conclusion, Curve, Point, Sweep};
use lab::text::{grouped, listed, three_digits};
use lab::{Card, LaunchOptions, Type, Variant};

use crate::{
    BYTES_PER_LOAD, COARSE_FACTORS, COARSENED, GRID_STRIDE, GRID_STRIDE_SHUFFLE, MULTI_ADD, NUMS_PER_BLOCK, VECTORISED,
};

pub(crate) const SWEEP: Sweep = Sweep { sizes: &[1 << 20, 1 << 22, 1 << 24, 1 << 26], curves, conclusions };

/// Threads a block where others are compared.
const BLOCK: u32 = 256;
/// Most blocks of NVIDIA's sample, if `--maxblocks` does not say otherwise.
const SAMPLE_BLOCKS: u32 = 64;
/// Elements a thread that the V7 note recommends.
const V7_ELEMENTS: std::ops::RangeInclusive<f64> = 64.0..=256.0;

fn curves(n: u64, ty: Type, card: &Card) -> Vec<Curve> {
    let by_factor = |variant: &'static Variant, values: &[u32]| {
        let options = values
            .iter()
            .map(|&factor| LaunchOptions { factor: Some(factor), ..LaunchOptions::block(BLOCK) })
            .collect();
        Curve { name: variant.name.to_owned(), variant, options, drawn: true }
    };
    let by_grid = |name: &str, variant: &'static Variant, factor: Option<u32>| {
        let width = factor.map_or(1, |bytes| u64::from(bytes) / ty.bytes());
        let of_grid = |grid| LaunchOptions { grid: Some(grid), factor, ..LaunchOptions::block(BLOCK) };
        let options = grids(n, 2 * width * u64::from(BLOCK), card.multiprocessors).into_iter().map(of_grid).collect();
        Curve { name: name.to_owned(), variant, options, drawn: true }
    };
    let mut curves = vec![
        by_factor(&COARSENED, COARSE_FACTORS.values),
        by_factor(&MULTI_ADD, NUMS_PER_BLOCK.values),
        by_grid(GRID_STRIDE.name, &GRID_STRIDE, None),
        by_grid(GRID_STRIDE_SHUFFLE.name, &GRID_STRIDE_SHUFFLE, None),
    ];
    let widths = BYTES_PER_LOAD.values.iter();
    curves.extend(widths.map(|&bytes| by_grid(&format!("vectorised_v{bytes}"), &VECTORISED, Some(bytes))));
    curves.push(Curve {
        name: "threads_a_block".to_owned(),
        variant: &GRID_STRIDE_SHUFFLE,
        options: [64, 128, 256, 512, 1024].map(LaunchOptions::block).to_vec(),
        drawn: false,
    });
    curves
}

/// Blocks that are worth a try: those of NVIDIA's sample, 1 to 32 for each multiprocessor, and so many that each takes
/// one step.
fn grids(n: u64, elements_per_step: u64, multiprocessors: u32) -> Vec<u32> {
    let most = n.div_ceil(elements_per_step) as u32;
    let some = [1, 2, 4, 8, 16, 32].map(|blocks| blocks * multiprocessors);
    let mut grids: Vec<u32> = some.into_iter().chain([SAMPLE_BLOCKS]).filter(|&grid| grid < most).collect();
    grids.push(most);
    grids.sort_unstable();
    grids.dedup();
    grids
}

/// A curve's points.
fn by_curve(points: &[Point]) -> Vec<Vec<&Point>> {
    let mut curves: Vec<Vec<&Point>> = Vec::new();
    for point in points.iter().filter(|point| point.drawn) {
        match curves.iter_mut().find(|curve| curve[0].curve == point.curve) {
            Some(curve) => curve.push(point),
            None => curves.push(vec![point]),
        }
    }
    curves
}

/// Cost of a point: a time on a GPU, instructions on the simulator.
fn cost(point: &Point) -> f64 {
    point.cold_us.or_else(|| point.instructions_per_element()).unwrap_or(f64::INFINITY)
}

fn cheapest<'p>(points: impl IntoIterator<Item = &'p Point>) -> Option<&'p Point> {
    points.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

fn conclusions(points: &[Point]) -> Vec<Conclusion> {
    let Some(first) = points.iter().find(|point| cost(point).is_finite()) else { return Vec::new() };
    let unit = if first.cold_us.is_some() { "µs" } else { "warp instructions an element, simulated" };
    let mut conclusions = vec![brent(points, first.n, unit)];
    conclusions.extend(v7(points, first, unit));
    conclusions
}

/// Brent's theorem lets n / log n threads do the work of n without losing more than a constant: log2 n elements each.
fn brent(points: &[Point], n: u64, unit: &str) -> Conclusion {
    let log = (n as f64).log2();
    let distance = |point: &Point| (point.elements_per_thread() / log).log2().abs();
    let mut facts = vec![
        ("brent-elements".to_owned(), three_digits(log)),
        ("brent-threads".to_owned(), grouped((n as f64 / log).round() as u64)),
    ];
    let mut lines = Vec::new();
    for curve in by_curve(points) {
        let near = curve.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let (Some(near), Some(best)) = (near, cheapest(curve.iter().copied())) else { continue };
        let name = &best.curve;
        let written = |point: &Point| (three_digits(cost(point)), three_digits(point.elements_per_thread()));
        let ((near_cost, near_at), (best_cost, best_at)) = (written(near), written(best));
        lines.push(format!("{name} {near_cost} at {near_at} and least at {best_at}, {best_cost}"));
        facts.extend([
            (format!("{name}-near_brent"), near_cost),
            (format!("{name}-near_brent-elements"), near_at),
            (format!("{name}-best"), best_cost),
            (format!("{name}-best-elements"), best_at),
            (format!("{name}-best-blocks"), grouped(u64::from(best.grid))),
        ]);
    }
    let threads = grouped((n as f64 / log).round() as u64);
    let text = format!(
        "Brent's theorem suggests about log2 n = {} elements a thread, {threads} threads. In {unit}, near that and at its \
         best: {}.",
        three_digits(log),
        lines.join("; ")
    );
    Conclusion { text, facts }
}

/// The note's guide: 64 to 256 elements a thread, blocks of 256 threads, a multiple of the multiprocessors of them.
fn v7(points: &[Point], first: &Point, unit: &str) -> Option<Conclusion> {
    let multi_add = || points.iter().filter(|point| point.curve == MULTI_ADD.name);
    let as_advised = |point: &&Point| V7_ELEMENTS.contains(&point.elements_per_thread());
    let (inside, outside) =
        (cheapest(multi_add().filter(as_advised))?, cheapest(multi_add().filter(|p| !as_advised(p)))?);
    let best = cheapest(points.iter().filter(|point| point.drawn))?;
    let holds = u64::from(first.multiprocessors) * u64::from(first.threads_per_multiprocessor);
    let share = |elements: f64| three_digits(100.0 * first.n as f64 / elements / holds as f64);
    let (most, fewest) = (share(*V7_ELEMENTS.start()), share(*V7_ELEMENTS.end()));
    let summary = |point: &Point| {
        format!("{} at {} elements a thread", three_digits(cost(point)), three_digits(point.elements_per_thread()))
    };
    let multiple = multi_add().filter(|point| point.grid.is_multiple_of(point.multiprocessors)).count();
    let parts = [
        format!("multi_add's best inside the range is {}", summary(inside)),
        format!("outside it {}", summary(outside)),
        format!("of all curves {}, {}", best.curve, summary(best)),
    ];
    let text = format!(
        "The V7 note recommends 64 to 256 elements a thread and blocks of 256 threads. For n = {} that is {fewest} to \
         {most} % of the {} threads that {} multiprocessors hold at a time. In {unit}: {}. With NUM_PER_BLOCK a power of \
         two, {multiple} of its {} points have a multiple of {} blocks.",
        grouped(first.n),
        grouped(holds),
        first.multiprocessors,
        listed(&parts),
        multi_add().count(),
        first.multiprocessors,
    );
    let facts = vec![
        ("v7-threads-fewest".to_owned(), format!("{fewest} %")),
        ("v7-threads-most".to_owned(), format!("{most} %")),
        ("v7-inside".to_owned(), summary(inside)),
        ("v7-outside".to_owned(), summary(outside)),
        ("v7-best".to_owned(), format!("{}, {}", best.curve, summary(best))),
    ];
    Some(Conclusion { text, facts })
}
