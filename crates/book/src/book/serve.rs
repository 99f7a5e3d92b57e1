//! `cargo course book --serve`: serves the site, rebuilds it when a source changes, and lets open pages reload. It also does for its
//! pages what a page cannot do by itself: it compiles what the reader writes, and keeps her progress.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};

use super::{BUILD_DIR, build, includes, language, site};
use compile::Compiler;
use course::workspace;
use desk::Desk;
use door::Door;
use http::{Answer, Limits, Request};

pub mod compile;
mod desk;
mod door;
pub mod http;

/// Least time between two looks at the sources. Polling works everywhere, shared folders of virtual machines included; a look only asks
/// for the times of files, a few milliseconds of work.
const POLL: Duration = Duration::from_secs(1);
/// Rest after a look, in looks: where files are slow, they are asked less often.
const REST: u32 = 200;
/// Address at which open pages ask for the number of the build they should show.
const VERSION_URL: &str = "/__version";
/// Reloads a page when the number of the build changes; a server that stopped is no reason to.
const RELOAD: &str = "<script>(()=>{let shown;setInterval(async()=>{try{\
    const now=await(await fetch('/__version')).text();\
    if(shown!==undefined&&now!==shown)location.reload();shown=now}catch{}},1000)})()</script>";
/// The longest text that is compiled; the course's own kernels have a tenth of it.
const BODY_BYTES_MAX: usize = 256 << 10;

/// A site that is served, and what is done for its pages.
pub struct House {
    desk: Desk,
    dir: PathBuf,
    /// Held while a build writes, so that no page is served half.
    building: Mutex<()>,
    version: AtomicU64,
    /// When the server began: a page of an earlier run has another token, and loads itself again.
    began: SystemTime,
}

impl House {
    /// Server on this port for the site in `dir`.
    ///
    /// # Errors
    /// A system without random bytes.
    pub fn new(root: &Path, dir: PathBuf, port: u16, compile_limit: Duration) -> Result<House> {
        let (door, compiler, root) = (Door::new(port)?, Compiler::new(compile_limit), root.to_path_buf());
        let desk = Desk { door, compiler, root, noting: Mutex::new(()) };
        Ok(House { desk, dir, building: Mutex::new(()), version: AtomicU64::new(0), began: SystemTime::now() })
    }

    /// Limits of a request.
    pub fn limits() -> Limits {
        Limits { body_bytes: BODY_BYTES_MAX, ..Limits::default() }
    }

    /// Answers a request.
    pub fn answer(&self, request: &Request) -> Answer {
        if request.url.starts_with(desk::PREFIX) {
            return self.desk.answer(request);
        }
        if let Err(refusal) = self.desk.door.knows_host(request) {
            return refusal;
        }
        if request.url == VERSION_URL {
            return Answer::text("text/plain", self.version());
        }
        let _whole = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let head = if url_is_page(&request.url) { self.desk.head() + RELOAD } else { String::new() };
        // No other page may frame one of these or load it as a script.
        site::file(&self.dir, &request.url, &head)
            .with("x-frame-options", "SAMEORIGIN")
            .with("cross-origin-resource-policy", "same-origin")
    }

    /// Another text for each build of each run.
    fn version(&self) -> String {
        let began = self.began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("{}.{}", began.as_millis(), self.version.load(Ordering::Relaxed))
    }

    /// Builds and says how it went. While someone is writing, a page that does not build is news and not the end.
    fn rebuild(&self, root: &Path) {
        let _writing = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        match build(root) {
            Ok(built) => println!("built {} pages in {:.1} s", built.pages, began.elapsed().as_secs_f32()),
            Err(error) => eprintln!("error: {error:#}"),
        }
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns whether an address is that of a page, whose head gets what this server adds.
fn url_is_page(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    name.ends_with(".html") || !name.contains('.')
}

/// Builds, serves on this port and watches until the reader stops the program. The compiler may take so long for a text of a page.
pub fn run(root: &Path, port: u16, in_browser: bool, compile_limit: Duration) -> Result<()> {
    let listener = http::listen(port)?;
    let address = http::address(&listener)?;
    let port = listener.local_addr()?.port();
    let house = Arc::new(House::new(root, root.join(BUILD_DIR), port, compile_limit)?);
    let sources = Sources::of(root);
    house.rebuild(root);
    println!("serving the book at {address} (stop with Ctrl-C)");
    if device::nvrtc::Nvrtc::find(root).is_err() {
        println!("there is no NVRTC, so kernels cannot be edited in the pages: `cargo course setup` installs it");
    }
    if in_browser {
        open::that_detached(&address).with_context(|| format!("cannot open a browser: open {address} yourself"))?;
    }
    let watcher = (root.to_path_buf(), Arc::clone(&house));
    std::thread::spawn(move || watch(&watcher.0, &watcher.1, sources));
    http::serve(listener, House::limits(), move |request| house.answer(request))
}

fn watch(root: &Path, house: &House, mut sources: Sources) {
    let mut rest = POLL;
    loop {
        std::thread::sleep(rest);
        let began = Instant::now();
        let has_changed = sources.changed();
        rest = POLL.max(REST * began.elapsed());
        if has_changed {
            // Pages are read for what they include only now: it costs a hundred times as much as a look.
            sources = Sources::of(root);
            house.rebuild(root);
        }
    }
}

/// Time and length of each source that is there.
type Fingerprint = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Sources of a build, and their times.
struct Sources {
    /// The book's own folder, in which files may come and go.
    folder: PathBuf,
    /// `book.toml`, the translations, and all that pages include; what is missing too, since it may come.
    more: Vec<PathBuf>,
    seen: Fingerprint,
}

impl Sources {
    /// Reads every page for what it includes.
    fn of(root: &Path) -> Sources {
        let mut more = vec![root.join("book.toml")];
        let languages = language::languages(root).unwrap_or_default();
        more.extend(languages.iter().map(|name| language::path(root, name)));
        if let Ok(includes) = includes::check(root, &root.join("book/src")) {
            more.extend(includes.sources);
        }
        let mut sources = Sources { folder: root.join("book"), more, seen: Fingerprint::new() };
        sources.seen = sources.fingerprint();
        sources
    }

    fn changed(&self) -> bool {
        self.fingerprint() != self.seen
    }

    fn fingerprint(&self) -> Fingerprint {
        let own = workspace::walk(&self.folder).unwrap_or_default();
        own.iter()
            .chain(&self.more)
            .filter_map(|file| {
                let about = file.metadata().ok()?;
                Some((file.clone(), (about.modified().ok(), about.len())))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    /// A server of a site with one page, on a free port, and its token. It ends with the program.
    fn house() -> (SocketAddr, String, tempfile::TempDir) {
        let site = crate::tree(&[("page.html", "<html><head></head></html>")]);
        let listener = http::listen(0).unwrap();
        let to = listener.local_addr().unwrap();
        let root = workspace::root().unwrap();
        let house = House::new(&root, site.path().to_path_buf(), to.port(), Duration::from_secs(20)).unwrap();
        let token = house.desk.door.token().to_owned();
        std::thread::spawn(move || http::serve(listener, House::limits(), move |request| house.answer(request)));
        (to, token, site)
    }

    /// A request, as the page of this server makes it; `change` makes another one of it.
    fn ask(to: SocketAddr, token: &str, url: &str, body: &str, change: impl Fn(String) -> String) -> (u16, String) {
        let text = format!(
            "POST {url} HTTP/1.1\r\nHost: {to}\r\nOrigin: http://{to}\r\nX-Lab-Token: {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        http::tests::ask(to, &change(text))
    }

    #[test]
    fn only_pages_of_this_server_are_let_in() {
        let (to, token, _site) = house();
        let own = |text: String| text;
        let nothing_there = "/__lab/nothing";
        assert_eq!(ask(to, &token, nothing_there, "", own).0, 404, "the door is open to its own pages");
        let strangers: [(&str, &str, &str, u16); 7] = [
            ("without a token", &format!("X-Lab-Token: {token}\r\n"), "", 403),
            ("without an origin", &format!("Origin: http://{to}\r\n"), "", 403),
            ("from another origin", &format!("Origin: http://{to}"), "Origin: http://evil.example", 403),
            ("with another token", &token, &"0".repeat(token.len()), 403),
            ("under another name", &format!("Host: {to}"), "Host: evil.example", 421),
            ("without a name", &format!("Host: {to}\r\n"), "", 421),
            ("by another method", "POST", "GET", 405),
        ];
        for (what, part, instead, status) in strangers {
            for url in [nothing_there, "/__lab/compile", "/__lab/progress"] {
                let (got, answer) = ask(to, &token, url, "", |text| text.replacen(part, instead, 1));
                assert_eq!(got, status, "{what}: {answer}");
                assert!(answer.trim_end().lines().last().is_some_and(|line| line.contains(' ')), "{what}: no sentence");
                assert!(!answer.contains(&token), "{what}: the answer has the token");
            }
        }
    }

    #[test]
    fn the_token_stands_in_pages_that_nobody_else_gets() {
        let (to, token, _site) = house();
        let get = |host: &str| {
            http::tests::ask(to, &format!("GET /page.html HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
        };
        let (status, page) = get(&to.to_string());
        assert_eq!(status, 200);
        assert!(page.contains(&token) && page.contains("location.reload"), "{page}");
        assert!(page.contains("cross-origin-resource-policy: same-origin"), "{page}");
        assert_eq!(get(&format!("localhost:{}", to.port())).0, 200);
        // A name that a stranger points to this machine.
        let (status, page) = get(&format!("evil.example:{}", to.port()));
        assert_eq!(status, 421);
        assert!(!page.contains(&token), "{page}");
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let (to, token, _site) = house();
        let (status, answer) = ask(to, &token, "/__lab/compile", &"x".repeat(BODY_BYTES_MAX + 1), |text| text);
        assert_eq!(status, 413, "{answer}");
    }

    #[test]
    fn nonsense_as_progress_is_refused_and_changes_nothing() {
        let (to, token, _site) = house();
        for body in [
            "{",
            "[]",
            "{\"exercise\":\"no-such\",\"answer\":\"1\"}",
            "{\"exercise\":\"half-the-blocks\",\"answer\":\"x\"}",
        ] {
            let (status, answer) = ask(to, &token, "/__lab/progress", body, |text| text);
            assert_eq!(status, 400, "{body}: {answer}");
        }
    }

    #[test]
    fn edits_of_pages_and_of_what_they_include_are_seen() {
        let page = "{{#include ../../kernels/k.cu}} {{#include ../../kernels/missing.cu}}";
        let dir = crate::tree(&[("book/src/page.md", page), ("kernels/k.cu", "one")]);
        let sees = |file: &str, text: &str| {
            let sources = Sources::of(dir.path());
            assert!(!sources.changed());
            std::fs::write(dir.path().join(file), text).unwrap();
            sources.changed()
        };
        assert!(sees("kernels/k.cu", "three"));
        assert!(sees("kernels/missing.cu", "there now"));
        assert!(sees("book/src/new.md", "a new page"));
        assert!(sees("book/src/page.md", "nothing"));
        assert!(!sees("kernels/k.cu", "no page includes it any more"));
    }
}
