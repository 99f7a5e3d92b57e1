//! Differences that a replay of a GPU's record shows.

use ch07_coarsening::CHAPTER;
use lab::hardware::{self, GpuCase, GpuRecord, Replay};
use lab::session::built_root;
use lab::{Case, Result, record, trial};

#[test]
fn the_gpus_sweep_was_right_at_every_point() -> Result<()> {
    let Some(record) = hardware::load(&built_root(), CHAPTER.slug, "h200-sweep")? else {
        println!("skipped: no data/h200-sweep.json yet");
        return Ok(());
    };
    assert!(!record.sweep.is_empty(), "the record has no point");
    for point in &record.sweep {
        assert!(point.right && point.cold_us.is_some(), "{point:?}");
    }
    Ok(())
}

/// The replay of a case as a GPU would record it: a sum of 4,096 random f32 of seed 1.
fn replayed(variant: &str, sum: f32, expected: &str) -> Result<Replay> {
    let result = format!("{:#010x}", sum.to_bits());
    let [variant, ty, expected] = [variant, "f32", expected].map(str::to_owned);
    let case = Case { ty, n: 4096, block: Some(256), grid: Some(8), launches: Some(2), ..Case::default() };
    let case = GpuCase { variant, case, result, expected, ok: true, ..GpuCase::default() };
    hardware::replay(&CHAPTER, &built_root(), &GpuRecord { seed: 1, cases: vec![case], ..GpuRecord::default() })
}

/// That sum in the order of the simulator, and the bits of the exact one as a double.
fn sums(variant: &str) -> Result<(f32, String)> {
    let session = trial::simulator(&CHAPTER, record::OPTIONS.schedule, device::Checks::NONE)?;
    let numbers = lab::input::random(lab::Type::F32, 4096, 1);
    let run = trial::run(&session, trial::variant(&CHAPTER, variant), 256, &numbers, 0)?;
    Ok((run.result.to_f64() as f32, run.expected.bits()))
}

#[test]
fn floats_without_an_order_may_differ_in_their_last_bits_and_no_more() -> Result<()> {
    let (sum, exact) = sums("segmented_atomic")?;
    let replay = |sum: f32| replayed("segmented_atomic", sum, &exact);
    let same = replay(sum)?;
    assert_eq!((same.unordered, same.differences.len()), (0, 0), "{:?}", same.differences);
    let other_order = replay(f32::from_bits(sum.to_bits() + 1))?;
    assert_eq!((other_order.unordered, other_order.differences.len()), (1, 0), "{:?}", other_order.differences);
    let wrong = replay(sum + 1.0)?;
    assert_eq!((wrong.unordered, wrong.differences.len()), (0, 1), "an error of 1 is none of rounding");
    Ok(())
}

#[test]
fn where_the_order_is_fixed_one_bit_is_a_difference() -> Result<()> {
    let (sum, exact) = sums("grid_stride")?;
    let same = replayed("grid_stride", sum, &exact)?;
    assert_eq!(same.differences.len(), 0, "{:?}", same.differences);
    let other = replayed("grid_stride", f32::from_bits(sum.to_bits() + 1), &exact)?;
    assert_eq!((other.unordered, other.differences.len()), (0, 1));
    Ok(())
}
