//! Many arrays as if they were one: the norm of all gradients of a model, in one launch.

use super::champion::N_MAX;
use super::operators::{meeting_additions, messages};
use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::memory::{Role, Rule};
use crate::op::Op;
use crate::plan::{Arg, Pass, Plan, entry_name};
use crate::reduction::Reduction;
use crate::results;

/// Threads a block, and vectors of 16 bytes on their way to each: a tile has as many as both multiplied.
const SHAPE: (u64, u64) = (256, 4);
/// Blocks that a multiprocessor holds at once.
const RESIDENT: u64 = 4;
/// Words of the table that say of an array where it is, how long it is, and how many tiles lie before it.
const WORDS: usize = 3;

/// Sum, sum of squares or L2 norm of the elements of many arrays of f16, bf16, f32 or f64. Arrays may have any length, and lie anywhere.
///
/// Operands: `Table`, the words of [`Many::table`] on the device; `Out`; and `Input` for arrays [within](Many::within) one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Many {
    /// Operation.
    pub op: Op,
    /// Type of the elements.
    pub ty: Type,
    /// Elements of each array.
    pub lengths: Vec<u64>,
    /// Elements of the one array that all of them are parts of, if they are.
    pub within: Option<u64>,
}

impl Many {
    /// Arrays of these lengths, each with an address of its own.
    pub fn new(op: Op, ty: Type, lengths: Vec<u64>) -> Many {
        Many { op, ty, lengths, within: None }
    }

    /// Arrays that are parts of one with `n` elements, the input.
    pub fn within(self, n: u64) -> Many {
        Many { within: Some(n), ..self }
    }

    /// The table for arrays at these addresses, or so many bytes behind the begin of the input: three words an array.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of addresses than of lengths, and for a part that ends behind the input;
    /// [`Error::Alignment`].
    pub fn table(&self, addresses: &[u64]) -> Result<Vec<u64>> {
        let size = self.ty.bytes();
        let [got, expected] = [addresses.len(), self.lengths.len()].map(|count| (8 * WORDS * count) as u64);
        if got != expected {
            return Err(Error::Length { operand: Role::Table.name(), got, expected });
        }
        let mut words = Vec::with_capacity(WORDS * addresses.len());
        let mut tiles = 0;
        for (&address, &elements) in addresses.iter().zip(&self.lengths) {
            if !address.is_multiple_of(size) {
                return Err(Error::Alignment { operand: Role::Input.name(), address, multiple: size });
            }
            let end = elements.checked_mul(size).and_then(|bytes| address.checked_add(bytes)).unwrap_or(u64::MAX);
            if let Some(n) = self.within
                && end > n.saturating_mul(size)
            {
                return Err(Error::Length { operand: Role::Input.name(), got: n.saturating_mul(size), expected: end });
            }
            words.extend([address, elements, tiles]);
            tiles = self.tiles_of(elements).saturating_add(tiles);
        }
        Ok(words)
    }

    /// Its launch.
    ///
    /// # Errors
    /// [`Error::Unsupported`] and [`Error::NoKernels`]; [`Error::TooMany`] for more than 2³² − 1 arrays or 2⁴⁰ elements.
    pub fn reduction(&self, card: &Card) -> Result<Reduction> {
        let Many { op, ty, .. } = *self;
        op.check(ty)?;
        if !ty.is_float() || !matches!(op, Op::Sum | Op::Sumsq | Op::L2Norm) {
            return Err(Error::NoKernels { op, ty, layout: "many arrays" });
        }
        let count = self.lengths.len() as u64;
        let elements = self.lengths.iter().fold(0u64, |all, &elements| all.saturating_add(elements));
        for (what, got, most) in [("arrays", count, u32::MAX.into()), ("elements", elements, N_MAX)] {
            if got > most {
                return Err(Error::TooMany { what, got, most });
            }
        }
        let mut rules = vec![
            Rule::read(Role::Table, "u64", 8 * WORDS as u64 * count, 8),
            Rule::results(results::name(op.outcome(ty), true), op.result_bytes(ty), 1),
        ];
        if let Some(n) = self.within {
            rules.push(Rule::read(Role::Input, ty.name(), n.saturating_mul(ty.bytes()), ty.bytes()));
        }
        let (plan, nothing, shape) = (self.plan(card), op.identity_bytes(ty), format!("many {self:?}"));
        Reduction { what: op.name(), ty, rules, plan, nothing, shape, lesson: "", is_whole: false }.on(card)
    }

    fn tiles_of(&self, elements: u64) -> u64 {
        elements.div_ceil(SHAPE.0 * SHAPE.1 * (16 / self.ty.bytes()))
    }

    fn plan(&self, card: &Card) -> Plan {
        let Many { op, ty, .. } = *self;
        let tiles: u64 = self.lengths.iter().map(|&elements| self.tiles_of(elements)).sum();
        if tiles == 0 {
            return Plan::default();
        }
        let (block, unroll) = SHAPE;
        let grid = tiles.min(RESIDENT * u64::from(card.multiprocessors));
        let args = vec![
            if self.within.is_some() { Arg::Input } else { Arg::U64(0) },
            Arg::Operand(Role::Table),
            Arg::U32(self.lengths.len() as u32),
            Arg::U64(tiles),
            Arg::Sums(0),
            Arg::State,
        ];
        let mut pass = Pass::new(entry_name("many", op, &format!("t{block}u{unroll}"), ty), grid, block, args);
        pass.elements = self.lengths.iter().sum();
        // Of each tile its vectors, and before and behind the first of an array an element each.
        let of_thread = (unroll + 2) * tiles.div_ceil(grid) + u64::from((16 / ty.bytes()).ilog2()) + 1;
        // A square rounds, and a root.
        pass.additions = of_thread + meeting_additions(grid, block) + 3;
        pass.waits = grid > 1;
        let (state_words, protocol) = messages(grid as u32, op.value_bytes(ty));
        Plan {
            passes: vec![pass],
            sums: vec![ty.holding(op.result_bytes(ty))],
            state_words,
            protocol,
            ..Plan::default()
        }
    }
}
