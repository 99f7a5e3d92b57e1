//! `cargo course editor`: packs what npm brings for the pages, each into one script: the editor of the labs, which they load at the
//! first touch of its button, and the colours of listings. Like the engine they are generated files with a stamp: the hash of their
//! sources and of the lock file, which names every package with its own hash.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use course::ensure::{Mode, ensure as bring};
use course::findings::Findings;
use course::workspace;
use serde_json::Value;

const COMMAND: &str = "cargo course editor";
const STAMP: &str = "// course: source-sha256 ";

/// Packages of npm and a few lines of ours, packed into a script.
struct Pack {
    /// Path of the script.
    script: &'static str,
    /// Folder of its sources.
    folder: &'static str,
    /// The source that names the rest.
    entry: &'static str,
    /// The licence of every package in it, as npm names it, and a file that has its text.
    licence: (&'static str, &'static str),
    /// Largest size in bytes.
    bytes_max: usize,
}

const PACKS: [Pack; 2] = [
    Pack {
        script: "book/src/lab/editor.js",
        folder: "crates/web/editor",
        entry: "editor.js",
        licence: ("MIT", "@codemirror/state/LICENSE"),
        // A reader who wants to edit waits for it, once.
        bytes_max: 600_000,
    },
    // mdBook takes it in place of its own.
    Pack {
        script: "book/theme/highlight.js",
        folder: "crates/web/highlight",
        entry: "highlight.js",
        licence: ("BSD-3-Clause", "highlight.js/LICENSE"),
        // Every page loads it.
        bytes_max: 40_000,
    },
];

/// Options of `cargo course editor`.
#[derive(clap::Args)]
pub struct Options {
    /// Compare and write nothing
    #[arg(long)]
    check: bool,
}

/// Runs the verb.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    for pack in PACKS.iter().filter(|_| !options.check) {
        let text = pack.text(&root)?;
        let written = bring(&root, &root.join(pack.script), &text, Mode::Write, COMMAND)?;
        println!("{} {}, {} bytes", if written { "wrote    " } else { "unchanged" }, pack.script, text.len());
    }
    println!("fresh: {}", check(&root)?.verdict()?);
    Ok(())
}

/// Returns whether the committed scripts are made from today's sources, and small enough.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("packed scripts");
    for pack in &PACKS {
        findings.examined += 1;
        match std::fs::read_to_string(root.join(pack.script)) {
            Err(_) => {
                findings.problems.push(format!("{}: missing: run `{COMMAND}` and commit the result", pack.script));
            }
            Ok(text) => findings.problems.extend(pack.problem(&text, &pack.hash(root)?)),
        }
    }
    Ok(findings)
}

impl Pack {
    fn problem(&self, text: &str, hash: &str) -> Option<String> {
        let Pack { script, folder, bytes_max, .. } = self;
        match text.lines().find_map(|line| line.strip_prefix(STAMP)) {
            Some(stamped) if stamped == hash && text.len() <= *bytes_max => None,
            Some(stamped) if stamped == hash => {
                Some(format!("{script}: {} bytes are too many: at most {bytes_max}", text.len()))
            }
            _ => Some(format!(
                "{script}: made from other sources than those in {folder}: run `{COMMAND}` and commit the result"
            )),
        }
    }

    /// Returns the hash for the stamp.
    fn hash(&self, root: &Path) -> Result<String> {
        let mut all = String::new();
        for name in [self.entry, "package.json", "package-lock.json"] {
            let text = workspace::read(root, format!("{}/{name}", self.folder))?;
            all += &format!("{name}\n{}\n", text.replace("\r\n", "\n"));
        }
        Ok(device::sha256(all.as_bytes()))
    }

    /// The script with its stamp, and with the licence of what is packed into it.
    fn text(&self, root: &Path) -> Result<String> {
        let folder = root.join(self.folder);
        npm(&folder, &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])?;
        let form =
            ["--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=utf8", "--legal-comments=none"];
        let packed =
            npm(&folder, &[&["exec", "--", "esbuild", self.entry, "--log-level=warning"][..], &form].concat())?;
        let lock = std::fs::read_to_string(folder.join("package-lock.json")).context("cannot read the lock file")?;
        let (licence, path) = self.licence;
        let packages = packages(&serde_json::from_str(&lock).context("package-lock.json")?, licence)?;
        let path = folder.join("node_modules").join(path);
        let licence = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let licence: String = licence.lines().map(|line| format!("// {line}").trim_end().to_owned() + "\n").collect();
        let hash = self.hash(root)?;
        Ok(format!("// Generated by `{COMMAND}`.\n{STAMP}{hash}\n// It holds {packages}.\n//\n{licence}{packed}"))
    }
}

/// Runs npm and returns its output.
fn npm(folder: &Path, words: &[&str]) -> Result<String> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let output = Command::new(program).args(words).current_dir(folder).output();
    let output = output.context("cannot run npm, which brings the packages: install Node.js")?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`npm {}` in {} fails\n{}", words.join(" "), folder.display(), why.trim_end());
    String::from_utf8(output.stdout).context("npm wrote something else than text")
}

/// The packages that are packed, `name version, …`: all but the tools. Each is under the one licence that the script carries.
fn packages(lock: &Value, licence: &str) -> Result<String> {
    let all = lock["packages"].as_object().context("the lock file has no packages")?;
    let mut names = Vec::new();
    for (path, package) in all.iter().filter(|(path, package)| !path.is_empty() && package["dev"] != true) {
        let name = path.trim_start_matches("node_modules/");
        ensure!(
            package["license"] == licence,
            "{name} is under {}, and the script carries the licence {licence} alone",
            package["license"]
        );
        names.push(format!("{name} {}", package["version"].as_str().unwrap_or("")));
    }
    ensure!(!names.is_empty(), "the lock file names no package");
    Ok(names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_other_sources_is_refused() {
        let text = format!("// Generated.\n{STAMP}abc\n(()=>{{}})()");
        let [pack, _] = &PACKS;
        assert_eq!(pack.problem(&text, "abc"), None);
        assert!(pack.problem(&text, "abd").is_some_and(|problem| problem.contains(COMMAND)));
        assert!(pack.problem("(()=>{})()", "abc").is_some());
        assert!(
            pack.problem(&(text + &"x".repeat(pack.bytes_max)), "abc")
                .is_some_and(|problem| problem.contains("too many"))
        );
    }

    #[test]
    fn another_licence_is_refused() {
        let lock = |licence: &str| {
            serde_json::json!({ "packages": { "": {}, "node_modules/a": { "version": "1.0.0", "license": licence },
                "node_modules/tool": { "version": "2.0.0", "license": "GPL", "dev": true } } })
        };
        assert_eq!(packages(&lock("MIT"), "MIT").unwrap(), "a 1.0.0");
        assert!(packages(&lock("GPL"), "MIT").is_err());
    }
}
