//! Differences that a replay of a GPU's record shows.

use ch07_coarsening::CHAPTER;
use lab::session::built_root;
use lab::{Result, hardware, record, trial};

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

/// A record of one case, as a GPU would make it.
fn recorded(case: &str) -> Result<hardware::GpuRecord> {
    let text = format!(
        r#"{{"chapter": "ch07-coarsening", "device": "a test", "arch": "sm_90", "driver": null, "cuda": null,
        "multiprocessors": null, "l2_bytes": null, "memory_bytes": null, "date": "2026-01-01T00:00:00Z", "commit": null,
        "command": "", "method": "", "seed": 1, "cases": [{{{case}, "n": 4096, "block": 256,
        "launches": 2, "ok": true, "cold_us": null, "cold_range_us": null, "warm_us": null, "gb_per_s": null}}]}}"#
    );
    Ok(serde_json::from_str(&text).expect("the form of a record"))
}

/// The sum of 4,096 random f32 of seed 1 in the order of the simulator, and the exact one as a double.
fn sums() -> Result<(f32, f64)> {
    let variant = trial::variant(&CHAPTER, "segmented_atomic");
    let session = trial::simulator(&CHAPTER, record::OPTIONS.schedule, device::Checks::NONE)?;
    let run = trial::run(&session, variant, 256, &lab::input::random(lab::Type::F32, 4096, 1), 0)?;
    Ok((run.result.to_f64() as f32, run.expected.to_f64()))
}

#[test]
fn floats_without_an_order_may_differ_in_their_last_bits_and_no_more() -> Result<()> {
    let (sum, expected) = sums()?;
    let case = |variant: &str, sum: f32| {
        let (bits, exact) = (sum.to_bits(), expected.to_bits());
        format!(
            r#""variant": "{variant}", "type": "f32", "grid": 8, "result": "{bits:#010x}", "expected": "{exact:#018x}""#
        )
    };
    let replay = |variant: &str, sum: f32| hardware::replay(&CHAPTER, &built_root(), &recorded(&case(variant, sum))?);
    let next = f32::from_bits(sum.to_bits() + 1);
    let same = replay("segmented_atomic", sum)?;
    assert_eq!((same.unordered, same.differences.len()), (0, 0), "{:?}", same.differences);
    let other_order = replay("segmented_atomic", next)?;
    assert_eq!((other_order.unordered, other_order.differences.len()), (1, 0), "{:?}", other_order.differences);
    let wrong = replay("segmented_atomic", sum + 1.0)?;
    assert_eq!((wrong.unordered, wrong.differences.len()), (0, 1), "an error of 1 is none of rounding");
    Ok(())
}

#[test]
fn where_the_order_is_fixed_one_bit_is_a_difference() -> Result<()> {
    let variant = trial::variant(&CHAPTER, "grid_stride");
    let session = trial::simulator(&CHAPTER, record::OPTIONS.schedule, device::Checks::NONE)?;
    let run = trial::run(&session, variant, 256, &lab::input::random(lab::Type::F32, 4096, 1), 0)?;
    let case = |bits: u32| {
        let exact = run.expected.bits();
        format!(
            r#""variant": "grid_stride", "type": "f32", "grid": 8, "result": "{bits:#010x}", "expected": "{exact}""#
        )
    };
    let bits = (run.result.to_f64() as f32).to_bits();
    let same = hardware::replay(&CHAPTER, &built_root(), &recorded(&case(bits))?)?;
    assert_eq!(same.differences.len(), 0, "{:?}", same.differences);
    let other = hardware::replay(&CHAPTER, &built_root(), &recorded(&case(bits + 1))?)?;
    assert_eq!((other.unordered, other.differences.len()), (0, 1));
    Ok(())
}
