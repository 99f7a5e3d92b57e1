//! Every kernel that a plan may choose on a card, found by planning: what `scripts/instances.py` compiles, and what a test holds
//! against the table that it writes.

use std::collections::{BTreeMap, BTreeSet};

use lab::plan::LaunchOptions;
use lab::variant::Variant;
use lab::{Card, Chapter, Matrix, Offsets, Op, Per, Planned, Problem, Result, Rows, Type};

use crate::lessons::lessons;

/// A kernel, and how its plans launch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The file of `kernels/` that has it, or that its line is put behind.
    pub file: &'static str,
    /// The line of CUDA that makes it, where the file has it not.
    pub line: Option<String>,
    /// Threads of its largest block.
    pub threads: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// For blocks that wait for each other: threads of a block, and number of such blocks for each multiprocessor.
    pub waiting: BTreeSet<(u32, u32)>,
}

/// A kernel's name with its file's: names are used again in other chapters.
pub type Key = (&'static str, String);

/// Instances that plans choose on a card, with a compiler and without. One row length in `step` is tried.
pub fn card_instances(card: &Card, step: usize) -> BTreeMap<Key, Instance> {
    let mut instances: BTreeMap<Key, Instance> = BTreeMap::new();
    plans(card, step, |chapter, problem, plan| {
        let Ok(plan) = plan else { return };
        let file = problem.variant.kernels.unwrap_or(chapter.slug);
        for pass in plan.plan.passes {
            let key = (file, pass.kernel);
            let new = Instance { file, line: None, threads: 0, shared_bytes: 0, waiting: BTreeSet::new() };
            let known = instances.entry(key).or_insert(new);
            known.line = known.line.take().or(pass.line.filter(|_| problem.on_demand));
            let threads = pass.geometry.block.iter().product();
            known.threads = known.threads.max(threads);
            known.shared_bytes = known.shared_bytes.max(pass.geometry.shared_bytes);
            if pass.geometry.cooperative {
                known.waiting.insert((threads, pass.geometry.grid[0].div_ceil(card.multiprocessors)));
            }
        }
    });
    instances
}

/// Calls `each` with the plans of every lesson for this card: all operations and types, blocks and factors, and sizes enough that
/// each shape comes up, or every one in `step` of the row lengths.
pub fn plans(card: &Card, step: usize, mut each: impl FnMut(&Chapter, &Problem<'_>, Result<Planned>)) {
    for chapter in lessons() {
        for variant in chapter.variants.iter().filter(|variant| is_for(variant, card)) {
            for on_demand in [false, true] {
                if on_demand && !chapter.on_demand {
                    continue;
                }
                for (op, ty) in kinds(variant) {
                    for (options, n) in options(variant, op, card, step) {
                        let problem = Problem::new(variant, ty, n, options).on(card, on_demand);
                        each(chapter, &problem, Planned::new(&problem));
                    }
                }
            }
        }
    }
}

/// Returns whether the program would run it on this card.
fn is_for(variant: &Variant, card: &Card) -> bool {
    card.compute_capability >= variant.compute_capability && card.clusters_of(variant.cluster) > 0
}

fn kinds(variant: &Variant) -> Vec<(Op, Type)> {
    let all = variant.ops.iter().flat_map(|&op| variant.types.iter().map(move |&ty| (op, ty)));
    all.filter(|&(op, ty)| variant.computes(op, ty)).collect()
}

/// Options that a variant may be launched with, each with a number of elements.
fn options(variant: &Variant, op: Op, card: &Card, step: usize) -> Vec<(LaunchOptions, u64)> {
    let base = LaunchOptions { op, ..LaunchOptions::default() };
    match variant.per {
        Per::Array => array_options(variant, base, card),
        Per::Row | Per::Column => matrices(variant, card, step)
            .map(|matrix| {
                let options = LaunchOptions { rows: Some(Rows::Matrix(matrix)), ..base };
                (options, matrix.span().unwrap_or(u64::MAX))
            })
            .collect(),
        Per::RaggedRow => [32, 64]
            .map(|bits| {
                let mut offsets = Offsets::even(100, 100);
                offsets.bits = bits;
                (LaunchOptions { rows: Some(Rows::Ragged(offsets)), ..base }, 10_000)
            })
            .to_vec(),
    }
}

fn array_options(variant: &Variant, base: LaunchOptions, card: &Card) -> Vec<(LaunchOptions, u64)> {
    let sizes = (0..=4 * 31).map(|quarter| 2f64.powf(f64::from(quarter) / 4.0) as u64).filter(|&n| n <= variant.n_max);
    let blocks = (5..=10).map(|log| 1 << log).filter(|&block| variant.blocks.allows(block));
    let blocks: Vec<Option<u32>> = std::iter::once(None).chain(blocks.map(Some)).collect();
    let factors = variant.factors.iter().flat_map(|factors| factors.values.iter().copied().map(Some));
    let factors: Vec<Option<u32>> = std::iter::once(None).chain(factors).collect();
    let overlaps: &[bool] = if variant.overlaps && card.compute_capability >= 90 { &[false, true] } else { &[false] };
    let mut all = Vec::new();
    for n in sizes {
        for &block in &blocks {
            for &factor in &factors {
                all.extend(overlaps.iter().map(|&overlap| (LaunchOptions { block, factor, overlap, ..base }, n)));
            }
        }
    }
    all
}

/// Rows of every length at which a plan may turn, up to those that no team holds; few of them, some for each multiprocessor, and many.
fn matrices(variant: &Variant, card: &Card, step: usize) -> impl Iterator<Item = Matrix> {
    let m = u64::from(card.multiprocessors);
    let rows = [1, 8, m / 4, m / 2, m, 4 * m, 16 * m, 128 * m, 1 << 20];
    let short = (1..=80).chain((88..=1024).step_by(8)).chain((1088..=8192).step_by(64));
    let long = (8448..=32_768).step_by(256).chain((34_816..=270_336).step_by(2048)).chain([1 << 19, 1 << 21, 1 << 24]);
    let cols: Vec<u64> = short.chain(long).flat_map(|cols| [cols, cols + 1]).step_by(step).collect();
    let n_max = variant.n_max;
    let all =
        rows.into_iter().flat_map(move |rows| cols.clone().into_iter().map(move |cols| Matrix::dense(rows, cols)));
    all.filter(move |matrix| matrix.span().is_some_and(|span| span <= n_max))
}
