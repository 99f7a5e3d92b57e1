//! Runs chapter 10: `cargo run --release -p ch10-rows -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch10_rows::CHAPTER)
}
