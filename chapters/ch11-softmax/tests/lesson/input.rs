//! Rows, labels and files that make no sense: the program answers with a sentence, or with the right result.

use lab::Type;
use lab::trial::Files;

use crate::PROGRAM;

#[test]
fn options_that_make_no_sense_are_refused() {
    PROGRAM.refuses_all(&[
        ("--rows 2000000000 --cols 2000000000 --plan", &["4,000,000,000,000,000,000 elements", "at most"]),
        ("--rows 3000000000 --cols 1 --plan", &["--rows 3,000,000,000", "32 bits"]),
        ("--rows 5 --cols 4 --pitch 2^63", &["--rows 5 --cols 4", "64 bits"]),
        ("--offsets uniform", &["--offsets", "the same length"]),
        ("--type f64", &["--type f64", "f16, bf16 and f32"]),
        ("--op cross_entropy --rows 2 --cols 0", &["--cols 0", "a label"]),
    ]);
    PROGRAM.says(&["--n", "3_000_000_000", "--plan"], &["3,000,000,000 elements"]);
}

#[test]
fn no_rows_and_rows_of_nothing_have_no_shares() {
    for [rows, cols] in [["0", "5"], ["5", "0"], ["0", "0"]] {
        for op in ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward"] {
            let runs = PROGRAM.runs(&["--rows", rows, "--cols", cols, "--op", op]);
            assert!(runs.iter().all(|run| run["ok"] == true && run["result"].is_null()), "{runs:#?}");
        }
    }
    // The logarithm of a sum of nothing, as of torch.
    let runs = PROGRAM.runs(&["--rows", "5", "--cols", "0", "--op", "logsumexp"]);
    assert!(runs.iter().all(|run| run["result"] == "-inf"), "{runs:#?}");
    let runs = PROGRAM.runs(&["--rows", "0", "--cols", "5", "--op", "cross_entropy"]);
    assert!(runs.iter().all(|run| run["result"].is_null()), "{runs:#?}");
}

/// The option, columns, the type and shape of the file's numbers, and words of the refusal.
type Case<'a> = (&'a str, &'a str, Type, &'a str, &'a [i64], &'a [&'a str]);

#[test]
fn labels_and_gradients_that_make_no_sense_are_refused() -> std::io::Result<()> {
    let files = Files::new("ch11-labels")?;
    let cases: &[Case<'_>] = &[
        ("--labels", "5", Type::I64, "(3,)", &[0, 5, 2], &["row 1 has the label 5", "0 to 4"]),
        ("--labels", "5", Type::I32, "(3,)", &[0, -100, 2], &["row 1 has the label -100", "0 to 4"]),
        ("--labels", "5", Type::I64, "(4,)", &[0, 1, 2, 3], &["4 labels for 3 rows"]),
        ("--labels", "5", Type::I64, "(0,)", &[], &["0 labels for 3 rows"]),
        ("--labels", "5", Type::F32, "(3,)", &[0, 1, 2], &["holds float32", "labels are int32"]),
        ("--labels", "5", Type::I64, "(3, 1)", &[0, 1, 2], &["shape (3, 1)", "labels are a list"]),
        ("--labels", "0", Type::I64, "(3,)", &[0, 0, 0], &["a row without elements has none that a label could name"]),
        ("--gradients", "5", Type::F32, "(2,)", &[0, 1], &["2 gradients for 3 rows", "one for all"]),
        ("--gradients", "5", Type::F32, "(0,)", &[], &["0 gradients for 3 rows"]),
        ("--gradients", "5", Type::F64, "(3,)", &[0, 1, 2], &["holds float64", "gradients are float32"]),
        ("--gradients", "5", Type::F32, "(1, 3)", &[0, 1, 2], &["shape (1, 3)", "gradients are a list"]),
    ];
    for (option, cols, ty, shape, numbers, said) in cases {
        let file = files.numbers("targets.npy", *ty, shape, numbers)?;
        let args = ["--rows", "3", "--cols", cols, "--op", "cross_entropy_backward", option, &file];
        PROGRAM.refuses(&args, &[&[*option], *said].concat());
    }
    let labels = files.numbers("labels.npy", Type::I64, "(3,)", &[0, 1, 1])?;
    PROGRAM.refuses(&["--op", "cross_entropy", "--labels", &labels], &["--labels", "--rows and --cols"]);
    let matrix = files.counting("matrix.npy", Type::F32, "(3, 2)", 6)?;
    let runs = PROGRAM.runs(&["--op", "cross_entropy", "--input", &matrix, "--labels", &labels]);
    assert!(runs.iter().all(|run| run["rows"] == 3 && run["cols"] == 2), "{runs:#?}");
    Ok(())
}

#[test]
fn a_files_rows_are_its_own() -> std::io::Result<()> {
    let files = Files::new("ch11-input")?;
    let pair = files.counting("pair.npy", Type::F32, "(2, 3, 2)", 12)?;
    let runs = PROGRAM.runs(&["--op", "softmax_backward", "--input", &pair]);
    assert!(runs.iter().all(|run| run["rows"] == 3 && run["cols"] == 2), "{runs:#?}");
    let odd = files.counting("odd.npy", Type::F32, "(3, 4)", 12)?;
    PROGRAM.refuses(&["--op", "softmax_backward", "--input", &odd], &["holds 3 rows of 4", "two arrays of as many"]);
    PROGRAM.refuses(&["--input", &files.by_columns("by-columns.npy", "(6, 2)", 12)?], &["softmax goes by rows"]);
    Ok(())
}

#[test]
fn the_uses_that_the_sources_name_run() {
    PROGRAM.runs_what_the_sources_name(&ch11_softmax::CHAPTER);
}
