//! A kernel to write, as `exercises.toml` describes it, and the files that belong to it.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use device::{Code, Counters, KernelSource};
use lab::op::Outcome;
use lab::{Matrix, Op, Type};
use reduction::RANKS_MAX;
use serde::Deserialize;
use simt::Metric;

use super::rows::Shape;
use crate::workspace;

/// A kernel to write: what the reader is asked, and how kernels of it are launched and judged. They are `kernel(in, out, n)`,
/// with the workspace as a fourth argument if there is one, or what `ranks.rs` says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    /// Name of its files, and what the reader types: `four-loads`. No two exercises of the course share one.
    pub id: String,
    /// One line.
    pub title: String,
    /// The question on the page, a paragraph.
    pub question: String,
    /// From a nudge to nearly the answer.
    pub hints: Vec<String>,
    /// Threads a block, each tried; any number, not only powers of two.
    pub blocks: Vec<u32>,
    /// Element types, each tried.
    pub types: Vec<Type>,
    /// Operation of the kernel; a sum by default.
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
    /// Number of launches: again with the block sums until one value is left, or once, with an `out` of one value.
    #[serde(default)]
    pub launches: Launches,
    /// Cooperative launch: all blocks are resident together.
    #[serde(default)]
    pub cooperative: bool,
    /// Numbers of ranks, each tried, for a kernel that runs on several devices at once; none by default.
    #[serde(default)]
    pub ranks: Vec<u32>,
    /// 64-bit words of zeroed workspace, the fourth argument; none by default.
    #[serde(default)]
    pub state_words: u64,
    /// The tree that must be kept, where another with the same sum is no answer.
    pub tree: Option<Tree>,
    /// Goals for counters, besides a right sum.
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

/// Number of launches of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launches {
    /// Each block writes its sum, and the sums are the next launch's input.
    #[default]
    UntilOne,
    /// The kernel itself brings the result to `out[0]`, which holds the operation's identity before: 0 for a sum.
    Once,
    /// Once as for `Once`, and then once more, for two thirds of the elements, with another `out` and the workspace as the first
    /// launch left it. Both results count.
    Twice,
}

/// Pairs that a block adds, in which brackets: floats of different trees round differently.
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
    /// Instead of counters: that what one block hands to another goes through a fence on each side, before the writer's
    /// ticket and behind the reader's.
    #[serde(default)]
    pub fenced: bool,
    /// Ranks, of a kernel that runs on several: it is held against the counts of each rank in each call. The most that the
    /// exercise has by default.
    pub ranks: Option<u32>,
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
    /// Ranks; the goal's own by default.
    pub ranks: Option<u32>,
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

/// Threads of a block when a goal names none.
const fn goal_block() -> u32 {
    256
}

impl Goal {
    /// The counters it adds up. [`load`] refuses names that are none.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        self.counters.iter().filter_map(|name| Metric::named(name))
    }

    /// Sum of those counters.
    pub fn counted(&self, counters: &Counters) -> u64 {
        self.metrics().map(|metric| (metric.value)(counters) as u64).sum()
    }

    /// The goal itself, and as it is at each of its other sizes.
    pub fn runs(&self) -> impl Iterator<Item = Goal> {
        let others = self.also.iter().map(|also| Goal {
            block: also.block.unwrap_or(self.block),
            ranks: also.ranks.or(self.ranks),
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

    /// Checks for contradictions in the file.
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
            let kinds = [
                is_counted,
                run.each_block.is_some(),
                run.each_warp.is_some(),
                run.first_threads,
                run.keeps_out,
                run.fenced,
            ];
            ensure!(
                is_counted == is_limited && kinds.iter().filter(|&&is_there| is_there).count() == 1,
                "goal {}: give counters with at_most or at_least, or each_block, each_warp, first_threads, keeps_out or fenced alone, at \
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
    /// The mistake, as in the file's name: `one-guard` for `wrong/four-loads-one-guard.cu`.
    pub name: String,
    /// Reason for which the judge must reject it: `wrong-sum`, the code of a fault, or the name of a goal.
    pub reason: String,
    /// The mistake, one sentence.
    pub why: String,
}

/// The judge's name for a wrong result.
pub const WRONG_SUM: &str = "wrong-sum";
/// The judge's name for a right sum of other pairs than those that are to be kept.
pub const OTHER_TREE: &str = "other-tree";

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
        workspace::kernel(&root.join("chapters").join(&self.chapter).join(folder), name)
    }

    /// The kernel's name for this type and block size.
    pub fn entry(&self, ty: Type, block: u32) -> String {
        let by_id = || format!("{}_{{type}}", self.id.replace('-', "_"));
        let pattern = self.entry.clone().unwrap_or_else(by_id);
        pattern.replace("{type}", ty.name()).replace("{block}", &block.to_string())
    }

    /// Returns whether a lab can show its runs: labs compare whole numbers.
    pub fn has_lab(&self) -> bool {
        self.types.contains(&Type::I32) && self.ranks.is_empty()
    }

    /// Returns whether it asks for the place of an element, of which there may be several as good.
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

    /// Rows that one block takes, at least one.
    pub fn rows_per_block(&self, block: u32) -> u64 {
        u64::from(block / self.lanes_per_row.unwrap_or(block)).max(1)
    }

    /// Checks for contradictions in the description of a kernel of rows.
    fn check_rows(&self) -> Result<()> {
        let Some(lanes) = self.lanes_per_row else { return Ok(()) };
        let whole = self.blocks_tried().all(|block| lanes > 0 && block.is_multiple_of(lanes));
        ensure!(whole, "lanes_per_row = {lanes}: a block has whole rows");
        let is_plain = self.launches == Launches::UntilOne && self.state_words == 0 && self.grid_max.is_none();
        ensure!(
            is_plain && self.tree.is_none() && !self.cooperative && self.elements_per_thread == 1,
            "a kernel with lanes_per_row is launched once over all rows: leave launches, state_words, grid_max, tree, \
             cooperative and elements_per_thread out"
        );
        Ok(())
    }

    /// Checks for contradictions in the description of a kernel on several ranks.
    fn check_ranks(&self) -> Result<()> {
        let mut of_goals = self.goals.iter().flat_map(Goal::runs);
        if self.ranks.is_empty() {
            ensure!(of_goals.all(|goal| goal.ranks.is_none()), "a goal with ranks, and the exercise has none");
            return Ok(());
        }
        let is_plain = self.launches == Launches::UntilOne && self.state_words == 0 && self.lanes_per_row.is_none();
        ensure!(
            is_plain && self.tree.is_none() && !self.cooperative && self.op == Op::Sum,
            "a kernel on ranks adds up their arrays: leave launches, state_words, lanes_per_row, tree, cooperative and op out"
        );
        check_each_rank(&self.ranks, &self.types)?;
        for goal in of_goals {
            let is_sized = goal.n.is_some() && (goal.each_warp.is_some() || !goal.counters.is_empty());
            ensure!(is_sized, "goal {}: over ranks give n, and counters or each_warp", goal.name);
            check_each_rank(goal.ranks.as_slice(), &[]).with_context(|| format!("goal {}", goal.name))?;
        }
        Ok(())
    }

    /// Checks for contradictions in the file.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.types.is_empty(), "no types: give i32 at least");
        ensure!(!self.blocks.is_empty(), "no blocks: give the block sizes to try");
        ensure!(
            self.blocks.iter().all(|&block| self.elements_per_block(block) > 1),
            "a block must take two elements at least, or launches would never end"
        );
        ensure!(self.grid_max != Some(0), "grid_max is at least 1");
        for block in self.blocks_tried() {
            ensure!((1..=1024).contains(&block), "a block of {block} threads: it has 1 to 1024");
        }
        for goal in &self.goals {
            goal.check(self.lanes_per_row.is_some())?;
        }
        self.check_rows()?;
        self.check_ranks()
    }

    /// Checks that what must be rejected has a name, and a reason that there is.
    pub(super) fn check_wrong(&self) -> Result<()> {
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

/// Checks that there can be so many ranks, and that they add these types.
pub(super) fn check_each_rank(ranks: &[u32], types: &[Type]) -> Result<()> {
    ensure!(ranks.iter().all(|ranks| (2..=RANKS_MAX).contains(ranks)), "ranks are 2 to {RANKS_MAX}");
    ensure!(types.iter().all(|ty| matches!(ty, Type::I32 | Type::F32)), "ranks add i32 or f32");
    Ok(())
}

/// Returns whether it can be the name of a file, and be typed.
pub(super) fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && !name.starts_with('-') && name.chars().all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_adds_neighbours() {
        // 1 is lost beside 2^24, and kept beside another 1.
        let big = 16_777_216.0;
        assert_eq!(Tree::Neighbours.sum(&[1.0, 1.0, big]), big + 2.0);
        assert_eq!(Tree::Neighbours.sum(&[big, 1.0, 1.0]), big);
        assert_eq!(Tree::Neighbours.sum(&[]), 0.0);
    }
}
