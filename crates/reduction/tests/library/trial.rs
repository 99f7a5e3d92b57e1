//! A run of a reduction on the simulator, judged.

use std::fmt::Debug;

use crate::gpu;
use device::{Checks, Choice, Device, HostOperand, HostOperands, Reductions, Report, Schedule, SimOptions};
use lab::element::Element;
use lab::input::random_for;
use lab::op::OnHost as _;
use lab::reference::reference_of;
use lab::session::built_root;
use lab::verify::{self, Bounded, Results};
use lab::{Layout, Offsets, Targets, Value, with_elements};
use reduction::bound::Rounding;
use reduction::card::H200;
use reduction::{Card, Matrix, Op, Problem, Reduction, Role, Type};

thread_local! {
    /// The simulator by default, with the committed kernels.
    static KERNELS: Reductions<'static> = {
        let device = Device::open(Choice::Sim, SimOptions::default()).expect("the simulator is always here");
        Reductions::new(Box::leak(Box::new(device)), &built_root()).expect("committed kernels")
    };
}

/// Order without a seed, in which lanes stay together where the program lets them.
pub const IN_ORDER: Schedule = Schedule::Independent { seed: None };

/// A reduction to run.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// Operation.
    pub op: Op,
    /// Type of the elements.
    pub ty: Type,
    /// Layout, with the offsets that are on the device.
    pub layout: Layout,
    /// Elements of an array.
    pub n: u64,
    /// Elements between a multiple of 256 bytes and the first one of input, second input and results.
    pub begin: [u64; 3],
    /// True if results are written over the input.
    pub in_place: bool,
    /// Bits of labels, and whether there is one gradient for all rows.
    pub targets: (u32, bool),
    /// Order in which the simulator runs.
    pub schedule: Schedule,
    /// Calls in a row with one workspace.
    pub times: u32,
    /// Card that it is planned for.
    pub card: &'static Card,
    /// True for a plan whose kernels may have to be compiled; on a GPU they are wherever the library can.
    pub on_demand: bool,
}

impl Trial {
    /// A reduction of an array.
    pub fn array(op: Op, ty: Type, n: u64) -> Trial {
        Trial {
            op,
            ty,
            layout: Layout::Array,
            n,
            begin: [0; 3],
            in_place: false,
            targets: (64, true),
            schedule: IN_ORDER,
            times: 1,
            card: &H200,
            on_demand: false,
        }
    }

    /// One of rows.
    pub fn rows(op: Op, ty: Type, matrix: Matrix) -> Trial {
        let n = matrix.span().expect("a small matrix");
        Trial { layout: Layout::Rows(matrix), ..Trial::array(op, ty, n) }
    }

    /// One of columns.
    pub fn columns(op: Op, ty: Type, matrix: Matrix) -> Trial {
        Trial { layout: Layout::Columns(matrix), ..Trial::rows(op, ty, matrix) }
    }

    /// One of ragged rows.
    pub fn ragged(op: Op, ty: Type, offsets: Vec<u64>, bits: u32) -> Trial {
        let n = offsets.last().copied().unwrap_or(0);
        let offsets = Offsets::new(offsets, bits, n).expect("offsets that rise");
        Trial { layout: Layout::Ragged(offsets), ..Trial::array(op, ty, n) }
    }

    /// The reduction with its plan.
    pub fn plan(&self) -> reduction::Result<Reduction> {
        let (label_bits, one_gradient) = self.targets;
        let targets = reduction::plan::Targets::new(label_bits, one_gradient);
        let layout = self.layout.planned();
        if on_gpu() && std::ptr::eq(self.card, &H200) {
            let on_demand = gpu::reducer().compiles();
            let problem = Problem::new(self.op, self.ty, self.n, layout, gpu::reducer().card());
            return Reduction::new(&problem.with_targets(targets).with_on_demand(on_demand));
        }
        let problem = Problem::new(self.op, self.ty, self.n, layout, self.card);
        Reduction::new(&problem.with_targets(targets).with_on_demand(self.on_demand))
    }

    /// Runs it over random elements; the bits of its results.
    ///
    /// # Panics
    /// If a launch has a fault or a result is wrong.
    pub fn passes(&self) -> Vec<u8> {
        self.passes_by(&self.plan().unwrap_or_else(|error| panic!("{self:?}: {error}")))
    }

    /// The same with this plan.
    pub fn passes_by(&self, reduction: &Reduction) -> Vec<u8> {
        with_elements!(random_for(self.op, self.ty, self.n as usize, self.n), values => self.passes_on(&values, reduction))
    }

    fn passes_on<T: Element>(&self, all: &[T], reduction: &Reduction) -> Vec<u8> {
        let (first, second) = all.split_at(self.n as usize);
        let others = self.others::<T>(second);
        let others: Vec<(Role, &[u8])> = others.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
        let input = bytes(first);
        let operands = HostOperands { input: &input, others: &others, begin: self.begins(), in_place: self.in_place };
        let left = run(reduction, &operands, self.schedule, self.card, self.times);
        let left = left.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        self.judge(reduction, (first, second), &left);
        left
    }

    /// Bytes before input, second input and results. Results of a row begin at a multiple of their size.
    fn begins(&self) -> [usize; 3] {
        let [input, other, out] = self.begin.map(|elements| (elements * self.ty.bytes()) as usize);
        [input, other, if self.op.is_per_element() { out } else { 0 }]
    }

    /// Operands beside the input.
    fn others<T: Element>(&self, second: &[T]) -> Vec<(Role, Vec<u8>)> {
        let mut others = Vec::new();
        let (rows, cols) = self.layout.size().unwrap_or_default();
        if self.op.arrays() == 2 {
            others.push((Role::Other, bytes(second)));
        }
        if let Layout::Ragged(offsets) = self.layout {
            others.push((Role::Offsets, words(offsets.bits, offsets.all())));
        }
        let targets = Targets::default();
        if self.op.has_labels() {
            let labels = (0..rows).map(|row| targets.label(row, cols) as u64);
            others.push((Role::Labels, words(self.targets.0, labels)));
        }
        if self.op.has_gradients() {
            let count = if self.targets.1 { 1 } else { rows };
            others.push((
                Role::Gradients,
                (0..count).flat_map(|row| self.gradients().gradient(row).to_le_bytes()).collect(),
            ));
        }
        if self.op.is_norm() {
            others.push((Role::Weights, (0..cols).flat_map(|col| targets.weight::<T>(col).le()).collect()));
        }
        if self.op.is_centred() && !self.op.has_weight_gradients() {
            others.push((Role::Biases, (0..cols).flat_map(|col| targets.bias::<T>(col).le()).collect()));
        }
        others
    }

    fn gradients(&self) -> Targets {
        let one = Targets::default().with_gradients(&[0.5], 1).expect("one gradient");
        if self.targets.1 { one } else { Targets::default() }
    }

    fn judge<T: Element>(&self, reduction: &Reduction, (first, second): (&[T], &[T]), left: &[u8]) {
        let (op, rounding) = (self.op, reduction.plan().rounding());
        let of_rows = |bytes: &[u8]| -> Vec<Value> {
            let rows = bytes.chunks_exact(op.row_bytes(self.ty) as usize);
            rows.map(|row| op.row_result(self.ty, row).expect("a result")).collect()
        };
        if self.layout == Layout::Array {
            return judge(op, [first, second].concat(), op.result(self.ty, left), rounding, self);
        }
        let worst = match (op.has_bounds(), self.layout) {
            (true, Layout::Rows(matrix)) => {
                let bounded = Bounded::new(op, matrix, self.gradients(), (first, second), rounding.additions);
                let elements: Vec<T> = left.chunks_exact(T::BYTES).map(T::from_le).collect();
                let values = if op.is_per_element() { Vec::new() } else { of_rows(left) };
                let results = if op.is_per_element() { Results::Elements(&elements) } else { Results::Rows(&values) };
                bounded.worst(&bounded.rows(), results)
            }
            _ => verify::worst(&self.layout, op, first, &of_rows(left), rounding),
        };
        assert!(worst.is_none_or(|worst| !worst.verdict.is_wrong()), "{self:?}: {worst:?}");
    }
}

/// Judges a result of these elements by the reference for them.
///
/// # Panics
/// If there is none, or it is wrong.
pub fn judge<T: Element>(op: Op, elements: Vec<T>, result: Option<Value>, rounding: Rounding, what: &dyn Debug) {
    let result = result.expect("a result");
    let verdict = verify::verify(result, &reference_of(op, &T::array(elements)), rounding, T::TYPE);
    assert!(!verdict.is_wrong(), "{op} of {}, {what:?}: {result:?} {verdict:?}", T::TYPE);
}

/// Operations and types with kernels, as far as `has` says so.
pub fn pairs(has: fn(Op, Type) -> bool) -> impl Iterator<Item = (Op, Type)> {
    let all = Op::ALL.iter().flat_map(|&op| Type::ALL.iter().map(move |&ty| (op, ty)));
    all.filter(move |&(op, ty)| op.refusal(ty).is_none() && has(op, ty))
}

/// Runs under eight schedules more, each of which leaves what the first one has left.
///
/// # Panics
/// If one does not.
pub fn any_order<L: PartialEq>(first: &L, what: &dyn Debug, run: impl Fn(Schedule) -> L) {
    for seed in 0..8 {
        assert!(run(Schedule::Independent { seed: Some(seed) }) == *first, "{what:?}: other bits under seed {seed}");
    }
}

/// Runs a reduction on a GPU, or on the simulator as if it were this card; the bytes of its results, or what the library said.
///
/// # Panics
/// If a launch has a fault.
pub fn run(
    reduction: &Reduction,
    operands: &HostOperands<'_>,
    schedule: Schedule,
    card: &'static Card,
    times: u32,
) -> Result<Vec<u8>, String> {
    run_all(reduction, operands, schedule, card, times).map(|(out, _)| out)
}

/// The same with what is left in each other operand.
pub fn run_all(
    reduction: &Reduction,
    operands: &HostOperands<'_>,
    schedule: Schedule,
    card: &'static Card,
    times: u32,
) -> Result<(Vec<u8>, Vec<Vec<u8>>), String> {
    operands.over(reduction, |all| run_any(reduction, all, schedule, card, times))
}

/// Likewise, with operands of any role, of which one may lie over another; what each holds in the end.
pub fn run_any(
    reduction: &Reduction,
    operands: &[HostOperand<'_>],
    schedule: Schedule,
    card: &'static Card,
    times: u32,
) -> Result<Vec<Vec<u8>>, String> {
    if on_gpu() {
        return gpu::run_any(reduction, operands, times).map_err(|error| error.to_string());
    }
    simulated(reduction, schedule, card, |kernels| kernels.run_any(reduction, operands, times))
}

/// What a run on the simulator leaves, as if it were this card, or what the library said.
///
/// # Panics
/// If a launch has a fault.
pub fn simulated<L>(
    reduction: &Reduction,
    schedule: Schedule,
    card: &'static Card,
    run: impl FnOnce(&Reductions<'_>) -> Result<(L, Vec<Report>), device::Error>,
) -> Result<L, String> {
    let options = SimOptions { schedule, checks: Checks::ALL, card: Some(card), ..SimOptions::default() };
    let device = Device::open(Choice::Sim, options).expect("the simulator is always here");
    let (left, reports) = KERNELS.with(|kernels| run(&kernels.on(&device))).map_err(|error| error.to_string())?;
    for report in &reports {
        assert!(report.faults.is_empty(), "{}: {:?}", reduction.plan().kernels().join(" "), report.faults);
    }
    Ok(left)
}

/// Returns whether kernels can be compiled here, and says so if not.
pub fn can_compile() -> bool {
    let can = if on_gpu() { gpu::reducer().compiles() } else { KERNELS.with(Reductions::can_compile) };
    if !can {
        println!("skipped: no NVRTC, which `cargo course setup` brings");
    }
    can
}

/// Returns whether the suite runs on a GPU, as scripts/gpu_library.sh has it, and not on the simulator.
pub fn on_gpu() -> bool {
    std::env::var_os("REDUCTION_ON_GPU").is_some()
}

/// Offsets or labels of so many bits, as the device has them.
pub fn words(bits: u32, all: impl Iterator<Item = u64>) -> Vec<u8> {
    all.flat_map(|word| word.to_le_bytes().into_iter().take(bits as usize / 8)).collect()
}

/// Their bytes, little-endian as on the device.
pub fn bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    elements.iter().flat_map(|&element| element.le()).collect()
}
