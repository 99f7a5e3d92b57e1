//! Distance of the card from the simulator where an instruction is approximate. The simulator gives the correctly rounded
//! value, so that this is the card's error. `approx-errors.json` holds it for the book's appendix; with `BLESS=1` in the
//! environment the test writes it anew.

use serde_json::{Value, json};

use super::bounds::{Distance, distances, is_coarse, measures, words};
use super::{folder, read_record, simulate};
use simt::Program;
use simt_fixtures::semantics::fixture::{Fixture, Kernel, decode, groups};

const FILE: &str = "approx-errors.json";

/// The largest distances over the rows of one opcode.
fn error(kernel: &Kernel, fixture: &Fixture, at: usize, output: &[u64], recorded: &str) -> Option<Value> {
    let bound = words(&fixture.opcode)?;
    let theirs = decode(recorded, fixture.outputs()[0]);
    let ours = kernel.outputs_of(at, output).swap_remove(0);
    let equal = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours == theirs).count();
    let pairs = ours.iter().zip(&theirs);
    let all: Vec<Distance> = pairs.flat_map(|(&ours, &theirs)| distances(fixture, ours, theirs)).collect();
    let (in_ulps, in_absolute_terms) = measures(&fixture.opcode);
    // If both say something, each does so on its side of 1.
    let sides = in_ulps && in_absolute_terms;
    let large = all.iter().filter(|distance| !sides || distance.magnitude >= 1.0);
    let small = all.iter().filter(|distance| !sides || distance.magnitude < 1.0);
    let ulps = large.map(|distance| distance.ulps).max().unwrap_or(0);
    let unit = if is_coarse(&fixture.opcode) { 2f64.powi(32) } else { 1.0 };
    let absolute = small.filter_map(|distance| distance.absolute).fold(0.0, f64::max);
    Some(json!({
        "opcode": fixture.opcode,
        "rows": ours.len(),
        "equal": equal,
        "ulps": in_ulps.then_some(ulps as f64 / unit),
        "absolute": in_absolute_terms.then_some(absolute),
        "bound": bound,
    }))
}

/// The file's text, from the records of the groups of approximate instructions; `None` if one is missing.
fn text() -> Option<String> {
    let mut errors = Vec::new();
    let mut made = json!({});
    for group in groups().into_iter().filter(|group| group.name.starts_with("approx")) {
        let record = read_record(&group)?;
        let file = std::fs::read_to_string(folder().join(format!("{}.h200.json", group.name))).ok()?;
        let file: Value = serde_json::from_str(&file).expect("a record is JSON");
        for key in ["device", "driver", "date"] {
            made[key] = file[key].clone();
        }
        let program = Program::load(group.name, &group.ptx()).expect("the fixtures are PTX");
        for kernel in &group.kernels {
            let output = simulate(&program, kernel);
            let of_fixture = |(at, fixture): (usize, &Fixture)| {
                let (_, recorded) = record.get(&fixture.key())?;
                error(kernel, fixture, at, &output, recorded.split('|').next()?)
            };
            errors.extend(kernel.fixtures.iter().enumerate().filter_map(of_fixture));
        }
    }
    made["errors"] = errors.into();
    Some(serde_json::to_string_pretty(&made).expect("it is JSON") + "\n")
}

#[test]
fn the_errors_of_approximate_instructions_are_written_down() {
    let Some(text) = text() else {
        println!("skipped: no record of an H200 for the approximate instructions");
        return;
    };
    let path = folder().join(FILE);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the folder can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{}: write it with `BLESS=1 cargo test -p simt-tests semantics`", path.display());
}
