//! Runs chapter 14: `cargo run --release -p ch14-all-reduce -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::finish(ch14_all_reduce::execute(std::env::args_os()))
}
