//! Marks what rests on measured rows whose kernels have changed since: what would read otherwise without those rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lab::Result;
use lab::hardware::GpuRecord;
use lab::kernels::{DAGGER, footnote};
use lab::measurement::{Measurement, load};

use crate::fact::Fact;

/// Name and text of each file.
type Files = Vec<(String, String)>;

/// The files that `files` makes of the record of this name, and of why it is stale, with marks. There need be no such record.
pub(crate) fn marked(
    root: &Path,
    name: &str,
    files: impl Fn(Option<&Measurement>, &[String]) -> Result<Files>,
) -> Result<Files> {
    let record = load(root, name)?;
    let stale = record.as_ref().map_or(Ok(Vec::new()), |record| record.stale(root))?;
    let all = files(record.as_ref(), &stale)?;
    let Some(record) = record.filter(|record| record.cases.iter().any(|case| case.is_stale)) else { return Ok(all) };
    let mut fresh = record.clone();
    fresh.cases.retain(|case| !case.is_stale);
    let fresh: BTreeMap<String, String> = files(Some(&fresh), &stale)?.into_iter().collect();
    let commit = record.stale_commit();
    let mark = |(name, text): (String, String)| {
        let text = file(&name, &text, fresh.get(&name).map_or("", String::as_str), commit);
        (name, text)
    };
    Ok(all.into_iter().map(mark).collect())
}

/// The table and the facts that `parts` makes of a chapter's record, with marks.
pub(crate) fn marked_parts(
    record: &GpuRecord,
    parts: impl Fn(&GpuRecord) -> (String, Vec<Fact>),
) -> (String, Vec<Fact>) {
    let (table, facts) = parts(record);
    if record.cases.iter().all(|case| !case.is_stale) {
        return (table, facts);
    }
    let mut fresh = record.clone();
    fresh.cases.retain(|case| !case.is_stale);
    let (fresh_table, fresh_facts) = parts(&fresh);
    let known: BTreeSet<Fact> = fresh_facts.into_iter().collect();
    let mark = |fact: Fact| if known.contains(&fact) { fact } else { (fact.0, fact.1 + DAGGER) };
    let facts = facts.into_iter().map(mark).collect();
    (file("h200.md", &table, &fresh_table, record.commit.as_deref()), facts)
}

/// A file's text, marked where `fresh`, the same without stale rows, differs.
fn file(name: &str, text: &str, fresh: &str, commit: Option<&str>) -> String {
    if text == fresh {
        return text.to_owned();
    }
    if name.ends_with(".svg") {
        return format!("{}\n<!--{}-->\n", text.trim_end(), footnote(commit).trim_end());
    }
    let is_fact = text.starts_with("<!-- ANCHOR: ");
    let lines: Vec<&str> = fresh.lines().collect();
    let anchored: BTreeSet<[&str; 2]> = lines.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    let known: BTreeSet<&str> = lines.into_iter().collect();
    let mut before = "";
    let mut out = String::new();
    let mut next = text.lines().skip(1);
    for line in text.lines() {
        let is_head = is_rule(line) || next.next().is_some_and(is_rule);
        // A fact is known by its anchor, which stands before it: many have the same value.
        let is_known = if is_fact && !line.starts_with("<!--") {
            anchored.contains(&[before, line])
        } else {
            known.contains(line)
        };
        out.push_str(&if is_known || is_head || line.starts_with("<!--") {
            line.to_owned()
        } else {
            with_dagger(line)
        });
        out.push('\n');
        before = line;
    }
    if is_fact { out } else { out + &footnote(commit) }
}

/// Returns whether it is the line between a table's head and its rows.
fn is_rule(line: &str) -> bool {
    line.starts_with("|") && line.contains("--") && line.chars().all(|c| "|-: ".contains(c))
}

/// A line of prose with a dagger at its end, a table's row with one in its first cell.
fn with_dagger(line: &str) -> String {
    match line.strip_prefix("| ").and_then(|row| row.split_once(" |")) {
        Some((first, rest)) => format!("| {first} {DAGGER} |{rest}"),
        None if line.is_empty() => line.to_owned(),
        None => format!("{line}{DAGGER}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_which_a_line_would_differ_are_marked() {
        let all = "| n | µs |\n|--:|--:|\n| 1 | 2.0 |\n| 2 | 3.0 |\n\nFaster at 2 of 2.\n";
        let fresh = "| n | µs |\n|--:|--:|\n| 1 | 2.0 |\n\nFaster at 1 of 1.\n";
        let marked = file("a.md", all, fresh, Some("0123456789"));
        let end = "Faster at 2 of 2.†\n\n† Measured at commit 0123456; the kernel has changed since.\n";
        assert_eq!(marked, format!("| n | µs |\n|--:|--:|\n| 1 | 2.0 |\n| 2 † | 3.0 |\n\n{end}"));
        assert_eq!(file("a.md", all, all, None), all);
        // Without a fresh row there is no table to compare with, and its head is no row all the same.
        let marked = file("a.md", "| n | µs |\n| --- | --: |\n| 1 | 2.0 |\n", "*Not measured yet.*\n", None);
        assert!(marked.starts_with("| n | µs |\n| --- | --: |\n| 1 † | 2.0 |\n"), "{marked}");
        let marked = file("a.svg", "<svg></svg>\n", "<svg>1</svg>\n", None);
        assert!(marked.contains("<!--\n† Measured at an unknown commit"), "{marked}");
    }

    #[test]
    fn a_fact_is_marked_by_its_own_name() {
        let fact = |name: &str, value: &str| crate::fact::facts_text(&[(name.to_owned(), value.to_owned())]);
        let all = fact("a", "1.5") + &fact("b", "1.5");
        assert_eq!(file("facts.md", &all, &fact("a", "1.5"), None), fact("a", "1.5") + &fact("b", "1.5†"));
    }
}
