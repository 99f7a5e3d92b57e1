//! Runs chapter 13: `cargo run --release -p ch13-accuracy -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch13_accuracy::CHAPTER)
}
