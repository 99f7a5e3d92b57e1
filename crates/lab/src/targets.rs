//! Second inputs of an operation: for a cross-entropy the label of each row and the gradient of each loss, for a norm the
//! weight and the bias of each column.

use std::path::Path;

use crate::element::Array;
use crate::error::{Error, Result};
use crate::input::split_mix;
use crate::npy::{Npy, numpy_name};
use crate::text::grouped;
use crate::{Op, Type};

/// Labels and gradients that were given; what was not is made up, always the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Targets {
    labels: Option<Labels>,
    gradients: Option<Gradients>,
}

/// Kept as long as the program runs, so that options are plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Labels {
    at: &'static [i64],
    bits: u32,
}

/// One for all rows, or one a row, as bits: options are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gradients(&'static [u32]);

const LABEL_SEED: u64 = 0x1abe1;
const GRADIENT_SEED: u64 = 0x96ad;
const WEIGHT_SEED: u64 = 0x3e19;
const BIAS_SEED: u64 = 0xb1a5;

impl Targets {
    /// The label of a row of `cols` elements.
    pub fn label(&self, row: u64, cols: u64) -> i64 {
        match self.labels {
            Some(labels) => labels.at.get(row as usize).copied().unwrap_or(-1),
            None => (split_mix(LABEL_SEED, row) % cols.max(1)) as i64,
        }
    }

    /// The gradient of a row's loss.
    pub fn gradient(&self, row: u64) -> f32 {
        match self.gradients {
            Some(Gradients([one])) => f32::from_bits(*one),
            Some(Gradients(all)) => all.get(row as usize).map_or(f32::NAN, |&bits| f32::from_bits(bits)),
            None => crate::element::Element::from_random(split_mix(GRADIENT_SEED, row)),
        }
    }

    /// The weight of a column.
    pub fn weight<T: crate::element::Element>(&self, col: u64) -> T {
        T::from_random(split_mix(WEIGHT_SEED, col))
    }

    /// The bias of a column.
    pub fn bias<T: crate::element::Element>(&self, col: u64) -> T {
        T::from_random(split_mix(BIAS_SEED, col))
    }

    /// Bits of a label in memory, 32 or 64.
    pub fn label_bits(&self) -> u32 {
        self.labels.map_or(64, |labels| labels.bits)
    }

    /// Returns whether one gradient is that of every row's loss.
    pub fn has_one_gradient(&self) -> bool {
        matches!(self.gradients, Some(Gradients([_])))
    }

    /// With these labels, 32 or 64 bits each, of `rows` rows with `cols` elements.
    ///
    /// # Errors
    /// The end of a sentence: another number of them, or one that is no element of its row.
    pub fn with_labels(self, at: Vec<i64>, bits: u32, rows: u64, cols: u64) -> std::result::Result<Targets, String> {
        if at.len() as u64 != rows {
            return Err(format!("{} labels for {} rows", grouped(at.len() as u64), grouped(rows)));
        }
        if cols == 0 && rows > 0 {
            return Err("a row without elements has none that a label could name".to_owned());
        }
        if let Some(row) = at.iter().position(|&label| u64::try_from(label).map_or(true, |label| label >= cols)) {
            let (row_words, label, last) = (grouped(row as u64), at[row], grouped(cols.saturating_sub(1)));
            return Err(format!("row {row_words} has the label {label}, and its elements are 0 to {last}"));
        }
        Ok(Targets { labels: Some(Labels { at: Vec::leak(at), bits }), ..self })
    }

    /// With these gradients, one or one a row.
    ///
    /// # Errors
    /// The end of a sentence: another number of them.
    pub fn with_gradients(self, all: &[f32], rows: u64) -> std::result::Result<Targets, String> {
        if all.len() != 1 && all.len() as u64 != rows {
            let (count, rows) = (grouped(all.len() as u64), grouped(rows));
            return Err(format!("{count} gradients for {rows} rows: one for all, or one a row"));
        }
        let bits = all.iter().map(|gradient| gradient.to_bits()).collect();
        Ok(Targets { gradients: Some(Gradients(Vec::leak(bits))), ..self })
    }

    /// Reads the files of `--labels` and `--gradients`, for `op` over these rows.
    ///
    /// # Errors
    /// An operation that has none, files that hold something else, or that do not fit the rows.
    pub(crate) fn read(
        (labels, gradients): (Option<&Path>, Option<&Path>),
        op: Op,
        size: Option<(u64, u64)>,
    ) -> Result<Targets> {
        let mut targets = Targets::default();
        let given = [("--labels", labels, op.has_labels()), ("--gradients", gradients, op.has_gradients())];
        for (option, path, is_taken) in given {
            let Some(path) = path else { continue };
            if !is_taken {
                return Err(Error::Usage(format!("{option}: {op} has none")));
            }
            let Some((rows, cols)) = size else {
                return Err(Error::Usage(format!("{option}: say with --rows and --cols how many rows there are")));
            };
            let wrong = |why: String| Error::Usage(format!("{option} {}: {why}", path.display()));
            let npy = Npy::open(path)?;
            let (ty, len) = (npy.ty, npy.len);
            npy.check_list(&format!("{} are a list, one a row", option.trim_start_matches('-'))).map_err(wrong)?;
            let holds = |expected: &str| wrong(format!("holds {}, {expected}", numpy_name(ty)));
            targets = match (option, npy.read(len)?) {
                ("--labels", Array::I32(at)) => {
                    targets.with_labels(at.into_iter().map(i64::from).collect(), 32, rows, cols).map_err(wrong)?
                }
                ("--labels", Array::I64(at)) => targets.with_labels(at, 64, rows, cols).map_err(wrong)?,
                ("--labels", _) => {
                    return Err(holds(&format!("labels are {} or {}", name(Type::I32), name(Type::I64))));
                }
                (_, Array::F32(all)) => targets.with_gradients(&all, rows).map_err(wrong)?,
                _ => return Err(holds(&format!("gradients are {}", name(Type::F32)))),
            };
        }
        Ok(targets)
    }
}

fn name(ty: Type) -> &'static str {
    numpy_name(ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_is_in_range_and_always_the_same() {
        let targets = Targets::default();
        assert!((0..1000).all(|row| (0..7).contains(&targets.label(row, 7))));
        assert!((0..7).all(|label| (0..1000).any(|row| targets.label(row, 7) == label)));
        assert!((0..1000).all(|row| targets.gradient(row).abs() <= 1.0));
        assert_eq!((targets.label(3, 7), targets.label_bits()), (Targets::default().label(3, 7), 64));
    }

    #[test]
    fn labels_that_are_none_say_why() {
        let why = |at: &[i64]| Targets::default().with_labels(at.to_vec(), 64, 2, 5).unwrap_err();
        assert_eq!(why(&[1, 5]), "row 1 has the label 5, and its elements are 0 to 4");
        assert_eq!(why(&[-1, 5]), "row 0 has the label -1, and its elements are 0 to 4");
        assert_eq!(why(&[1]), "1 labels for 2 rows");
        let of_no_columns = Targets::default().with_labels(vec![0], 64, 1, 0).unwrap_err();
        assert_eq!(of_no_columns, "a row without elements has none that a label could name");
        assert_eq!(Targets::default().with_labels(vec![4, 0], 32, 2, 5).unwrap().label(0, 5), 4);
    }

    #[test]
    fn one_gradient_is_every_rows() {
        let one = Targets::default().with_gradients(&[0.5], 9).unwrap();
        assert_eq!((one.gradient(8), one.has_one_gradient()), (0.5, true));
        assert!(Targets::default().with_gradients(&[0.5, 1.0], 9).is_err());
    }
}
