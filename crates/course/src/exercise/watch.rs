//! `cargo course watch`: judges a copy again whenever it is saved. It looks at files, as the book's server does, and
//! works with any editor and on any file system.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::item::Item;
use super::progress::Progress;
use super::write::Exercise;
use super::{after_failing, after_solving, ask, copy, introduction, next, say, try_once};

/// Time between two looks at the copies.
const POLL: Duration = Duration::from_millis(300);

/// When a copy was saved and how long it is; `None` while there is none.
type Fingerprint = Option<(Option<SystemTime>, u64)>;

/// Watches all kernels that the reader has begun, until the reader stops the program. It begins with the chosen exercise, or
/// the first that is not solved, and goes on to the next one when that is solved.
pub fn run(root: &Path, items: &[Item], chosen: Option<&Item>) -> Result<()> {
    let Some(first) = chosen.or(next(items, &Progress::load(root)?)) else {
        say(format_args!("every exercise is solved; `cargo course watch ID` watches one of them"));
        return Ok(());
    };
    let written: Vec<(&Item, &Exercise)> = items.iter().filter_map(|item| Some((item, item.written()?))).collect();
    say(format_args!("watching {}/ (stop with Ctrl-C)\n", copy::FOLDER));
    let mut seen: BTreeMap<&str, Fingerprint> =
        written.iter().map(|(_, exercise)| (exercise.id.as_str(), fingerprint(root, exercise))).collect();
    let Some(begun) = begin(root, items, first)? else { return Ok(()) };
    seen.insert(&begun.id, None); // which is why the loop judges it at once
    loop {
        for (item, exercise) in &written {
            let now = fingerprint(root, exercise);
            if seen.insert(&exercise.id, now) == Some(now) {
                continue;
            }
            if now.is_some() {
                saved(root, items, item, exercise)?;
            } else if is_still_gone(root, exercise) {
                say(format_args!(
                    "{} is gone; `cargo course reset {}` makes it again\n",
                    copy::name(exercise),
                    exercise.id
                ));
            }
        }
        std::thread::sleep(POLL);
    }
}

/// Goes on from `item`: asks questions until a kernel is to be written, and makes the reader's copy of that. An empty answer
/// leaves a question for later, and without input all questions are left. `None` if nothing is to be written.
fn begin<'e>(root: &Path, items: &'e [Item], item: &'e Item) -> Result<Option<&'e Exercise>> {
    let from = items.iter().position(|other| other.id() == item.id()).unwrap_or(0);
    let mut is_first = true;
    for item in items.iter().cycle().skip(from).take(items.len()) {
        let is_open = is_first || !Progress::load(root)?.of(item.id()).solved;
        is_first = false;
        match item {
            Item::Write(exercise) if is_open => {
                if copy::start(root, exercise)? {
                    say(introduction(root, exercise, "save it"));
                }
                return Ok(Some(exercise));
            }
            question if is_open => ask_until_solved(root, question)?,
            _ => {}
        }
    }
    say(format_args!("there is no kernel left to write; `cargo course progress` shows what is solved"));
    Ok(None)
}

/// Asks a question until it is answered or left for later. What was said of the one before stays on the screen.
fn ask_until_solved(root: &Path, item: &Item) -> Result<()> {
    let Some(key) = item.key(root)? else { return Ok(()) };
    if ask::has_ended() {
        return Ok(());
    }
    say(screen(false, SystemTime::now()));
    say(ask::question(item, &key));
    while let Some(answer) = ask::prompt(&key, " (nothing leaves it for later)")? {
        match ask::answered(root, item, &key, &answer) {
            Ok(true) => {
                say("");
                return Ok(());
            }
            Ok(false) => say(format_args!("`cargo course hint {}` has a hint\n", item.id())),
            Err(error) => say(format_args!("{error:#}\n")),
        }
    }
    Ok(())
}

/// Judges a copy that was saved, on a screen of its own, and once it is solved begins the next. What keeps a verdict from being made,
/// such as a missing compiler, is news and not the end.
fn saved(root: &Path, items: &[Item], item: &Item, exercise: &Exercise) -> Result<()> {
    say(screen(std::io::stdout().is_terminal(), SystemTime::now()));
    let is_solved = match try_once(root, exercise) {
        Ok(is_solved) => is_solved,
        Err(error) => {
            eprintln!("error: {error:#}\n");
            return Ok(());
        }
    };
    let progress = Progress::load(root)?;
    if !is_solved {
        say(after_failing(item, &progress, "save it") + "\n");
        return Ok(());
    }
    say(after_solving(items, item, &progress) + "\n");
    match next(items, &progress) {
        Some(next) => begin(root, items, next).map(drop),
        None => Ok(()),
    }
}

/// An empty screen where there is one to empty, and when it was.
fn screen(is_terminal: bool, now: SystemTime) -> String {
    let second = humantime::format_rfc3339_seconds(now).to_string();
    let time = second.split(['T', 'Z']).nth(1).unwrap_or_default();
    format!("{}{time} UTC", if is_terminal { "\x1b[2J\x1b[H" } else { "" })
}

/// Editors that write a new file and rename it leave a moment without one.
fn is_still_gone(root: &Path, exercise: &Exercise) -> bool {
    std::thread::sleep(POLL);
    fingerprint(root, exercise).is_none()
}

fn fingerprint(root: &Path, exercise: &Exercise) -> Fingerprint {
    let about = copy::path(root, exercise).metadata().ok()?;
    Some((about.modified().ok(), about.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_has_its_time_and_on_a_terminal_its_screen() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(3600 + 62);
        assert_eq!(screen(false, now), "01:01:02 UTC");
        assert_eq!(screen(true, now), "\x1b[2J\x1b[H01:01:02 UTC");
    }
}
