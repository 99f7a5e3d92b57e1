//! The one table of instructions: parser checks, lowering, counters and documentation read it.
//!
//! Sections are those of NVIDIA's "Parallel Thread Execution ISA" manual, version 9.1; other versions number some of
//! them differently.

mod arithmetic;
mod forms;
mod modifiers;
mod rows;
mod shape;

pub use arithmetic::ARITHMETIC;
pub use forms::{FORMS, Form};
pub use modifiers::MODIFIERS;
pub use rows::SPECS;
pub use shape::{Operands, Shape, arithmetic};

/// What an instruction counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Integer, logic, float arithmetic, moves, conversions, comparisons.
    Alu,
    /// `bra`, `brx`, `call`, `ret`, `exit`.
    Control,
    /// Loads, stores, prefetches: the space is in the modifiers.
    Memory,
    /// `atom`, `red`.
    Atomic,
    /// `bar`, `barrier`, `bar.warp.sync`.
    Barrier,
    /// `shfl`.
    Shuffle,
    /// `vote`, `match`, `redux`, `activemask`, `elect`.
    WarpVote,
    /// `membar`, `fence`.
    Fence,
    /// `nop`-like: `trap`, `brkpt`, `nanosleep`, `pmevent`, `griddepcontrol`, …
    Other,
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
    /// What it counts as.
    pub class: Class,
    /// Section of the PTX manual: `9.7.1.1`; several where the manual splits an instruction by type.
    pub section: &'static str,
    /// What it does, half a line.
    pub summary: &'static str,
}

/// The line of `mnemonic`, the opcode's first word.
pub fn lookup(mnemonic: &str) -> Option<&'static Spec> {
    SPECS.binary_search_by(|spec| spec.mnemonic.cmp(mnemonic)).ok().map(|at| &SPECS[at])
}

/// Fewest and most operands of a whole opcode: those of its narrowest [`Form`], else those of its [`Spec`].
pub fn operand_counts(spec: &Spec, opcode: &str) -> (u8, u8) {
    let narrowest = FORMS.iter().filter(|form| form.covers(opcode)).max_by_key(|form| form.prefix.len());
    narrowest.map_or((spec.operands_min, spec.operands_max), |form| (form.operands_min, form.operands_max))
}

/// Whether `word`, without its dot, is a modifier that PTX knows: `global`, `s32`, `L1::no_allocate`.
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
    fn forms_narrow_a_row_and_name_known_modifiers() {
        for form in FORMS {
            let mut words = form.prefix.split('.');
            let spec = words.next().and_then(lookup).unwrap_or_else(|| panic!("{}", form.prefix));
            assert!(words.all(is_modifier), "{}", form.prefix);
            assert!(
                form.operands_min >= spec.operands_min && form.operands_max <= spec.operands_max,
                "{}",
                form.prefix
            );
        }
    }
}
