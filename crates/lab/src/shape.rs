//! `--rows`, `--cols`, `--pitch` and `--offsets`: the rows that a reader asks for, and how many elements they need.

use std::path::Path;

use crate::cli::Args;
use crate::element::{Array, Type};
use crate::error::{Error, Result};
use crate::input::SEED;
use crate::layout::{COUNT_MAX, Matrix, Offsets, Ragged, Rows};
use crate::npy::{Npy, numpy_name};
use crate::text::grouped;

/// Columns where only rows were given.
const COLS: u64 = 64;
/// Rows whose offsets are made here, at most: a GiB and more of them.
const NAMED_ROWS_MAX: u64 = 1 << 28;

/// Shape of the reader's own file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Have {
    /// Elements.
    pub n: u64,
    /// Rows and columns, if the file has them.
    pub rows: Option<(u64, u64)>,
}

/// The rows that were asked for, or that the reader's file has, and the elements that they need; of about `target` elements
/// where nothing says how many. `None` if there is nothing about rows.
///
/// # Errors
/// Numbers that contradict each other or the file, or offsets that are none.
pub(crate) fn rows(args: &Args, have: Option<Have>, target: u64) -> Result<Option<(Rows, u64)>> {
    let of_file = have.and_then(|have| have.rows);
    if (args.rows, args.cols, args.pitch, &args.offsets, of_file) == (None, None, None, &None, None) {
        return Ok(None);
    }
    let refuse = |why: String| Err(Error::Usage(why));
    if let Some(offsets) = args.offsets.as_deref().filter(|name| name.ends_with(".npy")) {
        if let Some(option) = args.rows.map(|_| "--rows").or(args.cols.map(|_| "--cols")) {
            return refuse(format!(
                "{option}: the offsets of a file say how many rows there are, and how long each is"
            ));
        }
        let (at, bits) = read_offsets(Path::new(offsets))?;
        let n = have.map_or_else(|| at.last().copied().unwrap_or(0), |have| have.n);
        let offsets = Offsets::new(at, bits, n).map_err(|why| Error::Usage(format!("--offsets {offsets}: {why}")))?;
        return Ok(Some((Rows::Ragged(offsets), n)));
    }
    let matrix = matrix(args, have, target)?;
    let Matrix { rows, cols, pitch } = matrix;
    if let Some((option, count)) = [("--rows", rows), ("--cols", cols)].into_iter().find(|&(_, n)| n > COUNT_MAX) {
        let (count, most) = (grouped(count), grouped(COUNT_MAX));
        return refuse(format!("{option} {count}: at most {most} are counted in 32 bits"));
    }
    if let Some(name) = &args.offsets {
        return named(name, (rows, cols), args.seed.unwrap_or(SEED), have.map(|have| have.n)).map(Some);
    }
    let size = format!("--rows {} --cols {}", grouped(rows), grouped(cols));
    let Some(span) = matrix.span() else {
        return refuse(format!("{size}: more elements than 64 bits can count"));
    };
    if let Some(have) = have.filter(|have| have.n < span) {
        return refuse(format!("{size}: {} elements, and the file holds {}", grouped(span), grouped(have.n)));
    }
    if let Some((has_rows, has_cols)) = of_file.filter(|&(_, has_cols)| has_cols != pitch) {
        let option = args.pitch.map_or(format!("--cols {cols}"), |pitch| format!("--pitch {pitch}"));
        let what_would = match cols < has_cols {
            true => format!("--pitch {has_cols} takes the first {} of each", grouped(cols)),
            false => format!("array.reshape(-1, {cols}) makes others of them"),
        };
        let (has_rows, has_cols) = (grouped(has_rows), grouped(has_cols));
        return refuse(format!("{option}: the file holds {has_rows} rows of {has_cols}; {what_would}"));
    }
    Ok(Some((Rows::Matrix(matrix), span)))
}

/// Rows, columns and pitch: what was asked for, or else the file's own, or else as many as there are elements for.
fn matrix(args: &Args, have: Option<Have>, target: u64) -> Result<Matrix> {
    let refuse = |why: String| Err(Error::Usage(why));
    let of_file = have.and_then(|have| have.rows);
    // Of a list, as many as there are for each row.
    let share = match (have, args.rows) {
        (Some(have), Some(rows)) if rows > 0 && args.cols.is_none() && of_file.is_none() => {
            if !have.n.is_multiple_of(rows) {
                let (rows, n) = (grouped(rows), grouped(have.n));
                return refuse(format!(
                    "--input: its {n} elements are not {rows} rows of one length: say --cols too, which leaves some out"
                ));
            }
            Some(have.n / rows)
        }
        _ => None,
    };
    let cols = args.cols.or(of_file.map(|(_, cols)| cols)).or(share).unwrap_or(COLS);
    let pitch = args.pitch.unwrap_or(cols);
    if pitch < cols {
        return refuse(format!(
            "--pitch {pitch}: a row has {} elements, so the next one begins at least as many after it",
            grouped(cols)
        ));
    }
    if let Some(rows) = args.rows.or(of_file.map(|(rows, _)| rows)) {
        return Ok(Matrix { rows, cols, pitch });
    }
    let Some(Have { n, .. }) = have else {
        return Ok(Matrix { rows: target.checked_div(pitch).unwrap_or(0), cols, pitch });
    };
    // The last row needs nothing behind it.
    let rows = n.checked_sub(cols).and_then(|before| before.checked_div(pitch)).map_or(0, |before| before + 1);
    let matrix = Matrix { rows, cols, pitch };
    let is_enough = match args.offsets {
        Some(_) => rows > 0 || n == 0,
        None => n - matrix.span().unwrap_or(0) <= pitch - cols,
    };
    if !is_enough {
        return refuse(format!(
            "--input: its {} elements are no whole rows of {}: say another --cols, or --rows too, which leaves some out",
            grouped(n),
            grouped(cols)
        ));
    }
    Ok(matrix)
}

/// Ragged rows of a kind that has a name.
fn named(name: &str, (rows, cols): (u64, u64), seed: u64, have: Option<u64>) -> Result<(Rows, u64)> {
    let refuse = |why: &str| Error::Usage(format!("--offsets {name}: {why}"));
    let kind = <Ragged as clap::ValueEnum>::from_str(name, false)
        .map_err(|_| refuse("uniform, power, giant, empty, or a file that ends in .npy"))?;
    if rows > NAMED_ROWS_MAX {
        return Err(refuse(&format!("{} rows are too many, at most {}", grouped(rows), grouped(NAMED_ROWS_MAX))));
    }
    let at = kind.offsets(rows, cols, seed);
    let n = at.last().copied().unwrap_or(0);
    let bits = if n > u32::MAX.into() { 64 } else { 32 };
    let offsets = Offsets::new(at, bits, have.unwrap_or(n)).map_err(|why| refuse(&why))?;
    Ok((Rows::Ragged(offsets), n))
}

fn read_offsets(path: &Path) -> Result<(Vec<u64>, u32)> {
    let npy = Npy::open(path)?;
    let (ty, len) = (npy.ty, npy.len);
    let is_list =
        npy.check_list("offsets are a list: each row begins where the one before it ends, so that none overlap");
    is_list.map_err(|problem| Error::Npy { path: path.to_owned(), problem })?;
    let negative = |row: usize| Error::Npy { path: path.to_owned(), problem: format!("offset {row} is negative") };
    let (at, bits): (Vec<i64>, u32) = match npy.read(len)? {
        Array::I32(at) => (at.into_iter().map(i64::from).collect(), 32),
        Array::U32(at) => (at.into_iter().map(i64::from).collect(), 32),
        Array::I64(at) => (at, 64),
        _ => {
            let [is, narrow, wide] = [ty, Type::I32, Type::I64].map(numpy_name);
            let problem = format!("holds {is}, offsets are {narrow} or {wide}");
            return Err(Error::Npy { path: path.to_owned(), problem });
        }
    };
    let at = at.into_iter().enumerate().map(|(i, at)| u64::try_from(at).map_err(|_| negative(i)));
    Ok((at.collect::<Result<_>>()?, bits))
}
