//! Rows and columns of every kind, each result against the reference: all lengths around a vector, a warp and a block, rows that
//! begin anywhere, gaps between them, ragged ones; and what the program refuses.

use ch10_rows::CHAPTER;
use lab::record::OPTIONS;
use lab::trial::{Files, Matrices, over_numbers};
use lab::{Error, Matrix, Offsets, Op, Per, Ragged, Result, Rows, Run, Type};
use proptest::prelude::*;

use crate::PROGRAM;

/// Ragged rows, or gaps, are not for all.
const MATRICES: Matrices = Matrices { chapter: &CHAPTER, may_refuse: |_, _| true };

#[test]
fn rows_of_every_short_length_are_right() -> Result<()> {
    MATRICES.short(35, 96)?;
    assert_eq!(MATRICES.all_are_right(Rows::Matrix(Matrix::dense(35, 0)), 0)?, 96);
    Ok(())
}

#[test]
fn rows_may_begin_anywhere() -> Result<()> {
    MATRICES.anywhere(&[(9, 64), (5, 37), (2, 1027)])
}

#[test]
fn few_long_rows_and_many_short_ones_are_right() -> Result<()> {
    MATRICES.dense(&[(1, 50_257), (3, 20_001), (2, 4096), (700, 3), (1500, 1), (300, 257), (1100, 16), (0, 7)])
}

#[test]
fn what_lies_between_rows_is_left_alone() -> Result<()> {
    MATRICES.gaps(21, &[(3, 5), (64, 65), (60, 64), (1000, 1004), (0, 4)])
}

#[test]
fn blocks_that_meet_are_right_in_any_order() -> Result<()> {
    MATRICES.any_order(Rows::Matrix(Matrix::dense(2, 9000)), 6)?;
    MATRICES.any_order(ragged(Ragged::Giant.offsets(50, 200, 1), 32)?, 6)
}

/// Rows with these offsets.
fn ragged(at: Vec<u64>, bits: u32) -> Result<Rows> {
    let n = at.last().copied().unwrap_or(0);
    Offsets::new(at, bits, n).map(Rows::Ragged).map_err(Error::Usage)
}

#[test]
fn ragged_rows_of_every_kind_are_right() -> Result<()> {
    for kind in [Ragged::Uniform, Ragged::Power, Ragged::Giant, Ragged::Empty] {
        for (rows, cols) in [(1, 1), (3, 700), (2000, 2), (150, 61)] {
            for bits in [32, 64] {
                let rows = ragged(kind.offsets(rows, cols, 3), bits)?;
                assert_eq!(MATRICES.all_are_right(rows, 1)?, 16, "{kind:?}");
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
        MATRICES.are_right(ragged(at(lengths), 32)?, 0, OPTIONS.schedule)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]
    #[test]
    fn any_matrix_is_right(rows in 0u64..70, cols in 0u64..300, gap in 0u64..9, offset in 0usize..9) {
        MATRICES.one(Matrix { rows, cols, pitch: cols + gap }, offset)?;
    }

    #[test]
    fn any_ragged_rows_are_right(lengths in prop::collection::vec(prop_oneof![Just(0u64), 0u64..9, 0u64..3000], 0..60), before in 0u64..5) {
        let mut at = vec![before];
        lengths.iter().for_each(|length| at.push(at[at.len() - 1] + length));
        MATRICES.are_right(ragged(at, 32)?, 0, OPTIONS.schedule)?;
    }
}

/// NaN, infinities and ties: what torch's amax and argmax make of a row, and what C's fmax does.
#[test]
fn special_numbers_and_ties() -> Result<()> {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let rows: [[f32; 5]; 7] = [
        [1.0, nan, 3.0, nan, inf],
        [-inf; 5],
        [nan; 5],
        [-0.0, 0.0, -0.0, 0.0, -1.0],
        [7.0, 7.0, 1.0, 7.0, -inf],
        [inf, -inf, inf, 2.0, 0.5],
        [-3e-8, 6e-8, -6e-8, 6e-8, -65504.0],
    ];
    let has_class = |_, op| matches!(op, Op::Max | Op::Maximum | Op::Argmax);
    over_numbers(&CHAPTER, Matrix::dense(7, 5), [&rows.concat(), &[]], has_class, Run::ok)
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
    PROGRAM.refuses(&["--cols", "3000000000"], &["--cols 3,000,000,000", "32 bits"]);
    PROGRAM.refuses(&["--offsets", "heap"], &["--offsets heap", "uniform, power, giant, empty"]);
    PROGRAM.refuses(&["--variant", "rows", "--offsets", "power"], &["--offsets", "rows that all have the same length"]);
    PROGRAM.refuses(&["--variant", "ragged", "--cols", "4", "--pitch", "6"], &["--pitch 6", "one behind the other"]);
    PROGRAM.refuses(&["--op", "max", "--type", "i32"], &["--op max --type i32", "f16, bf16 and f32"]);
    let files = Files::new("ch10-rows")?;
    let offsets = files.numbers("good.npy", Type::I64, "(4,)", &[0, 4, 4, 1000])?;
    let runs = PROGRAM.runs(&["--offsets", &offsets, "--type", "f32"]);
    assert_eq!((&runs[0]["rows"], &runs[0]["ok"]), (&3.into(), &true.into()));
    PROGRAM.refuses(&["--offsets", &offsets, "--rows", "3"], &["--rows", "how many rows"]);
    Ok(())
}
