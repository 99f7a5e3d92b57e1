//! `cargo course watch`: judges a copy again whenever it is saved. It looks at files, as the book's server does, and
//! works with any editor and on any file system.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::catalogue::Exercise;
use super::progress::Progress;
use super::{copy, introduction, next, try_once, what_next};

/// How often the copies are looked at.
const POLL: Duration = Duration::from_millis(300);

/// When a copy was saved and how long it is; `None` while there is none.
type Fingerprint = Option<(Option<SystemTime>, u64)>;

/// Watches the chosen exercise, or all that the reader has begun, until the reader stops the program. With none chosen,
/// the first that is not solved is begun, and the next one when it is solved.
pub fn run(root: &Path, exercises: &[Exercise], chosen: Option<&Exercise>) -> Result<()> {
    let Some(first) = chosen.or(next(exercises, &Progress::load(root)?)) else {
        println!("every exercise is solved; `cargo course watch ID` watches one of them");
        return Ok(());
    };
    let watched = || exercises.iter().filter(|exercise| chosen.is_none_or(|chosen| chosen.id == exercise.id));
    begin(root, exercises, first, chosen.is_none())?;
    println!("watching {}/ (stop with Ctrl-C)", copy::FOLDER);
    let mut seen: BTreeMap<&str, Fingerprint> =
        watched().map(|exercise| (exercise.id.as_str(), fingerprint(root, exercise))).collect();
    loop {
        std::thread::sleep(POLL);
        for exercise in watched() {
            let now = fingerprint(root, exercise);
            if seen.insert(&exercise.id, now) == Some(now) {
                continue;
            }
            match now {
                // Editors that write a new file and rename it leave a moment without one.
                None if !copy::path(root, exercise).exists() => {
                    println!("\n{} is gone; `cargo course reset {}` makes it again", copy::name(exercise), exercise.id);
                }
                _ => {
                    println!();
                    begin(root, exercises, exercise, chosen.is_none())?;
                    // Begun copies are no saved ones.
                    for exercise in watched().filter(|other| other.id != exercise.id) {
                        seen.insert(&exercise.id, fingerprint(root, exercise));
                    }
                }
            }
        }
    }
}

/// Judges `exercise`, and once it is solved goes on to the next if `goes_on`. What keeps a verdict from being made, such
/// as a missing compiler, is news and not the end.
fn begin(root: &Path, exercises: &[Exercise], exercise: &Exercise, goes_on: bool) -> Result<()> {
    if copy::start(root, exercise)? {
        print!("{}", introduction(exercise));
    }
    let is_solved = match try_once(root, exercise) {
        Ok(is_solved) => is_solved,
        Err(error) => {
            eprintln!("error: {error:#}");
            return Ok(());
        }
    };
    let progress = Progress::load(root)?;
    print!("{}", what_next(exercises, exercise, is_solved, &progress));
    if let Some(next) = next(exercises, &progress).filter(|_| goes_on && is_solved)
        && copy::start(root, next)?
    {
        print!("\n{}", introduction(next));
        try_once(root, next)?;
    }
    Ok(())
}

fn fingerprint(root: &Path, exercise: &Exercise) -> Fingerprint {
    let about = copy::path(root, exercise).metadata().ok()?;
    Some((about.modified().ok(), about.len()))
}
