//! Holds the bank and sector rules against 700 accesses measured on an H200, and against laws that any such rule obeys.

use proptest::prelude::*;
use serde_json::Value;
use simt::access::{self, Memo, Passes};

const ORACLE: &str = include_str!("data/h200-access-oracle.json");

struct Case {
    number: usize,
    kind: String,
    bytes: u32,
    mask: u32,
    offsets: [u32; 32],
    measured: Value,
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(ORACLE).expect("the oracle is JSON");
    let cases = file["cases"].as_array().expect("cases");
    cases.iter().enumerate().map(|(number, case)| read_case(number, case)).collect()
}

fn read_case(number: usize, case: &Value) -> Case {
    let lanes = case["lanes"].as_array().expect("lanes");
    assert_eq!(lanes.len(), 32, "case {number}");
    let mut mask = 0;
    // The register of an inactive lane must not matter.
    let mut offsets = [0xDEAD_BEE0; 32];
    for (lane, offset) in lanes.iter().enumerate() {
        if let Some(offset) = offset.as_u64() {
            mask |= 1 << lane;
            offsets[lane] = offset as u32;
        }
    }
    Case {
        number,
        kind: case["kind"].as_str().expect("kind").to_owned(),
        bytes: case["bytes"].as_u64().expect("bytes") as u32,
        mask,
        offsets,
        measured: case.clone(),
    }
}

fn shared(kind: &str, bytes: u32, mask: u32, offsets: &[u32; 32]) -> Passes {
    match kind {
        "shared_load" => access::shared_load(bytes, mask, offsets),
        "shared_store" => access::shared_store(bytes, mask, offsets),
        "shared_atomic" => access::shared_atomic(bytes, mask, offsets),
        other => panic!("unknown kind {other}"),
    }
}

/// The same, by a memo.
fn remembered(memo: &mut Memo, kind: &str, bytes: u32, mask: u32, offsets: &[u32; 32]) -> Passes {
    match kind {
        "shared_load" => memo.shared_load(bytes, mask, offsets),
        "shared_store" => memo.shared_store(bytes, mask, offsets),
        _ => memo.shared_atomic(bytes, mask, offsets),
    }
}

fn addresses(offsets: &[u32; 32]) -> [u64; 32] {
    offsets.map(|offset| 0x7F00_0000_0000 + u64::from(offset))
}

fn global(kind: &str, bytes: u32, mask: u32, offsets: &[u32; 32]) -> u32 {
    match kind {
        "global_load" | "global_store" => access::global_sectors(bytes, mask, &addresses(offsets)),
        "global_red" | "global_atomic" => access::global_atomic_sectors(bytes, mask, &addresses(offsets)),
        other => panic!("unknown kind {other}"),
    }
}

#[test]
fn every_measured_access_costs_what_the_card_counted() {
    let cases = cases();
    assert_eq!(cases.len(), 700);
    let mut differences = Vec::new();
    for case in &cases {
        let measured = |key: &str| case.measured[key].as_u64().expect("a count") as u32;
        if case.kind.starts_with("shared") {
            let passes = shared(&case.kind, case.bytes, case.mask, &case.offsets);
            let counted = Passes { wavefronts: measured("wavefronts"), conflicts: measured("bank_conflicts") };
            assert_eq!(passes, counted, "case {}: {} of {} bytes", case.number, case.kind, case.bytes);
        } else {
            let sectors = global(&case.kind, case.bytes, case.mask, &case.offsets);
            if sectors != measured("sectors") {
                differences.push((case.number, sectors, measured("sectors")));
            }
        }
    }
    assert_eq!(differences, []);
}

#[test]
fn atomics_count_the_sectors_that_the_card_counted() {
    let lines = include_str!("data/h200-atomic-sectors.txt").lines().filter(|line| !line.starts_with('#'));
    let mut cases = 0;
    for line in lines {
        let numbers: Vec<u32> = line.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        let offsets: [u32; 32] = numbers[1..].try_into().expect("32 lanes");
        assert_eq!(global("global_atomic", 4, u32::MAX, &offsets), numbers[0], "{line}");
        cases += 1;
    }
    assert_eq!(cases, 1300);
}

#[test]
fn a_memo_gives_the_same_as_the_rules_in_any_order() {
    let cases = cases();
    let mut memo = Memo::default();
    for round in 0..4 {
        for case in cases.iter().filter(|case| !["global_red", "global_atomic"].contains(&case.kind.as_str())) {
            // The same shape twice in a row, then elsewhere: one call fills the memo, the others are answered by it.
            for shift in [0, 0, 128 * round, 32 * round] {
                let offsets = case.offsets.map(|offset| offset.wrapping_add(shift));
                if case.kind.starts_with("shared") {
                    let expected = shared(&case.kind, case.bytes, case.mask, &offsets);
                    let found = remembered(&mut memo, &case.kind, case.bytes, case.mask, &offsets);
                    assert_eq!(found, expected, "case {}", case.number);
                } else {
                    let expected = global(&case.kind, case.bytes, case.mask, &offsets);
                    let found = memo.global_sectors(case.bytes, case.mask, &addresses(&offsets));
                    assert_eq!(found, expected, "case {}", case.number);
                }
            }
        }
    }
}

const SHARED_KINDS: [&str; 3] = ["shared_load", "shared_store", "shared_atomic"];
const GLOBAL_KINDS: [&str; 2] = ["global_load", "global_atomic"];

/// Offsets of one access: aligned to `bytes`, from a range that makes both few and many coincidences.
fn offsets(bytes: u32) -> impl Strategy<Value = [u32; 32]> {
    prop_oneof![4_u32..16, 16_u32..64, 64_u32..4096]
        .prop_flat_map(move |range| prop::array::uniform32((0..range).prop_map(move |n| n * bytes)))
}

fn sized_offsets() -> impl Strategy<Value = (u32, [u32; 32])> {
    prop::sample::select(vec![1_u32, 2, 4, 8, 16]).prop_flat_map(|bytes| (Just(bytes), offsets(bytes)))
}

/// Largest number of distinct words in one bank, the slow and obvious way.
fn obvious_wavefronts(mask: u32, offsets: &[u32; 32]) -> u32 {
    let mut most = 0;
    for bank in 0..32 {
        let mut words: Vec<u32> = (0..32)
            .filter(|lane| mask >> lane & 1 == 1)
            .map(|lane| offsets[lane] / 4)
            .filter(|w| w % 32 == bank)
            .collect();
        words.sort_unstable();
        words.dedup();
        most = most.max(words.len() as u32);
    }
    most
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn four_byte_accesses_follow_the_definition(mask: u32, offsets in offsets(4)) {
        let expected = obvious_wavefronts(mask, &offsets);
        prop_assert_eq!(access::shared_load(4, mask, &offsets).wavefronts, expected);
        prop_assert_eq!(access::shared_store(4, mask, &offsets).wavefronts, expected);
    }

    #[test]
    fn sectors_follow_the_definition(mask: u32, (bytes, offsets) in sized_offsets()) {
        let mut sectors: Vec<u32> = (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| offsets[lane] / 32).collect();
        sectors.sort_unstable();
        sectors.dedup();
        prop_assert_eq!(global("global_load", bytes, mask, &offsets), sectors.len() as u32);
    }

    #[test]
    fn lanes_of_a_group_may_trade_places(
        mask: u32, offsets in offsets(4), order in Just((0..32).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let traded = std::array::from_fn(|lane| offsets[order[lane]]);
        let traded_mask = (0..32).fold(0, |m, lane| m | (mask >> order[lane] & 1) << lane);
        for kind in SHARED_KINDS {
            prop_assert_eq!(shared(kind, 4, mask, &offsets), shared(kind, 4, traded_mask, &traded));
        }
        // Atomics are another matter: who comes first decides who waits.
        prop_assert_eq!(global("global_load", 4, mask, &offsets), global("global_load", 4, traded_mask, &traded));
    }

    #[test]
    fn moving_everything_by_a_row_of_banks_changes_nothing(
        mask: u32, (bytes, offsets) in sized_offsets(), rows in 0_u32..1000,
    ) {
        let moved = offsets.map(|offset| offset + 128 * rows);
        for kind in SHARED_KINDS {
            prop_assert_eq!(shared(kind, bytes, mask, &offsets), shared(kind, bytes, mask, &moved));
        }
        prop_assert_eq!(global("global_load", bytes, mask, &offsets), global("global_load", bytes, mask, &moved));
    }

    #[test]
    fn inactive_lanes_do_not_matter(mask: u32, (bytes, offsets) in sized_offsets(), garbage: [u32; 32]) {
        let dirty = std::array::from_fn(|lane| if mask >> lane & 1 == 1 { offsets[lane] } else { garbage[lane] });
        for kind in SHARED_KINDS {
            prop_assert_eq!(shared(kind, bytes, mask, &offsets), shared(kind, bytes, mask, &dirty));
        }
        for kind in GLOBAL_KINDS {
            prop_assert_eq!(global(kind, bytes, mask, &offsets), global(kind, bytes, mask, &dirty));
        }
    }

    #[test]
    fn counts_stay_within_what_32_lanes_can_cause(mask: u32, (bytes, offsets) in sized_offsets()) {
        let lanes = mask.count_ones();
        for kind in SHARED_KINDS {
            let passes = shared(kind, bytes, mask, &offsets);
            prop_assert!(passes.wavefronts <= lanes);
            prop_assert!(passes.conflicts <= passes.wavefronts.saturating_sub(1));
            prop_assert_eq!(passes.wavefronts == 0, lanes == 0);
        }
        for kind in GLOBAL_KINDS {
            let sectors = global(kind, bytes, mask, &offsets);
            prop_assert!(sectors <= lanes);
            prop_assert_eq!(sectors == 0, lanes == 0);
        }
    }

    #[test]
    fn a_memo_never_changes_an_answer(
        accesses in prop::collection::vec(
            (0_usize..4, any::<u32>(), sized_offsets(), 0_u32..40, any::<bool>()), 1..20,
        ),
    ) {
        let mut memo = Memo::default();
        for (kind, mask, (bytes, offsets), shift, far) in accesses {
            for step in [0, shift * bytes] {
                let offsets = offsets.map(|offset| offset + step);
                // Lanes may lie in different buffers, more than 4 GiB apart.
                let addresses: [u64; 32] =
                    std::array::from_fn(|lane| u64::from(offsets[lane]) + if far && lane > 7 { 5 << 32 } else { 0 });
                match SHARED_KINDS.get(kind) {
                    Some(kind) => {
                        let found = remembered(&mut memo, kind, bytes, mask, &offsets);
                        prop_assert_eq!(found, shared(kind, bytes, mask, &offsets));
                    }
                    None => prop_assert_eq!(
                        memo.global_sectors(bytes, mask, &addresses),
                        access::global_sectors(bytes, mask, &addresses)
                    ),
                }
            }
        }
    }
}
