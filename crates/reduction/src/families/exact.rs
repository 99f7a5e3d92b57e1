//! Exact sums of one array, chapter 13's: shapes found by measuring, and the launch.
//!
//! Threads hold numbers of fixed point in shared memory, which takes any float without rounding; blocks add theirs in global memory, and
//! the first block rounds once. So the result is a function of the elements alone.

use super::champion::{N_MAX, Shape, Share, many_tiles};
use super::exact_rows;
use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::exact_sum::{ExactSum, Unit};
use crate::layout::Layout;
use crate::memory::{Role, Rule};
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem, Protocol, entry_name};
use crate::reduction::Reduction;
use crate::results;

/// Most blocks that a word of state counts.
pub const BLOCKS_MAX: u32 = (1 << 15) - 1;
/// Threads a block, and loads on their way, of the shapes in which each block takes one tile: of `sum` of f32 alone, one block a
/// multiprocessor.
const TILES: [(u32, u32); 2] = [(288, 4), (512, 4)];
/// The same by one warp a block, for a caller who asks for its 32 threads.
const WARP_TILE: (u32, u32) = (32, 4);
/// Shared memory of a block that the system keeps.
pub(super) const SHARED_BYTES_RESERVED: u32 = 1024;
/// Divisor by which a kernel leaves the sum as it is held.
const AS_LIMBS: u64 = 0;

/// Returns whether it has kernels for this operation and type.
pub fn takes(op: Op, ty: Type) -> bool {
    matches!(op, Op::Sum | Op::Mean | Op::Dot | Op::Sumsq) && ty.is_float()
}

/// Exact sum, mean, dot product or sum of squares of an array of f16, bf16, f32 or f64, or exact sums or means of rows, rounded
/// once, to the nearest and ties to even: the same bits for any order of the elements, grid, block, alignment and card. A mean is the
/// exact quotient, rounded once.
///
/// A NaN, or infinities of both signs, make a NaN. A sum of zeros is −0 if all of them are.
///
/// Operands: `Input`; `Other` for a dot product; `Out`, one number, or [`Exact::words`] words of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exact {
    /// Operation.
    pub op: Op,
    /// Type of the elements.
    pub ty: Type,
    /// Elements of one input.
    pub n: u64,
    /// Their layout: an array, or what gets a result for each row or column.
    pub layout: Layout,
    /// True if the sum is left as it is held, unrounded: words that [`Exact::read`] reads.
    pub as_limbs: bool,
}

impl Exact {
    /// An exact result of `n` elements, rounded.
    pub fn new(op: Op, ty: Type, n: u64) -> Exact {
        Exact { op, ty, n, layout: Layout::Array, as_limbs: false }
    }

    /// An exact sum or mean of each row, column or ragged row, or along an axis. Ragged rows have `Offsets` too, and `Flag` where those are
    /// checked.
    pub fn each(op: Op, ty: Type, layout: Layout) -> Exact {
        Exact { layout, ..Exact::new(op, ty, exact_rows::elements(layout)) }
    }

    /// With the sum left unrounded, as a part of a larger one: of an array over several cards, processes or calls.
    pub fn with_limbs(self) -> Exact {
        Exact { as_limbs: true, ..self }
    }

    /// Words of 32 bits of an unrounded sum.
    pub fn words(&self) -> usize {
        1 + unit(self.op, self.ty).limbs()
    }

    /// The partial sum whose words a plan [with limbs](Exact::with_limbs) has left.
    ///
    /// # Errors
    /// [`Error::NoKernels`] for what has no exact plan; [`Error::PartialSum`] for another number of words.
    pub fn read(&self, words: &[u32]) -> Result<ExactSum> {
        self.check()?;
        ExactSum::from_words(unit(self.op, self.ty), self.n, words)
    }

    fn check(&self) -> Result<()> {
        let Exact { op, ty, n, layout, as_limbs } = *self;
        op.check(ty)?;
        if !takes(op, ty) {
            return Err(Error::NoKernels { op, ty, layout: "an exact result" });
        }
        if layout != Layout::Array {
            if as_limbs || !exact_rows::takes(op, ty, layout) {
                let layout = if as_limbs { "unrounded results of rows" } else { "exact results of rows" };
                return Err(Error::NoKernels { op, ty, layout });
            }
            return Ok(());
        }
        if n > N_MAX { Err(Error::TooMany { what: "elements", got: n, most: N_MAX }) } else { Ok(()) }
    }

    /// The launch.
    ///
    /// # Errors
    /// An operation or type without exact kernels; more than 2⁴⁰ elements; [`Error::Card`] for a card whose blocks have too little shared memory.
    pub fn reduction(&self, card: &Card) -> Result<Reduction> {
        self.check()?;
        let Exact { op, ty, n, layout, as_limbs } = *self;
        let problem = Problem::new(op, ty, n, layout, card);
        if layout != Layout::Array {
            return Reduction::exact_rows_on(&problem);
        }
        let shape = shape_for(&problem);
        if let Some(why) = refusal(op, ty, shape, card) {
            return Err(Error::Card(why));
        }
        let bytes = n * ty.bytes();
        let mut rules = vec![Rule::read(Role::Input, ty.name(), bytes, ty.bytes())];
        if op.arrays() == 2 {
            rules.push(Rule::read(Role::Other, ty.name(), bytes, ty.bytes()));
        }
        rules.push(if as_limbs {
            Rule::results("u32", 4, self.words() as u64)
        } else {
            Rule::results(results::name(op.outcome(ty), true), op.result_bytes(ty), 1)
        });
        let plan = if n == 0 && !as_limbs { Plan::default() } else { plan_for(&problem, shape, as_limbs) };
        let (nothing, shape) = (op.identity_bytes(ty), format!("{self:?}"));
        Reduction { what: op.name(), ty, rules, plan, nothing, shape, lesson: "", is_whole: false }.on(card)
    }
}

/// Form in which the sums of an operation are held.
fn unit(op: Op, ty: Type) -> Unit {
    match (op, ty) {
        (Op::Dot | Op::Sumsq, Type::F64) => Unit::Squares,
        // Products of halves are floats, of other floats doubles.
        (Op::Dot | Op::Sumsq, Type::F32 | Type::BF16) | (_, Type::F64) => Unit::Doubles,
        _ => Unit::Floats,
    }
}

/// Shared memory of a thread, and of a block beside its threads', in bytes.
fn shared_bytes(op: Op, ty: Type) -> (u32, u32) {
    match (unit(op, ty), ty) {
        (Unit::Floats, Type::F16) if matches!(op, Op::Sum | Op::Mean) => (2 * 8, 512),
        (Unit::Floats, _) => (18 * 8, 512),
        (Unit::Doubles, _) => (33 * 16, 1792),
        (Unit::Squares, _) => (66 * 16, 3392),
    }
}

/// Threads a block, loads on their way, and blocks that a multiprocessor holds, of the shape for large inputs.
fn many(op: Op, ty: Type) -> (u32, u32, u32) {
    match (op, ty) {
        (Op::Dot | Op::Sumsq, Type::F64) => (192, 2, 1),
        (Op::Dot | Op::Sumsq, Type::F16) => (384, 3, 2),
        (Op::Dot | Op::Sumsq, Type::BF16) => (192, 2, 2),
        (Op::Dot | Op::Sumsq, _) => (192, 4, 2),
        (_, Type::F64) => (192, 6, 2),
        (_, Type::BF16) => (512, 3, 2),
        (_, Type::F16) => (512, 4, 2),
        _ => (384, 4, 3),
    }
}

/// Blocks of so many threads that a multiprocessor holds at once: `most`, or fewer where its shared memory is too small.
fn resident(op: Op, ty: Type, block: u32, most: u32, card: &Card) -> u32 {
    let (of_thread, of_block) = shared_bytes(op, ty);
    let of_all = block * of_thread + of_block + SHARED_BYTES_RESERVED;
    (card.shared_bytes_per_multiprocessor / of_all).clamp(1, most)
}

/// Vectors that a thread has at least, and tiles that a second block of a multiprocessor is worth: each block has slots to clear, to add
/// up and to bring together.
fn least(op: Op, ty: Type) -> (u32, u64) {
    match (unit(op, ty), ty) {
        (Unit::Floats, Type::F32) => (1, 2),
        (Unit::Floats, _) => (1, 3),
        (Unit::Doubles | Unit::Squares, _) => (4, 8),
    }
}

/// The shape for this problem, found by measuring on an H200: of a small `sum` of f32 a tile a block; otherwise tiles in turns, by one
/// block a multiprocessor or, of larger inputs, by more, up to as many as fill it.
pub fn shape_for(problem: &Problem<'_>) -> Shape {
    let Problem { op, ty, card, asked, .. } = *problem;
    let vectors = problem.n.div_ceil(problem.per_vector());
    let grid = asked.grid.map(|grid| grid.clamp(1, BLOCKS_MAX));
    let one_each = card.multiprocessors.min(BLOCKS_MAX);
    let (vectors_each, tiles_each) = least(op, ty);
    let blocks = |block: u32, most: u32| {
        let needed = vectors.div_ceil(u64::from(block * vectors_each)).max(1);
        grid.unwrap_or(u64::from(most).min(needed) as u32)
    };
    if matches!(op, Op::Sum | Op::Mean) && ty == Type::F32 {
        let of_warps = std::iter::once(WARP_TILE).filter(|&(block, _)| asked.block == Some(block));
        for (block, unroll) in of_warps.chain(TILES) {
            let grid = blocks(block, one_each);
            if vectors <= u64::from(grid) * u64::from(block * unroll) {
                return Shape { share: Share::OneTile, block, unroll, grid, spread: true, ahead: 0 };
            }
        }
    }
    let (block, unroll, of_one) = many(op, ty);
    let worth = vectors / (tiles_each * u64::from(one_each) * u64::from(block * unroll));
    let each = worth.clamp(1, resident(op, ty, block, of_one, card).into()) as u32;
    many_tiles(block, unroll, blocks(block, one_each.saturating_mul(each).min(BLOCKS_MAX)), 0)
}

/// Why the card cannot run a launch of this shape; `None` if it can.
pub fn refusal(op: Op, ty: Type, shape: Shape, card: &Card) -> Option<String> {
    let (of_thread, of_block) = shared_bytes(op, ty);
    lacks_memory(op, ty, shape.block * of_thread + of_block, card)
}

/// Why the card cannot run blocks with so many bytes of shared memory; `None` if it can.
pub(super) fn lacks_memory(op: Op, ty: Type, needed: u32, card: &Card) -> Option<String> {
    let most = card.shared_bytes_per_block;
    (needed > most).then(|| {
        let name = &card.name;
        format!("an exact {op} of {ty} takes {needed} bytes of shared memory a block, and one of the card {name} has {most} at most")
    })
}

/// `exact_tiles_t384u4_f32<<<grid, block, shared>>>(in, other, out, n, state, divisor)`, for instance; no launch, and why, on a card whose
/// blocks have too little shared memory.
pub fn exact(problem: &Problem<'_>) -> Plan {
    let shape = shape_for(problem);
    match refusal(problem.op, problem.ty, shape, problem.card) {
        Some(why) => Plan { why, ..Plan::default() },
        None => plan_for(problem, shape, false),
    }
}

/// One launch in this shape, which rounds the sum or leaves it as limbs.
pub fn plan_for(problem: &Problem<'_>, shape: Shape, as_limbs: bool) -> Plan {
    let Problem { op, ty, n, .. } = *problem;
    let Shape { share, block, unroll, grid, .. } = shape;
    let (of_thread, _) = shared_bytes(op, ty);
    let limbs = unit(op, ty).limbs() as u64;
    let of_kernel = if op == Op::Mean { Op::Sum } else { op };
    let kernel = entry_name("exact", of_kernel, &format!("{}_t{block}u{unroll}", share.names().0), ty);
    let args = vec![
        Arg::Input,
        if op == Op::Dot { Arg::Other } else { Arg::U64(0) },
        Arg::Sums(0),
        Arg::U64(n),
        Arg::State,
        Arg::U64(if as_limbs {
            AS_LIMBS
        } else if op == Op::Mean {
            n
        } else {
            1
        }),
    ];
    let mut pass = Pass::new(kernel, grid.into(), block.into(), args);
    pass.geometry.shared_bytes = block * of_thread;
    pass.elements = n;
    pass.waits = grid > 1;
    let bytes = if as_limbs { 4 * (1 + limbs) } else { op.result_bytes(ty) };
    let why = match share {
        Share::OneTile => "no more than one block a multiprocessor, each of which takes one tile",
        _ => "one block a multiprocessor, or as many as are worth their slots and it holds, which take tiles in turns",
    };
    Plan {
        passes: vec![pass],
        sums: vec![ty.holding(bytes)],
        // A word for each limb, and one for the marks.
        state_words: if grid > 1 { limbs + 1 } else { 0 },
        protocol: Protocol::Limbs,
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Determinism;
    use crate::card::H200;

    const TYPES: [Type; 4] = [Type::F16, Type::BF16, Type::F32, Type::F64];
    const OPS: [Op; 4] = [Op::Sum, Op::Mean, Op::Dot, Op::Sumsq];

    fn pass(op: Op, ty: Type, n: u64, card: &Card) -> Pass {
        Exact::new(op, ty, n).reduction(card).expect("a plan").plan().passes[0].clone()
    }

    #[test]
    fn shapes_are_those_that_were_measured() {
        let of = |op, ty, n| {
            let pass = pass(op, ty, n, &H200);
            (pass.kernel.clone(), pass.grid())
        };
        let f32 = |n| of(Op::Sum, Type::F32, n);
        assert_eq!(f32(1), ("exact_tile_t288u4_f32".to_owned(), 1));
        assert_eq!(f32(4 * 288 + 1), ("exact_tile_t288u4_f32".to_owned(), 2));
        assert_eq!(f32(132 * 16 * 288), ("exact_tile_t288u4_f32".to_owned(), 132));
        assert_eq!(f32(132 * 16 * 288 + 1), ("exact_tile_t512u4_f32".to_owned(), 132));
        assert_eq!(f32(132 * 16 * 512 + 1), ("exact_tiles_t384u4_f32".to_owned(), 132));
        assert_eq!(f32(4 * 132 * 16 * 384 - 4), ("exact_tiles_t384u4_f32".to_owned(), 132));
        assert_eq!(f32(4 * 132 * 16 * 384), ("exact_tiles_t384u4_f32".to_owned(), 264));
        assert_eq!(f32(6 * 132 * 16 * 384), ("exact_tiles_t384u4_f32".to_owned(), 396));
        assert_eq!(of(Op::Sum, Type::F64, 8 * 192 + 1), ("exact_tiles_t192u6_f64".to_owned(), 2));
        assert_eq!(of(Op::Mean, Type::F64, 1 << 28), ("exact_tiles_t192u6_f64".to_owned(), 264));
        assert_eq!(of(Op::Sum, Type::BF16, 8 * 512 + 1), ("exact_tiles_t512u3_bf16".to_owned(), 2));
        assert_eq!(of(Op::Dot, Type::F64, 1 << 28), ("exact_dot_tiles_t192u2_f64".to_owned(), 132));
        assert_eq!(of(Op::Sumsq, Type::F16, 1 << 28), ("exact_sumsq_tiles_t384u3_f16".to_owned(), 264));
    }

    #[test]
    fn a_card_with_less_shared_memory_holds_fewer_blocks_or_none() {
        let card = |name| Card::named().find(|(of, _)| *of == name).expect("a card").1;
        assert_eq!(pass(Op::Sum, Type::F32, 1 << 28, card("l4")).grid(), 58, "one block of 54 KiB");
        assert_eq!(pass(Op::Sum, Type::F32, 1 << 28, card("a100")).grid(), 216);
        assert_eq!(pass(Op::Sum, Type::F64, 1 << 28, card("a100")).grid(), 108);
        let refused = |op, name| Exact::new(op, Type::F64, 9).reduction(card(name)).expect_err("no plan").to_string();
        assert!(
            refused(Op::Sum, "l4").contains("one of the card NVIDIA L4 has 101376 at most"),
            "99 KiB are not enough"
        );
        assert!(refused(Op::Dot, "a100").contains("shared memory"));
    }

    /// What the kernels declare, and what a block has beside it.
    #[cfg(feature = "cudarc")]
    #[test]
    fn kernels_are_there_with_no_more_shared_memory_than_is_planned_for() {
        for ty in TYPES {
            for op in OPS {
                for n in [1, 1 << 30] {
                    let name = pass(op, ty, n, &H200).kernel;
                    let text = crate::kernels::ptx(&name, 80).expect("a kernel");
                    let declared = text.lines().filter(|line| line.starts_with(".shared")).map(|line| {
                        let size =
                            line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(size, _)| size);
                        size.map_or(8, |size| size.parse::<u32>().expect("a size")).next_multiple_of(16)
                    });
                    let (declared, (_, planned)) = (declared.sum::<u32>(), shared_bytes(op, ty));
                    assert!(declared > 0 && declared <= planned, "{name}: {declared} of {planned}");
                }
            }
        }
    }

    #[test]
    fn what_is_exact_says_so_and_what_is_not_is_refused() {
        let plan = |op, ty, layout, determinism| {
            Reduction::new(&Problem { determinism, ..Problem::new(op, ty, 1000, layout, &H200) })
        };
        for ty in TYPES {
            for op in OPS {
                let exact = plan(op, ty, Layout::Array, Determinism::Exact).expect("a plan");
                assert_eq!(exact.determinism(), Determinism::Exact);
                assert_eq!(exact, Exact::new(op, ty, 1000).reduction(&H200).expect("a plan"));
            }
        }
        let sum = plan(Op::Sum, Type::F32, Layout::Array, Determinism::RunToRun).expect("a plan");
        assert_eq!(sum.determinism(), Determinism::RunToRun);
        let whole = plan(Op::Sum, Type::I32, Layout::Array, Determinism::Exact).expect("integers do not round");
        assert_eq!(whole.determinism(), Determinism::Exact);
        let rows = Layout::Rows(crate::Matrix::dense(10, 100));
        let refused = plan(Op::Meanvar, Type::F32, rows, Determinism::GpuToGpu).expect_err("variances round");
        assert!(matches!(refused, Error::Determinism { gives: Determinism::RunToRun, .. }), "{refused}");
        assert!(matches!(
            plan(Op::Mean, Type::F32, Layout::Array, Determinism::RunToRun),
            Err(Error::NoKernels { layout: "an array", .. })
        ));
        let error = |op, ty, n| Exact::new(op, ty, n).reduction(&H200).expect_err("no plan");
        assert!(matches!(error(Op::Max, Type::F32, 9), Error::NoKernels { .. }));
        assert!(matches!(error(Op::Mean, Type::I32, 9), Error::Unsupported { .. }));
        assert!(matches!(error(Op::Sum, Type::F32, N_MAX + 1), Error::TooMany { .. }));
    }
}
