//! `cargo course engine`: builds the simulator as WebAssembly into the script that pages load, and the data of each page's lab.
//!
//! The script is a classic one that holds the gzip as base64, because a page from a file may neither fetch nor load modules. Its
//! first lines are a stamp, like that of committed PTX: the hash of the sources that it was made from, and the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use course::ensure::{Mode, ensure as bring};
use course::findings::Findings;
use course::workspace;

use crate::packed::packed;
use crate::{figures, stills};

/// Path of the script; mdBook copies it beside the pages.
const SCRIPT: &str = "book/src/lab/engine.js";
const COMMAND: &str = "cargo course engine";
const DATA_COMMAND: &str = "cargo course engine --data";
/// Target of the engine.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Crates that are compiled into it.
const CRATES: [&str; 3] = ["crates/ptx", "crates/simt", "crates/web"];
/// A page on a slow line still has to load it.
const BYTES_MAX: usize = 700_000;

/// Options of `cargo course engine`.
#[derive(clap::Args)]
pub struct Options {
    /// Compare and write nothing: stamp and size of the engine, and the data of the labs
    #[arg(long)]
    check: bool,
    /// Write the labs' data alone, which needs no WebAssembly
    #[arg(long, conflicts_with = "check")]
    data: bool,
}

/// Runs the verb.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    if options.check {
        println!("fresh: {}", check(&root)?.verdict()?);
        return Ok(());
    }
    if !options.data {
        write_script(&root)?;
    }
    write_data(&root)?;
    stamp(&root).map_or(Ok(()), |problem| bail!(problem))
}

fn write_script(root: &Path) -> Result<()> {
    if let Some(why) = lacks_target()? {
        bail!(why);
    }
    let compiler = rustc(&["--version"])?;
    println!("building the simulator for {TARGET}; the first time takes minutes");
    let text = script(&wasm(root)?, &hash(root)?, &compiler)?;
    let written = bring(root, &root.join(SCRIPT), &text, Mode::Write, COMMAND)?;
    println!("{} {SCRIPT}, {} bytes", if written { "wrote    " } else { "unchanged" }, text.len());
    Ok(())
}

/// The data of every lab; what belonged to a lesson that is gone goes too.
fn write_data(root: &Path) -> Result<()> {
    let files = files(root)?;
    for (path, text) in &files {
        let written = bring(root, path, text, Mode::Write, COMMAND)?;
        println!("{} {}", if written { "wrote    " } else { "unchanged" }, workspace::name(root, path));
    }
    for stray in strays(root, &files)? {
        std::fs::remove_file(&stray).with_context(|| format!("cannot remove `{}`", workspace::name(root, &stray)))?;
    }
    Ok(())
}

/// The labs' data, and the figures that stand still.
fn files(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    // Both run kernels, and neither waits for the other.
    let (figures, stills) = std::thread::scope(|scope| {
        let stills = scope.spawn(|| stills::files(root));
        (figures::files(root), stills.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    Ok([figures?, stills?].concat())
}

/// Files among them that nothing makes.
fn strays(root: &Path, files: &[(PathBuf, String)]) -> Result<Vec<PathBuf>> {
    let mut all = workspace::walk(&root.join(figures::FOLDER))?;
    all.extend(workspace::walk(&root.join(stills::FOLDER))?);
    Ok(all.into_iter().filter(|file| files.iter().all(|(path, _)| path != file)).collect())
}

/// Returns whether the committed engine is made from today's sources and small enough, and the labs' data from today's kernels.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("engine and labs");
    findings.examined += 1;
    findings.problems.extend(stamp(root));
    let files = files(root)?;
    for (path, text) in &files {
        findings.examined += 1;
        let compared = bring(root, path, text, Mode::Check, DATA_COMMAND);
        findings.problems.extend(compared.err().map(|error| format!("{error:#}")));
    }
    let gone =
        |file: PathBuf| format!("{}: nothing makes it any more: run `{DATA_COMMAND}`", workspace::name(root, &file));
    findings.problems.extend(strays(root, &files)?.into_iter().map(gone));
    Ok(findings)
}

/// Returns the problem with the committed engine, by its stamp, if there is one.
fn stamp(root: &Path) -> Option<String> {
    let text = std::fs::read_to_string(root.join(SCRIPT));
    let Ok(text) = text else { return Some(format!("{SCRIPT}: missing: run `{COMMAND}` and commit the result")) };
    match hash(root) {
        Ok(hash) => problem(&text, &hash),
        Err(error) => Some(format!("{error:#}")),
    }
}

fn problem(text: &str, hash: &str) -> Option<String> {
    let stamped = text.lines().find_map(|line| line.strip_prefix("// course: source-sha256 "));
    match stamped {
        None => Some(format!("{SCRIPT}: has no stamp: run `{COMMAND}` and commit the result")),
        Some(stamped) if stamped != hash => {
            Some(format!("{SCRIPT}: the simulator was edited after it was made: run `{COMMAND}` and commit the result"))
        }
        Some(_) if text.len() > BYTES_MAX => {
            Some(format!("{SCRIPT}: {} bytes are too many: at most {BYTES_MAX}", text.len()))
        }
        Some(_) => None,
    }
}

/// Output of the compiler here for these words.
pub fn rustc(words: &[&str]) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(words).output().context("cannot run rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Says so if this compiler cannot compile for a browser.
pub fn lacks_target() -> Result<Option<String>> {
    let folder = rustc(&["--print", "target-libdir", "--target", TARGET])?;
    let is_missing = !Path::new(&folder).is_dir();
    Ok(is_missing.then(|| format!("no {TARGET} on this machine: `rustup target add {TARGET}`")))
}

/// Builds the module. No path of this machine goes into it.
fn wasm(root: &Path) -> Result<Vec<u8>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).context("no home folder")?;
    let flags = format!("--remap-path-prefix={}=cargo --remap-path-prefix={}=course", home.display(), root.display());
    let status = workspace::cargo(root)
        .args(["build", "--profile", "engine", "--package", "web", "--lib", "--target", TARGET])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the simulator does not build for {TARGET}");
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let file = folder.join(TARGET).join("engine/web.wasm");
    std::fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))
}

/// The script: a stamp, and a call that hands the module over.
fn script(wasm: &[u8], hash: &str, compiler: &str) -> Result<String> {
    let packed = packed(wasm, zopfli::Options::default().iteration_count)?;
    Ok(format!(
        "// course: source-sha256 {hash}\n// course: compiler {compiler}\n\
         // Generated by `{COMMAND}`: crates/web as WebAssembly, gzip, base64.\nreductionLab.engine(\"{packed}\");\n"
    ))
}

/// Hash of every source that is compiled into the engine, and of the profile: names and contents, in order.
fn hash(root: &Path) -> Result<String> {
    let mut all = String::new();
    for folder in CRATES {
        let sources = workspace::walk(&root.join(folder).join("src"))?;
        let library = |file: &PathBuf| {
            !["bin", "command"].iter().any(|of| file.starts_with(root.join(folder).join("src").join(of)))
        };
        let mut files: Vec<PathBuf> = sources.into_iter().filter(library).collect();
        files.push(root.join(folder).join("Cargo.toml"));
        for file in files {
            let text = workspace::read(root, &file)?.replace("\r\n", "\n");
            all += &format!("{}\n{text}\n", workspace::name(root, &file));
        }
    }
    let manifest = workspace::read(root, "Cargo.toml")?;
    let (_, profile) = manifest.split_once("[profile.engine]").context("Cargo.toml: no [profile.engine]")?;
    all += profile;
    Ok(device::sha256(all.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_other_sources_is_refused() {
        let text = script(b"module", "abc", "rustc 1").unwrap();
        assert_eq!(problem(&text, "abc"), None);
        assert!(problem(&text, "abd").is_some_and(|problem| problem.contains("cargo course engine")));
        assert!(problem("reductionLab.engine(\"\");", "abc").is_some_and(|problem| problem.contains("no stamp")));
        let large = text + &"x".repeat(BYTES_MAX);
        assert!(problem(&large, "abc").is_some_and(|problem| problem.contains("too many")));
    }

    #[test]
    fn the_hash_changes_with_a_source() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| lab::record::write(&dir.path().join(name), text).unwrap();
        for folder in CRATES {
            write(&format!("{folder}/Cargo.toml"), "[package]");
            write(&format!("{folder}/src/lib.rs"), "// one");
        }
        write("Cargo.toml", "[workspace]\n[profile.engine]\nlto = true\n");
        let before = hash(dir.path()).unwrap();
        write("crates/simt/src/bin/simt/main.rs", "// the command is no part of it");
        assert_eq!(hash(dir.path()).unwrap(), before);
        write("crates/simt/src/lib.rs", "// two");
        assert_ne!(hash(dir.path()).unwrap(), before);
    }
}
