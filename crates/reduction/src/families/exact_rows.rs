//! Exact sums of rows, columns, axes and ragged rows, chapter 13's: shapes and launches.
//!
//! A thread holds its share in slots of its own, as for one array. What is shared out to several warps meets as integers, so that a shape
//! changes no bit of a result.

use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::geometry::capped;
use crate::layout::{Axis, Layout, Segments};
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem, Protocol};

use super::exact::{BLOCKS_MAX, SHARED_BYTES_RESERVED, lacks_memory};
use super::rows::{CHECKERS, checks};

/// Elements of a part that a warp takes, at most where there are enough of them, and at least.
const OF_WARP: (u64, u64) = (32_768, 1024);
/// Elements of a thread that are worth the clearing and merging of its slots.
const OF_THREAD: u64 = 128;
/// Fewest elements of a thread where a card is not full without.
const FEW_OF_THREAD: u64 = 16;
/// Elements of a lane from which on it has to carry.
const CARRIES: u64 = 448;
/// Forms of a launch, bits of one word.
const IS_MEAN: u32 = 1;
const HAS_WIDE_OFFSETS: u32 = 2;

/// Shape of a launch. No result depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Lanes of a row, or warps of a block that share the rows of its columns: a power of two. Ragged rows have no say in it.
    pub team: u32,
    /// Warps of a row, or blocks of a tile of columns, that take a part each.
    pub parts: u32,
    /// Elements of a part of a row; of ragged rows the steps of a warp, where an element and the end of a row are a step each.
    pub length: u64,
    /// Blocks.
    pub grid: u32,
}

/// Returns whether it has kernels for this operation, type and layout.
pub fn takes(op: Op, ty: Type, layout: Layout) -> bool {
    matches!(op, Op::Sum | Op::Mean) && ty.is_float() && layout != Layout::Array
}

/// Elements that have a share in a result; 0 for an array, which is not one of these layouts.
pub(crate) fn elements(layout: Layout) -> u64 {
    match layout {
        Layout::Array => 0,
        Layout::Rows(matrix) | Layout::Columns(matrix) => matrix.rows.saturating_mul(matrix.cols),
        Layout::Ragged(segments) => segments.elements,
        Layout::Axis(Axis { outer, reduced, inner }) => outer.saturating_mul(reduced).saturating_mul(inner),
    }
}

/// A kernel's blocks.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    threads: u32,
    /// Form of its name: threads, and loads of a lane that are on their way.
    form: &'static str,
    /// Most that a multiprocessor holds, for their registers.
    held: u32,
    /// Bytes of dynamic shared memory of a block.
    dynamic_bytes: u32,
    /// Bytes of static shared memory of a block.
    static_bytes: u32,
}

impl Blocks {
    /// Blocks of rows are a warp.
    fn for_rows(ty: Type) -> Self {
        let (form, held) = match ty {
            Type::F64 => ("t32u4", 12),
            Type::F16 => ("t32u8", 16),
            _ => ("t32u4", 20),
        };
        // Sums of floats that wait: 16 of nine places, a long integer and an integer each. f16 are summed and wait in registers.
        let waiting = if ty == Type::F64 { 0 } else { 16 * 9 * 12 };
        let dynamic_bytes = if ty == Type::F16 { 0 } else { 32 * slot_bytes(ty) + waiting };
        Self { threads: 32, form, held, dynamic_bytes, static_bytes: 0 }
    }

    fn for_columns(ty: Type) -> Self {
        let (threads, form, held) = if ty == Type::F64 { (128, "t128", 3) } else { (256, "t256", 4) };
        Self { threads, form, held, dynamic_bytes: threads * slot_bytes(ty), static_bytes: 4 * threads }
    }

    fn warps(self) -> u64 {
        u64::from(self.threads / 32)
    }

    fn shared_bytes(self) -> u32 {
        self.dynamic_bytes + self.static_bytes
    }

    /// Blocks that the card holds at once.
    fn resident(self, card: &Card) -> u64 {
        let most = card.shared_bytes_per_multiprocessor / (self.shared_bytes() + SHARED_BYTES_RESERVED);
        let most = most.min(card.blocks_per_multiprocessor).clamp(1, self.held);
        u64::from(most) * u64::from(card.multiprocessors)
    }
}

/// A thread's slots: of bf16, 36 floats in rows, and otherwise as many bytes.
fn slot_bytes(ty: Type) -> u32 {
    if ty == Type::F64 { 33 * 16 } else { 18 * 8 }
}

/// Limbs of a sum.
fn limbs(ty: Type) -> u64 {
    if ty == Type::F64 { 67 } else { 11 }
}

fn is_columns(layout: Layout) -> bool {
    matches!(layout, Layout::Columns(_) | Layout::Axis(_))
}

/// Refuses a card whose blocks have too little shared memory.
pub(crate) fn check(op: Op, ty: Type, card: &Card) -> Result<()> {
    let most = Blocks::for_rows(ty).shared_bytes().max(Blocks::for_columns(ty).shared_bytes());
    lacks_memory(op, ty, most, card).map_or(Ok(()), |why| Err(Error::Card(why)))
}

fn blocks_of(problem: &Problem<'_>) -> Blocks {
    if is_columns(problem.layout) { Blocks::for_columns(problem.ty) } else { Blocks::for_rows(problem.ty) }
}

/// Slices of a problem of columns or an axis.
fn slices(problem: &Problem<'_>) -> u64 {
    if let Layout::Axis(Axis { outer, .. }) = problem.layout { outer } else { 1 }
}

/// The shape for this problem: shares of a thread that are worth its slots, as long as they fill the card.
pub fn shape_for(problem: &Problem<'_>) -> Shape {
    let of_kernel = blocks_of(problem);
    let warps = of_kernel.warps();
    let (blocks, matrix) = (of_kernel.resident(problem.card), problem.matrix());
    let grid = |units: u64| problem.asked.grid.unwrap_or(capped(units.clamp(1, blocks)));
    let most_parts = u64::from(BLOCKS_MAX);
    match problem.layout {
        Layout::Ragged(Segments { rows, elements, .. }) => {
            let steps = elements + rows;
            // The same for each warp, in as many rounds as it takes.
            let rounds = steps.div_ceil(blocks * warps * OF_WARP.0).max(1);
            let length = steps.div_ceil(blocks * warps * rounds).max(OF_WARP.1).max(steps.div_ceil(most_parts));
            Shape { team: 32, parts: 1, length, grid: grid(steps.div_ceil(length).div_ceil(warps)) }
        }
        Layout::Columns(_) | Layout::Axis(_) => {
            let tiles =
                |team: u64| (matrix.cols.div_ceil(u64::from(of_kernel.threads) / team) * slices(problem)).max(1);
            let is_better = |team: u64| {
                let fewest = if 2 * tiles(team) <= blocks { FEW_OF_THREAD } else { OF_THREAD };
                matrix.rows / (2 * team) >= fewest
            };
            let mut team = 1;
            while team < warps && is_better(team) {
                team *= 2;
            }
            let tiles = tiles(team);
            let parts = (blocks / tiles).min(matrix.rows / (team * 2 * FEW_OF_THREAD)).clamp(1, most_parts);
            Shape { team: team as u32, parts: parts as u32, length: 0, grid: grid(tiles * parts) }
        }
        _ => {
            let (rows, cols) = (matrix.rows.max(1), matrix.cols);
            let (team, parts) = team_and_parts(problem.ty, rows, cols, blocks * warps);
            let length = cols.div_ceil(parts).max(1).next_multiple_of(128 / problem.ty.bytes());
            let parts = cols.div_ceil(length).max(1);
            let units = if parts > 1 { rows * parts } else { rows.div_ceil(32 / team) };
            Shape { team: team as u32, parts: parts as u32, length, grid: grid(units.div_ceil(warps)) }
        }
    }
}

/// Lanes of a row, and warps of a row that is shared out to several: those that need the least time by what was measured on an H200.
/// Warps take units in rounds, and a round costs what its elements do and what it takes to bring slots together and to round.
fn team_and_parts(ty: Type, rows: u64, cols: u64, warps: u64) -> (u64, u64) {
    // Elements that a warp adds meanwhile; those that it adds while parts of a row meet; and what an element costs, in hundredths, where
    // lanes, or pairs of them, read apart from each other.
    let (merged, meeting, apart) = match ty {
        Type::F64 => (1200, 2048, [140, 110]),
        Type::F32 => (900, 2048, [140, 110]),
        Type::F16 => (1700, 4096, [150, 125]),
        _ => (1700, 4096, [120, 100]),
    };
    let has_carries = matches!(ty, Type::F32 | Type::BF16);
    let cost = |&(team, parts): &(u64, u64)| {
        let (together, of_row) = (32 / team, cols.div_ceil(parts));
        let carries = if has_carries && of_row > CARRIES * team { 8 } else { 0 };
        let each = carries + apart.get(team.ilog2() as usize).unwrap_or(&100);
        let (units, of_unit) = match parts {
            1 => (rows.div_ceil(together), of_row * together),
            _ => (rows * parts, of_row + meeting),
        };
        units.div_ceil(warps).saturating_mul(of_unit.saturating_mul(each) / 100 + merged)
    };
    let most = (2 * warps.div_ceil(rows)).max(8).min(cols / OF_WARP.1).min(BLOCKS_MAX.into());
    let of_groups = (0..6).map(|power| (1 << power, 1));
    of_groups.chain((2..=most).map(|parts| (32, parts))).min_by_key(cost).unwrap_or((32, 1))
}

/// The launch in the shape that suits the problem.
pub fn exact_rows(problem: &Problem<'_>) -> Plan {
    plan_for(problem, shape_for(problem))
}

/// `exact_rows_t32u4_f32<<<grid, 32, shared>>>(in, offsets, out, rows, cols, pitch, lanes, parts, length, units, form, state)`, or
/// `exact_columns_t256_f32<<<grid, 256, shared>>>(in, out, rows, cols, pitch, slice, slices, teams, parts, form, state)`.
pub fn plan_for(problem: &Problem<'_>, shape: Shape) -> Plan {
    let matrix = problem.matrix();
    let mean = if problem.op == Op::Mean { IS_MEAN } else { 0 };
    match problem.layout {
        Layout::Ragged(segments) => ragged(problem, segments, shape, mean),
        Layout::Columns(_) | Layout::Axis(_) => {
            let (slices, of_all) = (slices(problem), slices(problem) * matrix.cols);
            let args = [Arg::Input, Arg::Sums(0), Arg::U64(matrix.rows), Arg::U64(matrix.cols), Arg::U64(matrix.pitch)];
            let slice = [Arg::U64(matrix.rows * matrix.cols), Arg::U64(slices)];
            let rest = [Arg::U32(shape.team), Arg::U32(shape.parts), Arg::U32(mean), Arg::State];
            let pass = pass(problem, "columns", shape, [&args[..], &slice, &rest].concat());
            let why = format!("a lane a column, and {} warps of {} blocks share its rows", shape.team, shape.parts);
            plan(problem, pass, of_all, if shape.parts > 1 { of_all } else { 0 }, why)
        }
        _ => {
            let rows = matrix.rows;
            let parts = u64::from(shape.parts);
            let units = if parts > 1 { rows * parts } else { rows.div_ceil(u64::from(32 / shape.team)) };
            let args = [Arg::Input, Arg::U64(0), Arg::Sums(0), Arg::U64(rows), Arg::U64(matrix.cols)];
            let pitch = [Arg::U64(matrix.pitch), Arg::U32(shape.team), Arg::U32(shape.parts), Arg::U64(shape.length)];
            let rest = [Arg::U64(units), Arg::U32(mean), Arg::State];
            let pass = pass(problem, "rows", shape, [&args[..], &pitch, &rest].concat());
            let why = match shape.parts {
                1 => format!("{} lanes a row", shape.team),
                parts => format!("{parts} warps a row, whose parts meet as integers"),
            };
            plan(problem, pass, rows, if parts > 1 { rows } else { 0 }, why)
        }
    }
}

fn ragged(problem: &Problem<'_>, segments: Segments, shape: Shape, mean: u32) -> Plan {
    let Segments { rows, elements, bits, checked, .. } = segments;
    let units = (elements + rows).div_ceil(shape.length);
    let (offsets, out) = if checked { (Arg::Sums(1), Arg::Sums(2)) } else { (Arg::Offsets, Arg::Sums(0)) };
    let form = mean | if bits == 64 { HAS_WIDE_OFFSETS } else { 0 };
    let args = [Arg::Input, offsets, out, Arg::U64(rows), Arg::U64(0), Arg::U64(0), Arg::U32(32), Arg::U32(1)];
    let rest = [Arg::U64(shape.length), Arg::U64(units), Arg::U32(form), Arg::State];
    let pass = pass(problem, "rows", shape, [&args[..], &rest].concat());
    let why = format!(
        "{} steps a warp, where an element and the end of a row are a step each; the lanes of a row by its length",
        shape.length
    );
    let mut plan = plan(problem, pass, rows, units, why);
    if checked {
        plan.passes.splice(0..0, checks(rows + 1, elements, bits, 0));
        let before = [4 * CHECKERS, u64::from(bits / 8) * (rows + 1)].map(|bytes| problem.ty.holding(bytes));
        plan.sums.splice(0..0, before);
    }
    plan
}

fn pass(problem: &Problem<'_>, kernel: &str, shape: Shape, args: Vec<Arg>) -> Pass {
    let Blocks { threads, form, dynamic_bytes, .. } = blocks_of(problem);
    let kernel = format!("exact_{kernel}_{form}_{}", problem.ty);
    let mut pass = Pass::new(kernel, shape.grid.into(), threads.into(), args);
    pass.geometry.shared_bytes = dynamic_bytes;
    pass.elements = elements(problem.layout);
    pass
}

/// One launch for so many results, with room for so many to meet in: a word for each limb, and one for the marks.
fn plan(problem: &Problem<'_>, pass: Pass, results: u64, meetings: u64, why: String) -> Plan {
    Plan {
        passes: vec![pass],
        sums: vec![problem.ty.holding(results * problem.op.row_bytes(problem.ty))],
        state_words: meetings * (limbs(problem.ty) + 1),
        protocol: Protocol::Limbs,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::card::H200;

    const TYPES: [Type; 4] = [Type::F16, Type::BF16, Type::F32, Type::F64];

    fn shape(ty: Type, layout: Layout) -> Shape {
        shape_for(&Problem::new(Op::Sum, ty, elements(layout), layout, &H200))
    }

    #[test]
    fn threads_get_shares_that_are_worth_their_slots() {
        let of_rows = |rows, cols| {
            let Shape { team, parts, grid, .. } = shape(Type::F32, Layout::Rows(Matrix::dense(rows, cols)));
            (team, parts, grid)
        };
        assert_eq!(of_rows(1 << 19, 32), (1, 1, 2640));
        assert_eq!(of_rows(1 << 13, 1024), (8, 1, 2048), "more lanes would need a second round");
        assert_eq!(of_rows(1 << 16, 1024), (8, 1, 2640));
        assert_eq!(of_rows(1 << 15, 4096), (16, 1, 2640), "lanes that need not carry");
        assert_eq!(of_rows(1 << 12, 16_384), (16, 1, 2048), "one round");
        assert_eq!(of_rows(16, 1 << 20), (32, 165, 2640), "one part a warp");
        assert_eq!(of_rows(1, 100), (32, 1, 1));
        assert_eq!((of_rows(4, 0), of_rows(0, 4)), ((1, 1, 1), (32, 1, 1)));
        let of_columns = |rows, cols| {
            let Shape { team, parts, grid, .. } = shape(Type::F32, Layout::Columns(Matrix::dense(rows, cols)));
            (team, parts, grid)
        };
        assert_eq!(of_columns(4096, 4096), (8, 4, 512));
        assert_eq!(of_columns(256, 65_536), (2, 1, 512));
        assert_eq!(of_columns(8, 1 << 20), (1, 1, 528));
    }

    #[test]
    fn no_more_parts_meet_than_a_word_counts() {
        for ty in TYPES {
            for n in [1 << 20, 1 << 40] {
                assert!(shape(ty, Layout::Rows(Matrix::dense(1, n))).parts <= BLOCKS_MAX);
                assert!(shape(ty, Layout::Columns(Matrix::dense(n, 1))).parts <= BLOCKS_MAX);
                let Shape { length, .. } = shape(ty, Layout::Ragged(Segments::new(1 << 20, n, 64)));
                assert!((n + (1 << 20)).div_ceil(length) <= u64::from(BLOCKS_MAX));
            }
        }
    }

    /// What the kernels declare beside what a launch gives them.
    #[cfg(feature = "cudarc")]
    #[test]
    fn kernels_are_there_with_no_more_shared_memory_than_is_planned_for() {
        for ty in TYPES {
            for layout in [Layout::Rows(Matrix::dense(9, 9)), Layout::Columns(Matrix::dense(9, 9))] {
                let problem = Problem::new(Op::Mean, ty, 81, layout, &H200);
                let blocks = blocks_of(&problem);
                let pass = exact_rows(&problem).passes[0].clone();
                assert_eq!((pass.block(), pass.geometry.shared_bytes), (blocks.threads, blocks.dynamic_bytes));
                let text = crate::kernels::ptx(&pass.kernel, 80).expect("a kernel");
                let declared = text
                    .lines()
                    .filter(|line| line.starts_with(".shared"))
                    .filter_map(|line| line.split_once('[')?.1.split_once(']')?.0.parse::<u32>().ok());
                assert!(declared.sum::<u32>() <= blocks.static_bytes, "{}", pass.kernel);
            }
            assert!(
                check(Op::Sum, ty, &Card { shared_bytes_per_block: 48 << 10, ..H200.clone() }).is_err()
                    == (ty == Type::F64)
            );
        }
    }
}
