//! Resolves every `{{#include}}` of the book before mdBook does.
//!
//! mdBook leaves the raw mark in the page when a file is missing, and an empty block when an anchor is: in both cases
//! it ends with status 0. Here each mark must name a file that is there, and a part of it that is not empty.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use course::findings::Findings;
use course::workspace;

// A mark: an escaping backslash (then it is text), its verb, and the rest.
pattern!(MARK, r"(?P<escape>\\)?\{\{\s*#(?P<verb>\w+)(?:\s+(?P<rest>[^}]*))?\}\}");
// `ANCHOR: name` or `ANCHOR_END: name`, anywhere in a line.
pattern!(ANCHOR, r"ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+)");

/// Includes of the book, and the problems with them.
pub struct Includes {
    /// Marks looked at, and problems, each `page:line: sentence`.
    pub findings: Findings,
    /// Every file that some page includes, there or not.
    pub sources: BTreeSet<PathBuf>,
}

/// Checks every mark in every page under `src`, and in the files they include.
pub fn check(root: &Path, src: &Path) -> Result<Includes> {
    let mut includes = Includes { findings: Findings::new("includes"), sources: BTreeSet::new() };
    let mut pending: Vec<PathBuf> =
        workspace::walk(src)?.into_iter().filter(|file| file.extension().is_some_and(|ext| ext == "md")).collect();
    let mut seen: BTreeSet<PathBuf> = pending.iter().cloned().collect();
    let mut problems = Vec::new();
    while let Some(page) = pending.pop() {
        let text = workspace::read(root, &page)?;
        for mark in marks(&text) {
            let outcome = match target(root, &page, &mark) {
                Ok(None) => continue,
                Ok(Some((source, part))) => {
                    includes.sources.insert(source.clone());
                    check_file(&workspace::name(root, &source), &source, part).map(|()| source)
                }
                Err(problem) => Err(problem),
            };
            includes.findings.examined += 1;
            match outcome {
                Ok(source) if seen.insert(source.clone()) => pending.push(source),
                Ok(_) => {}
                Err(problem) => problems.push((workspace::name(root, &page), mark.line, problem)),
            }
        }
    }
    problems.sort();
    // A file that is not there is one problem of a page, however often the page includes it.
    let mut seen = BTreeSet::new();
    problems.retain(|(page, _, what)| seen.insert((page.clone(), what.clone())));
    includes.findings.problems = problems.iter().map(|(page, line, what)| format!("{page}:{line}: {what}")).collect();
    Ok(includes)
}

struct Mark<'a> {
    line: usize,
    verb: &'a str,
    rest: &'a str,
}

fn marks(text: &str) -> impl Iterator<Item = Mark<'_>> {
    MARK.captures_iter(text).filter(|found| found.name("escape").is_none()).map(|found| {
        let start = found.get(0).map_or(0, |whole| whole.start());
        Mark {
            line: text[..start].matches('\n').count() + 1,
            verb: found.name("verb").map_or("", |verb| verb.as_str()),
            rest: found.name("rest").map_or("", |rest| rest.as_str()),
        }
    })
}

/// The file that a mark includes and the part of it, `None` for a mark that includes nothing, or what is wrong with the mark.
fn target<'a>(root: &Path, page: &Path, mark: &Mark<'a>) -> Result<Option<(PathBuf, Option<&'a str>)>, String> {
    match mark.verb {
        "title" => return Ok(None),
        "include" | "rustdoc_include" | "playground" => {}
        other => {
            return Err(format!(
                "`{{{{#{other}}}}}` is no mark that mdBook knows: use include, or write a backslash before it"
            ));
        }
    }
    let target = mark.rest.split_whitespace().next().ok_or("an include without a file")?;
    let (file, part) = target.split_once(':').map_or((target, None), |(file, part)| (file, Some(part)));
    Ok(Some((tidy(&page.parent().unwrap_or(root).join(file)), part)))
}

/// Checks that a file can be read and has the part.
fn check_file(name: &str, path: &Path, part: Option<&str>) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if name.contains("/generated/") => {
            format!("includes `{name}`, which is not there: run `cargo course bless`")
        }
        std::io::ErrorKind::NotFound => format!("includes `{name}`, which is not there"),
        std::io::ErrorKind::InvalidData => format!("includes `{name}`, which is not text"),
        _ => format!("includes `{name}`, which cannot be read: {error}"),
    })?;
    check_part(name, &text, part)
}

/// Resolves `.` and `..` by name, so that messages show the file and not the way to it.
pub fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                tidied.pop();
            }
            other => tidied.push(other),
        }
    }
    tidied
}

/// Checks that the part a mark names (`anchor`, `12`, `12:20`, `:20`, `12:`) is there and holds something.
fn check_part(name: &str, text: &str, part: Option<&str>) -> Result<(), String> {
    let part = part.unwrap_or("");
    let (start, end) = part.split_once(':').map_or((part, None), |(start, end)| (start, Some(end)));
    if !start.is_empty() && start.parse::<usize>().is_err() {
        return check_anchor(name, text, start);
    }
    let first = start.parse::<usize>().unwrap_or(1).max(1);
    let last = match end {
        None if start.is_empty() => usize::MAX,
        None => first,
        Some(end) => end.parse::<usize>().unwrap_or(usize::MAX),
    };
    let lines = text.lines().count();
    if lines == 0 {
        return Err(format!("includes `{name}`, which is empty"));
    }
    if first > lines || last < first {
        return Err(format!("includes lines `{part}` of `{name}`, which has {lines}"));
    }
    if text.lines().skip(first - 1).take(last - first + 1).all(|line| line.trim().is_empty()) {
        return Err(format!("includes nothing but blank lines of `{name}`"));
    }
    Ok(())
}

fn check_anchor(name: &str, text: &str, anchor: &str) -> Result<(), String> {
    let mut opened_at = None;
    let mut closed = false;
    let mut has_content = false;
    for (index, line) in text.lines().enumerate() {
        let found = ANCHOR.captures(line);
        let is_this = found.as_ref().is_some_and(|found| &found["name"] == anchor);
        match (found.map(|found| found.name("end").is_some()), opened_at) {
            (Some(false), Some(first)) if is_this => {
                return Err(format!("anchor `{anchor}` is opened twice in `{name}`: lines {first} and {}", index + 1));
            }
            (Some(false), None) if is_this => opened_at = Some(index + 1),
            (Some(true), Some(_)) if is_this => closed = true,
            (None, Some(_)) if !closed => has_content |= !line.trim().is_empty(),
            _ => {}
        }
    }
    match opened_at {
        None => {
            let known = anchors(text);
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(format!("includes anchor `{anchor}` of `{name}`, which is not there: its anchors are {known}"))
        }
        Some(line) if !closed => Err(format!("anchor `{anchor}` of `{name}`, opened in line {line}, is never closed")),
        Some(line) if !has_content => {
            Err(format!("anchor `{anchor}` of `{name}`, opened in line {line}, holds nothing"))
        }
        Some(_) => Ok(()),
    }
}

fn anchors(text: &str) -> Vec<&str> {
    ANCHOR
        .captures_iter(text)
        .filter(|found| found.name("end").is_none())
        .filter_map(|found| found.name("name").map(|name| name.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
// ANCHOR: whole
int a;
// ANCHOR: inner
int b;
// ANCHOR_END: inner
// ANCHOR_END: whole
// ANCHOR: open
int c;
";

    /// A book of one page with this text, beside `k.cu` and `empty.cu`.
    fn problems(page: &str) -> Vec<String> {
        let empty = "// ANCHOR: none\n\n// ANCHOR_END: none\n";
        let dir = crate::tree(&[("k.cu", KERNEL), ("empty.cu", empty), ("src/deep/page.md", page)]);
        let root = dir.path();
        std::fs::write(root.join("binary.bin"), [0xff, 0xfe, 0x00]).unwrap();
        check(root, &root.join("src")).unwrap().findings.problems
    }

    fn problem(mark: &str) -> String {
        let found = problems(&format!("# Page\n\ntext {mark} text\n"));
        assert_eq!(found.len(), 1, "{mark}: {found:?}");
        found[0].clone()
    }

    #[test]
    fn good_includes_pass() {
        let page = "{{#include ../../k.cu}} {{#include ../../k.cu:whole}} {{ #include ../../k.cu:inner }}\n\
                    {{#include ../../k.cu:2}} {{#include ../../k.cu:2:4}} {{#include ../../k.cu::3}}\n\
                    {{#rustdoc_include ../../k.cu:7:}} {{#title A page}} \\{{#include nowhere.cu}}\n";
        assert_eq!(problems(page), Vec::<String>::new());
    }

    #[test]
    fn a_missing_file_is_named_with_page_and_line() {
        assert_eq!(
            problem("{{#include ../../kernels/x.cu:a}}"),
            "src/deep/page.md:3: includes `kernels/x.cu`, which is not there"
        );
        assert!(problem("{{#include ../generated/x.md}}").ends_with("run `cargo course bless`"));
        assert_eq!(problems("{{#include ../gone.md:a}}\n{{#include ../gone.md:b}}\n").len(), 1);
    }

    #[test]
    fn a_missing_anchor_is_named_with_those_that_exist() {
        assert_eq!(
            problem("{{#include ../../k.cu:wrong}}"),
            "src/deep/page.md:3: includes anchor `wrong` of `k.cu`, which is not there: its anchors are whole, inner, open"
        );
    }

    #[test]
    fn open_empty_and_doubled_anchors_are_refused() {
        assert!(problem("{{#include ../../k.cu:open}}").contains("line 7, is never closed"));
        assert!(problem("{{#include ../../empty.cu:none}}").contains("holds nothing"));
        let twice = "// ANCHOR: a\nx\n// ANCHOR_END: a\n// ANCHOR: a\ny\n// ANCHOR_END: a\n";
        assert!(check_anchor("k.cu", twice, "a").unwrap_err().contains("lines 1 and 4"));
    }

    #[test]
    fn line_ranges_must_exist() {
        assert!(problem("{{#include ../../k.cu:90}}").contains("lines `90` of `k.cu`, which has 8"));
        assert!(problem("{{#include ../../k.cu:5:3}}").contains("which has 8"));
        assert!(problem("{{#include ../../empty.cu:2}}").contains("nothing but blank lines"));
    }

    #[test]
    fn other_bad_marks_are_refused() {
        assert!(problem("{{#inculde ../../k.cu}}").contains("`{{#inculde}}` is no mark"));
        assert!(problem("{{#include }}").contains("without a file"));
        assert!(problem("{{#include ../../binary.bin}}").contains("is not text"));
        assert!(check_part("part.md", "", None).unwrap_err().contains("`part.md`, which is empty"));
    }

    #[test]
    fn included_files_are_searched_too() {
        let part = ("part.txt", "one\n{{#include gone.txt}}\n");
        let dir = crate::tree(&[part, ("src/page.md", "{{#include ../part.txt}}")]);
        let root = dir.path();
        let includes = check(root, &root.join("src")).unwrap();
        assert_eq!(includes.findings.problems, ["part.txt:2: includes `gone.txt`, which is not there"]);
        assert_eq!(includes.sources, BTreeSet::from([root.join("part.txt"), root.join("gone.txt")]));
    }
}
