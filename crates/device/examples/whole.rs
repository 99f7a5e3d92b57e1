//! Runs whole kernels on a GPU, as the heads of their fixtures say, and writes what they left: the records that the
//! simulator's tests compare with, bit for bit.
//!
//! `cargo run --release -p device --example whole -- crates/simt/tests/gpu --out crates/simt/tests/gpu/h200.json`.
//! Each kernel has a process of its own, so that one that faults or hangs costs nothing but itself: its error is its
//! record. What it prints is recorded too. With `--here` the kernels run in this process, one after the other, as ncu
//! and compute-sanitizer want it. Exit status 0: all have a record; 2: bad usage, no GPU, or files that cannot be read.

#[path = "whole/driver.rs"]
mod driver;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use device::sha256;
use driver::Gpu;
use serde_json::{Map, Value, json};
use simt::command::command_line::{Command as Verb, CommandLine, Request};
use simt_fixtures::request;

/// A record holds a buffer's bytes up to here, and the hash of all of it.
const SHOWN_BYTES: usize = 256;

/// Runs whole kernels on a GPU and records what they leave.
#[derive(Parser)]
struct Arguments {
    /// PTX files with a head that says how to run them, or folders of such files
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// File for the record; standard output if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Run the kernels in this process, in turn
    #[arg(long)]
    here: bool,
    /// Time limit of a kernel, its process' start included
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    seconds: u64,
    /// Processes at a time
    #[arg(long, value_name = "N", default_value_t = 4)]
    jobs: usize,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let mut files = Vec::new();
    for path in &arguments.paths {
        files.extend(ptx_files(path)?);
    }
    ensure!(!files.is_empty(), "no PTX file in {}", arguments.paths[0].display());
    let record = if arguments.here {
        let gpu = Gpu::open()?;
        json!({ "kernels": files.iter().map(|file| (name_of(file), kernel(&gpu, file))).collect::<Map<_, _>>() })
    } else {
        apart(arguments, &files)?
    };
    let text = serde_json::to_string_pretty(&record)? + "\n";
    match &arguments.out {
        Some(out) => std::fs::write(out, text).with_context(|| out.display().to_string()),
        // In this process standard output is the kernels' own.
        None if arguments.here => Ok(()),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

/// The file itself, or the folder's PTX files, sorted.
fn ptx_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| path.display().to_string())?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ptx"));
    files.sort();
    Ok(files)
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the results of one kernel, or its error.
fn kernel(gpu: &Gpu, file: &Path) -> Value {
    let mut record = of(file);
    match read(file).and_then(|(text, request)| gpu.run(&text, &request)) {
        Ok(buffers) => {
            let outputs = buffers.into_iter().map(|(name, bytes)| (name, summary(&bytes)));
            record["outputs"] = outputs.collect::<Map<String, Value>>().into();
        }
        Err(error) => {
            eprintln!("{}: {error:#}", file.display());
            record["error"] = format!("{error:#}").into();
        }
    }
    record
}

/// Identity of a record: the PTX, by its hash, and the launch, by the options of `simt run`.
fn of(file: &Path) -> Value {
    let ptx = std::fs::read(file).unwrap_or_default();
    json!({"ptx_sha256": sha256(&ptx), "launch": request::options(file).unwrap_or_default().join(" ")})
}

fn summary(bytes: &[u8]) -> Value {
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"bytes": bytes.len(), "sha256": sha256(bytes), "begin": hex})
}

/// A fixture's text, and what its head asks for.
fn read(file: &Path) -> Result<(String, Request)> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let options = request::options(file).map_err(anyhow::Error::msg)?;
    let words = ["simt".to_owned(), "run".to_owned(), file.display().to_string()].into_iter().chain(options);
    match CommandLine::try_parse_from(words).with_context(|| format!("the head of {}", file.display()))?.command {
        Verb::Run(request) => Ok((text, *request)),
        _ => bail!("{}: the head asks for no run", file.display()),
    }
}

/// Every kernel in a process of its own; the record with where it comes from.
fn apart(arguments: &Arguments, files: &[PathBuf]) -> Result<Value> {
    let probe = device::probe(Path::new("."));
    let devices = probe.devices?;
    let card = &devices[0];
    let folder = tempfile::tempdir()?;
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Value::Null; files.len()]);
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.clamp(1, files.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(at) else { break };
                    let outcome = process(file, &folder.path().join(at.to_string()), arguments.seconds);
                    let outcome = outcome.unwrap_or_else(|error| failed(file, &format!("{error:#}")));
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes[at] = outcome;
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let kernels: Map<String, Value> = files.iter().map(|file| name_of(file)).zip(outcomes).collect();
    ensure!(kernels.len() == files.len(), "two files have one name");
    let paths: Vec<String> = arguments.paths.iter().map(|path| path.display().to_string()).collect();
    Ok(json!({
        "device": card.name,
        "driver": card.driver,
        "cuda": card.cuda,
        "date": humantime::format_rfc3339_seconds(SystemTime::now()).to_string().split('T').next(),
        "command": format!("whole {}", paths.join(" ")),
        "kernels": kernels,
    }))
}

fn failed(file: &Path, error: &str) -> Value {
    eprintln!("{}: {error}", file.display());
    let mut record = of(file);
    record["error"] = error.into();
    record
}

/// This program again, for one file; `stem` is where its files go.
fn process(file: &Path, stem: &Path, seconds: u64) -> Result<Value> {
    let [out, printed, said] = ["json", "stdout", "stderr"].map(|extension| stem.with_extension(extension));
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--here")
        .arg(file)
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(File::create(&printed)?)
        .stderr(File::create(&said)?)
        .spawn()?;
    let begin = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begin.elapsed() > Duration::from_secs(seconds) => {
                child.kill()?;
                child.wait()?;
                bail!("did not end within {seconds} s");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    if !status.success() {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        bail!("its process ended with {status}: {}", said.trim());
    }
    let record: Value = serde_json::from_slice(&std::fs::read(&out)?)?;
    let mut kernel = record["kernels"][name_of(file)].clone();
    let printed = String::from_utf8_lossy(&std::fs::read(&printed)?).into_owned();
    if !printed.is_empty() {
        kernel["printed"] = printed.into();
    }
    if let Some(error) = kernel["error"].as_str() {
        eprintln!("{}: {error}", file.display());
    }
    Ok(kernel)
}
