//! Needs of the checks that drive a browser: Chromium, Node and the npm packages, or a reason why there is nothing to drive.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use course::chromium;
use serde_json::Value;

use super::{Scene, Verdict};

/// Folder of the scripts and their npm packages.
const FOLDER: &str = "crates/web/browser";
/// The oldest Node that playwright-core runs on.
const NODE_MIN: u32 = 20;

/// Does what needs the browser, or says what is missing.
pub fn look(scene: &Scene, work: fn(&Scene, &Path) -> Result<Verdict>) -> Result<Verdict> {
    find(scene)?.map_or_else(Ok, |browser| work(scene, &browser))
}

/// Looks for all that the scripts need, and installs the npm packages where they are not yet.
fn find(scene: &Scene) -> Result<Result<PathBuf, Verdict>> {
    let Some(browser) = chromium::find() else {
        return missing(scene, "Chromium", "install it, or name one with CHROME");
    };
    let Ok(version) = Command::new("node").arg("--version").output() else {
        return missing(scene, "Node", &format!("install Node {NODE_MIN} or newer"));
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    if major(&version).is_none_or(|major| major < NODE_MIN) {
        let how = format!("this is {version}, and playwright-core does not run on it");
        return missing(scene, &format!("Node {NODE_MIN} or newer"), &how);
    }
    let folder = scene.root.join(FOLDER);
    if !is_installed(&folder) {
        let install = Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).output();
        if !install.as_ref().is_ok_and(|output| output.status.success()) {
            return missing(scene, "playwright-core", &format!("`npm ci` in {FOLDER}"));
        }
    }
    Ok(Ok(browser))
}

/// Returns whether the packages of the lock file are those that were installed: npm keeps a copy of what it did.
fn is_installed(folder: &Path) -> bool {
    let packages = |file: &str| -> Option<serde_json::Map<String, Value>> {
        let lock: Value = serde_json::from_str(&std::fs::read_to_string(folder.join(file)).ok()?).ok()?;
        Some(
            lock["packages"]
                .as_object()?
                .iter()
                .filter(|(name, _)| !name.is_empty())
                .map(|(name, package)| (name.clone(), package["version"].clone()))
                .collect(),
        )
    };
    packages("package-lock.json").is_some_and(|locked| packages("node_modules/.package-lock.json") == Some(locked))
}

/// `v20.11.1` is 20.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn missing(scene: &Scene, what: &str, how: &str) -> Result<Result<PathBuf, Verdict>> {
    if scene.is_ci {
        bail!("no {what}, and CI looks at the pages in a browser: {how}");
    }
    Ok(Err(Verdict::Skip(format!("no {what} on this machine: {how}"))))
}

/// Runs a script of the folder, whose last words are a JSON object.
pub fn run(scene: &Scene, script: &str, args: &[&Path]) -> Result<Value> {
    serde_json::from_str(&last_words(scene, script, args)?).with_context(|| format!("{script} ends with a summary"))
}

/// Runs a script of the folder, whose findings are lines of its output. Returns what it says in the end if there are none.
pub fn last_words(scene: &Scene, script: &str, args: &[&Path]) -> Result<String> {
    let path = scene.root.join(FOLDER).join(script);
    let Output { status, stdout, stderr } =
        Command::new("node").arg(path).args(args).output().context("cannot run node")?;
    let (said, last) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if !status.success() {
        bail!("{}", if said.is_empty() { last } else { said });
    }
    Ok(last.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_node_has_a_first_number() {
        assert_eq!(major("v18.20.4"), Some(18));
        assert_eq!(major("v22.1.0"), Some(22));
        assert_eq!(major("nonsense"), None);
    }

    #[test]
    fn packages_of_another_lock_file_are_installed_anew() {
        let lock = |version: &str| {
            format!("{{\"packages\": {{\"\": {{}}, \"node_modules/a\": {{\"version\": \"{version}\"}}}}}}")
        };
        let folder = crate::tree(&[("package-lock.json", &lock("1.0.0"))]);
        assert!(!is_installed(folder.path()));
        for (version, is) in [("0.9.0", false), ("1.0.0", true)] {
            lab::record::write(&folder.path().join("node_modules/.package-lock.json"), &lock(version)).unwrap();
            assert_eq!(is_installed(folder.path()), is);
        }
    }
}
