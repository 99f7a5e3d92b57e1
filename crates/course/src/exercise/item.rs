//! Entries of `exercises.toml`: a number to predict, a line to choose or a kernel to write. All three have an id, a
//! question and hints; the first two have a key, which the simulator gives.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::choose::Choose;
use super::key::Key;
use super::predict::Predict;
use super::write::{Exercise, is_name};

/// An exercise of any kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Item {
    /// A number to predict: the count of a run of the chapter's own kernel.
    Predict(Predict),
    /// A line to choose for a blank.
    Choose(Choose),
    /// Write a kernel.
    Write(Exercise),
}

/// A field that exercises of every kind have.
macro_rules! field {
    ($item:expr, $field:ident) => {
        match $item {
            Item::Predict(predict) => &predict.$field,
            Item::Choose(choose) => &choose.$field,
            Item::Write(exercise) => &exercise.$field,
        }
    };
}

impl Item {
    /// Name that readers type.
    pub fn id(&self) -> &str {
        field!(self, id)
    }

    /// One line.
    pub fn title(&self) -> &str {
        field!(self, title)
    }

    /// Returns whether it is about kernels that run on several devices at once.
    pub fn is_on_ranks(&self) -> bool {
        match self {
            Item::Predict(predict) => predict.run.ranks.is_some(),
            Item::Choose(choose) => !choose.ranks.is_empty(),
            Item::Write(exercise) => !exercise.ranks.is_empty(),
        }
    }

    /// Returns whether a lab can show what it asks about: labs compare whole numbers, and have one device.
    pub fn has_lab(&self) -> bool {
        match self {
            _ if self.is_on_ranks() => false,
            Item::Predict(predict) => predict.run.ty == lab::Type::I32,
            Item::Choose(choose) => choose.ty == lab::Type::I32,
            Item::Write(exercise) => exercise.has_lab(),
        }
    }

    /// A paragraph, or several.
    pub fn question(&self) -> &str {
        field!(self, question)
    }

    /// From a nudge to nearly the answer.
    pub fn hints(&self) -> &[String] {
        field!(self, hints)
    }

    /// The chapter's slug.
    pub fn chapter(&self) -> &str {
        field!(self, chapter)
    }

    /// `ch04`
    pub fn chapter_number(&self) -> &str {
        self.chapter().split('-').next().unwrap_or(self.chapter())
    }

    /// The verb of what is asked, as lists show it.
    pub fn kind(&self) -> &'static str {
        match self {
            Item::Predict(_) => "predict",
            Item::Choose(_) => "choose",
            Item::Write(_) => "write",
        }
    }

    /// The kernel to write, if that is asked.
    pub fn written(&self) -> Option<&Exercise> {
        match self {
            Item::Write(exercise) => Some(exercise),
            Item::Predict(_) | Item::Choose(_) => None,
        }
    }

    /// The answers with what is said of each, from runs on the simulator; `None` for a kernel to write.
    ///
    /// # Errors
    /// Kernels that are not there or cannot run, which is nothing that the reader did.
    pub fn key(&self, root: &Path) -> Result<Option<Key>> {
        match self {
            Item::Predict(predict) => predict.key(root).map(Some),
            Item::Choose(choose) => choose.key(root).map(Some),
            Item::Write(_) => Ok(None),
        }
    }

    /// Takes the chapter from the folder.
    pub fn belongs_to(&mut self, slug: &str) {
        let chapter = match self {
            Item::Predict(predict) => &mut predict.chapter,
            Item::Choose(choose) => &mut choose.chapter,
            Item::Write(exercise) => &mut exercise.chapter,
        };
        slug.clone_into(chapter);
    }

    /// Checks for contradictions in the file.
    pub fn check(&self) -> Result<()> {
        ensure!(is_name(self.id()), "id `{}`: it has lower-case letters, digits and hyphens", self.id());
        ensure!(!["next", "all"].contains(&self.id()), "id `{}`: the word means something else", self.id());
        ensure!(!self.hints().is_empty(), "{}: no hints: give at least one", self.id());
        let checked = match self {
            Item::Predict(predict) => predict.check(),
            Item::Choose(choose) => choose.check(),
            Item::Write(exercise) => exercise.check(),
        };
        checked.with_context(|| self.id().to_owned())?;
        self.written().map_or(Ok(()), Exercise::check_wrong)
    }
}
