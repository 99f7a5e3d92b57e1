//! `chapters/<slug>/contest.json`: what a chapter is measured by. Measuring, the tables of its page and the scripts that time
//! other libraries all read this one file.

use std::path::{Path, PathBuf};

use lab::measurement::{CUB, CUB_FIXED, CUB_NEWER, CUB_NEWER_FIXED, LIGER, QUACK};
use lab::record::{CARDS, load_json};
use lab::{Error, Op, Result, Type};
use serde::Deserialize;

/// The record that the book's figures come from.
pub const BOOKS: &str = CARDS[0];

/// Operations, types and shapes of one chapter's contest, in the order in which they are measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContestTable {
    /// Slug of the chapter; the folder says it.
    #[serde(skip)]
    pub chapter: String,
    /// `norms`: the part of `cargo course measure`, and the record `measurements/h200-norms.json`.
    pub name: String,
    /// Kind of the input.
    pub over: Over,
    /// The kernel that the chapter puts forward.
    pub variant: String,
    /// The script that takes the record on a GPU, with its arguments.
    pub script: String,
    /// The libraries that stand beside torch.
    pub libraries: Vec<Library>,
    /// Operations by type, in the order in which they are measured.
    pub tasks: Vec<Task>,
    /// Types whose operations are measured when those of the others have been at all shapes.
    #[serde(default)]
    pub last: Vec<Type>,
    /// Types that the kernels take and no row measures.
    #[serde(default)]
    pub unmeasured: Vec<Type>,
    /// Kernels of this and other chapters that are timed beside, where they have the operation and type.
    #[serde(default)]
    pub beside: Vec<Beside>,
    /// The card of the record that the page shows, as in the name of its file.
    #[serde(default = "books")]
    card: String,
    /// Another card with a record, which stands beside.
    #[serde(default)]
    pub other_card: Option<String>,
    /// Rows and columns; empty for arrays.
    #[serde(default)]
    pub shapes: Vec<(u64, u64)>,
    /// Rows and columns as language models have them.
    #[serde(default)]
    pub models: Vec<(u64, u64)>,
    /// Rows and columns drawn at random; over rows for sums alone.
    #[serde(default)]
    pub drawn: Vec<(u64, u64)>,
    /// The chapter whose shapes these are, in place of `shapes`.
    shapes_of: Option<String>,
    /// Operations whose kinds of load `scripts/gpu_loads.sh` compares.
    #[serde(default)]
    pub loads: Vec<String>,
    /// Cases that `scripts/gpu.sh` profiles; no program reads it.
    #[serde(default, rename = "profiled")]
    _profiled: serde::de::IgnoredAny,
}

/// Input of a contest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Arrays, each reduced to one value.
    Arrays,
    /// Matrices and ragged rows, with a value for each row or column.
    Rows,
    /// Matrices whose results may be as many as their elements.
    Matrices,
}

/// A library beside torch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Library {
    /// NVIDIA's, in C++.
    #[serde(rename = "CUB")]
    Cub,
    /// Kernels written in Triton.
    Liger,
    /// Kernels written in CuTe's language for Python.
    #[serde(rename = "QuACK")]
    Quack,
}

/// Kernels of one chapter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// Slug of the chapter.
    pub chapter: String,
    /// Names of the variants.
    pub variants: Vec<String>,
}

/// Rows and columns, and what is measured at all of them.
pub type Stage<'t> = (&'t [(u64, u64)], Vec<(Op, Type)>);

/// Operations of one type.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Type of the elements.
    #[serde(rename = "type")]
    pub ty: Type,
    /// In the order in which they are measured.
    pub ops: Vec<Op>,
}

impl Library {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Library::Cub => "CUB",
            Library::Liger => "Liger",
            Library::Quack => "QuACK",
        }
    }

    /// Its entrants in a contest of rows or matrices, of which the fastest counts.
    pub fn entrants(self) -> &'static [&'static str] {
        match self {
            Library::Cub => &[CUB, CUB_FIXED, CUB_NEWER, CUB_NEWER_FIXED],
            Library::Liger => &[LIGER],
            Library::Quack => &[QUACK],
        }
    }
}

impl ContestTable {
    /// Every chapter's, in the order of the slugs; chapters without the file have none.
    ///
    /// # Errors
    /// A file that cannot be read or says something else.
    pub fn all(root: &Path) -> Result<Vec<ContestTable>> {
        let folder = root.join("chapters");
        let entries = std::fs::read_dir(&folder).map_err(Error::file(&folder, "read"))?;
        let slugs = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut slugs: Vec<String> = slugs.filter(|slug| path(root, slug).is_file()).collect();
        slugs.sort_unstable();
        slugs.iter().map(|slug| ContestTable::read(root, slug)).collect()
    }

    /// The contest of one chapter.
    ///
    /// # Errors
    /// As [`ContestTable::all`], and where there is none.
    pub fn read(root: &Path, slug: &str) -> Result<ContestTable> {
        let path = path(root, slug);
        let wrong = |problem: String| Error::Record { path: path.clone(), problem };
        let read: Option<ContestTable> = load_json(&path)?;
        let mut read = read.ok_or_else(|| wrong("the file is not there".to_owned()))?;
        read.chapter = slug.to_owned();
        if let Some(other) = read.shapes_of.take() {
            let theirs = ContestTable::read(root, &other)?;
            (read.shapes, read.drawn) = (theirs.shapes, theirs.drawn);
        }
        if read.over != Over::Arrays && read.shapes.is_empty() {
            return Err(wrong("names neither `shapes` nor the chapter that has them in `shapes_of`".to_owned()));
        }
        Ok(read)
    }

    /// Name of the record that the page shows, without the ending: `h200-norms`.
    pub fn record(&self) -> String {
        self.record_of(&self.card)
    }

    /// Name of the other card's record.
    pub fn other_record(&self) -> Option<String> {
        self.other_card.as_ref().map(|card| self.record_of(card))
    }

    fn record_of(&self, card: &str) -> String {
        format!("{card}-{}", self.name)
    }

    /// Each operation and type once, in the order in which they are measured.
    pub fn pairs(&self) -> impl Iterator<Item = (Op, Type)> + '_ {
        self.tasks.iter().flat_map(|task| task.ops.iter().map(|&op| (op, task.ty)))
    }

    /// Shapes with the operations and types that are measured at them: what comes first in the table, then those of language models and
    /// drawn ones, then all of them for the types that come last.
    pub fn stages(&self) -> impl Iterator<Item = Stage<'_>> {
        let pairs = move |is_last: bool| {
            let pairs = self.pairs().filter(move |(_, ty)| self.last.contains(ty) == is_last);
            pairs.collect::<Vec<_>>()
        };
        let shapes = move || [&self.shapes, &self.models, &self.drawn].map(Vec::as_slice);
        [false, true].into_iter().flat_map(move |is_last| shapes().map(|shapes| (shapes, pairs(is_last))))
    }

    /// The types, each once, in the order in which they first come.
    pub fn types(&self) -> Vec<Type> {
        let mut types: Vec<Type> = Vec::new();
        for task in self.tasks.iter().filter(|task| !task.ops.is_empty()) {
            if !types.contains(&task.ty) {
                types.push(task.ty);
            }
        }
        types
    }

    /// The operations in the order of `--op`, which is that of the tables.
    pub fn ops(&self) -> Vec<Op> {
        Op::ALL.iter().copied().filter(|&op| self.pairs().any(|(of, _)| of == op)).collect()
    }
}

fn books() -> String {
    BOOKS.to_owned()
}

fn path(root: &Path, slug: &str) -> PathBuf {
    root.join("chapters").join(slug).join("contest.json")
}

#[cfg(test)]
mod tests {
    use lab::input::split_mix;
    use lab::session::built_root;

    use super::*;

    #[test]
    fn every_file_can_be_read_and_names_its_script() {
        let all = ContestTable::all(&built_root()).unwrap();
        assert!(all.len() >= 4, "{all:?}");
        for table in &all {
            let script = table.script.split(' ').next().unwrap();
            assert!(built_root().join(script).is_file(), "{}: {script}", table.chapter);
            let pairs: Vec<_> = table.pairs().collect();
            let once: std::collections::HashSet<_> = pairs.iter().collect();
            assert_eq!(once.len(), pairs.len(), "{}: an operation is there twice", table.chapter);
            assert!(pairs.iter().all(|(op, ty)| op.refusal(*ty).is_none()), "{}", table.chapter);
        }
    }

    #[test]
    fn what_a_file_lacks_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("chapters/ch77-x");
        std::fs::create_dir_all(&folder).unwrap();
        let put = |text: &str| std::fs::write(folder.join("contest.json"), text).unwrap();
        let text = r#"{"name": "x", "over": "rows", "variant": "v", "script": "s", "libraries": ["CUB"], "tasks": [{"type": "f32", "ops": ["sum"]}]}"#;
        let said = || ContestTable::all(dir.path()).unwrap_err().to_string();
        put(text);
        assert!(said().contains("ch77-x/contest.json: ") && said().contains("neither `shapes`"), "{}", said());
        put(&text.replace("\"sum\"", "\"add\""));
        assert!(said().contains("unknown variant `add`"), "{}", said());
        put(&text.replace("\"rows\"", "\"arrays\""));
        assert_eq!(ContestTable::all(dir.path()).unwrap()[0].ops(), [Op::Sum]);
        assert!(ContestTable::read(dir.path(), "ch78-y").unwrap_err().to_string().contains("not there"));
    }

    /// Every power of two of elements alike, and of these every power of two of rows.
    #[test]
    fn shapes_of_rows_are_drawn_once_and_for_all() {
        const DRAWN: u64 = 40;
        let within = |log: u64, i: u64| (1 << log) + split_mix(DRAWN, i) % (1 << log);
        let shape = |i: u64| {
            let log = 10 + split_mix(DRAWN, 4 * i) % (26 - 10);
            let n = within(log, 4 * i + 1);
            let rows = within(split_mix(DRAWN, 4 * i + 2) % log, 4 * i + 3);
            let cols = n.div_ceil(rows);
            (rows, if rows * cols > 1 << 26 { n / rows } else { cols })
        };
        let drawn: Vec<(u64, u64)> = (0..DRAWN).map(shape).collect();
        assert_eq!(ContestTable::read(&built_root(), "ch10-rows").unwrap().drawn, drawn);
    }
}
