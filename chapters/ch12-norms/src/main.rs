//! Runs chapter 12: `cargo run --release -p ch12-norms -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch12_norms::CHAPTER)
}
