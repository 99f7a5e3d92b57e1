//! Tests of what a profiler read on a card beside what the simulator counts, over every chapter.

use lab::Result;
use lab::session::built_root;
use report::ncu;
use serde_json::{Value, json};

use crate::lessons::lessons;

/// Counts again what each `data/h200-ncu.json` has.
#[test]
fn the_simulator_counts_what_the_profiler_read() {
    let root = built_root();
    let mut launches = 0;
    for lesson in lessons() {
        let Some(record) =
            ncu::load(&root, lesson.slug, &lab::record::card_record(&root, lesson.slug, "-ncu")).unwrap()
        else {
            continue;
        };
        launches += record.cases.len();
        let comparison = ncu::compare(lesson, &root, &record).unwrap();
        let ncu::Comparison { compared, arbitrated, of_meetings, differences } = &comparison;
        assert!(*compared > 0, "{}: no counter is address-exact", lesson.slug);
        assert!(*arbitrated < compared / 2, "{}: most launches should be free of arbitration", lesson.slug);
        assert!(*of_meetings < compared / 10, "{}: few counters depend on when blocks meet", lesson.slug);
        assert!(differences.is_empty(), "{}:\n{}", lesson.slug, differences.join("\n"));
    }
    assert!(launches > 0, "no launch was profiled");
}

/// A profile of one launch.
fn profile(case: Value) -> ncu::NcuRecord {
    let profile = json!({ "device": "a test", "driver": "1", "date": "2026-01-01", "cases": [case] });
    serde_json::from_value(profile).expect("the form of a profile")
}

#[test]
fn profiled_counts_are_compared() -> Result<()> {
    // One block loads from shared memory in 14 wavefronts; its warps, and more so those of 200 blocks, take passes from each other.
    let profiled = |blocks: u32, wavefronts: u32, conflicts: u32| {
        profile(json!({ "kernel": "unroll_shuffle_i32", "grid": blocks, "block": [256, 1, 1], "n": 512 * blocks,
            "metrics": { "sm__cycles_active.avg": 3.5,
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": wavefronts,
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": conflicts } }))
    };
    let compare = |record| ncu::compare(&ch05_unroll::CHAPTER, &built_root(), &record);
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

#[test]
fn an_atomic_is_compared_as_what_the_card_makes_of_it() -> Result<()> {
    // Eight blocks with one atomic each, whose result no thread needs: a reduction.
    let profiled = |reds: u32| {
        profile(json!({ "kernel": "segmented_atomic_i32", "variant": "segmented_atomic", "type": "i32", "launch": 1,
            "grid": 8, "block": [256, 1, 1], "n": 4096,
            "metrics": { "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": 0,
                "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": reds } }))
    };
    let (chapter, root) = (&ch07_coarsening::CHAPTER, built_root());
    let same = ncu::compare(chapter, &root, &profiled(8))?;
    assert_eq!((same.compared, same.differences.len()), (2, 0), "{:?}", same.differences);
    assert_eq!(ncu::compare(chapter, &root, &profiled(9))?.differences.len(), 1);
    assert!(ncu::table(chapter, &root, &profiled(8))?.contains("reduction sectors | 8 | 8 |"));
    Ok(())
}
