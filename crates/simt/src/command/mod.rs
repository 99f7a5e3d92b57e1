//! The `simt` command: what `simt run`, `check`, `kernels` and `instructions` do, and what of it `cargo course run` uses.
//!
//! Exit status 0: ran clean; 1: ran, and faults were found, or with `--seeds` results that differ; 2: bad
//! usage, bad PTX or bad input, with the reason on stderr.

mod bind;
mod check;
// Hidden modules are for this repository's programs alone.
#[doc(hidden)]
pub mod command_line;
#[doc(hidden)]
pub mod contents;
mod npy;
mod run;
mod seeds;
mod show;
mod sources;
mod then;
#[doc(hidden)]
pub mod trace;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use command_line::{Command, CommandLine};

use crate::Program;

pub use run::run_program;

/// Extensions of files of CUDA C++.
const SOURCE_EXTENSIONS: [&str; 6] = ["cu", "cuh", "cpp", "cc", "cxx", "hpp"];

const CLEAN: u8 = 0;
const FAULTS: u8 = 1;
/// The exit status of bad usage, bad PTX or bad input.
pub const BAD_INPUT: u8 = 2;

/// An exit status, and what became of standard output.
pub type Written = (u8, io::Result<()>);

/// Runs the command that this process was started as.
pub fn main() -> ExitCode {
    to_standard_output(|out| match CommandLine::parse().command {
        Command::Run(request) => run::run(&request, out),
        Command::Check(request) => check::run(&request, out),
        Command::Kernels { files } => list_kernels(&files).map(|text| (CLEAN, out.write_all(text.as_bytes()))),
        Command::Instructions => Ok((CLEAN, out.write_all(crate::instructions::markdown().as_bytes()))),
    })
}

/// Does `work`, which writes to standard output; its exit status. An error is said on stderr, and is status 2.
pub fn to_standard_output(work: impl FnOnce(&mut dyn Write) -> Result<Written>) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let (status, written) = work(&mut out).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        (BAD_INPUT, Ok(()))
    });
    match written.and_then(|()| out.flush()) {
        // The reader of the pipe has seen enough of the output.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}");
            ExitCode::from(BAD_INPUT)
        }
        _ => ExitCode::from(status),
    }
}

/// Reads, parses and links PTX files.
fn load(files: &[PathBuf]) -> Result<Program> {
    let texts = files.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Ok(Program::link(&texts)?)
}

/// Name and text of a PTX file.
fn read(file: &Path) -> Result<(String, String)> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file)
        .with_context(|| format!("{name}: the PTX file cannot be read (it is looked for from the current folder)"))?;
    let Ok(text) = String::from_utf8(bytes) else {
        anyhow::bail!("{name}: this is a binary file: PTX is text, as `nvcc -ptx` or NVRTC writes it");
    };
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_source = SOURCE_EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str());
    if (is_source || text.contains("__global__")) && !text.lines().any(|line| line.trim_start().starts_with(".version"))
    {
        anyhow::bail!(
            "{name}: this is source code, and simt runs PTX: inside the course's repository `cargo course run {name} --kernel …` compiles \
             and runs it; elsewhere `nvcc -ptx -arch=sm_80 -lineinfo {name}` makes a .ptx file that simt takes"
        );
    }
    Ok((name, text))
}

/// One line a kernel: its name and its parameters.
fn list_kernels(files: &[PathBuf]) -> Result<String> {
    let program = load(files)?;
    let mut text = String::new();
    for name in program.kernel_names() {
        let parameters = program.parameters(name)?;
        let parameters: Vec<String> = parameters.iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
        text += &format!("{name}({})\n", parameters.join(", "));
    }
    anyhow::ensure!(!text.is_empty(), "{}: no kernel (.entry) in this file", sources::names(files));
    Ok(text)
}
