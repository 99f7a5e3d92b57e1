//! Runs chapter 13: `cargo run --release -p ch13-accuracy -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch13_accuracy::CHAPTER)
}
