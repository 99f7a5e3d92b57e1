//! Plans for the cards that have a name: every launch fits, by the table that `scripts/instances.py` writes, and none is planned
//! for another card.

use std::collections::BTreeMap;

use course::instances::{card_instances, plans};
use course::lessons::lessons;
use course::residency;
use device::card::{Footprint, H200};
use lab::plan::LaunchOptions;
use lab::{Card, Planned, Problem, Type};

const TABLE: &str = include_str!("../../../../measurements/instances.tsv");
const MAKE_IT: &str = "run scripts/instances.py, whose head says how";
/// Every so many row lengths are enough here: the table is made of all.
const STEP: usize = 17;
/// Static shared memory that a block can have on any card.
const STATIC_SHARED_BYTES_MAX: u32 = 48 << 10;

fn named(name: &str) -> &'static Card {
    Card::named().find(|(known, _)| *known == name).expect("a card of that name").1
}

/// Returns whether the table was made of another text of this file: its rows stay, and it does not have the new lines yet.
fn is_stale(file: &str) -> bool {
    let source = format!("{}/../../kernels/{file}.cu", env!("CARGO_MANIFEST_DIR"));
    residency::compiler(TABLE, file, &std::fs::read_to_string(&source).expect("a file of kernels")).is_none()
}

#[test]
fn every_kernel_that_a_plan_chooses_fits_on_its_card() {
    let table = residency::parse(TABLE).expect("the table");
    assert!(table.len() > 10_000, "{} rows", table.len());
    for (name, card) in Card::named() {
        for ((file, kernel), instance) in card_instances(card, STEP) {
            let Some(&[registers, shared_bytes]) = table.get(&(file, kernel.as_str(), card.compute_capability)) else {
                assert!(
                    is_stale(file),
                    "{kernel} of {file} for {name} is not in measurements/instances.tsv: {MAKE_IT}"
                );
                continue;
            };
            assert!(shared_bytes <= STATIC_SHARED_BYTES_MAX, "{kernel}: {shared_bytes} bytes of static shared memory");
            let shared_bytes = shared_bytes + instance.shared_bytes;
            let resident = |block| card.resident_blocks(Footprint::new(block, registers, shared_bytes));
            let threads = instance.threads;
            assert!(resident(threads) > 0, "{kernel}: {threads} threads of {registers} registers on {name}");
            for (block, waiting) in instance.waiting {
                let holds = resident(block);
                assert!(waiting <= holds, "{kernel}: {waiting} blocks of {block} wait on {name}, which holds {holds}");
            }
        }
    }
}

/// A card whose driver says that no cluster fits, as on a part of one: each plan has a way without.
#[test]
fn no_plan_has_clusters_where_none_fits() {
    let part = H200.clone().with_clusters([0; 4]).with_multiprocessors(14);
    let two = part.clone().with_clusters([7, 2, 0, 0]);
    for (card, most) in [(named("l4"), 1), (named("a100"), 1), (&part, 1), (&two, 4), (&H200, 16)] {
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        plans(card, STEP, |_, problem, plan| match plan {
            Ok(plan) => {
                for pass in &plan.passes {
                    *seen.entry(pass.geometry.cluster).or_default() += 1;
                }
            }
            Err(error) => {
                let error = error.to_string();
                assert!(!error.contains("does not fit"), "{} {:?}: {error}", problem.variant.name, problem.options);
            }
        });
        assert_eq!(seen.keys().max(), Some(&most), "{}: {seen:?}", card.name);
    }
}

fn plan(card: &Card, (slug, name): (&str, &str), ty: Type, n: u64, options: LaunchOptions) -> Planned {
    let chapter = lessons().into_iter().find(|chapter| chapter.slug == slug).expect("a chapter");
    let variant = chapter.variant(name).expect("a variant");
    Planned::new(&Problem::new(variant, ty, n, options).on(card, chapter.on_demand)).expect("a plan")
}

#[test]
fn small_cards_are_as_busy_as_large_ones() {
    let l4 = named("l4");
    let grid = |of, n| plan(l4, of, Type::F32, n, LaunchOptions::default()).grid();
    for of in [("ch08-cooperative", "single_pass"), ("ch09-operators", "reduce")] {
        // Half of 58 multiprocessors; by four blocks of 512 threads before it was asked what the card is.
        assert_eq!((of, grid(of, 1 << 15)), (of, 29));
        for log in 15..31 {
            assert!(grid(of, 1 << log) >= 29, "{of:?} at 2^{log}: {}", grid(of, 1 << log));
        }
    }
    let h200 = |of, n| plan(&H200, of, Type::F32, n, LaunchOptions::default()).grid();
    assert_eq!(h200(("ch08-cooperative", "single_pass"), 1 << 15), 48);
}

#[test]
fn what_a_multiprocessor_holds_is_the_cards() {
    let blocks = |name: &str, of, block| plan(named(name), of, Type::I32, 1 << 26, LaunchOptions::block(block)).grid();
    let stride = ("ch07-coarsening", "grid_stride_shuffle");
    assert_eq!((blocks("h200", stride, 256), blocks("l4", stride, 256)), (132 * 8, 58 * 6));
    assert_eq!((blocks("rtx5090", stride, 1024), blocks("a10", stride, 64)), (170, 72 * 16));
    // All of these wait for each other: one more than the card holds would hang it, and so is refused by the driver.
    let waiting = ("ch08-cooperative", "grid_sync");
    assert_eq!(
        (blocks("h200", waiting, 32), blocks("l4", waiting, 32), blocks("a10", waiting, 32)),
        (132 * 32, 58 * 24, 72 * 16)
    );
}
