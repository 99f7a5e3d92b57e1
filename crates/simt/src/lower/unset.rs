//! Registers that may be used before anything has set them, as far as something depends on the value: an address, a path, a
//! barrier or mask, the operand of an atomic. A run marks them where a function begins, and `exec/undefined.rs` follows the marks.
//!
//! Compilers leave many registers unset and throw the values away: vectors that are loaded only if they are there, and used only
//! if they were loaded. To mark all of these would make every run of such a kernel slow. So a value is followed backwards
//! from what depends on it, through arithmetic, moves and selections. A value that is stored to global or shared memory counts for nothing here.

use super::cfg::Block;
use super::live::{Set, all_registers, at_starts, block_of};
use crate::code::{Code, Effect, Function, Inst, NONE, Operand, Outlived, Reg, Role, Target, operands};
use crate::ops::Row;

/// Fills `unset` of each function, and `outlived`.
pub(super) fn find(code: &mut Code, blocks: &[Block]) {
    let steps: Vec<Step> = code.insts.iter().map(|inst| Step::of(code, inst)).collect();
    let at_start = at_starts(code, blocks, &|pc, needed| steps[pc].take_back(needed));
    let needed = |function: &Function| &at_start[block_of(blocks, function.start as usize)];
    let unset: Vec<Vec<(Row, Reg)>> =
        code.functions.iter().map(|function| all_registers(code, needed(function))).collect();
    code.outlived = outlived(code, blocks, &at_start, &unset);
    code.functions.iter_mut().zip(unset).for_each(|(function, unset)| function.unset = unset);
}

/// The unset registers that are needed in one block and not where a block begins that follows it.
fn outlived(code: &Code, blocks: &[Block], at_start: &[Set], unset: &[Vec<(Row, Reg)>]) -> Outlived {
    let mut by_block = vec![Vec::new(); blocks.len()];
    for (own, block) in blocks.iter().enumerate() {
        let function = code.functions.partition_point(|function| function.start as usize <= block.start);
        for &(row, reg) in &unset[function.saturating_sub(1)] {
            let bit = Set::bit(code, row, reg);
            if at_start[own].has(bit) || block.successors.iter().any(|&next| at_start[next].has(bit)) {
                let without = block.successors.iter().filter(|&&next| next < blocks.len() && !at_start[next].has(bit));
                without.for_each(|&next| by_block[next].push((row, reg)));
            }
        }
    }
    let mut found = Outlived::default();
    for (block, mut list) in blocks.iter().zip(by_block).filter(|(_, list)| !list.is_empty()) {
        list.sort_unstable();
        list.dedup();
        found.lists.push(list);
        found.places.resize(code.insts.len(), 0);
        found.places[block.start] = found.lists.len() as u32;
    }
    found
}

/// Change of the set of needed registers by an instruction, seen from behind.
struct Step {
    /// Registers that it sets, by their bits.
    results: Vec<usize>,
    /// It sets them in all lanes that come to it.
    is_sure: bool,
    /// Registers that something here depends on.
    used: Vec<usize>,
    /// Registers that its results depend on.
    passed_on: Vec<usize>,
}

impl Step {
    fn of(code: &Code, inst: &Inst) -> Step {
        let is_sure = inst.guard.predicate == NONE;
        let mut step = Step { results: Vec::new(), is_sure, used: Vec::new(), passed_on: Vec::new() };
        for operand in operands(code, inst) {
            let to = match way(inst, &operand) {
                Some(Way::Out) => &mut step.results,
                Some(Way::Use) => &mut step.used,
                Some(Way::On) => &mut step.passed_on,
                None => continue,
            };
            to.push(Set::bit(code, operand.row, operand.reg));
        }
        step
    }

    fn take_back(&self, needed: &mut Set) {
        let is_needed = self.results.iter().any(|&bit| needed.has(bit));
        if self.is_sure {
            self.results.iter().for_each(|&bit| needed.remove(bit));
        }
        self.used.iter().for_each(|&bit| needed.insert(bit));
        if is_needed {
            self.passed_on.iter().for_each(|&bit| needed.insert(bit));
        }
    }
}

/// Way of a value through an operand.
enum Way {
    /// A result.
    Out,
    /// Something depends on it.
    Use,
    /// The results depend on it.
    On,
}

fn way(inst: &Inst, operand: &Operand) -> Option<Way> {
    Some(match (Effect::of(inst), operand.role) {
        (_, Role::Destination) => Way::Out,
        (
            Effect::Results
            | Effect::Joins
            | Effect::Masks
            | Effect::Chooses
            | Effect::Decides(_)
            | Effect::LoadsFrame(_),
            _,
        ) => Way::On,
        (_, Role::Address | Role::Guard) => Way::Use,
        // What is stored to local memory or passed to a function is not followed further: it may be used.
        (Effect::Stores(op), Role::Source) if op.target != Target::Local => return None,
        (Effect::Exchanges, Role::Source) if (operand.row, operand.reg) != (Row::W, inst.mask_row()) => Way::On,
        _ => Way::Use,
    })
}
