//! Rows of all lengths around a vector, a warp and a block, rows that begin anywhere, gaps between them, rows that clusters hold
//! and rows that none holds; and what the program refuses.

use ch12_norms::CHAPTER;
use device::{Checks, Schedule};
use lab::input::random_for;
use lab::trial::{Files, describe, run_with, simulator};
use lab::{Error, LaunchOptions, Matrix, Op, Problem, Result, Rows, Type, Variant};
use proptest::prelude::*;

use crate::PROGRAM;

pub(crate) const SCHEDULE: Schedule = Schedule::Independent { seed: None };

/// Runs every variant for every operation and type, and returns how many runs there were.
fn all_are_right(matrix: Matrix, offset: usize, schedule: Schedule) -> Result<usize> {
    let session = simulator(&CHAPTER, schedule, Checks::ALL)?;
    let mut runs = 0;
    for variant in CHAPTER.variants {
        for (ty, op) in kinds(variant) {
            let options = LaunchOptions { op, rows: Some(Rows::Matrix(matrix)), ..LaunchOptions::default() };
            let n = matrix.span().unwrap_or(0);
            let run = match run_with(&session, variant, options, &random_for(op, ty, n as usize, n), offset) {
                // The gradients of weights are zeros that nothing writes.
                Err(Error::Usage(_)) if matrix.rows == 0 && matrix.cols > 0 && op.has_weight_gradients() => continue,
                run => run?,
            };
            assert!(run.ok(), "{}", describe(&run, &format!("{op} {matrix:?} offset {offset}")));
            assert!(run.notes.is_empty(), "{:?}", run.notes);
            runs += 1;
        }
    }
    Ok(runs)
}

fn kinds(variant: &Variant) -> Vec<(Type, Op)> {
    let types = variant.types.iter();
    types.flat_map(|&ty| variant.ops.iter().map(move |&op| (ty, op))).collect()
}

fn dense(rows: u64, cols: u64, offset: usize) -> Result<usize> {
    all_are_right(Matrix::dense(rows, cols), offset, SCHEDULE)
}

#[test]
fn rows_of_every_short_length_are_right() -> Result<()> {
    for cols in (1..=18).chain([31, 32, 33, 63, 64, 65, 127, 129]) {
        assert_eq!(dense(9, cols, 0)?, 44);
    }
    dense(3, 0, 0)?;
    dense(0, 5, 0)?;
    Ok(())
}

#[test]
fn rows_may_begin_anywhere() -> Result<()> {
    for offset in 0..8 {
        dense(3, 64, offset)?;
        dense(3, 37, offset)?;
        dense(2, 1027, offset)?;
    }
    Ok(())
}

#[test]
fn few_long_rows_and_many_short_ones_are_right() -> Result<()> {
    for (rows, cols) in [(1, 40_001), (2, 16_384), (2, 4096), (300, 3), (600, 1), (9, 513), (600, 257)] {
        dense(rows, cols, 0)?;
    }
    Ok(())
}

#[test]
fn what_lies_between_rows_is_left_alone() -> Result<()> {
    for (cols, pitch) in [(3, 5), (64, 65), (60, 64), (1000, 1004)] {
        for offset in [0, 3] {
            all_are_right(Matrix { rows: 7, cols, pitch }, offset, SCHEDULE)?;
        }
    }
    Ok(())
}

#[test]
fn blocks_that_meet_are_right_in_any_order() -> Result<()> {
    for seed in 0..6 {
        let schedule = Schedule::Independent { seed: Some(seed) };
        all_are_right(Matrix::dense(2, 3001), 1, schedule)?;
    }
    all_are_right(Matrix::dense(2, 3001), 0, Schedule::Lockstep)?;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..Default::default() })]
    #[test]
    fn any_matrix_is_right(rows in 0u64..20, cols in 1u64..300, gap in 0u64..9, offset in 0usize..9) {
        all_are_right(Matrix { rows, cols, pitch: cols + gap }, offset, SCHEDULE)?;
    }

    /// On a GPU every shape that the plan may choose holds its row, and its kernel has a line that makes it.
    #[test]
    fn the_plan_holds_what_it_says(rows in 1u64..100_000, log in 0.0f64..23.0) {
        let cols = 2f64.powf(log) as u64;
        let variant = &CHAPTER.variants[3];
        for (ty, op) in kinds(variant) {
            let options = LaunchOptions { op, rows: Some(Rows::Matrix(Matrix::dense(rows, cols))), ..LaunchOptions::default() };
            let problem = Problem { on_demand: true, ..Problem::new(variant, ty, rows * cols, options) };
            let plan = (variant.launches)(&problem);
            prop_assert!(plan.passes.iter().all(|pass| pass.line.is_some()));
            prop_assert!(plan.passes.iter().all(|pass| pass.geometry.grid[0] > 0));
            prop_assert!(holds(&plan.passes[0].kernel, cols, 16 / ty.bytes()), "{} for {cols}", plan.passes[0].kernel);
        }
    }
}

/// Returns whether the kernel of this name holds so many elements, if it is one that holds its row.
fn holds(kernel: &str, cols: u64, per: u64) -> bool {
    let number = |shape: &str, letter: char| -> u64 {
        let digits: String =
            shape.split(letter).nth(1).unwrap_or("1").chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(1)
    };
    let shape = kernel.rsplit('_').nth(1).unwrap_or("");
    match kernel.split('_').next() {
        Some("groups") => cols <= number(shape, 'l') * number(shape, 'v') * number(shape, 'w'),
        Some("block") => cols <= number(shape, 't') * number(shape, 'v') * per,
        Some("cluster") => cols <= number(shape, 'c') * number(shape, 't') * number(shape, 'v') * per,
        _ => true,
    }
}

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
    PROGRAM.refuses(&["--type", "i32"], &["--type i32", "bf16 and f32"]);
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
