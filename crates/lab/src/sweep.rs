//! `--sweep`: the same sum under many geometries, to see which of them matter. On a GPU a point is a time, on the
//! simulator it is counts; the two are never in one table.

use device::Card;

use crate::clock::REPLAYS;
use crate::error::Result;
use crate::input::random;
use crate::run::Job;
use crate::session::Session;
use crate::variant::Variant;

mod chart;
mod show;

pub use crate::curve::{Conclusion, Curve, Numbers, Point, Sweep};
pub use chart::svg;
pub use show::{markdown, object, text};

/// Runs every point of a sweep's curves of these variants.
///
/// # Errors
/// A geometry that a plan refuses, or a run that fails. Wrong results are points, not errors.
pub fn run(sweep: &Sweep, session: &Session<'_>, numbers: &Numbers, variants: &[&Variant]) -> Result<Vec<Point>> {
    let Numbers { ty, n, seed } = *numbers;
    let card = session.device().card();
    let asked = |curve: &Curve| {
        let is_chosen = variants.iter().any(|variant| variant.name == curve.variant.name);
        is_chosen && curve.variant.types.contains(&ty) && session.unsupported(curve.variant).is_none()
    };
    let curves: Vec<Curve> = (sweep.curves)(n, ty, card).into_iter().filter(asked).collect();
    let input = random(ty, n as usize, seed);
    let mut points = Vec::new();
    for curve in &curves {
        for &options in &curve.options {
            let job = Job { variant: curve.variant, options, input: &input, reference: None, offset: 0 };
            points.push(point(session, curve, job, card)?);
        }
    }
    Ok(points)
}

fn point(session: &Session<'_>, curve: &Curve, job: Job<'_>, card: &Card) -> Result<Point> {
    session.progress.at(format!("{}, {} elements", curve.name, job.input.len()));
    let run = session.run(job)?;
    let cold = session.time_cold(job, REPLAYS)?;
    session.progress.step();
    Ok(Point {
        curve: curve.name.clone(),
        drawn: curve.drawn,
        variant: run.variant.name.to_owned(),
        n: run.n,
        factor: run.options.factor,
        block: run.block,
        grid: run.plan.grid(),
        multiprocessors: card.multiprocessors,
        threads_per_multiprocessor: card.threads_per_multiprocessor,
        launches: run.plan.passes.len() as u64,
        right: run.ok(),
        cold_us: cold.map(|cold| cold.median_us),
        cold_range_us: cold.map(|cold| [cold.min_us, cold.max_us]),
        gb_per_s: cold.map(|cold| run.input_bytes() as f64 / cold.median_us / 1e3),
        counters: run.counters,
    })
}
