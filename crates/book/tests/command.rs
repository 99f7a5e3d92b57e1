//! The program as `cargo course book` and `cargo course gate` run it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs the program in a folder that looks like a checkout to it, so that nothing here touches the real one.
fn book(args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("crates/book")).unwrap();
    std::fs::write(dir.path().join("book.toml"), "[book]\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_book"));
    command.args(args).env("CARGO_MANIFEST_DIR", dir.path().join("crates/book")).stdin(Stdio::null()).output().unwrap()
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

/// Processor time that a process has taken, or `None` where the system does not say it as Linux does.
fn processor_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold blanks: fields 14 and 15 of the whole, in ticks of 10 ms.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

#[test]
fn an_idle_server_takes_less_than_a_hundredth_of_a_core() {
    const IDLE: Duration = Duration::from_secs(4);
    if processor_time(std::process::id()).is_none() {
        println!("skipped: this system has no /proc/PID/stat to read processor time from");
        return;
    }
    // A book of as many pages as the course has, and files that they include.
    let dir = tempfile::tempdir().unwrap();
    for folder in ["crates/book", "book/src/generated", "kernels"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let config = "[book]\nsrc = \"book/src\"\n[build]\nbuild-dir = \"target/book\"\n";
    std::fs::write(dir.path().join("book.toml"), config).unwrap();
    let mut summary = String::from("# Summary\n\n");
    for page in 0..40 {
        let mut text = format!("# Page {page}\n\n");
        for part in 0..10 {
            text += &format!("{{{{#include generated/{page}-{part}.md}}}}\n");
            let table = "| a row | of a table | of counters |\n".repeat(100);
            std::fs::write(dir.path().join(format!("book/src/generated/{page}-{part}.md")), table).unwrap();
        }
        text += "```\n{{#include ../../kernels/k.cu:kernel}}\n```\n";
        std::fs::write(dir.path().join(format!("book/src/{page}.md")), text).unwrap();
        summary += &format!("- [Page {page}]({page}.md)\n");
    }
    std::fs::write(dir.path().join("book/src/SUMMARY.md"), summary).unwrap();
    let kernel = format!("// ANCHOR: kernel\n{}// ANCHOR_END: kernel\n", "sums[tid] += sums[tid + s];\n".repeat(500));
    std::fs::write(dir.path().join("kernels/k.cu"), kernel).unwrap();

    let mut command = Command::new(env!("CARGO_BIN_EXE_book"));
    command.args(["book", "--serve", "--port", "0"]).env("CARGO_MANIFEST_DIR", dir.path().join("crates/book"));
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    // Held to the end: a server that cannot print ends.
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let heard: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("serving")).collect();
    std::thread::sleep(Duration::from_millis(500));
    let before = processor_time(server.id());
    std::thread::sleep(IDLE);
    let after = processor_time(server.id());
    server.kill().unwrap();
    server.wait().unwrap();
    let taken = after.unwrap() - before.unwrap();
    assert!(heard.iter().any(|line| line.starts_with("built 40 pages")), "{heard:?}");
    assert!(taken * 100 < IDLE, "{taken:?} in {IDLE:?} without a request");
}

#[test]
fn a_text_of_a_page_is_compiled_or_the_way_to_a_compiler_is_shown() {
    let output = book(&["compile-for-page"]);
    let answer = String::from_utf8_lossy(&output.stdout);
    // An empty text has PTX without a kernel, where some other place of this machine has a compiler.
    assert!(answer.contains("cargo course setup") || answer.contains(".version"), "{answer} {}", stderr(&output));
}
