//! What every chapter needs around its kernels: references and error bounds, verification, records, tables, charts,
//! and the program that a chapter's `main` hands its lesson to.

use std::process::ExitCode;

pub use device::Code;

/// An element type that chapters sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the Rust types of these names
pub enum Type { I32, F32, F64 }

/// A chapter: what its program runs and shows. Plain data, so that tests, `bless` and the measuring program read the
/// same lesson that `main` runs.
pub struct Chapter {
    /// `ch05-unroll`: kernels, PTX, page and generated files have this name.
    pub slug: &'static str,
    /// `Unroll the last warp`
    pub title: &'static str,
    /// What this chapter is compared with: another chapter's slug and its variant, `("ch04-first-add", "first_add")`.
    pub before: Option<(&'static str, &'static str)>,
    /// Its kernels in the order of the lesson.
    pub variants: &'static [Variant],
}

/// One kernel of a chapter and how it is launched.
pub struct Variant {
    /// `unroll_shuffle`; its entries are `unroll_shuffle_i32`, `unroll_shuffle_f32`.
    pub name: &'static str,
    /// What it does, one sentence.
    pub idea: &'static str,
    /// What holds it back, one sentence.
    pub limit: &'static str,
    /// Element types it is compiled for.
    pub types: &'static [Type],
    /// What the lesson promises to go wrong, for a ✗ variant: a fault's code.
    pub announced: Option<device::Code>,
    /// Block sizes it is right for.
    pub blocks: BlockRule,
    /// Elements one block takes in one pass, for a block of this many threads.
    pub elements_per_block: fn(block: u32) -> u64,
    /// Additions on the longest path from an element to a block's result: what the error bound counts.
    pub depth: fn(block: u32) -> u64,
    /// Whether it sums in place and destroys its input.
    pub in_place: bool,
}

/// Block sizes that a kernel documents: powers of two in a range.
#[derive(Debug, Clone, Copy)]
pub struct BlockRule {
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
    /// Taken when the reader gives none.
    pub default: u32,
}

/// One launch of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Blocks.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// Elements it reads.
    pub elements: u64,
}

/// Every launch that takes `n` elements to one value. Empty for n = 0: the result is the identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// In order; each pass reads the one before's block sums.
    pub passes: Vec<Pass>,
}

/// The program of a chapter: reads the command line, runs, verifies, prints. Its exit status is the process's.
pub fn main(chapter: &Chapter) -> ExitCode {
    let _ = chapter;
    unimplemented!()
}
