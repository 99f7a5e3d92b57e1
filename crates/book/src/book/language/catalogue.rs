//! A file of translations beside today's messages: which of them it covers, and what it becomes when the book has changed.
//!
//! A translation covers its message, and every message that differs from it in numbers alone (`numbers.rs`). So the file keeps one
//! message of those, with the numbers of the day on which it was written, and a new record does not change it.

use std::collections::{BTreeMap, HashMap, HashSet};

use polib::catalog::Catalog;
use polib::message::{Message, MessageBuilder, MessageFlags, MessageView};
use polib::metadata::CatalogMetadata;

use super::numbers;

/// Pages that may stay English: what is only there is not asked for.
pub const ENGLISH_PAGES: [&str; 4] =
    ["book/src/on-the-card.md", "book/src/in-the-sources.md", "book/src/sources.md", "book/src/instructions.md"];
/// How alike two texts must be for one to be the other's earlier form; 1 is equal.
const ALIKE_MIN: f64 = 0.6;

/// Relation of a message to the translations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Translated, perhaps with other numbers.
    Translated,
    /// There is a translation of an earlier form, or one that is marked fuzzy.
    Changed,
    /// Nothing says it in the other language.
    Missing,
}

/// Today's messages with their translations.
pub struct Edition {
    /// Every message that has one, in full.
    pub catalogue: Catalog,
    /// For each message that is asked for: its state, its text, and the files where it stands.
    pub states: Vec<(State, String, Vec<String>)>,
}

/// Messages of one page, and those of them that are not translated.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// All of them.
    pub all: usize,
    /// Those that stay English.
    pub lacking: usize,
}

impl Page {
    /// Returns whether more than a tenth is not translated.
    pub fn is_behind(self) -> bool {
        self.lacking * 10 > self.all
    }
}

impl Edition {
    /// Counts by page, each by its file.
    pub fn pages(&self) -> BTreeMap<String, Page> {
        let mut pages: BTreeMap<String, Page> = BTreeMap::new();
        for (state, _, files) in &self.states {
            for file in files {
                let page = pages.entry(file.clone()).or_default();
                page.all += 1;
                page.lacking += usize::from(*state != State::Translated);
            }
        }
        pages
    }
}

/// A message's mark, where it has one.
fn mark(message: &dyn MessageView) -> Option<&str> {
    Some(message.msgctxt()).filter(|mark| !mark.is_empty())
}

/// Files where a message stands, each once.
fn files(message: &dyn MessageView) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for place in message.source().split_whitespace() {
        let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
        if files.iter().all(|known| known != file) {
            files.push(file.to_owned());
        }
    }
    files
}

/// Returns whether a translation is asked for: whole listings stay as they are, and so may some pages.
fn is_asked(message: &dyn MessageView) -> bool {
    !is_listing(message.msgid()) && !files(message).iter().all(|file| ENGLISH_PAGES.contains(&file.as_str()))
}

/// Returns whether a message is said in the other language.
pub fn is_said(message: &dyn MessageView) -> bool {
    message.is_translated() && !message.is_fuzzy()
}

/// Messages by their mark and skeleton.
#[derive(Default)]
struct Bones<'a>(HashMap<(&'a str, String), Vec<(&'a str, &'a str)>>);

impl<'a> Bones<'a> {
    /// Those of the file that are translated.
    fn of(po: &'a Catalog) -> Bones<'a> {
        let mut bones = Bones::default();
        for message in po.messages().filter(|&message| is_said(message)) {
            bones.add(message.msgctxt(), message.msgid(), message.msgstr().unwrap_or_default());
        }
        bones
    }

    fn add(&mut self, mark: &'a str, text: &'a str, said: &'a str) {
        self.0.entry((mark, numbers::skeleton(text))).or_default().push((text, said));
    }

    fn alike(&self, mark: &'a str, text: &str) -> &[(&'a str, &'a str)] {
        self.0.get(&(mark, numbers::skeleton(text))).map_or(&[], Vec::as_slice)
    }

    /// What one of them says of `text`, and which one.
    fn carried(&self, mark: &'a str, text: &str) -> Option<(&'a str, String)> {
        self.alike(mark, text).iter().find_map(|&(old, said)| Some((old, numbers::carried(old, said, text)?)))
    }
}

/// Translates today's messages by the file.
pub fn complete(po: &Catalog, today: &Catalog) -> Edition {
    let bones = Bones::of(po);
    let mut edition = Edition { catalogue: Catalog::new(CatalogMetadata::new()), states: Vec::new() };
    for message in today.messages() {
        let (text, known) = (message.msgid(), po.find_message(mark(message), message.msgid(), None));
        let exact = known.filter(|&known| is_said(known)).and_then(|known| known.msgstr().ok().map(str::to_owned));
        let said = exact.or_else(|| bones.carried(message.msgctxt(), text).map(|(_, said)| said));
        let has_earlier = known.is_some_and(MessageView::is_fuzzy) || !bones.alike(message.msgctxt(), text).is_empty();
        let state = match (&said, has_earlier) {
            (Some(_), _) => State::Translated,
            (None, true) => State::Changed,
            (None, false) => State::Missing,
        };
        if is_asked(message) {
            edition.states.push((state, text.to_owned(), files(message)));
        }
        if let Some(said) = said {
            edition.catalogue.append_or_update(written(message, message.source(), &said, false));
        }
    }
    edition
}

/// A message that is not translated yet; the mark may be empty.
pub fn begun(mark: &str, text: &str, source: &str) -> MessageBuilder {
    let mut new = Message::build_singular();
    new.with_msgid(text.to_owned()).with_source(source.to_owned());
    if !mark.is_empty() {
        new.with_msgctxt(mark.to_owned());
    }
    new
}

/// A message of today with a translation.
fn written(message: &dyn MessageView, source: &str, said: &str, is_fuzzy: bool) -> Message {
    let mut new = begun(message.msgctxt(), message.msgid(), source);
    new.with_msgstr(said.to_owned());
    if is_fuzzy {
        let mut flags = MessageFlags::new();
        flags.add_flag("fuzzy");
        new.with_flags(flags);
    }
    new.done()
}

/// Today's messages, each with what `say` makes of it, but for whole listings.
pub fn translated(today: &Catalog, say: impl Fn(&str) -> String) -> Catalog {
    let mut catalogue = Catalog::new(CatalogMetadata::new());
    for message in today.messages().filter(|message| !is_listing(message.msgid())) {
        catalogue.append_or_update(written(message, message.source(), &say(message.msgid()), false));
    }
    catalogue
}

/// Returns whether a message is a whole listing, which begins with its fence.
fn is_listing(text: &str) -> bool {
    text.is_empty() || text.starts_with("```")
}

/// The file of translations as it must be today: translations go on to messages that differ in numbers, new messages come without one,
/// or with that of a similar text that is gone, marked fuzzy; what nothing needs is left out. Without a file this is the template.
pub fn updated(po: &Catalog, today: &Catalog) -> Catalog {
    let old = Bones::of(po);
    let mut gone = Gone::new(po, today);
    let mut kept = Bones::default();
    // By the place in today's order: the translation, and whether it is one of another text.
    let mut said: BTreeMap<usize, (String, bool)> = BTreeMap::new();
    let asked: Vec<_> = today.messages().filter(|&message| is_asked(message)).enumerate().collect();
    for &(place, message) in &asked {
        if let Some(known) = po.find_message(mark(message), message.msgid(), None)
            && known.is_translated()
        {
            said.insert(place, (known.msgstr().unwrap_or_default().to_owned(), known.is_fuzzy()));
            // What covers others is the text, as long as a translator keeps to its numbers.
            kept.add(message.msgctxt(), message.msgid(), message.msgid());
        }
    }
    for &(place, message) in &asked {
        let (mark, text) = (message.msgctxt(), message.msgid());
        if said.contains_key(&place) || kept.carried(mark, text).is_some() {
            continue;
        }
        let new = match old.carried(mark, text) {
            Some((from, new)) => {
                gone.take(mark, from);
                (new, false)
            }
            None => gone.nearest(mark, text).map_or((String::new(), false), |new| (new, true)),
        };
        said.insert(place, new);
        kept.add(mark, text, text);
    }
    let mut catalogue = Catalog::new(CatalogMetadata::new());
    // A file is named where its first message stands: the names of all places weigh as much as the words.
    let mut named = String::new();
    for (place, message) in asked {
        let Some((said, is_fuzzy)) = said.remove(&place) else { continue };
        let file = files(message).into_iter().next().unwrap_or_default();
        let source = if file == named { "" } else { &file };
        catalogue.append_or_update(written(message, source, &said, is_fuzzy));
        named = file;
    }
    catalogue
}

/// Translations of messages that are not in the book any more.
struct Gone<'a>(Vec<(&'a str, &'a str, &'a str)>);

impl<'a> Gone<'a> {
    fn new(po: &'a Catalog, today: &Catalog) -> Gone<'a> {
        let is_gone = |message: &&dyn MessageView| today.find_message(mark(*message), message.msgid(), None).is_none();
        let gone = po.messages().filter(|message| message.is_translated()).filter(is_gone);
        Gone(gone.map(|message| (message.msgctxt(), message.msgid(), message.msgstr().unwrap_or_default())).collect())
    }

    /// Forgets one.
    fn take(&mut self, mark: &str, text: &str) {
        self.0.retain(|&(of, old, _)| (of, old) != (mark, text));
    }

    /// Takes the translation of the text that is most alike, under the same mark: a script's key is a mark.
    fn nearest(&mut self, mark: &str, text: &str) -> Option<String> {
        let likeness = |old: &str| strsim::sorensen_dice(old, text);
        let alike = self.0.iter().filter(|(of, ..)| *of == mark).map(|&(_, old, said)| (likeness(old), old, said));
        let (_, old, said) = alike.filter(|one| one.0 >= ALIKE_MIN).max_by(|a, b| a.0.total_cmp(&b.0))?;
        self.take(mark, old);
        Some(said.to_owned())
    }
}

/// Messages of the file that are in no page any more, and cover none that is.
pub fn obsolete(po: &Catalog, today: &Catalog) -> usize {
    let needed: HashSet<(&str, String)> =
        today.messages().map(|message| (message.msgctxt(), numbers::skeleton(message.msgid()))).collect();
    po.messages()
        .filter(|message| !message.msgid().is_empty())
        .filter(|message| !needed.contains(&(message.msgctxt(), numbers::skeleton(message.msgid()))))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A catalogue of messages with their translations, on one page.
    fn catalogue(all: &[(&str, &str)]) -> Catalog {
        let mut catalogue = Catalog::new(CatalogMetadata::new());
        for (text, said) in all {
            catalogue.append_or_update(begun("", text, "book/src/a.md:1").with_msgstr((*said).to_owned()).done());
        }
        catalogue
    }

    fn today(all: &[&str]) -> Catalog {
        catalogue(&all.iter().map(|text| (*text, "")).collect::<Vec<_>>())
    }

    fn all(catalogue: &Catalog) -> Vec<(&str, &str, bool)> {
        let one = |message| -> (&str, &str, bool) {
            let message: &dyn MessageView = message;
            (message.msgid(), message.msgstr().unwrap_or_default(), message.is_fuzzy())
        };
        catalogue.messages().map(one).collect()
    }

    const BOOK: [(&str, &str); 4] =
        [("One sum", "一个和"), ("8 of 16", "16 中的 8"), ("8 by 8", "8 乘 8"), ("`f32` adds", "`f32` 相加")];

    #[test]
    fn an_unchanged_book_is_said_as_the_file_says_it() {
        let po = catalogue(&BOOK);
        let edition = complete(&po, &today(&BOOK.map(|(text, _)| text)));
        assert_eq!(all(&edition.catalogue), all(&po));
        assert!(edition.states.iter().all(|(state, ..)| *state == State::Translated));
        assert_eq!(all(&updated(&po, &today(&BOOK.map(|(text, _)| text)))), all(&po));
        assert_eq!(obsolete(&po, &today(&BOOK.map(|(text, _)| text))), 0);
    }

    #[test]
    fn numbers_change_without_a_new_message() {
        let (po, new) = (catalogue(&BOOK), today(&["One sum", "9 of 16", "7 of 32", "8 by 8", "`f32` adds"]));
        let edition = complete(&po, &new);
        let said =
            |text: &str| all(&edition.catalogue).into_iter().find(|one| one.0 == text).map(|one| one.1.to_owned());
        assert_eq!(said("9 of 16").as_deref(), Some("16 中的 9"));
        assert_eq!(said("7 of 32").as_deref(), Some("32 中的 7"));
        let updated = updated(&po, &new);
        assert_eq!(updated.count(), 4, "two messages that differ in numbers are one");
        assert!(all(&updated).contains(&("9 of 16", "16 中的 9", false)));
    }

    #[test]
    fn what_cannot_be_carried_is_changed_and_what_is_new_is_missing() {
        let (po, new) = (catalogue(&BOOK), today(&["One sum", "8 by 9", "Another sentence", "`f64` adds"]));
        let states: Vec<State> = complete(&po, &new).states.into_iter().map(|(state, ..)| state).collect();
        assert_eq!(states, [State::Translated, State::Changed, State::Missing, State::Missing]);
        let page = complete(&po, &new).pages()["book/src/a.md"];
        assert_eq!((page, page.is_behind()), (Page { all: 4, lacking: 3 }, true));
        let updated = updated(&po, &new);
        let expected = [
            ("One sum", "一个和", false),
            ("8 by 9", "8 乘 8", true),
            ("Another sentence", "", false),
            ("`f64` adds", "`f32` 相加", true),
        ];
        assert_eq!(all(&updated), expected);
        assert_eq!(obsolete(&po, &new), 2);
    }

    #[test]
    fn listings_and_pages_that_stay_english_are_not_asked_for() {
        let mut new = today(&["```text\nx"]);
        new.append_or_update(begun("", "Sources", "book/src/sources.md:1").done());
        assert_eq!(updated(&catalogue(&[]), &new).count(), 0);
        assert!(complete(&catalogue(&[]), &new).states.is_empty());
    }
}
