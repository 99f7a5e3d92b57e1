//! What the page claims, as assertions on what the simulator counts.

use anyhow::{Context, Result};
use ch08_cooperative::CHAPTER;
use device::{Checks, Counters, Schedule};
use lab::{Type, Wish, input::random, trial};

fn counters(name: &str, n: usize) -> Result<(Counters, u64)> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::NONE)?;
    let variant = CHAPTER.variant(name).context("the lesson has it")?;
    let run = trial::run_wish(&session, variant, Wish::default(), &random(Type::I32, n, 1), 0)?;
    Ok((run.counters.context("the simulator counts")?, u64::from(run.plan.grid())))
}

#[test]
fn integers_meet_by_one_atomic_a_block() -> Result<()> {
    let (counted, grid) = counters("single_pass", 1 << 16)?;
    assert!(grid > 1);
    assert_eq!(counted.global_atom_sectors, grid);
    let (tickets, grid) = counters("last_block", 1 << 16)?;
    assert_eq!(tickets.global_atom_sectors, grid);
    Ok(())
}

#[test]
fn vectors_need_a_quarter_of_the_load_instructions() -> Result<()> {
    let n = 1 << 16;
    let (scalar, _) = counters("redux", n)?;
    let (vector, _) = counters("single_pass", n)?;
    assert_eq!(vector.global_ld_requests, n as u64 / 32 / 4);
    assert!(scalar.global_ld_requests >= n as u64 / 32);
    Ok(())
}
