//! Any axis of a tensor.

use device::HostOperands;
use lab::element::Element;
use lab::input::random_for;
use lab::op::OnHost as _;
use lab::with_elements;
use reduction::card::H200;
use reduction::families::rows;
use reduction::{Layout, Matrix, Op, Problem, Reduction, Type};

use crate::gpu;
use crate::trial::{IN_ORDER, Trial, bytes, judge, on_gpu, pairs, run};

/// Reduces the middle axis of a tensor and judges every result.
fn passes(op: Op, ty: Type, [outer, reduced, inner]: [u64; 3], begin: usize) {
    let n = outer * reduced * inner;
    with_elements!(random_for(op, ty, n as usize, n), values => judged(op, [outer, reduced, inner], begin, &values));
}

fn judged<T: Element>(op: Op, dims: [u64; 3], begin: usize, values: &[T]) {
    let layout = Layout::axis(&dims, 1).expect("a small tensor");
    let card = if on_gpu() { gpu::reducer().card() } else { &H200 };
    let reduction = Reduction::new(&Problem::new(op, T::TYPE, values.len() as u64, layout, card)).expect("a plan");
    let input = bytes(values);
    let operands = HostOperands { input: &input, begin: [begin * T::BYTES, 0, 0], ..HostOperands::default() };
    let left = run(&reduction, &operands, IN_ORDER, &H200, 2).expect("a run");
    let [outer, reduced, inner] = dims.map(|dim| dim as usize);
    let results: Vec<&[u8]> = left.chunks_exact(op.row_bytes(T::TYPE) as usize).collect();
    assert_eq!(results.len(), outer * inner);
    for (at, bytes) in results.into_iter().enumerate() {
        let (slice, column) = (at / inner, at % inner);
        let along = (0..reduced).map(|i| values[(slice * reduced + i) * inner + column]).collect::<Vec<T>>();
        let what = (dims, slice, column);
        judge(op, along, op.row_result(T::TYPE, bytes), reduction.plan().rounding(), &what);
    }
}

#[test]
fn an_axis_between_others_is_right() {
    let mut runs = 0;
    for (op, ty) in pairs(rows::is_compiled) {
        for (dims, begin) in
            [([2, 3, 5], 1), ([3, 70, 8], 0), ([3, 33, 64], 3), ([2, 900, 9], 0), ([0, 3, 4], 0), ([2, 0, 3], 0)]
        {
            passes(op, ty, dims, begin);
            runs += 1;
        }
    }
    assert!(runs > 50, "{runs}");
}

#[test]
fn more_slices_than_a_grid_has_take_two_launches() {
    let layout = Layout::axis(&[65_600, 2, 2], 1).expect("a small tensor");
    let problem = Problem::new(Op::Sum, Type::I32, 65_600 * 4, layout, &H200);
    assert_eq!(Reduction::new(&problem).expect("a plan").plan().passes.len(), 2);
    passes(Op::Sum, Type::I32, [65_600, 2, 2], 0);
}

/// The panels of a matrix that is wider than a launch counts, with narrow ones in their place.
#[test]
fn panels_of_columns_are_right() {
    for (rows, cols, pitch) in [(900, 70, 75), (3, 40, 40), (1, 33, 33), (40_000, 17, 17)] {
        for (op, ty) in [(Op::Sum, Type::F32), (Op::Argmax, Type::BF16), (Op::Meanvar, Type::F16)] {
            let matrix = Matrix { rows, cols, pitch };
            let trial = Trial { times: 2, ..Trial::columns(op, ty, matrix) };
            let problem = Problem::new(op, ty, trial.n, Layout::Columns(matrix), &H200);
            let plan = rows::panels(&problem, matrix, 16);
            assert_eq!(plan.passes.len() as u64, cols.div_ceil(16));
            // SAFETY: launches of the library's, over all columns.
            let reduction = unsafe { Reduction::new(&problem).expect("a plan").with_plan(plan) };
            trial.passes_by(&reduction);
        }
    }
}
