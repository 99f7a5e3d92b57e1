//! The verbs of `cargo course` that need mdBook, a server or a browser, or that only maintainers use: `book`, `engine`, `editor` and `gate`. `cargo course` runs this program
//! for them. Status 0 if all went well, 1 if not, 2 for an option that does not exist.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A regular expression that is made when it is first used.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).expect("a fixed pattern"));
    };
}

mod book;
mod editor;
mod engine;
mod figures;
mod gate;
mod packed;
mod stills;

/// A folder with these files, for a test.
#[cfg(test)]
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| lab::record::write(&dir.path().join(name), text).unwrap());
    dir
}

/// Builds the book of the reduction course, and checks the whole.
#[derive(Parser)]
#[command(name = "cargo course", bin_name = "cargo course", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build the book into target/book, or serve it while you write
    Book(book::Options),
    /// Build the simulator for the pages, and the data of their labs, into book/src/lab
    Engine(engine::Options),
    /// Pack the editor of the pages' labs into book/src/lab
    Editor(editor::Options),
    /// Run every check that CI runs beyond the tests, one line each
    Gate(gate::Options),
    /// Compile what comes on standard input, for a page of the served book
    #[command(hide = true)]
    CompileForPage,
    /// Say what the kernels of a text take of a multiprocessor, for a page of the served book
    #[command(hide = true)]
    ResourcesForPage,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Book(options) => book::run(&options),
        Verb::Engine(options) => engine::run(&options),
        Verb::Editor(options) => editor::run(&options),
        Verb::Gate(options) => gate::run(&options),
        Verb::CompileForPage => course::workspace::root().and_then(|root| book::serve::compile::run(&root)),
        Verb::ResourcesForPage => course::workspace::root().and_then(|root| book::serve::compile::run_resources(&root)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
