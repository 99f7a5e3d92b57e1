//! The glossary, and the links to it: the book shows what a term means where one points at its link.

use anyhow::{Result, ensure};
use regex::{Captures, Regex};

/// The page, among the sources.
pub const PAGE: &str = "glossary.md";

/// An entry of the glossary.
#[derive(Debug, PartialEq, Eq)]
pub struct Term {
    /// The word, as its heading has it.
    pub word: String,
    /// Anchor of its heading.
    pub id: String,
    /// Meaning, in one line.
    pub meaning: String,
}

/// Every `### word {#id}` with the line under it.
///
/// # Errors
/// An entry of another form.
pub fn parse(text: &str) -> Result<Vec<Term>> {
    let entry = Regex::new(r#"(?m)^### (.+) \{#([a-z0-9-]+)\}\n\n([^"\n]+)$"#)?;
    let term =
        |entry: Captures<'_>| Term { word: entry[1].to_owned(), id: entry[2].to_owned(), meaning: entry[3].to_owned() };
    let terms: Vec<Term> = entry.captures_iter(text).map(term).collect();
    let headings = text.lines().filter(|line| line.starts_with("### ")).count();
    ensure!(
        terms.len() == headings,
        "{PAGE}: {headings} terms, of which {} read `### word {{#id}}`, an empty line, and one line without quotes that says what it means",
        terms.len()
    );
    Ok(terms)
}

/// A page whose links to the glossary have the meaning as their title.
pub fn explained(page: &str, terms: &[Term]) -> String {
    let Ok(link) = Regex::new(r"\]\(glossary\.md#([a-z0-9-]+)\)") else { return page.to_owned() };
    let titled = |link: &Captures<'_>| match terms.iter().find(|term| term.id == link[1]) {
        Some(Term { id, meaning, .. }) => format!("]({PAGE}#{id} \"{meaning}\")"),
        None => link[0].to_owned(),
    };
    link.replace_all(page, titled).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_say_what_a_term_means() {
        let terms = parse("# Glossary\n\n### warp {#warp}\n\n32 threads.\n\nSee there.\n").unwrap();
        assert_eq!(
            explained("A [warp](glossary.md#warp) runs.", &terms),
            "A [warp](glossary.md#warp \"32 threads.\") runs."
        );
        assert_eq!(explained("[x](glossary.md#x) [y](z.md#warp)", &terms), "[x](glossary.md#x) [y](z.md#warp)");
    }

    #[test]
    fn an_entry_of_another_form_is_refused() {
        for text in
            ["### warp\n\n32 threads.\n", "### warp {#warp}\n32 threads.\n", "### warp {#warp}\n\n\"32\" threads.\n"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
