//! Rows, offsets and files that make no sense: the program answers with a sentence, or with the right result.

use lab::Type;
use lab::trial::Files;
use serde_json::Value;

use crate::PROGRAM;

#[test]
fn options_that_make_no_sense_are_refused() {
    PROGRAM.refuses_all(&[
        ("--rows 3 --cols 4 --n 12", &["--n", "--rows"]),
        ("--rows 2 --cols 4 --pitch 3", &["--pitch 3", "a row has 4 elements"]),
        ("--pitch 0", &["--pitch 0", "a row has 64 elements"]),
        ("--rows 5 --cols 4 --pitch 2^63 --plan", &["--rows 5 --cols 4", "64 bits"]),
        ("--rows 2 --cols 4 --pitch 2^40 --plan", &["--rows and --cols", "1,099,511,627,780 elements", "at most"]),
        ("--rows 2000000000 --cols 2000000000 --plan", &["4,000,000,000,000,000,000 elements", "at most"]),
        ("--rows 3000000000 --cols 1 --plan", &["--rows 3,000,000,000", "32 bits"]),
        ("--rows 1 --cols 3000000000 --plan", &["--cols 3,000,000,000", "32 bits"]),
        ("--offsets uniform --n 5", &["--offsets", "--n"]),
        ("--offsets uniform --pitch 5", &["--offsets", "--pitch"]),
        ("--offsets giant --rows 2^20 --cols 2^20 --plan", &["--offsets giant", "longer than 2,147,483,647"]),
        ("--offsets power --rows 2^31", &["--rows 2,147,483,648", "32 bits"]),
        ("--rows -1", &["-1", "expected a whole number"]),
        ("--type f64", &["--type f64", "i32, f16, bf16 and f32"]),
        ("--op min", &["--op min", "no other operation"]),
        ("--labels none.npy", &["--labels", "sum has none"]),
    ]);
    // Only Linux says how much memory there is.
    if cfg!(target_os = "linux") {
        PROGRAM.refuses_all(&[("--rows 2000000000 --cols 500", &["memory", "take fewer or shorter rows"])]);
    }
    PROGRAM.says(&["--rows", "2147483647", "--cols", "500", "--plan"], &["1,073,741,823,500 elements"]);
}

/// The result of each variant by its name; null where there is none.
fn results(args: &[&str]) -> Vec<(String, Value)> {
    let runs = PROGRAM.runs(args).into_iter();
    runs.map(|run| (run["variant"].as_str().unwrap_or_default().to_owned(), run["result"].clone())).collect()
}

#[test]
fn no_rows_have_no_result_and_rows_of_nothing_what_changes_nothing() {
    for (name, result) in results(&["--rows", "0", "--cols", "5", "--type", "f32"]) {
        assert_eq!(result, if name == "columns" { 0.0.into() } else { Value::Null }, "{name}");
    }
    for (name, result) in results(&["--rows", "5", "--cols", "0", "--type", "f32"]) {
        assert_eq!(result, if name == "columns" { Value::Null } else { 0.0.into() }, "{name}");
    }
    for (name, result) in results(&["--rows", "5", "--cols", "0", "--type", "f32", "--op", "argmax"]) {
        assert!(name == "columns" || result["index"].is_null(), "{name}: {result}");
    }
    for (name, result) in results(&["--rows", "5", "--cols", "0", "--type", "f32", "--op", "meanvar"]) {
        assert!(name == "columns" || result == serde_json::json!(["NaN", "NaN"]), "{name}: {result}");
    }
    assert!(results(&["--rows", "0", "--cols", "0"]).iter().all(|(_, result)| result.is_null()));
    PROGRAM.says(&["--rows", "0", "--cols", "5"], &["of 0 rows of 5 there is no result", "no launch"]);
}

/// A file's name, the type and shape of its numbers, and words of the refusal.
type Case<'a> = (&'a str, Type, &'a str, &'a [i64], &'a [&'a str]);

#[test]
fn offsets_that_make_no_sense_are_refused() -> std::io::Result<()> {
    let files = Files::new("ch10-offsets")?;
    let input = files.counting("in.npy", Type::F32, "(12,)", 12)?;
    let cases: &[Case<'_>] = &[
        ("fall", Type::I64, "(3,)", &[0, 9, 4], &["they fall", "row 1 would begin at 9 and end at 4"]),
        ("pairs", Type::I64, "(2, 2)", &[0, 4, 4, 10], &["shape (2, 2)", "none overlap"]),
        ("overlap", Type::I64, "(2, 2)", &[0, 6, 4, 10], &["shape (2, 2)", "none overlap"]),
        ("past", Type::I32, "(3,)", &[0, 4, 100], &["ends at 100", "past the end of the 12 elements"]),
        ("none", Type::I64, "(0,)", &[], &["there are none"]),
        ("below", Type::I32, "(3,)", &[0, -4, 12], &["offset 1 is negative"]),
        ("floats", Type::F32, "(3,)", &[0, 4, 12], &["holds float32", "offsets are int32"]),
        ("bytes", Type::U8, "(3,)", &[0, 4, 12], &["holds uint8", "offsets are int32"]),
    ];
    for (name, ty, shape, at, said) in cases {
        let offsets = files.numbers(&format!("{name}.npy"), *ty, shape, at)?;
        PROGRAM.refuses(&["--input", &input, "--offsets", &offsets], said);
    }
    let huge = files.numbers("huge.npy", Type::I64, "(2,)", &[1 << 62, (1 << 62) + 4])?;
    PROGRAM.refuses(&["--offsets", &huge], &["--offsets", "ends at 4,611,686,018,427,387,908", "at most"]);
    // Offsets need not begin at 0, rows may be empty, and there may be none.
    for (ty, at, rows) in [(Type::I64, vec![3, 5, 12], 2), (Type::I32, vec![0, 0, 0], 2), (Type::I32, vec![5], 0)] {
        let offsets = files.numbers("good.npy", ty, &format!("({},)", at.len()), &at)?;
        let runs = PROGRAM.runs(&["--input", &input, "--offsets", &offsets]);
        assert!(runs.iter().all(|run| run["ok"] == true && run["rows"] == rows), "{at:?}: {runs:#?}");
    }
    Ok(())
}

#[test]
fn a_files_rows_are_its_own() -> std::io::Result<()> {
    let files = Files::new("ch10-input")?;
    let matrix = files.counting("matrix.npy", Type::F32, "(6, 2)", 12)?;
    let list = files.counting("list.npy", Type::F32, "(12,)", 12)?;
    let size = |args: &[&str]| {
        let run = PROGRAM.runs(&[&["--variant", "rows", "--input"], args].concat()).remove(0);
        (run["rows"].clone(), run["cols"].clone())
    };
    let is = |rows: u64, cols: u64| (Value::from(rows), Value::from(cols));
    assert_eq!(size(&[&matrix]), is(6, 2));
    assert_eq!(size(&[&matrix, "--n", "8"]), is(4, 2));
    assert_eq!(size(&[&matrix, "--rows", "3"]), is(3, 2));
    assert_eq!(size(&[&matrix, "--cols", "1", "--pitch", "2"]), is(6, 1));
    assert_eq!(size(&[&files.counting("cube.npy", Type::F32, "(2, 3, 2)", 12)?]), is(6, 2));
    assert_eq!(size(&[&files.counting("no-rows.npy", Type::F32, "(0, 5)", 0)?]), is(0, 5));
    assert_eq!(size(&[&files.counting("no-columns.npy", Type::F32, "(5, 0)", 0)?]), is(5, 0));
    assert_eq!(size(&[&list]), is(1, 12));
    assert_eq!(size(&[&list, "--rows", "3"]), is(3, 4));
    assert_eq!(size(&[&list, "--rows", "2", "--cols", "2"]), is(2, 2));
    assert_eq!(size(&[&list, "--cols", "2", "--pitch", "5"]), is(3, 2));
    for (args, said) in [
        ([&matrix, "--rows", "4", "--cols", "3"].as_slice(), ["--cols 3", "holds 6 rows of 2; array.reshape(-1, 3)"]),
        (&[&matrix, "--cols", "1"], ["--cols 1", "holds 6 rows of 2; --pitch 2 takes the first 1"]),
        (&[&matrix, "--rows", "7"], ["14 elements", "holds 12"]),
        (&[&matrix, "--n", "7"], ["holds rows of 2", "--n 7"]),
        (&[&list, "--rows", "5"], ["12 elements are not 5 rows", "say --cols"]),
        (&[&list, "--rows", "100"], ["12 elements are not 100 rows", "say --cols"]),
        (&[&list, "--cols", "5"], ["12 elements are no whole rows of 5", "--rows"]),
        (&[&list, "--cols", "100"], ["12 elements are no whole rows of 100", "--rows"]),
        (&[&list, "--cols", "0"], ["12 elements are no whole rows of 0", "--rows"]),
        (&[&list, "--offsets", "power"], ["12 elements are no whole rows of 64", "--cols"]),
        (
            &[&files.by_columns("by-columns.npy", "(6, 2)", 12)?],
            ["columns lie one behind the other", "ascontiguousarray"],
        ),
        (
            &[&files.counting("doubles.npy", Type::F64, "(12,)", 12)?],
            ["holds float64", "int32 ('<i4') or float16 ('<f2') or float32 ('<f4')"],
        ),
    ] {
        PROGRAM.refuses(&[&["--input"], args].concat(), &said);
    }
    Ok(())
}

#[test]
fn the_uses_that_the_sources_name_run() {
    PROGRAM.runs_what_the_sources_name(&ch10_rows::CHAPTER);
}
