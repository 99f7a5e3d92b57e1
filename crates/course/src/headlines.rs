//! Check that the measurements behind README, the introduction and the lead of each page are of today's kernels.

use std::path::Path;

use anyhow::Result;
use lab::kernels::DAGGER;

use crate::findings::Findings;
use crate::lessons::slugs;
use crate::workspace;

/// Fails where one of them includes a figure that is marked as older than its kernel. A chapter leads with what stands before its
/// first section, and with the summary of its contest, which is `clock.md`.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("headlines");
    let pages = slugs().map(|slug| format!("book/src/{slug}.md"));
    let whole = ["README.md", "README.zh-CN.md", "book/src/introduction.md"].map(str::to_owned);
    for page in whole.into_iter().chain(pages) {
        let text = workspace::read(root, &page)?;
        let is_lesson = page.starts_with("book/src/ch");
        let lead = if is_lesson { text.find("\n## ").unwrap_or(text.len()) } else { text.len() };
        for (_, part) in generated(&text).filter(|(at, part)| *at < lead || part.ends_with("/clock.md")) {
            findings.examined += 1;
            let is_old = included(root, part)?.contains(DAGGER);
            let problem = || format!("{page}: leads with {part}, measured before its kernel changed: measure again");
            findings.problems.extend(is_old.then(problem));
        }
    }
    Ok(findings)
}

/// Generated files that a text includes or links to, with the anchor: `generated/results/facts.md:source`.
/// Each with its place.
fn generated(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.match_indices("generated/").map(|(at, _)| (at, &text[at..]));
    parts.map(|(at, part)| (at, part.split(['}', ')', ' ', '"', '\n']).next().unwrap_or(part)))
}

/// The text of a generated file, or of its part behind an anchor.
fn included(root: &Path, part: &str) -> Result<String> {
    let (file, anchor) = part.split_once(':').unwrap_or((part, ""));
    let text = workspace::read(root, format!("book/src/{file}"))?;
    if anchor.is_empty() {
        return Ok(text);
    }
    let (begin, end) = (format!("<!-- ANCHOR: {anchor} -->"), format!("<!-- ANCHOR_END: {anchor} -->"));
    let part = text.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    Ok(part.map_or(text.clone(), |(part, _)| part.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_on_a_stale_row_is_refused_and_a_table_further_down_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| lab::record::write(&dir.path().join(name), text).unwrap();
        let facts =
            "<!-- ANCHOR: a -->\n1.5\n<!-- ANCHOR_END: a -->\n<!-- ANCHOR: b -->\n1.6†\n<!-- ANCHOR_END: b -->\n";
        put("book/src/generated/results/facts.md", facts);
        put("README.md", "[A run](book/src/generated/results/facts.md:a).\n");
        put("README.zh-CN.md", "");
        put("book/src/introduction.md", "It is {{#include generated/results/facts.md:a}} times.\n");
        for slug in slugs() {
            let text = "# A lesson\n\n## The card\n{{#include generated/results/facts.md:b}}\n";
            put(&format!("book/src/{slug}.md"), text);
        }
        assert_eq!(check(dir.path()).unwrap().problems, [""; 0]);
        put("book/src/introduction.md", "It is {{#include generated/results/facts.md:b}} times.\n");
        let problem =
            "book/src/introduction.md: leads with generated/results/facts.md:b, measured before its kernel changed";
        assert_eq!(check(dir.path()).unwrap().problems, [format!("{problem}: measure again")]);
        put("book/src/generated/ch09-operators/clock.md", "Faster at 3 of 4.†\n");
        put(
            "book/src/ch09-operators.md",
            "# A lesson\n\n## The clock\n{{#include generated/ch09-operators/clock.md}}\n",
        );
        let problems = check(dir.path()).unwrap().problems;
        assert!(problems[1].starts_with("book/src/ch09-operators.md: leads with generated/ch09-operators/clock.md"));
    }
}
