//! Counts per instruction to counters, and recorded steps to a trace.

use super::Counts;
use crate::code::{Counted, Debug, Op};
use crate::program::Kernel;
use crate::trace::{Instruction, Step, Trace, VERSION};
use crate::{Counters, Launch, LineCounters, Schedule};

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.issued += other.issued;
        self.threads += other.threads;
        self.wavefronts += other.wavefronts;
        self.conflicts += other.conflicts;
        self.load_wavefronts += other.load_wavefronts;
        self.load_conflicts += other.load_conflicts;
        self.sectors += other.sectors;
        self.peer_sectors += other.peer_sectors;
        self.peer_bytes += other.peer_bytes;
        self.divergent += other.divergent;
        self.requests.iter_mut().zip(other.requests).for_each(|(sum, n)| *sum += n);
    }
}

/// Counts per instruction to counters in total and per source line.
pub(super) fn tally(kernel: &Kernel, counts: &[Counts]) -> (Counters, Vec<LineCounters>) {
    let mut total = Counters::default();
    let mut lines = std::collections::BTreeMap::<(String, u32), Counters>::new();
    for ((inst, debug), counts) in kernel.code.insts.iter().zip(&kernel.code.debug).zip(counts) {
        if !debug.counted || counts.issued == 0 {
            continue;
        }
        let counters = classify(inst.op, counts);
        total += counters;
        *lines.entry(source(kernel, debug)).or_default() += counters;
    }
    let lines = lines.into_iter().map(|((file, line), counters)| LineCounters { file, line, counters }).collect();
    (total, lines)
}

/// File and line of the source, or nothing and 0.
fn source(kernel: &Kernel, debug: &Debug) -> (String, u32) {
    let file = |loc: &ptx::Loc| kernel.sources.iter().find(|source| source.index == loc.file);
    let found = debug.loc.and_then(|loc| Some((file(&loc)?.path.clone(), loc.line)));
    found.unwrap_or_default()
}

/// Atomic operations, one for each lane that makes one.
pub(super) fn atomic_operations(kernel: &Kernel, counts: &[Counts]) -> u64 {
    let atomics = kernel.code.insts.iter().zip(counts).filter(|(inst, _)| matches!(inst.op, Op::Atomic(_)));
    atomics.map(|(_, counts)| counts.threads).sum()
}

/// The recorded steps in block order, with the names they need. `took_turns`: their order is that of the launch, or of all that
/// run together; else units ran side by side, and one after the other stands for that.
pub(super) fn trace(
    kernel: &Kernel,
    launch: &Launch,
    (schedule, cluster, took_turns): (Schedule, [u32; 3], bool),
    mut steps: Vec<Step>,
    dropped_steps: u64,
) -> Trace {
    if !took_turns {
        // Stable: the steps of one unit keep their order.
        let unit = |block: [u32; 3]| -> [u32; 3] { std::array::from_fn(|axis| block[2 - axis] / cluster[2 - axis]) };
        steps.sort_by_key(|step| unit(step.block));
        steps.iter_mut().zip(0..).for_each(|(step, order)| step.order = order);
    }
    steps.sort_by_key(|step| step.block_linear);
    let lines: Vec<&str> = kernel.texts.text.lines().collect();
    let code = kernel.code.debug.iter().map(|debug| {
        let (file, line) = source(kernel, debug);
        let text = lines.get(debug.ptx_line.saturating_sub(1) as usize).map_or("", |text| text.trim());
        let (_, ptx_line) = kernel.texts.locate(debug.ptx_line);
        Instruction { opcode: debug.opcode.clone(), text: text.to_owned(), ptx_line, file, line, calls: calls(debug) }
    });
    Trace {
        version: VERSION,
        kernel: kernel.name.clone(),
        schedule: schedule.to_string(),
        grid: launch.grid,
        block: launch.block,
        code: code.collect(),
        steps,
        dropped_steps,
        names: Vec::new(),
    }
}

/// Lines of the calls around the place that is shown; none if some of them are in another file.
fn calls(debug: &Debug) -> Vec<u32> {
    let Some(loc) = debug.loc else { return Vec::new() };
    let around = debug.frames.iter().skip_while(|frame| **frame != loc).skip(1);
    let is_one_file = debug.frames.iter().skip_while(|frame| **frame != loc).all(|frame| frame.file == loc.file);
    around.filter(|_| is_one_file).map(|frame| frame.line).collect()
}

fn classify(op: Op, counts: &Counts) -> Counters {
    let mut out =
        Counters { inst_executed: counts.issued, thread_inst_executed: counts.threads, ..Counters::default() };
    let peers = (counts.peer_sectors, counts.peer_bytes);
    let [shared, global, local] = [counts.requests[0], counts.requests[1], counts.requests[2]];
    match op.counted() {
        Counted::Branch => {
            out.branches = counts.issued;
            out.divergent_branches = counts.divergent;
        }
        Counted::Barrier => out.barriers = counts.issued,
        Counted::Shuffle => out.shuffles = counts.issued,
        Counted::Load => {
            (out.shared_ld_wavefronts, out.shared_ld_conflicts) = (counts.wavefronts, counts.conflicts);
            out.global_ld_sectors = counts.sectors;
            (out.peer_ld_sectors, out.peer_ld_bytes) = peers;
            (out.shared_ld_requests, out.global_ld_requests, out.local_ld_requests) = (shared, global, local);
        }
        Counted::Copy => {
            (out.global_ld_sectors, out.global_ld_requests) = (counts.sectors, global);
            (out.peer_ld_sectors, out.peer_ld_bytes) = peers;
        }
        Counted::Store => {
            (out.shared_st_wavefronts, out.shared_st_conflicts) = (counts.wavefronts, counts.conflicts);
            out.global_st_sectors = counts.sectors;
            (out.peer_st_sectors, out.peer_st_bytes) = peers;
            (out.shared_st_requests, out.global_st_requests, out.local_st_requests) = (shared, global, local);
        }
        Counted::Atomic => {
            (out.shared_atom_wavefronts, out.shared_atom_conflicts) = (counts.wavefronts, counts.conflicts);
            (out.shared_ld_wavefronts, out.shared_ld_conflicts) = (counts.load_wavefronts, counts.load_conflicts);
            (out.peer_atom_sectors, out.peer_atom_bytes) = peers;
            let is_red = matches!(op, Op::Atomic(atomic) if atomic.machine.is_red());
            *(if is_red { &mut out.global_red_sectors } else { &mut out.global_atom_sectors }) = counts.sectors;
        }
        Counted::Plain => {}
    }
    out
}
