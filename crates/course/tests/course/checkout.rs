//! A folder that looks like a checkout to the program, so that nothing here touches the real one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The real one.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Its compiler, if `setup` has installed one.
#[cfg(unix)]
pub fn installed() -> Option<PathBuf> {
    let folder = repository().join("target/nvrtc");
    if !folder.join("nvidia").is_dir() {
        println!("skipped: no NVRTC in target/nvrtc (cargo course setup installs it)");
        return None;
    }
    Some(folder.canonicalize().unwrap())
}

/// The folder, which is removed in the end.
pub struct Checkout {
    dir: tempfile::TempDir,
}

impl Checkout {
    /// A checkout without a chapter.
    pub fn new() -> Checkout {
        let checkout = Checkout { dir: tempfile::tempdir().unwrap() };
        for (name, text) in [("book.toml", "[book]\n"), ("crates/course/Cargo.toml", ""), ("bin/empty", "")] {
            checkout.write(name, text);
        }
        checkout
    }

    /// Path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes a file, and makes its folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    /// `cargo course` here, on a machine whose search path is `bin` alone.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
        command.args(args).env("CARGO_MANIFEST_DIR", self.path("crates/course")).env("PATH", self.path("bin"));
        command.env_remove("CHROME").env_remove("CUDA_PATH").env_remove("CUDA_HOME");
        command
    }

    /// Runs it, and expects this status. Returns standard output and standard error.
    #[track_caller]
    pub fn ends(&self, status: i32, args: &[&str]) -> [String; 2] {
        ends(status, &mut self.command(args))
    }
}

/// Runs a command, and expects this status. Returns standard output and standard error.
#[track_caller]
pub fn ends(status: i32, command: &mut Command) -> [String; 2] {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert_eq!(output.status.code(), Some(status), "{command:?}: {said:?}");
    said
}
