//! The program as `cargo course book` and `cargo course gate` run it.

use std::process::{Command, Output};

/// Runs the program in a folder that looks like a checkout to it, so that nothing here touches the real one.
fn book(args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("crates/book")).unwrap();
    std::fs::write(dir.path().join("book.toml"), "[book]\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_book"));
    command.args(args).env("CARGO_MANIFEST_DIR", dir.path().join("crates/book")).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bad_usage_is_status_2() {
    for args in [
        &["book", "--port", "80"][..],
        &["book", "--serve", "--compile-seconds", "0"],
        &["gate", "--only", "nothing"],
        &["exercise"],
        &[],
    ] {
        assert_eq!(book(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_gate_that_finds_nothing_fails() {
    let output = book(&["gate", "--only", "rust-files", "--only", "includes", "--only", "links"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    for line in ["rust-files     FAIL", "includes       FAIL", "links          FAIL"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(stderr(&output).contains("3 checks failed"), "{}", stderr(&output));
}

#[test]
fn serving_on_a_busy_port_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = book(&["book", "--serve", "--port", &port]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&format!("port {port} is busy")), "{}", stderr(&output));
}

#[test]
fn a_text_of_a_page_is_compiled_or_the_way_to_a_compiler_is_told() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("crates/book")).unwrap();
    std::fs::write(dir.path().join("book.toml"), "[book]\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_book"));
    command.arg("compile-for-page").env("CARGO_MANIFEST_DIR", dir.path().join("crates/book"));
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    // An empty text has PTX without a kernel, where some other place of this machine has a compiler.
    assert!(told.contains("cargo course setup") || told.contains(".version"), "{told} {}", stderr(&output));
}
