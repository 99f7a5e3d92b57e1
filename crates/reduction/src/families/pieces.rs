//! More elements than a kernel counts: pieces of an array, or of all rows, columns or slices, each by a launch of its own, and launches
//! behind them that bring together what the pieces left.

use super::{champion, operators, rows};
use crate::element::Type;
use crate::layout::{Axis, COUNT_MAX, Layout, Matrix};
use crate::memory::Role;
use crate::op::{Number, Op, Outcome};
use crate::plan::{Arg, Part, Pass, Plan, Problem, entry_name};
use crate::results;
use crate::text::grouped;

/// Most elements that kernels count. Tests set it low.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Elements of an array.
    pub array: u64,
    /// Elements along a row, a column or an axis.
    pub along: u64,
    /// Columns of a launch: a multiple of every vector.
    pub panel: u64,
}

impl Most {
    /// What kernels count in 32 bits, and indices in 31.
    pub(crate) const BY_KERNELS: Most = Most { array: u32::MAX as u64, along: COUNT_MAX, panel: rows::PANEL };

    /// Elements that come together in a result, and the most of them in one launch; `None` for a layout that is not cut.
    fn of(self, problem: &Problem<'_>) -> Option<(u64, u64)> {
        match problem.layout {
            Layout::Array if champion::takes(problem.op, problem.ty) => None,
            Layout::Array => Some((problem.n, self.array)),
            Layout::Rows(Matrix { cols, .. }) if !problem.op.has_bounds() => Some((cols, self.along)),
            Layout::Columns(Matrix { rows, .. }) => Some((rows, self.along)),
            Layout::Axis(Axis { reduced, .. }) => Some((reduced, self.along)),
            Layout::Rows(_) | Layout::Ragged(_) => None,
        }
    }

    /// Returns whether there are more elements than one launch counts. Counts are then held in 64 bits, and so are indices in a row.
    pub(crate) fn is_passed(self, problem: &Problem<'_>) -> bool {
        self.of(problem).is_some_and(|(along, most)| along > most)
    }
}

/// Pieces of a problem: how many, the elements along each but the last, and along all of them.
#[derive(Clone, Copy)]
struct Pieces {
    count: u64,
    length: u64,
    along: u64,
    /// Results of each.
    many: u64,
}

/// The launches for each piece, and those that join their results, of which there are so many.
pub(crate) fn pieces(problem: &Problem<'_>, most: Most, many: u64) -> Plan {
    let (along, counted) = most.of(problem).unwrap_or((0, 1));
    // Half as many as kernels count, so that all begin alike within a vector.
    let length = counted.div_ceil(2);
    let cut = Pieces { count: along.div_ceil(length), length, along, many };
    let size = bytes_of_piece(problem);
    let part = |k: u64| {
        let (plan, before) = piece(problem, most, k * length, length.min(along - k * length));
        Part { plan, input: before * problem.ty.bytes(), out: k * many * size }
    };
    let mut plan = Plan::in_turn((0..cut.count).map(part).collect());
    let results = plan.sums.len() - 1;
    plan.sums[results] = problem.ty.holding(cut.count * many * size);
    let joins = joins(problem, most, cut);
    let out = results + 1 + joins.iter().map(|joined| joined.plan.sums.len() - 1).sum::<usize>();
    for joined in joins {
        join(problem.ty, &mut plan, joined, (results, out));
    }
    plan.sums.push(problem.ty.holding(many * result(problem).1));
    plan.why += &format!(
        "{}{} pieces of up to {} elements, more than which no launch counts, and a launch behind them for their results",
        if plan.why.is_empty() { "" } else { "; " },
        grouped(cut.count),
        grouped(length)
    );
    plan
}

/// Rust's name of a result of more elements than a kernel counts, and its bytes: a count has 64 bits, and so has an index in a row.
pub(crate) fn result(problem: &Problem<'_>) -> (&'static str, u64) {
    match problem.op {
        Op::Count => ("u64", 8),
        op => (results::name(op.outcome(problem.ty), true), op.result_bytes(problem.ty)),
    }
}

/// Bytes of a result of a piece.
fn bytes_of_piece(problem: &Problem<'_>) -> u64 {
    match problem.layout {
        Layout::Array => problem.op.result_bytes(problem.ty),
        _ => problem.op.row_bytes(problem.ty),
    }
}

/// The plan of the piece that begins with element `first`, and the elements of memory before it.
fn piece(problem: &Problem<'_>, most: Most, first: u64, elements: u64) -> (Plan, u64) {
    let with = |layout| Problem { layout, ..*problem };
    match problem.layout {
        Layout::Columns(matrix) => {
            let matrix = Matrix { rows: elements, ..matrix };
            (rows::panels(&with(Layout::Columns(matrix)), matrix, most.panel), first * matrix.pitch)
        }
        Layout::Axis(Axis { outer, reduced, inner }) => {
            let axis = Axis { outer, reduced: elements, inner };
            (rows::axis(&with(Layout::Axis(axis)), axis, reduced * inner, most.panel), first * inner)
        }
        Layout::Rows(matrix) => (rows::rows(&with(Layout::Rows(Matrix { cols: elements, ..matrix }))), first),
        Layout::Array | Layout::Ragged(_) => (operators::reduce(&Problem { n: elements, ..*problem }), first),
    }
}

/// Adds launches that read one array of the plan, the results of the pieces, and write another.
fn join(ty: Type, plan: &mut Plan, joined: Joined, (results, out): (usize, usize)) {
    let behind = plan.sums.len();
    let Joined { plan: next, ty: of_next, out: bytes_before } = joined;
    let last = next.sums.len() - 1;
    plan.sums.extend(next.sums[..last].iter().map(|sums| ty.holding(sums * of_next.bytes())));
    plan.state_words = plan.state_words.max(next.state_words);
    for mut pass in next.passes {
        for arg in &mut pass.args {
            *arg = match *arg {
                Arg::Input => Arg::Sums(results),
                Arg::Behind(Role::Input, bytes) => Arg::BehindSums(results, bytes),
                Arg::Sums(at) if at == last => Arg::BehindSums(out, bytes_before),
                Arg::BehindSums(at, bytes) if at == last => Arg::BehindSums(out, bytes + bytes_before),
                Arg::Sums(at) => Arg::Sums(behind + at),
                arg => arg,
            };
        }
        plan.passes.push(pass);
    }
}

/// Launches over the results of the pieces.
struct Joined {
    plan: Plan,
    /// Type of what they read.
    ty: Type,
    /// Bytes from the begin of the results to that of theirs.
    out: u64,
}

/// The launches over the results of the pieces. Results that are numbers are an array again, or columns.
fn joins(problem: &Problem<'_>, most: Most, cut: Pieces) -> Vec<Joined> {
    let op = problem.op;
    let (number, joined) = match (op, op.outcome(problem.ty)) {
        (Op::Count | Op::Meanvar, Outcome::Number(number) | Outcome::Two(number)) | (_, Outcome::Found(number)) => {
            return vec![merge(problem, cut, number)];
        }
        // The smallest of both ends of the pieces is the smallest of all.
        (_, Outcome::Two(number)) => {
            let ends = if problem.ty.is_float() { [Op::Minimum, Op::Maximum] } else { [Op::Min, Op::Max] };
            let of_end = |(at, op)| {
                let ty = type_of(number);
                let all = Problem { op, ty, n: 2 * cut.count, asked: Default::default(), ..*problem };
                Joined { plan: operators::reduce(&all), ty, out: at * number.bytes() }
            };
            return (0..).zip(ends).map(of_end).collect();
        }
        (Op::Any, Outcome::Number(number)) => (number, Op::Or),
        (Op::All, Outcome::Number(number)) => (number, Op::And),
        (Op::Sumsq | Op::Dot, Outcome::Number(number)) => (number, Op::Sum),
        // The root of the sum of the squares of such roots is that of all.
        (op, Outcome::Number(number)) => (number, op),
    };
    let ty = type_of(number);
    let matrix = Matrix::dense(cut.count, cut.many);
    let layout = if problem.layout == Layout::Array { Layout::Array } else { Layout::Columns(matrix) };
    let all = Problem { op: joined, ty, n: cut.count * cut.many, layout, asked: Default::default(), ..*problem };
    let mut plan = match layout {
        Layout::Array => operators::reduce(&all),
        _ => rows::panels(&all, matrix, most.panel),
    };
    if let (Op::Prod, Some(pass)) = (op, plan.passes.first_mut()) {
        // Every multiplication leaves its share in a product, those of the other pieces too.
        pass.additions += cut.along - cut.length;
    }
    vec![Joined { plan, ty, out: 0 }]
}

/// `merge_argmax_f32<<<⌈many / 256⌉, 256>>>(results, out, many, count, length, n)`: results that are no plain numbers, brought together
/// with the lengths of the pieces, a thread for each.
fn merge(problem: &Problem<'_>, cut: Pieces, number: Number) -> Joined {
    let Pieces { count, length, along, many } = cut;
    let is_place = matches!(problem.op.outcome(problem.ty), Outcome::Found(_));
    // An index in a row has 32 bits until now.
    let rows = if is_place && problem.layout != Layout::Array { "rows" } else { "" };
    let args =
        vec![Arg::Input, Arg::Sums(0), Arg::U64(many), Arg::U32(count as u32), Arg::U64(length), Arg::U64(along)];
    let ty = type_of(number);
    let mut pass = Pass::new(entry_name("merge", problem.op, rows, ty), many.div_ceil(256), 256, args);
    pass.elements = count * many;
    // A variance times its count, which may round itself, and over that of all.
    pass.additions = count + 3;
    Joined { plan: Plan { passes: vec![pass], sums: vec![0], ..Plan::default() }, ty, out: 0 }
}

/// The type of elements that are such numbers.
fn type_of(number: Number) -> Type {
    match number {
        Number::I32 => Type::I32,
        Number::U32 => Type::U32,
        Number::I64 => Type::I64,
        Number::F32 => Type::F32,
        Number::F64 => Type::F64,
    }
}
