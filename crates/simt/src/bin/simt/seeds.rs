//! `simt run --seeds N`: the same launch under many schedules, until one of them tells.
//!
//! The run without a seed keeps lanes together where the program lets it; those with a seed drive them apart. A kernel that
//! is right leaves the same under all of them, unless it adds up floats in the order in which they come: then results
//! differ in their last digits, and no schedule is the right one.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use simt::{Kernel, Schedule};

use crate::command_line::Request;
use crate::run::{Ran, launch};
use crate::spec::Kind;

/// What became of the schedules.
pub struct Seeds {
    /// Seeds asked for.
    pub asked: u64,
    /// Seeds that were run: fewer where one told.
    pub ran: u64,
    /// The first run that has a fault or leaves something else; `None` if all were clean and left the same.
    pub first: Option<First>,
}

/// The first run that has a fault or leaves something else than the run without a seed.
pub struct First {
    pub schedule: Schedule,
    /// Where its results differ. `None`: it has faults, and the results may be the same.
    pub difference: Option<Difference>,
}

/// Where two runs left different values.
pub struct Difference {
    pub buffer: String,
    /// The first element that differs.
    pub element: usize,
    /// Its value in this run.
    pub value: String,
    /// Its value in the run without a seed.
    pub expected: String,
    /// Elements of the buffer that differ.
    pub elements: usize,
}

/// Runs the launch without a seed, then with the seeds from 0 on. The run that tells, or else the one without a seed.
pub fn run(request: &Request, kernel: &Kernel, asked: u64) -> Result<(Ran, Seeds)> {
    let unseeded = launch(request, kernel, Schedule::Independent { seed: None })?;
    if !unseeded.outcome.faults.is_empty() {
        let first = First { schedule: unseeded.schedule, difference: None };
        return Ok((unseeded, Seeds { asked, ran: 0, first: Some(first) }));
    }
    let expected = buffers(request, &unseeded)?;
    for seed in 0..asked {
        let ran = launch(request, kernel, Schedule::Independent { seed: Some(seed) })?;
        let difference = difference(request, &expected, &buffers(request, &ran)?);
        if difference.is_some() || !ran.outcome.faults.is_empty() {
            let first = First { schedule: ran.schedule, difference };
            return Ok((ran, Seeds { asked, ran: seed + 1, first: Some(first) }));
        }
    }
    Ok((unseeded, Seeds { asked, ran: asked, first: None }))
}

/// What a run left in every buffer that counts, in the order of the arguments; nothing for the others and for scalars. Those
/// that are printed are the results, and the others room to work in; if none is printed all count.
fn buffers(request: &Request, ran: &Ran) -> Result<Vec<Vec<u8>>> {
    let counts = |name: &str| request.print.is_empty() || request.print.iter().any(|print| print.name == name);
    let bytes = |(place, spec): (usize, &crate::spec::Spec)| match spec.kind {
        Kind::Scalar(_) => Ok(Vec::new()),
        Kind::Buffer { .. } if !counts(&spec.name) => Ok(Vec::new()),
        Kind::Buffer { len, .. } => {
            ran.bytes(place, 0, usize::try_from(len).context("length")?.saturating_mul(spec.ty.bytes()))
        }
    };
    request.args.iter().enumerate().map(bytes).collect()
}

/// The first place where `found` is not what `expected` is, bit for bit.
fn difference(request: &Request, expected: &[Vec<u8>], found: &[Vec<u8>]) -> Option<Difference> {
    request.args.iter().zip(expected.iter().zip(found)).find_map(|(spec, (expected, found))| {
        let bytes = spec.ty.bytes();
        let pairs = || expected.chunks_exact(bytes).zip(found.chunks_exact(bytes));
        let element = pairs().position(|(expected, found)| expected != found)?;
        let (was, is) = pairs().nth(element)?;
        Some(Difference {
            buffer: spec.name.clone(),
            element,
            value: spec.ty.display(is),
            expected: spec.ty.display(was),
            elements: pairs().filter(|(expected, found)| expected != found).count(),
        })
    })
}

impl Seeds {
    /// As `--json` prints it.
    pub fn json(&self) -> Value {
        let first = self.first.as_ref().map(|first| {
            json!({
                "schedule": first.schedule.to_string(),
                "seed": seed(first.schedule),
                "difference": first.difference.as_ref().map(|difference| json!({
                    "buffer": difference.buffer,
                    "element": difference.element,
                    "value": difference.value,
                    "without_seed": difference.expected,
                    "elements": difference.elements,
                })),
            })
        });
        json!({ "asked": self.asked, "ran": self.ran, "first": first })
    }

    /// What speaks against the kernel though the run that is shown has no fault.
    pub fn verdict(&self) -> Option<&'static str> {
        let differs = self.first.as_ref().is_some_and(|first| first.difference.is_some());
        differs.then_some("it leaves other values than the run without a seed: see `seeds` above")
    }

    /// Lines for people, each with its label.
    pub fn text(&self) -> String {
        let asked = self.asked;
        let Some(first) = &self.first else {
            let last = asked - 1;
            return format!(
                "seeds     independent and independent:0 to independent:{last}: no faults, and every buffer ends the same\n"
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
        Schedule::Lockstep => None,
    }
}
