//! Runs chapter 8: `cargo run --release -p ch08-cooperative -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch08_cooperative::CHAPTER)
}
