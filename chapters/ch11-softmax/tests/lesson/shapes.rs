//! Rows of all lengths around a vector, a warp and a block, rows that begin anywhere, gaps between them, rows that clusters hold
//! and rows that none holds; and what the program refuses.

use ch11_softmax::CHAPTER;
use lab::trial::{Files, Matrices, npy_bytes};
use lab::{Matrix, Op, Rows, Type};

use crate::PROGRAM;

/// No label is below 0 columns.
const MATRICES: Matrices =
    Matrices { chapter: &CHAPTER, may_refuse: |_, rows| matches!(rows, Rows::Matrix(Matrix { cols: 0, .. })) };

lab::matrix_tests!(super::MATRICES, 78, [(1, 40_001), (2, 16_384), (2, 4096), (300, 3), (600, 1), (9, 513)]);

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
