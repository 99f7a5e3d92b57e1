//! `cargo course setup`: installs the pinned NVRTC and its headers from NVIDIA's pip packages into target/nvrtc.
//!
//! Nothing outside of target/ is touched, and nothing half done stays: packages are installed and tried in a folder of
//! their own, which then takes the place of the old one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, anyhow, bail, ensure};
use device::committed_options;
use device::nvrtc::{Nvrtc, Place, pinned};

use crate::workspace;

/// Compiles only if the compiler, its built-ins and the headers are all there.
const PROBE: &str = "#include <cuda_fp16.h>\n\
    extern \"C\" __global__ void probe(__half *x, float y) { x[threadIdx.x] = __float2half(y); }\n";

/// Ways to call pip, the surest first.
const PIPS: [&[&str]; 4] = [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip3"], &["pip"]];

/// Runs the verb.
pub fn run() -> Result<()> {
    let root = workspace::root()?;
    let folder = root.join(pinned::FOLDER);
    match verify(&folder) {
        Ok(()) => {
            println!("{} is already in {}", pinned::NAME, pinned::FOLDER);
            return Ok(());
        }
        Err(why) if folder.exists() => println!("{} is there but of no use, it is replaced: {why:#}", pinned::FOLDER),
        Err(_) => {}
    }
    let pip = find_pip()?;
    sweep(&folder)?;
    let partial = beside(&folder, &format!("partial-{}", std::process::id()));
    println!("installing {} into {} (a download of about 26 MB) ...", pinned::NAME, pinned::FOLDER);
    let installed = install(pip, &partial)
        .and_then(|()| verify(&partial).context("the packages were installed, but do not work here"))
        .and_then(|()| replace(&folder, &partial));
    if installed.is_err() && partial.exists() {
        std::fs::remove_dir_all(&partial).with_context(|| format!("cannot remove `{}`", partial.display()))?;
    }
    installed?;
    println!("{} works; edited kernels are now compiled", pinned::NAME);
    Ok(())
}

/// Loads what is installed in `folder` and compiles a kernel that needs all of it.
pub fn verify(folder: &Path) -> Result<()> {
    let nvrtc = Nvrtc::find_in(&[Place::Wheels(folder.to_path_buf())])?;
    let ptx = nvrtc.compile("probe.cu", PROBE, &committed_options(PROBE))?;
    let release = pinned::NAME.rsplit(' ').next().unwrap_or(pinned::NAME);
    ensure!(ptx.contains(&format!("V{release}")), "{} is not the pinned {}", nvrtc.name(), pinned::NAME);
    Ok(())
}

/// The first pip that answers, as the words of a command.
pub fn find_pip() -> Result<&'static [&'static str]> {
    let mut has_python = false;
    for pip in PIPS {
        match command(pip).arg("--version").output() {
            Ok(output) if output.status.success() => return Ok(pip),
            // Python answered: it has no pip.
            Ok(_) => has_python = true,
            Err(_) => {}
        }
    }
    if has_python {
        bail!(
            "python3 has no pip: install it (on Debian and Ubuntu: `apt install python3-pip`; elsewhere: \
             `python3 -m ensurepip --user`) and run `cargo course setup` again"
        );
    }
    bail!(
        "python3 and pip were not found: install them (on Debian and Ubuntu: `apt install python3-pip`) and run \
         `cargo course setup` again; only edited kernels need this, the course itself runs without"
    )
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn install(pip: &[&str], folder: &Path) -> Result<()> {
    let output = command(pip)
        .args(["install", "--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"])
        .args(["--no-warn-conflicts", "--retries", "2", "--timeout", "20", "--target"])
        .arg(folder)
        .args(pinned::PACKAGES)
        // A reader's own settings for other projects would contradict --target.
        .env("PIP_USER", "0")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .output()
        .with_context(|| format!("cannot run `{}`", pip.join(" ")))?;
    if output.status.success() { Ok(()) } else { Err(explain(&output)) }
}

/// Says in one sentence what stopped pip, with its own last words.
fn explain(output: &Output) -> anyhow::Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let is_said = |needles: &[&str]| needles.iter().any(|needle| said.contains(needle));
    let reason = if is_said(&["Retrying", "NewConnectionError", "name resolution", "ProxyError", "SSLError"]) {
        "pip cannot reach its package index: check the network or the proxy and run `cargo course setup` again"
    } else if is_said(&["No matching distribution", "is not a supported wheel"]) {
        "NVIDIA has no package of this compiler for this system (there is one for Linux and Windows on x86-64): \
         everything but edited kernels runs without it"
    } else if is_said(&["No space left"]) {
        "the disk is full: about 90 MB are needed"
    } else {
        "pip failed"
    };
    let last: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &last[last.len().saturating_sub(3)..];
    anyhow!("{reason}\n{}", last.join("\n"))
}

/// Puts the new folder where the old one was.
fn replace(folder: &Path, new: &Path) -> Result<()> {
    let old = beside(folder, "old");
    if folder.exists() {
        std::fs::rename(folder, &old).with_context(|| format!("cannot move `{}` aside", folder.display()))?;
    }
    std::fs::rename(new, folder).with_context(|| format!("cannot move `{}` into place", new.display()))?;
    if old.exists() {
        std::fs::remove_dir_all(&old).with_context(|| format!("cannot remove `{}`", old.display()))?;
    }
    Ok(())
}

/// Removes what a run that was stopped left.
fn sweep(folder: &Path) -> Result<()> {
    let Some(parent) = folder.parent().filter(|parent| parent.is_dir()) else { return Ok(()) };
    let prefix = format!("{}.", folder.file_name().unwrap_or_default().to_string_lossy());
    for entry in std::fs::read_dir(parent).with_context(|| format!("cannot list `{}`", parent.display()))? {
        let path = entry?.path();
        let is_left = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        if is_left && path.is_dir() {
            std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// `target/nvrtc.<suffix>`
fn beside(folder: &Path, suffix: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{suffix}"));
    folder.with_file_name(name)
}
