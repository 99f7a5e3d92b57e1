//! `simt run --then`: the kernels that run behind the first, in its stream.

use crate::{Counters, Kernel, Outcome, Program, fault};
use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::bind;
use super::command_line::{Dimensions, Request};

/// A kernel behind the first, and its geometry.
pub struct Then<'k> {
    pub kernel: &'k Kernel,
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

/// Counters of one launch of several.
pub struct Counted {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    overlaps: bool,
    pub counters: Counters,
}

/// These kernels, which `--then` names.
///
/// # Errors
/// A kernel that is not there or cannot be run.
pub fn kernels(request: &Request, program: &Program, names: &[String]) -> Result<Vec<Kernel>> {
    names.iter().map(|name| Ok(program.kernel_with(name, &bind::functions(request))?)).collect()
}

/// These kernels with their geometry.
///
/// # Errors
/// A number of values that is neither one nor that of the kernels.
pub fn launches<'k>(request: &Request, kernels: &'k [Kernel]) -> Result<Vec<Then<'k>>> {
    let grids = each("--then-grid", &request.then_grid, request.grid, kernels.len())?;
    let blocks = each("--then-block", &request.then_block, request.block, kernels.len())?;
    let all = kernels.iter().zip(grids).zip(blocks);
    Ok(all.map(|((kernel, grid), block)| Then { kernel, grid, block }).collect())
}

fn each(option: &str, given: &[Dimensions], first: Dimensions, kernels: usize) -> Result<Vec<[u32; 3]>> {
    match given {
        [] => Ok(vec![first.0; kernels]),
        [one] => Ok(vec![one.0; kernels]),
        all if all.len() == kernels => Ok(all.iter().map(|one| one.0).collect()),
        all => {
            let named = if kernels == 1 { "one kernel is" } else { &format!("{kernels} kernels are") };
            bail!("{option}: {} values, and {named} named by --then: give one for each, or one for all", all.len())
        }
    }
}

/// Joins the outcomes of all launches, and the counters of each of them if there are several.
pub fn joined(
    request: &Request,
    kernel: &Kernel,
    then: &[Then<'_>],
    outcomes: Vec<Outcome>,
) -> (Outcome, Vec<Counted>) {
    let first = Then { kernel, grid: request.grid.0, block: request.block.0 };
    let counted = std::iter::once(&first).chain(then).zip(&outcomes).enumerate().map(|(at, (one, outcome))| Counted {
        kernel: one.kernel.name().to_owned(),
        grid: one.grid,
        block: one.block,
        overlaps: at > 0 && request.overlap,
        counters: outcome.counters,
    });
    let counted = if then.is_empty() { Vec::new() } else { counted.collect() };
    let mut outcomes = outcomes.into_iter();
    let mut all = outcomes.next().unwrap_or_default();
    outcomes.for_each(|next| add(&mut all, next));
    (all, counted)
}

/// Adds what a later launch left.
fn add(all: &mut Outcome, next: Outcome) {
    all.counters += next.counters;
    for line in next.lines {
        match all.lines.iter_mut().find(|known| (&known.file, known.line) == (&line.file, line.line)) {
            Some(known) => known.counters += line.counters,
            None => all.lines.push(line),
        }
    }
    all.lines.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    fault::fold(&mut all.faults, next.faults);
    fault::fold_notes(&mut all.notes, next.notes);
    all.printed.push_str(&next.printed);
    all.prints_dropped += next.prints_dropped;
    all.atomic_operations += next.atomic_operations;
}

impl Counted {
    /// Returns the object that `--json` prints.
    pub fn json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "grid": self.grid,
            "block": self.block,
            "overlaps": self.overlaps,
            "counters": self.counters,
            "warp_instructions": self.counters.inst_executed,
        })
    }

    /// A line for people; `dimensions` writes three numbers.
    pub fn text(&self, dimensions: impl Fn([u32; 3]) -> String) -> String {
        let Counted { kernel, grid, block, overlaps, .. } = self;
        let early = if *overlaps { ", may begin before the launch before has ended" } else { "" };
        format!("then      {kernel}, grid {}, block {}{early}", dimensions(*grid), dimensions(*block))
    }
}
