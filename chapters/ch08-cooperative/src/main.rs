//! Runs chapter 8: `cargo run --release -p ch08-cooperative -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch08_cooperative::CHAPTER)
}
