//! `cargo course doctor`: what is on this machine, what each missing thing would add, and how to get it.
//!
//! Nothing here is needed to run the course, so that a bare machine is in good health too.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use device::nvrtc::pinned;
use device::{Probe, probe};

use crate::{chromium, ptx, setup, workspace};

/// One line of the table.
struct Row {
    what: &'static str,
    /// The version or path that was found, or the reason why nothing was.
    found: Result<String, String>,
    /// Capability that it adds.
    adds: &'static str,
    /// Instructions for getting it.
    get: &'static str,
}

/// Runs the verb.
pub fn run() -> Result<()> {
    let root = workspace::root()?;
    let here = probe(&root);
    let rows = [rust(), simulator(), gpu(&here), nvrtc(&here, &root), committed_ptx(&root), pip(), browser()];
    for row in &rows {
        print(row);
    }
    let missing = rows.iter().filter(|row| row.found.is_err()).count();
    println!();
    match missing {
        0 => println!("everything is here"),
        _ => println!("every chapter, the tests and the book work as it is; what is marked – would add to that"),
    }
    Ok(())
}

fn print(row: &Row) {
    match &row.found {
        Ok(found) => println!("✓ {:<14} {found}", row.what),
        Err(why) => {
            println!("– {:<14} {}", row.what, why.lines().next().unwrap_or("not here"));
            println!("  {:<14} would add: {}", "", row.adds);
            println!("  {:<14} to get it: {}", "", row.get);
        }
    }
}

fn rust() -> Row {
    let said = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    Row {
        what: "Rust",
        found: said(&rustc).ok_or_else(|| format!("`{rustc}` does not answer, yet this program was built")),
        adds: "building the chapters",
        get: "https://rustup.rs",
    }
}

fn simulator() -> Row {
    Row { what: "simulator", found: Ok("built in: runs every chapter without a GPU".to_owned()), adds: "", get: "" }
}

fn gpu(here: &Probe) -> Row {
    let found = here.devices.as_ref().map(|devices| {
        let names: Vec<String> = devices.iter().map(|gpu| format!("{} ({})", gpu.name, gpu.arch)).collect();
        let driver = here.driver.as_ref().ok();
        let version =
            driver.and_then(|driver| driver.version.clone()).unwrap_or_else(|| "of unknown version".to_owned());
        let cuda = driver.map_or("unknown", |driver| driver.cuda.as_str());
        format!("{}, driver {version}, up to CUDA {cuda}", names.join(", "))
    });
    Row {
        what: "GPU",
        found: found.map_err(ToString::to_string),
        adds: "measured times, and the same kernels on real hardware",
        get: "an NVIDIA card with driver 530 or newer; CUDA itself is not needed",
    }
}

fn nvrtc(here: &Probe, root: &Path) -> Row {
    let found = here.nvrtc.as_ref().map(|nvrtc| {
        let pinned = if nvrtc.version() == pinned::VERSION { "" } else { ", not the pinned release" };
        format!("{}{pinned}, in {}", nvrtc.name(), nvrtc.place().replace(&format!("{}/", root.display()), ""))
    });
    Row {
        what: "NVRTC",
        found: found.map_err(|_| "no CUDA compiler found".to_owned()),
        adds: "running kernels that you edit (as they are, the committed PTX is run)",
        get: "cargo course setup",
    }
}

fn committed_ptx(root: &Path) -> Row {
    Row {
        what: "committed PTX",
        found: ptx::check_stamps(root)
            .and_then(|findings| findings.verdict())
            .map(|_| "fresh: made from these kernels".to_owned())
            .map_err(|error| format!("{error:#}").replace('\n', "; ")),
        adds: "running the edited kernels without compiling them each time",
        get: "cargo course ptx (after cargo course setup)",
    }
}

fn pip() -> Row {
    Row {
        what: "pip",
        found: setup::find_pip().map(|pip| pip.join(" ")).map_err(|_| "no python3 with pip".to_owned()),
        adds: "cargo course setup, which installs NVRTC with it",
        get: "apt install python3-pip, or your system's package of it",
    }
}

fn browser() -> Row {
    let found = chromium::find().ok_or_else(|| "not found".to_owned());
    Row {
        what: "Chromium",
        found: found.and_then(|path| chromium::version(&path).map_err(|error| format!("{error:#}"))),
        adds: "the gate's look at every page, for those who change the book",
        get: "apt install chromium, or name one with CHROME=/path/to/it",
    }
}
