//! How many blocks of a kernel a multiprocessor holds: registers and shared memory as ptxas gave them, never estimated.
//! `measurements/instances.tsv` has them for every kernel that a plan may choose.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use device::card::{Card, Footprint, H200};
use serde_json::{Value, json};

use crate::figures::lesson_part;
use crate::workspace;

/// The table, from the root.
pub const TABLE: &str = "measurements/instances.tsv";
/// Threads of a multiprocessor's warps.
const WARP: u32 = 32;
/// Card whose multiprocessors the pages speak of: the one that the simulator stands for.
pub static CARD: &Card = &H200;

/// Registers of a thread and static shared memory of a block, in bytes, by file, kernel and compute capability.
pub type Footprints<'t> = HashMap<(&'t str, &'t str, u32), [u32; 2]>;

/// Reads the table.
///
/// # Errors
/// A table without a head, or with a column that is no compute capability.
pub fn parse(table: &str) -> Result<Footprints<'_>> {
    let mut lines =
        table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().context("the table of instances has no head")?;
    let capability = |column: &&str| column.trim_start_matches("sm_").parse::<u32>();
    let capabilities = head.iter().skip(3).map(capability).collect::<Result<Vec<u32>, _>>()?;
    let mut all = HashMap::new();
    for line in lines {
        let mut before = "-";
        for (&cell, &capability) in line.iter().skip(3).zip(&capabilities) {
            before = if cell == "=" { before } else { cell };
            let numbers: Vec<u32> = before.split('/').filter_map(|number| number.parse().ok()).collect();
            if let [registers, shared_bytes, _] = numbers[..] {
                all.insert((line[0], line[1], capability), [registers, shared_bytes]);
            }
        }
    }
    Ok(all)
}

/// The compiler that made a file's rows, `ptxas 13.0`; `None` if it compiled other code than this text's.
pub fn compiler<'t>(table: &'t str, file: &str, source: &str) -> Option<&'t str> {
    let mark = format!("# {file}.cu {} ", code_sha256(source));
    let line = table.lines().find_map(|line| line.strip_prefix(&mark))?;
    line.rsplit_once(", ").map(|(_, compiler)| compiler)
}

/// The name that the table has for a file's code: the hash of its lesson's part, where all kernels are that it lists.
pub fn code_sha256(source: &str) -> String {
    device::code_sha256(lesson_part(source))
}

/// JSON for a page: card, compiler, and for each kernel its registers, the shared memory of a block, and by block size the number of
/// blocks that a multiprocessor holds and the limit.
pub fn json(compiler: &str, kernels: &BTreeMap<&str, ([u32; 2], BTreeSet<u32>)>) -> Value {
    let of = |&([registers, shared_bytes], ref blocks): &([u32; 2], BTreeSet<u32>)| {
        let held = |&block: &u32| {
            let (held, limit) = CARD.residency(Footprint::new(block, registers, shared_bytes))?;
            Some((block.to_string(), json!([held, limit.name()])))
        };
        let blocks: serde_json::Map<String, Value> = blocks.iter().filter_map(held).collect();
        json!({ "registers": registers, "shared_bytes": shared_bytes, "blocks": blocks })
    };
    let kernels: serde_json::Map<String, Value> =
        kernels.iter().map(|(name, kernel)| ((*name).to_owned(), of(kernel))).collect();
    json!({ "card": CARD.name, "warps": CARD.threads_per_multiprocessor / WARP, "compiler": compiler, "kernels": kernels })
}

/// The same of kernels of a committed file, each with its block sizes; null where the table was made of another text.
///
/// # Errors
/// A table that cannot be read.
pub fn committed(root: &Path, file: &str, source: &str, kernels: &BTreeMap<&str, BTreeSet<u32>>) -> Result<Value> {
    let table = workspace::read(root, TABLE)?;
    let Some(compiler) = compiler(&table, file, source) else { return Ok(Value::Null) };
    // The head, and this file's rows: all of them are thousands.
    let begins = ["file\t".to_owned(), format!("{file}\t")];
    let own: Vec<&str> = table.lines().filter(|line| begins.iter().any(|begin| line.starts_with(begin))).collect();
    let own = own.join("\n");
    let known = parse(&own)?;
    let mut found = BTreeMap::new();
    for (&name, blocks) in kernels {
        if let Some(&footprint) = known.get(&(file, name, CARD.compute_capability)) {
            found.insert(name, (footprint, blocks.clone()));
        }
    }
    Ok(json(compiler, &found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_speaks_of_todays_kernels_alone() {
        let root = workspace::root().unwrap();
        let source = std::fs::read_to_string(root.join("kernels/ch03-sequential.cu")).unwrap();
        let kernels =
            BTreeMap::from([("sequential_i32", BTreeSet::from([32, 128])), ("no_such", BTreeSet::from([32]))]);
        let found = committed(&root, "ch03-sequential", &source, &kernels).unwrap();
        assert_eq!(found["kernels"].as_object().unwrap().len(), 1, "{found}");
        assert_eq!(found["kernels"]["sequential_i32"]["blocks"]["32"], json!([32, "blocks"]), "{found}");
        assert_eq!(found["kernels"]["sequential_i32"]["blocks"]["128"], json!([16, "threads"]), "{found}");
        let commented = committed(&root, "ch03-sequential", &format!("// Hm.\n{source}"), &kernels).unwrap();
        assert_eq!(commented, found, "a comment is no code");
        let behind = committed(&root, "ch03-sequential", &format!("{source}int more;\n"), &kernels).unwrap();
        assert_eq!(behind, found, "the table lists no kernel behind the lesson's");
        let other = committed(&root, "ch03-sequential", &format!("int more;\n{source}"), &kernels).unwrap();
        assert!(other.is_null(), "{other}");
    }
}
