//! Runs chapter 2: `cargo run --release -p ch02-divergence -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch02_divergence::CHAPTER)
}
