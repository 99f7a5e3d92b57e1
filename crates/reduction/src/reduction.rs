//! A reduction with its plan, and its operands bound to the launches.

use crate::bound::Rounding;
use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::families::exact::{self, Exact};
use crate::families::pieces::{self, Most};
use crate::families::{champion, exact_rows, norms, operators, rows, softmax};
use crate::layout::{Axis, COUNT_MAX, Layout, Matrix, Segments, VALUES_MAX};
use crate::memory::{Memory, Operands, Role, Rule, Space};
use crate::op::{Number, Op, Outcome};
use crate::plan::{Arg, Determinism, Pass, Plan, Problem};
use crate::results;

/// Most parameters of a kernel.
const ARGS_MAX: usize = 16;
/// Bytes of which each array in the scratch memory begins at a multiple.
const ALIGNED: u64 = 256;

/// A reduction with the launches that do it: plain data, made once and run as often as its shape comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduction {
    /// The operation, in messages.
    pub(crate) what: &'static str,
    pub(crate) ty: Type,
    pub(crate) rules: Vec<Rule>,
    pub(crate) plan: Plan,
    /// Bytes to write where nothing has to be launched.
    pub(crate) nothing: Vec<u8>,
    /// All that the plan was made for, as text.
    pub(crate) shape: String,
    /// The file of CUDA in which the lines of its launches make kernels; empty where all are committed.
    pub(crate) lesson: &'static str,
    /// True for results that are integers: no order of operations changes a bit of them.
    pub(crate) is_whole: bool,
}

/// A device that takes launches in order.
pub trait Queue {
    /// Its error.
    type Error: From<Error>;

    /// Enqueues a launch. Each argument is the low bytes of its number.
    ///
    /// # Errors
    /// Those of the device.
    fn launch(&mut self, pass: &Pass, args: &[u64]) -> std::result::Result<(), Self::Error>;

    /// Enqueues a copy of these few bytes, a multiple of 4, to the begin of `memory`.
    ///
    /// # Errors
    /// Those of the device.
    fn write(&mut self, memory: Memory, bytes: &[u8]) -> std::result::Result<(), Self::Error>;
}

impl Reduction {
    /// Chooses kernels and launches. An array of 2³² elements or more, and rows, columns and axes of 2³¹, are taken in pieces: a count is
    /// then a `u64`, and a place in a row [`crate::Found`].
    ///
    /// # Errors
    /// An operation without kernels for the type and layout, more elements than kernels count, a launch that the card cannot run.
    pub fn new(problem: &Problem<'_>) -> Result<Reduction> {
        Reduction::within(problem, Most::BY_KERNELS)
    }

    /// The same where kernels count only so far: no part of the public interface, and a means by which tests see arrays in pieces.
    #[doc(hidden)]
    pub fn within(problem: &Problem<'_>, most: Most) -> Result<Reduction> {
        let Problem { op, ty, n, layout, determinism: asked, .. } = *problem;
        if asked > Determinism::RunToRun && layout == Layout::Array && exact::takes(op, ty) {
            return Exact::new(op, ty, n).reduction(problem.card);
        }
        if asked > Determinism::RunToRun && exact_rows::takes(op, ty, layout) {
            return Reduction::exact_rows_on(problem);
        }
        check(problem, most)?;
        let has_nothing = values(layout) == 0 || (n == 0 && layout == Layout::Array);
        let plan = if has_nothing { Plan::default() } else { launches(problem, most) };
        let nothing = if values(layout) == 0 { Vec::new() } else { op.identity_bytes(ty) };
        let shape = format!("{op} {ty} {n} {layout:?}");
        let (what, rules, lesson) = (op.name(), rules(problem, most), lesson(problem));
        let is_whole = !ty.is_float() || op.outcome(ty) == Outcome::Number(Number::U32);
        let reduction = Reduction { what, ty, rules, plan, nothing, shape, lesson, is_whole };
        match reduction.determinism() {
            gives if gives < asked => Err(Error::Determinism { what, ty, gives, asked }),
            _ => reduction.on(problem.card),
        }
    }

    /// An exact result of each row or column.
    pub(crate) fn exact_rows_on(problem: &Problem<'_>) -> Result<Reduction> {
        let Problem { op, ty, layout, card, .. } = *problem;
        check_layout(problem, Most::BY_KERNELS)?;
        exact_rows::check(op, ty, card)?;
        let plan = if values(layout) == 0 { Plan::default() } else { exact_rows::exact_rows(problem) };
        let (what, rules, shape) = (op.name(), rules(problem, Most::BY_KERNELS), format!("exact {op} {ty} {layout:?}"));
        Reduction { what, ty, rules, plan, nothing: Vec::new(), shape, lesson: "", is_whole: false }.on(card)
    }

    /// This reduction, if the card can run its launches.
    pub(crate) fn on(self, card: &Card) -> Result<Reduction> {
        match self.plan.passes.iter().find_map(|pass| card.refusal(pass.geometry)) {
            Some(why) => Err(Error::Card(format!("it does not fit on {why}"))),
            None => Ok(self),
        }
    }

    /// The same reduction by other launches: a plan with a shape that was set by hand.
    ///
    /// # Safety
    /// They touch what the rules say and nothing else, and leave their state as they found it.
    pub unsafe fn with_plan(self, plan: Plan) -> Reduction {
        Reduction { plan, ..self }
    }

    /// The file of `kernels/` in which [`Pass::line`] makes its kernels, `ch10-rows`; empty where there is no line.
    pub fn lesson(&self) -> &'static str {
        self.lesson
    }

    /// The type of its elements.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// Its launches.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Promise about the bits of its results: that of the launches, and of the operation.
    pub fn determinism(&self) -> Determinism {
        match self.plan.rounding() {
            _ if self.is_whole => Determinism::Exact,
            Rounding::EXACT => Determinism::Exact,
            Rounding { atomics: 1.., .. } => Determinism::NotGuaranteed,
            _ => Determinism::RunToRun,
        }
    }

    /// Demands on its operands, one for each that it takes.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Demands on one operand; `None` if it is not taken.
    pub fn rule(&self, role: Role) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.role == role)
    }

    /// Bytes of its results.
    pub fn result_bytes(&self) -> u64 {
        self.rule(Role::Out).map_or(0, |rule| rule.bytes)
    }

    /// Bytes of scratch memory that its launches need.
    pub fn scratch_bytes(&self) -> u64 {
        let Some((_, before)) = self.plan.sums.split_last() else { return 0 };
        before.iter().map(|sums| (sums * self.ty.bytes()).next_multiple_of(ALIGNED)).sum()
    }

    /// A name of its launches, the same wherever kernels, sizes and numbers are: two runs with one name, on data that lies alike
    /// modulo 16 bytes, give the same bits.
    pub fn plan_id(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut take = |text: &str| {
            for byte in text.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        take(&self.shape);
        for pass in &self.plan.passes {
            take(&format!("{} {} {:?}", pass.kernel, pass.geometry, pass.args));
        }
        format!("{hash:016x}")
    }

    /// Checks the operands and enqueues the launches. Nothing is enqueued where anything is refused.
    ///
    /// # Safety
    /// The operands and the space are memory of the queue's device, free of other writers while the launches run. Offsets of ragged
    /// rows rise, and the last is at most the number of elements; a table has the words of [`crate::Many::table`], for arrays that are
    /// memory of the device too.
    ///
    /// # Errors
    /// An operand that is missing, too short, badly aligned or overlaps the results in part; a space that is too small.
    pub unsafe fn enqueue<Q: Queue>(
        &self,
        operands: &Operands,
        space: Space,
        queue: &mut Q,
    ) -> std::result::Result<(), Q::Error> {
        operands.check(self.what, &self.rules, space)?;
        let needed =
            [("scratch", space.scratch, self.scratch_bytes()), ("state", space.state, 8 * self.plan.state_words)];
        for (what, memory, expected) in needed {
            if memory.bytes < expected {
                return Err(Error::Workspace { what, got: memory.bytes, expected }.into());
            }
            if expected > 0 && !memory.address.is_multiple_of(ALIGNED) {
                return Err(
                    Error::Alignment { operand: "the workspace", address: memory.address, multiple: ALIGNED }.into()
                );
            }
        }
        if self.plan.passes.is_empty() {
            return if self.nothing.is_empty() { Ok(()) } else { queue.write(operands.get(Role::Out), &self.nothing) };
        }
        for pass in &self.plan.passes {
            let mut args = [0; ARGS_MAX];
            for (place, &arg) in args.iter_mut().zip(&pass.args) {
                *place = self.number(arg, operands, space);
            }
            queue.launch(pass, &args[..pass.args.len()])?;
        }
        Ok(())
    }

    /// The number of an argument.
    fn number(&self, arg: Arg, operands: &Operands, space: Space) -> u64 {
        let address = |role| operands.get(role).address;
        match arg {
            Arg::Input => address(Role::Input),
            Arg::Other => address(Role::Other),
            Arg::Offsets => address(Role::Offsets),
            Arg::Labels => address(Role::Labels),
            Arg::Gradients => address(Role::Gradients),
            Arg::Weights => address(Role::Weights),
            Arg::Biases => address(Role::Biases),
            Arg::Operand(role) => address(role),
            Arg::Behind(role, bytes) => address(role) + bytes,
            Arg::State => space.state.address,
            Arg::Sums(at) if at + 1 >= self.plan.sums.len() => address(Role::Out),
            Arg::Sums(at) => {
                let size = self.ty.bytes();
                let before = self.plan.sums[..at].iter().map(|sums| (sums * size).next_multiple_of(ALIGNED));
                space.scratch.address + before.sum::<u64>()
            }
            Arg::BehindSums(at, bytes) => self.number(Arg::Sums(at), operands, space) + bytes,
            Arg::U32(number) => number.into(),
            Arg::U64(number) => number,
        }
    }
}

/// Results of a layout.
fn values(layout: Layout) -> u64 {
    match layout {
        Layout::Array => 1,
        Layout::Rows(matrix) => matrix.rows,
        Layout::Columns(matrix) => matrix.cols,
        Layout::Ragged(Segments { rows, .. }) => rows,
        Layout::Axis(Axis { outer, inner, .. }) => outer * inner,
    }
}

fn bits(what: &'static str, got: u32) -> Result<()> {
    if matches!(got, 32 | 64) { Ok(()) } else { Err(Error::Bits { what, got }) }
}

/// Refuses what no kernel here computes or counts.
fn check(problem: &Problem<'_>, counted: Most) -> Result<()> {
    let Problem { op, ty, layout, .. } = *problem;
    op.check(ty)?;
    let (name, has_kernels) = match layout {
        Layout::Array => ("an array", operators::OPS.contains(&op) && operators::is_compiled(op, ty)),
        Layout::Rows(_) => ("rows", op.has_bounds() || rows::is_compiled(op, ty)),
        Layout::Columns(_) => ("columns", rows::is_compiled(op, ty)),
        Layout::Ragged(_) => ("segments", rows::is_compiled(op, ty)),
        Layout::Axis(_) => ("an axis", rows::is_compiled(op, ty)),
    };
    if !has_kernels {
        return Err(Error::NoKernels { op, ty, layout: name });
    }
    bits("labels", problem.targets.label_bits)?;
    check_layout(problem, counted)
}

/// Refuses more than kernels count, rows that overlap, and offsets of other bits.
fn check_layout(problem: &Problem<'_>, counted: Most) -> Result<()> {
    let Problem { op, ty, n, layout, .. } = *problem;
    let most = |what, got, most| if got > most { Err(Error::TooMany { what, got, most }) } else { Ok(()) };
    let all = |rows: u64, cols: u64| most("elements", rows.saturating_mul(cols), champion::N_MAX);
    let is_cut = counted.is_passed(problem);
    match layout {
        Layout::Array => most("elements", n, champion::N_MAX),
        Layout::Rows(matrix) if op.has_bounds() => matrix.check(ty),
        Layout::Rows(matrix) => {
            matrix.check_up_to(ty, VALUES_MAX, champion::N_MAX)?;
            if is_cut { all(matrix.rows, matrix.cols) } else { Ok(()) }
        }
        Layout::Columns(matrix) => {
            matrix.check_up_to(ty, champion::N_MAX, VALUES_MAX)?;
            if is_cut { all(matrix.rows, matrix.cols) } else { Ok(()) }
        }
        Layout::Axis(Axis { outer, reduced, inner }) => {
            most("elements before the axis", outer, rows::OUTER_MAX)?;
            most("elements along the axis", reduced, champion::N_MAX)?;
            most("elements behind the axis", inner, VALUES_MAX)?;
            let slice = reduced.max(1).checked_mul(inner.max(1));
            let bytes = slice.and_then(|slice| slice.checked_mul(outer)?.checked_mul(ty.bytes()));
            bytes.ok_or(Error::Size { rows: outer, cols: reduced, pitch: inner })?;
            if is_cut || inner > counted.panel { all(outer, slice.unwrap_or(u64::MAX)) } else { Ok(()) }
        }
        Layout::Ragged(Segments { rows, elements, longest, bits: of_offset, .. }) => {
            bits("offsets", of_offset)?;
            most("rows", rows, VALUES_MAX)?;
            // Others count the elements of a row, or have an index in it.
            if !matches!(op, Op::Sum | Op::Mean | Op::Maximum) {
                most("elements of a row", longest, COUNT_MAX)?;
            }
            most("elements", elements, champion::N_MAX)
        }
    }
}

fn launches(problem: &Problem<'_>, most: Most) -> Plan {
    match problem.layout {
        layout if most.is_passed(problem) => pieces::pieces(problem, most, values(layout)),
        Layout::Array if champion::takes(problem.op, problem.ty) => champion::single_pass(problem),
        Layout::Array => operators::reduce(problem),
        Layout::Rows(_) if problem.op.is_exponential() => softmax::softmax(problem),
        Layout::Rows(_) if problem.op.is_norm() => norms::norm(problem),
        Layout::Rows(_) => rows::rows(problem),
        Layout::Columns(matrix) => rows::panels(problem, matrix, most.panel),
        Layout::Axis(axis) => rows::axis(problem, axis, axis.reduced * axis.inner, most.panel),
        Layout::Ragged(_) => rows::ragged(problem),
    }
}

/// The file of CUDA with the macros of its kernels' lines.
fn lesson(problem: &Problem<'_>) -> &'static str {
    match problem.layout {
        Layout::Array if champion::takes(problem.op, problem.ty) => "",
        Layout::Array => operators::LESSON,
        Layout::Rows(_) if problem.op.is_exponential() => "ch11-softmax",
        Layout::Rows(_) if problem.op.is_norm() => "ch12-norms",
        _ => "ch10-rows",
    }
}

/// Demands on the operands.
fn rules(problem: &Problem<'_>, most: Most) -> Vec<Rule> {
    let Problem { op, ty, layout, targets, .. } = *problem;
    let (size, name) = (ty.bytes(), ty.name());
    let read = match layout {
        Layout::Array => problem.n * size,
        // The size was checked.
        Layout::Rows(matrix) | Layout::Columns(matrix) => matrix.span().unwrap_or(0) * size,
        Layout::Ragged(segments) => segments.elements * size,
        Layout::Axis(Axis { outer, reduced, inner }) => outer * reduced * inner * size,
    };
    let mut rules = vec![Rule::read(Role::Input, name, read, size)];
    if op.arrays() == 2 {
        rules.push(Rule::read(Role::Other, name, read, size));
    }
    rules.push(result_rule(problem, most));
    let (rows, cols) = match layout {
        Layout::Rows(Matrix { rows, cols, .. }) => (rows, cols),
        _ => (0, 0),
    };
    if let Layout::Ragged(Segments { rows, bits, checked, .. }) = layout {
        let (offset, name) = if bits == 32 { (4, "u32") } else { (8, "u64") };
        rules.push(Rule::read(Role::Offsets, name, offset * (rows + 1), offset));
        if checked {
            rules.push(Rule::written(Role::Flag, "u32", 4, 4));
        }
    }
    if op.has_labels() {
        let (label, name) = if targets.label_bits == 32 { (4, "i32") } else { (8, "i64") };
        rules.push(Rule::read(Role::Labels, name, label * rows, label));
    }
    if op.has_gradients() {
        rules.push(Rule::read(Role::Gradients, "f32", 4 * if targets.one_gradient { 1 } else { rows }, 4));
    }
    if op.is_norm() {
        rules.push(Rule::read(Role::Weights, name, size * cols, size));
    }
    if op.is_centred() && !op.has_weight_gradients() {
        rules.push(Rule::read(Role::Biases, name, size * cols, size));
    }
    rules
}

/// Demands on the results.
fn result_rule(problem: &Problem<'_>, most: Most) -> Rule {
    let Problem { op, ty, layout, .. } = *problem;
    if let (Layout::Rows(matrix), true) = (layout, op.is_per_element()) {
        let all = Matrix { rows: op.result_rows(matrix.rows), ..matrix };
        let bytes = all.span().unwrap_or(u64::MAX).saturating_mul(ty.bytes());
        let rule = Rule::written(Role::Out, ty.name(), bytes, ty.bytes());
        return Rule { over: &[Role::Input, Role::Other], ..rule };
    }
    if most.is_passed(problem) {
        let (name, bytes) = pieces::result(problem);
        return Rule::results(name, bytes, values(layout));
    }
    let (of_one, count) = match layout {
        Layout::Array => (op.result_bytes(ty), 1),
        layout => (op.row_bytes(ty), values(layout)),
    };
    Rule::results(results::name(op.outcome(ty), layout == Layout::Array), of_one, count)
}
