//! `cargo course watch`: judges a copy again whenever it is saved. It looks at files, as the book's server does, and
//! works with any editor and on any file system.

use std::collections::BTreeMap;
use std::io::IsTerminal;
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

/// Watches all exercises that the reader has begun, until the reader stops the program. It begins with the chosen one, or
/// the first that is not solved, and goes on to the next one when that is solved.
pub fn run(root: &Path, exercises: &[Exercise], chosen: Option<&Exercise>) -> Result<()> {
    let Some(first) = chosen.or(next(exercises, &Progress::load(root)?)) else {
        say(format_args!("every exercise is solved; `cargo course watch ID` watches one of them"));
        return Ok(());
    };
    say(format_args!("watching {}/ (stop with Ctrl-C)\n", copy::FOLDER));
    let mut seen: BTreeMap<&str, Fingerprint> =
        exercises.iter().map(|exercise| (exercise.id.as_str(), fingerprint(root, exercise))).collect();
    begin(root, first)?;
    seen.insert(&first.id, None); // which is why the loop judges it at once
    loop {
        for exercise in exercises {
            let now = fingerprint(root, exercise);
            if seen.insert(&exercise.id, now) == Some(now) {
                continue;
            }
            if now.is_some() {
                saved(root, exercises, exercise)?;
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

/// Judges a copy that was saved, on a screen of its own, and once it is solved begins the next. What keeps a verdict from being made,
/// such as a missing compiler, is news and not the end.
fn saved(root: &Path, exercises: &[Exercise], exercise: &Exercise) -> Result<()> {
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
        say(after_failing(exercise, &progress, "save it") + "\n");
        return Ok(());
    }
    say(after_solving(exercises, exercise, &progress) + "\n");
    match next(exercises, &progress) {
        Some(next) => begin(root, next),
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
