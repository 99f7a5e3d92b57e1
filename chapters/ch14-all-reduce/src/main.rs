//! Runs chapter 14: `cargo run --release -p ch14-all-reduce -- --help`.

fn main() -> std::process::ExitCode {
    lab::finish(ch14_all_reduce::execute(std::env::args_os()))
}
