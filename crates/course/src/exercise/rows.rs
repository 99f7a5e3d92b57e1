//! Rows in exercises: how `exercises.toml` says how elements lie.

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use lab::layout::COUNT_MAX;
use lab::text::grouped;
use lab::{Matrix, Offsets, Ragged, Rows};
use serde::Deserialize;

/// Rows of one length, as a table has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Number of rows.
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

/// Beginnings of rows of any length: a kind that has a name, as `--offsets` takes it, or the offsets themselves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Begins {
    /// `giant`
    Kind(String),
    /// One more than there are rows.
    At(Vec<u64>),
}

/// Layout of the elements of a run, which is about `n` elements or about rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lies<'e> {
    /// Elements, where nothing is said of rows.
    pub n: Option<u64>,
    /// Rows and their length; of ragged rows the mean.
    pub shape: Shape,
    /// Elements from the beginning of a row to that of the next.
    pub pitch: Option<u64>,
    /// Beginnings of rows that have a length of their own each.
    pub offsets: Option<&'e Begins>,
}

impl Lies<'_> {
    /// The rows, if there are any, and how many elements they need.
    ///
    /// # Errors
    /// A sentence that says what contradicts itself.
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

/// `1 row of 20`
pub fn described(matrix: Matrix) -> String {
    let s = if matrix.rows == 1 { "" } else { "s" };
    format!("{} row{s} of {}", grouped(matrix.rows), grouped(matrix.cols))
}

#[cfg(test)]
mod tests {
    use super::*;

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
