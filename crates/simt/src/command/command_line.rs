//! The command line, as clap reads it.

use std::path::PathBuf;

use crate::{Checks, Schedule};
use clap::{Args, Parser, Subcommand};

use super::trace;
use crate::spec::{Argument, Put, Spec};

#[derive(Parser)]
#[command(
    name = "simt",
    version,
    about = "Runs CUDA kernels without a GPU: executes PTX warp by warp, counts and checks"
)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run one kernel of a PTX file
    #[command(after_help = SPEC_HELP)]
    Run(Box<Request>),
    /// Say of every kernel of PTX files whether it will run, and if not, why
    Check(Check),
    /// List the kernels of a PTX file and their parameters
    Kernels {
        /// The PTX file, or several that are linked
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Print every PTX instruction that the simulator runs, and those that it refuses, as Markdown
    Instructions,
}

/// More schedules than this are a slip of the finger: launches of a millisecond would take a quarter of an hour.
const SEEDS_MAX: u64 = 1 << 20;
/// More host threads than this are never started.
const THREADS_MAX: u64 = 256;
const STEPS: &str = " of warp-instructions";
/// Local memory that a card gives a thread, its stack included.
const STACK_MAX: u64 = 512 << 10;

/// Explanation of a SPEC, printed behind the options.
pub const SPEC_HELP: &str = "\
SPEC, one for each parameter of the kernel, in their order:
  NAME=TYPE[LEN]:INIT   a buffer of LEN elements; LEN is a number or a power of two such as 2^20
  NAME=TYPE:VALUE       a scalar
  NAME=bytes[LEN]:INIT  a structure by value, of LEN bytes
  NAME=&OTHER           the address of a buffer or of a variable of the PTX; &OTHER+4 is 4 bytes further on
  NAME=fn:FUNCTION      the address of a device function, by its name in the PTX
  NAME@OFFSET=&OTHER    puts that address into structure or buffer NAME at byte OFFSET; so do NAME@OFFSET=fn:FUNCTION
                        and NAME@OFFSET=TYPE:VALUE. It is no parameter, and a buffer that is pointed to needs none
TYPE  u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64
INIT  zero        0 everywhere
      zero(BYTES) 0 in its first bytes; nothing writes the rest, so that reading it is a fault
      iota        element i is i (integers wrap, floats round)
      const(V)    V everywhere
      hash8       element i is (i * 2654435761 mod 2^32) >> 24, a number from 0 to 255
      rand(SEED)  from splitmix64 with state SEED, one output a element: an integer is its top bits (so every value is as
                  likely); a float is k / 2^(p-1) - 1 in [-1, 1), k its top p bits, p = 8 (bf16), 11 (f16), 24 (f32), 53 (f64)
      file(PATH)  the bytes of a file, little-endian, exactly as long as the buffer; or a .npy file of this type and length
  start(PATH) likewise of a file that may be shorter; nothing writes the rest, so that reading it is a fault

Exit status: 0 ran clean, 1 faults found (with --seeds, or results that differ), 2 bad usage or bad PTX.";

/// Command line of `simt check`.
#[derive(Args)]
pub struct Check {
    /// The PTX files; what one uses another one may define
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Command line of `simt run`.
#[derive(Args)]
pub struct Request {
    /// The PTX file; several are linked, so that one may use what another one defines
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Kernel to run, as `simt kernels` lists it
    #[arg(long, value_name = "NAME")]
    pub kernel: String,
    /// Blocks
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions, allow_hyphen_values = true)]
    pub grid: Dimensions,
    /// Threads of a block, at most 1024 in all
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions, allow_hyphen_values = true)]
    pub block: Dimensions,
    /// Dynamic shared memory of a block
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = number::<u32>(0, u64::from(u32::MAX), " of bytes"),
        allow_hyphen_values = true)]
    pub shared: u32,
    /// Cooperative launch: all blocks at once, so that grid-wide barriers work
    #[arg(long)]
    pub cooperative: bool,
    /// Blocks of a cluster, where the kernel does not say; at most 16
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions, allow_hyphen_values = true)]
    pub cluster: Option<Dimensions>,
    /// Arguments of the kernel, see below; may be given more than once. FILE stands before them
    #[arg(long = "arg", value_name = "SPEC", num_args = 1.., value_parser = Argument::parse)]
    pub args: Vec<Argument>,
    /// Buffers that no parameter takes, and whose addresses go where `--arg NAME@OFFSET=&BUFFER` puts them
    #[arg(long, value_name = "SPEC", num_args = 1.., value_parser = Spec::parse)]
    pub buffer: Vec<Spec>,
    /// Variables of the PTX (`__device__`, `__constant__`) and what they hold before the launch; --print shows them too
    #[arg(long, value_name = "SPEC", num_args = 1.., value_parser = Spec::parse)]
    pub set: Vec<Spec>,
    /// Run this kernel too, behind the first and in its stream, with the same --shared, --cooperative and --cluster; may be given
    /// more than once
    #[arg(long, value_name = "NAME", conflicts_with = "trace")]
    pub then: Vec<String>,
    /// Its blocks, one value for each --then or one for all (default: those of the first kernel)
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions, allow_hyphen_values = true, requires = "then")]
    pub then_grid: Vec<Dimensions>,
    /// Its threads of a block, likewise
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions, allow_hyphen_values = true, requires = "then")]
    pub then_block: Vec<Dimensions>,
    /// Its arguments, of all --then in their order (default: those of the first kernel again). A NAME alone is an argument or a
    /// buffer that was given before; NAME@OFFSET=VALUE puts a value into a structure or a buffer, as with --arg
    #[arg(long = "then-arg", value_name = "NAME|SPEC", num_args = 1.., value_parser = ThenArgument::parse, requires = "then")]
    pub then_args: Vec<ThenArgument>,
    /// Each --then may begin before the launch before it has ended (programmatic dependent launch, griddepcontrol): a missing wait
    /// is a global-race
    #[arg(long, requires = "then")]
    pub overlap: bool,
    /// Include a buffer's first COUNT elements (default: all) in the output; may be given more than once
    #[arg(long, value_name = "NAME[:COUNT]", value_parser = print)]
    pub print: Vec<Print>,
    /// lockstep: before Volta, lanes of a warp step together; independent: they may run apart (with a seed: they are driven apart)
    #[arg(long, value_name = "lockstep|independent[:SEED[@LINE]]", default_value = "independent")]
    pub schedule: Schedule,
    /// Run once without a seed, then under independent:0 to independent:N-1, and report the first run that has a fault or
    /// leaves other values in a buffer than the run without a seed; with --print, in one of the buffers printed. Integers are
    /// compared bit for bit; floats too, unless the launch has atomics, which add in any order: then they may differ by
    /// 4 sqrt(n) u M (n: atomic operations, one a lane; u: 2^-24 for f32, 2^-53 f64, 2^-11 f16, 2^-8 bf16; M: the result, or
    /// sqrt(N) times the largest float given, N the elements of the largest float buffer, whichever is more)
    #[arg(long, value_name = "N", value_parser = number::<u64>(1, SEEDS_MAX, ""), allow_hyphen_values = true,
        conflicts_with_all = ["schedule", "trace"])]
    pub seeds: Option<u64>,
    /// Checks to make: all, none, or names separated by commas (uninitialised-read, shared-race, barrier-divergence,
    /// global-race). Every other fault is always found; out-of-bounds and misaligned may be named all the same
    #[arg(long, value_name = "all|none|LIST", default_value = "all")]
    pub check: Checks,
    /// Host threads, 0 for one a core, at most 256; the outcome is the same for any number
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<usize>(0, THREADS_MAX, ""), allow_hyphen_values = true)]
    pub threads: usize,
    /// Most warp-instructions one block may execute before the launch is stopped as endless
    #[arg(long, value_name = "N", default_value_t = crate::Options::default().steps_per_block_max, value_parser = number::<u64>(0, u64::MAX, STEPS),
        allow_hyphen_values = true)]
    pub steps: u64,
    /// Most warp-instructions that all blocks may execute together, likewise
    #[arg(long, value_name = "N", default_value_t = crate::Options::default().steps_per_launch_max, value_parser = number::<u64>(0, u64::MAX, STEPS),
        allow_hyphen_values = true)]
    pub launch_steps: u64,
    /// Stack of a thread for recursion and calls through pointers, as cudaLimitStackSize sets it; at most 524288
    #[arg(long, value_name = "BYTES", default_value_t = crate::Options::default().stack_bytes, value_parser = number::<u32>(0, STACK_MAX, " of bytes"),
        allow_hyphen_values = true)]
    pub stack: u32,
    /// Show the counters of each line of the source too
    #[arg(long)]
    pub lines: bool,
    /// Print one JSON object instead of text; it has the counters of each line
    #[arg(long)]
    pub json: bool,
    /// Write the steps of the first block to FILE, as JSON
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Trace these blocks, numbered with x fastest, in place of the first
    #[arg(long, value_name = "FIRST[-LAST]", requires = "trace", default_value = "0", value_parser = trace::blocks)]
    pub trace_blocks: trace::Blocks,
    /// Trace these warps of each block only: numbers and ranges, such as 0,2-3
    #[arg(long, value_name = "all|LIST", requires = "trace", default_value = "all", value_parser = trace::warps)]
    pub trace_warps: trace::Warps,
    /// Most steps traced of each block; those beyond are counted and left out
    #[arg(long, value_name = "N", requires = "trace", default_value_t = trace::STEPS,
        value_parser = number::<u64>(1, trace::STEPS_MAX, ""), allow_hyphen_values = true)]
    pub trace_steps: u64,
}

/// An argument of a kernel behind `--then`.
#[derive(Debug, Clone)]
pub enum ThenArgument {
    /// One that was given before.
    Again(String),
    New(Spec),
    Put(Put),
}

impl ThenArgument {
    fn parse(text: &str) -> Result<ThenArgument, String> {
        match text.contains('=') {
            true => Argument::parse(text).map(|argument| match argument {
                Argument::Spec(spec) => ThenArgument::New(spec),
                Argument::Put(put) => ThenArgument::Put(put),
            }),
            false => Ok(ThenArgument::Again(text.to_owned())),
        }
    }
}

/// x, y, z.
#[derive(Debug, Clone, Copy)]
pub struct Dimensions(pub [u32; 3]);

fn dimensions(text: &str) -> Result<Dimensions, String> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("at most three numbers: X,Y,Z".into());
    }
    let mut all = [1; 3];
    for (dimension, part) in all.iter_mut().zip(parts) {
        *dimension = number(0, u64::from(u32::MAX), "")(part.trim())?;
    }
    Ok(Dimensions(all))
}

/// A parser of whole numbers in these bounds, of what `unit` says.
fn number<T: TryFrom<u64>>(low: u64, high: u64, unit: &'static str) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let value = text.parse().ok().filter(|n| (low..=high).contains(n)).and_then(|n| T::try_from(n).ok());
        value.ok_or_else(|| format!("`{text}` is no whole number{unit} from {low} to {high}"))
    }
}

/// A buffer to show.
#[derive(Debug, Clone)]
pub struct Print {
    pub name: String,
    /// All of it if `None`.
    pub count: Option<usize>,
}

fn print(text: &str) -> Result<Print, String> {
    match text.split_once(':') {
        None => Ok(Print { name: text.into(), count: None }),
        Some((name, count)) => {
            let count = count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
            Ok(Print { name: name.into(), count: Some(count) })
        }
    }
}
