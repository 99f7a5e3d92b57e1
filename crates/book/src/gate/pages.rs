//! Shows every page of the built site in headless Chromium, in two sizes and two themes, and reports what a reader
//! would trip over: console errors, things loaded from the network, content past the edge, empty pages and pictures.
//!
//! One sheet a page holds four frames; a script in each page writes down its errors, a script in the sheet measures the
//! frames and posts what it finds to the server that serves them. A picture of each sheet stays for a human to look at.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::book::serve::http::{self, Answer, Limits, Request};
use crate::book::site;
use course::chromium;
use course::findings::Findings;
use course::workspace;

const PROBE: &str = include_str!("probe.js");
const SHEET: &str = include_str!("sheet.js");
/// A laptop and a phone, in CSS pixels.
const SIZES: [(u32, u32); 2] = [(1280, 800), (390, 844)];
/// The themes that a reader gets who chooses none.
const THEMES: [&str; 2] = ["light", "navy"];
/// All four frames and the space between them.
const SHEET_SIZE: (u32, u32) = (1720, 1700);
/// Everything comes from the site itself; a violation is a finding.
const POLICY: &str = "default-src 'self' data: blob: 'unsafe-inline'";
/// mdBook's helpers: the whole book to print, and the table of contents for browsers without scripts.
const NO_PAGES: [&str; 2] = ["print.html", "toc.html"];

/// How long the sheet is held open for its report.
const REPORT_LIMIT: Duration = Duration::from_secs(30);

/// What the server and the check share.
struct Desk {
    dir: PathBuf,
    /// The report of the page that is shown now.
    report: Mutex<Option<String>>,
    arrived: Condvar,
}

/// Checks every page of the site in `dir`; pictures go to `pictures`.
pub fn check(browser: &Path, dir: &Path, pictures: &Path) -> Result<Findings> {
    let mut findings = Findings::new("page views");
    std::fs::create_dir_all(pictures).with_context(|| format!("cannot make `{}`", pictures.display()))?;
    let listener = http::listen(0)?;
    let address = http::address(&listener)?;
    let desk = Arc::new(Desk { dir: dir.to_path_buf(), report: Mutex::new(None), arrived: Condvar::new() });
    let behind = Arc::clone(&desk);
    // The thread ends with the program; it holds nothing but a port.
    std::thread::spawn(move || http::serve(listener, Limits::default(), move |request| answer(request, &behind)));
    for page in pages(dir)? {
        let picture = pictures.join(page.replace('/', "-")).with_extension("png");
        let url = format!("{address}/__sheet?{page}");
        *desk.locked() = None;
        chromium::screenshot(browser, &url, SHEET_SIZE, &pictures.join("profile"), &picture)?;
        let report = desk.locked().take().with_context(|| format!("{page}: Chromium ended without a report"))?;
        read_report(&report, &page, &mut findings)?;
    }
    Ok(findings)
}

impl Desk {
    fn locked(&self) -> MutexGuard<'_, Option<String>> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, report: String) {
        *self.locked() = Some(report);
        self.arrived.notify_all();
    }

    /// Waits until the report is there, or nobody can expect it any more.
    fn wait(&self) {
        // Whether it came in time shows when it is taken.
        drop(self.arrived.wait_timeout_while(self.locked(), REPORT_LIMIT, |report| report.is_none()));
    }
}

/// Pages by their path in the site.
fn pages(dir: &Path) -> Result<Vec<String>> {
    let is_page = |file: &PathBuf| file.extension().is_some_and(|ext| ext == "html");
    let names = workspace::walk(dir)?.into_iter().filter(is_page).map(|file| workspace::name(dir, &file));
    Ok(names.filter(|name| !NO_PAGES.contains(&name.as_str())).collect())
}

fn answer(request: &Request, desk: &Desk) -> Answer {
    let url = request.url.as_str();
    if let Some(page) = url.strip_prefix("/__sheet?") {
        return Answer::text("text/html; charset=utf-8", sheet(page));
    }
    match url {
        "/__report" => {
            desk.put(request.body.clone());
            Answer::text("text/plain", String::new())
        }
        "/__hold" => {
            desk.wait();
            Answer::text("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>".to_owned())
        }
        _ => {
            let head = if url.contains("?__probe=") { format!("<script>{PROBE}</script>") } else { String::new() };
            site::file(&desk.dir, url, &head).with("content-security-policy", POLICY)
        }
    }
}

/// A page in every size and theme.
fn sheet(page: &str) -> String {
    let mut frames = String::new();
    for theme in THEMES {
        for (width, height) in SIZES {
            frames.push_str(&format!(
                "<iframe title=\"{width}x{height} {theme}\" data-theme=\"{theme}\" width=\"{width}\" \
                 height=\"{height}\" src=\"/{page}?__probe={theme}\" style=\"border:0\"></iframe>\n"
            ));
        }
    }
    format!(
        "<!DOCTYPE html><title>{page}</title><script>{SHEET}</script><body style=\"margin:8px\">\n\
         {frames}<img src=\"/__hold\" alt=\"\">"
    )
}

fn read_report(report: &str, page: &str, findings: &mut Findings) -> Result<()> {
    let views: Value = serde_json::from_str(report).with_context(|| format!("{page}: the report is no JSON"))?;
    let views = views.as_array().filter(|views| views.len() == SIZES.len() * THEMES.len());
    for view in views.with_context(|| format!("{page}: the report lacks views"))? {
        findings.examined += 1;
        let problems = view["problems"].as_array().with_context(|| format!("{page}: the report lacks problems"))?;
        let place = format!("{page} at {}", view["view"].as_str().unwrap_or("?"));
        findings
            .problems
            .extend(problems.iter().map(|problem| format!("{place}: {}", problem.as_str().unwrap_or("?"))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "<!DOCTYPE html><html><head></head><body><div><main><p>text</p>\
        <div style='overflow-x:auto'><pre style='width:3000px'>wide</pre></div></main></div>\
        <script>document.documentElement.className = localStorage.getItem('mdbook-theme')</script></body></html>";

    fn problems(body: &str) -> Option<Vec<String>> {
        let Some(browser) = chromium::find() else {
            println!("skipped: no Chromium on this machine");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let site = dir.path().join("site");
        std::fs::create_dir(&site).unwrap();
        std::fs::write(site.join("page.html"), body).unwrap();
        std::fs::write(site.join("toc.html"), "").unwrap();
        let findings = check(&browser, &site, &dir.path().join("pictures")).unwrap();
        assert_eq!(findings.examined, 4);
        assert!(dir.path().join("pictures/page.png").is_file());
        Some(findings.problems)
    }

    #[test]
    fn a_good_page_passes_and_each_defect_is_named() {
        let Some(found) = problems(GOOD) else { return };
        assert_eq!(found, Vec::<String>::new());

        let bad = GOOD.replace(
            "<p>text</p>",
            "<p style='width:500px'>wide</p><img src='gone.png'><figure><svg width='9' height='9'></svg></figure><svg width='0'></svg>\
             <script>console.error('broken', 7); throw new Error('thrown')</script>\
             <script src='https://example.org/x.js'></script>",
        );
        let found = problems(&bad).unwrap();
        for (needle, views) in [
            ("“wide” reaches 118 px past the edge", 2),
            ("cannot load", 4),
            ("picture gone.png is not shown", 4),
            ("picture gone.png has no alternative text", 4),
            ("holds a drawing without a title", 4),
            ("holds a drawing without a size", 4),
            ("console error: broken 7", 4),
            ("script error: Uncaught Error: thrown", 4),
            ("loads https://example.org/x.js", 4),
        ] {
            let count = found.iter().filter(|problem| problem.contains(needle)).count();
            assert!(count >= views, "{needle}: {count} in {found:#?}");
        }
    }

    #[test]
    fn an_empty_page_is_a_finding() {
        let Some(found) = problems(&GOOD.replace("<p>text</p>", "").replace("wide", "")) else { return };
        assert_eq!(found.len(), 4);
        assert!(found[0].contains("shows nothing"), "{found:?}");
    }
}
