//! Dependencies of the workspace: their licences, and advisories against them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use course::findings::Findings;
use course::workspace;

use super::Verdict;

/// The list of licences that dependencies may have.
const LIST: &str = "deny.toml";

/// Registry that packages may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Every package that `Cargo.lock` names has a licence that the list allows, and comes from crates.io if it is not our own.
pub fn licences(root: &Path) -> Result<Findings> {
    let allowed = allowed(&workspace::read(root, LIST)?)?;
    let output = said(root, "metadata --locked", &["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&output).context("`cargo metadata` prints no JSON")?;
    let mut findings = Findings::new("licences");
    for package in metadata["packages"].as_array().into_iter().flatten() {
        findings.examined += 1;
        let name =
            format!("{} {}", package["name"].as_str().unwrap_or("?"), package["version"].as_str().unwrap_or("?"));
        let problems = problem(package["license"].as_str(), &allowed).into_iter();
        let problems = problems.chain(foreign(package["source"].as_str()));
        findings.problems.extend(problems.map(|why| format!("{name}: {why}")));
    }
    Ok(findings)
}

/// The licences that `deny.toml` allows.
fn allowed(list: &str) -> Result<Vec<Licensee>> {
    let list: toml::Table = list.parse().with_context(|| format!("{LIST} is no TOML"))?;
    let names = list.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let names = names.with_context(|| format!("{LIST}: has no list `allow` under [licenses]"))?;
    let licensee = |name: &toml::Value| {
        let name = name.as_str().unwrap_or_default();
        Licensee::parse(name).with_context(|| format!("{LIST}: `{name}` is no licence of SPDX"))
    };
    names.iter().map(licensee).collect()
}

/// Returns the problem with a package of this licence.
fn problem(licence: Option<&str>, allowed: &[Licensee]) -> Option<String> {
    let Some(licence) = licence else { return Some("names no licence".to_owned()) };
    let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
        return Some(format!("`{licence}` is no licence of SPDX"));
    };
    let is_allowed = expression.evaluate(|required| allowed.iter().any(|licensee| licensee.satisfies(required)));
    (!is_allowed)
        .then(|| format!("its licence, `{licence}`, is not in {LIST}: find another crate, or add it with a reason"))
}

/// Returns the problem with a package from this source; our own have none.
fn foreign(source: Option<&str>) -> Option<String> {
    let source = source.filter(|&source| source != REGISTRY)?;
    Some(format!("it comes from `{source}`, and packages of others come from crates.io alone"))
}

/// Packages that `book` needs with the same features as the tests of the workspace, so that both share one build.
pub fn one_build(root: &Path) -> Result<Findings> {
    let alone = features(root, &["--package", "book", "--edges", "normal,build"])?;
    let with_tests = features(root, &["--workspace", "--edges", "normal,build,dev"])?;
    let problems = built_twice(&alone, &with_tests);
    Ok(Findings { examined: alone.len(), problems, ..Findings::new("packages of one build") })
}

/// Packages of `alone` that have other features in `with_tests`.
fn built_twice(alone: &BTreeSet<String>, with_tests: &BTreeSet<String>) -> Vec<String> {
    let problem = |line: &String| {
        let package = line.split(' ').next().unwrap_or_default();
        let same = with_tests.iter().find(|other| other.split(' ').next() == Some(package));
        let in_tests = same.map_or("none", |line| line);
        format!(
            "crates/book/Cargo.toml: cargo would build `{package}` twice: here as `{line}`, in tests as `{in_tests}`: \
             name the features that are missing here"
        )
    };
    alone.difference(with_tests).map(problem).collect()
}

/// A line for each package in the tree that cargo shows for these options: name, version, features.
fn features(root: &Path, options: &[&str]) -> Result<BTreeSet<String>> {
    let words = [&["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"], options].concat();
    Ok(said(root, "tree", &words)?.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect())
}

/// Output of cargo for these words, which a message calls `command`.
fn said(root: &Path, command: &str, words: &[&str]) -> Result<String> {
    let output = workspace::cargo(root).args(words).output().context("cannot run cargo")?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo {command}` fails\n{}", why.trim_end());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks the packages of `Cargo.lock` against advisories, where cargo-deny is installed and can fetch their list. Licences and sources are
/// checked without it, so that nothing else goes unseen where it is missing.
pub fn advisories(root: &Path) -> Result<Verdict> {
    let deny = |args: &[&str]| workspace::cargo(root).arg("deny").args(args).output();
    if !deny(&["--version"]).context("cannot run cargo")?.status.success() {
        let why = "no advisory was looked up, for want of cargo-deny: `cargo install --locked cargo-deny`";
        return Ok(Verdict::Skip(why.to_owned()));
    }
    let fetched = deny(&["fetch", "db"]).context("cannot run cargo deny")?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr);
        let why = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        return Ok(Verdict::Skip(format!("no advisory was looked up, as their list cannot be fetched: {why}")));
    }
    let output = deny(&["check", "advisories", "bans", "sources"]).context("cannot run cargo deny")?;
    ensure!(
        output.status.success(),
        "`cargo deny check` fails\n{}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(Verdict::Pass("advisories, bans and sources".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[licenses]\nallow = [\"MIT\", \"Apache-2.0\"]\n";

    #[test]
    fn a_licence_is_allowed_if_the_list_satisfies_it() {
        let allowed = allowed(LIST).unwrap();
        for fine in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR Unlicense) AND Apache-2.0"] {
            assert_eq!(problem(Some(fine), &allowed), None, "{fine}");
        }
        for (licence, why) in [
            (Some("GPL-3.0-only"), "its licence, `GPL-3.0-only`, is not in deny.toml"),
            (Some("MIT AND ISC"), "is not in deny.toml"),
            (Some("as you like"), "`as you like` is no licence of SPDX"),
            (None, "names no licence"),
        ] {
            assert!(problem(licence, &allowed).is_some_and(|problem| problem.contains(why)), "{licence:?}");
        }
    }

    #[test]
    fn a_package_with_other_features_in_tests_is_built_twice() {
        let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<BTreeSet<_>>();
        let with_tests = set(&["lab v0.1.0 bench,trial", "libm v0.2.16 ", "labour v1.0.0 "]);
        assert_eq!(built_twice(&set(&["lab v0.1.0 bench,trial", "libm v0.2.16 "]), &with_tests), Vec::<String>::new());
        let problems = built_twice(&set(&["lab v0.1.0 bench", "libm v0.2.16 "]), &with_tests);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains("here as `lab v0.1.0 bench`, in tests as `lab v0.1.0 bench,trial`"),
            "{problems:?}"
        );
    }

    #[test]
    fn packages_come_from_the_registry_or_from_here() {
        assert_eq!(foreign(None), None);
        assert_eq!(foreign(Some(REGISTRY)), None);
        let problem = foreign(Some("git+https://example.org/x#abc")).unwrap();
        assert!(problem.contains("`git+https://example.org/x#abc`"), "{problem}");
    }

    #[test]
    fn a_list_that_is_none_is_refused() {
        for (list, why) in
            [("x", "no TOML"), ("[licenses]\n", "no list `allow`"), ("[licenses]\nallow = [\"MTI\"]", "`MTI`")]
        {
            assert!(format!("{:#}", allowed(list).unwrap_err()).contains(why), "{list}");
        }
    }
}
