//! Runs chapter 7: `cargo run --release -p ch07-coarsening -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::main(&ch07_coarsening::CHAPTER)
}
