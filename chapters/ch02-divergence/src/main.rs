//! Runs chapter 2: `cargo run --release -p ch02-divergence -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch02_divergence::CHAPTER)
}
