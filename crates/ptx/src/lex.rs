//! Characters to tokens, one at a time, so that the first mistake in the file is the one reported.

use crate::ast::{Immediate, Span};

/// Place where parsing stopped, and the reason; [`crate::Error`] adds the file and the line's text.
#[derive(Debug)]
pub(crate) struct Fail {
    /// The offending text.
    pub span: Span,
    /// A lower-case clause.
    pub message: String,
}

/// Kind of token; its text is its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, register, keyword or mnemonic: `%r1`, `$L__BB0_2`, `ld`, `_`.
    Word,
    /// A directive or modifier with its dot: `.reg`, `.L1::no_allocate`.
    Dot,
    /// A number as written, without a sign.
    Number,
    /// A string with its quotes.
    Text,
    /// One of ``( ) { } [ ] < > , ; : = + - * / % | & ^ ~ ! @ ?``.
    Punct(u8),
    /// `<<`, `>>`, `<=`, `>=`, `==`, `!=`, `&&`, `||`: its two characters.
    Pair(u8, u8),
    /// The end of the file.
    End,
}

/// One token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    /// Kind.
    pub kind: Kind,
    /// Place in the text.
    pub span: Span,
}

/// Operators of two characters.
const PAIRS: [&[u8; 2]; 8] = [b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||"];

/// Hands out tokens.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    position: usize,
    line: u32,
}

/// A byte that may follow the first of a name.
fn follows(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        let position = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Lexer { text, position, line: 1 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.position + ahead).copied().unwrap_or(0)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32, line: self.line }
    }

    fn fail(&self, start: usize, end: usize, message: impl Into<String>) -> Fail {
        Fail { span: self.span(start, end), message: message.into() }
    }

    /// The next token; [`Kind::End`] for ever after the last.
    pub fn next(&mut self) -> Result<Token, Fail> {
        self.skip_blank()?;
        let start = self.position;
        let Some(&first) = self.text.as_bytes().get(start) else {
            return Ok(Token { kind: Kind::End, span: self.span(start, start) });
        };
        let kind = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.word(),
            b'%' if follows(self.byte(1)) => self.word(),
            b'.' if follows(self.byte(1)) => self.dotted(),
            b'0'..=b'9' => self.number(),
            b'"' => self.string()?,
            _ if PAIRS.contains(&&[first, self.byte(1)]) => self.take(2, Kind::Pair(first, self.byte(1))),
            b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b':' | b'=' | b'+' | b'-' | b'*'
            | b'/' | b'%' | b'|' | b'&' | b'^' | b'~' | b'!' | b'@' | b'?' => self.take(1, Kind::Punct(first)),
            _ => return Err(self.unexpected()),
        };
        Ok(Token { kind, span: self.span(start, self.position) })
    }

    fn take(&mut self, bytes: usize, kind: Kind) -> Kind {
        self.position += bytes;
        kind
    }

    /// Blanks, line ends and comments.
    fn skip_blank(&mut self) -> Result<(), Fail> {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.line += 1;
                    self.position += 1;
                }
                b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => self.position += 1,
                b'/' if self.byte(1) == b'/' => {
                    let rest = &self.text.as_bytes()[self.position..];
                    self.position += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(1) == b'*' => self.block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), Fail> {
        let start = self.position;
        let Some(length) = self.text[start + 2..].find("*/") else {
            let message = "this comment is never closed: expected `*/` before the end of the file";
            return Err(self.fail(start, self.text.len(), message));
        };
        self.position = start + 2 + length + 2;
        self.line += self.text[start..self.position].bytes().filter(|&b| b == b'\n').count() as u32;
        Ok(())
    }

    fn word(&mut self) -> Kind {
        self.position += 1;
        while follows(self.byte(0)) {
            self.position += 1;
        }
        Kind::Word
    }

    /// `.name`, with any `::name` that follows.
    fn dotted(&mut self) -> Kind {
        self.word();
        while self.byte(0) == b':' && self.byte(1) == b':' && follows(self.byte(2)) {
            self.position += 2;
            self.word();
        }
        Kind::Dot
    }

    /// Digits, letters, a fraction and an exponent; [`number`] judges them.
    fn number(&mut self) -> Kind {
        let start = self.position;
        self.word();
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.position += 1;
            self.word();
        }
        let text = &self.text[start..self.position];
        let prefixed = text.starts_with('0') && text.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
        if !prefixed
            && text.ends_with(['e', 'E'])
            && matches!(self.byte(0), b'+' | b'-')
            && self.byte(1).is_ascii_digit()
        {
            self.position += 1;
            self.word();
        }
        Kind::Number
    }

    fn string(&mut self) -> Result<Kind, Fail> {
        let start = self.position;
        self.position += 1;
        loop {
            match self.byte(0) {
                b'"' => break,
                b'\\' if !matches!(self.byte(1), 0 | b'\n') => self.position += 2,
                end if end == b'\n' || self.position >= self.text.len() => {
                    let whole = if end == b'\n' { "line" } else { "file" };
                    let message = format!("this string is never closed: expected `\"` before the end of the {whole}");
                    return Err(self.fail(start, self.position, message));
                }
                _ => self.position += 1,
            }
        }
        self.position += 1;
        Ok(Kind::Text)
    }

    fn unexpected(&self) -> Fail {
        let rest = &self.text[self.position..];
        let found = rest.chars().next().unwrap_or_default();
        let message = if self.position == 0 && rest.starts_with("\x7fELF") {
            "this is an ELF file (a cubin or an object file), not PTX text: expected `.version`".to_string()
        } else if found == '#' {
            "a preprocessor line: this is C++ source, not PTX text".to_string()
        } else if found.is_control() {
            format!("binary data: found the control character U+{:04X}, expected PTX text", found as u32)
        } else {
            format!("unexpected character `{found}`: it has no meaning in PTX")
        };
        self.fail(self.position, self.position + found.len_utf8(), message)
    }
}

/// The value of a number token; what is wrong with it otherwise.
pub(crate) fn number(text: &str) -> Result<Immediate, String> {
    if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        return match bits.len() {
            8 => u32::from_str_radix(bits, 16).map(Immediate::F32).map_err(|_| malformed(text)),
            _ => Err(format!("malformed number `{text}`: expected eight hexadecimal digits after `0f`")),
        };
    }
    if let Some(bits) = text.strip_prefix("0d").or_else(|| text.strip_prefix("0D")) {
        return match bits.len() {
            16 => u64::from_str_radix(bits, 16).map(Immediate::F64).map_err(|_| malformed(text)),
            _ => Err(format!("malformed number `{text}`: expected sixteen hexadecimal digits after `0d`")),
        };
    }
    let digits = text.trim_end_matches('U');
    let lower = |prefix: &str| digits.strip_prefix(prefix);
    let (digits, radix) = if let Some(hex) = lower("0x").or_else(|| lower("0X")) {
        (hex, 16)
    } else if let Some(binary) = lower("0b").or_else(|| lower("0B")) {
        (binary, 2)
    } else if text.contains(['.', 'e', 'E']) {
        return match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Immediate::F64(value.to_bits())),
            Ok(_) => Err(format!("number out of range: `{text}` does not fit a 64-bit float")),
            Err(_) => Err(malformed(text)),
        };
    } else if digits.len() > 1 && digits.starts_with('0') {
        (&digits[1..], 8)
    } else {
        (digits, 10)
    };
    if digits.is_empty()
        || !digits.chars().all(|c| c.is_digit(radix))
        || text.len() - text.trim_end_matches('U').len() > 1
    {
        return Err(malformed(text));
    }
    match u64::from_str_radix(digits, radix) {
        Ok(value) => Ok(Immediate::Int(i128::from(value))),
        Err(_) => Err(format!("number out of range: `{text}` does not fit 64 bits")),
    }
}

fn malformed(text: &str) -> String {
    format!("malformed number `{text}`")
}
