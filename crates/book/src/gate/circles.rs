//! Circles of imports: modules of a crate that need each other can't be read, tested or moved one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use course::findings::Findings;
use course::workspace;

/// Crates, and the most modules of each that may import each other.
const LIMITS: [(&str, usize); 4] = [("lab", 2), ("report", 2), ("course", 3), ("book", 3)];

// Paths of the crate's own behind `use`.
pattern!(USE, r"\buse\s+((?:crate|super|self)::[^;]+);");
// A path of the crate's own, in code.
pattern!(PATH, r"\b(?:crate|super)(?:::\w+)+");
// Exports of modules in the root of a crate.
pattern!(EXPORT, r"\bpub use\s+([^;]+);");
pattern!(COMMENT, r"//[^\n]*");

/// Each crate's modules import each other in circles of a few at most. Tests and macros are not looked at.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("modules");
    for (name, limit) in LIMITS {
        let modules = modules(root, name)?;
        findings.examined += modules.len();
        for circle in circles(&imports(&modules)).into_iter().filter(|circle| circle.len() > limit) {
            findings.problems.push(format!(
                "crates/{name}/src: {} modules import each other, and {limit} are the most: {}: move what several of them \
                 need into a module that imports none of them",
                circle.len(),
                circle.join(", ")
            ));
        }
    }
    Ok(findings)
}

/// The text of each module of a crate by its path, `exercise::rows`, without comments and tests. The root's path is empty.
fn modules(root: &Path, name: &str) -> Result<BTreeMap<String, String>> {
    let folder = root.join("crates").join(name).join("src");
    let mut modules = BTreeMap::new();
    for file in workspace::walk(&folder)?.iter().filter(|file| file.extension().is_some_and(|ext| ext == "rs")) {
        let text = workspace::read(root, file)?;
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let path = workspace::name(&folder, file).trim_end_matches(".rs").replace('/', "::");
        let path = if path == "lib" { String::new() } else { path };
        modules.insert(path, COMMENT.replace_all(text, "").into_owned());
    }
    Ok(modules)
}

/// The modules that each module imports.
fn imports(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let exports = exports(modules.get("").map_or("", String::as_str));
    let imported = |path: &str| -> Option<&str> {
        let path = exports.get(path.split("::").next().unwrap_or_default()).map_or(path, String::as_str);
        let ends = path.match_indices("::").map(|(end, _)| end).chain([path.len()]).collect::<Vec<_>>();
        let mut modules = ends.iter().rev().filter_map(|&end| modules.get_key_value(&path[..end]));
        modules.next().map(|(name, _)| name.as_str()).filter(|name| !name.is_empty())
    };
    let of = |(name, text): (&String, &String)| -> BTreeSet<String> {
        let uses = USE.captures_iter(text).flat_map(|found| leaves("", &found[1]));
        let code = USE.replace_all(text, "");
        let paths: Vec<String> = PATH.find_iter(&code).map(|found| found.as_str().to_owned()).collect();
        uses.chain(paths).map(|path| absolute(name, &path)).collect()
    };
    let roots = modules.iter().filter(|(name, _)| !name.is_empty() && *name != "main");
    roots
        .map(|(name, text)| {
            let paths = of((name, text));
            let all = modules.keys().filter(|other| *other != name);
            let has = |other: &&String| paths.iter().any(|path| imported(path) == Some(other.as_str()));
            (name.as_str(), all.filter(has).map(String::as_str).collect())
        })
        .collect()
}

/// The names that the root exports, and the module of each.
fn exports(root: &str) -> BTreeMap<String, String> {
    let paths = EXPORT.captures_iter(root).flat_map(|found| leaves("", &found[1]));
    let own = paths.map(|path| path.trim_start_matches("crate::").to_owned());
    own.filter_map(|path| Some((path.rsplit("::").next()?.to_owned(), path))).collect()
}

/// The paths that a tree of imports names: `a::{b, c::d}` names `a::b` and `a::c::d`.
fn leaves(prefix: &str, tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return vec![format!("{prefix}{path}")];
    };
    let prefix = format!("{prefix}{}", head.trim());
    let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    for (at, sign) in inner.char_indices().chain([(inner.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[start..at].trim();
                all.extend((!part.is_empty()).then(|| leaves(&prefix, part)).into_iter().flatten());
                start = at + 1;
            }
            _ => {}
        }
    }
    all
}

/// A path from the root of the crate: `super::b` in the module `a::c` is `a::b`.
fn absolute(module: &str, path: &str) -> String {
    if let Some(path) = path.strip_prefix("crate::") {
        return path.to_owned();
    }
    let mut here: Vec<&str> = module.split("::").collect();
    let mut rest = path.strip_prefix("self::").unwrap_or(path);
    while let Some(above) = rest.strip_prefix("super::") {
        here.pop();
        rest = above;
    }
    here.push(rest);
    here.join("::")
}

/// The modules that a module imports, and those that they import.
fn reached<'m>(imports: &BTreeMap<&'m str, BTreeSet<&'m str>>, from: &'m str) -> BTreeSet<&'m str> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(imports.get(module).into_iter().flatten().filter(|module| seen.insert(**module)));
    }
    seen
}

/// The modules that reach each other, each circle once.
fn circles(imports: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|&module| (module, reached(imports, module))).collect();
    let circle = |(&module, there): (&&str, &BTreeSet<&str>)| -> Vec<String> {
        let back = there.iter().filter(|other| reached.get(*other).is_some_and(|theirs| theirs.contains(module)));
        back.map(|&other| other.to_owned()).collect()
    };
    let all: BTreeSet<Vec<String>> = reached.iter().map(circle).filter(|circle| circle.len() > 1).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(modules: &[(&str, &str)]) -> BTreeMap<String, String> {
        modules.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn a_circle_is_found_by_use_by_path_and_through_the_root() {
        let modules = crate_of(&[
            ("", "pub mod a;\npub use a::{B as Other, C};\n"),
            ("a", "use crate::b::{self, d::{E, F}};"),
            ("b", "pub fn f() -> crate::c::G { todo() }"),
            ("b::d", "use super::super::alone::H;"),
            ("c", "use crate::C;"),
            ("alone", "use std::path::Path;"),
        ]);
        let imports = imports(&modules);
        assert_eq!(imports["a"], BTreeSet::from(["b", "b::d"]));
        assert_eq!(imports["b::d"], BTreeSet::from(["alone"]));
        assert_eq!(circles(&imports), [["a", "b", "c"]]);
    }

    #[test]
    fn too_large_a_circle_is_a_problem_and_tests_are_no_import() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| lab::record::write(&dir.path().join("crates").join(name), text).unwrap();
        for (name, _) in LIMITS {
            put(&format!("{name}/src/lib.rs"), "//! A crate.\n");
        }
        put("lab/src/a.rs", "use crate::b::B; // and not crate::c\n");
        put("lab/src/b.rs", "use crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n");
        put("lab/src/c.rs", "use crate::a::A;\n");
        assert_eq!(check(dir.path()).unwrap().problems, [""; 0]);
        put("lab/src/b.rs", "use super::c::C;\n");
        let problems = check(dir.path()).unwrap().problems;
        assert!(
            problems.len() == 1
                && problems[0].contains("3 modules import each other")
                && problems[0].contains("a, b, c"),
            "{problems:?}"
        );
    }
}
