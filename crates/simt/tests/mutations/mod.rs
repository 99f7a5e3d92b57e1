//! Fixtures changed at random, parsed and, if they still are PTX, run: whatever the text, that ends with an outcome or an
//! error, and never with a panic.
//!
//! Always the same ten thousand texts. `FUZZ_EXECUTIONS=10000000` runs as many, `FUZZ_FIRST=N` starts at another; where
//! one is found that panics, the message says how to run it alone. `fuzz/` has the same for cargo-fuzz, which learns from
//! what a text reaches; the texts that it kept, each for something that no other reaches, run here too.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use simt_fixtures::harness::{self, Reached};
use simt_fixtures::mutate::{Bits, mutated};

use crate::host;

/// Texts of a run when nothing else is asked for.
const EXECUTIONS: u64 = 10_000;
/// Fixtures longer than this are slow to change by chance in a place that matters.
const TEXT_BYTES: usize = 16 << 10;

/// The fixtures of this crate and of the parser, sorted.
fn fixtures() -> Vec<String> {
    let [errors, parse, gpu, pass] =
        ["../../ptx/tests/errors", "../../ptx/tests/parse", "gpu", "pass"].map(PathBuf::from);
    let folders = [vec![errors, parse], host::entries("fail"), vec![gpu, pass]].concat();
    let texts = folders.iter().flat_map(|folder| host::files(folder, "ptx")).map(host::read);
    texts.filter(|text| text.len() <= TEXT_BYTES).collect()
}

/// The files of `fuzz/corpus/{target}`, sorted. They need not be text.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let files = host::entries(format!("../../../fuzz/corpus/{target}"));
    assert!(files.len() > 100, "fuzz/corpus/{target}: {} files", files.len());
    let bytes = |path: &PathBuf| std::fs::read(host::folder().join(path)).expect("it can be read");
    files.into_iter().map(|path| (path.clone(), bytes(&path))).collect()
}

/// Stages that the files of a target's corpus reach, with their numbers.
fn replayed(target: &str, run: impl Fn(&str, &[u8]) -> Reached) -> BTreeMap<Reached, usize> {
    let mut reached = BTreeMap::new();
    for (path, bytes) in corpus(target) {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&String::from_utf8_lossy(&bytes), &bytes)));
        *reached.entry(outcome.unwrap_or_else(|_| panic!("{} panics", path.display()))).or_default() += 1;
    }
    println!("{target}: {reached:?}");
    reached
}

#[test]
fn the_corpus_of_the_fuzz_targets_ends_with_an_outcome_or_an_error() {
    let parsed = replayed("parse", |text, _| harness::parse(text));
    assert!(parsed.contains_key(&Reached::Nothing) && parsed.contains_key(&Reached::Parsed), "{parsed:?}");
    let executed = replayed("execute", |text, bytes| harness::execute(text, harness::choice(bytes)));
    let (launched, all) = (executed.get(&Reached::Launched).copied().unwrap_or(0), executed.values().sum::<usize>());
    assert!(launched > all / 3, "{executed:?}");
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a whole number, not {text}")))
}

#[test]
fn mutated_fixtures_end_with_an_outcome_or_an_error() {
    let texts = fixtures();
    assert!(texts.len() > 100, "{} fixtures", texts.len());
    let (first, count) = (number_from("FUZZ_FIRST").unwrap_or(0), number_from("FUZZ_EXECUTIONS"));
    let mut reached = BTreeMap::<Reached, u64>::new();
    for at in first..first + count.unwrap_or(EXECUTIONS) {
        let mut bits = Bits::of(at);
        let text = mutated(&texts, &mut bits);
        let choice = bits.word();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            harness::parse(&text);
            harness::execute(&text, choice)
        }));
        let Ok(outcome) = outcome else {
            panic!("a text panics: FUZZ_FIRST={at} FUZZ_EXECUTIONS=1 runs it alone\n{text}");
        };
        *reached.entry(outcome).or_default() += 1;
        if count.is_some() && at % 100_000 == 99_999 {
            println!("{} texts: {reached:?}", at + 1 - first);
        }
    }
    println!("{reached:?}");
    // A test that changes texts so that none of them runs tests nothing but the parser.
    let launched = reached.get(&Reached::Launched).copied().unwrap_or(0);
    assert!(count.is_some() || launched > EXECUTIONS / 10, "{reached:?}");
}
