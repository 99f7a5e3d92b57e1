//! The program as its users meet it: exit status, messages, and what is on disk afterwards.

use std::process::Command;

use crate::checkout::{Checkout, ends};

#[cfg(unix)]
impl Checkout {
    /// A python3 in `bin` that is this shell script.
    fn python3(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin/python3");
        std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Names of the files that `setup` left in target/.
fn target(checkout: &Checkout) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(checkout.path("target")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn bad_usage_is_status_2() {
    let checkout = Checkout::new();
    for args in
        [&["frobnicate"][..], &[], &["exercise", "--port", "80"], &["doctor", "x"], &["show"], &["show", "gone.json"]]
    {
        checkout.ends(2, args);
    }
    checkout.ends(2, &["tune"]);
    let [_, said] = checkout.ends(2, &["tune", "softmax", "--shapes", "1024"]);
    assert!(said.contains("expected rows and columns, such as 1024x65536"), "{said}");
}

#[test]
fn an_operation_without_teams_is_refused_before_a_gpu_is_asked_for() {
    let [_, said] = Checkout::new().ends(1, &["tune", "softmax", "sum"]);
    assert!(said.contains("sum: only these operations have teams to choose from: add_layer_norm, "), "{said}");
}

#[test]
fn a_folder_without_the_course_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
    command.arg("doctor").env("CARGO_MANIFEST_DIR", empty.path().join("crates/course"));
    let [_, said] = ends(1, &mut command);
    assert!(said.contains("is not the course: no book.toml there"), "{said}");
}

#[test]
fn doctor_is_content_with_nothing_installed() {
    let [said, _] = Checkout::new().ends(0, &["doctor"]);
    for missing in ["– pip", "– Chromium"] {
        assert!(said.contains(missing), "{said}");
    }
    assert!(said.contains("to get it: cargo course setup") || said.contains("✓ NVRTC"), "{said}");
}

#[test]
fn doctor_looks_at_this_machine() {
    let [said, _] = ends(0, Command::new(env!("CARGO_BIN_EXE_course")).arg("doctor"));
    for what in ["✓ Rust", "✓ simulator", " GPU ", " NVRTC ", " committed PTX ", " pip ", " Chromium "] {
        assert!(said.contains(what), "{what}: {said}");
    }
}

#[test]
fn setup_without_python_says_what_to_install() {
    let checkout = Checkout::new();
    let [_, said] = checkout.ends(1, &["setup"]);
    assert!(said.contains("python3 and pip were not found") && said.contains("apt install python3-pip"), "{said}");
    assert_eq!(target(&checkout), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn setup_without_pip_says_what_to_install() {
    let checkout = Checkout::new();
    checkout.python3("echo 'No module named pip' >&2; exit 1");
    let [_, said] = checkout.ends(1, &["setup"]);
    assert!(said.contains("python3 has no pip"), "{said}");
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
        let [_, said] = checkout.ends(1, &["setup"]);
        assert!(said.contains(reason), "{rest}: {said}");
        assert_eq!(target(&checkout), Vec::<String>::new(), "{rest}");
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
    let [said, _] = checkout.ends(1, &["setup"]);
    assert!(said.contains("of no use"), "{said}");
    assert_eq!(target(&checkout), ["nvrtc"]);
}

#[cfg(unix)]
#[test]
fn setup_replaces_a_broken_installation_and_then_finds_its_own() {
    let Some(real) = crate::checkout::installed() else { return };
    let checkout = Checkout::new();
    std::fs::create_dir_all(checkout.path("target/nvrtc")).unwrap();
    checkout.python3(&pip_that(&format!("rm -r nvidia; ln -s '{}/nvidia' nvidia; exit 0", real.display())));
    checkout.ends(0, &["setup"]);
    assert_eq!(target(&checkout), ["nvrtc"]);

    // The second time there is no pip to call any more.
    std::fs::remove_file(checkout.path("bin/python3")).unwrap();
    let [said, _] = checkout.ends(0, &["setup"]);
    assert!(said.contains("is already in target/nvrtc"), "{said}");
}

#[test]
fn ptx_without_kernels_or_compiler_is_an_error() {
    let [_, said] = Checkout::new().ends(1, &["ptx"]);
    assert!(said.contains("found no kernels/*.cu"), "{said}");
}
