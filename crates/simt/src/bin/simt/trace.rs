//! `simt run --trace`: which steps are recorded, and the file that they go to.

use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use simt::trace::{Options, Trace};

use crate::command_line::Request;

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

/// What is to be recorded of the launch that is asked for.
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

/// Writes the trace; a line for people about what is in the file.
pub fn write(path: &Path, trace: &Trace) -> Result<String> {
    let name = path.display();
    let what = || name.to_string();
    let file = std::fs::File::create(path).with_context(what)?;
    serde_json::to_writer(BufWriter::new(file), trace).with_context(what)?;
    let kept = trace.steps.len();
    Ok(match trace.dropped_steps {
        0 => format!("trace     {kept} steps in {name}\n"),
        dropped => format!("trace     {kept} steps in {name}, cut off: --trace-steps keeps {dropped} more out\n"),
    })
}
