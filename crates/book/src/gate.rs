//! `cargo course gate`: every check that CI runs beyond the tests, a line each. It goes on after a failure, so that one
//! run tells everything, and ends with status 1 if anything failed.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;

use crate::book::{BUILD_DIR, includes, links};
use course::findings::Findings;
use course::lessons::{self, lessons};
use course::{bless, exercise, headlines, ptx, workspace};

use crate::{book, editor, engine};

mod browser;
mod circles;
mod dependencies;
mod edit;
mod figures;
mod fuzz;
mod guides;
mod language;
mod layout;
mod listings;
mod pages;
mod reading;
mod translation;
mod voice;

/// Options of `cargo course gate`.
#[derive(clap::Args)]
pub struct Options {
    /// Run this check alone; may be given several times
    #[arg(long, value_name = "CHECK", value_parser = names())]
    only: Vec<String>,
    /// Leave this check out; may be given several times
    #[arg(long, value_name = "CHECK", conflicts_with = "only", value_parser = names())]
    skip: Vec<String>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(TREE.iter().chain(SITE).map(|check| check.name))
}

/// Facts that checks need.
struct Scene {
    root: PathBuf,
    /// On a CI machine, nothing that a check needs may be missing.
    is_ci: bool,
}

/// Result of a check that did not fail.
enum Verdict {
    /// With what it looked at.
    Pass(String),
    /// With what is missing on this machine.
    Skip(String),
}

struct Check {
    name: &'static str,
    /// Time that it may take on two cores with nothing beside the gate. More is a warning and no failure, since machines differ.
    seconds: u32,
    work: Work,
}

/// Kinds of work.
enum Work {
    /// Looks at the files of the workspace.
    Tree(fn(&Path) -> Result<Findings>),
    /// Looks at what is built, by this browser.
    Browser(fn(&Scene, &Path) -> Result<Verdict>),
    /// Something else.
    Other(fn(&Scene) -> Result<Verdict>),
}

const fn tree(name: &'static str, seconds: u32, work: fn(&Path) -> Result<Findings>) -> Check {
    Check { name, seconds, work: Work::Tree(work) }
}

const fn by_browser(name: &'static str, seconds: u32, work: fn(&Scene, &Path) -> Result<Verdict>) -> Check {
    Check { name, seconds, work: Work::Browser(work) }
}

const fn other(name: &'static str, seconds: u32, work: fn(&Scene) -> Result<Verdict>) -> Check {
    Check { name, seconds, work: Work::Other(work) }
}

/// Checks of the sources, and of what is generated from them.
const TREE: &[Check] = &[
    other("format", 10, |scene| cargo(scene, &["fmt", "--all", "--check"])),
    other("clippy", 150, |scene| {
        cargo(scene, &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])
    }),
    other("wasm", 30, wasm),
    other("rust-version", 5, rust_version),
    tree("licences", 5, dependencies::licences),
    tree("one-build", 5, dependencies::one_build),
    other("advisories", 20, |scene| dependencies::advisories(&scene.root)),
    other("fuzz", 60, |scene| fuzz::check(&scene.root)),
    tree("rust-files", 5, layout::rust_files),
    other("voice", 5, |scene| voice::check(&scene.root).map(Verdict::Pass)),
    tree("circles", 5, circles::check),
    tree("slugs", 5, slugs),
    tree("build-dir", 5, layout::build_dir),
    tree("guides", 5, guides::check),
    tree("named-paths", 5, layout::named_paths),
    tree("machine-paths", 10, layout::machine_paths),
    other("ptx", 150, committed_ptx),
    tree("engine", 100, engine::check),
    tree("editor", 20, editor::check),
    tree("exercises", 60, |root| exercise::check(root, &listed())),
    tree("generated", 100, bless::check),
    tree("records", 10, bless::records),
    tree("headlines", 1, headlines::check),
    tree("includes", 5, |root| Ok(includes::check(root, &root.join("book/src"))?.findings)),
    tree("cores", 5, |root| reading::cores(root, &listed())),
    tree("placed", 5, |root| reading::placed(root, &exercise::order(root)?)),
    tree("listings", 5, listings::check),
    tree("translation", 10, translation::check),
    tree("terms", 5, reading::terms),
];

/// Checks of the built book, of which the first builds it.
const SITE: &[Check] = &[
    other("book", 40, |scene| Ok(Verdict::Pass(format!("{} pages", book::build(&scene.root)?.pages)))),
    tree("links", 10, |root| links::check(&built_site(root)?)),
    tree("language", 45, language::check),
    by_browser("pages", 190, pages::check),
    by_browser("labs", 180, figures::check),
    by_browser("edit", 50, edit::check),
];

/// Runs the verb. Both lists run at once: the one waits for browsers, the other for the compiler and the simulator.
pub fn run(options: &Options) -> Result<()> {
    let scene = Scene { root: workspace::root()?, is_ci: std::env::var_os("CI").is_some_and(|ci| ci != "false") };
    let named = |names: &[String], check: &Check| names.iter().any(|name| name == check.name);
    let chosen =
        |check: &&Check| (options.only.is_empty() || named(&options.only, check)) && !named(&options.skip, check);
    let begin = Instant::now();
    let ended: Vec<Ended> = std::thread::scope(|scope| {
        let lane = |checks: &'static [Check]| {
            let scene = &scene;
            scope.spawn(move || checks.iter().filter(chosen).map(|check| check.run(scene)).collect::<Vec<Ended>>())
        };
        let running = [TREE, SITE].map(lane);
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        running.into_iter().flat_map(join).collect()
    });
    println!("in all {:>12.1} s", begin.elapsed().as_secs_f64());
    let late: Vec<String> = ended.iter().filter_map(Ended::late).collect();
    if !late.is_empty() {
        println!("warning: slower than the tables in crates/book/src/gate.rs allow: {}", late.join(", "));
    }
    let failed: Vec<&str> = ended.iter().filter(|ended| ended.failed).map(|ended| ended.check.name).collect();
    match failed.len() {
        0 => Ok(()),
        1 => bail!("1 check failed: {}", failed[0]),
        many => bail!("{many} checks failed: {}", failed.join(", ")),
    }
}

/// A check that has run.
struct Ended {
    check: &'static Check,
    seconds: f64,
    failed: bool,
}

impl Check {
    /// Runs the check and prints its line.
    fn run(&'static self, scene: &Scene) -> Ended {
        let start = Instant::now();
        let verdict = match self.work {
            Work::Tree(work) => work(&scene.root).and_then(Findings::verdict).map(Verdict::Pass),
            Work::Browser(work) => browser::look(scene, work),
            Work::Other(work) => work(scene),
        };
        let seconds = start.elapsed().as_secs_f64();
        let failed = verdict.is_err();
        let (mark, what) = match verdict {
            Ok(Verdict::Pass(what)) => ("pass", what),
            Ok(Verdict::Skip(why)) => ("skip", why),
            Err(error) => ("FAIL", format!("{error:#}").replace('\n', "\n    ")),
        };
        println!("{:<14} {mark} {seconds:>6.1} s of {:>3}  {what}", self.name, self.seconds);
        Ended { check: self, seconds, failed }
    }
}

impl Ended {
    /// Words for the warning of a check that took longer than its table allows.
    fn late(&self) -> Option<String> {
        let (name, allowed) = (self.check.name, self.check.seconds);
        (self.seconds > f64::from(allowed)).then(|| format!("{name} {:.0} s of {allowed}", self.seconds))
    }
}

/// Runs cargo and shows what it said only if it failed.
fn cargo(scene: &Scene, args: &[&str]) -> Result<Verdict> {
    let output = workspace::cargo(&scene.root).args(args).output().context("cannot run cargo")?;
    if output.status.success() {
        return Ok(Verdict::Pass(String::new()));
    }
    let said = [output.stdout, output.stderr].concat();
    bail!("`cargo {}` fails\n{}", args.join(" "), String::from_utf8_lossy(&said).trim_end())
}

/// Builds the libraries that a browser could run for one, with nothing of a host.
fn wasm(scene: &Scene) -> Result<Verdict> {
    if let Some(why) = engine::lacks_target()? {
        return Ok(Verdict::Skip(why));
    }
    cargo(scene, &["check", "--quiet", "-p", "simt", "--no-default-features", "--lib", "--target", engine::TARGET])
}

/// The oldest Rust that the workspace declares is what CI builds with, and what readers read.
fn rust_version(scene: &Scene) -> Result<Verdict> {
    let declared = env!("CARGO_PKG_RUST_VERSION");
    let setup = "book/src/setup.md";
    let promise = format!("Rust ({declared} or newer)");
    if !workspace::read(&scene.root, setup)?.contains(&promise) {
        bail!("{setup}: does not say `{promise}`, which is what Cargo.toml declares");
    }
    let here = engine::rustc(&["--version"])?;
    match (here.starts_with(&format!("rustc {declared}.")), scene.is_ci) {
        (true, _) => Ok(Verdict::Pass(here)),
        (false, true) => bail!("CI builds with {here}, and Cargo.toml declares Rust {declared}: nothing proves that"),
        (false, false) => Ok(Verdict::Skip(format!("this is {here}; CI builds with {declared}"))),
    }
}

/// The slugs of all chapters.
fn listed() -> Vec<&'static str> {
    lessons::slugs().collect()
}

/// Kernels of the library that no program of a chapter launches yet.
const WITHOUT_A_LESSON: [&str; 1] = ["ch13-rows"];

fn slugs(root: &Path) -> Result<Findings> {
    let variants = lessons().into_iter().flat_map(|lesson| lesson.variants);
    let more_kernels = variants.filter_map(|variant| variant.kernels).chain(WITHOUT_A_LESSON);
    layout::slugs(root, &listed(), &more_kernels.collect::<Vec<_>>())
}

/// Recompiles where the pinned compiler is installed, in CI what has changed and a share of the rest; else the stamps must do, except in
/// CI.
fn committed_ptx(scene: &Scene) -> Result<Verdict> {
    match ptx::find_pinned(&scene.root) {
        Ok(_) if scene.is_ci => ptx::check_share(&scene.root)?.verdict().map(Verdict::Pass),
        Ok(_) => ptx::check(&scene.root)?.verdict().map(Verdict::Pass),
        Err(missing) if scene.is_ci => Err(missing.context("CI compares with the compiler itself")),
        Err(_) => {
            let stamps = ptx::check_stamps(&scene.root)?.verdict()?;
            Ok(Verdict::Pass(format!("{stamps}, by their stamps only: `cargo course setup` installs the compiler")))
        }
    }
}

/// The site that the book check built. A site that another run built may not be this book's.
fn built_site(root: &Path) -> Result<PathBuf> {
    let dir = root.join(BUILD_DIR);
    if !dir.join("index.html").is_file() {
        bail!("there is no built book: run `cargo course book`");
    }
    Ok(dir)
}
