//! A short run of the fuzz targets, where a nightly compiler and cargo-fuzz are. It always runs the same texts; the long
//! runs are in `fuzz/README.md`, and `cargo test` runs the corpus everywhere.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use super::Verdict;

/// Targets, and executions of each: some ten seconds.
const TARGETS: [(&str, u32); 2] = [("parse", 100_000), ("execute", 10_000)];

/// Builds the targets and runs each from its corpus on.
pub(super) fn check(root: &Path) -> Result<Verdict> {
    if !cargo_fuzz(root, ["--version"])?.status.success() {
        const MISSING: &str =
            "no cargo-fuzz on this machine: `rustup toolchain install nightly`, `cargo install cargo-fuzz`";
        return Ok(Verdict::Skip(MISSING.to_owned()));
    }
    let mut done = Vec::new();
    for (target, executions) in TARGETS {
        // New texts go here, not into the corpus.
        let found = root.join("target/gate/fuzz").join(target);
        if found.exists() {
            std::fs::remove_dir_all(&found).with_context(|| format!("cannot remove `{}`", found.display()))?;
        }
        std::fs::create_dir_all(&found).with_context(|| format!("cannot create `{}`", found.display()))?;
        let corpus = root.join("fuzz/corpus").join(target);
        let runs = format!("-runs={executions}");
        let build = ["run", "-s", "none", "--no-trace-compares", target].map(OsStr::new);
        let folders = [found.as_os_str(), corpus.as_os_str(), OsStr::new("--")];
        let options = [runs.as_str(), "-max_len=4096", "-mutate_depth=1", "-entropic=0", "-seed=1", "-timeout=10"];
        let output = cargo_fuzz(root, build.into_iter().chain(folders).chain(options.map(OsStr::new)))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = said.trim_end().lines().collect();
            bail!("fuzz target `{target}`\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
        done.push(format!("{target} {executions} times"));
    }
    Ok(Verdict::Pass(done.join(", ")))
}

/// Runs `cargo fuzz` with the nightly compiler. (The `cargo` that runs this program knows one compiler only; the one on the
/// path chooses.)
fn cargo_fuzz<'a>(root: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr> + 'a>) -> Result<Output> {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).args(args).current_dir(root);
    command.output().context("cannot run cargo")
}
