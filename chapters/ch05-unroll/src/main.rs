//! Runs chapter 5: `cargo run --release -p ch05-unroll -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch05_unroll::CHAPTER)
}
