//! Check of the translations: what a translation must not change is that of its sentence, and each term has one rendering. What is missing
//! or has changed is listed and fails nothing, so that a change of the English book can land; pages that are behind say so themselves.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use regex::Regex;

use crate::book::language::catalogue::{self, Edition, State};
use crate::book::language::{self, numbers};
use course::findings::Findings;
use course::workspace;

/// Messages that are not translated and are shown, of each language.
const SHOWN: usize = 5;
/// First words of the columns of a table of terms.
const COLUMNS: [&str; 4] = ["English", "rendering", "never", "always"];

pattern!(CODE, r"(?s)``.*?``|`[^`]*`|<code[^>]*>.*?</code>");
pattern!(TARGET, r"\]\(([^)\s]*)[^)]*\)");
pattern!(TAG, r"<[^<>]+>");
pattern!(SPOKEN, r#" (?:title|alt|aria-label)="[^"]*""#);
pattern!(NAME, r"\{(\w+)(?::[^}]*)?\}");
pattern!(EMPHASIS, r"\p{Han}\*\*[（“《]|[）”。，：！？]\*\*[\p{Han}A-Za-z0-9]|\p{Han}_[A-Za-z]|[A-Za-z]_\p{Han}");

/// A line of a table of terms.
#[derive(Debug)]
struct Term {
    english: Regex,
    word: String,
    rendering: String,
    never: Vec<String>,
    is_always: bool,
}

/// Reads the table of a language: words in columns, with tabs between them.
fn terms(root: &Path, language: &str) -> Result<Vec<Term>> {
    let name = format!("{}/{language}.terms.tsv", language::FOLDER);
    let text = workspace::read(root, &name)?;
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    ensure!(
        lines.next().is_some_and(|head| head.starts_with(&COLUMNS)),
        "{name}:1: must begin with the columns {}",
        COLUMNS.join(", ")
    );
    let term = |(index, cells): (usize, Vec<&str>)| {
        ensure!(cells.len() >= COLUMNS.len(), "{name}:{}: has {} columns of {}", index + 2, cells.len(), COLUMNS.len());
        Ok(Term {
            english: Regex::new(&format!(r"(?i)\b{}(?:s|es)?\b", regex::escape(cells[0])))?,
            word: cells[0].to_owned(),
            rendering: cells[1].to_owned(),
            never: cells[2].split_whitespace().map(str::to_owned).collect(),
            is_always: !cells[3].trim().is_empty(),
        })
    };
    lines.enumerate().map(term).collect()
}

/// Looks at every file of translations.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("translations");
    for language in language::languages(root)? {
        let (po, today, terms) = (language::read(root, &language)?, language::messages(root)?, terms(root, &language)?);
        for message in po.messages().filter(|&message| catalogue::is_said(message)) {
            findings.examined += 1;
            let said = message.msgstr().unwrap_or_default();
            let is_script = !message.msgctxt().is_empty();
            let problems =
                changed(message.msgid(), said, is_script).into_iter().chain(misnamed(message.msgid(), said, &terms));
            let place = |problem| format!("po/{language}.po: “{}”: {problem}", short(message.msgid()));
            findings.problems.extend(problems.map(place));
        }
        let edition = catalogue::complete(&po, &today);
        findings.notes.extend(lacking(&language, &edition, catalogue::obsolete(&po, &today)));
    }
    Ok(findings)
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Lines about what is not translated: how much, on which pages, and the first messages.
fn lacking(language: &str, edition: &Edition, obsolete: usize) -> Vec<String> {
    let count = |state: State| edition.states.iter().filter(|(is, ..)| *is == state).count();
    let (missing, changed) = (count(State::Missing), count(State::Changed));
    let mut lines = vec![format!("{language}: {missing} missing, {changed} changed, {obsolete} obsolete")];
    if missing + changed + obsolete > 0 {
        lines.push("`cargo course book --messages` brings the file up to date: contributing/translate.md".to_owned());
    }
    let behind = edition.pages().into_iter().filter(|(_, page)| page.lacking > 0);
    lines.extend(behind.map(|(file, page)| {
        let mark = if page.is_behind() { ", and says so" } else { "" };
        format!("{file}: {} of {}{mark}", page.lacking, page.all)
    }));
    let english = edition.states.iter().filter(|(state, ..)| *state != State::Translated);
    lines.extend(english.take(SHOWN).map(|(_, text, _)| format!("“{}”", short(text))));
    lines
}

/// What must stay as it is, by kind, each in an order of its own.
fn kept(text: &str, is_script: bool) -> [(&'static str, Vec<String>); 5] {
    let all = |pattern: &Regex, text: &str| -> Vec<String> {
        let part = |found: regex::Captures<'_>| found.get(1).or(found.get(0)).map(|part| part.as_str().to_owned());
        pattern.captures_iter(text).filter_map(part).collect()
    };
    let bare = CODE.replace_all(text, " ");
    let tags = all(&TAG, &bare).into_iter().map(|tag| SPOKEN.replace_all(&tag, "").into_owned()).collect();
    let names = if is_script { all(&NAME, text) } else { Vec::new() };
    let numbers = numbers::numbers(text).into_iter().map(str::to_owned).collect();
    let mut kept = [
        ("code", all(&CODE, text)),
        ("a link's target", all(&TARGET, &bare)),
        ("a tag", tags),
        ("a name in braces", names),
        ("a number", numbers),
    ];
    kept.iter_mut().for_each(|(_, parts)| parts.sort());
    kept
}

/// Differences between a sentence and its translation in what must stay.
fn changed(text: &str, said: &str, is_script: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for ((what, before), (_, after)) in kept(text, is_script).into_iter().zip(kept(said, is_script)) {
        if before != after {
            let (lost, new) = (without(&before, &after), without(&after, &before));
            problems.push(format!("the translation changes {what}: {lost:?} become {new:?}"));
        }
    }
    if let Some(found) = EMPHASIS.find(&CODE.replace_all(said, " ")) {
        problems.push(format!("“{}” is no emphasis without a space outside of its marks", found.as_str()));
    }
    problems
}

/// Parts of the one that the other has less often.
fn without(these: &[String], those: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    those.iter().for_each(|part| *counts.entry(part).or_default() += 1);
    let is_left = |part: &&String| match counts.get_mut(*part) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    these.iter().filter(is_left).cloned().collect()
}

/// Terms of a sentence that its translation renders otherwise than the table.
fn misnamed(text: &str, said: &str, terms: &[Term]) -> Vec<String> {
    let bare = |text: &str| TARGET.replace_all(&TAG.replace_all(&CODE.replace_all(text, " "), " "), "]").into_owned();
    let (text, said) = (bare(text), bare(said));
    let mut problems = Vec::new();
    for Term { english, word, rendering, never, is_always } in terms {
        let forbidden = never.iter().filter(|never| said.contains(never.as_str()));
        problems.extend(forbidden.map(|never| format!("says {never}, and {word} is {rendering}")));
        if *is_always && english.is_match(&text) && !said.contains(rendering.as_str()) {
            problems.push(format!("has {word}, and the translation is without {rendering}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_stay_may_change_its_place_alone() {
        let text = "See [`reduce`](ch01.html#a) of <b>8</b> warps, `x + 1`.";
        let good = "用 `x + 1`，见 <b>8</b> 个线程束的 [`reduce`](ch01.html#a)。";
        assert_eq!(changed(text, good, false), Vec::<String>::new());
        for (from, to, what) in [
            ("`x + 1`", "`x`", "code"),
            ("#a", "#b", "a link's target"),
            ("</b>", "</i>", "a tag"),
            ("8", "9", "a number"),
        ] {
            let problems = changed(text, &good.replace(from, to), false);
            assert!(problems.len() == 1 && problems[0].contains(what), "{what}: {problems:?}");
        }
        assert!(changed("{count:block|blocks}", "{count:个块}", true).is_empty());
        assert_eq!(changed("{count} of {all}", "{count}", true).len(), 1);
        assert!(changed("a **b** c", "甲**（乙）**丙", false)[0].contains("no emphasis"));
        assert!(changed("a **b** c", "甲 **（乙）** 丙", false).is_empty());
    }

    #[test]
    fn a_term_has_one_rendering() {
        let terms = |text: &str| super::terms(crate::tree(&[("po/zh_CN.terms.tsv", text)]).path(), "zh_CN");
        let head = terms("warp\t线程束\n").unwrap_err().to_string();
        assert!(head.contains("must begin with the columns"), "{head}");
        let rows = "warp\t线程束\t经线 线程组\tx\t\nlane\t通道\t\t\t\n";
        let terms = terms(&format!("English\trendering\tnever\talways\tnote\n{rows}")).unwrap();
        assert_eq!(misnamed("a warp of 32 lanes", "32 个通道的线程束", &terms), Vec::<String>::new());
        assert_eq!(misnamed("Two Warps", "两束", &terms).len(), 1);
        assert_eq!(misnamed("a lane", "一个车道", &terms), Vec::<String>::new(), "it is not asked for");
        assert_eq!(misnamed("no term", "线程组", &terms).len(), 1);
        assert_eq!(misnamed("`warp`", "`warp`", &terms), Vec::<String>::new(), "code is no term");
    }
}
