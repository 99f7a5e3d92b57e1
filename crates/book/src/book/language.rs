//! The book in other languages: `cargo course book --messages` collects every sentence that a reader sees in `po/messages.pot`, and
//! brings the files of translations beside it up to date; `cargo course book` builds an edition for each of those.
//!
//! mdbook-i18n-helpers does it for Markdown, included tables too. What it passes by is done beside it: HTML in pages (`markup.rs`) and
//! the words of scripts (`words.rs`). A message without a translation stays in English; one whose numbers alone have changed keeps its
//! translation (`catalogue.rs`, `numbers.rs`). What an edition needs beside the translations is `edition.rs` and `search.rs`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, ensure};
use mdbook_driver::MDBook;
use mdbook_driver::book::{Book, BookItem, Chapter};
use mdbook_i18n_helpers::renderers::Xgettext;
use mdbook_i18n_helpers::{gettext, xgettext};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use mdbook_renderer::RenderContext;
use polib::catalog::Catalog;
use polib::message::MessageView;
use polib::metadata::CatalogMetadata;
use polib::po_file;

use super::{Built, glossary, guard, includes};
use course::workspace;

pub mod catalogue;
pub mod edition;
pub mod markup;
pub mod numbers;
mod search;
pub mod words;

/// Folder of the translations.
pub const FOLDER: &str = "po";
/// Style sheet of the editions alone.
const STYLE: &str = "book/theme/edition.css";
/// File with the names of pages.
const SUMMARY: &str = "book/src/SUMMARY.md";

/// Returns the path of the template.
pub fn template_path(root: &Path) -> PathBuf {
    root.join(FOLDER).join("messages.pot")
}

/// Every message of the book and of its scripts, as a reader meets them. What was found last is kept: to find it takes seconds, and the
/// gate asks three times.
///
/// # Errors
/// A book that cannot be loaded, scripts that do not run.
pub fn messages(root: &Path) -> Result<Arc<Catalog>> {
    static LAST: Mutex<Option<(u64, Arc<Catalog>)>> = Mutex::new(None);
    let book = MDBook::load(root)?;
    let (pages, _) = book.preprocess_book(&Xgettext)?;
    let mut key = DefaultHasher::new();
    root.hash(&mut key);
    pages.chapters().for_each(|chapter| (&chapter.name, &chapter.content).hash(&mut key));
    for file in words::SCRIPTS.iter().map(|script| script.path).chain(["book.toml", SUMMARY]) {
        std::fs::read(root.join(file)).with_context(|| format!("cannot read `{file}`"))?.hash(&mut key);
    }
    let key = key.finish();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = last.as_ref().filter(|(of, _)| *of == key) {
        return Ok(Arc::clone(found));
    }
    let found = Arc::new(messages_of(root, &book, pages)?);
    *last = Some((key, Arc::clone(&found)));
    Ok(found)
}

fn messages_of(root: &Path, book: &MDBook, mut pages: Book) -> Result<Catalog> {
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
    let about = [&book.config.book.title, &book.config.book.description];
    found.extend(about.into_iter().flatten().map(|words| (String::new(), words.clone(), "book.toml".to_owned())));
    for script in words::SCRIPTS {
        let of_script = script.words(root)?;
        found.extend(of_script.into_iter().map(|(key, text)| (script.context_of(&key), text, script.path.to_owned())));
    }
    found.extend(edition::words().map(|(mark, word)| (mark, word, edition::SOURCE.to_owned())));
    let order = Order::of(&pages);
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
        catalogue.append_or_update(catalogue::begun("", &text, &source).done());
    }
    for (mark, text, source) in found {
        let known = (!mark.is_empty()).then_some(mark.as_str());
        let source = match catalogue.find_message(known, &text, None) {
            Some(message) if message.source().contains(&source) => message.source().to_owned(),
            Some(message) => format!("{}\n{source}", message.source()),
            None => source,
        };
        catalogue.append_or_update(catalogue::begun(&mark, &text, &source).done());
    }
    Ok(order.sorted(catalogue))
}

/// Order of a book's files.
struct Order(HashMap<String, usize>);

impl Order {
    fn of(pages: &Book) -> Order {
        let paths =
            pages.chapters().filter_map(|chapter| Some(format!("book/src/{}", chapter.path.as_ref()?.display())));
        let files = std::iter::once(SUMMARY.to_owned()).chain(paths);
        Order(files.enumerate().map(|(place, file)| (file, place)).collect())
    }

    /// First place of a message: file, name of a file that is no page, line.
    fn place(&self, message: &dyn MessageView) -> (usize, String, usize) {
        let place = |place: &str| {
            let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
            match self.0.get(file) {
                Some(&rank) => (rank, String::new(), line.parse().unwrap_or(0)),
                None => (usize::MAX, file.to_owned(), 0),
            }
        };
        message.source().split_whitespace().map(place).min().unwrap_or_default()
    }

    /// The messages as a reader meets them.
    fn sorted(&self, catalogue: Catalog) -> Catalog {
        let mut all: Vec<_> = catalogue.messages().map(|message| (self.place(message), message)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sorted = Catalog::new(CatalogMetadata::new());
        for (_, message) in all {
            sorted.append_or_update(catalogue::begun(message.msgctxt(), message.msgid(), message.source()).done());
        }
        sorted.metadata = catalogue.metadata;
        sorted
    }
}

/// Writes the template, and brings the files of translations up to date. Returns each file with its number of messages.
///
/// # Errors
/// The errors of `messages`, a file of translations that cannot be read, or a folder that cannot be written to.
pub fn write_messages(root: &Path) -> Result<Vec<(PathBuf, usize)>> {
    let today = messages(root)?;
    std::fs::create_dir_all(root.join(FOLDER))?;
    let mut template = catalogue::updated(&Catalog::new(CatalogMetadata::new()), &today);
    template.metadata = CatalogMetadata::parse(&today.metadata.export_for_po()).map_err(|error| anyhow!("{error}"))?;
    let mut files = vec![(template_path(root), template)];
    for language in languages(root)? {
        let po = read(root, &language)?;
        let mut new = catalogue::updated(&po, &today);
        new.metadata = po.metadata;
        files.push((path(root, &language), new));
    }
    let write = |(path, catalogue): (PathBuf, Catalog)| {
        po_file::write(&catalogue, &path).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok((path, catalogue.count()))
    };
    files.into_iter().map(write).collect()
}

/// Returns the path of a language's translations.
pub fn path(root: &Path, language: &str) -> PathBuf {
    root.join(FOLDER).join(format!("{language}.po"))
}

/// Languages that have a file of translations, in the order of their names.
///
/// # Errors
/// A folder that cannot be read.
pub fn languages(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(FOLDER);
    let files = if folder.is_dir() { workspace::walk(&folder)? } else { Vec::new() };
    let name = |file: &PathBuf| Some(file.file_name()?.to_str()?.strip_suffix(".po")?.to_owned());
    let mut languages: Vec<String> = files.iter().filter_map(name).collect();
    languages.sort();
    Ok(languages)
}

/// The translations of a language, `zh_CN` for example.
///
/// # Errors
/// A name of another form, no such file, or one that is not gettext's.
pub fn read(root: &Path, language: &str) -> Result<Catalog> {
    let is_name = !language.is_empty() && language.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    ensure!(is_name, "`{language}` is no language: write it as zh_CN or de");
    let path = path(root, language);
    ensure!(
        path.is_file(),
        "there is no `{FOLDER}/{language}.po`: `cargo course book --messages` writes the template that it begins with"
    );
    po_file::parse(&path).map_err(|error| anyhow!("`{FOLDER}/{language}.po` is no file of gettext: {error}"))
}

/// Builds the book with translations, into `dir`; `notes` are put under the titles of the pages that they name.
///
/// # Errors
/// The errors of the English build, and a translation that fills in other values.
pub fn build(root: &Path, catalogue: Catalog, notes: Notes, language: &str, dir: &Path) -> Result<Built> {
    let mut book = MDBook::load(root)?;
    guard(dir, &book.source_dir())?;
    includes::check(root, &book.source_dir())?.findings.verdict()?;
    let tag = language.replace('_', "-");
    book.config.book.language = Some(tag.clone());
    book.config.build.build_dir = dir.to_path_buf();
    let styles: Option<Vec<String>> = book.config.get("output.html.additional-css")?;
    let styles: Vec<String> = styles.into_iter().flatten().chain([STYLE.to_owned()]).collect();
    book.config.set("output.html.additional-css", styles)?;
    for words in [&mut book.config.book.title, &mut book.config.book.description].into_iter().flatten() {
        *words = said(&catalogue, None, words).unwrap_or_else(|| words.clone());
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
    book.with_preprocessor(Translator::new(catalogue, glossary::parse(&glossary)?, notes));
    book.build()?;
    for (script, words) in scripts {
        script.replace(dir, &words, &tag)?;
    }
    Ok(Built { dir: dir.to_path_buf(), pages })
}

/// Returns a message in the other language, if it has a translation that is not marked fuzzy.
fn said(catalogue: &Catalog, mark: Option<&str>, sentence: &str) -> Option<String> {
    let message = catalogue.find_message(mark, sentence, None)?;
    catalogue::is_said(message).then(|| message.msgstr().ok().map(str::to_owned)).flatten()
}

/// Paragraphs of HTML by the file of their page.
pub type Notes = HashMap<String, String>;

/// Translates a book behind mdBook's own preprocessors, and then shows what terms mean.
struct Translator {
    catalogue: Catalog,
    terms: Vec<glossary::Term>,
    notes: Notes,
}

impl Translator {
    fn new(mut catalogue: Catalog, mut terms: Vec<glossary::Term>, notes: Notes) -> Translator {
        gettext::add_stripped_summary_translations(&mut catalogue);
        for term in &mut terms {
            // A title is between quotes.
            if let Some(meaning) = said(&catalogue, None, &term.meaning) {
                term.meaning = meaning.replace('"', "&quot;");
            }
        }
        Translator { catalogue, terms, notes }
    }

    fn chapter(&self, chapter: &mut Chapter) {
        let named = markup::prepared(&chapter.content);
        chapter.content = markup::in_html(&named, |_, text| said(&self.catalogue, None, text));
    }

    /// Puts a page's note under its title.
    fn note(&self, chapter: &mut Chapter) {
        let path = chapter.path.as_deref().unwrap_or(Path::new("")).display();
        let Some(note) = self.notes.get(&format!("book/src/{path}")) else { return };
        let title_end = chapter.content.find('\n').unwrap_or(chapter.content.len());
        chapter.content.insert_str(title_end, &format!("\n\n{note}\n"));
    }
}

impl Preprocessor for Translator {
    fn name(&self) -> &str {
        "translator"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_chapter_mut(|chapter| self.chapter(chapter));
        gettext::translate_book(&self.catalogue, &mut book)?;
        book.for_each_chapter_mut(|chapter| {
            chapter.content = glossary::explained(&chapter.content, &self.terms);
            self.note(chapter);
        });
        Ok(book)
    }
}
