//! The rounds of a tree one by one, from the recorded steps of one block: who adds, and what each access costs.

use std::collections::BTreeMap;

use device::{Checks, Choice, KernelSource, Schedule, SimOptions};
use simt::trace::{Options, Space};

use super::{describe, run, variant};
use crate::input::random;
use crate::session::built_root;
use crate::{Chapter, Result, Session, Type};

/// One round of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The lanes that add, by warp; warps without any are not there.
    pub masks: BTreeMap<u32, u32>,
    /// Wavefronts of one access: the largest of all warps.
    pub ways: u32,
    /// True if both loads and the store of every warp took that many.
    pub same_ways: bool,
    /// Wavefronts of the stores of all warps.
    pub passes: u32,
    /// Sectors of global memory that the stores of all warps touched.
    pub stored_sectors: u32,
}

impl Round {
    /// Warps that issue the addition.
    pub fn warps(&self) -> u32 {
        self.masks.len() as u32
    }

    /// Additions.
    pub fn lanes(&self) -> u32 {
        self.masks.values().map(|mask| mask.count_ones()).sum()
    }

    /// Warps in which some lanes add and others do not.
    pub fn partly_filled(&self) -> u32 {
        self.masks.values().filter(|&&mask| mask != u32::MAX).count() as u32
    }
}

/// A figure of each round, in order.
pub fn each(rounds: &[Round], figure: impl Fn(&Round) -> u32) -> Vec<u32> {
    rounds.iter().map(figure).collect()
}

/// Runs one full block of i32 and reads its rounds from the trace.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If the chapter has no such kernel, if it is wrong, or if it has no addition between its marks.
pub fn rounds((chapter, name): (&Chapter, &str), block: u32) -> Result<Vec<Round>> {
    let variant = variant(chapter, name);
    let source = KernelSource::in_root(&built_root(), chapter.slug);
    let line = addition_line(&source.read_cu()?, name).unwrap_or_else(|| panic!("{name} has no addition"));
    let options = SimOptions {
        schedule: Schedule::Independent { seed: None },
        checks: Checks::ALL,
        trace: Some(Options::default()),
        ..SimOptions::default()
    };
    let session = Session::open_source(chapter, source, Choice::Sim, options)?;
    let n = (variant.elements_per_block)(block) as usize;
    let run = run(&session, variant, block, &random(Type::I32, n, 1), 0)?;
    assert!(run.ok(), "{}", describe(&run, ""));
    let trace = run.trace.unwrap_or_else(|| panic!("a trace was asked for"));
    assert!(trace.dropped_steps == 0, "the trace is not whole");

    // A warp's barriers say in which round it is; a kernel in shared memory has one more, before the first.
    let mut barriers: BTreeMap<u32, usize> = BTreeMap::new();
    let mut accesses: BTreeMap<usize, Vec<(u32, bool, simt::trace::Access)>> = BTreeMap::new();
    for step in &trace.steps {
        let instruction = &trace.code[step.pc as usize];
        let passed = barriers.entry(step.warp).or_default();
        if instruction.opcode.starts_with("bar") {
            *passed += 1;
        } else if instruction.line == line {
            let stores = instruction.opcode.starts_with("st");
            let of_round = accesses.entry(*passed).or_default();
            of_round.extend(step.access.iter().map(|access| (step.warp, stores, access.clone())));
        }
    }
    assert!(!accesses.is_empty(), "line {line} never ran");
    Ok(accesses.into_values().map(|of_round| round(&of_round)).collect())
}

fn round(accesses: &[(u32, bool, simt::trace::Access)]) -> Round {
    let stored = || accesses.iter().filter(|(_, stores, _)| *stores).map(|(_, _, access)| access);
    let shared =
        || accesses.iter().filter(|(_, _, access)| access.space == Space::Shared).map(|(_, _, a)| a.wavefronts);
    let ways = shared().max().unwrap_or(0);
    Round {
        masks: accesses.iter().map(|(warp, _, access)| (*warp, access.mask)).collect(),
        ways,
        same_ways: shared().all(|wavefronts| wavefronts == ways),
        passes: stored().map(|access| access.wavefronts).sum(),
        stored_sectors: stored().map(|access| access.sectors).sum(),
    }
}

/// The one line of the form `array[i] += array[j]` between the kernel's marks.
fn addition_line(text: &str, name: &str) -> Option<u32> {
    let mark = format!("// ANCHOR: {name}_loop");
    let mut inside = (1u32..).zip(text.lines()).skip_while(|(_, line)| line.trim() != mark);
    inside.find(|(_, line)| line.contains("] += ")).map(|(number, _)| number)
}
