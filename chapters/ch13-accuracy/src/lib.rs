//! Chapter 13, accuracy: sums of floats from the plain one, whose last digits the order decides, to an exact one that nothing can
//! change.

mod mistakes;

use lab::{Arg, BlockRule, Chapter, Op, Pass, Plan, Problem, Type, Variant};

use reduction::families::exact;

/// Blocks of an inexact sum for each multiprocessor: as many as are resident together.
const RESIDENT: u64 = 4;
/// Elements a thread takes, at least, before there is a second block.
const ELEMENTS_PER_THREAD: u64 = 8;
/// Steps of the trees of lanes and of warps in a block of 256 threads.
const TREES: u64 = 5 + 3;

/// An addition of floats: half a unit in the last place is lost each time.
const PLAIN: Variant = Variant {
    name: "plain",
    idea: "each thread adds up its share, and blocks add theirs to one float as they come by",
    limit: "the order of arrival decides the last digits: two runs on one card may differ",
    types: &[Type::F32],
    blocks: BlockRule { min: 256, max: 256, default: 256 },
    elements_per_block: |_| 2048,
    launches: plain,
    chooses_grid: true,
    unordered: true,
    ..Variant::BASE
};

/// Blocks' values in the order of their numbers.
const ORDERED: Variant = Variant { unordered: false, launches: ordered, ..PLAIN };

/// The lesson.
pub const CHAPTER: Chapter = Chapter {
    slug: "ch13-accuracy",
    title: "Sums that nothing can change",
    before: Some(("ch08-cooperative", "single_pass")),
    variants: &[
        PLAIN,
        Variant {
            name: "ordered",
            idea: "a second launch adds the blocks' values in the order of their numbers",
            limit: "the grid decides the last digits: a card with more multiprocessors has others",
            ..ORDERED
        },
        Variant {
            name: "kahan",
            idea: "what an addition rounds off is subtracted from the next element",
            limit: "the order still decides the last digit; an element larger than the sum loses the sum's own digits",
            ..ORDERED
        },
        Variant {
            name: "neumaier",
            idea: "what an addition rounds off is added up apart, whichever of the two is larger",
            limit: "what is added up apart is rounded too, in an order",
            ..ORDERED
        },
        Variant {
            name: "pairs",
            idea: "two floats hold 48 bits of the sum",
            limit: "twenty instructions an element; 48 bits are rounded in an order as 24 are",
            ..ORDERED
        },
        Variant {
            name: "doubles",
            idea: "the sum is held in a double",
            limit: "53 bits are rounded in an order as 24 are",
            ..ORDERED
        },
        Variant {
            name: "bins",
            idea: "the largest element first; then three integers of 22 bits an element, which are added in any order",
            limit: "the input is read twice, and what is 66 bits below the largest element is lost",
            launches: bins,
            ..ORDERED
        },
        Variant {
            name: "exact",
            idea: "a float is an integer times a power of two: 16 wide integers a thread, merged by integers, rounded once",
            limit: "bandwidth, with some 24 PTX instructions and 16 bytes of shared memory traffic behind each element",
            types: &[Type::F32, Type::F64, Type::BF16, Type::F16],
            ops: &[Op::Sum, Op::Mean, Op::Dot, Op::Sumsq],
            takes: exact::takes,
            launches: |problem| exact::exact(problem),
            n_max: 1 << 40,
            // Its plan knows better, but for a reader who wants to see one warp's slots.
            blocks: BlockRule { min: 32, max: 32, default: 32 },
            ..ORDERED
        },
    ],
    mistakes: mistakes::MISTAKES,
    is_rung: false,
    ..Chapter::BASE
};

/// Blocks of an inexact sum.
fn blocks(problem: &Problem) -> u64 {
    let most = u64::from(problem.card.multiprocessors) * RESIDENT;
    let useful = problem.n.div_ceil(problem.block() * ELEMENTS_PER_THREAD);
    problem.asked.grid.map_or(useful.clamp(1, most), |asked| u64::from(asked).min(1 << 15))
}

/// Elements that a thread adds up: its vectors', and one at either end.
fn elements_per_thread(problem: &Problem, grid: u64) -> u64 {
    4 * problem.n.div_ceil(4 * grid * problem.block()) + 2
}

/// `clear<<<1, 1>>>(sum)`, then `plain<<<grid, block>>>(in, sum, n)`.
fn plain(problem: &Problem) -> Plan {
    let (grid, sum) = (blocks(problem), Arg::Sums(0));
    let clear = Pass::new("clear_f32".to_owned(), 1, 1, vec![sum]);
    let args = vec![Arg::Input, sum, Arg::U32(problem.n as u32)];
    let add = Pass::new(problem.kernel(), grid, problem.block(), args)
        .with_elements(problem.n)
        // In the order that is worst for it, a block's sum passes through the additions of all blocks.
        .with_additions(elements_per_thread(problem, grid) + TREES + grid)
        .with_atomics(grid);
    Plan::new(vec![clear, add], vec![1])
}

/// `kernel<<<grid, block>>>(in, values, n)`, then `kernel_merge<<<1, 32>>>(values, out, grid)`.
fn ordered(problem: &Problem) -> Plan {
    let (grid, values, out) = (blocks(problem), Arg::Sums(0), Arg::Sums(1));
    let name = problem.variant.name;
    let args = vec![Arg::Input, values, Arg::U32(problem.n as u32)];
    let first = Pass::new(problem.kernel(), grid, problem.block(), args)
        .with_elements(problem.n)
        .with_additions(additions(name, elements_per_thread(problem, grid) + TREES + grid));
    let args = vec![values, out, Arg::U32(grid as u32)];
    let second = Pass::new(format!("{name}_merge_f32"), 1, 32, args).with_elements(grid);
    let words = if name == "ordered" { 1 } else { 2 };
    Plan::new(vec![first, second], vec![words * grid, 1])
}

/// Roundings of a whole sum in units of one rounded addition, where a path has so many steps. u is 2^-24.
///
/// Kahan's sum is off by at most 2u + O(steps u²), Neumaier's by u + O((steps u)²) (Higham, section 4.3). A pair rounds in its 46th
/// bit or below, a double in its 53rd, and the result is rounded once.
fn additions(name: &str, steps: u64) -> u64 {
    match name {
        "kahan" => 4 + (steps >> 21),
        "neumaier" => 2 + (steps.saturating_mul(steps) >> 23),
        "pairs" => 2 + (steps >> 20),
        "doubles" => 2 + (steps >> 28),
        _ => steps,
    }
}

/// `bins_largest<<<grid, block>>>(in, state, n)`, `bins<<<grid, block>>>(in, state, n)`, `bins_merge<<<1, 1>>>(state, out)`.
fn bins(problem: &Problem) -> Plan {
    let (grid, block, number) = (blocks(problem), problem.block(), Arg::U32(problem.n as u32));
    let over = |kernel: &str| {
        Pass::new(kernel.to_owned(), grid, block, vec![Arg::Input, Arg::State, number]).with_elements(problem.n)
    };
    let merge = Pass::new("bins_merge_f32".to_owned(), 1, 1, vec![Arg::State, Arg::Sums(0)]);
    // What is lost of n elements is n 2^-65 of the largest, and the result is rounded to a double and to a float.
    let passes = vec![over("bins_largest_f32"), over("bins_f32").with_additions(2), merge];
    Plan::new(passes, vec![1]).with_state_words(BINS_STATE)
}

/// The largest element, three bins, and the sum of what is no number or infinite.
const BINS_STATE: u64 = 5;
