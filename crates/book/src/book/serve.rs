//! `cargo course book --serve`: serves the site, rebuilds it when a source changes, and lets open pages reload.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::{BUILD_DIR, build, includes, site};
use course::workspace;

/// How often sources are looked at. Polling works everywhere, shared folders of virtual machines included.
const POLL: Duration = Duration::from_millis(500);
/// Where open pages ask for the number of the build they should show.
const VERSION_URL: &str = "/__version";
/// Reloads a page when the number of the build changes; a server that stopped is no reason to.
const RELOAD: &str = "<script>(()=>{let shown;setInterval(async()=>{try{\
    const now=await(await fetch('/__version')).text();\
    if(shown!==undefined&&now!==shown)location.reload();shown=now}catch{}},1000)})()</script>";

/// What the server and the watcher share.
struct Shared {
    /// Held while a build writes, so that no page is served half.
    building: Mutex<()>,
    version: AtomicU64,
}

/// Builds, serves and watches until the reader stops the program.
pub fn run(root: &Path, port: u16, open: bool) -> Result<()> {
    let listener = site::listen(port)?;
    let address = site::address(&listener)?;
    let shared = Arc::new(Shared { building: Mutex::new(()), version: AtomicU64::new(0) });
    let seen = fingerprint(root);
    rebuild(root, &shared);
    println!("serving the book at {address} (stop with Ctrl-C)");
    if open {
        opener::open_browser(&address).with_context(|| format!("cannot open a browser: open {address} yourself"))?;
    }
    let watcher = (root.to_path_buf(), Arc::clone(&shared));
    std::thread::spawn(move || watch(&watcher.0, &watcher.1, seen));
    let dir = root.join(BUILD_DIR);
    site::serve(&listener, move |request| {
        if request.url == VERSION_URL {
            return site::Answer::text("text/plain", shared.version.load(Ordering::Relaxed).to_string());
        }
        let _whole = shared.building.lock().unwrap_or_else(PoisonError::into_inner);
        site::file(&dir, &request.url, RELOAD)
    });
    Ok(())
}

/// Builds and says how it went. While someone is writing, a page that does not build is news and not the end.
fn rebuild(root: &Path, shared: &Shared) {
    let _writing = shared.building.lock().unwrap_or_else(PoisonError::into_inner);
    match build(root) {
        Ok(built) => println!("built {} pages", built.pages),
        Err(error) => eprintln!("error: {error:#}"),
    }
    shared.version.fetch_add(1, Ordering::Relaxed);
}

fn watch(root: &Path, shared: &Shared, mut seen: Fingerprint) {
    loop {
        std::thread::sleep(POLL);
        let now = fingerprint(root);
        if now != seen {
            seen = now;
            rebuild(root, shared);
        }
    }
}

/// When and how long each source was.
type Fingerprint = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// The book's own files and everything its pages include.
fn fingerprint(root: &Path) -> Fingerprint {
    let mut files = workspace::walk(&root.join("book")).unwrap_or_default();
    files.push(root.join("book.toml"));
    if let Ok(includes) = includes::check(root, &root.join("book/src")) {
        files.extend(includes.sources);
    }
    files
        .into_iter()
        .filter_map(|file| {
            let about = file.metadata().ok()?;
            Some((file, (about.modified().ok(), about.len())))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_of_an_included_file_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("book/src")).unwrap();
        std::fs::create_dir_all(dir.path().join("kernels")).unwrap();
        std::fs::write(dir.path().join("book/src/page.md"), "{{#include ../../kernels/k.cu}}").unwrap();
        std::fs::write(dir.path().join("kernels/k.cu"), "one").unwrap();
        let before = fingerprint(dir.path());
        assert!(before.contains_key(&dir.path().join("kernels/k.cu")));
        assert_eq!(fingerprint(dir.path()), before);
        std::fs::write(dir.path().join("kernels/k.cu"), "three").unwrap();
        assert_ne!(fingerprint(dir.path()), before);
    }
}
