//! `simt run --trace`: which steps are recorded, and the file that they go to.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::trace::{Options, Trace};
use anyhow::{Context, Result, ensure};

use super::command_line::Request;
use crate::spec::{Argument, Init, Kind};

/// Steps of a block when nothing else is asked for.
pub const STEPS: u64 = 20_000;
/// Most steps of a trace in all: about 600 MB of memory, and as much of a file.
pub const STEPS_MAX: u64 = 1 << 20;

/// The blocks from the first to the last.
#[derive(Debug, Clone, Copy)]
pub struct Blocks {
    first: u64,
    count: u64,
}

/// Bit w is warp w.
#[derive(Debug, Clone, Copy)]
pub struct Warps(u32);

/// `3` or `3-5`.
fn range(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is no whole number"));
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first)?, number(last)?) {
        (first, last) if last < first => Err(format!("`{text}` ends before it starts")),
        range => Ok(range),
    }
}

pub fn blocks(text: &str) -> Result<Blocks, String> {
    let (first, last) = range(text)?;
    Ok(Blocks { first, count: (last - first).saturating_add(1) })
}

pub fn warps(text: &str) -> Result<Warps, String> {
    if text == "all" {
        return Ok(Warps(u32::MAX));
    }
    text.split(',').try_fold(Warps(0), |Warps(mask), part| match range(part)? {
        (first, last) if last < 32 => Ok(Warps(mask | (u32::MAX >> (31 - (last - first))) << first)),
        (_, last) => Err(format!("a block has warps 0 to 31 at most, `{last}` is none of them")),
    })
}

/// Parts of the launch to be recorded.
pub fn options(request: &Request) -> Result<Option<Options>> {
    let (Blocks { first, count }, Warps(warps)) = (request.trace_blocks, request.trace_warps);
    if request.trace.is_none() {
        return Ok(None);
    }
    let product = |dimensions: [u32; 3]| dimensions.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let (grid, threads) = (product(request.grid.0), product(request.block.0));
    ensure!(first < grid, "--trace-blocks {first}: the grid has {grid} blocks, numbered from 0");
    let of_block = threads.div_ceil(32);
    let some = (0..of_block.min(32)).any(|warp| warps >> warp & 1 == 1);
    ensure!(some, "--trace-warps: the block has {of_block} warps, numbered from 0, and none of those named");
    let blocks = count.min(grid - first);
    let steps = request.trace_steps;
    ensure!(
        blocks.saturating_mul(steps) <= STEPS_MAX,
        "--trace-blocks and --trace-steps: {blocks} blocks of {steps} steps may be more than {STEPS_MAX}, which is most"
    );
    Ok(Some(Options { first_block: first, blocks, warps, steps_per_block_max: steps }))
}

/// The file that the trace goes to, open before anything has run.
pub struct TraceFile {
    name: String,
    file: File,
    /// Remark added to the line about the trace.
    remark: String,
}

/// Opens the file of the trace, which must be none of the files that are read.
pub fn create(request: &Request, path: &Path) -> Result<TraceFile> {
    let name = path.display().to_string();
    let specs = request.args.iter().filter_map(|argument| match argument {
        Argument::Spec(spec) => Some(spec),
        Argument::Put(_) => None,
    });
    let data = specs.chain(&request.buffer).chain(&request.set).filter_map(|spec| match &spec.kind {
        Kind::Buffer { init: Init::File(path) | Init::Start(path), .. }
        | Kind::Bytes { init: Init::File(path), .. } => Some(path.as_path()),
        _ => None,
    });
    let written = std::fs::canonicalize(path).ok();
    for read in request.files.iter().map(PathBuf::as_path).chain(data) {
        let same = written.is_some() && std::fs::canonicalize(read).ok() == written;
        ensure!(!same, "--trace {name}: that is the file {} itself, which would be lost", read.display());
    }
    options(request)?;
    let file = File::create(path).with_context(|| format!("--trace {name}: the file cannot be written"))?;
    let grid = request.grid.0.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let Blocks { first, count } = request.trace_blocks;
    let remark =
        if first.saturating_add(count) > grid { format!("; the grid has {grid} blocks") } else { String::new() };
    Ok(TraceFile { name, file, remark })
}

impl TraceFile {
    /// Writes the trace; a line for people about what is in the file.
    pub fn write(self, trace: &Trace) -> Result<Option<String>> {
        let TraceFile { name, file, remark } = self;
        let what = || format!("--trace {name}: the trace could not be written");
        let mut file = BufWriter::new(file);
        serde_json::to_writer(&mut file, trace).map_err(std::io::Error::from).with_context(what)?;
        file.flush().with_context(what)?;
        let kept = trace.steps.len();
        let cut = match trace.dropped_steps {
            0 => String::new(),
            dropped => format!(", cut off: --trace-steps keeps {dropped} more out"),
        };
        Ok(Some(format!("trace     {kept} steps in {name}{cut}{remark}\n")))
    }
}
