//! A chapter's program as its readers run it, and files to feed it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::element::{Array, Type};
use crate::npy::numpy_name;
use crate::op::Op;
use crate::session::built_root;
use crate::{Chapter, Variant, with_elements};

use super::tried;

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

    /// Its output with `--json`.
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

    /// It refuses each of these command lines, with and without `--json`.
    ///
    /// # Panics
    /// If it does not.
    pub fn refuses_all(&self, cases: &[(&str, &[&str])]) {
        for (line, said) in cases {
            let args: Vec<&str> = line.split_whitespace().collect();
            self.refuses(&args, said);
            self.refuses(&[&args[..], &["--json"]].concat(), said);
        }
    }

    /// It runs all variants that have a type and an operation, for those that are [`tried`], and each is right, or wrong as announced.
    /// The result of nothing takes no launch, for each operation.
    ///
    /// # Panics
    /// If one is not.
    pub fn runs_everything(&self, chapter: &Chapter) {
        for &op in Op::ALL {
            let is_computed = |ty: &Type| chapter.variants.iter().any(|variant| variant.computes(op, *ty));
            for (i, ty) in tried(chapter.types().into_iter().filter(is_computed).collect()).into_iter().enumerate() {
                let able = chapter.variants.iter().filter(|variant| variant.computes(op, ty));
                let announced: Vec<_> = able.map(|variant| (variant.name, variant.announced)).collect();
                // Nothing is of no type: one has to do for all.
                for n in if i == 0 { ["100_003", "0"].as_slice() } else { &["100_003"] } {
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

    /// It runs, and rightly, each of the commands that the appendix *In the sources* names with a tick for this chapter: those
    /// that begin with `--op`, as they stand there.
    ///
    /// # Panics
    /// If one does not run, or if there is none.
    pub fn runs_what_the_sources_name(&self, chapter: &Chapter) {
        let path = built_root().join("book/src/in-the-sources.md");
        let page = std::fs::read_to_string(&path).expect("the appendix is there");
        let link = format!("]({}.md)*", chapter.slug);
        let section = page.split("\n## ").find(|section| section.contains(&link)).expect("a section of this chapter");
        let commands: Vec<&str> =
            section.split('`').skip(1).step_by(2).filter(|code| code.starts_with("--op ")).collect();
        assert!(!commands.is_empty(), "{} has none", chapter.slug);
        for command in commands {
            let args: Vec<&str> = command.split_whitespace().collect();
            let runs = self.runs(&[&args[..], &["--n", "1000"]].concat());
            let is_right = |run: &Value| run["ok"] == true || run["announced"].is_string();
            assert!(runs.iter().all(is_right), "{command}: {runs:#?}");
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

/// Output and status of a program.
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

/// A folder of `.npy` files for one test, which is removed with it.
#[derive(Debug)]
pub struct Files(PathBuf);

impl Files {
    /// An empty folder; `name` is the test's alone.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn new(name: &str) -> std::io::Result<Files> {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Files(folder))
    }

    /// Writes these bytes and returns the file's path.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn bytes(&self, name: &str, bytes: &[u8]) -> std::io::Result<String> {
        let path = self.0.join(name);
        std::fs::write(&path, bytes)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Writes `count` numbers 0, 1, 2, ... of a type and a shape and returns the file's path.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn counting(&self, name: &str, ty: Type, shape: &str, count: u8) -> std::io::Result<String> {
        let numbers: Vec<i64> = (0..count).map(i64::from).collect();
        self.numbers(name, ty, shape, &numbers)
    }

    /// Writes these numbers as a type that NumPy has too, and returns the file's path.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn numbers(&self, name: &str, ty: Type, shape: &str, numbers: &[i64]) -> std::io::Result<String> {
        let descr = numpy_name(ty).split('\'').nth(1).unwrap_or_default();
        let le = |x: i64| match ty {
            Type::U8 => (x as u8).to_le_bytes().to_vec(),
            Type::I32 => (x as i32).to_le_bytes().to_vec(),
            Type::F32 => (x as f32).to_le_bytes().to_vec(),
            Type::F64 => (x as f64).to_le_bytes().to_vec(),
            _ => x.to_le_bytes().to_vec(),
        };
        let data: Vec<u8> = numbers.iter().flat_map(|&x| le(x)).collect();
        self.bytes(name, &npy_bytes(descr, shape, &data))
    }

    /// Writes a matrix of float32 whose columns lie one behind the other, as Fortran has them, and returns the file's path.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn by_columns(&self, name: &str, shape: &str, count: u8) -> std::io::Result<String> {
        let path = self.counting(name, Type::F32, shape, count)?;
        let bytes = std::fs::read(&path)?;
        let (from, to) = (b"False,", b"True, ");
        let at = bytes.windows(from.len()).position(|part| part == from).unwrap_or(0);
        self.bytes(name, &[&bytes[..at], to, &bytes[at + from.len()..]].concat())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // what is left lies among temporary files
    }
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
