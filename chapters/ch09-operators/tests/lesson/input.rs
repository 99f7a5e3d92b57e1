//! Numbers, options and files that make no sense: the program answers with a sentence, or with the right result.

use lab::Type;
use lab::trial::Files;

use crate::PROGRAM;

#[test]
fn options_that_make_no_sense_are_refused() {
    PROGRAM.refuses_all(&[
        ("--op meanvar --type i32", &["--op meanvar --type i32", "floats for accumulators"]),
        ("--op prod --type u8", &["--op prod --type u8", "no accumulator"]),
        ("--op and --type f32", &["--op and --type f32", "no set"]),
        ("--op minimum --type i32", &["--op minimum --type i32", "no NaN"]),
        ("--op count --type f64", &["--op count --type f64", "reduce is compiled for count of i8, i32, bf16 and f32"]),
        ("--op softmax", &["--op softmax", "no other operation"]),
        ("--op nonsense", &["nonsense", "--op"]),
        ("--variant nonsense", &["--variant nonsense", "fold, vectors, reduce"]),
        ("--type i31", &["i31", "--type"]),
        ("--rows 3", &["--rows", "one array to one value"]),
        ("--offsets uniform", &["--offsets", "one array to one value"]),
        ("--labels none.npy", &["--labels", "sum has none"]),
        ("--gradients none.npy", &["--gradients", "sum has none"]),
        ("--block 0", &["--block 0", "fold takes 256 threads"]),
        ("--factor 3", &["--factor 3"]),
        ("--n 2^32", &["--n 4,294,967,296", "at most 4,294,967,295"]),
        ("--n 2^62 --plan", &["at most 4,294,967,295"]),
        ("--n 2^64", &["64 bits"]),
        ("--n -5", &["-5", "expected a whole number"]),
        ("--n 1e6", &["1e6", "expected a whole number"]),
        ("--seed x", &["--seed", "expected a whole number"]),
        ("--grid 16777216 --n 100", &["--grid 16777216: fold takes another number of blocks", "such as 1"]),
        ("--variant reduce --grid 16777216 --n 100", &["--grid 16777216: reduce takes another number of blocks"]),
    ]);
}

#[test]
fn more_elements_than_an_int_counts_are_planned() {
    for n in ["3_000_000_000", "4294967295"] {
        PROGRAM.says(&["--n", n, "--plan"], &["elements by 528 blocks of 256 threads"]);
    }
}

#[test]
fn no_elements_are_what_changes_nothing() {
    for (op, ty, result) in
        [("sum", "f32", "0.0"), ("prod", "f32", "1.0"), ("max", "f32", "\"-inf\""), ("count", "f32", "0")]
    {
        for run in PROGRAM.runs(&["--n", "0", "--op", op, "--type", ty]) {
            assert_eq!((run["result"].to_string(), &run["launches"]), (result.to_owned(), &0.into()), "{op} {run:#}");
        }
    }
    let runs = PROGRAM.runs(&["--n", "0", "--op", "argmax", "--type", "f32"]);
    assert!(runs.iter().all(|run| run["result"]["index"].is_null()), "{runs:#?}");
    let runs = PROGRAM.runs(&["--n", "0", "--op", "meanvar", "--type", "f32"]);
    assert!(runs.iter().all(|run| run["result"][0] == "NaN"), "{runs:#?}");
}

#[test]
fn files_that_make_no_sense_are_refused() -> std::io::Result<()> {
    let files = Files::new("ch09-input")?;
    let by_columns = files.by_columns("by-columns.npy", "(6, 2)", 12)?;
    let sums = PROGRAM.runs(&["--input", &by_columns]);
    assert!(sums.iter().all(|run| run["result"] == 66.0), "the order is all one to a sum: {sums:#?}");
    for op in ["argmax", "dot"] {
        PROGRAM.refuses(
            &["--input", &by_columns, "--op", op],
            &["columns lie one behind the other", op, "ascontiguousarray"],
        );
    }
    PROGRAM.refuses(&["--op", "argmax", "--block", "64"], &["--block 64: reduce takes"]);
    let odd = files.counting("odd.npy", Type::F32, "(5,)", 5)?;
    PROGRAM.refuses(&["--input", &odd, "--op", "dot"], &["holds 5 elements", "two arrays of as many"]);
    PROGRAM.refuses(&["--input", &odd, "--n", "6"], &["holds 5 elements", "--n asks for 6"]);
    PROGRAM.refuses(&["--input", &odd, "--type", "f64"], &["holds float32", "--type f64"]);
    let short = files.counting("short.npy", Type::F32, "(6,)", 5)?;
    PROGRAM.refuses(&["--input", &short], &["truncated", "24 bytes", "holds 20"]);
    PROGRAM.refuses(&["--input", &files.bytes("empty.npy", b"")?], &["empty.npy", "the header is cut off"]);
    PROGRAM.refuses(&["--input", "no/such.npy"], &["no/such.npy", "cannot be read"]);
    Ok(())
}

#[test]
fn the_uses_that_the_sources_name_run() {
    PROGRAM.runs_what_the_sources_name(&ch09_operators::CHAPTER);
}
