//! The program as its users meet it: exit status, messages, and what is on disk afterwards.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that looks like a checkout to the program, so that nothing here touches the real one.
struct Checkout {
    dir: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Checkout {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("book.toml", "[book]\n"), ("crates/course/Cargo.toml", ""), ("bin/empty", "")] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Checkout { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `cargo course` here on a machine whose search path is `bin` alone.
    fn course(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_course"))
            .args(args)
            .env("CARGO_MANIFEST_DIR", self.path("crates/course"))
            .env("PATH", self.path("bin"))
            .env_remove("CHROME")
            .env_remove("CUDA_PATH")
            .env_remove("CUDA_HOME")
            .output()
            .unwrap()
    }

    /// A python3 in `bin` that is this shell script.
    #[cfg(unix)]
    fn python3(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin/python3");
        std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Names of the files that `setup` left in target/.
    fn target(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path("target")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn bad_usage_is_status_2() {
    let checkout = Checkout::new();
    for args in
        [&["frobnicate"][..], &[], &["exercise", "--port", "80"], &["doctor", "x"], &["show"], &["show", "gone.json"]]
    {
        assert_eq!(checkout.course(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_folder_without_the_course_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_course"))
        .arg("doctor")
        .env("CARGO_MANIFEST_DIR", empty.path().join("crates/course"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is not the course: no book.toml there"), "{}", stderr(&output));
}

#[test]
fn doctor_is_content_with_nothing_installed() {
    let checkout = Checkout::new();
    let output = checkout.course(&["doctor"]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    for missing in ["– pip", "– Chromium"] {
        assert!(said.contains(missing), "{said}");
    }
    assert!(said.contains("to get it: cargo course setup") || said.contains("✓ NVRTC"), "{said}");
}

#[test]
fn doctor_looks_at_this_machine() {
    let output = Command::new(env!("CARGO_BIN_EXE_course")).arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for what in ["✓ Rust", "✓ simulator", " GPU ", " NVRTC ", " committed PTX ", " pip ", " Chromium "] {
        assert!(said.contains(what), "{what}: {said}");
    }
}

#[test]
fn setup_without_python_says_what_to_install() {
    let checkout = Checkout::new();
    let output = checkout.course(&["setup"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("python3 and pip were not found"), "{}", stderr(&output));
    assert!(stderr(&output).contains("apt install python3-pip"), "{}", stderr(&output));
    assert_eq!(checkout.target(), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn setup_without_pip_says_what_to_install() {
    let checkout = Checkout::new();
    checkout.python3("echo 'No module named pip' >&2; exit 1");
    let output = checkout.course(&["setup"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("python3 has no pip"), "{}", stderr(&output));
}

/// A pip that makes its target folder, as the real one does, and then runs `rest` there.
#[cfg(unix)]
fn pip_that(rest: &str) -> String {
    format!(
        "[ \"$3\" = --version ] && exit 0\n\
         while [ \"$1\" != --target ]; do shift; done\n\
         mkdir -p \"$2/nvidia/cuda_nvrtc/lib\"; cd \"$2\"\n{rest}"
    )
}

#[cfg(unix)]
#[test]
fn setup_that_fails_explains_itself_and_leaves_nothing() {
    for (rest, reason) in [
        ("echo 'WARNING: Retrying (Retry(total=1)) after connection broken' >&2; exit 1", "check the network"),
        ("echo 'ERROR: No matching distribution found for nvidia-x' >&2; exit 1", "no package of this compiler"),
        ("echo 'OSError: [Errno 28] No space left on device' >&2; exit 1", "the disk is full"),
        ("echo 'something else' >&2; exit 1", "pip failed\nsomething else"),
        ("echo junk > nvidia/cuda_nvrtc/lib/libnvrtc.so.12; exit 0", "were installed, but do not work here"),
        ("exit 0", "were installed, but do not work here"),
    ] {
        let checkout = Checkout::new();
        std::fs::create_dir_all(checkout.path("target/nvrtc.partial-1")).unwrap();
        checkout.python3(&pip_that(rest));
        let output = checkout.course(&["setup"]);
        assert_eq!(output.status.code(), Some(1), "{rest}");
        assert!(stderr(&output).contains(reason), "{rest}: {}", stderr(&output));
        assert_eq!(checkout.target(), Vec::<String>::new(), "{rest}");
    }
}

#[cfg(unix)]
#[test]
fn setup_keeps_a_broken_installation_until_it_has_a_better_one() {
    let checkout = Checkout::new();
    let broken = checkout.path("target/nvrtc/nvidia/cuda_nvrtc/lib");
    std::fs::create_dir_all(&broken).unwrap();
    std::fs::write(broken.join("libnvrtc.so.12"), "cut off").unwrap();
    checkout.python3(&pip_that("exit 1"));
    let output = checkout.course(&["setup"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("of no use"), "{}", stdout(&output));
    assert_eq!(checkout.target(), ["nvrtc"]);
}

/// The real installation of this checkout, if there is one.
#[cfg(unix)]
fn installed() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/nvrtc");
    if !folder.join("nvidia").is_dir() {
        println!("skipped: no NVRTC in target/nvrtc (cargo course setup installs it)");
        return None;
    }
    Some(folder.canonicalize().unwrap())
}

#[cfg(unix)]
#[test]
fn setup_replaces_a_broken_installation_and_then_finds_its_own() {
    let Some(real) = installed() else { return };
    let checkout = Checkout::new();
    std::fs::create_dir_all(checkout.path("target/nvrtc")).unwrap();
    checkout.python3(&pip_that(&format!("rm -r nvidia; ln -s '{}/nvidia' nvidia; exit 0", real.display())));
    let first = checkout.course(&["setup"]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert_eq!(checkout.target(), ["nvrtc"]);

    // The second time there is no pip to call any more.
    std::fs::remove_file(checkout.path("bin/python3")).unwrap();
    let second = checkout.course(&["setup"]);
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    assert!(stdout(&second).contains("is already in target/nvrtc"), "{}", stdout(&second));
}

#[test]
fn ptx_without_kernels_or_compiler_is_an_error() {
    let checkout = Checkout::new();
    let output = checkout.course(&["ptx"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("found no kernels/*.cu"), "{}", stderr(&output));
}
