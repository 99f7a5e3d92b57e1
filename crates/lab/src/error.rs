//! Errors before a run: each is one clear sentence that says what was wrong, where, and what to do.

use std::path::PathBuf;

/// Errors of this crate. The chapter program prints them and ends with status 2.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option that this chapter, device or input cannot honour.
    #[error("{0}")]
    Usage(String),
    /// A `.npy` file that cannot be summed.
    #[error("{}: {problem}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// Problem with it.
        problem: String,
    },
    /// A file that cannot be read or written.
    #[error("{}: cannot be {doing}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        doing: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A record that does not have the form this program writes.
    #[error("{}: not a record of this course: {problem}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Problem with it.
        problem: String,
    },
    /// Not enough memory for the arrays of a run.
    #[error("n = {n} of {ty} needs about {needed} of {place} memory and {available} is available: take {smaller}")]
    Memory {
        /// Elements.
        n: String,
        /// Their type.
        ty: &'static str,
        /// Memory that the arrays of the run need.
        needed: String,
        /// `host` or `device`.
        place: &'static str,
        /// Memory that is free.
        available: String,
        /// Change that needs less.
        smaller: &'static str,
    },
    /// A chart that could not be drawn.
    #[error("the chart cannot be drawn: {0}")]
    Chart(String),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] device::Error),
}

impl Error {
    /// `problem` with the file at `path`, opened to be `doing` (`read`, `written`).
    pub fn file(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { path, doing, source }
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
