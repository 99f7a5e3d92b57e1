//! The words of the pages' scripts: each catalogue is an object of sentences in a script of its own, which a translated book replaces.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use regex::NoExpand;
use rquickjs::{CatchResultExt, Context, Runtime};

use course::workspace;

/// The part of a browser that the scripts with the words expect.
const BROWSER: &str = "globalThis.window = globalThis; globalThis.reductionLab = {}; globalThis.Intl = { NumberFormat: class {}, PluralRules: class { resolvedOptions() { return { pluralCategories: [] }; } } };";
// The object of the labs' words in their script.
pattern!(CATALOGUE, r"(?s)const catalogue = \{\n.*?\n    \};");
// {name}, or {name:one|many}.
pattern!(PLACE, r"\{(\w+)[:}]");

/// A script that holds words.
pub struct Script {
    /// Mark of its messages, so that one word may have two translations.
    pub context: &'static str,
    /// Path.
    pub path: &'static str,
    /// The object with the words.
    object: &'static str,
}

/// All of them.
pub const SCRIPTS: [Script; 3] = [
    Script { context: "lab", path: "book/src/lab/words.js", object: "reductionLab.catalogue" },
    Script { context: "fault", path: "book/src/lab/messages.js", object: "reductionLab.messages" },
    Script { context: "page", path: "book/theme/words.js", object: "reductionWords" },
];

impl Script {
    /// Returns the mark of a key's message.
    pub fn context_of(&self, key: &str) -> String {
        format!("{}: {key}", self.context)
    }

    /// Its sentences, by key.
    ///
    /// # Errors
    /// A script that cannot be read, or does not run.
    pub fn words(&self, root: &Path) -> Result<BTreeMap<String, String>> {
        self.words_in(&root.join(self.path))
    }

    /// The same, of the script in the site that is built in `dir`.
    ///
    /// # Errors
    /// A site without it, or a script that does not run.
    pub fn words_of(&self, dir: &Path) -> Result<BTreeMap<String, String>> {
        self.words_in(&self.built(dir)?)
    }

    fn words_in(&self, path: &Path) -> Result<BTreeMap<String, String>> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let context = Context::full(&Runtime::new()?)?;
        let json = context.with(|ctx| -> Result<String> {
            ctx.eval::<(), _>(BROWSER)?;
            let failed = |error| anyhow!("`{}`: {error}", path.display());
            ctx.eval::<(), _>(text).catch(&ctx).map_err(|error| failed(error.to_string()))?;
            let all = format!("JSON.stringify({})", self.object);
            ctx.eval::<String, _>(all).catch(&ctx).map_err(|error| failed(error.to_string()))
        })?;
        Ok(serde_json::from_str(&json)?)
    }

    /// Returns whether it is this file of a built site: mdBook adds a hash to the names of scripts of the theme.
    pub fn is_at(&self, file: &str) -> bool {
        let start = self.path.strip_prefix("book/src/").unwrap_or(self.path).trim_end_matches(".js");
        file.strip_prefix(start).is_some_and(|rest| !rest.contains('/') && rest.ends_with(".js"))
    }

    /// Returns its path in a built site.
    fn built(&self, dir: &Path) -> Result<PathBuf> {
        let found = workspace::walk(dir)?.into_iter().find(|path| self.is_at(&workspace::name(dir, path)));
        found.with_context(|| format!("the site in `{}` is without `{}`", dir.display(), self.path))
    }

    /// Lets the script of the site in `dir` say `words` instead of its own.
    ///
    /// # Errors
    /// A site without the script.
    pub fn replace(&self, dir: &Path, words: &BTreeMap<String, String>, language: &str) -> Result<()> {
        let file = &self.built(dir)?;
        let mut text = std::fs::read_to_string(file)?;
        let words = serde_json::to_string(words)?;
        // In place of the English ones, where one finds them: a page loads no words that it does not show.
        text = match CATALOGUE.is_match(&text) {
            true => CATALOGUE.replace(&text, NoExpand(&format!("const catalogue = {words};"))).into_owned(),
            false => text + &format!("\nObject.assign({}, {words});\n", self.object),
        };
        if self.context == "lab" {
            text += &format!("reductionLab.speak({});\n", serde_json::to_string(language)?);
        }
        std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
    }
}

/// Refuses a translation that asks for other values than the sentence it translates.
pub fn same_places(place: &str, sentence: &str, said: &str) -> Result<()> {
    let places = |text: &str| PLACE.captures_iter(text).map(|found| found[1].to_owned()).collect::<BTreeSet<_>>();
    let (expected, found) = (places(sentence), places(said));
    ensure!(
        expected == found,
        "{place}: the translation of “{sentence}” fills in {found:?}, and the sentence {expected:?}: keep the names in braces as they are"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn a_translation_keeps_what_is_filled_in() {
        same_places("x", "{count:block has|blocks have} left {name}", "{name}：{count} 个块").unwrap();
        assert!(same_places("x", "{count} of {all}", "{count}").is_err());
    }

    fn faults() -> &'static Script {
        SCRIPTS.iter().find(|script| script.context == "fault").unwrap()
    }

    /// Sources that say what a fault is.
    const SOURCES: [&str; 5] = [
        "exec/findings.rs",
        "exec/findings/waiting.rs",
        "exec/findings/wording.rs",
        "memory/heap.rs",
        "memory/names.rs",
    ];
    /// Sentences of theirs that the forms cut in other places.
    const ASSEMBLED: [&str; 3] = [
        "waits for the lanes that its mask {} names, and {} {}",
        "the kernel executed {}{}",
        "{}[-{}]{}, {} byte{} before the start of {}",
    ];

    #[test]
    fn every_message_about_a_fault_has_a_form() {
        let root = workspace::root().unwrap();
        let place = Regex::new(r"\(\{x\},\{y\},\{z\}\)|\{[^}]*\}").unwrap();
        let words = faults().words(&root).unwrap();
        let forms: Vec<_> = words.values().map(|form| place.replace_all(form, "{}").into_owned()).collect();
        let literal = Regex::new(r#""((?:[^"\\]|\\[^"])*)""#).unwrap();
        let worded = Regex::new("[a-z] [a-z]+").unwrap();
        let broken = Regex::new(r"\\\n\s*").unwrap();
        for file in SOURCES {
            let text = std::fs::read_to_string(root.join("crates/simt/src").join(file)).unwrap();
            let (text, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            let code: String = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .map(|line| format!("{line}\n"))
                .collect();
            for found in literal.captures_iter(&code) {
                let said = broken.replace_all(&found[1], "");
                let said = place.replace_all(&said, "{}");
                let is_known = ASSEMBLED.contains(&&*said) || forms.iter().any(|form| form.contains(&*said));
                assert!(
                    is_known || !worded.is_match(&said),
                    "`{file}` says “{said}”, which has no form in `{}`",
                    faults().path
                );
            }
        }
    }

    #[test]
    fn every_fault_of_a_test_is_said_by_a_form() {
        let root = workspace::root().unwrap();
        let script = std::fs::read_to_string(root.join(faults().path)).unwrap();
        let headline = Regex::new(r"(?m)^error\[[a-z-]+\]: (.*)$").unwrap();
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        let said = |message: &str| {
            let asked = format!("reductionLab.inWords({})", serde_json::to_string(message).unwrap());
            context.with(|ctx| ctx.eval::<Option<String>, _>(asked).unwrap())
        };
        context.with(|ctx| {
            ctx.eval::<(), _>(BROWSER).unwrap();
            ctx.eval::<(), _>(script).unwrap();
        });
        let mut seen = 0;
        for file in workspace::walk(&root.join("crates/simt/tests/fail")).unwrap() {
            let Some("stderr") = file.extension().and_then(|name| name.to_str()) else { continue };
            let text = std::fs::read_to_string(&file).unwrap();
            for found in headline.captures_iter(&text) {
                assert_eq!(said(&found[1]).as_deref(), Some(&found[1]), "{}", file.display());
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen} faults of tests are not all");
    }

    #[test]
    fn every_script_has_words() {
        let root = workspace::root().unwrap();
        for script in SCRIPTS {
            let words = script.words(&root).unwrap();
            assert!(!words.is_empty() && words.values().all(|words| !words.is_empty()), "{}", script.path);
        }
    }
}
