//! Runs chapter 9: `cargo run --release -p ch09-operators -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch09_operators::CHAPTER)
}
