//! Runs chapter 1: `cargo run --release -p ch01-naive -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch01_naive::CHAPTER)
}
