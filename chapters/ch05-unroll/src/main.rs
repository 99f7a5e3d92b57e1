//! Runs chapter 5: `cargo run --release -p ch05-unroll -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch05_unroll::CHAPTER)
}
