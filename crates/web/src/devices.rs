//! Launches on several devices, which run at once, and their steps as one trace.

use simt::{Kernel, Launch, Memory, Options, Outcome, StreamLaunch};

use crate::request;

/// Runs the launches of each device in their order, all devices at once, each of which reaches the memory of all others. The outcomes
/// come in the order of `launches`, and so do the indices of launches in faults and notes.
///
/// # Errors
/// A launch that the simulator refuses, in its words.
pub fn run(
    kernels: &[Kernel],
    launches: &[Launch],
    memory: &mut Memory,
    options: &Options,
) -> Result<Vec<Outcome>, String> {
    let last = launches.iter().map(|launch| launch.device).max().unwrap_or(0);
    memory.map_all_peers(last + 1).map_err(|error| error.to_string())?;
    // Indices of the launches, stream after stream.
    let mut order: Vec<usize> = (0..launches.len()).collect();
    order.sort_by_key(|&at| launches[at].device);
    let launch = |at: usize| StreamLaunch { kernel: &kernels[at], launch: &launches[at], overlaps: false };
    let streams = order.chunk_by(|&a, &b| launches[a].device == launches[b].device);
    let streams: Vec<Vec<_>> = streams.map(|stream| stream.iter().map(|&at| launch(at)).collect()).collect();
    let outcomes = simt::run_devices(&streams, memory, options).map_err(|error| error.to_string())?;
    let mut outcomes: Vec<_> = order.iter().copied().zip(outcomes.into_iter().flatten()).collect();
    let place = |launch: &mut u32| *launch = order.get(*launch as usize).map_or(0, |&at| at as u32);
    for (_, outcome) in &mut outcomes {
        let faults = outcome.faults.iter_mut().flat_map(|fault| fault.other.iter_mut().chain([&mut fault.site]));
        let notes = outcome.notes.iter_mut().flat_map(|note| note.other.iter_mut().chain([&mut note.site]));
        faults.chain(notes).for_each(|site| place(&mut site.launch));
    }
    outcomes.sort_by_key(|&(at, _)| at);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Makes the traces of the launches that were asked for one, which the first of them has, and drops all others. Blocks are numbered
/// through from launch to launch, and the grid is as large as all of them together.
///
/// # Errors
/// Launches of different kernels.
pub fn join_traces(outcomes: &mut [Outcome], asked: Option<request::Trace>) -> Result<(), String> {
    let Some(asked) = asked.filter(|asked| asked.launches > 1) else {
        let kept = asked.map(|asked| asked.launch);
        let others = outcomes.iter_mut().enumerate().filter(|&(at, _)| Some(at) != kept);
        others.for_each(|(_, outcome)| outcome.trace = None);
        return Ok(());
    };
    let of_trace = |at: usize| at.checked_sub(asked.launch).is_some_and(|at| (at as u64) < asked.launches);
    let traces = outcomes.iter_mut().enumerate().map(|(at, outcome)| (at, outcome.trace.take()));
    let mut traces: Vec<_> = traces.filter(|&(at, _)| of_trace(at)).filter_map(|(_, trace)| trace).collect();
    let Some((whole, others)) = traces.split_first_mut() else { return Ok(()) };
    let blocks = |grid: [u32; 3]| grid.iter().map(|&blocks| u64::from(blocks)).product::<u64>();
    let mut all = blocks(whole.grid);
    for other in others {
        if other.kernel != whole.kernel {
            return Err(format!("a trace is of one kernel, not of {} and {}", whole.kernel, other.kernel));
        }
        for mut step in other.steps.drain(..) {
            step.block_linear += all;
            whole.steps.push(step);
        }
        whole.dropped_steps += other.dropped_steps;
        all += blocks(other.grid);
    }
    whole.grid = [u32::try_from(all).unwrap_or(u32::MAX), 1, 1];
    if let Some(first) = outcomes.get_mut(asked.launch) {
        first.trace = Some(std::mem::take(whole));
    }
    Ok(())
}
