//! The numbers that kernels of an exercise are tried with.

use lab::element::Element;
use lab::{Array, Op, Type};

use super::case::Case;
use super::numbers::Numbers;

/// Kinds of numbers that a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Random ones.
    Random,
    /// The smallest of the type, each of them; −∞ where floats are compared, −10³⁰ where they are added.
    Lowest,
    /// The largest of the type, likewise.
    Highest,
    /// −3, each of them: any value of the other sign that a kernel brings for a missing element shows.
    MinusThree,
    /// Random ones below 0, where a comparison of bits or of magnitudes goes the other way.
    Negative,
    /// −2 to 2 at random: the best of them is there many times.
    Ties,
    /// −1500, −750, 0, 750 and 1500 at random: of the larger ones *e*ˣ is no float, and no double.
    Steep,
    /// 131,070 to 131,074 at random: squares so large that nothing is left of their differences.
    Far,
    /// All the same but for the one in the middle, whose neighbour it is: floats that differ in their last bit, or integers that a
    /// float would round to one.
    Close,
    /// Random floats of this power of ten: what a kernel takes for 0, or for as good as infinite, shows.
    Scale(i8),
    /// Random floats of every power of ten from −6 to 6.
    Spread,
    /// One far from all others at the beginning of each row, and random ones behind it.
    FirstFar,
    /// The same at its end.
    LastFar,
    /// 2 at the beginning of each row, and behind it random numbers that are smaller by this and up to one more: each is
    /// little beside the largest, and all together are not.
    Below(u8),
    /// The same with the largest at the end.
    BelowLast(u8),
    /// −∞ and −1 to 2 at random.
    MinusInfinities,
    /// −1000 to 1000 at random, and one of each row +∞.
    OneInfinite,
}

/// A number that stands out among those from −1 to 1, and one among all integers.
const FAR: f64 = 1_234_567.0;
/// The same in a sum of numbers from 1 to 2, of which a few are more than what rounding explains.
const FAR_OF_SUM: f64 = 262_144.0;
const FAR_WHOLE: i32 = i32::MAX - 5;
/// The largest number of [`Fill::Below`].
const PEAK: f64 = 2.0;

impl Fill {
    /// Description of every element; `None` for random numbers.
    pub fn words(self) -> Option<String> {
        let words = match self {
            Fill::Random => return None,
            Fill::Lowest => "every element as small as can be",
            Fill::Highest => "every element as large as can be",
            Fill::MinusThree => "every element -3",
            Fill::Negative => "every element negative",
            Fill::Ties => "every element between -2 and 2",
            Fill::Steep => "every element a multiple of 750 between -1500 and 1500",
            Fill::Far => "every element near 131,072",
            Fill::Close => "all elements the same but one, their neighbour",
            Fill::Scale(power) => return Some(format!("every element between -10^{power} and 10^{power}")),
            Fill::Spread => "elements of every size from a millionth to a million",
            Fill::FirstFar => "the first element far from all others",
            Fill::LastFar => "the last element far from all others",
            Fill::Below(by) => return Some(format!("the first element 2 and the others {by} to {} less", by + 1)),
            Fill::MinusInfinities => "some elements -inf, and the others between -1 and 2",
            Fill::OneInfinite => "one element of each row inf",
            Fill::BelowLast(by) => return Some(format!("the last element 2 and the others {by} to {} less", by + 1)),
        };
        Some(words.to_owned())
    }

    /// Returns whether it has numbers of this type.
    pub fn is_of(self, ty: Type) -> bool {
        use Fill::{Below, BelowLast, MinusInfinities, OneInfinite, Scale, Spread};
        ty != Type::I32 || !matches!(self, Scale(_) | Spread | Below(_) | BelowLast(_) | MinusInfinities | OneInfinite)
    }
}

impl Case {
    /// The numbers of the case.
    pub(super) fn numbers(&self, op: Op) -> Array {
        let (ty, n) = (self.ty, self.n as usize);
        let most = if op == Op::Sum { 1e30 } else { f64::INFINITY };
        let random = |ty: Type| lab::input::random(ty, n, self.n + 1);
        let row = self.matrix.map_or(self.n, |matrix| matrix.cols).max(1) as usize;
        let is_first = |i: usize| i.is_multiple_of(row);
        let is_last = |i: usize| (i + 1).is_multiple_of(row);
        let floats = |of: &dyn Fn(usize, f64) -> f64| {
            let Array::F64(values) = random(Type::F64) else { return random(ty) };
            let made = values.into_iter().enumerate().map(|(i, x)| of(i, x)).collect::<Vec<f64>>();
            lab::with_type!(ty, T => T::array(made.into_iter().map(T::from_f64).collect()))
        };
        let compares = matches!(op, Op::Min | Op::Max | Op::Argmin | Op::Argmax);
        // The smallest of a row stands out where the smallest is looked for.
        let sign = if matches!(op, Op::Min | Op::Argmin) { -1 } else { 1 };
        let one_far = |is_far: &dyn Fn(usize) -> bool| match random(ty) {
            Array::I32(mut values) => {
                values.iter_mut().enumerate().filter(|(i, _)| is_far(*i)).for_each(|(_, x)| *x = sign * FAR_WHOLE);
                Array::I32(values)
            }
            // Terms of one sign do not cancel: all together they are more than rounding explains.
            _ if op == Op::Sum => floats(&|i, x| if is_far(i) { FAR_OF_SUM } else { 1.0 + x.abs() }),
            _ if compares => floats(&|i, x| if is_far(i) { f64::from(sign) * f64::from(f32::MAX) } else { x }),
            _ => floats(&|i, x| if is_far(i) { FAR } else { x }),
        };
        let below = |by: u8, x: f64| PEAK - f64::from(by) - x.abs();
        let (whole, float) = match self.fill {
            Fill::Random => return random(ty),
            Fill::Lowest => (i32::MIN, -most),
            Fill::Highest => (i32::MAX, most),
            Fill::MinusThree => (-3, -3.0),
            Fill::Negative => return negative(random(ty)),
            Fill::Ties => return few(random(Type::I32), ty, (1, 0)),
            Fill::Steep => return few(random(Type::I32), ty, (750, 0)),
            Fill::Far => return few(random(Type::I32), ty, (1, 131_072)),
            Fill::Close => {
                let all = if ty == Type::F32 { 1 << 23 } else { 1 << 30 | 5 };
                let given = (0..n).map(|i| if i == n / 2 { all + sign } else { all }).collect();
                return Numbers::Given(given).array(ty, self.n);
            }
            Fill::Scale(power) => return floats(&|_, x| x * 10f64.powi(power.into())),
            Fill::Spread => return floats(&|i, x| x.signum() * 10f64.powf(12.0 * x.abs() - 6.0) * [1.0, -1.0][i % 2]),
            Fill::FirstFar => return one_far(&is_first),
            Fill::LastFar => return one_far(&is_last),
            Fill::Below(by) => return floats(&|i, x| if is_first(i) { PEAK } else { below(by, x) }),
            Fill::MinusInfinities => {
                return floats(&|_, x| if x < -0.4 { f64::NEG_INFINITY } else { (2.5 * x).floor() });
            }
            Fill::OneInfinite => {
                return floats(&|i, x| if (i + row / 2).is_multiple_of(row) { f64::INFINITY } else { 1000.0 * x });
            }
            Fill::BelowLast(by) => return floats(&|i, x| if is_last(i) { PEAK } else { below(by, x) }),
        };
        match ty {
            Type::I32 => Array::I32(vec![whole; n]),
            Type::F32 => Array::F32(vec![float as f32; n]),
            Type::F64 => Array::F64(vec![float; n]),
            // Exercises are of these three, which their file says and its reader holds it to.
            _ => random(ty),
        }
    }
}

/// The same numbers with a minus before each, 0 among them as -1.
fn negative(numbers: Array) -> Array {
    match numbers {
        Array::I32(values) => Array::I32(values.into_iter().map(|value| value.min(!value)).collect()),
        Array::F32(values) => Array::F32(values.into_iter().map(|value| -value.abs()).collect()),
        Array::F64(values) => Array::F64(values.into_iter().map(|value| -value.abs()).collect()),
        other => other,
    }
}

/// Few different numbers: the remainder modulo 5 of each number is from -2 to 2, and counts steps from `middle`.
fn few(numbers: Array, ty: Type, (step, middle): (i32, i32)) -> Array {
    let Array::I32(values) = numbers else { return numbers };
    let given = values.into_iter().map(|value| (value.rem_euclid(5) - 2) * step + middle).collect::<Vec<i32>>();
    let n = given.len() as u64;
    Numbers::Given(given).array(ty, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::matrices;

    fn floats(fill: Fill, shape: (u64, u64)) -> Vec<f32> {
        let case = Case { fill, ..matrices::case(Type::F32, shape, 256) };
        let Array::F32(values) = case.numbers(Op::Logsumexp) else { panic!("no floats") };
        values
    }

    #[test]
    fn each_row_has_the_number_that_stands_out() {
        for (fill, at, peak) in [
            (Fill::FirstFar, 0, FAR),
            (Fill::LastFar, 36, FAR),
            (Fill::Below(6), 0, PEAK),
            (Fill::BelowLast(6), 36, PEAK),
        ] {
            for row in floats(fill, (3, 37)).chunks(37) {
                assert_eq!(f64::from(row[at]), peak, "{fill:?}");
                let others = row.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, x)| f64::from(*x));
                assert!(others.into_iter().all(|x| if peak == FAR {
                    x.abs() <= 1.0
                } else {
                    (-5.0..=-4.0).contains(&x)
                }));
            }
        }
    }

    #[test]
    fn sizes_are_what_they_say() {
        assert!(floats(Fill::Scale(-6), (2, 50)).iter().all(|x| x.abs() <= 1.1e-6 && *x != 0.0));
        let spread = floats(Fill::Spread, (2, 5000));
        assert!(spread.iter().any(|x| x.abs() < 1e-5) && spread.iter().any(|x| x.abs() > 1e5));
    }
}
