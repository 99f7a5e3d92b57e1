//! Every built page as a reader meets it: by sight, by keyboard, by touch and by a screen reader, in both themes and at two
//! widths. Exercises, quizzes and terms answer; nothing is cut or comes from the network; pages stay small; the cheat sheet is one sheet of paper.

use anyhow::Result;

use super::browser::{self, Found};
use super::{Scene, Verdict, built_site};

/// Runs the check.
pub fn check(scene: &Scene) -> Result<Verdict> {
    let chromium = match browser::find(scene)? {
        Found::Browser(chromium) => chromium,
        Found::Missing(verdict) => return Ok(verdict),
    };
    let pictures = scene.root.join("target/gate/pages");
    let summary = browser::run(scene, "pages.mjs", &[&built_site(scene)?, &chromium, &pictures])?;
    let [pages, views, answers, figures, terms, largest] =
        ["pages", "views", "answers", "figures", "terms", "largest"].map(|key| &summary[key]);
    Ok(Verdict::Pass(format!(
        "{pages} pages in {views} views, {answers} answers, {figures} looks at small figures, {terms} terms explained, the largest page {largest} KB"
    )))
}
