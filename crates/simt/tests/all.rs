//! The simulator from outside: fixtures, whole kernels, records of a GPU, the command, and what is made up by chance.
//! One program: every further one is linked, and takes its room, for itself.

mod access_oracle;
mod command_line;
mod determinism;
mod devices;
mod examples;
mod findings;
mod fixtures;
mod host;
mod instructions;
mod kernels;
mod litmus;
mod many_blocks;
mod mutations;
mod names;
mod overlap;
mod parting;
mod portable;
mod race;
#[allow(dead_code)] // each test needs a part of it
mod records;
#[allow(dead_code)] // each test needs a part of it
mod references;
mod refused;
mod report;
mod sanitizer;
mod semantics;
mod what_runs;
mod whole_kernels;

/// A file that is not named above would never run.
#[test]
fn every_file_is_a_module() {
    let named = include_str!("all.rs");
    let is_module = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|ext| ext == "rs") || host::folder().join(path).join("mod.rs").is_file()
    };
    for path in host::entries("").into_iter().filter(is_module) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(name == "all" || named.contains(&format!("mod {name};")), "tests/all.rs does not name {name}");
    }
}
