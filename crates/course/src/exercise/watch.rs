//! `cargo course watch`: judges a copy again whenever it is saved. It looks at files, as the book's server does, and
//! works with any editor and on any file system.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::catalogue::Exercise;
use super::progress::Progress;
use super::{after_failing, after_solving, copy, introduction, next, say, try_once};

/// How often the copies are looked at.
const POLL: Duration = Duration::from_millis(300);

/// When a copy was saved and how long it is; `None` while there is none.
type Fingerprint = Option<(Option<SystemTime>, u64)>;

/// Watches the chosen exercise, or all that the reader has begun, until the reader stops the program. With none chosen,
/// the first that is not solved is begun, and the next one when it is solved.
pub fn run(root: &Path, exercises: &[Exercise], chosen: Option<&Exercise>) -> Result<()> {
    let Some(first) = chosen.or(next(exercises, &Progress::load(root)?)) else {
        say(format_args!("every exercise is solved; `cargo course watch ID` watches one of them"));
        return Ok(());
    };
    let watched = || exercises.iter().filter(|exercise| chosen.is_none_or(|chosen| chosen.id == exercise.id));
    say(format_args!("watching {}/ (stop with Ctrl-C)\n", copy::FOLDER));
    let mut seen: BTreeMap<&str, Fingerprint> =
        watched().map(|exercise| (exercise.id.as_str(), fingerprint(root, exercise))).collect();
    begin(root, first)?;
    seen.insert(&first.id, None); // which is why the loop judges it at once
    loop {
        for exercise in watched() {
            let now = fingerprint(root, exercise);
            if seen.insert(&exercise.id, now) == Some(now) {
                continue;
            }
            if now.is_some() {
                saved(root, exercises, exercise, chosen.is_none())?;
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

/// Makes the reader's copy, unless it is there.
fn begin(root: &Path, exercise: &Exercise) -> Result<()> {
    if copy::start(root, exercise)? {
        say(introduction(root, exercise, "save it"));
    }
    Ok(())
}

/// Judges a copy that was saved, and once it is solved begins the next if `goes_on`. What keeps a verdict from being made,
/// such as a missing compiler, is news and not the end.
fn saved(root: &Path, exercises: &[Exercise], exercise: &Exercise, goes_on: bool) -> Result<()> {
    let is_solved = match try_once(root, exercise) {
        Ok(is_solved) => is_solved,
        Err(error) => {
            eprintln!("error: {error:#}\n");
            return Ok(());
        }
    };
    let progress = Progress::load(root)?;
    if !is_solved {
        say(after_failing(exercise, &progress, "save it") + "\n");
        return Ok(());
    }
    say(after_solving(exercises, exercise, &progress) + "\n");
    match next(exercises, &progress) {
        Some(next) if goes_on => begin(root, next),
        _ => Ok(()),
    }
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
