//! The `cargo course` command: the reader's verbs (`doctor`, `setup`, `book`) and the maintainer's (`ptx`, `bless`,
//! `gate`). Every verb prints what it did and ends with status 0, or says why not and ends with status 1; a verb or an
//! option that does not exist is status 2.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bless;
mod book;
mod chromium;
mod doctor;
mod ensure;
mod faults;
mod findings;
mod gate;
mod lessons;
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
    /// Recompile every kernel into kernels/ptx with the pinned NVRTC
    Ptx(ptx::Options),
    /// Regenerate every file that is written by program: simulator data, tables, charts, the fault appendix
    Bless(bless::Options),
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
        Verb::Gate(options) => gate::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
