//! The exercises: `cargo course exercise`, `watch`, `hint`, `reset` and `progress`. Readers edit copies in `my/`; a judge
//! compiles them, runs them on the simulator and says what is right and what fails first.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use device::nvrtc::Nvrtc;
use lab::text::wrapped;

use crate::workspace;
use catalogue::Exercise;
use copy::Compiled;
use judge::{Failure, Verdict};
use progress::Progress;

mod bench;
mod catalogue;
mod check;
mod copy;
mod judge;
mod progress;
mod report;
mod watch;

pub use check::check;

/// Options of `cargo course exercise` and `cargo course watch`.
#[derive(clap::Args)]
pub struct Options {
    /// The exercise, as `cargo course exercise` lists it, or its chapter (ch04, or 4)
    id: Option<String>,
}

/// Options of `cargo course hint`.
#[derive(clap::Args)]
pub struct HintOptions {
    /// The exercise
    id: String,
    /// Every hint at once
    #[arg(long)]
    all: bool,
}

/// Options of `cargo course reset`.
#[derive(clap::Args)]
pub struct ResetOptions {
    /// The exercise
    id: String,
}

/// An exercise that is not there: bad usage, status 2.
#[derive(Debug)]
pub struct NoSuchExercise(String);

impl fmt::Display for NoSuchExercise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoSuchExercise {}

/// Prints a text, with a newline at its end if it has none. Whoever closed the pipe has read enough.
fn say(text: impl fmt::Display) {
    let mut text = text.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// `cargo course exercise`: judges the reader's copy, status 0 for solved and 1 for not yet, or lists the exercises.
pub fn run(options: &Options) -> Result<ExitCode> {
    let root = workspace::root()?;
    let exercises = catalogue::load(&root)?;
    let Some(id) = &options.id else {
        say(list(&exercises, &Progress::load(&root)?));
        return Ok(ExitCode::SUCCESS);
    };
    let exercise = find(&exercises, id)?;
    if copy::start(&root, exercise)? {
        say(introduction(&root, exercise, &format!("run `cargo course exercise {}` again", exercise.id)));
    }
    let is_solved = try_once(&root, exercise)?;
    let progress = Progress::load(&root)?;
    if is_solved {
        say(after_solving(&exercises, exercise, &progress));
        return Ok(ExitCode::SUCCESS);
    }
    say(after_failing(exercise, &progress, "run this again"));
    Ok(ExitCode::FAILURE)
}

/// `cargo course watch`: judges again whenever a copy is saved.
pub fn watch(options: &Options) -> Result<ExitCode> {
    let root = workspace::root()?;
    let exercises = catalogue::load(&root)?;
    let chosen = options.id.as_deref().map(|id| find(&exercises, id)).transpose()?;
    watch::run(&root, &exercises, chosen)?;
    Ok(ExitCode::SUCCESS)
}

/// `cargo course hint`: the next hint, or all of them.
pub fn hint(options: &HintOptions) -> Result<ExitCode> {
    let root = workspace::root()?;
    let exercises = catalogue::load(&root)?;
    let exercise = find(&exercises, &options.id)?;
    let mut progress = Progress::load(&root)?;
    let (read, count) = (progress.of(&exercise.id).hints, exercise.hints.len());
    // The last one stays on show when there is no further one.
    let next = read.min(count - 1);
    let shown = if options.all { 0..count } else { next..next + 1 };
    for (number, hint) in exercise.hints.iter().enumerate().take(shown.end).skip(shown.start) {
        say(paragraph(&format!("hint {} of {count}: {hint}", number + 1), "  "));
    }
    if shown.end == count {
        let solution = workspace::name(&root, &exercise.solution(&root).cu);
        say(format_args!("There is no further hint. One solution is in {solution}."));
    }
    progress.hinted(&exercise.id, shown.end);
    progress.save(&root)?;
    Ok(ExitCode::SUCCESS)
}

/// `cargo course reset`: the starter again, with the reader's work kept beside it.
pub fn reset(options: &ResetOptions) -> Result<ExitCode> {
    let root = workspace::root()?;
    let exercises = catalogue::load(&root)?;
    let exercise = find(&exercises, &options.id)?;
    if let Some(kept) = copy::reset(&root, exercise)? {
        say(format_args!("your work is kept in {}", workspace::name(&root, &kept)));
    }
    say(format_args!("{} is the starter again", copy::name(exercise)));
    Ok(ExitCode::SUCCESS)
}

/// `cargo course progress`: what was tried and solved, and how many hints it took.
pub fn progress() -> Result<ExitCode> {
    let root = workspace::root()?;
    let exercises = catalogue::load(&root)?;
    let progress = Progress::load(&root)?;
    say(format_args!("  {:<22} {:<8} {:<14} {:>5}  {:>8}", "exercise", "chapter", "", "tries", "hints"));
    for exercise in &exercises {
        let entry = progress.of(&exercise.id);
        let hints = format!("{} of {}", entry.hints.min(exercise.hints.len()), exercise.hints.len());
        say(format_args!(
            "{} {:<22} {:<8} {:<14} {:>5}  {hints:>8}",
            mark(&entry),
            exercise.id,
            exercise.chapter_number(),
            entry.status(),
            entry.tries
        ));
    }
    say(tally(&exercises, &progress));
    Ok(ExitCode::SUCCESS)
}

/// The exercise of that id, or the only one of that chapter: `ch04-first-add`, `ch04`, `04` or `4`.
fn find<'e>(exercises: &'e [Exercise], id: &str) -> Result<&'e Exercise> {
    if let Some(exercise) = exercises.iter().find(|exercise| exercise.id == id) {
        return Ok(exercise);
    }
    let number = id.trim_start_matches("ch").parse::<u32>().map(|number| format!("ch{number:02}"));
    let is_of = |exercise: &&Exercise| exercise.chapter == id || number.as_deref() == Ok(exercise.chapter_number());
    let of_chapter: Vec<&Exercise> = exercises.iter().filter(is_of).collect();
    if let [only] = of_chapter.as_slice() {
        return Ok(only);
    }
    let choice: Vec<&str> = match of_chapter.as_slice() {
        [] => exercises.iter().map(|exercise| exercise.id.as_str()).collect(),
        many => many.iter().map(|exercise| exercise.id.as_str()).collect(),
    };
    let what = if of_chapter.is_empty() { "no exercise" } else { "several exercises" };
    Err(NoSuchExercise(format!("{what} `{id}`: there is {}", lab::text::listed(&choice))).into())
}

fn mark(entry: &progress::Entry) -> char {
    match (entry.solved, entry.tries) {
        (true, _) => '✓',
        (false, 0) => '·',
        (false, _) => '✗',
    }
}

fn tally(exercises: &[Exercise], progress: &Progress) -> String {
    let solved = exercises.iter().filter(|exercise| progress.of(&exercise.id).solved).count();
    format!("{solved} of {} solved", exercises.len())
}

fn list(exercises: &[Exercise], progress: &Progress) -> String {
    let mut out = String::new();
    for exercise in exercises {
        let entry = progress.of(&exercise.id);
        out.push_str(&format!(
            "{} {:<22} {:<6} {:<14} {}\n",
            mark(&entry),
            exercise.id,
            exercise.chapter_number(),
            entry.status(),
            exercise.title
        ));
    }
    out.push_str(&tally(exercises, progress));
    match next(exercises, progress) {
        Some(next) => out.push_str(&format!("; next: cargo course exercise {}\n", next.id)),
        None => out.push('\n'),
    }
    out
}

/// The first exercise in the order of the book that is not solved.
fn next<'e>(exercises: &'e [Exercise], progress: &Progress) -> Option<&'e Exercise> {
    exercises.iter().find(|exercise| !progress.of(&exercise.id).solved)
}

/// What a reader who has just begun is told; `again` is how to get another verdict.
fn introduction(root: &Path, exercise: &Exercise, again: &str) -> String {
    let mut begin = format!("Your copy is {}: edit it, and {again}.", copy::name(exercise));
    if Nvrtc::find(root).is_err() {
        begin.push_str(" What you write must be compiled, so run `cargo course setup` once before that.");
    }
    begin.push_str(" The starter so far:");
    format!(
        "{}: {}\n\n{}\n\n{}\n\n",
        exercise.chapter,
        exercise.title,
        paragraph(&exercise.question, ""),
        paragraph(&begin, "")
    )
}

/// Text of `exercises.toml`, whose line ends mean nothing, in lines of a terminal.
fn paragraph(text: &str, indent: &str) -> String {
    wrapped(&text.split_whitespace().collect::<Vec<_>>().join(" "), indent)
}

/// Judges the reader's copy, prints the verdict and notes it. True if the exercise is solved.
fn try_once(root: &Path, exercise: &Exercise) -> Result<bool> {
    let name = copy::name(exercise);
    let text = copy::read(root, &copy::path(root, exercise))
        .with_context(|| format!("{}: `cargo course reset {}` makes it again", exercise.id, exercise.id))?;
    let verdict = verdict_on(exercise, &name, copy::compile(root, exercise, &text)?)?;
    say(format_args!("{} in {name}", exercise.id));
    say(report::verdict(&verdict, root, &name, &text));
    let is_solved = verdict.failure.is_none();
    if text != copy::starter(root, exercise)? {
        let mut progress = Progress::load(root)?;
        progress.judged(&exercise.id, &text, is_solved);
        progress.save(root)?;
    }
    Ok(is_solved)
}

fn verdict_on(exercise: &Exercise, name: &str, compiled: Compiled) -> Result<Verdict> {
    match compiled {
        Compiled::Ptx(ptx, warnings) => Ok(Verdict { warnings, ..judge::judge(exercise, name, &ptx)? }),
        Compiled::Refused(why) => {
            let failure = Some(Failure::NoKernel(why));
            Ok(Verdict { stages: Vec::new(), failure, warnings: String::new() })
        }
    }
}

/// What a reader whose kernel is right may do next.
fn after_solving(exercises: &[Exercise], exercise: &Exercise, progress: &Progress) -> String {
    let compare = format!("chapters/{}/solutions/{}.cu", exercise.chapter, exercise.id);
    let next = match next(exercises, progress) {
        Some(next) => format!("Next: cargo course exercise {}", next.id),
        None => "Every exercise is solved".to_owned(),
    };
    format!("\nsolved. Compare with {compare}. {next}\n")
}

/// What a reader whose kernel is not right yet may do next; `again` is how to get another verdict.
fn after_failing(exercise: &Exercise, progress: &Progress, again: &str) -> String {
    let (read, count) = (progress.of(&exercise.id).hints.min(exercise.hints.len()), exercise.hints.len());
    let hint = format!("`cargo course hint {}` has hints ({read} of {count} read)", exercise.id);
    format!("\nnot yet. Edit {} and {again}; {hint}\n", copy::name(exercise))
}
