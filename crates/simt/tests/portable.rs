//! The library asks nothing of its host: no files, no clock, no environment, no output, and threads in one place, behind a
//! feature. (`cargo build -p simt --no-default-features --lib --target wasm32-unknown-unknown` builds it where there is
//! none of that.)

use std::path::{Path, PathBuf};

/// Modules of the standard library that a browser does not have.
const OF_THE_HOST: [&str; 12] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::time",
    "std::os",
    "Instant",
    "SystemTime",
    "println!",
    "eprint",
    "std::io",
    "std::thread",
];

/// The one file with threads.
const HOST: &str = "src/exec/host.rs";

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_libraries_use_nothing_of_the_host() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut files, mut threads) = (Vec::new(), 0);
    rust_files(&root.join("src"), &mut files);
    rust_files(&root.join("../ptx/src"), &mut files);
    // The command is behind a feature.
    files.retain(|file| !["src/bin", "src/command"].iter().any(|host| file.starts_with(root.join(host))));
    assert!(files.len() > 60, "{} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (line, used) in code.flat_map(|line| OF_THE_HOST.iter().map(move |word| (line, word))) {
            if !line.contains(used) {
                continue;
            }
            assert!(*used == "std::thread" && file.ends_with(HOST), "{}: {}", file.display(), line.trim());
            threads += 1;
        }
    }
    assert!(threads > 0, "{HOST} has no threads: look where they went");
}

#[test]
fn each_use_of_threads_is_behind_the_feature() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(HOST);
    let text = std::fs::read_to_string(path).expect("the file is there");
    // An item or a statement, from the attribute to its end.
    for (at, _) in text.match_indices("std::thread") {
        let before = text[..at].rfind("#[cfg(").map(|start| &text[start..at]);
        assert!(before.is_some_and(|before| before.starts_with("#[cfg(feature = \"threads\")]")), "{before:?}");
    }
}
