//! The exercises of the course: every `chapters/<slug>/exercises.toml`, read and checked, and the files that belong to
//! each exercise.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use device::{Code, KernelSource};
use lab::op::Outcome;
use lab::{Matrix, Op, Type};
use serde::Deserialize;
use simt::Metric;

use super::item::Item;
use super::rows::Shape;
use crate::workspace;

/// Threads of a block when a goal names none.
const GOAL_BLOCK: u32 = 256;

/// A kernel to write: what the reader is asked, and how kernels of it are launched and judged. They are `kernel(in, out, n)`,
/// with the workspace as a fourth argument if there is one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    /// Name of its files, and what the reader types: `four-loads`. No two exercises of the course share one.
    pub id: String,
    /// One line.
    pub title: String,
    /// What the page asks, a paragraph.
    pub question: String,
    /// From a nudge to nearly the answer.
    pub hints: Vec<String>,
    /// Threads a block, each tried; any number, not only powers of two.
    pub blocks: Vec<u32>,
    /// Element types, each tried.
    pub types: Vec<Type>,
    /// What the kernel computes; a sum by default.
    #[serde(default)]
    pub op: Op,
    /// Name of the kernel, with `{type}` and, where there is an instance for each block size, `{block}`. By default the
    /// id with underscores, `_` and the type.
    pub entry: Option<String>,
    /// Elements that each thread takes.
    #[serde(default = "one")]
    pub elements_per_thread: u32,
    /// For a kernel that gives each row of a matrix a value, `kernel(in, out, rows, cols)`: the threads that a row gets, so
    /// that a block takes `block / lanes_per_row` rows.
    pub lanes_per_row: Option<u32>,
    /// Most blocks of a grid, for kernels that stride over the grid.
    pub grid_max: Option<u32>,
    /// Whether it is launched again with the block sums until one value is left, or once, with an `out` of one value.
    #[serde(default)]
    pub launches: Launches,
    /// Cooperative launch: all blocks are resident together.
    #[serde(default)]
    pub cooperative: bool,
    /// 64-bit words of zeroed workspace, the fourth argument; none by default.
    #[serde(default)]
    pub state_words: u64,
    /// The tree that must be kept, where another with the same sum is no answer.
    pub tree: Option<Tree>,
    /// What must be counted besides a right sum.
    #[serde(default, rename = "goal")]
    pub goals: Vec<Goal>,
    /// Kernels that must be rejected.
    #[serde(default)]
    pub wrong: Vec<Wrong>,
    /// The chapter's slug, from the folder.
    #[serde(skip)]
    pub chapter: String,
}

const fn one() -> u32 {
    1
}

/// How often a kernel is launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launches {
    /// Each block writes its sum, and the sums are the next launch's input.
    #[default]
    UntilOne,
    /// The kernel itself brings the result to `out[0]`, which holds the operation's identity before: 0 for a sum.
    Once,
    /// As `Once`, and then once more, for two thirds of the elements, with another `out` and the workspace as the first
    /// launch left it. Both results count.
    Twice,
}

/// Which pairs a block adds, in which brackets: floats tell one tree from another by how they round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tree {
    /// Neighbours, then neighbours of the sums: chapter 1's.
    Neighbours,
}

impl Tree {
    /// Its sum of one block's elements.
    pub fn sum(self, values: &[f32]) -> f32 {
        let Tree::Neighbours = self;
        let mut values = values.to_vec();
        let mut stride = 1;
        while stride < values.len() {
            for i in (0..values.len() - stride).step_by(2 * stride) {
                values[i] += values[i + stride];
            }
            stride *= 2;
        }
        values.first().copied().unwrap_or(0.0)
    }
}

/// A limit on what one run counts, i32 where the exercise has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// One word or two with hyphens: `no-conflicts`. What a wrong kernel's reason calls it.
    pub name: String,
    /// `no bank conflicts`
    pub say: String,
    /// Names of counters, which are added up.
    #[serde(default)]
    pub counters: Vec<String>,
    /// The most they may come to, in all launches of the run.
    pub at_most: Option<u64>,
    /// The least they may come to.
    pub at_least: Option<u64>,
    /// Instead of counters: the most warp-instructions of any block, so that none does the work of all.
    pub each_block: Option<u64>,
    /// Instead of counters: the bytes that every warp of the first launch loads from global memory at least, so that none
    /// looks on.
    pub each_warp: Option<u64>,
    /// Instead of counters: that thread k makes the k-th addition of each round, in place, of the tree of neighbours.
    #[serde(default)]
    pub first_threads: bool,
    /// Instead of counters: that the second of two launches is right, too, where `out` holds the result of the first.
    #[serde(default)]
    pub keeps_out: bool,
    /// Threads a block.
    #[serde(default = "goal_block")]
    pub block: u32,
    /// Elements; one full block by default.
    pub n: Option<u64>,
    /// Rows, for a kernel that gives each a value.
    pub rows: Option<u64>,
    /// Elements of each.
    pub cols: Option<u64>,
    /// Elements by which the input is shifted.
    #[serde(default)]
    pub offset: usize,
    /// The same at other sizes, so that a kernel cannot know where it is counted.
    #[serde(default)]
    pub also: Vec<Also>,
}

/// A further run that a goal is held against; what it leaves out is the goal's own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Also {
    /// Threads a block.
    pub block: Option<u32>,
    /// Elements; one full block by default.
    pub n: Option<u64>,
    /// Rows, for a kernel that gives each a value.
    pub rows: Option<u64>,
    /// Elements of each.
    pub cols: Option<u64>,
    /// Elements by which the input is shifted.
    #[serde(default)]
    pub offset: usize,
    /// The limit of that run.
    pub at_most: Option<u64>,
    /// The limit of that run.
    pub at_least: Option<u64>,
    /// The limit of that run.
    pub each_block: Option<u64>,
    /// The limit of that run.
    pub each_warp: Option<u64>,
}

const fn goal_block() -> u32 {
    GOAL_BLOCK
}

impl Goal {
    /// The counters it adds up. [`load`] refuses names that are none.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        self.counters.iter().filter_map(|name| Metric::named(name))
    }

    /// The goal itself, and as it is at each of its other sizes.
    pub fn runs(&self) -> impl Iterator<Item = Goal> {
        let others = self.also.iter().map(|also| Goal {
            block: also.block.unwrap_or(self.block),
            n: also.n,
            rows: also.rows,
            cols: also.cols,
            offset: also.offset,
            at_most: also.at_most,
            at_least: also.at_least,
            each_block: also.each_block,
            each_warp: also.each_warp,
            ..self.clone()
        });
        std::iter::once(self.clone()).chain(others)
    }

    /// The rows that it is counted over; `None` where it is counted over one array.
    ///
    /// # Errors
    /// Rows without columns, and the other way round.
    pub fn matrix(&self) -> Result<Option<Matrix>> {
        Shape { rows: self.rows, cols: self.cols }.matrix()
    }

    /// What the file may not say.
    fn check(&self, is_of_rows: bool) -> Result<()> {
        ensure!(is_name(&self.name), "goal `{}`: it has lower-case letters, digits and hyphens", self.name);
        let unknown = self.counters.iter().find(|name| Metric::named(name).is_none_or(|metric| metric.is_ratio));
        if let Some(name) = unknown {
            bail!("goal {}: `{name}` is no count: `simt::counters` has the names", self.name);
        }
        for run in self.runs() {
            let matrix = run.matrix().with_context(|| format!("goal {}", self.name))?;
            ensure!(
                matrix.is_some() == is_of_rows && (matrix.is_none() || run.n.is_none()),
                "goal {}: a kernel with lanes_per_row is counted over rows and cols, every other one over n, at each of its \
                 sizes",
                self.name
            );
            let is_limited = run.at_most.or(run.at_least).is_some();
            let is_counted = !run.counters.is_empty();
            let kinds =
                [is_counted, run.each_block.is_some(), run.each_warp.is_some(), run.first_threads, run.keeps_out];
            ensure!(
                is_counted == is_limited && kinds.iter().filter(|&&is_there| is_there).count() == 1,
                "goal {}: give counters with at_most or at_least, or each_block, each_warp, first_threads or keeps_out alone, at \
                 each of its sizes",
                self.name
            );
        }
        Ok(())
    }
}

/// A kernel that must be rejected.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// What is wrong, in the file's name: `one-guard` for `wrong/four-loads-one-guard.cu`.
    pub name: String,
    /// What the judge must reject it for: `wrong-sum`, the code of a fault, or the name of a goal.
    pub reason: String,
    /// The mistake, one sentence.
    pub why: String,
}

/// What the judge calls a wrong result.
pub const WRONG_SUM: &str = "wrong-sum";
/// What the judge calls a right sum of other pairs than those that are to be kept.
pub const OTHER_TREE: &str = "other-tree";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    exercise: Vec<Item>,
}

impl Exercise {
    /// The committed starter, which readers never edit.
    pub fn starter(&self, root: &Path) -> KernelSource {
        self.source(root, "exercises", &self.id)
    }

    /// One right answer.
    pub fn solution(&self, root: &Path) -> KernelSource {
        self.source(root, "solutions", &self.id)
    }

    /// Another right answer, built differently: the judge must not ask for the first one's words.
    pub fn other_solution(&self, root: &Path) -> KernelSource {
        self.source(root, "solutions", &format!("{}-other", self.id))
    }

    /// A kernel that must be rejected.
    pub fn wrong_source(&self, root: &Path, wrong: &Wrong) -> KernelSource {
        self.source(root, "wrong", &format!("{}-{}", self.id, wrong.name))
    }

    /// Every committed kernel of the exercise.
    pub fn sources(&self, root: &Path) -> Vec<KernelSource> {
        let wrong = self.wrong.iter().map(|wrong| self.wrong_source(root, wrong));
        [self.starter(root), self.solution(root), self.other_solution(root)].into_iter().chain(wrong).collect()
    }

    fn source(&self, root: &Path, folder: &str, name: &str) -> KernelSource {
        let folder = root.join("chapters").join(&self.chapter).join(folder);
        let file = |extension: &str| folder.join(format!("{name}.{extension}"));
        KernelSource { slug: name.to_owned(), cu: file("cu"), ptx: file("ptx") }
    }

    /// The kernel's name for this type and block size.
    pub fn entry(&self, ty: Type, block: u32) -> String {
        let by_id = || format!("{}_{{type}}", self.id.replace('-', "_"));
        let pattern = self.entry.clone().unwrap_or_else(by_id);
        pattern.replace("{type}", ty.name()).replace("{block}", &block.to_string())
    }

    /// Whether a lab can show its runs: labs compare whole numbers.
    pub fn has_lab(&self) -> bool {
        self.types.contains(&Type::I32)
    }

    /// Whether it asks for the place of an element, of which there may be several as good.
    pub fn finds(&self) -> bool {
        self.types.iter().any(|&ty| matches!(self.op.outcome(ty), Outcome::Found(_)))
    }

    /// Elements that one block takes.
    pub fn elements_per_block(&self, block: u32) -> u64 {
        u64::from(self.elements_per_thread) * u64::from(block)
    }

    /// Block sizes of sums and goals.
    pub fn blocks_tried(&self) -> impl Iterator<Item = u32> {
        let of_goals = self.goals.iter().flat_map(Goal::runs).map(|goal| goal.block);
        self.blocks.iter().copied().chain(of_goals)
    }

    /// What the file may not say.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.types.is_empty(), "{}: no types: give i32 at least", self.id);
        ensure!(!self.blocks.is_empty(), "{}: no blocks: give the block sizes to try", self.id);
        ensure!(
            self.blocks.iter().all(|&block| self.elements_per_block(block) > 1),
            "{}: a block must take two elements at least, or launches would never end",
            self.id
        );
        ensure!(self.grid_max != Some(0), "{}: grid_max is at least 1", self.id);
        for block in self.blocks_tried() {
            ensure!((1..=1024).contains(&block), "{}: a block of {block} threads: it has 1 to 1024", self.id);
        }
        for goal in &self.goals {
            goal.check(self.lanes_per_row.is_some()).with_context(|| self.id.clone())?;
        }
        self.check_rows()?;
        for wrong in &self.wrong {
            ensure!(is_name(&wrong.name), "wrong `{}`: it has lower-case letters, digits and hyphens", wrong.name);
            let is_goal = self.goals.iter().any(|goal| goal.name == wrong.reason);
            ensure!(
                is_goal
                    || [WRONG_SUM, OTHER_TREE].contains(&wrong.reason.as_str())
                    || Code::named(&wrong.reason).is_some(),
                "wrong {}: `{}` is no reason: it is {WRONG_SUM}, the code of a fault or the name of a goal",
                wrong.name,
                wrong.reason
            );
        }
        Ok(())
    }
}

/// Whether it is one that files and readers can bear.
pub(super) fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && !name.starts_with('-') && name.chars().all(letters)
}

/// Where a chapter's exercises are described.
pub fn file(root: &Path, chapter: &str) -> PathBuf {
    root.join("chapters").join(chapter).join("exercises.toml")
}

/// Every exercise of every kind, in the order of the book.
///
/// # Errors
/// A file that cannot be read or says something impossible, two exercises of one id, or none at all.
pub fn load(root: &Path) -> Result<Vec<Item>> {
    let exercises = load_any(root)?;
    ensure!(!exercises.is_empty(), "found no chapters/*/exercises.toml with an exercise in it");
    Ok(exercises)
}

/// As [`load`], where there may be none.
///
/// # Errors
/// As [`load`], but for none at all.
pub fn load_any(root: &Path) -> Result<Vec<Item>> {
    let mut exercises: Vec<Item> = Vec::new();
    for chapter in chapters(root)? {
        let path = file(root, &chapter);
        if !path.is_file() {
            continue;
        }
        let name = workspace::name(root, &path);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{name}`"))?;
        for exercise in parse(&text, &chapter).with_context(|| format!("{name} is no list of exercises"))? {
            if let Some(known) = exercises.iter().find(|known| known.id() == exercise.id()) {
                bail!("{name}: {} has an exercise `{}` already: take another id", known.chapter(), known.id());
            }
            exercises.push(exercise);
        }
    }
    Ok(exercises)
}

/// The exercises of one file.
pub(super) fn parse(text: &str, chapter: &str) -> Result<Vec<Item>> {
    let mut file: File = toml::from_str(text)?;
    for exercise in &mut file.exercise {
        exercise.belongs_to(chapter);
        exercise.check()?;
    }
    Ok(file.exercise)
}

/// The kernels to write among them.
#[cfg(test)]
pub fn written(items: Vec<Item>) -> Vec<Exercise> {
    let written = |item| if let Item::Write(exercise) = item { Some(exercise) } else { None };
    items.into_iter().filter_map(written).collect()
}

/// A test: each change of a text is refused, in these words.
#[cfg(test)]
pub fn refuses(text: &str, changes: &[(&str, &str, &str)]) {
    for (from, to, problem) in changes {
        let error = parse(&text.replacen(from, to, 1), "c").unwrap_err();
        assert!(format!("{error:#}").contains(problem), "{to}: {error:#}");
    }
}

/// Folders of `chapters/`, sorted.
fn chapters(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("chapters");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        [[exercise]]
        kind = "write"
        id = "four-loads"
        title = "t"
        question = "q"
        hints = ["h"]
        blocks = [96]
        types = ["i32", "f32"]
        elements_per_thread = 4

        [[exercise.goal]]
        name = "few-barriers"
        say = "s"
        counters = ["barriers"]
        at_most = 8

        [[exercise.wrong]]
        name = "one-guard"
        reason = "few-barriers"
        why = "w"
    "#;

    #[test]
    fn names_follow_from_the_id() {
        let exercises = written(parse(SMALL, "ch04-first-add").unwrap());
        let exercise = &exercises[0];
        assert_eq!(exercise.entry(Type::F32, 96), "four_loads_f32");
        assert_eq!(exercise.elements_per_block(96), 384);
        let root = Path::new("r");
        let wrong = exercise.wrong_source(root, &exercise.wrong[0]);
        assert_eq!(wrong.cu, Path::new("r/chapters/ch04-first-add/wrong/four-loads-one-guard.cu"));
        assert_eq!(exercise.starter(root).ptx, Path::new("r/chapters/ch04-first-add/exercises/four-loads.ptx"));
        assert_eq!(exercise.sources(root).len(), 4);
    }

    #[test]
    fn an_instance_for_each_block_has_the_block_in_its_name() {
        let text = SMALL.replace("title =", "entry = \"k_b{block}_{type}\"\ntitle =");
        assert_eq!(written(parse(&text, "c").unwrap())[0].entry(Type::I32, 64), "k_b64_i32");
    }

    #[test]
    fn what_is_impossible_is_named() {
        refuses(
            SMALL,
            &[
                ("\"i32\"", "\"i33\"", "unknown variant `i33`"),
                ("[96]", "[2048]", "a block of 2048 threads"),
                ("[96]", "[]", "no blocks"),
                ("\"barriers\"", "\"barrier\"", "`barrier` is no count"),
                ("\"barriers\"", "\"ptx_lane_efficiency\"", "`ptx_lane_efficiency` is no count"),
                ("reason = \"few-barriers\"", "reason = \"slow\"", "`slow` is no reason"),
                ("id = \"four-loads\"", "id = \"../x\"", "id `../x`"),
                ("[\"h\"]", "[]", "no hints"),
                ("\"write\"", "\"sing\"", "sing"),
                ("title =", "op = \"mean\"\ntitle =", "unknown variant `mean`"),
                ("at_most", "at_must", "at_must"),
                ("at_most = 8", "each_block = 8", "keeps_out alone"),
                ("at_most = 8", "at_most = 8\nalso = [{ n = 5 }]", "at each of its sizes"),
                ("at_most = 8", "at_most = 8\nrows = 3", "rows without cols: say how long they are"),
                (
                    "at_most = 8",
                    "at_most = 8\nrows = 3\ncols = 2",
                    "counted over rows and cols, every other one over n",
                ),
                ("title =", "lanes_per_row = 8\ntitle =", "counted over rows and cols"),
                ("elements_per_thread = 4", "lanes_per_row = 80", "counted over rows and cols"),
                ("title", "titel", "title"),
            ],
        );
    }

    #[test]
    fn a_kernel_of_rows_is_launched_over_rows() {
        let small = SMALL
            .replace("elements_per_thread = 4", "lanes_per_row = 8")
            .replace("at_most = 8", "at_most = 8\nrows = 3\ncols = 5\nblock = 96");
        let exercise = written(parse(&small, "c").unwrap()).remove(0);
        assert_eq!(exercise.rows_per_block(96), 12);
        assert_eq!(exercise.goals[0].matrix().unwrap(), Some(Matrix::dense(3, 5)));
        refuses(
            &small,
            &[
                ("lanes_per_row = 8", "lanes_per_row = 7", "a block has whole rows"),
                ("lanes_per_row = 8", "lanes_per_row = 0", "a block has whole rows"),
                ("lanes_per_row = 8", "lanes_per_row = 8\nlaunches = 'once'", "launched once over all rows"),
                ("rows = 3", "n = 15\nrows = 3", "counted over rows and cols"),
            ],
        );
    }

    #[test]
    fn a_tree_adds_neighbours() {
        // 1 is lost beside 2^24, and kept beside another 1.
        let big = 16_777_216.0;
        assert_eq!(Tree::Neighbours.sum(&[1.0, 1.0, big]), big + 2.0);
        assert_eq!(Tree::Neighbours.sum(&[big, 1.0, 1.0]), big);
        assert_eq!(Tree::Neighbours.sum(&[]), 0.0);
    }

    #[test]
    fn no_exercise_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load(dir.path()).unwrap_err().to_string().contains("found no chapters/*/exercises.toml"));
    }

    #[test]
    fn an_id_is_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        for chapter in ["ch01-a", "ch02-b"] {
            std::fs::create_dir_all(dir.path().join("chapters").join(chapter)).unwrap();
            std::fs::write(file(dir.path(), chapter), SMALL).unwrap();
        }
        let message = load(dir.path()).unwrap_err().to_string();
        assert_eq!(
            message,
            "chapters/ch02-b/exercises.toml: ch01-a has an exercise `four-loads` already: take another id"
        );
    }
}
