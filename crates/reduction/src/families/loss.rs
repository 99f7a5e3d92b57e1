//! Cross-entropy of rows of logits, as training uses it: with rows that do not count, label smoothing and a saved logsumexp.
//!
//! For a row x of C logits with the label y and L = ln Σ eˣ, the loss is (1 − ε) (L − x\[y\]) + ε/C Σ (L − x\[c\]), and the gradient of
//! x\[c\] is e^(x\[c\] − L) − ε/C, less 1 − ε at the label, times the gradient of the loss: as `torch.nn.functional.cross_entropy` has it.
//! Kernels compute in floats with the exponentials of chapter 11.

use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::families::softmax;
use crate::layout::{Layout, Matrix};
use crate::memory::{Role, Rule};
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem};
use crate::reduction::Reduction;
use crate::setters::setters;
use crate::team::{Endings, Shape};
use crate::text::grouped;

/// Rows of one block of the launch that adds up losses, at least, and its blocks at most.
const OF_TOTAL: u64 = 2048;
const TOTALS: u64 = 1024;
/// Bytes of the total of a block.
const TOTAL_BYTES: u64 = 16;
/// Vectors that a thread takes of a row whose logsumexp is saved, at least, where the card does not hold a thread for each: of 4-byte
/// elements, and of others. The fastest on an H200.
const OF_SHARE: [u64; 2] = [2, 4];
/// Lanes that read a row in one go, at least.
const LINE: u64 = 4;
/// Threads of a block of such rows.
const SHARING: u64 = 256;

/// Result of the rows' losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LossReduction {
    /// A loss a row, 0 where it does not count.
    None,
    /// Their sum.
    Sum,
    /// The sum divided by the number of rows that count; NaN where none does, as in torch.
    #[default]
    Mean,
}

/// Cross-entropy of logits, forward or backward.
///
/// Operands: the logits ([`Role::Input`]), rows of `ty`; a label a row ([`Role::Labels`]), `i32` or `i64`; the results
/// ([`Role::Out`]). Forward these are the losses, `f32`, one a row or one in all. Backward they are the gradients of the logits, of `ty`
/// with the pitch of the logits, apart from them or in their place, and [`Role::Gradients`] has the gradient of the loss, `f32`.
///
/// A row whose label is `ignore_index` does not count: its loss and its gradients are 0 whatever its logits are. A label that is
/// neither that nor a column gives NaN for the row's loss and for all of its gradients, and counts; [`CrossEntropy::with_flag`]
/// reports it. Nothing is read out of bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CrossEntropy {
    /// True for the gradients of the logits, false for losses.
    pub is_backward: bool,
    /// Type of the logits, and of their gradients.
    pub ty: Type,
    /// Rows of logits, a column for each class.
    pub matrix: Matrix,
    /// Bits of a label, 32 or 64.
    pub label_bits: u32,
    /// Label of the rows that do not count, which may be a column.
    pub ignore_index: i64,
    /// Part of the weight that all columns share, ε, from 0 to 1.
    pub smoothing: f32,
    /// Result of the rows' losses. Backward, the gradients of a mean are divided by the rows that count.
    pub reduction: LossReduction,
    /// True if the rows' logsumexps are an operand.
    pub has_logsumexp: bool,
    /// True if wrong labels set a flag.
    pub has_flag: bool,
    /// True if one gradient is that of every row's loss.
    pub one_gradient: bool,
}

setters! {
    CrossEntropy:
    with_label_bits(label_bits: u32) label_bits = label_bits, "With labels of so many bits, 32 or 64.";
    with_ignore_index(ignore_index: i64) ignore_index = ignore_index, "With this label of rows that do not count.";
    with_smoothing(smoothing: f32) smoothing = smoothing, "With label smoothing.";
    with_reduction(reduction: LossReduction) reduction = reduction, "With this result of the rows' losses.";
    with_logsumexp() has_logsumexp = true, "With [`Role::Logsumexp`], an `f32` a row, which forward writes and backward reads in \
        place of a pass over the row. Forward writes 0 for a row that does not count and NaN for one with a wrong label. Backward \
        may be given that of a longer row, of which the logits are a part.";
    with_flag() has_flag = true, "With [`Role::Flag`], a `u32` that wrong labels set to 1. No launch clears it: the caller does \
        that after reading it at the next synchronisation.";
    with_gradient_a_row() one_gradient = false, "With a gradient for each row's loss, backward.";
}

impl CrossEntropy {
    /// The mean of the losses of these rows, with 64-bit labels; those of -100 are ignored.
    pub fn forward(ty: Type, matrix: Matrix) -> CrossEntropy {
        CrossEntropy {
            is_backward: false,
            ty,
            matrix,
            label_bits: 64,
            ignore_index: -100,
            smoothing: 0.0,
            reduction: LossReduction::Mean,
            has_logsumexp: false,
            has_flag: false,
            one_gradient: true,
        }
    }

    /// The gradients of the logits, for one gradient of that mean.
    pub fn backward(ty: Type, matrix: Matrix) -> CrossEntropy {
        CrossEntropy { is_backward: true, ..CrossEntropy::forward(ty, matrix) }
    }

    /// The reduction with its launches. Backward, the rows of a mean are counted on the device, from the labels.
    ///
    /// # Errors
    /// A type without kernels, a matrix or labels that kernels do not take, smoothing outside of 0 to 1, a launch that the card cannot run.
    pub fn reduction(&self, card: &Card) -> Result<Reduction> {
        self.check()?;
        let rows = self.matrix.rows;
        let plan = if rows == 0 { Plan::default() } else { self.plan(card) };
        let nothing = match (self.is_backward, self.reduction) {
            (true, _) | (_, LossReduction::None) => Vec::new(),
            (_, LossReduction::Sum) => 0f32.to_le_bytes().to_vec(),
            (_, LossReduction::Mean) => f32::NAN.to_le_bytes().to_vec(),
        };
        let (what, rules, shape) = (self.op().name(), self.rules(), format!("{self:?}"));
        Reduction { what, ty: self.ty, rules, plan, nothing, shape, lesson: "", is_whole: false }.on(card)
    }

    fn op(&self) -> Op {
        if self.is_backward { Op::CrossEntropyBackward } else { Op::CrossEntropy }
    }

    fn check(&self) -> Result<()> {
        let CrossEntropy { ty, label_bits, smoothing, .. } = *self;
        self.op().check(ty)?;
        if !matches!(label_bits, 32 | 64) {
            return Err(Error::Bits { what: "labels", got: label_bits });
        }
        if !(0.0..=1.0).contains(&smoothing) {
            return Err(Error::Parameter { what: "label smoothing", got: smoothing.to_string(), range: "0 to 1" });
        }
        self.matrix.check(ty)
    }

    fn rules(&self) -> Vec<Rule> {
        let (size, rows) = (self.ty.bytes(), self.matrix.rows);
        // The size was checked.
        let logits = self.matrix.span().unwrap_or(0) * size;
        let (label, name) = if self.label_bits == 32 { (4, "i32") } else { (8, "i64") };
        let mut rules = vec![
            Rule::read(Role::Input, self.ty.name(), logits, size),
            Rule::read(Role::Labels, name, label * rows, label),
        ];
        if self.is_backward {
            let out = Rule::written(Role::Out, self.ty.name(), logits, size);
            rules.push(Rule { over: &[Role::Input], ..out });
            rules.push(Rule::read(Role::Gradients, "f32", 4 * if self.one_gradient { 1 } else { rows }, 4));
        } else {
            let losses = if self.reduction == LossReduction::None { rows } else { 1 };
            rules.push(Rule::written(Role::Out, "f32", 4 * losses, 4));
        }
        if self.has_logsumexp {
            let rule = Rule::read(Role::Logsumexp, "f32", 4 * rows, 4);
            rules.push(Rule { is_written: !self.is_backward, ..rule });
        }
        if self.has_flag {
            rules.push(Rule::written(Role::Flag, "u32", 4, 4));
        }
        rules
    }

    /// The smallest team that holds a row, or a block that goes through it: of a few long rows, one of more threads.
    fn shape(&self, card: &Card) -> Shape {
        let per = 16 / self.ty.bytes();
        let (rows, vectors) = (self.matrix.rows, self.matrix.cols.div_ceil(per));
        let threads = u64::from(card.multiprocessors) * u64::from(card.threads_per_multiprocessor);
        let suits = |&block: &u32| rows * u64::from(block) <= threads && vectors >= 4 * u64::from(block);
        held(vectors, per).filter(|_| !self.finds_nothing()).unwrap_or_else(|| {
            if self.is_backward {
                Shape::Stream { block: 256, loads: 8 / per as u32 }
            } else {
                Shape::Stream { block: [1024, 512].into_iter().find(suits).unwrap_or(256), loads: 2 }
            }
        })
    }

    fn plan(&self, card: &Card) -> Plan {
        let (ty, rows) = (self.ty, self.matrix.rows);
        let shape = self.shape(card);
        let total = |losses, totals, out, counted| self.total(losses, totals, out, counted);
        let (none, totals) = (Arg::U64(0), ty.holding(TOTAL_BYTES * self.totals()));
        let (passes, sums) = match (self.is_backward, self.reduction) {
            (false, LossReduction::None) => {
                (vec![self.pass(card, shape, Arg::Sums(0), none)], vec![ty.holding(4 * rows)])
            }
            (false, _) => (
                vec![self.pass(card, shape, Arg::Sums(0), none), total(Arg::Sums(0), 1, Arg::Sums(2), none)],
                vec![ty.holding(4 * rows), totals, ty.holding(4)],
            ),
            (true, LossReduction::Mean) => (
                vec![total(none, 0, none, Arg::Sums(1)), self.pass(card, shape, Arg::Sums(2), Arg::Sums(1))],
                vec![totals, ty.holding(8), self.matrix.span().unwrap_or(0)],
            ),
            (true, _) => (vec![self.pass(card, shape, Arg::Sums(0), none)], vec![self.matrix.span().unwrap_or(0)]),
        };
        let why = if self.finds_nothing() {
            format!(
                "a row's logsumexp is given, so that its threads find nothing together: {} share a row",
                grouped(self.sharing(card))
            )
        } else {
            let stream = if self.is_backward { ", and read it twice" } else { "" };
            shape.why(self.matrix.cols * ty.bytes(), Endings { held: "", stream, parts: "" })
        };
        // A ticket of 32 bits.
        let state_words = u64::from(passes.len() > 1);
        Plan { passes, sums, state_words, why, ..Plan::default() }
    }

    /// The launch over the logits.
    fn pass(&self, card: &Card, shape: Shape, out: Arg, counted: Arg) -> Pass {
        let Matrix { rows, cols, pitch } = self.matrix;
        let problem = Problem::new(self.op(), self.ty, 0, Layout::Rows(self.matrix), card);
        let kernels = softmax::kernels(&problem);
        // With the sum that smoothing takes of each thread's elements, one after the other.
        let (name, block, lanes, grid, additions) = match shape {
            Shape::Groups { lanes, vectors, .. } | Shape::Block { block: lanes, vectors } => {
                let elements = u64::from(vectors) * problem.per_vector();
                (
                    format!("held_v{vectors}"),
                    256,
                    lanes,
                    rows.div_ceil(256 / u64::from(lanes)),
                    roundings(lanes, elements) + elements,
                )
            }
            // Its threads need not be a team: a block has several such rows, or a part of one.
            Shape::Stream { .. } if self.finds_nothing() => {
                let lanes = self.sharing(card);
                ("saved".to_owned(), SHARING as u32, lanes as u32, (rows * lanes).div_ceil(SHARING), 0)
            }
            Shape::Stream { block, loads } => {
                let name =
                    if self.is_backward { format!("stream_t{block}") } else { format!("stream_t{block}u{loads}") };
                let of_block = (softmax::ROUNDINGS.block)(block.into());
                let of_round = u64::from(loads) * problem.per_vector();
                (name, block, 0, rows, kernels.running(cols, block, loads) + of_block + of_round)
            }
            Shape::Cluster { .. } | Shape::Staged { .. } | Shape::Persistent(_) | Shape::Parts { .. } => {
                unreachable!("no shape of losses")
            }
        };
        let none = Arg::U64(0);
        let args = vec![
            Arg::Input,
            none,
            out,
            Arg::U64(rows),
            Arg::U32(cols as u32),
            Arg::U64(pitch),
            Arg::Labels,
            Arg::U32(self.label_bits),
            if self.is_backward { Arg::Gradients } else { none },
            Arg::U32(u32::from(!self.one_gradient)),
            Arg::U64(self.ignore_index as u64),
            Arg::U32(self.smoothing.to_bits()),
            Arg::optional(Role::Logsumexp, self.has_logsumexp),
            Arg::optional(Role::Flag, self.has_flag),
            counted,
            Arg::U32(lanes),
        ];
        let kernel = if self.is_backward { "loss_gradient" } else { "loss" };
        let name = format!("{kernel}_{name}_{}", self.ty);
        Pass { elements: rows * cols, additions, ..Pass::new(name, grid, block.into(), args) }
    }

    /// Returns whether a row's gradients take nothing that has to be found of the row.
    fn finds_nothing(&self) -> bool {
        self.is_backward && self.has_logsumexp
    }

    /// Threads that share a row of which nothing has to be found, a power of two.
    fn sharing(&self, card: &Card) -> u64 {
        let Matrix { rows, cols, pitch } = self.matrix;
        let per = 16 / self.ty.bytes();
        let threads = u64::from(card.multiprocessors) * u64::from(card.threads_per_multiprocessor);
        // A thread an element, where vectors could not be read and the card holds so many.
        if rows * cols <= threads && (cols % per != 0 || pitch % per != 0) {
            return cols.max(1).next_power_of_two();
        }
        let vectors = cols.div_ceil(per).max(1);
        let most = OF_SHARE[usize::from(self.ty.bytes() < 4)];
        let each = (rows * vectors).div_ceil(threads).clamp(1, most);
        let lanes = vectors.div_ceil(each).max(vectors.min(LINE)).next_power_of_two();
        // Half as many, where that leaves fewer of them idle in their last round.
        let slots = |lanes: u64| vectors.next_multiple_of(lanes);
        let is_better = each > 1 && lanes > LINE && 20 * slots(lanes / 2) < 17 * slots(lanes);
        if is_better { lanes / 2 } else { lanes }
    }

    /// Blocks that add up losses.
    fn totals(&self) -> u64 {
        self.matrix.rows.div_ceil(OF_TOTAL).min(TOTALS)
    }

    /// The launch that adds up losses, where there are any, and counts rows, with its blocks' totals in the array of this number.
    fn total(&self, losses: Arg, totals: usize, out: Arg, counted: Arg) -> Pass {
        let rows = self.matrix.rows;
        let is_mean = self.reduction == LossReduction::Mean;
        let args = vec![
            Arg::Labels,
            Arg::U32(self.label_bits),
            Arg::U64(self.ignore_index as u64),
            Arg::U64(rows),
            losses,
            Arg::Sums(totals),
            Arg::State,
            out,
            counted,
            Arg::U32(u32::from(is_mean)),
        ];
        // Sums are in doubles, and rounded once.
        Pass { elements: rows, additions: 1, ..Pass::new("loss_total".to_owned(), self.totals(), 256, args) }
    }
}

/// The smallest team of threads that holds a row of so many vectors of `per` elements, two vectors each; `None` if no block does.
pub(super) fn held(vectors: u64, per: u64) -> Option<Shape> {
    let lanes = vectors.div_ceil(2).max(1).next_power_of_two().min(512) as u32;
    match lanes {
        0..=32 => Some(Shape::Groups { lanes, rows: 1, vectors: 2, width: per as u32 }),
        33..=256 => Some(Shape::Block { block: lanes, vectors: 2 }),
        _ => None,
    }
}

/// Roundings of so many threads that hold a row, so many elements each.
pub(super) fn roundings(lanes: u32, elements: u64) -> u64 {
    (softmax::ROUNDINGS.held)(elements) + u64::from(lanes.min(32).ilog2() + lanes / 32)
}
