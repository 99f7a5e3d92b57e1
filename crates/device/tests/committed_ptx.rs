//! The committed PTX is what the pinned NVRTC makes of the kernels: byte for byte, on any machine.
//!
//! `BLESS=1 cargo test -p device --test committed_ptx` rewrites it.

use std::path::{Path, PathBuf};

use device::nvrtc::{Nvrtc, Place, pinned};
use device::{KernelSource, Stamp, compile_committed, source_sha256};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn lessons() -> Vec<KernelSource> {
    let kernels = root().join("kernels").canonicalize().expect("kernels is a folder");
    let mut files: Vec<PathBuf> = std::fs::read_dir(kernels)
        .expect("kernels can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "kernels holds no .cu file");
    let slugs = files.iter().map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned());
    slugs.map(|slug| KernelSource::find_from(root(), &slug, root()).expect("the lesson's files")).collect()
}

/// The NVRTC that `cargo course setup` installed, else nothing, with the reason printed.
fn pinned_nvrtc() -> Option<Nvrtc> {
    match Nvrtc::find_in(&[Place::Wheels(root().join(pinned::FOLDER))]) {
        Ok(nvrtc) => Some(nvrtc),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

#[test]
fn every_kernel_has_ptx_made_from_it() {
    for lesson in lessons() {
        if std::env::var_os("BLESS").is_some() {
            let nvrtc = pinned_nvrtc().expect("BLESS needs the pinned NVRTC");
            let ptx = compile_committed(&nvrtc, &lesson).expect("the kernel compiles");
            std::fs::create_dir_all(lesson.ptx.parent().expect("a folder")).expect("kernels/ptx");
            std::fs::write(&lesson.ptx, ptx).expect("the PTX can be written");
        }
        let ptx = std::fs::read_to_string(&lesson.ptx).unwrap_or_else(|error| panic!("{}: {error}", lesson.ptx_name()));
        let stamp = Stamp::parse(&ptx).unwrap_or_else(|| panic!("{} has no stamp", lesson.ptx_name()));
        let source = source_sha256(&lesson.read_cu().expect("the .cu can be read"));
        assert_eq!(stamp.source_sha256, source, "{} is stale: run `cargo course ptx`", lesson.ptx_name());
        assert_eq!(stamp.compiler, pinned::NAME, "{}", lesson.ptx_name());
    }
}

#[test]
fn the_pinned_compiler_makes_the_committed_ptx_again() {
    let Some(nvrtc) = pinned_nvrtc() else { return };
    for lesson in lessons() {
        let committed = std::fs::read_to_string(&lesson.ptx).expect("the committed PTX");
        let made = compile_committed(&nvrtc, &lesson).expect("the kernel compiles");
        assert!(made == committed, "{} is not what {} makes of it", lesson.ptx_name(), pinned::NAME);
    }
}

#[test]
fn the_committed_ptx_names_no_folder_of_a_machine() {
    for lesson in lessons() {
        let ptx = std::fs::read_to_string(&lesson.ptx).expect("the committed PTX");
        let files: Vec<&str> = ptx.lines().filter(|line| line.trim_start().starts_with(".file")).collect();
        assert!(files.iter().any(|line| line.contains(&format!("\"{}\"", lesson.cu_name()))), "{files:?}");
        assert!(files.iter().all(|line| !line.contains("\"/")), "{files:?}");
    }
}
