//! Rows and columns of every kind, each result against the reference: all lengths around a vector, a warp and a block, rows that
//! begin anywhere, gaps between them, ragged ones; and what the program refuses.

use ch10_rows::CHAPTER;
use device::{Checks, Schedule};
use lab::input::random;
use lab::trial::{describe, npy_bytes, run_with, simulator};
use lab::{Array, Error, LaunchOptions, Matrix, Offsets, Op, Per, Ragged, Result, Rows, Type, Variant};
use proptest::prelude::*;

use crate::PROGRAM;

const SCHEDULE: Schedule = Schedule::Independent { seed: None };

/// Runs every variant that takes these rows, for every operation and type, and returns how many runs there were.
fn all_are_right(rows: Rows, n: u64, offset: usize, schedule: Schedule) -> Result<usize> {
    let session = simulator(&CHAPTER, schedule, Checks::ALL)?;
    let mut runs = 0;
    for variant in CHAPTER.variants {
        for (ty, op) in kinds(variant) {
            let options = LaunchOptions { op, rows: Some(rows), ..LaunchOptions::default() };
            let run = match run_with(&session, variant, options, &random(ty, n as usize, n), offset) {
                Err(Error::Usage(_)) => continue, // ragged rows, or gaps, are not for all
                run => run?,
            };
            assert!(run.ok(), "{}", describe(&run, &format!("{op} {rows:?} offset {offset}")));
            assert!(run.notes.is_empty(), "{:?}", run.notes);
            assert_eq!(run.row.is_some(), run.layout.values() > 0);
            runs += 1;
        }
    }
    Ok(runs)
}

fn kinds(variant: &Variant) -> Vec<(Type, Op)> {
    let types = variant.types.iter();
    types
        .flat_map(|&ty| variant.ops.iter().map(move |&op| (ty, op)))
        .filter(|&(ty, op)| variant.computes(op, ty))
        .collect()
}

fn dense(rows: u64, cols: u64, offset: usize) -> Result<usize> {
    all_are_right(Rows::Matrix(Matrix::dense(rows, cols)), rows * cols, offset, SCHEDULE)
}

#[test]
fn rows_of_every_short_length_are_right() -> Result<()> {
    for cols in (0..=18).chain([31, 32, 33, 63, 64, 65, 127, 129]) {
        assert_eq!(dense(35, cols, 0)?, 66);
    }
    Ok(())
}

#[test]
fn rows_may_begin_anywhere() -> Result<()> {
    for offset in 0..8 {
        dense(9, 64, offset)?;
        dense(5, 37, offset)?;
        dense(2, 1027, offset)?;
    }
    Ok(())
}

#[test]
fn few_long_rows_and_many_short_ones_are_right() -> Result<()> {
    for (rows, cols) in [(1, 50_257), (3, 20_001), (2, 4096), (700, 3), (1500, 1), (300, 257), (1100, 16)] {
        dense(rows, cols, 0)?;
    }
    dense(0, 7, 0)?;
    Ok(())
}

#[test]
fn what_lies_between_rows_is_left_alone() -> Result<()> {
    for (cols, pitch) in [(3, 5), (64, 65), (60, 64), (1000, 1004), (0, 4)] {
        let matrix = Matrix { rows: 21, cols, pitch };
        for offset in [0, 3] {
            all_are_right(Rows::Matrix(matrix), matrix.span().unwrap_or(0), offset, SCHEDULE)?;
        }
    }
    Ok(())
}

#[test]
fn blocks_that_meet_are_right_in_any_order() -> Result<()> {
    let rows = Rows::Ragged(Offsets::new(Ragged::Giant.offsets(50, 200, 1), 32, 1 << 20).map_err(Error::Usage)?);
    for seed in 0..12 {
        let schedule = Schedule::Independent { seed: Some(seed) };
        all_are_right(Rows::Matrix(Matrix::dense(2, 9000)), 18_000, 1, schedule)?;
        all_are_right(rows, 6000, 0, schedule)?;
    }
    all_are_right(rows, 6000, 0, Schedule::Lockstep)?;
    Ok(())
}

#[test]
fn ragged_rows_of_every_kind_are_right() -> Result<()> {
    for kind in [Ragged::Uniform, Ragged::Power, Ragged::Giant, Ragged::Empty] {
        for (rows, cols) in [(1, 1), (3, 700), (2000, 2), (150, 61)] {
            let at = kind.offsets(rows, cols, 3);
            let n = at.last().copied().unwrap_or(0);
            for bits in [32, 64] {
                let offsets = Offsets::new(at.clone(), bits, n).map_err(Error::Usage)?;
                assert_eq!(all_are_right(Rows::Ragged(offsets), n, 1, SCHEDULE)?, 11, "{kind:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn rows_without_elements_are_right_wherever_they_are() -> Result<()> {
    let at = |lengths: &[u64]| {
        let ends = lengths.iter().scan(5, |end, &length| {
            *end += length;
            Some(*end)
        });
        std::iter::once(5).chain(ends).collect::<Vec<u64>>()
    };
    let all_empty = vec![0; 4000];
    let tile = 256 * 7; // a row that ends just where a block's share does, and one that begins there
    for lengths in
        [all_empty.as_slice(), &[0, 1, 0], &[tile - 1, 1, tile, 0, 0], &[tile, tile, tile], &[3 * tile + 1, 0, 1]]
    {
        let at = at(lengths);
        let n = at.last().copied().unwrap_or(0);
        let offsets = Offsets::new(at, 32, n).map_err(Error::Usage)?;
        all_are_right(Rows::Ragged(offsets), n, 0, SCHEDULE)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]
    #[test]
    fn any_matrix_is_right(rows in 0u64..70, cols in 0u64..300, gap in 0u64..9, offset in 0usize..9) {
        let matrix = Matrix { rows, cols, pitch: cols + gap };
        all_are_right(Rows::Matrix(matrix), matrix.span().unwrap_or(0), offset, SCHEDULE)?;
    }

    #[test]
    fn any_ragged_rows_are_right(lengths in prop::collection::vec(prop_oneof![Just(0u64), 0u64..9, 0u64..3000], 0..60), before in 0u64..5) {
        let mut at = vec![before];
        lengths.iter().for_each(|length| at.push(at[at.len() - 1] + length));
        let n = at[at.len() - 1];
        let offsets = Offsets::new(at, 32, n).map_err(TestCaseError::fail)?;
        all_are_right(Rows::Ragged(offsets), n, 0, SCHEDULE)?;
    }
}

/// NaN, infinities and ties: what torch's amax and argmax make of a row, and what C's fmax does.
#[test]
fn special_numbers_and_ties() -> Result<()> {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let rows: [[f32; 5]; 6] = [
        [1.0, nan, 3.0, nan, inf],
        [-inf; 5],
        [nan; 5],
        [-0.0, 0.0, -0.0, 0.0, -1.0],
        [7.0, 7.0, 1.0, 7.0, -inf],
        [inf, -inf, inf, 2.0, 0.5],
    ];
    let input = Array::F32(rows.concat());
    let session = simulator(&CHAPTER, SCHEDULE, Checks::ALL)?;
    for variant in CHAPTER.variants {
        for op in [Op::Max, Op::Maximum, Op::Argmax] {
            let options =
                LaunchOptions { op, rows: Some(Rows::Matrix(Matrix::dense(6, 5))), ..LaunchOptions::default() };
            let run = run_with(&session, variant, options, &input, 0)?;
            assert!(run.ok(), "{}", describe(&run, op.name()));
        }
    }
    Ok(())
}

#[test]
fn every_variant_takes_one_kind_of_rows() {
    let per = |name: &str| CHAPTER.variant(name).map(|variant| variant.per);
    assert_eq!((per("rows"), per("columns"), per("ragged")), (Some(Per::Row), Some(Per::Column), Some(Per::RaggedRow)));
}

#[test]
fn plans_say_why() {
    PROGRAM.says(
        &["--plan", "--rows", "65536", "--cols", "64", "--type", "f32"],
        &["a row is 16 vectors of 16 bytes: 8 lanes"],
    );
    PROGRAM.says(&["--plan", "--rows", "2", "--cols", "100000"], &["there are too few rows to keep the card busy"]);
}

#[test]
fn the_program_takes_rows_and_refuses_what_are_none() -> std::io::Result<()> {
    let runs = PROGRAM.runs(&["--rows", "12", "--cols", "5", "--op", "argmax", "--type", "f32"]);
    assert!(runs.iter().all(|run| run["rows"] == 12 && run["cols"] == 5 && run["row"].is_u64()), "{runs:#?}");
    PROGRAM.refuses(&["--rows", "3", "--cols", "8", "--pitch", "7"], &["--pitch 7", "8 elements"]);
    PROGRAM.refuses(&["--rows", "3", "--n", "8"], &["--rows", "--n"]);
    PROGRAM.refuses(&["--rows", "3000000000", "--cols", "1"], &["--rows 3,000,000,000", "32 bits"]);
    PROGRAM.refuses(&["--cols", "3000000000"], &["--cols 3,000,000,000", "32 bits"]);
    PROGRAM.refuses(&["--offsets", "heap"], &["--offsets heap", "uniform, power, giant, empty"]);
    PROGRAM.refuses(&["--variant", "rows", "--offsets", "power"], &["--offsets", "rows that all have the same length"]);
    PROGRAM.refuses(&["--variant", "ragged", "--cols", "4", "--pitch", "6"], &["--pitch 6", "one behind the other"]);
    PROGRAM.refuses(&["--op", "max", "--type", "i32"], &["--op max --type i32", "bf16 and f32"]);
    let folder = std::env::temp_dir().join(format!("ch10-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = |name: &str, at: &[i64]| -> std::io::Result<String> {
        let bytes: Vec<u8> = at.iter().flat_map(|at| at.to_le_bytes()).collect();
        let path = folder.join(name);
        std::fs::write(&path, npy_bytes("<i8", &format!("({},)", at.len()), &bytes))?;
        Ok(path.to_string_lossy().into_owned())
    };
    let good = file("good.npy", &[0, 4, 4, 1000])?;
    let runs = PROGRAM.runs(&["--offsets", &good, "--type", "f32"]);
    assert_eq!((&runs[0]["rows"], &runs[0]["ok"]), (&3.into(), &true.into()));
    PROGRAM.refuses(&["--offsets", &file("fall.npy", &[0, 9, 4])?], &["they fall", "row 1 would begin at 9"]);
    PROGRAM.refuses(&["--offsets", &file("below.npy", &[-1, 9])?], &["offset 0 is negative"]);
    PROGRAM.refuses(&["--offsets", &file("none.npy", &[])?], &["there are none"]);
    PROGRAM.refuses(&["--offsets", &good, "--rows", "3"], &["--rows", "how many rows"]);
    let input = folder.join("in.npy");
    std::fs::write(&input, npy_bytes("<f4", "(6, 2)", &[0; 48]))?;
    let input = input.to_string_lossy().into_owned();
    PROGRAM.runs(&["--input", &input, "--cols", "2"]);
    PROGRAM.refuses(&["--input", &input, "--offsets", &good], &["past the end of the 12 elements"]);
    PROGRAM.refuses(&["--input", &input, "--rows", "4", "--cols", "4"], &["16 elements", "holds 12"]);
    std::fs::remove_dir_all(&folder)
}
