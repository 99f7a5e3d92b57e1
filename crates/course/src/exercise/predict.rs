//! A number to predict. The definition says which run of the chapter's own kernel it is about; the simulator makes that
//! run and counts. The number itself stands nowhere.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use device::{Choice, KernelSource, Schedule, SimOptions};
use lab::{Chapter, Job, LaunchOptions, Layout, Op, Rows, Run, Session, Type, Value, Variant};
use serde::Deserialize;
use simt::Metric;

use super::catalogue::{self, one_type};
use super::key::Key;
use super::numbers::Numbers;
use super::rows::{Begins, Lies, Shape};
use crate::lessons::lessons;

/// What the answer's place in an explanation is called.
pub(super) const ANSWER: &str = "{answer}";
/// What the place of the other run's number is called, in the question too.
pub(super) const BESIDE: &str = "{beside}";

/// A question whose answer is a whole number about one run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predict {
    /// What readers type; no two exercises of the course share one.
    pub id: String,
    /// One line.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// From a nudge to nearly the answer.
    pub hints: Vec<String>,
    /// The kernel: a variant of the chapter, or a mistake that its page shows.
    pub variant: String,
    /// Elements, where nothing is said of rows.
    pub n: Option<u64>,
    /// Rows, for a variant that gives each a value.
    pub rows: Option<u64>,
    /// Elements of each; of rows of any length in the mean.
    pub cols: Option<u64>,
    /// Elements from the begin of a row to that of the next.
    pub pitch: Option<u64>,
    /// Where rows of any length begin.
    pub offsets: Option<Begins>,
    /// Other rows, whose run the question mentions: what is asked has the number `{beside}` there.
    pub beside: Option<Shape>,
    /// Threads a block; the variant's own number by default.
    pub block: Option<u32>,
    /// Blocks; the variant's own number by default.
    pub grid: Option<u32>,
    /// The number that the variant is tuned by.
    pub factor: Option<u32>,
    /// Type of the elements; i32 by default.
    #[serde(default = "i32_elements", rename = "type", deserialize_with = "one_type")]
    pub ty: Type,
    /// What is computed; a sum by default.
    #[serde(default, deserialize_with = "catalogue::op")]
    pub op: Op,
    /// What is summed; 1, 2, 3, … by default.
    #[serde(default)]
    pub input: Numbers,
    /// How lanes run, as `--schedule` has it.
    pub schedule: Option<String>,
    /// What is asked of the run: the name of a counter, `result`, `launches` or `blocks` (of the first launch).
    pub asks: String,
    /// Of a counter, only what source lines that contain this text count.
    pub line: Option<String>,
    /// How one arrives at the number, which it calls `{answer}`.
    pub because: String,
    /// Wrong answers that are often given.
    #[serde(default)]
    pub common: Vec<Common>,
    /// The chapter's slug, from the folder.
    #[serde(skip)]
    pub chapter: String,
}

/// A wrong answer that is often given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// The number.
    pub answer: i64,
    /// What was thought, and what it misses.
    pub why: String,
}

pub(super) const fn i32_elements() -> Type {
    Type::I32
}

impl Predict {
    /// The number and what is said of others.
    ///
    /// # Errors
    /// A kernel that is not there or does not run, or a definition that does not fit it.
    pub fn key(&self, root: &Path) -> Result<Key> {
        let answer = self.count(root).with_context(|| format!("{}: its run does not give an answer", self.id))?;
        let beside = self.beside.map(|shape| self.over(shape).count(root)).transpose();
        let beside = beside.with_context(|| format!("{}: the run beside it does not give a number", self.id))?;
        if let Some(common) = self.common.iter().find(|common| common.answer == answer) {
            bail!("{}: {} is called a wrong answer, and the simulator counts it", self.id, common.answer);
        }
        let spelled =
            |text: &str| text.replace(ANSWER, &number(answer)).replace(BESIDE, &beside.map(number).unwrap_or_default());
        Ok(Key::Number {
            answer,
            because: spelled(&self.because),
            common: self.common.iter().map(|common| (common.answer, spelled(&common.why))).collect(),
            beside,
        })
    }

    /// The same question about other rows.
    fn over(&self, shape: Shape) -> Predict {
        let Shape { rows, cols } = shape;
        Predict { n: None, rows, cols, pitch: None, offsets: None, beside: None, ..self.clone() }
    }

    /// The rows of its run, if it is about rows, and the elements.
    fn lies(&self) -> Result<(Option<Rows>, u64)> {
        let shape = Shape { rows: self.rows, cols: self.cols };
        Lies { n: self.n, shape, pitch: self.pitch, offsets: self.offsets.as_ref() }
            .rows()
            .with_context(|| self.id.clone())
    }

    /// The file that holds the kernel, for readers.
    pub fn place(&self) -> String {
        let chapter = &self.chapter;
        let is_variant =
            lessons().iter().any(|lesson| lesson.slug == chapter && lesson.variant(&self.variant).is_some());
        if is_variant {
            format!("kernels/{chapter}.cu")
        } else {
            format!("chapters/{chapter}/tests/mistakes/{}.cu", self.variant)
        }
    }

    /// The command that shows such a run with all its counters; `None` for a mistake that only the page shows, or a
    /// result, which is another for the numbers that the command takes, or offsets that are a list.
    pub fn command(&self) -> Option<String> {
        let lesson = lessons().into_iter().find(|lesson| lesson.slug == self.chapter)?;
        lesson.variant(&self.variant).filter(|_| self.asks != "result")?;
        let mut text = format!("cargo run --release -p {} -- --device sim", self.chapter);
        let n = self.n.filter(|_| self.rows.is_none());
        for (option, value) in [
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
        text.push_str(&other("type", self.ty != Type::I32, self.ty.name()));
        text.push_str(&other("op", self.op != Op::Sum, self.op.name()));
        text.push_str(&self.schedule.as_ref().map(|schedule| format!(" --schedule {schedule}")).unwrap_or_default());
        Some(format!("{text} --variant {}", self.variant))
    }

    /// What the simulator counts.
    pub(super) fn count(&self, root: &Path) -> Result<i64> {
        let run = self.run(root)?;
        Ok(match self.asks.as_str() {
            "result" if run.layout != Layout::Array => {
                let one = run.layout.of().map_or("one", |(one, _)| one);
                bail!("each {one} has a result of its own: ask for a counter")
            }
            "result" => match run.result {
                Value::I32(value) => i64::from(value),
                other => {
                    let whole = other.to_f64();
                    ensure!(whole.fract() == 0.0, "the result {other} is no whole number");
                    whole as i64
                }
            },
            "launches" => run.plan.passes.len() as i64,
            "blocks" => run.plan.passes.first().map_or(0, |pass| i64::from(pass.grid())),
            name => self.counted(root, &run, name)?,
        })
    }

    fn counted(&self, root: &Path, run: &Run, name: &str) -> Result<i64> {
        let metric = Metric::named(name).with_context(|| format!("there is no counter `{name}`"))?;
        let Some(text) = &self.line else {
            return Ok(run.counters.as_ref().map_or(0.0, metric.value) as i64);
        };
        let mut found = None;
        for line in &run.lines {
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
    /// As [`Predict::key`].
    pub(super) fn shown(&self, root: &Path) -> Result<(Run, KernelSource)> {
        let chapter = lessons().into_iter().find(|lesson| lesson.slug == self.chapter);
        let chapter = chapter.with_context(|| format!("there is no chapter {}", self.chapter))?;
        Ok((self.run(root)?, self.kernel(chapter, root)?.1))
    }

    fn run(&self, root: &Path) -> Result<Run> {
        let (rows, n) = self.lies()?;
        let chapter = lessons().into_iter().find(|lesson| lesson.slug == self.chapter);
        let chapter = chapter.with_context(|| format!("there is no chapter {}", self.chapter))?;
        let (variant, source) = self.kernel(chapter, root)?;
        let schedule = self.schedule.as_deref().map(str::parse::<Schedule>).transpose().map_err(anyhow::Error::msg)?;
        let options = SimOptions { is_quiet: true, ..SimOptions::default() };
        let options = SimOptions { schedule: schedule.unwrap_or(options.schedule), ..options };
        let session = Session::open_source(chapter, source, Choice::Sim, options)?;
        let input = self.input.array(self.ty, n * self.op.arrays());
        let reference = lab::reference::reference_of(self.op, &input);
        let options = LaunchOptions {
            op: self.op,
            block: self.block,
            grid: self.grid,
            factor: self.factor,
            rows,
            ..LaunchOptions::default()
        };
        let run = session.run(Job { variant, options, input: &input, reference: &reference, offset: 0 })?;
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

    /// What the file may not say.
    pub fn check(&self) -> Result<()> {
        let words = ["result", "launches", "blocks"];
        let is_count = Metric::named(&self.asks).is_some_and(|metric| !metric.is_ratio);
        ensure!(
            is_count || words.contains(&self.asks.as_str()),
            "{}: `{}` is nothing that a run has: it is the name of a counter, {}",
            self.id,
            self.asks,
            lab::text::listed(&words)
        );
        ensure!(is_count || self.line.is_none(), "{}: only a counter is told by lines", self.id);
        ensure!(self.because.contains(ANSWER), "{}: `because` leads to {ANSWER}, and says so", self.id);
        let (_, n) = self.lies()?;
        let n = n * self.op.arrays();
        ensure!(self.input.has(n), "{}: `input` has fewer than {n} numbers", self.id);
        if let Some(beside) = self.beside {
            self.over(beside).lies().context("beside")?;
        }
        ensure!(
            self.beside.is_some() == self.question.contains(BESIDE),
            "{}: a question that says {BESIDE} has a run `beside` it, and the other way round",
            self.id
        );
        ensure!(!self.common.is_empty(), "{}: no common wrong answer: give one with its reason", self.id);
        Ok(())
    }
}

/// `1,024`, `−3`
pub(super) fn number(value: i64) -> String {
    let digits = lab::text::grouped(value.unsigned_abs());
    if value < 0 { format!("−{digits}") } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::catalogue::parse;
    use crate::exercise::item::Item;
    use crate::workspace;

    const SMALL: &str = r#"
        [[exercise]]
        kind = "predict"
        id = "how-many"
        title = "t"
        question = "q"
        hints = ["h"]
        variant = "interleaved_modulo"
        n = 64
        block = 64
        asks = "barriers"
        because = "Two warps, seven times: {answer}."
        common = [{ answer = 7, why = "Each of the two warps arrives, so {answer}." }]
    "#;

    fn key(text: &str) -> Result<Key> {
        let items = parse(text, "ch01-naive").unwrap();
        let [Item::Predict(predict)] = items.as_slice() else { panic!("no predict in {text}") };
        predict.key(&workspace::root().unwrap())
    }

    #[test]
    fn the_simulator_counts() {
        let Key::Number { answer, because, common, .. } = key(SMALL).unwrap() else { panic!("no number") };
        assert_eq!((answer, because.as_str()), (14, "Two warps, seven times: 14."));
        assert_eq!(common, [(7, "Each of the two warps arrives, so 14.".to_owned())]);
        let at = |from: &str, to: &str| match key(&SMALL.replace(from, to)).unwrap() {
            Key::Number { answer, .. } => answer,
            Key::Lines(_) => panic!("no number"),
        };
        assert_eq!(at("asks = \"barriers\"", "asks = \"result\""), 64 * 65 / 2);
        assert_eq!(at("asks = \"barriers\"", "asks = \"launches\""), 1);
        let line = "asks = \"ptx_shared_st_requests\"\nline = \"sums[tid] += sums[tid + s]\"";
        assert_eq!(at("asks = \"barriers\"", line), 11, "5 rounds of two warps and one of one");
    }

    #[test]
    fn a_command_shows_the_run() {
        let command = |text: &str| match parse(text, "ch01-naive").unwrap().remove(0) {
            Item::Predict(predict) => predict.command(),
            other => panic!("{other:?}"),
        };
        let whole = "cargo run --release -p ch01-naive -- --device sim --n 64 --block 64 --variant interleaved_modulo";
        assert_eq!(command(SMALL).as_deref(), Some(whole));
        assert_eq!(command(&SMALL.replace("interleaved_modulo", "stride_too_short")), None);
    }

    #[test]
    fn a_question_about_rows_is_about_all_of_them() {
        let of = |lies: &str, asks: &str| {
            let text =
                SMALL.replace("interleaved_modulo", "groups").replace("block = 64", "").replace("barriers", asks);
            let mut item = parse(&text.replace("n = 64", lies), "ch10-rows")?.remove(0);
            item.belongs_to("ch10-rows");
            let Item::Predict(predict) = item else { bail!("no predict") };
            Ok((predict.command(), predict.key(&workspace::root()?)?))
        };
        let shuffles = |lies: &str| match of(lies, "shuffles").unwrap() {
            (command, Key::Number { answer, beside, .. }) => (command.unwrap_or_default(), answer, beside),
            other => panic!("{other:?}"),
        };
        let start = "cargo run --release -p ch10-rows -- --device sim --rows 33 --cols 8";
        assert_eq!(shuffles("rows = 33\ncols = 8"), (format!("{start} --variant groups"), 2 * 8 * 3, None));
        assert_eq!(shuffles("rows = 33\ncols = 8\npitch = 9").0, format!("{start} --pitch 9 --variant groups"));
        let error = |lies: &str, asks: &str| format!("{:#}", of(lies, asks).unwrap_err());
        assert!(error("rows = 3\ncols = 8", "result").contains("each row has a result of its own: ask for a counter"));
        assert!(error("rows = 3", "shuffles").contains("how-many: rows without cols"));
        assert!(error("n = 64\nbeside = { rows = 3, cols = 8 }", "shuffles").contains("the other way round"));
        let ragged = error("rows = 3\ncols = 8\noffsets = 'giant'", "shuffles");
        assert!(ragged.contains("groups takes rows that all have the same length"), "{ragged}");
    }

    #[test]
    fn a_wrong_answer_that_is_right_is_refused() {
        let problem = format!("{:#}", key(&SMALL.replace("answer = 7", "answer = 14")).unwrap_err());
        assert!(problem.contains("14 is called a wrong answer"), "{problem}");
        let problem = format!("{:#}", key(&SMALL.replace("interleaved_modulo", "no_such")).unwrap_err());
        assert!(problem.contains("ch01-naive has no kernel `no_such`"), "{problem}");
    }

    #[test]
    fn what_is_impossible_is_named() {
        for (from, to, problem) in [
            ("asks = \"barriers\"", "asks = \"barrier\"", "`barrier` is nothing that a run has"),
            ("{answer}.\"\n        common", "14.\"\n        common", "`because` leads to {answer}"),
            ("n = 64", "n = 64\ninput = [1, 2]", "fewer than 64 numbers"),
            ("asks", "ask", "ask"),
        ] {
            let error = parse(&SMALL.replacen(from, to, 1), "c").unwrap_err();
            assert!(format!("{error:#}").contains(problem), "{to}: {error:#}");
        }
    }
}
