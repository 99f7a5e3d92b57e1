//! Contests over arrays: an operation at every size, by the plan that the chapter has for it, beside the libraries that have
//! it too.

use anyhow::Result;
use device::Device;
use lab::element::Element;
use lab::measurement::{ENTRANT, MeasuredCase, random_sizes};
use lab::{Op, Session, input};
use report::ContestTable;

use super::bench::{Bench, Entrant, Input, Slices};
use super::libraries::Libraries;
use super::pool::Pool;
use super::task::Task;

/// Sizes, as logarithms.
const LOGS: std::ops::RangeInclusive<u32> = 10..=28;
/// One in so many of the sizes drawn at random.
const DRAWN: usize = 3;
/// Elements that a pool has beyond the largest size.
const SPARE: usize = 8192;

/// The powers of two, and some sizes drawn at random.
pub fn sizes(is_quick: bool) -> Vec<u64> {
    let every = if is_quick { 2 } else { 1 };
    let drawn = random_sizes().into_iter().filter(|n| (1 << LOGS.start()..1 << LOGS.end()).contains(n));
    let mut sizes: Vec<u64> = LOGS.step_by(every).map(|log| 1 << log).chain(drawn.step_by(every * DRAWN)).collect();
    sizes.sort_unstable();
    sizes
}

/// Arrays that an operator is tried on; a dot product has as much again.
pub fn pool<T: Element>(device: &Device, op: Op, n_max: u64) -> Result<Pool<T>> {
    let n = n_max as usize + SPARE;
    if op != Op::Prod {
        return Pool::of(device, n_max, input::elements(n, input::SEED));
    }
    let factors = input::random_for(op, T::TYPE, n, input::SEED);
    Pool::of(device, n_max, T::slice(&factors).unwrap_or_default().to_vec())
}

/// All entrants of one operator and size, replayed in turns and judged.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    libraries: &Libraries,
    pool: &Pool<T>,
    (table, task): (&ContestTable, &Task),
) -> Result<Vec<MeasuredCase>> {
    let (op, n) = (task.op, task.n);
    let Some(variant) = session.chapter.variant(&task.variant) else { return Ok(Vec::new()) };
    // The two inputs of a dot product are slices of one array.
    let in_all = if op.arrays() == 2 { 2 * task.second() } else { n };
    let cold = pool.slices(&bench.device, in_all, 0);
    if cold.is_empty() {
        return Ok(Vec::new());
    }
    let references = pool.references_for(op, &cold, n);
    let mut entrants = vec![Entrant::ours(session, variant, task.options(), n)?.named(ENTRANT)];
    entrants.extend(libraries.reductions::<T>(&bench.device, &table.chapter, op, n));
    bench.contest(
        &entrants,
        Slices { cold: &cold, to_destroy: &[], restore: None },
        Input { n, offset: 0, references: &references },
    )
}
