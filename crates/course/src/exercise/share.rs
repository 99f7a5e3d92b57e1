//! Division of the work, from the recorded steps of a launch: which warps load, which threads make the additions, and what
//! stands between one block's store and another's load. Counters add up what all threads do, and cannot show it.

use std::collections::{BTreeMap, BTreeSet};

use lab::text::grouped;
use simt::trace::{Access, Space, Step, Trace};

/// Lanes of a warp.
const LANES: u32 = 32;

/// The warp that loads fewest bytes from global memory, in words, if these are fewer than `least`.
pub fn looks_on(trace: &Trace, least: u64) -> Option<String> {
    let blocks = trace.grid.iter().product::<u32>() as usize;
    let warps = trace.block.iter().product::<u32>().div_ceil(LANES) as usize;
    let mut loaded = vec![0u64; blocks * warps];
    for step in &trace.steps {
        if trace.code[step.pc as usize].opcode.starts_with("ld") {
            let bytes = |access: &Access| u64::from(access.mask.count_ones()) * u64::from(access.bytes);
            loaded[step.block_linear as usize * warps + step.warp as usize] +=
                global_accesses(step).map(bytes).sum::<u64>();
        }
    }
    let (at, &bytes) = loaded.iter().enumerate().min_by_key(|&(_, bytes)| bytes)?;
    let of_block = if blocks > 1 { format!(" of block {}", at / warps) } else { String::new() };
    let line = || format!("warp {}{of_block} loads {} bytes, not {}", at % warps, grouped(bytes), grouped(least));
    (bytes < least).then(line)
}

/// The first addition of the tree of neighbours that another thread makes than the one whose number it has, in words, for
/// one block that sums its `n` elements of four bytes in place. The j-th value that an element gets is that of round j, in
/// which thread e / 2^j adds to element e.
pub fn stranger(trace: &Trace, n: u64) -> Option<String> {
    let opcode = |step: &Step| trace.code[step.pc as usize].opcode.as_str();
    let addresses = |step: &Step| {
        let of_access =
            |access: &Access| lanes(access.mask).map(|lane| access.addresses[lane as usize]).collect::<Vec<_>>();
        global_accesses(step).flat_map(of_access).collect::<Vec<_>>()
    };
    // The array is what is loaded: the first element is.
    let start = trace.steps.iter().filter(|step| opcode(step).starts_with("ld")).flat_map(addresses).min()?;
    let mut values = vec![0u32; n as usize];
    for step in &trace.steps {
        if !["st", "atom", "red"].iter().any(|name| opcode(step).starts_with(name)) {
            continue;
        }
        for access in global_accesses(step) {
            for lane in lanes(access.mask) {
                let element = access.addresses[lane as usize].wrapping_sub(start) / 4;
                let Some(round) = values.get_mut(element as usize) else { continue };
                *round += 1;
                let (thread, due) = (step.warp * LANES + lane, element.checked_shr(*round).unwrap_or(0));
                if u64::from(thread) != due {
                    return Some(format!(
                        "thread {thread} makes the addition to element {element} in round {round}, which is that of thread \
                         {due}"
                    ));
                }
            }
        }
    }
    // Element 0 may be kept in a register; of the others, each even one is added to.
    let kept = values.iter().step_by(2).skip(1).position(|&round| round == 0)?;
    Some(format!("nothing is added to element {} of the slice, where it lies", 2 * (kept + 1)))
}

/// The first value that one block loads from another with no fence before the writer's next atomic or behind the reader's last
/// one, in words. An access that releases or acquires is a fence on its side.
pub fn unfenced(trace: &Trace) -> Option<String> {
    let mut stored_by = BTreeMap::new(); // address → block
    let mut early = BTreeSet::new(); // addresses that no fence follows before their block's atomic
    let mut loads = Vec::new(); // block, address, and whether a fence is behind the block's last atomic
    for steps in trace.steps.chunk_by(|a, b| a.block_linear == b.block_linear) {
        let mut is_acquired = false;
        let mut pending = BTreeSet::new();
        for step in steps.iter().filter(|step| step.active != 0) {
            let parts: Vec<&str> = trace.code[step.pc as usize].opcode.split('.').collect();
            let has = |words: &[&str]| words.iter().any(|word| parts.contains(word));
            let (acquires, releases) = (has(&["acquire", "acq_rel"]), has(&["release", "acq_rel"]));
            let addresses: Vec<u64> = global_accesses(step)
                .flat_map(|access| lanes(access.mask).map(|lane| access.addresses[lane as usize]))
                .collect();
            match parts[0] {
                "membar" | "fence" if has(&["gl", "gpu", "sys"]) => {
                    is_acquired = true;
                    pending.clear();
                }
                "atom" | "red" if !addresses.is_empty() => {
                    is_acquired = acquires;
                    let open = std::mem::take(&mut pending);
                    early.extend(open.into_iter().filter(|_| !releases));
                }
                "st" => {
                    stored_by.extend(addresses.iter().map(|&address| (address, step.block_linear)));
                    pending.extend(addresses.into_iter().filter(|_| !releases));
                }
                "ld" => loads.extend(addresses.iter().map(|&at| (step.block_linear, at, is_acquired || acquires))),
                _ => {}
            }
        }
    }
    loads.into_iter().find_map(|(block, address, is_acquired)| {
        let writer = *stored_by.get(&address).filter(|&&writer| writer != block)?;
        if early.contains(&address) {
            return Some(format!(
                "block {writer} stores a value that block {block} loads, and takes its ticket with no fence between"
            ));
        }
        (!is_acquired).then(|| {
            format!("block {block} loads a value of block {writer} with no fence between its ticket and the load")
        })
    })
}

fn global_accesses(step: &Step) -> impl Iterator<Item = &Access> {
    step.access.iter().filter(|access| access.space == Space::Global)
}

fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}
