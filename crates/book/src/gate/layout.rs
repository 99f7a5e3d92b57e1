//! Rules about the files themselves: heads, lengths, one slug a lesson, paths that exist, and no trace of anyone's
//! machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use mdbook_driver::config::Config;
use regex::Regex;

use crate::book::BUILD_DIR;
use course::findings::Findings;
use course::workspace;

/// Longest Rust file, in lines.
const LINES_MAX: usize = 600;

/// Paths that only one machine has. Written in pieces, so that this file is not its own finding.
static MACHINE_PATH: LazyLock<Regex> = LazyLock::new(|| {
    let folders =
        [concat!("/ho", "me/[a-z]"), concat!("/Us", "ers/[A-Za-z]"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];
    let windows = concat!(r"[A-Z]:\\Us", r"ers\\");
    Regex::new(&format!(r"(?:^|[^\w.~-])(?P<path>(?:{}|{windows})[\w.-]*)", folders.join("|")))
        .expect("a fixed pattern")
});
/// Folders of made-up users, the only ones that may stand in examples and tests.
const EXAMPLE_USERS: [&str; 2] = ["/ann", "/reader"];
// A path in backticks: it has a slash or a dot, and no blanks, wildcards or placeholders.
pattern!(QUOTED_PATH, r"`(?P<path>\.?[A-Za-z0-9_][\w.-]*(?:/[\w.-]*)+|[\w-]+\.(?:toml|md|rs|cu|ptx|json|css))`");
// Target of a Markdown link, up to its fragment.
pattern!(LINK_TARGET, r"\]\((?P<path>[^):#\s]+)[^):\s]*\)");

/// Every Rust file says in its first line what it is for, and is short enough to read at one sitting.
pub fn rust_files(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("Rust files");
    for file in workspace::files(root)?.iter().filter(|file| file.extension().is_some_and(|ext| ext == "rs")) {
        findings.examined += 1;
        let name = workspace::name(root, file);
        let text = workspace::read(root, file)?;
        if !text.starts_with("//!") {
            findings.problems.push(format!("{name}:1: does not begin with `//!` and what the module is for"));
        }
        let lines = text.lines().count();
        if lines >= LINES_MAX {
            findings.problems.push(format!("{name}: {lines} lines, and {LINES_MAX} are too many: split it by subject"));
        }
    }
    Ok(findings)
}

/// Places where a lesson's slug must appear, as a path with the slug in braces.
const SLUG_PLACES: [&str; 7] = [
    "kernels/{}.cu",
    "kernels/ptx/{}.ptx",
    "chapters/{}/Cargo.toml",
    "chapters/{}/tests/lesson/main.rs",
    "chapters/{}/exercises.toml",
    "book/src/{}.md",
    "book/src/generated/{}",
];

/// One slug names the same lesson everywhere; a slug that is found in one place must be in all. `more_kernels` are files of
/// kernels that a lesson has beside its own.
pub fn slugs(root: &Path, lessons: &[&str], more_kernels: &[&str]) -> Result<Findings> {
    let mut findings = Findings::new("slugs");
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for place in SLUG_PLACES {
        for slug in slugs_at(root, place)? {
            found.entry(slug).or_default().insert(place);
        }
    }
    for kernels in more_kernels {
        findings.examined += 1;
        let places = found.remove(*kernels).unwrap_or_default();
        for missing in SLUG_PLACES[..2].iter().filter(|place| !places.contains(*place)) {
            findings.problems.push(format!("{}: missing: a variant names it", missing.replace("{}", kernels)));
        }
    }
    for lesson in lessons {
        found.entry((*lesson).to_owned()).or_default();
    }
    for (slug, places) in &found {
        findings.examined += 1;
        for missing in SLUG_PLACES.iter().filter(|place| !places.contains(*place)) {
            findings.problems.push(format!("{}: missing: every lesson has one", missing.replace("{}", slug)));
        }
        if !lessons.contains(&slug.as_str()) {
            findings.problems.push(format!("{slug}: not in the list of lessons, crates/course/Cargo.toml"));
        }
    }
    Ok(findings)
}

/// The slugs that exist at a place: names that begin with `ch` and two digits.
fn slugs_at(root: &Path, place: &str) -> Result<Vec<String>> {
    let (folder, rest) = place.split_once("{}").unwrap_or((place, ""));
    let mut slugs = Vec::new();
    for name in workspace::names(&root.join(folder))? {
        // `{}/Cargo.toml`: the folder has the slug's name; `{}.cu`: the file has, with an extension.
        let slug = if rest.starts_with('/') { Some(name.as_str()) } else { name.strip_suffix(rest) };
        let Some(slug) = slug else { continue };
        // `ch08-champion.compute_90.ptx` is what ch08-champion has for one more target.
        let is_slug = slug.starts_with("ch") && !slug.contains('.');
        let is_slug = is_slug && slug.get(2..4).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        if is_slug && root.join(place.replace("{}", slug)).exists() {
            slugs.push(slug.to_owned());
        }
    }
    Ok(slugs)
}

/// `book.toml` builds where nothing can be lost.
pub fn build_dir(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("configuration");
    let config = Config::from_disk(root.join("book.toml"))?;
    findings.examined += 1;
    if config.build.build_dir != Path::new(BUILD_DIR) {
        findings.problems.push(format!(
            "book.toml: build-dir is `{}`, and must be `{BUILD_DIR}`: mdBook empties it before it writes",
            config.build.build_dir.display()
        ));
    }
    Ok(findings)
}

/// The guides at the root, and the folder of those that they lead to.
const GUIDES: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "README.zh-CN.md"];
const GUIDE_FOLDER: &str = "contributing";

/// Every path that the guides name in backticks or link to exists.
pub fn named_paths(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("paths in the guides");
    // `main.rs` or `tests/mistakes` stands for the many folders that have it.
    let files: Vec<String> =
        workspace::files(root)?.iter().map(|file| format!("/{}/", workspace::name(root, file))).collect();
    let is_part = |path: &str| files.iter().any(|file| file.contains(&format!("/{}/", path.trim_end_matches('/'))));
    let walks = workspace::walk(&root.join(GUIDE_FOLDER))?;
    let guides = GUIDES.map(str::to_owned).into_iter().chain(walks.iter().map(|path| workspace::name(root, path)));
    for guide in guides {
        let text = workspace::read(root, &guide)?;
        for (index, line) in text.lines().enumerate() {
            for found in QUOTED_PATH.captures_iter(line).chain(LINK_TARGET.captures_iter(line)) {
                let path = &found["path"];
                findings.examined += 1;
                // Files that a build makes are not in a fresh checkout.
                if !path.starts_with("target/") && !root.join(path).exists() && !is_part(path) {
                    findings.problems.push(format!("{guide}:{}: names `{path}`, which is not there", index + 1));
                }
            }
        }
    }
    Ok(findings)
}

/// No file holds a path that only someone's machine has.
pub fn machine_paths(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("text files");
    for file in workspace::files(root)? {
        let bytes = std::fs::read(root.join(&file)).with_context(|| format!("cannot read `{}`", file.display()))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        findings.examined += 1;
        findings.problems.extend(machine_paths_in(&file, &text));
    }
    Ok(findings)
}

fn machine_paths_in(file: &Path, text: &str) -> Vec<String> {
    let finding = |(index, line): (usize, &str)| {
        let mut found = MACHINE_PATH.captures_iter(line).filter_map(|found| found.name("path"));
        let path = found.find(|path| !EXAMPLE_USERS.iter().any(|user| path.as_str().ends_with(user)))?.as_str();
        Some(format!("{}:{}: holds `{path}`, a path of one machine", file.display(), index + 1))
    };
    text.lines().enumerate().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    #[test]
    fn heads_and_lengths() {
        let long = "//! Long.\n".repeat(LINES_MAX);
        let dir = tree(&[("a.rs", "//! Good.\n"), ("b.rs", "fn main() {}\n"), ("c.rs", &long)]);
        let findings = rust_files(dir.path()).unwrap();
        assert_eq!(findings.examined, 3);
        assert_eq!(findings.problems.len(), 2);
        assert!(findings.problems[0].starts_with("b.rs:1: "));
        assert!(findings.problems[1].starts_with("c.rs: 600 lines"));
    }

    #[test]
    fn a_slug_is_everywhere_or_named() {
        let whole = [
            ("kernels/ch01-a.cu", ""),
            ("kernels/ptx/ch01-a.ptx", ""),
            ("kernels/ptx/ch01-a.compute_90.ptx", ""),
            ("chapters/ch01-a/Cargo.toml", ""),
            ("chapters/ch01-a/tests/lesson/main.rs", ""),
            ("chapters/ch01-a/exercises.toml", ""),
            ("book/src/ch01-a.md", ""),
            ("book/src/generated/ch01-a/facts.md", ""),
        ];
        assert_eq!(slugs(tree(&whole).path(), &["ch01-a"], &[]).unwrap().problems, Vec::<String>::new());

        let mut broken = whole.to_vec();
        broken[6].0 = "book/src/ch01-b.md";
        let problems = slugs(tree(&broken).path(), &["ch01-a"], &["ch01-more"]).unwrap().problems;
        assert!(problems.contains(&"kernels/ch01-more.cu: missing: a variant names it".to_owned()), "{problems:?}");
        assert!(problems.contains(&"book/src/ch01-a.md: missing: every lesson has one".to_owned()), "{problems:?}");
        assert!(problems.contains(&"kernels/ch01-b.cu: missing: every lesson has one".to_owned()), "{problems:?}");
        assert!(problems.iter().any(|problem| problem.starts_with("ch01-b: not in the list")), "{problems:?}");
        assert_eq!(slugs(tree(&[]).path(), &[], &[]).unwrap().examined, 0);
    }

    #[test]
    fn the_build_folder_is_fixed() {
        let good = tree(&[("book.toml", "[build]\nbuild-dir = \"target/book\"\n")]);
        assert!(build_dir(good.path()).unwrap().problems.is_empty());
        let default = tree(&[("book.toml", "[book]\nsrc = \"book/src\"\n")]);
        assert!(build_dir(default.path()).unwrap().problems[0].contains("build-dir is `book`"));
    }

    #[test]
    fn guides_name_only_what_exists() {
        let text = "See `crates/a`, `crates/a/`, `Cargo.toml`, `target/book`, `n/a b`, `ptx`, `kernels/<slug>.cu`, `a/x`, `x/`.\n`crates/b`\n";
        let dir = tree(&[
            ("ARCHITECTURE.md", text),
            ("CONTRIBUTING.md", ""),
            ("README.md", "`.ci/run` [a](crates/a/x#y) [b](https://example.org/x) [c](#d) ![e](gone.svg)\n"),
            ("README.zh-CN.md", ""),
            ("contributing/walk.md", "`kernels/gone.cu` and [a](walk.md)\n"),
            ("crates/a/x", ""),
            ("Cargo.toml", ""),
        ]);
        let findings = named_paths(dir.path()).unwrap();
        assert_eq!(findings.examined, 12);
        let gone = |place: &str, path: &str| format!("{place}: names `{path}`, which is not there");
        assert_eq!(
            findings.problems,
            [
                gone("ARCHITECTURE.md:2", "crates/b"),
                gone("README.md:1", ".ci/run"),
                gone("README.md:1", "gone.svg"),
                gone("contributing/walk.md:1", "kernels/gone.cu")
            ]
        );
    }

    #[test]
    fn machine_paths_are_found_and_others_are_not() {
        let own = concat!("/ho", "me/ada/course/x.cu");
        let example = concat!("/ho", "me/ann/course");
        let text = format!("fine: /usr/local/cuda, book{own}, a.b{own}, {example}\n.file 1 \"{own}\" {example}\n");
        let problems = machine_paths_in(Path::new("k.ptx"), &text);
        assert_eq!(problems, [format!("k.ptx:2: holds `{}`, a path of one machine", concat!("/ho", "me/ada"))]);
        let windows = concat!(r"see C:\Us", r"ers\ada\x");
        assert_eq!(machine_paths_in(Path::new("x"), windows).len(), 1);
    }
}
