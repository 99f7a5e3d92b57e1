//! Origin of a committed PTX file: the code of its `.cu`, whose comments may change after it, and a hash of each
//! entry's own code, by which records know their kernels.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The head of a committed PTX file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Hash of the code of the `.cu`: [`code_sha256`].
    pub code_sha256: String,
    /// Lines of the `.cu` that had code when the PTX was made, from 1 on, in order.
    pub lines: Vec<u32>,
    /// `NVRTC 12.1.105`
    pub compiler: String,
    /// Options of the compiler that say something about the code, separated by spaces.
    pub options: String,
    /// Hash of each entry's code, by name: [`entry_hashes`].
    pub entries: BTreeMap<String, String>,
}

const CODE_MARK: &str = "// course: code-sha256 ";
const LINES_MARK: &str = "// course: lines ";
const COMPILER_MARK: &str = "// course: compiler ";
const OPTIONS_MARK: &str = "// course: options ";
const ENTRY_MARK: &str = "// course: entry ";
/// Hexadecimal digits of an entry's hash: enough to tell some thousand kernels and their versions apart.
const ENTRY_DIGITS: usize = 16;

impl Stamp {
    /// The stamp of PTX that was made from this `.cu`.
    pub fn new(cu_text: &str, compiler: String, options: String, ptx: &str) -> Stamp {
        let code = code(cu_text);
        Stamp { code_sha256: hash_of(&code), lines: numbers(&code), compiler, options, entries: entry_hashes(ptx) }
    }

    /// The stamp that `ptx` begins with, if it has one.
    pub fn parse(ptx: &str) -> Option<Stamp> {
        let mut lines = ptx.lines();
        let mut field = |mark| lines.next()?.strip_prefix(mark).map(|value| value.trim().to_string());
        let (code_sha256, ranges, compiler, options) =
            (field(CODE_MARK)?, field(LINES_MARK)?, field(COMPILER_MARK)?, field(OPTIONS_MARK)?);
        let entries = lines.map_while(|line| line.strip_prefix(ENTRY_MARK)).filter_map(|entry| entry.split_once(' '));
        let entries = entries.map(|(hash, name)| (name.trim().to_owned(), hash.to_owned())).collect();
        Some(Stamp { code_sha256, lines: from_ranges(&ranges)?, compiler, options, entries })
    }

    /// The stamp as the lines that PTX begins with.
    pub fn write(&self) -> String {
        let mut out = format!(
            "{CODE_MARK}{}\n{LINES_MARK}{}\n{COMPILER_MARK}{}\n{OPTIONS_MARK}{}\n",
            self.code_sha256,
            to_ranges(&self.lines),
            self.compiler,
            self.options
        );
        for (name, hash) in &self.entries {
            out.push_str(&format!("{ENTRY_MARK}{hash} {name}\n"));
        }
        out
    }

    /// Returns whether the PTX was made from the code of this `.cu`, whatever comments it had.
    pub fn is_of(&self, cu_text: &str) -> bool {
        self.code_sha256 == code_sha256(cu_text)
    }
}

/// PTX with the line numbers of `cu_text`, from whose code it was made; `None` if it was made from other code. Comments that
/// came or went since then have moved the code by whole lines. The text is unfolded.
pub fn up_to_date(ptx: String, cu_text: &str) -> Option<String> {
    let stamp = Stamp::parse(&ptx)?;
    let code = code(cu_text);
    if stamp.code_sha256 != hash_of(&code) {
        return None;
    }
    let now = numbers(&code);
    let ptx = ptx::unfold(&ptx);
    Some(if now == stamp.lines { ptx.into_owned() } else { renumbered(&ptx, &stamp.lines, &now) })
}

/// PTX whose `.loc` name lines of the `.cu` by their numbers of `now` instead of `then`. The `.cu` is the file that is no header.
fn renumbered(ptx: &str, then: &[u32], now: &[u32]) -> String {
    let moved: BTreeMap<u32, u32> = then.iter().copied().zip(now.iter().copied()).collect();
    let is_cu = |name: &str| name.trim_end().trim_matches('"').ends_with(".cu");
    let files = ptx.lines().filter_map(|line| line.trim_start().strip_prefix(".file"));
    let own = files.filter_map(|file| file.trim().split_once(char::is_whitespace)).find(|(_, name)| is_cu(name));
    let Some((own, _)) = own else { return ptx.to_owned() };
    let new = |line: &str| -> Option<String> { moved.get(&line.parse().ok()?).map(u32::to_string) };
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        if !line.trim_start().starts_with(".loc") {
            out.push_str(line);
            continue;
        }
        // `.loc 1 60 5, function_name L, inlined_at 1 205 9`: a file and a line behind each of the two words.
        let (mut is_file, mut is_line) = (false, false);
        for word in line.split_inclusive([' ', '\t']) {
            let bare = word.trim_end();
            let number = if is_line { new(bare) } else { None };
            out.push_str(&number.map_or_else(|| word.to_owned(), |number| number + &word[bare.len()..]));
            is_line = is_file && bare == own;
            is_file = matches!(bare, ".loc" | "inlined_at") || (is_file && bare.is_empty());
        }
    }
    out
}

/// SHA-256 of the code of a CUDA file, in hexadecimal: of its lines without comments, with white space run together and
/// empty lines left out, of the line of its head that names targets, and of the lessons' header where it is included. Line ends do not count: a checkout may rewrite them.
pub fn code_sha256(text: &str) -> String {
    hash_of(&code(text))
}

fn hash_of(code: &[(u32, String)]) -> String {
    sha256(joined(code).as_bytes())
}

fn joined(code: &[(u32, String)]) -> String {
    let lines: Vec<&str> = code.iter().map(|(_, line)| line.as_str()).collect();
    lines.join("\n")
}

fn numbers(code: &[(u32, String)]) -> Vec<u32> {
    code.iter().map(|&(line, _)| line).collect()
}

/// The lines that have code, each with its number; one that includes the lessons' header has that header's code. What stands in quotation
/// marks is code.
fn code(text: &str) -> Vec<(u32, String)> {
    let mut lines = Vec::new();
    let mut is_in_comment = false;
    for (i, line) in text.lines().enumerate() {
        let code = if line.starts_with(crate::committed::TARGET_MARK) {
            line.trim_end().to_owned()
        } else if let Some(header) = crate::nvrtc::included(line) {
            joined(&code(header))
        } else {
            line_code(line, &mut is_in_comment)
        };
        if !code.is_empty() {
            lines.push((i as u32 + 1, code));
        }
    }
    lines
}

/// The code of one line; a comment that begins in it may go on behind it.
fn line_code(line: &str, is_in_comment: &mut bool) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if *is_in_comment {
            let Some(end) = rest.find("*/") else { break };
            *is_in_comment = false;
            rest = &rest[end + 2..];
            continue;
        }
        let mut len = c.len_utf8();
        match quote {
            Some(_) if c == '\\' => len += rest[len..].chars().next().map_or(0, char::len_utf8),
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if rest.starts_with("//") => break,
            None if rest.starts_with("/*") => {
                *is_in_comment = true;
                rest = &rest[2..];
                push_space(&mut out);
                continue;
            }
            None if c.is_whitespace() => {
                rest = &rest[len..];
                push_space(&mut out);
                continue;
            }
            // An apostrophe within a number groups its digits.
            None if c == '"' || (c == '\'' && !out.ends_with(|c: char| c.is_ascii_alphanumeric())) => quote = Some(c),
            None => {}
        }
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out.truncate(out.trim_end().len());
    out
}

fn push_space(out: &mut String) {
    if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

/// `1 3-5 9`
fn to_ranges(lines: &[u32]) -> String {
    let ranges = lines.chunk_by(|a, b| a + 1 == *b).map(|range| match range {
        [line] => line.to_string(),
        range => format!("{}-{}", range[0], range[range.len() - 1]),
    });
    ranges.collect::<Vec<_>>().join(" ")
}

fn from_ranges(text: &str) -> Option<Vec<u32>> {
    let mut lines = Vec::new();
    for range in text.split_whitespace() {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // No kernel has a million lines.
        if last.saturating_sub(first) > 1 << 20 {
            return None;
        }
        lines.extend(first..=last);
    }
    Some(lines)
}

/// Hash of each entry's code in PTX, by name: of its instructions, and those of functions and variables that it uses.
pub fn entry_hashes(ptx: &str) -> BTreeMap<String, String> {
    let ptx = &*ptx::unfold(ptx);
    let codes = ptx::Index::new(ptx).codes(ptx).into_iter();
    codes.map(|(name, code)| (name, sha256(code.as_bytes())[..ENTRY_DIGITS].to_owned())).collect()
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CU: &str = "// Idea.\n\n__global__ void a(int *p)\n{\n    *p = 1'000; // one\n}\n";

    fn made(cu_text: &str, ptx: &str) -> String {
        Stamp::new(cu_text, "NVRTC 1".to_owned(), "-a -b".to_owned(), ptx).write() + ptx
    }

    #[test]
    fn comments_and_white_space_are_no_code() {
        let same = "/* Idea,\n   in more words */\n__global__  void a(int *p)\r\n{\r\n\t*p = /* new */ 1'000;\n\n}";
        assert_eq!(code_sha256(same), code_sha256(CU));
        assert_ne!(code_sha256(&CU.replace("1'000", "1'001")), code_sha256(CU));
        assert_ne!(code_sha256("int x;"), code_sha256("intx;"), "a space keeps words apart");
        assert_ne!(code_sha256("s = \"a // b\";"), code_sha256("s = \"a // c\";"), "a string is code");
        assert_ne!(code_sha256("s = \"\\\" // b\";"), code_sha256("s = \"\\\" // c\";"));
        assert_ne!(code_sha256("#define a b\nc"), code_sha256("#define a b c"), "a line's end ends a directive");
        assert_ne!(code_sha256("// Target. compute_90: why\n"), code_sha256(""), "targets decide what is compiled");
        let header = &code("\n#include \"elements.cuh\"\nint x;");
        assert_eq!(numbers(header), [2, 3]);
        assert!(header[0].1.contains("struct f16 { unsigned short bits; };"), "a lesson's header is code");
        assert_eq!(code("# include <elements.cuh> // it")[0].1, header[0].1, "however it is included");
    }

    #[test]
    fn a_comment_moves_lines_and_nothing_else() {
        let loc = "\t.loc\t1 5 5, function_name $L__info_string0, inlined_at 1 5 9\n\t.loc 1 4 0\n\t.loc 2 5 1\n";
        let ptx = format!(".entry a()\n{{\n{loc}}}\n.file 1 \"kernels/a.cu\"\n.file 2 \"cuda_fp16.h\"\n");
        let file = made(CU, &ptx);
        assert_eq!(up_to_date(file.clone(), CU), Some(file.clone()));
        let commented = CU.replace("{\n", "{\n    // Why.\n");
        let now = up_to_date(file.clone(), &commented).unwrap();
        let moved = "\t.loc\t1 6 5, function_name $L__info_string0, inlined_at 1 6 9\n\t.loc 1 4 0\n\t.loc 2 5 1\n";
        assert_eq!(now, file.replace(loc, moved));
        assert_eq!(entry_hashes(&now), entry_hashes(&ptx));
        assert_eq!(up_to_date(file.clone(), &CU.replace("1'000", "2")), None);
        assert_eq!(up_to_date(ptx, CU), None, "no stamp");
    }

    #[test]
    fn a_stamp_reads_what_it_wrote() {
        let text = made(CU, ".visible .entry a()\n{\nret;\n}\n");
        let stamp = Stamp::parse(&text).unwrap();
        assert_eq!((stamp.lines.clone(), stamp.entries.len()), (vec![3, 4, 5, 6], 1));
        assert!(text.starts_with(&stamp.write()) && stamp.is_of(CU));
        assert_eq!(Stamp::parse(&text.replace("lines 3-6", "lines 3-x")), None);
        assert_eq!(Stamp::parse(&text.replace("lines 3-6", "lines 1-4294967295")), None);
        assert_eq!((Stamp::parse(""), Stamp::parse(&format!("\n{text}"))), (None, None));
        assert_eq!(from_ranges(&to_ranges(&[1, 3, 4, 5, 9])), Some(vec![1, 3, 4, 5, 9]));
    }
}
