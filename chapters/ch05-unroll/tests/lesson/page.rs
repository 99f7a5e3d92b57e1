//! Claims of the page and of the kernels' head comments, as assertions on what the simulator counts.

use anyhow::{Context, Result};
use ch05_unroll::CHAPTER;
use device::Counters;
use lab::{Code, Run, Type, input::random, trial};

/// One block of 256 threads over 512 elements.
fn one_block(name: &str) -> Result<Run> {
    let variant = CHAPTER.variant(name).context("the lesson has it")?;
    let session = trial::checked(&CHAPTER)?;
    Ok(trial::run(&session, variant, 256, &random(Type::I32, 512, 1), 0)?)
}

fn counters(name: &str) -> Result<Counters> {
    one_block(name)?.counters.context("the simulator counts")
}

#[test]
fn three_barriers_are_left() -> Result<()> {
    for variant in CHAPTER.variants {
        assert_eq!(counters(variant.name)?.barriers, 3 * 8, "{}: three in each of eight warps", variant.name);
    }
    Ok(())
}

#[test]
fn shared_memory_traffic_of_one_block() -> Result<()> {
    // Eight warps store what they loaded; the rounds 128 and 64 add in 4 + 2 warps, two loads and one store each.
    let (loads, stores) = (2 * (4 + 2), 8 + 4 + 2);
    let traffic = |name| counters(name).map(|c| (c.shared_ld_wavefronts, c.shared_st_wavefronts));
    assert_eq!(traffic("unroll_volatile")?, (loads + 2 * 6 + 1, stores + 6), "six rounds, and the result");
    assert_eq!(traffic("unroll_syncwarp")?, (loads + 1 + 6 + 1, stores + 6), "its own sum stays in a register");
    assert_eq!(traffic("unroll_shuffle")?, (loads + 2, stores), "one round from memory, five from registers");
    Ok(())
}

#[test]
fn five_shuffles_a_block() -> Result<()> {
    assert_eq!(counters("unroll_shuffle")?.shuffles, 5);
    assert_eq!(counters("unroll_syncwarp")?.shuffles, 0);
    Ok(())
}

#[test]
fn no_bank_conflicts() -> Result<()> {
    for variant in CHAPTER.variants {
        let c = counters(variant.name)?;
        assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0), "{}", variant.name);
    }
    Ok(())
}

#[test]
fn the_race_is_named_at_two_lines_of_the_unrolled_rounds() -> Result<()> {
    let run = one_block("unroll_volatile")?;
    assert!(!run.faults.is_empty());
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/ch05-unroll.cu"))?;
    let lines: Vec<&str> = text.lines().collect();
    let line = |number: u32| lines.get(number as usize - 1).copied().unwrap_or_default();
    for fault in &run.faults {
        assert_eq!(fault.code, Code::SharedRace);
        let other = fault.other.as_ref().context("the other site")?;
        assert!(line(fault.site.line).contains("sums[tid"), "line {}: {}", fault.site.line, line(fault.site.line));
        assert!(line(other.line).contains("sums[tid"), "line {}: {}", other.line, line(other.line));
    }
    for name in ["unroll_syncwarp", "unroll_shuffle"] {
        assert!(one_block(name)?.ok(), "{name}");
    }
    Ok(())
}
