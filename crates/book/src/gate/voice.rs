//! The voice of the code (`contributing/style.md`): turns of phrase to avoid are counted, and may only become rarer.

use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

use course::findings::Findings;
use course::workspace;

/// A turn of phrase and its ceiling: how often it may stand in the Rust files of `crates/` and `chapters/`.
struct Turn {
    name: &'static str,
    /// Regular expression, searched for in each line. None of them matches itself.
    pattern: &'static str,
    most: usize,
    instead: &'static str,
}

/// Ceilings are lowered as counts fall, and never raised.
const TURNS: [Turn; 5] = [
    Turn { name: "want-ed", pattern: r"(?i)w[a]nted", most: 7, instead: "expected, requested, needed" },
    Turn { name: "tol-d", pattern: r"(?i)(\b|_)t[o]ld(\b|_)", most: 9, instead: "reported, given, printed" },
    Turn {
        name: "no-body, some-body, who-ever",
        pattern: r"(?i)(\b|_)(n[o]body|s[o]mebody|w[h]oever)(\b|_)",
        most: 9,
        instead: "the one who acts: a reader, a kernel, a thread",
    },
    Turn {
        name: "documentation that opens with Of, Who or What is",
        pattern: r"^\s*//[/!] (Of|Who|Whoever|Somebody|Nobody|What (is|was|are|were))\b",
        most: 5,
        instead: "a noun with its head first, or a verb in the third person",
    },
    Turn { name: "functions named of_…", pattern: r"\bfn of_\w", most: 0, instead: "a name for what is returned" },
];

/// Counts each turn in all Rust files of the workspace's crates.
pub fn check(root: &Path) -> Result<String> {
    let mut texts = Vec::new();
    for file in workspace::files(root)? {
        let is_ours = file.starts_with("crates") || file.starts_with("chapters");
        if is_ours && file.extension().is_some_and(|ext| ext == "rs") {
            texts.push(workspace::read(root, &file)?);
        }
    }
    judge(&texts, &TURNS)
}

/// Holds the counts against the ceilings; those that have fallen below theirs are named behind the verdict.
fn judge(texts: &[String], turns: &[Turn]) -> Result<String> {
    let mut findings = Findings::new("Rust files");
    findings.examined = texts.len();
    let mut lower = Vec::new();
    for Turn { name, pattern, most, instead } in turns {
        let pattern = Regex::new(pattern).with_context(|| format!("the pattern of `{name}`"))?;
        let lines = texts.iter().flat_map(|text| text.lines());
        let count: usize = lines.map(|line| pattern.find_iter(line).count()).sum();
        if count > *most {
            findings.problems.push(format!("{name}: {count} times, and at most {most} may stay: write {instead}"));
        } else if count < *most {
            lower.push(format!("{name} {count}"));
        }
    }
    let verdict = findings.verdict()?;
    let note = if lower.is_empty() { String::new() } else { format!("; lower ceilings to: {}", lower.join("; ")) };
    Ok(verdict + &note)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up file in which each turn stands once, in pieces here.
    fn sample() -> String {
        let words = [concat!("load_wan", "ted"), concat!("is_to", "ld"), concat!("No", "body")].join(" ");
        format!("/// {} a launch.\n/// of which {words}\nfn {}launch() {{}}\n", concat!("O", "f"), concat!("of", "_"))
    }

    #[test]
    fn each_turn_is_counted_once() {
        for (index, turn) in TURNS.iter().enumerate() {
            let with = |most| [Turn { most, ..TURNS[index] }];
            assert_eq!(judge(&[sample()], &with(1)).unwrap(), "1 Rust files", "{}", turn.name);
            let over = judge(&[sample()], &with(0)).unwrap_err().to_string();
            assert!(over.contains("1 times, and at most 0"), "{over}");
            let under = judge(&[sample()], &with(2)).unwrap();
            assert_eq!(under, format!("1 Rust files; lower ceilings to: {} 1", turn.name));
        }
    }

    #[test]
    fn a_tree_without_rust_proves_nothing() {
        assert!(judge(&[], &TURNS).is_err());
    }
}
