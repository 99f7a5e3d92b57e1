//! Runs chapter 9: `cargo run --release -p ch09-operators -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch09_operators::CHAPTER)
}
