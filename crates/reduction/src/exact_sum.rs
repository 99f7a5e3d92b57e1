//! Exact sums as values of the host: parts of one sum from several cards, processes or calls, which come together in any order.

use crate::error::{Error, Result};

/// Version of [`ExactSum::to_bytes`].
const VERSION: u8 = 1;
/// Bytes before the limbs: version, unit, marks, a zero, and the number of elements.
const HEAD_BYTES: usize = 12;
/// Most elements of a sum: as many of the largest doubles do not overflow the limbs.
const ELEMENTS_MAX: u64 = 1 << 43;
/// Limbs of 0 below a sum that is to be rounded: a quotient then has more bits than a double, or the sum is 0.
const BELOW: usize = 4;

/// Marks that kernels leave beside the limbs.
const NOT_NEGATIVE: u32 = 1;
const NAN_OR_UP: u32 = 2;
const NAN_OR_DOWN: u32 = 4;
const ALL_MARKS: u32 = 7;

/// Unit of the lowest bit of a sum in fixed point, by the numbers that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Floats, and products of halves.
    Floats,
    /// Doubles, and products of floats.
    Doubles,
    /// Products of doubles.
    Squares,
}

impl Unit {
    const ALL: [Unit; 3] = [Unit::Floats, Unit::Doubles, Unit::Squares];

    /// Words of 32 bits.
    pub(crate) const fn limbs(self) -> usize {
        match self {
            Unit::Floats => 11,
            Unit::Doubles => 67,
            Unit::Squares => 133,
        }
    }

    /// The lowest bit is 2 to this power.
    const fn power(self) -> i32 {
        match self {
            Unit::Floats => -150,
            Unit::Doubles => -1075,
            Unit::Squares => -2150,
        }
    }
}

/// An exact sum before its rounding, as a plan of [`crate::Exact::with_limbs`] leaves it. Parts of an array, each summed where it lies, are
/// merged here, and the result has the bits that one sum of the whole array has.
///
/// Sums of f16, bf16 and f32 are held alike and may be merged with each other; so may dot products and sums of squares of f16 with them,
/// those of bf16 and f32 with sums of f64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactSum {
    unit: Unit,
    marks: u32,
    elements: u64,
    /// Two's complement, the lowest first.
    limbs: Vec<u32>,
}

/// Format that a sum is rounded to.
struct Format {
    /// Bits of a number, with its leading one.
    kept: i32,
    /// The smallest number is 2 to this power.
    least: i32,
    /// Bits of infinity.
    infinity: u64,
}

const F32: Format = Format { kept: 24, least: -149, infinity: 0x7f80_0000 };
const F64: Format = Format { kept: 53, least: -1074, infinity: 0x7ff0_0000_0000_0000 };

/// A sum or quotient that is to be rounded.
enum Rounded {
    Nan,
    /// Whether it is negative, and the bits of its magnitude.
    Number(bool, u64),
}

impl ExactSum {
    /// The sum whose marks and limbs are these words.
    pub(crate) fn from_words(unit: Unit, elements: u64, words: &[u32]) -> Result<ExactSum> {
        let expected = 1 + unit.limbs();
        match words {
            [marks, limbs @ ..] if words.len() == expected && *marks <= ALL_MARKS => {
                Ok(ExactSum { unit, marks: *marks, elements, limbs: limbs.to_vec() })
            }
            [marks, ..] if words.len() == expected => {
                Err(Error::PartialSum(format!("begins with {marks:#x}, which no kernel leaves")))
            }
            _ => Err(Error::PartialSum(format!("has {} words, and its kernel writes {expected}", words.len()))),
        }
    }

    /// Elements that it is the sum of.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Adds another sum. Nothing is rounded, so that any order of merging gives the same.
    ///
    /// # Errors
    /// [`Error::PartialSum`] for a sum that is held in another unit; [`Error::TooMany`] for more than 2⁴³ elements. The sum is then
    /// what it was.
    pub fn merge(&mut self, other: &ExactSum) -> Result<()> {
        if self.unit != other.unit {
            let [mine, theirs] = [self.unit.power(), other.unit.power()];
            return Err(Error::PartialSum(format!(
                "is held in units of 2^{theirs}, and the one before it of 2^{mine}"
            )));
        }
        let elements = self.elements.saturating_add(other.elements);
        if elements > ELEMENTS_MAX {
            return Err(Error::TooMany { what: "elements", got: elements, most: ELEMENTS_MAX });
        }
        let mut up = 0;
        let limbs = self.limbs.iter().zip(&other.limbs).map(|(&a, &b)| {
            let sum = u64::from(a) + u64::from(b) + up;
            up = sum >> 32;
            sum as u32
        });
        let limbs: Vec<u32> = limbs.collect();
        // No elements come to that; bytes from elsewhere may.
        if self.is_negative() == other.is_negative() && is_negative(&limbs) != self.is_negative() {
            return Err(Error::PartialSum("is larger than its elements can be".to_owned()));
        }
        *self = ExactSum { limbs, elements, marks: self.marks | other.marks, unit: self.unit };
        Ok(())
    }

    /// The sum, rounded once to the nearest float, ties to even.
    pub fn to_f32(&self) -> f32 {
        single(self.round(1, &F32))
    }

    /// The sum, rounded once to the nearest double, ties to even.
    pub fn to_f64(&self) -> f64 {
        double(self.round(1, &F64))
    }

    /// The sum over the number of elements, rounded once to the nearest float; NaN where there is none.
    pub fn mean_f32(&self) -> f32 {
        single(self.round(self.elements, &F32))
    }

    /// The sum over the number of elements, rounded once to the nearest double; NaN where there is none.
    pub fn mean_f64(&self) -> f64 {
        double(self.round(self.elements, &F64))
    }

    fn is_negative(&self) -> bool {
        is_negative(&self.limbs)
    }

    /// The sum over a divisor, rounded; no number where that is 0.
    fn round(&self, divisor: u64, format: &Format) -> Rounded {
        let (up, down) = (self.marks & NAN_OR_UP != 0, self.marks & NAN_OR_DOWN != 0);
        if divisor == 0 || (up && down) {
            return Rounded::Nan;
        }
        if up || down {
            return Rounded::Number(down, format.infinity);
        }
        let negative = self.is_negative();
        let mut limbs = vec![0; BELOW];
        limbs.extend_from_slice(&self.limbs);
        if negative {
            negate(&mut limbs);
        }
        let rest = divide(&mut limbs, divisor);
        let Some(top) = limbs.iter().rposition(|&limb| limb != 0) else {
            // Zeros are negative where all elements are.
            return Rounded::Number(self.elements > 0 && self.marks & NOT_NEGATIVE == 0, 0);
        };
        let lowest = self.unit.power() - 32 * BELOW as i32;
        let highest = 32 * top as i32 + 31 - limbs[top].leading_zeros() as i32;
        // What is below the lowest bit that is kept goes. There always is some: a double has fewer bits than the limbs below.
        let gone = (highest + 1 - format.kept).max(format.least - lowest) as usize;
        let bit = |at: usize| limbs.get(at / 32).is_some_and(|limb| limb >> (at % 32) & 1 == 1);
        let kept = (gone..=highest as usize).rev().fold(0u64, |kept, at| kept << 1 | u64::from(bit(at)));
        let half = gone > 0 && bit(gone - 1);
        let more = rest || (0..gone.saturating_sub(1)).any(bit);
        let kept = kept + u64::from(half && (more || kept & 1 == 1));
        // Each step of the exponent is worth twice the kept bits, and the leading one is a step.
        let steps = (gone as i32 + lowest - format.least) as u64;
        let bits = (steps << (format.kept - 1)).saturating_add(kept);
        Rounded::Number(negative, bits.min(format.infinity))
    }

    /// Its bytes, the same on every machine: a version, then all that [`ExactSum::from_bytes`] needs.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.unit as u8, self.marks as u8, 0];
        bytes.extend(self.elements.to_le_bytes());
        bytes.extend(self.limbs.iter().flat_map(|limb| limb.to_le_bytes()));
        bytes
    }

    /// The sum of these bytes.
    ///
    /// # Errors
    /// [`Error::PartialSum`] for bytes of another version, and for those of no sum.
    pub fn from_bytes(bytes: &[u8]) -> Result<ExactSum> {
        let problem = |text: String| Err(Error::PartialSum(text));
        let Some((&[version, unit, marks, zero, ref elements @ ..], limbs)) = bytes.split_first_chunk::<HEAD_BYTES>()
        else {
            return problem(format!("has {} bytes, too few for any", bytes.len()));
        };
        if version != VERSION {
            return problem(format!("has the form of version {version}, and this is version {VERSION}"));
        }
        let elements = u64::from_le_bytes(*elements);
        let known = Unit::ALL.into_iter().find(|&known| known as u8 == unit);
        let Some(unit) = known.filter(|_| zero == 0 && elements <= ELEMENTS_MAX) else {
            return problem("begins with bytes that no sum has".to_owned());
        };
        let (words, over) = limbs.as_chunks::<4>();
        if !over.is_empty() {
            return problem(format!("has {} bytes, which are no whole words", bytes.len()));
        }
        let words: Vec<u32> =
            std::iter::once(marks.into()).chain(words.iter().map(|word| u32::from_le_bytes(*word))).collect();
        ExactSum::from_words(unit, elements, &words)
    }
}

fn is_negative(limbs: &[u32]) -> bool {
    limbs.last().is_some_and(|top| top >> 31 == 1)
}

fn negate(limbs: &mut [u32]) {
    let mut up = true;
    for limb in limbs {
        (*limb, up) = (!*limb).overflowing_add(up.into());
    }
}

/// Divides, and returns whether there is a rest.
fn divide(limbs: &mut [u32], divisor: u64) -> bool {
    let divisor = u128::from(divisor);
    let mut rest = 0u128;
    for limb in limbs.iter_mut().rev() {
        let part = rest << 32 | u128::from(*limb);
        // A rest is below the divisor, so that the quotient has 32 bits.
        *limb = (part / divisor) as u32;
        rest = part % divisor;
    }
    rest > 0
}

fn single(rounded: Rounded) -> f32 {
    match rounded {
        Rounded::Nan => f32::NAN,
        Rounded::Number(negative, bits) => f32::from_bits(bits as u32 | u32::from(negative) << 31),
    }
}

fn double(rounded: Rounded) -> f64 {
    match rounded {
        Rounded::Nan => f64::NAN,
        Rounded::Number(negative, bits) => f64::from_bits(bits | u64::from(negative) << 63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole number times 2^power, which is a multiple of the unit.
    fn sum(unit: Unit, number: i64, power: i32, elements: u64) -> ExactSum {
        let shift = (power - unit.power()) as usize;
        let mut limbs = vec![0; unit.limbs()];
        let wide = u128::from(number.unsigned_abs()) << (shift % 32);
        for word in 0..4 {
            if let Some(limb) = limbs.get_mut(shift / 32 + word) {
                *limb = (wide >> (32 * word)) as u32;
            }
        }
        if number < 0 {
            negate(&mut limbs);
        }
        ExactSum { unit, marks: u32::from(number >= 0), elements, limbs }
    }

    #[test]
    fn numbers_are_rounded_to_nearest_and_ties_to_even() {
        for unit in Unit::ALL {
            let of = |number, power| sum(unit, number, power, 1);
            assert_eq!(of(-7, -3).to_f32(), -0.875);
            assert_eq!(of((1 << 24) + 1, 0).to_f32(), 16_777_216.0, "a tie goes down to even");
            assert_eq!(of((1 << 24) + 3, 0).to_f32(), 16_777_220.0, "and up");
            assert_eq!(of((1 << 25) + 3, 0).to_f32(), 33_554_436.0, "above a tie");
            assert_eq!(of((1 << 53) + 1, 0).to_f64(), 9_007_199_254_740_992.0);
            assert_eq!(of(i64::MAX, 0).to_f64(), 9_223_372_036_854_775_808.0, "a carry through all bits");
            assert_eq!((of(1, -149).to_f32(), of(3, -149).to_f32()), (f32::from_bits(1), f32::from_bits(3)));
            assert_eq!((of(1, -150).to_f32(), of(3, -150).to_f32()), (0.0, f32::from_bits(2)), "ties below all floats");
            assert_eq!(of(-1, -150).to_f32().to_bits(), 0x8000_0000);
            assert_eq!(of(-3, -150).to_f64(), -3.0 * 2.0f64.powi(-150));
            assert_eq!(of((1 << 24) - 1, 104).to_f32(), f32::MAX);
            assert_eq!(of((1 << 25) - 1, 103).to_f32(), f32::INFINITY, "half a step over the largest");
            assert_eq!(of(-1, 128).to_f32(), f32::NEG_INFINITY);
        }
        assert_eq!(sum(Unit::Doubles, 3, -1075, 1).to_f64(), f64::from_bits(2));
        assert_eq!(sum(Unit::Squares, 1, -1076, 1).to_f64(), 0.0);
        assert_eq!(sum(Unit::Squares, 1, 1100, 1).to_f64(), f64::INFINITY);
    }

    #[test]
    fn a_mean_is_rounded_once() {
        assert_eq!(sum(Unit::Floats, 1, 0, 3).mean_f32(), 1.0 / 3.0);
        assert_eq!(sum(Unit::Floats, 1, -149, 3).mean_f64(), 2.0f64.powi(-149) / 3.0, "in more bits than the sum has");
        assert_eq!(sum(Unit::Floats, -1, -149, 3).mean_f32().to_bits(), 0x8000_0000);
        assert!(sum(Unit::Floats, 0, 0, 0).mean_f32().is_nan());
        // 2^24 + 1 over 1 is a tie; with a rest it is not.
        assert_eq!(sum(Unit::Floats, ((1 << 24) + 1) * 3 + 1, 0, 3).mean_f32(), 16_777_218.0);
    }

    #[test]
    fn what_is_not_finite_and_zeros_follow_ieee() {
        let of = |marks, elements| ExactSum { marks, ..sum(Unit::Floats, 0, 0, elements) };
        assert_eq!(of(0, 0).to_f32().to_bits(), 0, "nothing is +0");
        assert_eq!((of(0, 3).to_f32().to_bits(), of(1, 3).to_f64().to_bits()), (0x8000_0000, 0));
        assert_eq!((of(2, 3).to_f32(), of(5, 3).mean_f64()), (f32::INFINITY, f64::NEG_INFINITY));
        assert!(of(7, 3).to_f32().is_nan());
        let mut both = of(2, 1);
        both.merge(&of(4, 1)).expect("one unit");
        assert!(both.to_f32().is_nan(), "infinities of both signs");
    }

    #[test]
    fn parts_are_merged_in_any_order_and_outlive_a_process() {
        let parts: Vec<ExactSum> =
            [(5, 100), (-1, -150), (-5, 100), (3, -150)].map(|(x, at)| sum(Unit::Floats, x, at, 7)).into();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let mut all = ExactSum::from_bytes(&parts[order[0]].to_bytes()).expect("a sum");
            for &at in &order[1..] {
                all.merge(&ExactSum::from_bytes(&parts[at].to_bytes()).expect("a sum")).expect("one unit");
            }
            assert_eq!((all.to_f64(), all.elements()), (2.0 * 2.0f64.powi(-150), 28));
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let good = sum(Unit::Doubles, 1, 0, 1).to_bytes();
        let refused = |bytes: &[u8]| ExactSum::from_bytes(bytes).expect_err("no sum").to_string();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            refused(&bytes)
        };
        assert_eq!(with(0, 2), "the partial sum has the form of version 2, and this is version 1");
        assert!(
            with(1, 3).contains("no sum has") && with(3, 1).contains("no sum has") && with(11, 1).contains("no sum")
        );
        assert!(with(2, 8).contains("begins with 0x8") && with(1, 0).contains("68 words, and its kernel writes 12"));
        assert!(refused(&good[..7]).contains("7 bytes") && refused(&good[..17]).contains("no whole words"));
        let mut one = sum(Unit::Doubles, 1, 0, 1);
        let before = one.clone();
        let other = one.merge(&sum(Unit::Floats, 1, 0, 1)).expect_err("another unit").to_string();
        assert_eq!(other, "the partial sum is held in units of 2^-150, and the one before it of 2^-1075");
        assert!(matches!(one.merge(&sum(Unit::Doubles, 1, 0, ELEMENTS_MAX)), Err(Error::TooMany { .. })));
        let mut huge = sum(Unit::Doubles, 0, 0, 1);
        huge.limbs[66] = 0x7fff_ffff;
        assert!(huge.clone().merge(&huge).is_err());
        assert_eq!(one, before);
    }
}
