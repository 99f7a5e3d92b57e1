//! Contests over arrays: an operation at every size, by the plan that the chapter has for it, beside the libraries that have
//! it too.

use anyhow::Result;
use device::Device;
use lab::bound::Rounding;
use lab::element::Element;
use lab::measurement::{ENTRANT, MeasuredCase, random_sizes};
use lab::reference::{Reference, exact::rounded_once, reference_of};
use lab::{Op, Session, input};
use report::ContestTable;

use super::bench::{Bench, Entrant, Input, Slices};
use super::libraries::Libraries;
use super::pool::{Pool, Slice};
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
pub fn contest<'s, T: Element>(
    bench: &Bench,
    session: &dyn Fn(&str) -> Option<&'s Session<'static>>,
    libraries: &Libraries,
    pool: &Pool<T>,
    (table, task): (&ContestTable, &Task),
) -> Result<Vec<MeasuredCase>> {
    let (op, n) = (task.op, task.n);
    let Some(own) = session(&table.chapter) else { return Ok(Vec::new()) };
    let Some(variant) = own.chapter.variant(&task.variant) else { return Ok(Vec::new()) };
    // The two inputs of a dot product are slices of one array.
    let in_all = if op.arrays() == 2 { 2 * task.second() } else { n };
    let cold = pool.slices(&bench.device, in_all, 0);
    if cold.is_empty() {
        return Ok(Vec::new());
    }
    let references = pool.references_for(op, &cold, n, reference_of);
    let mut entrants = vec![Entrant::ours(own, variant, task.options(), n)?.named(ENTRANT)];
    for other in &table.beside {
        let Some(session) = session(&other.chapter) else { continue };
        let variants = other.variants.iter().filter_map(|name| session.chapter.variant(name));
        for variant in variants.filter(|variant| variant.computes(op, T::TYPE)) {
            entrants.push(Entrant::ours(session, variant, task.options(), n)?);
        }
    }
    entrants.extend(libraries.reductions::<T>(&bench.device, &table.chapter, op, n));
    let exact = exact_references(&entrants, pool, op, &cold, n);
    bench.contest(&entrants, Slices::kept(&cold), Input { exact: &exact, ..Input::new(n, &references) })
}

/// Results of the slices that are rounded once, if an entrant's are to be such.
pub fn exact_references<T: Element>(
    entrants: &[Entrant<'_, T>],
    pool: &Pool<T>,
    op: Op,
    slices: &[Slice<'_, T>],
    n: u64,
) -> Vec<Reference> {
    let is_exact = |entrant: &Entrant<'_, T>| entrant.plan().is_some_and(|plan| plan.rounding() == Rounding::EXACT);
    if !T::TYPE.is_float() || !entrants.iter().any(is_exact) {
        return Vec::new();
    }
    let once = |op, array: &_| rounded_once(op, array).unwrap_or_else(|| reference_of(op, array));
    pool.references_for(op, slices, n, once)
}
