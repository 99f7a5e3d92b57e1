//! Check that the book can be translated: a made-up translation, in which every message begins with a sign of its own, is built beside
//! the English one. What a reader sees must bear the sign; links, names, answers and numbers must be those of the English book.

use std::path::Path;

use anyhow::Result;
use polib::catalog::Catalog;
use polib::metadata::CatalogMetadata;

use crate::book::language::{self, markup, words};
use crate::book::links;
use course::findings::Findings;

/// Begins every message; no English text has it, and a name made of it would be another.
const SIGN: &str = "译";
/// Differences of a page that are reported.
const REPORTED_MAX: usize = 3;
// Content of `<main>`.
pattern!(MAIN, r"(?s)<main>(.*)</main>");
// Two words of a language: names of kernels, and output, are none.
pattern!(WORDS, r"[A-Za-z]{2,} +[a-z]{2,}");
pattern!(CODE, r"(?s)<code[^>]*>.*?</code>");

/// Builds the made-up translation and the English book, both as mdBook leaves them, and holds one beside the other.
///
/// # Errors
/// The errors of its build.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("pages of a made-up translation");
    let catalogue = language::catalogue::translated(&*language::messages(root)?, |text| format!("{SIGN} {text}"));
    let [dir, english_dir] = ["language", "english"].map(|name| root.join("target/gate").join(name));
    language::build(root, catalogue, language::Notes::new(), "zh_CN", &dir)?;
    let untranslated = Catalog::new(CatalogMetadata::default());
    language::build(root, untranslated, language::Notes::new(), "en", &english_dir)?;
    for name in language::edition::pages(&dir)? {
        let [english, made_up] = [&english_dir, &dir].map(|dir| std::fs::read_to_string(dir.join(&name)));
        findings.examined += 1;
        let problems = differences(main(&english?), main(&made_up?)).into_iter().take(REPORTED_MAX);
        findings.problems.extend(problems.map(|problem| format!("{name}: {problem}")));
    }
    // The table of contents is a page beside them.
    let contents = std::fs::read_to_string(dir.join("toc.html"))?;
    findings.problems.extend(unmarked(&contents).into_iter().map(|problem| format!("SUMMARY.md: {problem}")));
    for script in words::SCRIPTS {
        let unmarked = script.words_of(&dir)?.into_iter().filter(|(_, words)| !words.starts_with(SIGN));
        findings.problems.extend(unmarked.map(|(key, _)| format!("{}: {key} is not translated", script.path)));
    }
    findings.problems.extend(links::check(&dir)?.problems);
    Ok(findings)
}

fn main(page: &str) -> &str {
    MAIN.captures(page).and_then(|found| found.get(1)).map_or("", |found| found.as_str())
}

/// Returns unexpected differences between the main parts of two pages, and text that is English in both.
fn differences(english: &str, other: &str) -> Vec<String> {
    let mut problems = unmarked(other);
    for (what, of) in [("a tag", markup::bones as fn(&str) -> Vec<String>), ("a number", markup::numbers)] {
        let (before, after) = (of(english), of(other));
        let first = before.iter().zip(&after).find(|(before, after)| before != after);
        if let Some((before, after)) = first {
            problems.push(format!("the translation changes {what}: “{before}” into “{after}”"));
        } else if before.len() != after.len() {
            problems.push(format!("{}, {what} each, become {}", before.len(), after.len()));
        }
    }
    problems
}

/// Returns text without the mark of a translation.
fn unmarked(html: &str) -> Vec<String> {
    let mut problems = Vec::new();
    markup::in_block(html, |_, text| {
        if !text.contains(SIGN) && WORDS.is_match(&CODE.replace_all(text, "")) {
            problems.push(format!("no message holds “{text}”"));
        }
        None
    });
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_english_is_found() {
        assert_eq!(differences("<p>Two words</p>", "<p>译 Two words</p>"), Vec::<String>::new());
        let problems = differences("<p>Two words</p>", "<p>Two words</p>");
        assert_eq!(problems, ["no message holds “Two words”"]);
    }

    #[test]
    fn a_lost_name_or_number_is_found() {
        let problems = differences("<h2 id=\"a\">1 of 2</h2>", "<h2 id=\"b\">译 1 of 3</h2>");
        assert_eq!(problems.len(), 2, "{problems:?}");
        let problems = differences("<p>译 x</p><hr>", "<p>译 x</p>");
        assert_eq!(problems, ["3, a tag each, become 2"]);
    }
}
