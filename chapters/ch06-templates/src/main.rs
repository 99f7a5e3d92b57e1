//! Runs chapter 6: `cargo run --release -p ch06-templates -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch06_templates::CHAPTER)
}
