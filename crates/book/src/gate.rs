//! `cargo course gate`: every check that CI runs beyond the tests, a line each. It goes on after a failure, so that one
//! run tells everything, and ends with status 1 if anything failed.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;

use crate::book::{BUILD_DIR, includes, links};
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
    run: fn(&Scene) -> Result<Verdict>,
}

/// Checks of the sources, and of what is generated from them.
const TREE: &[Check] = &[
    Check { name: "format", seconds: 10, run: |scene| cargo(scene, &["fmt", "--all", "--check"]) },
    Check {
        name: "clippy",
        seconds: 150,
        run: |scene| cargo(scene, &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Check { name: "wasm", seconds: 30, run: wasm },
    Check { name: "rust-version", seconds: 5, run: rust_version },
    Check {
        name: "licences",
        seconds: 5,
        run: |scene| dependencies::licences(&scene.root)?.verdict().map(Verdict::Pass),
    },
    Check {
        name: "one-build",
        seconds: 5,
        run: |scene| dependencies::one_build(&scene.root)?.verdict().map(Verdict::Pass),
    },
    Check { name: "advisories", seconds: 20, run: |scene| dependencies::advisories(&scene.root) },
    Check { name: "fuzz", seconds: 60, run: |scene| fuzz::check(&scene.root) },
    Check {
        name: "rust-files",
        seconds: 5,
        run: |scene| layout::rust_files(&scene.root)?.verdict().map(Verdict::Pass),
    },
    Check { name: "voice", seconds: 5, run: |scene| voice::check(&scene.root).map(Verdict::Pass) },
    Check { name: "circles", seconds: 5, run: |scene| circles::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "slugs", seconds: 5, run: slugs },
    Check { name: "build-dir", seconds: 5, run: |scene| layout::build_dir(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "guides", seconds: 5, run: |scene| guides::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check {
        name: "named-paths",
        seconds: 5,
        run: |scene| layout::named_paths(&scene.root)?.verdict().map(Verdict::Pass),
    },
    Check {
        name: "machine-paths",
        seconds: 10,
        run: |scene| layout::machine_paths(&scene.root)?.verdict().map(Verdict::Pass),
    },
    Check { name: "ptx", seconds: 150, run: committed_ptx },
    Check { name: "engine", seconds: 100, run: |scene| engine::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "editor", seconds: 20, run: |scene| editor::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "exercises", seconds: 60, run: exercises },
    Check { name: "generated", seconds: 90, run: |scene| bless::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "records", seconds: 10, run: |scene| bless::records(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "headlines", seconds: 1, run: |scene| headlines::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check {
        name: "includes",
        seconds: 5,
        run: |scene| includes::check(&scene.root, &scene.root.join("book/src"))?.findings.verdict().map(Verdict::Pass),
    },
    Check {
        name: "cores",
        seconds: 5,
        run: |scene| reading::cores(&scene.root, &listed())?.verdict().map(Verdict::Pass),
    },
    Check {
        name: "placed",
        seconds: 5,
        run: |scene| reading::placed(&scene.root, &exercise::order(&scene.root)?)?.verdict().map(Verdict::Pass),
    },
    Check { name: "listings", seconds: 5, run: |scene| listings::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check {
        name: "translation",
        seconds: 10,
        run: |scene| translation::check(&scene.root)?.verdict().map(Verdict::Pass),
    },
    Check { name: "terms", seconds: 5, run: |scene| reading::terms(&scene.root)?.verdict().map(Verdict::Pass) },
];

/// Checks of the built book, of which the first builds it.
const SITE: &[Check] = &[
    Check {
        name: "book",
        seconds: 25,
        run: |scene| Ok(Verdict::Pass(format!("{} pages", book::build(&scene.root)?.pages))),
    },
    Check { name: "links", seconds: 10, run: |scene| links::check(&built_site(scene)?)?.verdict().map(Verdict::Pass) },
    Check { name: "language", seconds: 40, run: |scene| language::check(&scene.root)?.verdict().map(Verdict::Pass) },
    Check { name: "pages", seconds: 190, run: pages::check },
    Check { name: "labs", seconds: 180, run: figures::check },
    Check { name: "edit", seconds: 40, run: edit::check },
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
        let verdict = (self.run)(scene);
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
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(args).current_dir(&scene.root).output().context("cannot run cargo")?;
    if output.status.success() {
        return Ok(Verdict::Pass(String::new()));
    }
    let said = [output.stdout, output.stderr].concat();
    bail!("`cargo {}` fails\n{}", args.join(" "), String::from_utf8_lossy(&said).trim_end())
}

/// Builds the libraries that a browser could run for one, with nothing of a host.
fn wasm(scene: &Scene) -> Result<Verdict> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = PathBuf::from(String::from_utf8_lossy(&output.context("cannot run rustc")?.stdout).trim());
    if !folder.is_dir() {
        return Ok(Verdict::Skip(format!("no {TARGET} on this machine: `rustup target add {TARGET}`")));
    }
    cargo(scene, &["check", "--quiet", "-p", "simt", "--no-default-features", "--lib", "--target", TARGET])
}

/// The oldest Rust that the workspace declares is what CI builds with, and what readers read.
fn rust_version(scene: &Scene) -> Result<Verdict> {
    let declared = env!("CARGO_PKG_RUST_VERSION");
    let setup = "book/src/setup.md";
    let promise = format!("Rust ({declared} or newer)");
    if !std::fs::read_to_string(scene.root.join(setup))
        .with_context(|| format!("cannot read `{setup}`"))?
        .contains(&promise)
    {
        bail!("{setup}: does not say `{promise}`, which is what Cargo.toml declares");
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().context("cannot run rustc")?;
    let here = String::from_utf8_lossy(&output.stdout).trim().to_owned();
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

fn slugs(scene: &Scene) -> Result<Verdict> {
    let variants = lessons().into_iter().flat_map(|lesson| lesson.variants);
    let more_kernels = variants.filter_map(|variant| variant.kernels).chain(WITHOUT_A_LESSON);
    let more_kernels: Vec<&str> = more_kernels.collect();
    layout::slugs(&scene.root, &listed(), &more_kernels)?.verdict().map(Verdict::Pass)
}

fn exercises(scene: &Scene) -> Result<Verdict> {
    exercise::check(&scene.root, &listed())?.verdict().map(Verdict::Pass)
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
fn built_site(scene: &Scene) -> Result<PathBuf> {
    let dir = scene.root.join(BUILD_DIR);
    if !dir.join("index.html").is_file() {
        bail!("there is no built book: run `cargo course book`");
    }
    Ok(dir)
}
