//! Runs chapter 3: `cargo run --release -p ch03-sequential -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch03_sequential::CHAPTER)
}
