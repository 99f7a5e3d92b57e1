//! Promises of the README, in each language, and CONTRIBUTING: they are short, and the output that a README shows is a recorded run's.
//! And no guide links to the source of a page, where a reader would see the names of what it includes.

use std::path::Path;

use anyhow::Result;
use regex::Regex;

use course::findings::Findings;
use course::workspace;

/// Most words of each guide at the root, as `wc -w` counts them.
const WORDS_MAX: [(&str, usize); 2] = [("README.md", 600), ("CONTRIBUTING.md", 700)];
/// The README in each language; each links to the others.
const READMES: [&str; 2] = ["README.md", "README.zh-CN.md"];
/// Commands that a reader types first; checks outside of this repository rely on it too.
const COMMANDS: [&str; 2] = ["cargo run --release -p ch01-naive", "cargo test --workspace"];
/// The run of the first command, and where the README's extract of it begins.
const RECORD: &str = "book/src/generated/ch01-naive/run.txt";
const EXTRACT: &str = "```text\n";

/// Reads both guides and the record.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("promises of the guides");
    for (guide, most) in WORDS_MAX {
        findings.examined += 1;
        let words = workspace::read(root, guide)?.split_whitespace().count();
        if words > most {
            let problem = format!("{guide}: {words} words, and at most {most}: say less, or say it elsewhere");
            findings.problems.push(problem);
        }
    }
    let run = workspace::read(root, RECORD).unwrap_or_default();
    for name in READMES {
        let promises = promises(&workspace::read(root, name)?, name, &run);
        findings.examined += promises.len();
        let broken = promises.into_iter().filter(|(is_kept, _)| !is_kept);
        findings.problems.extend(broken.map(|(_, problem)| format!("{name}: {problem}")));
    }
    findings.problems.extend(raw_pages(root)?);
    Ok(findings)
}

/// Whether a README keeps each of its promises, and what to say if not.
fn promises(readme: &str, name: &str, run: &str) -> Vec<(bool, String)> {
    let commands = COMMANDS
        .iter()
        .map(|command| (readme.contains(&format!("\n{command}")), format!("does not have the command `{command}`")));
    let others = READMES.iter().filter(|other| **other != name);
    let links = others.map(|other| (readme.contains(&format!("]({other})")), format!("does not link to `{other}`")));
    let extract = readme.split_once(EXTRACT).and_then(|(_, after)| after.split_once("```")).map(|(extract, _)| extract);
    let is_recorded = extract.is_some_and(|extract| extract.lines().count() >= 8 && run.contains(extract));
    let how = format!("its output is not the recorded run's: copy eight lines or more of `{RECORD}`");
    commands.chain(links).chain([(is_recorded, how)]).collect()
}

/// Links outside of the book to the sources of its pages.
fn raw_pages(root: &Path) -> Result<Vec<String>> {
    let link = Regex::new(r"(?:\]\(|https?://)[^\s)]*\bbook/src/[\w-]+\.md\b")?;
    let mut problems = Vec::new();
    for file in workspace::files(root)?.into_iter().filter(|file| !file.starts_with("book/src")) {
        if !file.extension().is_some_and(|end| ["md", "rs", "toml", "yml"].iter().any(|&is| end == is)) {
            continue;
        }
        let text = workspace::read(root, &file)?;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| link.is_match(line)) {
            let (name, line, page) = (file.display(), index + 1, link.find(line).map_or("", |found| found.as_str()));
            problems.push(format!("{name}:{line}: `{page}` is the source of a page: link to the book"));
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    fn problems(readme: &str, run: &str) -> Vec<String> {
        let [english, chinese] = READMES.map(|name| (name, readme));
        check(tree(&[english, chinese, ("CONTRIBUTING.md", "few words"), (RECORD, run)]).path()).unwrap().problems
    }

    #[test]
    fn a_readme_is_short_and_shows_what_was_printed() {
        let run: String = (0..12).map(|line| format!("line {line}\n")).collect();
        let extract: String = run.lines().skip(2).take(8).map(|line| format!("{line}\n")).collect();
        let commands = format!("\n{}\n{}  # all\n", COMMANDS[0], COMMANDS[1]);
        let good = format!("[a](README.md) [b](README.zh-CN.md)\n{commands}{EXTRACT}{extract}```\n");
        assert_eq!(problems(&good, &run), Vec::<String>::new());
        assert!(problems(&(good.clone() + &"word ".repeat(600)), &run)[0].contains("at most 600"));
        assert!(problems(&good.replace("--workspace", "--all"), &run)[0].contains("cargo test --workspace"));
        assert!(problems(&good, &run.replace("line 5", "line five"))[0].contains("not the recorded run's"));
        assert!(problems(&good.replace("line 2\n", ""), &run)[0].contains("not the recorded run's"), "seven lines");
        let lonely = problems(&good.replace("](README.zh-CN.md)", "]"), &run);
        assert_eq!(lonely, ["README.md: does not link to `README.zh-CN.md`"]);
    }

    #[test]
    fn a_link_to_the_source_of_a_page_is_refused() {
        // In two parts, so that this file has no such link.
        let page = ["book/src", "a.md"].join("/");
        let root = tree(&[
            ("README.md", &format!("[a]({page}) `{page}` [b](book/src/b.txt)\n")),
            ("b.rs", &format!("/// See\n/// https://example.org/x/{page}.\n")),
            ("book/src/c.md", &format!("[a](../../{page})\n")),
        ]);
        let problems = raw_pages(root.path()).unwrap();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("README.md:1: ") && problems[1].starts_with("b.rs:2: "), "{problems:?}");
    }
}
