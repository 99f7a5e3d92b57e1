//! Runs chapter 6: `cargo run --release -p ch06-templates -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch06_templates::CHAPTER)
}
