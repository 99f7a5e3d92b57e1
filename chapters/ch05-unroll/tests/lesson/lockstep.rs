//! The kernel that counts on lockstep: a race wherever lanes run on their own.

use ch05_unroll::CHAPTER;
use device::{Checks, Schedule};
use lab::{LaunchOptions, Result, input::random, trial};

#[test]
fn the_volatile_kernel_races_or_is_wrong_under_every_independent_schedule() -> Result<()> {
    let variant = trial::variant(&CHAPTER, "unroll_volatile");
    let input = random(lab::Type::I32, 3000, 1);
    for seed in 0..20 {
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: Some(seed) }, Checks::ALL)?;
        let run = trial::run(&session, variant, 256, &input, 0)?;
        assert!(!run.ok(), "seed {seed} finds nothing");
    }
    Ok(())
}

#[test]
fn the_volatile_kernel_is_right_where_lanes_run_in_lockstep() -> Result<()> {
    let variant = trial::variant(&CHAPTER, "unroll_volatile");
    let session = trial::simulator(&CHAPTER, Schedule::Lockstep, Checks::ALL)?;
    for n in [1, 64, 3000, 100_003] {
        trial::right(&session, variant, LaunchOptions::block(256), &random(lab::Type::I32, n, 1), 0)?;
    }
    Ok(())
}

#[test]
fn some_schedule_makes_the_volatile_sum_wrong() -> Result<()> {
    let variant = trial::variant(&CHAPTER, "unroll_volatile");
    let input = random(lab::Type::I32, 3000, 1);
    let wrong = (0..20).map(|seed| -> Result<bool> {
        let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: Some(seed) }, Checks::ALL)?;
        Ok(!trial::run(&session, variant, 256, &input, 0)?.verdict.right)
    });
    let wrong: Vec<bool> = wrong.collect::<Result<_>>()?;
    assert!(wrong.contains(&true), "the race never changed a sum");
    Ok(())
}
