//! Finds Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Names that distributions give it. The one without windows needs half of the time for the same pages.
const NAMES: [&str; 6] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Its places on a Mac.
const MAC_APPS: [&str; 2] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/// The browser: what `CHROME` names, else the first of [`NAMES`] that the search path has.
pub fn find() -> Option<PathBuf> {
    let named = std::env::var_os("CHROME").map(PathBuf::from);
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&search_path).collect();
    let in_folders = |name: &str| {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        folders.iter().map(|folder| folder.join(&file)).collect::<Vec<_>>()
    };
    let on_path = NAMES.into_iter().flat_map(in_folders);
    named.into_iter().chain(on_path).chain(MAC_APPS.map(PathBuf::from)).find(|path| path.is_file())
}

/// `Chromium 156.0.8078.79`
pub fn version(chromium: &Path) -> Result<String> {
    let said = Command::new(chromium)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run `{}`", chromium.display()))?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
