//! The launches of this chapter's kernels: how many blocks, and how their sums become one.

use lab::{Ask, Pass, Plan, Slot};

/// Threads that a multiprocessor holds at a time (1,536 on some cards; one block more or less does not matter here).
pub(crate) const THREADS_PER_MULTIPROCESSOR: u32 = 2048;
/// Threads a block where the reader wishes none.
pub(crate) const BLOCK: u32 = 256;

/// A launch that clears the sum, and one that adds to it, a segment of `elements_per_thread` elements a thread for each
/// block.
pub(crate) fn atomic(ask: &Ask, kernel: String, elements_per_thread: u64) -> Plan {
    let block = ask.wish.block.unwrap_or(BLOCK);
    let grid = ask.n.div_ceil(elements_per_thread * u64::from(block)) as u32;
    // In the order that is worst for it, a block's sum passes through the additions of all blocks.
    let depth = elements_per_thread + u64::from(block.ilog2()) + u64::from(grid);
    let clear = Pass::new(ask.entry("clear", ""), 1, 1, 0, 0, vec![Slot::Sums(0)]);
    let args = vec![Slot::Input, Slot::Sums(0), Slot::Elements];
    let add = Pass { atomics: u64::from(grid), ..Pass::new(kernel, grid, block, ask.n, depth, args) };
    Plan { passes: vec![clear, add], sums: vec![1], ..Plan::default() }
}

/// A fixed number of elements a block, launched until one value is left.
pub(crate) fn relaunched(ask: &Ask, kernel: &str, elements_per_block: u64) -> Plan {
    let block = ask.wish.block.unwrap_or(BLOCK);
    let mut plan = Plan::default();
    let mut elements = ask.n;
    while plan.passes.is_empty() || elements > 1 {
        let grid = elements.div_ceil(elements_per_block);
        let steps = elements.min(elements_per_block).div_ceil(u64::from(block));
        push(&mut plan, kernel, grid as u32, block, elements, steps);
        elements = grid;
    }
    plan
}

/// A grid of the reader's or else of what the card holds at a time, then one block over its sums. In every step a thread
/// loads twice, `width` elements each time.
pub(crate) fn grid_stride(ask: &Ask, kernel: String, width: u64) -> Plan {
    let block = ask.wish.block.unwrap_or(BLOCK);
    let elements_per_step = 2 * width * u64::from(block);
    // More blocks than that would have nothing to do; with no more, the kernel's indices stay below 2^32.
    let most = ask.n.div_ceil(elements_per_step) as u32;
    let resident = ask.multiprocessors * (THREADS_PER_MULTIPROCESSOR / block);
    let grid = ask.wish.grid.unwrap_or(resident).clamp(1, most);
    let mut plan = Plan::default();
    for (elements, grid) in [(ask.n, grid), (u64::from(grid), 1)] {
        let steps = elements.div_ceil(elements_per_step * u64::from(grid));
        // Two elements become one first; the places of a pack, and an element at either end, come after the loop.
        let ends = if width > 1 { width + 1 } else { 0 };
        push(&mut plan, &kernel, grid, block, elements, steps + 1 + ends);
        if grid == 1 {
            break;
        }
    }
    plan
}

/// Adds a pass that reads the pass before, in which a thread makes at most `additions` before its block's tree.
fn push(plan: &mut Plan, kernel: &str, grid: u32, block: u32, elements: u64, additions: u64) {
    let i = plan.passes.len();
    let from = if i == 0 { Slot::Input } else { Slot::Sums(i - 1) };
    let depth = additions + u64::from(block.ilog2());
    let args = vec![from, Slot::Sums(i), Slot::Elements];
    plan.passes.push(Pass::new(kernel.to_owned(), grid, block, elements, depth, args));
    plan.sums.push(u64::from(grid));
}
