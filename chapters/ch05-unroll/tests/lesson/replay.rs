//! Differences that a replay of a GPU's record shows.

use ch05_unroll::CHAPTER;
use lab::hardware::{self, GpuCase, GpuRecord};
use lab::session::built_root;
use lab::{Case, Result, kernels};

/// One case as a GPU would record it, from the simulator.
fn recorded(result: &str) -> GpuRecord {
    let [variant, ty, result, expected] = ["unroll_shuffle", "i32", result, RESULT].map(str::to_owned);
    let case = Case { ty, n: 512, block: Some(256), launches: Some(1), ..Case::default() };
    let case = GpuCase { variant, case, result, expected, ok: true, ..GpuCase::default() };
    GpuRecord { seed: 1, cases: vec![case], ..GpuRecord::default() }
}

/// The sum of 512 random i32 of seed 1, as data/sim.json has it.
const RESULT: &str = "0x380472be";

#[test]
fn a_replay_tells_right_from_wrong() -> Result<()> {
    let right = hardware::replay(&CHAPTER, &built_root(), &recorded(RESULT))?;
    assert_eq!((right.compared, right.differences.len()), (1, 0), "{:?}", right.differences);
    let wrong = hardware::replay(&CHAPTER, &built_root(), &recorded("0x380472bf"))?;
    assert_eq!(wrong.differences.len(), 1);
    assert!(wrong.differences[0].contains("0x380472bf"), "{:?}", wrong.differences);
    Ok(())
}

#[test]
fn a_record_is_stale_where_its_kernels_have_changed() -> Result<()> {
    let mut record = recorded(RESULT);
    record.kernels = kernels::chapter_hashes(&built_root(), &CHAPTER)?;
    record.cases[0].kernels = vec!["unroll_shuffle_i32".to_owned()];
    assert_eq!(record.stale(&built_root())?, None);
    record.kernels.insert("unroll_shuffle_f32".to_owned(), "another".to_owned());
    assert_eq!(record.stale(&built_root())?, None, "no case of it");
    record.kernels.insert("unroll_shuffle_i32".to_owned(), "another".to_owned());
    assert!(record.stale(&built_root())?.is_some_and(|why| why.starts_with("1 row ")));
    Ok(())
}
