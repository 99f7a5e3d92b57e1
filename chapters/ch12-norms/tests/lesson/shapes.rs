//! Rows of all lengths around a vector, a warp and a block, rows that begin anywhere, gaps between them, rows that clusters hold
//! and rows that none holds; and what the program refuses.

use ch12_norms::CHAPTER;
use lab::trial::{Files, Matrices};
use lab::{Matrix, Rows, Type};

use crate::PROGRAM;

/// The gradients of weights are zeros that nothing writes, where there are no rows.
const MATRICES: Matrices = Matrices {
    chapter: &CHAPTER,
    may_refuse: |op, rows| op.has_weight_gradients() && matches!(rows, Rows::Matrix(Matrix { rows: 0, cols: 1.., .. })),
};

lab::matrix_tests!(
    super::MATRICES,
    66,
    [(1, 40_001), (2, 16_384), (2, 4096), (300, 3), (600, 1), (9, 513), (600, 257)]
);

#[test]
fn plans_say_why() {
    PROGRAM
        .says(&["--plan", "--rows", "65536", "--cols", "64"], &["which 8 lanes hold", "read once, without a barrier"]);
    PROGRAM.says(&["--plan", "--rows", "2", "--cols", "10000"], &["a cluster of 8 blocks"]);
    PROGRAM.says(&["--plan", "--rows", "1", "--cols", "1000000"], &["blocks share one out", "read it twice"]);
    PROGRAM.says(
        &["--plan", "--rows", "100", "--cols", "1000", "--op", "layer_norm_backward"],
        &["sums up its columns", "gradients_layer_norm_backward_t256s8_f32"],
    );
}

#[test]
fn the_program_says_what_is_wrong_with_what_it_is_given() {
    let runs = PROGRAM.runs(&["--rows", "12", "--cols", "5"]);
    assert!(runs.iter().all(|run| run["rows"] == 12 && run["row"].is_u64() && run["col"].is_u64()), "{runs:#?}");
    PROGRAM.runs(&["--rows", "12", "--cols", "5", "--op", "rms_norm_backward", "--type", "bf16"]);
    PROGRAM.refuses(&["--op", "sum"], &["--op sum"]);
    PROGRAM.refuses(&["--type", "i32"], &["--type i32", "f16, bf16 and f32"]);
    PROGRAM.refuses(&["--variant", "three_passes", "--op", "rms_norm_backward"], &["three_passes"]);
    PROGRAM.refuses(&["--rows", "3", "--cols", "8", "--pitch", "7"], &["--pitch 7", "8 elements"]);
    PROGRAM.refuses(&["--labels", "none.npy"], &["--labels"]);
    PROGRAM.refuses_all(&[
        ("--rows 2000000000 --cols 2000000000 --plan", &["4,000,000,000,000,000,000 elements", "at most"]),
        ("--rows 3000000000 --cols 1 --plan", &["--rows 3,000,000,000", "32 bits"]),
        ("--rows 5 --cols 4 --pitch 2^63", &["--rows 5 --cols 4", "64 bits"]),
        ("--offsets uniform", &["--offsets", "the same length"]),
        ("--rows 0 --cols 5 --op layer_norm_backward", &["--rows 0", "the weights are zeros"]),
        ("--rows 0 --cols 5 --op rms_norm_backward", &["--rows 0", "the weights are zeros"]),
    ]);
    PROGRAM.says(&["--n", "3_000_000_000", "--plan"], &["3,000,000,000 elements"]);
}

#[test]
fn no_rows_and_rows_of_nothing_have_no_norms() {
    for [rows, cols] in [["0", "5"], ["5", "0"], ["0", "0"]] {
        for op in ["layer_norm", "rms_norm", "add_layer_norm"] {
            let runs = PROGRAM.runs(&["--rows", rows, "--cols", cols, "--op", op]);
            assert!(runs.iter().all(|run| run["ok"] == true && run["result"].is_null()), "{runs:#?}");
        }
    }
    let runs = PROGRAM.runs(&["--rows", "5", "--cols", "0", "--op", "layer_norm_backward"]);
    assert!(runs.iter().all(|run| run["ok"] == true && run["result"].is_null()), "{runs:#?}");
}

#[test]
fn a_files_rows_are_its_own() -> std::io::Result<()> {
    let files = Files::new("ch12-input")?;
    let pair = files.counting("pair.npy", Type::F32, "(2, 3, 2)", 12)?;
    let runs = PROGRAM.runs(&["--op", "add_layer_norm", "--input", &pair]);
    assert!(runs.iter().all(|run| run["rows"] == 3 && run["cols"] == 2), "{runs:#?}");
    PROGRAM.refuses(&["--input", &files.by_columns("by-columns.npy", "(6, 2)", 12)?], &["layer_norm goes by rows"]);
    Ok(())
}

#[test]
fn the_uses_that_the_sources_name_run() {
    PROGRAM.runs_what_the_sources_name(&CHAPTER);
}
