//! Every family over awkward shapes, places and schedules.

use reduction::card::Card;
use reduction::families::{operators, rows};
use reduction::{Matrix, Op, Type};

use crate::trial::{Trial, any_order, can_compile, pairs};

#[test]
fn arrays_of_every_operation_and_type_are_right() {
    let mut runs = 0;
    for (op, ty) in pairs(|op, ty| operators::OPS.contains(&op) && operators::is_compiled(op, ty)) {
        // In one block, and in several that meet.
        for n in [0, 1, 31, 33, 1027, 2300 * 16 / ty.bytes() + 1] {
            let trial = Trial { begin: [n % 4, (n + 1) % 4, 0], ..Trial::array(op, ty, n) };
            trial.passes();
            runs += 1;
        }
    }
    assert!(runs > 500, "{runs}");
}

#[test]
fn a_workspace_serves_call_after_call() {
    for (op, ty) in [
        (Op::Sum, Type::I32),
        (Op::Sum, Type::F32),
        (Op::Sum, Type::F64),
        (Op::Meanvar, Type::F64),
        (Op::Argmax, Type::F32),
    ] {
        Trial { times: 3, ..Trial::array(op, ty, 300_007) }.passes();
    }
    let long = Matrix::dense(3, 70_000);
    Trial { times: 3, ..Trial::rows(Op::Sum, Type::F32, long) }.passes();
    Trial { times: 3, ..Trial::columns(Op::Sum, Type::F32, Matrix::dense(3000, 5)) }.passes();
}

#[test]
fn rows_columns_and_segments_are_right() {
    for (op, ty) in pairs(rows::is_compiled) {
        // The last is of many blocks a row.
        let shapes = [(1, 1), (3, 31), (7, 33), (5, 1), (0, 9), (4, 0), (3, 1025), (1, 8 << 10)];
        for (rows, cols) in shapes {
            let matrix = Matrix { rows, cols, pitch: cols + rows % 3 };
            Trial { begin: [rows % 4, 0, 0], ..Trial::rows(op, ty, matrix) }.passes();
            Trial { begin: [rows % 4, 0, 0], ..Trial::columns(op, ty, matrix) }.passes();
        }
        for bits in [32, 64] {
            Trial::ragged(op, ty, vec![0, 0, 5, 5, 9000, 9001, 9033], bits).passes();
            Trial::ragged(op, ty, vec![3, 3], bits).passes();
        }
    }
}

#[test]
fn softmax_and_norms_are_right_apart_and_in_place() {
    for (op, ty) in pairs(|op, _| op.has_bounds()) {
        // Rows of a block, of a cluster and of many blocks, by their vectors.
        let of = |vectors: u64| vectors * 16 / ty.bytes() - 1;
        let shapes = [(1, 1), (5, 31), (3, 33), (0, 9), (2, of(70)), (2, of(520)), (1, of(4100))];
        for (rows, cols) in shapes {
            let matrix = Matrix { rows, cols, pitch: cols + rows % 2 };
            let trial = Trial { begin: [rows % 3, rows % 2, 1], ..Trial::rows(op, ty, matrix) };
            trial.passes();
            if op.is_per_element() && rows * cols < 500 {
                let apart = Trial { begin: [1; 3], ..trial }.passes();
                let over = Trial { in_place: true, begin: [1; 3], ..trial }.passes();
                assert!(
                    matrix.pitch > matrix.cols || apart == over,
                    "{op} of {ty}, {rows} x {cols}: other bits in place"
                );
            }
        }
    }
}

#[test]
fn labels_and_gradients_have_two_forms() {
    for targets in [(32, true), (32, false), (64, false)] {
        for op in [Op::CrossEntropy, Op::CrossEntropyBackward] {
            Trial { targets, ..Trial::rows(op, Type::F32, Matrix::dense(9, 130)) }.passes();
        }
    }
}

#[test]
fn no_schedule_finds_a_fault_or_changes_a_bit() {
    let trials = [
        Trial::array(Op::Sum, Type::F32, 300_007),
        Trial::array(Op::Sum, Type::I32, 300_007),
        Trial::array(Op::Meanvar, Type::F32, 200_003),
        Trial::array(Op::Argmin, Type::F64, 200_003),
        Trial::rows(Op::Argmax, Type::F32, Matrix::dense(2, 70_000)),
        Trial::columns(Op::Sum, Type::BF16, Matrix::dense(3000, 40)),
        Trial::ragged(Op::Sum, Type::F32, vec![0, 9000, 9001, 20_000], 32),
        Trial::rows(Op::Softmax, Type::F32, Matrix::dense(2, 70_000)),
        Trial::rows(Op::RmsNormBackward, Type::F32, Matrix::dense(40, 300)),
    ];
    for trial in trials {
        any_order(&trial.passes(), &trial, |schedule| Trial { schedule, ..trial }.passes());
    }
}

#[test]
fn plans_of_kernels_that_are_compiled_are_right() {
    if !can_compile() {
        return;
    }
    for trial in [
        Trial::array(Op::Argmax, Type::F32, 5000),
        Trial::rows(Op::Sum, Type::F32, Matrix::dense(9, 300)),
        Trial::columns(Op::Meanvar, Type::F32, Matrix::dense(300, 20)),
        Trial::ragged(Op::Sum, Type::F32, vec![0, 9000, 9001, 20_000], 32),
        Trial::rows(Op::Softmax, Type::BF16, Matrix::dense(3, 5000)),
        Trial::rows(Op::LayerNorm, Type::F32, Matrix::dense(3, 3000)),
        Trial::rows(Op::RmsNormBackward, Type::F32, Matrix::dense(40, 300)),
    ] {
        let trial = Trial { on_demand: true, ..trial };
        let plan = trial.plan().expect("a plan");
        let committed = reduction::kernels::names().collect::<Vec<_>>();
        let is_new = |kernel: &String| !committed.contains(&kernel.as_str());
        assert!(plan.plan().kernels().iter().any(is_new), "{trial:?}: it compiles nothing");
        trial.passes();
    }
}

#[test]
fn plans_for_every_named_card_are_right() {
    for (_, card) in Card::named() {
        Trial { card, ..Trial::array(Op::Sum, Type::F32, 300_007) }.passes();
        Trial { card, ..Trial::rows(Op::Softmax, Type::F32, Matrix::dense(2, 9000)) }.passes();
    }
}
