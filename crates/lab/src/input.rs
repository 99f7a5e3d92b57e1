//! The numbers of a run: random by seed, or the reader's own array.

use std::path::Path;

use crate::element::{Array, Element, Type};
use crate::error::{Error, Result};
use crate::npy::{Npy, numpy_name};
use crate::op::{Op, Outcome};
use crate::text::grouped;
use crate::{with_elements, with_type};

/// The seed when the reader gives none, and that of every record.
pub const SEED: u64 = 1;

/// Fewer elements are not worth a thread.
const ELEMENTS_PER_THREAD_MIN: usize = 1 << 20;

/// `n` random numbers: every i32 alike (their sums wrap, on the GPU and in the reference), floats in [-1, 1). Element i
/// depends on the seed and i alone, so that a longer array begins with the shorter one. Never constant: an array of
/// ones hides most errors of indexing.
pub fn random(ty: Type, n: usize, seed: u64) -> Array {
    with_type!(ty, T => T::array(elements(n, seed)))
}

/// Input for `op`: n random numbers for each of its arrays. A product is of numbers near 1 or of odd ones: of others it
/// would soon be 0, which hides errors as ones do. Exponentials are of numbers in [-8, 8), so that some elements have most of their
/// row's sum; what softmax has left is in [0, 1], and what log_softmax has left in [-8, 0].
pub fn random_for(op: Op, ty: Type, n: usize, seed: u64) -> Array {
    let mut array = random(ty, n * op.arrays() as usize, seed);
    if let Some(made) = made_for(op).filter(|_| ty.is_float()) {
        // A second array is what comes back; factors are all alike.
        let count = if op == Op::Prod { array.len() } else { n };
        with_elements!(&mut array, values => values.iter_mut().take(count).for_each(|x| *x = from_number(*x, made)));
    } else if op == Op::Prod {
        match &mut array {
            Array::I32(values) => values.iter_mut().for_each(|value| *value |= 1),
            Array::I64(values) => values.iter_mut().for_each(|value| *value |= 1),
            _ => {}
        }
    }
    array
}

/// Transformation of a random float in [-1, 1); none where it stays as it is.
fn made_for(op: Op) -> Option<fn(f64) -> f64> {
    match op {
        Op::SoftmaxBackward => Some(f64::abs),
        Op::LogSoftmaxBackward => Some(|x| -8.0 * x.abs()),
        Op::Prod => Some(|x| 1.0 + x / 256.0),
        _ if op.is_exponential() => Some(|x| 8.0 * x),
        // Numbers whose mean is not 0, next to their deviation.
        _ if op.is_norm() => Some(|x| 4.0 * x + 1.0),
        _ => None,
    }
}

fn from_number<T: Element>(element: T, made: fn(f64) -> f64) -> T {
    T::from_f64(made(element.value().to_f64()))
}

/// The numbers of [`random`] as a vector; long ones are made by all cores.
pub fn elements<T: Element>(n: usize, seed: u64) -> Vec<T> {
    let mut values = vec![T::from_random(0); n];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = n.div_ceil(threads).max(ELEMENTS_PER_THREAD_MIN);
    let fill = |start: usize, part: &mut [T]| {
        part.iter_mut().zip(start as u64..).for_each(|(value, i)| *value = T::from_random(split_mix(seed, i)));
    };
    std::thread::scope(|scope| {
        for (k, values) in values.chunks_mut(part).enumerate() {
            if n <= part {
                fill(0, values);
            } else {
                scope.spawn(move || fill(k * part, values));
            }
        }
    });
    values
}

/// Element `i` of the SplitMix64 sequence (Steele, Lea, Flood 2014): stable for ever, unlike a library's default generator.
#[inline]
pub fn split_mix(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Source of a run's numbers, checked but not yet read.
#[derive(Debug)]
pub enum Source {
    /// Random numbers.
    Random {
        /// Seed.
        seed: u64,
    },
    /// A `.npy` file.
    File(Npy),
}

/// A reader's file that has been opened.
#[derive(Debug)]
pub struct Input {
    /// The file.
    pub source: Source,
    /// Type of its elements.
    pub ty: Type,
    /// Elements of one of the arrays that the operation takes.
    pub n: u64,
    /// Rows and columns of each of them, if the file says so.
    pub rows: Option<(u64, u64)>,
}

/// Opens the reader's file and agrees on type and count with what was asked for. `types` are those of the chapter;
/// `is_of_rows` says that it has a value for each row or column, not one for the array.
///
/// # Errors
/// A file that is none, or that holds what the chapter or the operation does not take.
pub fn open(
    path: &Path,
    asked: Option<Type>,
    (types, is_of_rows): (&[Type], bool),
    n: Option<u64>,
    op: Op,
) -> Result<Input> {
    let npy = Npy::open(path)?;
    let refuse = |problem: String| Error::Npy { path: path.to_owned(), problem };
    if let Some(asked) = asked.filter(|&asked| asked != npy.ty) {
        let (found, want) = (numpy_name(npy.ty), numpy_name(asked));
        return Err(refuse(format!("holds {found}, --type {asked} wants {want}")));
    }
    if !types.contains(&npy.ty) {
        let are_numpys = types.iter().filter(|&&ty| ty != Type::BF16);
        let names: Vec<&str> = are_numpys.map(|&ty| numpy_name(ty)).collect();
        return Err(refuse(format!("holds {}, this chapter sums {}", numpy_name(npy.ty), names.join(" or "))));
    }
    if npy.is_by_columns && (is_of_rows || op.arrays() > 1 || matches!(op.outcome(npy.ty), Outcome::Found(_))) {
        return Err(refuse(format!(
            "its columns lie one behind the other ('fortran_order': True), and {op} goes by rows: store it with numpy.ascontiguousarray(array)"
        )));
    }
    if let Some((rows, cols)) = npy.rows().filter(|(rows, _)| is_of_rows && !rows.is_multiple_of(op.arrays())) {
        let (rows, cols) = (grouped(rows), grouped(cols));
        return Err(refuse(format!("holds {rows} rows of {cols}, and {op} wants two arrays of as many")));
    }
    if !npy.len.is_multiple_of(op.arrays()) {
        return Err(refuse(format!("holds {} elements, and {op} wants two arrays of as many", grouped(npy.len))));
    }
    let len = npy.len / op.arrays();
    if let Some(n) = n.filter(|&n| n > len) {
        return Err(refuse(format!("holds {} elements, --n asks for {}", grouped(len), grouped(n))));
    }
    let rows = npy.rows().filter(|_| is_of_rows).map(|(rows, cols)| (rows / op.arrays(), cols));
    let rows = match (n, rows) {
        (Some(n), Some((_, cols))) => match n.checked_rem(cols) {
            Some(0) => Some((n / cols, cols)),
            _ => return Err(refuse(format!("holds rows of {}, and --n {} ends in one", grouped(cols), grouped(n)))),
        },
        (_, rows) => rows,
    };
    let ty = npy.ty;
    Ok(Input { source: Source::File(npy), ty, n: n.unwrap_or(len), rows })
}

impl Source {
    /// The numbers.
    pub fn read(self, op: Op, ty: Type, n: u64) -> Result<Array> {
        match self {
            Source::Random { seed } => Ok(random_for(op, ty, n as usize, seed)),
            Source::File(npy) => npy.read(n * op.arrays()),
        }
    }
}

/// `1,048,576 random i32, seed 1; i32 sums wrap modulo 2^32`
pub fn words(file: Option<&Path>, seed: Option<u64>, (ty, op): (Type, Op), n: u64) -> String {
    let from = match (file, seed) {
        (Some(path), _) => format!("{} {ty} from {}", grouped(n), path.display()),
        (None, seed) => format!("{} random {ty}, seed {}", grouped(n), seed.unwrap_or(SEED)),
    };
    match (op, ty) {
        (Op::Sum, Type::I32) => format!("{from}; i32 sums wrap modulo 2^32, here and on a GPU"),
        (Op::Sum, Type::U32) => format!("{from}; u32 sums wrap modulo 2^32, here and on a GPU"),
        (Op::Sum, Type::I64) => format!("{from}; i64 sums wrap modulo 2^64, here and on a GPU"),
        (Op::Sum, _) => from,
        (_, _) => format!("{from}; wanted is {}", op.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_fixed() {
        const FIRST: [i32; 3] = [-190250652, -1079398771, -735776155];
        // Records replay by seed: these values may never change.
        assert_eq!(random(Type::I32, 3, 1), Array::I32(FIRST.to_vec()));
        assert_eq!(
            random(Type::I32, 2, 1),
            Array::I32(FIRST[..2].to_vec()),
            "a longer array begins with the shorter one"
        );
        assert_ne!(random(Type::I32, 3, 1), random(Type::I32, 3, 2));
    }

    #[test]
    fn threads_make_the_same_numbers() {
        let n = 2 * ELEMENTS_PER_THREAD_MIN + 5;
        let values: Vec<i32> = elements(n, 7);
        for i in (0..n as u64).step_by(997) {
            assert_eq!(values[i as usize], i32::from_random(split_mix(7, i)), "element {i}");
        }
    }

    #[test]
    fn values_spread_over_their_range() {
        let Array::I32(v) = random(Type::I32, 10_000, SEED) else { panic!("i32 was asked for") };
        assert!(v.iter().any(|&x| x > 2_000_000_000) && v.iter().any(|&x| x < -2_000_000_000));
        let Array::F32(v) = random(Type::F32, 10_000, SEED) else { panic!("f32 was asked for") };
        let mean = v.iter().map(|&x| f64::from(x)).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!(v.iter().all(|x| (-1.0..1.0).contains(x)));
    }
}
