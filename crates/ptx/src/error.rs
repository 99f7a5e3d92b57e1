//! The one error of this crate: where it happened, what stood there and what was expected.

use crate::ast::Span;
use crate::lex::Fail;

/// A line longer than this is printed only around the place.
const SHOWN_CHARS: usize = 120;

/// A PTX file that could not be parsed. `Display` prints the file, line, column, the line's text with a caret, what
/// was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file name given to [`crate::parse`].
    pub file: String,
    /// Start and end of the offending text.
    pub span: Span,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The whole line's text, without its line end.
    pub text: String,
    /// Description of the problem, a lower-case clause.
    pub message: String,
}

impl Error {
    /// Adds the file's name and the line's text to where parsing stopped.
    pub(crate) fn new(file: &str, text: &str, fail: Fail) -> Error {
        let mut span = fail.span;
        // A file that ends in a line end would point past its last line, where there is nothing to show.
        if span.start as usize >= text.len() {
            let end = text.trim_end().len() as u32;
            let line = 1 + text[..end as usize].bytes().filter(|&b| b == b'\n').count() as u32;
            span = Span { start: end, end, line };
        }
        let start = span.start as usize;
        let before = &text.as_bytes()[..start];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line = text[line_start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let column = text[line_start..start].chars().count() as u32 + 1;
        Error { file: file.to_string(), span, line: span.line, column, text: line.to_string(), message: fail.message }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if self.text.trim().is_empty() {
            return Ok(());
        }
        let at = self.column as usize - 1;
        let skipped = if self.text.chars().count() > SHOWN_CHARS { at.saturating_sub(SHOWN_CHARS / 2) } else { 0 };
        let shown = self.text.chars().skip(skipped).take(SHOWN_CHARS);
        let shown: String = shown.map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
        // Tabs stay tabs, so that the caret stands under its place whatever their width.
        let pad: String = shown.chars().take(at - skipped).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let place_bytes = (self.span.end - self.span.start) as usize;
        let ends = self.text.chars().skip(at).scan(0, |bytes, c| {
            *bytes += c.len_utf8();
            Some(*bytes)
        });
        let place_chars = ends.take_while(|&end| end <= place_bytes).count();
        let carets = "^".repeat(place_chars.min(SHOWN_CHARS - (at - skipped)).max(1));
        write!(f, "\n  {shown}\n  {pad}{carets}")
    }
}

impl std::error::Error for Error {}
