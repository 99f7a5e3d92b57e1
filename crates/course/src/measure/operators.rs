//! The contest of the chapter on operators: each operator and type, by the plan that the chapter has for it, beside the
//! libraries that have it too.

use anyhow::Result;
use device::Device;
use lab::element::Element;
use lab::measurement::{ENTRANT, MeasuredCase, random_sizes};
use lab::{LaunchOptions, Op, Session, Type, input};
use report::OPERATORS;

use super::bench::{Bench, Entrant, Input, Slices};
use super::libraries::Libraries;
use super::pool::Pool;

/// What is measured first, of every type.
const HEADLINE: [Op; 10] =
    [Op::Sum, Op::Max, Op::Maximum, Op::Argmax, Op::Meanvar, Op::Minmax, Op::Dot, Op::Sumsq, Op::Count, Op::Prod];
/// Its kernel that is put forward.
const VARIANT: &str = "reduce";
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

/// The operators that are compiled for a type: those of [`HEADLINE`], or the others.
pub fn of_type(ty: Type, is_headline: bool) -> Vec<Op> {
    let Some(variant) = ch09_operators::CHAPTER.variant(VARIANT) else { return Vec::new() };
    let others = Op::all().iter().filter(|op| !HEADLINE.contains(op)).copied();
    let ops: Vec<Op> = if is_headline { HEADLINE.to_vec() } else { others.collect() };
    ops.into_iter().filter(|&op| variant.computes(op, ty)).collect()
}

/// What an operator is tried on: of a dot product as much again.
pub fn pool<T: Element>(device: &Device, op: Op, n_max: u64) -> Result<Pool<T>> {
    let n = n_max as usize + SPARE;
    if op != Op::Prod {
        return Pool::of(device, n_max, input::elements(n, input::SEED));
    }
    let array = input::random_for(op, T::TYPE, n, input::SEED);
    let bytes: Vec<T> =
        lab::with_elements!(&array, values => values.iter().map(|v| T::from_le(&Element::le(*v))).collect());
    Pool::of(device, n_max, bytes)
}

/// All entrants of one operator and size, replayed in turns and judged.
pub fn contest<T: Element>(
    bench: &Bench,
    session: &Session<'static>,
    libraries: &Libraries,
    pool: &Pool<T>,
    op: Op,
    n: u64,
) -> Result<Vec<MeasuredCase>> {
    let Some(variant) = session.chapter.variant(VARIANT) else { return Ok(Vec::new()) };
    // The two inputs of a dot product are slices of one array.
    let in_all = op.arrays() * n.next_multiple_of(64);
    let cold = pool.slices(&bench.device, if op.arrays() == 2 { in_all } else { n }, 0);
    let cold = if cold.is_empty() { return Ok(Vec::new()) } else { cold };
    let references = pool.references_of(op, &cold, n);
    let options = LaunchOptions { op, ..LaunchOptions::default() };
    let mut entrants = vec![Entrant::ours(session, variant, options, n)?.named(ENTRANT)];
    entrants.extend(libraries.reductions::<T>(&bench.device, OPERATORS, op, n));
    bench.contest(
        &entrants,
        Slices { cold: &cold, to_destroy: &[], restore: None },
        Input { n, offset: 0, references: &references },
    )
}

/// Time of ours, and how many times as long the fastest library takes.
pub fn told(cases: &[MeasuredCase]) -> String {
    let us = |is_ours: bool| {
        let of = cases.iter().filter(|case| (case.entrant == ENTRANT) == is_ours).filter_map(|case| case.cold_us);
        of.min_by(f64::total_cmp)
    };
    match (us(true), us(false)) {
        (Some(ours), Some(theirs)) => format!(" {ours:.2} ({:.2}x)", theirs / ours),
        (Some(ours), None) => format!(" {ours:.2}"),
        _ => String::new(),
    }
}
