//! A launch: blocks dealt to host threads, with one outcome whatever their number.
//!
//! The outcome is defined by running blocks one after the other in grid order. Blocks that touch disjoint memory may
//! as well run side by side, and nearly all kernels are like that; so each block notes the ranges it reads and
//! writes, and when any two blocks met in one, or anything else out of the ordinary happened, memory is rolled back
//! and the launch is run again in order. Kernels whose blocks talk to each other on purpose (global atomics, ordered
//! loads, cooperative launches) take turns on one host thread from the start, so that a block may wait for another.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::block::{Block, Progress};
use super::findings::Findings;
use super::warp::{Row32, Row64, Warp};
use super::{Context, Counts, Machine};
use crate::code::{Code, Op, Source, Special, Target};
use crate::launch::{Check, Launch, LaunchError, Options, Outcome};
use crate::memory::Memory;
use crate::print::Printed;
use crate::program::Kernel;
use crate::trace::{Instruction, Step, Trace, VERSION};
use crate::{Counters, LineCounters};

/// Blocks a host thread takes at a time.
const BATCH: u64 = 8;
/// Warp-instructions a block runs before the next has a turn, where blocks talk to each other.
const BLOCK_TURN_STEPS: u64 = 1 << 16;

/// The ranges of global memory that one block touched.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    reads: Vec<(u64, u64)>,
    writes: Vec<(u64, u64)>,
}

impl AccessLog {
    #[inline(always)]
    pub(super) fn read(&mut self, low: u64, high: u64) {
        extend(&mut self.reads, low, high);
    }

    #[inline(always)]
    pub(super) fn write(&mut self, low: u64, high: u64) {
        extend(&mut self.writes, low, high);
    }
}

/// Adds a range, joined with the last one where they touch.
#[inline(always)]
fn extend(ranges: &mut Vec<(u64, u64)>, low: u64, high: u64) {
    match ranges.last_mut() {
        Some(last) if low <= last.1 && high >= last.0 => *last = (last.0.min(low), last.1.max(high)),
        _ => ranges.push((low, high)),
    }
}

/// A range and the block that touched it.
type Touch = (u64, u64, u64);

/// What one host thread brings home.
#[derive(Default)]
struct Share {
    counts: Vec<Counts>,
    findings: Findings,
    reads: Vec<Touch>,
    writes: Vec<Touch>,
    steps: Vec<Step>,
    dropped_steps: u64,
    printed: Printed,
}

/// Runs `launch`. See the module's head for the order of blocks.
pub(crate) fn run(
    kernel: &Kernel,
    memory: &mut Memory,
    launch: &Launch,
    options: &Options,
) -> Result<Outcome, LaunchError> {
    let code = &kernel.code;
    let params = bind(kernel, launch)?;
    let variables = memory.place_variables(kernel.program_id, &code.variables);
    let variables = variables.map_err(|error| LaunchError(error.to_string()))?;
    let workspace = match launch.cooperative && code.uses_grid_barrier() {
        true => memory.grid_workspace().map_err(|error| LaunchError(error.to_string()))?,
        false => 0,
    };
    let threads_per_block = launch.block.iter().product::<u32>();
    let dynamic_offset = code.shared_bytes.next_multiple_of(code.dynamic_align_bytes);
    let shared_bytes = if launch.shared_bytes == 0 { code.shared_bytes } else { dynamic_offset + launch.shared_bytes };
    let blocks = launch.grid.iter().map(|&n| u64::from(n)).product::<u64>();
    let workers = host_threads(options).min(blocks.div_ceil(BATCH).max(1) as usize);
    let talk = code.blocks_communicate || launch.cooperative;
    let draft =
        Draft { code, launch, options, params, variables, workspace, threads_per_block, dynamic_offset, shared_bytes };
    let mut share = None;
    if workers > 1 && !talk {
        memory.begin_journal();
        share = side_by_side(&draft.context(memory, true), blocks, workers);
        if share.is_some() {
            memory.commit_journal();
        } else {
            memory.roll_back();
        }
    }
    let share = match share {
        Some(share) => share,
        None if talk => taking_turns(&draft.context(memory, false), blocks),
        None => in_order(&draft.context(memory, false), blocks),
    };
    if !options.checks.has(Check::UninitialisedRead) {
        memory.forget_unwritten();
    }
    let (counters, lines) = tally(kernel, &share.counts);
    let trace = options.trace.map(|_| trace(kernel, share.steps, share.dropped_steps));
    let faults = share.findings.into_faults(kernel, memory, dynamic_offset);
    let (printed, prints_dropped) = share.printed.into_text();
    Ok(Outcome { counters, lines, faults, trace, printed, prints_dropped })
}

/// A context that still lacks its borrow of memory.
struct Draft<'k> {
    code: &'k Code,
    launch: &'k Launch,
    options: &'k Options,
    params: Vec<u8>,
    variables: Vec<u64>,
    workspace: u64,
    threads_per_block: u32,
    dynamic_offset: u32,
    shared_bytes: u32,
}

impl Draft<'_> {
    fn context<'c>(&'c self, memory: &'c Memory, side_by_side: bool) -> Context<'c> {
        Context {
            code: self.code,
            memory,
            launch: self.launch,
            options: self.options,
            params: &self.params,
            variables: &self.variables,
            workspace: self.workspace,
            threads_per_block: self.threads_per_block,
            warps_per_block: self.threads_per_block.div_ceil(32),
            dynamic_offset: self.dynamic_offset,
            shared_bytes: self.shared_bytes,
            side_by_side,
        }
    }
}

/// Checks geometry and arguments; returns the parameter block.
fn bind(kernel: &Kernel, launch: &Launch) -> Result<Vec<u8>, LaunchError> {
    let fail = |message: String| Err(LaunchError(format!("{}: {message}", kernel.name)));
    let threads = launch.block.iter().map(|&n| u64::from(n)).product::<u64>();
    if launch.grid.contains(&0) || threads == 0 {
        return fail("a grid and a block need at least one of each".into());
    }
    if threads > 1024 || launch.block[2] > 64 {
        return fail(format!("a block of {threads} threads; at most 1024 (and 64 in z) fit"));
    }
    if launch.grid[0] > i32::MAX as u32 || launch.grid[1] > 65535 || launch.grid[2] > 65535 {
        return fail("a grid has at most 2147483647 blocks in x and 65535 in y and z".into());
    }
    if let Some(max) = kernel.block_max
        && threads > max
    {
        return fail(format!("a block of {threads} threads; the kernel was compiled for at most {max}"));
    }
    let shared = u64::from(kernel.code.shared_bytes) + u64::from(launch.shared_bytes);
    if shared > 227 << 10 {
        return fail(format!("{shared} bytes of shared memory; a block has at most 227 KiB"));
    }
    if launch.args.len() != kernel.parameters.len() {
        return fail(format!("{} arguments given, {} wanted", launch.args.len(), kernel.parameters.len()));
    }
    let mut block = Vec::new();
    for (arg, parameter) in launch.args.iter().zip(&kernel.parameters) {
        if arg.len() != parameter.bytes as usize {
            let (given, wanted) = (arg.len(), parameter.bytes);
            return fail(format!("argument {} has {given} bytes, {wanted} wanted", parameter.name));
        }
        block.resize(block.len().next_multiple_of(parameter.align_bytes.max(1) as usize), 0);
        block.extend_from_slice(arg);
    }
    Ok(block)
}

fn host_threads(options: &Options) -> usize {
    match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n.min(256),
    }
}

/// Blocks one after the other.
fn in_order(context: &Context<'_>, blocks: u64) -> Share {
    let mut machine = Machine::new(context);
    let mut block = Block::new(context);
    for index in 0..blocks {
        block.restart(context, index);
        if run_to_end(&mut block, &mut machine) == Progress::Fatal {
            break;
        }
    }
    machine.share()
}

/// Runs a block until it is done or the launch is over.
fn run_to_end(block: &mut Block, machine: &mut Machine<'_>) -> Progress {
    loop {
        let progress = block.run(machine, u64::MAX);
        if progress != Progress::Turn {
            return progress;
        }
    }
}

/// Blocks in turns: each runs for a while, and the next one starts when all that have started still wait. One block
/// after the other while nobody waits; all of them resident if everybody does.
fn taking_turns(context: &Context<'_>, blocks: u64) -> Share {
    let mut machine = Machine::new(context);
    let mut resident: Vec<Block> = Vec::new();
    let mut spare: Vec<Block> = Vec::new();
    let mut next = 0;
    'launch: while next < blocks || !resident.is_empty() {
        let mut at = 0;
        while at < resident.len() {
            match resident[at].run(&mut machine, BLOCK_TURN_STEPS) {
                Progress::Done => spare.push(resident.remove(at)),
                Progress::Turn => at += 1,
                Progress::Fatal => break 'launch,
            }
        }
        if next < blocks {
            let mut block = spare.pop().unwrap_or_else(|| Block::new(context));
            block.restart(context, next);
            next += 1;
            resident.push(block);
        }
    }
    machine.share()
}

/// Blocks on `workers` host threads. `None` when their order could matter: two blocks met in memory, or the launch
/// ended early.
fn side_by_side(context: &Context<'_>, blocks: u64, workers: usize) -> Option<Share> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let work = || {
        let mut machine = Machine::new(context);
        let mut block = Block::new(context);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        while !stop.load(Relaxed) {
            let first = next.fetch_add(BATCH, Relaxed);
            for index in first..(first + BATCH).min(blocks) {
                block.restart(context, index);
                if run_to_end(&mut block, &mut machine) == Progress::Fatal {
                    stop.store(true, Relaxed);
                    break;
                }
                let log = &mut block.env.log;
                collect(&mut log.reads, index, &mut reads);
                collect(&mut log.writes, index, &mut writes);
            }
            if first >= blocks {
                break;
            }
        }
        Share { reads, writes, ..machine.share() }
    };
    let shares: Vec<Share> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        // A worker that panicked takes its panic along: it is a bug of the simulator, not of the kernel.
        handles.into_iter().map(|h| h.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    if stop.load(Relaxed) {
        return None;
    }
    let mut all = Share { counts: vec![Counts::default(); context.code.insts.len()], ..Share::default() };
    for share in shares {
        all.counts.iter_mut().zip(&share.counts).for_each(|(sum, counts)| sum.add(counts));
        all.findings.merge(share.findings);
        all.reads.extend(share.reads);
        all.writes.extend(share.writes);
        all.steps.extend(share.steps);
        all.dropped_steps += share.dropped_steps;
        all.printed.merge(share.printed);
    }
    (!blocks_met(&mut all.reads, &mut all.writes)).then_some(all)
}

/// Moves a block's ranges to the common list, sorted and joined.
fn collect(ranges: &mut Vec<(u64, u64)>, block: u64, all: &mut Vec<Touch>) {
    ranges.sort_unstable();
    let mut joined: Option<(u64, u64)> = None;
    for (low, high) in ranges.drain(..) {
        match &mut joined {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => {
                all.extend(joined.map(|(low, high)| (low, high, block)));
                joined = Some((low, high));
            }
        }
    }
    all.extend(joined.map(|(low, high)| (low, high, block)));
}

/// Whether any block touched what another one wrote.
fn blocks_met(reads: &mut [Touch], writes: &mut [Touch]) -> bool {
    writes.sort_unstable();
    if writes.windows(2).any(|pair| pair[1].0 < pair[0].1 && pair[1].2 != pair[0].2) {
        return true;
    }
    // One block's ranges are joined, and no two blocks' overlap: so `writes` is sorted by start and by end.
    reads.iter().any(|&(low, high, block)| {
        let first = writes.partition_point(|&(_, end, _)| end <= low);
        writes[first..].iter().take_while(|&&(start, ..)| start < high).any(|&(.., writer)| writer != block)
    })
}

impl Machine<'_> {
    fn share(self) -> Share {
        let dropped_steps = self.recorder.dropped;
        let steps = self.recorder.into_steps();
        let Machine { counts, findings, printed, .. } = self;
        Share { counts, findings, steps, dropped_steps, printed, ..Share::default() }
    }
}

/// Fills the constant rows that are the same for all blocks.
pub(super) fn fill_constants(context: &Context<'_>, warp: &mut Warp) {
    for &(row, source) in &context.code.constants32 {
        warp.w[usize::from(row)] =
            Row32(std::array::from_fn(|lane| value(context, warp.index, lane as u32, source) as u32));
    }
    for &(row, source) in &context.code.constants64 {
        warp.d[usize::from(row)] = Row64(std::array::from_fn(|lane| value(context, warp.index, lane as u32, source)));
    }
}

/// Fills the rows of `%ctaid`.
pub(super) fn fill_block_index(context: &Context<'_>, warp: &mut Warp, block: [u32; 3]) {
    for &(row, source) in &context.code.constants32 {
        if let Source::Special(Special::Ctaid(axis)) = source {
            warp.w[usize::from(row)] = Row32([block[usize::from(axis)]; 32]);
        }
    }
    for &(row, source) in &context.code.constants64 {
        if let Source::Special(Special::Ctaid(axis)) = source {
            warp.d[usize::from(row)] = Row64([u64::from(block[usize::from(axis)]); 32]);
        }
    }
}

fn value(context: &Context<'_>, warp: u32, lane: u32, source: Source) -> u64 {
    match source {
        Source::Literal(value) => value,
        Source::Param { offset, bytes, signed } => {
            let (start, width) = (offset as usize, usize::from(bytes));
            let mut raw = [0; 8];
            raw[..width].copy_from_slice(&context.params[start..start + width]);
            let value = u64::from_le_bytes(raw);
            let shift = 64 - 8 * u32::from(bytes);
            if signed { ((value << shift) as i64 >> shift) as u64 } else { value }
        }
        Source::Variable(index, offset) => context.variables[index as usize].wrapping_add_signed(offset),
        Source::Dynamic(offset) => u64::from(context.dynamic_offset).wrapping_add_signed(offset),
        Source::Special(special) => special_value(context, warp, lane, special),
    }
}

fn special_value(context: &Context<'_>, warp: u32, lane: u32, special: Special) -> u64 {
    let thread = warp * 32 + lane;
    let [x, y, _] = context.launch.block;
    u64::from(match special {
        Special::Tid(0) => thread % x,
        Special::Tid(1) => thread / x % y,
        Special::Tid(_) => thread / x / y,
        Special::Ntid(axis) => context.launch.block[usize::from(axis)],
        Special::Nctaid(axis) => context.launch.grid[usize::from(axis)],
        Special::LaneId => lane,
        Special::WarpId => warp,
        Special::NwarpId => context.warps_per_block,
        Special::NsmId => 1,
        Special::LanemaskEq => 1 << lane,
        Special::LanemaskLt => (1 << lane) - 1,
        Special::LanemaskLe => (1 << lane) | ((1 << lane) - 1),
        Special::LanemaskGt => !((1 << lane) | ((1 << lane) - 1)),
        Special::LanemaskGe => !((1 << lane) - 1),
        Special::DynamicSharedBytes => context.launch.shared_bytes,
        Special::TotalSharedBytes => context.shared_bytes,
        Special::WarpSize => 32,
        Special::Envreg(1) => (context.workspace >> 32) as u32,
        Special::Envreg(2) => context.workspace as u32,
        // Filled block by block, or without a meaning here.
        Special::Ctaid(_) | Special::SmId | Special::GridId | Special::Envreg(_) => 0,
    })
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.issued += other.issued;
        self.threads += other.threads;
        self.wavefronts += other.wavefronts;
        self.conflicts += other.conflicts;
        self.sectors += other.sectors;
        self.divergent += other.divergent;
        self.requests.iter_mut().zip(other.requests).for_each(|(sum, n)| *sum += n);
    }
}

/// Counts per instruction to counters in total and per source line.
fn tally(kernel: &Kernel, counts: &[Counts]) -> (Counters, Vec<LineCounters>) {
    let mut total = Counters::default();
    let mut lines = std::collections::BTreeMap::<(String, u32), Counters>::new();
    for ((inst, debug), counts) in kernel.code.insts.iter().zip(&kernel.code.debug).zip(counts) {
        if !debug.counted || counts.issued == 0 {
            continue;
        }
        let counters = classify(inst.op, counts);
        total += counters;
        let file = debug.loc.and_then(|loc| kernel.sources.iter().find(|s| s.index == loc.file));
        let key = match (file, debug.loc) {
            (Some(file), Some(loc)) => (file.path.clone(), loc.line),
            _ => (String::new(), 0),
        };
        *lines.entry(key).or_default() += counters;
    }
    let lines = lines.into_iter().map(|((file, line), counters)| LineCounters { file, line, counters }).collect();
    (total, lines)
}

/// The recorded steps in block order, with the names they need.
fn trace(kernel: &Kernel, mut steps: Vec<Step>, dropped_steps: u64) -> Trace {
    // Stable: the steps of one block keep their order.
    steps.sort_by_key(|step| step.block_linear);
    let source = |debug: &crate::code::Debug| {
        let loc = debug.loc?;
        let file = kernel.sources.iter().find(|s| s.index == loc.file)?;
        Some((file.path.clone(), loc.line))
    };
    let code = kernel.code.debug.iter().map(|debug| {
        let (file, line) = source(debug).unwrap_or_default();
        Instruction { opcode: debug.opcode.clone(), ptx_line: debug.ptx_line, file, line }
    });
    Trace { version: VERSION, kernel: kernel.name.clone(), code: code.collect(), steps, dropped_steps }
}

fn classify(op: Op, counts: &Counts) -> Counters {
    let mut out =
        Counters { inst_executed: counts.issued, thread_inst_executed: counts.threads, ..Counters::default() };
    let [shared, global, local] = [counts.requests[0], counts.requests[1], counts.requests[2]];
    match op {
        Op::Branch | Op::BranchIndexed => {
            out.branches = counts.issued;
            out.divergent_branches = counts.divergent;
        }
        Op::Barrier | Op::BarrierArrive => out.barriers = counts.issued,
        Op::Shuffle(_) => out.shuffles = counts.issued,
        Op::Load(_) => {
            (out.shared_ld_wavefronts, out.shared_ld_conflicts) = (counts.wavefronts, counts.conflicts);
            out.global_ld_sectors = counts.sectors;
            (out.shared_ld_requests, out.global_ld_requests, out.local_ld_requests) = (shared, global, local);
        }
        Op::Store(_) => {
            (out.shared_st_wavefronts, out.shared_st_conflicts) = (counts.wavefronts, counts.conflicts);
            out.global_st_sectors = counts.sectors;
            (out.shared_st_requests, out.global_st_requests, out.local_st_requests) = (shared, global, local);
        }
        Op::Atomic(atomic) => {
            (out.shared_atom_wavefronts, out.shared_atom_conflicts) = (counts.wavefronts, counts.conflicts);
            let sectors = if atomic.is_red && atomic.target != Target::Shared {
                &mut out.global_red_sectors
            } else {
                &mut out.global_atom_sectors
            };
            *sectors = counts.sectors;
        }
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_meet_only_where_one_writes() {
        let met = |reads: &[Touch], writes: &[Touch]| blocks_met(&mut reads.to_vec(), &mut writes.to_vec());
        assert!(!met(&[(0, 100, 0), (0, 100, 1)], &[(200, 204, 0), (204, 208, 1)]));
        assert!(met(&[(0, 100, 0)], &[(96, 100, 1)]));
        assert!(!met(&[(96, 100, 1)], &[(96, 100, 1)]));
        assert!(met(&[], &[(0, 8, 0), (4, 12, 1)]));
    }
}
