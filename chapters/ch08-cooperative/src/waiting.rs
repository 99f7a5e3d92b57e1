//! Effect of waiting on the counters, from a small run: the program prints it, and the page includes it.

use crate::CHAPTER;
use lab::reference::reference;
use lab::text::grouped;
use lab::{Job, LaunchOptions, Note, Result, Simulator, Type, input};

/// Elements of the small run.
const N: usize = 1 << 16;

/// Loads of the kernels whose blocks wait, beside those of a kernel whose blocks do not.
pub fn notes(session: &dyn Simulator) -> Result<Vec<Note>> {
    let loads = |name: &str, ty: Type| -> Result<u64> {
        let Some(variant) = CHAPTER.variant(name) else { return Ok(0) };
        let input = input::random(ty, N, input::SEED);
        let (options, reference) = (LaunchOptions::default(), reference(&input));
        let run = session.run(Job { variant, options, input: &input, reference: Some(&reference), offset: 0 })?;
        Ok(run.counters.map_or(0, |counters| counters.global_ld_requests))
    };
    let (waiting, not) = (loads("grid_sync", Type::I32)?, loads("last_block", Type::I32)?);
    let (floats, ints) = (loads("single_pass", Type::F32)?, loads("single_pass", Type::I32)?);
    let facts = [("waiting", waiting), ("not", not), ("floats", floats), ("ints", ints)];
    let facts = facts.map(|(name, count)| (format!("loads-{name}"), grouped(count)));
    let text = format!(
        "{} elements: grid_sync executes {} loads and last_block {}. Most of the difference is blocks that wait and look \
         again. How often they look is a matter of time, which is not simulated: the loads, branches and instructions \
         of grid_sync, and of single_pass for floats, are those of this schedule and of no card.",
        grouped(N as u64),
        grouped(waiting),
        grouped(not),
    );
    Ok(vec![Note { variant: "grid_sync", text, facts: facts.to_vec() }])
}
