//! Search in languages that write without spaces between words: mdBook's index knows a whole clause of Chinese as one word, or not at
//! all. The index is made anew with runs of Han characters cut in pairs; search.js, which comes with it, cuts what a reader looks for.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use elasticlunr::lang::{English, Language};
use elasticlunr::{Index, Pipeline};
use serde_json::Value;

use crate::book::slim;

/// What mdBook writes around the index.
const HEAD: &str = "window.search = Object.assign(window.search, JSON.parse('";
const TAIL: &str = "'));";
/// What the page does with such an index.
const SCRIPT: &str = include_str!("search.js");
/// Stands in it for the words above what is found.
const FOUND: &str = "\"{words}: {count}\"";
/// Longest word, in characters, that is looked for: longer ones are encoded things.
const LETTERS_MAX: usize = 80;

/// English words, and Han characters in pairs.
struct Pairs;

impl Language for Pairs {
    fn name(&self) -> String {
        "English".to_owned()
    }

    fn code(&self) -> String {
        "en".to_owned()
    }

    fn tokenize(&self, text: &str) -> Vec<String> {
        words(text)
    }

    fn make_pipeline(&self) -> Pipeline {
        let mut pipeline = English::new().make_pipeline();
        // The page's trimmer takes Han characters for none of a word; what it would trim is no part of a word here.
        pipeline.queue.remove(0);
        pipeline
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Words of a text: those of letters, and each pair of neighbours in a run of Han characters, with the run's last one alone.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lower = text.to_lowercase();
    let is_between = |c: char| c.is_whitespace() || c == '-' || !c.is_ascii() && !c.is_alphanumeric();
    for run in lower.split(is_between).filter(|run| !run.is_empty()) {
        let letters: Vec<char> = run.chars().collect();
        for part in letters.chunk_by(|a, b| is_han(*a) == is_han(*b)) {
            if is_han(part[0]) {
                found.extend(part.windows(2).map(|pair| pair.iter().collect::<String>()));
                found.extend(part.last().map(char::to_string));
                continue;
            }
            let word: String = part.iter().collect();
            let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            if !word.is_empty() && word.chars().count() <= LETTERS_MAX {
                found.push(word.to_owned());
            }
        }
    }
    found
}

/// Makes the index of the site in `dir` anew; `found` stands above what a search has found.
///
/// # Errors
/// An index that is not written as mdBook writes it.
pub fn rebuild(dir: &Path, found: &str) -> Result<()> {
    let script = SCRIPT.replace(FOUND, &serde_json::to_string(found)?);
    for path in slim::named(dir, "searchindex", ".js")? {
        let text = std::fs::read_to_string(&path)?;
        let json = text.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL));
        let json = json.with_context(|| format!("`{}` is not written as mdBook writes it", path.display()))?;
        let mut search: Value = serde_json::from_str(&json.replace("\\'", "'").replace("\\\\", "\\"))?;
        search["index"] = serde_json::from_str(&index(&search["index"])?.to_json())?;
        round(&mut search["index"]["index"]);
        let json = search.to_string().replace('\\', "\\\\").replace('\'', "\\'");
        std::fs::write(&path, format!("{HEAD}{json}{TAIL}{script}"))?;
    }
    Ok(())
}

/// Rounds weights of words to two digits behind the point, which ranks as well and is half of the bytes.
fn round(value: &mut Value) {
    match value {
        Value::Object(parts) => parts.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            *value = ((number.as_f64().unwrap_or_default() * 100.0).round() / 100.0).into();
        }
        _ => {}
    }
}

/// The index of the same texts.
fn index(old: &Value) -> Result<Index> {
    let fields: Vec<String> = serde_json::from_value(old["fields"].clone())?;
    let texts: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_value(old["documentStore"]["docs"].clone()).context("the index of the search has no texts")?;
    let mut index = Index::with_language(Box::new(Pairs), &fields);
    for (name, text) in &texts {
        index.add_doc(name, fields.iter().map(|field| text.get(field).map_or("", String::as_str)));
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn han_characters_are_cut_in_pairs_and_words_are_not() {
        assert_eq!(words("存储体冲突，Warp-level"), ["存储", "储体", "体冲", "冲突", "突", "warp", "level"]);
        assert_eq!(words("一个f32：（bank）。"), ["一个", "个", "f32", "bank"]);
        assert_eq!(words(&"x".repeat(LETTERS_MAX + 1)), Vec::<String>::new());
    }

    #[test]
    fn an_index_is_made_anew_and_says_the_same() {
        let mut plain = Index::new(&["title", "body"]);
        plain.add_doc("0", ["树形归约", "it's a \\ of 线程束 warps"]);
        let json = serde_json::json!({ "doc_urls": ["a.html"], "index": serde_json::from_str::<Value>(&plain.to_json()).unwrap() });
        let text = json.to_string().replace('\\', "\\\\").replace('\'', "\\'");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("searchindex-1.js");
        std::fs::write(&path, format!("{HEAD}{text}{TAIL}")).unwrap();
        rebuild(dir.path(), "{words}：{count}").unwrap();
        let new = std::fs::read_to_string(&path).unwrap();
        assert!(new.contains("it\\'s a ") && new.contains("a.html"), "{new}");
        let json = new.strip_prefix(HEAD).and_then(|rest| rest.split_once(TAIL)).unwrap().0;
        assert!(new.contains("\"{words}：{count}\"") && SCRIPT.contains(FOUND), "{new}");
        let json: Value = serde_json::from_str(&json.replace("\\'", "'").replace("\\\\", "\\")).unwrap();
        assert_eq!(json["index"]["pipeline"], serde_json::json!(["stopWordFilter", "stemmer"]));
        assert_eq!(json["index"]["index"]["title"]["root"]["归"]["约"]["df"], 1, "{json}");
        std::fs::write(&path, "window.search = {}").unwrap();
        assert!(rebuild(dir.path(), "").is_err());
    }
}
