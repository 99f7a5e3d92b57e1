//! The one error of this crate: where it happened, what stood there and what was expected.

use crate::ast::Span;

/// A PTX file that could not be parsed. `Display` prints the file, line, column, the line's text with a caret, what
/// was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file name given to [`crate::parse`].
    pub file: String,
    /// Where the offending text starts and ends.
    pub span: Span,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The whole line's text, without its line end.
    pub text: String,
    /// What is wrong, a lower-case clause.
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}\n  {}", self.file, self.line, self.column, self.message, self.text)
    }
}

impl std::error::Error for Error {}
