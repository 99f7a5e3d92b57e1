//! Runs chapter 1: `cargo run --release -p ch01-naive -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch01_naive::CHAPTER)
}
