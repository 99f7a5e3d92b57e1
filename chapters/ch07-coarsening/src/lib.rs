//! Chapter 7, coarsening: threads that sum many elements before they join a tree, and a grid that is chosen.

use lab::{Arg, BlockRule, Chapter, Code, Factors, Mistake, Pass, Plan, Problem, Type, Variant};

mod sweep;

const TYPES: &[Type] = &[Type::I32, Type::F32, Type::F64];
/// A loop to the end.
const TREE_BLOCKS: BlockRule = BlockRule { min: 32, max: 1024, default: 256 };
/// The last warp starts from 64 sums.
const UNROLLED_BLOCKS: BlockRule = BlockRule { min: 64, max: 1024, default: 256 };

/// PMPP 10.6.
const SEGMENTED_ATOMIC: Variant = Variant {
    name: "segmented_atomic",
    idea: "a segment of two elements a thread for each block, one atomic addition a block onto a cleared sum",
    limit: "as many trees and as many atomics as segments; the order of float additions is not defined",
    types: TYPES,
    blocks: TREE_BLOCKS,
    elements_per_block: |block| 2 * u64::from(block),
    launches: |problem| clear_and_add(problem, problem.kernel(), 2),
    chooses_grid: true,
    unordered: true,
    ..Variant::BASE
};

/// PMPP 10.7.
const COARSENED: Variant = Variant {
    name: "coarsened",
    idea: "the same with 2 * COARSE_FACTOR elements a thread, so that a tree and an atomic serve a longer segment",
    limit: "the right factor depends on n: too small leaves many trees, too large leaves multiprocessors without a block",
    elements_per_block: |block| 2 * u64::from(COARSE_FACTORS.default) * u64::from(block),
    factors: Some(COARSE_FACTORS),
    launches: |problem| {
        let factor = problem.factor();
        clear_and_add(problem, problem.instance(&format!("c{factor}")), 2 * factor)
    },
    ..SEGMENTED_ATOMIC
};
const COARSE_FACTORS: Factors =
    Factors { what: "COARSE_FACTOR, half of the elements of a thread", values: &[1, 2, 4, 8, 16, 32], default: 4 };

/// V7.
const MULTI_ADD: Variant = Variant {
    name: "multi_add",
    idea: "NUM_PER_BLOCK consecutive elements a block, then a launch over the blocks' sums",
    limit: "a number fixed at compile time fits one n: for a smaller one few blocks are left",
    types: TYPES,
    blocks: UNROLLED_BLOCKS,
    elements_per_block: |_| NUMS_PER_BLOCK.default as u64,
    factors: Some(NUMS_PER_BLOCK),
    launches: num_per_block,
    chooses_grid: true,
    ..Variant::BASE
};
const NUMS_PER_BLOCK: Factors = Factors {
    what: "NUM_PER_BLOCK, elements of a block",
    values: &[1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16],
    default: 1 << 15,
};

/// Reduce 5, or 7 in other counts.
const GRID_STRIDE: Variant = Variant {
    name: "grid_stride",
    idea: "as many blocks as the card holds, each taking two elements a thread in every step of the whole grid",
    limit: "two tests a step, and the second load waits for the second test",
    types: TYPES,
    blocks: UNROLLED_BLOCKS,
    elements_per_block: |block| 2 * u64::from(block),
    launches: |problem| resident_grid(problem, problem.kernel(), 1),
    chooses_grid: true,
    ..Variant::BASE
};

/// K6.
const GRID_STRIDE_SHUFFLE: Variant = Variant {
    name: "grid_stride_shuffle",
    idea: "one test a step for both loads, and the last warp from register to register",
    limit: "four bytes a load: many loads must be on their way to fill the memory's pipe",
    ops: &[lab::Op::Sum, lab::Op::Min, lab::Op::Max],
    ..GRID_STRIDE
};

/// Like `grid_stride`, with loads of many bytes.
const VECTORISED: Variant = Variant {
    name: "vectorised",
    idea: "16 bytes a load, with the ends that do not fit added one by one",
    limit: "a second launch for the blocks' sums, which nobody may start before the last block has ended",
    // Two packs of four a thread.
    elements_per_block: |block| 8 * u64::from(block),
    factors: Some(BYTES_PER_LOAD),
    launches: |problem| {
        let bytes = problem.factor();
        resident_grid(problem, problem.instance(&format!("v{bytes}")), bytes / problem.ty.bytes())
    },
    ..GRID_STRIDE
};
const BYTES_PER_LOAD: Factors = Factors { what: "bytes a load", values: &[8, 16], default: 16 };

/// `clear<<<1, 1>>>(sum)`, then `kernel<<<grid, block>>>(in, sum, n)`: a segment of `elements_per_thread` elements a thread
/// for each block, which adds what it comes to onto the sum.
fn clear_and_add(problem: &Problem, kernel: String, elements_per_thread: u64) -> Plan {
    let (block, n, sum) = (problem.block(), problem.n, Arg::Sums(0));
    let grid = n.div_ceil(elements_per_thread * block);
    let clear = Pass::new(format!("clear_{}", problem.ty), 1, 1, vec![sum]);
    let add = Pass::new(kernel, grid, block, vec![Arg::Input, sum, Arg::U32(n as u32)])
        .with_elements(n)
        // In the order that is worst for it, a block's sum passes through the additions of all blocks.
        .with_additions(elements_per_thread + u64::from(block.ilog2()) + grid)
        .with_atomics(grid);
    Plan::new(vec![clear, add], vec![1])
}

/// `kernel<<<grid, block>>>(in, sums, n)` with a fixed number of elements a block, and again over the sums until one is left.
fn num_per_block(problem: &Problem) -> Plan {
    let (block, num_per_block) = (problem.block(), problem.factor());
    Plan::until_one(problem.n, |input, sums, n| {
        let kernel = problem.instance(&format!("n{num_per_block}"));
        let of_thread = n.min(num_per_block).div_ceil(block);
        let pass = Pass::new(kernel, n.div_ceil(num_per_block), block, vec![input, sums, Arg::U32(n as u32)]);
        pass.with_additions(of_thread + u64::from(block.ilog2()))
    })
}

/// `kernel<<<grid, block>>>(in, sums, n)` with the reader's grid, or else as many blocks as the card holds at a time; then
/// one block over their sums. In every step of the grid a thread loads twice, `width` elements each time.
fn resident_grid(problem: &Problem, kernel: String, width: u64) -> Plan {
    let block = problem.block();
    let elements_per_step = 2 * width * block;
    // More blocks than that would have nothing to do; with no more, the kernel's indices stay below 2^32.
    let most = problem.n.div_ceil(elements_per_step);
    let resident = u64::from(problem.card.multiprocessors) * u64::from(problem.card.blocks_of(block as u32));
    let widest = problem.asked.grid.map_or(resident, u64::from).clamp(1, most);
    Plan::until_one(problem.n, |input, sums, n| {
        let grid = if input == Arg::Input { widest } else { 1 };
        let steps = n.div_ceil(elements_per_step * grid);
        // Two elements become one first; the places of a pack, and an element at either end, come after the loop.
        let ends = if width > 1 { width + 1 } else { 0 };
        let pass = Pass::new(kernel.clone(), grid, block, vec![input, sums, Arg::U32(n as u32)]);
        pass.with_additions(steps + 1 + ends + u64::from(block.ilog2()))
    })
}

/// A wrong kernel.
const MISTAKE: Variant = Variant { types: &[Type::I32], blocks: UNROLLED_BLOCKS, launches: one_block, ..Variant::BASE };

/// `kernel<<<1, block>>>(in, sum, n)`.
fn one_block(problem: &Problem) -> Plan {
    let block = problem.block();
    Plan::until_one(problem.n, |input, sum, n| {
        let pass = Pass::new(problem.kernel(), 1, block, vec![input, sum, Arg::U32(n as u32)]);
        pass.with_additions(block.ilog2().into())
    })
}

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch07-coarsening",
    title: "Coarsening",
    before: Some(("ch06-templates", "template_shuffle")),
    variants: &[SEGMENTED_ATOMIC, COARSENED, MULTI_ADD, GRID_STRIDE, GRID_STRIDE_SHUFFLE, VECTORISED],
    mistakes: &[
        Mistake {
            variant: Variant {
                name: "no_clear",
                announced: Some(Code::UninitialisedRead),
                elements_per_block: |block| 2 * u64::from(block),
                ..MISTAKE
            },
            mistake: "the sum that the atomics add to is never cleared",
        },
        Mistake {
            variant: Variant {
                name: "unguarded_second",
                announced: Some(Code::OutOfBounds),
                elements_per_block: |block| 2 * u64::from(block) - 100,
                ..MISTAKE
            },
            mistake: "the loop's test holds for its first load, and the second reads past the end",
        },
        Mistake {
            variant: Variant { name: "remainder_dropped", elements_per_block: |_| 1000, ..MISTAKE },
            mistake: "a loop of NUM_PER_BLOCK / threads steps leaves out what the division leaves",
        },
        Mistake {
            variant: Variant {
                name: "misaligned_packs",
                announced: Some(Code::Misaligned),
                elements_per_block: |block| 8 * u64::from(block),
                offset: 1,
                ..MISTAKE
            },
            mistake: "16 bytes are loaded from an address that need not be a multiple of 16",
        },
        Mistake {
            variant: Variant { name: "tail_dropped", elements_per_block: |block| 8 * u64::from(block) - 1, ..MISTAKE },
            mistake: "n / 4 packs are summed, and the last n % 4 elements are not",
        },
    ],
    sweep: Some(sweep::SWEEP),
    ..Chapter::BASE
};
