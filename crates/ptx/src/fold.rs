//! Folded PTX: a line that a file says again and again stands once, in a table at the end of the file, and by its number where it
//! is used. Kernels made from one template have most of their lines in common, and so the source's lines behind them. In a row of
//! the table `&` is the name of the entry that uses it, and each `#` a number of a register or a label, which stands behind the
//! row's own where the row is used. A row may also be a run of rows above it:
//!
//! ```text
//! .visible .entry sum(
//! .9
//! )
//! {
//! .1
//! .10 3 1 2
//! …
//! .file 1 "sum.cu"
//! .1 .loc 1 38 29, inlined_at 1 127 13
//! .2 add.f32 %f#, %f#, %f#;
//! .9 .param .u64 &_param_0
//! .10 .1 .2
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use crate::Index;

mod runs;

/// The longest row of the table, and the longest name in one: a table made by chance shall not make a short text a huge one.
const ROW_BYTES_MAX: usize = 100;
/// The longest run of rows, see [`bytes_max`].
const RUN_BYTES_MAX: usize = 2_000;
/// Begin of a label that does not say which function of its file it is in, see [`unnumbered`].
const LABEL: &str = "$L__BB_";
/// Stands for the entry's name in a row; PTX has it in constant expressions alone, which are never folded.
const NAME: char = '&';
/// Stands for a number in a row; PTX has no such sign.
const HOLE: char = '#';

/// PTX with its repeated lines in a table, the most frequent first, and behind them their runs; the lines have to begin without a
/// blank. Text that has a table stays as it is. [`unfold`] gives back the text, if that ends with a line's end.
pub fn fold(text: &str) -> String {
    let mut entry = "";
    let mut lines: Vec<(&str, Option<(String, String)>)> = Vec::new();
    for line in text.lines() {
        entry = entry_of(line).unwrap_or(entry);
        if is_number(line.split(' ').next().unwrap_or_default()) {
            return text.to_owned();
        }
        lines.push((line, row_of(line, entry).map(|row| holed(&row))));
    }
    let rows = table(lines.iter().filter_map(|(_, row)| row.as_ref()).map(|(row, _)| row.as_str()));
    let numbers: HashMap<&str, usize> = rows.iter().enumerate().map(|(number, &row)| (row, number)).collect();
    let number = |row: &Option<(String, String)>| row.as_ref().and_then(|(row, _)| numbers.get(row.as_str()).copied());
    // Rows that follow each other, each such stretch with the numbers of its registers.
    let mut stretches: Vec<Vec<usize>> = Vec::new();
    let mut is_within = false;
    for (_, row) in &lines {
        match number(row) {
            Some(number) if is_within => stretches.last_mut().expect("a stretch has begun").push(number),
            Some(number) => stretches.push(vec![number]),
            None => {}
        }
        is_within = number(row).is_some();
    }
    let runs = runs::shared(&mut stretches, &rows);
    let mut out = String::with_capacity(text.len() / 2);
    let mut lines = lines.iter().peekable();
    let mut stretches = stretches.into_iter();
    while let Some((line, row)) = lines.peek() {
        if number(row).is_none() {
            out.extend([line, "\n"]);
            lines.next();
            continue;
        }
        for used in stretches.next().unwrap_or_default() {
            out += &format!(".{}", used + 1);
            let behind = lines.by_ref().take(runs.lines(used)).filter_map(|(_, row)| row.as_ref());
            out.extend(behind.map(|(_, numbers)| numbers.as_str()));
            out.push('\n');
        }
    }
    for (i, row) in rows.iter().enumerate() {
        out += &format!(".{} {row}\n", i + 1);
    }
    for (i, run) in runs.rows.iter().enumerate() {
        out += &format!(".{}", rows.len() + i + 1);
        out.extend(run.iter().map(|row| format!(" .{}", row + 1)));
        out.push('\n');
    }
    out
}

/// The rows that are worth their place among those that the lines of a file would use, in the order of their numbers.
fn table<'t>(used: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    let mut order: Vec<&str> = Vec::new();
    for row in used {
        let count = uses.entry(row).or_insert_with(|| {
            order.push(row);
            0
        });
        *count += 1;
    }
    order.sort_by_key(|row| std::cmp::Reverse(uses[row]));
    let mut rows: Vec<&str> = Vec::new();
    for row in order {
        let number_bytes = format!(".{}", rows.len() + 1).len();
        // Its uses have to save more than it takes. A number behind one takes a blank, and has no hole in it.
        let short = number_bytes + 2 * row.matches(HOLE).count();
        if uses[row] * row.len().saturating_sub(short) > number_bytes + row.len() + 2 {
            rows.push(row);
        }
    }
    rows
}

/// A row with holes for the numbers of its registers and labels, and these, each behind a blank.
fn holed(row: &str) -> (String, String) {
    let (mut out, mut numbers) = (String::with_capacity(row.len()), String::new());
    let mut rest = row;
    while let Some(at) = rest.find(['%', '$']) {
        let word = &rest[at..];
        let name = word.find(|c: char| !(c.is_ascii_alphabetic() || "%$_".contains(c))).unwrap_or(word.len());
        let digits = word[name..].bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(&rest[..at + name]);
        // `%r1`, but not `%tid.x`, and not `%r<9>`, the number of all.
        if digits > 0 {
            out.push(HOLE);
            numbers.extend([" ", &word[name..name + digits]]);
        }
        rest = &word[name + digits..];
    }
    (out + rest, numbers)
}

/// The row without holes that a line would have: lines of the source, and labels and code that name registers, numbers, and the
/// entry's own parameters and labels alone. What an entry uses beside, and where it begins and ends, is found without unfolding.
fn row_of<'t>(line: &'t str, entry: &str) -> Option<Cow<'t, str>> {
    if line.len() > ROW_BYTES_MAX || line.contains([NAME, HOLE, '"', '/']) {
        return None;
    }
    if line.starts_with(".loc ") || line.starts_with(LABEL) {
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

/// PTX with the lines that each folded one stands for in its place; other PTX is as it is.
pub fn unfold(text: &str) -> Cow<'_, str> {
    let mut rows: HashMap<&str, Lines<'_>> = HashMap::new();
    let table: Vec<(&str, &str)> = text.trim_end().lines().rev().map_while(row).collect();
    for &(number, row) in table.iter().rev() {
        if let Some(lines) = lines_of(row, &rows) {
            rows.insert(number, lines);
        }
    }
    if rows.is_empty() {
        return Cow::Borrowed(text);
    }
    // Programs load a lesson often: what lies between two numbers is copied in one go.
    let mut out = String::with_capacity(text.len() * 3);
    let bytes = text.as_bytes();
    let (mut copied, mut begin, mut entry) = (0, 0, "");
    while begin < bytes.len() {
        let end = bytes[begin..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |len| begin + len + 1);
        let line = &text[begin..end];
        if matches!(bytes[begin..end], [b'.', b'0'..=b'9', ..]) {
            let used = line.trim_end();
            let (number, behind) = used.split_once(' ').unwrap_or((used, ""));
            if row(line).is_some() {
                out.push_str(&text[copied..begin]);
                copied = end;
            } else if let Some(row) = rows.get(number).filter(|row| row.holes == numbers(behind).count()) {
                out.push_str(&text[copied..begin]);
                push_row(&mut out, &row.text, entry, behind, &line[used.len()..]);
                copied = begin + used.len();
            }
        } else if bytes[begin] == b'.' {
            entry = entry_of(line).unwrap_or(entry);
        }
        begin = end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The lines that a row of the table stands for.
struct Lines<'t> {
    text: Cow<'t, str>,
    holes: usize,
}

/// Those of a row, by the rows above it; of a run that names others, or is too long, none.
fn lines_of<'t>(row: &'t str, above: &HashMap<&str, Lines<'t>>) -> Option<Lines<'t>> {
    if !row.split(' ').all(is_number) {
        let lines = Lines { text: Cow::Borrowed(row), holes: row.matches(HOLE).count() };
        return (row.matches(NAME).count() < 2).then_some(lines);
    }
    let (mut lines, mut holes) = (String::new(), 0);
    for number in row.split(' ') {
        let row = above.get(number)?;
        lines.extend([if lines.is_empty() { "" } else { "\n" }, &row.text]);
        holes += row.holes;
        if bytes_max(&lines) > RUN_BYTES_MAX {
            return None;
        }
    }
    Some(Lines { text: Cow::Owned(lines), holes })
}

/// The most bytes that lines of the table can take where they are used, but for the numbers.
fn bytes_max(lines: &str) -> usize {
    lines.len() + ROW_BYTES_MAX * lines.matches(NAME).count()
}

/// The numbers behind a row's.
fn numbers(behind: &str) -> impl Iterator<Item = &str> {
    behind.split(' ').filter(|number| !number.is_empty())
}

/// A row as lines of an entry, with the numbers for its holes and the file's own end of a line.
fn push_row(out: &mut String, row: &str, entry: &str, behind: &str, line_end: &str) {
    let mut numbers = numbers(behind);
    let mut copied = 0;
    for (at, sign) in row.bytes().enumerate().filter(|&(_, sign)| matches!(sign, b'\n' | b'&' | b'#')) {
        out.push_str(&row[copied..at]);
        out.push_str(match sign {
            b'\n' => line_end,
            b'&' => entry,
            _ => numbers.next().unwrap_or_default(),
        });
        copied = at + 1;
    }
    out.push_str(&row[copied..]);
}

/// Number and text of a row of the table, which begins with no digit: behind the number of a row that is used stand others.
fn row(line: &str) -> Option<(&str, &str)> {
    let (number, row) = line.trim_end().split_once(' ')?;
    let is_row = is_number(number)
        && !row.starts_with(|first: char| first.is_ascii_digit())
        && (row.len() <= ROW_BYTES_MAX || row.split(' ').all(is_number));
    is_row.then_some((number, row))
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
            let n = name.len() + usize::from(name.as_bytes()[0]);
            format!(
                ".visible .entry {name}(\n.param .u64 {name}_param_0\n)\n{{\n.reg .b32 %r<2>;\n.loc 1 9 1\n\
                 ld.param.u64 %rd1, [{name}_param_0];\n.loc 1 5 5, inlined_at 1 9 1\n@%p1 st.global.u32 [%rd1+4], %r1;\n\
                 add.f32 %f1, %f2, %f3;\nadd.f32 %f{n}, %f2, %f1{n};\nmov.u32 %r1, %tid.x;\nmov.u32 %r{n}, %tid.x;\n\
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
        let table = &folded[folded.find(".file ").unwrap()..];
        for row in [" .loc 1 5 5, inlined_at 1 9 1\n", " .param .u64 &_param_0\n", " ld.param.u64 %rd#, [&_param_0];\n"]
        {
            assert_eq!(folded.matches(row).count(), 1, "{folded}");
            assert!(table.contains(row), "{folded}");
        }
        assert!(table.contains(" @%p# st.global.u32 [%rd#+4], %r#;\n"), "{folded}");
        let number = table[..table.find(" add.f32 %f#, %f#, %f#;\n").unwrap()].rsplit('\n').next().unwrap();
        assert!(folded.contains(&format!(" {number} ")) && folded.matches(" 98 2 198 ").count() == 1, "{folded}");
        assert!(table.contains(" mov.u32 %r#, %tid.x;\n") && table.contains(" $L__BB_#:\n"), "{folded}");
        for symbol in ["buffer_of_sum", "bra $L_other"] {
            assert!(folded.contains(symbol) && !table.contains(symbol), "{folded}");
        }
        assert_eq!(folded.matches("bra $L__BB_").count(), 1, "{folded}");
        assert_eq!(unfold(&folded), text);
        assert_eq!((fold(&folded), unfold(&text)), (folded.clone(), Cow::Borrowed(&*text)));
        let windows = folded.replace('\n', "\r\n");
        assert_eq!(unfold(&windows), text.replace('\n', "\r\n"), "a checkout may rewrite line ends");
        assert_eq!(crate::parse("a.ptx", &folded), crate::parse("a.ptx", &text));
        let error = crate::parse("a.ptx", &folded.replace("\n.11 1", "\n.99 1")).unwrap_err();
        assert!(error.message.contains("`.99`"), "{error}");
    }

    #[test]
    fn an_entry_is_cut_out_of_folded_ptx_and_a_driver_takes_it() {
        let text = text();
        let folded = fold(&text);
        let index = Index::new(&folded);
        assert_eq!(index.entries(&folded), ["a", "b", "sum", "d", "e"]);
        let alone = Index::new(&text).alone(&text, "sum").unwrap();
        let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&unfold(&index.alone(&folded, "sum").unwrap())), lines(&alone));
        let full = index.for_driver(&folded, "sum").unwrap();
        assert!(full.contains("\n.loc 1 5 5, function_name $n, inlined_at 1 9 1\n@%p1 st"), "{full}");
        assert!(full.contains("\n$n:\n") && full.contains("[sum_param_0]"), "{full}");
        assert!(!full.contains(".entry a") && !full.contains("\n.2"), "{full}");
        assert_eq!(for_driver(&full), full, "names that are there stay");
        assert_eq!(index.for_driver(&folded, "c"), None);
    }

    #[test]
    fn a_short_table_makes_no_huge_text() {
        let folded = format!(".visible .entry {0}()\n{{\n.1\n}}\n.1 &{1}\n", "a".repeat(99), "b".repeat(98));
        assert!(unfold(&folded).len() < 400);
        let folded = folded.replace('a', "aa");
        assert!(unfold(&folded).contains("{\nb"), "a long name stands in no row");
        assert_eq!(unfold(".1\n.1 && \n"), ".1\n.1 && \n", "nor one twice");
    }

    #[test]
    fn lines_that_follow_each_other_often_are_a_run() {
        let block = |n: usize| {
            format!(
                "ld.shared.f32 %f{n}, [%r{n}];\n.loc 1 7 5\nadd.f32 %f{n}, %f{n}, %f2;\nst.shared.f32 [%r{n}], %f{n};\n\
                 {}",
                if n.is_multiple_of(2) { "bar.sync 0;\n" } else { "// {\n" }
            )
        };
        let text: String = (10..40).map(block).collect();
        let folded = fold(&text);
        let run = folded.lines().find(|line| line.matches(" .").count() == 9).expect("a run of nine lines");
        let (number, _) = run.split_once(' ').unwrap();
        let used = format!("\n{number} 12 12 12 12 2 12 12 13 13 13 13 2 13 13\n// {{\n");
        assert!(folded.contains(&used), "{folded}");
        assert_eq!(unfold(&folded), text);
        assert_eq!(unfold(&folded.replace('\n', "\r\n")), text.replace('\n', "\r\n"));
        assert!(folded.len() * 3 < text.len(), "{folded}");
    }

    #[test]
    fn a_run_of_rows_below_it_or_of_too_many_is_no_row() {
        for run in [".2", ".3 .1", ".1 ".repeat(400).trim_end()] {
            let text = format!("ret;\n.2\n.1 exit;\n.2 {run}\n.3 exit;\n");
            assert_eq!(unfold(&text), "ret;\n.2\n", "{run}");
        }
        let doubled: String = (2..40).map(|n| format!(".{n} .{0} .{0}\n", n - 1)).collect();
        assert!(unfold(&format!(".39\n.9\n.1 {}\n{doubled}", "a".repeat(99))).len() < 2 * RUN_BYTES_MAX);
    }

    #[test]
    fn numbers_that_do_not_fit_a_row_stay_as_they_are() {
        for used in [".1", ".1 7", ".1 7 8 9"] {
            let text = format!("{used}\n.1 mov.u32 %r#, %r#;\n");
            assert_eq!(unfold(&text), format!("{used}\n"));
            assert!(crate::parse("a.ptx", &text).unwrap_err().message.contains("`.1`"));
        }
        assert_eq!(unfold(".1 7 8\n.1 mov.u32 %r#, %r#;\n"), "mov.u32 %r7, %r8;\n");
        assert_eq!(fold(".1 7 8\n"), ".1 7 8\n");
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
