//! Instructions that start with `cp`: copies that a thread starts and does not wait for.

use ptx::Instruction;

use super::Lower;
use crate::code::{Inst, Op};
use crate::program::LoadError;

impl Lower<'_> {
    pub(super) fn copy(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let words: Vec<&str> = inst.modifiers.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["async", "bulk", "prefetch", "L2", "global"] if inst.operands.len() == 2 => self.prefetch_bulk(inst),
            ["async", "bulk", "prefetch", "L2", "global", "L2::cache_hint"] if inst.operands.len() == 3 => {
                self.row64(inst, &inst.operands[2])?;
                self.prefetch_bulk(inst)
            }
            _ => self.refuse_opcode(inst),
        }
    }

    fn prefetch_bulk(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let address = self.address(inst, &inst.operands[0])?;
        let b = self.row32(inst, &inst.operands[1])?;
        let (a, e, imm) = (address.row, u16::from(address.narrow), address.offset);
        self.emit(inst, &[Inst { op: Op::PrefetchBulk, a, b, e, imm, ..Inst::NOP }])
    }
}
