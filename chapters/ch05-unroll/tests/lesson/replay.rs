//! What a replay of a GPU's record and a comparison with a profiler's counts tell apart.

use ch05_unroll::CHAPTER;
use lab::session::built_root;
use lab::{Result, hardware, ncu, record};

/// One case as a GPU would record it, from the simulator.
fn recorded(result: &str) -> Result<hardware::GpuRecord> {
    let text = format!(
        r#"{{"chapter": "ch05-unroll", "device": "a test", "arch": "sm_90", "driver": null, "cuda": null,
        "multiprocessors": null, "l2_bytes": null, "memory_bytes": null, "date": "2026-01-01T00:00:00Z", "commit": null,
        "ptx_sha256": "{}", "command": "", "method": "", "seed": 1, "cases": [{{"variant": "unroll_shuffle",
        "type": "i32", "n": 512, "block": 256, "launches": 1, "result": "{result}", "expected": "{RESULT}", "ok": true,
        "cold_us": null, "cold_range_us": null, "warm_us": null, "gb_per_s": null}}]}}"#,
        record::ptx_sha256(&built_root(), CHAPTER.slug)?
    );
    Ok(serde_json::from_str(&text).expect("the form of a record"))
}

/// The sum of 512 random i32 of seed 1, as data/sim.json has it.
const RESULT: &str = "0x380472be";

#[test]
fn a_replay_tells_right_from_wrong() -> Result<()> {
    let right = hardware::replay(&CHAPTER, &built_root(), &recorded(RESULT)?)?;
    assert_eq!((right.compared, right.differences.len()), (1, 0), "{:?}", right.differences);
    let wrong = hardware::replay(&CHAPTER, &built_root(), &recorded("0x380472bf")?)?;
    assert_eq!(wrong.differences.len(), 1);
    assert!(wrong.differences[0].contains("0x380472bf"), "{:?}", wrong.differences);
    Ok(())
}

#[test]
fn a_record_of_other_ptx_is_stale() -> Result<()> {
    let now = record::ptx_sha256(&built_root(), CHAPTER.slug)?;
    assert_eq!(record::is_stale(&built_root(), CHAPTER.slug, &now)?, None);
    assert!(record::is_stale(&built_root(), CHAPTER.slug, "0123")?.is_some_and(|why| why.contains("measure again")));
    Ok(())
}

#[test]
fn profiled_counts_are_compared() -> Result<()> {
    // One block loads from shared memory in 14 wavefronts; its warps, and more so those of 200 blocks, take passes from each other.
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
    let compare = |record| ncu::compare(&CHAPTER, &built_root(), &record);
    let same = compare(profiled(1, 14, 0))?;
    assert_eq!((same.compared, same.arbitrated, same.differences.len()), (2, 0, 0), "{:?}", same.differences);
    let few = compare(profiled(1, 16, 2))?;
    assert_eq!((few.arbitrated, few.differences.len()), (2, 0), "eight warps of one block: {:?}", few.differences);
    assert_eq!(compare(profiled(1, 16, 1))?.differences.len(), 2, "the counters disagree");
    let full = compare(profiled(200, 2803, 3))?;
    assert_eq!((full.arbitrated, full.differences.len()), (2, 0), "{:?}", full.differences);
    assert_eq!(compare(profiled(200, 2803, 2))?.differences.len(), 2, "the counters disagree");
    assert_eq!(compare(profiled(200, 2799, 0))?.differences.len(), 1, "fewer than the addresses need");
    let mut other = profiled(1, 14, 0);
    other.cases[0].grid = ncu::Size::Linear(7);
    assert!(compare(other).is_err(), "a grid that the chapter never launches");
    Ok(())
}
