//! A number to predict. The definition says which run of the chapter's own kernel it is about; the simulator makes that
//! run and counts. The number itself stands nowhere.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::asked::{Asked, number};
use super::key::{BESIDE, Key};
use super::rows::Shape;

/// Placeholder for the answer in an explanation.
pub(super) const ANSWER: &str = "{answer}";

/// A question whose answer is a whole number about one run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predict {
    /// Name that readers type; no two exercises of the course share one.
    pub id: String,
    /// One line.
    pub title: String,
    /// The question.
    pub question: String,
    /// From a nudge to nearly the answer.
    pub hints: Vec<String>,
    /// The run, and what is asked of it.
    pub run: Asked,
    /// Other rows, whose run the question mentions: what is asked has the number `{beside}` there.
    pub beside: Option<Shape>,
    /// Explanation of how to arrive at the number, which it calls `{answer}`.
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
    /// The thought behind it, and what that misses.
    pub why: String,
}

impl Predict {
    /// The number and what is said of others.
    ///
    /// # Errors
    /// A kernel that is not there or does not run, or a definition that does not fit it.
    pub fn key(&self, root: &Path) -> Result<Key> {
        let answer = self
            .run
            .count(&self.chapter, root)
            .with_context(|| format!("{}: its run does not give an answer", self.id))?;
        let beside = self.beside.map(|shape| self.run.over(shape).count(&self.chapter, root)).transpose();
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

    /// Checks for contradictions in the file.
    pub fn check(&self) -> Result<()> {
        self.run.check()?;
        ensure!(self.because.contains(ANSWER), "`because` leads to {ANSWER}, and says so");
        if let Some(beside) = self.beside {
            self.run.over(beside).lies().context("beside")?;
        }
        ensure!(
            self.beside.is_some() == self.question.contains(BESIDE),
            "a question that says {BESIDE} has a run `beside` it, and the other way round"
        );
        ensure!(!self.common.is_empty(), "no common wrong answer: give one with its reason");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::catalogue::{parse, refuses};
    use crate::exercise::item::Item;
    use crate::workspace;

    const SMALL: &str = r#"
        [[exercise]]
        kind = "predict"
        id = "how-many"
        title = "t"
        question = "q"
        hints = ["h"]
        run = { variant = "interleaved_modulo", n = 64, block = 64, asks = "barriers" }
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
        let line = "asks = \"ptx_shared_st_requests\", line = \"sums[tid] += sums[tid + s]\"";
        assert_eq!(at("asks = \"barriers\"", line), 11, "5 rounds of two warps and one of one");
    }

    #[test]
    fn a_command_shows_the_run() {
        let command = |text: &str| match parse(text, "ch01-naive").unwrap().remove(0) {
            Item::Predict(predict) => predict.run.command(&predict.chapter),
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
                SMALL.replace("interleaved_modulo", "groups").replace(", block = 64", "").replace("barriers", asks);
            let mut item = parse(&text.replace("n = 64", lies), "ch10-rows")?.remove(0);
            item.belongs_to("ch10-rows");
            let Item::Predict(predict) = item else { bail!("no predict") };
            Ok((predict.run.command(&predict.chapter), predict.key(&workspace::root()?)?))
        };
        let shuffles = |lies: &str| match of(lies, "shuffles").unwrap() {
            (command, Key::Number { answer, beside, .. }) => (command.unwrap_or_default(), answer, beside),
            other => panic!("{other:?}"),
        };
        let start = "cargo run --release -p ch10-rows -- --device sim --rows 33 --cols 8";
        assert_eq!(shuffles("rows = 33, cols = 8"), (format!("{start} --variant groups"), 2 * 8 * 3, None));
        assert_eq!(shuffles("rows = 33, cols = 8, pitch = 9").0, format!("{start} --pitch 9 --variant groups"));
        let error = |lies: &str, asks: &str| format!("{:#}", of(lies, asks).unwrap_err());
        assert!(error("rows = 3, cols = 8", "result").contains("each row has a result of its own: ask for a counter"));
        assert!(error("rows = 3", "shuffles").contains("how-many: rows without cols"));
        let beside = SMALL.replace("because =", "beside = { rows = 3, cols = 8 }\nbecause =");
        assert!(format!("{:#}", parse(&beside, "ch01-naive").unwrap_err()).contains("the other way round"));
        let ragged = error("rows = 3, cols = 8, offsets = 'giant'", "shuffles");
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
        refuses(
            SMALL,
            &[
                ("asks = \"barriers\"", "asks = \"barrier\"", "`barrier` is nothing that a run has"),
                ("{answer}.\"\n        common", "14.\"\n        common", "`because` leads to {answer}"),
                ("n = 64", "n = 64, input = [1, 2]", "fewer than 64 numbers"),
                ("asks", "ask", "ask"),
            ],
        );
    }
}
