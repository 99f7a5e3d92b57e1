//! Rows of all lengths around a vector, a warp and a block, rows that begin anywhere, gaps between them, rows that clusters hold
//! and rows that none holds; and what the program refuses.

use ch11_softmax::CHAPTER;
use lab::trial::{Files, Matrices, npy_bytes};
use lab::{Matrix, Op, Result, Rows, Type};
use proptest::prelude::*;

use crate::PROGRAM;

/// No label is below 0 columns.
const MATRICES: Matrices =
    Matrices { chapter: &CHAPTER, may_refuse: |_, rows| matches!(rows, Rows::Matrix(Matrix { cols: 0, .. })) };

#[test]
fn rows_of_every_short_length_are_right() -> Result<()> {
    MATRICES.short(9, 78)?;
    MATRICES.dense(&[(3, 0), (0, 5)])
}

#[test]
fn rows_may_begin_anywhere() -> Result<()> {
    MATRICES.anywhere(&[(3, 64), (3, 37), (2, 1027)])
}

#[test]
fn few_long_rows_and_many_short_ones_are_right() -> Result<()> {
    MATRICES.dense(&[(1, 40_001), (2, 16_384), (2, 4096), (300, 3), (600, 1), (9, 513)])
}

#[test]
fn what_lies_between_rows_is_left_alone() -> Result<()> {
    MATRICES.gaps(7, &[(3, 5), (64, 65), (60, 64), (1000, 1004)])
}

#[test]
fn blocks_that_meet_are_right_in_any_order() -> Result<()> {
    MATRICES.any_order(Rows::Matrix(Matrix::dense(2, 3001)), 6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..Default::default() })]
    #[test]
    fn any_matrix_is_right(rows in 0u64..20, cols in 1u64..300, gap in 0u64..9, offset in 0usize..9) {
        MATRICES.one(Matrix { rows, cols, pitch: cols + gap }, offset)?;
    }

    #[test]
    fn the_plan_holds_what_it_says(rows in 1u64..100_000, log in 0.0f64..23.0) {
        MATRICES.plan_holds(rows, 2f64.powf(log) as u64);
    }
}

#[test]
fn plans_say_why() {
    PROGRAM
        .says(&["--plan", "--rows", "65536", "--cols", "64"], &["which 8 lanes hold", "read once, without a barrier"]);
    PROGRAM.says(&["--plan", "--rows", "2", "--cols", "10000"], &["a cluster of 8 blocks"]);
    PROGRAM.says(&["--plan", "--rows", "1", "--cols", "1000000"], &["blocks share one out", "read it twice"]);
}

#[test]
fn the_program_takes_labels_and_gradients() -> std::io::Result<()> {
    let runs = PROGRAM.runs(&["--rows", "12", "--cols", "5"]);
    assert!(runs.iter().all(|run| run["rows"] == 12 && run["row"].is_u64() && run["col"].is_u64()), "{runs:#?}");
    PROGRAM.refuses(&["--op", "sum"], &["--op sum"]);
    PROGRAM.refuses(&["--type", "i32"], &["--type i32", "f16, bf16 and f32"]);
    PROGRAM.refuses(&["--rows", "3", "--cols", "8", "--pitch", "7"], &["--pitch 7", "8 elements"]);
    let files = Files::new("ch11-targets")?;
    let shape = ["--rows", "3", "--cols", "5", "--op"];
    let one = files.bytes("one.npy", &npy_bytes("<f4", "(1,)", &0.5f32.to_le_bytes()))?;
    for ty in [Type::I64, Type::I32] {
        let labels = files.numbers("labels.npy", ty, "(3,)", &[0, 4, 2])?;
        for op in [Op::CrossEntropy, Op::CrossEntropyBackward] {
            PROGRAM.runs(&[&shape[..], &[op.name(), "--labels", &labels]].concat());
        }
        PROGRAM.runs(&[&shape[..], &["cross_entropy_backward", "--labels", &labels, "--gradients", &one]].concat());
        PROGRAM.refuses(&[&shape[..], &["softmax", "--labels", &labels]].concat(), &["--labels", "softmax"]);
    }
    PROGRAM.refuses(&[&shape[..], &["cross_entropy", "--gradients", &one]].concat(), &["--gradients"]);
    Ok(())
}
