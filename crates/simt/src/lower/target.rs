//! Checks that an assembler makes first: the target has the instructions, and the constants fit.

use ptx::table::{Shape, shapes};
use ptx::{Instruction, Module, Operand, Space};

use super::Lower;
use super::variables::size_of;
use crate::program::LoadError;

/// Bytes of constants that a file may declare.
const CONST_BYTES_MAX: u64 = 64 << 10;

/// The number in `.target sm_90a`.
fn number(target: &str) -> Option<u32> {
    target.strip_prefix("sm_")?.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok()
}

/// Whether an instruction is about clusters, or a bulk copy: sm_90 brought both.
fn is_of_clusters(inst: &Instruction) -> bool {
    let asks = |operand: &Operand| match operand {
        Operand::Name(name) => ["%cluster", "%ncluster", "%is_explicit_cluster"].iter().any(|c| name.starts_with(c)),
        _ => false,
    };
    inst.has("cluster")
        || inst.has("shared::cluster") && !inst.has("mbarrier") && inst.spec.mnemonic != "cp"
        || inst.has("bulk")
        || inst.operands.iter().any(asks)
}

/// Returns the oldest target that has an instruction: that of the shapes that cover it, or else of its mnemonic's.
fn oldest(inst: &Instruction) -> u32 {
    let all = shapes(inst.spec.mnemonic);
    if all.iter().all(|shape| shape.sm <= 80) {
        return 0;
    }
    let covers =
        |shape: &&&Shape| shape.operand_count() == inst.operands.len() && shape.canonical(&inst.opcode).is_some();
    let covering = all.iter().filter(covers).map(|shape| shape.sm).min();
    covering.or(all.iter().map(|shape| shape.sm).min()).map_or(0, u32::from)
}

impl Lower<'_> {
    /// Whether the file is for targets whose warps go together.
    pub(super) fn is_before_volta(&self) -> bool {
        number(&self.module.target).is_some_and(|number| number < 70)
    }

    /// Refuses an instruction that the file's target does not have.
    pub(super) fn check_target(&self, inst: &Instruction) -> Result<(), LoadError> {
        let needed = if is_of_clusters(inst) { 90 } else { oldest(inst) };
        match number(&self.module.target) {
            Some(has) if has < needed && needed > 80 => {
                let message = format!("{} needs .target sm_{needed} or higher, not sm_{has}", inst.opcode);
                self.refuse(inst, message)
            }
            _ => Ok(()),
        }
    }

    /// Refuses constants that do not fit where a GPU has them.
    pub(super) fn check_constants(&self, module: &Module) -> Result<(), LoadError> {
        let mut end = 0u64;
        for variable in module.variables.iter().filter(|variable| variable.space == Space::Const) {
            end = end.next_multiple_of(u64::from(variable.align_bytes.max(1))).saturating_add(size_of(variable));
            if end > CONST_BYTES_MAX {
                let message = format!("{end} bytes of constants; a file has at most 64 KiB");
                return Err(self.unsupported(variable.span.line, message));
            }
        }
        Ok(())
    }
}
