//! A chapter's program as its readers run it, and files to feed it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::element::Array;
use crate::op::Op;
use crate::session::built_root;
use crate::{Chapter, Variant, with_elements};

/// The program of a chapter. It is run on the simulator, with the kernels of the tree that it was built from.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its file.
    pub exe: &'static str,
}

impl Program {
    /// Runs it with these words.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self, args: &[&str]) -> Ended {
        program(self.exe, &built_root(), &[&["--device", "sim"], args].concat()).expect("the program starts")
    }

    /// It ends with status 0 and prints all of `said`, wherever its lines end.
    ///
    /// # Panics
    /// If it does not.
    pub fn says(&self, args: &[&str], said: &[&str]) {
        let ended = self.run(args);
        assert_eq!(ended.status, 0, "{args:?}: {}{}", ended.out, ended.err);
        let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in said {
            assert!(text.contains(words), "{args:?}: {words:?} is not in:\n{}", ended.out);
        }
    }

    /// What it prints with `--json`.
    ///
    /// # Panics
    /// If it ends with another status than 0, or prints no JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let ended = self.run(&[args, &["--json"]].concat());
        assert_eq!(ended.status, 0, "{args:?}: {}{}", ended.out, ended.err);
        serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ended.out))
    }

    /// The runs that it prints with `--json`.
    ///
    /// # Panics
    /// As [`Program::json`], or if there is none.
    pub fn runs(&self, args: &[&str]) -> Vec<Value> {
        let runs = self.json(args)["runs"].as_array().cloned().unwrap_or_default();
        assert!(!runs.is_empty(), "{args:?}: nothing ran");
        runs
    }

    /// It refuses these words: status 2, nothing on standard output, and one message with all of `said`.
    ///
    /// # Panics
    /// If it does not.
    pub fn refuses(&self, args: &[&str], said: &[&str]) {
        self.run(args).assert_refused(args, said);
    }

    /// It runs all variants that have a type and an operation, for each of those, and each is right, or wrong as announced.
    /// The result of nothing takes no launch.
    ///
    /// # Panics
    /// If one is not.
    pub fn runs_everything(&self, chapter: &Chapter) {
        for ty in chapter.types() {
            for &op in Op::all() {
                let able = chapter.variants.iter().filter(|variant| variant.computes(op, ty));
                let announced: Vec<_> = able.map(|variant| (variant.name, variant.announced)).collect();
                for n in if announced.is_empty() { [].as_slice() } else { &["100_003", "0"] } {
                    let runs = self.runs(&["--n", n, "--type", ty.name(), "--op", op.name()]);
                    assert_eq!(runs.len(), announced.len(), "{ty} {op} n = {n}: {runs:#?}");
                    for (run, (name, announced)) in runs.iter().zip(&announced) {
                        let is_right = announced.is_none() || *n == "0";
                        let code = announced.map_or(Value::Null, |code| code.name().into());
                        assert_eq!((&run["variant"], &run["op"]), (&(*name).into(), &op.name().into()), "{run:#}");
                        assert_eq!((&run["ok"], &run["announced"]), (&is_right.into(), &code), "{run:#}");
                        assert_eq!(run["launches"] == 0, *n == "0", "{run:#}");
                    }
                }
            }
        }
    }

    /// It refuses blocks that are no power of two, or out of the range that a variant documents, and a grid of none.
    ///
    /// # Panics
    /// If it does not.
    pub fn refuses_other_blocks(&self, chapter: &Chapter) {
        for Variant { name, blocks, .. } in chapter.variants {
            for block in [0, blocks.min / 2, blocks.min + 1, 2 * blocks.max] {
                let said = [format!("--block {block}"), format!("{name} takes {blocks}")];
                let args = ["--variant", name, "--block", &block.to_string()];
                self.refuses(&args, &said.each_ref().map(String::as_str));
            }
            self.refuses(&["--variant", name, "--grid", "0"], &["--grid 0", "one block at least"]);
        }
    }
}

/// What a program did.
#[derive(Debug)]
pub struct Ended {
    /// Exit status; -1 if a signal ended it.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ended {
    /// The program refused: status 2, nothing on standard output, and one message with all of these words.
    ///
    /// # Panics
    /// If it did not.
    pub fn assert_refused(&self, args: &[&str], words: &[&str]) {
        assert_eq!((self.status, self.out.as_str()), (2, ""), "{args:?}: {}", self.err);
        for word in words {
            assert!(self.err.contains(word), "{args:?}: {:?} lacks {word:?}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}

/// Runs a chapter's program in `folder` with these words, and waits.
///
/// # Errors
/// A program that cannot be started.
pub fn program(exe: &str, folder: &Path, args: &[&str]) -> std::io::Result<Ended> {
    ended(Command::new(exe).args(args).current_dir(folder))
}

/// Runs a command and waits.
///
/// # Errors
/// A command that cannot be started.
pub fn ended(command: &mut Command) -> std::io::Result<Ended> {
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended { status: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) })
}

/// The bytes of a `.npy` file with this header, as NumPy pads it, and these numbers.
pub fn npy_bytes(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let padded = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.as_bytes());
    bytes.extend(data);
    bytes
}

/// Little-endian bytes of the numbers of an array.
pub fn le_bytes(array: &Array) -> Vec<u8> {
    with_elements!(array, values => values.iter().flat_map(|x| x.to_le_bytes()).collect())
}
