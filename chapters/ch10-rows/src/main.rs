//! Runs chapter 10: `cargo run --release -p ch10-rows -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch10_rows::CHAPTER)
}
