//! The records in data/: the simulator's is recomputed, the GPU's is replayed bit for bit, the profiler's is counted again.

use std::path::{Path, PathBuf};

use ch05_unroll::CHAPTER;
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
    assert!(comparison.compared > 0, "the record has no counter that is address-exact");
    assert!(comparison.differences.is_empty(), "{}", comparison.differences.join("\n"));
    Ok(())
}

/// One case as a GPU would record it, from the simulator.
fn recorded(result: &str) -> Result<hardware::GpuRecord> {
    let text = format!(
        r#"{{"chapter": "ch05-unroll", "device": "a test", "arch": "sm_90", "driver": null, "cuda": null,
        "multiprocessors": null, "l2_bytes": null, "memory_bytes": null, "date": "2026-01-01T00:00:00Z", "commit": null,
        "ptx_sha256": "{}", "command": "", "method": "", "seed": 1, "cases": [{{"variant": "unroll_shuffle",
        "type": "i32", "n": 512, "block": 256, "launches": 1, "result": "{result}", "expected": "{RESULT}", "ok": true,
        "cold_us": null, "cold_range_us": null, "warm_us": null, "gb_per_s": null}}]}}"#,
        record::ptx_sha256(&root(), CHAPTER.slug)?
    );
    Ok(serde_json::from_str(&text).expect("the form of a record"))
}

/// The sum of 512 random i32 of seed 1, as data/sim.json has it.
const RESULT: &str = "0x380472be";

#[test]
fn a_replay_tells_right_from_wrong() -> Result<()> {
    let right = hardware::replay(&CHAPTER, &root(), &recorded(RESULT)?)?;
    assert_eq!((right.compared, right.differences.len()), (1, 0), "{:?}", right.differences);
    let wrong = hardware::replay(&CHAPTER, &root(), &recorded("0x380472bf")?)?;
    assert_eq!(wrong.differences.len(), 1);
    assert!(wrong.differences[0].contains("0x380472bf"), "{:?}", wrong.differences);
    Ok(())
}

#[test]
fn a_record_of_other_ptx_is_stale() -> Result<()> {
    let now = record::ptx_sha256(&root(), CHAPTER.slug)?;
    assert_eq!(record::is_stale(&root(), CHAPTER.slug, &now)?, None);
    assert!(record::is_stale(&root(), CHAPTER.slug, "0123")?.is_some_and(|why| why.contains("measure again")));
    Ok(())
}

#[test]
fn profiled_counts_are_compared() -> Result<()> {
    // One block loads from shared memory in 14 wavefronts; of 200 blocks some share a multiprocessor.
    let profiled = |blocks: u32, wavefronts: u32, conflicts: u32| -> ncu::NcuRecord {
        let n = 512 * blocks;
        let text = format!(
            r#"{{"device": "a test", "driver": "1", "date": "2026-01-01", "cases": [{{"kernel": "unroll_shuffle_i32",
            "grid": {blocks}, "block": [256, 1, 1], "n": {n}, "metrics": {{"sm__cycles_active.avg": 3.5,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": {wavefronts},
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": {conflicts}}}}}]}}"#
        );
        serde_json::from_str(&text).expect("the form of a profile")
    };
    let compare = |record| ncu::compare(&CHAPTER, &root(), &record);
    let same = compare(profiled(1, 14, 0))?;
    assert_eq!((same.compared, same.arbitrated, same.differences.len()), (2, 0, 0), "{:?}", same.differences);
    assert_eq!(compare(profiled(1, 16, 2))?.differences.len(), 2, "one block has nobody to wait for");
    let full = compare(profiled(200, 2803, 3))?;
    assert_eq!((full.arbitrated, full.differences.len()), (2, 0), "{:?}", full.differences);
    assert_eq!(compare(profiled(200, 2803, 2))?.differences.len(), 2, "the counters disagree");
    assert_eq!(compare(profiled(200, 2799, 0))?.differences.len(), 1, "fewer than the addresses need");
    let mut other = profiled(1, 14, 0);
    other.cases[0].grid = ncu::Size::Linear(7);
    assert!(compare(other).is_err(), "a grid that the chapter never launches");
    Ok(())
}
