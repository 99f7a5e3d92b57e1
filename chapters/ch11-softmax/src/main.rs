//! Runs chapter 11: `cargo run --release -p ch11-softmax -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch11_softmax::CHAPTER)
}
