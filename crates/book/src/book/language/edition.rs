//! An edition of the book in another language, in a folder of the English site: its pages, each linked with the English one, its search,
//! and its words. Everything else, pictures, styles and labs, is the English site's.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use polib::catalog::Catalog;
use regex::Captures;

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
/// mdBook's helpers, which are no pages of the book: the whole of it to print, the contents without scripts, the answer to a wrong
/// address.
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

/// mdBook's own words on each page, as its template has them, but for those of what is not shown.
const MDBOOK: [&str; 21] = [
    "Keyboard shortcuts",
    "Press <kbd>←</kbd> or <kbd>→</kbd> to navigate between chapters",
    "Press <kbd>S</kbd> or <kbd>/</kbd> to search in the book",
    "Press <kbd>?</kbd> to show this help",
    "Press <kbd>Esc</kbd> to hide this help",
    "Table of contents",
    "Toggle Table of Contents",
    "Change theme",
    "Themes",
    "Auto",
    "Light",
    "Search (`/`)",
    "Toggle Searchbar",
    "Search this book ...",
    "Print this book",
    "Page navigation",
    "Previous chapter",
    "Next chapter",
    "Copy to clipboard",
    "Copied!",
    "Clipboard error!",
];
/// Mark of their messages.
const MDBOOK_MARK: &str = "mdbook";
/// Above what a search has found.
const FOUND: Word = Word { key: "found", english: "{words}: {count}" };
const NAME: Word = Word { key: "name", english: "English" };
const BEHIND: Word = Word { key: "behind", english: "Parts of this page are not translated yet, or no longer." };
const ENGLISH_ONLY: Word = Word { key: "englishOnly", english: "This appendix is in English." };
const READ: Word = Word { key: "read", english: "The page in English" };
const MEND: Word = Word { key: "mend", english: "How to mend it" };
/// All of them; the name is the language's own, and stands in the link to its edition.
const WORDS: [&Word; 6] = [&NAME, &BEHIND, &ENGLISH_ONLY, &READ, &MEND, &FOUND];

/// Marks and words of an edition about itself, and of mdBook.
pub fn words() -> impl Iterator<Item = (String, String)> {
    let own = WORDS.iter().map(|word| (word.mark(), word.english.to_owned()));
    own.chain(MDBOOK.iter().map(|word| (MDBOOK_MARK.to_owned(), (*word).to_owned())))
}

/// An edition's own words for what mdBook and its search say.
struct Around {
    words: Vec<(&'static str, String)>,
    found: String,
}

impl Around {
    fn of(catalogue: &Catalog) -> Around {
        let word = |english: &&'static str| Some((*english, said(catalogue, Some(MDBOOK_MARK), english)?));
        Around { words: MDBOOK.iter().filter_map(word).collect(), found: FOUND.in_language(catalogue) }
    }

    /// Puts them into the pages in `dir`, and into its search, which is made for Chinese where the language is.
    fn put(&self, dir: &Path, language: &str) -> Result<()> {
        for page in pages(dir)? {
            slim::rewrite(&dir.join(page), |text| self.in_page(text))?;
        }
        for file in files(dir)?.iter().filter(|file| is_mdbooks(file)) {
            slim::rewrite(&dir.join(file), |text| self.in_script(text))?;
        }
        // Of what is written in Han characters, mdBook's search takes a clause for a word.
        if language.starts_with("zh") { search::rebuild(dir, &self.found) } else { Ok(()) }
    }

    /// Replaces whole strings.
    fn in_script(&self, script: &str) -> String {
        let word = |text: String, (english, said): &(&str, String)| {
            text.replace(&format!("'{english}'"), &format!("'{}'", said.replace('\'', "\\'")))
        };
        self.words.iter().fold(script.to_owned(), word)
    }

    /// Replaces whole texts and attributes outside of the page's own content.
    fn in_page(&self, page: &str) -> String {
        let (head, rest) = page.split_once("<main>").unwrap_or((page, ""));
        let (main, foot) = rest.split_once("</main>").unwrap_or((rest, ""));
        let around = |part: &str| {
            self.words.iter().fold(part.to_owned(), |text, (english, said)| {
                let text = text.replace(&format!("=\"{english}\""), &format!("=\"{said}\""));
                text.replace(&format!(">{english}<"), &format!(">{said}<"))
            })
        };
        if rest.is_empty() { page.to_owned() } else { format!("{}<main>{main}</main>{}", around(head), around(foot)) }
    }
}

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
    let (name, around) = (NAME.in_language(&edition.catalogue), Around::of(&edition.catalogue));
    let notes = notes(&edition, true);
    super::build(root, edition.catalogue, notes, language, &dir)?;
    slim::slim(&dir)?;
    around.put(&dir, language)?;
    share(&dir, english)?;
    Ok(Other { tag: tag(language), folder: format!("{language}/"), name })
}

/// Builds the edition by itself, into `dir`.
///
/// # Errors
/// The errors of `super::build`.
pub fn build_alone(root: &Path, language: &str, dir: &Path) -> Result<Built> {
    let edition = catalogue::complete(&super::read(root, language)?, &*super::messages(root)?);
    let (notes, around) = (notes(&edition, false), Around::of(&edition.catalogue));
    let built = super::build(root, edition.catalogue, notes, language, dir)?;
    slim::slim(dir)?;
    around.put(dir, language)?;
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

/// Returns whether a file is mdBook's script of all pages, which labels buttons.
fn is_mdbooks(file: &str) -> bool {
    file.starts_with("book-") && file.ends_with(".js")
}

/// Files of the site in `dir`, from it, with `/` between the parts.
fn files(dir: &Path) -> Result<BTreeSet<String>> {
    Ok(workspace::walk(dir)?.iter().map(|file| workspace::name(dir, file)).collect())
}

pattern!(REFERENCE, r##" (href|src|data-src)="([^"#?:]+)""##);

// Emphasised words that begin with a Han character: book/theme/edition.css sets them without a slant.
pattern!(EMPHASIS, r"(?s)<em>(\p{Han}.*?)</em>");
// Blanks that Markdown asks for around emphasis, and that Chinese does not have.
pattern!(BLANK_BEFORE, r"([\p{Han}，。：；、？！）”]) (<(?:em|strong)>[\p{Han}（“])");
pattern!(BLANK_BEHIND, r"([\p{Han}，。：；、？！）”]</(?:em|strong)>) ([\p{Han}（“])");

/// Emphasis as Chinese has it: dots for a few words, none for a sentence.
fn emphasised(page: &str) -> String {
    let page = BLANK_BEFORE.replace_all(page, "$1$2");
    let page = BLANK_BEHIND.replace_all(&page, "$1$2");
    let word = |found: &Captures<'_>| {
        let class = if found[1].ends_with('。') { "han-sentence" } else { "han" };
        format!("<em class=\"{class}\">{}</em>", &found[1])
    };
    EMPHASIS.replace_all(&page, word).into_owned()
}

/// Leaves out what the English site has, and lets the pages of the edition in `dir` take it from there.
fn share(dir: &Path, english: &Path) -> Result<()> {
    let (own, shared) = (files(dir)?, files(english)?);
    // The scripts with words are the edition's own, and so is what mdBook names by its content where that differs.
    let is_own = |file: &str| {
        let has_words = is_mdbooks(file) || SCRIPTS.iter().any(|script| script.is_at(file));
        file.ends_with(".html") || file == slim::LABS || has_words
    };
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
            let text = emphasised(&text);
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
        for name in pages(&folder)? {
            let page = folder.join(&name);
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

/// Names of the pages of a site.
pub fn pages(dir: &Path) -> Result<Vec<String>> {
    let is_page = |name: &String| name.ends_with(".html") && !NO_PAGES.contains(&name.as_str());
    Ok(workspace::names(dir)?.into_iter().filter(is_page).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_mdbook_are_replaced_around_a_page_alone() {
        let around = Around { words: vec![("Light", "浅色".to_owned())], found: String::new() };
        let page = "<button title=\"Light\">Light</button><main><b>Light</b></main><p>Lights</p>";
        let expected = "<button title=\"浅色\">浅色</button><main><b>Light</b></main><p>Lights</p>";
        assert_eq!(around.in_page(page), expected);
        assert_eq!(around.in_script("a.title = 'Light'; b('Lights')"), "a.title = '浅色'; b('Lights')");
    }

    #[test]
    fn emphasis_has_no_blanks_around_it_and_sentences_no_dots() {
        let page = "按 <strong>线程束（warp）</strong> 运行，用 <em>n</em> 个 <em>字</em> 来写 <em>一句。</em>";
        let expected = "按<strong>线程束（warp）</strong>运行，用 <em>n</em> 个<em class=\"han\">字</em>来写<em class=\"han-sentence\">一句。</em>";
        assert_eq!(emphasised(page), expected);
    }

    #[test]
    fn an_edition_takes_what_is_the_same_from_the_english_site() {
        let page = |lang: &str, more: &str| {
            format!(
                "<html lang=\"{lang}\"><script src=\"a.js\"></script><script src=\"toc-{lang}.js\"></script>{BAR}</div><em>字</em>{more}"
            )
        };
        let dir = crate::tree(&[
            ("a.html", &page("en", "")),
            ("a.js", ""),
            ("toc-en.js", ""),
            ("zh_CN/a.html", &page("zh", "<em>n</em>")),
            ("zh_CN/404.html", ""),
            ("zh_CN/a.js", ""),
            ("zh_CN/toc-zh.js", ""),
        ]);
        let edition = dir.path().join("zh_CN");
        share(&edition, dir.path()).unwrap();
        let other = Other { tag: "zh-CN".to_owned(), folder: "zh_CN/".to_owned(), name: "中文".to_owned() };
        link(dir.path(), &[other]).unwrap();
        let left: Vec<String> = super::files(&edition).unwrap().into_iter().collect();
        assert_eq!(left, ["a.html", "toc-zh.js"]);
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let (english, chinese) = (read("a.html"), read("zh_CN/a.html"));
        assert!(chinese.contains("data-shared=\"../\"") && chinese.contains("src=\"../a.js\""), "{chinese}");
        assert!(
            chinese.contains("src=\"toc-zh.js\"") && chinese.contains("href=\"../a.html\" hreflang=\"en\""),
            "{chinese}"
        );
        assert!(chinese.contains("<em class=\"han\">字</em><em>n</em>"), "{chinese}");
        assert!(english.contains("href=\"zh_CN/a.html\" hreflang=\"zh-CN\" lang=\"zh-CN\">中文</a>"), "{english}");
    }
}
