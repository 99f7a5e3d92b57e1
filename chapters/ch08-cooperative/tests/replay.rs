//! The records in data/: the simulator's is recomputed, the GPU's is replayed bit for bit, the profiler's is counted again.

use std::path::{Path, PathBuf};

use ch08_cooperative::CHAPTER;
use lab::{Result, hardware, ncu, record};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..")
}

#[test]
fn the_simulators_record_is_what_it_computes_today() -> Result<()> {
    let differences = record::check(&CHAPTER, &root())?;
    assert!(differences.is_empty(), "BLESS=1 rewrites it:\n{}", differences.join("\n"));
    Ok(())
}

#[test]
fn the_gpus_results_are_the_simulators_bit_for_bit() -> Result<()> {
    let Some(record) = hardware::load(&root(), CHAPTER.slug, "h200")? else {
        println!("skipped: no data/h200.json yet");
        return Ok(());
    };
    let replay = hardware::replay(&CHAPTER, &root(), &record)?;
    println!("{} compared, of which {} undefined ones differ", replay.compared, replay.announced);
    assert!(replay.compared > 0, "the record has no case");
    assert!(replay.differences.is_empty(), "{}", replay.differences.join("\n"));
    let wrong: Vec<_> = record
        .cases
        .iter()
        .filter(|case| !case.ok && CHAPTER.variant(&case.variant).is_none_or(|v| v.announced.is_none()))
        .collect();
    assert!(wrong.is_empty(), "wrong on the GPU: {wrong:?}");
    Ok(())
}

#[test]
fn the_profilers_counts_are_the_simulators() -> Result<()> {
    let Some(record) = ncu::load(&root(), CHAPTER.slug, "h200-ncu")? else {
        println!("skipped: no data/h200-ncu.json yet");
        return Ok(());
    };
    let comparison = ncu::compare(&CHAPTER, &root(), &record)?;
    let (compared, arbitrated) = (comparison.compared, comparison.arbitrated);
    println!(
        "{compared} counters of {} launches compared, {arbitrated} with arbitration between warps",
        record.cases.len()
    );
    assert!(arbitrated < compared / 2, "most launches should be free of it");
    let of_meetings = comparison.of_meetings;
    assert!(of_meetings < compared / 10, "{of_meetings}: those of grid_sync and cluster, and few of theirs");
    assert!(comparison.compared > 0, "the record has no counter that is address-exact");
    assert!(comparison.differences.is_empty(), "{}", comparison.differences.join("\n"));
    Ok(())
}
