//! The `cargo course` command: the reader's verbs (`doctor`, `setup`, `book`, `measure`, `tune`, `run`, `exercise`, `watch`, `hint`,
//! `reset`, `show`, `progress`) and the maintainer's (`ptx`, `engine`, `editor`, `bless`, `gate`). Every verb prints what it did and ends with status 0, or
//! says why not and ends with status 1; a verb, an option or an exercise that does not exist is status 2, and `run` has the statuses of `simt run`.
//!
//! `book`, `engine`, `editor` and `gate` are a program of their own, so that no other verb waits until mdBook is built.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use course::{bless, doctor, exercise, launch, measure, ptx, setup, show, tune, workspace};

/// Reads, checks and builds the reduction course.
#[derive(Parser)]
#[command(name = "cargo course", bin_name = "cargo course", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build the book into target/book, or serve it while you write
    #[command(disable_help_flag = true)]
    Book(Passed),
    /// Show what is on this machine and what each missing thing would add
    Doctor,
    /// Install the pinned CUDA compiler (NVRTC) into target/nvrtc, without root and without CUDA
    Setup,
    /// Compile a kernel file of your own and run a kernel of it in the simulator
    #[command(mut_arg("files", launch::file), mut_arg("kernel", launch::kernel), after_help = launch::AFTER_HELP)]
    Run(Box<launch::Options>),
    /// Answer a question, judge your copy of a kernel, or list the exercises
    Exercise(exercise::Options),
    /// Go through the exercises: questions are asked, and kernels judged whenever you save them
    Watch(exercise::WatchOptions),
    /// Show the next hint for an exercise
    Hint(exercise::HintOptions),
    /// Put the starter of an exercise back, and keep your work beside it
    Reset(exercise::ResetOptions),
    /// Open the lab on the case of an exercise that fails, or on a trace
    Show(show::Options),
    /// Show which exercises you tried and solved
    Progress,
    /// Recompile every kernel into kernels/ptx with the pinned NVRTC
    Ptx(ptx::Options),
    /// Build the simulator for the pages, and the data of their labs, into book/src/lab
    #[command(disable_help_flag = true)]
    Engine(Passed),
    /// Pack the editor of the pages' labs into book/src/lab
    #[command(disable_help_flag = true)]
    Editor(Passed),
    /// Regenerate every file that is written by program: simulator data, tables, charts, the fault appendix
    Bless(bless::Options),
    /// Time every chapter's kernels on this machine's GPU, and CUB beside them, and write one file
    Measure(Box<measure::Options>),
    /// Time the teams that may hold the rows of a matrix on this machine's GPU, and say how far the plan's own is from the fastest
    Tune(Box<tune::Options>),
    /// Run every check that CI runs beyond the tests, one line each
    #[command(disable_help_flag = true)]
    Gate(Passed),
}

/// Words for another program, which knows what they mean.
#[derive(clap::Args)]
struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.verb {
        Verb::Doctor => doctor::run(),
        Verb::Setup => setup::run(),
        Verb::Ptx(options) => ptx::run(&options),
        Verb::Bless(options) => bless::run(&options),
        Verb::Measure(options) => measure::run(&options),
        Verb::Tune(options) => tune::run(&options),
        Verb::Book(passed) => return ended(with_book("book", &passed)),
        Verb::Engine(passed) => return ended(with_book("engine", &passed)),
        Verb::Editor(passed) => return ended(with_book("editor", &passed)),
        Verb::Gate(passed) => return ended(with_book("gate", &passed)),
        Verb::Run(options) => return launch::run(&options),
        Verb::Exercise(options) => return ended(exercise::run(&options)),
        Verb::Watch(options) => return ended(exercise::watch(&options)),
        Verb::Hint(options) => return ended(exercise::hint(&options)),
        Verb::Reset(options) => return ended(exercise::reset(&options)),
        Verb::Show(options) => return ended(show::run(&options)),
        Verb::Progress => return ended(exercise::progress()),
    };
    ended(outcome.map(|()| ExitCode::SUCCESS))
}

/// Runs a verb of the package `book`, which cargo builds first if it must. Its status is this program's.
fn with_book(verb: &str, passed: &Passed) -> Result<ExitCode> {
    let mut command = workspace::cargo(&workspace::root()?);
    command.args(["run", "--package", "book", "--", verb]).args(&passed.words);
    let status = command.status().with_context(|| format!("cannot run `cargo run --package book -- {verb}`"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The status of a verb, with what went wrong on stderr.
fn ended(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        if error.is::<exercise::BadUsage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
    })
}
