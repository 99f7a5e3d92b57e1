//! The gate's check of the exercises themselves: every question has the answers that its definition speaks of, every
//! starter fails, every solution passes, every wrong kernel is rejected for the reason that its chapter states.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use device::KernelSource;

use super::catalogue;
use super::item::Item;
use super::judge::{Failure, Verdict};
use super::verdict_on;
use super::write::{Exercise, OTHER_TREE};
use super::{choose, copy};
use crate::findings::Findings;
#[cfg(test)]
use crate::share::{self, Piece};
use crate::workspace;

/// Wrong kernels that an exercise has at least: a judge that accepts everything must not pass.
const WRONG_MIN: usize = 2;
/// Exercises that a chapter has at least, and how many of these need no compiler.
const EXERCISES_MIN: (usize, usize) = (6, 4);
/// Marks the place where readers write.
const TODO: &str = "TODO";
/// Folders of a chapter that hold exercises.
const FOLDERS: [&str; 4] = ["exercises", "solutions", "wrong", choose::FOLDER];

/// Answers every question and judges every kernel that the exercises of these chapters come with. Each chapter must have
/// enough of both.
///
/// # Errors
/// Exercises that cannot be read, or kernels that cannot be compiled here.
pub fn check(root: &Path, chapters: &[&str]) -> Result<Findings> {
    check_each(root, chapters, |_| true, &mut |_, _, _| Ok(()))
}

/// What else is to be done with a verdict on a kernel of an exercise.
pub(super) type Look<'a> = dyn FnMut(&Exercise, &KernelSource, &Verdict) -> Result<()> + 'a;

/// [`check`], and shows each verdict to `look`: judging is most of the work, and is done of the chosen exercises alone.
pub(super) fn check_each(
    root: &Path,
    chapters: &[&str],
    is_chosen: impl Fn(&Exercise) -> bool,
    look: &mut Look<'_>,
) -> Result<Findings> {
    let mut findings = Findings::new("kernels and questions of exercises");
    let items = catalogue::load(root)?;
    for chapter in chapters {
        let of_chapter = || items.iter().filter(|item| item.chapter() == *chapter);
        let count = (of_chapter().count(), of_chapter().filter(|item| item.written().is_none()).count());
        if count.0 < EXERCISES_MIN.0 || count.1 < EXERCISES_MIN.1 {
            let file = workspace::name(root, &catalogue::file(root, chapter));
            findings.problems.push(format!(
                "{file}: has {} exercises, {} of them without a compiler, and every chapter has {} and {}",
                count.0, count.1, EXERCISES_MIN.0, EXERCISES_MIN.1
            ));
        }
    }
    for item in &items {
        match item {
            Item::Write(exercise) if is_chosen(exercise) => check_exercise(root, exercise, &mut findings, look)?,
            Item::Write(_) => {}
            question => check_question(root, question, &mut findings),
        }
    }
    findings.problems.extend(strays(root, &items)?);
    Ok(findings)
}

/// A question has its answers, and what it shows is what was compiled.
fn check_question(root: &Path, item: &Item, findings: &mut Findings) {
    findings.examined += 1;
    let file = workspace::name(root, &catalogue::file(root, item.chapter()));
    if let Item::Choose(choose) = item {
        let source = choose.source(root);
        if std::fs::read_to_string(&source.cu).ok() != Some(choose.written_out()) {
            findings.problems.push(format!("{}: is not what {file} says: run `cargo course ptx`", source.cu_name()));
            return;
        }
    }
    findings.problems.extend(item.key(root).err().map(|error| format!("{file}: {error:#}")));
}

fn check_exercise(root: &Path, exercise: &Exercise, findings: &mut Findings, look: &mut Look<'_>) -> Result<()> {
    let file = workspace::name(root, &catalogue::file(root, &exercise.chapter));
    if exercise.wrong.len() < WRONG_MIN {
        findings.problems.push(format!("{file}: {} has fewer than {WRONG_MIN} wrong kernels", exercise.id));
    }
    let starter = exercise.starter(root);
    if starter.cu.is_file() && !copy::read(root, &starter.cu)?.contains(TODO) {
        findings.problems.push(format!("{}: does not say where to write: add a {TODO}", starter.cu_name()));
    }
    let right = |verdict: &Verdict| verdict.failure.as_ref().map(|failure| format!("fails: {}", found(failure)));
    let starts = |verdict: &Verdict| match &verdict.failure {
        None => Some("is a solution already".to_owned()),
        Some(Failure::NoKernel(why)) => Some(format!("must compile, so that its verdict says something: {why}")),
        Some(_) => None,
    };
    let mut judged = |source: &KernelSource, problem: &dyn Fn(&Verdict) -> Option<String>| {
        judge(root, exercise, source, findings, problem, look)
    };
    judged(&exercise.solution(root), &right)?;
    judged(&exercise.other_solution(root), &right)?;
    judged(&starter, &starts)?;
    for wrong in &exercise.wrong {
        let rejected = |verdict: &Verdict| match &verdict.failure {
            None => Some(format!("passes, and must be rejected for {}", wrong.reason)),
            Some(failure) if failure.reasons().contains(&wrong.reason.as_str()) => None,
            Some(failure) => Some(format!("is rejected for {}, not for {}", found(failure), wrong.reason)),
        };
        judged(&exercise.wrong_source(root, wrong), &rejected)?;
    }
    Ok(())
}

/// Judges one kernel and asks `problem` what is wrong with the verdict.
fn judge(
    root: &Path,
    exercise: &Exercise,
    source: &KernelSource,
    findings: &mut Findings,
    problem: &dyn Fn(&Verdict) -> Option<String>,
    look: &mut Look<'_>,
) -> Result<()> {
    let name = source.cu_name();
    if !source.cu.is_file() {
        findings.problems.push(format!("{name}: missing: {} names it", exercise.id));
        return Ok(());
    }
    findings.examined += 1;
    let verdict = verdict_on(exercise, &name, copy::compile_committed(root, source)?)?;
    findings.problems.extend(problem(&verdict).map(|problem| format!("{name}: {problem}")));
    look(exercise, source, &verdict)
}

fn found(failure: &Failure) -> String {
    match failure {
        Failure::NoKernel(why) => why.clone(),
        Failure::Case { case, .. } => {
            let reasons = lab::text::listed(&failure.reasons());
            format!("{reasons} at {}, block {}, {}", case.size(), case.block, case.ty)
        }
        Failure::Goal { goal, who: Some(who), .. } => format!("{} ({who})", goal.name),
        Failure::Goal { goal, counted, .. } => format!("{} ({counted} counted)", goal.name),
        Failure::Tree { case, .. } => format!("{OTHER_TREE} at n = {}, block {}", case.n, case.block),
    }
}

/// Kernels in the folders of the exercises that no exercise names.
fn strays(root: &Path, items: &[Item]) -> Result<Vec<String>> {
    let sources = |item: &Item| match item {
        Item::Write(exercise) => exercise.sources(root),
        Item::Choose(choose) => vec![choose.source(root)],
        Item::Predict(_) => Vec::new(),
    };
    let known: BTreeSet<PathBuf> = items.iter().flat_map(sources).flat_map(|source| [source.cu, source.ptx]).collect();
    let mut strays = Vec::new();
    let chapters: BTreeSet<&str> = items.iter().map(Item::chapter).collect();
    for folder in chapters.iter().flat_map(|chapter| FOLDERS.map(|name| root.join("chapters").join(chapter).join(name)))
    {
        let files = workspace::walk(&folder)?.into_iter().filter(|file| !known.contains(file));
        strays.extend(files.map(|file| format!("{}: no exercise names it", workspace::name(root, &file))));
    }
    Ok(strays)
}

/// Sources of the judge: with another one every exercise is judged anew.
#[cfg(test)]
pub(super) const MAKERS: [&str; 1] = ["crates/course/src/exercise"];

/// An exercise for the share of a test, with the files that are its own: its name begins theirs.
#[cfg(test)]
pub(super) fn share_of(exercise: &Exercise) -> Piece {
    let Exercise { chapter, id, .. } = exercise;
    let folders = FOLDERS.into_iter().chain(["tries"]).map(|folder| format!("chapters/{chapter}/{folder}/{id}"));
    let more = [format!("chapters/{chapter}/exercises.toml"), format!("kernels/{chapter}")];
    Piece { name: id.clone(), weight: 1 + exercise.wrong.len() as u64, files: folders.chain(more).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAPTER: &str = "ch04-first-add";

    /// A tree with the exercises of one chapter, and nothing else.
    fn tree() -> tempfile::TempDir {
        let (root, dir) = (workspace::root().unwrap(), tempfile::tempdir().unwrap());
        let own = |name: &str| root.join("chapters").join(CHAPTER).join(name);
        let mut files =
            ["kernels/ch04-first-add.cu", "kernels/ptx/ch04-first-add.ptx"].map(|name| root.join(name)).to_vec();
        files.extend(
            ["exercises.toml", "tests/mistakes/both_or_neither.cu", "tests/mistakes/both_or_neither.ptx"].map(own),
        );
        files.extend(FOLDERS.map(own).iter().flat_map(|folder| workspace::walk(folder).unwrap()));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            lab::record::write(&dir.path().join(file.strip_prefix(&root).unwrap()), &text).unwrap();
        }
        dir
    }

    /// Puts one kernel, with its PTX, in the place of another.
    fn put(root: &Path, from: &str, to: &str) {
        for extension in ["cu", "ptx"] {
            let path = |name: &str| root.join("chapters").join(CHAPTER).join(format!("{name}.{extension}"));
            std::fs::copy(path(from), path(to)).unwrap();
        }
    }

    fn problems(root: &Path) -> Vec<String> {
        check(root, &[]).unwrap().problems
    }

    /// The lab of each kernel shows what the judge found, which is not judged anew for it. Judged are the kernels of a share of the
    /// exercises.
    #[test]
    fn starters_fail_solutions_pass_wrong_kernels_are_rejected_and_labs_show_it() {
        let root = workspace::root().unwrap();
        let chapters: Vec<&str> = crate::lessons::slugs().collect();
        let exercises = catalogue::written(catalogue::load(&root).unwrap());
        let chosen = share::for_test("exercises judged", &root, exercises.iter().map(share_of).collect(), &MAKERS);
        let mut shown = 0;
        let is_chosen = |exercise: &Exercise| chosen.contains(&exercise.id);
        let findings = check_each(&root, &chapters, is_chosen, &mut |exercise, source, verdict| {
            shown += usize::from(super::super::scene::tests::shows(exercise, source, verdict)?);
            Ok(())
        })
        .unwrap();
        // Exercises of part two have no labs, and may be alone in a share.
        let labs = |of: &dyn Fn(&Exercise) -> bool| exercises.iter().filter(|one| one.has_lab() && of(one)).count();
        assert!(shown * labs(&|_| true) >= 24 * labs(&is_chosen), "only {shown} kernels");
        assert!(findings.examined >= 48, "{} kernels and questions are no course", findings.examined);
        assert_eq!(findings.problems, Vec::<String>::new());
    }

    #[test]
    fn a_solution_that_fails_is_named() {
        let dir = tree();
        put(dir.path(), "wrong/four-loads-side-by-side", "solutions/four-loads");
        let problem = "chapters/ch04-first-add/solutions/four-loads.cu: fails: sectors-once (512 counted)";
        assert_eq!(problems(dir.path()), [problem]);
    }

    #[test]
    fn a_starter_and_a_wrong_kernel_that_pass_are_named() {
        let dir = tree();
        put(dir.path(), "solutions/four-loads", "exercises/four-loads");
        put(dir.path(), "solutions/four-loads", "wrong/four-loads-one-guard");
        let expected = [
            "exercises/four-loads.cu: does not say where to write: add a TODO",
            "exercises/four-loads.cu: is a solution already",
            "wrong/four-loads-one-guard.cu: passes, and must be rejected for wrong-sum",
        ];
        assert_eq!(problems(dir.path()), expected.map(|problem| format!("chapters/{CHAPTER}/{problem}")));
    }

    #[test]
    fn another_reason_than_the_stated_one_is_named() {
        let dir = tree();
        put(dir.path(), "wrong/four-loads-first-guard", "wrong/four-loads-one-guard");
        let problem = "is rejected for out-of-bounds at n = 1, block 32, i32, not for wrong-sum";
        assert_eq!(problems(dir.path()), [format!("chapters/{CHAPTER}/wrong/four-loads-one-guard.cu: {problem}")]);
    }

    #[test]
    fn missing_and_stray_files_and_empty_chapters_are_named() {
        let dir = tree();
        let file = |name: &str| dir.path().join("chapters").join(CHAPTER).join(name);
        std::fs::remove_file(file("wrong/four-loads-one-guard.cu")).unwrap();
        std::fs::write(file("solutions/other.cu"), "").unwrap();
        let problems = check(dir.path(), &[CHAPTER, "ch05-unroll"]).unwrap().problems;
        assert_eq!(
            problems,
            [
                "chapters/ch05-unroll/exercises.toml: has 0 exercises, 0 of them without a compiler, and every chapter has \
                 6 and 4",
                "chapters/ch04-first-add/wrong/four-loads-one-guard.cu: missing: four-loads names it",
                "chapters/ch04-first-add/solutions/other.cu: no exercise names it",
            ]
        );
    }
}
