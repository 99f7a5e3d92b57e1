//! Contents of a PTX file by name, found without parsing it: an entry can be cut out with what it uses, and its code separated
//! from everything that is said about it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::fold::is_number;

/// Kinds of what stands in a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Entry,
    Function,
    Variable,
    /// `.version`, `.target`, `.address_size`, `.file` and the table of lines: what every entry needs.
    Directive,
    /// `.section`, and text that is no PTX.
    Other,
}

/// One definition, declaration or directive.
#[derive(Debug, Clone)]
struct Item {
    kind: Kind,
    name: Range<usize>,
    span: Range<usize>,
    /// Ends of lines before the span, and before its end.
    lines: Range<usize>,
}

/// Places of all definitions of a PTX file.
#[derive(Debug, Clone)]
pub struct Index {
    items: Vec<Item>,
    /// Items by name: a function may be declared before it is defined.
    named: HashMap<String, Vec<usize>>,
}

impl Index {
    /// Reads where definitions begin and end, and nothing within them. Text that is no PTX gives an index of little use, and
    /// no error: the parser says what is wrong with it.
    pub fn new(text: &str) -> Index {
        let mut items = Vec::new();
        let (mut at, mut counted, mut lines) = (0, 0, 0);
        let mut lines_before = |end: usize| {
            lines += text.as_bytes()[counted..end].iter().filter(|&&byte| byte == b'\n').count();
            counted = end;
            lines
        };
        while let Some(mut item) = item(text, at) {
            item.lines = lines_before(item.span.start)..lines_before(item.span.end);
            at = item.span.end.max(at + 1);
            items.push(item);
        }
        let mut named: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, item) in items.iter().enumerate().filter(|(_, item)| !item.name.is_empty()) {
            named.entry(text[item.name.clone()].to_owned()).or_default().push(i);
        }
        Index { items, named }
    }

    /// Names of the entries, in file order.
    pub fn entries<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let entries = self.items.iter().filter(|item| item.kind == Kind::Entry);
        entries.map(|item| &text[item.name.clone()]).collect()
    }

    /// Returns whether there is an entry of this name.
    pub fn has(&self, entry: &str) -> bool {
        self.entry(entry).is_some()
    }

    /// The text of an entry as it stands.
    pub fn body<'t>(&self, text: &'t str, entry: &str) -> Option<&'t str> {
        Some(&text[self.items[self.entry(entry)?].span.clone()])
    }

    fn entry(&self, name: &str) -> Option<usize> {
        self.named.get(name)?.iter().copied().find(|&i| self.items[i].kind == Kind::Entry)
    }

    /// The file without its other entries, and without functions and variables that this one does not use. What stays keeps its
    /// line.
    pub fn alone(&self, text: &str, entry: &str) -> Option<String> {
        self.has(entry).then(|| self.only(text, &[entry]))
    }

    /// [`Index::alone`] for several entries; a name without an entry adds nothing.
    pub fn only(&self, text: &str, entries: &[&str]) -> String {
        let kept = self.needed(text, entries);
        let (mut out, mut lines) = (String::new(), 0);
        for (item, kept) in self.items.iter().zip(kept) {
            if kept || item.kind == Kind::Directive {
                out.extend(std::iter::repeat_n('\n', item.lines.start - lines));
                out.push_str(&text[item.span.clone()]);
                lines = item.lines.end;
            }
        }
        let end = self.items.last().map_or(0, |item| item.lines.end);
        out.extend(std::iter::repeat_n('\n', end - lines));
        out
    }

    /// The file with what only `base` has: entries of the same source that are the same for an older target. The directives are
    /// this file's alone. Neither text may be folded: their tables would be taken for one.
    pub fn joined(&self, text: &str, base: &Index, base_text: &str) -> String {
        let older: Vec<&str> = base.entries(base_text).into_iter().filter(|entry| !self.has(entry)).collect();
        let directives = self.items.iter().filter(|item| item.kind == Kind::Directive);
        let others = self.items.iter().filter(|item| !matches!(item.kind, Kind::Directive | Kind::Other));
        let own = directives.chain(others).map(|item| &text[item.span.clone()]);
        let added = base.items.iter().zip(base.needed(base_text, &older));
        let added = added.filter(|(item, needed)| *needed && !self.named.contains_key(&base_text[item.name.clone()]));
        let added = added.map(|(item, _)| &base_text[item.span.clone()]);
        own.chain(added).flat_map(|part| [part, "\n"]).collect()
    }

    /// Returns of each item whether these entries need it.
    fn needed(&self, text: &str, entries: &[&str]) -> Vec<bool> {
        let mut needed = vec![false; self.items.len()];
        for first in entries.iter().filter_map(|entry| self.entry(entry)) {
            for i in self.used(text, first) {
                needed[i] = true;
            }
        }
        needed
    }

    /// The item and all that it uses, directly or through others, in the order in which they are first named.
    fn used(&self, text: &str, first: usize) -> Vec<usize> {
        let mut used = vec![first];
        let mut at = 0;
        while at < used.len() {
            for word in words(&text[self.items[used[at]].span.clone()]) {
                for &i in self.named.get(word).into_iter().flatten() {
                    if !used.contains(&i) {
                        used.push(i);
                    }
                }
            }
            at += 1;
        }
        used
    }

    /// The code of each entry, by name, and of all that it uses: without comments, line information, white space, and the
    /// numbers by which the compiler tells the entries of a file apart. What is the same here runs the same.
    pub fn codes(&self, text: &str) -> BTreeMap<String, String> {
        let entries = (0..self.items.len()).filter(|&i| self.items[i].kind == Kind::Entry);
        let code = |i: usize| {
            let parts = self.used(text, i).into_iter().map(|i| normal(&text[self.items[i].span.clone()]));
            (text[self.items[i].name.clone()].to_owned(), parts.collect::<Vec<_>>().join("\n"))
        };
        entries.map(code).collect()
    }
}

/// The item that begins at `at` or behind it.
fn item(text: &str, at: usize) -> Option<Item> {
    let begin = skip_blank(text, at)?;
    let first = word_at(text, begin);
    if matches!(first, ".version" | ".target" | ".address_size" | ".file") || is_number(first) {
        let end = text[begin..].find('\n').map_or(text.len(), |line| begin + line);
        return Some(Item { kind: Kind::Directive, name: 0..0, span: begin..end, lines: 0..0 });
    }
    let mut kind = Kind::Other;
    let mut name = 0..0;
    let mut depth = 0usize;
    let mut at = begin;
    while let Some(next) = skip_blank(text, at) {
        let word = word_at(text, next);
        at = next + word.len().max(1);
        match word {
            ".entry" => kind = Kind::Entry,
            ".func" => kind = Kind::Function,
            ".section" => kind = Kind::Other,
            ".global" | ".const" | ".shared" | ".local" | ".tex" if kind == Kind::Other => kind = Kind::Variable,
            _ if !word.is_empty() => {
                let is_name = depth == 0
                    && name.is_empty()
                    && !word.starts_with(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
                if is_name && matches!(kind, Kind::Entry | Kind::Function | Kind::Variable) {
                    name = next..at;
                }
            }
            _ => match text.as_bytes()[next] {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b'{' => {
                    at = behind_braces(text, next);
                    if kind != Kind::Variable {
                        break;
                    }
                }
                b';' if depth == 0 => break,
                _ => at = next + text[next..].chars().next().map_or(1, char::len_utf8),
            },
        }
    }
    Some(Item { kind, name, span: begin..at.min(text.len()), lines: 0..0 })
}

/// The first byte from `at` on that is neither white space nor in a comment.
fn skip_blank(text: &str, mut at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    loop {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        if rest[0].is_ascii_whitespace() || rest[0] == 0 {
            at += 1;
        } else if rest.starts_with(b"//") {
            at += text[at..].find('\n')?;
        } else if rest.starts_with(b"/*") {
            at += text[at + 2..].find("*/")? + 4;
        } else {
            return Some(at);
        }
    }
}

/// The byte behind the brace that closes the one at `begin`.
fn behind_braces(text: &str, begin: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, begin);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'"' => at += text[at + 1..].find('"').map_or(0, |end| end + 1),
            b'/' if bytes[at..].starts_with(b"//") => at += text[at..].find('\n').unwrap_or(0),
            b'/' if bytes[at..].starts_with(b"/*") => at += text[at + 2..].find("*/").map_or(1, |end| end + 3),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

fn word_at(text: &str, at: usize) -> &str {
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
    let len = text.as_bytes()[at..].iter().take_while(is_of_word).count();
    &text[at..at + len]
}

/// Names, numbers and mnemonics of a text, without those of comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at = skip_blank(text, at)?;
            let word = word_at(text, at);
            at += word.len().max(1);
            // The second byte of a letter that PTX has no use for.
            at = (at..=text.len()).find(|&at| text.is_char_boundary(at))?;
            if !word.is_empty() {
                return Some(word);
            }
        }
    })
}

/// A definition as its code alone, words apart by a space.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() / 2);
    let mut at = 0;
    while let Some(next) = skip_blank(text, at) {
        let word = word_at(text, next);
        if word == ".loc" {
            at = text[next..].find('\n').map_or(text.len(), |line| next + line);
            continue;
        }
        if word.is_empty() {
            let end = (next + 1..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
            out.push_str(&text[next..end]);
            at = end;
        } else {
            out.push(' ');
            push_unnumbered(&mut out, word);
            at = next + word.len();
        }
    }
    out
}

/// Labels and local memory are named after the number of their function in its file.
fn push_unnumbered(out: &mut String, word: &str) {
    for head in ["$L__BB", "__local_depot"] {
        if let Some(rest) = word.strip_prefix(head) {
            out.push_str(head);
            out.push_str(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
            return;
        }
    }
    out.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//\n// made by hand {\n.version 8.1\n.target sm_80\n.address_size 64\n
        .global .align 4 .b8 table[8] = {1, 2, 3, 4};\n.global .align 4 .u32 other = 7;\n
        .extern .shared .align 16 .b8 dynamic[];\n
        .func (.param .b32 out) twice(.param .b32 in)\n{\n .loc 1 3 1 // a brace }\n ld.global.u32 %r1, [table];\n ret;\n}\n
        .visible .entry first(\n\t.param .u64 p\n)\n.maxntid 256, 1, 1\n{\n\t.reg .b32 %r<2>;\n\t.loc 1 5 1, function_name $L__info_string0, inlined_at 1 9 1\n
        \t{ // callseq 0, 0\n call.uni (r), twice, (x);\n } // callseq 0\n@%p1 bra $L__BB1_2;\n$L__BB1_2:\n ret;\n}\n
        .visible .entry second()\n{\n\tmov.u32 %r1, dynamic;\n@%p1 bra \t$L__BB2_7; $L__BB2_7: ret;\n}\n.file 1 \"kernels/a.cu\"\n.section .debug_str\n{\n$L__info_string0:\n.b8 95,0\n}\n";

    #[test]
    fn an_entry_is_cut_out_with_what_it_uses() {
        let index = Index::new(TEXT);
        assert_eq!(index.entries(TEXT), ["first", "second"]);
        let alone = index.alone(TEXT, "first").unwrap();
        let has = |what: &str| alone.contains(what);
        let line = |text: &str| text.lines().position(|line| line.contains(".visible .entry first("));
        assert_eq!(line(&alone), line(TEXT));
        assert!(has("twice") && has("table[8] = {1, 2, 3, 4};") && has(".file 1") && has(".target sm_80"), "{alone}");
        assert!(!has("second") && !has("other") && !has("dynamic") && !has("debug_str"), "{alone}");
        assert!(index.alone(TEXT, "second").unwrap().contains("dynamic[];"));
        assert_eq!(index.alone(TEXT, "third"), None);
        assert_eq!(index.alone(TEXT, "twice"), None, "a function is no entry");
    }

    #[test]
    fn a_newer_target_adds_its_entries_and_takes_the_place_of_its_own() {
        let newer = ".version 8.2\n.target sm_90\n.address_size 64\n.global .align 4 .b8 table[8] = {1, 2, 3, 4};\n\
            .visible .entry second()\n{\nmov.u32 %r9, table;\n}\n.visible .entry third()\n{\nexit;\n}\n.file 1 \"kernels/a.cu\"\n.file 2 \"b.h\"\n";
        let (index, base) = (Index::new(newer), Index::new(TEXT));
        let joined = index.joined(newer, &base, TEXT);
        let both = Index::new(&joined);
        assert_eq!(both.entries(&joined), ["second", "third", "first"]);
        let (mut codes, older) = (index.codes(newer), base.codes(TEXT));
        codes.insert("first".to_owned(), older["first"].clone());
        assert_eq!(both.codes(&joined), codes);
        for once in [".version", ".target sm_90", "table[8] =", ".file 1", ".file 2"] {
            assert_eq!(joined.matches(once).count(), 1, "{once} in {joined}");
        }
        assert!(!joined.contains("dynamic") && !joined.contains("other"), "{joined}");
    }

    #[test]
    fn code_is_the_same_whatever_is_said_about_it() {
        let code = |text: &str| Index::new(text).codes(text);
        let now = code(TEXT);
        let quiet = TEXT
            .replace(" // callseq 0, 0", "")
            .replace("1 5 1, function_name $L__info_string0, inlined_at 1 9 1", "1 77 2");
        assert_eq!(
            code(&quiet.replace("\t", " ").replace("$L__BB1_", "$L__BB8_").replace("$L__BB2_", "$L__BB0_")),
            now
        );
        let differs = |text: String| {
            let then = code(&text);
            now.keys().filter(|name| now[*name] != then[*name]).cloned().collect::<Vec<_>>()
        };
        assert_eq!(differs(TEXT.replace("mov.u32 %r1, dynamic", "mov.u32 %r2, dynamic")), ["second"]);
        assert_eq!(
            differs(TEXT.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}")),
            ["first"],
            "a variable of a function that it calls"
        );
        assert_eq!(differs(TEXT.replace("other = 7", "other = 8")), [""; 0], "no code uses it");
        assert_eq!(differs(TEXT.replace(".maxntid 256", ".maxntid 512")), ["first"]);
    }

    #[test]
    fn what_is_no_ptx_is_no_panic() {
        for text in
            ["", "{", "}", "é{é", ".entry", ".visible .entry a(", "/* open", "// end", ".global x = \"é", "{ \" é"]
        {
            let index = Index::new(text);
            index.codes(text);
        }
    }
}
