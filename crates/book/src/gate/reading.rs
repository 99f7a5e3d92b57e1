//! Promises of the pages on the reading path: a chapter's core is short, its exercises stand in their order, each once, and a
//! term of the glossary is explained where a page first uses it.
//!
//! All look at Markdown, not at the site: a finding names the line that has to be changed.

use std::path::Path;

use anyhow::{Context, Result};
use course::exercise::LIST;
use course::findings::Findings;
use course::workspace;
use regex::Regex;

use crate::book::glossary::{self, Term};

/// Most words of a chapter that stand open: what a reader can read in ten minutes.
const CORE_WORDS_MAX: usize = 1500;
const SRC: &str = "book/src";

/// No chapter says more in the open than a reader can take in one go; the rest is folded or elsewhere.
pub fn cores(root: &Path, slugs: &[&str]) -> Result<Findings> {
    let mut findings = Findings::new("chapters' cores");
    for slug in slugs {
        let name = format!("{SRC}/{slug}.md");
        let text = workspace::read(root, &name)?;
        let words = core_words(&text)?;
        findings.examined += 1;
        if words > CORE_WORDS_MAX {
            findings.problems.push(format!(
                "{name}: {words} words stand open, {CORE_WORDS_MAX} may: fold a part that the rest does not need (<details>)"
            ));
        }
    }
    Ok(findings)
}

/// Each chapter's page includes all its exercises, each once and in the order of the file, so that page and terminal number them
/// alike, and the list of them.
pub fn placed(root: &Path, chapters: &[(String, Vec<String>)]) -> Result<Findings> {
    let mut findings = Findings::new("exercises on their pages");
    for (slug, ids) in chapters {
        let name = format!("{SRC}/{slug}.md");
        let text = workspace::read(root, &name)?;
        let mark =
            Regex::new(&format!(r"\{{\{{#include generated/{}/exercises\.md:([\w-]+)\}}\}}", regex::escape(slug)))?;
        let included: Vec<&str> = mark.captures_iter(&text).filter_map(|mark| Some(mark.get(1)?.as_str())).collect();
        let there: Vec<&str> = included.iter().copied().filter(|id| *id != LIST).collect();
        findings.examined += ids.len();
        if there != *ids {
            findings.problems.push(format!(
                "{name}: has the exercises {}, and chapters/{slug}/exercises.toml {}: bring them into one order, each once",
                there.join(", "),
                ids.join(", ")
            ));
        }
        if included.iter().filter(|id| **id == LIST).count() != 1 {
            findings.problems.push(format!("{name}: include generated/{slug}/exercises.md:{LIST} once"));
        }
    }
    Ok(findings)
}

/// Words that a reader sees without opening anything. Listings and what programs write into the page are none.
fn core_words(text: &str) -> Result<usize> {
    let text = hidden(text, &[r"(?s)\]\([^)]*\)", r"</?[a-zA-Z][^<>\n]*>"])?;
    Ok(text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count())
}

/// `text` with everything blank that is no prose in the open: listings, includes, folds, and what `more` matches. Every other
/// character keeps its place, and every line its number.
fn hidden(text: &str, more: &[&str]) -> Result<String> {
    let mut text = blank(text, &Regex::new(r"(?ms)^```.*?^```$")?);
    text = blank(&text, &Regex::new(r"\{\{#[^}]*\}\}")?);
    // The innermost fold first: folds lie in folds.
    let open = Regex::new(r"<details[^>]*>")?;
    while let Some(start) = open.find_iter(&text).last().map(|fold| fold.start()) {
        let end = text[start..].find("</details>").map_or(text.len(), |end| start + end + "</details>".len());
        text = blank_range(&text, start, end);
    }
    for pattern in more {
        text = blank(&text, &Regex::new(pattern)?);
    }
    Ok(text)
}

fn blank(text: &str, pattern: &Regex) -> String {
    let mut out = text.to_owned();
    for found in pattern.find_iter(text) {
        out = blank_range(&out, found.start(), found.end());
    }
    out
}

/// The same number of bytes, with spaces from `start` to `end`.
fn blank_range(text: &str, start: usize, end: usize) -> String {
    let gone: String = text[start..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    [&text[..start], &gone, &text[end..]].concat()
}

/// On each page of the reading path the first use of a term either defines it, in bold, or is a link to the glossary, which
/// the book makes show what it means.
pub fn terms(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("terms of the glossary");
    let read = |name: &str| workspace::read(root, format!("{SRC}/{name}"));
    let terms = glossary::parse(&read(glossary::PAGE)?)?;
    findings.examined = terms.len();
    for page in path(&read("SUMMARY.md")?)? {
        let text = read(&page)?;
        for (line, problem) in first_uses(&text, &terms)? {
            findings.problems.push(format!("{SRC}/{page}:{line}: {problem}"));
        }
    }
    Ok(findings)
}

/// The pages that are read one after the other: all before the line that parts them from results and appendices.
fn path(summary: &str) -> Result<Vec<String>> {
    let (path, _) = summary.split_once("\n---\n").context("SUMMARY.md: no line `---` ends the reading path")?;
    let link = Regex::new(r"\]\(([^)]+\.md)\)")?;
    Ok(link.captures_iter(path).map(|link| link[1].to_owned()).collect())
}

/// Returns the problems with the first uses of terms on a page: line and sentence.
fn first_uses(page: &str, terms: &[Term]) -> Result<Vec<(usize, String)>> {
    let mut problems = Vec::new();
    let link = Regex::new(r"\]\(glossary\.md#([a-z0-9-]+)\)")?;
    let in_the_open = hidden(page, &[])?;
    let links: Vec<(usize, &str)> = link
        .captures_iter(&in_the_open)
        .filter_map(|link| Some((link.get(0)?.start(), link.get(1)?.as_str())))
        .collect();
    // Headings, tables, figures, code and other links stay as they are: a link there would not be seen, or not work.
    let prose = hidden(
        page,
        &[r"(?m)^(#|\|).*$", r"(?s)<figure>.*?</figure>", r"`[^`\n]*`", r"(?s)\[[^\[\]]*\]\([^)]*\)", r"<[^<>\n]*>"],
    )?;
    let at_line = |at: usize| page[..at].matches('\n').count() + 1;
    for Term { word, id, .. } in terms {
        let used = Regex::new(&format!(r"(?i)\b{}(?:s|es)?\b", regex::escape(word)))?.find(&prose);
        let Some(used) = used else { continue };
        let is_defined = prose[..used.start()].ends_with("**") && prose[used.end()..].starts_with("**");
        let is_linked = links.iter().any(|(at, linked)| linked == id && *at < used.start());
        if !is_defined && !is_linked {
            let link = format!("[{}](glossary.md#{id})", used.as_str());
            problems.push((at_line(used.start()), format!("the first use of `{word}` on this page: write {link}")));
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    const GLOSSARY_TEXT: &str =
        "# Glossary\n\n### warp {#warp}\n\n32 threads.\n\n### shared memory {#shared-memory}\n\nA block's.\n";

    #[test]
    fn what_is_folded_or_written_by_programs_does_not_count() {
        let page = "# One two\n\nThree [four](five.md#six), {{#include seven}}.\n\n```cpp\neight nine\n```\n\n<figure>\n\n{{#include x.svg}}\n\n\
            <figcaption>Four five</figcaption></figure>\n\n<details>\n<summary>a</summary>\n\nb <details>c</details> d\n\n</details>\n\n\
            `template<256>` six\n";
        assert_eq!(core_words(page).unwrap(), 8);
    }

    #[test]
    fn a_long_core_is_refused() {
        for (words, problems) in [(CORE_WORDS_MAX, 0), (CORE_WORDS_MAX + 1, 1)] {
            let root = tree(&[("book/src/ch01-a.md", &"word ".repeat(words))]);
            assert_eq!(cores(root.path(), &["ch01-a"]).unwrap().problems.len(), problems);
        }
    }

    #[test]
    fn exercises_out_of_order_or_left_out_are_found() {
        let chapters = [("ch01-a".to_owned(), vec!["x".to_owned(), "y".to_owned()])];
        for (parts, problems) in [("x list y", 0), ("y list x", 1), ("x list", 1), ("x y", 1), ("x x list y", 1)] {
            let include = |part: &str| format!("{{{{#include generated/ch01-a/exercises.md:{part}}}}}\n");
            let page: String = parts.split(' ').map(include).collect();
            let root = tree(&[("book/src/ch01-a.md", &page)]);
            assert_eq!(placed(root.path(), &chapters).unwrap().problems.len(), problems, "{parts}");
        }
    }

    #[test]
    fn first_uses_are_definitions_or_links() {
        let terms = glossary::parse(GLOSSARY_TEXT).unwrap();
        let lines =
            |page: &str| first_uses(page, &terms).unwrap().into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines("A **warp** is many. Warps run.\n"), [0; 0]);
        assert_eq!(lines("# Warps\n\nA [warp](glossary.md#warp) runs, warps run.\n"), [0; 0]);
        assert_eq!(lines("None.\n\nTwo warps run, and a [warp](glossary.md#warp).\n"), [3]);
        assert_eq!(lines("`warp` and\n\n```x\nwarp\n```\n"), [0; 0]);
        assert_eq!(lines("Shared memory is small.\n"), [1]);
        assert_eq!(lines("<details>\n\nA warp.\n\n</details>\n"), [0; 0]);
        assert_eq!(lines("warped\n"), [0; 0]);
    }

    #[test]
    fn the_path_ends_at_the_line() {
        assert_eq!(path("[a](a.md)\n- [b](b.md)\n\n---\n\n[c](c.md)\n").unwrap(), ["a.md", "b.md"]);
    }
}
