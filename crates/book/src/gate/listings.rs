//! Listings of part two's pages: how much code stands open, how long and how wide it is, and whether each rung has a figure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use course::findings::Findings;
use mdbook_driver::MDBook;
use mdbook_driver::builtin_renderers::MarkdownRenderer;

/// Widest line of a listing that a page shows whole on a desk.
const COLUMNS_MAX: usize = 78;
/// Lines of code that may stand open on a page, lines of an open listing, lines that are wider than `COLUMNS_MAX`, folded ones too,
/// and rungs without a figure. A rung is a section that shows a piece of a kernel in the open.
const MOST: Counts = [140, 30, 0, 0];
const NAMES: [&str; 4] =
    ["lines of code stand open", "lines has an open listing", "lines are too wide", "rungs have no figure"];
const PAGES: [&str; 5] = ["ch09-operators.md", "ch10-rows.md", "ch11-softmax.md", "ch12-norms.md", "champion.md"];

type Counts = [usize; 4];

/// Returns what is over a limit.
pub fn check(root: &Path) -> Result<Findings> {
    let (book, _) = MDBook::load(root)?.preprocess_book(&MarkdownRenderer::new())?;
    let pages: BTreeMap<_, _> =
        book.chapters().filter_map(|page| Some((page.path.clone()?, page.content.clone()))).collect();
    let mut findings = Findings::new("pages of part two");
    for name in PAGES {
        let Some(whole) = pages.get(Path::new(name)) else { continue };
        findings.examined += 1;
        let source = std::fs::read_to_string(root.join("book/src").join(name))?;
        let counts = counts(whole, &source);
        for ((count, most), what) in counts.into_iter().zip(MOST).zip(NAMES) {
            if count > most {
                findings.problems.push(format!(
                    "book/src/{name}: {count} {what}, and {most} may: fold a listing, break its lines, or draw a figure"
                ));
            }
        }
    }
    Ok(findings)
}

/// Counts of a page: `whole` has what it includes, `source` the marks of it.
fn counts(whole: &str, source: &str) -> Counts {
    let [mut open, mut longest, mut wide] = [0; 3];
    let (mut folds, mut listing) = (0, None);
    for line in whole.lines() {
        match (&mut listing, line.strip_prefix("```")) {
            (None, Some(language)) => listing = Some((language.starts_with("cpp"), 0)),
            (Some((_, lines)), Some(_)) => {
                if folds == 0 {
                    open += *lines;
                    longest = longest.max(*lines);
                }
                listing = None;
            }
            (Some((is_code, lines)), None) => {
                *lines += 1;
                wide += usize::from(*is_code && line.chars().count() > COLUMNS_MAX);
            }
            (None, None) => folds = depth(folds, line),
        }
    }
    [open, longest, wide, bare_rungs(source)]
}

fn bare_rungs(source: &str) -> usize {
    let (mut folds, mut bare, mut has_kernel, mut has_figure) = (0, 0, false, false);
    for line in source.lines().chain(["## "]) {
        if folds == 0 && line.starts_with("## ") {
            bare += usize::from(has_kernel && !has_figure);
            (has_kernel, has_figure) = (false, false);
        }
        has_kernel |= folds == 0 && line.starts_with("{{#include ../../kernels/");
        has_figure |= folds == 0 && line.starts_with("{{#include lab/stills/");
        folds = depth(folds, line);
    }
    bare
}

/// Open folds behind a line with `folds` before it.
fn depth(folds: usize, line: &str) -> usize {
    (folds + line.matches("<details").count()).saturating_sub(line.matches("</details").count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_code_wide_lines_and_rungs_without_figures_are_counted() {
        let wide = "x".repeat(COLUMNS_MAX + 1);
        let page = format!("```cpp\na\n{wide}\n```\n<details>\n```cpp\n{wide}\nb\nc\n```\n</details>\n");
        assert_eq!(counts(&page, ""), [2, 2, 2, 0]);
        let [kernel, figure] = ["{{#include ../../kernels/a.cu:b}}\n", "{{#include lab/stills/b.md}}\n"];
        let of_folds = format!("## A\n<details>\n{kernel}</details>\n");
        for (source, bare) in
            [(format!("## A\n{kernel}## B\n{figure}"), 1), (format!("## A\n{figure}### B\n{kernel}"), 0), (of_folds, 0)]
        {
            assert_eq!(bare_rungs(&source), bare, "{source}");
        }
    }
}
