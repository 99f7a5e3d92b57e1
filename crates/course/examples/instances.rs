//! The kernels that plans may choose, by compute capability, and the code of their files, for `scripts/instances.py`: one JSON object on
//! standard output.

use std::collections::{BTreeMap, BTreeSet};

use course::instances::{Instance, card_instances};
use course::{residency, workspace};
use lab::Card;
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
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
    let root = workspace::root()?;
    let files: BTreeSet<&str> = all.values().flat_map(|files| files.keys().copied()).collect();
    let code = |file: &str| -> anyhow::Result<(String, String)> {
        let source = std::fs::read_to_string(root.join("kernels").join(file).with_extension("cu"))?;
        Ok((file.to_owned(), residency::code_sha256(&source)))
    };
    let codes: BTreeMap<String, String> = files.into_iter().map(code).collect::<Result<_, _>>()?;
    println!("{}", json!({ "codes": codes, "kernels": all }));
    Ok(())
}
