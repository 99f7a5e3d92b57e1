//! Folded PTX: a line that a file says again and again stands once, in a table at the end of the file, and by its number where it
//! is used. Kernels made from one template have most of their lines in common, and so the source's lines behind them. In a row of
//! the table `&` is the name of the entry that uses it:
//!
//! ```text
//! .visible .entry sum(
//! .9
//! )
//! {
//! .1
//! add.f32 %f3, %f1, %f2;
//! …
//! .file 1 "sum.cu"
//! .1 .loc 1 38 29, inlined_at 1 127 13
//! .9 .param .u64 &_param_0
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use crate::Index;

/// The longest row of the table, and the longest name in one: a table made by chance shall not make a short text a huge one.
const ROW_BYTES_MAX: usize = 100;
/// Begin of a label that does not say which function of its file it is in, see [`unnumbered`].
const LABEL: &str = "$L__BB_";
/// Stands for the entry's name in a row; PTX has it in constant expressions alone, which are never folded.
const NAME: char = '&';

/// PTX with its repeated lines in a table, the most frequent first; they have to begin without a blank. Text that has a table stays
/// as it is. [`unfold`] gives back the text, if that ends with a line's end.
pub fn fold(text: &str) -> String {
    let mut uses: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut order: Vec<Cow<'_, str>> = Vec::new();
    let mut entry = "";
    for line in text.lines() {
        entry = entry_of(line).unwrap_or(entry);
        if row(line).is_some() {
            return text.to_owned();
        }
        if let Some(row) = row_of(line, entry) {
            let count = uses.entry(row).or_insert_with_key(|row| {
                order.push(row.clone());
                0
            });
            *count += 1;
        }
    }
    order.sort_by_key(|row| std::cmp::Reverse(uses[row]));
    let mut numbers: HashMap<Cow<'_, str>, String> = HashMap::new();
    let mut table = String::new();
    for row in order {
        let number = format!(".{}", numbers.len() + 1);
        // A row is worth its place if its uses save more than it takes.
        if uses[&row] * row.len().saturating_sub(number.len()) > number.len() + row.len() + 2 {
            table.extend([&number, " ", &row, "\n"]);
            numbers.insert(row, number);
        }
    }
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        entry = entry_of(line).unwrap_or(entry);
        let number = row_of(line, entry).and_then(|row| numbers.get(&row));
        out.extend([number.map_or(line, String::as_str), "\n"]);
    }
    out + &table
}

/// The row that a line would have: lines of the source, and code that names registers, numbers, and the entry's own parameters and
/// labels alone. What an entry uses beside, and where it begins and ends, is found without unfolding.
fn row_of<'t>(line: &'t str, entry: &str) -> Option<Cow<'t, str>> {
    if line.len() > ROW_BYTES_MAX || line.contains([NAME, '"', '/']) {
        return None;
    }
    if line.starts_with(".loc ") {
        return Some(Cow::Borrowed(line));
    }
    let parameter = format!("{entry}_param_");
    let row = if !entry.is_empty() && line.contains(&parameter) {
        Cow::Owned(line.replacen(&parameter, &format!("{NAME}_param_"), 1))
    } else {
        Cow::Borrowed(line)
    };
    let code = if row.starts_with('@') { row.split_once(' ')?.1 } else { &row };
    let is_code = code.starts_with(|first: char| first.is_ascii_lowercase());
    if !is_code && !row.starts_with(".param ") && !row.starts_with(".reg ") {
        return None;
    }
    // Behind the name of the operation.
    let mut operands = code.split(|at: char| !(at.is_alphanumeric() || "_$.%".contains(at) || at == NAME)).skip(1);
    let is_symbol = |word: &str| {
        word.starts_with(|first: char| first.is_alphabetic() || "_$".contains(first)) && !word.starts_with(LABEL)
    };
    (!operands.any(is_symbol)).then_some(row)
}

/// PTX whose labels are numbered in their function alone, `$L__BB_3` for `$L__BB12_3`: they are known nowhere else, and functions that
/// are made from one template get the same lines.
pub fn unnumbered(text: &str) -> String {
    const BEGIN: &str = "$L__BB";
    let mut parts = text.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.extend([BEGIN, part.trim_start_matches(|c: char| c.is_ascii_digit())]);
    }
    out
}

/// The entry that a line begins, if its name may stand in rows.
fn entry_of(line: &str) -> Option<&str> {
    let name = line.strip_prefix(".visible .entry ")?.split('(').next()?.trim();
    Some(if name.len() > ROW_BYTES_MAX { "" } else { name })
}

/// PTX with each folded line in its place, line for line; other PTX is as it is.
pub fn unfold(text: &str) -> Cow<'_, str> {
    let rows: HashMap<&str, &str> = text.trim_end().lines().rev().map_while(row).collect();
    if rows.is_empty() {
        return Cow::Borrowed(text);
    }
    // Programs load a lesson often: what lies between two numbers is copied in one go.
    let mut out = String::with_capacity(text.len() * 2);
    let bytes = text.as_bytes();
    let (mut copied, mut begin, mut entry) = (0, 0, "");
    while begin < bytes.len() {
        let end = bytes[begin..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |len| begin + len + 1);
        let line = &text[begin..end];
        if matches!(bytes[begin..end], [b'.', b'0'..=b'9', ..]) {
            let number = line.trim_end();
            if let Some(row) = rows.get(number) {
                out.push_str(&text[copied..begin]);
                match row.split_once(NAME) {
                    Some((before, behind)) => out.extend([before, entry, behind]),
                    None => out.push_str(row),
                }
                copied = begin + number.len();
            } else if row(line).is_some() {
                out.push_str(&text[copied..begin]);
                copied = end;
            }
        } else if bytes[begin] == b'.' {
            entry = entry_of(line).unwrap_or(entry);
        }
        begin = end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Number and text of a row of the table.
fn row(line: &str) -> Option<(&str, &str)> {
    let (number, row) = line.trim_end().split_once(' ')?;
    (is_number(number) && row.len() <= ROW_BYTES_MAX).then_some((number, row))
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

    fn text() -> String {
        let entry = |name: &str| {
            format!(
                ".visible .entry {name}(\n.param .u64 {name}_param_0\n)\n{{\n.reg .b32 %r<2>;\n.loc 1 9 1\n\
                 ld.param.u64 %rd1, [{name}_param_0];\n.loc 1 5 5, inlined_at 1 9 1\n@%p1 st.global.u32 [%rd1+4], %r1;\n\
                 mov.u32 %r1, buffer_of_{name};\n@%p1 bra $L__BB_1;\n@%p1 bra $L_other;\n$L__BB_1:\n$L_other:\nret;\n}}\n"
            )
        };
        let entries: String = ["a", "b", "sum", "d", "e"].map(entry).concat();
        format!(".version 8.1\n.target sm_80\n.address_size 64\n.global .u32 buffer_of_b;\n{entries}.file 1 \"a.cu\"\n")
    }

    #[test]
    fn a_line_stands_once_and_comes_back_where_it_was() {
        let text = text();
        let folded = fold(&text);
        let table = &folded[folded.find(".1 ").unwrap()..];
        for row in [" .loc 1 5 5, inlined_at 1 9 1\n", " .param .u64 &_param_0\n", " ld.param.u64 %rd1, [&_param_0];\n"]
        {
            assert_eq!(folded.matches(row).count(), 1, "{folded}");
            assert!(table.contains(row), "{folded}");
        }
        assert!(table.contains(" @%p1 st.global.u32 [%rd1+4], %r1;\n"), "{folded}");
        for symbol in ["buffer_of_sum", "$L__BB_1:", "bra $L_other"] {
            assert!(folded.contains(symbol) && !table.contains(symbol), "{folded}");
        }
        assert_eq!(folded.matches("bra $L__BB_1;").count(), 1, "{folded}");
        assert_eq!(unfold(&folded), text);
        assert_eq!((fold(&folded), unfold(&text)), (folded.clone(), Cow::Borrowed(&*text)));
        let windows = folded.replace('\n', "\r\n");
        assert_eq!(unfold(&windows), text.replace('\n', "\r\n"), "a checkout may rewrite line ends");
        assert_eq!(crate::parse("a.ptx", &folded), crate::parse("a.ptx", &text));
        let error = crate::parse("a.ptx", &folded.replace("\n.2 ", "\n.99 ")).unwrap_err();
        assert!(error.message.contains("`.2`"), "{error}");
    }

    #[test]
    fn an_entry_is_cut_out_of_folded_ptx_and_a_driver_takes_it() {
        let text = text();
        let folded = fold(&text);
        let index = Index::new(&folded);
        assert_eq!(index.entries(&folded), ["a", "b", "sum", "d", "e"]);
        let alone = Index::new(&text).alone(&text, "sum").unwrap();
        assert_eq!(unfold(&index.alone(&folded, "sum").unwrap()).trim_end(), alone);
        let full = index.for_driver(&folded, "sum").unwrap();
        assert!(full.contains("\n.loc 1 5 5, function_name $n, inlined_at 1 9 1\n@%p1 st"), "{full}");
        assert!(full.contains("\n$n:\n") && full.contains("[sum_param_0]"), "{full}");
        assert!(!full.contains(".entry a") && !full.contains("\n.2"), "{full}");
        assert_eq!(for_driver(&full), full, "names that are there stay");
        assert_eq!(index.for_driver(&folded, "c"), None);
    }

    #[test]
    fn a_short_table_makes_no_huge_text() {
        let folded = format!(".visible .entry {0}()\n{{\n.1\n}}\n.1 {1}\n", "a".repeat(99), "&".repeat(99));
        assert!(unfold(&folded).len() < 400);
        let folded = folded.replace('a', "aa");
        assert!(unfold(&folded).contains("{\n&&"), "a long name stands in no row");
    }

    #[test]
    fn labels_are_those_of_their_function() {
        let text = "@%p1 bra $L__BB12_3;\n$L__BB12_3: // of \"$L__BB12\"\n";
        assert_eq!(unnumbered(text), "@%p1 bra $L__BB_3;\n$L__BB_3: // of \"$L__BB\"\n");
        assert_eq!(unnumbered(&text.replace("$L__BB", "$L__info")), text.replace("$L__BB", "$L__info"));
    }

    #[test]
    fn a_long_row_is_no_row() {
        let long = format!(".1\n.1 .loc 1 1 1{}\n", " ".repeat(ROW_BYTES_MAX) + "1");
        assert_eq!(unfold(&long), long);
        let line = format!(".loc 1 1 1{}1\n", " ".repeat(ROW_BYTES_MAX));
        assert_eq!(fold(&line), line);
    }
}
