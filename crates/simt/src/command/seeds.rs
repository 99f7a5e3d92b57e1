//! `simt run --seeds N`: the same launch under many schedules, until one of them tells.
//!
//! The run without a seed keeps lanes together where the program lets it; those with a seed drive them apart. A kernel that
//! is right leaves the same under all of them, unless it adds up floats in the order in which they come: then results
//! differ in their last digits, and no schedule is the right one. So floats may differ by as much as that explains ([`Rounding`]);
//! integers are compared bit for bit, and so is everything that a launch without atomics leaves.

use crate::{Note, NoteKind, Schedule};
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use super::bind::Placed;
use super::command_line::Request;
use super::run::{Job, Ran};
use crate::spec::Type;

/// Outcome of the schedules.
pub struct Seeds {
    /// Seeds asked for.
    pub asked: u64,
    /// Seeds that were run: fewer where one had a fault or a difference.
    pub ran: u64,
    /// The first run that has a fault or leaves something else; `None` if all were clean and left the same.
    pub first: Option<First>,
    /// The largest difference that rounding explains, beside what it may be.
    pub rounded: Option<(Difference, f64)>,
}

/// The first run that has a fault or leaves something else than the run without a seed.
pub struct First {
    pub schedule: Schedule,
    /// First place where its results differ. `None`: it has faults, and the results may be the same.
    pub difference: Option<Difference>,
    /// A note says that either of two writes to that buffer may come last: PTX allows the difference.
    pub is_lawful: bool,
}

/// Place where two runs left different values.
#[derive(Serialize)]
pub struct Difference {
    pub buffer: String,
    /// The first element that differs.
    pub element: usize,
    /// Its value in this run.
    pub value: String,
    /// Its value in the run without a seed.
    #[serde(rename = "without_seed")]
    pub expected: String,
    /// Elements of the buffer that differ.
    pub elements: usize,
}

/// Bound of the difference of floats whose values were added up in another order: 4 √n u M, where n is the number of atomic operations
/// of the launch, one a lane; u the largest relative error of one addition (2^-24 of an f32); and M the largest partial sum to be
/// expected, the larger of the results themselves and √N times the largest float that the launch is given, N being the number
/// of elements of its largest buffer of floats. Errors of n additions are random walks of n steps of at most u M, whose end lies
/// within √n of them, twice that for two orders, and twice again for good measure.
struct Rounding {
    additions: f64,
    partial_sum: f64,
}

impl Rounding {
    fn of(job: &Job<'_>, ran: &Ran) -> Result<Rounding> {
        let (largest, elements) = job.floats()?;
        Ok(Rounding {
            additions: ran.outcome.atomic_operations as f64,
            partial_sum: (elements as f64).sqrt() * largest,
        })
    }

    /// Largest distance that two elements of this type may have; 0 for integers.
    fn most(&self, ty: Type, a: &[u8], b: &[u8]) -> f64 {
        let Some(roundoff) = ty.roundoff() else { return 0.0 };
        let results = ty.float(a).abs().max(ty.float(b).abs());
        4.0 * self.additions.sqrt() * roundoff * results.max(self.partial_sum)
    }

    /// Returns whether two elements are the same, or would be without rounding.
    fn explains(&self, ty: Type, a: &[u8], b: &[u8]) -> bool {
        if a == b || self.additions == 0.0 || ty.roundoff().is_none() {
            return a == b;
        }
        let (x, y) = (ty.float(a), ty.float(b));
        (x.is_nan() && y.is_nan()) || ((x - y).is_finite() && (x - y).abs() <= self.most(ty, a, b))
    }
}

/// Runs the launch without a seed, then with the seeds from 0 on. The run that tells, or else the one without a seed.
pub fn run(job: &Job<'_>, asked: u64) -> Result<(Ran, Seeds)> {
    let unseeded = job.launch(Schedule::Independent { seed: None })?;
    if !unseeded.outcome.faults.is_empty() {
        let first = First { schedule: unseeded.schedule, difference: None, is_lawful: false };
        return Ok((unseeded, Seeds { asked, ran: 0, first: Some(first), rounded: None }));
    }
    let rounding = Rounding::of(job, &unseeded)?;
    let expected = buffers(job.request, &unseeded)?;
    let mut rounded = None;
    for seed in 0..asked {
        let ran = job.launch(Schedule::Independent { seed: Some(seed) })?;
        let found = buffers(job.request, &ran)?;
        let difference = difference(&ran, &expected, &found, |ty, a, b| rounding.explains(ty, a, b));
        if difference.is_some() || !ran.outcome.faults.is_empty() {
            let is_lawful = difference.as_ref().is_some_and(|difference| may_differ(&ran, &difference.buffer));
            let first = First { schedule: ran.schedule, difference, is_lawful };
            return Ok((ran, Seeds { asked, ran: seed + 1, first: Some(first), rounded }));
        }
        rounded = rounded.or_else(|| explained(&rounding, &ran, &expected, &found));
    }
    Ok((unseeded, Seeds { asked, ran: asked, first: None, rounded }))
}

/// Returns whether the run has no fault, and notes that either of two writes to this buffer may come last.
fn may_differ(ran: &Ran, buffer: &str) -> bool {
    let tells = |note: &Note| note.kind == NoteKind::EitherLast && note.variable.as_deref() == Some(buffer);
    ran.outcome.faults.is_empty() && ran.outcome.notes.iter().any(tells)
}

/// The first place where results differ by no more than rounding explains, and how much that is.
fn explained(rounding: &Rounding, ran: &Ran, expected: &[Vec<u8>], found: &[Vec<u8>]) -> Option<(Difference, f64)> {
    let difference = difference(ran, expected, found, |_, a, b| a == b)?;
    let place = ran.placed.iter().position(|placed| placed.name == difference.buffer)?;
    let ty = ran.placed[place].ty;
    let element = |bytes: &[Vec<u8>]| bytes[place].chunks_exact(ty.bytes()).nth(difference.element).map(<[u8]>::to_vec);
    let most = rounding.most(ty, &element(expected)?, &element(found)?);
    Some((difference, most))
}

/// Contents that a run left in every buffer that counts, in the order of the arguments; empty for the others and for scalars. Buffers
/// that are printed are the results, and the others room to work in; if none is printed all count.
fn buffers(request: &Request, ran: &Ran) -> Result<Vec<Vec<u8>>> {
    let counts = |name: &str| request.print.is_empty() || request.print.iter().any(|print| print.name == name);
    let bytes = |(place, placed): (usize, &Placed)| match counts(&placed.name) {
        true => ran.bytes(place, 0, usize::try_from(placed.len).context("length")?.saturating_mul(placed.ty.bytes())),
        false => Ok(Vec::new()),
    };
    ran.placed.iter().enumerate().map(bytes).collect()
}

/// The first place where `found` is not the `same` as `expected`, and how many more there are in that buffer.
fn difference(
    ran: &Ran,
    expected: &[Vec<u8>],
    found: &[Vec<u8>],
    same: impl Fn(Type, &[u8], &[u8]) -> bool,
) -> Option<Difference> {
    ran.placed.iter().zip(expected.iter().zip(found)).find_map(|(placed, (expected, found))| {
        let ty = placed.ty;
        let pairs = || expected.chunks_exact(ty.bytes()).zip(found.chunks_exact(ty.bytes()));
        let differs = |(expected, found): &(&[u8], &[u8])| !same(ty, expected, found);
        let element = pairs().position(|pair| differs(&pair))?;
        let (was, is) = pairs().nth(element)?;
        Some(Difference {
            buffer: placed.name.clone(),
            element,
            value: ty.display(is),
            expected: ty.display(was),
            elements: pairs().filter(differs).count(),
        })
    })
}

impl Seeds {
    /// Returns the object that `--json` prints.
    pub fn json(&self) -> Value {
        let first = self.first.as_ref().map(|first| {
            json!({
                "schedule": first.schedule.to_string(),
                "seed": seed(first.schedule),
                "difference": first.difference,
            })
        });
        let mut object = json!({ "asked": self.asked, "ran": self.ran, "first": first });
        if self.first.as_ref().is_some_and(|first| first.is_lawful) {
            object["first"]["lawful"] = true.into();
        }
        if let Some((difference, most)) = &self.rounded {
            object["rounded"] = json!(difference);
            object["rounded"]["at_most"] = (*most).into();
        }
        object
    }

    /// Verdict against the kernel if another run left other values, though the one that is shown may have no fault.
    pub fn verdict(&self) -> Option<&'static str> {
        let first = self.first.as_ref().filter(|first| first.difference.is_some())?;
        Some(match first.is_lawful {
            true => {
                "it leaves other values than the run without a seed, which PTX allows: see the note on writes of which either may come last"
            }
            false => "it leaves other values than the run without a seed: see `seeds` above",
        })
    }

    /// Lines for people, each with its label.
    pub fn text(&self) -> String {
        let asked = self.asked;
        let Some(first) = &self.first else {
            let last = asked - 1;
            let but = match &self.rounded {
                None => String::new(),
                Some((difference, most)) => format!(
                    " but for rounding\nrounding  a seed {}. Atomics add in any order: up to {most:.2e} is explained by \
                     that, and floats are compared no closer; integers are, bit for bit",
                    difference.words()
                ),
            };
            return format!(
                "seeds     independent and independent:0 to independent:{last}: no faults, and every buffer ends the same{but}\n"
            );
        };
        let what = match &first.difference {
            Some(difference) => difference.words(),
            None => "has a fault".to_owned(),
        };
        let which = match seed(first.schedule) {
            Some(seed) => format!("seed {seed} of 0 to {}", asked - 1),
            None => "the run without a seed".to_owned(),
        };
        format!("seeds     {which} {what}\nrepeat    --schedule {} in place of --seeds {asked}\n", first.schedule)
    }
}

impl Difference {
    fn words(&self) -> String {
        let Difference { buffer, element, value, expected, elements } = self;
        let others = match elements {
            1 => String::new(),
            2 => "; 1 more of its elements differs".to_owned(),
            n => format!("; {} more of its elements differ", n - 1),
        };
        format!("leaves {buffer}[{element}] = {value}, the run without a seed {expected}{others}")
    }
}

fn seed(schedule: Schedule) -> Option<u64> {
    match schedule {
        Schedule::Independent { seed } => seed,
        Schedule::IndependentFrom { seed, .. } => Some(seed),
        Schedule::Lockstep => None,
    }
}
