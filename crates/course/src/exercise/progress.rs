//! Exercises that the reader has tried and solved: `my/progress.json`, beside the reader's kernels, so that `cargo clean` does not
//! take it away and git does not see it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use device::sha256;
use serde::{Deserialize, Serialize};

use super::copy;

const FILE: &str = "progress.json";

/// The whole file: exercises by their ids.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    exercises: BTreeMap<String, Entry>,
}

/// One exercise.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Verdicts on texts that differ from the one before.
    pub tries: u64,
    /// Solved once; a later try that fails does not take that away.
    pub solved: bool,
    /// Hints read.
    pub hints: usize,
    /// SHA-256 of the text that was judged last.
    pub last_sha256: String,
}

impl Entry {
    /// `solved`, `tried 3 times`, `not started`
    pub fn status(&self) -> String {
        match (self.solved, self.tries) {
            (true, _) => "solved".to_owned(),
            (false, 0) => "not started".to_owned(),
            (false, 1) => "tried once".to_owned(),
            (false, tries) => format!("tried {tries} times"),
        }
    }
}

impl Progress {
    /// Reads the file; none is no progress yet. A file that is damaged is moved aside with a word on stderr: it must not
    /// keep a reader from the exercises.
    ///
    /// # Errors
    /// A file that cannot be read or moved.
    pub fn load(root: &Path) -> Result<Progress> {
        let path = path(root);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Progress::default()),
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}/{FILE}`", copy::FOLDER)),
        };
        match serde_json::from_slice(&text) {
            Ok(progress) => Ok(progress),
            Err(problem) => {
                let aside = path.with_extension("damaged.json");
                std::fs::rename(&path, aside).with_context(|| format!("cannot move `{}/{FILE}`", copy::FOLDER))?;
                eprintln!(
                    "{folder}/{FILE} is damaged ({problem}): it was moved to {folder}/progress.damaged.json, and a new \
                     one begins",
                    folder = copy::FOLDER
                );
                Ok(Progress::default())
            }
        }
    }

    /// Entry of an exercise.
    pub fn of(&self, id: &str) -> Entry {
        self.exercises.get(id).cloned().unwrap_or_default()
    }

    /// Notes a verdict on this text. The same text again is not another try.
    pub fn judged(&mut self, id: &str, text: &str, solved: bool) {
        let entry = self.exercises.entry(id.to_owned()).or_default();
        let hash = sha256(text.as_bytes());
        if entry.last_sha256 != hash {
            entry.tries += 1;
            entry.last_sha256 = hash;
        }
        entry.solved |= solved;
    }

    /// Forgets an exercise: it is open again.
    pub fn forget(&mut self, id: &str) {
        self.exercises.remove(id);
    }

    /// Notes how many hints were read.
    pub fn hinted(&mut self, id: &str, hints: usize) {
        let entry = self.exercises.entry(id.to_owned()).or_default();
        entry.hints = entry.hints.max(hints);
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub fn save(&self, root: &Path) -> Result<()> {
        let path = path(root);
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        let text = serde_json::to_string_pretty(self)? + "\n";
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(root.join(copy::FOLDER))?;
            std::fs::write(&partial, text)?;
            std::fs::rename(&partial, &path)
        };
        write().with_context(|| format!("cannot write `{}/{FILE}`", copy::FOLDER))
    }
}

fn path(root: &Path) -> PathBuf {
    root.join(copy::FOLDER).join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solved_stays_solved_and_the_same_text_is_one_try() {
        let dir = tempfile::tempdir().unwrap();
        let mut progress = Progress::load(dir.path()).unwrap();
        assert_eq!(progress.of("a").status(), "not started");
        progress.judged("a", "one", false);
        progress.judged("a", "one", false);
        assert_eq!(progress.of("a").status(), "tried once");
        progress.judged("a", "two", false);
        assert_eq!(progress.of("a").status(), "tried 2 times");
        progress.judged("a", "three", true);
        progress.judged("a", "four", false);
        progress.hinted("a", 2);
        progress.hinted("a", 1);
        progress.save(dir.path()).unwrap();
        let again = Progress::load(dir.path()).unwrap();
        assert_eq!(again, progress);
        assert_eq!((again.of("a").status(), again.of("a").tries, again.of("a").hints), ("solved".to_owned(), 4, 2));
    }

    #[test]
    fn a_damaged_file_is_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(copy::FOLDER)).unwrap();
        std::fs::write(path(dir.path()), "{ \"exercises\": 3").unwrap();
        assert_eq!(Progress::load(dir.path()).unwrap(), Progress::default());
        assert!(dir.path().join("my/progress.damaged.json").is_file());
        assert!(!path(dir.path()).exists());
    }
}
