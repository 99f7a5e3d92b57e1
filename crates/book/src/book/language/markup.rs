//! The texts of a page that mdbook-i18n-helpers passes by, those in blocks of HTML: exercises, quizzes, captions, figures. And the names
//! of headings, which links use and which a translation must not change.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

// A tag with its parts, or a comment.
pattern!(TAG, r#"<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<rest>(?:[^<>"]|"[^"]*")*)>|(?s:<!--.*?-->)"#);
// Attributes that people read.
pattern!(
    ATTRIBUTE,
    r#" (?:aria-label|title|alt|placeholder|data-(?:right|not-yet|more|less|else|no-number|no-line|done))="([^"]*)""#
);
// Attributes that a translation must not change.
pattern!(KEPT, r#" (?:id|href|src|value|data-(?:answer|lines|when|lab|exercise|quiz|chapter))="[^"]*""#);
pattern!(NUMBER, r"\d+");
// Text without words: code, tags, entities.
pattern!(NO_WORD, r"(?s)<code>.*?</code>|`[^`]*`|<[^>]*>|&#?\w+;");
/// Tags that stand inside a sentence. Every other tag begins or ends one.
const INLINE: [&str; 14] =
    ["a", "abbr", "b", "br", "code", "em", "i", "kbd", "q", "small", "strong", "sub", "sup", "wbr"];
/// Elements whose content is no language.
const CODE: [&str; 3] = ["pre", "script", "style"];

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
}

/// A page in which each text of its HTML is what `word` makes of it; lines are counted from 1.
pub fn in_html(page: &str, mut word: impl FnMut(usize, &str) -> Option<String>) -> String {
    let blocks: Vec<Range<usize>> = Parser::new_ext(page, options())
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Start(Tag::HtmlBlock)))
        .map(|(_, range)| range)
        .collect();
    let (mut written, mut from) = (String::with_capacity(page.len()), 0);
    for block in blocks {
        written += &page[from..block.start];
        let line = page[..block.start].lines().count() + 1;
        written += &in_block(&page[block.clone()], |at, text| word(line + at, text));
        from = block.end;
    }
    written + &page[from..]
}

/// The same for a text that is HTML alone.
pub fn in_block(html: &str, mut word: impl FnMut(usize, &str) -> Option<String>) -> String {
    let (mut written, mut text, mut from) = (String::new(), String::new(), 0);
    // The element whose content is left alone, until its end.
    let mut code: Option<String> = None;
    for tag in TAG.captures_iter(html) {
        let all = tag.get(0).expect("the whole match");
        text += &html[from..all.start()];
        from = all.end();
        let name = tag.name("name").map_or("", |name| name.as_str());
        let line = html[..all.start()].matches('\n').count();
        if code.is_none() && INLINE.contains(&name) {
            text += all.as_str();
            continue;
        }
        written += &if code.is_some() { text.clone() } else { sentence(&text, line, &mut word) };
        text.clear();
        if code.as_deref() == Some(name) && tag.name("end").is_some_and(|end| !end.is_empty()) {
            code = None;
        } else if code.is_none() && (CODE.contains(&name) || name == "span" && all.as_str().contains("-code\"")) {
            code = Some(name.to_owned());
        }
        written += &ATTRIBUTE.replace_all(all.as_str(), |found: &regex::Captures<'_>| {
            let said = if has_words(&found[1]) { word(line, &found[1]) } else { None };
            match said {
                Some(said) => {
                    found[0].replace(&format!("\"{}\"", &found[1]), &format!("\"{}\"", said.replace('"', "&quot;")))
                }
                None => found[0].to_owned(),
            }
        });
    }
    text += &html[from..];
    written + &sentence(&text, html.matches('\n').count(), &mut word)
}

/// A run of text between two tags, with the white space around it.
fn sentence(text: &str, line: usize, word: &mut impl FnMut(usize, &str) -> Option<String>) -> String {
    let inner = text.trim();
    if !has_words(inner) {
        return text.to_owned();
    }
    let plain = inner.split_whitespace().collect::<Vec<_>>().join(" ");
    word(line, &plain).map_or_else(|| text.to_owned(), |said| text.replace(inner, &said))
}

/// Returns whether there is something to translate.
pub fn has_words(text: &str) -> bool {
    NO_WORD.replace_all(text, "").chars().any(char::is_alphabetic)
}

/// The tags of a text, with what links, scripts and answers depend on.
pub fn bones(html: &str) -> Vec<String> {
    let kept = |found: regex::Captures<'_>| {
        let name = found.name("name")?.as_str();
        let rest = found.name("rest").map_or("", |rest| rest.as_str());
        let kept: Vec<&str> = KEPT.find_iter(rest).map(|kept| kept.as_str()).collect();
        Some(format!("{}{name}{}", &found["end"], kept.concat()))
    };
    TAG.captures_iter(html).filter_map(kept).collect()
}

/// The numbers of a text outside of its tags.
pub fn numbers(html: &str) -> Vec<String> {
    let plain = TAG.replace_all(html, " ");
    NUMBER.find_iter(&plain).map(|number| number.as_str().to_owned()).collect()
}

/// A page as the translators need it: its headings say by which name they are linked, where mdBook would derive it from their words, and
/// emphasis in the middle of a word, as in 2*s*, becomes tags, as those translators write emphasis with `_`.
pub fn prepared(page: &str) -> String {
    // Where, what stands there, and what is to stand there.
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut heading: Option<(Range<usize>, String)> = None;
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    for (event, range) in Parser::new_ext(page, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { id: None, .. }) => heading = Some((range, String::new())),
            Event::End(TagEnd::Heading(_)) => {
                let Some((range, said)) = heading.take() else { continue };
                let end = range.start + page[range].trim_end().len();
                changes.push((end..end, format!(" {{#{}}}", unique(name_of(&said), &mut known))));
            }
            Event::Start(Tag::Emphasis)
                if inside(page[..range.start].chars().next_back()) || inside(page[range.end..].chars().next()) =>
            {
                changes.push((range.start..range.start + 1, "<em>".to_owned()));
                changes.push((range.end - 1..range.end, "</em>".to_owned()));
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some((_, said)) = &mut heading {
                    said.push_str(&words);
                }
            }
            _ => {}
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    let mut written = page.to_owned();
    for (range, new) in changes.into_iter().rev() {
        written.replace_range(range, &new);
    }
    written
}

/// A name that occurs again is numbered, as mdBook does it.
fn unique(name: String, known: &mut HashMap<String, usize>) -> String {
    let times = known.entry(name.clone()).or_default();
    *times += 1;
    if *times == 1 { name } else { format!("{name}-{}", *times - 1) }
}

/// Returns the anchor that mdBook gives a heading.
fn name_of(words: &str) -> String {
    let kept = words.trim().to_lowercase();
    let kept = kept.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let same = in_html(page, |line, text| {
            found.push((line, text.to_owned()));
            None
        });
        assert_eq!(same, page);
        found
    }

    #[test]
    fn a_sentence_keeps_its_inline_tags_and_code_is_none() {
        let page = "Words.\n\n<div data-right=\"Right.\" data-answer=\"a\">\n<p>The <code>s</code> of\nall.</p> <b>64</b>: <span>why</span>\n<pre>int x;</pre></div>\n";
        let expected = [(3, "Right."), (5, "The <code>s</code> of all."), (5, "why")];
        assert_eq!(texts(page), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_word_is_replaced_where_it_stands() {
        let page = "<p title=\"One\">One</p>\n";
        assert_eq!(in_html(page, |_, _| Some("一 \"1\"".to_owned())), "<p title=\"一 &quot;1&quot;\">一 \"1\"</p>\n");
    }

    #[test]
    fn headings_keep_their_names() {
        let page = "# What `it` is: 2\n\n## Own {#mine}\n\n# What it is 2\n";
        let named = "# What `it` is: 2 {#what-it-is-2}\n\n## Own {#mine}\n\n# What it is 2 {#what-it-is-2-1}\n";
        assert_eq!(prepared(page), named);
    }

    #[test]
    fn emphasis_inside_a_word_becomes_a_tag() {
        assert_eq!(prepared("It is 2*s* and *n*.\n"), "It is 2<em>s</em> and *n*.\n");
    }
}
