//! Differences that a replay of a GPU's record shows.

use ch05_unroll::CHAPTER;
use lab::session::built_root;
use lab::{Result, hardware, kernels};

/// One case as a GPU would record it, from the simulator.
fn recorded(result: &str) -> Result<hardware::GpuRecord> {
    let text = format!(
        r#"{{"chapter": "ch05-unroll", "device": "a test", "arch": "sm_90", "driver": null, "cuda": null,
        "multiprocessors": null, "l2_bytes": null, "memory_bytes": null, "date": "2026-01-01T00:00:00Z", "commit": null,
        "command": "", "method": "", "seed": 1, "cases": [{{"variant": "unroll_shuffle",
        "type": "i32", "n": 512, "block": 256, "launches": 1, "result": "{result}", "expected": "{RESULT}", "ok": true,
        "cold_us": null, "cold_range_us": null, "warm_us": null, "gb_per_s": null}}]}}"#
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
fn a_record_is_stale_where_its_kernels_have_changed() -> Result<()> {
    let mut record = recorded(RESULT)?;
    record.kernels = kernels::chapter_hashes(&built_root(), &CHAPTER)?;
    record.cases[0].kernels = vec!["unroll_shuffle_i32".to_owned()];
    assert_eq!(record.stale(&built_root())?, None);
    record.kernels.insert("unroll_shuffle_f32".to_owned(), "another".to_owned());
    assert_eq!(record.stale(&built_root())?, None, "no case of it");
    record.kernels.insert("unroll_shuffle_i32".to_owned(), "another".to_owned());
    assert!(record.stale(&built_root())?.is_some_and(|why| why.starts_with("1 row ")));
    Ok(())
}
