//! One run of a chapter's own kernel, as exercises and quizzes have it, and the number that is asked of it.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use device::{Choice, Counters, KernelSource, LineCounters, Schedule, SimOptions};
use lab::element::Element as _;
use lab::{Chapter, Job, LaunchOptions, Layout, Op, Rows, Run, Session, Type, Value, Variant};
use reduction::RANKS_MAX;
use serde::Deserialize;
use simt::Metric;

use super::numbers::Numbers;
use super::rows::{Begins, Lies, Shape};
use crate::lessons::{OVER_DEVICES, lessons};

/// A run, and the question about it. Without [`lab::Case`], because a key that is misspelt has to be an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The kernel: a variant of the chapter, or a mistake that its page shows.
    pub variant: String,
    /// Elements, where nothing is said of rows.
    pub n: Option<u64>,
    /// Rows, for a variant that gives each a value.
    pub rows: Option<u64>,
    /// Elements of each; of rows of any length in the mean.
    pub cols: Option<u64>,
    /// Elements from the beginning of a row to that of the next.
    pub pitch: Option<u64>,
    /// Offsets at which rows of any length begin.
    pub offsets: Option<Begins>,
    /// Threads a block; the variant's own number by default.
    pub block: Option<u32>,
    /// Blocks; the variant's own number by default.
    pub grid: Option<u32>,
    /// The number that the variant is tuned by.
    pub factor: Option<u32>,
    /// Type of the elements; i32 by default.
    #[serde(default = "i32_elements", rename = "type")]
    pub ty: Type,
    /// Operation; a sum by default.
    #[serde(default)]
    pub op: Op,
    /// Ranks, of a kernel that runs on several devices: one call of it, which rank 0 counts. `n` is of each, and the input is
    /// rank 0's, then rank 1's, and so on.
    pub ranks: Option<u32>,
    /// Input; 1, 2, 3, … by default.
    #[serde(default)]
    pub input: Numbers,
    /// Schedule of the lanes, written as for `--schedule`.
    pub schedule: Option<String>,
    /// Number that is asked for: the name of a counter, `result`, `launches` or `blocks` (of the first launch).
    pub asks: String,
    /// Text of the source lines whose counts alone are added up, if not all are.
    pub line: Option<String>,
}

pub(super) const fn i32_elements() -> Type {
    Type::I32
}

impl Asked {
    /// The rows of its run, if it is about rows, and the elements.
    pub(super) fn lies(&self) -> Result<(Option<Rows>, u64)> {
        let shape = Shape { rows: self.rows, cols: self.cols };
        Lies { n: self.n, shape, pitch: self.pitch, offsets: self.offsets.as_ref() }.rows()
    }

    /// The same over other rows.
    pub(super) fn over(&self, shape: Shape) -> Asked {
        let Shape { rows, cols } = shape;
        Asked { n: None, rows, cols, pitch: None, offsets: None, ..self.clone() }
    }

    /// The file that holds the kernel, for readers.
    pub fn place(&self, chapter: &str) -> String {
        if self.ranks.is_some() || lesson(chapter).is_ok_and(|lesson| lesson.variant(&self.variant).is_some()) {
            format!("kernels/{chapter}.cu")
        } else {
            format!("chapters/{chapter}/tests/mistakes/{}.cu", self.variant)
        }
    }

    /// The command that shows such a run with all its counters; `None` for a mistake that only the page shows, or a
    /// result, which is another for the numbers that the command takes, or offsets that are a list.
    pub fn command(&self, chapter: &str) -> Option<String> {
        let is_there = self.ranks.is_some() || lesson(chapter).ok()?.variant(&self.variant).is_some();
        if !is_there || self.asks == "result" {
            return None;
        }
        let mut text = format!("cargo run --release -p {chapter} -- --device sim");
        let n = self.n.filter(|_| self.rows.is_none());
        for (option, value) in [
            ("ranks", self.ranks.map(u64::from)),
            ("n", n),
            ("rows", self.rows),
            ("cols", self.cols),
            ("pitch", self.pitch),
            ("block", self.block.map(u64::from)),
            ("grid", self.grid.map(u64::from)),
            ("factor", self.factor.map(u64::from)),
        ] {
            text.push_str(&value.map(|value| format!(" --{option} {value}")).unwrap_or_default());
        }
        match &self.offsets {
            None => {}
            Some(Begins::Kind(kind)) => text.push_str(&format!(" --offsets {kind}")),
            // A reader would have to make a file of them first.
            Some(Begins::At(_)) => return None,
        }
        let other = |option: &str, is_other: bool, value: &str| {
            if is_other { format!(" --{option} {value}") } else { String::new() }
        };
        text.push_str(&other("type", self.ty != Type::I32 && self.ranks.is_none(), self.ty.name()));
        text.push_str(&other("op", self.op != Op::Sum, self.op.name()));
        text.push_str(&self.schedule.as_ref().map(|schedule| format!(" --schedule {schedule}")).unwrap_or_default());
        Some(format!("{text} --variant {}", self.variant))
    }

    /// The count of the simulator.
    pub(super) fn count(&self, chapter: &str, root: &Path) -> Result<i64> {
        if let Some(ranks) = self.ranks {
            return self.count_on(ranks, chapter, root);
        }
        let run = self.run(chapter, root)?;
        Ok(match self.asks.as_str() {
            "result" if run.layout != Layout::Array => {
                let one = run.layout.of().map_or("one", |(one, _)| one);
                bail!("each {one} has a result of its own: ask for a counter")
            }
            "result" => whole(run.result)?,
            "launches" => run.plan.passes.len() as i64,
            "blocks" => run.plan.passes.first().map_or(0, |pass| i64::from(pass.grid())),
            name => self.counted(root, (run.counters.as_ref(), &run.lines), name)?,
        })
    }

    /// The count of rank 0 in one call on so many ranks, or the result that all of them have for one element.
    fn count_on(&self, ranks: u32, chapter: &str, root: &Path) -> Result<i64> {
        ensure!(chapter == OVER_DEVICES, "{chapter} runs on one device: leave ranks out");
        let n = self.lies()?.1;
        let array = self.input.array(Type::F32, n * u64::from(ranks));
        let values = f32::slice(&array).unwrap_or_default();
        let one = ch14_all_reduce::call_once(&self.variant, root, ranks, n, |rank, i| values[(rank * n + i) as usize])?;
        ensure!(one.report.faults.is_empty(), "the run of {} is not right", self.variant);
        Ok(match self.asks.as_str() {
            "result" => {
                let result = one.results.iter().flatten().next().context("a result of nothing")?;
                let is_one = one.results.iter().flatten().all(|other| other == result);
                ensure!(is_one && n == 1, "ask for the result of one element, which all ranks have");
                whole(Value::F32(*result))?
            }
            "launches" => ranks.into(),
            "blocks" => one.geometry.grid[0].into(),
            name => self.counted(root, (one.report.counters.as_ref(), &one.report.lines), name)?,
        })
    }

    fn counted(&self, root: &Path, (counters, lines): (Option<&Counters>, &[LineCounters]), name: &str) -> Result<i64> {
        let metric = Metric::named(name).with_context(|| format!("there is no counter `{name}`"))?;
        let Some(text) = &self.line else {
            return Ok(counters.map_or(0.0, metric.value) as i64);
        };
        let mut found = None;
        for line in lines {
            let source = std::fs::read_to_string(root.join(&line.file)).unwrap_or_default();
            let at = (line.line as usize).checked_sub(1).and_then(|i| source.lines().nth(i)).unwrap_or_default();
            if at.contains(text) {
                found = Some(found.unwrap_or(0) + (metric.value)(&line.counters) as i64);
            }
        }
        found.with_context(|| format!("no line of the run contains `{text}`"))
    }

    /// The run that is asked about, and where its kernel is.
    ///
    /// # Errors
    /// A kernel that is not there or does not run, or a definition that does not fit it.
    pub(super) fn shown(&self, chapter: &str, root: &Path) -> Result<(Run, KernelSource)> {
        Ok((self.run(chapter, root)?, self.kernel(lesson(chapter)?, root)?.1))
    }

    fn run(&self, chapter: &str, root: &Path) -> Result<Run> {
        let (rows, n) = self.lies()?;
        let chapter = lesson(chapter)?;
        let (variant, source) = self.kernel(chapter, root)?;
        let schedule = self.schedule.as_deref().map(str::parse::<Schedule>).transpose().map_err(anyhow::Error::msg)?;
        let options = SimOptions { is_quiet: true, ..SimOptions::default() };
        let options = SimOptions { schedule: schedule.unwrap_or(options.schedule), ..options };
        let session = Session::open_source(chapter, source, Choice::Sim, options)?;
        let input = self.input.array(self.ty, n * self.op.arrays());
        let options = LaunchOptions {
            op: self.op,
            block: self.block,
            grid: self.grid,
            factor: self.factor,
            rows,
            ..LaunchOptions::default()
        };
        let run = session.run(Job { variant, options, input: &input, reference: None, offset: 0 })?;
        let is_lesson = chapter.variant(&self.variant).is_some_and(|variant| variant.announced.is_none());
        ensure!(run.ok() || !is_lesson, "the run of {} is not right", self.variant);
        Ok(run)
    }

    /// The variant, and where its kernel is.
    fn kernel(&self, chapter: &Chapter, root: &Path) -> Result<(&'static Variant, KernelSource)> {
        if let Some(variant) = chapter.variant(&self.variant) {
            return Ok((variant, KernelSource::in_root(root, chapter.slug)));
        }
        let mistake = chapter.mistakes.iter().find(|mistake| mistake.variant.name == self.variant);
        let mistake = mistake.with_context(|| format!("{} has no kernel `{}`", chapter.slug, self.variant))?;
        Ok((&mistake.variant, lab::mistake::source(chapter, &self.variant, root)))
    }

    /// Checks for contradictions in the file.
    ///
    /// # Errors
    /// A sentence about what it says all the same.
    pub fn check(&self) -> Result<()> {
        let words = ["result", "launches", "blocks"];
        let is_count = Metric::named(&self.asks).is_some_and(|metric| !metric.is_ratio);
        ensure!(
            is_count || words.contains(&self.asks.as_str()),
            "`{}` is nothing that a run has: it is the name of a counter, {}",
            self.asks,
            lab::text::listed(&words)
        );
        ensure!(is_count || self.line.is_none(), "only a counter is split by lines");
        let n = self.lies()?.1 * self.op.arrays() * u64::from(self.ranks.unwrap_or(1));
        if let Some(ranks) = self.ranks {
            let is_plain = self.rows.is_none() && self.offsets.is_none() && self.op == Op::Sum && self.ty == Type::F32;
            let has_own =
                self.block.is_none() && self.grid.is_none() && self.factor.is_none() && self.schedule.is_none();
            ensure!((1..=RANKS_MAX).contains(&ranks), "ranks are 1 to {RANKS_MAX}");
            ensure!(is_plain && has_own, "a run on ranks is of f32, and takes a variant, n, input and a line alone");
        }
        ensure!(self.input.has(n), "`input` has fewer than {n} numbers");
        Ok(())
    }
}

/// The lesson of that slug.
fn lesson(chapter: &str) -> Result<&'static Chapter> {
    let lesson = lessons().into_iter().find(|lesson| lesson.slug == chapter);
    lesson.with_context(|| format!("there is no chapter {chapter}"))
}

/// The whole number that a result is.
fn whole(result: Value) -> Result<i64> {
    if let Value::I32(value) = result {
        return Ok(value.into());
    }
    let whole = result.to_f64();
    ensure!(whole.fract() == 0.0, "the result {result} is no whole number");
    Ok(whole as i64)
}

/// `1,024`, `−3`
pub(super) fn number(value: i64) -> String {
    let digits = lab::text::grouped(value.unsigned_abs());
    if value < 0 { format!("−{digits}") } else { digits }
}
