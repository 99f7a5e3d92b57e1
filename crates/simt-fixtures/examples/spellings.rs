//! Prints every spelling of the table of instructions, for `scripts/what_runs.py`: the shape's pattern and operands and the
//! instruction, with tabs between. With the argument `file`, the file around them, where `{version}`, `{target}` and `{lines}` stand.

use simt_fixtures::spellings::{all, file};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("file") => print!("{}", file("{version}", "{target}", "{lines}")),
        _ => all().iter().for_each(|one| println!("{}\t{}\t{}", one.of, one.operands, one.line)),
    }
}
