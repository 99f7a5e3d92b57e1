//! Folded PTX: each line of a source is named once, in a table at the end of the file, and by its number where it is used.
//!
//! The line information of a kernel with many templates is a third of its text, and says the same few things again and again:
//!
//! ```text
//! .1
//! add.f32 %f3, %f1, %f2;
//! …
//! .file 1 "sum.cu"
//! .1 .loc 1 38 29, inlined_at 1 127 13
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use crate::Index;

/// The longest row that stands for a line: a table made by chance shall not make a short text a huge one.
const ROW_BYTES_MAX: usize = 100;

/// PTX with its `.loc` in a table; they have to begin their lines. [`unfold`] gives back the text, if that ends with a line's end.
pub fn fold(text: &str) -> String {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut rows: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if !line.starts_with(".loc ") || line.len() > ROW_BYTES_MAX {
            out.extend([line, "\n"]);
            continue;
        }
        let number = *numbers.entry(line).or_insert_with(|| {
            rows.push(line);
            rows.len()
        });
        out.push_str(&format!(".{number}\n"));
    }
    for (i, row) in rows.iter().enumerate() {
        out.push_str(&format!(".{} {row}\n", i + 1));
    }
    out
}

/// PTX with each `.loc` in its place, line for line; other PTX is as it is.
pub fn unfold(text: &str) -> Cow<'_, str> {
    let rows: HashMap<&str, &str> = text.trim_end().lines().rev().map_while(row).collect();
    if rows.is_empty() {
        return Cow::Borrowed(text);
    }
    // Programs load a lesson often: what lies between two numbers is copied in one go.
    let mut out = String::with_capacity(text.len() * 3 / 2);
    let bytes = text.as_bytes();
    let (mut copied, mut begin) = (0, 0);
    while begin < bytes.len() {
        let end = bytes[begin..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |len| begin + len + 1);
        if matches!(bytes[begin..end], [b'.', b'0'..=b'9', ..]) {
            let line = &text[begin..end];
            let number = line.trim_end();
            if let Some(loc) = rows.get(number) {
                out.extend([&text[copied..begin], *loc]);
                copied = begin + number.len();
            } else if row(line).is_some() {
                out.push_str(&text[copied..begin]);
                copied = end;
            }
        }
        begin = end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Number and `.loc` of a row of the table.
fn row(line: &str) -> Option<(&str, &str)> {
    let (number, loc) = line.trim_end().split_once(' ')?;
    (is_number(number) && loc.starts_with(".loc ") && loc.len() <= ROW_BYTES_MAX).then_some((number, loc))
}

/// Returns whether a word stands for a line: `.12`.
pub(crate) fn is_number(word: &str) -> bool {
    word.strip_prefix('.').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// PTX as ptxas and drivers take it: unfolded, and with a function's name beside each `inlined_at`, which they insist on. Where it
/// was left out, all have the same, empty one.
pub fn for_driver(text: &str) -> Cow<'_, str> {
    const SHORT: &str = ", inlined_at";
    let full = unfold(text);
    let split = |line| {
        let (own, caller): (&str, &str) = str::split_once(line, SHORT)?;
        (own.starts_with(".loc") && !own.contains("function_name")).then_some((own, caller))
    };
    if !full.lines().any(|line| split(line).is_some()) {
        return full;
    }
    let mut out = String::with_capacity(full.len() * 5 / 4);
    for line in full.lines() {
        match split(line) {
            Some((own, caller)) => out.extend([own, ", function_name $n", SHORT, caller, "\n"]),
            None => out.extend([line, "\n"]),
        }
    }
    Cow::Owned(out + ".section .debug_str\n{\n$n:\n.b8 0\n}\n")
}

impl Index {
    /// An entry with all that it uses as a driver takes it: [`for_driver`] of [`Index::alone`].
    pub fn for_driver(&self, text: &str, entry: &str) -> Option<String> {
        Some(for_driver(&self.alone(text, entry)?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry a(\n.param .u64 p\n)\n{\n\
        .reg .b32 %r<2>;\n.loc 1 9 1\n.loc 1 5 5, inlined_at 1 9 1\nmov.u32 %r1, 1;\n.loc 1 9 1\nret;\n}\n\
        .visible .entry b()\n{\n.loc 1 5 5, inlined_at 1 9 1\nret;\n}\n.file 1 \"a.cu\"\n";

    #[test]
    fn a_line_is_named_once_and_comes_back_where_it_stood() {
        let folded = fold(TEXT);
        assert!(folded.contains("\n.1\n.2\nmov.u32 %r1, 1;\n.1\nret;\n"), "{folded}");
        assert!(folded.ends_with(".file 1 \"a.cu\"\n.1 .loc 1 9 1\n.2 .loc 1 5 5, inlined_at 1 9 1\n"), "{folded}");
        assert_eq!(unfold(&folded), TEXT);
        assert_eq!((fold(&folded), unfold(TEXT)), (folded.clone(), Cow::Borrowed(TEXT)));
        let windows = folded.replace('\n', "\r\n");
        assert_eq!(unfold(&windows), TEXT.replace('\n', "\r\n"), "a checkout may rewrite line ends");
        assert_eq!(crate::parse("a.ptx", &folded), crate::parse("a.ptx", TEXT));
        let error = crate::parse("a.ptx", &folded.replace("\n.2 .loc", "\n.3 .loc")).unwrap_err();
        assert_eq!((error.line, error.message.contains("`.2`")), (10, true), "{error}");
    }

    #[test]
    fn an_entry_is_cut_out_of_folded_ptx_and_a_driver_takes_it() {
        let folded = fold(TEXT);
        let index = Index::new(&folded);
        assert_eq!(index.entries(&folded), ["a", "b"]);
        assert_eq!(unfold(&index.alone(&folded, "b").unwrap()), Index::new(TEXT).alone(TEXT, "b").unwrap() + "\n");
        let full = index.for_driver(&folded, "b").unwrap();
        assert!(full.contains("{\n.loc 1 5 5, function_name $n, inlined_at 1 9 1\nret;\n}\n"), "{full}");
        assert!(full.contains("\n$n:\n") && !full.contains(".entry a") && !full.contains("\n.2"), "{full}");
        assert_eq!(for_driver(&full), full, "names that are there stay");
        assert_eq!(index.for_driver(&folded, "c"), None);
    }

    #[test]
    fn a_long_row_is_no_row() {
        let long = format!(".1\n.1 .loc 1 1 1{}\n", " ".repeat(ROW_BYTES_MAX) + "1");
        assert_eq!(unfold(&long), long);
        let line = format!(".loc 1 1 1{}1\n", " ".repeat(ROW_BYTES_MAX));
        assert_eq!(fold(&line), line);
    }
}
