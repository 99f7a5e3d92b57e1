//! The `cargo course` command.
fn main() {}
