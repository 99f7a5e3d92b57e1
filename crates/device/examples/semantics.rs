//! Runs the fixtures of arithmetic and writes what they give as records that the simulator's tests compare with.
//!
//! `cargo run --release -p device --example semantics -- [--device gpu|sim] [--out FOLDER] [--group NAME] [--write FOLDER]`.
//! `--write` writes the PTX of the groups into a folder, their hashes beside the records, and runs nothing; `--device gpu`, the
//! default, writes `<group>.<card>.json`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use device::{Arg, Call, Checks, Choice, Device, Geometry, SimOptions};
use serde_json::{Map, Value, json};
use simt_fixtures::semantics::fixture::{self, Group, Kernel, decode, encode, groups};
use simt_fixtures::semantics::operands::ROWS;

struct Request {
    choice: Choice,
    out: PathBuf,
    group: Option<String>,
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    match request().and_then(|request| run(&request)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("{failed} groups failed");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn request() -> Result<Request> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../simt/tests/semantics");
    let mut request = Request { choice: Choice::Gpu, out: folder, group: None, write: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} takes a value"));
        match word.as_str() {
            "--device" => {
                request.choice = match value()?.as_str() {
                    "gpu" => Choice::Gpu,
                    "sim" => Choice::Sim,
                    other => bail!("{other}: the device is gpu or sim"),
                }
            }
            "--out" => request.out = value()?.into(),
            "--group" => request.group = Some(value()?),
            "--write" => request.write = Some(value()?.into()),
            _ => bail!("{word}: the options are --device, --out, --group and --write"),
        }
    }
    Ok(request)
}

/// Runs all groups and returns the number that failed.
fn run(request: &Request) -> Result<usize> {
    let mut groups = groups();
    groups.retain(|group| request.group.as_deref().is_none_or(|name| name == group.name));
    if groups.is_empty() {
        bail!("no group named {}", request.group.as_deref().unwrap_or_default());
    }
    std::fs::create_dir_all(&request.out).with_context(|| request.out.display().to_string())?;
    let write = |path: PathBuf, text: String| std::fs::write(&path, text).with_context(|| path.display().to_string());
    if let Some(folder) = &request.write {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for group in &groups {
            write(folder.join(format!("{}.ptx", group.name)), group.ptx())?;
        }
        write(request.out.join("hashes.tsv"), fixture::hashes())?;
        return Ok(0);
    }
    // There is no card here of what is newer; by its name such a group can still be asked for.
    groups.retain(|group| group.sm <= 90 || request.group.is_some());
    let options = SimOptions { checks: Checks::NONE, threads: 1, ..SimOptions::default() };
    let device = Device::open(request.choice, options)?;
    let mut failed = 0;
    for group in &groups {
        match record(&device, group, &request.out) {
            Ok(path) => println!("{}", path.display()),
            Err(error) => {
                eprintln!("{}: {error:#}", group.name);
                failed += 1;
            }
        }
    }
    Ok(failed)
}

/// Runs a group and writes its record.
fn record(device: &Device, group: &Group, out: &Path) -> Result<PathBuf> {
    let module = device.load_ptx(&format!("{}.ptx", group.name), &group.ptx())?;
    let mut kernels = Map::new();
    for kernel in &group.kernels {
        let outputs = launch(device, &module, kernel).with_context(|| kernel.name.clone())?;
        kernels.insert(kernel.name.clone(), json!({"inputs": kernel.input_hash(), "outputs": outputs}));
    }
    let description = device.description();
    let record = json!({
        "group": group.name,
        "device": description.name,
        "driver": description.driver,
        "cuda": description.cuda,
        "date": humantime::format_rfc3339_seconds(SystemTime::now()).to_string().split('T').next(),
        "kernels": kernels,
    });
    let card = description.name.split_whitespace().next_back().unwrap_or("device").to_lowercase();
    let path = out.join(format!("{}.{card}.json", group.name));
    // A line for each opcode, so that a change shows as a change of that line.
    std::fs::write(&path, serde_json::to_string_pretty(&record)? + "\n").with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Returns the outputs of each fixture of a kernel, with `|` between.
fn launch(device: &Device, module: &device::Module, kernel: &Kernel) -> Result<Map<String, Value>> {
    let input = device.upload("input", &kernel.input())?;
    let output = device.upload("output", &vec![0u64; kernel.output_words()])?;
    device.launch(&Call {
        module,
        kernel: &kernel.name,
        geometry: Geometry::linear(kernel.blocks(), ROWS as u32),
        args: vec![Arg::Address(&input, 0), Arg::Address(&output, 0)],
    })?;
    let words = device.download(&output)?;
    let text = |at: usize, fixture: &fixture::Fixture| {
        let mut texts = Vec::new();
        for (values, bits) in kernel.outputs_of(at, &words).iter().zip(fixture.outputs()) {
            let text = encode(values, bits);
            ensure!(decode(&text, bits) == *values, "{} gave more than {bits} bits", fixture.key());
            texts.push(text);
        }
        Ok((fixture.key(), Value::from(texts.join("|"))))
    };
    kernel.fixtures.iter().enumerate().map(|(at, fixture)| text(at, fixture)).collect()
}
