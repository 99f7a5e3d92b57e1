//! Every refusal, before anything is launched.

use crate::trial::{IN_ORDER, simulated};
use device::HostOperands;
use reduction::card::H200;
use reduction::{
    Axis, Error, Layout, Matrix, Memory, Op, Operands, Pass, Problem, Queue, Reduction, Role, Segments, Space, Type,
};

/// A queue that must stay empty.
struct Nothing;

impl Queue for Nothing {
    type Error = Error;

    fn launch(&mut self, pass: &Pass, _: &[u64]) -> Result<(), Error> {
        panic!("{} was launched", pass.kernel)
    }

    fn write(&mut self, _: Memory, _: &[u8]) -> Result<(), Error> {
        panic!("something was written")
    }
}

fn planned(op: Op, ty: Type, n: u64, layout: Layout) -> Result<Reduction, Error> {
    Reduction::new(&Problem::new(op, ty, n, layout, &H200))
}

const PLENTY: Space =
    Space::new(Memory { address: 1 << 40, bytes: 1 << 30 }, Memory { address: 1 << 41, bytes: 1 << 30 });

fn at(address: u64, bytes: u64) -> Memory {
    Memory { address, bytes }
}

fn refused(reduction: &Reduction, operands: &Operands, space: Space) -> Error {
    // SAFETY: nothing is launched.
    unsafe { reduction.enqueue(operands, space, &mut Nothing) }.expect_err("it is to be refused")
}

#[test]
fn what_has_no_kernels_is_no_plan() {
    let rows = Layout::Rows(Matrix::dense(2, 3));
    let error = |op, ty, n, layout| planned(op, ty, n, layout).expect_err("no plan");
    assert!(matches!(error(Op::Meanvar, Type::I32, 9, Layout::Array), Error::Unsupported { .. }));
    assert!(matches!(error(Op::Prod, Type::U8, 9, Layout::Array), Error::Unsupported { .. }));
    assert!(matches!(error(Op::Softmax, Type::F32, 9, Layout::Array), Error::NoKernels { layout: "an array", .. }));
    assert!(matches!(error(Op::Dot, Type::F32, 6, rows), Error::NoKernels { layout: "rows", .. }));
    let columns = Layout::Columns(Matrix::dense(2, 3));
    assert!(matches!(error(Op::Softmax, Type::F32, 6, columns), Error::NoKernels { layout: "columns", .. }));
    let matrix = |rows, cols, pitch| Layout::Rows(Matrix { rows, cols, pitch });
    let sum = |layout| error(Op::Sum, Type::F32, 0, layout);
    assert_eq!(sum(matrix(2, 3, 2)), Error::Pitch { pitch: 2, cols: 3 });
    assert!(matches!(sum(matrix(1 << 39, 1, 1)), Error::TooMany { what: "rows", .. }));
    let columns = Layout::Columns(Matrix::dense((1 << 40) + 1, 1));
    assert!(matches!(sum(columns), Error::TooMany { what: "rows", .. }));
    for (rows, cols) in [(0, u64::MAX), (1, 1 << 60), (1, (1 << 38) + 1)] {
        let columns = Layout::Columns(Matrix::dense(rows, cols));
        assert!(matches!(sum(columns), Error::TooMany { what: "columns", .. }), "{rows} x {cols}");
    }
    let axis = Layout::Axis(Axis { outer: 1 << 60, reduced: 0, inner: 2 });
    assert!(matches!(sum(axis), Error::TooMany { what: "elements before the axis", .. }));
    assert!(matches!(sum(matrix(1, (1 << 40) + 1, 1 << 41)), Error::TooMany { what: "columns", .. }));
    let long = error(Op::Softmax, Type::F32, 0, matrix(1, 1 << 31, 1 << 31));
    assert!(matches!(long, Error::TooMany { what: "columns", .. }), "exponentials and norms take rows in one piece");
    assert!(matches!(sum(matrix(9, 1, 1 << 62)), Error::Size { .. }));
    assert!(matches!(error(Op::Max, Type::F32, (1 << 40) + 1, Layout::Array), Error::TooMany { what: "elements", .. }));
    assert!(matches!(error(Op::Sum, Type::F32, (1 << 40) + 1, Layout::Array), Error::TooMany { what: "elements", .. }));
    let segments = Layout::Ragged(Segments::new(2, 9, 16));
    assert!(matches!(error(Op::Sum, Type::F32, 9, segments), Error::Bits { what: "offsets", got: 16 }));
    let segments = Layout::Ragged(Segments::new(1 << 31, 1 << 33, 64));
    assert!(planned(Op::Sum, Type::F32, 0, segments).is_ok(), "nothing counts the elements of a row");
    assert!(matches!(error(Op::Argmax, Type::F32, 0, segments), Error::TooMany { what: "elements of a row", .. }));
}

#[test]
fn a_card_without_clusters_gets_a_plan_without_them() {
    let slice = H200.clone().with_clusters([0; 4]);
    let layout = Layout::Rows(Matrix::dense(64, 9000));
    let plan = |card| Reduction::new(&Problem::new(Op::Softmax, Type::F32, 64 * 9000, layout, card)).expect("a plan");
    assert!(plan(&H200).plan().passes.iter().any(|pass| pass.geometry.cluster > 1));
    assert!(plan(&slice).plan().passes.iter().all(|pass| pass.geometry.cluster == 1));
}

#[test]
fn operands_are_checked_one_by_one() {
    let dot = planned(Op::Dot, Type::F32, 100, Layout::Array).expect("a plan");
    let good = Operands::default()
        .with(Role::Input, at(0x1000, 400))
        .with(Role::Other, at(0x2000, 400))
        .with(Role::Out, at(0x3000, 4));
    let with = |role, memory| refused(&dot, &good.with(role, memory), PLENTY);
    assert_eq!(with(Role::Input, at(0x1000, 399)), Error::Length { operand: "input", got: 399, expected: 400 });
    assert_eq!(
        with(Role::Other, at(0x2001, 400)),
        Error::Alignment { operand: "second input", address: 0x2001, multiple: 4 }
    );
    assert_eq!(with(Role::Out, at(0x3000, 3)), Error::Length { operand: "out", got: 3, expected: 4 });
    assert_eq!(with(Role::Out, at(0x1004, 4)), Error::Overlap { written: "out", operand: "input" });
    assert_eq!(with(Role::Out, at(1 << 41, 4)), Error::Overlap { written: "out", operand: "the workspace" });
    assert_eq!(
        with(Role::Labels, at(0x9000, 8)),
        Error::Operand { what: "dot", operand: "labels", problem: "is not taken" }
    );
    let without = Operands::default().with(Role::Input, at(0x1000, 400)).with(Role::Out, at(0x3000, 4));
    let missing = Error::Operand { what: "dot", operand: "second input", problem: "is missing" };
    assert_eq!(refused(&dot, &without, PLENTY), missing);
}

#[test]
fn results_lie_on_their_own_elements_or_apart() {
    let softmax = planned(Op::Softmax, Type::F32, 12, Layout::Rows(Matrix::dense(3, 4))).expect("a plan");
    let operands = Operands::default().with(Role::Input, at(0x1000, 48));
    let shifted = operands.with(Role::Out, at(0x1010, 48));
    assert_eq!(refused(&softmax, &shifted, PLENTY), Error::Overlap { written: "out", operand: "input" });
    let losses = planned(Op::Logsumexp, Type::F32, 12, Layout::Rows(Matrix::dense(3, 4))).expect("a plan");
    let over = operands.with(Role::Out, at(0x1000, 12));
    assert_eq!(refused(&losses, &over, PLENTY), Error::Overlap { written: "out", operand: "input" });
}

#[test]
fn a_small_workspace_is_refused() {
    let long = planned(Op::Sum, Type::F32, 140_000, Layout::Rows(Matrix::dense(2, 70_000))).expect("a plan");
    assert!(long.scratch_bytes() > 0 && long.plan().state_words > 0);
    let operands = Operands::default().with(Role::Input, at(0x1000, 560_000)).with(Role::Out, at(0x100_0000, 8));
    let small = Space::new(at(1 << 40, 8), PLENTY.state);
    assert!(matches!(refused(&long, &operands, small), Error::Workspace { what: "scratch", got: 8, .. }));
    let small = Space::new(PLENTY.scratch, at(1 << 41, 0));
    assert!(matches!(refused(&long, &operands, small), Error::Workspace { what: "state", got: 0, .. }));
    let odd = Space::new(at((1 << 40) + 4, 1 << 20), PLENTY.state);
    assert!(matches!(refused(&long, &operands, odd), Error::Alignment { operand: "the workspace", .. }));
}

#[test]
fn a_label_that_is_no_column_gives_nan_and_nothing_else() {
    let loss = planned(Op::CrossEntropy, Type::F32, 15, Layout::Rows(Matrix::dense(3, 5))).expect("a plan");
    let input: Vec<u8> = (0..15).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let labels: Vec<u8> = [1i64, 5, -1].iter().flat_map(|label| label.to_le_bytes()).collect();
    let operands = HostOperands { input: &input, others: &[(Role::Labels, &labels)], ..HostOperands::default() };
    let left = simulated(&loss, IN_ORDER, &H200, |kernels| kernels.run(&loss, &operands, 1)).expect("a run");
    let losses: Vec<f32> = left.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four"))).collect();
    assert!(losses[0].is_finite() && losses[1].is_nan() && losses[2].is_nan(), "{losses:?}");
}
