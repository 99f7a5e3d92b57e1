//! The reader's copy of an exercise, and how it becomes PTX.
//!
//! Readers work in `my/`, which git ignores: the committed starter stays as it is, `git pull` never meets an edited
//! file, and `cargo clean` takes nothing away.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use device::nvrtc::Nvrtc;
use device::{Error, KernelSource, committed_options, up_to_date};

use super::write::Exercise;
use crate::workspace;

/// Folder in which readers work, below the root.
pub const FOLDER: &str = "my";

/// Result of compiling a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiled {
    /// PTX, and what the compiler warns of, which may be nothing.
    Ptx(String, String),
    /// It refuses, in these words.
    Refused(String),
}

/// The reader's copy: `my/<id>.cu`.
pub fn path(root: &Path, exercise: &Exercise) -> PathBuf {
    root.join(FOLDER).join(format!("{}.cu", exercise.id))
}

/// `my/<id>.cu`, as messages name it.
pub fn name(exercise: &Exercise) -> String {
    format!("{FOLDER}/{}.cu", exercise.id)
}

/// Makes the copy from the starter if there is none. True if it was made.
///
/// # Errors
/// A starter that cannot be read or a copy that cannot be written.
pub fn start(root: &Path, exercise: &Exercise) -> Result<bool> {
    let copy = path(root, exercise);
    if copy.exists() {
        return Ok(false);
    }
    let starter = starter(root, exercise)?;
    std::fs::create_dir_all(root.join(FOLDER)).with_context(|| format!("cannot make the folder `{FOLDER}`"))?;
    std::fs::write(&copy, starter).with_context(|| format!("cannot write `{}`", name(exercise)))?;
    Ok(true)
}

/// Puts the starter back. What was there is kept beside it under a name of its own, which is returned; `None` if there
/// was nothing to keep.
///
/// # Errors
/// Files that cannot be read, renamed or written; the reader's copy is untouched then.
pub fn reset(root: &Path, exercise: &Exercise) -> Result<Option<PathBuf>> {
    let copy = path(root, exercise);
    let starter = starter(root, exercise)?;
    let is_edited = copy.exists() && std::fs::read(&copy).ok().as_deref() != Some(starter.as_bytes());
    let kept = if is_edited {
        let kept = free_name(root, exercise);
        let what = || format!("cannot keep `{}` as `{}`", name(exercise), workspace::name(root, &kept));
        std::fs::rename(&copy, &kept).with_context(what)?;
        Some(kept)
    } else {
        None
    };
    start(root, exercise)?;
    Ok(kept)
}

/// `my/<id>.1.cu`, `my/<id>.2.cu`, … the first that is not taken.
fn free_name(root: &Path, exercise: &Exercise) -> PathBuf {
    let numbered = |number: u32| root.join(FOLDER).join(format!("{}.{number}.cu", exercise.id));
    (1..).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| numbered(0))
}

/// The starter as readers get it. The marks by which the book finds its parts are empty lines there, so that every other
/// line keeps its number.
///
/// # Errors
/// A file that cannot be read.
pub fn starter(root: &Path, exercise: &Exercise) -> Result<String> {
    let text = read(root, &exercise.starter(root).cu)?;
    let is_mark = |line: &str| line.trim_start().starts_with("// ANCHOR");
    let lines = text.split_inclusive('\n').map(|line| if is_mark(line) { "\n" } else { line });
    Ok(lines.collect())
}

/// The text of a file. What is no UTF-8 is still shown to the compiler, which says what is wrong and in which line.
///
/// # Errors
/// A file that cannot be read.
pub fn read(root: &Path, path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", workspace::name(root, path)))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// PTX of the reader's text. A text that is one of the exercise's own files, such as an unedited starter, has
/// its PTX already and needs no compiler.
///
/// # Errors
/// No NVRTC, or one that fails in a way that says nothing about the kernel.
pub fn compile(root: &Path, exercise: &Exercise, text: &str) -> Result<Compiled> {
    let is_starter = text == starter(root, exercise)?;
    for source in exercise.sources(root) {
        let marked = is_starter && source.cu == exercise.starter(root).cu;
        let text = if marked { &read(root, &source.cu)? } else { text };
        if let Some(ptx) = committed(&source, text) {
            return Ok(Compiled::Ptx(ptx.replace(&source.cu_name(), &name(exercise)), String::new()));
        }
    }
    let nvrtc = Nvrtc::find(root)
        .map_err(|_| Error::NeedsNvrtc { cu: name(exercise), why: "it is no longer the starter".to_owned() })?;
    with(&nvrtc, &name(exercise), text)
}

/// PTX of a committed kernel of an exercise: the committed PTX while it is fresh.
///
/// # Errors
/// Those of [`compile`].
pub fn compile_committed(root: &Path, source: &KernelSource) -> Result<Compiled> {
    let text = read(root, &source.cu)?;
    if let Some(ptx) = committed(source, &text) {
        return Ok(Compiled::Ptx(ptx, String::new()));
    }
    let nvrtc = Nvrtc::find(root).map_err(|_| Error::NeedsNvrtc {
        cu: source.cu_name(),
        why: format!("{} is missing or stale", source.ptx_name()),
    })?;
    with(&nvrtc, &source.cu_name(), &text)
}

/// The committed PTX of `source`, if it was made from the code of `text`.
fn committed(source: &KernelSource, text: &str) -> Option<String> {
    up_to_date(std::fs::read_to_string(&source.ptx).ok()?, text)
}

/// PTX of this text.
///
/// # Errors
/// A compiler that fails in a way that says nothing about the kernel.
pub(super) fn with(nvrtc: &Nvrtc, name: &str, text: &str) -> Result<Compiled> {
    match nvrtc.compile_with_warnings(name, text, &committed_options(text)) {
        Ok((ptx, warnings)) => Ok(Compiled::Ptx(ptx, warnings)),
        Err(Error::Compile { log, .. }) => Ok(Compiled::Refused(explained(log))),
        Err(error) => Err(error.into()),
    }
}

/// The compiler's log, with an explanation added where a header of the host cannot be found.
fn explained(mut log: String) -> String {
    if log.contains("cannot open source file") || log.contains("could not open source file") {
        log.push_str(
            "\n\nOnly the GPU's part of a program is compiled here, and the host's headers are not there. `printf` needs none: \
             leave the #include out.",
        );
    }
    log
}
