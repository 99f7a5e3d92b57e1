//! Every built page as a reader meets it: by sight, by keyboard, by touch and by a screen reader, in both themes and at two
//! widths. Exercises, quizzes and terms answer; nothing is cut or comes from the network; pages stay small; the cheat sheet is one sheet of paper.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use course::share::{self, Piece};

use super::browser;
use super::{Scene, Verdict, built_site};
use crate::book::language::edition;

/// What of a page's views hangs on no page: another of these, and every page is looked at.
const MAKERS: [&str; 3] = ["crates/web/browser/pages.mjs", "crates/web/browser/contrast.mjs", "crates/book/src/book/"];

/// Runs the check. In CI it looks at the pages that the commit has changed, and at a share of the others.
pub fn check(scene: &Scene, chromium: &Path) -> Result<Verdict> {
    let site = built_site(&scene.root)?;
    let share = share::of(&scene.root, pieces(&site)?, &MAKERS);
    let (chosen, words) = share.map_or_else(Default::default, |(names, words)| (names, format!(" ({words})")));
    let chosen: Vec<PathBuf> = chosen.into_iter().map(PathBuf::from).collect();
    let pictures = scene.root.join("target/gate/pages");
    let fixed = [site.as_path(), chromium, &pictures];
    let args: Vec<&Path> = fixed.into_iter().chain(chosen.iter().map(PathBuf::as_path)).collect();
    let summary = browser::run(scene, "pages.mjs", &args)?;
    let [pages, views, answers, figures, terms, largest] =
        ["pages", "views", "answers", "figures", "terms", "largest"].map(|key| &summary[key]);
    if pages == 0 {
        bail!("no page was looked at: nothing was proved");
    }
    Ok(Verdict::Pass(format!(
        "{pages} pages{words} in {views} views, {answers} answers, {figures} looks at small figures, {terms} terms explained, the largest page {largest} KB"
    )))
}

/// The pages of a site by their length, with the sources that are theirs alone.
fn pieces(site: &Path) -> Result<Vec<Piece>> {
    let piece = |name: String| {
        let folders = ["book/src/", "book/src/generated/", "book/src/lab/data/", "chapters/"];
        let files = folders.map(|folder| format!("{folder}{}", name.trim_end_matches(".html"))).into();
        Ok(Piece { weight: site.join(&name).metadata()?.len(), files, name })
    };
    edition::pages(site)?.into_iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_by_its_sources() {
        let dir = crate::tree(&["ch01-a.html", "print.html", "a.css"].map(|name| (name, "page")));
        let pieces = pieces(dir.path()).unwrap();
        assert_eq!(
            pieces.iter().map(|piece| (piece.name.as_str(), piece.weight)).collect::<Vec<_>>(),
            [("ch01-a.html", 4)]
        );
        assert!(pieces[0].files.contains(&"book/src/ch01-a".to_owned()));
    }
}
