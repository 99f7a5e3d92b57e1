//! Runs chapter 7: `cargo run --release -p ch07-coarsening -- --help`.

fn main() -> std::process::ExitCode {
    lab::main(&ch07_coarsening::CHAPTER)
}
