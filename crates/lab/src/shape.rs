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

/// The rows that were asked for and the elements that they need, of `have` elements of the reader's own file, or of about
/// `wanted` where nothing says how many. `None` if nothing about rows was asked for.
///
/// # Errors
/// Numbers that contradict each other, or offsets that are none.
pub(crate) fn rows(args: &Args, have: Option<u64>, wanted: u64) -> Result<Option<(Rows, u64)>> {
    if (args.rows, args.cols, args.pitch, &args.offsets) == (None, None, None, &None) {
        return Ok(None);
    }
    let refuse = |why: String| Err(Error::Usage(why));
    let room = have.unwrap_or(wanted);
    if let Some(offsets) = args.offsets.as_deref().filter(|name| name.ends_with(".npy")) {
        if let Some(option) = args.rows.map(|_| "--rows").or(args.cols.map(|_| "--cols")) {
            return refuse(format!(
                "{option}: the offsets of a file say how many rows there are, and how long each is"
            ));
        }
        let (at, bits) = read_offsets(Path::new(offsets))?;
        let n = have.unwrap_or_else(|| at.last().copied().unwrap_or(0));
        let offsets = Offsets::new(at, bits, n).map_err(|why| Error::Usage(format!("--offsets {offsets}: {why}")))?;
        return Ok(Some((Rows::Ragged(offsets), n)));
    }
    let cols =
        args.cols.or(args.rows.filter(|&rows| rows > 0 && have.is_some()).map(|rows| room / rows)).unwrap_or(COLS);
    let pitch = args.pitch.unwrap_or(cols);
    if pitch < cols {
        return refuse(format!(
            "--pitch {pitch}: a row has {} elements, so the next one begins at least as many after it",
            grouped(cols)
        ));
    }
    let rows = args.rows.unwrap_or(room.checked_div(pitch).unwrap_or(0));
    for (option, count) in [("--rows", rows), ("--cols", cols)] {
        if count > COUNT_MAX {
            return refuse(format!(
                "{option} {}: at most {} are counted in 32 bits",
                grouped(count),
                grouped(COUNT_MAX)
            ));
        }
    }
    if let Some(name) = &args.offsets {
        return named(name, (rows, cols), args.seed.unwrap_or(SEED), have).map(Some);
    }
    let matrix = Matrix { rows, cols, pitch };
    let Some(span) = matrix.span() else {
        return refuse(format!(
            "--rows {} --cols {}: more elements than 64 bits can count",
            grouped(rows),
            grouped(cols)
        ));
    };
    if let Some(have) = have.filter(|&have| have < span) {
        return refuse(format!(
            "--rows {} --cols {}: {} elements, and the file holds {}",
            grouped(rows),
            grouped(cols),
            grouped(span),
            grouped(have)
        ));
    }
    Ok(Some((Rows::Matrix(matrix), span)))
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
    let negative = |row: usize| Error::Npy { path: path.to_owned(), problem: format!("offset {row} is negative") };
    match npy.read(len)? {
        Array::I32(at) => {
            let at = at.iter().enumerate().map(|(i, &at)| u64::try_from(at).map_err(|_| negative(i)));
            Ok((at.collect::<Result<_>>()?, 32))
        }
        Array::I64(at) => {
            let at = at.iter().enumerate().map(|(i, &at)| u64::try_from(at).map_err(|_| negative(i)));
            Ok((at.collect::<Result<_>>()?, 64))
        }
        Array::U32(at) => Ok((at.into_iter().map(u64::from).collect(), 32)),
        _ => Err(Error::Npy {
            path: path.to_owned(),
            problem: format!(
                "holds {}, offsets are {} or {}",
                numpy_name(ty),
                numpy_name(Type::I32),
                numpy_name(Type::I64)
            ),
        }),
    }
}
