//! The exercises: `cargo course exercise`, `watch`, `hint`, `reset` and `progress`. Questions are answered in the terminal,
//! or in the page, by what the simulator gives. Of kernels to write readers edit copies in `my/`; a judge compiles them, runs
//! them on the simulator and says what is right and what fails first.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use device::nvrtc::Nvrtc;
use lab::text::wrapped;

use crate::workspace;
use copy::Compiled;
use item::Item;
use judge::{Failure, Verdict};
use progress::Progress;
use write::Exercise;

mod ask;
mod asked;
mod bench;
mod case;
mod catalogue;
mod check;
mod choose;
mod copy;
mod fill;
mod goals;
mod item;
mod judge;
mod key;
mod matrices;
mod numbers;
mod page;
mod predict;
mod progress;
mod quiz;
mod ranks;
mod report;
mod rows;
pub mod scene;
mod share;
#[cfg(test)]
mod tries;
mod watch;
mod write;

pub use check::check;
pub use page::{LIST, fragments, order};
pub use quiz::fragments as quizzes;

/// The kernels with the lines that questions offer, which `cargo course ptx` writes before it compiles them. None where
/// there are no exercises.
///
/// # Errors
/// Exercises that cannot be read.
pub fn written_out(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let items = catalogue::load_any(root)?;
    let of = |item: &Item| match item {
        Item::Choose(choose) => Some((choose.source(root).cu, choose.written_out())),
        Item::Predict(_) | Item::Write(_) => None,
    };
    Ok(items.iter().filter_map(of).collect())
}

/// Options of `cargo course exercise`.
#[derive(clap::Args)]
pub struct Options {
    /// The exercise, as `cargo course exercise` lists it; `next`; or a chapter (ch04, or 4), whose exercises are listed
    id: Option<String>,
    /// The answer to a question: a number, or the letter of a line. Without one you are asked
    #[arg(allow_hyphen_values = true)]
    answer: Option<String>,
}

/// Options of `cargo course watch`.
#[derive(clap::Args)]
pub struct WatchOptions {
    /// The exercise or the chapter to begin with; by default the first exercise that is not solved
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

/// An exercise that is not there, or an answer that is none: bad usage, status 2.
#[derive(Debug)]
pub struct BadUsage(pub String);

impl fmt::Display for BadUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUsage {}

/// Prints a text, with a newline at its end if it has none. A pipe that the reader has closed is no error.
fn say(text: impl fmt::Display) {
    let mut text = text.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Root of the checkout that this program runs in, its exercises, and the reader's progress.
fn checkout() -> Result<(PathBuf, Vec<Item>, Progress)> {
    let root = workspace::root()?;
    let (items, progress) = (catalogue::load(&root)?, Progress::load(&root)?);
    Ok((root, items, progress))
}

/// `cargo course exercise`: takes an answer or judges the reader's copy, status 0 for solved and 1 for not yet, or lists
/// exercises.
pub fn run(options: &Options) -> Result<ExitCode> {
    let (root, items, progress) = checkout()?;
    let all: Vec<&Item> = items.iter().collect();
    let Some(id) = &options.id else {
        say(list(&all, &progress));
        return Ok(ExitCode::SUCCESS);
    };
    let item = match find(&items, &progress, id)? {
        Found::One(item) => item,
        Found::Chapter(items) if options.answer.is_none() => {
            say(list(&items, &progress));
            return Ok(ExitCode::SUCCESS);
        }
        Found::Chapter(_) => return Err(BadUsage(format!("`{id}` is a chapter: an answer is to one exercise")).into()),
        Found::Nothing => {
            say("every exercise is solved");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let is_solved = match (item, &options.answer) {
        (Item::Write(exercise), None) => judge_copy(&root, exercise)?,
        (Item::Write(exercise), Some(_)) => {
            let copy = copy::name(exercise);
            return Err(BadUsage(format!("{id} is a kernel to write, in {copy}: it takes no answer here")).into());
        }
        (question, answer) => answer_once(&root, question, answer.as_deref())?,
    };
    let progress = Progress::load(&root)?;
    if is_solved {
        say(after_solving(&items, item, &progress));
        return Ok(ExitCode::SUCCESS);
    }
    say(after_failing(item, &progress, "run this again"));
    Ok(ExitCode::FAILURE)
}

/// Makes the reader's copy if there is none, and judges it.
fn judge_copy(root: &Path, exercise: &Exercise) -> Result<bool> {
    if copy::start(root, exercise)? {
        say(introduction(root, exercise, &format!("run `cargo course exercise {}` again", exercise.id)));
    }
    try_once(root, exercise)
}

/// Takes the answer that was given, or asks for one.
fn answer_once(root: &Path, item: &Item, given: Option<&str>) -> Result<bool> {
    let Some(key) = item.key(root)? else { return Ok(false) };
    if let Some(text) = given {
        return ask::answered(root, item, &key, text);
    }
    say(ask::question(item, &key));
    match ask::prompt(&key, "")? {
        Some(text) => ask::answered(root, item, &key, &text),
        None => Ok(false),
    }
}

/// `cargo course watch`: judges again whenever a copy is saved, asks what is to be answered, and goes on by itself.
pub fn watch(options: &WatchOptions) -> Result<ExitCode> {
    let (root, items, progress) = checkout()?;
    let chosen = match options.id.as_deref().map(|id| find(&items, &progress, id)).transpose()? {
        Some(Found::One(item)) => Some(item),
        Some(Found::Chapter(of_chapter)) => {
            of_chapter.iter().find(|item| !progress.of(item.id()).solved).or(of_chapter.first()).copied()
        }
        Some(Found::Nothing) | None => None,
    };
    watch::run(&root, &items, chosen)?;
    Ok(ExitCode::SUCCESS)
}

/// `cargo course hint`: the next hint, or all of them.
pub fn hint(options: &HintOptions) -> Result<ExitCode> {
    let (root, items, mut progress) = checkout()?;
    let item = one(&items, &progress, &options.id)?;
    let (read, count) = (progress.of(item.id()).hints, item.hints().len());
    // The last one stays on show when there is no further one.
    let next = read.min(count - 1);
    let shown = if options.all { 0..count } else { next..next + 1 };
    for (number, hint) in item.hints().iter().enumerate().take(shown.end).skip(shown.start) {
        say(paragraph(&format!("hint {} of {count}: {hint}", number + 1), "  "));
    }
    if shown.end == count {
        say(match item.written() {
            Some(exercise) => {
                let solution = workspace::name(&root, &exercise.solution(&root).cu);
                format!("There is no further hint. One solution is in {solution}.")
            }
            None => {
                "There is no further hint. The chapter's page has the answer, folded under the question.".to_owned()
            }
        });
    }
    progress.hinted(item.id(), shown.end);
    progress.save(&root)?;
    Ok(ExitCode::SUCCESS)
}

/// `cargo course reset`: the starter again, with the reader's work kept beside it; a question is open again.
pub fn reset(options: &ResetOptions) -> Result<ExitCode> {
    let (root, items, mut progress) = checkout()?;
    let item = one(&items, &progress, &options.id)?;
    let Some(exercise) = item.written() else {
        progress.forget(item.id());
        progress.save(&root)?;
        say(format_args!("{} is open again", item.id()));
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(kept) = copy::reset(&root, exercise)? {
        say(format_args!("your work is kept in {}", workspace::name(&root, &kept)));
    }
    say(format_args!("{} is the starter again", copy::name(exercise)));
    Ok(ExitCode::SUCCESS)
}

/// `cargo course progress`: what was tried and solved, and how many hints it took.
pub fn progress() -> Result<ExitCode> {
    let (_, items, progress) = checkout()?;
    say(format_args!("  {:<22} {:<8} {:<8} {:<14} {:>5}  {:>8}", "exercise", "chapter", "kind", "", "tries", "hints"));
    for item in &items {
        let entry = progress.of(item.id());
        let hints = format!("{} of {}", entry.hints.min(item.hints().len()), item.hints().len());
        say(format_args!(
            "{} {:<22} {:<8} {:<8} {:<14} {:>5}  {hints:>8}",
            mark(&entry),
            item.id(),
            item.chapter_number(),
            item.kind(),
            entry.status(),
            entry.tries
        ));
    }
    say(tally(&items.iter().collect::<Vec<_>>(), &progress));
    Ok(ExitCode::SUCCESS)
}

/// Notes an answer that was given in the page, as if it had been given here; whether it is right.
///
/// # Errors
/// [`BadUsage`] for an exercise that is not there or takes no answer, or text that is none.
pub fn answered(root: &Path, id: &str, text: &str) -> Result<bool> {
    let items = catalogue::load(root)?;
    let item = items.iter().find(|item| item.id() == id);
    let item = item.ok_or_else(|| BadUsage(format!("no exercise `{id}`")))?;
    let key = item.key(root)?.ok_or_else(|| BadUsage(format!("{id} is a kernel to write: it takes no answer")))?;
    let reply = key.reply(text).map_err(|error| BadUsage(error.to_string()))?;
    let mut progress = Progress::load(root)?;
    progress.judged(id, text, reply.is_right);
    progress.save(root)?;
    Ok(reply.is_right)
}

/// The exercises that the reader has solved, in the order of the book.
///
/// # Errors
/// Files that cannot be read.
pub fn solved(root: &Path) -> Result<Vec<String>> {
    let (items, progress) = (catalogue::load(root)?, Progress::load(root)?);
    Ok(items.iter().map(|item| item.id().to_owned()).filter(|id| progress.of(id).solved).collect())
}

/// Meaning of a word that the reader typed.
enum Found<'e> {
    /// An exercise, by its id or as the fourth of chapter 3: `3.4`.
    One(&'e Item),
    /// A chapter's exercises: `ch04-first-add`, `ch04`, `04` or `4`.
    Chapter(Vec<&'e Item>),
    /// `next`, where everything is solved.
    Nothing,
}

fn find<'e>(items: &'e [Item], progress: &Progress, id: &str) -> Result<Found<'e>> {
    if id == "next" {
        return Ok(next(items, progress).map_or(Found::Nothing, Found::One));
    }
    if let Some(item) = items.iter().find(|item| item.id() == id) {
        return Ok(Found::One(item));
    }
    let (chapter, place) = id.split_once('.').map_or((id, None), |(chapter, place)| (chapter, Some(place)));
    let number = chapter.trim_start_matches("ch").parse::<u32>().map(|number| format!("ch{number:02}"));
    let is_of = |item: &&Item| item.chapter() == chapter || number.as_deref() == Ok(item.chapter_number());
    let of_chapter: Vec<&Item> = items.iter().filter(is_of).collect();
    if let (Some(place), false) = (place, of_chapter.is_empty()) {
        let item = place.parse::<usize>().ok().and_then(|place| of_chapter.get(place.checked_sub(1)?).copied());
        let range = format!("{chapter}.1 to {chapter}.{}", of_chapter.len());
        return item.map(Found::One).ok_or_else(|| BadUsage(format!("no exercise `{id}`: there are {range}")).into());
    }
    if !of_chapter.is_empty() {
        return Ok(Found::Chapter(of_chapter));
    }
    let mut chapters: Vec<&str> = items.iter().map(Item::chapter_number).collect();
    chapters.dedup();
    let there = format!("`cargo course exercise` lists all, and with a chapter its own: {}", chapters.join(", "));
    Err(BadUsage(format!("no exercise `{id}`: {there}")).into())
}

/// The one exercise that a word stands for.
fn one<'e>(items: &'e [Item], progress: &Progress, id: &str) -> Result<&'e Item> {
    match find(items, progress, id)? {
        Found::One(item) => Ok(item),
        Found::Chapter(of_chapter) => {
            let ids: Vec<&str> = of_chapter.iter().map(|item| item.id()).collect();
            Err(BadUsage(format!("`{id}` is a chapter: take one of {}", lab::text::listed(&ids))).into())
        }
        Found::Nothing => Err(BadUsage("every exercise is solved: name one".to_owned()).into()),
    }
}

fn mark(entry: &progress::Entry) -> char {
    match (entry.solved, entry.tries) {
        (true, _) => '✓',
        (false, 0) => '·',
        (false, _) => '✗',
    }
}

fn tally(items: &[&Item], progress: &Progress) -> String {
    let solved = items.iter().filter(|item| progress.of(item.id()).solved).count();
    format!("{solved} of {} solved", items.len())
}

fn list(items: &[&Item], progress: &Progress) -> String {
    let mut out = String::new();
    let (mut chapter, mut number) = ("", 0);
    for item in items {
        // The number that the exercise has on its page.
        number = if item.chapter() == chapter { number + 1 } else { 1 };
        chapter = item.chapter();
        let entry = progress.of(item.id());
        out.push_str(&format!(
            "{} {:<22} {:<6} {number} {:<8} {:<14} {}\n",
            mark(&entry),
            item.id(),
            item.chapter_number(),
            item.kind(),
            entry.status(),
            item.title()
        ));
    }
    out.push_str(&tally(items, progress));
    match items.iter().find(|item| !progress.of(item.id()).solved) {
        Some(next) => out.push_str(&format!("; next: cargo course exercise {}\n", next.id())),
        None => out.push('\n'),
    }
    out
}

/// The first exercise in the order of the book that is not solved.
fn next<'e>(items: &'e [Item], progress: &Progress) -> Option<&'e Item> {
    items.iter().find(|item| !progress.of(item.id()).solved)
}

/// Introduction for a reader who has just begun; `again` says how to get another verdict.
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
        Compiled::Refused(why) => Ok(Verdict { failure: Some(Failure::NoKernel(why)), ..Verdict::default() }),
    }
}

/// Next steps for a reader who has solved it.
fn after_solving(items: &[Item], item: &Item, progress: &Progress) -> String {
    let compare = match item {
        Item::Write(exercise) => {
            format!("solved. Compare with chapters/{}/solutions/{}.cu. ", exercise.chapter, exercise.id)
        }
        Item::Predict(_) | Item::Choose(_) => String::new(),
    };
    let next = match next(items, progress) {
        Some(next) => format!("Next: cargo course exercise {}", next.id()),
        None => "Every exercise is solved".to_owned(),
    };
    format!("\n{compare}{next}\n")
}

/// Next steps for a reader who has not solved it yet; `again` says how to get another verdict.
fn after_failing(item: &Item, progress: &Progress, again: &str) -> String {
    let (id, count) = (item.id(), item.hints().len());
    let read = progress.of(id).hints.min(count);
    let hint = format!("`cargo course hint {id}` has hints ({read} of {count} read)");
    match item {
        Item::Write(exercise) => {
            let see = format!("; `cargo course show {id}` opens this case as a figure in the browser");
            let see = if item.has_lab() { see } else { String::new() };
            format!("\nnot yet. Edit {} and {again}; {hint}{see}\n", copy::name(exercise))
        }
        Item::Predict(_) => format!("\nAnswer: cargo course exercise {id} NUMBER; {hint}\n"),
        Item::Choose(_) => format!("\nAnswer: cargo course exercise {id} LETTER; {hint}\n"),
    }
}
