//! Loading a lesson: stale PTX never runs, and every way that loading can fail says what to do.

use std::fs;

use device::nvrtc::{Nvrtc, Place, pinned};
use device::{Error, KernelSource, Stamp, compile_committed};
use tempfile::TempDir;

use crate::{repository, sim};

const KERNEL: &str =
    "extern \"C\" __global__ void twice(const int* in, int* out) {\n    out[threadIdx.x] = 2 * in[threadIdx.x];\n}\n";

/// A source tree of its own with `kernels/<slug>.cu`.
fn tree(slug: &str, cu: &str) -> (TempDir, KernelSource) {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(root.path().join("kernels/ptx")).expect("kernels/ptx");
    fs::write(root.path().join(format!("kernels/{slug}.cu")), cu).expect("the .cu");
    let source = KernelSource::find_from(root.path(), slug, root.path()).expect("the lesson");
    (root, source)
}

/// The places where `cargo course setup` puts NVRTC, if it did, else nothing, with the reason printed.
fn installed() -> Option<[Place; 1]> {
    let places = [Place::Wheels(repository().join(pinned::FOLDER))];
    match Nvrtc::find_in(&places) {
        Ok(_) => Some(places),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn load_error(source: &KernelSource, places: &[Place]) -> Error {
    sim().load_with(source, places).expect_err("loading must fail")
}

#[test]
fn an_edited_kernel_without_nvrtc_names_the_command() {
    let (_root, source) = tree("ch99-edited", KERNEL);
    let committed = fs::read_to_string(repository().join("kernels/ptx/ch01-naive.ptx")).expect("committed PTX");
    fs::write(&source.ptx, committed).expect("PTX of another source");
    assert_eq!(
        load_error(&source, &[]).to_string(),
        "kernels/ch99-edited.cu must be compiled, because it was changed after kernels/ptx/ch99-edited.ptx was made, \
         but no NVRTC was found: run `cargo course setup` once to install it"
    );
}

#[test]
fn missing_and_unstamped_ptx_have_errors_of_their_own() {
    let (_root, source) = tree("ch99-new", KERNEL);
    let message = load_error(&source, &[]).to_string();
    assert!(message.contains("because kernels/ptx/ch99-new.ptx is not there"), "{message}");
    fs::write(&source.ptx, ".version 8.1\n.target sm_80\n.address_size 64\n").expect("PTX");
    let message = load_error(&source, &[]).to_string();
    assert!(message.contains("does not say which source it was made from"), "{message}");
}

#[test]
fn lessons_are_found_from_below_and_from_the_fallback() {
    let (root, source) = tree("ch99-found", KERNEL);
    let below = root.path().join("kernels/ptx");
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(KernelSource::find_from(&below, "ch99-found", elsewhere.path()).expect("upwards").cu, source.cu);
    assert_eq!(KernelSource::find_from(elsewhere.path(), "ch99-found", root.path()).expect("fallback").cu, source.cu);
    assert_eq!(source.cu_name(), "kernels/ch99-found.cu");
    assert_eq!(source.ptx_name(), "kernels/ptx/ch99-found.ptx");
}

#[test]
fn a_lesson_that_is_nowhere_says_where_it_was_looked_for() {
    let (start, fallback) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let error = KernelSource::find_from(start.path(), "ch99-absent", fallback.path()).expect_err("not there");
    let message = error.to_string();
    assert!(message.starts_with("kernels/ch99-absent.cu was not found"), "{message}");
    assert!(message.contains(&fallback.path().display().to_string()), "{message}");
}

#[test]
fn slugs_that_are_paths_are_refused() {
    for slug in ["", "../secret", "ch01 naive", "CH01", "-x", "ch01/naive", "ch01\0"] {
        let error = KernelSource::find(slug, repository()).expect_err(slug);
        assert!(matches!(error, Error::BadSlug { .. }), "{slug:?}: {error}");
    }
}

#[test]
fn a_comment_needs_no_compiler_and_moves_the_lines_that_findings_name() {
    let slug = "ch01-naive";
    let root = tempfile::tempdir().expect("a temporary folder");
    let source = KernelSource::in_root(root.path(), slug);
    let committed = KernelSource::in_root(repository(), slug);
    fs::create_dir_all(root.path().join("kernels/ptx")).expect("folders");
    let cu = committed.read_cu().expect("a lesson");
    fs::write(&source.cu, format!("// One more line.\n{cu}")).expect("a kernel");
    fs::copy(&committed.ptx, &source.ptx).expect("PTX");
    let load = |source| sim().load_with(source, &[]);
    load(&source).expect("the committed PTX");
    let lines = |source: &KernelSource| {
        let ptx = source.read_ptx(&source.read_cu().expect("a lesson")).expect("it is fresh");
        let locs = ptx.lines().filter_map(|line| line.strip_prefix(".loc 1 ")).map(str::to_owned);
        locs.filter_map(|loc| loc.split(' ').next()?.parse::<u32>().ok()).filter(|&line| line > 0).collect::<Vec<_>>()
    };
    assert_eq!(lines(&source), lines(&committed).iter().map(|line| line + 1).collect::<Vec<_>>());
    fs::write(&source.cu, cu.replacen("sums[tid]", "sums[tid + 0]", 1)).expect("a kernel");
    assert!(load(&source).is_err(), "other code needs a compiler");
}

#[test]
fn a_kernel_that_does_not_compile_shows_its_own_lines() {
    let Some(places) = installed() else { return };
    let broken = KERNEL.replace("2 * in", "2 * inn");
    let (_root, source) = tree("ch99-broken", &broken);
    let error = load_error(&source, &places);
    assert!(matches!(error, Error::Compile { .. }), "{error}");
    let message = error.to_string();
    assert!(message.starts_with("kernels/ch99-broken.cu does not compile:\n"), "{message}");
    assert!(message.contains("kernels/ch99-broken.cu(2): error: identifier \"inn\" is undefined"), "{message}");
}

#[test]
fn the_same_source_gives_the_same_ptx_in_any_folder() {
    let Some(places) = installed() else { return };
    let nvrtc = Nvrtc::find_in(&places).expect("found before");
    assert_eq!(nvrtc.version(), pinned::VERSION);
    let with_header = "#include <cuda_fp16.h>\nextern \"C\" __global__ void twice(const __half* in, __half* out) {\n\
                       out[threadIdx.x] = __hadd(in[threadIdx.x], in[threadIdx.x]);\n}\n";
    let (one, first) = tree("ch99-same", with_header);
    let (other, second) = tree("ch99-same", with_header);
    assert_ne!(one.path(), other.path());
    let texts = |source: &KernelSource| {
        let made = compile_committed(&nvrtc, source).expect("it compiles").into_iter();
        made.map(|(_, text)| text).collect::<Vec<_>>()
    };
    let made = texts(&first);
    assert_eq!(made, texts(&second));
    let files: Vec<&str> = made[0].lines().filter(|line| line.starts_with(".file")).collect();
    assert_eq!(files, [".file 1 \"kernels/ch99-same.cu\"", ".file 2 \"cuda_fp16.hpp\""]);
    assert_eq!(Stamp::parse(&made[0]).expect("a stamp").compiler, pinned::NAME);
}

#[test]
fn nvrtc_makes_machine_code_for_the_cards_it_knows() {
    let Some(places) = installed() else { return };
    let nvrtc = Nvrtc::find_in(&places).expect("found before");
    assert!(nvrtc.knows(80) && nvrtc.knows(90) && !nvrtc.knows(100));
    let code = nvrtc.compile_for(90, "kernels/twice.cu", KERNEL).expect("it compiles");
    assert!(code.cubin.starts_with(b"\x7fELF"), "machine code is an ELF file");
    assert!(code.ptx.contains(".target sm_90"), "{}", code.ptx);
}

#[test]
fn text_that_nvrtc_cannot_take_is_an_error() {
    let Some(places) = installed() else { return };
    let nvrtc = Nvrtc::find_in(&places).expect("found before");
    let message = nvrtc.compile("kernels/nul.cu", "int a;\0", &[]).expect_err("a NUL").to_string();
    assert!(message.contains("byte 6 is NUL"), "{message}");
    let options = ["--no-such-option".to_string()];
    let message = nvrtc.compile("kernels/twice.cu", KERNEL, &options).expect_err("a bad option").to_string();
    assert!(message.contains("no-such-option"), "{message}");
}
