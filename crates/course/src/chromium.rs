//! Finds Chromium and runs it without a window.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Names that distributions give it.
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Where it is on a Mac.
const MAC_APPS: [&str; 2] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
/// No page of the book takes longer than this.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The browser: what `CHROME` names, else the first that the search path has.
pub fn find() -> Option<PathBuf> {
    let named = std::env::var_os("CHROME").map(PathBuf::from);
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&search_path)
        .flat_map(|dir| NAMES.map(|name| dir.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))));
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

/// Opens `url` in a window of this size, with a fresh profile, and saves a picture of it.
pub fn screenshot(chromium: &Path, url: &str, size: (u32, u32), profile: &Path, picture: &Path) -> Result<()> {
    // A profile that another run left may be locked or half written.
    if profile.exists() {
        std::fs::remove_dir_all(profile).with_context(|| format!("cannot empty `{}`", profile.display()))?;
    }
    std::fs::create_dir_all(profile).with_context(|| format!("cannot make `{}`", profile.display()))?;
    let mut browser = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={},{}", size.0, size.1))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run `{}`", chromium.display()))?;
    let start = Instant::now();
    loop {
        match browser.try_wait().context("cannot wait for Chromium")? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("Chromium ended with {status} while it showed {url}"),
            None if start.elapsed() > TIME_LIMIT => {
                // It may end by itself between the question and the order to.
                let _ = browser.kill();
                let _ = browser.wait();
                bail!("Chromium did not show {url} within {} s", TIME_LIMIT.as_secs());
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
