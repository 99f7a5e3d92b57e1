//! Runs chapter 12: `cargo run --release -p ch12-norms -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch12_norms::CHAPTER)
}
