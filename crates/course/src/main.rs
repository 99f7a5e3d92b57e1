//! The `cargo course` command: the reader's verbs (`doctor`, `setup`, `book`, `measure`, `exercise`, `watch`, `hint`,
//! `reset`, `progress`) and the maintainer's (`ptx`, `bless`, `gate`). Every verb prints what it did and ends with status 0, or
//! says why not and ends with status 1; a verb, an option or an exercise that does not exist is status 2.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod bless;
mod book;
mod chromium;
mod doctor;
mod ensure;
mod exercise;
mod faults;
mod findings;
mod gate;
mod instructions;
mod lessons;
mod measure;
mod ptx;
mod results;
mod setup;
mod workspace;

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
    Book(book::Options),
    /// Show what is on this machine and what each missing thing would add
    Doctor,
    /// Install the pinned CUDA compiler (NVRTC) into target/nvrtc, without root and without CUDA
    Setup,
    /// Judge your copy of an exercise, or list the exercises
    Exercise(exercise::Options),
    /// Judge your copy of an exercise whenever you save it
    Watch(exercise::Options),
    /// Show the next hint for an exercise
    Hint(exercise::HintOptions),
    /// Put the starter of an exercise back, and keep your work beside it
    Reset(exercise::ResetOptions),
    /// Show which exercises you tried and solved
    Progress,
    /// Recompile every kernel into kernels/ptx with the pinned NVRTC
    Ptx(ptx::Options),
    /// Regenerate every file that is written by program: simulator data, tables, charts, the fault appendix
    Bless(bless::Options),
    /// Time every chapter's kernels on this machine's GPU, and CUB beside them, and write one file
    Measure(measure::Options),
    /// Run every check that CI runs beyond the tests, one line each
    Gate(gate::Options),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.verb {
        Verb::Book(options) => book::run(&options),
        Verb::Doctor => doctor::run(),
        Verb::Setup => setup::run(),
        Verb::Ptx(options) => ptx::run(&options),
        Verb::Bless(options) => bless::run(&options),
        Verb::Measure(options) => measure::run(&options),
        Verb::Gate(options) => gate::run(&options),
        Verb::Exercise(options) => return ended(exercise::run(&options)),
        Verb::Watch(options) => return ended(exercise::watch(&options)),
        Verb::Hint(options) => return ended(exercise::hint(&options)),
        Verb::Reset(options) => return ended(exercise::reset(&options)),
        Verb::Progress => return ended(exercise::progress()),
    };
    ended(outcome.map(|()| ExitCode::SUCCESS))
}

/// The status of a verb, with what went wrong on stderr.
fn ended(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        if error.is::<exercise::NoSuchExercise>() { ExitCode::from(2) } else { ExitCode::FAILURE }
    })
}
