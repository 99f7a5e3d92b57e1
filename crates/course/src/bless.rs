//! `cargo course bless`: regenerates every file that a program writes. Each comes through `ensure`, so that a check
//! compares exactly what bless would write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::{Chapter, Run};

use crate::ensure::{Mode, ensure};
use crate::findings::Findings;
use crate::lessons::{self, OVER_DEVICES, lessons};
use crate::share::{self, Piece};
use crate::{exercise, faults, instructions, launch, over_devices, results, workspace};

const COMMAND: &str = "cargo course bless";
/// Folder of the book's generated parts, and of nothing else.
const GENERATED: &str = "book/src/generated";

/// File of a chapter's facts, each a line with an anchor.
const FACTS: &str = "facts.md";

/// Sources that decide what is generated for every chapter.
const MAKERS: [&str; 9] = [
    "crates/course/src/bless.rs",
    "crates/course/src/over_devices.rs",
    "crates/device/src",
    "crates/lab/src",
    "crates/ptx/src",
    "crates/reduction/src",
    "crates/report/src",
    "crates/simt/src",
    "measurements/",
];

/// Options of `cargo course bless`.
#[derive(clap::Args)]
pub struct Options {
    /// Compare and write nothing
    #[arg(long)]
    check: bool,
    /// Print every fact that a page may include, and write nothing
    #[arg(long, conflicts_with = "check")]
    facts: bool,
}

/// Runs the verb.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    if options.facts {
        return print_facts(&root);
    }
    let mode = if options.check { Mode::Check } else { Mode::Write };
    println!("fresh: {}", generate(&root, mode)?.verdict()?);
    Ok(())
}

fn print_facts(root: &Path) -> Result<()> {
    for lesson in lessons() {
        let fragments = report::page::fragments(lesson, root, &runs(lesson, root)?)?;
        for (_, facts) in fragments.into_iter().filter(|(name, _)| name == FACTS) {
            println!("{}\n{facts}", lesson.slug);
        }
    }
    let over = report::all_reduce(root, &over_devices::runs()?)?.into_iter().filter(|(name, _)| name == FACTS);
    over.for_each(|(_, facts)| println!("{OVER_DEVICES}\n{facts}"));
    let results = results::fragments(root)?.into_iter().filter(|(name, _)| name == FACTS);
    results.for_each(|(_, facts)| println!("{}\n{facts}", results::FOLDER));
    Ok(())
}

fn runs(lesson: &Chapter, root: &Path) -> Result<Vec<Run>> {
    lab::record::runs(lesson, root).with_context(|| format!("cannot run {}", lesson.slug))
}

/// Compares every generated file with what a program writes today. In CI the chapters' runs, which take longest, are those of the
/// chapters that the commit has changed and of a share of the others; of the rest it is seen that no record is missing.
///
/// # Errors
/// A run that fails; a file that cannot be read.
pub fn check(root: &Path) -> Result<Findings> {
    let pieces = lessons::slugs().map(|slug| piece(root, slug)).collect();
    let Some((chosen, words)) = share::of(root, pieces, &MAKERS) else { return generate(root, Mode::Check) };
    let mut findings = generate_for(root, Mode::Check, |slug| chosen.contains(slug))?;
    findings.problems.extend(chosen.is_empty().then(|| "no chapter is in the share: none was run".to_owned()));
    findings.notes.push(format!("chapters run: {words}"));
    Ok(findings)
}

/// A chapter, by the length of its record, which has a line for each run.
pub fn piece(root: &Path, slug: &str) -> Piece {
    let weight = std::fs::metadata(lab::record::path(root, slug, SIM)).map_or(0, |file| file.len());
    Piece { name: slug.to_owned(), weight, files: share::files_of(slug) }
}

/// Brings the simulator's record of every chapter, and every file of the book that is generated from records and tables, up to
/// date, or compares.
pub fn generate(root: &Path, mode: Mode) -> Result<Findings> {
    generate_for(root, mode, |_| true)
}

/// As [`generate`], where of chapters that are not chosen the record and the fragments are left as they are.
fn generate_for(root: &Path, mode: Mode, is_chosen: impl Fn(&str) -> bool) -> Result<Findings> {
    let mut work =
        Work { included: included(root)?, ..Work::new(root, mode, "records of the simulator and generated files") };
    let folder = root.join(GENERATED);
    work.chapters(&folder, &is_chosen)?;
    work.files(&folder, exercise::fragments(root)?.into_iter().map(|(slug, text)| (slug + "/exercises.md", text)));
    work.files(&folder, exercise::quizzes(root)?.into_iter().map(|(slug, text)| (slug + "/quiz.md", text)));
    work.files(&folder.join(results::FOLDER), results::fragments(root)?);
    work.files(&folder, results::contests(root).context("cannot write up a contest")?);
    work.files(&folder.join("library"), report::library(root).context("cannot write up the library")?);
    work.files(&folder.join("library"), [report::plans(root).context("cannot write up the search for teams")?]);
    work.files(&folder, launch::fragments(root)?);
    work.files(&folder, [("faults.md", faults::appendix()), ("faults-sheet.md", faults::sheet())]);
    work.files(&folder, instructions::fragments(root)?);
    work.sweep(&folder)?;
    Ok(work.findings)
}

/// Names of the facts that pages and questions include, of whatever chapter: there are ten thousand, and few are shown.
fn included(root: &Path) -> Result<BTreeSet<String>> {
    let is_text = |path: &PathBuf| path.extension().is_some_and(|end| ["md", "toml", "po"].iter().any(|&is| end == is));
    let is_source = |path: &PathBuf| is_text(path) && !path.starts_with(root.join(GENERATED));
    let folders = ["book/src", "chapters", "po"].map(|folder| workspace::walk(&root.join(folder)));
    let mut files = vec![root.join("README.md")];
    for folder in folders {
        files.extend(folder?.into_iter().filter(is_source));
    }
    let mut names = BTreeSet::new();
    for file in files.into_iter().filter(|file| file.is_file()) {
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        for rest in text.split(FACTS).skip(1).filter_map(|rest| rest.strip_prefix(':')) {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(rest.len());
            names.insert(rest[..end].to_owned());
        }
    }
    Ok(names)
}

/// Those facts of a file that are included.
fn only_included(facts: &str, included: &BTreeSet<String>) -> String {
    let mut is_kept = false;
    let mut out = String::new();
    for line in facts.split_inclusive('\n') {
        if let Some((_, name)) = line.split_once("ANCHOR: ") {
            is_kept = name.split_whitespace().next().is_some_and(|name| included.contains(name));
        }
        if is_kept {
            out.push_str(line);
        }
    }
    out
}

struct Work<'a> {
    root: &'a Path,
    mode: Mode,
    /// Names of the facts that are included.
    included: BTreeSet<String>,
    findings: Findings,
    /// Every file that something generates.
    known: BTreeSet<PathBuf>,
}

impl<'a> Work<'a> {
    fn new(root: &'a Path, mode: Mode, what: &'static str) -> Work<'a> {
        Work { root, mode, included: BTreeSet::new(), findings: Findings::new(what), known: BTreeSet::new() }
    }

    /// Records and fragments of chapters.
    fn chapters(&mut self, folder: &Path, is_chosen: impl Fn(&str) -> bool) -> Result<()> {
        for slug in lessons::slugs().filter(|slug| !is_chosen(slug)) {
            self.left(slug, &folder.join(slug))?;
        }
        // Pages read the records of all chapters.
        let mut ran = Vec::new();
        for lesson in lessons().into_iter().filter(|lesson| is_chosen(lesson.slug)) {
            let runs = runs(lesson, self.root)?;
            let record = lab::record::recorded(lesson, &runs);
            self.file(lab::record::path(self.root, lesson.slug, SIM), &lab::record::to_text(&record)?);
            ran.push((lesson, runs));
        }
        for (lesson, runs) in ran {
            let parts = report::page::fragments(lesson, self.root, &runs);
            let parts = parts.with_context(|| format!("cannot write up {}", lesson.slug))?;
            self.files(&folder.join(lesson.slug), parts);
        }
        if is_chosen(OVER_DEVICES) {
            let over = over_devices::runs()?;
            self.file(lab::record::path(self.root, OVER_DEVICES, SIM), &report::all_reduce_record(&over));
            let parts = report::all_reduce(self.root, &over).context("cannot write up the all-reduce")?;
            self.files(&folder.join(OVER_DEVICES), parts);
        }
        Ok(())
    }

    /// A chapter that is not run: its record and fragments are there, and are taken for what they should be.
    fn left(&mut self, slug: &str, folder: &Path) -> Result<()> {
        let record = lab::record::path(self.root, slug, SIM);
        let is_missing = !record.is_file() || !folder.join(FACTS).is_file();
        let what = || format!("chapters/{slug}: has no record of the simulator or no facts: run `{COMMAND}`");
        self.findings.problems.extend(is_missing.then(what));
        self.known.extend(workspace::walk(folder)?);
        Ok(())
    }

    /// Files of a folder, name and text.
    fn files(&mut self, folder: &Path, files: impl IntoIterator<Item = (impl AsRef<Path>, String)>) {
        files.into_iter().for_each(|(name, contents)| self.file(folder.join(name), &contents));
    }

    fn file(&mut self, path: PathBuf, contents: &str) {
        self.findings.examined += 1;
        let facts = path.ends_with(FACTS).then(|| only_included(contents, &self.included));
        match ensure(self.root, &path, facts.as_deref().unwrap_or(contents), self.mode, COMMAND) {
            Ok(true) => println!("wrote {}", workspace::name(self.root, &path)),
            Ok(false) => {}
            Err(problem) => self.findings.problems.push(format!("{problem:#}")),
        }
        self.known.insert(path);
    }

    /// Removes, or in a check refuses, what nothing generates any more.
    fn sweep(&mut self, folder: &Path) -> Result<()> {
        for stray in workspace::walk(folder)?.into_iter().filter(|file| !self.known.contains(file)) {
            let name = workspace::name(self.root, &stray);
            match self.mode {
                Mode::Write => {
                    std::fs::remove_file(&stray).with_context(|| format!("cannot remove `{name}`"))?;
                    println!("removed {name}: nothing generates it");
                }
                Mode::Check => self.findings.problems.push(format!("{name}: nothing generates it: run `{COMMAND}`")),
            }
        }
        Ok(())
    }
}

/// Every committed record says which kernels it is of; where they have changed since is noted, and the rows stand marked.
pub fn records(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("records");
    for lesson in lessons() {
        let slug = lesson.slug;
        let of_cards =
            lab::record::CARDS.iter().flat_map(|card| ["", "-sweep", PROFILE].map(|ending| format!("{card}{ending}")));
        for name in std::iter::once(SIM.to_owned()).chain(of_cards) {
            let path = lab::record::path(root, slug, &name);
            if !path.is_file() {
                continue;
            }
            findings.examined += 1;
            let stale = match name.as_str() {
                // The simulator's is compared with its runs of today.
                SIM => None,
                name if name.ends_with(PROFILE) => report::ncu::load(root, slug, name)?.and_then(|record| record.stale),
                name => {
                    let record = lab::hardware::load(root, slug, name)?;
                    record.map(|record| record.stale(root)).transpose()?.flatten()
                }
            };
            let name = workspace::name(root, &path);
            findings.notes.extend(stale.map(|why| format!("{name}: {why}")));
        }
    }
    results::records(root, &mut findings)?;
    Ok(findings)
}

/// Name of the simulator's record.
const SIM: &str = "sim";
/// Ending of the name of a profiler's record.
const PROFILE: &str = "-ncu";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_file_is_refused_then_removed() {
        let dir = tempfile::tempdir().unwrap();
        let generated = dir.path().join(GENERATED);
        let mut work = Work::new(dir.path(), Mode::Write, "files");
        work.file(generated.join("a/kept.md"), "kept\n");
        std::fs::write(generated.join("a/stray.md"), "stray\n").unwrap();

        work.mode = Mode::Check;
        work.sweep(&generated).unwrap();
        let stray = format!("{GENERATED}/a/stray.md: nothing generates it: run `cargo course bless`");
        assert_eq!(work.findings.problems, [stray]);
        work.mode = Mode::Write;
        work.sweep(&generated).unwrap();
        assert!(generated.join("a/kept.md").exists());
        assert!(!generated.join("a/stray.md").exists());
    }

    #[test]
    fn a_chapter_that_is_not_run_has_its_record_and_keeps_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(GENERATED);
        let put = |path: PathBuf| lab::record::write(&path, "kept\n").unwrap();
        put(folder.join("ch01-a/table.md"));
        let mut work = Work::new(dir.path(), Mode::Check, "files");
        work.left("ch01-a", &folder.join("ch01-a")).unwrap();
        assert!(work.findings.problems[0].contains("no record of the simulator"), "{:?}", work.findings.problems);
        work.findings.problems.clear();
        put(folder.join("ch01-a/facts.md"));
        put(lab::record::path(dir.path(), "ch01-a", SIM));
        work.left("ch01-a", &folder.join("ch01-a")).unwrap();
        work.sweep(&folder).unwrap();
        assert!(work.findings.problems.is_empty(), "{:?}", work.findings.problems);
    }

    #[test]
    fn what_makes_records_is_known() {
        let root = workspace::root().unwrap();
        for maker in MAKERS {
            assert!(root.join(maker).exists(), "{maker} is gone");
        }
        for slug in lessons::slugs() {
            assert!(piece(&root, slug).weight > 0, "{slug} has no record");
        }
    }

    #[test]
    fn facts_that_nothing_includes_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| lab::record::write(&dir.path().join(name), text).unwrap();
        put(
            "book/src/ch01-a.md",
            "{{#include generated/ch01-a/facts.md:a-n}} and {{#include generated/ch01-a/facts.md:b_n}}\n",
        );
        put("chapters/ch01-a/exercises.toml", "why = \"{{#include facts.md:c}}\"\n");
        put("book/src/generated/ch01-a/old.md", "{{#include facts.md:d}}\n");
        let names = included(dir.path()).unwrap();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a-n", "b_n", "c"]);
        let fact = |name: &str| format!("<!-- ANCHOR: {name} -->\n1\n<!-- ANCHOR_END: {name} -->\n");
        let all = ["a", "a-n", "c", "d"].map(fact).concat();
        assert_eq!(only_included(&all, &names), fact("a-n") + &fact("c"));
    }
}
