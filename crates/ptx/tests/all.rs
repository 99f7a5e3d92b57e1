//! The parser from outside.
//! One program: every further one is linked, and takes its room, for itself.

mod errors;
#[allow(dead_code)] // each test needs a part of it
mod fixtures;
mod parse;
mod robust;

/// A file that is not named above would never run.
#[test]
fn every_file_is_a_module() {
    let named = include_str!("all.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let entries = std::fs::read_dir(folder).expect("tests can be listed").map(|entry| entry.expect("an entry").path());
    let is_module =
        |path: &std::path::PathBuf| path.extension().is_some_and(|ext| ext == "rs") || path.join("mod.rs").is_file();
    for path in entries.filter(is_module) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(name == "all" || named.contains(&format!("mod {name};")), "tests/all.rs does not name {name}");
    }
}
