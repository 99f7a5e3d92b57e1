//! Solutions of outside authors: for each kernel that readers write, some fifty solutions in `chapters/<slug>/tries/<id>.txt`,
//! most of them wrong. Their authors had not read the judge; those at the end of each file were written to fool it.
//!
//! A file holds parts that begin with a line of their own:
//!
//! ```text
//! == right tree
//! == wrong no-barrier from tree: global-race
//! == through one-warp: every-warp
//! == refused warp-rounds
//! ```
//!
//! `through` is a wrong solution that the first judge let through, `refused` a right one that it refused. What follows
//! stands in the place of the starter's ANCHOR; after `from`, it changes another part: lines with `-` are found there, once,
//! and those with `+` are put in their place.
//!
//! The book's page of cheats quotes what the judge says of some of them: the words are held against the verdict.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use device::nvrtc::Nvrtc;

use super::check::{MAKERS, share_of};
use super::write::Exercise;
use super::{catalogue, copy, report, verdict_on};
use crate::{cores, share, workspace};

/// The folder of a chapter that holds them.
const FOLDER: &str = "tries";
/// The page that quotes the judge.
const PAGE: &str = "book/src/cheats.md";
/// The quick test takes one in this many of the wrong solutions that no judge let through.
const EVERY: usize = 12;
/// The same for the right ones.
const EVERY_RIGHT: usize = 4;
/// Least sizes of the collection.
const WRONG_MIN: usize = 250;
const RIGHT_MIN: usize = 100;

#[derive(Debug, Clone, PartialEq)]
struct Part {
    kind: String,
    name: String,
    base: Option<String>,
    reason: Option<String>,
    lines: Vec<String>,
}

impl Part {
    /// `== wrong no-barrier from tree: global-race`
    fn begun(head: &str) -> Result<Part> {
        let (words, reason) = head.split_once(": ").map_or((head, None), |(words, reason)| (words, Some(reason)));
        let words: Vec<&str> = words.split_whitespace().collect();
        let (kind, name, base) = match words[..] {
            [kind, name] => (kind, name, None),
            [kind, name, "from", base] => (kind, name, Some(base.to_owned())),
            _ => bail!("`== {head}` is no head: write `== wrong NAME from OTHER: REASON`"),
        };
        ensure!(["right", "refused", "wrong", "through"].contains(&kind), "`== {head}`: there is no kind `{kind}`");
        ensure!(
            ["wrong", "through"].contains(&kind) == reason.is_some(),
            "`== {head}`: wrong ones alone have a reason"
        );
        let (kind, name, reason) = (kind.to_owned(), name.to_owned(), reason.map(str::to_owned));
        Ok(Part { kind, name, base, reason, lines: Vec::new() })
    }

    fn is_quick(&self, number: usize) -> bool {
        let every = if self.kind == "right" { EVERY_RIGHT } else { EVERY };
        ["through", "refused"].contains(&self.kind.as_str()) || number.is_multiple_of(every)
    }
}

fn parts(text: &str) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("== "), parts.last_mut()) {
            (Some(head), _) => parts.push(Part::begun(head)?),
            (None, Some(part)) => part.lines.push(line.to_owned()),
            (None, None) => ensure!(line.is_empty(), "`{line}` stands before the first part"),
        }
    }
    Ok(parts)
}

/// Lines that take the place of the starter's ANCHOR.
fn body(part: &Part, by_name: &BTreeMap<&str, &Part>) -> Result<Vec<String>> {
    let Some(base) = &part.base else { return Ok(part.lines.clone()) };
    let base = by_name.get(base.as_str()).with_context(|| format!("{}: there is no part `{base}`", part.name))?;
    let mut text = body(base, by_name)?;
    let mut edits: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in &part.lines {
        if let Some(old) = line.strip_prefix('-') {
            if edits.last().is_none_or(|(_, new)| !new.is_empty()) {
                edits.push((Vec::new(), Vec::new()));
            }
            edits.last_mut().context("an edit")?.0.push(old.trim());
        } else if let Some(new) = line.strip_prefix('+') {
            edits.last_mut().with_context(|| format!("{}: a + before any -", part.name))?.1.push(new.trim());
        }
    }
    ensure!(!edits.is_empty(), "{}: changes nothing", part.name);
    for (old, new) in edits {
        let is_there = |at: &usize| text[*at..].iter().zip(&old).all(|(line, old)| line.trim() == *old);
        let places: Vec<usize> = (0..(text.len() + 1).saturating_sub(old.len())).filter(is_there).collect();
        let [at] = places[..] else { bail!("{}: {} places have {old:?}, not one", part.name, places.len()) };
        text.splice(at..at + old.len(), new.into_iter().map(str::to_owned));
    }
    Ok(text)
}

/// The starter with this in the place of its ANCHOR.
fn source(starter: &str, body: &[String]) -> Result<String> {
    let (head, rest) = starter.split_once("// ANCHOR: starter\n").context("the starter has no ANCHOR")?;
    let (_, tail) = rest.split_once("// ANCHOR_END: starter\n").context("the starter's ANCHOR has no end")?;
    Ok(format!("{head}{}\n{tail}", body.join("\n")))
}

/// A solution, ready to be judged.
struct Try<'e> {
    exercise: &'e Exercise,
    part: Part,
    text: String,
}

/// All there are.
fn collection<'e>(root: &Path, exercises: &'e [Exercise]) -> Result<Vec<(usize, Try<'e>)>> {
    let mut tries = Vec::new();
    for exercise in exercises {
        let path = root.join("chapters").join(&exercise.chapter).join(FOLDER).join(format!("{}.txt", exercise.id));
        let file = workspace::name(root, &path);
        let parts = parts(&copy::read(root, &path)?).with_context(|| file.clone())?;
        let by_name: BTreeMap<&str, &Part> = parts.iter().map(|part| (part.name.as_str(), part)).collect();
        ensure!(by_name.len() == parts.len(), "{file}: two parts have one name");
        let starter = copy::read(root, &exercise.starter(root).cu)?;
        for (number, part) in parts.iter().enumerate() {
            let text = source(&starter, &body(part, &by_name).with_context(|| file.clone())?)?;
            tries.push((number, Try { exercise, part: part.clone(), text }));
        }
    }
    Ok(tries)
}

impl Try<'_> {
    /// `any-n/block-zero`
    fn name(&self) -> String {
        format!("{}/{}", self.exercise.id, self.part.name)
    }

    /// Returns the problem with the verdict, or with what the page quotes from it, if there is one.
    fn problem(&self, nvrtc: &Nvrtc, quote: Option<&String>) -> Result<Option<String>> {
        let name = self.name();
        let verdict = verdict_on(self.exercise, &name, copy::with(nvrtc, &name, &self.text)?)?;
        if let Some(quote) = quote {
            let said = report::verdict(&verdict, &workspace::root()?, &name, &self.text);
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            if !said.contains(quote) {
                return Ok(Some(format!("{PAGE} quotes of {name}: {quote}, and the judge says: {said}")));
            }
        }
        let reasons = verdict.failure.as_ref().map(super::judge::Failure::reasons);
        Ok(match (&self.part.reason, reasons) {
            (None, None) => None,
            (None, Some(reasons)) => {
                Some(format!("{name} is right, and is refused for {reasons:?}: {:?}", verdict.failure))
            }
            (Some(reason), None) => Some(format!("{name} is wrong ({reason}), and passes")),
            (Some(reason), Some(reasons)) if reasons.contains(&reason.as_str()) => None,
            (Some(reason), Some(reasons)) => Some(format!("{name} is refused for {reasons:?}, not for {reason}")),
        })
    }
}

/// What the page says that the judge says, by the name of the try: `| `any-n/block-zero` | what it does | the words |`.
fn quotes(page: &str) -> BTreeMap<String, String> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| {
        let [name, _, said, _] = row.split('|').collect::<Vec<_>>()[..] else { return None };
        Some((name.trim().trim_end_matches('`').to_owned(), said.trim().replace("<br>", " ")))
    });
    cells.collect()
}

/// Judges the chosen ones, on as many threads as there are cores.
fn problems(is_chosen: impl Fn(usize, &Try<'_>) -> bool) -> Option<(usize, Vec<String>)> {
    let root = workspace::root().unwrap();
    let Ok(nvrtc) = Nvrtc::find(&root) else {
        println!(
            "skipped: these kernels have no committed PTX, and no compiler is here: `cargo course setup` installs it"
        );
        return None;
    };
    let exercises = catalogue::written(catalogue::load(&root).unwrap());
    let mut tries = collection(&root, &exercises).unwrap();
    let quotes = quotes(&copy::read(&root, &root.join(PAGE)).unwrap());
    let unknown: Vec<&String> =
        quotes.keys().filter(|name| tries.iter().all(|(_, one)| one.name() != **name)).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "{PAGE} quotes what there is not");
    // What the page quotes counts as the first of its file, which the quick test takes.
    let number = |(number, one): &(usize, Try<'_>)| if quotes.contains_key(&one.name()) { 0 } else { *number };
    tries.retain(|one| is_chosen(number(one), &one.1));
    let found = cores::each(&tries, |(_, one)| one.problem(&nvrtc, quotes.get(&one.name())).unwrap());
    Some((tries.len(), found.into_iter().flatten().collect()))
}

/// Those of a share of the exercises are tried.
#[test]
fn what_outside_authors_tried_is_judged_rightly() {
    let root = workspace::root().unwrap();
    let exercises = catalogue::written(catalogue::load(&root).unwrap());
    let pieces = exercises.iter().map(share_of).collect();
    let chosen = share::for_test("exercises that outside authors tried", &root, pieces, &MAKERS);
    let is_chosen = |number, one: &Try<'_>| one.part.is_quick(number) && chosen.contains(&one.exercise.id);
    let Some((count, problems)) = problems(is_chosen) else { return };
    assert!(count * exercises.len() >= 70 * chosen.len(), "{count} of the collection are too few to say anything");
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
#[ignore = "takes some minutes: run it after a change to the judge, with --ignored"]
fn everything_that_outside_authors_tried_is_judged_rightly() {
    let Some((_, problems)) = problems(|_, _| true) else { return };
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_collection_is_whole() {
    let root = workspace::root().unwrap();
    let exercises = catalogue::written(catalogue::load(&root).unwrap());
    let tries = collection(&root, &exercises).unwrap();
    let wrong = tries.iter().filter(|(_, one)| one.part.reason.is_some()).count();
    assert!(wrong >= WRONG_MIN && tries.len() - wrong >= RIGHT_MIN, "{wrong} wrong, {} right", tries.len() - wrong);
}

#[test]
fn rows_of_the_page_are_quotes() {
    let page = "| Try | Does | Says |\n|---|---|---|\n| `any-n/block-zero` | all | warp 0<br>loads 0 bytes |\n";
    let one = ("any-n/block-zero".to_owned(), "warp 0 loads 0 bytes".to_owned());
    assert_eq!(quotes(page), BTreeMap::from([one]));
}

#[test]
fn parts_change_others() {
    let text = "== right a\none\n  two\nthree\n== wrong b from a: global-race\n// why\n- two\n- three\n+ 2\n";
    let parts = parts(text).unwrap();
    let by_name = parts.iter().map(|part| (part.name.as_str(), part)).collect();
    assert_eq!(body(&parts[1], &by_name).unwrap(), ["one", "2"]);
    let starter = "head\n// ANCHOR: starter\nx\n// ANCHOR_END: starter\ntail\n";
    assert_eq!(source(starter, &parts[0].lines).unwrap(), "head\none\n  two\nthree\ntail\n");
    for bad in ["== wrong b", "== right b: reason", "== good b", "== wrong b of a: x", "words"] {
        assert!(super::tries::parts(bad).is_err(), "{bad}");
    }
}
