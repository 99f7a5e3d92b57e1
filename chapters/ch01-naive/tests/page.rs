//! What the page and the kernels' head comments claim, as assertions on what the simulator counts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ch01_naive::CHAPTER;
use device::nvrtc::{Nvrtc, pinned};
use device::{Checks, Counters, KernelSource, Schedule, compile_committed};
use lab::{Type, input::random, page, trial};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..")
}

/// The counts of one full block.
fn one_block(name: &str, block: u32) -> Result<Counters> {
    let variant = CHAPTER.variant(name).context("the lesson has it")?;
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
    let n = (variant.elements_per_block)(block) as usize;
    let run = trial::run(&session, variant, block, &random(Type::I32, n, 1), 0)?;
    assert!(run.ok(), "{}", trial::describe(&run, ""));
    run.counters.context("the simulator counts")
}

#[test]
fn interleaved_modulo_has_no_bank_conflict() -> Result<()> {
    for block in [32, 64, 128, 256, 512, 1024] {
        let c = one_block("interleaved_modulo", block)?;
        assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0), "block {block}");
    }
    Ok(())
}

#[test]
fn interleaved_modulo_over_256_elements() -> Result<()> {
    let c = one_block("interleaved_modulo", 256)?;
    // Eight warps store once each; 47 warp-additions load twice and store once; thread 0 loads the result.
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (2 * 47 + 1, 8 + 47));
    assert_eq!(c.barriers, 9 * 8, "one after the load and one a round, in each of eight warps");
    assert_eq!((c.global_ld_sectors, c.global_st_sectors), (256 * 4 / 32, 1));
    Ok(())
}

#[test]
fn simple_global_over_256_elements() -> Result<()> {
    let c = one_block("simple_global", 128)?;
    assert_eq!(c.barriers, 8 * 4, "one a round, in each of four warps");
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (0, 0), "no shared memory");
    assert_eq!((c.global_ld_sectors, c.global_st_sectors), (255, 128));
    Ok(())
}

#[test]
fn the_textbook_figure_is_29_5_per_cent() -> Result<()> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::ALL)?;
    let notes = (CHAPTER.notes.context("the chapter has notes")?)(&session)?;
    let facts: Vec<_> = notes.into_iter().flat_map(|note| note.facts).collect();
    for (name, value) in [
        ("simple_global-i32-one_block-add_inst_executed", "27"),
        ("simple_global-i32-one_block-add_thread_inst_executed", "255"),
        ("simple_global-i32-one_block-add_lane_efficiency", "29.5 %"),
        ("interleaved_modulo-i32-one_block-add_inst_executed", "47"),
        ("interleaved_modulo-i32-one_block-add_lane_efficiency", "17.0 %"),
    ] {
        assert!(facts.contains(&(name.to_owned(), value.to_owned())), "{name} is not {value}: {facts:?}");
    }
    Ok(())
}

#[test]
fn one_round_too_few_loses_half_of_the_block() -> Result<()> {
    let mistake = CHAPTER.mistakes.iter().find(|m| m.variant.name == "stride_too_short").context("it is there")?;
    let run = page::run_mistake(&CHAPTER, mistake, &root())?;
    assert!(run.faults.is_empty(), "nothing is out of order but the sum: {:?}", run.faults);
    let lab::Array::I32(numbers) = random(Type::I32, 256, lab::input::SEED) else { anyhow::bail!("i32 was asked for") };
    let first_half = numbers[..128].iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
    assert_eq!(run.result.to_f64(), f64::from(first_half), "the sum of the first 128 of 256");
    assert!(!run.verdict.right);
    Ok(())
}

#[test]
fn a_barrier_inside_the_if_is_found() -> Result<()> {
    let mistake = CHAPTER.mistakes.iter().find(|m| m.variant.name == "barrier_in_if").context("it is there")?;
    let run = page::run_mistake(&CHAPTER, mistake, &root())?;
    assert!(run.faults.iter().any(|fault| fault.code == lab::Code::BarrierDivergence), "{:?}", run.faults);
    Ok(())
}

#[test]
fn the_mistakes_ptx_is_fresh() -> Result<()> {
    let Some(nvrtc) = Nvrtc::find(&root()).ok().filter(|nvrtc| nvrtc.version() == pinned::VERSION) else {
        println!("skipped: the pinned NVRTC is not here (cargo course setup installs it)");
        return Ok(());
    };
    assert!(!CHAPTER.mistakes.is_empty());
    for mistake in CHAPTER.mistakes {
        let file = |extension: &str| {
            root().join("chapters/ch01-naive/tests/mistakes").join(format!("{}.{extension}", mistake.variant.name))
        };
        let source = KernelSource { slug: mistake.variant.name.to_owned(), cu: file("cu"), ptx: file("ptx") };
        let ptx = compile_committed(&nvrtc, &source)?;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&source.ptx, &ptx)?;
        }
        let committed = std::fs::read_to_string(&source.ptx).context("BLESS=1 makes it")?;
        assert!(committed == ptx, "{}: BLESS=1 makes it again", source.ptx_name());
    }
    Ok(())
}
