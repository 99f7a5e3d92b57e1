//! The examples run, and what they assert holds.

#[path = "../examples/02-count.rs"]
mod count;
#[path = "../examples/03-find.rs"]
mod find;
#[path = "../examples/05-link.rs"]
mod link;
#[path = "../examples/01-run.rs"]
mod run;
#[path = "../examples/04-schedules.rs"]
mod schedules;

#[test]
fn every_example_runs() {
    let examples = [run::main, count::main, find::main, schedules::main, link::main];
    for (number, example) in examples.iter().enumerate() {
        example().unwrap_or_else(|error| panic!("example {}: {error}", number + 1));
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples")).expect("the folder of examples");
    assert_eq!(files.count(), examples.len(), "an example is missing above");
}
