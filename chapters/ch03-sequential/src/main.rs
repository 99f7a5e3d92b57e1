//! Runs chapter 3: `cargo run --release -p ch03-sequential -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch03_sequential::CHAPTER)
}
