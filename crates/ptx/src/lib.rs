//! PTX text to a syntax tree: lexer, parser, printer and the table of instructions.
//!
//! No I/O and no knowledge of how anything executes. Types come from opcodes, never from `.reg` declarations:
//! NVRTC for compute_100 and later declares every 32-bit register `.b32`, whatever it holds.
//!
//! [`parse`] reads PTX 7 to 9 as NVRTC and nvcc write it, and most of what people write by hand. It checks the syntax,
//! that each mnemonic and modifier exists, the number of operands, that literals fit, and that no label stands twice in
//! its scope. Whether names are declared, types agree and an instruction can be executed is for those who lower the tree.
//! Text that [`fold`] made is read too. Dropped, because nothing here executes them: debug sections, `.pragma` and `.attribute`. `Display` prints a tree back
//! as PTX.
//!
//! ```
//! let text = ".version 8.0 .target sm_80 .address_size 64
//!     .visible .entry twice(.param .u64 data) { .reg .b32 %r<3>; add.s32 %r2, %r1, %r1; ret; }";
//! let module = ptx::parse("twice.ptx", text)?;
//! let body = module.functions[0].body.as_ref().expect("an entry has a body");
//! let ptx::Item::Instruction(add) = &body[1] else { panic!("the second item is the addition") };
//! assert_eq!((add.spec.mnemonic, add.operands.len()), ("add", 3));
//!
//! let error = ptx::parse("twice.ptx", &text.replace("add.s32", "plus.s32")).unwrap_err();
//! assert_eq!((error.line, error.message.as_str()), (2, "unknown instruction `plus`"));
//! # Ok::<(), ptx::Error>(())
//! ```

pub mod ast;
pub mod error;
mod fold;
mod index;
mod lex;
mod parse;
mod print;
pub mod table;

pub use ast::*;
pub use error::Error;
pub use fold::{fold, for_driver, unfold, unnumbered};
pub use index::Index;

/// Parses one PTX file. `file` is the name that errors print; it is never opened.
///
/// # Errors
/// The first place where the text is not PTX as this crate knows it; a file cut short says what it ends inside.
pub fn parse(file: &str, text: &str) -> Result<Module, Error> {
    // NVRTC and the driver count the terminating NUL of a C string as part of the text.
    let text = text.trim_end_matches('\0');
    let text = &*unfold(text);
    if u32::try_from(text.len()).is_err() {
        let fail = lex::Fail { span: Span::default(), message: "the file is larger than 4 GiB".to_string() };
        return Err(Error::new(file, "", fail));
    }
    parse::module(file, text).map_err(|fail| Error::new(file, text, fail))
}

/// The first version of PTX that is covered as a whole: of 2012, when addresses and calls had become what they are. Older files are
/// read as far as they are like newer ones.
pub const VERSION_FLOOR: (u8, u8) = (3, 0);

/// Addition to messages about a file of PTX `major.minor`, older than [`VERSION_FLOOR`].
pub fn floor(major: u8, minor: u8) -> String {
    let (from, _) = VERSION_FLOOR;
    format!("; the file is PTX {major}.{minor}, and PTX {from}.0 and later is covered: compile the source anew")
}

/// The example of the README, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
