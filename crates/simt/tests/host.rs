//! The host's side of the tests: files of this folder, runs of the command, kernels, and memory of 32-bit words.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use simt::{Kernel, Memory, Options, Program, Schedule};

/// Lanes apart, in the order without a seed.
pub const UNSEEDED: Schedule = Schedule::Independent { seed: None };

/// Options of a run under this schedule, with a trace of the first blocks.
pub fn under(schedule: Schedule) -> Options {
    let trace = Some(simt::trace::Options { blocks: 20, ..Default::default() });
    Options { schedule, trace, ..Options::default() }
}

/// The folder of the tests.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file, by its path from the folder of the tests on.
pub fn read(file: impl AsRef<Path>) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files and folders in the folder `within`, sorted, as paths from the folder of the tests on.
pub fn entries(within: impl AsRef<Path>) -> Vec<PathBuf> {
    let within = within.as_ref();
    let entries = std::fs::read_dir(folder().join(within)).unwrap_or_else(|e| panic!("{}: {e}", within.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| within.join(entry.unwrap().file_name())).collect();
    entries.sort();
    entries
}

/// The entries whose names end in `.extension`.
pub fn files(within: impl AsRef<Path>, extension: &str) -> Vec<PathBuf> {
    let mut files = entries(within);
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files
}

/// The `simt` command, in the folder of the tests, so that reports hold no path of this machine.
pub fn simt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simt-command"));
    command.current_dir(folder());
    command
}

/// Runs `command` with `--json`; the object that it prints, and its exit status.
pub fn object(command: &mut Command) -> (Value, Option<i32>) {
    let output = command.arg("--json").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let object = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{command:?}: {error}"));
    (object, output.status.code())
}

/// A kernel of a PTX file.
pub fn kernel(file: &str, text: &str, name: &str) -> Kernel {
    Program::load(file, text).and_then(|program| program.kernel(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// The address of a new buffer that holds these words.
pub fn buffer(memory: &mut Memory, name: &str, words: &[u32]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let address = memory.alloc(name, bytes.len() as u64, 4).expect("room for it");
    memory.write(address, &bytes).expect("the buffer was made for it");
    address
}

/// The first words of a buffer.
pub fn words(memory: &Memory, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    memory.read(address, &mut bytes).expect("the buffer is there");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Element `i` of a buffer filled with `hash8`.
pub fn hash8(i: u32) -> u32 {
    i.wrapping_mul(2_654_435_761) >> 24
}
