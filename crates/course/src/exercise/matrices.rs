//! The matrices that kernels of rows are tried with.

use lab::{Matrix, Op, Type};

use super::case::Case;
use super::write::Exercise;

/// Columns that are tried with every number of rows: none, one, around four and eight, around a warp, more than one load of each
/// of eight lanes.
const COLS: [u64; 11] = [0, 1, 3, 4, 7, 8, 9, 31, 33, 64, 100];
/// Long rows and many.
const LARGE: [(u64, u64); 4] = [(5, 1009), (3, 10_007), (1009, 13), (20_011, 1)];
/// More rows, and then more columns, than 16 bits count.
const HUGE: [(u64, u64); 2] = [(65_603, 3), (1, 65_601)];
/// Rows that are long enough for what each element adds to show.
const LONG: (u64, u64) = (5, 1009);
/// Columns of the few matrices that are tried in every schedule and with every kind of numbers: no multiple of anything.
const FEW_COLS: u64 = 37;

/// Every matrix that is tried with random numbers, of every block and type, small ones first and those without elements last.
pub fn all(exercise: &Exercise) -> Vec<Case> {
    let mut cases = Vec::new();
    for &block in &exercise.blocks {
        let full = exercise.rows_per_block(block);
        let rows = [0, 1, 2, 3, full.saturating_sub(1), full, full + 1, 2 * full + 1];
        // No elements have no mean.
        let cols = COLS.into_iter().filter(|&cols| cols > 0 || exercise.op != Op::Meanvar);
        let small = rows.into_iter().flat_map(|rows| cols.clone().map(move |cols| (rows, cols)));
        for (rows, cols) in small.chain(LARGE) {
            cases.extend(exercise.types.iter().map(|&ty| case(ty, (rows, cols), block)));
        }
    }
    // A kernel that fails without any element mostly fails with one too, which says more.
    cases.sort_by_key(|case| (case.n == 0, case.n, case.matrix.map_or(0, |matrix| matrix.rows), case.block));
    cases.dedup();
    cases
}

/// A block of rows and three more, for each block and type.
pub fn few(exercise: &Exercise) -> Vec<Case> {
    let of = |&block: &u32| {
        let rows = exercise.rows_per_block(block) + 3;
        exercise.types.iter().map(move |&ty| case(ty, (rows, FEW_COLS), block))
    };
    exercise.blocks.iter().flat_map(of).collect()
}

/// Rows with a column for each lane, of each type: so short that rounding explains little.
pub fn narrow(exercise: &Exercise) -> Vec<Case> {
    let lanes = u64::from(exercise.lanes_per_row.unwrap_or(1));
    few(exercise).into_iter().map(|case| case.over(case.matrix.map_or(1, |matrix| matrix.rows), lanes)).collect()
}

/// A few long rows, of each type.
pub fn long(exercise: &Exercise) -> Vec<Case> {
    let block = exercise.lanes_per_row.and(exercise.blocks.last().copied());
    block.iter().flat_map(|&block| exercise.types.iter().map(move |&ty| case(ty, LONG, block))).collect()
}

/// Large matrices, of the first type, the one of long rows last; none of an exercise that has no rows.
pub fn large(exercise: &Exercise) -> Vec<Case> {
    let block = exercise.lanes_per_row.and(exercise.blocks.last().copied());
    let ty = exercise.types.first().copied();
    block.zip(ty).iter().flat_map(|&(block, ty)| HUGE.map(|shape| case(ty, shape, block))).collect()
}

/// Four short rows, which end before the first multiple of 16 bytes, at it or behind it.
pub fn short(ty: Type, cols: u64, block: u32) -> Case {
    case(ty, (4, cols), block)
}

/// One matrix.
pub fn case(ty: Type, (rows, cols): (u64, u64), block: u32) -> Case {
    Case { matrix: Some(Matrix::dense(rows, cols)), ..Case::new(ty, rows * cols, block) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::bench::Bench;
    use crate::exercise::{catalogue, judge, report};
    use crate::workspace;

    /// The exercise of chapter 10, and one of its committed kernels.
    fn row_sums(kernel: &str) -> (Exercise, String, String) {
        catalogue::committed("row-sums", kernel)
    }

    #[test]
    fn a_verdict_names_the_row_and_what_is_wrong_with_it() {
        let root = workspace::root().unwrap();
        for (kernel, said) in [
            (
                "whole-warp",
                ["fails first at 2 rows of 1, 256 threads a block, i32\nrow 0: ", ": elements of row 1 are in it"],
            ),
            ("first-eight", ["fails first at 1 row of 9, 256 threads", ": column 8 is missing"]),
            (
                "a-row-a-warp",
                ["fails first at 9 rows of 1, 256 threads a block, i32\nrow 8: 0 where ", " is right: column 0 is"],
            ),
            ("one-block", ["goal missed: each warp", "warp 0 of block 1 loads 0 bytes, not 1,024, at 64 rows of 64"]),
        ] {
            let (exercise, text, ptx) = row_sums(&format!("wrong/row-sums-{kernel}"));
            let verdict = judge::judge(&exercise, "my.cu", &ptx).unwrap();
            let report = report::verdict(&verdict, &root, "my.cu", &text);
            for words in said {
                assert!(report.contains(words), "{kernel}: {words}: {report}");
            }
        }
    }

    #[test]
    fn every_kernel_of_rows_meets_matrices_that_are_no_multiples_of_anything() {
        let (exercise, _, ptx) = row_sums("solutions/row-sums");
        let bench = Bench::new(&exercise, "my.ptx", &ptx).unwrap();
        let cases = all(&exercise);
        for (rows, cols) in [(0, 9), (33, 0), (1, 1), (33, 9), (65, 100), (20_011, 1), (3, 10_007)] {
            let at = cases.iter().find(|case| case.matrix == Some(Matrix::dense(rows, cols)));
            let at = *at.unwrap_or_else(|| panic!("{rows} rows of {cols} are not tried"));
            let answer = bench.ask(at).unwrap();
            assert!(answer.is_right() && answer.of_rows.len() as u64 == rows, "{rows} rows of {cols}: {answer:?}");
            assert_eq!(bench.plan(at).grid() as u64, rows.div_ceil(32).max(1));
        }
        assert!(cases.windows(2).all(|pair| pair[1].n == 0 || pair[0].n <= pair[1].n), "small ones first");
    }

    #[test]
    fn a_kernel_of_an_array_is_no_kernel_of_rows() {
        let (exercise, _, ptx) = row_sums("solutions/row-sums");
        let refused = |ptx: &str| Bench::new(&exercise, "my.ptx", ptx).err().unwrap_or_default();
        let other = ptx::unfold(&ptx).replace(".param .u32 row_sums_i32_param_3", ".param .u64 row_sums_i32_param_3");
        let words = "must take what the starter's does: (const T* in, T* out, unsigned int rows, unsigned int cols)";
        assert!(refused(&other).contains(words), "{}", refused(&other));
    }
}
