//! The `simt` command: runs a kernel of a PTX file on the simulator, lists what a PTX file holds, and what the
//! simulator knows.
//!
//! Exit status 0: ran clean; 1: ran, and faults were found, or with `--seeds` results that differ; 2: bad
//! usage, bad PTX or bad input, with the reason on stderr.

mod bind;
mod check;
mod command_line;
mod decimal;
mod npy;
mod run;
mod seeds;
mod show;
mod sources;
mod spec;
mod trace;
mod values;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use command_line::{Command, CommandLine};
use simt::Program;

/// What files of CUDA C++ are called.
const SOURCE_EXTENSIONS: [&str; 6] = ["cu", "cuh", "cpp", "cc", "cxx", "hpp"];

const CLEAN: u8 = 0;
const FAULTS: u8 = 1;
const BAD_INPUT: u8 = 2;

/// An exit status, and what became of standard output.
type Written = (u8, io::Result<()>);

fn main() -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match CommandLine::parse().command {
        Command::Run(request) => run::run(&request, &mut out),
        Command::Check(request) => check::run(&request, &mut out),
        Command::Kernels { files } => list_kernels(&files).map(|text| (CLEAN, out.write_all(text.as_bytes()))),
        Command::Instructions => Ok((CLEAN, out.write_all(simt::instructions::markdown().as_bytes()))),
    };
    let (status, written) = outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        (BAD_INPUT, Ok(()))
    });
    match written.and_then(|()| out.flush()) {
        // Whoever read the output has seen enough of it.
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
            "{name}: this is source code, and simt runs PTX: compile it with `nvcc -ptx -arch=sm_80 -lineinfo {name}`, or with NVRTC \
             (`cargo course setup` installs it), and run the .ptx file that comes of it"
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
