//! The book in other languages: `cargo course book --messages` collects every sentence that a reader sees in `po/messages.pot`, and
//! `--language zh_CN` builds the book with what `po/zh_CN.po` says of them.
//!
//! mdbook-i18n-helpers does it for Markdown, included tables too. What it passes by is done beside it: HTML in pages (`markup.rs`) and
//! the words of scripts (`words.rs`). A message without a translation stays in English.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use mdbook_driver::MDBook;
use mdbook_driver::book::{Book, BookItem, Chapter};
use mdbook_i18n_helpers::renderers::Xgettext;
use mdbook_i18n_helpers::{gettext, xgettext};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use mdbook_renderer::RenderContext;
use polib::catalog::Catalog;
use polib::message::Message;
use polib::po_file;

use super::{Built, glossary, guard, includes};

pub mod markup;
pub mod words;

/// Folder of the translations.
pub const FOLDER: &str = "po";
/// File with the names of pages.
const SUMMARY: &str = "book/src/SUMMARY.md";

/// Returns the path of the template.
pub fn template_path(root: &Path) -> PathBuf {
    root.join(FOLDER).join("messages.pot")
}

/// Every message of the book and of its scripts.
///
/// # Errors
/// A book that cannot be loaded, scripts that do not run.
pub fn messages(root: &Path) -> Result<Catalog> {
    let book = MDBook::load(root)?;
    let (mut pages, _) = book.preprocess_book(&Xgettext)?;
    pages.for_each_chapter_mut(|chapter| chapter.content = markup::prepared(&chapter.content));
    let mut found = Vec::new();
    for chapter in pages.chapters() {
        let path = chapter.path.as_deref().unwrap_or(Path::new("")).display().to_string();
        markup::in_html(&chapter.content, |line, text| {
            found.push((String::new(), text.to_owned(), format!("book/src/{path}:{line}")));
            None
        });
    }
    let names = pages.iter().filter_map(|item| match item {
        BookItem::Chapter(chapter) => Some(chapter.name.clone()),
        BookItem::PartTitle(title) => Some(title.clone()),
        BookItem::Separator => None,
    });
    found.extend(names.map(|name| (String::new(), name, SUMMARY.to_owned())));
    if let Some(title) = &book.config.book.title {
        found.push((String::new(), title.clone(), "book.toml".to_owned()));
    }
    for script in words::SCRIPTS {
        let of_script = script.words(root)?;
        found.extend(of_script.into_iter().map(|(key, text)| (script.context_of(&key), text, script.path.to_owned())));
    }
    let context = RenderContext::new(book.root.clone(), pages, book.config.clone(), root.join(FOLDER));
    let catalogues = xgettext::create_catalogs(&context, std::fs::read_to_string)?;
    // All pages are in one, unless book.toml asks for more.
    let of_pages = catalogues.into_values().next().context("a book without pages has no messages")?;
    // A cell of a table may be a number. Lines of the summary that are no list are one message there: its names are found above.
    let is_worded = |text: &str, source: &str| {
        markup::has_words(text) && !(source.split_whitespace().all(|place| place.starts_with(SUMMARY)))
    };
    let worded = of_pages.messages().filter(|message| is_worded(message.msgid(), message.source()));
    let kept: Vec<_> = worded.map(|message| (message.msgid().to_owned(), message.source().to_owned())).collect();
    let mut catalogue = Catalog::new(of_pages.metadata);
    for (text, source) in kept {
        catalogue.append_or_update(Message::build_singular().with_msgid(text).with_source(source).done());
    }
    for (mark, text, source) in found {
        let known = (!mark.is_empty()).then_some(mark.as_str());
        let source = match catalogue.find_message(known, &text, None) {
            Some(message) if message.source().contains(&source) => message.source().to_owned(),
            Some(message) => format!("{}\n{source}", message.source()),
            None => source,
        };
        let mut message = Message::build_singular();
        message.with_msgid(text).with_source(source);
        if let Some(mark) = known {
            message.with_msgctxt(mark.to_owned());
        }
        catalogue.append_or_update(message.done());
    }
    Ok(catalogue)
}

/// Writes the template.
///
/// # Errors
/// The errors of `messages`, or a folder that cannot be written to.
pub fn write_template(root: &Path) -> Result<(PathBuf, usize)> {
    let (path, catalogue) = (template_path(root), messages(root)?);
    std::fs::create_dir_all(root.join(FOLDER))?;
    po_file::write(&catalogue, &path).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok((path, catalogue.count()))
}

/// The translations of a language, `zh_CN` for example.
///
/// # Errors
/// A name of another form, no such file, or one that is not gettext's.
pub fn read(root: &Path, language: &str) -> Result<Catalog> {
    let is_name = !language.is_empty() && language.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    ensure!(is_name, "`{language}` is no language: write it as zh_CN or de");
    let path = root.join(FOLDER).join(format!("{language}.po"));
    ensure!(
        path.is_file(),
        "there is no `{FOLDER}/{language}.po`: `cargo course book --messages` writes the template that it begins with"
    );
    po_file::parse(&path).map_err(|error| anyhow!("`{FOLDER}/{language}.po` is no file of gettext: {error}"))
}

/// Builds the book with translations, into `dir`.
///
/// # Errors
/// The errors of the English build, and a translation that fills in other values.
pub fn build(root: &Path, catalogue: Catalog, language: &str, dir: &Path) -> Result<Built> {
    let mut book = MDBook::load(root)?;
    guard(dir, &book.source_dir())?;
    includes::check(root, &book.source_dir())?.findings.verdict()?;
    let tag = language.replace('_', "-");
    book.config.book.language = Some(tag.clone());
    book.config.build.build_dir = dir.to_path_buf();
    if let Some(title) = book.config.book.title.take() {
        book.config.book.title = Some(said(&catalogue, None, &title).unwrap_or(title));
    }
    let pages = book.iter().filter(|item| matches!(item, BookItem::Chapter(_))).count();
    let mut scripts = Vec::new();
    for script in words::SCRIPTS {
        let mut words = script.words(root)?;
        for (key, sentence) in &mut words {
            if let Some(new) = said(&catalogue, Some(&script.context_of(key)), sentence) {
                words::same_places(&script.context_of(key), sentence, &new)?;
                *sentence = new;
            }
        }
        scripts.push((script, words));
    }
    let glossary = std::fs::read_to_string(book.source_dir().join(glossary::PAGE)).unwrap_or_default();
    book.with_preprocessor(Translator::new(catalogue, glossary::parse(&glossary)?));
    book.build()?;
    for (script, words) in scripts {
        script.replace(dir, &words, &tag)?;
    }
    Ok(Built { dir: dir.to_path_buf(), pages })
}

/// Returns a message in the other language, if it has a translation that is not marked fuzzy.
fn said(catalogue: &Catalog, mark: Option<&str>, sentence: &str) -> Option<String> {
    let message = catalogue.find_message(mark, sentence, None)?;
    let is_good = message.is_translated() && !message.is_fuzzy();
    is_good.then(|| message.msgstr().ok().map(str::to_owned)).flatten()
}

/// Translates a book behind mdBook's own preprocessors, and then shows what terms mean.
struct Translator {
    catalogue: Catalog,
    terms: Vec<glossary::Term>,
}

impl Translator {
    fn new(mut catalogue: Catalog, mut terms: Vec<glossary::Term>) -> Translator {
        gettext::add_stripped_summary_translations(&mut catalogue);
        for term in &mut terms {
            // A title is between quotes.
            if let Some(meaning) = said(&catalogue, None, &term.meaning) {
                term.meaning = meaning.replace('"', "&quot;");
            }
        }
        Translator { catalogue, terms }
    }

    fn chapter(&self, chapter: &mut Chapter) {
        let named = markup::prepared(&chapter.content);
        chapter.content = markup::in_html(&named, |_, text| said(&self.catalogue, None, text));
    }
}

impl Preprocessor for Translator {
    fn name(&self) -> &str {
        "translator"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_chapter_mut(|chapter| self.chapter(chapter));
        gettext::translate_book(&self.catalogue, &mut book)?;
        book.for_each_chapter_mut(|chapter| chapter.content = glossary::explained(&chapter.content, &self.terms));
        Ok(book)
    }
}
