//! The one table of instructions: parser checks, lowering and documentation read it. A row for each mnemonic of PTX, and for
//! those that the simulator runs the shapes that they come in.
//!
//! Sections are those of NVIDIA's "Parallel Thread Execution ISA" manual, version 9.1; other versions number some of
//! them differently.

mod arithmetic;
mod modifiers;
mod others;
mod rows;
mod shape;
mod since;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use arithmetic::ARITHMETIC;
pub use modifiers::MODIFIERS;
pub use others::OTHERS;
pub use rows::SPECS;
pub use shape::{Operands, Shape, arithmetic};
pub use since::{NO_TARGET, Needs, TARGETS, VERSION_NEWEST, is_version, needs};

/// Part of a reference that an instruction is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Integer, logic, float arithmetic, conversions, comparisons.
    Arithmetic,
    /// Loads, stores, copies, addresses.
    Memory,
    /// Atomics and fences.
    Ordering,
    /// Joint operations of the lanes of a warp, the warps of a block, the blocks of a cluster.
    Together,
    /// Jumps, calls, the stack, the end.
    Control,
    /// Hints to the machine, and time.
    Hints,
}

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    /// The first word of the opcode: `ld`, `add`, `bar`.
    pub mnemonic: &'static str,
    /// Fewest operands.
    pub operands_min: u8,
    /// Most operands.
    pub operands_max: u8,
    /// Part of a reference that it is in.
    pub part: Part,
    /// Section of the PTX manual: `9.7.1.1`; several where the manual splits an instruction by type.
    pub section: &'static str,
    /// Effect, half a line.
    pub summary: &'static str,
}

/// The line of `mnemonic`, the opcode's first word.
pub fn lookup(mnemonic: &str) -> Option<&'static Spec> {
    SPECS.binary_search_by(|spec| spec.mnemonic.cmp(mnemonic)).ok().map(|at| &SPECS[at])
}

/// The shapes of a mnemonic; none if nothing here runs it.
pub fn shapes(mnemonic: &str) -> &'static [&'static Shape] {
    static BY_MNEMONIC: OnceLock<HashMap<&str, Vec<&Shape>>> = OnceLock::new();
    let by_mnemonic = BY_MNEMONIC.get_or_init(|| {
        let mut all: HashMap<&str, Vec<&Shape>> = HashMap::new();
        ARITHMETIC.iter().chain(OTHERS).for_each(|shape| all.entry(shape.mnemonic()).or_default().push(shape));
        all
    });
    by_mnemonic.get(mnemonic).map_or(&[], Vec::as_slice)
}

/// Fewest and most operands of a whole opcode: of the shapes that cover it, or of its [`Spec`] if none does or it is
/// arithmetic, of which newer targets have spellings that take more.
pub fn operand_counts(spec: &Spec, opcode: &str) -> (u8, u8) {
    let covering =
        || shapes(spec.mnemonic).iter().filter(|shape| shape.group.is_empty() && shape.canonical(opcode).is_some());
    let counts = || covering().map(|shape| shape.operand_count() as u8);
    let any = (spec.operands_min, spec.operands_max);
    match spec.operands_min == spec.operands_max {
        true => any,
        false => counts().min().zip(counts().max()).unwrap_or(any),
    }
}

/// Returns whether `word`, without its dot, is a modifier that PTX knows: `global`, `s32`, `L1::no_allocate`.
pub fn is_modifier(word: &str) -> bool {
    MODIFIERS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_without_doubles() {
        assert!(SPECS.windows(2).all(|w| w[0].mnemonic < w[1].mnemonic));
        assert!(MODIFIERS.windows(2).all(|w| w[0] < w[1]), "{:?}", MODIFIERS.windows(2).find(|w| w[0] >= w[1]));
    }

    #[test]
    fn rows_are_whole() {
        for spec in SPECS {
            assert!(spec.operands_min <= spec.operands_max, "{}", spec.mnemonic);
            assert!(spec.section.starts_with("9.7."), "{}", spec.mnemonic);
            assert!(!spec.summary.is_empty() && !spec.summary.ends_with('.'), "{}", spec.mnemonic);
        }
    }

    #[test]
    fn shapes_narrow_a_row_and_have_known_words() {
        for shape in OTHERS {
            let spec = lookup(shape.mnemonic()).unwrap_or_else(|| panic!("{}", shape.pattern));
            assert!(
                shape.opcodes().iter().all(|opcode| opcode.split('.').skip(1).all(is_modifier)),
                "{}",
                shape.pattern
            );
            let count = shape.operand_count() as u8;
            assert!((spec.operands_min..=spec.operands_max).contains(&count), "{}: {count} operands", shape.pattern);
        }
        let counts = |opcode: &str| operand_counts(lookup(opcode.split('.').next().unwrap()).unwrap(), opcode);
        assert_eq!(counts("bar.sync"), (1, 2));
        assert_eq!(counts("barrier.arrive.aligned"), (2, 2));
        assert_eq!(counts("shfl.sync.up.b32"), (5, 5));
        assert_eq!(counts("shfl.up.b32"), (4, 5));
        assert_eq!(counts("atom.global.v2.f32.add"), (3, 3));
    }
}
