//! Runs chapter 4: `cargo run --release -p ch04-first-add -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch04_first_add::CHAPTER)
}
