//! Norms as programs use them: any ε, weights and biases or none, a residual, and what the way back needs.
//!
//! Rows are a function of their own elements, type and length alone: neither the card nor the other rows change a bit. Gradients of
//! weights and biases are added up in one order, which depends on the shape and on the card's multiprocessors.

use super::norms::ROUNDINGS;
use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::geometry::capped;
use crate::layout::Matrix;
use crate::memory::{Role, Rule};
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan};
use crate::reduction::Reduction;
use crate::setters::setters;

/// Layer norm or RMS norm of each row of a matrix, as `torch.nn.functional.layer_norm` and `rms_norm` over the last dimension.
///
/// With `x` an element, or the sum of an element and its residual, rounded to the elements' type:
///
/// - layer norm: `y = (x − mean) · d · weight + bias`, where `d = 1 / √(variance + ε)`, and the variance is that of the elements,
///   not of a sample;
/// - RMS norm: the same with 0 for the mean, and `d = 1 / √(mean of x² + ε)`.
///
/// All is computed in f32 and rounded once, where it is written. A NaN in a row makes the whole row NaN. An infinity does so in layer
/// norm; in RMS norm it becomes NaN, and the row's other elements 0. `Means` and `Deviations` of a row of 0 columns are NaN.
///
/// Operands of [`Norm::reduction`]: `Input`; `Other`, the residual, and `Sum`, where it is added up; `Out`; `Weights`; `Biases`;
/// `Means` (of layer norm) and `Deviations`, f32, if they are saved. `Out` and `Sum` may each lie over `Input` or `Other`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Norm {
    /// True for layer norm, which subtracts the mean.
    pub is_centred: bool,
    /// Type of the elements and of the results.
    pub ty: Type,
    /// Rows, and elements from one to the next in each operand that lies as the input.
    pub matrix: Matrix,
    /// Number added to the variance or to the mean of squares, positive.
    pub epsilon: f32,
    /// Type of the weights, the elements' or f32; 1 where there are none.
    pub weights: Option<Type>,
    /// Type of the biases, likewise; 0 where there are none.
    pub biases: Option<Type>,
    /// True if a residual is added first.
    pub has_residual: bool,
    /// True if means and reciprocal deviations are saved.
    pub saves: bool,
    /// Type of the gradients of weights and biases, the elements' or f32, where they are found on the way back.
    pub gradients: Option<Type>,
}

setters! {
    Norm:
    with_weights(ty: Type) weights = Some(ty), "With weights of this type.";
    with_biases(ty: Type) biases = Some(ty), "With biases of this type.";
    with_residual() has_residual = true, "With a residual, and the sum written to an operand of its own.";
    with_saved() saves = true, "With means and reciprocal deviations saved.";
    with_gradients(ty: Type) gradients = Some(ty), "With gradients, of this type, of the weights and biases that it has.";
}

impl Norm {
    /// Layer norm, without weights and biases.
    pub fn layer(ty: Type, matrix: Matrix, epsilon: f32) -> Norm {
        let (weights, biases, gradients) = (None, None, None);
        Norm { is_centred: true, ty, matrix, epsilon, weights, biases, has_residual: false, saves: false, gradients }
    }

    /// RMS norm, without weights.
    pub fn rms(ty: Type, matrix: Matrix, epsilon: f32) -> Norm {
        Norm { is_centred: false, ..Norm::layer(ty, matrix, epsilon) }
    }

    /// Its launch.
    ///
    /// # Errors
    /// A type without kernels; weights, biases or gradients that are neither of it nor f32; an ε that is not positive and finite; a
    /// pitch that is less than a row; more rows or columns than kernels count.
    pub fn reduction(&self, card: &Card) -> Result<Reduction> {
        self.check()?;
        let (rows, cols) = (self.matrix.rows, self.matrix.cols);
        let task = Task { norm: *self, results: self.ty, steps: Arg::U64(0) };
        let mut rules = task.rules();
        let over: &[Role] = &[Role::Input, Role::Other];
        let size = self.ty.bytes();
        rules.push(Rule { over, ..Rule::written(Role::Out, self.ty.name(), span(self.matrix) * size, size) });
        let saved = self.saves.then_some([(Role::Means, self.is_centred), (Role::Deviations, true)]);
        for (role, _) in saved.into_iter().flatten().filter(|&(_, is_there)| is_there) {
            rules.push(Rule::written(role, "f32", 4 * rows, 4));
        }
        let is_nothing = rows == 0 || (cols == 0 && !self.saves);
        let plan = if is_nothing { Plan::default() } else { task.plan() };
        let (what, shape) = (self.op().name(), format!("{self:?}"));
        Reduction { what, ty: self.ty, rules, plan, nothing: Vec::new(), shape, lesson: "", is_whole: false }.on(card)
    }

    /// The launches of the way back, from what was saved.
    ///
    /// With `n = (x − mean) · d` and `g = gradient · weight`, the gradient of an element is
    /// `d · (g − mean of g − n · mean of g · n)`, in RMS norm without the mean of `g`; that of a weight is the sum over the rows of
    /// `gradient · n`, and that of a bias the sum of the gradients.
    ///
    /// Operands: `Input`, the elements that were normalised, which with a residual are `Sum`; `Other`, the gradients of the results;
    /// `Out`, those of the elements, apart or over one of the two; `Means` (of layer norm) and `Deviations`; `Weights`;
    /// `WeightGradients` and `BiasGradients`, if they are found, of the weights and biases that the norm has.
    ///
    /// # Errors
    /// Those of [`Norm::reduction`].
    pub fn backward(&self, card: &Card) -> Result<Reduction> {
        self.check()?;
        let Matrix { rows, cols, .. } = self.matrix;
        let (size, name, bytes) = (self.ty.bytes(), self.ty.name(), span(self.matrix) * self.ty.bytes());
        let mut rules = vec![Rule::read(Role::Input, name, bytes, size), Rule::read(Role::Other, name, bytes, size)];
        rules.push(Rule { over: &[Role::Input, Role::Other], ..Rule::written(Role::Out, name, bytes, size) });
        if self.is_centred {
            rules.push(Rule::read(Role::Means, "f32", 4 * rows, 4));
        }
        rules.push(Rule::read(Role::Deviations, "f32", 4 * rows, 4));
        rules.extend(self.weights.map(|ty| column_rule(Role::Weights, ty, cols)));
        for (role, ty) in self.column_gradients() {
            rules.push(Rule { is_written: true, ..column_rule(role, ty, cols) });
        }
        let plan = if cols == 0 { Plan::default() } else { self.way_back(card) };
        let what = if self.is_centred { Op::LayerNormBackward } else { Op::RmsNormBackward };
        let (what, shape) = (what.name(), format!("back {self:?}"));
        Reduction { what, ty: self.ty, rules, plan, nothing: Vec::new(), shape, lesson: "", is_whole: false }.on(card)
    }

    fn op(&self) -> Op {
        match (self.is_centred, self.has_residual) {
            (true, false) => Op::LayerNorm,
            (true, true) => Op::AddLayerNorm,
            (false, false) => Op::RmsNorm,
            (false, true) => Op::AddRmsNorm,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let (op, ty) = (self.op(), self.ty);
        op.check(ty)?;
        self.matrix.check(ty)?;
        let columns = [("weights", self.weights), ("biases", self.biases), ("gradients", self.gradients)];
        for (operand, ty) in columns {
            if let Some(ty) = ty.filter(|&ty| ty != self.ty && ty != Type::F32) {
                return Err(Error::OperandType { operand, got: ty.name(), expected: "the elements' type or f32" });
            }
        }
        if self.epsilon > 0.0 && self.epsilon.is_finite() {
            return Ok(());
        }
        let (got, range) = (self.epsilon.to_string(), "positive, finite numbers");
        Err(Error::Parameter { what: "epsilon", got, range })
    }

    /// Gradients of columns that are found, with their type.
    fn column_gradients(&self) -> impl Iterator<Item = (Role, Type)> + use<> {
        let of = [(Role::WeightGradients, self.weights), (Role::BiasGradients, self.biases)];
        let ty = self.gradients;
        of.into_iter().filter_map(move |(role, has)| Some((role, has.and(ty)?)))
    }

    fn way_back(&self, card: &Card) -> Plan {
        let Matrix { rows, cols, .. } = self.matrix;
        let multiprocessors = u64::from(card.multiprocessors);
        let team = Team::of(cols, BACK_BLOCK);
        let has_columns = self.column_gradients().next().is_some();
        // Teams that take rows in turns, as many as the card holds, and those that find sums of columns.
        let strips = cols.div_ceil(8 * 256);
        let teams = match team {
            Team::Lanes(lanes) => rows.div_ceil(256 / lanes).min(2 * multiprocessors),
            Team::Block(threads) => rows.min(multiprocessors * (BACK_BLOCK / threads)),
            Team::Stream if has_columns => (4 * multiprocessors / strips).max(1).min(rows.div_ceil(4)),
            Team::Stream => 0,
        };
        let task = Task { norm: *self, results: self.ty, steps: Arg::U64(0) };
        let of_rows = match team {
            Team::Stream => rows,
            _ => teams,
        };
        let mut passes = vec![task.pass("norm_back", team, of_rows, task.back_args(has_columns))];
        if matches!(team, Team::Stream) && has_columns {
            let mut columns = task.back_args(true);
            columns.push(Arg::U32(teams as u32));
            passes.insert(0, Pass::new("norm_back_columns".to_owned(), strips * teams, 256, columns));
        }
        if rows == 0 {
            passes.clear();
        }
        for pass in &mut passes {
            pass.elements = rows * cols;
            pass.additions += rows.div_ceil(teams.max(1));
        }
        let mut sums = vec![span(self.matrix)];
        if has_columns {
            sums.insert(0, self.ty.holding(8 * teams * cols));
            passes.push(self.gradients_pass(teams));
        }
        Plan { passes, sums, why: team.why(cols, ", which takes rows in turns"), ..Plan::default() }
    }

    /// Adds up what so many teams have for their columns.
    fn gradients_pass(&self, teams: u64) -> Pass {
        let cols = self.matrix.cols;
        let operand = |role| Arg::optional(role, self.column_gradients().any(|(found, _)| found == role));
        let format = format(self.gradients.unwrap_or(Type::F32));
        let args = vec![
            Arg::Sums(0),
            Arg::U32(teams as u32),
            Arg::U32(cols as u32),
            operand(Role::WeightGradients),
            operand(Role::BiasGradients),
            Arg::U32(format),
        ];
        let pass = Pass::new("norm_back_gradients".to_owned(), 2 * cols.div_ceil(32), 256, args);
        Pass { elements: 2 * teams * cols, additions: teams.div_ceil(8) + 8, ..pass }
    }
}

/// Elements of the matrix from the first to the last. They were checked.
pub(super) fn span(matrix: Matrix) -> u64 {
    matrix.span().unwrap_or(0)
}

/// An operand with one number a column.
fn column_rule(role: Role, ty: Type, cols: u64) -> Rule {
    Rule::read(role, ty.name(), ty.bytes() * cols, ty.bytes())
}

/// Number by which the kernels know a type.
fn format(ty: Type) -> u32 {
    match ty {
        Type::F32 => 0,
        Type::BF16 => 1,
        Type::F16 => 2,
        // Codes of 8 bits: FP8, and integers.
        Type::U8 => 3,
        _ => 4,
    }
}

/// Elements of a thread, in two vectors of eight.
const HELD: u64 = 16;
/// Threads of a block at most, forward, backward, and where it goes through its row.
const BLOCK: u64 = 1024;
const BACK_BLOCK: u64 = 512;
const STREAM: u64 = 512;

/// Threads that have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Team {
    /// So many lanes of a warp.
    Lanes(u64),
    /// A block of so many threads, which holds the row.
    Block(u64),
    /// A block that goes through the row, which it does not hold.
    Stream,
}

impl Team {
    fn of(cols: u64, most: u64) -> Team {
        match cols.div_ceil(HELD).max(1) {
            lanes @ 1..=32 => Team::Lanes(lanes.next_power_of_two()),
            threads if threads <= most => Team::Block(threads.next_multiple_of(32)),
            _ => Team::Stream,
        }
    }

    fn why(self, cols: u64, ending: &str) -> String {
        match self {
            Team::Lanes(lanes) => format!("{lanes} lanes hold a row of {cols}{ending}: read once, without a barrier"),
            Team::Block(threads) => format!("a block of {threads} threads holds a row of {cols}{ending}: read once"),
            Team::Stream => format!("a row of {cols} is more than a block holds: {STREAM} threads go through it"),
        }
    }

    /// Roundings on the longest path to what is known of a row.
    fn roundings(self, cols: u64) -> u64 {
        match self {
            Team::Lanes(lanes) => (ROUNDINGS.held)(HELD) + (ROUNDINGS.lanes)(lanes as u32),
            Team::Block(threads) => (ROUNDINGS.held)(HELD) + (ROUNDINGS.block)(threads),
            Team::Stream => {
                let rounds = cols.div_ceil(HELD * STREAM);
                (ROUNDINGS.round)(HELD) + ROUNDINGS.merge * rounds + (ROUNDINGS.block)(STREAM)
            }
        }
    }
}

/// A norm as its kernels are given it.
pub(super) struct Task {
    pub norm: Norm,
    /// Type of the results: U8 for the codes of FP8.
    pub results: Type,
    /// Scales of results of 8 bits, or 0.
    pub steps: Arg,
}

impl Task {
    /// Demands on what is read, and on the sum.
    pub fn rules(&self) -> Vec<Rule> {
        let Norm { ty, matrix, weights, biases, has_residual, .. } = self.norm;
        let (size, bytes) = (ty.bytes(), span(matrix) * ty.bytes());
        let mut rules = vec![Rule::read(Role::Input, ty.name(), bytes, size)];
        if has_residual {
            rules.push(Rule::read(Role::Other, ty.name(), bytes, size));
            let sum = Rule::written(Role::Sum, ty.name(), bytes, size);
            rules.push(Rule { over: &[Role::Input, Role::Other], ..sum });
        }
        rules.extend(weights.map(|ty| column_rule(Role::Weights, ty, matrix.cols)));
        rules.extend(biases.map(|ty| column_rule(Role::Biases, ty, matrix.cols)));
        rules
    }

    /// The launch that goes forward.
    pub fn plan(&self) -> Plan {
        let Norm { matrix: Matrix { rows, cols, .. }, has_residual, saves, is_centred, biases, .. } = self.norm;
        let team = Team::of(cols, BLOCK);
        let other = if has_residual { Arg::Other } else { Arg::U64(0) };
        let saved = [Arg::optional(Role::Means, saves && is_centred), Arg::optional(Role::Deviations, saves)];
        let biases = if biases.is_some() { Arg::Biases } else { Arg::U64(0) };
        let args = self.args(other, Arg::optional(Role::Sum, has_residual), saved, biases);
        let mut pass = self.pass("norm", team, rows, args);
        if let Team::Lanes(lanes) = team {
            pass.geometry.grid[0] = capped(rows.div_ceil(256 / lanes));
        }
        let sums = vec![span(self.norm.matrix)];
        Plan { passes: vec![pass], sums, why: team.why(cols, ""), ..Plan::default() }
    }

    fn back_args(&self, has_columns: bool) -> Vec<Arg> {
        let sums = if has_columns { Arg::Sums(0) } else { Arg::U64(0) };
        let means = Arg::optional(Role::Means, self.norm.is_centred);
        self.args(Arg::Other, sums, [means, Arg::Operand(Role::Deviations)], Arg::U64(0))
    }

    /// Arguments of every kernel here but the one that adds up gradients.
    fn args(&self, other: Arg, sums: Arg, [means, deviations]: [Arg; 2], biases: Arg) -> Vec<Arg> {
        let Norm { ty, matrix: Matrix { rows, cols, pitch }, epsilon, weights, is_centred, .. } = self.norm;
        let of_columns = |ty: Option<Type>| format(ty.unwrap_or(Type::F32));
        let formats = [
            format(ty),
            of_columns(weights),
            of_columns(self.norm.biases),
            format(self.results),
            u32::from(is_centred),
        ];
        let formats = formats.iter().rev().fold(0, |all, format| all << 4 | format);
        vec![
            Arg::Input,
            other,
            Arg::Operand(Role::Out),
            sums,
            means,
            deviations,
            self.steps,
            if weights.is_some() { Arg::Weights } else { Arg::U64(0) },
            biases,
            Arg::U64(rows),
            Arg::U32(cols as u32),
            Arg::U64(pitch),
            Arg::U32(epsilon.to_bits()),
            Arg::U32(formats),
        ]
    }

    /// A launch of `norm_groups`, `norm_block` or `norm_stream`.
    fn pass(&self, name: &str, team: Team, grid: u64, mut args: Vec<Arg>) -> Pass {
        let Matrix { rows, cols, .. } = self.norm.matrix;
        let (kind, block) = match team {
            Team::Lanes(lanes) => {
                args.push(Arg::U32(lanes as u32));
                ("groups", 256)
            }
            Team::Block(threads) => ("block", threads),
            Team::Stream => ("stream", STREAM),
        };
        let pass = Pass::new(format!("{name}_{kind}"), grid, block, args);
        Pass { elements: rows * cols, additions: team.roundings(cols), ..pass }
    }
}
