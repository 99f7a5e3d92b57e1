//! Arithmetic against a GPU's records, opcode by opcode. What an approximate instruction may be off by is in
//! `bounds.rs`; everything else agrees bit for bit.
//!
//! A record that is missing is skipped with a word, of a group as of an opcode; one made of other operands fails. New records:
//! `cargo run --release -p device --example semantics` on a machine with the card.

mod bounds;
mod errors;
mod ex2;

use std::collections::BTreeMap;
use std::path::PathBuf;

use simt::{Arg, Checks, Launch, Memory, Options, Program, run};
use simt_fixtures::semantics::fixture::{Fixture, Group, Kernel, decode, encode, groups, hashes};
use simt_fixtures::semantics::operands::{self, ROWS};

use crate::host;

fn folder() -> PathBuf {
    host::folder().join("semantics")
}

/// Words that the simulator leaves in a kernel's output buffer.
fn simulate(program: &Program, kernel: &Kernel) -> Vec<u64> {
    let mut memory = Memory::new();
    let bytes: Vec<u8> = kernel.input().into_iter().flat_map(u64::to_le_bytes).collect();
    let input = memory.alloc("input", bytes.len() as u64, 8).expect("room for the operands");
    memory.write(input, &bytes).expect("the buffer was made for them");
    let zeros = vec![0; kernel.output_words() * 8];
    let output = memory.alloc("output", zeros.len() as u64, 8).expect("room for the results");
    memory.write(output, &zeros).expect("the buffer was made for them");
    let lowered = program.kernel(&kernel.name).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch {
        grid: [kernel.blocks(), 1, 1],
        block: [ROWS as u32, 1, 1],
        args: [input, output].map(Arg::Address).to_vec(),
        ..Launch::default()
    };
    let options = Options { checks: Checks::NONE, threads: 1, ..Options::default() };
    let outcome = run(&lowered, &mut memory, &launch, &options).expect("a good launch");
    assert!(outcome.faults.is_empty(), "{}: {:?}", kernel.name, outcome.faults);
    let mut bytes = zeros;
    memory.read(output, &mut bytes).expect("the buffer is there");
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

/// The values recorded for every opcode of a group, and the hash of the operands that they are of.
type Record = BTreeMap<String, (String, String)>;

fn read_record(group: &Group) -> Option<Record> {
    let text = std::fs::read_to_string(folder().join(format!("{}.h200.json", group.name))).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).expect("a record is JSON");
    let mut record = Record::new();
    for kernel in json["kernels"].as_object().expect("kernels").values() {
        let inputs = kernel["inputs"].as_str().expect("a hash");
        for (opcode, values) in kernel["outputs"].as_object().expect("outputs") {
            record.insert(opcode.clone(), (inputs.to_owned(), values.as_str().expect("digits").to_owned()));
        }
    }
    Some(record)
}

/// The rows in which a fixture's results differ from the record by more than they may, in words.
fn differences(kernel: &Kernel, fixture: &Fixture, at: usize, words: &[u64], recorded: &str) -> Vec<String> {
    let recorded: Vec<Vec<u64>> = recorded.split('|').zip(fixture.outputs()).map(|(t, bits)| decode(t, bits)).collect();
    let simulated = kernel.outputs_of(at, words);
    let mut found = Vec::new();
    for row in 0..kernel.rows.len() {
        let (ours, theirs): (Vec<u64>, Vec<u64>) =
            (simulated.iter().map(|values| values[row]).collect(), recorded.iter().map(|values| values[row]).collect());
        if ours != theirs && !bounds::within(fixture, &kernel.rows[row], ours[0], theirs[0]) {
            found.push(format!(
                "{} of {:x?}: the simulator gives {ours:x?}, the card {theirs:x?}",
                fixture.key(),
                &kernel.rows[row][..fixture.sources.len().min(operands::OPERANDS)]
            ));
        }
    }
    found
}

#[test]
fn arithmetic_equals_the_records_of_an_h200() {
    let (mut compared, mut skipped, mut wrong) = (0, Vec::new(), Vec::new());
    for group in groups() {
        let Some(mut record) = read_record(&group) else {
            skipped.push(group.name.to_owned());
            continue;
        };
        let program = Program::load(group.name, &group.ptx()).expect("the fixtures are PTX");
        for kernel in &group.kernels {
            let words = simulate(&program, kernel);
            for (at, fixture) in kernel.fixtures.iter().enumerate() {
                let key = fixture.key();
                let Some((inputs, values)) = record.remove(&key) else {
                    skipped.push(key);
                    continue;
                };
                assert_eq!(inputs, kernel.input_hash(), "{key} was recorded of other operands: record anew");
                let found = differences(kernel, fixture, at, &words, &values);
                compared += 1;
                if let Some(first) = found.first() {
                    wrong.push(format!("{} of {} rows: {first}", found.len(), kernel.rows.len()));
                }
            }
        }
        let left: Vec<String> = record.into_keys().collect();
        assert!(left.is_empty(), "{}: recorded, and no fixtures any more: {}", group.name, left.join(", "));
    }
    if !skipped.is_empty() {
        println!("skipped, no record of an H200 yet: {}", skipped.join(", "));
    }
    println!("{compared} opcodes compared");
    assert!(wrong.is_empty(), "{} opcodes differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_simulator_runs_every_fixture() {
    let mut opcodes = 0;
    for group in groups() {
        let program = Program::load(group.name, &group.ptx()).expect("the fixtures are PTX");
        for kernel in &group.kernels {
            let words = simulate(&program, kernel);
            for (at, fixture) in kernel.fixtures.iter().enumerate() {
                // An instruction that gives the same for everything is one that does nothing.
                let outputs = kernel.outputs_of(at, &words);
                let constant = outputs.iter().all(|values| values.iter().all(|value| *value == values[0]));
                let may_be = matches!(fixture.immediate, Some(0)) || fixture.key().contains("testp");
                assert!(!constant || may_be, "{} gives {:x} for every row", fixture.key(), outputs[0][0]);
                opcodes += 1;
            }
        }
    }
    assert!(opcodes > 2000, "{opcodes}");
}

#[test]
fn a_change_of_the_fixtures_is_seen() {
    let committed = std::fs::read_to_string(folder().join("hashes.tsv")).expect("hashes of the fixtures");
    let command = "cargo run -p device --example semantics -- --write target/semantics";
    assert_eq!(committed, hashes(), "the PTX of a group is another one: see it, and its hash, with `{command}`");
}

#[test]
fn records_are_read_as_they_are_written() {
    let two: Vec<u64> = (0..ROWS as u64).map(|row| if row % 3 == 0 { 0xbeef } else { 7 }).collect();
    let many: Vec<u64> = (0..ROWS as u64).collect();
    let bits: Vec<u64> = (0..ROWS as u64).map(|row| (row / 5) & 1).collect();
    let random: Vec<u64> = (1..=ROWS as u64).map(|row| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).collect();
    for (values, width) in [(&two, 16), (&many, 32), (&many, 64), (&random, 32), (&bits, 1)] {
        assert_eq!(decode(&encode(values, width), width), *values);
    }
    assert!(encode(&two, 16).len() < 50, "two values take a bit a row");
    assert!(encode(&many, 64).len() < many.len() * 4, "what repeats is packed");
}
