//! Rows in exercises: how `exercises.toml` says how elements lie, and the matrices that kernels of rows are tried with.

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use lab::layout::COUNT_MAX;
use lab::text::grouped;
use lab::{Matrix, Offsets, Op, Ragged, Rows, Type};
use serde::Deserialize;

use super::bench::Case;
use super::catalogue::{Exercise, Launches};
use super::judge;

/// Rows of one length, as a table has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// How many.
    pub rows: Option<u64>,
    /// Elements of each.
    pub cols: Option<u64>,
}

impl Shape {
    /// The matrix; `None` where nothing is said of rows.
    ///
    /// # Errors
    /// Half of it, or more than can be counted.
    pub fn matrix(self) -> Result<Option<Matrix>> {
        let (rows, cols) = match (self.rows, self.cols) {
            (None, None) => return Ok(None),
            (Some(_), None) => bail!("rows without cols: say how long they are"),
            (None, Some(_)) => bail!("cols without rows: say how many there are"),
            (Some(rows), Some(cols)) => (rows, cols),
        };
        for (what, count) in [("rows", rows), ("cols", cols)] {
            ensure!(
                count <= COUNT_MAX,
                "{what} = {count}: at most {} of them are counted in 32 bits",
                grouped(COUNT_MAX)
            );
        }
        Ok(Some(Matrix::dense(rows, cols)))
    }
}

/// Where rows of any length begin: a kind that has a name, as `--offsets` takes it, or the offsets themselves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Begins {
    /// `giant`
    Kind(String),
    /// One more than there are rows.
    At(Vec<u64>),
}

/// How the elements of a run lie. A run is about `n` elements, or about rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lies<'e> {
    /// Elements, where nothing is said of rows.
    pub n: Option<u64>,
    /// Rows and their length; of ragged rows the mean.
    pub shape: Shape,
    /// Elements from the begin of a row to that of the next.
    pub pitch: Option<u64>,
    /// Where rows begin that have a length of their own each.
    pub offsets: Option<&'e Begins>,
}

impl Lies<'_> {
    /// The rows, if there are any, and how many elements they need.
    ///
    /// # Errors
    /// What contradicts itself, a sentence.
    pub fn rows(self) -> Result<(Option<Rows>, u64)> {
        let matrix = self.shape.matrix()?;
        let (rows, n) = match (matrix, self.offsets) {
            (_, Some(_)) if self.pitch.is_some() => bail!("pitch and offsets: offsets say where each row begins"),
            (Some(_), Some(Begins::At(_))) => {
                bail!(
                    "rows and cols and a list of offsets: the list says how many rows there are, and how long each is"
                )
            }
            (None, Some(Begins::Kind(kind))) => bail!("offsets = \"{kind}\" without rows and cols"),
            (None, Some(Begins::At(at))) => ragged(at.clone())?,
            (Some(Matrix { rows, cols, .. }), Some(Begins::Kind(kind))) => {
                let Ok(kind) = Ragged::from_str(kind, false) else {
                    let names: Vec<String> =
                        Ragged::value_variants().iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
                    bail!("offsets = \"{kind}\": the kinds are {}, or give a list", lab::text::listed(&names))
                };
                // The seed is what `--offsets` takes by default, so that a reader's run has the same rows.
                ragged(kind.offsets(rows, cols, lab::input::SEED))?
            }
            (Some(dense), None) => {
                let matrix = Matrix { pitch: self.pitch.unwrap_or(dense.cols), ..dense };
                ensure!(matrix.pitch >= matrix.cols, "pitch = {}: rows would overlap", matrix.pitch);
                let Some(span) = matrix.span() else { bail!("{}: too many elements", Rows::Matrix(matrix)) };
                (Rows::Matrix(matrix), span)
            }
            (None, None) => {
                ensure!(self.pitch.is_none(), "pitch without rows and cols");
                let Some(n) = self.n else { bail!("no n, and no rows and cols: say what the run is about") };
                return Ok((None, n));
            }
        };
        match self.n.filter(|&said| said != n) {
            Some(said) => bail!("n = {said}, but {rows} take {} elements: leave n out", grouped(n)),
            None => Ok((Some(rows), n)),
        }
    }
}

fn ragged(at: Vec<u64>) -> Result<(Rows, u64)> {
    let n = at.last().copied().unwrap_or(0);
    let offsets = Offsets::new(at, 32, n).map_err(|why| anyhow::anyhow!("offsets: {why}"))?;
    Ok((Rows::Ragged(offsets), n))
}

impl Exercise {
    /// Rows that one block takes, at least one.
    pub fn rows_per_block(&self, block: u32) -> u64 {
        u64::from(block / self.lanes_per_row.unwrap_or(block)).max(1)
    }

    /// What the file may not say of a kernel of rows.
    pub(super) fn check_rows(&self) -> Result<()> {
        let Some(lanes) = self.lanes_per_row else { return Ok(()) };
        let whole = self.blocks_tried().all(|block| lanes > 0 && block.is_multiple_of(lanes));
        ensure!(whole, "{}: lanes_per_row = {lanes}: a block has whole rows", self.id);
        let is_plain = self.launches == Launches::UntilOne && self.state_words == 0 && self.grid_max.is_none();
        ensure!(
            is_plain && self.tree.is_none() && !self.cooperative && self.elements_per_thread == 1,
            "{}: a kernel with lanes_per_row is launched once over all rows: leave launches, state_words, grid_max, tree, \
             cooperative and elements_per_thread out",
            self.id
        );
        Ok(())
    }
}

/// `1 row of 20`
pub fn told(matrix: Matrix) -> String {
    let s = if matrix.rows == 1 { "" } else { "s" };
    format!("{} row{s} of {}", grouped(matrix.rows), grouped(matrix.cols))
}

/// Columns that are tried with every number of rows: none, one, around four and eight, around a warp, more than one load of each
/// of eight lanes.
const COLS: [u64; 11] = [0, 1, 3, 4, 7, 8, 9, 31, 33, 64, 100];
/// Long rows and many.
const LARGE: [(u64, u64); 4] = [(5, 1009), (3, 10_007), (1009, 13), (20_011, 1)];
/// Columns of the few matrices that are tried in every schedule and with every kind of numbers: no multiple of anything.
const FEW_COLS: u64 = 37;

/// Every matrix that is tried with random numbers, of every block and type, small ones first and those without elements last.
pub fn all(exercise: &Exercise) -> Vec<Case> {
    let mut cases = Vec::new();
    for &block in &exercise.blocks {
        let full = exercise.rows_per_block(block);
        let rows = [0, 1, 2, 3, full.saturating_sub(1), full, full + 1, 2 * full + 1];
        // Of no element there is no mean.
        let cols = COLS.into_iter().filter(|&cols| cols > 0 || exercise.op != Op::Meanvar);
        let small = rows.into_iter().flat_map(|rows| cols.clone().map(move |cols| (rows, cols)));
        for (rows, cols) in small.chain(LARGE) {
            cases.extend(exercise.types.iter().map(|&ty| case(ty, (rows, cols), block)));
        }
    }
    // What fails without any element mostly fails with one too, which tells more.
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

/// Four short rows, which end before the first multiple of 16 bytes, at it or behind it.
pub fn short(ty: Type, cols: u64, block: u32) -> Case {
    case(ty, (4, cols), block)
}

/// One matrix.
pub fn case(ty: Type, (rows, cols): (u64, u64), block: u32) -> Case {
    Case { matrix: Some(Matrix::dense(rows, cols)), ..judge::case(ty, rows * cols, block) }
}

impl Case {
    /// The same for other rows.
    pub fn over(self, rows: u64, cols: u64) -> Case {
        Case { n: rows * cols, matrix: Some(Matrix::dense(rows, cols)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::bench::Bench;
    use crate::exercise::{catalogue, report};
    use crate::workspace;

    fn shape(rows: impl Into<Option<u64>>, cols: impl Into<Option<u64>>) -> Shape {
        Shape { rows: rows.into(), cols: cols.into() }
    }

    #[test]
    fn rows_say_how_many_elements_there_are() {
        let of = |lies: Lies<'_>| lies.rows().unwrap();
        assert_eq!(of(Lies { n: Some(7), ..Lies::default() }), (None, 7));
        let matrix = Matrix { rows: 3, cols: 8, pitch: 10 };
        let pitched = Lies { shape: shape(3, 8), pitch: Some(10), ..Lies::default() };
        assert_eq!(of(pitched), (Some(Rows::Matrix(matrix)), 28));
        assert_eq!(of(Lies { n: Some(28), ..pitched }), (Some(Rows::Matrix(matrix)), 28));
        let (rows, n) = of(Lies { offsets: Some(&Begins::At(vec![0, 3, 3, 7])), ..Lies::default() });
        let Some(Rows::Ragged(offsets)) = rows else { panic!("{rows:?}") };
        assert_eq!((offsets.rows(), offsets.longest(), n), (3, 4, 7));
        let (_, n) = of(Lies { shape: shape(100, 8), offsets: Some(&Begins::Kind("giant".into())), ..Lies::default() });
        assert!((499..=598).contains(&n), "half of 800 in one row, and one or two in each of 99: {n}");
    }

    /// The exercise of chapter 10, and one of its committed kernels.
    fn row_sums(kernel: &str) -> (Exercise, String, String) {
        let root = workspace::root().unwrap();
        let exercises = catalogue::written(catalogue::load(&root).unwrap());
        let exercise = exercises.into_iter().find(|exercise| exercise.id == "row-sums").unwrap();
        let read = |extension| {
            let path = root.join("chapters/ch10-rows").join(format!("{kernel}.{extension}"));
            std::fs::read_to_string(path).unwrap()
        };
        (exercise, read("cu"), read("ptx"))
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
        let other = ptx.replace(".param .u32 row_sums_i32_param_3", ".param .u64 row_sums_i32_param_3");
        let words = "must take what the starter's does: (const T* in, T* out, unsigned int rows, unsigned int cols)";
        assert!(refused(&other).contains(words), "{}", refused(&other));
    }

    #[test]
    fn what_contradicts_itself_is_named() {
        let (giant, list) = (Begins::Kind("giant".into()), Begins::At(vec![0, 5, 4]));
        let default = Lies::default();
        for (lies, problem) in [
            (default, "no n, and no rows and cols"),
            (Lies { shape: shape(3, None), ..default }, "rows without cols"),
            (Lies { shape: shape(None, 3), ..default }, "cols without rows"),
            (Lies { n: Some(25), shape: shape(3, 8), ..default }, "n = 25, but 3 rows of 8 take 24 elements"),
            (Lies { shape: shape(3, 8), pitch: Some(7), ..default }, "rows would overlap"),
            (Lies { n: Some(3), pitch: Some(7), ..default }, "pitch without rows"),
            (Lies { shape: shape(3, 8), pitch: Some(9), offsets: Some(&giant), ..default }, "pitch and offsets"),
            (Lies { offsets: Some(&giant), ..default }, "offsets = \"giant\" without rows and cols"),
            (Lies { shape: shape(3, 8), offsets: Some(&list), ..default }, "a list of offsets"),
            (Lies { offsets: Some(&list), ..default }, "row 1 would begin at 5 and end at 4"),
            (
                Lies { shape: shape(3, 8), offsets: Some(&Begins::Kind("dwarf".into())), ..default },
                "the kinds are uniform",
            ),
            (Lies { shape: shape(1 << 31, 8), ..default }, "at most 2,147,483,647"),
        ] {
            let error = lies.rows().unwrap_err().to_string();
            assert!(error.contains(problem), "{problem}: {error}");
        }
    }
}
