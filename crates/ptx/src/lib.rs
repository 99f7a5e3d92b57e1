//! PTX text to a syntax tree: lexer, parser and the table of instructions.
//!
//! No I/O and no knowledge of how anything executes. Types come from opcodes, never from `.reg` declarations:
//! NVRTC for compute_100 and later declares every 32-bit register `.b32`, whatever it holds.

pub mod ast;
pub mod error;
mod lex;
mod parse;
mod print;
pub mod table;

pub use ast::*;
pub use error::Error;

/// Parses one PTX file. `file` is the name that errors print; it is never opened.
pub fn parse(file: &str, text: &str) -> Result<Module, Error> {
    // NVRTC and the driver count the terminating NUL of a C string as part of the text.
    let text = text.trim_end_matches('\0');
    if u32::try_from(text.len()).is_err() {
        let fail = lex::Fail { span: Span::default(), message: "the file is larger than 4 GiB".to_string() };
        return Err(Error::new(file, "", fail));
    }
    parse::module(file, text).map_err(|fail| Error::new(file, text, fail))
}
