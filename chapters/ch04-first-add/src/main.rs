//! Runs chapter 4: `cargo run --release -p ch04-first-add -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch04_first_add::CHAPTER)
}
