//! Softmax of scaled and masked rows, and its logarithm: scale · x + mask over the columns that a row sees. Kernels compute in floats
//! with the exponentials of chapter 11.

use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::families::{loss, softmax};
use crate::layout::{COUNT_MAX, Layout, Matrix};
use crate::memory::{Role, Rule};
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, Problem};
use crate::reduction::Reduction;
use crate::setters::setters;
use crate::team::{Endings, Shape};

/// Causal mask: row r sees the columns up to r mod `rows` + `offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Causal {
    /// Rows of a head, from which on they begin again.
    pub rows: u64,
    /// Last column that the first of them sees: the keys before the first query, 0 where there are as many keys as queries.
    pub offset: i64,
}

/// Softmax of scale · x + mask, or its logarithm, forward or backward.
///
/// Operands: rows of `ty` ([`Role::Input`]), and results that lie as they do ([`Role::Out`]), apart or in place. Backward, the input
/// is what forward left, [`Role::Other`] its gradient, and the results are the gradients of x, apart or in place of either.
///
/// A row sees its first columns: as many as its length and a causal mask leave, whichever is less. The others are not read. What
/// is masked, by this or by −∞ in a matrix that is added, is 0, or −∞ in the logarithm, and its gradient is 0. A row with nothing
/// left is 0 throughout, where torch has NaN, and −∞ in the logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Softmax {
    /// True for the gradients of x.
    pub is_backward: bool,
    /// True for the logarithm of softmax.
    pub is_log: bool,
    /// Type of all matrices.
    pub ty: Type,
    /// Rows of x.
    pub matrix: Matrix,
    /// Factor of x, finite.
    pub scale: f32,
    /// Causal mask.
    pub causal: Option<Causal>,
    /// True if the rows' lengths are an operand.
    pub has_lengths: bool,
    /// Elements from the beginning of a row of the added matrix to that of the next, 0 for one row that is added to all.
    pub mask_pitch: Option<u64>,
    /// True if the rows' logsumexps are an operand.
    pub has_logsumexp: bool,
}

setters! {
    Softmax:
    with_log() is_log = true, "The logarithm.";
    with_scale(scale: f32) scale = scale, "With this factor of x.";
    with_causal(rows: u64, offset: i64) causal = Some(Causal { rows, offset }), "With a causal mask for heads of so many rows.";
    with_lengths() has_lengths = true, "With [`Role::Lengths`], an `i32` a row: the columns that it sees, all where it is more than \
        there are, none where it is negative.";
    with_mask(pitch: u64) mask_pitch = Some(pitch), "With [`Role::Mask`], a matrix of `ty` that is added after scaling, forward. \
        Backward does not take it: what it masked is known by its result.";
    with_logsumexp() has_logsumexp = true, "With [`Role::Logsumexp`], an `f32` a row, which forward writes: −∞ for a row with \
        nothing left. Backward does not take it.";
}

impl Softmax {
    /// Softmax of these rows.
    pub fn forward(ty: Type, matrix: Matrix) -> Softmax {
        Softmax {
            is_backward: false,
            is_log: false,
            ty,
            matrix,
            scale: 1.0,
            causal: None,
            has_lengths: false,
            mask_pitch: None,
            has_logsumexp: false,
        }
    }

    /// The gradients of x, from those of its softmax.
    pub fn backward(ty: Type, matrix: Matrix) -> Softmax {
        Softmax { is_backward: true, ..Softmax::forward(ty, matrix) }
    }

    /// The reduction with its launch.
    ///
    /// # Errors
    /// A type without kernels, matrices that kernels do not take, a scale that is not finite, a causal mask without rows, a launch that
    /// the card cannot run.
    pub fn reduction(&self, card: &Card) -> Result<Reduction> {
        self.check()?;
        let plan = if self.matrix.rows == 0 { Plan::default() } else { self.plan(card) };
        let (what, rules, shape) = (self.op().name(), self.rules(), format!("{self:?}"));
        Reduction { what, ty: self.ty, rules, plan, nothing: Vec::new(), shape, lesson: "", is_whole: false }.on(card)
    }

    fn op(&self) -> Op {
        match (self.is_backward, self.is_log) {
            (false, false) => Op::Softmax,
            (false, true) => Op::LogSoftmax,
            (true, false) => Op::SoftmaxBackward,
            (true, true) => Op::LogSoftmaxBackward,
        }
    }

    /// The added matrix; of one row that is added to all, that row.
    fn mask(&self) -> Option<Matrix> {
        let Matrix { rows, cols, .. } = self.matrix;
        let pitch = self.mask_pitch.filter(|_| !self.is_backward)?;
        Some(if pitch == 0 { Matrix::dense(rows.min(1), cols) } else { Matrix { rows, cols, pitch } })
    }

    fn check(&self) -> Result<()> {
        let ty = self.ty;
        self.op().check(ty)?;
        let parameter = |what, got: String, range| Error::Parameter { what, got, range };
        if !self.scale.is_finite() {
            return Err(parameter("scale", self.scale.to_string(), "finite numbers"));
        }
        match self.causal {
            Some(Causal { rows: 0, .. }) => {
                return Err(parameter("rows of a causal mask", "0".to_owned(), "1 or more"));
            }
            Some(Causal { rows: got, .. }) if got > COUNT_MAX => {
                return Err(Error::TooMany { what: "rows of a causal mask", got, most: COUNT_MAX });
            }
            _ => {}
        }
        self.mask().map_or(Ok(()), |mask| mask.check(ty))?;
        self.matrix.check(ty)
    }

    fn rules(&self) -> Vec<Rule> {
        let (size, name, rows) = (self.ty.bytes(), self.ty.name(), self.matrix.rows);
        // The sizes were checked.
        let bytes = |matrix: Matrix| matrix.span().unwrap_or(0) * size;
        let mut rules = vec![
            Rule::read(Role::Input, name, bytes(self.matrix), size),
            Rule { over: &[Role::Input, Role::Other], ..Rule::written(Role::Out, name, bytes(self.matrix), size) },
        ];
        if self.is_backward {
            rules.push(Rule::read(Role::Other, name, bytes(self.matrix), size));
        }
        if let Some(mask) = self.mask() {
            rules.push(Rule::read(Role::Mask, name, bytes(mask), size));
        }
        if self.has_lengths {
            rules.push(Rule::read(Role::Lengths, "i32", 4 * rows, 4));
        }
        if self.has_logsumexp && !self.is_backward {
            rules.push(Rule::written(Role::Logsumexp, "f32", 4 * rows, 4));
        }
        rules
    }

    fn plan(&self, card: &Card) -> Plan {
        let Matrix { rows, cols, .. } = self.matrix;
        let problem = Problem::new(self.op(), self.ty, 0, Layout::Rows(self.matrix), card);
        let per = problem.per_vector();
        let loads = 8 / per as u32;
        let shape = loss::held(cols.div_ceil(per), per).unwrap_or(Shape::Stream { block: 256, loads });
        let (name, lanes, grid, additions) = match shape {
            Shape::Groups { lanes, vectors, .. } | Shape::Block { block: lanes, vectors } => {
                let additions = loss::roundings(lanes, u64::from(vectors) * per);
                (format!("held_v{vectors}"), lanes, rows.div_ceil(256 / u64::from(lanes)), additions)
            }
            _ => {
                let running = softmax::kernels(&problem).running(cols, 256, loads) + 8;
                ("stream_t256".to_owned(), 0, rows, running + (softmax::ROUNDINGS.block)(256))
            }
        };
        let kernel = if self.is_backward { "masked_backward" } else { "masked" };
        let pass = Pass::new(format!("{kernel}_{name}_{}", self.ty), grid, 256, self.args(lanes));
        let why = shape.why(cols * self.ty.bytes(), Endings { held: "", stream: ", and read it twice", parts: "" });
        Plan {
            passes: vec![Pass { elements: rows * cols, additions, ..pass }],
            sums: vec![self.matrix.span().unwrap_or(0)],
            why,
            ..Plan::default()
        }
    }

    fn args(&self, lanes: u32) -> Vec<Arg> {
        let Matrix { rows, cols, pitch } = self.matrix;
        let Causal { rows: period, offset } = self.causal.unwrap_or(Causal { rows: 0, offset: 0 });
        // Beyond these, a row sees all columns or none.
        let most = COUNT_MAX as i64;
        vec![
            Arg::Input,
            Arg::optional(Role::Other, self.is_backward),
            Arg::Sums(0),
            Arg::U64(rows),
            Arg::U32(cols as u32),
            Arg::U64(pitch),
            Arg::optional(Role::Mask, self.mask().is_some()),
            Arg::U64(self.mask_pitch.unwrap_or(0)),
            Arg::optional(Role::Lengths, self.has_lengths),
            Arg::U32(period as u32),
            Arg::U64(offset.clamp(-most, most) as u64),
            Arg::U32(self.scale.to_bits()),
            Arg::optional(Role::Logsumexp, self.has_logsumexp && !self.is_backward),
            Arg::U32(u32::from(self.is_log)),
            Arg::U32(lanes),
        ]
    }
}
