//! The kernels that plans may choose, by compute capability, for `scripts/instances.py`: one JSON object on standard output.

use std::collections::BTreeMap;

use course::instances::{Instance, card_instances};
use lab::Card;
use serde_json::{Value, json};

fn main() {
    // By compute capability, then file, then kernel.
    let mut all: BTreeMap<u32, BTreeMap<&str, BTreeMap<String, Value>>> = BTreeMap::new();
    for (_, card) in Card::named() {
        let files = all.entry(card.compute_capability).or_default();
        for ((file, kernel), Instance { line, threads, .. }) in card_instances(card, 1) {
            let new = json!({ "line": line, "threads": threads });
            let known = files.entry(file).or_default().entry(kernel).or_insert_with(|| new.clone());
            if known["threads"].as_u64() < new["threads"].as_u64() {
                *known = new;
            }
        }
    }
    println!("{}", json!(all));
}
