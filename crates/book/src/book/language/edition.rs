//! An edition of the book in another language, in a folder of the English site: its pages, each linked with the English one, its search,
//! and its words. Everything else, pictures, styles and labs, is the English site's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use polib::catalog::Catalog;
use regex::{Captures, Regex};

use course::workspace;

use super::catalogue::{self, ENGLISH_PAGES, Edition, Page};
use super::words::SCRIPTS;
use super::{Notes, said, search};
use crate::book::{Built, slim};

/// File that the template names for the words below.
pub const SOURCE: &str = "crates/book/src/book/language/edition.rs";
/// What a reader of a page that is behind can do.
const GUIDE: &str = "https://github.com/reduction-course/reduction-course/blob/main/contributing/translate.md";
/// Page of a site for what it has not.
const NOT_FOUND: &str = "404.html";
/// Pages of a site that are no pages of the book.
const NO_PAGES: [&str; 3] = ["print.html", "toc.html", NOT_FOUND];
/// Place of the link to another edition.
const BAR: &str = "<div class=\"right-buttons\">";

/// Words of an edition about itself.
pub struct Word {
    key: &'static str,
    /// The word.
    pub english: &'static str,
}

impl Word {
    /// Mark of its message.
    pub fn mark(&self) -> String {
        format!("edition: {}", self.key)
    }

    fn in_language(&self, catalogue: &Catalog) -> String {
        said(catalogue, Some(&self.mark()), self.english).unwrap_or_else(|| self.english.to_owned())
    }
}

const NAME: Word = Word { key: "name", english: "English" };
const BEHIND: Word = Word { key: "behind", english: "Parts of this page are not translated yet, or no longer." };
const ENGLISH_ONLY: Word = Word { key: "englishOnly", english: "This appendix is in English." };
const READ: Word = Word { key: "read", english: "The page in English" };
const MEND: Word = Word { key: "mend", english: "How to mend it" };
/// All of them; the name is the language's own, and stands in the link to its edition.
pub const WORDS: [&Word; 5] = [&NAME, &BEHIND, &ENGLISH_ONLY, &READ, &MEND];

/// An edition that stands in a site.
struct Other {
    /// Tag of its language: `zh-CN`.
    tag: String,
    /// Its folder from the English pages.
    folder: String,
    /// Its language's own name.
    name: String,
}

/// Tag of a language as browsers write it.
fn tag(language: &str) -> String {
    language.replace('_', "-")
}

fn is_written_in_han(language: &str) -> bool {
    language.starts_with("zh")
}

/// Builds the edition of each language that has translations into the English site in `dir`, which is built and slim, and links them.
///
/// # Errors
/// The errors of `super::build`, a site of another form.
pub fn build_all(root: &Path, dir: &Path) -> Result<()> {
    let languages = super::languages(root)?;
    if languages.is_empty() {
        return Ok(());
    }
    let today = super::messages(root)?;
    let others: Vec<Other> =
        languages.iter().map(|language| build_beside(root, &today, language, dir)).collect::<Result<_>>()?;
    link(dir, &others)
}

/// Builds the edition of a language into its folder of the English site in `english`, which is built and slim.
fn build_beside(root: &Path, today: &Catalog, language: &str, english: &Path) -> Result<Other> {
    let edition = catalogue::complete(&super::read(root, language)?, today);
    let dir = english.join(language);
    let name = NAME.in_language(&edition.catalogue);
    let notes = notes(&edition, true);
    super::build(root, edition.catalogue, notes, language, &dir)?;
    slim::slim(&dir)?;
    if is_written_in_han(language) {
        search::rebuild(&dir)?;
    }
    share(&dir, english)?;
    Ok(Other { tag: tag(language), folder: format!("{language}/"), name })
}

/// Builds the edition by itself, into `dir`.
///
/// # Errors
/// The errors of `super::build`.
pub fn build_alone(root: &Path, language: &str, dir: &Path) -> Result<Built> {
    let edition = catalogue::complete(&super::read(root, language)?, &*super::messages(root)?);
    let notes = notes(&edition, false);
    let built = super::build(root, edition.catalogue, notes, language, dir)?;
    slim::slim(dir)?;
    if is_written_in_han(language) {
        search::rebuild(dir)?;
    }
    Ok(built)
}

/// Lines for the pages that are behind the English ones, and for those that stay English.
fn notes(edition: &Edition, has_english: bool) -> Notes {
    let counts = edition.pages();
    let word = |word: &Word| word.in_language(&edition.catalogue);
    let note = |file: &str, what: &Word, more: Option<String>| {
        let page = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        let read = has_english.then(|| format!("<a href=\"../{page}.html\" hreflang=\"en\">{}</a>", word(&READ)));
        let parts: Vec<String> = std::iter::once(word(what)).chain(read).chain(more).collect();
        (file.to_owned(), format!("<p class=\"edition-note\" role=\"note\">{}</p>", parts.join(" ")))
    };
    let is_page = |file: &str| file.starts_with("book/src/") && file.ends_with(".md") && file != super::SUMMARY;
    let behind = counts
        .iter()
        .filter(|(file, page)| is_page(file) && !ENGLISH_PAGES.contains(&file.as_str()) && Page::is_behind(**page))
        .map(|(file, _)| note(file, &BEHIND, Some(format!("<a href=\"{GUIDE}\">{}</a>", word(&MEND)))));
    behind.chain(ENGLISH_PAGES.iter().map(|file| note(file, &ENGLISH_ONLY, None))).collect()
}

/// Files of the site in `dir`, from it, with `/` between the parts.
fn files(dir: &Path) -> Result<BTreeSet<String>> {
    Ok(workspace::walk(dir)?.iter().map(|file| workspace::name(dir, file)).collect())
}

static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r##" (href|src|data-src)="([^"#?:]+)""##).expect("a fixed pattern"));

/// Emphasised words that begin with a Han character: book/theme/edition.css sets them without a slant.
static EMPHASIS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"<em>(\p{Han})").expect("a fixed pattern"));

/// Leaves out what the English site has, and lets the pages of the edition in `dir` take it from there.
fn share(dir: &Path, english: &Path) -> Result<()> {
    let (own, shared) = (files(dir)?, files(english)?);
    // The scripts with words are the edition's own, and so is what mdBook names by its content where that differs.
    let is_own =
        |file: &str| file.ends_with(".html") || file == slim::LABS || SCRIPTS.iter().any(|script| script.is_at(file));
    let shared: BTreeSet<&str> =
        own.iter().map(String::as_str).filter(|file| shared.contains(*file) && !is_own(file)).collect();
    for file in &shared {
        std::fs::remove_file(dir.join(file)).with_context(|| format!("cannot remove `{file}` of an edition"))?;
    }
    // Servers know one page for what is not there, the English site's.
    std::fs::remove_file(dir.join(NOT_FOUND)).context("an edition is without a page for what is not there")?;
    for file in own.iter().filter(|file| file.ends_with(".html") && *file != NOT_FOUND) {
        let depth = file.matches('/').count();
        ensure!(depth == 0, "`{file}` of an edition is in a folder of its own, and its links to shared files are not");
        slim::rewrite(&dir.join(file), |text| {
            let text = REFERENCE.replace_all(text, |found: &Captures<'_>| match shared.contains(&found[2]) {
                true => format!(" {}=\"../{}\"", &found[1], &found[2]),
                false => found[0].to_owned(),
            });
            let text = EMPHASIS.replace_all(&text, "<em class=\"han\">$1");
            // book/theme/lab.js loads the labs from there.
            text.replacen("<html ", "<html data-shared=\"../\" ", 1)
        })?;
    }
    Ok(())
}

/// Links the pages of the English site in `dir` with those of its editions, and these with each other.
fn link(dir: &Path, others: &[Other]) -> Result<()> {
    let english = Other { tag: "en".to_owned(), folder: String::new(), name: NAME.english.to_owned() };
    for here in std::iter::once(&english).chain(others) {
        let up = if here.folder.is_empty() { "" } else { "../" };
        let there: Vec<&Other> =
            std::iter::once(&english).chain(others).filter(|other| other.folder != here.folder).collect();
        let folder = dir.join(&here.folder);
        for page in pages(&folder)? {
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&page)?;
            ensure!(text.contains(BAR), "`{name}` has no place for the link to its other edition: no `{BAR}`");
            let link = |other: &&Other| {
                let Other { tag, folder, name: language } = other;
                format!(
                    "<a class=\"edition\" rel=\"alternate\" href=\"{up}{folder}{name}\" hreflang=\"{tag}\" lang=\"{tag}\">{language}</a>"
                )
            };
            let links: String = there.iter().map(link).collect();
            std::fs::write(&page, text.replacen(BAR, &format!("{BAR}{links}"), 1))?;
        }
    }
    Ok(())
}

/// Pages of the book in a folder.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".html") && !NO_PAGES.contains(&&*name) {
            pages.push(path);
        }
    }
    Ok(pages)
}
