//! Runs chapter 11: `cargo run --release -p ch11-softmax -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch11_softmax::CHAPTER)
}
